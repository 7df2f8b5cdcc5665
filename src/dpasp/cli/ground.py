"""``dpasp ground``: the choices and rules behind a program."""

from __future__ import annotations

from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.reading import python_allowed, read_limits, read_program
from dpasp.logic import ground_text
from dpasp.program import Program


def execute(options: Namespace, console: Console) -> int:
    """Print the ground program as text."""
    source = read_program(options.files, console)
    program = Program(source, python=python_allowed(options), constants=dict(options.constants))
    ground = program.ground(limits=read_limits(options))
    console.report((*source.warnings, *ground.warnings))
    console.answer(ground_text(ground))
    return 0
