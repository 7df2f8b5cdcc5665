"""A question for the most probable values, with the evaluator that it is asked of.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #map a? | b.")), Meaning())
>>> task = MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))
>>> task.question.text, float(task.evidence_masses().a), task.tiny()
('a? | b', 0.6, False)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpasp.circuits import Circuit
from dpasp.dataclass import dataclass
from dpasp.inference.asked import Asked
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.tiny import LOG_TINY
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap, GroundProgram
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Masses
from dpasp.semantics.meaning import Meaning


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How long a search may take.

    With ``at_any_time``, it ends with the best so far when the ``watch`` reaches a limit; without,
    that is an error.
    """

    watch: Watch
    at_any_time: bool = False


@dataclass(frozen=True, slots=True)
class MapTask:
    """A ``#map`` or ``#mpe``: what is asked, which of the questions it is, and the evaluator."""

    asked: Asked
    place: int  # of the question
    evaluator: Evaluator

    @property
    def question(self) -> GroundMap:
        """The question."""
        question = self.asked.questions[self.place]
        assert isinstance(question, GroundMap)
        return question

    @property
    def circuit(self) -> Circuit:
        """The circuit of the evaluator, which must have one."""
        circuit = self.evaluator.circuit
        assert circuit is not None
        return circuit

    @property
    def ground(self) -> GroundProgram:
        """The ground program."""
        return self.asked.ground

    @property
    def meaning(self) -> Meaning:
        """The meaning of the program."""
        return self.asked.meaning

    @property
    def weights(self) -> Weights:
        """The leaf weights [leaves]."""
        return self.asked.weights

    @property
    def layout(self) -> LeafLayout:
        """Where the leaves of each choice lie."""
        return self.asked.layout

    @property
    def watch(self) -> Watch:
        """The clock; work within a search reports nothing."""
        return self.asked.watch.silenced()

    def search_limits(self, parts: int = 1) -> SearchLimits:
        """How long a search may take that is the first of ``parts`` in the time that is left."""
        return SearchLimits(self.asked.watch.share(parts), not self.asked.method.exact)

    def at(self, weights: Weights) -> MapTask:
        """The same question under other weights [leaves]."""
        return replace(self, asked=replace(self.asked, weights=weights))

    def evidence_masses(self) -> Masses:
        """The masses of the evidence, each a number."""
        return self.evaluator.masses(self.weights[:, np.newaxis], self.watch)[self.place, 0]

    def log_evidence_masses(self) -> Masses:
        """Their logarithms, also of those below 1e-308."""
        return self.evaluator.log_masses(self.weights[:, np.newaxis], self.watch)[self.place, 0]

    def tiny(self) -> bool:
        """Whether the masses of the evidence may have lost digits."""
        total = self.log_evidence_masses()
        return any(-np.inf < mass < LOG_TINY for mass in (total.a, total.b, total.e))

    def undefined(self) -> bool:
        """Whether total choices without stable models have weight and satisfy the evidence."""
        if not self.meaning.holds_without_models(self.question.evidence):
            return False
        return bool(self.evidence_masses().undefined > 0)
