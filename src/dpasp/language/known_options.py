"""The options of ``#learn`` and ``#inference``: their names and what they may be."""

from __future__ import annotations

from collections.abc import Iterator

from dpasp.errors import Diagnostic
from dpasp.language import ast
from dpasp.language.cursor import nearest
from dpasp.language.engines import options_of, with_option
from dpasp.language.kinds import (
    BOOLEAN,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    TEXT,
    WHOLE,
    one_of,
)

LEARN = {
    "lr": POSITIVE,
    "niters": COUNT,
    "batch": COUNT,
    "alg": one_of("lagrange", "neurasp", "fixpoint", "em", "gradient"),
    "momentum": SHARE,
    "smoothing": NOT_NEGATIVE,
    "display": one_of("none", "progress", "loglikelihood"),
    "seed": WHOLE,
    "shuffle": BOOLEAN,
    "validation": SHARE,
    "patience": COUNT,
    "objective": one_of("lower", "upper", "midpoint"),
    "device": TEXT,
}

NETWORK = {"lr": POSITIVE, "optim": TEXT, "logits": BOOLEAN}  # others are the optimiser's own


def check_options(statement: ast.Learn | ast.Inference | ast.Neural) -> Iterator[Diagnostic]:
    """What is wrong with the options of a statement."""
    match statement:
        case ast.Learn():
            word, known = "#learn", dict(LEARN)
        case ast.Inference():
            word, known = f"#inference {statement.method}", dict(options_of(statement.method))
        case ast.Neural():
            word, known = "", NETWORK
    for option in statement.options:
        kind = known.get(option.name)
        if kind is None and word:
            help = nearest(option.name, known) or f"known are {', '.join(known)}"
            if isinstance(statement, ast.Inference) and (others := with_option(option.name)):
                help = f"{option.name} is an option of {' and '.join(others)}"
            message = f"{word} has no option {option.name}"
            yield Diagnostic("unknown-option", message, option.span, help)
        elif kind is not None and not kind.holds(option.value):
            message = f"{option.name} must be {kind.words}"
            words = [word.strip('"') for word in kind.examples]
            close = nearest(option.value, words) if isinstance(option.value, str) else ""
            help = close or f"write {option.name} = {kind.examples[0]}"
            yield Diagnostic("option-value", message, option.span, help)
