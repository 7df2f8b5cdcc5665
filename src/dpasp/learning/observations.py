"""Observations: the literals observed in each example, each distinct set kept once.

Their forms are listed in :mod:`dpasp.language.arguments`. They may also be integer labels, as for
classifiers: with the query ``sum(Z)``, a label is the number of one of its answers; with
``digit(I,D)`` and a matrix [rows, objects], each object has a label, a value of the query's last
variable. Truth values say whether an atom holds: one per row for the query ``flag``, or [rows,
answers] for ``label(0,L)``.

>>> import dpasp
>>> program = dpasp.loads("0.3::a. b :- not a.")
>>> seen = ObservationReader(program.ground()).read(["a", "b", "a"])
>>> len(seen), len(seen.distinct), seen.text(1), len(seen[:2] + seen)
(3, 2, 'b', 5)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from clingo import Function, Symbol
from clingo.ast import ASTType
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from dpasp.circuits.gpu.cuda import LabelHeads
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Span, UsageError
from dpasp.ground.columns import Columns, LiteralReader, mode_of
from dpasp.ground.program import FromNetwork, GroundLiteral, GroundProgram, GroundQuery
from dpasp.ground.terms import parse_symbol, split_atom
from dpasp.language import ast, parse
from dpasp.language.arguments import Example, examples, queries_given
from dpasp.language.ast import NOWHERE, Mode
from dpasp.language.text.clingo_text import variables
from dpasp.learning.data import as_tensor
from dpasp.learning.tuning import TUNING
from dpasp.writing import counted

BRIEF = 8  # literals of an observation that a message shows
UNSEEN = -100  # the label for "not observed", as in torch's losses

Observation = tuple[GroundLiteral, ...]
AnyObservations = object  # observations in any shape that dpasp.language.arguments reads


@dataclass(frozen=True, slots=True)
class Observations(Sequence["Observations"]):
    """Distinct observations, and the number of each example's observation.

    They can be indexed (by a number, a slice, a list, or a tensor of numbers or truth values),
    joined with ``+``, pickled, and batched by a ``DataLoader``; the results are observations again.
    """

    distinct: tuple[Observation, ...]
    ids: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'observation')}, {len(self.distinct)} distinct>"

    def __getitem__(self, key: Any) -> Observations:
        """The observations of some examples, or of one."""
        ids = self.ids[torch.as_tensor(key) if isinstance(key, list) else key]
        return Observations(self.distinct, ids.reshape(-1))

    def __add__(self, other: Observations) -> Observations:
        return join_observations([self, other])

    def __reduce__(self) -> tuple[Any, ...]:
        texts = tuple(tuple(map(str, observation)) for observation in self.distinct)
        atoms = tuple(
            tuple(literal.atom for literal in observation) for observation in self.distinct
        )
        return _restored, (texts, atoms, self.ids)

    def text(self, example: int) -> str:
        return observation_text(self.distinct[int(self.ids[example])])


def _restored(texts: tuple[Example, ...], atoms: Sequence[Sequence[int]], ids: Tensor) -> Any:
    def literal(text: str, atom: int) -> GroundLiteral:
        mode, name = mode_of(text)
        return GroundLiteral(mode, atom, parse_symbol(name))  # type: ignore[arg-type]

    distinct = tuple(
        tuple(literal(text, atom) for text, atom in zip(written, numbers, strict=True))
        for written, numbers in zip(texts, atoms, strict=True)
    )
    return Observations(distinct, ids)


def join_observations(parts: Sequence[Observations]) -> Observations:
    longest = max((part.distinct for part in parts), key=len)
    if all(part.distinct == longest[: len(part.distinct)] for part in parts):
        return Observations(longest, torch.cat([part.ids for part in parts]))
    distinct = dict.fromkeys(seen for part in parts for seen in part.distinct)
    numbers = {seen: i for i, seen in enumerate(distinct)}
    maps = [torch.tensor([numbers[seen] for seen in part.distinct]) for part in parts]
    ids = [renumbered[part.ids] for renumbered, part in zip(maps, parts, strict=True)]
    return Observations(tuple(numbers), torch.cat(ids))


# Tells torch's DataLoader how to form a batch of them.
default_collate_fn_map[Observations] = lambda batch, **_: join_observations(batch)


def observation_text(observation: Observation) -> str:
    """An observation as text; the empty one holds in every example."""
    return ", ".join(map(str, observation)) or "nothing"


def questions_of(observations: Sequence[Observation]) -> tuple[GroundQuery, ...]:
    return tuple(
        GroundQuery(literals, (), observation_text(literals), NOWHERE) for literals in observations
    )


def observation_brief(observation: Observation) -> str:
    """An observation as text, shortened if it is long."""
    if len(observation) <= BRIEF:
        return observation_text(observation)
    rest = len(observation) - BRIEF
    return f"{observation_text(observation[:BRIEF])} and {counted(rest, 'more literal')}"


class ObservationReader:
    """Reads observations for a ground program; repeated texts cost nothing."""

    def __init__(
        self, ground: GroundProgram, span: Span | None = None, logic: ast.Logic | None = None
    ) -> None:
        """With a two-valued ``logic``, ``undef`` cannot be observed."""
        self.ground = ground
        self.span = span
        self._reader = LiteralReader(ground, span, logic)
        self._numbers: dict[Observation, int] = {}
        self._seen: dict[tuple[str, ...], int] = {}

    @cached_property
    def columns(self) -> Columns:
        """The meaning of the columns of tables."""
        return Columns.of(self.ground)

    @property
    def distinct(self) -> tuple[Observation, ...]:
        """The distinct observations so far, by number."""
        return tuple(self._numbers)

    def read(self, observations: AnyObservations, what: str = "observations") -> Observations:
        """Read observations in any form; ``what`` names them in messages."""
        rows = examples(observations, what, self.span, self.columns)
        ids = [self.number(row, index) for index, row in enumerate(rows)]
        return Observations(self.distinct, torch.tensor(ids, dtype=torch.int64))

    def renumbered(self, observations: Observations) -> Observations:
        """Observations with this reader's numbers; another program's are read again."""
        distinct = observations.distinct
        if distinct == self.distinct[: len(distinct)]:
            return observations
        numbers = [self.number(tuple(map(str, observation))) for observation in distinct]
        ids = torch.tensor(numbers, dtype=torch.int64, device=observations.ids.device)
        return Observations(self.distinct, ids[observations.ids])

    def number(self, texts: Example, index: int = 0) -> int:
        """The number of an observation; ``index`` is its example, for messages."""
        number = self._seen.get(texts)
        if number is None:
            literals = {self._reader.literal(text, index): None for text in texts}
            number = self._seen[texts] = self.number_of(tuple(literals))
        return number

    def number_of(self, literals: Observation) -> int:
        """The number of the observation with these literals, in any order."""
        observation = tuple(sorted(literals, key=lambda each: (each.atom, each.mode.value)))
        return self._numbers.setdefault(observation, len(self._numbers))


InstancesOf = Callable[[str], Sequence[GroundQuery]]
LabelColumn = Sequence[Observation | None]  # the value of a label; None if it is impossible
ChoicePlaces = Mapping[int, tuple[Symbol, int]]


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Reads labels; ``instances`` returns the answers of a query, in order."""

    reader: ObservationReader
    instances: InstancesOf
    places: ChoicePlaces

    def read(
        self, labels: object, query: str | Sequence[str]
    ) -> tuple[Observations, frozenset[int]]:
        """The observations that labels stand for, with one query or a list of them.

        Also returns the atoms that later labels of many objects will be about.
        """
        if isinstance(labels, Observations):
            message = "these observations are read already"
            raise UsageError.at("label-values", message, help="leave query= out")
        rows, single = _rows(labels)
        columns = self.columns(query, single, are_truth_values(labels))
        table = _filled(rows, columns, may_be_short=isinstance(labels, list | tuple))
        distinct, which = np.unique(table, axis=0, return_inverse=True)
        numbers = [self._number(row, columns) for row in distinct.tolist()]
        ids = torch.tensor(numbers, dtype=torch.int64)[torch.from_numpy(which.reshape(-1))]
        return Observations(self.reader.distinct, ids), _atoms(columns)

    def _number(self, row: Sequence[int], columns: Sequence[tuple[str, LabelColumn]]) -> int:
        """The number of the observation for a row of labels."""
        seen: dict[GroundLiteral, None] = {}
        for label, (name, column) in zip(row, columns, strict=True):
            if label == UNSEEN:
                continue
            if not 0 <= label < len(column):
                message = f"{name} has the columns 0 to {len(column) - 1}, but a label is {label}"
                help = f"the columns are numbered from 0; {UNSEEN} is for what was not observed"
                if len(column) == 1:
                    help = "to say whether an atom holds, use truth values: labels.bool()"
                raise DataError.at("label-values", message, help=help)
            literals = column[label]
            if literals is None:
                message = f"the label {label} of {name} stands for what cannot occur"
                raise DataError.at("label-values", message, help="see the program's rules")
            seen |= dict.fromkeys(literals)
        return self.reader.number_of(tuple(seen))

    def columns(
        self, query: str | Sequence[str], single: bool, truth: bool = False
    ) -> list[tuple[str, LabelColumn]]:
        """The meanings of each column's labels, with its name for messages.

        For truth values, there is a column for each answer.
        """
        if truth:
            texts = [query] if isinstance(query, str) else query
            return [self._truth(one) for text in texts for one in self._unconditional(text)]
        if not isinstance(query, str):
            return [self._whole(text) for text in query]
        return [self._whole(query)] if single else self._objects(query)

    def _truth(self, question: GroundQuery) -> tuple[str, LabelColumn]:
        """The labels 0 and 1 of an atom: it is false, or true."""
        literals = question.literals
        if len(literals) != 1 or literals[0].mode is Mode.UNDEFINED:
            message = f"{question.text} is not one atom, so truth values do not say what was seen"
            help = "define an atom by a rule, and write it as the query"
            raise UsageError.at("label-query", message, help=help)
        (held,) = literals
        other = Mode.TRUE if held.mode is Mode.FALSE else Mode.FALSE
        return question.text, [(held._replace(mode=other),), (held,)]

    def _whole(self, query: str) -> tuple[str, LabelColumn]:
        """The labels that number the answers of a query."""
        return query, [instance.literals for instance in self._unconditional(query)]

    def _objects(self, query: str) -> list[tuple[str, LabelColumn]]:
        """The objects of a query and their labels, which are values of its last variable."""
        place = _last_variable(query)
        objects: dict[Symbol, dict[Symbol, Observation]] = {}
        order: dict[Symbol, tuple[int, Symbol]] = {}
        for question in self._unconditional(query):
            (literal,) = question.literals
            symbol, value = literal.symbol, literal.symbol.arguments[place]
            rest = [*symbol.arguments[:place], Function("_"), *symbol.arguments[place + 1 :]]
            objects.setdefault(Function(symbol.name, rest, symbol.positive), {})[value] = (literal,)
            listed = self.places.get(literal.atom)
            order.setdefault(value, (listed[1] if listed else 0, value))
        values = sorted(order, key=lambda value: order[value])
        return [
            (str(name), [labels.get(value) for value in values])
            for name, labels in sorted(objects.items())
        ]

    def _unconditional(self, query: str) -> Sequence[GroundQuery]:
        instances = self.instances(query)
        if not instances:
            message = f"no atoms match {query}"
            raise UsageError.at("label-query", message, help="see `dpasp ground`")
        if any(question.evidence for question in instances):
            message = f"the answers to {query} are conditional, but observations cannot be"
            raise UsageError.at("label-query", message, help="leave the evidence out")
        return instances


def _atoms(columns: Sequence[tuple[str, LabelColumn]]) -> frozenset[int]:
    """The atoms that labels can be about if there are too many values to expect all of them."""
    if math.prod(len(column) for _, column in columns) <= TUNING.few_observations:
        return frozenset()
    literals = (literal for _, column in columns for seen in column for literal in seen or ())
    return frozenset(literal.atom for literal in literals if literal.atom)


def are_truth_values(labels: Any) -> bool:
    kind = getattr(labels, "dtype", None)
    if kind is not None:
        return str(kind) in ("bool", "torch.bool", "boolean")
    if isinstance(labels, list | tuple) and labels:
        return all(isinstance(one, bool | np.bool_) or are_truth_values(one) for one in labels)
    return False


def _rows(labels: Any) -> tuple[list[list[int]], bool]:
    """The labels of each row, and whether rows are single labels rather than lists."""
    several = isinstance(labels, Iterable) and getattr(labels, "ndim", 1) != 0
    if several and isinstance(first := next(iter(labels), None), str):
        message = f"labels are the numbers of a query's answers, not texts such as '{first}'"
        help = "give what was observed without query=, such as a table, whose columns have names"
        raise DataError.at("label-values", message, help=help)
    if isinstance(labels, list | tuple) and labels and all(map(_is_flat, labels)):
        return [_integers(row).tolist() if len(row) else [] for row in labels], False
    rows = _integers(labels)
    return rows.reshape(len(rows), -1).tolist(), rows.ndim == 1


def _is_flat(row: Any) -> bool:
    """Whether a row is a list of single labels."""
    try:
        return np.ndim(row) == 1
    except ValueError:  # of lists of unequal lengths
        return False


def _integers(labels: Any) -> NDArray[np.int64]:
    numbers = as_tensor(labels, "labels").detach().cpu().numpy()
    if numbers.ndim not in (1, 2) or numbers.dtype.kind not in "iub":
        shape = " × ".join(map(str, numbers.shape)) or "no"
        message = "labels are whole numbers, one for each row, or [rows, objects], not "
        message += f"{numbers.dtype} of shape {shape}"
        help = "such as labels.long(), or labels.bool() for whether an atom holds"
        raise DataError.at("label-values", message, help=help)
    return numbers.astype(np.int64)


def _filled(
    rows: list[list[int]], columns: Sequence[tuple[str, LabelColumn]], may_be_short: bool
) -> NDArray[np.int64]:
    """The labels [rows, columns]; what a short list omits was not observed."""
    width = len(columns)
    for number, row in enumerate(rows):
        if len(row) > width or (len(row) < width and not may_be_short):
            names = ", ".join(name for name, _ in columns[:4]) + ", …" * (width > 4)
            objects = counted(width, "object")
            message = f"row {number} has {counted(len(row), 'label')} for {objects}: {names}"
            help = f"give one label an object, {UNSEEN} for what was not observed; "
            help += "labels.bool() says of each atom whether it holds"
            raise DataError.at("label-values", message, help=help)
    full = [row + [UNSEEN] * (width - len(row)) for row in rows]
    return np.array(full, dtype=np.int64).reshape(len(rows), width)


def _last_variable(query: str) -> int:
    """The position of the last argument that is a variable, whose values the labels are."""
    statement = parse(queries_given((query,))[0]).statements[-1]
    assert isinstance(statement, ast.Query)
    literal = statement.literals[0]
    if len(statement.literals) == 1 and literal.mode is Mode.TRUE:
        _, arguments = split_atom(literal.atom.symbol)
        named = [i for i, part in enumerate(arguments) if part.ast_type == ASTType.Variable]
        if named:
            rest = [part for i, part in enumerate(arguments) if i != named[-1]]
            if str(arguments[named[-1]]) not in {str(v) for part in rest for v in variables(part)}:
                return named[-1]
    message = f"{query} does not say what a matrix of labels is about"
    help = "write one atom whose last variable is the label, digit(I,D), or a list of queries"
    raise UsageError.at("label-query", message, help=help)


def in_listed_order(queries: Sequence[GroundQuery], places: ChoicePlaces) -> Sequence[GroundQuery]:
    """The instances of a query; values of a choice come in the order in which it lists them."""
    keys = [[places.get(literal.atom) for literal in query.literals] for query in queries]
    if any(place is None for key in keys for place in key):
        return queries
    return [query for _, query in sorted(zip(keys, queries, strict=True), key=lambda p: p[0])]


def places(ground: GroundProgram) -> dict[int, tuple[Symbol, int]]:
    """By atom that a choice derives: the choice (by its least atom), and the position in it.

    A network's outcomes for one row count as one choice, in the order of the outputs.
    """
    names = ground.symbols
    together: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
    for number, choice in enumerate(ground.choices):
        if all(names[atom] is None for atom in choice.heads):
            continue  # a free choice under weighted, which nobody observes
        key, outcome = (-1, number), 0
        if isinstance(choice.weight, FromNetwork):
            key, outcome = (choice.weight.network, choice.weight.row), choice.weight.outcome
        together.setdefault(key, []).append((outcome, choice.heads))
    places: dict[int, tuple[Symbol, int]] = {}
    for parts in together.values():
        atoms = [atom for _, heads in sorted(parts) for atom in heads]
        first = min(symbol for atom in atoms if (symbol := names[atom]) is not None)
        for place, atom in enumerate(atoms):
            places.setdefault(atom, (first, place))
    return places


BEFORE = 1 - UNSEEN  # entries of a table before that of the label 0: too small, unseen, negative
BAD = -(1 << 40)  # so negative that no sum of others can offset it
NOWHERE_ID = 1 << 40  # out of range, so that CUDA refuses it


def are_tensors(labels: object) -> bool:
    """Whether labels are a tensor of integers or truth values, [rows] or [rows, objects]."""
    return isinstance(labels, Tensor) and labels.ndim in (1, 2) and not labels.is_floating_point()


@dataclass(slots=True)
class LabelTable:
    """The meanings of the labels of some columns, looked up without a loop over rows.

    A label stands for the number of an observation or, if observed atoms are leaves of a circuit,
    for the leaves that are impossible. Nothing is read back from a GPU.

    ``atoms`` are those with leaves in the circuit, two each. Without them, labels stand for the
    numbers of observations, which are known once they have been read.
    """

    columns: int
    most: int  # the most labels of a column
    entries: Tensor  # [columns * (BEFORE + most + 1), width]
    atoms: tuple[int, ...] | None
    numbers: Tensor  # without atoms: the number of an observation by code, or -1
    _moved: dict[torch.device, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Sequence[tuple[str, LabelColumn]], atoms: tuple[int, ...] | None
    ) -> LabelTable | None:
        """The table of some columns; None if it would be too large."""
        most = max(len(column) for _, column in columns)
        codes = 1 if atoms is not None else math.prod(len(column) + 1 for _, column in columns)
        if codes > TUNING.label_codes:
            return None
        place = {atom: 2 * i for i, atom in enumerate(atoms or ())}
        rows: list[list[list[int]]] = []
        stride = 1
        for _, column in columns:
            here: list[list[int]] = [[BAD]] * (BEFORE + most + 1)
            here[1] = [0] if atoms is None else []
            for label, literals in enumerate(column):
                if atoms is None:
                    here[BEFORE + label] = [stride * (label + 1)]
                elif literals is not None:
                    here[BEFORE + label] = [
                        place[literal.atom] + (literal.mode is Mode.TRUE)
                        for literal in literals
                        if literal.atom
                    ]
            rows.append(here)
            stride *= len(column) + 1
        width = max(len(entry) for here in rows for entry in here)
        spare = 2 * len(place)  # one past the last leaf
        entries = torch.tensor(
            [entry + [spare] * (width - len(entry)) for here in rows for entry in here]
        )
        numbers = torch.full((codes + 1,), -1)
        return cls(len(columns), most, entries, atoms, numbers)

    def look_up(self, labels: Tensor) -> Tensor:
        """The number [rows] of each row of labels, or its impossible leaves [rows, width].

        Negative entries are labels that do not exist or were not read yet.
        """
        entries, numbers, offsets = self._on(labels.device)
        places = labels.reshape(len(labels), -1).long().clamp(-BEFORE, self.most)
        found = entries.index_select(0, (places + offsets).flatten()).reshape(len(labels), -1)
        if self.atoms is not None:
            return found
        return numbers[found.sum(dim=1).clamp(min=-1)]

    def heads(self, labels: Tensor) -> LabelHeads:
        """The labels in the form that a walk over a circuit takes, if they stand for leaves."""
        columns = labels.reshape(len(labels), -1).long().contiguous()
        return LabelHeads(columns, self._on(labels.device)[0], BEFORE, self.most)

    def learn(self, labels: Tensor, numbers: Tensor) -> None:
        """Add the numbers of the observations for some rows of labels."""
        entries, _, offsets = self._on(torch.device("cpu"))
        places = labels.detach().cpu().reshape(len(labels), -1).long()
        self.numbers[entries[places + offsets].flatten(1).sum(dim=1)] = numbers.cpu()
        self._moved = {}

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        if device not in self._moved:
            offsets = BEFORE + torch.arange(self.columns) * (BEFORE + self.most + 1)
            parts = (self.entries, self.numbers, offsets)
            entries, numbers, offsets = (part.to(device) for part in parts)
            self._moved[device] = entries, numbers, offsets
        return self._moved[device]


@dataclass(frozen=True, slots=True)
class LeafLabels:
    """Labels still on a GPU: what they say about the leaves of a circuit."""

    labels: Tensor
    table: LabelTable

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Tensor) -> LeafLabels:
        return LeafLabels(self.labels[rows], self.table)

    @property
    def device(self) -> torch.device:
        return self.labels.device

    def to(self, device: torch.device) -> LeafLabels:
        return LeafLabels(self.labels.to(device), self.table)

    def heads(self) -> LabelHeads:
        return self.table.heads(self.labels)

    def leaves(self) -> Tensor:
        """The impossible leaves [rows, width]; out of range for an unknown label."""
        found = self.table.look_up(self.labels)
        return torch.where(found < 0, NOWHERE_ID, found)


SeenIds = Any  # each row's number of its observation (a tensor), or LeafLabels
