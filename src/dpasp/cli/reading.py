"""What a command line asks for: program, questions, semantics, limits; and the plan.

Programs are files, and ``-`` for standard input.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpasp.cli.console import STANDARD_INPUT, Console
from dpasp.display.diagnostics import in_terminal
from dpasp.display.progress import PATIENCE, watching
from dpasp.errors import LimitReached, ProgramError, UsageError, each
from dpasp.ground.checking import program_of_texts
from dpasp.language import ast, extend
from dpasp.language.arguments import evidence_given, queries_given
from dpasp.language.reader import parse_semantics
from dpasp.language.text.source import Reach, load_text
from dpasp.limits import Limits, Report, silent
from dpasp.writing import check_ending

if TYPE_CHECKING:
    from dpasp.circuits.compiler import Plan
    from dpasp.program import Program


def read_program(options: Namespace, console: Console) -> ast.Program:
    """Read files as one program; the mistakes of all of them are reported at once.

    A program on standard input may come from anywhere, so it can read files only if its Python may
    run.
    """
    texts = each(lambda file: read_text(file, console), options.files)
    reach = Reach(anywhere=bool(getattr(options, "python", None)))
    return program_of_texts(texts, {STANDARD_INPUT: reach})


def read_text(file: str, console: Console) -> tuple[str, str]:
    """The name and the text of a file, or of standard input."""
    return _standard_input(console) if file == "-" else (file, load_text(file))


def asked(source: ast.Program, options: Namespace, console: Console) -> Program:
    """The program with the questions, the evidence and the constants of the command line."""
    for option, texts in (
        ("--query", queries_given(options.queries)),
        ("--evidence", evidence_given(options.evidence)),
    ):
        for number, text in enumerate(texts, 1):
            name = f"<{option}>" if number == 1 else f"<{option} {number}>"
            console.texts[name] = text
            old = {ast.statement_text(s) for s in source.statements if isinstance(s, ast.ASKING)}
            own = set(map(id, source.statements))
            source = extend(source, text, file=name)
            new = (s for s in source.statements if id(s) in own or ast.statement_text(s) not in old)
            source = replace(source, statements=tuple(new))  # without what is asked already
    program = with_constants(source, options)
    # the note that it was being read is out of date
    console.watchdog.say(partial(console.last_words, None))
    return program


def with_constants(source: ast.Program, options: Namespace) -> Program:
    """The program with the constants of the command line.

    Unless an option says so, its Python may run if it comes from a file.
    """
    from dpasp.program import Program

    python: bool | None = options.python
    allowed = "-" not in options.files if python is None else python
    externals = dict(getattr(options, "externals", ()))
    return Program(source, python=allowed, constants=dict(options.constants), externals=externals)


def without_questions(program: ast.Program) -> ast.Program:
    kept = (s for s in program.statements if not isinstance(s, ast.ASKING))
    return replace(program, statements=tuple(kept))


def nothing_asked(program: ast.Program) -> UsageError:
    """The error when there is no question: none was asked, or those asked have no instances."""
    asked = [type(each) for each in program.statements if isinstance(each, ast.ASKING)]
    message, help = "the program asks nothing", "add a #query, or use --query"
    if asked and all(kind in (ast.Decide, ast.Expect) for kind in asked):
        message = "this is about queries, and the program has none: only #decide or #expect"
    elif asked:
        message = "there is nothing to answer: no atoms match the questions"
        help = "`dpasp ground` shows which atoms there are"
    return UsageError(message, help)


def check_picture(path: str | None) -> None:
    """Refuse a picture file with an unknown ending, before the work starts."""
    if path is not None:
        from dpasp.display.scene import FORMATS

        check_ending(path, "a picture", FORMATS)


def wanted_semantics(options: Namespace) -> str | None:
    """The semantics that the command line asks for; None leaves it to the program."""
    single = [name for name in (options.logic, options.probability) if name]
    wanted: str | None = options.semantics
    if wanted is None:
        wanted = ", ".join(single) or None
    elif single:
        raise UsageError("give either --semantics, or -s and -p")
    if wanted is not None:
        try:
            parse_semantics(wanted)
        except ProgramError as error:
            raise UsageError(replace(d, span=None) for d in error.diagnostics) from None
    return wanted


def read_limits(options: Namespace) -> Limits:
    """The limits that the command line sets, with one clock for all that it does."""
    threads = getattr(options, "threads", None)
    clock = (options.started, options.noticed)
    ends = options.noticed is not silent  # a watchdog may end this process
    return Limits(options.time_limit, options.memory_limit, *clock, threads, ends_process=ends)


def _standard_input(console: Console) -> tuple[str, str]:
    if STANDARD_INPUT in console.texts:
        raise UsageError("standard input (-) can be named only once")
    if in_terminal(sys.stdin) and not console.quiet:
        console.note("reading the program from standard input; Ctrl-D ends it")
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"standard input is not text in UTF-8 (byte {error.start})"
        raise ProgramError.at("encoding", message, help="send it as UTF-8") from error
    except (OSError, ValueError) as error:  # standard input is closed, or a folder
        message = f"cannot read standard input: {getattr(error, 'strerror', None) or error}"
        raise ProgramError.at("file", message, help="name a file instead") from error
    console.texts[STANDARD_INPUT] = text
    return STANDARD_INPUT, text


# --- the plan before long work: printed once, if it is long or with -v ------------------------


@contextmanager
def planned(what: str, plan: Callable[[], Plan] | None, console: Console) -> Iterator[Report]:
    """Show the progress of work that begins with compiling, and its plan if it has one."""
    with watching(what, None if console.quiet else console.messages) as report:
        told = _Planned(plan, report, console)
        if console.verbose:
            told.tell()
        yield told


class _Planned:
    """A progress report that prints the plan, at most once, when the work takes long."""

    def __init__(self, plan: Callable[[], Plan] | None, report: Report, console: Console) -> None:
        self.plan = None if console.quiet else plan
        self.report = report
        self.console = console
        self.due: float | None = None

    def __call__(self, done: float, total: float | None) -> None:
        now = time.monotonic()
        if self.due is None:
            self.due = now + 0.9 * PATIENCE  # the plan is printed above the bar
        if now >= self.due:
            self.tell()
        self.report(done, total)

    def stage(self, text: str) -> None:
        getattr(self.report, "stage", silent)(text)

    def tell(self) -> None:
        plan, self.plan = self.plan, None
        if plan is None:
            return
        from dpasp.circuits import HeadCycle

        try:
            self.console.note(str(plan()))
        except LimitReached:
            return  # the query reports it
        except HeadCycle:
            self.console.note("a disjunction through a positive loop: models are enumerated")
