"""From words to an exit code, whatever happens on the way."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from io import TextIOWrapper

from dpasp.cli.commands import command
from dpasp.cli.console import Console, answers_apart, writing_answers
from dpasp.cli.parser import parse
from dpasp.errors import Diagnostic, Error, Interrupted, MemoryLimit, OutputError

BUG = 70
BROKEN_PIPE = 141  # what a shell reports for a process that SIGPIPE ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on some words (default: the process's) and give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # ℙ in a terminal that lacks it
    console = Console(sys.stdout, sys.stderr, json="--json" in words)
    try:
        code = guarded(words, console)
        with writing_answers():
            sys.stdout.flush()
    except BrokenPipeError:
        _hang_up()
        return BROKEN_PIPE
    except OutputError as error:
        console.report(error.diagnostics)
        _hang_up()
        return error.exit_code
    return code


def guarded(words: Sequence[str], console: Console) -> int:
    """The exit code of a command; every failure is reported here, none escapes."""
    try:
        return execute(parse(words), console)
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except OutputError:
        raise
    except Error as error:
        return fail(error, console)
    except KeyboardInterrupt:
        return fail(Interrupted("interrupted"), console)
    except MemoryError:
        return fail(MemoryLimit("out of memory", help="make the program smaller"), console)
    except BrokenPipeError:
        raise
    except Exception as error:
        return confess(error, words, console)


def execute(options: Namespace, console: Console) -> int:
    """Run one command; its module is imported only now, for a quick start."""
    options.started = time.monotonic()
    console.quiet, console.verbose = options.quiet, options.verbose
    with answers_apart() as answers:
        return command(options.command).execute(options, replace(console, answers=answers))


def fail(error: Error, console: Console) -> int:
    """Report an error and give its exit code."""
    if console.json:
        from dpasp.display.diagnostics import to_json

        console.answer(to_json(error.diagnostics))
    else:
        console.report(error.diagnostics)
    return error.exit_code


def confess(error: Exception, words: Sequence[str], console: Console) -> int:
    """Report a bug of our own in one line, with the traceback only when asked for."""
    if "-v" in words or "--verbose" in words:
        import traceback

        console.note("".join(traceback.format_exception(error)).rstrip())
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    problem = Diagnostic(
        "internal",
        f"this is a bug in dPASP ({what})",
        help="please report it with the program and what `dpasp -v` prints for it",
    )
    if console.json:
        fail(Error(problem), console)
    console.report([problem])
    return BUG


def _hang_up() -> None:
    """Nothing more can be written: be quiet about what is left."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
