"""Unfinished learning: written to a file, read again, and gone on with bit for bit.

>>> import dpasp
>>> from tempfile import TemporaryDirectory
>>> def learned(**options):
...     program = dpasp.loads("?::a. ?::c. b :- a. b :- c.")
...     return program.learn(["a", "b", "not b"], seed=1, **options).to_list()
>>> with TemporaryDirectory() as folder:
...     file = Path(folder) / "unfinished"
...     _ = learned(niters=2, checkpoint=file)
...     print(learned(niters=4, resume=file) == learned(niters=4))
True
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic
from dpasp.learning import belongs, checkpoints
from dpasp.learning.history import ASCENT_WORDS, Record
from dpasp.learning.options import LearnOptions
from dpasp.learning.steps import Learner
from dpasp.neural.module import ProgramModule
from dpasp.neural.observations import Observations


@dataclass(slots=True)
class Position:
    """How far learning is."""

    iteration: int = 0  # finished ones
    step: int = 0  # finished ones of the next iteration
    total: float = 0.0  # their log-likelihood
    best: float = -float("inf")
    waited: int = 0
    records: tuple[Record, ...] = ()


class WantedLearning(Protocol):
    """What was asked for."""

    @property
    def options(self) -> LearnOptions:
        """The options of learning."""

    @property
    def observations(self) -> Observations:
        """What is learned from."""

    @property
    def force(self) -> bool:
        """Whether what another program learned may be gone on with."""


class LearningRun(Protocol):
    """A run of learning: what moves, and how far it is."""

    learner: Learner
    model: ProgramModule
    device: torch.device
    position: Position
    best: dict[str, Tensor]

    @property
    def job(self) -> WantedLearning:
        """What was asked for."""


def save(run: LearningRun, path: Path) -> None:
    """Write all that is needed to go on from where a run is."""
    tensors: dict[str, Tensor] = {
        f"model.{name}": value for name, value in run.model.state_dict().items()
    }
    tensors |= {f"best.{name}": value for name, value in run.best.items()}
    tensors["velocity"] = run.learner.velocity
    if run.learner.average is not None:
        tensors |= run.learner.average.tensors()
    tensors["random"] = torch.get_rng_state()
    if run.device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(run.device)
    packed = [
        checkpoints.pack_optimiser(f"optimiser.{i}", optimiser.state_dict(), tensors)
        for i, optimiser in enumerate(run.learner.steps.optimisers)
    ]
    position = run.position
    facts = {
        "kind": "checkpoint",
        "program": belongs.described(run.model),
        "options": run.job.options.to_dict(),
        "rule": run.learner.steps.rule,
        "examples": len(run.job.observations),
        "iteration": position.iteration,
        "step": position.step,
        "total": position.total,
        "best": None if position.best == -float("inf") else position.best,
        "waited": position.waited,
        "records": [record.to_dict() for record in position.records],
        "optimisers": packed,
        "ascent": [run.learner.ascent.kind, run.learner.ascent.state],
        "gap": None if run.learner.gap is None else float(run.learner.gap),
    }
    checkpoints.write_checkpoint(path, tensors, facts)


def restore(run: LearningRun, path: Path) -> None:
    """Set a run to where a checkpoint was written."""
    tensors, facts = checkpoints.read_checkpoint(path)
    _check_same(run, path, facts)
    if not run.job.force:
        belongs.check_belongs(run.model, facts, path)
    state = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    checkpoints.load_state(run.model, state, path)
    run.best = {
        n.removeprefix("best."): t.to(run.device)
        for n, t in tensors.items()
        if n.startswith("best.")
    }
    run.learner.velocity = tensors["velocity"].to(run.device)
    if run.learner.average is not None:
        run.learner.average.restore(tensors)
    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors and run.device.type == "cuda":
        torch.cuda.set_rng_state(tensors["random.cuda"], run.device)
    for optimiser, packed in zip(run.learner.steps.optimisers, facts["optimisers"], strict=True):
        optimiser.load_state_dict(checkpoints.unpack_optimiser(packed, tensors))
    _restore_ascent(run, path, facts)
    best = -float("inf") if facts["best"] is None else facts["best"]
    records = tuple(Record(**record) for record in facts["records"])
    run.position = Position(
        facts["iteration"], facts["step"], facts["total"], best, facts["waited"], records
    )


def _restore_ascent(run: LearningRun, path: Path, facts: dict[str, Any]) -> None:
    """Go on with the same bound, or draw the same worlds."""
    learner, (kind, state) = run.learner, facts.get("ascent", ["exact", []])
    if kind != learner.ascent.kind:
        message = f"{path} was learned by the {ASCENT_WORDS[kind]}, and this is the "
        message += ASCENT_WORDS[learner.ascent.kind]
        help = f'say likelihood = "{kind}", or start anew without --resume'
        raise DataError(Diagnostic("checkpoint-other", message, help=help))
    learner.ascent = learner.ascent.restored(state)
    gap = facts.get("gap")
    learner.gap = None if gap is None else torch.tensor(gap, dtype=torch.float64).to(run.device)


def _check_same(run: LearningRun, path: Path, facts: dict[str, Any]) -> None:
    """Refuse a checkpoint of other learning: going on would mix the two."""
    if facts.get("kind") != "checkpoint":
        message = f"{path} holds learned parameters, not unfinished learning"
        help = "read them with --load"
        raise DataError(Diagnostic("checkpoint-other", message, help=help))
    free = {"display": "none", "device": ""}  # and the end, unless the rates depend on it
    if run.job.options.schedule == "constant" and not run.job.options.warmup:
        free["niters"] = ""
    mine = run.job.options.to_dict() | free
    past = facts["options"] | free
    differ = sorted(name for name in mine if mine[name] != past.get(name))
    if facts["examples"] != len(run.job.observations):
        differ.append("the number of examples")
    if differ or facts["rule"] != run.learner.steps.rule:
        message = f"{path} was learned otherwise: {', '.join(differ) or 'by another rule'}"
        help = "say the same as then, or start anew without --resume"
        raise DataError(Diagnostic("checkpoint-other", message, help=help))
