"""Statement, Program and semantics, and the table of kinds of statements.

A statement is a frozen node with its span. Terms, literals and clingo's own statements stay
:class:`clingo.ast.AST` nodes (treated as frozen). Spans are not compared, so two programs are equal
if they say the same thing.

The class of a statement says how it is recognised, read, printed and checked. A new directive is a
module with its class, and its name and a line in :mod:`dpasp.language.ast`.

>>> from dpasp.language import parse
>>> parse("0.3::a. b :- a. #query b.") == parse("0.3 :: a.   b:-a.   #query(b).")
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.text import Piece, Reading, SourceFile, Sources
from dpasp.language.text.lexer import CLINGO_DIRECTIVES, Words

NOWHERE = Span("<program>", 1, 1, 1, 1)  # of nodes made without a text


def span_field() -> Span:
    """A span: kept for messages, ignored by comparisons."""
    return field(default=NOWHERE, compare=False, repr=False)


def lazy_span_field() -> Span:
    """A span that a row may make on first use."""
    return field(default_factory=lambda: NOWHERE, compare=False, repr=False)


class FromRow:
    """An object of a row of a table, whose methods make some of its fields on first use."""

    row: ClassVar[Any] = None

    @classmethod
    def of_row(cls, row: object, known: Mapping[str, object]) -> Self:
        """The object of a row; fields that are not ``known`` are made by methods of the row."""
        made = cls.__new__(cls)
        values = made.__dict__
        values["row"] = row
        values.update(known)
        return made

    if not TYPE_CHECKING:  # a type checker sees plain fields

        def __getattr__(self, name: str) -> Any:
            if self.row is None or name not in self.__dataclass_fields__:
                raise AttributeError(name)
            value = self.__dict__[name] = getattr(self.row, name)()
            return value


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement of ours that waits for clingo's part of it.

    ``finish`` makes the statement from clingo's nodes, or None if they do not fit. It is ``whole``
    if nothing is left to clingo.
    """

    finish: Callable[[list[AST], Sources], Statement | None]
    whole: bool = False


class Statement:
    """A statement of a program; each kind is a frozen dataclass, whose text is its ``str``.

    A directive begins with one of its ``words``; other kinds are recognised by their text. ``read``
    returns the statement, or a draft if a part is left to clingo's parser; it then blanks out what
    clingo must not see.
    """

    __slots__ = ()
    span: Span

    words: ClassVar[tuple[str, ...]] = ()  # as '#query'
    once: ClassVar[bool] = False  # at most one in a program
    open_ended: ClassVar[bool] = False  # the final dot may be missing
    block: ClassVar[bool] = False  # ends with '#end.'
    form: ClassVar[str] = ""  # an example and its meaning, for the documentation
    about: ClassVar[str] = ""

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        """Whether a piece that begins with one of the words, or any piece, is of this kind."""
        return True

    @staticmethod
    def read(cursor: Reading) -> Draft | Statement:
        """Read a statement of this kind; :class:`Refused` if it cannot be read."""
        raise NotImplementedError

    @staticmethod
    def check(statements: Sequence[Any], setting: Setting) -> Iterable[Diagnostic]:
        """Yield the mistakes in the statements of this kind."""
        return ()


@dataclass(frozen=True, slots=True)
class Program:
    """The statements in order, with included files in place of their ``#include``.

    ``supplied`` are the names after ``@`` for which the caller of ``load`` gave objects, and
    ``externals`` the values (``true``, ``false``, ``free``, ``chance``) of external atoms.
    """

    statements: tuple[Statement, ...]
    sources: Sources = field(default_factory=Sources, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    supplied: frozenset[str] = frozenset()
    externals: tuple[tuple[str, str], ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self.sources)

    @property
    def may_run_python(self) -> bool:
        """Whether a block or a call of Python may be in the text."""
        return any(map(self.sources.holds, ("@", "#python", "#script")))

    def texts(self) -> list[str | None]:
        """The text of each statement; None where its file is not one of the program's."""
        return [self.sources.text_of(statement.span) for statement in self.statements]


class Logic(Enum):
    """The models of a total choice."""

    STABLE = "stable"
    PARTIAL = "partial"
    LSTABLE = "lstable"
    SMPROBLOG = "smproblog"
    WELLFOUNDED = "wellfounded"

    @property
    def three_valued(self) -> bool:
        """Whether an atom can be undefined."""
        return self is not Logic.STABLE


class Probability(Enum):
    """How the probability of a total choice is spread over its models.

    Under ``WEIGHTED`` every model has a weight of its own, and all weights are normalised together.
    """

    CREDAL = "credal"
    MAXENT = "maxent"
    WEIGHTED = "weighted"


class SemanticsPair(NamedTuple):
    """The semantics of a program."""

    logic: Logic = Logic.STABLE
    probability: Probability = Probability.CREDAL


@dataclass(frozen=True, slots=True)
class Setting:
    """What checks see besides the statements of their kind.

    ``numbers`` are the values of constants; None if unknown or already checked.
    """

    program: Program
    meaning: SemanticsPair
    numbers: Mapping[str, float] | None


# --- kinds ---------------------------------------------------------------------------------------


Kind = type[Statement]
_KINDS: list[Kind] = []
_BY_WORD: dict[str, Kind] = {}


def register_kind(kind: Kind) -> None:
    """Add a kind to the table; its words must be new."""
    taken = [word for word in kind.words if word in _BY_WORD]
    if taken or kind in _KINDS:
        raise ValueError(f"{', '.join(taken) or kind.__name__} is already in the table")
    _KINDS.append(kind)
    _BY_WORD.update(dict.fromkeys(kind.words, kind))


def unregister(kind: Kind) -> None:
    _KINDS.remove(kind)
    for word in kind.words:
        del _BY_WORD[word]


def kinds() -> tuple[Kind, ...]:
    """All kinds in the order in which they are tried."""
    return tuple(_KINDS)


def recognised(file: SourceFile, piece: Piece) -> Kind | None:
    """The kind that reads a piece; None if it is clingo's."""
    if piece.directive:
        kind = _BY_WORD.get(piece.directive)
        return kind if kind is not None and kind.recognise(file, piece) else None
    others = (kind for kind in _KINDS if not kind.words)
    return next((kind for kind in others if kind.recognise(file, piece)), None)


def starting_words() -> Words:
    """The words that begin statements, including clingo's."""
    return Words(
        begin=CLINGO_DIRECTIVES | _BY_WORD.keys(),
        open_ended=frozenset(word for word, kind in _BY_WORD.items() if kind.open_ended),
        blocks=frozenset(word for word, kind in _BY_WORD.items() if kind.block),
    )


T = TypeVar("T")


def clingo_terms(statement: Statement) -> Iterator[AST]:
    """The parts of a statement that are clingo nodes: bodies, atoms, other terms."""
    return parts_of(statement, AST)


def parts_of(value: object, kind: type[T]) -> Iterator[T]:
    """The values of a class in the fields of a statement, and in the fields of its parts."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from parts_of(part, kind)
    elif is_dataclass(value):
        for each in fields(value):
            if each.name != "span":
                yield from parts_of(getattr(value, each.name), kind)
