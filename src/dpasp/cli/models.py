"""``dpasp models``: the models of a program, by total choice."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence

from dpasp.cli.console import Console
from dpasp.cli.options import (
    FILES,
    LIMITS,
    MEANING,
    OUTPUT,
    PYTHON,
    Flag,
    OptionGroup,
    count,
)
from dpasp.cli.reading import python_allowed, read_limits, read_program, wanted_semantics
from dpasp.errors import Diagnostic
from dpasp.inference.models import Model
from dpasp.program import Program

DESCRIPTION = """\
List the models of every total choice, the most probable choice first, each with the probability
of its choice; #show says what is shown. Models are printed as they are found. A program
without probabilities has the models that clingo finds.

examples:
    dpasp models alarm.plp
    dpasp models alarm.plp --given "alarm, not burglary"
    dpasp models queens.lp -n 1
"""
HOW_MANY = OptionGroup(
    "", (Flag(("-n", "--number"), "so many at most (default: all)", "N", count),)
)
OPTIONS = (FILES, HOW_MANY, MEANING, LIMITS, PYTHON, OUTPUT)
EMPTY = "(nothing is true)"


def execute(options: Namespace, console: Console) -> int:
    """Print the models one after the other."""
    source = read_program(options, console)
    program = Program(source, python=python_allowed(options), constants=dict(options.constants))
    models = program.models(
        options.number,
        given=options.given,
        semantics=wanted_semantics(options),
        limits=read_limits(options),
    )
    console.report(program.warnings)
    if console.json:
        some = write_json(models, program.warnings, console)
    else:
        some = write_models(models, console)
    if not some and not console.quiet:
        console.note("there is no model")
    return 0


def write_models(models: Iterator[Model], console: Console) -> bool:
    """Each total choice on a line, its models below; whether there were any."""
    before: tuple[str, ...] = ()
    some = False
    for model in models:
        if model.choice != before:
            console.answer(model.choice_text)
        before, some = model.choice, True
        console.answer(("  " if model.choice else "") + (str(model) or EMPTY))
    return some


def write_json(models: Iterator[Model], warnings: Sequence[Diagnostic], console: Console) -> bool:
    """One object, written piece by piece."""
    console.answer('{"models": [')
    some = False
    for model in models:
        text = json.dumps(model.to_dict(), ensure_ascii=False)
        console.answer(f"  {',' if some else ''}{text}")
        some = True
    warned = json.dumps([warning.to_dict() for warning in warnings], ensure_ascii=False)
    console.answer(f'], "warnings": {warned}}}' if warnings else "]}")
    return some
