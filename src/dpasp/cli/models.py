"""``dpasp models`` and ``sample``: the models of a program, all or some drawn at random."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence

from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import (
    CLUSTER,
    FILES,
    LIMITS,
    MEANING,
    OUTPUT,
    PYTHON,
    Flag,
    OptionGroup,
    whole_number,
)
from dpasp.cli.reading import read_limits, read_program, wanted_semantics, with_constants
from dpasp.errors import Diagnostic
from dpasp.inference.answers import bounds_text
from dpasp.inference.models import Model

EMPTY = "(nothing is true)"
AT_MOST = OptionGroup(
    "",
    (
        Flag(("-n", "--number"), "at most this many (default: all, as is 0)", "N", whole_number),
        Flag(
            ("--best",), "the N most probable models, each by itself; 0 is all", "N", whole_number
        ),
    ),
)
HOW_MANY = OptionGroup(
    "",
    (
        Flag(("-n", "--number"), "how many (default: 1)", "N", whole_number, default=1),
        Flag(("--seed",), "the same seed gives the same models", "N", whole_number),
        Flag(
            ("--intervals",),
            "which value of each interval of probabilities to draw with",
            choices=("lower", "middle", "upper"),
        ),
        CLUSTER,
    ),
)


@command(FILES, AT_MOST, MEANING, LIMITS, PYTHON, OUTPUT)
def models(options: Namespace, console: Console) -> int:
    """List the models of every total choice, the most probable one first.

    Each total choice is printed with its probability. #show selects the atoms to show. Models are
    printed as they are found. A program without probabilities has the models that clingo finds.
    With --best each line is a model with its own probability; those that show the same are one.

    examples:
        dpasp models alarm.plp
        dpasp models alarm.plp --given "alarm, not burglary"
        dpasp models queens.lp -n 1
        dpasp models alarm.plp --best 3 --psem maxent
    """
    program = with_constants(read_program(options, console), options)
    found = program.models(
        options.number,
        best=options.best,
        given=options.given,
        semantics=wanted_semantics(options),
        limits=read_limits(options),
    )
    console.report(program.warnings)
    if console.json:
        some = write_json(found, program.warnings, console)
    elif options.best is not None:
        some = write_best(found, console)
    else:
        some = write_models(found, console)
    if not some and not console.quiet:
        console.note("there is no model")
    return 0


def write_models(models: Iterator[Model], console: Console) -> bool:
    """Each total choice (or model with a weight) on a line, its models below; whether there were
    any.
    """
    alone: tuple[tuple[str, ...], tuple[float, ...]] = ((), (1.0,))  # of a program without choices
    before, some = alone, False
    for model in models:
        this = (model.choice, model.probability)
        if this != before:
            console.answer(model.choice_text)
        before, some = this, True
        console.answer(("" if this == alone else "  ") + (str(model) or EMPTY))
    return some


def write_best(models: Iterator[Model], console: Console) -> bool:
    """Each model on a line, after its probability; whether there were any."""
    some = False
    for model in models:
        number = bounds_text(model.probability, model.logs or None)
        console.answer(f"{number}  {str(model) or EMPTY}")
        some = True
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


@command(FILES, HOW_MANY, MEANING, LIMITS, PYTHON, OUTPUT)
def sample(options: Namespace, console: Console) -> int:
    """Draw models at random.

    A total choice is drawn according to its probability, then one of its models uniformly. Each
    line is a model; #show selects the atoms to show. --json has the values of all atoms.

    examples:
        dpasp sample alarm.plp -n 10
        dpasp sample alarm.plp -n 1000 --given alarm --seed 1 --json
    """
    from dpasp.ground.text import shown_by

    shown = shown_by(read_program(options, console))
    program = with_constants(shown.program, options)
    samples = program.sample(
        options.number,
        given=options.given,
        semantics=wanted_semantics(options),
        seed=options.seed,
        intervals=options.intervals,
        cluster=options.cluster,
        limits=read_limits(options),
    )
    console.report(program.warnings)
    if console.json:
        without_terms = [
            {k: v for k, v in drawn.items() if not shown.is_term(k)} for drawn in samples
        ]
        fields: dict[str, object] = {"samples": without_terms}
        if program.warnings:
            fields["warnings"] = [warning.to_dict() for warning in program.warnings]
        console.answer(json.dumps(fields, indent=2, ensure_ascii=False))
        return 0
    for drawn in samples:
        undefined = (f"undef({name})" for name in shown.names(drawn, "undef"))
        console.answer(" ".join([*shown.names(drawn), *undefined]) or EMPTY)
    return 0
