"""Writing files: beside their place first, then moved there, so that there is never half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpasp.errors import UsageError, cannot_write


def write_aside(path: str | Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place, under a name with the same ending, then move it."""
    target = Path(path)
    aside = None
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
        os.close(handle)
        aside = Path(name)
        write(aside)
        aside.chmod(0o666 & ~_umask())
        aside.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if aside is not None:
            with suppress(OSError):
                aside.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file."""
    write_aside(path, lambda file: file.write_text(text, encoding="utf-8"))


def check_ending(path: str | Path, what: str, endings: tuple[str, ...]) -> None:
    """Refuse a name that does not say how to write, before the work is done."""
    if Path(path).suffix not in endings:
        raise UsageError(
            f"cannot write {path}: {what} is written as {', '.join(endings)}",
            help="let the file's name end in one of them",
        )


def _umask() -> int:
    """What new files may not be; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
