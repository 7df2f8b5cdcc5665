"""The table of kinds of statements: how each is recognised, read, printed and checked.

A new directive is a module with its node and its ``Kind``, and one line in
:mod:`dpasp.language.statements`.

>>> from dpasp.language import ast
>>> kind_of(ast.Inference("exact", ())).words
('#inference',)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic
from dpasp.language.statements.options import Call
from dpasp.language.statements.statement import Program, SemanticsPair, Statement
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources
from dpasp.language.text.lexer import CLINGO_DIRECTIVES
from dpasp.language.text.pieces import Words

Node = TypeVar("Node", bound=Statement)


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement of ours that waits for clingo's part of it.

    ``finish`` makes the statement from clingo's nodes, or None if they do not fit. ``whole`` if
    nothing is left to clingo.
    """

    finish: Callable[[list[AST], Sources], Statement | None]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What checks may look at besides the statements of their kind.

    ``numbers`` are the values of constants; None if unknown or already checked.
    """

    program: Program
    meaning: SemanticsPair
    numbers: Mapping[str, float] | None


def _anywhere(file: SourceFile, piece: Piece) -> bool:
    return True


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Kind(Generic[Node]):
    """A kind of statement.

    A directive begins with one of its ``words``; other kinds are recognised by their text. ``read``
    blanks out of the buffer what clingo's parser must not see.
    """

    node: type[Node]
    text: Callable[[Node], str]  # the statement's text
    words: tuple[str, ...] = ()  # as '#query'
    recognise: Callable[[SourceFile, Piece], bool] = _anywhere
    read: Callable[[SourceFile, Piece, Buffer], Draft] | None = None  # None: clingo reads it
    terms: Callable[[Node], Iterable[AST]] = _nothing  # its clingo nodes
    calls: Callable[[Node], Iterable[Call]] = _nothing  # of Python functions
    check: Callable[[Sequence[Node], Setting], Iterable[Diagnostic]] = _nothing  # of all statements
    once: bool = False  # at most one in a program
    open_ended: bool = False  # the final dot may be missing
    block: bool = False  # ends with '#end.'
    form: str = ""  # an example and its meaning, for the documentation
    about: str = ""

    @property
    def name(self) -> str:
        """A directive's name without '#', for codes and messages."""
        return self.words[0].removeprefix("#") if self.words else self.node.__name__.lower()


_KINDS: dict[type[Statement], Kind[Any]] = {}
_BY_WORD: dict[str, Kind[Any]] = {}


def register_kind(kind: Kind[Any]) -> None:
    """Add a kind to the table; its words must be new."""
    taken = [word for word in kind.words if word in _BY_WORD]
    if taken or kind.node in _KINDS:
        raise ValueError(f"{', '.join(taken) or kind.node.__name__} is already in the table")
    _KINDS[kind.node] = kind
    _BY_WORD.update(dict.fromkeys(kind.words, kind))


def unregister(kind: Kind[Any]) -> None:
    """Remove a kind from the table."""
    del _KINDS[kind.node]
    for word in kind.words:
        del _BY_WORD[word]


def kinds() -> tuple[Kind[Any], ...]:
    """All kinds in the order in which they are tried."""
    return tuple(_KINDS.values())


def kind_of(statement: Statement) -> Kind[Any]:
    """The kind of a statement."""
    return _KINDS[type(statement)]


def recognised(file: SourceFile, piece: Piece) -> Kind[Any] | None:
    """The kind that reads a piece; None if it is clingo's."""
    if piece.directive:
        kind = _BY_WORD.get(piece.directive)
        return kind if kind is not None and kind.recognise(file, piece) else None
    for kind in _KINDS.values():
        if kind.read is not None and not kind.words and kind.recognise(file, piece):
            return kind
    return None


def starting_words() -> Words:
    """The words that begin statements, including clingo's."""
    return Words(
        begin=CLINGO_DIRECTIVES | _BY_WORD.keys(),
        open_ended=frozenset(word for word, kind in _BY_WORD.items() if kind.open_ended),
        blocks=frozenset(word for word, kind in _BY_WORD.items() if kind.block),
    )


def clingo_terms(statement: Statement) -> Iterable[AST]:
    """The parts of a statement that are clingo nodes: bodies, atoms, other terms."""
    return kind_of(statement).terms(statement)


# --- shared by readers of directives ------------------------------------------------------------


def whole_statement(statement: Statement) -> Draft:
    """The draft of a statement of which nothing is left to clingo."""

    def finish(nodes: list[AST], sources: Sources) -> Statement:
        return statement

    return Draft(finish, whole=True)


def expect_end(cursor: Cursor, form: str, parenthesis: bool = False) -> None:
    """Refuse anything but the final dot, after the ``parenthesis`` if one was opened."""
    if parenthesis:
        cursor.expect(")", "directive-syntax", form)
    rest = cursor.next()
    if rest.text != "." or not cursor.at_end():
        what = f"unexpected '{rest.text}'" if rest.text else "the end is missing"
        cursor.fail("directive-syntax", what, rest, form)


def accept_parenthesis(cursor: Cursor) -> bool:
    """Consume the parenthesis around a directive's content, if there is one."""
    return cursor.accept("(") is not None
