"""The torch side of a program: its module with what it learned, made when it is first needed.

>>> from dpasp.language import parse
>>> from dpasp.limits import UNLIMITED
>>> from dpasp.program.grounding import Groundings
>>> side = TorchSide(Groundings(parse("0.3?::a.")))
>>> side.trainable(UNLIMITED).learned()[0]["values"]
[0.3]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, UsageError, tell
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.language.arguments import queries_given
from dpasp.language.checks import effective_semantics
from dpasp.limits import UNLIMITED, Watch
from dpasp.program.grounding import Groundings
from dpasp.semantics.meaning import Meaning, Objective

if TYPE_CHECKING:
    from dpasp.inference.answers import Answers
    from dpasp.learning.history import History
    from dpasp.learning.train import HowToLearn
    from dpasp.learning.trainable import LearnedState, Trainable
    from dpasp.neural.module import ProgramModule


class TorchSide:
    """The module of a program with all that it learned, and the history of the last learning.

    ``owner`` refers to the program, whose ``module`` makes such a module again when it is
    copied; weakly, so that a program that nobody holds any more is freed at once. ``told`` are
    the program's warnings that were issued.
    """

    def __init__(
        self,
        groundings: Groundings,
        owner: Callable[[], object] = lambda: None,
        told: set[Diagnostic] | None = None,
    ) -> None:
        self.groundings = groundings
        self.owner = owner
        self.told = set() if told is None else told
        self.history: History | None = None
        self._trainable: Trainable | None = None
        self._making = RLock()  # while a module is made: two would have networks of their own

    @property
    def in_use(self) -> bool:
        """Whether something was learned, or made ready to be."""
        return self._trainable is not None

    def trainable(
        self,
        watch: Watch = UNLIMITED,
        semantics: str | None = None,
        objective: Objective | None = None,
    ) -> Trainable:
        """Return the module and what belongs to it: the last one, unless another is asked for.

        Raises :class:`UsageError` where torch is not installed.
        """
        need_torch()
        with self._making:
            return self._made(watch, semantics, objective)

    def module(
        self, watch: Watch, semantics: str | None, objective: Objective | None
    ) -> ProgramModule:
        """Return the module to answer with, under a semantics that its probabilities allow."""
        if self._trainable is not None and semantics is not None:
            meaning = Meaning(*effective_semantics(self.groundings.source, semantics))
            self.with_intervals(self._trainable.model.ground, meaning)
        return self.trainable(watch, semantics, objective).model

    def _made(self, watch: Watch, semantics: str | None, objective: Objective | None) -> Trainable:
        from dpasp.ground.python import ProgramPython
        from dpasp.learning.trainable import Trainable
        from dpasp.neural.module import Basis, ProgramModule

        groundings = self.groundings
        meaning = Meaning(*effective_semantics(groundings.source, semantics))
        last = None
        if self._trainable is not None:
            last = self._trainable.model
            meaning = last.meaning if semantics is None else meaning
            objective = objective or last.objective
            if (meaning, objective) == (last.meaning, last.objective):
                return self._trainable
        python = ProgramPython(groundings.source, groundings.module(), groundings.constants)
        ground = groundings.ground(groundings.unchecked((), meaning), watch)
        tell(ground.warnings, self.told)
        basis = Basis(ground, python, self._queries, self.owner())
        model = ProgramModule(basis, meaning, objective or Objective(), last)
        self._trainable = Trainable(model, python)
        return self._trainable

    def _queries(self, text: str, watch: Watch) -> list[GroundQuery]:
        """The ground queries that a text stands for."""
        checked = self.groundings.unchecked(queries_given((text,)))
        ground = self.groundings.ground(checked, watch)
        tell(ground.warnings, self.told)
        return [question for question in ground.questions if isinstance(question, GroundQuery)]

    def learn(
        self,
        observations: object,
        data: Mapping[str, object] | None,
        semantics: str | None,
        how: HowToLearn,
    ) -> History:
        """Learn from observations (None: those that ``#learn`` names); return what happened."""
        from dpasp.learning.trainable import seeded

        with seeded(how.options.seed):  # the first weights of a network depend on it
            trainable = self.trainable(how.watch, semantics, how.options.goal)
            self.history = trainable.learn(observations, data, how)
        return self.history

    def weights(
        self, ground: GroundProgram, watch: Watch, data: Mapping[str, Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the leaf weights that networks and learned parameters give.

        None where the program has neither: its own probabilities hold. ``data`` is used in
        place of the program's test data.
        """
        if self._trainable is None and not ground.networks and not data:
            return None
        trainable = self.trainable(watch)
        # Ground once or again after an error: the choices, and so the leaves, are the same.
        assert ground.choices == trainable.model.ground.choices
        return trainable.weights(data=data)

    def with_intervals(self, ground: GroundProgram, meaning: Meaning) -> GroundProgram:
        """Return a ground program with the learned intervals, if there are any.

        Raises :class:`UsageError` under maxent, where a probability is a number.
        """
        if self._trainable is None or self._trainable.intervals is None:
            return ground
        return self._trainable.intervals.put_into(ground, meaning)

    def record(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return what was learned, and the iterations, as answers hold them."""
        if self._trainable is None:
            return [], []
        return self._trainable.learned(), self.history.to_list() if self.history else []

    def accuracies(self, answers: Answers) -> dict[str, Any]:
        """Return how often the answers are the labels of the test rows, if there are labels."""
        if self._trainable is None or not (labels := self._trainable.labels()):
            return {}
        from dpasp.learning.accuracy import accuracies

        return {"accuracy": accuracies(answers, labels)}

    def state(self) -> LearnedState | None:
        """Return what :meth:`set_state` needs to make a copy; None if there is no module."""
        return None if self._trainable is None else self._trainable.state()

    def set_state(self, state: LearnedState | None) -> None:
        """Take over what another side of the same program has learned."""
        if state is not None:
            semantics, objective, tensors, intervals = state
            model = self.trainable(UNLIMITED, semantics, objective).model
            model.load_state_dict(tensors)
            model.probabilities.intervals = intervals


def need_torch() -> None:
    """Raise :class:`UsageError`, which says what to install, where torch is missing."""
    from importlib.util import find_spec

    for name in ("torch", "safetensors"):
        if find_spec(name) is None:
            message = f"networks and learning need {name}, which is not installed"
            raise UsageError(
                Diagnostic("torch-missing", message, help="pip install 'dpasp[learn]'")
            )
