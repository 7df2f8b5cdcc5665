"""The dependencies between atoms, and which atoms the choices *determine*.

An atom is determined when its whole cone is stratified: no choice rule, no
disjunction, and no loop through negation. Then it has one value in every model of
a total choice, under every semantics. (In ground rules, double negation,
conditional literals and aggregates that are not monotone all show as negation.)

>>> rules = (Rule((1,), (-2,)), Rule((3,), (-1, 4)), Rule((5,), (-6,)), Rule((6,), (-5,)))
>>> determined(rules, 7).tolist()
[True, True, True, True, True, False, False]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpasp.ground.program import GroundProgram, Rule

Body = frozenset[int]
# Guards of time, and of Python's recursion, to see that two atoms exclude each other:
PAIRS = 20_000  # of their rules that are compared
DEEP = 100  # atoms inspected, one below the other


def body_atoms(rules: Iterable[Rule], size: int) -> list[list[int]]:
    """By atom, the atoms in the bodies of its rules (with duplicates)."""
    below: list[list[int]] = [[] for _ in range(size)]
    for rule in rules:
        if rule.head and rule.body:
            atoms = [abs(literal) for literal in rule.body]
            for head in rule.head:
                below[head].extend(atoms)
    return below


def components(below: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """The strongly connected component of each node, and their number.

    Components are numbered bottom up: what a node depends on has a smaller or the
    same number. (Tarjan's algorithm with an explicit stack.)
    """
    size = len(below)
    component = [-1] * size
    order = [0] * size  # when a node was first seen, from 1; 0 means not yet
    low = [0] * size
    clock = count = 0
    waiting: list[int] = []
    for root in range(size):
        if order[root]:
            continue
        clock += 1
        order[root] = low[root] = clock
        waiting.append(root)
        path = [(root, iter(below[root]))]
        while path:
            node, rest = path[-1]
            for child in rest:
                if not order[child]:
                    clock += 1
                    order[child] = low[child] = clock
                    waiting.append(child)
                    path.append((child, iter(below[child])))
                    break
                if component[child] < 0 and order[child] < low[node]:
                    low[node] = order[child]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == order[node]:
                    while component[node] < 0:
                        component[waiting.pop()] = count
                    count += 1
    return component, count


def linked(groups: Iterable[Sequence[int]], size: int) -> tuple[list[int], int]:
    """The connected part of each node, where groups link their nodes, and the number of parts.

    >>> linked([(1, 2), (4,), (2, 3)], 5)
    ([0, 1, 1, 1, 2], 3)
    """
    beside: list[list[int]] = [[] for _ in range(size)]
    for first, *others in groups:
        for other in others:
            beside[first].append(other)
            beside[other].append(first)
    return components(beside)


def negated_inside(rules: Sequence[Rule], size: int) -> tuple[list[int], dict[int, Counter[int]]]:
    """The component of each atom and, by component, how often atoms are negated in it."""
    component, _ = components(body_atoms(rules, size))
    negated: dict[int, Counter[int]] = {}
    for rule in rules:
        for head in rule.head if rule.body and min(rule.body) < 0 else ():
            here = component[head]
            inside = [-b for b in rule.body if b < 0 and component[-b] == here]
            if inside:
                negated.setdefault(here, Counter()).update(inside)
    return component, negated


def determined(rules: Sequence[Rule], size: int) -> NDArray[np.bool_]:
    """By atom, whether the choices determine it (as they do atoms without rules)."""
    free = [head for rule in rules if rule.choice or len(rule.head) > 1 for head in rule.head]
    negative = [r for r in rules if len(r.head) == 1 and r.body and min(r.body) < 0]
    known = np.ones(size, dtype=np.bool_)
    if not free and not negative:
        return known
    below = body_atoms(rules, size)
    component, count = components(below)
    open_ = bytearray(count)
    for head in free:
        open_[component[head]] = 1
    for rule in negative:
        here = component[rule.head[0]]
        if any(literal < 0 and component[-literal] == here for literal in rule.body):
            open_[here] = 1
    for node in sorted(range(size), key=component.__getitem__):  # bottom up
        here = component[node]
        if not open_[here] and any(open_[component[child]] for child in below[node]):
            open_[here] = 1
    closed: NDArray[np.bool_] = np.frombuffer(open_, dtype=np.uint8) == 0
    return np.take(closed, component)


def always_total(rules: Sequence[Rule], known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """By atom, whether its part has a model without undefined atoms for every total choice.

    ``known`` are the determined atoms. The others fall into parts that no rule connects;
    a part of normal rules without constraints and without a loop through an odd number
    of negations has a stable model whatever the determined atoms are.

    >>> even = (Rule((1,), (-2,)), Rule((2,), (-1,)))
    >>> always_total(even, np.array([True, False, False])).tolist()
    [True, True, True]
    >>> always_total((*even, Rule((2,), (1, -2))), np.array([True, False, False])).tolist()
    [True, False, False]
    """
    size = len(known)
    together: list[list[int]] = []
    odd = set[int]()
    signed: list[list[tuple[int, bool]]] = [[] for _ in range(size)]
    for rule in rules:
        atoms = [a for a in (*rule.head, *map(abs, rule.body)) if not known[a]]
        together.append(atoms)
        if len(rule.head) != 1 or rule.choice or rule.weights is not None:
            odd.update(atoms)
        for literal in rule.body if rule.head else ():
            signed[rule.head[0]].append((abs(literal), literal < 0))
    odd.update(_on_odd_loops(signed))
    part, count = linked(filter(None, together), size)
    spoilt = np.zeros(count, dtype=np.bool_)
    spoilt[[part[atom] for atom in odd]] = True
    return known | ~spoilt[part]


def _on_odd_loops(below: Sequence[Sequence[tuple[int, bool]]]) -> Iterator[int]:
    """An atom of every component with a loop through an odd number of negations.

    A strongly connected graph has none exactly if its nodes have two sides such that negations, and
    only they, lead to the other side.
    """
    component, _ = components([[child for child, _ in edges] for edges in below])
    side: list[bool | None] = [None] * len(below)
    for root in range(len(below)):
        if side[root] is not None:
            continue
        side[root] = False
        todo = [root]
        while todo:
            node = todo.pop()
            for child, negated in below[node]:
                if component[child] != component[node]:
                    continue
                wanted = side[node] != negated
                if side[child] is None:
                    side[child] = wanted
                    todo.append(child)
                elif side[child] != wanted:
                    yield node


class Exclusive:
    """Finds conditions that never hold together, whatever is chosen and decided.

    Rows of a table are examples: at most one of ``0.3::a :- b(yes).`` and ``0.4::a :- b(no).``
    applies, since ``b`` has one value. Those of ``0.3::a :- b.`` and ``0.4::a :- not b.`` are, too,
    unless models of one total choice may differ in ``b``.
    """

    def __init__(self, ground: GroundProgram) -> None:
        self._rules = ground.rules
        self._selectors = [choice.selectors for choice in ground.choices]
        self._owner = {s: i for i, choice in enumerate(ground.choices) for s in choice.selectors}
        self._bodies: dict[int, list[Body]] = {}  # by atom: the needs of each of its rules
        self._used: list[set[Body]] = [set() for _ in ground.choices]
        for rule in ground.rules:
            body = frozenset(rule.body if rule.weights is None else ())
            for head in rule.head:
                self._bodies.setdefault(head, []).append(body)
            for literal in rule.body:
                if (selector := abs(literal)) in self._owner:
                    self._used[self._owner[selector]].add(body - {literal})
        for number, decision in enumerate(ground.decisions):
            if decision.most <= 1:  # its choices exclude each other like values of one choice
                for choice in decision.choices:
                    self._owner[ground.choices[choice].selectors[0]] = -1 - number
        self._known: dict[tuple[int, int], bool] = {}  # by atoms
        self._rows: dict[tuple[int, int], bool] = {}  # by choices

    @cached_property
    def _determined(self) -> NDArray[np.bool_]:
        literals = (literal for rule in self._rules for literal in (*rule.head, *rule.body))
        return determined(self._rules, 1 + max(map(abs, literals), default=0))

    def needed(self, choices: Iterable[int]) -> set[Body]:
        """The bodies one of which must hold for some of these choices to matter."""
        found = {body for choice in choices for body in self._used[choice]}
        return found or {frozenset()}

    def choices(self, one: int, other: int) -> bool:
        """Whether at most one of two choices matters."""
        key = min(one, other), max(one, other)
        if key not in self._rows:
            self._rows[key] = self.apart(self.needed([one]), self.needed([other]))
        return self._rows[key]

    def used(self, values: Mapping[int, int]) -> list[int]:
        """The choices that matter with these values, found without negation."""

        def met(bodies: Iterable[Body]) -> bool:
            return any(all(literal < 0 or literal in true for literal in body) for body in bodies)

        pairs = [(self._selectors[choice], value) for choice, value in values.items()]
        true = {selectors[value] for selectors, value in pairs if value < len(selectors)}
        before = -1
        while len(true) > before:
            before = len(true)
            true.update(atom for atom, bodies in self._bodies.items() if met(bodies))
        return [choice for choice, bodies in enumerate(self._used) if met(bodies)]

    def tells(self, body: Body, atom: int, selector: int) -> bool:
        """Whether a body holds only if a selector has derived an atom."""
        others = [needed for needed in self._bodies.get(atom, []) if selector not in needed]
        return atom in body and self.apart([body], others)

    def apart(self, some: Iterable[Body], others: Iterable[Body], depth: int = 0) -> bool:
        """Whether no body of one group ever holds together with one of the other."""
        return all(
            any(self._literals(x, y, depth) for x in one - other for y in other - one)
            for one in some
            for other in others
        )

    def _literals(self, x: int, y: int, depth: int) -> bool:
        """Whether two literals never hold together; the search is limited in depth."""
        if x == -y:
            return bool(self._determined[abs(x)])
        if x < 0 or y < 0:
            return False
        if x in self._owner or y in self._owner:  # a choice takes one value
            return x != y and self._owner.get(x) == self._owner.get(y)
        key = min(x, y), max(x, y)
        if key not in self._known:
            self._known[key] = False  # during its own search, against circular reasons
            rules, others = self._bodies.get(x, []), self._bodies.get(y, [])
            few = len(rules) * len(others) <= PAIRS and depth < DEEP
            self._known[key] = few and self.apart(rules, others, depth + 1)
        return self._known[key]
