"""Programs in the cells of a notebook: ``%load_ext dpasp``, then ``%%dpasp`` above a program.

The cell shows the answers, and its value is those answers. Options follow the magic word::

    %%dpasp --semantics "lstable, maxent" --name alarm
    0.1::burglary.  0.2::earthquake.
    alarm :- burglary.
    #query alarm.

``--name alarm`` keeps the program under that name, for ``alarm.plot()`` in the next cell. Work that
takes longer than a second shows a bar below the cell (see :mod:`dpasp.display.progress`).
"""

from __future__ import annotations

import argparse
import keyword
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from dpasp.display.diagnostics import render
from dpasp.display.progress import learning_bar, progress_bar
from dpasp.editors.analysis import analyse
from dpasp.editors.words import complete
from dpasp.errors import UsageError, without_warnings
from dpasp.inference.answers import Answers
from dpasp.program import loads

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

MAGIC = "%%dpasp"
FILE = "<cell>"
WORD = re.compile(r"(?:--?|#)?[\w']*\Z")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError.at("usage", message, help=f"{MAGIC} --help lists the options")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give a notebook ``%%dpasp``, and completion in its cells."""

    def magic(line: str, cell: str) -> Answers | None:
        return run_cell(shell, line, cell)

    register: Any = shell.register_magic_function  # its type stubs lack the shell itself
    register(magic, "cell", "dpasp")
    shell.input_transformers_cleanup.append(_with_body)
    if shell.Completer is not None:
        shell.Completer.custom_matchers.append(_matcher())


def run_cell(shell: InteractiveShell, line: str, cell: str) -> Answers | None:
    """The answers to the program in a cell; None if the options only ask for help."""
    try:
        options = parser().parse_args(shlex.split(line))
    except SystemExit:  # --help
        return None
    except ValueError as error:  # a quote that is never closed
        raise UsageError(f"{line!r} cannot be read: {error}", "close the quotes") from None
    if not cell.strip():
        raise UsageError("there is no program in this cell", f"write it below {MAGIC}")
    with without_warnings():  # the cell shows the warnings with the answers
        program = loads(
            cell,
            file=FILE,
            python=options.python,
            constants=dict(options.constants),
            semantics=options.semantics,
            externals=dict(options.externals),
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
    if answers.warnings and not hasattr(shell, "kernel"):  # a terminal cannot show HTML
        sys.stderr.write(f"{render(answers.warnings)}\n")
    return answers


def _with_body(lines: list[str]) -> list[str]:
    """Add an empty program to a cell with only the magic word, which IPython refuses."""
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
        type=_pair(r"(\w+)\s*=(.+)", "NAME=VALUE, such as n=5"), help="the value of a #const",
    )  # fmt: skip
    magic.add_argument(
        "--external", action="append", default=[], dest="externals", metavar="ATOM=VALUE",
        type=_pair(r"([^=]+)=\s*(true|false|free)\s*", "sensor(1)=true (or false, or free)"),
        help="an atom that #external declares: true, false or free",
    )  # fmt: skip
    magic.add_argument("--python", action="store_true", help="#python and #script may run")
    magic.add_argument("--learn", action="store_true", help="first learn as #learn says")
    magic.add_argument("--name", type=_name, help="keep the program under this name")
    return magic


def _name(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name that Python could use")
    return text


def _pair(form: str, words: str) -> Callable[[str], tuple[str, str]]:
    """A reader of a name and a value in the described form."""

    def read(text: str) -> tuple[str, str]:
        found = re.fullmatch(form, text)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form {words}")
        return found[1].strip(), found[2].strip()

    return read


def _matcher() -> Any:
    """A matcher that completes words in our cells, and is the only one there."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher()  # type: ignore[untyped-decorator, unused-ignore]
    def dpasp_matcher(context: Any) -> dict[str, Any]:
        lines = context.full_text.split("\n")[: context.cursor_line]
        offset = sum(len(line) + 1 for line in lines) + context.cursor_position
        texts = completions(context.full_text, offset)
        if not context.token.startswith("#"):  # IPython's words begin after it
            texts = [text.removeprefix("#") for text in texts]
        found = [SimpleCompletion(text, type="keyword") for text in texts]
        return {"completions": found, "suppress": context.full_text.startswith(MAGIC)}

    return dpasp_matcher


def completions(cell: str, offset: int) -> list[str]:
    """The completions of the word before an offset; none outside of our cells.

    In the first line, these are options of the magic word; below, the same as in editors.

    >>> cell = "%%dpasp --name x\\n0.3::smokes(anna). #semantics maxent. #query smo"
    >>> completions(cell, len(cell)), completions(cell, len("%%dpasp --na")), completions("smo", 3)
    (['smokes'], ['--name'], [])
    """
    if not cell.startswith(MAGIC):
        return []
    last = WORD.findall(cell[:offset])[0]
    first = len(cell.partition("\n")[0])
    if offset <= first:
        known = {name for action in parser()._actions for name in action.option_strings}
    else:
        program = " " * first + cell[first:]
        known = {offer.label for offer in complete(analyse(program, FILE), offset)}
    return sorted(word for word in known - {last} if last and word.startswith(last))
