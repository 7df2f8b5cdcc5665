"""Circuits made without the compiler, from enumerated total choices or a program's cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit, Statistics, stopping
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InferenceError, SizeLimit
from dpasp.ground.program import Choice
from dpasp.limits import UNLIMITED, Watch
from dpasp.native import _native
from dpasp.semantics.leaves import layout, leaf_count
from dpasp.semantics.meaning import Meaning

MOST_COUNTS = 1 << 27  # total choices times questions that are held at once, 24 bytes each
NO_CASE = -1  # a value that a choice never has


@dataclass(frozen=True, slots=True)
class Counted:
    """The numbers of models of total choices; missing total choices have none.

    Each row is a total choice: ``values[row, i]`` is the position of the value of choice i among
    its leaves, ``counts[row, question]`` are the numbers of models that satisfy query and evidence,
    only the evidence, and not the evidence. ``observed[row, atom]`` is the share of the models in
    which an observed atom is true; each of these atoms adds two leaves, true and false. Counting
    took ``seconds``.
    """

    values: NDArray[np.integer]
    counts: NDArray[np.number]
    observed: NDArray[np.float64] | None = None
    seconds: float = 0.0


def fold(
    choices: Sequence[Choice],
    table: Counted,
    meaning: Meaning,
    *,
    watch: Watch = UNLIMITED,
) -> Circuit:
    """The circuit of a table of total choices.

    Raises :class:`InferenceError` if models of a total choice disagree on an observed atom.
    """
    seen = np.empty((len(table.values), 0)) if table.observed is None else table.observed
    if np.any((seen > 0) & (seen < 1)):
        message = "an observed atom is not determined by the choices, so it cannot be a leaf"
        raise InferenceError(Diagnostic("observed-inner", message))
    values = np.column_stack([table.values, (seen == 0).astype(np.int64)])
    counts = table.counts
    if values.shape[1]:
        order = np.lexsort(values.T[::-1])  # lexicographic, as the native code wants it
        values, counts = values[order], counts[order]
    with stopping(watch) as limits:
        native = _native.fold(
            np.array([*map(leaf_count, choices), *[2] * seen.shape[1]], dtype=np.int64),
            np.ascontiguousarray(values, dtype=np.int64),
            np.ascontiguousarray(counts, dtype=np.float64),
            limits,
        )
    count, sizes = len(choices), (native.nodes, native.edges, native.depth)
    statistics = Statistics(count, *sizes, count, "enumerated", table.seconds)
    return Circuit(meaning, statistics, native)


def check_foldable(total_choices: int, questions: int) -> None:
    """Raise :class:`SizeLimit` if a table is too large to become a circuit."""
    if total_choices * questions > MOST_COUNTS:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"{questions:,} questions about {total_choices:,} total choices are too "
                "many for a circuit",
                help="use --engine enumerate, or ask fewer questions at once",
            )
        )


Fallen = tuple[tuple[int, int], ...]  # choices that are fixed, with their values


def constant_circuit(holds: bool, questions: int) -> Circuit:
    """A circuit without choices in which every question holds, or only its evidence."""
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

    A case fixes some choices, in the same order in all cases, beginning with those of ``first``,
    which the circuit takes as certain. The circuit of a case has the leaves of its open choices, or
    none. Whatever is in no case has no model.
    """
    paths = {fallen[len(first) :]: circuit for fallen, circuit in cases.items()}
    places, leaves = layout(choices), []
    numbers = np.arange(places.size)
    for fallen, circuit in cases.items():  # the leaves of the choices that each leaves open
        fixed = {choice for choice, _ in fallen}
        kept = [numbers[places.of(i)] for i in range(len(choices)) if i not in fixed]
        leaves.append(np.concatenate(kept) if circuit.leaves else numbers[:0])
    with stopping(watch) as limits:
        native = _native.join(
            [circuit.native for circuit in paths.values()],
            leaves,
            np.array(_decisions(list(paths), choices), dtype=np.int64),
            places.size,
            limits,
        )
    parts = [circuit.statistics for circuit in paths.values()]
    names = ("width", "determined", "inner", "guesses", "gates")
    most = {name: max(getattr(part, name) for part in parts) for name in names}
    sizes = {name: getattr(native, name) for name in ("nodes", "edges", "depth")}
    seconds = sum(part.seconds for part in parts)
    statistics = Statistics(len(choices), **sizes, **most, way="cases", seconds=seconds)
    return Circuit(meaning, statistics, native)


def _decisions(paths: Sequence[Fallen], choices: Sequence[Choice]) -> list[int]:
    """The decisions between the cases for native code, deeper ones first."""
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
