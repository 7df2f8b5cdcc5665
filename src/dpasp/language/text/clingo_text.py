"""Text for clingo, and clingo's syntax trees.

What clingo does not know is blanked out. Nothing is deleted or inserted (except a dot at the end of
a line), so positions are those of the original. Rows of large tables (``0.4::a(x); 0.6::a(y) :-
b(z), not c.``) and plain facts (``edge(1,2).``) are recognised by one regular expression, and
clingo reads them only if their nodes are needed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import field
from functools import cached_property
from math import prod
from typing import NamedTuple

from clingo import MessageCode
from clingo.ast import (
    AST,
    ASTType,
    Literal,
    Location,
    Position,
    Sign,
    SymbolicAtom,
    Variable,
    parse_string,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.language.text.lexer import ANNOTATION, STRING, Cursor, Piece, Token
from dpasp.language.text.source import SourceFile
from dpasp.language.tuning import TUNING

_NAMES = re.compile(r"[_']*[A-Z][\w']*", re.ASCII)  # of variables and the like
_LEAVES = frozenset((ASTType.Variable, ASTType.SymbolicTerm))
_LOCAL = frozenset(
    (
        ASTType.ConditionalLiteral,
        ASTType.BodyAggregateElement,
        ASTType.HeadAggregateElement,
        ASTType.TheoryAtomElement,
    )
)
_START = Position("", 1, 1)
_WITH_COLON = (ASTType.ConditionalLiteral, ASTType.Disjunction, ASTType.Rule)
# an atom of numbers and variables, which clingo always prints correctly
_PLAIN = re.compile(r"-?_*[a-z][\w']*(?:\((?:(?:-?\d+|_|_*[A-Z][\w']*),?)+(?<!,)\))?")
_MESSAGE = re.compile(
    r"<string>:(\d+):(\d+)(?:-(?:(\d+):)?(\d+))?: error: (.*)", re.DOTALL | re.ASCII
)
_FOREIGN = re.compile(rf"({STRING})|[^\x00-\x7f]|\x00")
_NESTING = re.compile(
    rf"{STRING}|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<cut>[,;:])"
    r"|(?P<operator>\*\*|\.\.|[-+*/\\&?^~|<>=@]|\bnot\b)"
)
_DEEPER = re.compile(r"[(\[{\-+*/\\&?^~|<>=@.]|\bnot\b")  # anything that can add to the depth
_INSIDE_LINE = re.compile(r"[^\n]+")


def children(node: AST) -> Iterable[AST]:
    """The direct children of a node, from left to right."""
    kind = node.ast_type
    if kind == ASTType.Function:  # common kinds first: attribute access is slow
        return list(node.arguments)
    if kind == ASTType.SymbolicAtom:
        return (node.symbol,)
    return () if kind in _LEAVES else _all_children(node)


def _all_children(node: AST) -> Iterator[AST]:
    for key in node.child_keys:
        child = getattr(node, key)
        if isinstance(child, AST):
            yield child
        elif child is not None:
            yield from child


def walk(node: AST, below: Callable[[AST], Iterable[AST]] = children) -> Iterator[AST]:
    """A node and its descendants in pre-order; ``below`` chooses the children."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack += reversed(list(below(part)))


def is_positive(literal: AST) -> bool:
    """Whether a node is an atom that is not negated."""
    return bool(
        literal.ast_type == ASTType.Literal
        and literal.sign == Sign.NoSign
        and literal.atom.ast_type == ASTType.SymbolicAtom
    )


def unpooled(node: AST, most: int) -> int:
    """How many statements a statement with pools stands for, counted up to ``most``.

    >>> from clingo.ast import parse_string
    >>> rules = []
    >>> parse_string("a(1;2) :- b(3;4;5), 1 { c(6;7); c(8;9) }.", rules.append)
    >>> unpooled(rules[1], 1000)
    6
    """
    counts = []
    for child in children(node):  # not nested deeply, see too_deep
        count = unpooled(child, most)
        # Pools in an aggregate or after a colon make more elements, not more statements.
        counts.append(1 if child.ast_type in _LOCAL and count <= most else count)
    count = max(1, sum(counts)) if node.ast_type == ASTType.Pool else prod(counts)
    return min(count, most + 1)


def variables(node: AST, below: Callable[[AST], Iterable[AST]] = children) -> Iterator[AST]:
    """The variables in a node, without ``_``."""
    for part in walk(node, below):
        if part.ast_type == ASTType.Variable and part.name != "_":
            yield part


def global_variables(nodes: Iterable[AST]) -> dict[str, AST]:
    """The first occurrence of every global variable.

    Variables that occur only in conditional literals or elements of aggregates are local; ``_``
    does not count.
    """
    first: dict[str, AST] = {}
    for node in nodes:
        if all(name in first for name in _NAMES.findall(str(node))):
            continue  # inspecting nodes is slow
        for variable in variables(node, _global_children):
            first.setdefault(variable.name, variable)
    return first


def _global_children(node: AST) -> Iterable[AST]:
    return () if node.ast_type in _LOCAL else children(node)


# --- printing ----------------------------------------------------------------------------------

_PLACE = Location(_START, _START)
_NOTHING = Literal(_PLACE, Sign.NoSign, SymbolicAtom(Variable(_PLACE, "")))  # prints as ""


def exact(node: AST) -> str:
    """The text of a node that reads back as the same node.

    clingo drops the parentheses of ``f()`` and the colon before an empty condition.
    """
    text = str(node)
    if node.ast_type not in _WITH_COLON and _PLAIN.fullmatch(text):
        return text  # inspecting nodes is slow
    if next(_misprinted(node), None) is None:
        return str(node)
    node = deepcopy(node)
    for part in list(_misprinted(node)):
        if part.ast_type == ASTType.Function:
            part.name += "()"
        else:
            part.condition = [_NOTHING]
    return str(node)


def body_text(body: Sequence[AST]) -> str:
    """The end of a rule: `` :- a, b.``, or just a dot."""
    if not body:
        return "."
    # After a condition ',' would continue the condition.
    ends = ["; " if part.ast_type == ASTType.ConditionalLiteral else ", " for part in body[:-1]]
    parts = (exact(part) + end for part, end in zip(body, [*ends, "."], strict=True))
    return f" :- {''.join(parts)}"


def _misprinted(node: AST) -> Iterator[AST]:
    """The descendants that clingo prints wrongly."""
    for part in walk(node, _terms_below):
        match part.ast_type:
            case ASTType.Function:
                if not part.arguments and part.name and not part.external:
                    yield part
            case ASTType.ConditionalLiteral if not part.condition:
                yield part
            case ASTType.BodyAggregateElement if not part.condition and not part.terms:
                yield part


def _terms_below(node: AST) -> Iterable[AST]:
    """The children of a node that are terms: not the names of atoms and pools."""
    kind = node.ast_type
    if kind == ASTType.SymbolicAtom:
        symbol = node.symbol
        bare = symbol.argument if symbol.ast_type == ASTType.UnaryOperation else symbol
        return list(bare.arguments) if bare.ast_type == ASTType.Function else (symbol,)
    if kind == ASTType.Pool and _is_named(node):
        return [argument for part in node.arguments for argument in part.arguments]
    return children(node)


def _is_named(pool: AST) -> bool:
    """Whether a pool consists of argument lists, ``f(a;b)``."""
    kinds = {part.ast_type for part in pool.arguments}
    return kinds == {ASTType.Function} and len({part.name for part in pool.arguments}) == 1


class Buffer:
    """A text that can be overwritten in place, with one or four bytes per character."""

    def __init__(self, text: str) -> None:
        self._codec, self._width = "latin-1", 1
        try:
            self._data = bytearray(text, self._codec)
        except UnicodeEncodeError:
            self._codec, self._width = "utf-32-le", 4
            self._data = bytearray(text, self._codec, "surrogatepass")
        self._dots: set[int] = set()  # offsets of inserted dots

    def blank(self, start: int, end: int) -> None:
        """Overwrite a slice with spaces, keeping line breaks."""
        old = self._slice(start, end)
        lines = old.split("\n") if "\n" in old else [old]
        self._write(start, "\n".join(" " * len(line) for line in lines))
        if self._dots:
            self._dots -= {dot for dot in self._dots if start < dot <= end}

    def blank_in_line(self, start: int, end: int) -> None:
        """The same for a slice without line breaks, at once."""
        width = self._width
        self._data[start * width : end * width] = " ".encode(self._codec) * (end - start)

    def put(self, start: int, end: int, text: str) -> None:
        """Overwrite a slice with a text that is not longer, padded with spaces."""
        self.blank(start, end)
        self._write(start, text)

    def end_statement(self, end: int) -> None:
        """Add a missing final dot."""
        if self._slice(end, end + 1) == " ":
            self._write(end, ".")
        else:
            self._dots.add(end)

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The current text, or a slice of it."""
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


class Reading(Cursor):
    """The tokens of a statement that is being read, and the text that clingo will get."""

    def __init__(self, file: SourceFile, piece: Piece, buffer: Buffer) -> None:
        super().__init__(file, piece.start, piece.end)
        self.piece, self.buffer = piece, buffer

    def blank(self, first: Token, last: Token | None = None) -> None:
        """Overwrite a token, or all from the first to the last, with spaces."""
        self.buffer.blank(first.start, (last or first).end)

    def put(self, token: Token, text: str) -> None:
        """Overwrite a token with a text that is not longer."""
        self.buffer.put(token.start, token.end, text)


# --- clingo's parser ----------------------------------------------------------------------------


class Stuck(NamedTuple):
    """The slice at which clingo's parser failed, and its message."""

    start: int
    end: int
    words: str


def parse_clingo(text: str, first_line: int = 1) -> tuple[list[AST], Stuck | None]:
    """The nodes of a text, and the first syntax error if there is one."""
    nodes: list[AST] = []
    messages: list[str] = []

    def note(code: MessageCode, message: str) -> None:
        messages.append(message)

    try:
        parse_string("\n" * (first_line - 1) + safe(text), nodes.append, logger=note)
    except RuntimeError:
        stuck = (_stuck(message, text, first_line) for message in messages)
        return [], next(filter(None, stuck), Stuck(0, len(text), ""))
    return nodes[1:], None  # without the implicit '#program base.'


def safe(text: str) -> str:
    """Replace characters outside strings that would make clingo's parser end the process.

    The reader refuses such programs earlier; this is a second barrier.
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
    """The offset of a column counted in bytes, clipped to the text."""
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if not start:
            return len(text)
    content = text[start : start + column].encode()[: column - 1]
    return min(start + len(content.decode(errors="ignore")), len(text))


def too_deep(text: str) -> int | None:
    """Where a statement is nested too deeply for clingo's parser, or None.

    >>> too_deep("a(f(g(1)))."), too_deep("a(" + "-" * 500 + "1).")
    (None, 201)
    """
    if len(text) <= TUNING.term_depth or len(_DEEPER.findall(text)) <= TUNING.term_depth:
        return None
    levels, depth = [0], 0  # operators at each bracket level; total depth
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
        if depth > TUNING.term_depth:
            return match.start()
    return None


# --- rows of tables -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RowTexts:
    """The rows of a file; clingo reads them all at once when a node is first needed."""

    file: SourceFile
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def add(self, start: int, end: int) -> RowPlace:
        self.starts.append(start)
        self.ends.append(end)
        return RowPlace(self, len(self.ends) - 1)

    @cached_property
    def nodes(self) -> list[AST]:
        """clingo's nodes in order, with the positions they have in the file."""
        text, parts, at = self.file.text, [], 0
        for start, end in zip(self.starts, self.ends, strict=True):
            parts += [_blank(_INSIDE_LINE, text[at:start]), _blank(ANNOTATION, text[start:end])]
            at = end
        nodes, stuck = parse_clingo("".join(parts), self.file.first_line)
        assert stuck is None  # a row is well-formed
        return nodes


class RowPlace:
    """A row of a file, by its index."""

    __slots__ = ("at", "rows")

    def __init__(self, rows: RowTexts, at: int) -> None:
        self.rows, self.at = rows, at

    def ends(self) -> tuple[int, int]:
        return self.rows.starts[self.at], self.rows.ends[self.at]

    def span(self) -> Span:
        return self.rows.file.span(*self.ends())

    def node(self) -> AST:
        return self.rows.nodes[self.at]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace matches by spaces, so that everything else keeps its position."""
    return pattern.sub(lambda match: " " * len(match[0]), text)
