"""Totals that cannot occur: left out of the ground program, and so of its questions.

clingo lists a value of ``S = #sum{D,I : digit(I,D)}`` for every set of its elements, as if all
digits of one position could hold together. They are values of one choice, and exclude each other.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> text = "0.5::d(X,1); 0.5::d(X,2) :- X = 1..2. t(S) :- S = #sum{D,X : d(X,D)}. #query t(S)."
>>> [question.text for question in ground(parse(text)).questions]
['t(2)', 't(3)', 't(4)']
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dpasp.ground.assemble import Assembly
from dpasp.ground.program import Choice, Rule
from dpasp.ground.tuning import TUNING

Weighted = tuple[tuple[int, ...], tuple[int, ...]]  # the literals of a sum and their weights


class _Values(NamedTuple):
    """Some values of a choice without which an atom is false; ``exact``: they make it true."""

    choice: int
    selectors: frozenset[int]
    exact: bool


def leave_out(assembly: Assembly) -> None:
    """Remove rules that ask for a total that cannot occur, and atoms that no other rule derives."""
    if any(rule.weights is not None for rule in assembly.rules):
        never = _never(assembly.rules, assembly.choices)
        if never:
            _remove(assembly, never)


def _never(rules: Sequence[Rule], choices: Sequence[Choice]) -> set[int]:
    """The numbers of the rules whose bodies ask for totals that cannot occur."""
    defining: dict[int, list[int]] = {}
    for number, rule in enumerate(rules):
        for head in rule.head:
            defining.setdefault(head, []).append(number)
    compared: dict[int, tuple[Weighted, int]] = {}  # atoms that say that a sum reaches a bound
    for head, numbers in defining.items():
        rule = rules[numbers[0]]
        alone = len(numbers) == 1 and len(rule.head) == 1 and not rule.choice
        if alone and rule.weights is not None:
            compared[head] = (rule.body, rule.weights), rule.bound
    known: dict[Weighted, list[int] | None] = {}
    totals = _Totals(rules, choices, defining)
    never: set[int] = set()
    for number, rule in enumerate(rules):
        windows: dict[Weighted, tuple[list[int], list[int]]] = {}
        if rule.weights is not None:
            windows[rule.body, rule.weights] = [rule.bound], []
        else:
            for literal in rule.body:
                if found := compared.get(abs(literal)):
                    windows.setdefault(found[0], ([], []))[literal < 0].append(found[1])
        for weighted, (least, beyond) in windows.items():
            if weighted not in known:
                known[weighted] = totals.of(*weighted)
            possible = known[weighted]
            if possible is not None and not _holds(possible, least, beyond):
                never.add(number)
    return never


def _holds(possible: Sequence[int], least: Iterable[int], beyond: Iterable[int]) -> bool:
    """Whether a total reaches all bounds of the first kind and none of the second."""
    place = max((bisect_left(possible, bound) for bound in least), default=0)
    return place < len(possible) and all(possible[place] < bound for bound in beyond)


class _Totals:
    """What sums can come to, by what the choices say about their literals."""

    def __init__(
        self, rules: Sequence[Rule], choices: Sequence[Choice], defining: dict[int, list[int]]
    ) -> None:
        self._rules, self._choices, self._defining = rules, choices, defining
        self._values: dict[int, _Values | None] = {
            selector: _Values(number, frozenset((selector,)), True)
            for number, choice in enumerate(choices)
            for selector in choice.selectors
        }

    def of(self, literals: Sequence[int], weights: Sequence[int]) -> list[int] | None:
        """The totals that a sum may have, in order, and maybe others; None where they are many."""
        found = {0}
        for group in self._groups(literals, weights):
            found = {total + weight for total in found for weight in group}
            if len(found) > TUNING.partial_sums:
                return None
        return sorted(found)

    def _groups(self, literals: Sequence[int], weights: Sequence[int]) -> Iterator[set[int]]:
        """What each group of literals that exclude each other may add to the sum."""
        grouped: dict[int, list[tuple[_Values, int]]] = {}
        for literal, weight in zip(literals, weights, strict=True):
            values = self._of_atom(literal) if literal > 0 else None
            if values is None:
                yield {0, weight}
            else:
                grouped.setdefault(values.choice, []).append((values, weight))
        for number, items in grouped.items():
            choice = self._choices[number]
            taken: set[int] = set()
            options: set[int] = set()
            for values, weight in items:
                if taken.isdisjoint(values.selectors):
                    taken |= values.selectors
                    options.add(weight)
                else:
                    yield {0, weight}
            certain = not choice.nothing and len(taken) == len(choice.selectors)
            if not certain or not all(values.exact for values, _ in items):
                options.add(0)
            yield options

    def _of_atom(self, atom: int, depth: int = 0) -> _Values | None:
        if atom not in self._values:
            self._values[atom] = None  # of a loop
            if depth < TUNING.links:
                self._values[atom] = self._union(atom, depth)
        return self._values[atom]

    def _union(self, atom: int, depth: int) -> _Values | None:
        choices, exact = set[int](), True
        selectors: set[int] = set()
        for number in self._defining.get(atom, ()):
            rule = self._rules[number]
            plain = rule.weights is None
            body = (self._of_atom(b, depth + 1) for b in rule.body if plain and b > 0)
            values = next(filter(None, body), None)
            if values is None or len(choices | {values.choice}) > 1:
                return None
            choices.add(values.choice)
            selectors |= values.selectors
            exact &= values.exact and len(rule.body) == 1 and not rule.choice
            exact &= len(rule.head) == 1
        return _Values(choices.pop(), frozenset(selectors), exact) if choices else None


def _remove(assembly: Assembly, never: set[int]) -> None:
    """Remove rules, atoms that have none left, and what needs those."""
    rules = assembly.rules
    left: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    for number, rule in enumerate(rules):
        for head in rule.head:
            left[head] = left.get(head, 0) + 1
        for literal in rule.body if rule.weights is None else ():
            if literal > 0:
                users.setdefault(literal, []).append(number)
    waiting, gone = list(never), set[int]()
    while waiting:
        for head in rules[waiting.pop()].head:
            left[head] -= 1
            if not left[head]:
                gone.add(head)
                more = [number for number in users.get(head, ()) if number not in never]
                never.update(more)
                waiting += more
    kept = (rule for number, rule in enumerate(rules) if number not in never)
    assembly.rules[:] = [
        rule._replace(body=tuple(b for b in rule.body if -b not in gone))
        if rule.weights is None and not gone.isdisjoint(-b for b in rule.body)
        else rule
        for rule in kept
    ]
    named = {abs(b) for rule in assembly.rules if rule.weights is not None for b in rule.body}
    gone -= named
    for symbol in [symbol for symbol, atom in assembly.atoms.items() if atom in gone]:
        del assembly.atoms[symbol]
