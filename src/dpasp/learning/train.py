"""The loop: iterations over the examples, in batches, with history, patience and checkpoints.

Ctrl-C, SIGTERM and the time limit stop a step before it changes parameters; a step that is already
changing them is finished first. A second Ctrl-C stops at once, even if something is lost.

>>> import dpasp
>>> program = dpasp.loads("?::a. ?::b. c :- a. c :- b.")
>>> history = program.learn(["c", "not c", "c, not a"], niters=3)
>>> [record.iteration for record in history], history.reason.value
([1, 2, 3], 'all iterations are done')
"""

from __future__ import annotations

import math
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from clingo import Symbol
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Interrupted, LimitReached, Span, outside
from dpasp.ground.program import GroundProgram
from dpasp.language import ast
from dpasp.learning import checkpoints
from dpasp.learning.ascents import SampledLikelihood, ascent_of, check_possible
from dpasp.learning.checkpoints import Position
from dpasp.learning.data import DataRows
from dpasp.learning.history import History, Moment, Record, StopReason, Watcher, unwatched
from dpasp.learning.module import ProgramModule
from dpasp.learning.networks import repeatable, trainable
from dpasp.learning.observations import Observations
from dpasp.learning.optimisers import optimisers
from dpasp.learning.options import (
    DEFAULT_BATCH,
    FACTOR_PASSES,
    MOST_PASSES,
    PARAMETER_RATE,
    PASSES,
    TOLERANCE,
    LearnOptions,
)
from dpasp.learning.shortcuts import warn_of_shortcuts
from dpasp.learning.steps import Captured, Learner, ProcessGroup, check_capture, check_optimisers
from dpasp.learning.tuning import TUNING
from dpasp.learning.uncertainty import check_imprecise
from dpasp.limits import UNLIMITED, Watch

LATER = 0.002  # seconds after the end of the time limit, so that the stopwatch agrees
ROUNDED = 1e-14  # smaller shares of the log-likelihood are rounding errors


class ConvergenceWarning(UserWarning):
    """Learning stopped before the log-likelihood had converged."""


class StepStopped(BaseException):
    """A step was stopped before it changed any parameter."""


class StopRequest:
    """A request to stop, made or not."""

    def __init__(self) -> None:
        self.made = False
        self._open = False

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let a request end the work at once with :class:`StepStopped`."""
        self._open = True
        try:
            if self.made:
                raise StepStopped
            yield
        finally:
            self._open = False

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Raise :class:`StepStopped` if that is safe now."""
        if self._open:
            self._open = False
            raise StepStopped

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Make the request; the second time, stop at once."""
        if self.made:
            raise KeyboardInterrupt
        self.made = True
        self.stop()


@contextmanager
def interrupts(watch: Watch = UNLIMITED) -> Iterator[StopRequest]:
    """Make Ctrl-C and SIGTERM a request to stop; the end of the time (SIGALRM) only stops a step.

    Signals reach only the main thread. Elsewhere, and at the end of the time if the alarm is in
    use, learning stops between two steps.
    """
    request, handlers = StopRequest(), dict[int, Any]()
    left, timed = watch.remaining(), False
    if threading.current_thread() is threading.main_thread():
        handlers = dict.fromkeys((signal.SIGINT, signal.SIGTERM), request.ask)
        timed = left is not None and hasattr(signal, "setitimer")
        timed = timed and not signal.getitimer(signal.ITIMER_REAL)[0]
    if timed:
        handlers[signal.SIGALRM] = request.stop
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    if timed and left is not None:
        signal.setitimer(signal.ITIMER_REAL, left + LATER)
    try:
        yield request
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class HowToLearn:
    """How to learn: the options, how long, where unfinished learning is kept, and who watches."""

    options: LearnOptions
    checkpoint: Path | None = None  # where to save when stopped,
    periodic: bool = True  # and after every iteration
    resume: Path | None = None
    watch: Watch = UNLIMITED
    watcher: Watcher = unwatched
    force: bool = False  # whether to resume another program's learning


def start_learning(
    model: ProgramModule,
    observations: Observations,
    data: Mapping[Symbol, DataRows],
    how: HowToLearn,
    span: Span | None = None,
    group: ProcessGroup = ProcessGroup(),  # noqa: B008 - frozen
) -> Loop:
    """Prepare a run of learning.

    ``span`` is that of the statement that asked for it; a ``group`` learns together.
    """
    begun, options = time.monotonic(), how.options
    rule, device = choose_rule(model, options, span), torch.device(options.place)
    if options.capture:
        check_capture(device, rule, model, data, group.size)
    if options.imprecise is not None:
        check_imprecise(model, span)
    model.to(device)
    ascent = ascent_of(model, observations, options, how.watch, span)
    check_possible(model, ascent.likelihood, observations, span)
    if trainable(model.nets) and ascent.kind == "exact":
        assert not isinstance(ascent.likelihood, SampledLikelihood)
        warn_of_shortcuts(model, ascent.likelihood)
    learned = model.probabilities
    if len(learned):
        learned.logits.requires_grad_(rule == "gradient")
    movers = optimisers(model.nets, options.lr, options.capture)
    if options.capture:
        check_optimisers(movers)
    if len(learned) and rule == "gradient":
        rate = PARAMETER_RATE if options.lr is None else options.lr
        betas = (options.momentum or 0.9, 0.999)
        movers.append(torch.optim.Adam([learned.logits], lr=rate, betas=betas))
    group.copy(model.state_dict().values())
    on_device = {atom: rows.to(device) for atom, rows in data.items()}
    ids = observations.ids.to(device)
    learner = Learner(model, ascent, ids, on_device, rule, options, movers, group)
    return Loop(learner, how, span, begun)


def choose_rule(model: ProgramModule, options: LearnOptions, span: Span | None) -> str:
    """The rule that the options name, or the default; refuses what cannot be learned."""
    nets = trainable(model.nets)
    moving = model.has_intervals and options.goal.lower > 0  # the decisive vertex may change
    factor = learned_factor(model.ground)
    plain = "gradient" if factor is not None else "lagrange"
    rule = options.alg or (plain if nets or moving or factor is not None else "fixpoint")
    rule = "fixpoint" if rule == "em" else rule
    refused = None
    if not nets and not len(model.probabilities):
        message = "this program has nothing to learn"
        refused = "learn-nothing", message, "mark a probability with '?', as in ?::a. or 0.3?::a."
    elif rule == "fixpoint" and nets:
        message = f"fixpoint cannot learn the network of {nets[0].statement.name}"
        help = 'say alg = "lagrange" (or neurasp, or gradient), or freeze the network with !::'
        refused = "learn-neural-fixpoint", message, help
    elif rule == "fixpoint" and factor is not None:
        message = "fixpoint cannot learn a factor, which is not a probability"
        refused = "learn-factor", message, 'say alg = "gradient", or leave alg out'
    elif rule == "fixpoint" and moving:
        message = "fixpoint cannot learn the lower probability of a program with intervals"
        refused = "learn-intervals", message, 'say alg = "lagrange", or objective = "upper"'
    elif options.average and not nets:
        message = "average is of the weights of networks, and no network learns here"
        refused = "learn-average", message, "leave average out"
    if refused is not None:
        code, message, help = refused
        raise DataError.at(code, message, span, help)
    return rule


def learned_factor(ground: GroundProgram) -> ast.Factor | None:
    statements = (ground.program.statements[parameter.statement] for parameter in ground.parameters)
    return next((one for one in statements if isinstance(one, ast.Factor)), None)


class Loop:
    """A run of learning that can stop at any step and be resumed."""

    def __init__(self, learner: Learner, how: HowToLearn, span: Span | None, begun: float) -> None:
        """``begun`` is when it was first known what is to be learned."""
        self.learner, self.how, self.span = learner, how, span
        self.limited = how.watch.limited
        self.first = learner.processes.rank == 0  # the first process speaks for the others
        self.model, self.options, self.device = learner.model, how.options, learner.ids.device
        self.position = Position()
        self.best: dict[str, Tensor] = {}
        self.train, self.held = self._split(len(learner.ids))
        whole = learner.rule == "fixpoint" or not learner.data
        size = self.options.batch or (len(self.train) if whole else DEFAULT_BATCH)
        self.size = min(size, len(self.train))
        self.captured = None
        if self.options.capture:
            self.captured = Captured(learner.step, self.size, self.device, span)
        # With all examples at once, the likelihood never falls, and its limit can be extrapolated.
        kind = learner.ascent.kind
        self.judged = learner.rule == "fixpoint" and kind != "sampled"
        self.judged &= self.size == len(self.train)
        self.tolerance = self.options.tolerance
        if self.judged and self.options.niters is None:
            self.tolerance = self.tolerance or TOLERANCE
        factors = not learner.data and learned_factor(self.model.ground) is not None
        passes = FACTOR_PASSES if factors else PASSES
        self.passes = self.options.niters or (MOST_PASSES if self.judged else passes)
        if self.tolerance is not None and not self.judged:  # an estimate goes up and down
            message = "tolerance requires fixpoint, with all examples at once and without sampling"
            help = "leave tolerance out, and say niters or patience"
            raise DataError.at("learn-tolerance", message, span, help)
        self.begun = begun
        self.started = self._reported = time.monotonic()
        self.first_step: float | None = None

    def run(self) -> History:
        """Run to the end; return the history."""
        if self.how.resume is not None:
            checkpoints.restore(self, self.how.resume)
        reason = StopReason.DONE
        with interrupts(self.how.watch) as request:
            while self.position.iteration < self.passes:
                if self.tolerance is not None and self._to_come() <= self.tolerance:
                    reason = StopReason.CONVERGED
                    break
                self.iterate(request)
                if self.position.waited >= (self.options.patience or math.inf):
                    reason = StopReason.PATIENCE
                    break
        if self.best:
            self.model.load_state_dict(self.best)
        elif self.learner.average is not None:
            self.learner.average.settle()
        seconds = time.monotonic() - self.started
        records, converged = self.position.records, None
        if self.judged:
            converged = self._to_come() <= (self.tolerance or TOLERANCE)
        if self.tolerance is not None and records:
            records = (*records[:-1], replace(records[-1], converged=converged))
            if reason is StopReason.DONE and converged is False:
                self._warn()
        return History(records, reason, len(self.train), seconds, self.first_step, converged)

    def _to_come(self) -> float:
        """By what share the log-likelihood will still rise at this rate.

        In the end, each step shrinks by the same factor, so the rest is a geometric series
        (Aitken). A slow rise is therefore not mistaken for convergence.
        """
        last = [record.log_likelihood for record in self.position.records[-3:]]
        if len(last) < 3:
            return math.inf
        size = max(1.0, abs(last[2]))
        before, now = abs(last[1] - last[0]), abs(last[2] - last[1])
        if now <= ROUNDED * size:
            return 0.0
        return math.inf if now >= before else now * now / (before - now) / size

    def _warn(self) -> None:
        left = self._to_come() * max(1.0, abs(self.position.records[-1].log_likelihood))
        more = f"about {left:.2g}" if math.isfinite(left) else "an unknown amount"
        warnings.warn(
            f"learning has not converged after {self.passes:,} passes: the log-likelihood would "
            f"still rise by {more}; say niters = {10 * self.passes}, or a larger tolerance, or "
            'another rule, such as alg = "lagrange"',
            ConvergenceWarning,
            stacklevel=outside(),
        )

    def _split(self, examples: int) -> tuple[Tensor, Tensor]:
        """The examples to learn from and those held out."""
        share = self.options.validation
        held = round(examples * share)
        if held == 0:
            return torch.arange(examples), torch.arange(0)
        if held >= examples:
            message = f"validation = {share:g} leaves no examples to learn from"
            raise DataError.at("learn-validation", message, self.span)
        generator = torch.Generator().manual_seed(self.options.seed)
        order = torch.randperm(examples, generator=generator)
        return order[held:].sort().values, order[:held].sort().values

    def order(self) -> Tensor:
        """The examples in the order of this iteration, which depends only on its number."""
        if not self.options.shuffle or self.size >= len(self.train):
            return self.train.to(self.device)
        seed = self.options.seed * 1_000_003 + self.position.iteration + 1
        generator = torch.Generator().manual_seed(seed)
        return self.train[torch.randperm(len(self.train), generator=generator)].to(self.device)

    def iterate(self, request: StopRequest) -> None:
        """One pass over the examples."""
        if self.position.iteration and not self.position.step:
            self.learner.tighten(self.train.to(self.device), self.position.iteration)
        self.model.train()
        batches = torch.split(self.order(), self.size)
        self.learner.expect(batches[self.position.step :])
        total = torch.tensor(self.position.total, dtype=torch.float64, device=self.device)
        with repeatable(self.device):
            for step in range(self.position.step, len(batches)):
                self._check(request, total)
                done = self.position.iteration + step / len(batches)
                self.learner.schedule(done / self.passes)
                self.learner.ascent.begin(self.position.iteration, step)
                while (gained := self._step(batches[step], request)) is None:
                    self._check(request, total)
                total += gained
                self.position.step = step + 1
                self._report(total)
        self.position.total = float(total)
        self._finish()

    def _step(self, batch: Tensor, request: StopRequest) -> Tensor | None:
        """Learn from a batch; return None, with nothing changed, if the step was stopped."""
        if self.captured is not None:
            return self.captured(batch)
        if self.learner.processes.size > 1:  # otherwise the other processes would wait for this one
            return self.learner.step(batch)
        random = torch.get_rng_state()
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
        try:
            return self.learner.step(batch, request.computing)
        except StepStopped:
            torch.set_rng_state(random)
            for buffer, before in buffers:
                buffer.copy_(before)
            return None

    def _finish(self) -> None:
        """Record an iteration, keep the best one, save."""
        position = self.position
        if math.isnan(position.total):
            at = position.iteration + 1
            message = f"learning failed: the likelihood became NaN in iteration {at}"
            help = "a smaller learning rate may help: lr = 0.0001"
            raise DataError.at("learn-diverged", message, self.span, help)
        average = self.learner.average
        with nullcontext() if average is None else average.in_place():
            validation = None
            if len(self.held):
                self.model.eval()
                parts = torch.split(self.held.to(self.device), max(self.size, 1))
                validation = float(sum(self.learner.likelihood(part) for part in parts))
            self._record(validation)
        if self.how.checkpoint and self.how.periodic and self.first:
            checkpoints.save(self, self.how.checkpoint)

    def _record(self, validation: float | None) -> None:
        """Record the result of an iteration; keep the weights if they are the best so far."""
        position = self.position
        kind, gap = self.learner.ascent.kind, self.learner.take_gap()
        record = Record(position.iteration + 1, position.total, validation, kind, gap=gap)
        score = position.total if validation is None else validation
        if score > position.best:
            position.best, position.waited = score, 0
            if validation is not None:
                state = self.model.state_dict()
                self.best = {name: value.clone() for name, value in state.items()}
        else:
            position.waited += 1
        position.records = (*position.records, record)
        self._moment(record.log_likelihood, record)
        position.iteration, position.step, position.total = position.iteration + 1, 0, 0.0

    # --- watching and stopping -----------------------------------------------------------------

    def _report(self, total: Tensor) -> None:
        now = time.monotonic()
        first = self.first_step is None
        if first:
            self.first_step = now - self.begun
        if (first or now - self._reported >= TUNING.report) and self.first:
            self._reported = now
            self._moment(float(total), None)

    def _moment(self, total: float, record: Record | None) -> None:
        done = min(self.position.step * self.size, len(self.train))
        self.how.watcher(
            Moment(
                self.position.iteration + 1,
                self.passes,
                done,
                len(self.train),
                total / max(done, 1),
                time.monotonic() - self.started,
                record,
            )
        )

    def _check(self, request: StopRequest, total: Tensor) -> None:
        """Stop here if a limit is reached or a stop was requested."""
        try:
            if self.limited:
                self.how.watch.check()
            if request.made:
                raise Interrupted("learning was interrupted")
        except (Interrupted, LimitReached) as stop:
            if self.how.checkpoint is None:
                raise
            self.position.total = float(total)
            if self.first:
                checkpoints.save(self, self.how.checkpoint)
            kept = self.how.checkpoint
            saved = f"{stop.diagnostics[0].message}; what is learned so far is in {kept}"
            help = f"continue from there with --resume {kept}"
            raise type(stop)(Diagnostic(stop.diagnostics[0].code, saved, help=help)) from None
