"""A question for the most probable values, with the circuit that it is asked of."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dpasp.inference.engines import OnCircuit
from dpasp.inference.tiny import LOG_TINY
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap, GroundProgram
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses, all_undefined


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``#map`` or ``#mpe``, what it means, and the circuit of the program's questions."""

    ground: GroundProgram
    place: int  # of the question
    logic: Logic
    probability: Probability
    evaluator: OnCircuit
    weights: Weights  # [leaves]
    watch: Watch

    @property
    def question(self) -> GroundMap:
        """The question."""
        question = self.ground.questions[self.place]
        assert isinstance(question, GroundMap)
        return question

    def total(self) -> Masses:
        """The masses of the evidence."""
        own = Masses.of(self.evaluator.masses(self.weights[:, np.newaxis])[self.place, :, 0])
        return masses.prepare(own, self.logic, (), self.question.evidence)

    def log_total(self) -> Masses:
        """The logarithms of the masses of the evidence, also of those below 1e-308."""
        if self.logic is Logic.SMPROBLOG and all_undefined(self.question.evidence):
            total = self.total()
            with np.errstate(divide="ignore"):
                return Masses(*(np.log(getattr(total, one.name)) for one in fields(total)))
        logs = self.evaluator.log_masses(self.weights[:, np.newaxis])[self.place, :, 0]
        return Masses.of(np.append(logs, np.nan))  # what is inconsistent does not matter here

    def tiny(self) -> bool:
        """Whether the masses of the evidence may have lost digits."""
        total = self.log_total()
        return any(-np.inf < mass < LOG_TINY for mass in (total.a, total.b, total.e))

    def undefined(self) -> bool:
        """Whether some total choice without models satisfies the evidence, as under smproblog."""
        if self.logic is not Logic.SMPROBLOG or not all_undefined(self.question.evidence):
            return False
        return bool(self.evaluator.masses(self.weights[:, np.newaxis])[self.place, -1, 0] > 0)
