"""The words of the command line, and what is said when they are wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from dpasp.cli.console import writing_answers
from dpasp.errors import Diagnostic, UsageError
from dpasp.version import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DESCRIPTION = """\
Probabilistic answer set programs: ask them, check them, look inside them.

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
    dpasp run alarm.plp -s lstable -p maxent  under another semantics
    dpasp check alarm.plp                     only look for mistakes; runs nothing
    dpasp ground alarm.plp                    show the choices and rules behind it
    dpasp compile alarm.plp -o alarm.svg      draw the circuit that answers the queries
    dpasp explain alarm.plp                   show what is behind the answers
    echo "0.3::a. #query a." | dpasp -        read the program from standard input

`dpasp COMMAND --help` says more about each command.
"""

RUN = """\
Learn if the program says #learn, then answer its queries. Several files are one program.

examples:
    dpasp run alarm.plp
    dpasp run alarm.plp --query "burglary | alarm" --evidence "not earthquake"
    dpasp run alarm.plp --semantics lstable,maxent --json
    dpasp run graph.plp -c n=5 --time-limit 10
    dpasp run digits.plp --save digits.safetensors    learn, and keep what was learned
    dpasp run digits.plp --load digits.safetensors    answer with it, without learning
"""

CHECK = """\
Read the program and report every mistake, with the place, the reason and the remedy.
Nothing is grounded and nothing in the program is run.

examples:
    dpasp check alarm.plp
    dpasp check --json alarm.plp
"""

GROUND = """\
Show the ground program as readable text: its choices with their probabilities, and its rules.
With --json the same as an object, for other programs.

examples:
    dpasp ground alarm.plp
    dpasp ground graph.plp -c n=3
"""

COMPILE = """\
Compile the program into the circuit that answers its queries, and print what it is made of.
With -o the circuit is written: .json (our own), .nnf (one query, for other tools), .dot or .svg.

examples:
    dpasp compile alarm.plp
    dpasp compile alarm.plp -o alarm.svg
    dpasp compile graph.plp -c n=20 --time-limit 60 -v
"""

EXPLAIN = """\
Show what is behind an answer: the most probable total choices in which the query and the
evidence hold, and for each choice how probable it is given them and what the answer would
be if it were certain. Questions for most probable values (#map, #mpe) are left out, and
programs with intervals of probabilities are not explained.

examples:
    dpasp explain alarm.plp
    dpasp explain alarm.plp --query "burglary | alarm" --top 3
"""

LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
PROBABILITIES = ("credal", "maxent")


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are :class:`UsageError`\\ s with a suggestion."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(Diagnostic("usage", message, help=f"see `{self.prog} --help`"))

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own hides that the help could not be written.
        with writing_answers():
            (file or sys.stdout).write(message)

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Complain about words that no option takes."""
        option = words[0].split("=")[0]
        known = [name for action in self._actions for name in action.option_strings]
        near = get_close_matches(option, known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"see `{self.prog} --help`"
        raise UsageError(Diagnostic("unknown-option", f"there is no option {option}", help=remedy))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command; the ``command`` among them says which one it is."""
    top, commands = build()
    words = list(arguments)
    if words[:1] == ["help"]:  # `dpasp help run` is `dpasp run --help`
        words = [*words[1:2], "--help"]
    if not _names_command(words, commands):
        _refuse_command(words[0], commands)
        words.insert(0, "run")
    options, rest = top.parse_known_args(words)
    if rest:
        commands[options.command].unknown(rest)
    return options


def build() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole command line, and those of its commands by name."""
    top = Parser(
        prog=_called_as(),
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"dpasp {__version__}")
    choose = top.add_subparsers(
        dest="command",
        metavar="COMMAND",
        title="commands",
        description="`dpasp FILE...` is short for `dpasp run FILE...`",
        required=True,
    )

    def add(name: str, summary: str, text: str, *groups: Callable[[Parser], None]) -> Parser:
        parser = choose.add_parser(
            name,
            help=summary,
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for group in (_files, *groups, _output):
            group(parser)
        return parser

    return top, {
        "run": add(
            "run",
            "answer the queries of a program",
            RUN,
            _questions,
            _engine,
            _learning,
            _limits,
            _python,
            _picture,
        ),
        "check": add("check", "report the mistakes in a program", CHECK, _constants),
        "ground": add("ground", "show the ground program", GROUND, _constants, _limits, _python),
        "compile": add(
            "compile",
            "show or write the circuit that answers the queries",
            COMPILE,
            _circuit_file,
            _questions,
            _limits,
            _python,
        ),
        "explain": add(
            "explain",
            "show what is behind an answer",
            EXPLAIN,
            _top,
            partial(_questions, instead="in place of the program's"),
            _limits,
            _python,
        ),
    }


def _called_as() -> str:
    """The name that the user typed: both names are the same command."""
    return "pasp" if os.path.basename(sys.argv[0]) == "pasp" else "dpasp"


def _names_command(words: Sequence[str], commands: dict[str, Parser]) -> bool:
    """Whether the words start with a command, or ask for what is above commands."""
    return not words or words[0] in commands or words[0] in ("-h", "--help", "--version")


def _refuse_command(word: str, commands: dict[str, Parser]) -> None:
    """Complain about a word that is neither a file nor an option but nearly a command."""
    near = get_close_matches(word, commands, n=1) if word.isalpha() else []
    if near and not os.path.exists(word):
        help = f"did you mean `{_called_as()} {near[0]}`?"
        raise UsageError(Diagnostic("usage", f"there is no command {word}", help=help))


# --- groups of options -----------------------------------------------------------------------


def _files(parser: Parser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a program (.plp); - is standard input"
    )


def _constants(parser: Parser) -> None:
    parser.add_argument(
        "-c",
        "--const",
        dest="constants",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_constant,
        help="give a #const of the program another value (repeatable)",
    )


def _circuit_file(parser: Parser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write the circuit: .json, .nnf, .dot or .svg"
    )


def _top(parser: Parser) -> None:
    parser.add_argument(
        "--top", metavar="N", type=_count, default=5, help="so many total choices (default: 5)"
    )


def _questions(parser: Parser, instead: str = "") -> None:
    group = parser.add_argument_group("questions")
    group.add_argument(
        "--query",
        dest="queries",
        metavar="Q",
        action="append",
        default=[],
        help=f'ask this {instead or "too"}, such as "a, not b | c" (repeatable)',
    )
    group.add_argument(
        "--evidence",
        metavar="E",
        action="append",
        default=[],
        help="joined to the evidence of every query (repeatable)",
    )
    group.add_argument(
        "--semantics",
        metavar="LOGIC,PROB",
        help=f"in place of the program's: {', '.join(LOGICS)}; {' or '.join(PROBABILITIES)}",
    )
    group.add_argument("-s", "--sem", dest="logic", choices=LOGICS, help="only the logic one")
    group.add_argument(
        "-p", "--psem", dest="probability", choices=PROBABILITIES, help="only the probabilistic one"
    )
    _constants(parser)


def _engine(parser: Parser) -> None:
    group = parser.add_argument_group("how to answer")
    group.add_argument(
        "--engine",
        choices=("auto", "compile", "enumerate", "sample", "bounds"),
        help="auto makes a circuit, by enumeration where it cannot be compiled "
        "(default: what #inference says, or auto)",
    )
    group.add_argument(
        "--samples", metavar="N", type=_count, help="of --engine sample (default: 10000)"
    )
    group.add_argument(
        "--gap",
        metavar="G",
        type=_share,
        help="bounds (default: 0.01) and sample stop when they are so close",
    )
    group.add_argument(
        "--nmodels", metavar="N", type=_count, help="the most total choices that bounds looks at"
    )
    group.add_argument(
        "--inconsistent",
        choices=("normalize", "error"),
        default="normalize",
        help="what to do with total choices that have no model (default: normalize)",
    )


def _learning(parser: Parser) -> None:
    group = parser.add_argument_group("learning")
    group.add_argument("--no-learn", action="store_true", help="answer without learning first")
    group.add_argument("--save", metavar="F", help="write what was learned to a file")
    group.add_argument("--load", metavar="F", help="read what was learned; do not learn")
    group.add_argument("--resume", metavar="F", help="go on with learning that was interrupted")
    group.add_argument("--seed", metavar="N", type=_whole, help="of everything random")
    group.add_argument("--threads", metavar="N", type=_count, help="how many networks may use")
    group.add_argument("--device", help="where networks run: cpu, cuda or auto (default: cpu)")


def _limits(parser: Parser) -> None:
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--time-limit",
        metavar="S",
        type=_positive,
        help="stop after so many seconds in all (exit 124)",
    )
    group.add_argument(
        "--memory-limit", metavar="MB", type=_positive, help="stop above so much memory (exit 125)"
    )


def _python(parser: Parser) -> None:
    group = parser.add_argument_group("safety")
    group.add_argument(
        "--python",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether #python and #script may run (default: yes, but not from standard input)",
    )


def _picture(parser: Parser) -> None:
    parser.add_argument("--plot", metavar="F.png", help="draw the answers (needs dpasp[plot])")


def _output(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="one JSON object on standard output")
    group.add_argument("-q", "--quiet", action="store_true", help="no warnings, no progress")
    group.add_argument("-v", "--verbose", action="store_true", help="more about what was done")


# --- values ----------------------------------------------------------------------------------


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _count(text: str) -> int:
    value = _whole(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is not a whole number above 0")
    return value


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


def _constant(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name.isidentifier() and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE, such as n=5")
    return name, value
