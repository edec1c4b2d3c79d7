"""Errors that say which field is wrong, what it held and how to mend it."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input, found before any work starts.

    Args:
        field: name of the argument or column at fault.
        value: what it held (shortened in the message; NumPy scalars become plain numbers).
        mend: what to do about it, as a sentence.
    """

    def __init__(self, field: str, value: object, mend: str) -> None:
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            value = value.item()  # type: ignore[attr-defined]  # nan, not np.float64(nan)
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        super().__init__(f"{field} = {shown}: {mend}")
        self.field = field
        self.value = value
        self.mend = mend
