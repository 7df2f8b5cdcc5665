"""A program as a torch module: its networks and learnable probabilities are its parameters.

>>> import dpasp
>>> model = dpasp.loads("?::a. b :- a. #semantics maxent.").module()
>>> model.log_prob(["b", "not b"]).exp()
tensor([0.5000, 0.5000], dtype=torch.float64, grad_fn=<ExpBackward0>)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor, nn

from dpasp.circuits.gpu.walks import on_device
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, UsageError
from dpasp.ground.program import (
    GroundExpect,
    GroundMap,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
)
from dpasp.ground.python import ProgramPython
from dpasp.ground.terms import parse_symbol
from dpasp.inference.answers import MapAnswers
from dpasp.inference.asked import ask, evidence_rows
from dpasp.inference.exact import auto, compiled
from dpasp.inference.map.rows import by_numpy, map_table
from dpasp.language.arguments import Rows, expect_given, query_texts, text_given
from dpasp.learning.data import Objects, as_objects, as_tensor, for_each
from dpasp.learning.intervals import at_vertices, vertex_points
from dpasp.learning.likelihood import (
    AsLeaves,
    Likelihood,
    Normalised,
    likelihood_of,
    log_probability,
)
from dpasp.learning.masses import Bounds, MassEngine, native_engine, probabilities
from dpasp.learning.networks import OutputReader, build_networks, register, registered
from dpasp.learning.observations import (
    NOWHERE_ID,
    AnyObservations,
    LabelReader,
    LabelTable,
    LeafLabels,
    ObservationReader,
    Observations,
    SeenIds,
    are_tensors,
    in_listed_order,
    places,
)
from dpasp.learning.tuning import TUNING
from dpasp.learning.utility import Strategy, Total, decided, utility
from dpasp.learning.weights import (
    ExampleRows,
    InputPlan,
    LeafSources,
    LearnedIntervals,
    Parameters,
    by_example,
    leaf_sources,
    leaf_weights,
    log_of,
    may_be_missing,
    needed_data,
    network_outputs,
    outputs_of,
    presence,
)
from dpasp.limits import Limits, Watch
from dpasp.semantics.leaves import layout
from dpasp.semantics.meaning import Meaning, Objective
from dpasp.writing import counted

LEAST_LOG = -600.0  # weights and probabilities with smaller logarithms may underflow

DataByName = Mapping[str, Any] | Mapping[Symbol, Any]  # tensors, arrays or lists, by atom or name
QueryTexts = str | Sequence[str]
GroundQueries = Callable[[str, Watch], Sequence[GroundQuery]]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a module is made from: a ground program, and how its functions are called.

    ``ask`` returns the ground queries of a text; ``ask_map`` the program with a question for the
    most probable values, and the rows of its evidence; ``ask_worth`` the program with an
    ``#expect`` or ``#decide``. ``owner`` is the program, whose ``module`` recreates such a module.
    """

    ground: GroundProgram
    python: ProgramPython
    ask: GroundQueries
    owner: Any
    ask_map: Callable[[str | None, object, Watch], tuple[GroundProgram, Rows | None]]
    ask_worth: Callable[[str, Watch], GroundProgram]


class ProgramModule(nn.Module):
    """A program whose probabilities are differentiable functions of data and parameters."""

    networks: nn.ModuleList
    probabilities: Parameters
    limits = Limits()  # for each compilation

    def __init__(
        self,
        basis: Basis,
        meaning: Meaning,
        objective: Objective = Objective(),  # noqa: B008 - frozen
        other: ProgramModule | None = None,
    ) -> None:
        """``other`` is a module of the same program, whose networks and parameters are shared."""
        super().__init__()
        ground = basis.ground
        self.basis, self.ground = basis, ground
        self.meaning = meaning
        self.objective = objective
        self.networks = (
            other.networks if other else nn.ModuleList(build_networks(ground, basis.python))
        )
        self.probabilities = other.probabilities if other else Parameters(ground.parameters)
        self.number = register(self)
        self.reader = ObservationReader(ground, logic=meaning.logic)
        self._needed = dict.fromkeys(needed_data(ground))
        self.optional = may_be_missing(ground)
        self._sources = leaf_sources(ground, self.probabilities.fixed.shape[1])
        self._groups: list[tuple[Likelihood, int]] = []  # with the number of its first observation
        self._labels: dict[tuple[QueryTexts, int, bool], LabelTable] = {}  # that were read
        self._plans: dict[tuple[str, ...], InputPlan | None] = {}  # by the names of data
        self._instances: dict[str, Sequence[GroundQuery]] = {}
        self._queries: dict[str, tuple[tuple[GroundQuery, ...], MassEngine]] = {}
        self.totals: dict[object, Total] = {}  # of utilities, by what is given
        self._answering = ground  # with the intervals that were learned, if any
        self._learned_intervals: LearnedIntervals | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> ProgramModule:
        """A module with copies of the networks and parameters, sharing the program."""
        arguments = (self.basis, self.meaning, self.objective)
        twin = ProgramModule(*arguments, other=self)
        memo[id(self)] = twin
        twin.networks = copy.deepcopy(self.networks, memo)
        twin.probabilities = copy.deepcopy(self.probabilities, memo)
        return twin

    @property
    def semantics(self) -> str:
        """The semantics, in the form that ``program.module()`` takes."""
        return str(self.meaning)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles hold the program's text, the networks and the parameters."""
        tensors = {n: t.detach().cpu() for n, t in self.state_dict().items()}
        how = (self.semantics, self.objective, self.training)
        return _again, (self.basis.owner, *how, tensors)

    # --- probabilities -------------------------------------------------------------------------

    def log_prob(
        self,
        observations: AnyObservations,
        data: DataByName | None = None,
        query: QueryTexts | None = None,
    ) -> Tensor:
        """log P(O) [batch] of one observation per row; total choices without models do not count.

        Observations may have any form that :mod:`dpasp.language.arguments` reads. With a ``query``
        such as ``"sum(Z)"``, they are integers like class labels: column numbers of
        ``prob(query)``; for several objects, as in ``"digit(I,D)"``, they are a matrix [batch,
        objects] (:mod:`dpasp.learning.observations`). Under credal, ``objective`` says what P is:
        the lower or upper probability, or a mean of them; intervals count at their extremes.

        >>> import dpasp
        >>> model = dpasp.loads("0.2::c(red); 0.8::c(blue). #semantics maxent.").module()
        >>> model.log_prob(torch.tensor([0, 1]), query="c(X)").exp()
        tensor([0.2000, 0.8000], dtype=torch.float64)
        """
        if torch.compiler.is_compiling():
            return self._log_prob_compiled(observations, data, query)
        ids = self._seen(observations, query)
        weights, leaf_logs = self.weights_and_logs(data)
        ids = self._fitting(ids, weights)
        (logs,) = self._by_circuit(weights, ids)
        unread = isinstance(ids, LeafLabels)
        if not len(ids) or not (unread or leaf_logs) or _recording(logs):
            return logs.to(self._dtype)
        lowest = float(logs.detach().cpu().numpy().min())  # here the CPU waits for a GPU
        if math.isnan(lowest) and unread:  # unknown labels have none
            self.observe(observations, query)
        if leaf_logs and lowest <= LEAST_LOG and (known := leaf_logs()) is not None:
            few = (logs.detach() <= LEAST_LOG).nonzero()[:, 0]
            columns = known.expand(-1, len(ids))[:, few]
            (again,) = self._by_circuit(columns, ids[few], by_logs=True)
            logs = logs.index_copy(0, few, again)
        return logs.to(self._dtype)

    def forward(
        self,
        observations: AnyObservations,
        data: DataByName | None = None,
        query: QueryTexts | None = None,
    ) -> Tensor:
        """The same as :meth:`log_prob`, for wrappers that call a module."""
        return self.log_prob(observations, data, query)

    def _fitting(self, ids: SeenIds, weights: Tensor) -> SeenIds:
        """The observations on the device of the weights, one for each of their columns."""
        if weights.shape[1] not in (1, len(ids)):
            observed = counted(len(ids), "observation")
            message = f"the data has {counted(weights.shape[1], 'row')} for {observed}"
            raise DataError.at("data-length", message, help="give one for each row")
        return ids.to(weights.device)

    def _log_prob_compiled(
        self, observations: AnyObservations, data: DataByName | None, query: QueryTexts | None
    ) -> Tensor:
        """:meth:`log_prob` under ``torch.compile``: one operator after the networks.

        Numbers are inspected only when it runs.
        """
        if isinstance(observations, Observations):
            observations, query = observations.ids, None
        elif not isinstance(observations, Tensor) or query is None:
            help = "give labels as a tensor with query=, or what observe() gave before"
            raise UsageError("only tensors of labels and observations read before compile", help)
        asked = query or ""
        text = asked if isinstance(asked, str) else "\n".join(("", *asked))
        weights, leaf_logs = self.weights_and_logs(data)
        logs = None if leaf_logs is None else leaf_logs()
        if logs is None:
            logs = weights.new_empty(0, weights.shape[1])
        found: Tensor = log_prob_operator(weights, logs, observations, text, self.number)[0]
        return found.to(self._dtype)

    def log_and_slopes(
        self, weights: Tensor, logs: Tensor, seen: Tensor, query: str
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What :func:`log_prob_operator` returns, from the same arguments."""
        ids: SeenIds = seen
        if query:
            ids = self._seen(seen, query.split("\n")[1:] if query.startswith("\n") else query)
        ids = self._fitting(ids, weights)
        wide = weights.detach().expand(-1, len(ids))
        found, slopes = self._by_circuit(wide, ids, slopes=True)
        by_logs = wide.new_zeros(len(logs), len(ids))
        if len(logs) and not _recording(logs) and bool((logs < LEAST_LOG).any()):
            few = (found <= LEAST_LOG).nonzero()[:, 0]
            columns = logs.detach().expand(-1, len(ids))[:, few]
            again, more = self._by_circuit(columns, ids[few], by_logs=True, slopes=True)
            found = found.index_copy(0, few, again)
            slopes, by_logs = slopes.index_fill(1, few, 0.0), by_logs.index_copy(1, few, more)
        return found, slopes, by_logs

    def prob(self, query: QueryTexts, data: DataByName | None = None) -> Tensor | Bounds:
        """P(query | evidence) [batch, answers], normalised; lower and upper under credal.

        A query with variables has one answer for each of its ground instances.
        """
        weights = self.weights(data)
        queries, engine = self._asked(query, weights.device)
        count = 1
        if self.has_intervals:
            points = self._vertices
            weights, count = at_vertices(weights, points), points.shape[1]
        answers = probabilities(weights, engine, queries, self.meaning, count)
        if isinstance(answers, Bounds):
            return Bounds(answers.lower.to(self._dtype), answers.upper.to(self._dtype))
        return answers.to(self._dtype)

    def value(self, query: QueryTexts, data: DataByName | None = None) -> Tensor:
        """Like :meth:`prob`, but always a tensor.

        Raises :class:`UsageError` under credal, where an answer has two numbers.
        """
        answers = self.prob(query, data)
        if isinstance(answers, Bounds):
            help = "ask for bounds(query), or make the module with module('maxent')"
            raise UsageError("under credal an answer has a lower and an upper probability", help)
        return answers

    def bounds(self, query: QueryTexts, data: DataByName | None = None) -> Bounds:
        """Like :meth:`prob`, but always bounds.

        Under maxent, lower and upper are the same.
        """
        answers = self.prob(query, data)
        return answers if isinstance(answers, Bounds) else Bounds(answers, answers)

    def map(
        self, question: str | None = None, data: DataByName | None = None, evidence: object = ()
    ) -> MapAnswers:
        """The most probable values of the atoms marked with ``?``, for every row of data.

        The arguments and answers are those of :meth:`dpasp.Program.map`; the circuit is evaluated
        on the device of the networks.

        >>> import dpasp
        >>> model = dpasp.loads("0.2::c(red); 0.8::c(blue). #semantics maxent.").module()
        >>> model.map("c(X)?")[0].assignment
        {'c(blue)': True, 'c(red)': False}
        """
        watch = self.limits.start()
        ground, rows = self.basis.ask_map(question, evidence, watch)
        with torch.no_grad():
            weights = self.weights(data).detach()
        intervals = self.probabilities.intervals
        ground = intervals.put_into(ground, self.meaning) if intervals else ground
        numbers = weights.cpu().numpy().astype(np.float64)
        if rows is None:  # rows without evidence of their own
            rows = Rows((), np.zeros((numbers.shape[1], 0), dtype=np.int32))
        elif numbers.shape[1] == 1 and len(rows) > 1:
            numbers = numbers[:, 0]
        table = evidence_rows(rows, ground, self.meaning)
        asked = ask(ground, self.meaning, weights=numbers, watch=watch, rows=table)
        (asking,) = asked.questions
        assert isinstance(asking, GroundMap)
        solve = compiled if asked.method.exact else auto
        walker = by_numpy if weights.device.type == "cpu" else on_device(weights)
        return replace(map_table(asked, asking, solve, walker), row_labels=rows.index)

    def expect(
        self, question: str, data: DataByName | None = None, strategy: Strategy | None = None
    ) -> Tensor:
        """The expected total [batch] of ``"Z : sum(Z) | e"``, differentiable.

        In a program with decisions it is that under a ``strategy``, or the best one of each row.
        Raises :class:`UsageError` under credal, where it is an interval.

        >>> import dpasp
        >>> model = dpasp.loads("0.2::c(1); 0.8::c(5). #semantics maxent.").module()
        >>> model.expect("X : c(X)")
        tensor([4.2000], dtype=torch.float64)
        """
        weights = decided(self, self.weights(data), strategy)
        key = (text_given(question, "a question"), str(weights.device))
        if key not in self.totals:
            ground = self.basis.ask_worth(expect_given(question), self.limits.start())
            asked = ground.worth[0]
            assert isinstance(asked, GroundExpect)
            self.totals[key] = Total.of(self, asked.terms, asked.evidence, weights.device)
        return self.totals[key](self, weights).to(self._dtype)

    def utility(
        self,
        data: DataByName | None = None,
        strategy: Strategy | None = None,
        observations: AnyObservations | None = None,
    ) -> Tensor:
        """The expected utility [batch], differentiable, given an observation for each row, if any.

        In a program with decisions it is that under a ``strategy``, or the best one of each row.
        Raises :class:`UsageError` under credal, where it is an interval.
        """
        seen = None if observations is None else self.reader.read(observations)
        return utility(self, self.weights(data), strategy, seen).to(self._dtype)

    def answers(self, query: QueryTexts) -> tuple[str, ...]:
        """What the columns of :meth:`prob` are."""
        return tuple(question.text for question in self._asked(query)[0])

    @property
    def answering(self) -> GroundProgram:
        """The ground program with the learned intervals, if there are any."""
        intervals = self.probabilities.intervals
        if intervals is not self._learned_intervals:  # learned since the last call
            put_into = intervals.put_into(self.ground, self.meaning) if intervals else self.ground
            self._answering, self._learned_intervals = put_into, intervals
            self._groups.clear()
            self._labels.clear()
            self.__dict__.pop("_vertices", None)
        return self._answering

    @property
    def has_intervals(self) -> bool:
        """Whether some probabilities are intervals, written or learned."""
        return any(isinstance(each.weight, IntervalWeights) for each in self.answering.choices)

    # --- weights -------------------------------------------------------------------------------

    def weights(self, data: DataByName | None = None) -> Tensor:
        """The leaf weights [leaves, batch] (batch is 1 if no network reads data)."""
        return self.weights_and_logs(data)[0]

    def weights_and_logs(
        self, data: DataByName | None = None
    ) -> tuple[Tensor, Callable[[], Tensor | None] | None]:
        """The leaf weights and, if networks return logits, a function for their logarithms.

        The function inspects the numbers and returns None if no weight underflows.
        """
        outputs, rows, batch = self._outputs(data)
        matrix = self.probabilities() if len(self.probabilities) else None
        device = outputs[0].device if outputs else matrix.device if matrix is not None else None
        device = device or torch.device("cpu")
        logits = [net.logits for net in self.nets]
        plain = [out.exp() if log else out for out, log in zip(outputs, logits, strict=True)]
        present = [] if rows is None else presence(rows, device)
        sources = self.leaf_sources_on(device)
        weights = leaf_weights(sources, matrix, [*plain, *present], batch)
        if not any(logits):
            return weights, None

        def leaf_logs() -> Tensor | None:
            pairs = list(zip(outputs, logits, strict=True))
            if not torch.compiler.is_compiling():  # torch.compile does not know the numbers
                found = [out.detach() for out, log in pairs if log and out.numel()]
                if not any(float(out.amin()) < LEAST_LOG for out in found):
                    return None
            logs = [out if log else log_of(out) for out, log in pairs]
            rest = [part.new_zeros(part.shape) for part in present]
            own = leaf_weights(sources, matrix, [*logs, *rest], batch)
            return torch.where(self.from_logits(device)[:, None], own, log_of(weights))

        return weights, leaf_logs

    def _outputs(self, data: DataByName | None) -> tuple[list[Tensor], ExampleRows | None, int]:
        """The outputs of all networks, the data that examples may lack, and their number."""
        planned = self._plan(data)
        if planned is not None:
            plan, tensors, batch = planned
            pairs = zip(self.nets, self.ground.networks, strict=True)
            outputs = [
                by_example(network(*plan.inputs(number, tensors)), use, plan.in_order[number])
                for number, (network, use) in enumerate(pairs)
            ]
            return outputs, None, batch
        by_atom = self._data(data)
        batch = len(next(iter(by_atom.values()))) if by_atom else 1
        rows = ExampleRows(by_atom, self.optional, batch)
        pairs = zip(self.nets, self.ground.networks, strict=True)
        return [network_outputs(network, use, rows) for network, use in pairs], rows, batch

    def _plan(self, data: DataByName | None) -> tuple[InputPlan, Mapping[str, Tensor], int] | None:
        """The plan that takes tensors by name to the networks, in the common case."""
        if not self.ground.networks or self.optional or not isinstance(data, Mapping):
            return None
        tensors = {n: t for n, t in data.items() if isinstance(n, str) and isinstance(t, Tensor)}
        if not tensors or len(tensors) < len(data):
            return None
        if any(tensor.is_nested for tensor in tensors.values()):
            return None
        names = tuple(tensors)
        plan = self._plans[names] if self._make_plan(names) else None
        batch = None if plan is None else plan.batch(tensors)
        return None if plan is None or batch is None else (plan, tensors, batch)

    def _make_plan(self, names: tuple[str, ...]) -> bool:
        """Make and remember the plan for data under some names; return whether there is one."""
        if names not in self._plans:
            listed = {}
            for name in names:
                atoms = self.atoms_of(name)
                listed[name] = atoms if atoms[0].name == name else None
            self._plans[names] = InputPlan.of(self.ground, listed)
        return self._plans[names] is not None

    # What torch.compiler.assume_constant_result does; importing that takes a second.
    _make_plan._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def even_weights(self) -> Tensor:
        """The leaf weights [leaves, 1] if every network's output were uniform."""
        place = self.leaf_sources_on(torch.device("cpu"))
        weights = place.constants.clone()
        if len(self.probabilities):
            learned = place.parameter >= 0
            matrix = self.probabilities().detach().cpu().reshape(-1)
            weights[learned] = matrix[place.parameter[learned]]
        for first, last in pairwise(layout(self.ground.choices).starts):
            if bool(place.network[first] >= 0):
                weights[first:last] = 1.0 / (last - first)
        return weights[:, None]

    def from_logits(self, device: torch.device) -> Tensor:
        """Which leaves [leaves] get their weights from logits."""
        network = self.leaf_sources_on(device).network
        kinds = [
            torch.full((outputs_of(use),), net.logits, device=device)
            for net, use in zip(self.nets, self.ground.networks, strict=True)
        ]
        table = torch.cat([*kinds, torch.zeros(len(network) + 1, dtype=torch.bool, device=device)])
        return table[network]  # -1 would be the last one

    @property
    def _dtype(self) -> torch.dtype:
        """The dtype of results: that of the networks' outputs, but at least single precision."""
        if not len(self.networks):
            return torch.float64
        kinds = [net.dtype for net in self.nets]
        return torch.float64 if torch.float64 in kinds else torch.float32

    @property
    def nets(self) -> list[OutputReader]:
        """The networks, one for each neural statement."""
        return list(self.networks)  # type: ignore[arg-type]

    def leaf_sources_on(self, device: torch.device) -> LeafSources:
        """The source of each leaf weight, on a device."""
        if device != self._sources.index.device:
            self._sources = self._sources.to(device)
        return self._sources

    def _data(self, data: object) -> dict[Symbol, Tensor]:
        """The data by atom, equally many rows each; only what the networks need."""
        tensors: dict[Symbol, Tensor] = {}
        wanted = {*self._needed, *self.optional.values()}
        for key, value in self.by_name(data).items():
            # the form that the learning loop passes
            if key in wanted and isinstance(value, Tensor):
                tensors[key] = value
                continue
            for atom, rows in self.rows_of(key, value).items():
                if atom in wanted:
                    tensors[atom] = rows
        lengths = {atom: len(rows) for atom, rows in tensors.items()}  # one row per example
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{atom} has {length}" for atom, length in lengths.items())
            message = f"the data have different numbers of rows: {listed}"
            raise DataError.at("data-length", message, help="give as many for each")
        return tensors

    def by_name(self, data: object) -> Mapping[Any, Any]:
        """Data as a dictionary, empty for None."""
        if data is None or isinstance(data, Mapping):
            return data or {}
        message = f"data is a dictionary, not a {type(data).__name__}"
        help = f'write {{"{next(iter(self._needed), "input(0)")}": rows}}'
        raise UsageError.at("data-none", message, help=help)

    def rows_of(self, key: str | Symbol, value: object) -> dict[Symbol, Tensor]:
        """The rows of the data atoms of a key, which names an atom or a predicate."""
        atoms = self.atoms_of(key)
        if atoms[0].name != str(key):
            objects = Objects(as_tensor(value, str(key)))
        else:
            objects = as_objects(value, str(key))
        # arrays of other libraries move to the device of the networks
        if not isinstance(value, Tensor):
            objects = objects.to(next(self.parameters(), objects.values).device)
        if atoms[0].name != str(key):
            return {atoms[0]: objects.values}
        return for_each(objects, atoms, self.optional)

    def atoms_of(self, key: str | Symbol) -> list[Symbol]:
        """The data atom with a name, or all of a data predicate in order."""
        atom = parse_symbol(key) if isinstance(key, str) else key
        known = list(dict.fromkeys([*self._needed, *(data.atom for data in self.ground.data)]))
        atoms = [candidate for candidate in known if candidate == atom] or sorted(
            candidate for candidate in known if candidate.name == str(key)
        )
        if not atoms:
            names = ", ".join(map(str, known)) or "none"
            message = f"{key} is not a data atom of this program"
            raise DataError.at("data-none", message, help=f"it has: {names}")
        return atoms

    # --- observations and queries --------------------------------------------------------------

    def observe(
        self, observations: AnyObservations, query: QueryTexts | None = None
    ) -> Observations:
        """Read observations and compile what evaluates them; the result can be reused at no cost.

        ``query`` is as in :meth:`log_prob`.
        """
        expected: frozenset[int] = frozenset()
        if query is not None:
            seen, expected = self.label_reader().read(observations, query)
        elif isinstance(observations, Observations):
            seen = self.reader.renumbered(observations)
        else:
            seen = self.reader.read(observations)
        self.prepare_observations(expected)
        return seen

    def _seen(self, observations: AnyObservations, query: QueryTexts | None) -> SeenIds:
        """The observation of each row: its number, or the leaves that it makes impossible.

        A tensor of labels is read once, to check it and compile what evaluates it; after that,
        labels are only looked up.
        """
        if query is None or not isinstance(observations, Tensor) or not are_tensors(observations):
            return self.observe(observations, query).ids
        self.answering  # noqa: B018 - what was learned since needs other circuits
        truth = observations.dtype is torch.bool
        key = (query if isinstance(query, str) else tuple(query), observations.ndim, truth)
        table = self._labels.get(key)
        # Whether there is one for such labels and the present circuit.
        fits = table is not None and table.columns == observations.shape[1:].numel()
        if table is not None and fits and table.atoms in (None, self._leaf_atoms):
            if table.atoms is not None and observations.is_cuda:
                return LeafLabels(observations, table)
            found = table.look_up(observations)
            if _recording(found):  # nothing can be checked here: move wrong labels out of range
                return torch.where(found < 0, NOWHERE_ID, found)
            if not len(found) or int(found.amin()) >= 0:
                return found
        seen = self.observe(observations, query).ids
        if table is None or table.atoms is not None:
            columns = self.label_reader().columns(query, observations.ndim == 1, truth)
            literals = (part for _, column in columns for seen in column for part in seen or ())
            atoms = {literal.atom for literal in literals if literal.atom}
            leaves = self._leaf_atoms  # the circuit that has all of them as leaves, if any
            table = LabelTable.of(columns, leaves if leaves and atoms <= set(leaves) else None)
        if table is not None:
            self._labels[key] = table
            if table.atoms is None:
                table.learn(observations, seen)
        return seen

    @property
    def _leaf_atoms(self) -> tuple[int, ...] | None:
        """The atoms that are leaves of the circuit of all observations, if any."""
        joint = self._groups[0][0].joint if len(self._groups) == 1 else None
        return joint.atoms if isinstance(joint, AsLeaves) else None

    def label_reader(self, reader: ObservationReader | None = None) -> LabelReader:
        """A reader of integer labels, using the module's reader of observations or another."""
        return LabelReader(reader or self.reader, self.instances, self.places)

    def prepare_observations(self, expected: frozenset[int] = frozenset()) -> None:
        """Compile what evaluates the observations that were read but not yet compiled.

        ``expected`` are atoms that many later observations will be about.
        """
        ground, distinct = self.answering, self.reader.distinct
        known = sum(likelihood.count for likelihood, _ in self._groups)
        if known >= len(distinct):
            return
        new = distinct[known:]
        if self._groups:
            last, first = self._groups[-1]
            joint = last.joint
            more = joint.extended(new) if isinstance(joint, AsLeaves) else None
            if more is not None:
                whole = replace(last, joint=more) if isinstance(last, Normalised) else more
                self._groups[-1] = whole, first
                return
        compiled = likelihood_of(
            ground, self.meaning, new, self.objective, self.limits.start(), expected=expected
        )
        self._groups.append((compiled, known))

    def likelihoods(self, device: torch.device) -> list[tuple[Likelihood, int]]:
        """The likelihoods of the observations, each with its first observation's number."""
        moved = [(likelihood.to(device), first) for likelihood, first in self._groups]
        if device.type != "cpu":
            self._groups = moved
        return moved

    def _by_circuit(
        self, at: Tensor, ids: SeenIds, *, by_logs: bool = False, slopes: bool = False
    ) -> tuple[Tensor, ...]:
        """log P [rows] of observations, differentiable, each by its own circuit.

        With ``slopes``, it is not differentiable but comes with its slopes [leaves, rows].
        """

        def way(likelihood: Likelihood, at: Tensor, ids: SeenIds) -> tuple[Tensor, ...]:
            if slopes:
                return likelihood.log(at, ids, by_logs)
            return (log_probability(at, likelihood, ids, by_logs),)

        likelihoods = self.likelihoods(at.device)
        if len(likelihoods) == 1:
            return way(likelihoods[0][0], at, ids)
        found: list[Tensor] = []
        for likelihood, first in likelihoods:
            members = ((ids >= first) & (ids < first + likelihood.count)).nonzero()[:, 0]
            if not len(members) and len(ids):
                continue
            columns = at if at.shape[1] == 1 else at[:, members]
            parts = way(likelihood, columns, ids[members] - first)
            found = found or [part.new_zeros(*part.shape[:-1], len(ids)) for part in parts]
            pairs = zip(found, parts, strict=True)
            found = [whole.index_copy(-1, members, part) for whole, part in pairs]
        return tuple(found)

    def _asked(
        self, query: QueryTexts, device: torch.device | None = None
    ) -> tuple[tuple[GroundQuery, ...], MassEngine]:
        """The ground queries of a text, and what evaluates them (on a device, if given)."""
        texts = query_texts(query)
        key = "\n".join((str(device or "cpu"), *texts))
        if key not in self._queries:
            watch = self.limits.start()
            queries = tuple(instance for text in texts for instance in self.instances(text))
            circuit = native_engine(self.ground, self.meaning, queries, watch=watch)
            engine = circuit if device is None else circuit.to(device)
            while len(self._queries) >= TUNING.circuits:
                self._queries.pop(next(iter(self._queries)))
            self._queries[key] = queries, engine
        return self._queries[key]

    def instances(self, text: str) -> Sequence[GroundQuery]:
        """The ground queries of a text, in the order of their columns."""
        if text_given(text, "a query") not in self._instances:
            queries = self.basis.ask(text, self.limits.start())
            self._instances[text] = in_listed_order(queries, self.places)
            while len(self._instances) > TUNING.circuits:
                self._instances.pop(next(iter(self._instances)))
        return self._instances[text]

    @cached_property
    def places(self) -> dict[int, tuple[Symbol, int]]:
        """By atom that a choice derives: the choice, and the position of the atom in it."""
        return places(self.ground)

    @cached_property
    def _vertices(self) -> Tensor:
        return vertex_points(self.answering)


def _recording(tensor: Tensor) -> bool:
    """Whether a GPU is recording, so that numbers cannot be inspected."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _again(
    owner: Any, semantics: str, objective: Objective, training: bool, tensors: Mapping[str, Tensor]
) -> ProgramModule:
    """Restore a pickled module."""
    model: ProgramModule = owner.module(semantics, objective.name, weight=objective.weight)
    model.load_state_dict(tensors)
    return model.train(training)


@torch.library.custom_op("dpasp::log_prob", mutates_args=())
def log_prob_operator(
    weights: Tensor, logs: Tensor, seen: Tensor, query: str, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """log P [rows], and its slopes by the weights and by their logarithms [leaves, rows].

    ``seen`` are labels of a query (for several, one per line after an empty line) or, without a
    query, numbers of observations. The logarithms are empty if no network returns logits.
    """
    found = registered(number).log_and_slopes(weights, logs, seen, query)
    assert isinstance(found, tuple)
    return found


@log_prob_operator.register_fake
def _(
    weights: Tensor, logs: Tensor, seen: Tensor, query: str, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    rows = seen.shape[0]
    return (
        weights.new_empty(rows),
        weights.new_empty(weights.shape[0], rows),
        weights.new_empty(logs.shape[0], rows),
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.shapes = inputs[0].shape, inputs[1].shape
    ctx.save_for_backward(output[1], output[2])


def _back(ctx: Any, up: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    slopes = [up * part for part in ctx.saved_tensors]
    fitted = [
        part.sum(dim=1, keepdim=True) if shape[-1] == 1 and part.shape[-1] != 1 else part
        for part, shape in zip(slopes, ctx.shapes, strict=True)
    ]
    return (*fitted, None, None, None)


log_prob_operator.register_autograd(_back, setup_context=_keep)
