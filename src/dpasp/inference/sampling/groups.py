"""Which choices chains move together.

Choices that draw for the same atom (the rows of a table, the causes of an effect) are one group.
Where a group moves, what is drawn below it must move too, or the evidence would hold it where it
is: those are its children. Groups that are near each other in the rules move together now and
then, and all choices do once in every sweep. Which ones move never depends on where a chain is.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.sampling.stream import Prepared
>>> text = "0.3::a. 0.9::b :- a. 0.2::b :- not a. 0.5::c. #query a | b."
>>> asked = ask(ground(parse(text)), Meaning())
>>> prepared = Prepared(asked, asked.queries)
>>> groups = Groups(prepared.definitions, prepared.outputs)
>>> groups.members, groups.children            # c has nothing to do with it
([(0,), (1, 2)], [(1,), ()])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import Definitions

SIZES = (1, 2, 2, 3, 4, 8)  # how many groups move together: one of these, at random
NEAR = 24  # the most groups that count as near to one
LOOKED = 400  # the most atoms that are looked at to find them

Mask = NDArray[np.int64]


class Groups:
    """The groups of the choices on which the outputs depend."""

    def __init__(self, definitions: Definitions, outputs: Iterable[int]) -> None:
        self._definitions = definitions
        self._cone = _below(definitions, outputs)
        selectors = definitions.selectors
        self.relevant = sorted({selectors[a][0] for a in self._cone if a in selectors})
        self._heads = self._drawn_by()
        self.members = self._joined()
        self._of = {choice: i for i, group in enumerate(self.members) for choice in group}
        self._above: defaultdict[int, list[int]] = defaultdict(list)
        for atom in self._cone:
            for rule in definitions.rules.get(atom, ()):
                for literal in rule.body:
                    self._above[abs(literal)].append(atom)
        self.children = [self._children(i) for i in range(len(self.members))]
        self._near: dict[int, list[int]] = {}

    def sweep(self, generator: np.random.Generator) -> Iterator[Mask]:
        """Masks [choices] of those that move together, one after the other until all moved."""
        yield self._mask(range(len(self.members)))
        waiting = set(range(len(self.members)))
        for first in generator.permutation(len(self.members)).tolist():
            if first not in waiting:
                continue
            size = int(generator.choice(SIZES))
            near = self.near(first)
            others = generator.permutation(len(near))[: size - 1].tolist()
            chosen = {first, *(near[i] for i in others)}
            waiting -= chosen
            yield self._mask(chosen | {c for group in chosen for c in self.children[group]})

    def near(self, group: int) -> list[int]:
        """The groups that are nearest to one in the rules, up and down."""
        if group not in self._near:
            self._near[group] = self._search(group)
        return self._near[group]

    def _mask(self, groups: Iterable[int]) -> Mask:
        mask = np.zeros(len(self._definitions.choices), dtype=np.int64)
        mask[[choice for group in groups for choice in self.members[group]]] = 1
        return mask

    def _drawn_by(self) -> dict[int, list[int]]:
        """By atom, the choices that its own rules read."""
        selectors, heads = self._definitions.selectors, defaultdict[int, list[int]](list)
        for atom in self._cone:
            for rule in self._definitions.rules.get(atom, ()):
                for literal in rule.body:
                    if abs(literal) in selectors:
                        heads[atom].append(selectors[abs(literal)][0])
        return heads

    def _joined(self) -> list[tuple[int, ...]]:
        """The groups: choices that the rules of one atom read are in one (union and find)."""
        root = {choice: choice for choice in self.relevant}

        def find(choice: int) -> int:
            while root[choice] != choice:
                root[choice] = root[root[choice]]
                choice = root[choice]
            return choice

        for choices in self._heads.values():
            for other in choices[1:]:
                root[find(other)] = find(choices[0])
        gathered: dict[int, list[int]] = {}
        for choice in self.relevant:
            gathered.setdefault(find(choice), []).append(choice)
        return [tuple(group) for group in gathered.values()]

    def _atoms(self, group: int) -> list[int]:
        """The selectors of a group, and the atoms whose rules read them."""
        choices = self._definitions.choices
        chosen = [s for choice in self.members[group] for s in choices[choice].selectors]
        return list(dict.fromkeys([*chosen, *(a for s in chosen for a in self._above[s])]))

    def _children(self, group: int) -> tuple[int, ...]:
        """The groups met first on the way up the rules from the atoms of a group."""
        children: dict[int, None] = {}
        todo = self._atoms(group)
        seen = set(todo)
        while todo and len(seen) < LOOKED:
            for atom in self._above[todo.pop()]:
                if atom in seen:
                    continue
                seen.add(atom)
                drawn = {self._of[choice] for choice in self._heads.get(atom, ())} - {group}
                children |= dict.fromkeys(sorted(drawn))
                if not drawn:
                    todo.append(atom)
        return tuple(children)

    def _search(self, group: int) -> list[int]:
        """The nearest groups, breadth first along rules in both directions."""
        rules = self._definitions.rules
        todo = self._atoms(group)
        seen, near = set(todo), dict[int, None]()
        for atom in todo:
            below = (abs(b) for rule in rules.get(atom, ()) for b in rule.body)
            for other in (*self._above[atom], *below):
                if other not in seen and len(seen) < LOOKED:
                    seen.add(other)
                    todo.append(other)
                    near |= dict.fromkeys(self._of[c] for c in self._heads.get(other, ()))
            if len(near) > NEAR:
                break
        near.pop(group, None)
        return list(near)[:NEAR]


def _below(definitions: Definitions, roots: Iterable[int]) -> Sequence[int]:
    """The roots and all atoms that they depend on."""
    atoms = dict.fromkeys(roots)
    todo = list(atoms)
    while todo:
        for rule in definitions.rules.get(todo.pop(), ()):
            for literal in rule.body:
                if abs(literal) not in atoms:
                    atoms[abs(literal)] = None
                    todo.append(abs(literal))
    return list(atoms)
