'''The commands by name, their parsers, and the messages for wrong arguments.

To add a command, add its row to ``COMMANDS`` and a function in a module beside this one::

    @command(FILES, OUTPUT)
    def name(options: Namespace, console: Console) -> int:
        """What ``dpasp NAME --help`` says first."""
        ...
        return 0  # the exit code

The module is imported only when its command is called.
'''

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from textwrap import dedent
from typing import TYPE_CHECKING, NoReturn

from dpasp.cli.console import writing_answers
from dpasp.dataclass import dataclass
from dpasp.errors import UsageError, closest
from dpasp.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from dpasp.cli.console import Console
    from dpasp.cli.options import Flag, OptionGroup

    Execute = Callable[[Namespace, Console], int]

COMMANDS = {
    "run": ("answer the queries of a program", "run.run"),
    "check": ("report the mistakes in a program", "look.check"),
    "ground": ("show the ground program", "look.show_ground"),
    "compile": ("show or write the circuit that answers the queries", "circuits.show_circuit"),
    "export": ("write the queries as a function for JAX, NumPy, ONNX or C", "circuits.export"),
    "explain": ("explain the answers", "look.explain"),
    "models": ("list the models of a program", "look.models"),
    "sample": ("draw models at random", "look.sample"),
    "convert": ("translate another system's program", "rewrite.convert"),
    "completion": ("print a shell completion script", "completion.script"),
    "format": ("format programs", "rewrite.format_files"),
    "lsp": ("start the language server for an editor", "serve.serve_editor"),
    "mcp": ("start a tool server for language models", "serve.serve_models"),
    "playground": ("open an editor in the browser, with answers", "serve.playground"),
}
DEFAULT = "run"  # the command for files when none is named

DESCRIPTION = """\
Run, check and inspect probabilistic answer set programs.

A program is a clingo program with probabilities. Put this in a file alarm.plp:

    0.1::burglary.  0.2::earthquake.
    alarm :- burglary.
    0.7::alarm :- earthquake.
    #query burglary | alarm.
"""

EXAMPLES = """\
examples:
    dpasp alarm.plp                           answer the queries of a program
    dpasp alarm.plp --query "alarm"           ask one more question
    dpasp run alarm.plp -s lstable -p maxent  use another semantics
    dpasp check alarm.plp                     only look for mistakes; run nothing
    dpasp ground alarm.plp                    show the choices and rules behind it
    dpasp compile alarm.plp -o alarm.svg      draw the circuit that answers the queries
    dpasp explain alarm.plp                   explain the answers
    dpasp models alarm.plp                    list the models, the most probable first
    dpasp sample alarm.plp -n 10              draw models at random
    dpasp convert alarm.pl --from problog     translate a ProbLog program
    dpasp format alarm.plp                    format it, without changing its meaning
    echo "0.3::a. #query a." | dpasp -        read the program from standard input

`dpasp COMMAND --help` says more about each command.
"""

NO_TERMINAL = 80  # columns of help that is not written to a terminal


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what its help says first, its options, and what it does."""

    description: str
    options: tuple[OptionGroup | Flag, ...]
    execute: Execute


def command(*options: OptionGroup | Flag) -> Callable[[Execute], Command]:
    """Make a function a command; ``dpasp NAME --help`` starts with its docstring."""

    def made(execute: Execute) -> Command:
        first, _, rest = (execute.__doc__ or "").partition("\n")
        return Command(f"{first}\n{dedent(rest)}", options, execute)

    return made


def find_command(name: str) -> Command:
    _, place = COMMANDS[name]
    module, function = place.split(".")
    found: Command = getattr(import_module(f"dpasp.cli.{module}"), function)
    return found


# --- parsing -----------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`UsageError`\\ s with a suggestion."""

    def error(self, message: str) -> NoReturn:
        raise UsageError.at("usage", message, help=f"see `{self.prog} --help`")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own method hides that the help could not be written.
        with writing_answers():
            (file or sys.stdout).write(message)

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Refuse arguments that no option takes."""
        option = words[0].split("=")[0]
        known = [name for action in self._actions for name in action.option_strings]
        near = closest(option, known)
        remedy = f"did you mean {near}?" if near else f"see `{self.prog} --help`"
        raise UsageError.at("unknown-option", f"there is no option {option}", help=remedy)


def parse_command(arguments: Sequence[str]) -> Namespace:
    """The options of a command, with its name as ``command`` and all arguments as ``words``."""
    words = list(arguments)
    if words[:1] == ["help"]:  # `dpasp help run` is `dpasp run --help`
        words = [*words[1:2], "--help"]
    if not words or words[0] in ("-h", "--help", "--version"):
        overview().parse_args(words)
    name, *rest = words if words[0] in COMMANDS else (DEFAULT, *words)
    if name != words[0]:
        _refuse_command(words[0])
    command = find_command(name)
    parser = _parser(f"{called_as()} {name}", command.description)
    for option in command.options:
        option.add_to(parser)
    options, unknown = parser.parse_known_args(rest, Namespace(command=name, words=words))
    if unknown:
        parser.unknown(unknown)
    return options


def overview() -> Parser:
    """The parser for a call without a command: ``--help`` and ``--version``."""
    parser = _parser(called_as(), DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--version", action=Version, nargs=0, help="show the version, how it was built, and exit"
    )
    choose = parser.add_subparsers(
        metavar="COMMAND",
        title="commands",
        description="`dpasp FILE...` is short for `dpasp run FILE...`",
        required=True,
    )
    for name, (summary, _) in COMMANDS.items():
        choose.add_parser(name, help=summary)
    return parser


def _parser(name: str, description: str, epilog: str | None = None) -> Parser:
    return Parser(
        prog=name,
        description=description,
        epilog=epilog,
        formatter_class=help_layout,
        allow_abbrev=False,
    )


def help_layout(prog: str) -> argparse.HelpFormatter:
    """How help is laid out, as wide as the terminal.

    argparse makes one for every parser; by default it imports compression libraries just to find
    the width.
    """
    wished = os.environ.get("COLUMNS", "")
    columns = int(wished) if wished.isdecimal() else 0
    if not columns:
        with suppress(OSError):  # not a terminal
            columns = os.get_terminal_size().columns
    return argparse.RawDescriptionHelpFormatter(prog, width=(columns or NO_TERMINAL) - 2)


def called_as() -> str:
    """The name that the user typed: both names are the same command."""
    return "pasp" if os.path.basename(sys.argv[0]) == "pasp" else "dpasp"


def _refuse_command(word: str) -> None:
    """Refuse a word that is neither a file nor an option but almost a command."""
    near = closest(word, COMMANDS, cutoff=0.65) if word.isalpha() else ""
    if near and not os.path.exists(word):
        help = f"did you mean `{called_as()} {near}`?"
        message = f"there is no file {word}, and no command of that name"
        raise UsageError.at("usage", message, help=help)


class Version(argparse.Action):
    """``--version``: print the version and how this copy was built, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> NoReturn:
        with writing_answers():
            sys.stdout.write(version_text())
        parser.exit()


def version_text() -> str:
    """The version alone in the first line, then the compiler with its options, then the rest.

    It also says if the native part cannot be loaded, because people send this text with a bug
    report.
    """
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def installed(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"no {name}"

    try:
        from dpasp.circuits.compiler import built_by

        built = f"built by {built_by()}"
    except ImportError as error:
        built = f"the native part cannot be loaded: {error}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    around = ", ".join(installed(name) for name in ("clingo", "numpy", "torch"))
    system = f"{platform.system()} {platform.machine()}"
    return f"dpasp {__version__}\n{built}\n{python}, {around}, {system}\n"
