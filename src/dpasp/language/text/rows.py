"""Rows: statements with plain numbers and without variables.

Large programs are tables, and their rows look alike: ``0.4::a(x); 0.6::a(y) :- b(z), not c.``
One regular expression says that a statement is such a row, and that nothing can be wrong with
its form; clingo reads the rows of a file only when somebody asks for their nodes.

>>> match = ROW.match("0.4::a(x); 0.6::a(y) :- b(z), not c.")
>>> match["body"], heads_in(match["heads"])
('b(z), not c', [('0.4', 'a(x)'), ('0.6', 'a(y)')])
>>> ROW.match("0.4::a(X) :- b(X).") is None
True
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cached_property

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.language.text.clingo_text import parse_clingo
from dpasp.language.text.source import SourceFile

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
