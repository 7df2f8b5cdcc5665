"""A program as a torch module: its networks and learnable probabilities are its parameters.

>>> import dpasp
>>> model = dpasp.loads("?::a. b :- a. #semantics maxent.").module()
>>> model.log_prob(["b", "not b"]).exp()
tensor([0.5000, 0.5000], dtype=torch.float64, grad_fn=<ExpBackward0>)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import torch
from clingo import Symbol
from torch import Tensor, nn

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, UsageError
from dpasp.ground.program import GroundExpect, GroundProgram, GroundQuery, IntervalWeights
from dpasp.ground.python import ProgramPython
from dpasp.ground.values import parse_symbol
from dpasp.inference.answers import MapAnswers
from dpasp.language.arguments import expect_given
from dpasp.language.observations import Rows
from dpasp.learning.data import Objects, as_objects, as_tensor, for_each
from dpasp.learning.intervals import at_vertices, vertex_points
from dpasp.learning.likelihood import (
    AsLeaves,
    Likelihood,
    Normalised,
    likelihood_of,
    log_probability,
    log_probability_by_logs,
)
from dpasp.learning.masses import Bounds, MassEngine, native_engine, probabilities
from dpasp.learning.networks import OutputReader, build_networks
from dpasp.learning.observations import (
    AnyObservations,
    LabelReader,
    ObservationReader,
    Observations,
    in_listed_order,
    places,
)
from dpasp.learning.tuning import TUNING
from dpasp.learning.utility import Strategy, Total, decided, utility
from dpasp.learning.weights import (
    ExampleRows,
    LeafSources,
    LearnedIntervals,
    Parameters,
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

LEAST_LOG = -600.0  # weights and probabilities with smaller logarithms may underflow


DataByName = Mapping[str, Any] | Mapping[Symbol, Any]  # tensors, arrays or lists, by atom or name
QueryTexts = str | Sequence[str]
GroundQueries = Callable[[str, Watch], Sequence[GroundQuery]]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a module is made of: a ground program, and how its functions are called.

    ``ask`` gives the ground queries that a text stands for, over the atoms of the program;
    ``ask_map`` the program with a question for most probable values, and the rows of its evidence;
    ``ask_worth`` the program with an ``#expect`` or ``#decide``;
    ``owner`` is the program, whose ``module`` makes such a module again.
    """

    ground: GroundProgram
    python: ProgramPython
    ask: GroundQueries
    owner: Any = None
    ask_map: Callable[[str | None, object, Watch], tuple[GroundProgram, Rows | None]] | None = None
    ask_worth: Callable[[str, Watch], GroundProgram] | None = None


class ProgramModule(nn.Module):
    """A program whose probabilities are differentiable functions of data and parameters."""

    networks: nn.ModuleList
    probabilities: Parameters
    limits = Limits()  # of each compilation

    def __init__(
        self,
        basis: Basis,
        meaning: Meaning,
        objective: Objective = Objective(),  # noqa: B008 - frozen
        other: ProgramModule | None = None,
    ) -> None:
        """``other`` is a module of the same program whose networks and parameters to share."""
        super().__init__()
        ground = basis.ground
        self.basis, self.ground = basis, ground
        self.meaning = meaning
        self.objective = objective
        self.networks = (
            other.networks if other else nn.ModuleList(build_networks(ground, basis.python))
        )
        self.probabilities = other.probabilities if other else Parameters(ground.parameters)
        self.reader = ObservationReader(ground)
        self._needed = dict.fromkeys(needed_data(ground))
        self.optional = may_be_missing(ground)
        self._sources = leaf_sources(ground, self.probabilities.fixed.shape[1])
        self._groups: list[tuple[Likelihood, int]] = []  # with the number of its first observation
        self._instances: dict[str, Sequence[GroundQuery]] = {}
        self._queries: dict[str, tuple[tuple[GroundQuery, ...], MassEngine]] = {}
        self.totals: dict[object, Total] = {}  # of utilities, by what is given
        self._answering = ground  # with the intervals that were learned, if any
        self._learned_intervals: LearnedIntervals | None = None
        self._has_intervals = _has_intervals(ground)

    def __deepcopy__(self, memo: dict[int, object]) -> ProgramModule:
        """A module with copies of the networks and parameters; the program is shared."""
        arguments = (self.basis, self.meaning, self.objective)
        twin = ProgramModule(*arguments, other=self)
        memo[id(self)] = twin
        twin.networks = copy.deepcopy(self.networks, memo)
        twin.probabilities = copy.deepcopy(self.probabilities, memo)
        return twin

    @property
    def semantics(self) -> str:
        """The semantics, as ``program.module()`` takes it."""
        return f"{self.meaning.logic.value}, {self.meaning.probability.value}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles are made of the program's text, and of the networks and parameters."""
        tensors = {n: t.detach().cpu() for n, t in self.state_dict().items()}
        how = (self.semantics, self.objective, self.training)
        return _again, (self.basis.owner, *how, tensors)

    # --- probabilities -------------------------------------------------------------------------

    def forward(
        self,
        observations: AnyObservations,
        data: DataByName | None = None,
        query: QueryTexts | None = None,
    ) -> Tensor:
        """The same as :meth:`log_prob`, for wrappers that call a module."""
        return self.log_prob(observations, data, query)

    def log_prob(
        self,
        observations: AnyObservations,
        data: DataByName | None = None,
        query: QueryTexts | None = None,
    ) -> Tensor:
        """log P(O) [batch] of one observation for each row; total choices without models are out.

        Observations come in any shape that :mod:`dpasp.language.observations` reads. With a
        ``query`` such as ``"sum(Z)"`` they are integers: the numbers of the columns of
        ``prob(query)``, as class labels are; for several objects, ``"digit(I,D)"``, a matrix
        [batch, objects] of them (:mod:`dpasp.learning.observations`). Under credal, P is what
        ``objective`` says: the lower or upper probability or a mean of them; intervals of the
        program count at their extremes.

        >>> import dpasp
        >>> model = dpasp.loads("0.2::c(red); 0.8::c(blue). #semantics maxent.").module()
        >>> model.log_prob(torch.tensor([0, 1]), query="c(X)").exp()
        tensor([0.2000, 0.8000], dtype=torch.float64)
        """
        observations = self.observe(observations, query)
        weights, leaf_logs = self.weights_and_logs(data)
        if weights.shape[1] not in (1, len(observations)):
            rows = weights.shape[1]
            message = f"there are {len(observations)} observations but {rows} rows of data"
            raise DataError(Diagnostic("data-length", message, help="give one for each row"))
        ids = observations.ids.to(weights.device)
        logs = self._log(weights, ids)
        if leaf_logs is not None:  # some weights underflow
            few = (logs.detach() <= LEAST_LOG).nonzero()[:, 0]
            columns = leaf_logs.expand(-1, len(ids))[:, few]
            logs = logs.index_copy(0, few, self._log(columns, ids[few], log_probability_by_logs))
        return logs.to(self._dtype)

    def prob(self, query: QueryTexts, data: DataByName | None = None) -> Tensor | Bounds:
        """P(query | evidence) [batch, answers], normalised; under credal, lower and upper.

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
        """As :meth:`prob` under maxent, for those who want to be sure of a tensor.

        Raises :class:`UsageError` under credal, where there are two numbers.
        """
        answers = self.prob(query, data)
        if isinstance(answers, Bounds):
            help = "ask for bounds(query), or make the module with module('maxent')"
            raise UsageError("under credal an answer has a lower and an upper probability", help)
        return answers

    def bounds(self, query: QueryTexts, data: DataByName | None = None) -> Bounds:
        """As :meth:`prob` under credal, for those who want to be sure of bounds.

        Under maxent the two are the same.
        """
        answers = self.prob(query, data)
        return answers if isinstance(answers, Bounds) else Bounds(answers, answers)

    def map(
        self, question: str | None = None, data: DataByName | None = None, evidence: object = ()
    ) -> MapAnswers:
        """The most probable values of the atoms marked in ``"k(I,X)?"``, for every row of data.

        The arguments and answers are those of :meth:`dpasp.Program.map`, and the walks over the
        circuit take place where the networks are.

        >>> import dpasp
        >>> model = dpasp.loads("0.2::c(red); 0.8::c(blue). #semantics maxent.").module()
        >>> model.map("c(X)?")[0].assignment
        {'c(blue)': True, 'c(red)': False}
        """
        from dpasp.learning.most_probable import map_rows

        watch = self.limits.start()
        assert self.basis.ask_map is not None
        ground, rows = self.basis.ask_map(question, evidence, watch)
        with torch.no_grad():
            weights = self.weights(data).detach()
        intervals = self.probabilities.intervals
        answering = intervals.put_into(ground, self.meaning) if intervals else ground
        return map_rows(answering, self.meaning, weights, rows, watch)

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
        key = (question, str(weights.device))
        if key not in self.totals:
            assert self.basis.ask_worth is not None
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
        """The expected utility [batch], differentiable; given one observation for each row, if any.

        In a program with decisions it is that under a ``strategy``, or the best one of each row.
        Raises :class:`UsageError` under credal, where it is an interval.
        """
        seen = None if observations is None else self.reader.read(observations)
        return utility(self, self.weights(data), strategy, seen).to(self._dtype)

    def answers(self, query: QueryTexts) -> tuple[str, ...]:
        """What the columns of :meth:`prob` stand for."""
        return tuple(question.text for question in self._asked(query)[0])

    @property
    def answering(self) -> GroundProgram:
        """The ground program with the learned intervals, if there are any."""
        if self.probabilities.intervals is not self._learned_intervals:
            self._take_intervals(self.probabilities.intervals)  # learned since the last time
        return self._answering

    def _take_intervals(self, intervals: LearnedIntervals | None) -> None:
        ground = self.ground
        self._answering = intervals.put_into(ground, self.meaning) if intervals else ground
        self._has_intervals = _has_intervals(self._answering)
        self._learned_intervals = intervals
        self._groups.clear()
        self.__dict__.pop("_vertices", None)

    @property
    def has_intervals(self) -> bool:
        """Whether some probabilities are intervals, written or learned."""
        self.answering  # noqa: B018 - those that were learned since
        return self._has_intervals

    # --- weights -------------------------------------------------------------------------------

    def weights(self, data: DataByName | None = None) -> Tensor:
        """The leaf weights [leaves, batch] (batch 1 where no network reads data)."""
        return self.weights_and_logs(data, look=False)[0]

    def weights_and_logs(
        self, data: DataByName | None = None, look: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """The leaf weights, and their logarithms where logits make some of them underflow.

        None where none does, or without a ``look``, for which a GPU has to be waited for.
        """
        tensors = self._data(data)
        batch = len(next(iter(tensors.values()))) if tensors else 1
        rows = ExampleRows(tensors, self.optional, batch)
        outputs = [
            network_outputs(network, use, rows)
            for network, use in zip(self.nets, self.ground.networks, strict=True)
        ]
        matrix = self.probabilities() if len(self.probabilities) else None
        device = outputs[0].device if outputs else matrix.device if matrix is not None else None
        device = device or torch.device("cpu")
        logits = [net.logits for net in self.nets]
        plain = [out.exp() if log else out for out, log in zip(outputs, logits, strict=True)]
        present = presence(rows, device)
        sources = self.leaf_sources_on(device)
        weights = leaf_weights(sources, matrix, [*plain, *present], rows.batch)
        if not look or not any(
            bool((out.detach() < LEAST_LOG).any())
            for out, log in zip(outputs, logits, strict=True)
            if log and not _recording(out)
        ):
            return weights, None
        logs = [out if log else log_of(out) for out, log in zip(outputs, logits, strict=True)]
        known = log_of(weights)
        rest = [part.new_zeros(part.shape) for part in present]
        own = leaf_weights(sources, matrix, [*logs, *rest], rows.batch)
        return weights, torch.where(self.from_logits(device)[:, None], own, known)

    def even_weights(self) -> Tensor:
        """The leaf weights [leaves, 1] with an even distribution for every network's output."""
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
        """Which leaves [leaves] have their weights from logits."""
        network = self.leaf_sources_on(device).network
        kinds = [
            torch.full((outputs_of(use),), net.logits, device=device)
            for net, use in zip(self.nets, self.ground.networks, strict=True)
        ]
        table = torch.cat([*kinds, torch.zeros(len(network) + 1, dtype=torch.bool, device=device)])
        return table[network]  # -1: the last one

    @property
    def _dtype(self) -> torch.dtype:
        """Of results: that of the networks' outputs, though no less than single precision."""
        if not len(self.networks):
            return torch.float64
        kinds = [net.dtype for net in self.nets]
        return torch.float64 if torch.float64 in kinds else torch.float32

    @property
    def nets(self) -> list[OutputReader]:
        """The networks, one for each neural statement."""
        return list(self.networks)  # type: ignore[arg-type]

    def leaf_sources_on(self, device: torch.device) -> LeafSources:
        """Where each leaf weight comes from, on a device."""
        if device != self._sources.index.device:
            self._sources = self._sources.to(device)
        return self._sources

    def _data(self, data: object) -> dict[Symbol, Tensor]:
        """The data by atom, as many rows for each; only what the networks need."""
        tensors: dict[Symbol, Tensor] = {}
        if data is not None and not isinstance(data, Mapping):
            message = f"data is a dictionary, not a {type(data).__name__}"
            help = f'write {{"{next(iter(self._needed), "input(0)")}": rows}}'
            raise UsageError(Diagnostic("data-none", message, help=help))
        wanted = {*self._needed, *self.optional.values()}
        for key, value in (data or {}).items():
            if key in wanted and isinstance(value, Tensor):  # as the learning loop gives it
                tensors[key] = value
                continue
            for atom, rows in self.rows_of(key, value).items():
                if atom in wanted:
                    tensors[atom] = rows
        lengths = {atom: len(rows) for atom, rows in tensors.items()}  # one row an example
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{atom} has {length}" for atom, length in lengths.items())
            message = f"the data differ in their numbers of rows: {listed}"
            raise DataError(Diagnostic("data-length", message, help="give as many for each"))
        return tensors

    def rows_of(self, key: str | Symbol, value: object) -> dict[Symbol, Tensor]:
        """The rows of the data atoms that a key stands for: of one, or of all of a predicate."""
        atoms = self.atoms_of(key)
        if atoms[0].name != str(key):
            objects = Objects(as_tensor(value, str(key)))
        else:
            objects = as_objects(value, str(key))
        if not isinstance(value, Tensor):  # what other libraries hold goes where the networks are
            objects = objects.to(next(self.parameters(), objects.values).device)
        if atoms[0].name != str(key):
            return {atoms[0]: objects.values}
        return for_each(objects, atoms, self.optional)

    def atoms_of(self, key: str | Symbol) -> list[Symbol]:
        """The data atom with a name, or all of a data predicate in their order; never none."""
        atom = parse_symbol(key) if isinstance(key, str) else key
        known = list(dict.fromkeys([*self._needed, *(data.atom for data in self.ground.data)]))
        atoms = [candidate for candidate in known if candidate == atom] or sorted(
            candidate for candidate in known if candidate.name == str(key)
        )
        if not atoms:
            names = ", ".join(map(str, known)) or "none"
            message = f"{key} is not a data atom of this program"
            raise DataError(Diagnostic("data-none", message, help=f"it has: {names}"))
        return atoms

    # --- observations and queries --------------------------------------------------------------

    def observe(
        self, observations: AnyObservations, query: QueryTexts | None = None
    ) -> Observations:
        """Read observations and prepare what evaluates them; passing the result on is quick.

        ``query`` is that of :meth:`log_prob`.
        """
        expected: frozenset[int] = frozenset()
        if query is not None:
            seen, expected = self.label_reader.read(observations, query)
        elif isinstance(observations, Observations):
            seen = self.reader.renumbered(observations)
        else:
            seen = self.reader.read(observations)
        self.prepare_observations(expected)
        return seen

    @property
    def label_reader(self) -> LabelReader:
        """What reads integer labels."""
        return LabelReader(self.reader, self.instances, self.places)

    def prepare_observations(self, expected: frozenset[int] = frozenset()) -> None:
        """Compile what evaluates the observations that were read and are not compiled yet.

        ``expected`` are the atoms that many more observations will be about.
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
        """What evaluates the observations, with the number of the first one of each."""
        moved = [(likelihood.to(device), first) for likelihood, first in self._groups]
        if device.type != "cpu":
            self._groups = moved
        return moved

    def _log(
        self,
        weights: Tensor,
        ids: Tensor,
        way: Callable[[Tensor, Likelihood, Tensor], Tensor] = log_probability,
    ) -> Tensor:
        likelihoods = self.likelihoods(weights.device)
        if len(likelihoods) == 1:
            return way(weights, likelihoods[0][0], ids)
        result = weights.new_zeros(len(ids))
        for likelihood, first in likelihoods:
            members = ((ids >= first) & (ids < first + likelihood.count)).nonzero()[:, 0]
            if len(members):
                columns = weights if weights.shape[1] == 1 else weights[:, members]
                logs = way(columns, likelihood, ids[members] - first)
                result = result.index_copy(0, members, logs)
        return result

    def _asked(
        self, query: QueryTexts, device: torch.device | None = None
    ) -> tuple[tuple[GroundQuery, ...], MassEngine]:
        """The ground queries of a text, and what evaluates them (on a device, if told)."""
        texts = (query,) if isinstance(query, str) else tuple(query)
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
        """The ground queries that a text stands for, in the order of their columns."""
        if text not in self._instances:
            queries = self.basis.ask(text, self.limits.start())
            self._instances[text] = in_listed_order(queries, self.places)
            while len(self._instances) > TUNING.circuits:
                self._instances.pop(next(iter(self._instances)))
        return self._instances[text]

    @cached_property
    def places(self) -> dict[int, tuple[Symbol, int]]:
        """By atom that a choice derives: the choice, and the place of the atom in it."""
        return places(self.ground)

    @cached_property
    def _vertices(self) -> Tensor:
        return vertex_points(self.answering)


def _recording(tensor: Tensor) -> bool:
    """Whether a GPU records what is done, so that numbers cannot be looked at."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _has_intervals(ground: GroundProgram) -> bool:
    return any(isinstance(choice.weight, IntervalWeights) for choice in ground.choices)


def _again(
    owner: Any, semantics: str, objective: Objective, training: bool, tensors: Mapping[str, Tensor]
) -> ProgramModule:
    """A module from what was pickled."""
    model: ProgramModule = owner.module(semantics, objective.name, weight=objective.weight)
    model.load_state_dict(tensors)
    return model.train(training)
