"""The circuits of the cases of a program as one circuit, whose sums decide among the cases.

>>> from dpasp.circuits.compiler import compile
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query c."))
>>> rest = ground(parse("0.5::b. c :- b. #query c."))               # the case without a
>>> cases = {((0, 0),): constant_circuit(True, 1), ((0, 1),): compile(rest, Meaning())}
>>> circuit = join(cases, program.choices, Meaning())
>>> round(float(circuit.masses(np.array([0.3, 0.7, 0.5, 0.5]), fields=("a",))[0, 1]), 9)
0.65
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from dpasp.circuits.circuit import Circuit, Statistics
from dpasp.circuits.fold import Counted, fold
from dpasp.circuits.layers import Integers
from dpasp.circuits.stops import stopping
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Choice
from dpasp.native import _native
from dpasp.semantics.leaves import layout, leaf_count
from dpasp.semantics.meaning import Meaning

NO_CASE = -1  # a value that a choice never has

Fallen = tuple[tuple[int, int], ...]  # choices that are fixed, with their values


def constant_circuit(holds: bool, questions: int) -> Circuit:
    """The circuit without choices in which every question holds, or else its evidence alone."""
    counts = np.array([[[1, 0, 0] if holds else [0, 1, 0]] * questions])
    return fold((), Counted(np.empty((1, 0), dtype=np.int64), counts), Meaning())


def join(
    cases: Mapping[Fallen, Circuit],
    choices: Sequence[Choice],
    meaning: Meaning,
    *,
    first: Fallen = (),
    watch: Watch = UNLIMITED,
) -> Circuit:
    """The circuit over all choices, of cases that exclude each other.

    A case fixes some choices, all cases in the same order, beginning with those of ``first``,
    which the circuit takes as certain. A circuit has the leaves of the choices that its case leaves
    open, or none. What is in no case has no model. Raises what the ``watch`` raises.
    """
    paths = {fallen[len(first) :]: circuit for fallen, circuit in cases.items()}
    leaves = [_open_leaves(choices, fallen, circuit) for fallen, circuit in cases.items()]
    with stopping(watch) as limits:
        native = _native.join(
            [circuit.native for circuit in paths.values()],
            leaves,
            np.array(_decisions(list(paths), choices), dtype=np.int64),
            layout(choices).size,
            limits,
        )
    parts = [circuit.statistics for circuit in paths.values()]
    statistics = Statistics(
        choices=len(choices),
        determined=max(part.determined for part in parts),
        inner=max(part.inner for part in parts),
        guesses=max(part.guesses for part in parts),
        gates=max(part.gates for part in parts),
        nodes=native.nodes,
        edges=native.edges,
        depth=native.depth,
        width=max(part.width for part in parts),
        way="cases",
        order="",
        seconds=sum(part.seconds for part in parts),
    )
    return Circuit(meaning, statistics, native)


def _open_leaves(choices: Sequence[Choice], fallen: Fallen, circuit: Circuit) -> Integers:
    """The leaves of the choices that a case leaves open; none for a circuit without choices."""
    if not circuit.leaves:
        return np.empty(0, dtype=np.int64)
    places, fixed = layout(choices), {choice for choice, _ in fallen}
    numbers = np.arange(places.size)
    kept = [numbers[places.of(i)] for i in range(len(choices)) if i not in fixed]
    return np.concatenate(kept)


def _decisions(paths: Sequence[Fallen], choices: Sequence[Choice]) -> list[int]:
    """The decisions among the cases, those that are deeper first, as native code takes them."""
    starts, flat = layout(choices).starts, list[int]()
    by_depth = defaultdict[int, dict[Fallen, int]](dict)
    for number, path in enumerate(paths):
        by_depth[len(path)][path] = number
    following = len(paths)
    for depth in range(max(by_depth), 0, -1):
        children = defaultdict[Fallen, list[tuple[int, int, int]]](list)
        for path, number in by_depth[depth].items():
            children[path[:-1]].append((*path[-1], number))
        for parent, among in children.items():
            choice = among[0][0]
            numbers = [NO_CASE] * leaf_count(choices[choice])
            for other, value, number in among:
                assert other == choice, "cases fix choices in the same order"
                numbers[value] = number
            flat += (starts[choice], len(numbers), *numbers)
            by_depth[depth - 1][parent] = following
            following += 1
    return flat
