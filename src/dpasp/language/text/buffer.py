"""The text that clingo is given: ours, with everything that is not clingo's blanked out.

Nothing is ever deleted or inserted (but for a dot at the end of a line), so a place
in it is the same place in what the user wrote.

>>> buffer = Buffer("0.3::a.")
>>> buffer.blank(0, 5)
>>> buffer.text()
'     a.'
"""

from __future__ import annotations


class Buffer:
    """A text that can be overwritten in place."""

    def __init__(self, text: str) -> None:
        self._chars = list(text)

    def blank(self, start: int, end: int) -> None:
        """Overwrite a slice with spaces; line ends stay."""
        old = self._chars[start:end]
        self._chars[start:end] = (
            ["\n" if char == "\n" else " " for char in old] if "\n" in old else " " * len(old)
        )

    def put(self, start: int, end: int, text: str) -> None:
        """Overwrite a slice with a text that is not longer, and spaces after it."""
        self.blank(start, end)
        self._chars[start : start + len(text)] = text

    def end_statement(self, end: int) -> None:
        """Put the dot that a statement lacks after its last character."""
        if end < len(self._chars) and self._chars[end] == " ":
            self._chars[end] = "."
        else:
            self._chars[end - 1] += "."

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The text (or a slice of it) as it is now."""
        return "".join(self._chars[start:end])
