"""Compiled circuits on disk, found by what they were compiled from.

Files are named by a hash of the ground program and of everything that affects the circuit, and
contain a hash of their contents. They are written in one step, so that several processes can share
a folder; damaged, truncated or foreign files are ignored. The folder must belong to the user alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from dpasp.circuits.circuit import Circuit
from dpasp.dataclass import dataclass
from dpasp.errors import DataError
from dpasp.writing import aside

SUFFIX = ".circuit"
DIGEST = 32  # bytes
SMALL = 100  # numbers in the arrays of a program that compiles faster than a lookup


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of circuits with a limit in megabytes; the oldest are removed first."""

    folder: Path
    megabytes: float = 512.0
    worth: float = 0.2  # seconds that compiling must have taken for a circuit to be kept

    @classmethod
    def default(cls) -> Cache:
        """The cache of this user: ``$XDG_CACHE_HOME/dpasp`` or ``~/.cache/dpasp``.

        Without a home directory, there is no cache.
        """
        home = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(home):  # the XDG standard says to ignore relative paths
            home = os.path.expanduser("~/.cache")
        return cls(Path(home if os.path.isabs(home) else os.devnull) / "dpasp")

    def is_for(self, size: int) -> bool:
        """Whether to keep the circuit of a program with this many numbers in its arrays."""
        return self.worth <= 0 or size > SMALL

    def get(self, key: str) -> Circuit | None:
        """The circuit with a key, if there is an undamaged one."""
        path = self._path(key)
        try:
            if not self._is_private():
                return None
            data = path.read_bytes()
            if _digest(key, data[DIGEST:]) != data[:DIGEST]:
                return None
            circuit = Circuit.from_bytes(data[DIGEST:])
            os.utime(path)  # recently used
        except (OSError, DataError):
            return None
        return circuit

    def put(self, key: str, circuit: Circuit) -> None:
        """Keep a circuit if it is worth it; a full disk or a locked folder is not an error."""
        if circuit.statistics.seconds < self.worth:
            return
        data = circuit.to_bytes()
        if len(data) > self.megabytes * 2**20 / 4:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_private():
                return
            with aside(self._path(key), rights=0o600) as file:
                file.write_bytes(_digest(key, data) + data)
            self._shrink()

    def _is_private(self) -> bool:
        """Whether the folder is this user's alone; the user's own folder is made private."""
        if not hasattr(os, "getuid"):  # Windows: folders of a user are the user's
            return True
        status = self.folder.stat()
        if status.st_uid != os.getuid():
            return False
        if stat.S_IMODE(status.st_mode) & 0o077:
            self.folder.chmod(0o700)
        return True

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _shrink(self) -> None:
        """Remove the least recently used circuits until the rest fits."""
        files = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        left = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if left <= self.megabytes * 2**20:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            left -= size


def _digest(key: str, data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(key.encode() + data).digest()
