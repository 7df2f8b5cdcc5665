"""The members of an ensemble, each of which any worker may train.

A program travels as its text, and what it learned as arrays; the Python of the program runs where
it learns, if it may run at all.

>>> import dpasp
>>> from dpasp.limits import UNLIMITED
>>> program = dpasp.loads("?::a.")
>>> job = Learners(program.__reduce__()[1][:2], ["a", "a", "not a"], {"niters": 9})
>>> semantics, _, arrays, _, log = job.start(UNLIMITED)(1, UNLIMITED)  # the seed is 1
>>> semantics, sorted(arrays), round(log, 3)  # log 2/3, log 2/3 and log 1/3
('stable, credal', ['probabilities.logits'], -1.91)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.language.observations import examples
from dpasp.limits import Limits, Watch, started
from dpasp.program.program import Program, copied
from dpasp.scale.pools import Pool
from dpasp.semantics.meaning import Objective

if TYPE_CHECKING:
    from dpasp.neural.parameters import LearnedIntervals

# As LearnedState, with arrays in place of tensors; and the log-likelihood of the last pass.
State = tuple[str, Objective, dict[str, NDArray[Any]], "LearnedIntervals | None", float]


@dataclass(frozen=True)
class Learners:
    """The job of learning from observations, with a seed for each part."""

    again: tuple[Any, ...]  # what makes the program
    observations: object
    options: Mapping[str, Any]

    def start(self, watch: Watch) -> Callable[[int, Watch], State]:
        """What learns with a seed and tells what came of it."""

        def learn(seed: int, watch: Watch) -> State:
            from dpasp.learning.ensembles import last_log_likelihood

            program = copied(self.again[0], self.again[1], None, None)
            left = watch.remaining()
            limits = Limits(left, watch.limits.megabytes)
            history = program.learn(self.observations, seed=seed, limits=limits, **self.options)
            state = program._torch.state()
            assert state is not None
            semantics, objective, tensors, intervals = state
            arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
            return semantics, objective, arrays, intervals, last_log_likelihood(history)

        return learn


def learned(
    program: Program, count: int, pool: Pool, asked: Mapping[str, Any]
) -> tuple[list[Program], list[float]]:
    """So many copies of a program, each of which learned with a seed of its own.

    With them their log-likelihoods.
    """
    import torch

    if program.objects:
        name = next(iter(program.objects))
        raise UsageError(
            f"{name} is an object of this process, and does not go to those of a cluster",
            help="let the program make it: a function in #python, or @module:name",
        )
    options = dict(asked)
    watch = started(options.pop("limits", Limits()))
    first, observations = int(options.pop("seed", 0)), options.pop("observations", None)
    if observations is not None and not isinstance(observations, str | Path):
        observations = [list(example) for example in examples(observations)]
    again = program.__reduce__()[1][:2]
    job = Learners(again, observations, options)
    members, logs = [], []
    with closing(pool.map(job, range(first, first + count), watch, fair=True)) as states:
        for semantics, objective, arrays, intervals, log in states:
            member = copied(again[0], again[1], None, None)
            tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
            member._torch.set_state((semantics, objective, tensors, intervals))
            members.append(member)
            logs.append(log)
    return members, logs
