"""The options of ``#learn`` and ``#inference``: their names and what they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from dpasp.errors import Diagnostic
from dpasp.language import ast
from dpasp.language.cursor import nearest


class Kind(NamedTuple):
    """What the value of an option must be, in words and as a test."""

    words: str
    holds: Callable[[ast.Value], bool]


def _number(value: ast.Value) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if good and isinstance(value, int | float) else None


def _real(words: str, test: Callable[[float], bool]) -> Kind:
    return Kind(words, lambda value: (n := _number(value)) is not None and test(n))


def _word(*known: str) -> Kind:
    return Kind("one of " + ", ".join(known), lambda value: value in known)


POSITIVE = _real("a number above 0", lambda n: n > 0)
COUNT = _real("a whole number above 0", lambda n: n > 0 and n.is_integer())
WHOLE = _real("a whole number, 0 or more", lambda n: n >= 0 and n.is_integer())
SHARE = _real("a number from 0 to 1", lambda n: 0 <= n <= 1)
NOT_NEGATIVE = _real("a number, 0 or more", lambda n: n >= 0)
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool) or value in (0, 1))
TEXT = Kind('a "string"', lambda value: isinstance(value, str))

LEARN = {
    "lr": POSITIVE,
    "niters": COUNT,
    "batch": COUNT,
    "alg": _word("lagrange", "neurasp", "fixpoint", "em", "gradient"),
    "momentum": SHARE,
    "smoothing": NOT_NEGATIVE,
    "display": _word("none", "progress", "loglikelihood"),
    "seed": WHOLE,
    "shuffle": BOOLEAN,
    "validation": SHARE,
    "patience": COUNT,
    "objective": _word("lower", "upper", "midpoint"),
    "device": TEXT,
}

INFERENCE = {
    "n": COUNT,
    "gap": SHARE,
    "nmodels": COUNT,
    "seed": WHOLE,
}


def check_options(statement: ast.Learn | ast.Inference) -> Iterator[Diagnostic]:
    """What is wrong with the options of a directive."""
    known = LEARN if isinstance(statement, ast.Learn) else INFERENCE
    word = "#learn" if isinstance(statement, ast.Learn) else "#inference"
    for option in statement.options:
        if option.name not in known:
            help = nearest(option.name, known) or f"known are {', '.join(known)}"
            message = f"{word} has no option {option.name}"
            yield Diagnostic("unknown-option", message, option.span, help)
        elif not known[option.name].holds(option.value):
            message = f"{option.name} must be {known[option.name].words}"
            yield Diagnostic("option-value", message, option.span)
