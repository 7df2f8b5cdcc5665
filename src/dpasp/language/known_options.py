"""The options of ``#learn`` and ``#inference``: their names and what they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from dpasp.errors import Diagnostic
from dpasp.language import ast
from dpasp.language.cursor import nearest


class Kind(NamedTuple):
    """What the value of an option must be: in words, as a test, and some of them."""

    words: str
    holds: Callable[[ast.Value], bool]
    examples: tuple[str, ...]


def _number(value: ast.Value) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if good and isinstance(value, int | float) else None


def _real(words: str, test: Callable[[float], bool], example: str) -> Kind:
    return Kind(words, lambda value: (n := _number(value)) is not None and test(n), (example,))


def _word(*known: str) -> Kind:
    quoted = tuple(f'"{word}"' for word in known)
    return Kind(f"one of {', '.join(known)}", lambda value: value in known, quoted)


POSITIVE = _real("a number above 0", lambda n: n > 0, "0.001")
COUNT = _real("a whole number above 0", lambda n: n > 0 and n.is_integer(), "10")
WHOLE = _real("a whole number, 0 or more", lambda n: n >= 0 and n.is_integer(), "0")
SHARE = _real("a number from 0 to 1", lambda n: 0 <= n <= 1, "0.1")
NOT_NEGATIVE = _real("a number, 0 or more", lambda n: n >= 0, "0.1")
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool) or value in (0, 1), ("true",))
TEXT = Kind("text in quotes", lambda value: isinstance(value, str), ('"…"',))

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


NETWORK = {"lr": POSITIVE, "optim": TEXT, "logits": BOOLEAN}  # others are the optimiser's own

# The methods that have an option; every method has those that are not here.
_METHODS = {
    "n": ("sample",),
    "gap": ("bounds", "aseo", "sample"),
    "nmodels": ("bounds", "aseo"),
}


def check_options(statement: ast.Learn | ast.Inference | ast.Neural) -> Iterator[Diagnostic]:
    """What is wrong with the options of a statement."""
    match statement:
        case ast.Learn():
            word, known = "#learn", LEARN
        case ast.Inference():
            word, known = f"#inference {statement.method}", _of_method(statement.method)
        case ast.Neural():
            word, known = "", NETWORK
    for option in statement.options:
        kind = known.get(option.name)
        if kind is None and word:
            help = nearest(option.name, known) or f"known are {', '.join(known)}"
            if isinstance(statement, ast.Inference) and option.name in _METHODS:
                help = f"{option.name} is an option of {' and '.join(_METHODS[option.name])}"
            message = f"{word} has no option {option.name}"
            yield Diagnostic("unknown-option", message, option.span, help)
        elif kind is not None and not kind.holds(option.value):
            message = f"{option.name} must be {kind.words}"
            words = [word.strip('"') for word in kind.examples]
            close = nearest(option.value, words) if isinstance(option.value, str) else ""
            help = close or f"write {option.name} = {kind.examples[0]}"
            yield Diagnostic("option-value", message, option.span, help)


def _of_method(method: str) -> dict[str, Kind]:
    return {
        name: kind for name, kind in INFERENCE.items() if method in _METHODS.get(name, (method,))
    }
