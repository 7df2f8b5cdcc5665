"""Answers (and the curve of learning) as a picture; matplotlib is imported only here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpasp.errors import Diagnostic, UsageError, cannot_write
from dpasp.inference.answers import Answer, Answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 60
COLOUR = "#0a58a8"


def plot(answers: Answers, path: str | Path) -> None:
    """Draw the answers to a file: bars for probabilities, segments for intervals.

    Answers with a number for each test row show their mean. What was learned adds the
    log-likelihood by iteration.
    """
    found = [answer for answer in answers if isinstance(answer, Answer)]
    if not found and not answers.history:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    figure_class = _figure()
    panels = bool(found) + bool(answers.history)
    height = max(2.5, 0.35 * min(len(found), MOST_BARS) + 1)
    figure = figure_class(figsize=(7 * panels, height), layout="constrained")
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    if answers.history:
        _curve(axes.pop(), [float(record["log_likelihood"]) for record in answers.history])
    if found:
        _bars(axes.pop(), found[:MOST_BARS])
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise cannot_write(path, error) from error
    except ValueError as error:  # a format that does not exist
        raise UsageError(f"cannot write {path}: {error}") from error


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "a picture needs matplotlib, which is not installed"
        help = "pip install 'dpasp[plot]'"
        raise UsageError(Diagnostic("plot-missing", message, help=help)) from error
    return Figure


def _bars(axes: Axes, answers: list[Answer]) -> None:
    """One row for each answer, the first at the top."""
    for row, answer in enumerate(answers):
        numbers = [float(np.mean(number)) for number in answer.numbers]
        if len(numbers) == 1:
            axes.barh(row, numbers[0], color=COLOUR, height=0.6)
        else:
            axes.plot(numbers, [row, row], color=COLOUR, linewidth=6, solid_capstyle="butt")
            axes.plot(numbers, [row, row], "|", color=COLOUR, markersize=12)
    labels = [f"P({answer.query})".replace("$", r"\$") for answer in answers]  # no formulas
    axes.set_yticks(range(len(answers)), labels)
    axes.set_ylim(len(answers) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.grid(axis="x", alpha=0.3)


def _curve(axes: Axes, likelihoods: list[float]) -> None:
    axes.plot(range(1, len(likelihoods) + 1), likelihoods, color=COLOUR)
    axes.set_xlabel("iteration")
    axes.set_ylabel("log-likelihood")
    axes.grid(alpha=0.3)
