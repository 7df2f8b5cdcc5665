"""The protocol of what turns leaf weights into the masses of every question.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> from dpasp.inference.engines.reference.enumerate import enumerate_models
>>> asked = ask(ground(parse("0.3::a. #query a.")), Meaning())
>>> evaluators = [make(asked.ground, asked.meaning) for make in (on_circuit, enumerate_models)]
>>> [(each.name, float(each.masses(asked.columns).a[0, 0])) for each in evaluators]
[('compile', 0.3), ('enumerate', 0.3)]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dpasp.circuits import Circuit
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses

if TYPE_CHECKING:
    from dpasp.inference.engines.reference.enumerate import Enumeration


class Evaluator(Protocol):
    """A circuit or a table that is ready to answer the questions of a program."""

    @property
    def name(self) -> str:
        """The name of the engine that made it: ``compile`` or ``enumerate``."""

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large it is."""

    @property
    def circuit(self) -> Circuit | None:
        """The circuit, where there is one: it can be searched."""

    @property
    def enumeration(self) -> Enumeration | None:
        """All total choices and their models, where they were enumerated."""

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch].

        They are complete: what the semantics makes of total choices without stable models is
        in them. Only those that the answers are made of are known, the others are NaN.
        Raises what the ``watch`` raises.
        """

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses, also of those below 1e-308."""
