"""The history of learning: the log-likelihood by iteration, and why it stopped.

>>> history = History((Record(1, -3.25), Record(2, -2.5)), examples=4, seconds=0.2)
>>> print(history)
2 iterations over 4 examples: log-likelihood -3.250000 → -2.500000; all iterations are done (0.2 s)
>>> history[-1].to_dict()
{'iteration': 2, 'log_likelihood': -2.5}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, UsageError
from dpasp.inference.answers import Answer, Answers, Listed
from dpasp.language.arguments import examples
from dpasp.writing import counted

if TYPE_CHECKING:
    from dpasp.display.scene import Picture

AscentKind = Literal["exact", "bound", "sampled", "utility"]
ASCENT_WORDS: dict[AscentKind, str] = {
    "exact": "log-likelihood",
    "bound": "lower bound of the log-likelihood",
    "sampled": "sampled log-likelihood",
    "utility": "expected utility",
}

CLEARLY = 1e-3  # while the log-likelihood rises by this share per pass, learning is not done


class StopReason(Enum):
    """Why learning stopped; the value is what a person reads."""

    DONE = "all iterations are done"
    CONVERGED = "the log-likelihood has converged"
    PATIENCE = "the likelihood has not improved for as many iterations as patience allows"


@dataclass(frozen=True, slots=True)
class Record:
    """One iteration: the log-likelihood summed over the examples seen, before each step.

    ``likelihood`` says what that is: exact, a lower bound (the exact one is at most ``gap``
    higher), or sampled (an estimate). ``converged`` is set on the last record if learning was to
    stop at convergence.
    """

    iteration: int
    log_likelihood: float
    validation: float | None = None  # that of the held-out examples after the iteration
    likelihood: AscentKind = "exact"
    gap: float | None = None
    converged: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; validation and an inexact likelihood are included only if present."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "exact")}


@dataclass(frozen=True)
class History(Listed[Record]):
    """The iterations in order."""

    listed: ClassVar = "records"
    records: tuple[Record, ...]
    reason: StopReason = StopReason.DONE
    examples: int = 0
    seconds: float = field(default=0.0, compare=False)
    # seconds to the end of the first step, compiling included
    first_step: float | None = field(default=None, compare=False)
    converged: bool | None = None  # None if the rule or the likelihood cannot tell

    @property
    def likelihood(self) -> AscentKind:
        """What was maximised in the end: exact, bound (a lower bound), sampled or utility."""
        return self.records[-1].likelihood if self.records else "exact"

    def to_list(self) -> list[dict[str, Any]]:
        return [record.to_dict() for record in self.records]

    def plot(self, path: str | Path | None = None) -> Picture:
        """The log-likelihood by iteration, saved if there is a path (.svg, .png or .pdf)."""
        from dpasp.display.charts import history_picture

        return history_picture(self).saved(path)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if not self.records:
            return f"no iteration: {self.reason.value}"
        first, last = self.records[0].log_likelihood, self.records[-1].log_likelihood
        count, gap = len(self.records), self.records[-1].gap
        what = ASCENT_WORDS[self.records[-1].likelihood]
        unfinished = ", and it has not converged" if self.converged is False else self._rising
        off = "" if gap is None else f" (at most {gap:.6f} below the exact one)"
        return (
            f"{count} iteration{'s' * (count != 1)} over {self.examples:,} "
            f"example{'s' * (self.examples != 1)}: {what} {first:.6f} → {last:.6f}{off}; "
            f"{self.reason.value}{unfinished} ({self.seconds:.1f} s)"
        )

    @property
    def _rising(self) -> str:
        """A note that the log-likelihood was still rising, if the rule cannot detect the end."""
        last = [record.log_likelihood for record in self.records[-3:]]
        if self.reason is not StopReason.DONE or self.converged is not None or len(last) < 3:
            return ""
        rise = last[2] - last[1]
        if not (last[1] > last[0] and rise > CLEARLY * max(1.0, abs(last[2]))):
            return ""
        return f", and it was still rising, by {rise:.2g} in the last one"

    def _repr_html_(self) -> str:
        from dpasp.display.html import history_html

        return history_html(self)


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of learning, for those who watch it."""

    iteration: int  # from 1
    iterations: int
    done: int  # of this iteration
    examples: int
    log_likelihood: float  # mean over the examples of this iteration so far
    seconds: float  # since the start
    finished: Record | None = None  # the iteration that just ended


Watcher = Callable[[Moment], None]


def unwatched(moment: Moment) -> None:
    """Ignore it: the default."""


def accuracies(answers: Answers, labels: object) -> dict[str, float]:
    """By predicate, the share of test rows whose most probable answer is their label.

    A label is the first literal of a test row's observation, and is compared only with the answers
    to queries of its predicate. Under credal, upper probabilities count.
    """
    wanted = [_canonical(label[0]) if label else "" for label in examples(labels, "labels")]
    shares = {}
    for name in dict.fromkeys(map(_predicate, wanted)):
        about = [a for a in answers if isinstance(a, Answer) and _predicate(a.query) == name]
        if len(about) < 2 or any(np.shape(a.numbers[-1]) != (len(wanted),) for a in about):
            continue
        best = _most_probable(about)
        rows = [i for i, text in enumerate(wanted) if _predicate(text) == name]
        shares[name] = float(np.mean([best[i] == wanted[i] for i in rows]))
    return shares


def share_right(answers: Answers, labels: Sequence[object]) -> float:
    """The share of rows whose most probable answer is their label."""
    found = [answer for answer in answers if isinstance(answer, Answer)]
    if not found:
        help = "`dpasp ground` shows which atoms there are"
        raise UsageError.at("label-query", "no atoms match the query: it has no answers", help=help)
    if len(found) == 1:
        message = f"{found[0].query} is the only answer, so it is always the most probable one"
        help = 'ask for all answers that there are, such as ["a", "not a"]'
        raise UsageError.at("label-query", message, help=help)
    for number, label in enumerate(labels):
        if not isinstance(label, str):
            message = f"label {number} is {label!r}, which is not a text"
            help = f'write the answer that is right, such as "{found[0].query}"'
            raise DataError.at("label-values", message, help=help)
    best = _most_probable(found)
    if len(best) != len(labels):
        message = f"the data has {counted(len(best), 'row')} for {counted(len(labels), 'label')}"
        raise DataError.at("data-length", message, help="give one for each row")
    hits = [text == _canonical(str(label)) for text, label in zip(best, labels, strict=True)]
    return float(np.mean(hits)) if hits else 0.0


def _most_probable(answers: Sequence[Answer]) -> list[str]:
    texts = [_canonical(answer.query) for answer in answers]
    numbers = np.stack([np.atleast_1d(answer.numbers[-1]) for answer in answers])
    return [texts[i] for i in numbers.argmax(axis=0)]


def _canonical(text: str) -> str:
    """A literal without superfluous spaces, with ``not`` for ``~``."""
    words = text.strip().removesuffix(".").replace("~", "not ", 1).split()
    sign = "not " if words[:1] == ["not"] else ""
    return sign + "".join(words[1:] if sign else words)


def _predicate(text: str) -> str:
    """The name in a literal, negative or not."""
    return _canonical(text).removeprefix("not ").split("(")[0]
