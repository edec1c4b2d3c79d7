"""Errors that say which field is wrong, what it held and how to mend it."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input, found before any work starts.

    Args:
        field: name of the argument or column at fault.
        value: what it held (shortened in the message; NumPy scalars become plain numbers).
        mend: what to do about it, as a sentence.

    The message is one line, whatever the value.
    """

    def __init__(self, field: str, value: object, mend: str) -> None:
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            value = value.item()  # type: ignore[attr-defined]  # nan, not np.float64(nan)
        shown = _one_line(repr(value))
        if len(shown) > 120:
            shown = shown[:117] + "..."
        self.field = field
        self.value = value
        self.mend = _one_line(mend)
        super().__init__(f"{field} = {shown}: {self.mend}")


def _one_line(text: str) -> str:
    return " ".join(part.strip() for part in text.splitlines())
