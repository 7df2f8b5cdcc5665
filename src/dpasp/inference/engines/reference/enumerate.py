"""The reference: every total choice with all its models, from one run of the solver.

It covers everything and trusts nothing but the translation of the semantics and the
solver. Under credal, models that no question can tell apart come once (projection);
under maxent all are counted.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.5::a. {b} :- a. #query b.")), Meaning())
>>> enumeration = enumerate_models(asked.ground, asked.meaning)
>>> dict(enumeration.sizes)
{'total_choices': 2, 'models': 3}
>>> masses = enumeration.masses(asked.columns)
>>> masses.a, masses.b
(array([[0.]]), array([[0.5]]))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dpasp.circuits.fold import Counted, check_foldable
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.inference.engines.reference.rows import (
    BitRows,
    Bits,
    Counts,
    PackedBits,
    pack,
    run_starts,
)
from dpasp.inference.engines.reference.table import (
    ALWAYS,
    NEVER,
    Condition,
    Table,
    log_masses,
    question_masses,
    sorted_table,
)
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Choice, GroundLiteral, GroundMap, GroundProgram, Rule
from dpasp.logic.solve import Group, model_blocks
from dpasp.semantics.leaves import Weights, layout, possible_leaves
from dpasp.semantics.masses import (
    FIELDS,
    Masses,
    Question,
    completed,
    completed_logs,
    joined,
    query_literals,
)
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, Translation, translate

MOST_ROWS = 50_000_000
TILE = 1 << 23  # numbers that are held at once: total choices times weight vectors


@dataclass(frozen=True, slots=True)
class QueryConditions:
    """Where to read a query in the table: that it holds with its evidence, and the evidence."""

    both: Condition
    evidence: Condition


@dataclass(frozen=True, slots=True)
class MapConditions:
    """Where to read a most-probable question: its evidence, and (true, possible) by atom."""

    evidence: Condition
    atoms: tuple[tuple[Condition, Condition], ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """All that was enumerated; an :class:`~dpasp.inference.engines.evaluator.Evaluator`.

    There is a query for every question: for a most-probable one, its evidence alone.
    """

    table: Table
    meaning: Meaning
    questions: tuple[Question, ...]
    queries: tuple[QueryConditions, ...]
    maps: Mapping[int, MapConditions]  # by the index of the question
    observed: tuple[Condition, ...]  # that an observed atom is true
    models: int

    @property
    def name(self) -> str:
        """The engine's name."""
        return "enumerate"

    @property
    def circuit(self) -> None:
        """There is no circuit."""

    @property
    def enumeration(self) -> Enumeration:
        """Itself."""
        return self

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the table is."""
        return {**self.sizes, "way": "table"}

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many total choices with models there are, and how many models were found."""
        return {"total_choices": len(self.table), "models": self.models}

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch]."""
        tile = max(1, TILE // (len(self.table) + 1))
        if weights.shape[1] > tile:
            parts = range(0, weights.shape[1], tile)
            return joined([self.masses(weights[:, i : i + tile], watch) for i in parts])
        watch.check()
        folded = self.table.fold(weights)
        result = np.empty((len(FIELDS), len(self.queries), weights.shape[1]))
        for i, query in enumerate(self.queries):
            watch.check()
            result[:, i] = question_masses(self.table, folded, query.both, query.evidence)
        whole = Masses.of(result, self.table.inconsistent(weights))
        return completed(whole, self.meaning, self.questions)

    def counted(self, seconds: float = 0.0) -> Counted:
        """The counts of models that a circuit is folded from; ``seconds``: what they took."""
        table = self.table
        check_foldable(len(table), len(self.queries))
        n = table.count(table.holds(ALWAYS))
        counts = np.empty((len(table), len(self.queries), 3))
        for i, query in enumerate(self.queries):
            n_qe = table.count(table.holds(query.both))
            n_e = table.count(table.holds(query.evidence))
            counts[:, i] = np.stack([n_qe, n_e - n_qe, n - n_e], axis=1)
        seen = [table.count(table.holds(condition)) / n for condition in self.observed]
        shares = np.column_stack(seen) if seen else None
        return Counted(table.values, counts, shares, seconds)

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses [questions, batch], also of those below 1e-308."""
        result = np.empty((len(FIELDS), len(self.queries), weights.shape[1]))
        for i, query in enumerate(self.queries):
            for column, vector in enumerate(weights.T):
                result[:, i, column] = log_masses(self.table, vector, query.both, query.evidence)
        with np.errstate(divide="ignore"):
            whole = Masses.of(result, np.log(self.table.inconsistent(weights)))
        return completed_logs(whole, self.meaning, self.questions)


def enumerate_models(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    observed: Sequence[int] = (),
    most: int | None = None,
    watch: Watch = UNLIMITED,
) -> Enumeration:
    """The table of the program under the semantics, with the conditions of its questions.

    Total choices with a value whose probability is fixed at 0 are left out. The truth of
    the ``observed`` atoms (of the translated program) is read too. Raises :class:`SizeLimit`
    where there are too many models for a table, or more than ``most``.
    """
    translation = translate(ground, meaning.logic, watch)
    reader = Reader(translation)
    queries = tuple(map(reader.query, ground.questions))
    maps = {i: reader.map(q) for i, q in enumerate(ground.questions) if isinstance(q, GroundMap)}
    truths = tuple(map(reader.atom, observed))
    conditions = len(reader.read)
    if translation.least:
        reader.read_undefined()
    selectors = [selector for choice in ground.choices for selector in choice.selectors]
    rows = BitRows(len(selectors) + len(reader.read))
    for block in _model_blocks(ground, reader, selectors, not meaning.maxent, watch):
        rows.add(block)
        _check_size(rows, most)
    bits, counts = rows.sorted()
    if translation.least:  # what read_undefined reads comes last, and only serves to select
        width = len(selectors) + conditions
        least = least_undefined(bits[:, : len(selectors)], bits[:, width:])
        bits, counts = bits[least, :width], counts[least]
    table = sorted_table(ground.choices, bits, counts)
    return Enumeration(table, meaning, ground.questions, queries, maps, truths, rows.added)


def _model_blocks(
    ground: GroundProgram, reader: Reader, selectors: list[int], project: bool, watch: Watch
) -> Iterator[Bits]:
    """All models of all total choices, in blocks: the selectors, then what is read.

    With ``project``, models that agree on these come once.
    """
    groups = live_groups(ground)
    total = math.prod(len(group.atoms) + (not group.exactly) for group in groups)
    rules = (*reader.translation.rules, *reader.rules)
    found = 0
    for block in model_blocks(rules, groups, selectors + reader.read, project=project, watch=watch):
        found += len(block)
        watch.report(found, total if found <= total else None)
        yield block


def live_groups(ground: GroundProgram) -> list[Group]:
    """The choices as groups of free selectors, without values fixed at probability 0."""
    live = possible_leaves(ground)
    leaves = layout(ground.choices)
    groups = [
        _live_group(choice, live[leaves.of(i)].tolist()) for i, choice in enumerate(ground.choices)
    ]
    return [group for group in groups if group.atoms]


def _live_group(choice: Choice, live: Sequence[bool]) -> Group:
    """The selectors of a choice that may be true; one of them must be if *nothing* may not."""
    atoms = tuple(s for s, kept in zip(choice.selectors, live, strict=False) if kept)
    return Group(atoms, exactly=not (choice.nothing and live[-1]))


class Reader:
    """Decides which atoms are read from each model, and adds atoms that stand for conditions."""

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.rules: list[Rule] = []
        self.read: list[int] = []
        self._next = translation.size
        self._columns: dict[int, int] = {}
        self._defined: dict[Conjunction, int] = {}

    def query(self, question: Question) -> QueryConditions:
        """The conditions of a query."""
        both = self.condition((*question.evidence, *query_literals(question)))
        return QueryConditions(both, self.condition(question.evidence))

    def map(self, question: GroundMap) -> MapConditions:
        """The conditions of a most-probable question."""
        evidence = self.condition(question.evidence)
        twins = self.translation.twins
        atoms = [(self.atom(a), self.atom(twins[a])) for _, a, _ in question.atoms]
        return MapConditions(evidence, tuple(atoms))

    def condition(self, literals: Sequence[GroundLiteral]) -> Condition:
        """The condition that all the literals hold."""
        parts = self.translation.conjunction(literals)
        if parts is None:
            return NEVER
        if not parts:
            return ALWAYS
        if len(parts) == 1:
            column = self.atom(abs(parts[0]))
            return Condition(column.column, parts[0] > 0)
        return self.atom(self._all_of(tuple(sorted(parts))))

    def read_undefined(self) -> None:
        """Read for each of the program's own atoms whether it is undefined."""
        for atom in self.translation.own_atoms:
            self.read.append(self._all_of((-atom, self.translation.twins[atom])))

    def atom(self, atom: int) -> Condition:
        """The condition that an atom is true."""
        if not atom:
            return NEVER
        if atom not in self._columns:
            self._columns[atom] = len(self.read)
            self.read.append(atom)
        return Condition(self._columns[atom], True)

    def _all_of(self, parts: Conjunction) -> int:
        """A fresh atom that is true exactly when all the parts hold."""
        if parts not in self._defined:
            self._defined[parts] = self._next
            # A free atom and constraints, and not a rule with the parts as its body: next to
            # disjunctions, clasp can take that body for another one.
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
    # The smallest sets are minimal. A larger one is minimal if it has no smaller one inside;
    # one that is larger than the empty set never is.
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


def _check_size(rows: BitRows, most: int | None) -> None:
    if rows.distinct > MOST_ROWS or (most is not None and rows.added > most):
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"more than {most or MOST_ROWS:,} total choices and models: too many to enumerate",
                help="ask for --engine compile, bounds or sample, or make the program smaller",
            )
        )
