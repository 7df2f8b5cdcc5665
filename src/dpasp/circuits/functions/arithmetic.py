"""A circuit as arithmetic: values that are sums of two products of earlier values.

The values are numbered: constants first, then the weights, then one value for each operation, which
is ``left · right + left' · right'`` of four earlier ones. Every channel of every node becomes such
operations, and so do the product rules of the masses c and d, the probability that a choice leaves
for nothing, and the mass without stable models. Values that are always 0 are left out, equal
operations are merged, and operations are sorted into levels that can be computed at once.

The weights have the names of the values of choices (:func:`dpasp.semantics.leaves.leaf_names`). The
rest of a choice to 1 is computed, and numbers that the program fixes at 0 or 1 are not weights. The
weight of a factor is the number in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit, absent_leaves, consistency
from dpasp.circuits.layers import MIXED, Integers, Layer, Numbers, sweep
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ImpossibleEvidence, UsageError
from dpasp.ground.program import FixedWeights, GroundProgram, GroundQuery, IntervalWeights
from dpasp.semantics import leaves
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import impossible_evidence, no_models, undefined_counts
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed

ZERO, ONE, MINUS = 0, 1, 2  # the first constants: 0, 1 and -1


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The answers to some queries as arithmetic on named weights.

    Each row of ``ratios`` is an answer: the values of its numerator, of its denominator, and of the
    mass of its evidence. If the denominator is 0 and the evidence is possible, the answer is
    ``otherwise``. Under credal, the lower bounds of all queries come first, then the upper ones.
    """

    names: tuple[str, ...]
    weights: Weights  # what the program says; NaN where it does not
    largest: Weights  # what weights are at most: 1 for probabilities, any number for factors
    queries: tuple[str, ...]
    bounds: bool  # whether an answer is a lower and an upper probability
    single: bool  # whether one query was asked, and not a list of them
    constants: NDArray[np.float64]
    operations: NDArray[np.int32]  # [operations, 4]
    levels: NDArray[np.int32]  # where each level begins, and the end of the last one
    ratios: NDArray[np.int32]  # [answers, 3]
    otherwise: NDArray[np.float64]  # by answer

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the answers."""
        if not self.bounds:
            return self.queries
        return tuple(f"{query} {end}" for end in ("lower", "upper") for query in self.queries)

    @property
    def first(self) -> int:
        """The number of the first operation's value."""
        return len(self.constants) + len(self.names)


def arithmetic(
    ground: GroundProgram,
    circuit: Circuit,
    weights: Weights | None = None,
    *,
    single: bool = False,
) -> Arithmetic:
    """The queries of a ground program as arithmetic on its weights.

    ``weights`` [leaves] are the default weights, if not those of the program. Raises
    :class:`UsageError` for questions other than #query, and if probabilities are intervals.
    """
    queries = _checked(ground)
    known = leaves.weights(ground) if weights is None else weights
    roles = _roles(ground)
    values = _Values(circuit, len(roles.inputs), known[roles.fixed])
    of_leaf = _leaf_values(roles, values, known)
    masses = _masses(circuit, values, of_leaf)
    meaning = circuit.meaning
    if meaning.has_undefined_model and not meaning.weighted:
        lost = _without_models(circuit, leaves.layout(ground.choices), values, of_leaf, masses)
        ones = np.full(len(queries), ONE)
        for name, where in undefined_counts(meaning, queries).items():
            if name in masses:
                more = np.where(where, lost, ZERO)
                masses[name] = values.combined(ones, masses[name], ones, more)
    wanted, otherwise = _ratios(masses, values, meaning)
    operations, levels, ratios = values.in_levels(wanted)
    names, said, factors = leaves.leaf_names(ground), known[roles.inputs], roles.factors
    said[factors] /= known[roles.inputs[factors] + 1]
    return Arithmetic(
        names=tuple(names[leaf] for leaf in roles.inputs.tolist()),
        weights=said,
        largest=np.where(factors, np.finfo(np.float64).max, 1.0),
        queries=tuple(query.text for query in queries),
        bounds=not meaning.maxent,
        single=single,
        constants=values.constants,
        operations=operations,
        levels=levels,
        ratios=ratios,
        otherwise=otherwise,
    )


def check_possible(form: Arithmetic, ground: GroundProgram) -> None:
    """Raise :class:`ImpossibleEvidence` for evidence that no weights make possible."""
    possible = form.ratios[: len(form.queries), 2] != ZERO
    wrong = [query for query, good in zip(_checked(ground), possible, strict=True) if not good]
    if wrong and not any(query.evidence for query in wrong):
        raise no_models()
    if wrong:
        raise ImpossibleEvidence(impossible_evidence(q.evidence, q.span) for q in wrong)


def _checked(ground: GroundProgram) -> list[GroundQuery]:
    queries = [question for question in ground.questions if isinstance(question, GroundQuery)]
    if len(queries) < len(ground.questions) or ground.worth:
        raise UsageError(
            "a function gives probabilities; the program asks for something else, "
            "by #map, #mpe, #expect or #decide",
            help='name the queries to export, which alone count then: --query "a | b", or '
            'program.to_numpy("a | b")',
        )
    credal = [c for c in ground.choices if isinstance(c.weight, IntervalWeights)]
    if credal:
        where = ground.program.statements[credal[0].statement].span
        raise UsageError(
            Diagnostic(
                "export-interval",
                "a probability that is an interval has no place among the weights of a function",
                where,
                help="write a number in its place: the function takes any other, and its extremes "
                "over an interval lie at the ends; program.query() finds them",
            )
        )
    return queries


@dataclass(frozen=True, slots=True)
class _Roles:
    """The role of each leaf in the function."""

    inputs: Integers  # weights of the function: values that the program does not fix
    factors: NDArray[np.bool_]  # which inputs are factors f, whose two leaves weigh f and 1, scaled
    fixed: Integers  # those with weights that are not the caller's
    ones: Integers  # those that weigh 1: the rests of factors
    rests: Mapping[int, Sequence[int]]  # what a choice leaves for nothing: the rest of some inputs


def _roles(ground: GroundProgram) -> _Roles:
    possible, places = leaves.possible_leaves(ground), leaves.layout(ground.choices)
    factors, own = set[int](), len(ground.choices)
    if isinstance(ground, Weighed):  # after its own choices: factors, and guesses among models
        factors, own = set(ground.factor_choices), ground.outer
    inputs: list[int] = []
    fixed: list[int] = []
    rests: dict[int, list[int]] = {}
    for index, choice in enumerate(ground.choices):
        here = places.of(index)
        every = range(here.start, here.stop)
        sure = isinstance(choice.weight, FixedWeights) and int(possible[here].sum()) <= 1
        if index not in factors and (sure or index >= own):
            fixed += every
            continue
        some = every[:1] if index in factors else every[: len(choice.selectors)]
        free = [leaf for leaf in some if possible[leaf]]
        inputs += free
        if choice.nothing and possible[every[-1]] and index not in factors:
            rests[every[-1]] = free
    scaled = [places.of(index).start for index in factors]
    found = np.array(inputs, dtype=np.int64)
    return _Roles(
        found,
        np.isin(found, scaled),
        np.array(fixed, dtype=np.int64),
        np.array(scaled, dtype=np.int64) + 1,
        rests,
    )


def _leaf_values(roles: _Roles, values: _Values, known: Weights) -> Integers:
    """For each leaf, the number of its value; the last one is for edges without a weight."""
    of_leaf = np.full(len(known) + 1, ZERO, dtype=np.int64)
    of_leaf[-1] = ONE
    of_leaf[roles.inputs] = len(values.constants) + np.arange(len(roles.inputs))
    of_leaf[roles.fixed] = values.constant(known[roles.fixed])
    of_leaf[roles.ones] = ONE
    lengths = np.array([len(each) for each in roles.rests.values()], dtype=np.int64)
    taken = np.array([leaf for each in roles.rests.values() for leaf in each], dtype=np.int64)
    total = values.sums(lengths, np.full(len(taken), ONE), of_leaf[taken])
    one, minus = np.full(len(total), ONE), np.full(len(total), MINUS)
    of_leaf[list(roles.rests)] = values.combined(one, one, minus, total)
    return of_leaf


class _Values:
    """The constants, the weights, and the operations made so far."""

    def __init__(self, circuit: Circuit, weights: int, fixed: Weights) -> None:
        shares = np.concatenate([circuit.values.qe, circuit.values.e, fixed])
        others = np.setdiff1d(shares[~np.isnan(shares)], [0.0, 1.0])
        self.constants = np.concatenate([[0.0, 1.0, -1.0], others])
        self.first = self.count = len(self.constants) + weights
        self._made: list[Integers] = []
        self._level = np.zeros(2 * self.first, dtype=np.int64)  # by value, with room for more

    def constant(self, numbers: NDArray[np.float64]) -> Integers:
        order = np.argsort(self.constants)
        return order[np.searchsorted(self.constants[order], numbers)]

    def combined(self, a: Integers, b: Integers, c: Integers, d: Integers) -> Integers:
        """The values a · b + c · d; new ones become operations."""
        pairs = np.array([a, b, c, d], dtype=np.int64).T.reshape(-1, 2, 2)
        pairs.sort(axis=2)
        pairs[pairs[:, :, 0] == ZERO] = ZERO  # a product with 0
        swap = (pairs[:, 0] < pairs[:, 1])[:, 0] | (
            (pairs[:, 0, 0] == pairs[:, 1, 0]) & (pairs[:, 0, 1] < pairs[:, 1, 1])
        )
        pairs[swap] = pairs[swap][:, ::-1]
        rows = pairs.reshape(-1, 4)
        result = rows[:, 1].copy()  # 1 · b + 0 is b, and 0 + 0 is 0
        fresh = ~((rows[:, 2] == ZERO) & (rows[:, 0] <= ONE))
        if fresh.any():
            new, which = np.unique(rows[fresh], axis=0, return_inverse=True)
            result[fresh] = self.count + which.reshape(-1)
            self._add(new)
        return result

    def _add(self, new: Integers) -> None:
        begin, self.count = self.count, self.count + len(new)
        self._made.append(new)
        if self.count > len(self._level):
            self._level = np.concatenate([self._level, np.zeros(self.count, dtype=np.int64)])
        self._level[begin : self.count] = 1 + self._level[new].max(axis=1)

    def sums(self, lengths: Integers, left: Integers, right: Integers) -> Integers:
        """Sums of ``lengths`` products each, which are side by side; two at a time."""
        owner = np.repeat(np.arange(len(lengths)), lengths)
        while True:
            good = (left != ZERO) & (right != ZERO)
            owner, left, right = owner[good], left[good], right[good]
            counts = np.bincount(owner, minlength=len(lengths))
            if not len(owner):
                return np.full(len(lengths), ZERO, dtype=np.int64)
            position = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
            first = np.flatnonzero(position % 2 == 0)
            second = np.minimum(first + 1, len(owner) - 1)
            paired = (first + 1 < len(owner)) & (owner[second] == owner[first])
            right = self.combined(
                left[first],
                right[first],
                np.where(paired, left[second], ZERO),
                np.where(paired, right[second], ZERO),
            )
            owner, left = owner[first], np.full(len(first), ONE)
            if counts.max() <= 2:
                result = np.full(len(lengths), ZERO, dtype=np.int64)
                result[owner] = right
                return result

    def in_levels(
        self, wanted: Integers
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The operations that are needed, sorted by level, and the wanted values."""
        made = np.concatenate([np.empty((0, 4), dtype=np.int64), *self._made])
        needed = np.zeros(self.count, dtype=np.bool_)
        needed[wanted] = True
        ends = np.cumsum([self.first, *map(len, self._made)])
        for begin, end in list(pairwise(ends.tolist()))[::-1]:
            used = made[begin - self.first : end - self.first][needed[begin:end]]
            needed[used] = True
        kept = self.first + np.flatnonzero(needed[self.first :])
        order = kept[np.argsort(self._level[kept], kind="stable")]
        place = np.arange(self.count)
        place[order] = self.first + np.arange(len(order))
        levels = np.concatenate([[0], np.cumsum(np.bincount(self._level[order])[1:])])
        operations = place[made[order - self.first]].astype(np.int32)
        return operations, levels.astype(np.int32), place[wanted].astype(np.int32)


Channels = dict[str, Integers]  # by name, the values of nodes or of questions


def _masses(circuit: Circuit, values: _Values, of_leaf: Integers) -> Channels:
    fields = circuit.meaning.fields[0 if circuit.meaning.has_undefined_model else 1 :]
    names = list(dict.fromkeys(n for f in fields for n in (f, *MIXED.get(f, ()))))
    layers, constants = circuit.layers, [values.constant(circuit.values.channel(n)) for n in names]

    def add(layer: Layer, below: Sequence[Numbers]) -> Integers:
        lengths, weights = layer.lengths, of_leaf[layer.weights]
        every = (np.tile(lengths, len(names)), np.tile(weights, len(names)), np.concatenate(below))
        return values.sums(*every).reshape(len(names), -1)

    def multiply(layer: Layer, left: Sequence[Numbers], right: Sequence[Numbers]) -> Integers:
        x, y = dict(zip(names, left, strict=True)), dict(zip(names, right, strict=True))
        nothing = np.full(len(layer.products), ZERO)
        parts = []
        for name in names:
            rule = MIXED.get(name)
            if rule is None:
                parts.append((x[name], y[name], nothing, nothing))
            else:
                parts.append((x[name], y[rule.whole], x[rule.part], y[name]))
        found = values.combined(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return found.reshape(len(names), -1)

    node = dict(zip(names, sweep(layers, constants, add, multiply), strict=True))
    return {name: node[name][layers.roots] for name in fields}


def _without_models(
    circuit: Circuit, layout: LeafLayout, values: _Values, of_leaf: Integers, masses: Channels
) -> int:
    """The value of the mass of total choices without stable models, added up if possible."""
    known, one = consistency(circuit, layout), np.full(1, ONE)
    if known.never:
        return ZERO
    if known.layers is None:
        return int(values.combined(one, one, np.full(1, MINUS), masses["consistent"][:1])[0])
    layers, first = known.layers, np.array(layout.starts, dtype=np.int64)

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Integers]:
        ones, weights = np.full(len(layer.sums), ONE), of_leaf[layer.weights]
        present, missing = (values.sums(layer.lengths, weights, channel) for channel in below)
        others, lengths, absent = absent_leaves(layer, first)
        left_out = values.sums(lengths, np.where(absent, ONE, ZERO), of_leaf[others])
        return [present, values.combined(ones, missing, ones, left_out)]

    def multiply(_: Layer, x: Sequence[Numbers], y: Sequence[Numbers]) -> list[Integers]:
        nothing, ones = np.full(len(x[0]), ZERO), np.full(len(x[0]), ONE)
        both = values.combined(x[0], y[0], nothing, nothing)
        return [both, values.combined(x[1], ones, x[0], y[1])]

    leaves = [np.where(known.empty, ZERO, ONE), np.where(known.empty, ONE, ZERO)]
    _, missing = sweep(layers, leaves, add, multiply)
    return int(missing[layers.root])


def _ratios(
    masses: Channels, values: _Values, meaning: Meaning
) -> tuple[Integers, NDArray[np.float64]]:
    """The numerator, the denominator and the mass of the evidence of each answer."""
    if meaning.maxent:
        rows = np.stack([masses["qe"], masses["e"], masses["e"]], axis=1)
        return rows, np.zeros(len(rows))

    def plus(one: str, other: str) -> Integers:
        ones = np.full(len(masses[one]), ONE)
        return values.combined(ones, masses[one], ones, masses[other])

    possible = plus("b", "d")
    lower = np.stack([masses["a"], plus("a", "d"), possible], axis=1)
    upper = np.stack([masses["b"], plus("b", "c"), possible], axis=1)
    otherwise = np.repeat([1.0, 0.0], len(lower))
    return np.concatenate([lower, upper]), otherwise
