"""Programs in the cells of a notebook: ``%load_ext dpasp``, then ``%%dpasp`` above a program.

The cell shows the answers, and its value is those answers. Options follow the magic word::

    %%dpasp --semantics "lstable, maxent" --name alarm
    0.1::burglary.  0.2::earthquake.
    alarm :- burglary.
    #query alarm.

``--name alarm`` keeps the program under that name, for ``alarm.plot()`` in the next cell. What
takes longer than a second shows a bar below the cell (see :mod:`dpasp.display.progress`).
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from dpasp.display.diagnostics import render
from dpasp.display.progress import learning_bar, progress_bar
from dpasp.errors import Diagnostic, UsageError, without_warnings
from dpasp.inference.answers import Answers
from dpasp.language.statements.kind import starting_words
from dpasp.program import loads

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MAGIC = "%%dpasp"
FILE = "<cell>"
WORD = re.compile(r"#?[\w']*$")
NAME = re.compile(r"\b[a-z_][\w']*")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(Diagnostic("usage", message, help=f"{MAGIC} --help lists the options"))


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give a notebook ``%%dpasp``, and completion in its cells."""

    def magic(line: str, cell: str) -> Answers | None:
        return run_cell(shell, line, cell)

    register: Any = shell.register_magic_function  # its published type lacks the shell itself
    register(magic, "cell", "dpasp")
    shell.input_transformers_cleanup.append(_with_body)
    if shell.Completer is not None:
        shell.Completer.custom_matchers.append(_matcher())


def run_cell(shell: InteractiveShell, line: str, cell: str) -> Answers | None:
    """The answers to the program in a cell; None where the options only ask for help."""
    try:
        options = parser().parse_args(shlex.split(line))
    except SystemExit:  # --help
        return None
    if not cell.strip():
        raise UsageError("there is no program in this cell", f"write it below {MAGIC}")
    constants = dict(pair.split("=", 1) for pair in options.constants)
    with without_warnings():  # the cell shows the warnings with the answers
        program = loads(
            cell,
            file=FILE,
            python=options.python,
            constants=constants,
            semantics=options.semantics,
        )
        if options.name:
            shell.user_ns[options.name] = program
        if options.learn:
            with learning_bar() as watcher:
                program.learn(watcher=watcher)
        with progress_bar("answering") as progress:
            answers = program.query(
                *options.queries,
                evidence=options.evidence,
                engine=options.engine,
                progress=progress,
            )
    if answers.warnings and not hasattr(shell, "kernel"):  # a terminal, which shows no HTML
        sys.stderr.write(f"{render(answers.warnings)}\n")
    return answers


def _with_body(lines: list[str]) -> list[str]:
    """A cell of nothing but the magic word, which IPython refuses, with an empty program below."""
    alone = len(lines) == 1 and re.match(rf"{MAGIC}(\s|$)", lines[0])
    return [lines[0].rstrip("\n") + "\n", "\n"] if alone else lines


def parser() -> argparse.ArgumentParser:
    """The options of the magic word."""
    magic = _Parser(prog=MAGIC, description="Answer the questions of the program in this cell.")
    magic.add_argument("--semantics", metavar="LOGIC,PROB", help="in place of the program's")
    magic.add_argument(
        "--query", action="append", default=[], dest="queries", help="in place of the program's"
    )
    magic.add_argument("--evidence", action="append", default=[], help="joined to every query's")
    magic.add_argument("--engine", help="auto, compile, enumerate, sample or bounds")
    magic.add_argument(
        "-c", "--const", action="append", default=[], dest="constants", metavar="NAME=VALUE",
        type=_constant, help="the value of a #const",
    )  # fmt: skip
    magic.add_argument("--python", action="store_true", help="#python and #script may run")
    magic.add_argument("--learn", action="store_true", help="do what #learn says first")
    magic.add_argument("--name", help="keep the program under this name")
    return magic


def _constant(text: str) -> str:
    if not re.fullmatch(r"\w+\s*=.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE, such as n=5")
    return text


def _matcher() -> Any:
    """What completes directives and the names of the program, in cells of ours only."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator, unused-ignore]
    def dpasp_matcher(context: Any) -> dict[str, Any]:
        texts = completions(context.full_text, context.token)
        return {"completions": [SimpleCompletion(text, type="keyword") for text in texts]}

    return dpasp_matcher


def completions(cell: str, start: str) -> list[str]:
    """The words of a cell of ours that begin as the last one does; none for other cells.

    >>> completions("%%dpasp\\nsmokes(anna). #query smo", "smo")
    ['smokes']
    >>> completions("smokes = 1; smo", "smo")
    []
    """
    if not cell.startswith(MAGIC):
        return []
    match = WORD.search(start)
    last = match.group() if match else ""
    names = set(NAME.findall(cell)) - {last, "dpasp"}
    known = names | set(starting_words().begin)
    return sorted(word for word in known if last and word.startswith(last))
