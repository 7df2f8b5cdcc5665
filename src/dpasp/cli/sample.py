"""``dpasp sample``: models drawn at random."""

from __future__ import annotations

import json
from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.models import EMPTY
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
from dpasp.cli.reading import python_allowed, read_limits, read_program, wanted_semantics
from dpasp.ground.text import shown_by
from dpasp.program import Program

DESCRIPTION = """\
Draw models at random: a total choice by its probability, then one of its models evenly. Each
line is a model, of which #show says what is shown; --json gives the values of all atoms.

examples:
    dpasp sample alarm.plp -n 10
    dpasp sample alarm.plp -n 1000 --given alarm --seed 1 --json
"""
HOW_MANY = OptionGroup(
    "",
    (
        Flag(("-n", "--number"), "so many (default: 1)", "N", whole_number, default=1),
        Flag(("--seed",), "same seed, same models", "N", whole_number),
        Flag(
            ("--intervals",),
            "which probabilities within their intervals to draw with",
            choices=("lower", "middle", "upper"),
        ),
        CLUSTER,
    ),
)
OPTIONS = (FILES, HOW_MANY, MEANING, LIMITS, PYTHON, OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Print models that were drawn."""
    source = read_program(options, console)
    shown = shown_by(source)
    program = Program(
        shown.program, python=python_allowed(options), constants=dict(options.constants)
    )
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
            {k: v for k, v in sample.items() if not shown.is_term(k)} for sample in samples
        ]
        fields: dict[str, object] = {"samples": without_terms}
        if program.warnings:
            fields["warnings"] = [warning.to_dict() for warning in program.warnings]
        console.answer(json.dumps(fields, indent=2, ensure_ascii=False))
        return 0
    for sample in samples:
        undefined = (f"undef({name})" for name in shown.names(sample, "undef"))
        console.answer(" ".join([*shown.names(sample), *undefined]) or EMPTY)
    return 0
