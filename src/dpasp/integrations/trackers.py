"""Learning in TensorBoard, MLflow and Weights & Biases: ``program.learn(watcher=MLflow())``.

Each writes, for every iteration, the log-likelihood per example, that of the validation data, and
the seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.errors import UsageError

if TYPE_CHECKING:
    from dpasp.learning.history import Moment


def numbers(moment: Moment) -> dict[str, float]:
    """What a finished iteration reached, by name; empty within an iteration."""
    record = moment.finished
    if record is None:
        return {}
    reached = {"log-likelihood/train": moment.log_likelihood, "seconds": moment.seconds}
    if record.validation is not None:
        reached["log-likelihood/validation"] = record.validation
    return reached


class MLflow:
    """Writes to the active run of MLflow, or to one that it starts and :meth:`close` ends.

    ``run`` are the arguments of ``mlflow.start_run``.
    """

    def __init__(self, **run: Any) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise _missing("MLflow", "mlflow") from error
        self._mlflow: Any = mlflow
        self._started = mlflow.active_run() is None
        if self._started:
            mlflow.start_run(**run)

    def __call__(self, moment: Moment) -> None:
        """Write what a finished iteration reached."""
        if reached := numbers(moment):
            self._mlflow.log_metrics(reached, step=moment.iteration)

    def close(self) -> None:
        """End the run, if it was started here."""
        if self._started:
            self._mlflow.end_run()


class WeightsAndBiases:
    """Writes to a run of Weights & Biases; ``run`` are the arguments of ``wandb.init``."""

    def __init__(self, **run: Any) -> None:
        try:
            import wandb
        except ImportError as error:
            raise _missing("Weights & Biases", "wandb") from error
        self._run: Any = wandb.init(**run)

    def __call__(self, moment: Moment) -> None:
        """Write what a finished iteration reached."""
        if reached := numbers(moment):
            self._run.log(reached, step=moment.iteration)

    def close(self) -> None:
        """End the run."""
        self._run.finish()


def _missing(name: str, package: str) -> UsageError:
    message = f"{name} is not installed"
    return UsageError.at("tracker-missing", message, help=f"pip install {package}")


class TensorBoard:
    """Writes the files of TensorBoard into a folder."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            help = "pip install tensorboard"
            message = "TensorBoard is not installed"
            raise UsageError.at("tensorboard-missing", message, help=help) from error
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, moment: Moment) -> None:
        """Write what a finished iteration reached."""
        for name, number in numbers(moment).items():
            self._writer.add_scalar(name, number, moment.iteration)
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()
