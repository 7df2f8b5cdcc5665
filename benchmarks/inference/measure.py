"""Run a command under limits, and say what it used."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

BUSY = 15  # wall seconds that are allowed for a CPU second: the machine may be shared
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES}


class State(Enum):
    """How a run ended."""

    ANSWERED = "answered"
    TIME = "over the time limit"
    MEMORY = "over the memory limit"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Limits:
    """CPU seconds and megabytes that one run may take."""

    seconds: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Run:
    """What a command used (its own children included) and printed."""

    state: State
    cpu: float
    wall: float
    megabytes: float
    output: str
    errors: str


ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str], folder: Path, limits: Limits) -> Run:
    """Run a command in a folder of its own, as its own process group, with nothing cached."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.monotonic()
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=lambda: _limit(limits),
        )
        late = threading.Timer(BUSY * limits.seconds + 5, _end, [child.pid])
        late.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            late.cancel()
            _end(child.pid)
        wall = time.monotonic() - started
        output.seek(0)
        errors.seek(0)
        texts = output.read(), errors.read()
    cpu = used.ru_utime + used.ru_stime
    megabytes = used.ru_maxrss / 1024
    state = _state(child.returncode, cpu, wall, texts[0] + texts[1], limits)
    return Run(state, cpu, wall, megabytes, *texts)


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a run: one thread, temporary and cached files in its folder.

    Bytecode is kept, as it is where dPASP is installed: compiling it takes longer than to start.
    """
    own = {"TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1"}
    own["PYTHONDONTWRITEBYTECODE"] = ""
    return os.environ | ONE_THREAD | own | {"PYTHONPATH": str(ROOT)}


def _limit(limits: Limits) -> None:
    seconds = math.ceil(limits.seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    size = int(limits.megabytes * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end(group: int) -> None:
    """End what is left of a process group that we started."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _state(code: int, cpu: float, wall: float, text: str, limits: Limits) -> State:
    over = cpu >= 0.98 * limits.seconds or wall >= BUSY * limits.seconds + 5
    if over or code in (-signal.SIGXCPU, 124):
        return State.TIME
    if code == 0:
        return State.ANSWERED
    if code == 125 or any(word in text for word in ("MemoryError", "bad_alloc", "out of memory")):
        return State.MEMORY
    return State.FAILED
