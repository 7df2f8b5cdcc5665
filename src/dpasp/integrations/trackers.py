"""Learning in TensorBoard, MLflow and Weights & Biases: ``program.learn(watcher=MLflow())``.

Each writes, for every iteration, the log-likelihood per example, that of the validation data, and
the seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.errors import needed

if TYPE_CHECKING:
    from dpasp.learning.history import Moment


def numbers(moment: Moment) -> dict[str, float]:
    """The results of a finished iteration by name; empty within an iteration."""
    record = moment.finished
    if record is None:
        return {}
    reached = {"log-likelihood/train": moment.log_likelihood, "seconds": moment.seconds}
    if record.validation is not None:
        reached["log-likelihood/validation"] = record.validation
    return reached


class MLflow:
    """Writes to MLflow's active run, or to one that it starts and :meth:`close` ends.

    ``run`` are the arguments of ``mlflow.start_run``.
    """

    def __init__(self, **run: Any) -> None:
        self._mlflow = needed("mlflow", "tracker-missing", "MLflow", "pip install mlflow")
        self._started = self._mlflow.active_run() is None
        if self._started:
            self._mlflow.start_run(**run)

    def __call__(self, moment: Moment) -> None:
        if reached := numbers(moment):
            self._mlflow.log_metrics(reached, step=moment.iteration)

    def close(self) -> None:
        if self._started:
            self._mlflow.end_run()


class WeightsAndBiases:
    """Writes to a run of Weights & Biases; ``run`` are the arguments of ``wandb.init``."""

    def __init__(self, **run: Any) -> None:
        wandb = needed("wandb", "tracker-missing", "Weights & Biases", "pip install wandb")
        self._run = wandb.init(**run)

    def __call__(self, moment: Moment) -> None:
        if reached := numbers(moment):
            self._run.log(reached, step=moment.iteration)

    def close(self) -> None:
        self._run.finish()


class TensorBoard:
    """Writes the files of TensorBoard into a folder."""

    def __init__(self, folder: str | Path) -> None:
        help = "pip install tensorboard"
        needed("tensorboard", "tensorboard-missing", "TensorBoard", help)
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, moment: Moment) -> None:
        for name, number in numbers(moment).items():
            self._writer.add_scalar(name, number, moment.iteration)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
