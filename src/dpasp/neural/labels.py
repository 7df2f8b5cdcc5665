"""Integer labels, as classifiers have them: which observations they stand for.

With the query ``sum(Z)``, each row has one label, the number of one of the query's answers. With
``digit(I,D)`` and a matrix [rows, objects], there is a label for each object: the query's last
variable is what the labels say, and the rest of the atom is the object.

>>> import dpasp
>>> model = dpasp.loads("0.2::c(1,red); 0.8::c(1,blue). 1::c(2,red). #semantics maxent.").module()
>>> model.log_prob([[1, 0], [0, -100]], query="c(I,X)").exp()
tensor([0.8000, 0.2000], dtype=torch.float64)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from clingo import Function, Symbol
from clingo.ast import ASTType
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, UsageError
from dpasp.ground.program import GroundLiteral, GroundProgram, GroundQuery
from dpasp.ground.terms import split_atom
from dpasp.language import ast, parse
from dpasp.language.arguments import queries_given
from dpasp.language.ast import Mode
from dpasp.language.text.trees import variables
from dpasp.neural.data import as_tensor
from dpasp.neural.likelihood import FEW
from dpasp.neural.observations import Observation, ObservationReader, Observations

UNSEEN = -100  # the label of what was not observed, as in the losses of torch
InstancesOf = Callable[[str], Sequence[GroundQuery]]
LabelColumn = Sequence[Observation | None]  # by label; None where it cannot be
ChoicePlaces = Mapping[int, tuple[Symbol, int]]


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Reads labels; ``instances`` gives the answers that a query has, in their order."""

    reader: ObservationReader
    instances: InstancesOf
    places: ChoicePlaces

    def read(
        self, labels: object, query: str | Sequence[str]
    ) -> tuple[Observations, frozenset[int]]:
        """The observations that labels stand for, by the columns of a query, or of one each.

        With them come the atoms that more labels of many objects will be about.
        """
        if isinstance(labels, Observations):
            message = "these observations are read already"
            raise UsageError(Diagnostic("label-values", message, help="leave query= out"))
        rows, single = _rows(labels)
        columns = self._columns(query, single)
        table = _filled(rows, columns, may_be_short=isinstance(labels, list | tuple))
        distinct, which = np.unique(table, axis=0, return_inverse=True)
        numbers = [self._number(row, columns) for row in distinct.tolist()]
        ids = torch.tensor(numbers, dtype=torch.int64)[torch.from_numpy(which.reshape(-1))]
        return Observations(self.reader.distinct, ids), _atoms(columns)

    def _number(self, row: Sequence[int], columns: Sequence[tuple[str, LabelColumn]]) -> int:
        """The number of the observation that a row of labels makes."""
        seen: dict[GroundLiteral, None] = {}
        for label, (name, column) in zip(row, columns, strict=True):
            if label == UNSEEN:
                continue
            if not 0 <= label < len(column):
                message = f"{name} has the columns 0 to {len(column) - 1}, and a label is {label}"
                help = f"the columns are numbered from 0; {UNSEEN} is for what was not observed"
                raise DataError(Diagnostic("label-values", message, help=help))
            literals = column[label]
            if literals is None:
                message = f"the label {label} of {name} stands for what cannot occur"
                raise DataError(Diagnostic("label-values", message, help="see the program's rules"))
            seen |= dict.fromkeys(literals)
        return self.reader.number_of(tuple(seen))

    def _columns(self, query: str | Sequence[str], single: bool) -> list[tuple[str, LabelColumn]]:
        """What the labels of each column stand for, with its name for messages."""
        if not isinstance(query, str):
            return [self._whole(text) for text in query]
        return [self._whole(query)] if single else self._objects(query)

    def _whole(self, query: str) -> tuple[str, LabelColumn]:
        """The labels that are numbers of a query's answers."""
        return query, [instance.literals for instance in self._unconditional(query)]

    def _objects(self, query: str) -> list[tuple[str, LabelColumn]]:
        """The objects of a query, and for each the labels that are values of its last variable."""
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
            raise UsageError(Diagnostic("label-query", message, help="see `dpasp ground`"))
        if any(question.evidence for question in instances):
            message = f"the answers to {query} are conditional, and observations are not"
            raise UsageError(Diagnostic("label-query", message, help="leave the evidence out"))
        return instances


def _atoms(columns: Sequence[tuple[str, LabelColumn]]) -> frozenset[int]:
    """The atoms that labels can be about, where they have too many values for all to come."""
    if math.prod(len(column) for _, column in columns) <= FEW:
        return frozenset()
    literals = (literal for _, column in columns for seen in column for literal in seen or ())
    return frozenset(literal.atom for literal in literals if literal.atom)


def _rows(labels: Any) -> tuple[list[list[int]], bool]:
    """The labels of each row, and whether each row is a single label and not a list."""
    if isinstance(labels, list | tuple) and labels and all(np.ndim(row) == 1 for row in labels):
        return [_integers(row).tolist() if len(row) else [] for row in labels], False
    rows = _integers(labels)
    return rows.reshape(len(rows), -1).tolist(), rows.ndim == 1


def _integers(labels: Any) -> NDArray[np.int64]:
    numbers = as_tensor(labels, "labels").detach().cpu().numpy()
    if numbers.ndim not in (1, 2) or numbers.dtype.kind not in "iu":
        shape = " × ".join(map(str, numbers.shape)) or "no"
        message = (
            f"labels are whole numbers, one for each row, or [rows, objects], not {numbers.dtype}"
        )
        message += f" of shape {shape}"
        raise DataError(Diagnostic("label-values", message, help="such as labels.long()"))
    return numbers.astype(np.int64)


def _filled(
    rows: list[list[int]], columns: Sequence[tuple[str, LabelColumn]], may_be_short: bool
) -> NDArray[np.int64]:
    """The labels [rows, columns]; what a short list leaves out was not observed."""
    width = len(columns)
    for number, row in enumerate(rows):
        if len(row) > width or (len(row) < width and not may_be_short):
            names = ", ".join(name for name, _ in columns[:4]) + ", …" * (width > 4)
            message = f"row {number} has {len(row)} labels, and there are {width} objects: {names}"
            help = f"give one label an object; {UNSEEN} is for what was not observed"
            raise DataError(Diagnostic("label-values", message, help=help))
    full = [row + [UNSEEN] * (width - len(row)) for row in rows]
    return np.array(full, dtype=np.int64).reshape(len(rows), width)


def _last_variable(query: str) -> int:
    """The place of the argument that labels are values of: the last one that is a variable."""
    statement = parse(queries_given((query,))[0]).statements[-1]
    assert isinstance(statement, ast.Query)
    literal = statement.literals[0]
    if len(statement.literals) == 1 and literal.mode is Mode.TRUE:
        _, arguments = split_atom(literal.atom.symbol)
        named = [i for i, part in enumerate(arguments) if part.ast_type == ASTType.Variable]
        if named and str(arguments[named[-1]]) not in _others(arguments, named[-1]):
            return named[-1]
    message = f"{query} does not say what a matrix of labels is about"
    help = "write one atom whose last variable is the label, digit(I,D), or a list of queries"
    raise UsageError(Diagnostic("label-query", message, help=help))


def _others(arguments: Sequence[Any], place: int) -> set[str]:
    """The variables of the other arguments."""
    rest = (part for i, part in enumerate(arguments) if i != place)
    return {str(variable) for part in rest for variable in variables(part)}


def in_listed_order(queries: Sequence[GroundQuery], places: ChoicePlaces) -> Sequence[GroundQuery]:
    """The instances of a query: values of choices in the order in which these list them."""
    keys = [[places.get(literal.atom) for literal in query.literals] for query in queries]
    if any(place is None for key in keys for place in key):
        return queries
    return [query for _, query in sorted(zip(keys, queries, strict=True), key=lambda p: p[0])]


def places(ground: GroundProgram) -> dict[int, tuple[Symbol, int]]:
    """By atom that a choice derives: that choice (by its first value), and the place in it."""
    names = ground.symbols
    places: dict[int, tuple[Symbol, int]] = {}
    for choice in ground.choices:
        heads = [symbol for atom in choice.heads if (symbol := names[atom]) is not None]
        for place, atom in enumerate(choice.heads):
            places.setdefault(atom, (min(heads), place))
    return places
