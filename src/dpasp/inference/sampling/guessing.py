"""Rules in which each model is one outcome of some guesses, so that models can be counted.

An atom that is negated inside of its own loop, and one that a choice rule may add, is guessed:
its guess is an atom that is free, and constraints say that the two are equal. All other atoms
follow from the guesses, so every outcome of them has one model or none, and to count models is to
count the outcomes that have one.

>>> rules = [Rule((2,), (1, -3)), Rule((3,), (1, -2)), Rule((4,), (2,), choice=True)]
>>> for rule in guessed(rules, 5).rules:      # 5, 6 and 7 are guesses about 2, 3 and 4
...     print(rule.head, rule.body)
(2,) (1, -6)
(3,) (1, -5)
(4,) (7, 2)
() (2, -5)
() (5, -2)
() (3, -6)
() (6, -3)
() (4, -7)
() (7, -4)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.dataclass import dataclass
from dpasp.logic.program import Rule
from dpasp.semantics.dependencies import body_atoms, components


@dataclass(frozen=True, slots=True)
class Guessed:
    """Rules over the atoms 1, …, size - 1, in which the guesses determine all other atoms."""

    rules: tuple[Rule, ...]
    guesses: tuple[int, ...]
    size: int


def guessed(rules: Sequence[Rule], size: int) -> Guessed | None:
    """The rules with guesses; None where two atoms of a disjunction are in one positive loop."""
    if not _can_be_shifted(rules, size):
        return None
    single = list(_single_heads(rules))
    component, _ = components(body_atoms(single, size))

    def inside(rule: Rule, literal: int) -> bool:
        """Whether a literal negates an atom of a loop through the head."""
        return literal < 0 and bool(rule.head) and component[-literal] == component[rule.head[0]]

    atoms = {rule.head[0] for rule in single if rule.choice}
    atoms.update(-b for rule in single for b in rule.body if inside(rule, b))
    guesses = {atom: size + place for place, atom in enumerate(sorted(atoms))}
    size += len(guesses)
    written: list[Rule] = []
    for rule in single:
        body = tuple(-guesses[-b] if inside(rule, b) else b for b in rule.body)
        plain = rule._replace(body=body, choice=False)
        if rule.choice and rule.weights is not None:  # that the body holds is an atom of its own
            written.append(plain._replace(head=(size,)))
            plain, size = Rule(rule.head, (size,)), size + 1
        written.append(
            plain._replace(body=(guesses[rule.head[0]], *plain.body)) if rule.choice else plain
        )
    for atom, guess in guesses.items():
        written += [Rule((), (atom, -guess)), Rule((), (guess, -atom))]
    return Guessed(tuple(written), tuple(guesses.values()), size)


def _single_heads(rules: Sequence[Rule]) -> Iterator[Rule]:
    """The rules with at most one head each; the other atoms of a disjunction are negated."""
    for rule in rules:
        if len(rule.head) < 2:
            yield rule
        elif rule.choice:
            yield from (rule._replace(head=(head,)) for head in rule.head)
        else:
            for head in rule.head:
                others = tuple(-other for other in rule.head if other != head)
                yield Rule((head,), (*rule.body, *others))


def _can_be_shifted(rules: Sequence[Rule], size: int) -> bool:
    """Whether no two atoms of a disjunction are in the same positive loop."""
    disjunctions = [rule for rule in rules if len(rule.head) > 1 and not rule.choice]
    if not disjunctions:
        return True
    positive = [rule._replace(body=tuple(b for b in rule.body if b > 0)) for rule in rules]
    component, _ = components(body_atoms(positive, size))
    return all(
        rule.weights is None and len({component[head] for head in rule.head}) == len(rule.head)
        for rule in disjunctions
    )
