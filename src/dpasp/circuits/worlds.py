"""The determined part of a program in random worlds, 64 to a machine word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import stopping
from dpasp.circuits.compiler import flat_choices, flat_rules
from dpasp.dataclass import dataclass
from dpasp.ground.program import Choice, Rule
from dpasp.limits import UNLIMITED, Watch
from dpasp.native import _native
from dpasp.semantics.dependencies import components
from dpasp.semantics.leaves import LeafLayout, Weights, layout

BLOCK: int = _native.worlds_in_block
WORDS = BLOCK // 64  # in a block
MANY = 10_000  # atoms between two checks of the clock
CHOICE, RULES, EVIDENCE = range(3)  # the kinds of steps in native code


@dataclass(frozen=True, slots=True)
class Draw:
    """A value of a choice, which has an effect if all literals of the gate hold."""

    choice: int
    value: int
    gate: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Push:
    """Evidence: some draw takes its value or, if it is negative, none does."""

    holds: bool
    draws: tuple[Draw, ...]


@dataclass(frozen=True)
class Definitions:
    """The determined part of a program: the rules of each atom, and the choices."""

    rules: Mapping[int, Sequence[Rule]]
    choices: Sequence[Choice]

    @cached_property
    def selectors(self) -> Mapping[int, tuple[int, int]]:
        """For each selector, the choice and the value that it stands for."""
        return {
            selector: (index, value)
            for index, choice in enumerate(self.choices)
            for value, selector in enumerate(choice.selectors)
        }

    @cached_property
    def leaves(self) -> LeafLayout:
        """The places of the weights of the choices."""
        return layout(self.choices)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Worlds: the truth values of outputs [outputs, worlds], and weights (none: all are 1)."""

    bits: NDArray[np.bool_]
    weights: Weights


@dataclass(frozen=True, slots=True)
class Chains:
    """The states of chains, a value of each choice [WORDS, choices], and which choices move."""

    states: NDArray[np.int64]
    free: NDArray[np.int64]  # [choices]; 0 for those that stay


class Worlds:
    """Draws worlds of a program, as far as they matter for the outputs."""

    def __init__(
        self,
        definitions: Definitions,
        size: int,
        outputs: Sequence[int],
        pushes: Sequence[Push] = (),
        watch: Watch = UNLIMITED,
    ) -> None:
        """``size`` is that of the program: its atoms are 1, …, size - 1."""
        plan = _Plan(definitions, size, pushes)
        steps = plan.steps(outputs, watch)
        empty = np.empty(0, dtype=np.int64)
        self.pushes = tuple(plan.pushes)
        choices = flat_choices(definitions.choices)
        ground = _native.Ground(plan.size, flat_rules(plan.ordered), choices, empty, empty, empty)
        self._native = _native.Worlds(ground, steps, np.array(outputs, dtype=np.int64))

    def draw(
        self, weights: Weights, seed: int, first: int, blocks: int, watch: Watch = UNLIMITED
    ) -> Drawn:
        """The worlds of some blocks of a seed under weights [leaves]."""
        with stopping(watch) as limits:
            words, world_weights = self._native.draw(weights, seed, first, blocks, limits)
        return Drawn(_unpacked(words), world_weights)

    def move(
        self, weights: Weights, number: tuple[int, int], chains: Chains, watch: Watch
    ) -> Drawn:
        """Candidates for the next states of chains: a block with one word for each chain.

        The first world of a word is the present state, with the weight that it would have if it
        were drawn; the others are drawn, with the same values of the choices that stay. ``number``
        is a seed and the number of the move.
        """
        with stopping(watch) as limits:
            words, world_weights = self._native.move(
                weights, *number, chains.states, chains.free, limits
            )
        return Drawn(_unpacked(words), world_weights)


def _unpacked(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    bytes_ = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(bytes_, axis=1, bitorder="little").view(np.bool_)


class _Plan:
    """The order in which to draw choices and derive atoms, by their dependencies."""

    def __init__(self, definitions: Definitions, size: int, pushes: Sequence[Push]) -> None:
        self.rules = dict(definitions.rules)
        self.selectors = definitions.selectors
        self.choices = len(definitions.choices)
        self.atoms = self.size = size
        self.pushes = list(pushes)
        self.gates: dict[tuple[int, ...], int] = {(): 0}
        self.only: dict[int, tuple[int, ...]] = {}  # by choice: where its value matters
        self.pushed: set[int] = set()  # the choices that the evidence draws
        self.ordered: list[Rule] = []

    def steps(self, outputs: Sequence[int], watch: Watch) -> NDArray[np.int64]:
        """The steps for native code; their rules are in ``ordered``."""
        self.only = self._matters(outputs, watch)
        for gate in (*self.only.values(), *(d.gate for push in self.pushes for d in push.draws)):
            self._gate(gate)
        while True:
            watch.check()
            below = self._below()
            watch.check()
            component, count = components(below)
            watch.check()
            members: list[list[int]] = [[] for _ in range(count)]
            for node, number in enumerate(component):
                members[number].append(node)
            if not self._cut_loops(component, members):
                break
        needed = set(reached(outputs, below.__getitem__))
        self.pushed = {draw.choice for push in self.pushes for draw in push.draws}
        data: list[int] = []
        for number, nodes in enumerate(members):
            if number % MANY == 0:
                watch.check()
            if nodes[0] in needed:
                self._step(nodes, below, data)
        return np.array(data, dtype=np.int64)

    def _matters(self, outputs: Sequence[int], watch: Watch) -> dict[int, tuple[int, ...]]:
        """By choice, literals in all bodies that read it; without them, no value matters."""
        asked = {self.selectors[atom][0] for atom in outputs if atom in self.selectors}
        bodies: dict[int, set[tuple[int, ...]]] = {}
        for number, rules in enumerate(self.rules.values()):
            if number % MANY == 0:
                watch.check()
            for rule in rules:
                for literal in rule.body:
                    if abs(literal) in self.selectors:
                        choice = self.selectors[abs(literal)][0]
                        rest = tuple(b for b in rule.body if b != literal)
                        plain = literal > 0 and rule.weights is None
                        bodies.setdefault(choice, set()).add(rest if plain else ())
        return {
            choice: next(iter(rests))
            for choice, rests in bodies.items()
            if choice not in asked and len(rests) == 1 and () not in rests
        }

    def _gate(self, body: tuple[int, ...]) -> int:
        """The atom that holds if all literals do."""
        if body not in self.gates:
            if len(body) == 1 and body[0] > 0:
                self.gates[body] = body[0]
            else:
                self.gates[body] = self.size
                self.rules[self.size] = (Rule((self.size,), body),)
                self.size += 1
        return self.gates[body]

    def _below(self) -> list[list[int]]:
        """For each node, those it depends on; nodes are atoms, then choices, then pushes."""
        below: list[list[int]] = [[] for _ in range(self.size + self.choices + len(self.pushes))]
        for atom, rules in self.rules.items():
            below[atom] = [abs(b) for rule in rules for b in rule.body]
        for selector, (choice, _) in self.selectors.items():
            below[selector] = [self.size + choice]
        for choice, gate in self.only.items():
            below[self.size + choice] = [self.gates[gate]]
        for i, push in enumerate(self.pushes):
            node = self.size + self.choices + i
            below[node] = [g for d in push.draws if (g := self.gates[d.gate])]
            for draw in push.draws:
                below[self.size + draw.choice] = [node]
        return below

    def _cut_loops(self, component: Sequence[int], members: Sequence[list[int]]) -> bool:
        """Give up pushes and gates that depend on themselves; returns whether there were any."""

        def loops(node: int) -> bool:
            return len(members[component[node]]) > 1

        first = self.size + self.choices
        pushes = [push for i, push in enumerate(self.pushes) if not loops(first + i)]
        only = {choice: gate for choice, gate in self.only.items() if not loops(self.size + choice)}
        cut = len(pushes) < len(self.pushes) or len(only) < len(self.only)
        self.pushes, self.only = pushes, only
        return cut

    def _step(self, nodes: list[int], below: Sequence[list[int]], data: list[int]) -> None:
        node = nodes[0]
        if node >= self.size + self.choices:
            push = self.pushes[node - self.size - self.choices]
            data += (EVIDENCE, int(push.holds), len(push.draws))
            for draw in push.draws:
                everywhere = self.only.get(draw.choice) != draw.gate
                data += (draw.choice, draw.value, self.gates[draw.gate], int(everywhere))
        elif node >= self.size:
            choice = node - self.size
            if choice not in self.pushed:
                data += (CHOICE, choice, self.gates[self.only.get(choice, ())])
        elif node not in self.selectors:
            rules = [rule for atom in nodes for rule in self.rules.get(atom, ())]
            self.ordered.extend(rules)
            data += (RULES, len(rules), int(len(nodes) > 1 or node in below[node]))


def reached(roots: Iterable[int], below: Callable[[int], Iterable[int]]) -> list[int]:
    """The roots, and all nodes that they depend on."""
    found = dict.fromkeys(roots)
    todo = list(found)
    while todo:
        for child in below(todo.pop()):
            if child not in found:
                found[child] = None
                todo.append(child)
    return list(found)
