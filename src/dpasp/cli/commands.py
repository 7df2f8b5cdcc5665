"""The commands by name, with the line that ``dpasp --help`` shows for each.

To add one, add its line here and a module of its name beside this one. The module has a
``DESCRIPTION`` (what ``dpasp NAME --help`` says first), its ``OPTIONS`` (of
:mod:`dpasp.cli.options`, or of its own) and a function ``execute(options, console)``, which
gives back the exit code. It is imported only when its command is called.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from dpasp.cli.console import Console
    from dpasp.cli.options import OptionGroup

COMMANDS = {
    "run": "answer the queries of a program",
    "check": "report the mistakes in a program",
    "ground": "show the ground program",
    "compile": "show or write the circuit that answers the queries",
    "explain": "show what is behind an answer",
    "models": "list the models of a program",
    "sample": "draw models at random",
    "convert": "write another system's program as one of ours",
    "completion": "print a script that completes our commands in a shell",
    "format": "lay out programs in one way",
    "lsp": "serve an editor: the language server",
    "playground": "an editor in the browser, with answers beside it",
}


class Command(Protocol):
    """What the module of a command holds."""

    DESCRIPTION: str
    OPTIONS: Sequence[OptionGroup]

    def execute(self, options: Namespace, console: Console) -> int:
        """Do what the command says; the exit code."""


def command(name: str) -> Command:
    """The module of a command."""
    return cast("Command", import_module(f"dpasp.cli.{name}"))
