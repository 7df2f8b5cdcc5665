"""Where the command line writes: answers to standard output, the rest to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import field, replace
from typing import TextIO

from dpasp.dataclass import dataclass
from dpasp.display.diagnostics import (
    in_terminal,
    read_source,
    render,
    to_dict,
    wants_colour,
)
from dpasp.errors import Diagnostic, Error, LimitReached, MemoryLimit, OutputError
from dpasp.limits import Limits
from dpasp.limits.watchdog import Ending, Watchdog
from dpasp.writing import harmless, printable

STANDARD_INPUT = "<stdin>"  # the name of standard input in diagnostics


@dataclass(slots=True)
class Console:
    """The two streams of a command and how much it should say."""

    answers: TextIO
    messages: TextIO
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    texts: dict[str, str] = field(default_factory=dict)  # texts of sources not on disk
    own_process: bool = False  # whether this process runs only this command
    watchdog: Watchdog = field(  # ends this process at a limit; the default watches nothing
        default_factory=lambda: Watchdog(Limits(), lambda limit: Ending((), limit.exit_code))
    )

    def answer(self, text: str, *, exact: bool = False) -> None:
        """Write an answer, with control codes written out.

        In an ``exact`` text, which is meant for a file, they are written out on a terminal only.
        """
        if not exact or in_terminal(self.answers):
            text = harmless(text)
        self.watchdog.send_away()
        with writing_answers():
            text = printable(text, self.answers)
            self.answers.write(text if text.endswith("\n") else text + "\n")
            self.answers.flush()

    def answer_json(self, fields: object) -> None:
        self.answer(_json(fields))

    def note(self, text: str) -> None:
        """Write a message to standard error, with control codes written out."""
        self._say(harmless(text))

    def _say(self, text: str) -> None:
        """Write a message; a failure to do so is ignored, because it could not be shown either."""
        try:
            self.messages.write(printable(text, self.messages) + "\n")
            self.messages.flush()
        except BrokenPipeError:
            raise
        except OSError:
            pass

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Print diagnostics for a person; no warnings with ``--quiet``."""
        if shown := self.rendered(diagnostics):
            self._say(shown)

    def rendered(self, diagnostics: Iterable[Diagnostic]) -> str:
        """Diagnostics as text for a person; no warnings with ``--quiet``."""
        shown = [d for d in diagnostics if d.severity == "error" or not self.quiet]
        return render(shown, self.source, wants_colour(self.messages)) if shown else ""

    def error_text(self, error: Error) -> str:
        """An error as text: JSON with ``--json``, otherwise for a person."""
        if not self.json:
            return self.rendered(error.diagnostics)
        return _json(to_dict(error.diagnostics))

    def last_words(self, help: str | None, error: LimitReached) -> Ending:
        """The message if a limit ends the process at once; ``help`` replaces the error's own."""
        stream = self.answers if self.json else self.messages
        if help is not None:
            option = "--memory-limit" if isinstance(error, MemoryLimit) else "--time-limit"
            told = help.format(option=option)
            error = type(error)(replace(problem, help=told) for problem in error.diagnostics)
        return Ending((written(self.error_text(error), stream),), error.exit_code)

    def source(self, file: str) -> str | None:
        """The text that a diagnostic's file name stands for."""
        return self.texts.get(file) or read_source(file)


def _json(fields: object) -> str:
    import json  # imported late, so that a plain run starts quickly

    return json.dumps(fields, indent=2, ensure_ascii=False)


def written(text: str, stream: TextIO) -> tuple[int, bytes]:
    """The descriptor of a stream, and the bytes of a text in it."""
    shown = printable(text, stream) + "\n"
    return stream.fileno(), shown.encode(stream.encoding, errors="backslashreplace")


@contextmanager
def writing_answers() -> Iterator[None]:
    """Make failures to write to standard output an :class:`OutputError`, except a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the answers: {error.strerror or error}") from error


@contextmanager
def answers_apart() -> Iterator[TextIO]:
    """Reserve standard output for answers; what anything else prints goes to standard error.

    A program's Python may print, and so may its child processes and C code, so the file
    descriptor is moved as well where standard output is the process's own.
    """
    original, number = sys.stdout, None
    with suppress(OSError, ValueError):
        number = original.fileno()
    if number != 1:
        with redirect_stdout(sys.stderr):
            yield original
        return
    original.flush()
    saved = os.dup(1)
    answers = open(saved, "w", encoding=original.encoding, errors="backslashreplace")  # noqa: SIM115
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield answers
    finally:
        original.flush()
        os.dup2(saved, 1)
        with suppress(OSError):  # the failure to write has been reported
            answers.close()
