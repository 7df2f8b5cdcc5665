"""What a worker may not do: open files, reach the network, start processes, use all memory.

The doors close when everything that is needed has been imported. Two locks are on each: the
operating system's limits, where it has them, and a hook of Python's that refuses.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import NoReturn

MEMORY = "/proc/self/statm"  # the one file that may be read: how much memory is in use
REFUSED = (
    "open",
    "os.",
    "subprocess.",
    "socket.",
    "shutil.",
    "ctypes.",
    "pty.",
    "tempfile.",
    "winreg.",
)
HEADROOM = 1.5  # of the memory limit, before the operating system refuses more
RESERVED = 2**30  # bytes of address space that the libraries take for themselves


class Forbidden(PermissionError):
    """Something that a program in the playground may not do."""


def close_doors(megabytes: float) -> None:
    """From now on this process only computes."""
    _limit(megabytes)
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if not event.startswith(REFUSED):
        return
    if event == "open" and arguments[:1] == (MEMORY,):
        return
    _say_no(event)


def _say_no(event: str) -> NoReturn:
    raise Forbidden(f"this is not possible in the playground ({event})")


def _limit(megabytes: float) -> None:
    """The limits of the operating system; none where it has none of this kind."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    files = max((int(name) for name in _descriptors()), default=2) + 2
    room = int(megabytes * 2**20 * HEADROOM) + RESERVED
    for kind, most in (
        ("RLIMIT_NOFILE", files),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_AS", room),
    ):
        try:
            resource.setrlimit(getattr(resource, kind), (most, most))
        except (AttributeError, ValueError, OSError):
            continue  # another system, or a lower limit is set already


def _descriptors() -> list[str]:
    try:
        return os.listdir("/proc/self/fd")
    except OSError:
        return []


def die_with_parent() -> None:
    """End this process, whatever it is doing, when the one that started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
