"""From command-line arguments to an exit code, whatever happens on the way."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import TextIOWrapper

from dpasp.cli import raise_interrupts
from dpasp.cli.commands import find_command, parse_command
from dpasp.cli.console import Console, answers_apart, writing_answers
from dpasp.errors import Diagnostic, Error, Interrupted, MemoryLimit, OutputError, without_warnings
from dpasp.limits import Limits, silent
from dpasp.limits.watchdog import Watchdog

BUG = 70
READING = "the program was still being read and checked: raise {option}"
BROKEN_PIPE = 141  # what a shell reports for a process that SIGPIPE ended


def run_words(arguments: Sequence[str], *, own_process: bool = False) -> int:
    """Run the command line with these arguments and return its exit code.

    If it has the process to itself, that is ended at a limit that no stage of the command notices.
    """
    words = list(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a stream that cannot encode ℙ
    console = Console(sys.stdout, sys.stderr, json="--json" in words, own_process=own_process)
    try:
        code = run_guarded(words, console)
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


def run_guarded(words: Sequence[str], console: Console) -> int:
    """Run a command and return its exit code; every failure is reported here."""
    try:
        return execute_command(parse_command(words), console)
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


def execute_command(options: Namespace, console: Console) -> int:
    """Run one command, whose module is imported only now."""
    options.started, options.noticed = time.monotonic(), silent
    console.quiet, console.verbose = options.quiet, options.verbose
    chosen = find_command(options.command)
    raise_interrupts()
    with answers_apart() as answers:
        console = replace(console, answers=answers)
        # commands print the warnings themselves
        with watched(options, console), without_warnings():
            return chosen.execute(options, console)


@contextmanager
def watched(options: Namespace, console: Console) -> Iterator[None]:
    """End this process soon after a limit of the command, whatever it is doing."""
    seconds, megabytes = (getattr(options, name, None) for name in ("time_limit", "memory_limit"))
    if not console.own_process or (seconds is None and megabytes is None):
        yield
        return

    limits = Limits(seconds, megabytes, options.started)
    watchdog = Watchdog(limits, partial(console.last_words, READING), native=True)
    options.noticed, console.watchdog = watchdog.noticed, watchdog
    watchdog.start()
    try:
        yield
    finally:
        watchdog.send_away()


def fail(error: Error, console: Console) -> int:
    if console.json:
        console.answer(console.error_text(error))
    else:
        console.report(error.diagnostics)
    return error.exit_code


def confess(error: Exception, words: Sequence[str], console: Console) -> int:
    """Report a bug of our own in one line; the traceback comes only with ``-v``."""
    if "-v" in words or "--verbose" in words:
        import traceback

        console.note("".join(traceback.format_exception(error)).rstrip())
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    help = "please report it with the program and what `dpasp -v` prints for it"
    problem = Diagnostic("internal", f"this is a bug in dPASP ({what})", help=help)
    if console.json:
        fail(Error(problem), console)
    console.report([problem])
    return BUG


def _hang_up() -> None:
    """Silence standard output: the reader has closed it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
