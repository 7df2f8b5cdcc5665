r"""Files and positions: files are concatenated, so that a line number determines file and line.

clingo reads all files of a program as one text and reports positions as a line and a column in
bytes.

>>> sources = Sources().add("a.plp", "x.\ny.\n").add("b.plp", "z.\n")
>>> sources.span(Place(4, 1), Place(4, 2))
Span(file='b.plp', line=1, column=1, end_line=1, end_column=2)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from os.path import expanduser
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from clingo.ast import Location

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Severity, Span, closest
from dpasp.writing import path_given


@dataclass(frozen=True, slots=True)
class Reach:
    """Which files a text may read: any, those in a folder, or none.

    A file that the user named may name any other, as in clingo. A text from elsewhere may name
    none, or those inside the folder given for it.
    """

    folder: Path | None = None
    anywhere: bool = False

    def path(self, name: str, by: str) -> Path:
        """The path of a file named by the text ``by``.

        Raises :class:`ProgramError` if it is out of reach, whether it exists or not.
        """
        path = Path(expanduser(name))  # '~' of an unknown user stays as it is
        if self.anywhere:
            return path if path.is_absolute() else Path(by).parent / path
        if self.folder is None:
            raise ProgramError(_out_of_reach(name))
        try:
            folder = self.folder.resolve()
            inside = Path(by).resolve().is_relative_to(folder)
            whole = ((Path(by).parent if inside else folder) / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # too long, or a loop of links
            raise ProgramError(_out_of_reach(name)) from error
        if not whole.is_relative_to(folder):
            raise ProgramError(_out_of_reach(name, folder))
        return whole


ANYWHERE = Reach(anywhere=True)


def _out_of_reach(name: str, folder: Path | None = None) -> Diagnostic:
    if folder is not None:
        message = f"{name} is not inside the folder that this text may read"
        return Diagnostic("file-not-allowed", message, help="name a file inside it")
    return Diagnostic(
        "file-not-allowed",
        f"this text may not read files, but names {name}",
        help="a program in a file may: dpasp.load(path), or `dpasp run FILE`; for a text say "
        "where its files are, loads(text, folder=…), or that it is trusted: python=True, --python",
    )


def load_text(path: str | Path) -> str:
    """The text of a file; :class:`ProgramError` if it cannot be read."""
    path = path_given(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{path} is not text in UTF-8 (byte {error.start})"
        raise ProgramError(Diagnostic("encoding", message, help="save it as UTF-8")) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        help = _similar(Path(path)) or "check the name and the folder"
        problem = Diagnostic("file", f"cannot read {path}: {reason}", help=help)
        raise ProgramError(problem) from error


def find_included(name: str, by: str, reach: Reach = ANYWHERE) -> Path:
    """The file of an ``#include`` in the file ``by``: next to it, or in the working directory.

    Only regular files are read: a pipe or device might never end.
    """
    beside = reach.path(name, by)
    for path in (beside, Path(name)) if reach.anywhere else (beside,):
        try:
            if path.is_file():
                path.resolve()
                return path
        except (OSError, RuntimeError, ValueError):  # the name is too long, or a loop of links
            break
    what = "is not a plain file" if _exists(beside) else "does not exist"
    help = _similar(beside) or "check the name; it is relative to the including file"
    problem = Diagnostic("file", f"the file {name} {what}", help=help)
    raise ProgramError(problem)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _similar(path: Path) -> str:
    """Help that names a similar file, or nothing."""
    try:
        files = [entry for entry in path.parent.iterdir() if entry.is_file()] if path.stem else []
    except (OSError, ValueError):
        return ""
    # Compare names without their extension.
    names = {entry.stem: entry.name for entry in files}
    near = names.get(closest(path.stem, sorted(names)), path.name)
    return f"did you mean '{near}'?" if near != path.name else ""


# --- positions ----------------------------------------------------------------------------------


class Place(NamedTuple):
    """A line of all files laid end to end and a column in characters, both from 1."""

    line: int
    column: int


@runtime_checkable
class Slice(Protocol):
    """Anything with a place in a text: a token, a mark, the piece of a statement."""

    @property
    def start(self) -> int:
        """The offset at which it begins."""

    @property
    def end(self) -> int:
        """The offset after its end."""


@dataclass(frozen=True)
class SourceFile:
    """A text, its name, and the number of its first line among all files."""

    name: str
    text: str
    first_line: int = 1
    secret: bool = False  # not to be quoted in messages

    @cached_property
    def line_starts(self) -> list[int]:
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def has(self, search: Callable[[str], object]) -> bool:
        """Whether a search of the text finds something; the result is kept."""
        known = self._found.get(search)
        if known is None:
            known = self._found[search] = bool(search(self.text))
        return known

    @cached_property
    def _found(self) -> dict[Callable[[str], object], bool]:
        return {}

    def span(self, start: int, end: int) -> Span:
        starts = self.line_starts
        first = bisect_right(starts, start)
        last = first  # almost always
        if end > start and first < len(starts) and end >= starts[first]:
            last = bisect_right(starts, end, first)
        text = "" if self.secret else self.text
        column, end_column = start - starts[first - 1] + 1, max(start, end) - starts[last - 1] + 1
        return Span(self.name, first, column, last, end_column, text)

    def problem(
        self,
        code: str,
        message: str,
        where: Slice | tuple[int, int],
        help: str = "",
        severity: Severity = "error",
    ) -> Diagnostic:
        """What is wrong with a slice of the text."""
        start, end = (where.start, where.end) if isinstance(where, Slice) else where
        return Diagnostic(code, message, self.span(start, end), help, severity)

    def slice(self, span: Span) -> tuple[int, int]:
        """The offsets of the start and the end of a span."""
        starts = self.line_starts
        end = starts[span.end_line - 1] + span.end_column - 1
        return starts[span.line - 1] + span.column - 1, end

    def offset(self, place: Place) -> int:
        """The offset of a place, clipped to the text."""
        line = max(place.line - self.first_line, 0)
        if line >= len(self.line_starts):
            return len(self.text)
        return min(self.line_starts[line] + place.column - 1, len(self.text))


@dataclass(frozen=True)
class Sources(Mapping[str, str]):
    """The files of a program in order; as a mapping, their texts by name."""

    files: tuple[SourceFile, ...] = ()
    wide: Mapping[int, str] = field(default_factory=dict)  # non-ASCII lines as clingo read them
    reaches: Mapping[str, Reach] = field(default_factory=dict)  # of restricted texts

    @property
    def next_line(self) -> int:
        """The first line number of the next file."""
        if not self.files:
            return 1
        return self.files[-1].first_line + len(self.files[-1].line_starts)

    def add(self, name: str, text: str, secret: bool = False) -> Sources:
        """These files and one more."""
        return replace(self, files=(*self.files, SourceFile(name, text, self.next_line, secret)))

    def reaching(self, reaches: Mapping[str, Reach]) -> Sources:
        """These files, with limits on what some of them may read."""
        return replace(self, reaches={**self.reaches, **reaches})

    def reach(self, name: str) -> Reach:
        return self.reaches.get(name, ANYWHERE)

    def with_wide_lines(self, text: str, first_line: int) -> Sources:
        """These files, remembering non-ASCII lines, whose columns clingo counts in bytes."""
        if text.isascii():
            return self
        lines = enumerate(text.split("\n"), first_line)
        wide = {number: line for number, line in lines if not line.isascii()}
        return replace(self, wide={**self.wide, **wide})

    def file_at(self, line: int) -> SourceFile:
        index = bisect_right(self.files, line, key=lambda file: file.first_line) - 1
        return self.files[max(index, 0)]

    def place(self, line: int, byte_column: int) -> Place:
        """The place of a column counted in bytes."""
        text = self.wide.get(line)
        if text is None:
            return Place(line, byte_column)
        return Place(line, len(text.encode()[: byte_column - 1].decode(errors="ignore")) + 1)

    def span(self, begin: Place, end: Place) -> Span:
        """The span between two places, clipped to their file."""
        file = self.file_at(begin.line)
        return file.span(file.offset(begin), file.offset(end))

    def span_of(self, location: Location) -> Span:
        """The span of a clingo node."""
        begin, end = location.begin, location.end
        return self.span(self.place(begin.line, begin.column), self.place(end.line, end.column))

    def holds(self, text: str) -> bool:
        """Whether some file contains a text; True if there are no files."""
        return not self.files or any(text in file.text for file in self.files)

    def text_of(self, span: Span) -> str | None:
        """The text of a span; None if its file is not one of these."""
        for file in self.files:
            if file.name == span.file and span.end_line <= len(file.line_starts):
                return file.text[slice(*file.slice(span))]
        return None

    def in_order(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Diagnostics without duplicates in text order; those without a place first."""
        files = {name: position for position, name in enumerate(self)}

        def key(diagnostic: Diagnostic) -> tuple[int, int, int]:
            span = diagnostic.span
            return (files.get(span.file, -1), span.line, span.column) if span else (-2, 0, 0)

        return sorted(dict.fromkeys(diagnostics), key=key)

    def __getitem__(self, name: str) -> str:
        for file in self.files:
            if file.name == name:
                return file.text
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(file.name for file in self.files))

    def __len__(self) -> int:
        return len({file.name for file in self.files})
