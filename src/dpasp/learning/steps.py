"""One step of learning: the likelihood of a batch, its gradient, and the update by a rule.

Processes started by ``torchrun -m dpasp run …`` share each batch and add up their results.

On a GPU, a step of a small network is hundreds of short kernels, and launching them one by one
takes longer than running them. A CUDA graph (``capture``) launches them together: the first steps
run as usual, one is recorded, and for every later batch of the same size its indices are copied and
the graph is replayed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import torch
import torch.distributed as distributed
from clingo import Symbol
from torch import Tensor
from torch.autograd.profiler import record_function
from torch.optim import LBFGS, Optimizer

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Span, UsageError
from dpasp.inference.tuning import EXACT
from dpasp.learning.ascents import Ascent, LogLikelihood
from dpasp.learning.data import Ahead, DataRows
from dpasp.learning.module import LEAST_LOG, ProgramModule
from dpasp.learning.optimisers import (
    Average,
    MeanEntropy,
    Rates,
    direction,
    factor,
    fixpoint,
    lagrange,
    leaf_groups,
    with_logits,
    with_omitted,
)
from dpasp.learning.options import PARAMETER_RATE, LearnOptions
from dpasp.learning.tuning import TUNING

LEAST = -690.0  # stands for the logarithm of 0 in a sum
Computing = Callable[[], AbstractContextManager[None]]
LeafLogs = Callable[[], Tensor | None] | None
TELLS = 1e-9  # slopes below this count as 0
SMALL = 1e-3  # below this probability, the pull of a prior no longer grows


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes that learn together, and which of them this is."""

    rank: int = 0
    size: int = 1

    def share(self, batch: Tensor) -> Tensor:
        """This process's share of a batch."""
        return batch if self.size == 1 else batch[self.rank :: self.size]

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.size > 1:
            for tensor in tensors:
                distributed.all_reduce(tensor)

    def copy(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of the first process."""
        if self.size > 1:
            for tensor in tensors:
                distributed.broadcast(tensor, src=0)


@contextmanager
def process_group(device: torch.device) -> Iterator[ProcessGroup]:
    """The group of this process, if any."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1 or "RANK" not in os.environ:
        yield ProcessGroup()
        return
    ours = not distributed.is_initialized()
    if ours:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield ProcessGroup(distributed.get_rank(), distributed.get_world_size())
    finally:
        if ours:
            distributed.destroy_process_group()


@dataclass(frozen=True, slots=True)
class SeenBatch:
    """The log-likelihood of a batch, and its gradient by the leaf weights."""

    total: Tensor
    weights: Tensor
    slopes: Tensor
    mass: Tensor  # how many examples each column sums
    gap: Tensor | None = None  # by how much the likelihood can exceed it; None if it is exact
    by_logs: tuple[Tensor, Tensor] | None = None  # logarithms of the weights of columns where some
    # underflow, and the slopes by those that come from logits


class Learner:
    """A model with its examples and options, which learns step by step."""

    def __init__(
        self,
        model: ProgramModule,
        ascent: Ascent,
        ids: Tensor,
        data: Mapping[Symbol, DataRows],
        rule: str,
        options: LearnOptions,
        optimisers: Sequence[Optimizer],
        processes: ProcessGroup,
    ) -> None:
        """``ids`` are the numbers of the examples' observations, ``data`` their rows."""
        device = ids.device
        self.model, self.ids, self.data = model, ids, data
        self.rule, self.options = rule, options
        self.optimisers, self.processes = optimisers, processes
        self.ascent = replace(ascent, likelihood=ascent.likelihood.to(device))
        self.gap: Tensor | None = None  # of the steps since the last take_gap
        self.groups = leaf_groups(model.ground).to(device)
        parameter = model.leaf_sources_on(torch.device("cpu")).parameter
        self.learned = (parameter >= 0).nonzero()[:, 0].to(device)  # leaves and their groups
        self.parameter = parameter[parameter >= 0].to(device)
        self.velocity = torch.zeros_like(model.probabilities.fixed)
        self._rates = Rates(optimisers, device, options.capture)
        self._factor = 1.0
        moved = [p for optimiser in optimisers for g in optimiser.param_groups for p in g["params"]]
        average = options.average
        self._ahead = Ahead(data, (), 0)
        self.average = Average(moved, average) if average else None
        self.entropy = MeanEntropy(model.ground, device) if options.entropy else None

    @property
    def observed(self) -> LogLikelihood:
        """The likelihood to maximise."""
        return self.ascent.likelihood

    @torch.no_grad()
    def tighten(self, examples: Tensor, iteration: int) -> None:
        """Tighten a bound after an iteration, once for each."""
        source = self.ascent.source
        if source is None or source.iteration == iteration:
            return
        self.model.eval()
        weights = self._weights_and_logs(examples[: TUNING.rows])[0].mean(dim=1)
        source = source.tightened(weights.cpu().double().numpy(), iteration)
        self.ascent = Ascent.by(source, self.ids.device)

    def take_gap(self) -> float | None:
        """How far the likelihood can exceed what the steps since the last call reported."""
        gap, self.gap = self.gap, None
        if gap is None:
            return None
        self.processes.add([gap])
        return float(gap)

    def schedule(self, done: float) -> None:
        """Set the learning rates after this share of all steps."""
        self._factor = factor(self.options.schedule, done, self.options.warmup)
        self._rates.scale(self._factor)

    def expect(self, batches: Sequence[Tensor]) -> None:
        """Announce the next batches, so that other processes can read their rows ahead."""
        shares = [self.processes.share(batch) for batch in batches]
        parts = [p for s in shares for p in torch.chunk(s, self.options.accumulate) if len(s)]
        self._ahead = Ahead(self.data, parts, self.options.workers)

    def step(self, batch: Tensor, computing: Computing = nullcontext) -> Tensor:
        """Learn from a batch; return the sum of its log-likelihoods before the step.

        ``computing`` is a context active until parameters change; raising in it stops the step.
        """
        if self.rule == "fixpoint":
            return self._expect(batch, computing)
        with computing():
            seen = self._ascend(batch)
        self._add_gap(seen)
        with record_function("dpasp: optimisers"):
            for optimiser in self.optimisers:
                if isinstance(optimiser, LBFGS):
                    optimiser.step(lambda: float(-self._ascend(batch).total))  # type: ignore[no-untyped-call]
                else:
                    optimiser.step()
        if len(self.model.probabilities) and self.rule != "gradient":
            self._climb(seen, len(batch))
        if self.average is not None:
            self.average.update()
        return seen.total

    @torch.no_grad()
    def likelihood(self, batch: Tensor) -> Tensor:
        return self._look(*self._weights_and_logs(batch), batch).total

    def _add_gap(self, seen: SeenBatch) -> None:
        if seen.gap is not None:
            self.gap = seen.gap.clone() if self.gap is None else self.gap + seen.gap

    def _ascend(self, batch: Tensor) -> SeenBatch:
        """Set the gradients of everything that an optimiser changes."""
        for optimiser in self.optimisers:
            optimiser.zero_grad()
        share = self.processes.share(batch)
        count = self.options.accumulate if self.data else 1
        parts = torch.chunk(share, count) if len(share) else (share,)
        seen = _together([self._add_gradients(part, len(batch)) for part in parts])
        if self.rule == "gradient" and self.options.smoothing and len(self.model.probabilities):
            # the gradient of the pseudo-observations
            parameters = self.model.probabilities
            logs = parameters()[parameters.free].clamp(min=SMALL).log().sum()
            torch.autograd.backward(-self._share_of_prior() / self.processes.size * logs)
        if self.processes.size > 1:
            groups = [group for optimiser in self.optimisers for group in optimiser.param_groups]
            moved = [parameter for group in groups for parameter in group["params"]]
            for parameter in moved:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            self.processes.add([seen.total, *(parameter.grad for parameter in moved)])
        return seen

    def _add_gradients(self, part: Tensor, examples: int) -> SeenBatch:
        """Add the gradients of some of a batch's examples."""
        with record_function("dpasp: networks"):
            weights, logs = self._weights_and_logs(part)
        with record_function("dpasp: circuit"):
            seen = self._look(weights.detach(), logs, part)
        if not weights.requires_grad:
            return seen
        with record_function("dpasp: back through the networks"):
            up = direction(self.rule, seen.slopes, seen.weights, self.groups, seen.mass)
            if seen.by_logs is not None and seen.by_logs[0].requires_grad:
                columns, shares = seen.by_logs
                upward = with_logits(self.rule, shares, self.groups)
                torch.autograd.backward(columns, upward / -examples, retain_graph=True)
            again = self.entropy is not None
            torch.autograd.backward(weights, up / -examples, retain_graph=again)
            if self.entropy is not None:
                reward = self.options.entropy * self.entropy(weights)
                torch.autograd.backward(-reward * len(part) / examples)
        return seen

    def _look(self, weights: Tensor, leaf_logs: LeafLogs, batch: Tensor) -> SeenBatch:
        """The log-likelihood of a batch under its weights, and its gradient."""
        ids = self.ids[batch]
        if not weights.shape[1]:
            return SeenBatch(weights.new_zeros(()), weights, weights, weights.new_ones(1))
        if self.data:
            logs, slopes = self.observed.log(weights, ids)
            by_logs = None
            small = logs <= LEAST_LOG
            known = leaf_logs() if leaf_logs and bool(small.any()) else None
            if known is not None:
                few = small.nonzero()[:, 0]
                columns = known[:, few]
                found, shares = self.observed.log(columns.detach(), ids[few], True)
                some, own = weights[:, few], self.model.from_logits(weights.device)[:, None]
                rest = torch.where(own | (some <= 0), 0.0, shares / some)
                logs, slopes = logs.index_copy(0, few, found), slopes.index_copy(1, few, rest)
                by_logs = columns, torch.where(own, shares, 0.0)
            above = self.ascent.above(weights, ids)
            gap = None if above is None else above.sum()
            one = weights.new_ones(1)
            return SeenBatch(_finite(logs).sum(), weights, slopes, one, gap, by_logs)
        counts = torch.bincount(ids, minlength=self.observed.count).to(weights.dtype)
        logs, slopes = self.observed.log_shared(weights, counts)
        total = torch.where(counts > 0, _finite(logs), 0.0) @ counts
        above = self.ascent.above(weights, torch.arange(len(counts), device=counts.device))
        gap = None if above is None else above @ counts
        return SeenBatch(total, weights, slopes, counts.sum().reshape(1), gap)

    def _weights_and_logs(self, batch: Tensor) -> tuple[Tensor, LeafLogs]:
        """The leaf weights of some examples and, on a CPU, a function for their logarithms."""
        if self.data and not len(batch):  # a process may have no examples
            shape = (len(self.groups.choice), 0)
            return torch.empty(shape, dtype=torch.float64, device=batch.device), None
        data, fresh = self._ahead.take(batch), not self.options.capture
        low = self.options.precision != "full"  # a recording casts the weights every time
        with torch.autocast(batch.device.type, torch.bfloat16, low, cache_enabled=fresh):
            weights, leaf_logs = self.model.weights_and_logs(data)
        return weights, leaf_logs if batch.device.type == "cpu" else None

    # --- probabilities that move by themselves -------------------------------------------------

    @torch.no_grad()
    def _expect(self, batch: Tensor, computing: Computing) -> Tensor:
        """Set the probabilities to their expected shares; return the log-likelihood before."""
        parameters = self.model.probabilities
        old = parameters()
        with computing():
            counts, total = self._counts(batch)
        free, room = parameters.free, parameters.room
        new = fixpoint(counts, old, free, room, self.options.smoothing)
        keep = self.options.momentum
        parameters.assign(keep * old + (1.0 - keep) * new)
        return total

    def _counts(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """How often each value of each parameter is expected, and the log-likelihood."""
        counts = torch.zeros_like(self.model.probabilities.fixed)
        total: Tensor = counts.new_zeros(())
        for part in torch.split(batch, TUNING.rows if self.data else max(1, len(batch))):
            share = self.processes.share(part)
            seen = self._look(*self._weights_and_logs(share), share)
            tries = self._tries(seen, share)
            whole = with_omitted(seen.slopes, seen.weights, self.groups, tries)
            counts += self._by_parameter(seen.weights * whole)
            total += seen.total
            self._add_gap(seen)
        self.processes.add([counts, total])
        return counts, total

    def _tries(self, seen: SeenBatch, batch: Tensor) -> Tensor:
        """How many total choices are drawn, on average, for the examples of each column.

        It is one per example unless some total choices have no model: those were drawn too, unseen,
        and their values count as well (Cussens 2001).
        """
        ids = self.ids[batch]
        if self.data:
            tries = self.observed.tries(seen.weights, ids) if len(ids) else None
            return seen.mass if tries is None else tries
        counts = torch.bincount(ids, minlength=self.observed.count).to(seen.weights.dtype)
        every = torch.arange(len(counts), device=counts.device)
        tries = self.observed.tries(seen.weights, every)
        return seen.mass if tries is None else (tries @ counts).reshape(1)

    @torch.no_grad()
    def seen_counts(self, examples: Tensor) -> Tensor:
        """How often each value [parameters, width] is expected in the informative examples.

        An example informs about a choice if its probability depends on it. This is tested inside
        the simplex, since at its border the learned values hide it.
        """
        counts = torch.zeros_like(self.model.probabilities.fixed)
        ids, times = self.ids[examples], torch.ones(len(examples), device=examples.device)
        if not self.data:
            ids, times = torch.unique(ids, return_counts=True)
        for place in torch.split(torch.arange(len(ids), device=ids.device), EXACT.batch):
            observed, rows = ids[place], examples[place] if self.data else place
            weights = self._weights_and_logs(rows)[0].expand(-1, len(place))
            tries = self.observed.tries(weights, observed)
            mass = weights.new_ones(1) if tries is None else tries
            slopes = self.observed.log(weights, observed)[1]
            # Failed draws count by their share, and an example counts once.
            whole = with_omitted(slopes, weights, self.groups, mass) / mass
            seen = weights * whole * times[place] * self._tells(observed, rows)
            counts += self._by_parameter(seen)
        return counts

    def _tells(self, ids: Tensor, rows: Tensor) -> Tensor:
        """By leaf and column, whether the observation's probability depends on the choice."""
        parameters = self.model.probabilities
        before = parameters.logits.detach().clone()
        try:
            inside = 1.0 + torch.arange(parameters.free.numel(), device=ids.device) * 0.618 % 1.0
            shares = inside.view(parameters.free.shape).double() * parameters.free
            parameters.assign(shares / shares.sum(dim=1, keepdim=True).clamp(min=1e-9))
            weights = self._weights_and_logs(rows)[0].expand(-1, len(ids))
            slopes = self.observed.log(weights, ids)[1]
        finally:
            parameters.logits.copy_(before)
        return self.groups.totals(lagrange(slopes, self.groups).abs()) > TELLS

    @torch.no_grad()
    def slopes(self, examples: Tensor) -> Tensor:
        """The gradient of the log-likelihood of examples by the probabilities [parameters, width].

        Where the circuit leaves a choice out, all its values lack the same number.
        """
        total = torch.zeros_like(self.model.probabilities.fixed)
        for part in torch.split(examples, TUNING.rows if self.data else max(1, len(examples))):
            seen = self._look(*self._weights_and_logs(part), part)
            total += self._by_parameter(seen.slopes)
        return total

    @torch.no_grad()
    def _climb(self, seen: SeenBatch, examples: int) -> None:
        """Move the probabilities in the direction of the rule and project them onto the simplex."""
        parameters = self.model.probabilities
        old = parameters()
        up = direction(self.rule, seen.slopes, seen.weights, self.groups, seen.mass)
        slope = self._by_parameter(up) / examples
        self.processes.add([slope])
        if self.options.smoothing:
            slope += self._share_of_prior() / old.clamp(min=SMALL)
        self.velocity = self.options.momentum * self.velocity + slope
        rate = PARAMETER_RATE if self.options.lr is None else self.options.lr
        parameters.project(old + self._factor * rate * self.velocity)

    def _by_parameter(self, values: Tensor) -> Tensor:
        """Leaf values [leaves, columns] summed over columns and instances, [parameters, width]."""
        shape = self.model.probabilities.fixed.shape
        total = values.new_zeros(shape.numel())
        learned = values.sum(dim=1).index_select(0, self.learned)
        if values.device.type == "cpu":
            total.index_add_(0, self.parameter, learned)
        else:  # sorted first: the same bits on every run
            total.index_put_((self.parameter,), learned, accumulate=True)
        return total.reshape(shape)

    def _share_of_prior(self) -> float:
        """The weight of the pseudo-observations of ``smoothing`` relative to one example."""
        return self.options.smoothing / len(self.ids)


def _together(seen: Sequence[SeenBatch]) -> SeenBatch:
    if len(seen) == 1:
        return seen[0]
    gaps = [part.gap for part in seen if part.gap is not None]
    return SeenBatch(
        torch.stack([part.total for part in seen]).sum(),
        torch.cat([part.weights for part in seen], dim=1),
        torch.cat([part.slopes for part in seen], dim=1),
        seen[0].mass,
        torch.stack(gaps).sum() if gaps else None,
    )


def _finite(logs: Tensor) -> Tensor:
    """The logarithms with that of 0 replaced, so that they can be summed."""
    return torch.where(logs == -torch.inf, LEAST, logs)


TensorFunction = Callable[[Tensor], Tensor]


class Captured:
    """A step recorded for batches of one size; batches of other sizes run as usual."""

    def __init__(
        self, step: TensorFunction, size: int, device: torch.device, span: Span | None
    ) -> None:
        self._step, self._span = step, span
        self._batch = torch.zeros(size, dtype=torch.int64, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result = torch.empty(0)
        self._seen = 0

    def __call__(self, batch: Tensor) -> Tensor:
        """Make the step for a batch; the result is valid until the next one."""
        if len(batch) != len(self._batch):
            return self._step(batch)
        if self._seen < TUNING.warm_steps:
            self._seen += 1
            return self._aside(batch)
        if self._graph is None:
            self._record()
        assert self._graph is not None
        self._batch.copy_(batch)
        self._graph.replay()
        return self._result

    def _aside(self, batch: Tensor) -> Tensor:
        """Make the step on a separate stream, as the recording will."""
        stream = torch.cuda.Stream(batch.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(batch.device))
        with torch.cuda.stream(stream):
            total = self._step(batch)
        torch.cuda.current_stream(batch.device).wait_stream(stream)
        return total

    def _record(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._result = self._step(self._batch)
        except RuntimeError as error:
            message = f"a step of learning cannot be recorded: {str(error).splitlines()[0]}"
            help = "a network that inspects its numbers cannot be; leave capture = true out"
            raise DataError.at("learn-capture", message, self._span, help) from error
        self._graph = graph


def check_capture(
    device: torch.device,
    rule: str,
    model: ProgramModule,
    data: Mapping[Symbol, DataRows],
    processes: int,
) -> None:
    """Refuse to record without a GPU, or what a GPU cannot record."""
    reason = ""
    if device.type != "cuda":
        reason = f"steps are recorded on a GPU only, not on {device}"
    elif rule == "fixpoint" or len(model.probabilities):
        reason = "learned probabilities are moved by the CPU, which cannot be recorded"
    elif any(not isinstance(rows.source, Tensor) for rows in data.values()):
        reason = "a Dataset is read by the CPU, which cannot be recorded"
    elif processes > 1:
        reason = "several processes wait for each other, which cannot be recorded"
    if reason:
        help = 'leave capture out, or say device = "cuda" and learn networks from tensors'
        raise UsageError.at("learn-capture", reason, help=help)


def check_optimisers(optimisers: Sequence[Optimizer]) -> None:
    """Refuse optimisers whose steps a GPU cannot record."""
    other = [optimiser for optimiser in optimisers if "capturable" not in optimiser.defaults]
    if other:
        message = f"the steps of {type(other[0]).__name__} cannot be recorded"
        help = "learn with Adam, AdamW or RMSprop, or leave capture = true out"
        raise UsageError.at("learn-capture", message, help=help)
