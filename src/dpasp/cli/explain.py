"""``dpasp explain``: what is behind an answer."""

from __future__ import annotations

import json
from argparse import Namespace

from dpasp.cli.asking import asked
from dpasp.cli.console import Console
from dpasp.cli.options import FILES, LIMITS, OUTPUT, PYTHON, QUESTIONS, Group, Option, count
from dpasp.cli.reading import (
    nothing_asked,
    read_limits,
    read_program,
    wanted_semantics,
)
from dpasp.display.explain import explanation_text

DESCRIPTION = """\
Show what is behind an answer: the most probable total choices in which the query and the
evidence hold, and for each choice how probable it is given them and what the answer would
be if it were certain. Questions for most probable values (#map, #mpe) are left out, and
programs with intervals of probabilities are not explained.

examples:
    dpasp explain alarm.plp
    dpasp explain alarm.plp --query "burglary | alarm" --top 3
"""
TOP_CHOICES = Group(
    "", (Option(("--top",), "so many total choices (default: 5)", "N", count, default=5),)
)
OPTIONS = (FILES, TOP_CHOICES, QUESTIONS, LIMITS, PYTHON, OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Print an explanation of each query, of the program's and of those asked for here."""
    program = asked(read_program(options, console), options, console)
    found = program.explain(
        semantics=wanted_semantics(options), top=options.top, limits=read_limits(options)
    )
    console.report(found.warnings)
    if not found:
        raise nothing_asked(program.source)
    if console.json:
        console.answer(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        console.answer("\n".join(explanation_text(one) for one in found))
    return 0
