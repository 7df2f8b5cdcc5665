"""Atoms and literals of a program's text in one model: what they are, and which came first.

>>> from clingo import Function
>>> from dpasp.inference.explain.traced import Traced
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> program = ground(parse("a. {b}. c :- b."))
>>> texts = Texts.of(Traced(program, (), program), {})
>>> a = program.atoms[Function("a")]
>>> here = TextInModel(texts, TracedModel((), true=frozenset({a}), possible=frozenset({a})))
>>> here.value(Function("a")), here.value(Function("c")), here.value(Function("d"))
(True, False, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from clingo import Symbol
from clingo.ast import ASTType

from dpasp.dataclass import dataclass
from dpasp.inference.answers import Value
from dpasp.inference.explain.bodies import BodyPart, Texts
from dpasp.inference.explain.traced import TracedModel, derivation
from dpasp.language.text.trees import walk
from dpasp.logic.matching import match
from dpasp.logic.program import Choice
from dpasp.logic.terms import unpooled_atoms


@dataclass(frozen=True)
class TextInModel:
    """The rules of a program's text, and one of its models."""

    texts: Texts
    model: TracedModel

    @cached_property
    def _order(self) -> dict[int, int]:
        return dict(derivation(self.texts.traced.ground, self.model))

    def atom(self, symbol: Symbol) -> int:
        """The number of an atom; 0 if it cannot occur."""
        return self.texts.traced.ground.atoms.get(symbol, 0)

    def value(self, symbol: Symbol) -> Value:
        """What an atom is in the model: true, false or undefined."""
        return self.model.value(self.atom(symbol))

    def when(self, atom: int) -> int:
        """When an atom is derived, as a number to compare; late if it is only by a loop."""
        return self._order.get(atom, len(self._order) + atom)

    def holds(self, part: BodyPart) -> Value | None:
        """What a literal of a body is; None for an aggregate or a conditional literal."""
        if part.symbol is not None:
            return _signed(self.value(part.symbol), part.negated)
        if part.pattern is None:
            return None
        values = {self.value(symbol) for symbol in self.fitting(part)}
        value: Value = True if True in values else ("undef" if "undef" in values else False)
        return _signed(value, part.negated)

    def fitting(self, part: BodyPart) -> list[Symbol]:
        """The atoms that the pattern of a literal fits: true ones first, as they were derived."""
        assert part.pattern is not None
        pattern, known = part.pattern, part.values or {}
        atoms = self.texts.traced.ground.atoms
        fitting = [symbol for symbol in atoms if match(pattern, symbol, known) is not None]
        return sorted(
            fitting, key=lambda atom: (self.value(atom) is not True, self.when(atoms[atom]))
        )

    def true_inside(self, part: BodyPart) -> list[Symbol]:
        """The true atoms inside an aggregate or a conditional literal."""
        if part.node is None:
            return []
        terms = [
            term
            for node in walk(part.node)
            if node.ast_type == ASTType.SymbolicAtom
            for term in unpooled_atoms(node)
        ]
        known = part.values or {}
        return sorted(
            symbol
            for symbol, atom in self.texts.traced.ground.atoms.items()
            if atom in self.model.true
            and any(match(term, symbol, known) is not None for term in terms)
        )

    def failing(self, parts: Sequence[BodyPart]) -> list[BodyPart]:
        """The literals of a body that do not hold; if all do, the conditions that cannot."""
        plain = [part for part in parts if self.holds(part) in (False, "undef")]
        return plain or [part for part in parts if self.holds(part) is None]

    def can_hold(self, part: BodyPart) -> bool:
        """Whether a literal of a body without instances may hold: false for what it lacks."""
        if part.symbol is not None:
            known = part.symbol in self.texts.traced.ground.atoms
            return self.holds(part) is True if part.negated or known else False
        return part.negated or part.pattern is None or bool(self.fitting(part))

    def first_choice(self, atom: int) -> tuple[int, Choice, int] | None:
        """When the first choice derives an atom, that choice, and the position of its value."""
        deriving = [
            (self.when(choice.selectors[position]), choice, position)
            for _, choice, position in self.texts.choices.get(atom, ())
            if choice.selectors[position] in self.model.true and self._body_holds(choice)
        ]
        return min(deriving, key=lambda derivation: derivation[0]) if deriving else None

    def _body_holds(self, choice: Choice) -> bool:
        parts = self.texts.body(choice.statement, dict(choice.substitution))
        return all(self.holds(part) is not False for part in parts)


def _signed(value: Value, negated: bool) -> Value:
    """The value of a literal from that of its atom."""
    return value if value == "undef" or not negated else not value
