"""The text that clingo is given: ours, with everything that is not clingo's blanked out.

Nothing is ever deleted or inserted (but for a dot at the end of a line), so a place
in it is the same place in what the user wrote.

>>> buffer = Buffer("0.3::a.")
>>> buffer.blank(0, 5)
>>> buffer.text()
'     a.'
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from clingo import MessageCode
from clingo.ast import AST, parse_string

from dpasp.dataclass import dataclass
from dpasp.language.text.lexer import STRING
from dpasp.language.text.source import SourceFile


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


_MESSAGE = re.compile(
    r"<string>:(\d+):(\d+)(?:-(?:(\d+):)?(\d+))?: error: (.*)", re.DOTALL | re.ASCII
)
_FOREIGN = re.compile(rf"({STRING})|[^\x00-\x7f]|\x00")
_NESTING = re.compile(
    rf"{STRING}|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<cut>[,;:])"
    r"|(?P<operator>\*\*|\.\.|[-+*/\\&?^~|<>=@]|\bnot\b)"
)
_DEEPER = re.compile(r"[(\[{\-+*/\\&?^~|<>=@.]|\bnot\b")  # whatever can add to the depth
DEEPEST = 200  # operators and brackets around one term; clingo's recursion overflows the stack


class Stuck(NamedTuple):
    """Where clingo's parser did not know how to go on, as a slice, and its words for it."""

    start: int
    end: int
    words: str


def parse_clingo(text: str, first_line: int = 1) -> tuple[list[AST], Stuck | None]:
    """The statements that clingo reads, and the first place where it got stuck, if any."""
    nodes: list[AST] = []
    messages: list[str] = []

    def note(code: MessageCode, message: str) -> None:
        messages.append(message)

    try:
        parse_string("\n" * (first_line - 1) + safe(text), nodes.append, logger=note)
    except RuntimeError:
        stuck = (_stuck(message, text, first_line) for message in messages)
        return [], next(filter(None, stuck), Stuck(0, len(text), ""))
    return nodes[1:], None  # the first is the '#program base.' that every text begins with


def safe(text: str) -> str:
    """The text without characters that clingo's parser does not survive outside strings.

    It ends the process over them. The reader refuses such programs earlier; this makes
    sure of it.
    """
    if text.isascii() and "\0" not in text:
        return text
    return _FOREIGN.sub(lambda match: match[1] or "$", text)


def _stuck(message: str, text: str, first_line: int) -> Stuck | None:
    match = _MESSAGE.match(message)
    if match is None:
        return None
    line, column, end_line, end_column, words = match.groups()
    start = _offset(text, int(line) - first_line, int(column))
    end = _offset(text, int(end_line or line) - first_line, int(end_column or int(column) + 1))
    return Stuck(start, max(start, end), words.strip())


def _offset(text: str, line: int, column: int) -> int:
    """The offset of a column that clingo counted in bytes, clipped into the text."""
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if not start:
            return len(text)
    content = text[start : start + column].encode()[: column - 1]
    return min(start + len(content.decode(errors="ignore")), len(text))


def too_deep(text: str) -> int | None:
    """Where a statement is nested more deeply than clingo's parser survives, if it is.

    >>> too_deep("a(f(g(1)))."), too_deep("a(" + "-" * 500 + "1).")
    (None, 201)
    """
    if len(text) <= DEEPEST or len(_DEEPER.findall(text)) <= DEEPEST:
        return None
    levels, depth = [0], 0  # operators seen at each level of brackets; their sum and the brackets
    for match in _NESTING.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            levels.append(0)
            depth += 1
        elif kind == "close" and len(levels) > 1:
            depth -= levels.pop() + 1
        elif kind == "cut":
            depth -= levels[-1]
            levels[-1] = 0
        elif kind == "operator":
            levels[-1] += 1
            depth += 1
        if depth > DEEPEST:
            return match.start()
    return None


# Not those so close to 1 that a float may not tell: they are read with more care.
NUMBER = r"(?!0\.9{15}|1\.0{15})\d{1,9}\.\d{1,99}(?:[eE]-\d{1,2})?"
_NAME = r"(?!not\b)[a-z]\w*"
_TERM = rf"(?:{_NAME}|0|[1-9]\d{{0,8}}(?!\w))"
_ATOM = rf"{_NAME}(?:\({_TERM}(?:, ?{_TERM})*\))?"
_HEAD = rf"{NUMBER} ?:: ?{_ATOM}"
_LITERAL = rf"(?:not )?{_ATOM}"
ROW = re.compile(
    rf"[ \t\r\n]*(?P<heads>{_HEAD}(?: ?; ?{_HEAD})*)"
    rf"(?: ?:- ?(?P<body>{_LITERAL}(?:, ?{_LITERAL})*))?(?P<dot>\.)(?=[ \t\r\n]|\Z)",
    re.ASCII,
)
_HEADS = re.compile(rf"({NUMBER}) ?:: ?({_ATOM})", re.ASCII)
ANNOTATION = re.compile(rf"{NUMBER} ?::", re.ASCII)
_INSIDE_LINE = re.compile(r"[^\n]+")

heads_in = _HEADS.findall  # the numbers and the atoms of the heads of a row, as text


@dataclass(frozen=True)
class Rows:
    """The rows of a file, by where they start and end; their nodes are read once."""

    file: SourceFile
    slices: list[tuple[int, int]] = field(default_factory=list)

    def add(self, start: int, end: int) -> int:
        """One more row; gives back its number."""
        self.slices.append((start, end))
        return len(self.slices) - 1

    @cached_property
    def nodes(self) -> list[AST]:
        """clingo's nodes, in order, at the places that they have in the file."""
        text, parts, at = self.file.text, [], 0
        for start, end in self.slices:
            parts += [_blank(_INSIDE_LINE, text[at:start]), _blank(ANNOTATION, text[start:end])]
            at = end
        nodes, stuck = parse_clingo("".join(parts), self.file.first_line)
        assert stuck is None  # nothing can be wrong with the form of a row
        return nodes


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """The text with blanks in place of what matches: everything else keeps its place."""
    return pattern.sub(lambda match: " " * len(match[0]), text)
