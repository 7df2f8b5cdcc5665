"""The options of ``#learn`` and ``program.learn()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from dpasp.circuits.gpu.walks import there_is
from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.language import ast
from dpasp.language.arguments import plain_number
from dpasp.language.statements.options import LEARN, must_be, option_help
from dpasp.semantics.meaning import Objective

NETWORK_RATE = 0.001
PARAMETER_RATE = 0.1
PASSES = 30  # passes over the examples by default,
FACTOR_PASSES = 200  # if factors are learned from all examples at once,
MOST_PASSES = 2000  # and for expectation maximisation, which stops by itself
# By what share the log-likelihood may still rise; probabilities get half as many digits.
TOLERANCE = 1e-12
# The parameters of learn() that are not options of #learn.
PARAMETERS = "data maximise semantics checkpoint resume force limits watcher".split()
DEFAULT_BATCH = 100  # examples per step by default, with networks


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How to learn; None is a default that depends on the program."""

    lr: float | None = None
    niters: int | None = None
    tolerance: float | None = None
    batch: int | None = None
    alg: str | None = None
    momentum: float = 0.0
    smoothing: float = 0.0
    display: str = "progress"
    seed: int = 0
    shuffle: bool = True
    validation: float = 0.0
    patience: int | None = None
    objective: str = "midpoint"
    weight: float | None = None
    device: str = "cpu"
    schedule: str = "constant"
    warmup: float = 0.0
    average: float = 0.0
    capture: bool = False
    query: str | None = None
    imprecise: float | None = None
    entropy: float = 0.0
    accumulate: int = 1
    precision: str = "full"
    workers: int = 0
    likelihood: str = "auto"
    nodes: int | None = None
    samples: int = 1000

    @property
    def place(self) -> str:
        """The device; auto means a GPU if there is one.

        Raises :class:`UsageError` if this machine has no such device.
        """
        if self.device == "cpu":
            return self.device
        place = there_is(self.device)
        return place.type if self.device == "auto" else self.device

    @property
    def goal(self) -> Objective:
        """What is maximised under credal."""
        return Objective(self.objective, self.weight)


_KINDS: dict[str, Callable[[Any], Any]] = {"bool": bool, "float": float, "int": int, "str": str}


def learn_statement(program: ast.Program) -> ast.Learn | None:
    return next((s for s in program.statements if isinstance(s, ast.Learn)), None)


def learn_options(program: ast.Program, wanted: Mapping[str, Any]) -> LearnOptions:
    """The options of a program's ``#learn``, overridden by those that are ``wanted``.

    Raises :class:`UsageError` for an unknown option or a wrong value among them.

    >>> from dpasp.language import parse
    >>> learn_options(parse('?::a. #learn "seen.csv", niters = 5.'), {"lr": 0.1}).niters
    5
    """
    statement = learn_statement(program)
    values: dict[str, Any] = {}
    for option in statement.options if statement else ():
        values[option.name] = option.value
    known = {field.name: _KINDS[str(field.type).split()[0]] for field in fields(LearnOptions)}
    for name, given in wanted.items():
        if name not in known:
            help = option_help(name, sorted([*known, *PARAMETERS]))
            raise UsageError.at("unknown-option", f"learn() has no option {name}", help=help)
        value: Any = plain_number(given)
        if value is None:  # treated as not given
            values.pop(name, None)
            continue
        if not LEARN[name].holds(value):
            message = f"{must_be(name, LEARN[name], value)}, not {value!r}"
            help = f"say {name}={LEARN[name].examples[0]}"
            raise UsageError.at("option-value", message, help=help)
        values[name] = value
    return LearnOptions(**{name: known[name](value) for name, value in values.items()})
