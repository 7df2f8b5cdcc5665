"""Why there is no model: a smallest set of rules and choices that leaves none.

The most probable sets of values of choices that leave no model are found as ways are (see
:mod:`dpasp.inference.explain.ways`). For each of them, every instance of a rule gets a switch.
A set of instances *leaves no model* if there is none however the other switches are set and the
other choices fall. That is one question to the solver, with the set as assumptions. A larger set
leaves no model if a smaller one does; so leaving out one instance after the other ends with a set
in which each is needed. (Such sets are the minimal strongly inconsistent ones of Brewka, Thimm and
Ulbricht.) What clingo finds to be certain, facts and what follows from them alone, is taken
as given; the result lists those certain atoms that the rules rest on.

>>> from dpasp import loads
>>> (reason,) = loads("0.5::a. 0.4::b. c :- a. :- c, b.").why_inconsistent()
>>> reason.values, [rule.text for rule in reason.rules]
(('a', 'b'), ['c :- a.', ':- c, b.'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.ground.markers import RuleInstance
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    Rule,
)
from dpasp.ground.solve import Solver
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import on_circuit
from dpasp.inference.enumerate import live_groups
from dpasp.inference.explain.traced import Texts, with_values
from dpasp.inference.explain.ways import Certainty, Partial, Ways, smallest
from dpasp.language.statements.statement import Probability
from dpasp.semantics.leaves import ends, leaf_names
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import translate

if TYPE_CHECKING:
    from dpasp.display.scene import Picture


@dataclass(frozen=True, slots=True)
class NeededRule:
    """An instance of a rule that is needed: as it is written, and with its values."""

    text: str
    instance: str
    span: Span

    @property
    def line(self) -> int:
        """Its line."""
        return self.span.line

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        place = {"file": self.span.file, "line": self.span.line}
        return {"rule": self.text, "instance": self.instance, **place}


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """What leaves no model: values of choices, instances of rules, and evidence.

    ``bounds`` is the probability of the values, or the lowest and highest one with intervals.
    ``facts`` are the certain atoms that the rules rest on.
    """

    values: tuple[str, ...]
    bounds: tuple[float, ...]
    rules: tuple[NeededRule, ...]
    evidence: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def probability(self) -> float | None:
        """The probability of the values; None where it is an interval."""
        return self.bounds[0] if len(self.bounds) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        low, high = self.bounds[0], self.bounds[-1]
        chance = {"probability": low} if len(self.bounds) == 1 else {"lower": low, "upper": high}
        return {
            "values": list(self.values),
            **chance,
            "rules": [rule.to_dict() for rule in self.rules],
            "evidence": list(self.evidence),
            "facts": list(self.facts),
        }

    def __str__(self) -> str:
        from dpasp.display.reasons import inconsistency_text

        return inconsistency_text(self)

    def _repr_html_(self) -> str:
        from dpasp.display.reasons import inconsistency_html

        return inconsistency_html(self)


@dataclass(frozen=True, slots=True)
class Inconsistencies(Sequence[Inconsistency]):
    """The most probable reasons for total choices without a model; none if there are none.

    ``mass`` is the probability of all total choices without a model (that satisfies the
    evidence, if there is some); with intervals, in the middle of them. ``complete`` is false
    if a limit was reached. With ``collapses``, the semantics makes every atom undefined in
    total choices without a stable model.
    """

    reasons: tuple[Inconsistency, ...]
    mass: float
    evidence: tuple[str, ...] = ()
    complete: bool = True
    collapses: bool = False

    @overload
    def __getitem__(self, which: int) -> Inconsistency: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Inconsistency, ...]: ...
    def __getitem__(self, which: int | slice) -> Inconsistency | tuple[Inconsistency, ...]:
        return self.reasons[which]

    def __len__(self) -> int:
        return len(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "inconsistent": self.mass,
            "evidence": list(self.evidence),
            "complete": self.complete,
            "reasons": [reason.to_dict() for reason in self.reasons],
        }

    def plot(self, path: str | Path | None = None) -> Picture:
        """The reasons as a picture; saved if there is a path."""
        from dpasp.display.reasons import inconsistencies_picture

        return inconsistencies_picture(self).saved(path)

    def __str__(self) -> str:
        from dpasp.display.reasons import inconsistencies_text

        return inconsistencies_text(self)

    def _repr_html_(self) -> str:
        from dpasp.display.reasons import inconsistencies_html

        return inconsistencies_html(self)


def why_inconsistent(asked: Asked, texts: Texts, top: int) -> Inconsistencies:
    """Why total choices have no model, or none that satisfies the program's evidence.

    ``asked`` is about the program as it is answered, ``texts`` about the same one with the
    instances of its rules. There are at most ``top`` reasons, the most probable first.
    """
    asked = asked.one_row()
    evidence = asked.ground.evidence
    meaning = Meaning(asked.meaning.existence, Probability.CREDAL)
    query = GroundQuery(evidence, (), "", texts.traced.ground.program.statements[0].span)
    circuit = on_circuit(
        replace(asked.ground, questions=(query,)),
        meaning,
        cache=circuits.Cache.default(),
        watch=asked.watch,
    )
    masses = circuit.masses(asked.columns, asked.watch)[0]
    mass = min(1.0, float(masses.inconsistent[0] + masses.c[0]))
    observed = tuple(map(str, evidence))
    collapses = asked.meaning.has_undefined_model
    search = Ways(circuit, 0, ends(asked.ground, asked.weights)[1], asked.watch)
    cores = _Cores(replace(asked, meaning=meaning), texts, evidence)
    reasons = tuple(cores.of(values) for values in search.find(Certainty.NEVER, top))
    return Inconsistencies(reasons, mass, observed, search.complete, collapses)


class _Cores:
    """A program whose rules can be switched off one by one."""

    def __init__(self, asked: Asked, texts: Texts, evidence: Sequence[GroundLiteral]) -> None:
        self.asked, self.texts = asked, texts
        self.ground = texts.traced.ground
        self.evidence = texts.traced.literals(evidence)
        self.instances = [instance for instance in texts.traced.instances if not instance.certain]
        self.switches = {
            instance.atom: len(self.ground.symbols) + i for i, instance in enumerate(self.instances)
        }
        self.names = leaf_names(asked.ground)
        self._solver, self._guards = self._made()

    def _made(self) -> tuple[Solver, list[int]]:
        """The solver, and for each literal of the evidence an atom that demands it if true."""
        switched = _switched(self.ground, self.switches)
        translation = translate(
            switched, self.asked.meaning.logic, self.asked.watch, refusing=False
        )
        rules, guards, fresh = list(translation.rules), [], translation.size
        groups = live_groups(switched)
        for literal in self.evidence:
            part = translation.literal(literal)
            rules.append(Rule((fresh,), (), choice=True))
            for implied in part or ():
                rules.append(Rule((), (fresh, -implied)))
            if part is None:
                rules.append(Rule((), (fresh,)))
            guards.append(fresh)
            fresh += 1
        return Solver(rules, groups, []), guards

    def of(self, values: Partial) -> Inconsistency:
        """A smallest set of rules that leaves no model with these values of choices."""
        fixed = [
            selector if position == values[place] else -selector
            for place, choice in zip(self.texts.traced.places, self.ground.choices, strict=True)
            if place is not None and place in values
            for position, selector in enumerate(choice.selectors)
        ]

        def core(some: Sequence[int]) -> list[int] | None:
            return self._solver.core([*fixed, *some], self.asked.watch)

        every = [*self._guards, *self.switches.values()]
        first = set(core(every) or ())
        suspects = [literal for literal in every if literal in first]
        kept = smallest(suspects, lambda some: core(some) is not None)
        by_switch = dict(zip(self.switches.values(), self.instances, strict=True))
        rules = [by_switch[literal] for literal in kept if literal in by_switch]
        needed = [self._rule(rule.statement, dict(rule.substitution)) for rule in rules]
        facts = dict.fromkeys(fact for rule in rules for fact in self._facts(rule))
        return Inconsistency(
            self._values(values),
            self._bounds(values),
            tuple(needed),
            tuple(
                str(literal)
                for literal, guard in zip(self.evidence, self._guards, strict=True)
                if guard in kept
            ),
            tuple(facts),
        )

    def _rule(self, index: int, values: Mapping[str, Any]) -> NeededRule:
        """A statement as a rule that is needed, with these values of its variables."""
        text = self.texts.text(index)
        return NeededRule(text, with_values(text, values), self.texts.span(index))

    def _facts(self, instance: RuleInstance) -> list[str]:
        """The certain atoms in the body of an instance."""
        certain = self._certain_atoms()
        return [
            str(part.symbol)
            for part in self.texts.body(instance.statement, dict(instance.substitution))
            if part.symbol is not None and self.ground.atoms.get(part.symbol, 0) in certain
        ]

    def _certain_atoms(self) -> set[int]:
        return {
            rule.head[0]
            for rule in self.ground.rules
            if len(rule.head) == 1 and not rule.body and not rule.choice and rule.weights is None
        }

    def _values(self, values: Partial) -> tuple[str, ...]:
        """The names of values of choices."""
        starts = self.asked.layout.starts
        return tuple(self.names[starts[i] + value] for i, value in sorted(values.items()))

    def _bounds(self, values: Partial) -> tuple[float, ...]:
        """Their probability, or the lowest and the highest one."""
        starts = self.asked.layout.starts
        places = [starts[i] + value for i, value in values.items()]
        low, high = (
            float(np.prod(weights[places]))
            for weights in ends(self.asked.ground, self.asked.weights)
        )
        return (low,) if low == high else (low, high)


def _switched(ground: GroundProgram, switches: Mapping[int, int]) -> GroundProgram:
    """The program whose rules hold only where their switches, which are choices, are on.

    A rule of the text became a marker and rules with that marker in their bodies; the switch
    joins it there.
    """
    rules = tuple(
        rule._replace(body=(*rule.body, *(switches[b] for b in rule.body if b in switches)))
        if rule.weights is None
        else rule
        for rule in ground.rules
    )
    fresh = tuple(
        Choice(
            ground.choices[0].statement if ground.choices else 0,
            (),
            (switch,),
            (switch,),
            FixedWeights((0.5,)),
            True,
        )
        for switch in switches.values()
    )
    symbols = (*ground.symbols, *(None for _ in switches))
    return replace(ground, rules=rules, choices=(*ground.choices, *fresh), symbols=symbols)
