"""A pool of processes on this machine.

A process that dies is started again, and its part is done again. All processes end with the
pool, and whenever work is stopped: by a limit, by Ctrl-C, or by an error.

>>> from dpasp.limits import UNLIMITED
>>> pool = Processes(2)  # they are started when they are needed: not for no part at all
>>> list(pool.map(None, [], UNLIMITED))
[]
>>> pool.close()
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from threading import Lock, Thread
from typing import TypeVar

from dpasp.errors import Error
from dpasp.ground.packing import packed
from dpasp.limits import Watch
from dpasp.scale import doing
from dpasp.scale.ordered import LATE, in_order
from dpasp.scale.pools import Job
from dpasp.scale.worker import receive, send

P = TypeVar("P")
R = TypeVar("R")
STOPPING = 0.1  # seconds until those that just began are stopped too
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Died(Exception):
    """The process ended before it replied."""


class Process:
    """A worker; it is started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._key = b""  # of the job that it has
        self._starting = Lock()

    def ask(self, key: bytes, job: bytes, part: bytes) -> bytes:
        """The reply to a part of a job; raises :class:`Died` where there is none."""
        try:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            send(process.stdin, key, *(() if self._key == key else (job,)), part)
            self._key = key
            message = receive(process.stdout)
        except (OSError, ValueError) as error:  # its pipes are broken, or closed already
            raise Died from error
        if message is None:
            raise Died
        return message[0]

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with self._starting:
            process, self._process, self._key = self._process, None, b""
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not sent yet is lost, as it must
                    stream.close()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._process is not None:
                return self._process
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dpasp.scale.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for whoever started it
            )
            process = self._process
        assert process.stdout is not None
        if receive(process.stdout) is None:
            raise Died
        return process


def _environment() -> dict[str, str]:
    """That of this process, with the same dPASP and one thread each: they share the machine."""
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    return {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": path}


class Processes:
    """So many processes on this machine; ``dpasp.scale.clusters.open_pool`` makes one."""

    cuts = True

    def __init__(self, number: int) -> None:
        self.processes = [Process() for _ in range(number)]
        self._packing = doing.Packing()

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        """What came of each part, in their order."""
        turn = _Turn(self.processes, *self._packing.of(job), watch)
        try:
            yield from in_order(turn, parts, watch, fair=fair)
        finally:
            turn.end()

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.stop()


class _Turn:
    """The parts of one job, handed out to the processes by a thread for each."""

    def __init__(self, processes: list[Process], number: int, job: bytes, watch: Watch) -> None:
        self.workers = len(processes)
        self._key, self._job, self._watch = number.to_bytes(8, "little"), job, watch
        self._todo: queue.SimpleQueue[tuple[int, object, int] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, bytes | Error]] = queue.SimpleQueue()
        self._processes = processes
        self._open = 0
        self._ended = False
        self._threads = [
            Thread(target=self._serve, args=(process,), name="dpasp pool", daemon=True)
            for process in processes
        ]
        for thread in self._threads:
            thread.start()

    def hand_out(self, number: int, part: object, rounds: int) -> None:
        """Let someone do a part; its time is what is left for so many rounds."""
        self._open += 1
        self._todo.put((number, part, rounds))

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        """A reply with the number of its part, if one comes within so many seconds."""
        try:
            reply = self._done.get(timeout=seconds)
        except queue.Empty:
            return None
        self._open -= 1
        return reply

    def end(self) -> None:
        """Nothing more is wanted; who is still at work is stopped."""
        self._ended = True
        self._forget_the_rest()
        if self._watch.remaining() == 0:  # they notice that too, and are ready for the next job
            until = time.monotonic() + LATE
            while self._open and time.monotonic() < until:
                self.wait(STOPPING)
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            while self._open and thread.is_alive():
                for process in self._processes:
                    process.stop()
                thread.join(STOPPING)
            thread.join()

    def _forget_the_rest(self) -> None:
        """Take back what nobody has begun."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._todo.get_nowait()
                self._open -= 1

    def _serve(self, process: Process) -> None:
        while (item := self._todo.get()) is not None:
            number, part, rounds = item
            self._done.put((number, self._reply(process, part, rounds)))

    def _reply(self, process: Process, part: object, rounds: int) -> bytes | Error:
        for _ in range(doing.TRIES):
            try:
                data = packed((part, doing.PartLimits.by(self._watch, rounds)))
                return process.ask(self._key, self._job, data)
            except Died:
                process.stop()
                if self._ended:
                    break
            except Error as error:
                return error
        return doing.died(self._watch)
