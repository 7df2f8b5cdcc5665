"""Γ(θ): the models of a logic program under each logic semantics, by its definition.

An interpretation is a tuple of values, one for each atom: 0 false, 1 undefined and
2 true (0, ½ and 1 in the definitions). A *set of interpretations* is a Python
integer with one bit for each, so that "the models of this rule" or "everything
below I" is one number and intersections are fast; what is computed is still the
definition, interpretation by interpretation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

from .programs import Rule

Interpretation = tuple[int, ...]
FALSE, UNDEFINED, TRUE = 0, 1, 2


@dataclass(frozen=True)
class Space:
    """All interpretations of some atoms with the given values, numbered in order."""

    interpretations: tuple[Interpretation, ...]
    everything: int  # the set of all of them
    at_least: Mapping[tuple[int, int], int]  # (atom, value) → those that give it that or more
    below: tuple[int, ...]  # those that are ≤ each of them, atom by atom (itself included)


@cache
def space(atoms: int, values: tuple[int, ...]) -> Space:
    """The interpretations of so many atoms by the values (0, 2) or (0, 1, 2)."""
    interpretations = tuple(product(values, repeat=atoms))

    def those(condition: Callable[[Interpretation], bool]) -> int:
        return sum(1 << i for i, one in enumerate(interpretations) if condition(one))

    at_least = {
        (atom, value): those(lambda j, a=atom, v=value: j[a] >= v)  # type: ignore[misc]
        for atom in range(atoms)
        for value in (UNDEFINED, TRUE)
    }
    everything = (1 << len(interpretations)) - 1
    below = []
    for one in interpretations:
        smaller = everything
        for atom, value in enumerate(one):
            if value < TRUE:
                smaller &= ~at_least[atom, value + 1]
        below.append(smaller)
    return Space(interpretations, everything, at_least, tuple(below))


@dataclass(frozen=True)
class GroundRule:
    """A rule over atom numbers."""

    head: tuple[int, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]


def number(rules: Sequence[Rule], atoms: Sequence[str]) -> tuple[GroundRule, ...]:
    """The rules over the positions of their atoms."""
    index = {atom: i for i, atom in enumerate(atoms)}
    return tuple(
        GroundRule(*(tuple(index[a] for a in part) for part in (r.head, r.positive, r.negative)))
        for r in rules
    )


def negative_body(negative: tuple[int, ...], interpretation: Interpretation) -> int:
    """The least value of ``not b`` over the negated atoms: what the reduct puts in their place."""
    return min((TRUE - interpretation[b] for b in negative), default=TRUE)


@cache
def constants(negative: tuple[int, ...], atoms: int, values: tuple[int, ...]) -> tuple[int, ...]:
    """The value of a negative body in every interpretation."""
    return tuple(negative_body(negative, one) for one in space(atoms, values).interpretations)


@lru_cache(maxsize=10_000)
def models_of(rule: GroundRule, constant: int, atoms: int, values: tuple[int, ...]) -> int:
    """The set of J with max J(head) ≥ min(J(positive body), constant).

    That is: whatever value the body reaches, the head reaches.
    """
    room = space(atoms, values)
    models = room.everything
    for value in range(UNDEFINED, constant + 1):
        body = room.everything
        for atom in rule.positive:
            body &= room.at_least[atom, value]
        head = 0
        for atom in rule.head:
            head |= room.at_least[atom, value]
        models &= ~body | head
    return models


def reduct_models(rules: Sequence[GroundRule], atoms: int, values: tuple[int, ...]) -> list[int]:
    """For each interpretation I, the set of the models of the reduct P/I."""
    room = space(atoms, values)
    found = [room.everything] * len(room.interpretations)
    for rule in rules:
        found = restrict(found, rule, atoms, values)
    return found


def restrict(
    models: Sequence[int], rule: GroundRule, atoms: int, values: tuple[int, ...]
) -> list[int]:
    """Those sets without what does not satisfy the rule, each in its own reduct."""
    by_value = [models_of(rule, value, atoms, values) for value in (FALSE, UNDEFINED, TRUE)]
    return [
        reduct & by_value[constant]
        for reduct, constant in zip(models, constants(rule.negative, atoms, values), strict=True)
    ]


def minimal(models: Sequence[int], room: Space) -> tuple[Interpretation, ...]:
    """The interpretations I that are ≤-minimal among the models of P/I, those sets given."""
    return tuple(
        one
        for i, one in enumerate(room.interpretations)
        if models[i] & room.below[i] == 1 << i  # I is a model and nothing below it is
    )


# --- the five logic semantics ----------------------------------------------------------------

TWO, THREE = (FALSE, TRUE), (FALSE, UNDEFINED, TRUE)


class Base:
    """The rules that every total choice shares; ``models`` adds those of one total choice."""

    def __init__(self, rules: Sequence[GroundRule], atoms: int) -> None:
        self.atoms = atoms
        self.constraints = tuple(rule for rule in rules if not rule.head)
        self._proper = tuple(rule for rule in rules if rule.head)
        self._shared: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        self._found: dict[tuple[object, ...], tuple[Interpretation, ...]] = {}

    def models(self, logic: str, chosen: Sequence[GroundRule]) -> tuple[Interpretation, ...]:
        """Γ(θ) for the shared rules together with the chosen ones."""
        if logic == "stable":
            return self._stable(TWO, chosen)
        if logic == "partial":
            return self._stable(THREE, chosen)
        if logic == "lstable":
            return least_undefined(self._stable(THREE, chosen))
        if logic == "smproblog":
            return self._stable(TWO, chosen) or ((UNDEFINED,) * self.atoms,)
        if logic == "wellfounded":
            one = most_undefined(self._stable(THREE, chosen, constraints=False))
            return (one,) if all(body(rule, one) == FALSE for rule in self.constraints) else ()
        raise ValueError(logic)

    def _stable(
        self, values: tuple[int, ...], chosen: Sequence[GroundRule], constraints: bool = True
    ) -> tuple[Interpretation, ...]:
        """Stable models: two values make it Gelfond and Lifschitz's, three Przymusinski's."""
        constraints = constraints and bool(self.constraints)
        question = values, constraints, *chosen
        if question not in self._found:
            self._found[question] = self._find(values, chosen, constraints)
        return self._found[question]

    def _find(
        self, values: tuple[int, ...], chosen: Sequence[GroundRule], constraints: bool
    ) -> tuple[Interpretation, ...]:
        key = values, constraints
        if key not in self._shared:
            rules = self._proper + (self.constraints if constraints else ())
            self._shared[key] = reduct_models(rules, self.atoms, values)
        models = self._shared[key]
        for rule in chosen:
            models = restrict(models, rule, self.atoms, values)
        return minimal(models, space(self.atoms, values))


def body(rule: GroundRule, interpretation: Interpretation) -> int:
    """The value of a rule's body."""
    positive = min((interpretation[a] for a in rule.positive), default=TRUE)
    return min(positive, negative_body(rule.negative, interpretation))


def undefined(interpretation: Interpretation) -> frozenset[int]:
    """The atoms that are undefined."""
    return frozenset(i for i, value in enumerate(interpretation) if value == UNDEFINED)


def least_undefined(models: Sequence[Interpretation]) -> tuple[Interpretation, ...]:
    """The models whose undefined sets are ⊆-minimal."""
    sets = {undefined(one) for one in models}
    least = {one for one in sets if not any(other < one for other in sets)}
    return tuple(one for one in models if undefined(one) in least)


def most_undefined(models: Sequence[Interpretation]) -> Interpretation:
    """The model whose undefined set holds that of every other; it must exist and be unique."""
    (one,) = (m for m in models if all(undefined(m) >= undefined(other) for other in models))
    return one
