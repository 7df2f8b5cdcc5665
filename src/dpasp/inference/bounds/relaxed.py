"""Programs with unknown choices: what surely holds there holds whatever the choices turn out to be.

The determined part of a program has one value in every model of a total choice. A conjunction of
its literals is therefore an event, and so is its complement (constraints between determined atoms
join in); all semantics agree about such events. A *goal* is such an event as one atom.

In the relaxed program every atom has two sides: that it surely holds, and that it may hold. The
head of a rule surely holds where the atoms that its body needs surely hold and those that it
negates cannot hold; it may hold where the needed atoms may hold and no negated one surely does.
No value of an unknown choice surely holds, and every value may. So the probability that the goal
surely holds is a lower bound of the goal's own, and the more choices are known, the tighter it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from clingo import Function

from dpasp.dataclass import dataclass
from dpasp.ground.program import Choice, GroundLiteral, GroundProgram, GroundQuery, Rule
from dpasp.inference.sampling.splitting import split_translation
from dpasp.language.ast import NOWHERE, Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, Translation, translate


@dataclass(frozen=True)
class RelaxedGoal:
    """An atom that the choices of a program determine, and the rules that it depends on."""

    ground: GroundProgram
    rules: Mapping[int, tuple[Rule, ...]]  # by atom
    atom: int
    size: int  # the atoms are 1, …, size - 1

    @cached_property
    def selectors(self) -> Mapping[int, int]:
        """By selector that the goal depends on: the number of its choice."""
        read = {abs(b) for rules in self.rules.values() for rule in rules for b in rule.body}
        return {
            selector: number
            for number, choice in enumerate(self.ground.choices)
            for selector in choice.selectors
            if selector in read
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the choices that the goal depends on."""
        return tuple(sorted(set(self.selectors.values())))

    @property
    def read(self) -> tuple[Choice, ...]:
        """The choices that the goal depends on."""
        return tuple(self.ground.choices[number] for number in self.numbers)


@dataclass(frozen=True)
class DeterminedPart:
    """The rules of the determined atoms of a program, with the constraints over these atoms.

    Every total choice that satisfies the constraints has a model. Three fresh atoms follow those
    of the translation: one without rules (``never``), one for a violated constraint, the goal.
    """

    ground: GroundProgram
    translation: Translation
    rules: Mapping[int, Sequence[Rule]]
    constraints: tuple[Rule, ...]  # over determined atoms
    known: Sequence[bool]  # by atom, whether it is determined

    def conjunction(self, literals: Sequence[GroundLiteral]) -> Conjunction | None:
        """The literals as those of the translated program; None if some are not determined.

        What cannot hold is written as an atom and its negation.
        """
        conjunction = self.translation.conjunction(literals)
        if conjunction is None:
            return self.never
        return conjunction if all(self.known[abs(b)] for b in conjunction) else None

    @property
    def never(self) -> Conjunction:
        """Literals that never hold together."""
        return (self.translation.size, -self.translation.size)

    def goal(self, bodies: Sequence[Conjunction]) -> RelaxedGoal:
        """The goal that one of the conjunctions holds, and no constraint is violated."""
        violated = self.translation.size + 1
        allowed = (-violated,) if self.constraints else ()
        rules = {violated: tuple(rule._replace(head=(violated,)) for rule in self.constraints)}
        return self._goal([Rule((), (*body, *allowed)) for body in bodies], rules)

    def complement(self, bodies: Sequence[Conjunction]) -> RelaxedGoal:
        """The goal that one of the conjunctions holds, or a constraint is violated."""
        return self._goal([*(Rule((), body) for body in bodies), *self.constraints], {})

    def _goal(self, rules: Sequence[Rule], more: Mapping[int, Sequence[Rule]]) -> RelaxedGoal:
        """The goal that the body of one of the rules holds, with ``more`` rules by atom."""
        atom = self.translation.size + 2
        mine = tuple(rule._replace(head=(atom,)) for rule in rules)
        every = {**self.rules, **more, atom: mine}
        return RelaxedGoal(self.ground, _below(every, atom), atom, atom + 1)


def determined_part(
    ground: GroundProgram, meaning: Meaning, watch: Watch = UNLIMITED
) -> DeterminedPart | None:
    """The determined part of a program; None if other rules may leave total choices no model."""
    translation = translate(ground, meaning.logic, watch)
    program = split_translation(translation, watch)
    if not all(part.certain for part in program.parts):
        return None
    if program.constraints and meaning.has_undefined_model:
        return None  # a violated constraint leaves a model there, with every atom undefined
    known = [*program.determined.tolist(), True]
    return DeterminedPart(ground, translation, program.rules, program.constraints, known)


def _below(rules: Mapping[int, Sequence[Rule]], atom: int) -> dict[int, tuple[Rule, ...]]:
    """The rules of an atom, and of all that it depends on."""
    found: dict[int, tuple[Rule, ...]] = {}
    todo = [atom]
    while todo:
        atom = todo.pop()
        if atom not in found and atom in rules:
            found[atom] = tuple(rules[atom])
            todo += [abs(b) for rule in found[atom] for b in rule.body]
    return found


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
