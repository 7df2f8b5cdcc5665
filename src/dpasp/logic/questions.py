"""``#query``, ``#map`` and ``#evidence`` as clingo sees them, and what it makes of them.

``#query a(X), not b(X) | c, X < 3.`` (statement 7) becomes, in a part of its own,

    {_dpasp_ask0_7_0((X,), (X,), ())} :- a(X), X < 3.

whose instances tell the arguments of all literals. Positive and ``undef`` literals
bind their variables; ``not`` ones only those that nothing else binds. A literal
without variables binds nothing, so that an atom that cannot occur still comes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from clingo import Control, Function, Symbol
from clingo.ast import (
    AST,
    ASTType,
    Comparison,
    ComparisonOperator,
    Guard,
    Literal,
    Sign,
    SymbolicAtom,
    Transformer,
    Variable,
)

from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.logic.markers import HIDDEN
from dpasp.logic.terms import (
    NOWHERE,
    Signature,
    choice_rule,
    descendants,
    function,
    split_atom,
    unpooled_atoms,
    variables,
)

Question = ast.Query | ast.Map | ast.Evidence
_INTERVAL = f"{HIDDEN}interval"  # names of variables that stand for intervals


@dataclass(frozen=True, slots=True)
class Asked:
    """A literal of a question before grounding; ``given`` is whether it is evidence."""

    mode: Mode
    atom: AST
    given: bool

    @property
    def is_ground(self) -> bool:
        """Whether it has no variables (pools and intervals do not count)."""
        return not any(node.ast_type == ASTType.Variable for node in descendants(self.atom))


@dataclass(frozen=True, slots=True)
class Told:
    """A ground instance of a literal of a question."""

    literal: Asked
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The predicate of a question's markers, and what their arguments belong to."""

    name: str
    group: int  # which of the groups of literals that share no variables
    literals: tuple[tuple[Asked, Signature], ...]


@dataclass(slots=True)
class QuestionMarkers:
    """The markers of the questions that are asked together, the ``round``-th of a program."""

    round: int = 0
    rules: list[AST] = field(default_factory=list)
    _patterns: dict[int, list[_Pattern]] = field(default_factory=dict)

    def add(self, index: int, question: Question) -> None:
        """Encode a question.

        The literals of a query are joined: each way to satisfy them is an instance. In
        the others a variable stands for all its values at once, so literals that share
        none are kept apart.
        """
        self._patterns[index] = []
        literals = asked(question)
        guards = () if isinstance(question, ast.Evidence) else question.guards
        if isinstance(question, ast.Query):
            self._add_group(index, 0, literals, guards)
        else:
            for number, (group, conditions) in enumerate(_linked(literals, guards)):
                self._add_group(index, number, group, conditions)

    def _add_group(
        self, index: int, number: int, group: Sequence[Asked], guards: Sequence[AST]
    ) -> None:
        patterns = self._patterns[index]
        for symbols in product(*(unpooled_atoms(literal.atom) for literal in group)):
            name = f"{HIDDEN}ask{self.round}_{index}_{len(patterns)}"
            naming = _Naming()
            named = [naming.name(symbol) for symbol in symbols]
            split = [split_atom(symbol) for symbol in named]
            conditions = [*naming.guards, *guards]
            body = [*_binding(group, named, conditions), *conditions]
            terms = [function("", arguments) for _, arguments in split]
            location = symbols[0].location
            self.rules.append(choice_rule(function(name, terms, location), body, location))
            signatures = (signature for signature, _ in split)
            patterns.append(_Pattern(name, number, tuple(zip(group, signatures, strict=True))))

    def read(self, control: Control, index: int) -> list[tuple[Told, ...]]:
        """The instances of a question in clingo's order of terms, each once."""
        found: dict[tuple[Told, ...], int] = {}
        for pattern in self._patterns[index]:
            atoms = control.symbolic_atoms.by_signature(pattern.name, len(pattern.literals))
            for atom in atoms:
                found[tuple(_told(pattern, atom.symbol.arguments))] = pattern.group

        def order(told: tuple[Told, ...]) -> tuple[int, list[Symbol]]:
            return found[told], [literal.symbol for literal in told]

        return sorted(found, key=order)


def asked(question: Question) -> list[Asked]:
    """The literals of a question as written, evidence last."""
    if isinstance(question, ast.Evidence):
        return [Asked(literal.mode, literal.atom, True) for literal in question.literals]
    given = [Asked(literal.mode, literal.atom, True) for literal in question.evidence]
    if isinstance(question, ast.Map):
        return [Asked(Mode.TRUE, atom, False) for atom in question.atoms] + given
    return [Asked(literal.mode, literal.atom, False) for literal in question.literals] + given


def _told(pattern: _Pattern, arguments: Sequence[Symbol]) -> Iterator[Told]:
    for (literal, signature), part in zip(pattern.literals, arguments, strict=True):
        yield Told(literal, Function(signature.name, part.arguments, signature.positive))


def _linked(
    literals: Sequence[Asked], guards: Sequence[AST]
) -> list[tuple[list[Asked], list[AST]]]:
    """The literals in groups that share no variables, each with the guards on its variables."""
    groups: list[tuple[set[str], list[Asked], list[AST]]] = []
    items: list[tuple[set[str], list[Asked], list[AST]]] = [
        *((_names(literal.atom), [literal], []) for literal in literals),
        *((_names(guard), [], [guard]) for guard in guards),
    ]
    for names, some, conditions in items:
        touching = [group for group in groups if group[0] & names]
        at = groups.index(touching[0]) if touching else len(groups)
        for group in touching:
            groups.remove(group)
        names = names.union(*(group[0] for group in touching))
        some = [literal for group in touching for literal in group[1]] + some
        conditions = [guard for group in touching for guard in group[2]] + conditions
        groups.insert(at, (names, some, conditions))
    # A guard without literals (``1 < 2``) is a condition on everything.
    common = [guard for _, some, conditions in groups if not some for guard in conditions]
    return [(some, conditions + common) for _, some, conditions in groups if some]


def _names(node: AST) -> set[str]:
    """The variables below a node but those that stand for intervals, which bind themselves."""
    return {v.name for v in variables(node) if not v.name.startswith(_INTERVAL)}


def _binding(
    group: Sequence[Asked], symbols: Sequence[AST], guards: Iterable[AST]
) -> Iterator[AST]:
    """The positive literals that give the variables of a question their values."""
    bound = {name for guard in guards for name in _assigned(guard)}
    for literal, symbol in zip(group, symbols, strict=True):
        if literal.mode is not Mode.FALSE and (names := _names(symbol)):
            bound |= names
            yield _positive(symbol)
    for literal, symbol in zip(group, symbols, strict=True):
        if literal.mode is Mode.FALSE and not (names := _names(symbol)) <= bound:
            bound |= names
            yield _positive(symbol)


def _positive(symbol: AST) -> AST:
    return Literal(symbol.location, Sign.NoSign, SymbolicAtom(symbol))


def _assigned(guard: AST) -> Iterator[str]:
    """The variables that an equation gives a value: those that stand alone on a side."""
    comparison = guard.atom
    if guard.sign != Sign.NoSign or comparison.ast_type != ASTType.Comparison:
        return
    sides = [comparison.term, *(part.term for part in comparison.guards)]
    equal = [part.comparison == ComparisonOperator.Equal for part in comparison.guards]
    for position, side in enumerate(sides):
        near = equal[max(position - 1, 0) : position + 1]
        if side.ast_type == ASTType.Variable and any(near):
            yield side.name


class _Naming(Transformer):
    """Gives ``_`` and intervals names, so that they mean the same wherever they are used."""

    def __init__(self) -> None:
        self.guards: list[AST] = []
        self._count = 0

    def name(self, symbol: AST) -> AST:
        """The term with names in it; ``guards`` says what the names stand for."""
        text = str(symbol)
        if "_" not in text and ".." not in text:
            return symbol
        named = self.visit(symbol)
        assert isinstance(named, AST)
        return named

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802
        return self._fresh(node, f"{HIDDEN}any") if node.name == "_" else node

    def visit_Interval(self, node: AST) -> AST:  # noqa: N802
        variable = self._fresh(node, _INTERVAL)
        bounds = node.update(**self.visit_children(node))
        equal = Guard(ComparisonOperator.Equal, bounds)
        self.guards.append(Literal(NOWHERE, Sign.NoSign, Comparison(variable, [equal])))
        return variable

    def _fresh(self, node: AST, prefix: str) -> AST:
        self._count += 1
        return Variable(node.location, f"{prefix}{self._count}")
