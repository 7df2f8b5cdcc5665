'''The commands by name: what ``dpasp --help`` says of each, and where it is.

To add one, add its row here and a function in a module beside this one::

    @command(FILES, OUTPUT)
    def name(options: Namespace, console: Console) -> int:
        """What ``dpasp NAME --help`` says first."""
        ...
        return 0  # the exit code

The module is imported only when its command is called.
'''

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from textwrap import dedent
from typing import TYPE_CHECKING

from dpasp.dataclass import dataclass

if TYPE_CHECKING:
    from dpasp.cli.console import Console
    from dpasp.cli.options import OptionGroup

    Execute = Callable[[Namespace, Console], int]

COMMANDS = {
    "run": ("answer the queries of a program", "run.run"),
    "check": ("report the mistakes in a program", "look.check"),
    "ground": ("show the ground program", "look.show_ground"),
    "compile": ("show or write the circuit that answers the queries", "look.show_circuit"),
    "export": ("write the queries as a function for JAX, NumPy, ONNX or C", "export.export"),
    "explain": ("explain the answers", "explain.explain"),
    "models": ("list the models of a program", "models.models"),
    "sample": ("draw models at random", "models.sample"),
    "convert": ("translate another system's program", "rewrite.convert"),
    "completion": (
        "print a shell completion script",
        "completion.script",
    ),
    "format": ("format programs", "rewrite.format_files"),
    "lsp": ("start the language server for an editor", "serve.serve_editor"),
    "mcp": ("start a tool server for language models", "serve.serve_models"),
    "playground": ("open an editor in the browser, with answers", "serve.playground"),
}


@dataclass(frozen=True, slots=True)
class Command:
    """What a command says of itself, its options, and what it does."""

    description: str
    options: tuple[OptionGroup, ...]
    execute: Execute


def command(*options: OptionGroup) -> Callable[[Execute], Command]:
    """Make a command of a function that takes its options and the console.

    Its docstring is what ``dpasp NAME --help`` says first.
    """

    def made(execute: Execute) -> Command:
        first, _, rest = (execute.__doc__ or "").partition("\n")
        return Command(f"{first}\n{dedent(rest)}", options, execute)

    return made


def find_command(name: str) -> Command:
    """The command of a name."""
    _, place = COMMANDS[name]
    module, function = place.split(".")
    found: Command = getattr(import_module(f"dpasp.cli.{module}"), function)
    return found
