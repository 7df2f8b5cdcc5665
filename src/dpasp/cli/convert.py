"""``dpasp convert``: another system's program as one of ours."""

from __future__ import annotations

import json
from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.options import LIMITS, OUTPUT, Flag, OptionGroup
from dpasp.cli.reading import read_text
from dpasp.converters import DIALECTS
from dpasp.writing import write_text

DESCRIPTION = """\
Write another system's program as one of ours, with its comments. What has no counterpart is an
error that names its line; nothing is written then. Nothing in the program is run, but rules
that may never come to an end are tried for a few seconds.

examples:
    dpasp convert smokers.pl --from problog
    dpasp convert alarm.bif --from bif -o alarm.plp
"""
_KINDS = "; ".join(f"{dialect.name}: {dialect.summary}" for dialect in DIALECTS.values())
OPTIONS = (
    OptionGroup(
        "",
        (
            Flag(("file",), "the program; - is standard input", "FILE"),
            Flag(
                ("--from",),
                f"whose it is ({_KINDS})",
                choices=tuple(DIALECTS),
                dest="dialect",
                required=True,
            ),
            Flag(("-o", "--output"), "write it to this file", "OUT"),
        ),
    ),
    LIMITS,
    OUTPUT,
)


def execute(options: Namespace, console: Console) -> int:
    """Print or write the converted program."""
    file, text = read_text(options.file, console)
    console.texts[file] = text
    program = DIALECTS[options.dialect].converted(text, file)
    if options.output is not None:
        write_text(options.output, program)
    if console.json:
        shown = {"file": file, "from": options.dialect, "program": program}
        console.answer(json.dumps(shown, indent=2, ensure_ascii=False))
    elif options.output is None:
        console.answer(program, exact=True)
    elif not console.quiet:
        console.note(f"wrote {options.output}")
    return 0
