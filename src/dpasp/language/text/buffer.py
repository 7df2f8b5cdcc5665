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
    """A text that can be overwritten in place; it takes a byte for a character, or four."""

    def __init__(self, text: str) -> None:
        self._codec, self._width = "latin-1", 1
        try:
            self._data = bytearray(text, self._codec)
        except UnicodeEncodeError:
            self._codec, self._width = "utf-32-le", 4
            self._data = bytearray(text, self._codec, "surrogatepass")
        self._dots: set[int] = set()  # offsets before which a dot is inserted

    def blank(self, start: int, end: int) -> None:
        """Overwrite a slice with spaces; line ends stay."""
        old = self._slice(start, end)
        lines = old.split("\n") if "\n" in old else [old]
        self._write(start, "\n".join(" " * len(line) for line in lines))
        if self._dots:
            self._dots -= {dot for dot in self._dots if start < dot <= end}

    def put(self, start: int, end: int, text: str) -> None:
        """Overwrite a slice with a text that is not longer, and spaces after it."""
        self.blank(start, end)
        self._write(start, text)

    def end_statement(self, end: int) -> None:
        """Put the dot that a statement lacks after its last character."""
        if self._slice(end, end + 1) == " ":
            self._write(end, ".")
        else:
            self._dots.add(end)

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The text (or a slice of it) as it is now."""
        last = len(self._data) // self._width if end is None else end
        parts = []
        for dot in sorted(dot for dot in self._dots if start < dot <= last):
            parts.append(self._slice(start, dot))
            start = dot
        return ".".join([*parts, self._slice(start, last)])

    def _slice(self, start: int, end: int) -> str:
        width = self._width
        return self._data[start * width : end * width].decode(self._codec, "surrogatepass")

    def _write(self, start: int, text: str) -> None:
        data = text.encode(self._codec, "surrogatepass")
        self._data[start * self._width : start * self._width + len(data)] = data
