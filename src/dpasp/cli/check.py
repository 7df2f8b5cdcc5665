"""``dpasp check``: every mistake that can be found without running anything."""

from __future__ import annotations

from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.options import CONSTANTS, FILES, LIMITS, OUTPUT
from dpasp.cli.reading import read_program
from dpasp.display.diagnostics import diagnostics_json
from dpasp.ground import check_without_grounding

DESCRIPTION = """\
Read the program and report every mistake, with the place, the reason and the remedy, and names
that nothing derives. Nothing is grounded and nothing in the program is run.

examples:
    dpasp check alarm.plp
    dpasp check --json alarm.plp
"""
OPTIONS = (FILES, CONSTANTS, LIMITS, OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Report what is wrong with a program; give 0 when nothing is."""
    program = read_program(options, console)
    doubts = check_without_grounding(program, constants=dict(options.constants))
    warnings = (*program.warnings, *doubts)
    if console.json:
        console.answer(diagnostics_json(warnings))
        return 0
    console.report(warnings)
    if not console.quiet:
        found = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
        console.answer(f"{', '.join(options.files)}: {found if warnings else 'no mistakes found'}")
    return 0
