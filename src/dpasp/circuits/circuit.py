"""Circuits: compiled programs, evaluated in native code that can be stopped.

>>> from dpasp import loads
>>> circuit = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").circuit()
>>> circuit.masses(np.array([0.3, 0.7, 0.5, 0.5]), fields=("a", "b"))[0, 1:3]
array([0.65, 0.65])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.layers import (
    SUM,
    Integers,
    Layer,
    Layers,
    LeafValues,
    Numbers,
    decode,
    same_in_columns,
    sweep,
)
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Error, InferenceError, SizeLimit, UsageError
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.native import _native
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import FIELDS, ROUNDING, Array
from dpasp.semantics.meaning import Meaning
from dpasp.writing import counted

if TYPE_CHECKING:
    from dpasp.display.scene import Picture

NO_LIMITS = _native.Limits(-1.0, -1.0)
MAGIC = b"dPASP circuit 1\n"


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """An independent part of the program and how it was compiled."""

    choices: int
    guesses: int
    gates: int
    width: int
    way: str
    order: str
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """The size of a program and of its circuit."""

    choices: int
    nodes: int
    edges: int
    depth: int
    width: int
    way: str
    seconds: float
    order: str = ""
    determined: int = 0  # atoms that the choices determine
    inner: int = 0  # atoms that models may choose
    guesses: int = 0  # inner variables that the compiler guessed
    gates: int = 0
    parts: tuple[PartStatistics, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Circuit:
    """An immutable circuit over leaf weights, with one root for each question."""

    meaning: Meaning  # under maxent all masses are known, under credal all but qe and e
    statistics: Statistics
    native: _native.Circuit = field(repr=False)
    cached: bool = field(default=False, compare=False)  # it was read from the cache
    of_weights: bool = False  # valid only for the weights that it was compiled with
    leaf_names: tuple[str, ...] = field(default=(), repr=False, compare=False)  # if known
    question_names: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def leaves(self) -> int:
        """The number of its weights: those of the choices, then two for each observed atom."""
        return self.native.weights

    @property
    def questions(self) -> int:
        """The number of questions that it answers."""
        return self.native.questions

    @property
    def definite(self) -> bool:
        """Whether the models of a total choice never disagree on a question."""
        return self.native.definite

    def masses(
        self,
        weights: Array,
        *,
        fields: Iterable[str] = FIELDS,
        log: bool = False,
        threads: int = 1,
        watch: Watch = UNLIMITED,
    ) -> Array:
        """The masses [questions, 7] in the order of ``FIELDS``; [questions, 7, batch] for a batch.

        Other fields, and those that the circuit does not have under its probabilistic semantics,
        are NaN. With ``log``, they are logarithms. Any number of threads gives exactly the same
        numbers. Raises what the ``watch`` raises, and :class:`MemoryLimit`.
        """
        columns = self._columns(weights)
        with stopping(watch) as limits:
            result = self.native.masses(columns, self._mask(fields), log, threads, limits)
        return result if np.ndim(weights) == 2 else result[:, :, 0]

    def gradient(
        self,
        weights: Array,
        seeds: Array,
        *,
        log: bool = False,
        of_logs: bool = False,
        threads: int = 1,
        watch: Watch = UNLIMITED,
    ) -> tuple[Array, Array]:
        """The masses, and the gradient of Σ seeds · masses by the weights.

        ``seeds`` has the shape of the masses; a field whose seeds are all 0 is not computed (NaN in
        the masses). Every weight counts as free. With ``log``, masses and gradient are those of the
        logarithms; with ``of_logs``, the weights are logarithms too, as is the gradient.
        """
        columns = self._columns(weights)
        wide = np.ascontiguousarray(
            seeds if np.ndim(weights) == 2 else np.asarray(seeds)[:, :, None], dtype=np.float64
        )
        if wide.shape != (self.questions, len(FIELDS), columns.shape[1]):
            raise UsageError(f"seeds of shape {np.shape(seeds)} do not fit the masses")
        used = [name for i, name in enumerate(FIELDS) if np.any(wide[:, i])]
        mask = self._mask(used)
        with stopping(watch) as limits:
            masses, slopes = self.native.gradient(
                columns, wide, mask, log, threads, limits, of_logs
            )
        return (masses, slopes) if np.ndim(weights) == 2 else (masses[:, :, 0], slopes[:, 0])

    def curvature(
        self,
        weights: Array,
        seeds: Array,
        directions: Array,
        *,
        fields: Iterable[str],
        log: bool = False,
        threads: int = 1,
    ) -> tuple[Array, Array]:
        """The derivatives along directions of the masses, and of the gradient of Σ seeds · masses.

        Weights and directions are [leaves, batch], seeds and masses [questions, 7, batch]; the
        second result [leaves, batch] is the Hessian times the directions.
        """
        at, up, along = (
            np.ascontiguousarray(array, dtype=np.float64) for array in (weights, seeds, directions)
        )
        with stopping(UNLIMITED) as limits:
            return self.native.curvature(at, up, along, self._mask(fields), log, threads, limits)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The nodes, edges, values, layers and roots as flat arrays.

        ``op`` is 0 for a leaf (``begin`` numbers its value), 1 for a sum and 2 for a
        product of the edges ``begin:end``; an edge has a child and a weight (-1: one).
        """
        return self.native.arrays()

    @cached_property
    def layers(self) -> Layers:
        """The nodes in layers, decoded once."""
        return decode(self.arrays())

    @cached_property
    def values(self) -> LeafValues:
        """The values of leaves, by number."""
        arrays = self.arrays()
        kinds = arrays["kinds"].astype(np.int64)
        return LeafValues(kinds, *(arrays[name].astype(np.float64) for name in ("qe", "e")))

    def below(self, question: int) -> Layers:
        """The part of the circuit that a question needs, computed once."""
        known = self._parts.get(question)
        if known is None:
            known = self._parts[question] = self.layers.below(question)
        return known

    @cached_property
    def _parts(self) -> dict[int, Layers]:
        return {}

    def plot(self, path: str | Path | None = None) -> Picture:
        """The circuit as a picture, saved if there is a path (.svg, .png or .pdf)."""
        from dpasp.display.programs import circuit_picture

        return circuit_picture(self).saved(path)

    def _repr_html_(self) -> str:
        from dpasp.display.html import circuit_html

        return circuit_html(self)

    def __repr__(self) -> str:
        sizes = self.statistics
        return f"<circuit: {counted(sizes.nodes, 'node')}, {counted(sizes.edges, 'edge')}>"

    def __str__(self) -> str:
        from dpasp.display.programs import statistics_text

        return statistics_text(self.statistics, parts=True)

    def to_bytes(self) -> bytes:
        """The circuit as bytes, the same on every run."""
        import json

        head = {
            "logic": self.meaning.logic.value,
            "probability": self.meaning.probability.value,
            "statistics": asdict(self.statistics),
        }
        text = json.dumps(head, sort_keys=True).encode()
        return MAGIC + len(text).to_bytes(8, "little") + text + self.native.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Circuit:
        """The circuit that :meth:`to_bytes` wrote; :class:`DataError` if it is not one."""
        import json

        try:
            if not data.startswith(MAGIC):
                raise ValueError("no header")
            start = len(MAGIC) + 8
            size = int.from_bytes(data[len(MAGIC) : start], "little")
            head = json.loads(data[start : start + size])
            native = _native.Circuit.from_bytes(data[start + size :])
            parts = tuple(PartStatistics(**part) for part in head["statistics"].pop("parts"))
            statistics = Statistics(**head["statistics"], parts=parts)
            meaning = Meaning(Logic(head["logic"]), Probability(head["probability"]))
            return cls(meaning, statistics, native)
        except (ValueError, TypeError, KeyError, UnicodeDecodeError) as problem:
            raise DataError(
                Diagnostic("circuit-file", f"this is not a circuit of this version ({problem})")
            ) from problem

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.to_bytes(),)

    def _columns(self, weights: Array) -> Array:
        try:
            columns = np.ascontiguousarray(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            help = "take those of dpasp.semantics.leaves.weights(program.ground())"
            raise UsageError(f"weights are an array of numbers: {error}", help=help) from None
        if columns.ndim == 1:
            columns = columns[:, None]
        if columns.ndim != 2 or columns.shape[0] != self.leaves:
            raise UsageError(
                f"this circuit takes {counted(self.leaves, 'weight')}, not an array of shape "
                f"{np.shape(weights)}"
            )
        return columns

    def _mask(self, fields: Iterable[str]) -> int:
        mask = 0
        for name in fields:
            mask |= 1 << FIELDS.index(name)
        if not (self.definite or self.meaning.maxent):
            mask &= 0b0011111  # inner models were not counted
        return mask


def _from_bytes(data: bytes) -> Circuit:  # a function: workers take no methods
    return Circuit.from_bytes(data)


# --- why native code stops -----------------------------------------------------------------------


class HeadCycle(InferenceError):
    """The compiler does not cover disjunction through a positive loop; enumerate instead."""

    default_code = "head-cycle"


class stopping:  # noqa: N801 - used like a function
    """Set the limits of a native call; if they stop it, the right error is raised.

    It is entered for every evaluation, so it is a plain class, not a generator.
    """

    __slots__ = ("watch",)

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def __enter__(self) -> _native.Limits:
        watch = self.watch
        if watch is UNLIMITED:
            return NO_LIMITS
        watch.check()
        left, limits = watch.remaining(), watch.limits
        return _native.Limits(
            -1.0 if left is None else left,
            -1.0 if limits.megabytes is None else limits.megabytes,
            limits.clock,
        )

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: object
    ) -> None:
        if isinstance(problem, _native.Stopped):
            raise failure(problem, self.watch) from None


def failure(stopped: _native.Stopped, watch: Watch) -> Error:
    """The error for why the native code stopped."""
    match stopped.reason:
        case _native.Reason.HEAD_CYCLE:
            return HeadCycle(
                "this program has a disjunction through a positive loop, which is not compiled",
                help="query() and circuit() enumerate its total choices instead",
            )
        case _native.Reason.OBSERVED:
            text = f"{stopped}, so it cannot be a leaf"
            return InferenceError(Diagnostic("observed-inner", text))
        case _native.Reason.TIME:
            return watch.out_of_time()
        case _native.Reason.MEMORY:
            return watch.out_of_memory()
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"the circuit is too large: {stopped}",
            help="ask fewer questions at once, make the loops of the program narrower, "
            "or use --engine bounds or sample",
        )
    )


# --- the mass without a model -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Consistency:
    """The mass of the total choices without a model, added up rather than subtracted from 1.

    A sum over the values of a choice has no edges for values after which there is no model. The
    weights of these, propagated to the root, are the inconsistent mass. So it is exactly 0 if
    nothing is missing, and a true 1e-20 is not lost. For other sums, only the difference to 1 is
    known.
    """

    never: bool  # certainly none lacks a model
    layers: Layers | None  # the circuit, if what is missing can be added up
    empty: NDArray[np.bool_]  # by value of a leaf: whether it has no model
    layout: LeafLayout

    def missing(self, weights: Weights, difference: Weights) -> Weights:
        """The inconsistent mass [batch], given the difference of the consistent one to 1."""
        if self.never:
            return np.zeros_like(difference)
        if self.layers is None:
            return np.where(difference > ROUNDING, difference, 0.0)
        return self._add_up(self.layers, weights)

    def _add_up(self, layers: Layers, weights: Weights) -> Weights:
        starts = np.array(self.layout.starts, dtype=np.int64)
        wide = np.concatenate([weights, np.ones((1, weights.shape[1]))])

        def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
            present, missing = (layer.sum(wide[layer.weights] * channel) for channel in below)
            return [present, missing + _absent(layer, starts, weights)]

        def multiply(_: Layer, x: Sequence[Numbers], y: Sequence[Numbers]) -> list[Numbers]:
            return [x[0] * y[0], x[1] + x[0] * y[1]]

        empty = same_in_columns(self.empty.astype(np.float64), weights.shape[1])
        _, missing = sweep(layers, [1.0 - empty, empty], add, multiply)
        root: Weights = missing[layers.root]
        return root


def consistency(circuit: Circuit, layout: LeafLayout) -> Consistency:
    """What a circuit knows about total choices without a model; the same at all its roots.

    It inspects all sums at once, since most circuits never need their layers.
    """
    empty = circuit.values.kinds == 0
    if circuit.native.total:
        return Consistency(True, None, empty, layout)
    edges, starts = _edges_of_sums(circuit)
    first = np.array(layout.starts, dtype=np.int64)
    widths: Integers = first[1:] - first[:-1]
    owner = np.append(np.repeat(np.arange(len(widths)), widths), -1)[edges]  # the choice of each
    if len(starts):
        most, least = (f.reduceat(owner, starts) for f in (np.maximum, np.minimum))
        if np.any(least < 0) or np.any(most != least):
            return Consistency(False, None, empty, layout)
    lengths = np.diff(np.append(starts, len(edges)))
    if not np.any(empty) and np.all(lengths == widths[owner[starts]]):
        return Consistency(True, None, empty, layout)
    return Consistency(False, circuit.below(0), empty, layout)


def _edges_of_sums(circuit: Circuit) -> tuple[Integers, Integers]:
    """The weights on the edges of all sums side by side, and where those of each sum start."""
    arrays = circuit.arrays()
    op, begin, end, weight = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight")
    )
    sums = op == SUM
    lengths = (end - begin)[sums]
    starts = np.cumsum(lengths) - lengths
    edges = np.repeat(begin[sums] - starts, lengths) + np.arange(lengths.sum())
    return weight[edges], starts


def _absent(layer: Layer, first: Integers, weights: Weights) -> Weights:
    """For each sum, the weights of those values of its choice that it has no edge for."""
    leaves, lengths, absent = absent_leaves(layer, first)
    places = np.cumsum(lengths) - lengths
    sums: Weights = np.add.reduceat(weights[leaves] * absent[:, np.newaxis], places)
    return sums


def absent_leaves(layer: Layer, first: Integers) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """The leaves of each sum's choice side by side, how many, and for which there is no edge."""
    choice = np.searchsorted(first, layer.weights[layer.starts], side="right") - 1
    widths = first[choice + 1] - first[choice]
    places = np.cumsum(widths) - widths
    leaves = np.repeat(first[choice] - places, widths) + np.arange(widths.sum())
    absent = np.ones(len(leaves), dtype=np.bool_)
    absent[np.repeat(places - first[choice], layer.lengths) + layer.weights] = False
    return leaves, widths, absent
