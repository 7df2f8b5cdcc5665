"""The torch side of a program: its module and what that learned, made when first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError, tell
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.ground.worlds import one_world
from dpasp.language.arguments import Rows, evidence_and_rows, map_given, queries_given
from dpasp.limits import UNLIMITED, Limits, Watch
from dpasp.program.grounding import Groundings
from dpasp.semantics.leaves import layout
from dpasp.semantics.leaves import weights as leaf_weights
from dpasp.semantics.meaning import Meaning, Objective

if TYPE_CHECKING:
    from dpasp.learning.history import History
    from dpasp.learning.trainable import LearnedState, Trainable
    from dpasp.program.program import Program


class TorchSide:
    """A program's module with everything it learned, and the history of the last learning.

    ``owner`` is a weak reference to the program, whose ``module`` recreates a module that is
    copied. ``told`` are the program's warnings already issued.
    """

    def __init__(
        self,
        groundings: Groundings,
        owner: Callable[[], object],
        told: set[Diagnostic],
    ) -> None:
        self.groundings = groundings
        self.owner = owner
        self.told = told
        self.history: History | None = None
        self.made: Trainable | None = None  # the last module
        self._making = RLock()  # two modules made at the same time would have different networks

    def trainable(
        self,
        watch: Watch = UNLIMITED,
        semantics: str | None = None,
        objective: Objective | None = None,
    ) -> Trainable:
        """Return the last module, or a new one if the semantics or objective differ.

        Raises :class:`UsageError` if torch is not installed.
        """
        need_torch()
        from dpasp.ground.python import ProgramPython
        from dpasp.learning.module import Basis, ProgramModule
        from dpasp.learning.trainable import Trainable

        with self._making:
            groundings, last = self.groundings, None
            meaning = Meaning.of(groundings.source, semantics)
            if self.made is not None:
                last = self.made.model
                meaning = last.meaning if semantics is None else meaning
                objective = objective or last.objective
                if (meaning, objective) == (last.meaning, last.objective):
                    return self.made
            python = ProgramPython(groundings.source, groundings.module(), groundings.constants)
            ground = groundings.unchecked((), meaning).ground(watch)
            tell(ground.warnings, self.told)
            basis = Basis(ground, python, self._queries, self.owner(), self._map, self._worth)
            model = ProgramModule(basis, meaning, objective or Objective(), last)
            self.made = Trainable(model, python)
            return self.made

    def _queries(self, text: str, watch: Watch) -> list[GroundQuery]:
        checked = self.groundings.unchecked(queries_given((text,)))
        ground = one_world(checked.ground(watch))
        tell(ground.warnings, self.told)
        return [question for question in ground.questions if isinstance(question, GroundQuery)]

    def _map(
        self, question: str | None, evidence: object, watch: Watch
    ) -> tuple[GroundProgram, Rows | None]:
        """The ground program with a question for the most probable values, and rows of evidence."""
        given, rows = evidence_and_rows(evidence, self.groundings.columns(watch))
        checked = self.groundings.checked((map_given(question),), given, None)
        return one_world(checked.ground(watch)), rows

    def _worth(self, question: str, watch: Watch) -> GroundProgram:
        trainable = self.made
        checked = self.groundings.checked((question,), (), None)
        if trainable is not None:
            checked = replace(checked, meaning=trainable.model.meaning)
        return one_world(checked.ground(watch))

    def weights(
        self, ground: GroundProgram, watch: Watch, data: Mapping[str, Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the leaf weights from networks and learned parameters; None without them.

        ``data`` replaces the program's test data.
        """
        if self.made is None and not ground.networks and data is None:
            return None
        trainable = self.trainable(watch)
        # Even if it was ground again after an error, the choices, and so the leaves, are the same.
        known = trainable.model.ground.choices
        shared = min(len(known), len(ground.choices))  # under weighted there may be more choices
        assert ground.choices[:shared] == known[:shared]
        weights = trainable.weights(data=data)
        if len(known) > shared:
            return weights[: layout(ground.choices).size]
        if len(ground.choices) > shared:
            more = leaf_weights(ground)[layout(known).size :]
            shape = (len(more), *weights.shape[1:])
            more = np.broadcast_to(more.reshape(-1, *[1] * (weights.ndim - 1)), shape)
            return np.concatenate([weights, more])
        return weights

    def with_intervals(self, ground: GroundProgram, meaning: Meaning) -> GroundProgram:
        """Return a ground program with the learned intervals, if there are any.

        Raises :class:`UsageError` under maxent, where a probability is a number.
        """
        if self.made is None or self.made.intervals is None:
            return ground
        return self.made.intervals.put_into(ground, meaning)

    def state(self) -> LearnedState | None:
        """Return what :meth:`set_state` of a copy needs; None if there is no module."""
        return None if self.made is None else self.made.state()

    def set_state(self, state: LearnedState | None) -> None:
        """Take over what another copy of the program has learned."""
        if state is not None:
            semantics, objective, tensors, intervals = state
            self.trainable(UNLIMITED, semantics, objective).take_over(tensors, intervals)


def need_torch() -> None:
    """Raise a :class:`UsageError` that says what to install if torch is missing."""
    from importlib.util import find_spec

    for name in ("torch", "safetensors"):
        if find_spec(name) is None:
            message = f"networks and learning need {name}, which is not installed"
            raise UsageError.at("torch-missing", message, help="pip install 'dpasp[learn]'")


@dataclass(frozen=True)
class Members:
    """The job of training the members of an ensemble, one per seed, from a program's texts."""

    made_of: Any
    observations: object
    options: Mapping[str, Any]

    def start(self, watch: Watch) -> Callable[[int, Watch], Program]:
        """Return the function that learns with a seed."""
        from dpasp.program.program import copied

        def learned(seed: int, watch: Watch) -> Program:
            member, options = copied(self.made_of), dict(self.options)
            if watch.limited:
                options["limits"] = Limits(watch.remaining(), watch.limits.megabytes)
            member.learn(self.observations, seed=seed, **options)
            return member

        return learned
