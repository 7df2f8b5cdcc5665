"""What is asked, as one value: made once, and read by every engine.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. #query a.")), Meaning())
>>> asked.weights, asked.has_rows
(array([0.3, 0.7, 0.5, 0.5]), False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, UsageError
from dpasp.inference.method import Method
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram, GroundQuery, IntervalWeights
from dpasp.scale.pools import HERE, Pool
from dpasp.semantics import leaves
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Question
from dpasp.semantics.meaning import Meaning

INCONSISTENT = ("normalize", "error")
MANY_QUESTIONS = 16  # worth an evaluator for all of them
MANY_CHOICES = 200  # a network has one for each row of a table; with fewer, tables are small


@dataclass(frozen=True)
class Asked:
    """A ground program with its questions, what it means, and how it is to be answered.

    ``weights`` are those of the leaves, [leaves] or [leaves, rows] with one column for each
    row of test data. With ``inconsistent="error"``, total choices without a model are an
    error. The ``watch`` says when to stop, and takes reports.
    """

    ground: GroundProgram
    meaning: Meaning
    weights: Weights
    method: Method
    inconsistent: str
    watch: Watch

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in the order of the answers."""
        return self.ground.questions

    @cached_property
    def queries(self) -> tuple[GroundQuery, ...]:
        """The questions for a probability."""
        return tuple(q for q in self.questions if isinstance(q, GroundQuery))

    @cached_property
    def layout(self) -> LeafLayout:
        """Where the leaves of each choice lie."""
        return leaves.layout(self.ground.choices)

    @property
    def has_rows(self) -> bool:
        """Whether every answer has one number for each row of test data."""
        return self.weights.ndim == 2

    @property
    def columns(self) -> Weights:
        """The weights [leaves, rows]; one row where there is no test data."""
        return self.weights if self.has_rows else self.weights[:, np.newaxis]

    @cached_property
    def has_intervals(self) -> bool:
        """Whether some probabilities are intervals."""
        return any(isinstance(choice.weight, IntervalWeights) for choice in self.ground.choices)

    @property
    def is_large(self) -> bool:
        """Whether there are many questions or choices: a way for many may be worth looking for."""
        return len(self.questions) >= MANY_QUESTIONS or len(self.ground.choices) >= MANY_CHOICES

    @property
    def pool(self) -> Pool:
        """The workers that share the work; without any, this process does it all."""
        return HERE if self.method.pool is None else self.method.pool

    def with_questions(self, questions: Sequence[Question]) -> Asked:
        """The same with other questions, which are over the same atoms."""
        return replace(self, ground=replace(self.ground, questions=tuple(questions)))

    def one_row(self) -> Asked:
        """This value itself; raises :class:`UsageError` if there are rows of test data."""
        if self.has_rows:
            raise UsageError("this needs one row of test data, and the program has many")
        return self


def ask(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    weights: Weights | None = None,
    method: Method = Method(),  # noqa: B008 - frozen
    inconsistent: str = "normalize",
    watch: Watch = UNLIMITED,
) -> Asked:
    """What is asked, checked; ``weights`` are used in place of what the program says.

    Raises :class:`UsageError` if ``inconsistent`` is neither "normalize" nor "error", and
    :class:`DataError` if weights are unknown (NaN), because they come from a network.
    """
    if inconsistent not in INCONSISTENT:
        raise UsageError(f"inconsistent is normalize or error, not {inconsistent!r}")
    known = leaves.weights(ground) if weights is None else weights
    if np.isnan(known).any():
        raise DataError(
            Diagnostic(
                "network-output",
                "the probabilities of this program come from a network, and no data was given",
                help="name test data, as in input(x) ~ test(@images), or ask program.module()",
            )
        )
    return Asked(ground, meaning, known, method, inconsistent, watch)
