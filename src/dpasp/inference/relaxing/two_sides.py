"""A program in which some choices are unknown: what holds there holds however they fall.

Every atom has two sides: that it surely holds, and that it may hold. The head of a rule surely
holds where the atoms that its body needs surely hold and those that it negates cannot hold. It
may hold where the atoms that its body needs may hold and none that it negates surely holds. Of an
unknown choice no value surely holds and every value may. So the probability that the goal surely
holds is a lower bound of its own, and the more choices are known, the closer it is.

>>> from dpasp.inference.relaxing.goals import determined_part
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query c."))
>>> goal = determined_part(program, Meaning()).goal([(program.questions[0].literals[0].atom,)])
>>> from dpasp import circuits
>>> weights = [0.3, 0.7, 0.5, 0.5]
>>> for known in ({0}, {1}, {0, 1}):
...     circuit = circuits.compile(relaxed(goal, known), Meaning())
...     print(circuit.masses(weights, fields=("a",))[0, 1])
0.3
0.5
0.65
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from clingo import Function

from dpasp.inference.relaxing.goals import RelaxedGoal
from dpasp.language.ast import NOWHERE, Mode
from dpasp.logic.program import GroundLiteral, GroundProgram, GroundQuery, Rule


def relaxed(goal: RelaxedGoal, known: Collection[int]) -> GroundProgram:
    """The program that asks whether a goal surely holds, of whose choices only some are known.

    The choices are those of the program, known or not, so that their weights lie where they did.
    """
    ground = goal.ground
    sides = _Sides(goal, frozenset(known))
    rules = tuple(dict.fromkeys(sides.rules()))
    literal = GroundLiteral(Mode.TRUE, sides.number(goal.atom, True), Function("goal"))
    return replace(
        ground,
        symbols=(*ground.symbols, *[None] * (sides.size - len(ground.symbols))),
        rules=rules,
        questions=(GroundQuery((literal,), (), str(literal), NOWHERE),),
        evidence=(),
    )


class _Sides:
    """The rules of both sides of the atoms that a goal depends on, as far as it needs them."""

    def __init__(self, goal: RelaxedGoal, known: frozenset[int]) -> None:
        self.goal, self.known = goal, known
        self.size = len(goal.ground.symbols)  # the sides of atoms are numbered after these
        self._numbers: dict[tuple[int, bool], int] = {}

    def number(self, atom: int, surely: bool) -> int:
        """The atom that says that another surely holds, or may; a selector stands for itself."""
        if atom in self.goal.selectors:
            return atom
        if (atom, surely) not in self._numbers:
            self._numbers[atom, surely] = self.size
            self.size += 1
        return self._numbers[atom, surely]

    def rules(self) -> Iterator[Rule]:
        """The rules by which the goal surely holds."""
        todo, seen = [(self.goal.atom, True)], {(self.goal.atom, True)}
        while todo:
            atom, surely = todo.pop()
            for rule in self.goal.rules.get(atom, ()):
                side = self._rule(rule, atom, surely)
                if side is None:
                    continue
                yield side
                for literal in rule.body:
                    read = (abs(literal), surely == (literal > 0))
                    if read not in seen and abs(literal) not in self.goal.selectors:
                        seen.add(read)
                        todo.append(read)

    def _rule(self, rule: Rule, atom: int, surely: bool) -> Rule | None:
        """One side of a rule; None if its body never holds there."""
        weights = rule.weights if rule.weights is not None else (1,) * len(rule.body)
        bound = rule.bound if rule.weights is not None else len(rule.body)
        body: list[tuple[int, int]] = []
        for literal, weight in zip(rule.body, weights, strict=True):
            choice = self.goal.selectors.get(abs(literal))
            if choice is None or choice in self.known:
                number = self.number(abs(literal), surely == (literal > 0))
                body.append((number if literal > 0 else -number, weight))
            elif not surely:  # a value of an unknown choice, which may hold
                bound -= weight
        if bound > sum(weight for _, weight in body):
            return None
        head, literals = (self.number(atom, surely),), tuple(literal for literal, _ in body)
        if rule.weights is None or bound <= 0:
            return Rule(head, literals if bound > 0 else ())
        return Rule(head, literals, weights=tuple(weight for _, weight in body), bound=bound)
