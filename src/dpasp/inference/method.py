"""How the questions are to be answered: what ``#inference`` says, and what wins over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpasp.errors import Diagnostic, UsageError
from dpasp.language import ast
from dpasp.language.statements.inference import inference_problems

ENGINES = ("auto", "compile", "enumerate", "sample", "bounds")
ALIASES = {"exact": "auto", "aseo": "bounds"}
ASEO = 1000  # total choices that aseo looks at


@dataclass(frozen=True, slots=True)
class Method:
    """An engine and what it was told; None is its default."""

    engine: str = "auto"
    n: int | None = None  # samples
    seed: int | None = None
    gap: float | None = None
    nmodels: int | None = None  # total choices


def method(
    program: ast.Program, engine: str | None = None, options: Mapping[str, object] | None = None
) -> Method:
    """The method of the program; ``engine`` and ``options`` win over what it says.

    >>> from dpasp.language import parse
    >>> method(parse("#inference exact.")).engine
    'auto'
    """
    told = next((s for s in program.statements if isinstance(s, ast.Inference)), None)
    name = engine or (told.method if told else "auto")
    given = {key: value for key, value in (options or {}).items() if value is not None}
    chosen = ALIASES.get(name, name)
    if chosen not in ENGINES:
        _refuse(name, told if engine is None else None)
    _check(name, given)
    said = {option.name: option.value for option in told.options} if told else {}
    usual = {"nmodels": ASEO, "gap": 0.0} if name == "aseo" else {}
    return _method(chosen, {**usual, **said, **given})


def _method(engine: str, options: Mapping[str, object]) -> Method:
    def whole(key: str) -> int | None:
        value = options.get(key)
        return int(value) if isinstance(value, int | float) else None

    gap = options.get("gap")
    return Method(
        engine,
        whole("n"),
        whole("seed"),
        float(gap) if isinstance(gap, int | float) else None,
        whole("nmodels"),
    )


def _refuse(name: str, told: ast.Inference | None) -> None:
    known = ", ".join(ENGINES)
    message = f"the engine {name!r} is not one of {known}"
    raise UsageError(
        Diagnostic("usage", message, told.span if told else None, f"choose one of {known}")
    )


def _check(name: str, options: Mapping[str, object]) -> None:
    """Raise :class:`UsageError` for options that the engine does not have."""
    asked = tuple(ast.Option(key, value) for key, value in options.items())  # type: ignore[arg-type]
    problems = [
        replace(d, span=None, message=d.message.removeprefix("#inference "))
        for d in inference_problems(ast.Inference(name, asked))
    ]
    if problems:
        raise UsageError(problems)
