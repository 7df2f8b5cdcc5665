"""Learning in TensorBoard: ``program.learn(watcher=TensorBoard("runs/digits"))``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from dpasp.learning.history import Moment


class TensorBoard:
    """Writes the log-likelihood per example, and what is held out, of every iteration."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            help = "pip install tensorboard"
            message = "TensorBoard is not installed"
            raise UsageError(Diagnostic("tensorboard-missing", message, help=help)) from error
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, moment: Moment) -> None:
        """Write what a finished iteration reached."""
        record = moment.finished
        if record is None:
            return
        number = record.iteration
        self._writer.add_scalar("log-likelihood/train", moment.log_likelihood, number)
        if record.validation is not None:
            self._writer.add_scalar("log-likelihood/validation", record.validation, number)
        self._writer.add_scalar("seconds", moment.seconds, number)
        self._writer.flush()

    def close(self) -> None:
        """Close the files."""
        self._writer.close()
