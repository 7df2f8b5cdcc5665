"""What can go wrong: the errors, and the messages that they carry.

Every failure that a user can cause is an :class:`Error` and carries the
:class:`Diagnostic`\\ s that a person (or a program, through JSON) reads::

    Error                     anything dPASP refuses or gives up on
    ├── ProgramError          the text of a program (or of a query) is at fault
    ├── DataError             files, networks, data or observations are at fault
    ├── InferenceError        the program is fine, but this question has no answer
    │   ├── InconsistentProgram   no total choice has a model
    │   └── ImpossibleEvidence    the evidence has probability 0
    ├── UsageError            a command or function was called wrongly
    ├── OutputError           results cannot be written
    ├── LimitReached          a limit stopped the work
    │   ├── TimeLimit
    │   ├── MemoryLimit
    │   └── SizeLimit             a circuit or enumeration outgrew its budget
    └── Interrupted           Ctrl-C

What is doubtful but not an error becomes a :class:`ProgramWarning`, one of Python's warnings.

>>> span = Span("p.plp", 2, 1, 2, 4)
>>> print(Diagnostic("probability-range", "1.5 is not a probability", span))
p.plp:2:1: error: 1.5 is not a probability [probability-range]
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from importlib import import_module
from typing import Any, ClassVar, Literal, Self, TypeVar

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of source text: 1-based lines and columns in characters, the end exclusive.

    ``text`` is that of the whole file where it is known, so that an error can show the line.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str | None = field(default=None, compare=False, repr=False)

    def to(self, other: Span) -> Span:
        """The piece from the start of this one to the end of ``other``."""
        return replace(self, end_line=other.end_line, end_column=other.end_column)

    def at_line(self, line: int) -> Span:
        """The beginning of a line of the same file."""
        return Span(self.file, line, 1, line, 2, self.text)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: a stable code, what is wrong, where, and what to write instead."""

    code: str
    message: str
    span: Span | None = None
    help: str = ""
    severity: Severity = "error"

    def to_dict(self) -> dict[str, str | int | None]:
        """The JSON form."""
        place = ("file", "line", "column", "end_line", "end_column")
        said = {"code": self.code, "message": self.message, "help": self.help}
        return {name: getattr(self.span, name, None) for name in place} | said

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        return f"{place}{self.severity}: {self.message} [{self.code}]"


def nearest(word: str, known: Iterable[str]) -> str:
    """A question suggesting the closest known word, or "".

    >>> nearest("maxnet", ["maxent", "credal"])
    "did you mean 'maxent'?"
    """
    match = closest(word, sorted(known))
    return f"did you mean '{match}'?" if match else ""


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The closest known word, or "" if none is as similar as ``cutoff``.

    >>> closest("maxnet", ["maxent", "credal"])
    'maxent'
    """
    from difflib import get_close_matches  # most programs are right

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=cutoff)), "")


class Error(Exception):
    """Anything that dPASP refuses or gives up on; ``diagnostics`` says what and where."""

    exit_code: ClassVar[int] = 65
    default_code: ClassVar[str] = "program"

    def __init__(self, problem: str | Diagnostic | Iterable[Diagnostic], help: str = "") -> None:
        if isinstance(problem, str):
            problem = Diagnostic(self.default_code, problem, help=help)
        if isinstance(problem, Diagnostic):
            problem = (problem,)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(problem)
        super().__init__("\n".join(map(str, self.diagnostics)))

    @classmethod
    def at(cls, code: str, message: str, span: Span | None = None, help: str = "") -> Self:
        """An error with one diagnostic, from its code, message, place and help."""
        return cls(Diagnostic(code, message, span, help))

    def __str__(self) -> str:
        """What is wrong, with the line, a caret under the place, and the help."""
        from dpasp.display.diagnostics import render

        return render(self.diagnostics)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics,)

    def _repr_html_(self) -> str:
        from dpasp.display.html import error_html

        return error_html(self)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: what is wrong and where."""
        return str(self).splitlines()


class ProgramError(Error):
    """The text of a program or of a query is at fault."""


class DataError(Error):
    """Files, networks, data or observations are at fault."""

    default_code = "data"


class InferenceError(Error):
    """The program is fine, but this question has no answer."""

    default_code = "inference"


class InconsistentProgram(InferenceError):
    """No total choice has a model (or some has none, and the user asked for an error)."""

    default_code = "inconsistent"


class ImpossibleEvidence(InferenceError):
    """The evidence has probability 0."""

    default_code = "impossible-evidence"


class UsageError(Error):
    """A command or a function was called wrongly."""

    exit_code = 2
    default_code = "usage"


class OutputError(Error):
    """Results cannot be written, because the disk is full or fails."""

    exit_code = 74
    default_code = "output"


class LimitReached(Error):
    """A limit stopped the work."""

    default_code = "limit"


class TimeLimit(LimitReached):
    """The time limit was reached."""

    exit_code = 124
    default_code = "time-limit"


class MemoryLimit(LimitReached):
    """The memory limit was reached."""

    exit_code = 125
    default_code = "memory-limit"


class SizeLimit(LimitReached):
    """A circuit or an enumeration outgrew its budget."""

    exit_code = 125
    default_code = "size-limit"


Item = TypeVar("Item")
Made = TypeVar("Made")


def each(function: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """Apply a function to each item; raises the errors of all of them together."""
    made: list[Made] = []
    problems: list[Diagnostic] = []
    for item in items:
        try:
            made.append(function(item))
        except ProgramError as error:
            problems += error.diagnostics
    if problems:
        raise ProgramError(problems)
    return made


def needed(module: str, code: str, what: str, help: str) -> Any:
    """Import a module that ``what`` needs, from a package that may not be installed.

    Raises :class:`UsageError` if it cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        message = f"{what} needs {module.partition('.')[0]}, which is not installed"
        raise UsageError.at(code, message, help=help) from error


class Interrupted(Error):
    """The user pressed Ctrl-C."""

    exit_code = 130
    default_code = "interrupted"


class ProgramWarning(UserWarning):
    """Something doubtful about a program, a question or an answer; ``diagnostic`` says what.

    >>> import warnings
    >>> warnings.simplefilter("ignore", ProgramWarning)  # to silence them
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        place = f"{diagnostic.span}: " if diagnostic.span else ""
        help = f"; {diagnostic.help}" if diagnostic.help else ""
        super().__init__(f"{place}{diagnostic.message}{help} [{diagnostic.code}]")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostic,)


# About what was asked, so repeated whenever it is asked.
_OF_QUESTIONS = ("unknown-atom", "no-instances", "compared-atom")
_PACKAGE = os.path.dirname(__file__) + os.sep


def tell(found: Iterable[Diagnostic], told: set[Diagnostic]) -> None:
    """Issue a :class:`ProgramWarning` for each diagnostic, at the line that called this package.

    Nothing is issued twice in a call; warnings about a program's rules are issued only once for the
    program, which remembers them in ``told``.
    """
    new = [warning for warning in dict.fromkeys(found) if warning not in told]
    if not new:
        return
    told.update(w for w in new if w.span is not None and w.code not in _OF_QUESTIONS)
    for warning in new:
        warnings.warn(ProgramWarning(warning), stacklevel=outside())


def outside() -> int:
    """The ``stacklevel`` of a warning at the line that called this package, from its caller."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_PACKAGE)
        or frame.f_globals.get("__name__", "").startswith("torch.")  # its decorators
    ):
        level, frame = level + 1, frame.f_back
    return level


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress every :class:`ProgramWarning`: the caller shows the diagnostics itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProgramWarning)
        yield


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def cannot_write(what: object, error: OSError) -> Error:
    """The error for a file that cannot be written, because of the disk or of its name."""
    kind = OutputError if error.errno in _FULL else UsageError
    return kind(f"cannot write {what}: {error.strerror or error}")
