"""The reference engine: every total choice with all its models, from one run of the solver.

It supports everything, and relies only on the translation of the semantics and on the solver. The
models arrive as rows of bits (:class:`BitRows`), one bit for each condition of a question. The
:class:`Table` of total choices and their rows gives the masses under any leaf weights. These are
sums of products, without subtractions, so that small numbers are precise. Under credal, models that
no question distinguishes are found once; under maxent, all are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.join import Counted, check_foldable
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.ground.program import Choice, GroundLiteral, GroundMap, GroundProgram, Rule
from dpasp.ground.solve import Group, model_blocks
from dpasp.inference.tuning import EXACT
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import LeafLayout, Weights, layout, possible_leaves
from dpasp.semantics.masses import FIELDS, Masses, Question, completed, joined, query_literals
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, Translation, Weighed, translate

Bits = NDArray[np.bool_]
Counts = NDArray[np.int64]
PackedBits = NDArray[np.uint64]


class BitRows:
    """A multiset of rows of ``width`` bits."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.added = 0
        self._merged = pack(np.empty((0, width), dtype=np.bool_)), np.empty(0, dtype=np.int64)
        self._waiting: list[PackedBits] = []
        self._room = self._most = EXACT.held_numbers // max(1, width)

    def add(self, block: Bits) -> None:
        self._waiting.append(pack(block))
        self.added += len(block)
        self._room -= len(block)
        if self._room <= 0:
            self._merge()

    @property
    def distinct(self) -> int:
        """The number of distinct rows merged so far."""
        return len(self._merged[1])

    def sorted(self) -> tuple[Bits, Counts]:
        """The distinct rows in lexicographic order, and how often each was added."""
        self._merge()
        words, counts = self._merged
        return unpack(words, self.width), counts

    def _merge(self) -> None:
        """Merge the waiting rows into the merged ones, adding up their counts."""
        words, counts = self._merged
        new = np.concatenate([words, *self._waiting])
        weight = np.concatenate([counts, np.ones(len(new) - len(counts), dtype=np.int64)])
        order = sort_order(new)
        new, weight = new[order], weight[order]
        starts = run_starts(new)
        self._merged = new[starts], np.add.reduceat(weight, starts) if len(new) else weight
        self._waiting = []
        self._room = max(self._most, len(starts))  # all merges together take linear time


def pack(bits: Bits) -> PackedBits:
    """Rows of bits as rows of machine words that compare in the same order."""
    data = np.packbits(bits, axis=1)
    words = max(1, -(-data.shape[1] // 8))  # rows without bits are one word, too
    data = np.pad(data, ((0, 0), (0, 8 * words - data.shape[1])))
    return np.ascontiguousarray(data).view(">u8").astype(np.uint64)


def unpack(words: PackedBits, width: int) -> Bits:
    """The inverse of :func:`pack`."""
    data = np.ascontiguousarray(words.astype(">u8")).view(np.uint8)
    return np.unpackbits(data, axis=1, count=width).astype(np.bool_)


def sort_order(words: PackedBits) -> NDArray[np.intp]:
    if words.shape[1] == 1:
        return np.argsort(words[:, 0], kind="stable")
    return np.lexsort(words.T[::-1])


def run_starts(rows: NDArray[np.generic]) -> NDArray[np.intp]:
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    new = np.ones(len(rows), dtype=np.bool_)
    np.any(rows[1:] != rows[:-1], axis=1, out=new[1:])
    return np.flatnonzero(new)


Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition that a column of the table is ``sign``; without a column, always or never."""

    column: int | None
    sign: bool

    def holds(self, bits: Bits) -> Bits:
        """Which rows satisfy it."""
        if self.column is None:
            return np.full(len(bits), self.sign)
        column = bits[:, self.column]
        return column if self.sign else ~column


ALWAYS = Condition(None, True)
NEVER = Condition(None, False)


@dataclass(frozen=True, slots=True)
class Folded:
    """P(θ) = ``constant[θ] * varying[group[θ]]`` over a batch.

    Total choices that agree on the choices with varying weights form a group, so that a batch takes
    one product for each group.
    """

    constant: Weights  # [total choices]
    group: Indices  # [total choices]
    varying: Weights  # [groups, batch]

    def sum(self, values: NDArray[np.generic]) -> Weights:
        """The sums Σ P(θ) values[θ] for the weight vectors of the batch."""
        weighted = np.multiply(self.constant, values, dtype=np.float64)
        return np.bincount(self.group, weighted, len(self.varying)) @ self.varying


@dataclass(frozen=True, slots=True)
class Table:
    """Total choices in lexicographic order, and the rows of their models.

    ``values[θ, i]`` is the value that choice i takes (its position among its leaves);
    the rows of θ are ``starts[θ]:starts[θ + 1]``. A row stands for ``counts[row]``
    models that satisfy the conditions ``bits[row]``.
    """

    leaves: LeafLayout
    values: Indices
    starts: Indices
    bits: Bits
    counts: Counts

    def __len__(self) -> int:
        return len(self.values)

    def probabilities(self, weights: Weights) -> Weights:
        """P(θ) for every total choice, [total choices, batch], from weights [leaves, batch]."""
        result = np.ones((len(self), weights.shape[1]))
        for i, start in enumerate(self.leaves.starts[:-1]):
            result *= weights[start + self.values[:, i]]
        return result

    def log_probabilities(self, weights: Weights) -> Weights:
        """The logarithms of P(θ), even below 1e-308."""
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        result = np.zeros((len(self), weights.shape[1]))
        for i, start in enumerate(self.leaves.starts[:-1]):
            result += logs[start + self.values[:, i]]
        return result

    def fold(self, weights: Weights) -> Folded:
        """P(θ) as a constant times a factor that varies over the batch."""
        changes = (weights != weights[:, :1]).any(axis=1)
        varying = [
            i for i in range(len(self.leaves.starts) - 1) if changes[self.leaves.of(i)].any()
        ]
        constant = np.ones(len(self))
        for i, start in enumerate(self.leaves.starts[:-1]):
            if i not in varying:
                constant *= weights[start + self.values[:, i], 0]
        if not varying:
            group = np.zeros(len(self), dtype=np.intp)
            return Folded(constant, group, np.ones((1, weights.shape[1])))
        distinct, group = np.unique(self.values[:, varying], axis=0, return_inverse=True)
        product = np.ones((len(distinct), weights.shape[1]))
        for column, i in enumerate(varying):
            product *= weights[self.leaves.starts[i] + distinct[:, column]]
        return Folded(constant, group.reshape(-1), product)

    def holds(self, condition: Condition) -> Bits:
        """Which rows satisfy a condition."""
        return condition.holds(self.bits)

    def models(self, condition: Condition) -> Counts:
        """How many models of each total choice satisfy a condition."""
        return self.count(condition.holds(self.bits))

    def count(self, rows: Bits) -> Counts:
        """How many models of each total choice are in the rows."""
        counts = self.counts * rows
        return np.add.reduceat(counts, self.starts[:-1]) if len(self) else counts

    def inconsistent(self, weights: Weights) -> Weights:
        """The mass of the total choices that are not in the table, for each weight vector.

        Total choices are paths in a tree with a level for each choice. Level by level, the branches
        that no total choice of the table takes are added up, each with everything below it.
        """
        mass = np.zeros(weights.shape[1])
        if not len(self):
            return _rest(self.leaves, weights, 0)
        if len(self) == self.leaves.total:
            return mass
        prefix = np.ones((1, weights.shape[1]))  # the weights of the nodes on this level
        parents = np.zeros(len(self), dtype=np.intp)  # the node that each total choice is at
        for i in range(len(self.leaves.starts) - 1):
            here = weights[self.leaves.of(i)]
            present = np.zeros((len(prefix), len(here)), dtype=np.bool_)
            present[parents, self.values[:, i]] = True
            missing = np.where(present, 0.0, 1.0) @ here
            mass += (prefix * missing).sum(axis=0) * _rest(self.leaves, weights, i + 1)
            parent, value = np.nonzero(present)
            prefix = prefix[parent] * here[value]
            position = np.cumsum(present).reshape(present.shape) - 1
            parents = position[parents, self.values[:, i]]
        return mass


def _rest(leaves: LeafLayout, weights: Weights, first: int) -> Weights:
    """The total weight of all values of the choices from ``first`` on."""
    result = np.ones(weights.shape[1])
    for i in range(first, len(leaves.starts) - 1):
        result *= weights[leaves.of(i)].sum(axis=0)
    return result


def sorted_table(choices: Sequence[Choice], bits: Bits, counts: Counts) -> Table:
    """The table of sorted rows, which have one bit for every selector, then the conditions.

    If no selector of a choice is true, the choice takes its last value, *nothing*.
    """
    width = sum(len(choice.selectors) for choice in choices)
    chosen = bits[:, :width]
    starts = run_starts(chosen)
    values = np.zeros((len(starts), len(choices)), dtype=np.intp)
    first = 0
    for i, choice in enumerate(choices):
        selected = chosen[starts, first : first + len(choice.selectors)]
        taken = selected.any(axis=1)
        values[:, i] = np.where(
            taken, selected.argmax(axis=1) if selected.size else 0, selected.shape[1]
        )
        first += len(choice.selectors)
    ends = np.append(starts, len(bits))
    return Table(layout(choices), values, ends, bits[:, width:], counts)


def _shares(table: Table, both: Condition, evidence: Condition) -> list[NDArray[np.generic]]:
    """The share of P(θ) in each mass, for every total choice of the table."""
    return shares_of_masses(*map(table.models, (ALWAYS, both, evidence)))


def shares_of_masses(n: Counts, n_qe: Counts, n_e: Counts) -> list[NDArray[np.generic]]:
    """The share of P(θ) in each mass, as :mod:`dpasp.semantics.masses` defines them.

    θ has n > 0 models; n_e satisfy the evidence, and n_qe both evidence and query.
    """
    return [
        n > 0,
        n_qe == n,
        n_qe > 0,
        (n_e == n) & (n_qe == 0),
        n_e > n_qe,
        n_qe / n,
        n_e / n,
    ]


@dataclass(frozen=True, slots=True)
class QueryConditions:
    """The conditions of a query: that it holds with its evidence, and the evidence alone."""

    both: Condition
    evidence: Condition


@dataclass(frozen=True, slots=True)
class MapConditions:
    """The conditions of a ``#map`` question: its evidence, and (true, possible) for each atom."""

    evidence: Condition
    atoms: tuple[tuple[Condition, Condition], ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """All that was enumerated; an :class:`~dpasp.inference.circuit.Evaluator`.

    There is a query for every question; for ``#map`` it is its evidence alone.
    """

    table: Table
    meaning: Meaning
    questions: tuple[Question, ...]
    queries: tuple[QueryConditions, ...]
    maps: Mapping[int, MapConditions]  # by the index of the question
    observed: tuple[Condition, ...]  # for each observed atom: it is true
    models: int

    name: ClassVar[str] = "enumerate"
    circuit: ClassVar[None] = None

    @property
    def enumeration(self) -> Enumeration:
        return self

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the table is."""
        return {**self.sizes, "way": "table"}

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many total choices with models there are, and how many models were found."""
        return {"total_choices": len(self.table), "models": self.models}

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch], or their logarithms."""
        if log:
            return self._log_masses(weights, watch)
        tile = max(1, EXACT.held_numbers // (len(self.table) + 1))
        if weights.shape[1] > tile:
            parts = range(0, weights.shape[1], tile)
            return joined([self.masses(weights[:, i : i + tile], watch) for i in parts])
        watch.check()
        folded = self.table.fold(weights)
        result = np.empty((len(FIELDS), len(self.queries), weights.shape[1]))
        for i, query in enumerate(self.queries):
            watch.check()
            shares = _shares(self.table, query.both, query.evidence)
            result[:, i] = [folded.sum(share) for share in shares]
        whole = Masses.of(result, self._inconsistent(weights))
        return completed(whole, self.meaning, self.questions)

    def _inconsistent(self, weights: Weights) -> Weights:
        """The mass of the total choices without a model; 0 under weighted."""
        if self.meaning.weighted:
            return np.zeros(weights.shape[1])
        return self.table.inconsistent(weights)

    def counted(self, seconds: float = 0.0) -> Counted:
        """The counts of models to make a circuit from; finding them took ``seconds``."""
        table = self.table
        check_foldable(len(table), len(self.queries))
        n = table.models(ALWAYS)
        counts = np.empty((len(table), len(self.queries), 3))
        for i, query in enumerate(self.queries):
            n_qe, n_e = table.models(query.both), table.models(query.evidence)
            counts[:, i] = np.stack([n_qe, n_e - n_qe, n - n_e], axis=1)
        seen = [table.models(condition) / n for condition in self.observed]
        shares = np.column_stack(seen) if seen else None
        return Counted(table.values, counts, shares, seconds)

    def _log_masses(self, weights: Weights, watch: Watch) -> Masses:
        """The logarithms of the masses [questions, batch]."""
        result = np.empty((len(FIELDS), len(self.queries), weights.shape[1]))
        logs = self.table.log_probabilities(weights)
        for i, query in enumerate(self.queries):
            watch.check()
            with np.errstate(divide="ignore"):
                shares = np.log(np.stack(_shares(self.table, query.both, query.evidence)))
            for column, log in enumerate(logs.T):
                result[:, i, column] = np.logaddexp.reduce(shares + log, axis=1, initial=-np.inf)
        with np.errstate(divide="ignore"):
            whole = Masses.of(result, np.log(self._inconsistent(weights)))
        return completed(whole, self.meaning, self.questions, log=True)


def enumerate_models(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    observed: Sequence[int] = (),
    most: int | None = None,
    watch: Watch = UNLIMITED,
) -> Enumeration:
    """The table of the program under the semantics, with the conditions of its questions.

    Total choices with a value of fixed probability 0 are left out. The values of the ``observed``
    atoms (of the translated program) are read as well. Raises :class:`SizeLimit` if there are too
    many models for a table, or more than ``most``.
    """
    translation = translate(ground, meaning.logic, watch)
    by_table = isinstance(ground, Weighed) and ground.by_table and not translation.least
    without = Meaning(meaning.logic).holds_without_models if by_table else None
    reader = Reader(translation, without)
    queries = tuple(map(reader.query, ground.questions))
    maps = {i: reader.map(q) for i, q in enumerate(ground.questions) if isinstance(q, GroundMap)}
    truths = tuple(map(reader.atom, observed))
    conditions = len(reader.read)
    if translation.least:
        reader.read_undefined()
    selectors = [selector for choice in ground.choices for selector in choice.selectors]
    rows = BitRows(len(selectors) + len(reader.read))
    groups, read = live_groups(ground), selectors + reader.read
    total = math.prod(len(group.atoms) + (not group.exactly) for group in groups)
    rules = (*translation.rules, *reader.rules)
    for block in model_blocks(rules, groups, read, project=not meaning.maxent, watch=watch):
        rows.add(block)
        watch.report(rows.added, total if rows.added <= total else None)
        if rows.distinct > EXACT.table_rows or (most is not None and rows.added > most):
            raise _too_many(most or EXACT.table_rows)
    bits, counts = rows.sorted()
    if translation.least:  # the last columns are those of read_undefined, only used to select
        width = len(selectors) + conditions
        own = sum(len(choice.selectors) for choice in own_choices(ground))
        least = least_undefined(bits[:, :own], bits[:, width:])
        bits, counts = bits[least, :width], counts[least]
    more = 0
    if by_table:
        new = _undefined_models(ground, bits, reader.undefined)
        bits, more = np.concatenate([bits, new]), len(new)
        order = sort_order(pack(bits))
        bits, counts = bits[order], np.append(counts, np.ones(more, dtype=np.int64))[order]
    table = sorted_table(ground.choices, bits, counts)
    models = rows.added + more
    return Enumeration(table, meaning, ground.questions, queries, maps, truths, models)


def own_choices(ground: GroundProgram) -> Sequence[Choice]:
    """The choices with free values; with ``by_table``, rules derive the values of others."""
    by_table = isinstance(ground, Weighed) and ground.by_table
    return ground.choices[: ground.outer] if by_table else ground.choices  # type: ignore[attr-defined]


def _undefined_models(ground: GroundProgram, bits: Bits, undefined: Sequence[bool]) -> Bits:
    """A row for each total choice without a model: the model in which every atom is undefined.

    Under credal and maxent, masses take care of that model; under weighted it needs a row, which
    says which factors apply. The row ends with the values ``undefined`` of the conditions.
    """
    assert isinstance(ground, Weighed)
    groups = live_groups(ground)
    total = math.prod(len(group.atoms) + (not group.exactly) for group in groups)
    if total > EXACT.table_rows:
        raise _too_many(EXACT.table_rows)
    own = [selector for choice in own_choices(ground) for selector in choice.selectors]
    place = {selector: i for i, selector in enumerate(own)}
    every = np.zeros((1, len(own)), dtype=np.bool_)
    for group in groups:
        options = np.zeros((len(group.atoms) + (not group.exactly), len(own)), dtype=np.bool_)
        for i, atom in enumerate(group.atoms):
            options[i, place[atom]] = True
        every = (every[:, None] | options[None]).reshape(-1, len(own))
    known = {row.tobytes() for row in pack(bits[:, : len(own)])}
    missing = np.array([row.tobytes() not in known for row in pack(every)], dtype=np.bool_)
    new = np.zeros((int(missing.sum()), bits.shape[1]), dtype=np.bool_)
    new[:, : len(own)] = every[missing]
    at = len(own)
    factors = dict(zip(ground.factor_choices, ground.undefined, strict=True))
    for i, choice in enumerate(ground.choices[ground.outer :], ground.outer):
        if i in factors:
            new[:, at] = factors[i]
            if len(choice.selectors) > 1:
                new[:, at + 1] = not factors[i]
        at += len(choice.selectors)
    new[:, at:] = undefined
    return new


def live_groups(ground: GroundProgram) -> list[Group]:
    """The choices as groups of free selectors, without values fixed at probability 0."""
    live = possible_leaves(ground)
    leaves = layout(ground.choices)
    groups = []
    for i, choice in enumerate(own_choices(ground)):
        here = live[leaves.of(i)].tolist()
        atoms = tuple(s for s, kept in zip(choice.selectors, here, strict=False) if kept)
        groups.append(Group(atoms, exactly=not (choice.nothing and here[-1])))
    return [group for group in groups if group.atoms]


class Reader:
    """Decides which atoms are read from each model, and adds atoms for conditions."""

    def __init__(
        self,
        translation: Translation,
        without: Callable[[Sequence[GroundLiteral]], bool] | None = None,
    ) -> None:
        """With ``without``, every condition has a column of its own.

        It says whether literals hold in the model in which all atoms are undefined; ``undefined``
        then has the values of the columns in that model.
        """
        self.translation, self.without = translation, without
        self.rules: list[Rule] = []
        self.read: list[int] = []
        self.undefined: list[bool] = []
        self._next = translation.size
        self._columns: dict[int, int] = {}
        self._defined: dict[Conjunction, int] = {}

    def query(self, question: Question) -> QueryConditions:
        both = self.condition((*question.evidence, *query_literals(question)))
        return QueryConditions(both, self.condition(question.evidence))

    def map(self, question: GroundMap) -> MapConditions:
        evidence = self.condition(question.evidence)
        twins = self.translation.twins
        atoms = [(self.atom(a), self.atom(twins[a], True)) for _, a, _ in question.atoms]
        return MapConditions(evidence, tuple(atoms))

    def condition(self, literals: Sequence[GroundLiteral]) -> Condition:
        """The condition that all the literals hold."""
        parts = self.translation.conjunction(literals)
        if self.without is None and not parts:
            return NEVER if parts is None else ALWAYS
        there = self.without is not None and self.without(literals)
        if parts is not None and len(parts) == 1:
            return self._column(abs(parts[0]), parts[0] > 0, there)
        return self._column(self._all_of(tuple(sorted(parts or ()))), parts is not None, there)

    def read_undefined(self) -> None:
        """Read whether each of the program's own atoms is undefined."""
        for atom in self.translation.own_atoms:
            self.read.append(self._all_of((-atom, self.translation.twins[atom])))

    def atom(self, atom: int, undefined: bool = False) -> Condition:
        """The condition that an atom is true; ``undefined``: its value if all are undefined."""
        if atom:
            return self._column(atom, True, undefined)
        return NEVER if self.without is None else self._column(self._all_of(()), False, undefined)

    def _column(self, atom: int, sign: bool, undefined: bool) -> Condition:
        if self.without is not None or atom not in self._columns:
            self._columns[atom] = len(self.read)
            self.read.append(atom)
            self.undefined.append(undefined == sign)
        return Condition(self._columns[atom], sign)

    def _all_of(self, parts: Conjunction) -> int:
        """A new atom that is true if and only if all the parts hold."""
        if parts not in self._defined:
            self._defined[parts] = self._next
            # A free atom with constraints, rather than a rule with the parts as its body: if there
            # are disjunctions, clasp can confuse that body with another one.
            self.rules.append(Rule((self._next,), (), choice=True))
            self.rules.extend(Rule((), (self._next, -part)) for part in parts)
            self.rules.append(Rule((), (-self._next, *parts)))
            self._next += 1
        return self._defined[parts]


def least_undefined(chosen: Bits, undefined: Bits) -> Bits:
    """Which rows have a ⊆-minimal undefined set among the rows of their total choice."""
    sizes = undefined.sum(axis=1)
    starts = run_starts(chosen)
    if not len(starts):
        return np.zeros(0, dtype=np.bool_)
    lengths = np.diff(np.append(starts, len(chosen)))
    smallest = np.repeat(np.minimum.reduceat(sizes, starts), lengths)
    largest = np.maximum.reduceat(sizes, starts)
    # The smallest sets are minimal. A larger set is minimal if it contains no smaller one; if the
    # empty set is among them, no other set is.
    keep: Bits = sizes == smallest
    words = pack(undefined)
    for start, length, most in zip(starts, lengths, largest, strict=True):
        least = sizes[start : start + length].min()
        if 0 < least < most:
            part = slice(start, start + length)
            keep[part] = _minimal(words[part], sizes[part])
    return keep


def _minimal(sets: PackedBits, sizes: Counts) -> Bits:
    """Which of the sets (rows of words) contain no other one."""
    keep = np.ones(len(sets), dtype=np.bool_)
    for i in np.argsort(sizes, kind="stable"):
        if keep[i]:
            inside = ((sets & sets[i]) == sets[i]).all(axis=1)
            keep &= ~(inside & (sizes > sizes[i]))
    return keep


def _too_many(most: int) -> SizeLimit:
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"more than {most:,} total choices and models: too many to enumerate",
            help="ask for --engine compile, bounds or sample, or make the program smaller",
        )
    )
