// Browsers start no worker for a page that is read from a disk. A hidden frame takes its place there,
// so that the search needs neither a server nor a network.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      this.started = new Promise((start) => {
        frame.addEventListener("load", () => {
          const scope = frame.contentWindow, script = scope.document.createElement("script");
          scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          script.addEventListener("load", () => start(scope));
          script.src = new URL(url, location);
          scope.document.head.append(script);
        }, { once: true });
      });
      frame.hidden = true;
      document.body.append(frame);
    }
    postMessage(data) {
      this.started.then((scope) => scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
