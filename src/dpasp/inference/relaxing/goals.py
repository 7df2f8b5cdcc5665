"""What is asked as one atom of a program that the choices determine.

The determined part of a program has one value in every model of a total choice. A conjunction
of its literals is then an event, and so is its complement; constraints between determined atoms
join in. All semantics agree about such events.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. 0.5::b. c :- a. c :- not b. 0.1::z."))
>>> determined = determined_part(program, Meaning())
>>> c = program.atoms[next(symbol for symbol in program.atoms if str(symbol) == "c")]
>>> goal = determined.goal([(c,)])
>>> [choice.heads[0] for choice in goal.read] == [ch.heads[0] for ch in program.choices[:2]]
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from dpasp.dataclass import dataclass
from dpasp.inference.sampling.splitting import split_translation
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Choice, GroundLiteral, GroundProgram, Rule
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
