"""``dpasp lsp``: the language server, for editors to start."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib.util import find_spec

from dpasp.cli.console import Console
from dpasp.cli.options import Flag, OptionGroup
from dpasp.errors import Diagnostic, UsageError

DESCRIPTION = """\
Serve an editor on standard input and output by the Language Server Protocol: mistakes as one
types, what a word means, definitions, references, new names, completion, formatting. Editors
start it by themselves; see the page on editors in the documentation. Needs dpasp[lsp].

examples:
    dpasp lsp
"""
OPTIONS = (
    OptionGroup(
        "",
        (
            Flag(("--stdio",), "as some editors say it; there is no other way"),
            Flag(("-q", "--quiet"), "say nothing on standard error"),
            Flag(("-v", "--verbose"), "say what is asked and answered"),
        ),
    ),
)


def execute(options: Namespace, console: Console) -> int:
    """Serve until the editor hangs up."""
    if find_spec("pygls") is None:
        message = "the language server needs pygls, which is not installed"
        raise UsageError(Diagnostic("lsp-missing", message, help="pip install 'dpasp[lsp]'"))
    import logging

    from dpasp.editors.server import server

    level = logging.DEBUG if console.verbose else logging.CRITICAL
    logging.basicConfig(level=level, stream=console.messages)
    served = server()
    with open(os.dup(console.answers.fileno()), "wb") as answers:  # pygls closes it at an exit
        served.start_io(sys.stdin.buffer, answers)
    return served.exit_code
