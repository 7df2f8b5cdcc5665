"""``dpasp ground``: the choices and rules behind a program."""

from __future__ import annotations

import json
from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.options import CONSTANTS, FILES, LIMITS, OUTPUT, PYTHON, drawing
from dpasp.cli.reading import python_allowed, read_limits, read_program
from dpasp.display.ground import ground_dict
from dpasp.ground import ground_text
from dpasp.pictures.picture import FORMATS
from dpasp.program import Program
from dpasp.writing import check_ending

DESCRIPTION = """\
Show the ground program as readable text: its choices with their probabilities, and its rules.
With --json the same as an object, for other programs.

examples:
    dpasp ground alarm.plp
    dpasp ground graph.plp -c n=3
    dpasp ground alarm.plp --plot alarm.svg
"""
OPTIONS = (FILES, CONSTANTS, LIMITS, PYTHON, drawing("what depends on what"), OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Print the ground program as text, or as JSON; draw its dependencies if asked to."""
    if options.plot is not None:
        check_ending(options.plot, "a picture", FORMATS)
    source = read_program(options, console)
    program = Program(source, python=python_allowed(options), constants=dict(options.constants))
    ground = program.ground(limits=read_limits(options))
    console.report(ground.warnings)
    if console.json:
        console.answer(json.dumps(ground_dict(ground), indent=2, ensure_ascii=False))
    else:
        console.answer(ground_text(ground))
    if options.plot is not None:
        program.plot(options.plot)
    return 0
