"""How the questions are to be answered: as the caller says, or else as ``#inference`` says.

>>> from dpasp.language import parse
>>> program = parse("#inference sample, n = 100.")
>>> method(program).engine, method(program, options={"n": 7}).whole("n"), method(program, "exact")
('sample', 7, Method(engine='auto', options={}, exact=True))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.language import ast
from dpasp.language.arguments import plain_number
from dpasp.language.statements import engines
from dpasp.language.statements.engines import inference_problems
from dpasp.scale.pools import Pool

TOP = 5  # how many reasons are given, the most probable first

# What people write for a limit, and what it is called.
_LIMITS = {
    **dict.fromkeys(("time_limit", "timeout", "seconds"), "seconds=10"),
    **dict.fromkeys(("memory_limit", "megabytes", "memory"), "megabytes=2000"),
}


@dataclass(frozen=True, slots=True)
class Method:
    """The name of an engine in the table, and the options that it is given.

    With ``exact``, a limit that is reached is an error; otherwise there is an approximate
    answer. The workers of the ``pool`` share the work; without one, this process does it all.
    """

    engine: str = "auto"
    options: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False
    pool: Pool | None = field(default=None, repr=False, compare=False)

    def real(self, option: str) -> float | None:
        """The value of an option as a float; None if it was not given, or is not a number."""
        value = self.options.get(option)
        return float(value) if isinstance(value, int | float) else None

    def whole(self, option: str) -> int | None:
        """The value of an option that is a whole number; None if it was not given."""
        value = self.options.get(option)
        return int(value) if isinstance(value, int | float) else None

    @property
    def anytime(self) -> bool:
        """Whether a limit that stops it leaves an answer: at worst the interval from 0 to 1."""
        return engines.ENGINES[self.engine].anytime and not self.exact

    @property
    def compiles(self) -> bool:
        """Whether the engine makes a circuit."""
        return engines.ENGINES[self.engine].compiles


def method(
    program: ast.Program,
    engine: str | Method | None = None,
    options: Mapping[str, object] | None = None,
    exact: bool = False,
    pool: Pool | None = None,
) -> Method:
    """The method of the program; ``engine`` and ``options`` win over what its text says.

    With ``exact``, or for the engine of that name, nothing but exact answers will do. The
    workers of the ``pool`` share the work.

    Raises :class:`UsageError` for an engine or an option that does not exist, and where exact
    answers are wanted of an engine that gives none.
    """
    if isinstance(engine, Method):
        return replace(engine, exact=engine.exact or exact, pool=pool or engine.pool)
    directive = next((s for s in program.statements if isinstance(s, ast.Inference)), None)
    name = engine or (directive.method if directive else "auto")
    chosen = engines.named(name)
    if chosen is None:
        raise _unknown(name, directive if engine is None else None)
    given = {key: plain_number(value) for key, value in (options or {}).items()}
    wanted = {key: value for key, value in given.items() if value is not None}
    _check(name, wanted)
    written = {option.name: option.value for option in directive.options} if directive else {}
    implied = chosen.aliases.get(name, {})
    known = engines.engine_options(name)
    chosen_options = {
        key: value for key, value in {**implied, **written, **wanted}.items() if key in known
    }
    if exact and not chosen.exact:
        raise UsageError(
            f"the engine {name} does not give exact answers",
            help="ask for exact answers with the engine auto, compile or enumerate",
        )
    return Method(chosen.name, chosen_options, exact or bool(implied.get("exact")), pool)


def _unknown(name: str, directive: ast.Inference | None) -> UsageError:
    known = ", ".join(engines.ENGINES)
    message = f"the engine {name!r} is not one of {known}"
    span = directive.span if directive else None
    return UsageError(Diagnostic("usage", message, span, f"choose one of {known}"))


def _check(name: str, options: Mapping[str, object]) -> None:
    """Raise :class:`UsageError` for options that the engine does not have."""
    asked_for = tuple(ast.Option(key, value) for key, value in options.items())  # type: ignore[arg-type]
    problems = [
        replace(d, span=None, message=d.message.removeprefix("#inference "))
        for d in inference_problems(ast.Inference(name, asked_for))
    ]
    if problems and (limits := [_LIMITS[key] for key in options if key in _LIMITS]):
        problems[0] = replace(problems[0], help=f"limits=dpasp.Limits({', '.join(limits)})")
    if problems:
        raise UsageError(problems)
