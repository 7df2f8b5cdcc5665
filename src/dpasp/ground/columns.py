"""The meaning of a table's cells for the atoms of a program.

A column is named after an atom, or after an atom without its last argument: ``yes`` in the column
``smoke`` is ``smoke(yes)``, and 3 in the column ``p(anna)`` is ``p(anna,3)``. A column named after
an atom of the program says whether that atom is true.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> columns = Columns.of(ground(parse("0.3::smoke(yes); 0.7::smoke(no). 0.5::rain. p(anna,3).")))
>>> [columns.literal(*cell) for cell in (("smoke", "yes"), ("p(anna)", 3), ("rain", 0))]
['smoke(yes)', 'p(anna,3)', 'not rain']
>>> columns.literal("smoke", None), columns.literal("Smoke", "Yes")
(None, 'smoke(yes)')
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any

from clingo import Symbol, SymbolType

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span, closest, nearest
from dpasp.ground.program import GroundLiteral, GroundProgram
from dpasp.ground.terms import IntegerOverflow, Signature, derived, parse_symbol
from dpasp.language import ast
from dpasp.language.arguments import (
    FALSE,
    MISSING,
    NOT_SEEN,
    PREFIX,
    TRUE,
    WORDS,
    Rows,
    UnreadableCell,
    atom_literal,
    is_missing,
    shown_value,
    truth,
)
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED

SHOWN = 12  # values, or columns, that a message lists

Atoms = Collection[Symbol]
Prefix = tuple[str, bool, tuple[Symbol, ...]]  # an atom without its last argument


@dataclass(frozen=True, slots=True)
class Column:
    """The possible meanings of a column's values.

    ``atom`` is the name itself, if it is an atom, and ``values`` the atoms that the values stand
    for, by the text of the value.
    """

    name: str
    atom: str | None
    values: dict[str, str]


class Columns:
    """The columns that tables about a program may have.

    ``atoms`` returns the atoms of the ground program; it is called only if a column may have
    values, so that the program is not ground needlessly. ``check`` raises at a limit.
    """

    def __init__(
        self,
        program: ast.Program,
        atoms: Callable[[], Atoms],
        check: Callable[[], None] = UNLIMITED.check,
    ) -> None:
        self.program = program
        self._atoms = atoms
        self._check = check
        self._columns: dict[str, Column] = {}

    @staticmethod
    def of(ground: GroundProgram) -> Columns:
        return Columns(ground.program, lambda: ground.atoms)

    @cached_property
    def derived(self) -> Collection[Signature]:
        """The predicates of the program."""
        return derived(self.program)

    def literal(self, column: str, value: Any) -> str | None:
        """The literal for a value in a column; None if nothing was observed."""
        self._check()
        if is_missing(value) and column in self._columns:
            return None
        known = self._columns.get(column)
        if known is None:
            known = self._columns[column] = self._column(column)
        if is_missing(value):
            return None
        if known.values:
            return _of_values(known, value)
        if truth(value) is None and not self._mentions(known.name.partition("(")[0]):
            raise self._unknown(column)
        return atom_literal(known.name, value)

    def _column(self, name: str) -> Column:
        symbol = self._symbol(name)
        if symbol is None:
            raise self._unknown(name)
        atom = Signature.of(symbol)
        longer = atom._replace(arity=atom.arity + 1)
        if longer not in self.derived:
            if atom not in self.derived and not self._in_bodies(symbol.name):
                raise self._unknown(name)
            return Column(str(symbol), str(symbol), {})
        values = self._by_prefix.get((symbol.name, symbol.positive, tuple(symbol.arguments)), {})
        exists = symbol in self._known or (not values and atom in self.derived)
        if not exists and not values:
            raise self._unknown(name)
        return Column(str(symbol), str(symbol) if exists else None, values)

    def _symbol(self, name: str) -> Symbol | None:
        """The atom that a column is named after; an unknown name is spelled as by conversion."""
        try:
            symbol = parse_symbol(name)
        except IntegerOverflow as error:
            problem = error.diagnostics[0]
            message = f"what cannot be read: {problem.message}"
            raise UnreadableCell(problem.code, message, problem.help) from None
        if symbol is None and ";" in name:  # the outcomes of a network: f(x; 3)
            symbol = parse_symbol(name.replace(";", ","))
        if symbol is not None and symbol.type is SymbolType.Function and symbol.name:
            return symbol
        return parse_symbol(plain) if self._mentions(plain := plain_name(name)) else None

    def _mentions(self, name: str) -> bool:
        return any(signature.name == name for signature in self.derived)

    def _in_bodies(self, name: str) -> bool:
        """Whether the program mentions a name that no rule derives, so that it is false."""
        return not self._mentions(name) and mentioned(name, self.program)

    @cached_property
    def _known(self) -> Atoms:
        return self._atoms()

    @cached_property
    def _by_prefix(self) -> dict[Prefix, dict[str, str]]:
        """The atoms, by the atom without its last argument and by the text of that argument."""
        found: dict[Prefix, dict[str, str]] = {}
        for symbol in sorted(self._known):
            if arguments := symbol.arguments:
                prefix = (symbol.name, symbol.positive, tuple(arguments[:-1]))
                found.setdefault(prefix, {})[plain_text(arguments[-1])] = str(symbol)
        return found

    def _unknown(self, name: str) -> UnreadableCell:
        """The error for a column that matches nothing in the program."""
        known = sorted({signature.name for signature in self.derived})
        start = name.partition("(")[0]
        if self._mentions(start):
            shapes = sorted(str(signature) for signature in self.derived if signature.name == start)
            help = (
                f"the program has {', '.join(shapes)}: name an atom, or all but its last argument"
            )
            message = f"something about {name}, which is not an atom of the program"
            return UnreadableCell("observation-column", message, help)
        near = closest(start, known) or closest(plain_name(name), known)
        help = f"did you mean '{near}'? " if near else ""
        help += f"a table has columns such as {_listed(known)}" if known else "there are no atoms"
        message = f"something about {name}, which the program does not know"
        return UnreadableCell("observation-column", message, help)


def _of_values(column: Column, value: Any) -> str:
    """The literal for a value in a column whose values are arguments of atoms."""
    text = _text_of(value)
    if isinstance(value, bool) and column.atom is not None:
        return f"{PREFIX[int(value)]}{column.atom}"
    found = next((column.values[t] for t in _spellings(value, text) if t in column.values), None)
    if found is None:
        alike = [column.values[t] for t in column.values if t.casefold() == text.casefold()]
        found = alike[0] if len(alike) == 1 else None
    said = WORDS.get(text.lower(), MISSING)
    if column.atom is not None and said != MISSING:
        if found is None and text not in ("0", "1"):
            return f"{PREFIX[said]}{column.atom}"
        raise _ambiguous(column, value, said)
    if found is None:
        raise _no_value(column, value, text)
    return found


def _text_of(value: Any) -> str:
    """A value as text; whole numbers are written as integers, however they are stored."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _spellings(value: Any, text: str) -> Iterable[str]:
    """The possible spellings of a value: as it is, and as conversion writes it."""
    yield text
    if hasattr(value, "isoformat"):  # a date or a time
        yield value.isoformat()
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]00:00:00", text):  # as other libraries write a day
        yield text[:10]
    if isinstance(value, bool) or text.lower() in ("true", "false"):
        yield text.lower()
    if re.fullmatch(r"-?\d+\.0+", text):
        yield text.partition(".")[0]
    if text[:1].isupper():  # a term with a capital would be a variable
        yield text[:1].lower() + text[1:]


def _ambiguous(column: Column, value: Any, said: int) -> UnreadableCell:
    """The error for a cell that may be about the atom or about a value."""
    start = f"{column.name[:-1]}," if column.name.endswith(")") else f"{column.name}("
    inside, itself = f"{start}{value})", {TRUE: "True", FALSE: "False"}.get(said, '"undef"')
    exists = inside in column.values.values()
    other = inside if exists else next(iter(column.values.values()))
    message = f"{shown_value(value)} about {column.name}, but the program has both {column.name} "
    help = f"write {itself} for {column.name} itself"
    help += f', or {{"{inside}": True}} for the value' if exists else ""
    return UnreadableCell("observation-ambiguous", f"{message}and {other}", help)


def _no_value(column: Column, value: Any, text: str) -> UnreadableCell:
    near = closest(text, column.values) or closest(text.lower(), column.values)
    help = f"the values of {column.name} are {_listed(column.values)}"
    help += f"; did you mean {near}?" if near else ""
    if text.lower() in NOT_SEEN:
        help += '; what was not observed is None, "" or "?"'
    return UnreadableCell(
        "observation-value", f"{shown_value(value)} about {column.name}, which it cannot be", help
    )


def _listed(words: Collection[str]) -> str:
    """Words for a message, only the first if there are many."""
    some = list(words)[:SHOWN]
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(some) + more


def plain_text(symbol: Symbol) -> str:
    """A term as in a table: a string without quotes.

    >>> from clingo import Number, String
    >>> plain_text(String("a b")), plain_text(Number(3))
    ('a b', '3')
    """
    return symbol.string if symbol.type is SymbolType.String else str(symbol)


def plain_value(symbol: Symbol) -> int | str:
    """A term as in a table: a number, or its text."""
    return symbol.number if symbol.type is SymbolType.Number else plain_text(symbol)


def plain_name(name: str) -> str:
    """A name as conversion writes it, in lower case.

    >>> plain_name("Lung Cancer")
    'lung_cancer'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()


def mentioned(name: str, program: ast.Program) -> bool:
    """Whether a program's text contains a word."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(text) for text in program.sources.values())


class LiteralReader:
    """Reads literals for a ground program; repeated texts cost nothing.

    With a two-valued ``logic``, ``undef`` cannot be observed.
    """

    def __init__(
        self, ground: GroundProgram, span: Span | None = None, logic: ast.Logic | None = None
    ) -> None:
        self.ground = ground
        self.span = span
        self.logic = logic
        self._literals: dict[str, GroundLiteral] = {}
        statements = ground.program.statements
        self._neural = {s.name for s in statements if isinstance(s, ast.Neural) and s.outcomes}

    def literal(self, text: str, index: int = 0) -> GroundLiteral:
        """Read a literal; ``index`` is its example, for messages."""
        literal = self._literals.get(text)
        if literal is None:
            literal = self._literals[text] = self._literal(text, index)
        return literal

    def rows(self, table: Rows) -> tuple[tuple[GroundLiteral, ...], ...]:
        """The literals of a table, by column."""
        return tuple(
            tuple(
                self.literal(text, int((table.codes[:, column] == code).argmax()))
                for code, text in enumerate(texts, 1)
            )
            for column, texts in enumerate(table.literals)
        )

    def _literal(self, text: str, index: int) -> GroundLiteral:
        mode, atom = mode_of(text)
        try:
            symbol = self._symbol(atom)
        except IntegerOverflow as error:
            problem = error.diagnostics[0]
            message = f"example {index} observes {text}: {problem.message}"
            raise self._error(problem.code, message, problem.help) from None
        if symbol is None:
            message = f"example {index} observes '{text}', which is not a literal"
            help = "write a ground atom: sum(9), not sum(9), undef sum(9)"
            raise self._error("observation-syntax", message, help)
        if mode is Mode.UNDEFINED and self.logic is not None and not self.logic.three_valued:
            never = f"no atom is ever undefined under the {self.logic.value} semantics"
            help = "say '#semantics lstable.', partial, smproblog or wellfounded"
            message = f"example {index} observes {text}, but {never}"
            raise self._error("undef-two-valued", message, help)
        number = self.ground.atoms.get(symbol, 0)
        # An atom that cannot occur is false, but an unknown name is a mistake.
        if not number and (
            mode is not Mode.FALSE or not mentioned(symbol.name, self.ground.program)
        ):
            known = [str(name) for name in self.ground.atoms]
            help = nearest(str(symbol), known) or "name an atom that some rule can derive"
            message = f"example {index} observes {text}, but {symbol} cannot occur"
            raise self._error("observation-atom", message, help)
        return GroundLiteral(mode, number, symbol)

    def _symbol(self, atom: str) -> Symbol | None:
        name, _, rest = atom.partition("(")
        if ";" in rest and name in self._neural:
            atom = atom.replace(";", ",")  # f(x; 3) for a neural predicate with outcomes
        return parse_symbol(atom)

    def _error(self, code: str, message: str, help: str) -> DataError:
        return DataError(Diagnostic(code, message, self.span, help))


def mode_of(text: str) -> tuple[Mode, str]:
    """Whether a literal says that its atom is true, false or undefined, and the atom."""
    for mode in (Mode.FALSE, Mode.UNDEFINED):
        if text.startswith(mode.value):
            return mode, text[len(mode.value) :].strip()
    return Mode.TRUE, text
