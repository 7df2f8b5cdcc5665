"""Rules of the text with the values of their variables: what their heads and bodies say.

>>> with_values("reach(X,Y), not closed(X)", {"X": 1, "Y": 2})
'reach(1,2), not closed(1)'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from clingo import Function, Symbol
from clingo.ast import AST, ASTType, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.inference.explain.traced import Traced
from dpasp.language import ast
from dpasp.logic.constants import symbol_constants, term_value
from dpasp.logic.matching import Values, match
from dpasp.logic.origins import RuleInstance
from dpasp.logic.program import Choice
from dpasp.logic.terms import Signature, split_atom, unpooled_atoms

_VARIABLE = re.compile(r"(?<![\w'\"])_*[A-Z][\w']*")
_SILENT = frozenset((ASTType.Comparison, ASTType.BooleanConstant))


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A literal of a body with values for its variables.

    It has a ``symbol`` if it is about one atom, and a ``pattern`` if some variables are left;
    an aggregate or a conditional literal has neither, but a ``node``.
    """

    text: str
    negated: bool = False
    symbol: Symbol | None = None
    pattern: AST | None = None
    node: AST | None = None
    values: Values | None = None


@dataclass(frozen=True)
class Texts:
    """The rules of a program's text, found by the atoms that they can derive."""

    traced: Traced
    constants: Mapping[str, Symbol]

    @classmethod
    def of(cls, traced: Traced, overrides: Mapping[str, str]) -> Texts:
        """The rules of a program with these values for its constants."""
        return cls(traced, symbol_constants(traced.ground.program, overrides))

    @cached_property
    def _heads(self) -> Mapping[Signature, list[tuple[int, AST]]]:
        """By signature, the rules of the text (no annotated ones) with such a head."""
        rules: dict[Signature, list[tuple[int, AST]]] = {}
        for index, statement in enumerate(self.traced.ground.program.statements):
            if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Rule:
                for atom in derivable_atoms(statement.node.head):
                    for term in unpooled_atoms(atom):
                        rules.setdefault(split_atom(term)[0], []).append((index, term))
        return rules

    @cached_property
    def instances(self) -> Mapping[int, list[RuleInstance]]:
        """The instances of each statement that has some."""
        by_statement: dict[int, list[RuleInstance]] = {}
        for instance in self.traced.instances:
            by_statement.setdefault(instance.statement, []).append(instance)
        return by_statement

    @cached_property
    def choices(self) -> Mapping[int, list[tuple[int, Choice, int]]]:
        """By atom, the choices (with their numbers) and positions of values that derive it."""
        by_atom: dict[int, list[tuple[int, Choice, int]]] = {}
        for number, choice in enumerate(self.traced.ground.choices):
            for position, head in enumerate(choice.heads):
                by_atom.setdefault(head, []).append((number, choice, position))
        return by_atom

    def giving(self, symbol: Symbol) -> list[tuple[int, AST]]:
        """The rules of the text with a head that can be this atom, as (statement, head)."""
        signature = Signature(symbol.name, len(symbol.arguments), symbol.positive)
        return [
            (index, term)
            for index, term in self._heads.get(signature, ())
            if match(term, symbol, self.constants) is not None
        ]

    def rule_instances(self, symbol: Symbol) -> Iterator[RuleInstance]:
        """The instances of rules that can give an atom."""
        for index, term in self.giving(symbol):
            for instance in self.instances.get(index, ()):
                known = {**self.constants, **dict(instance.substitution)}
                if match(term, symbol, known) is not None:
                    yield instance

    def is_fact(self, index: int) -> bool:
        """Whether a rule has no body (and so no instance of its own)."""
        return index not in self.instances and not self.body_nodes(index)

    def span(self, index: int) -> Span:
        """Where a statement is."""
        return self.traced.ground.program.statements[index].span

    def text(self, index: int) -> str:
        """A statement as it is written, on one line."""
        written = self.traced.ground.program.sources.text_of(self.span(index))
        return " ".join((written or "").split())

    def body_nodes(self, index: int) -> tuple[AST, ...]:
        """The body of a rule or of an annotated statement."""
        statement = self.traced.ground.program.statements[index]
        if isinstance(statement, ast.Annotated | ast.Neural):
            return tuple(statement.body)
        return tuple(statement.node.body) if isinstance(statement, ast.Plain) else ()

    def body(self, index: int, values: Values) -> list[BodyPart]:
        """The body with values for its variables; comparisons are left out."""
        known = {**self.constants, **values}
        return [part for node in self.body_nodes(index) if (part := _part(node, known)) is not None]

    def other_heads(self, index: int, values: Values, symbol: Symbol) -> list[Symbol]:
        """The other atoms of the head of a rule."""
        statement = self.traced.ground.program.statements[index]
        if not isinstance(statement, ast.Plain):
            return []
        known = {**self.constants, **values}
        terms = [t for atom in derivable_atoms(statement.node.head) for t in unpooled_atoms(atom)]
        others = [
            atom
            for atom in self.traced.ground.atoms
            if atom != symbol and any(match(term, atom, known) is not None for term in terms)
        ]
        return sorted(others)

    def head_kind(self, index: int) -> str:
        """What the head of a rule is: ``one`` atom, ``several`` (a disjunction) or ``free``."""
        statement = self.traced.ground.program.statements[index]
        if isinstance(statement, ast.Plain):
            kind = statement.node.head.ast_type
            if kind in (ASTType.Aggregate, ASTType.HeadAggregate):
                return "free"
            if kind in (ASTType.Disjunction, ASTType.ConditionalLiteral):
                return "several"
        return "one"


def derivable_atoms(head: AST) -> Iterator[AST]:
    """The atoms that a head can make true."""
    match head.ast_type:
        case ASTType.Literal:
            if head.atom.ast_type == ASTType.SymbolicAtom and head.sign == Sign.NoSign:
                yield head.atom
        case ASTType.ConditionalLiteral:
            yield from derivable_atoms(head.literal)
        case ASTType.HeadAggregateElement:
            yield from derivable_atoms(head.condition)
        case ASTType.Aggregate | ASTType.Disjunction | ASTType.HeadAggregate:
            for element in head.elements:
                yield from derivable_atoms(element)


def _part(node: AST, known: Values) -> BodyPart | None:
    """A literal of a body with values; None for a comparison."""
    text = with_values(str(node), known)
    if node.ast_type != ASTType.Literal:
        return BodyPart(text, node=node, values=known)
    if node.atom.ast_type in _SILENT:
        return None
    if node.atom.ast_type != ASTType.SymbolicAtom:
        return BodyPart(text, node=node, values=known)
    term, negated = node.atom.symbol, node.sign == Sign.Negation
    if term.ast_type != ASTType.Pool:
        signature, arguments = split_atom(term)
        parts = [term_value(argument, known) for argument in arguments]
        symbols = [part for part in parts if part is not None]
        if len(symbols) == len(parts):
            symbol = Function(signature.name, symbols, signature.positive)
            return BodyPart(f"{'not ' * negated}{symbol}", negated, symbol)
    return BodyPart(text, negated, None, term, None, known)


def with_values(text: str, known: Values) -> str:
    """A text of clingo's with values in place of variables."""

    def value(variable: re.Match[str]) -> str:
        name = variable[0]
        return str(known[name]) if name in known else name

    return _VARIABLE.sub(value, text)
