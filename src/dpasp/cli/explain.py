"""``dpasp explain``: what is behind an answer."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace

from dpasp.cli.console import Console
from dpasp.cli.reading import (
    add_questions,
    python_allowed,
    read_limits,
    read_program,
    wanted_semantics,
)
from dpasp.display.explain import explanation_text
from dpasp.errors import UsageError
from dpasp.language.ast import Map, Query
from dpasp.program import Program


def execute(options: Namespace, console: Console) -> int:
    """Print an explanation of each query: of those asked for here, or of the program's."""
    source = read_program(options.files, console)
    if options.queries:
        kept = tuple(s for s in source.statements if not isinstance(s, Query | Map))
        source = replace(source, statements=kept)
    program = Program(
        add_questions(source, options, console),
        python=python_allowed(options),
        constants=dict(options.constants),
    )
    limits = read_limits(options)
    found = program.explain(semantics=wanted_semantics(options), top=options.top, limits=limits)
    console.report(program.ground(limits=limits).warnings)
    if not found:
        raise UsageError("the program asks nothing", help="add a #query, or use --query")
    if console.json:
        told = {"explanations": [dict(one.to_dict()) for one in found]}
        console.answer(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        console.answer("\n".join(explanation_text(one) for one in found))
    return 0
