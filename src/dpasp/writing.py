"""Output: text that is safe to show on a terminal or page, and files written all or nothing.

A new file is written under a temporary name and then replaces the old one. A run that is killed
leaves the old file or the new one, never half of one, and perhaps a temporary file, which the next
run that writes into the folder removes.

Example::

    write_text("answers.csv", text)
    write_aside("picture.png", lambda aside: figure.savefig(aside))
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import shorten
from typing import TextIO

from dpasp.errors import UsageError, cannot_write

# .NAME.dpasp-HOST-PROCESS-RANDOM.SUFFIX: cannot be guessed, and says who is writing.
_ASIDE = re.compile(r"\..*\.dpasp-([0-9a-f]{8})-(\d+)-[0-9a-f]{16}(\.[^.]*)?")
_DAY = 86400.0  # seconds after which a temporary file is removed, whoever wrote it
# Control characters (except line ends and tabs), marks that change the direction of text so that it
# reads differently from what it is, and surrogates, which cannot be written at all.
_COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)

_PLAIN = str.maketrans({"ℙ": "P", "θ": "theta", "…": "...", "≤": "<=", "≥": ">=", "→": "->"})


# --- text for terminals and pages ----------------------------------------------------------------


def harmless(text: str) -> str:
    """The text with control characters written out, so that a terminal does not obey them.

    >>> harmless('a("\\x1b[2J")')
    'a("\\\\u001b[2J")'
    """
    return _COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str, stream: TextIO | None = None) -> str:
    """The text with plain letters in place of those that a stream (standard output) cannot encode.

    >>> import io
    >>> printable("ℙ(a) = 0.3", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    'P(a) = 0.3'
    """
    stream = stream or sys.stdout
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    except LookupError:  # an unknown encoding
        pass
    return text


def markup(text: str, quote: bool = True) -> str:
    """A text escaped for HTML or SVG, where some characters are not allowed even as codes.

    >>> markup("<a> \\x00")
    '&lt;a&gt; \\\\u0000'
    """
    whole = harmless(text).translate({0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"})
    import html

    return html.escape(whole, quote)


# --- files ---------------------------------------------------------------------------------------


def write_text(path: str | Path, text: str, newline: str | None = None) -> None:
    """Write a text to a file in UTF-8, all or nothing; raise an :class:`Error` if that fails."""
    write_aside(path, lambda file: file.write_text(text, encoding="utf-8", newline=newline))


def write_aside(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` write a temporary file, which then replaces ``path``."""
    try:
        with aside(path) as file:
            write(file)
    except OSError as error:
        raise cannot_write(path, error) from error


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "sample"), counted(1234, "sample")
    ('1 sample', '1,234 samples')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def path_given(path: object) -> str:
    """The name of a file, checked to be one."""
    if isinstance(path, str) and not path:
        help = "in a shell, a variable without a value may be the reason"
        raise UsageError("the name of a file is empty", help=help)
    if isinstance(path, str | os.PathLike) and "\0" not in str(path):
        return str(path)
    message = f"the name of a file is a text or a path, not {shorten(repr(path), 40)}"
    raise UsageError(message, help="a program that is a text is read by dpasp.loads")


def check_ending(path: str | Path, what: str, endings: tuple[str, ...]) -> None:
    """Refuse a file name with an unknown ending, before the work is done."""
    if Path(path_given(path)).suffix not in endings:
        raise UsageError(
            f"cannot write {path}: {what} is written as {', '.join(endings)}",
            help="let the file's name end in one of them",
        )


def check_written(written: Iterable[str | None], read: Iterable[str | None]) -> None:
    """Refuse to write two files, or what is read and what is written, into the same place."""
    taken = {os.path.realpath(path) for path in read if path is not None}
    for path in written:
        if path is None:
            continue
        place = os.path.realpath(path)
        if place in taken and (os.path.isfile(place) or not os.path.exists(place)):
            raise UsageError(f"{path} is named twice, and would be lost", "choose another name")
        taken.add(place)


@contextmanager
def aside(path: str | Path, rights: int = 0o666) -> Iterator[Path]:
    """Yield an empty file that replaces ``path`` when the block ends without an error.

    If ``path`` is not a plain file (a pipe, a device, or a link to one such as ``/dev/stdout``), it
    is yielded itself. Any other link is replaced, not followed, so that no link can redirect a
    write to another file. The file keeps its permissions; a new one gets ``rights``, as far as the
    user's mask allows.
    """
    target = Path(path)
    old = target.lstat().st_mode if os.path.lexists(target) else None
    if target.exists() and not target.is_file():
        yield target
        return
    _sweep(target.parent)
    file = target.with_name(_name(target))
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, rights)
    os.close(handle)
    try:
        yield file
        _sync(file)
        if old is not None and stat.S_ISREG(old):
            file.chmod(stat.S_IMODE(old))
        os.replace(file, target)
        with suppress(OSError):  # not every system can sync a folder
            _sync(target.parent)
    finally:
        with suppress(OSError):
            file.unlink()


def _name(target: Path) -> str:
    """A temporary name beside the target, with the same suffix: some writers need it."""
    who = f"{_host()}-{os.getpid()}-{os.urandom(8).hex()}"
    return f".{target.stem[:100]}.dpasp-{who}{target.suffix}"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove what killed runs left in a folder."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            match = _ASIDE.fullmatch(entry.name)
            if match and _is_left(entry, match[1], int(match[2])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_left(entry: os.DirEntry[str], host: str, process: int) -> bool:
    """Whether the process that wrote a temporary file has ended."""
    with suppress(OSError):
        if time.time() - entry.stat(follow_symlinks=False).st_mtime > _DAY:
            return True
    if host != _host() or os.name == "nt":  # on Windows, os.kill would end the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _host() -> str:
    import socket  # imported late, for a quick start
    import zlib

    return f"{zlib.crc32(socket.gethostname().encode()):08x}"
