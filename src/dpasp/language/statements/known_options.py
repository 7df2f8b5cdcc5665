"""What the values of options may be: tables of names that statements check their options with.

>>> from dpasp.language.ast import Option
>>> [problem.message for problem in check_options([Option("n", -1)], {"n": COUNT}, "#inference")]
['n must be a whole number above 0']
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from sys import float_info
from typing import NamedTuple

from dpasp.errors import Diagnostic, nearest
from dpasp.language.statements.options import Option, OptionValue


class Allowed(NamedTuple):
    """What the value of an option must be: in words, as a test, and some of them."""

    words: str
    holds: Callable[[OptionValue], bool]
    examples: tuple[str, ...]


def _real(words: str, test: Callable[[float], bool], example: str) -> Allowed:
    def holds(value: OptionValue) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return -float_info.max <= value <= float_info.max and test(value)

    return Allowed(words, holds, (example,))


def _whole(words: str, test: Callable[[float], bool], example: str) -> Allowed:
    return _real(words, lambda n: n == int(n) and n <= LARGEST_INTEGER and test(n), example)


def _word(*known: str) -> Allowed:
    quoted = tuple(f'"{word}"' for word in known)
    return Allowed(f"one of {', '.join(known)}", lambda value: value in known, quoted)


LARGEST_INTEGER = 2**63 - 1  # what fits into the integers of native code

POSITIVE = _real("a number above 0", lambda n: n > 0, "0.001")
COUNT = _whole("a whole number above 0", lambda n: n > 0, "10")
WHOLE = _whole("a whole number, 0 or more", lambda n: n >= 0, "0")
SHARE = _real("a number from 0 to 1", lambda n: 0 <= n <= 1, "0.1")
CHAINS = _whole("a whole number from 2 to 16", lambda n: 2 <= n <= 16, "16")
NOT_NEGATIVE = _real("a number, 0 or more", lambda n: n >= 0, "0.1")
BOOLEAN = Allowed(
    "true or false", lambda value: isinstance(value, bool) or value in (0, 1), ("true",)
)
TEXT = Allowed("text in quotes", lambda value: isinstance(value, str), ('"…"',))

LEARN = {
    "lr": POSITIVE,
    "niters": COUNT,
    "tolerance": POSITIVE,
    "batch": COUNT,
    "alg": _word("lagrange", "neurasp", "fixpoint", "em", "gradient"),
    "momentum": SHARE,
    "smoothing": NOT_NEGATIVE,
    "display": _word("none", "progress", "loglikelihood"),
    "seed": WHOLE,
    "shuffle": BOOLEAN,
    "validation": SHARE,
    "patience": COUNT,
    "objective": _word("lower", "upper", "midpoint", "hurwicz"),
    "weight": SHARE,
    "device": TEXT,
    "schedule": _word("constant", "linear", "cosine"),
    "warmup": SHARE,
    "average": SHARE,
    "capture": BOOLEAN,
    "query": TEXT,
    "imprecise": POSITIVE,
    "entropy": NOT_NEGATIVE,
    "accumulate": COUNT,
    "precision": _word("full", "bfloat16"),
    "workers": WHOLE,
    "likelihood": _word("auto", "exact", "bound", "sampled"),
    "nodes": COUNT,
    "samples": COUNT,
}

NETWORK = {"lr": POSITIVE, "optim": TEXT, "logits": BOOLEAN}  # others are the optimiser's own


def must_be(name: str, allowed: Allowed, value: object) -> str:
    """What the value of an option must be, in place of one that it cannot be."""
    large = isinstance(value, int) and value > LARGEST_INTEGER and "whole" in allowed.words
    return f"{name} must be {allowed.words}{f', at most {LARGEST_INTEGER}' if large else ''}"


def check_names(
    options: Iterable[Option], known: Container[str], message: str, help: Callable[[str], str]
) -> Iterator[Diagnostic]:
    """Options that are not known; ``help`` says what to do about a name."""
    for option in options:
        if option.name not in known:
            text = f"{message} {option.name}"
            yield Diagnostic("unknown-option", text, option.span, help(option.name))


def check_values(options: Iterable[Option], known: Mapping[str, Allowed]) -> Iterator[Diagnostic]:
    """Known options whose value is not what it may be."""
    for option in options:
        allowed = known.get(option.name)
        if allowed is not None and not allowed.holds(option.value):
            message = must_be(option.name, allowed, option.value)
            words = [word.strip('"') for word in allowed.examples]
            close = nearest(option.value, words) if isinstance(option.value, str) else ""
            help = close or f"write {option.name} = {allowed.examples[0]}"
            yield Diagnostic("option-value", message, option.span, help)


def check_options(
    options: Sequence[Option], known: Mapping[str, Allowed], word: str
) -> Iterator[Diagnostic]:
    """What is wrong with the options of a directive that has the ``known`` ones and no others."""

    def help(name: str) -> str:
        return nearest(name, known) or f"known are {', '.join(known)}"

    yield from check_names(options, known, f"{word} has no option", help)
    yield from check_values(options, known)
