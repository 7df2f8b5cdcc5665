"""A pool of processes on this machine, and what runs in each of them.

A process that dies is started again, and its part is done again. All processes end with the
pool, and whenever work is stopped: by a limit, by Ctrl-C, or by an error.

A worker is ``python -m dpasp.cluster.processes``: requests come in by standard input and replies
leave by standard output, each preceded by its length. It ends as soon as its standard input does,
whatever it is doing. (``concurrent.futures.ProcessPoolExecutor`` would run the caller's script
again in each worker, fail as a whole when one dies, and cannot stop a part that has begun.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, TypeVar

from dpasp.cluster.parts import LATE, TRIES, JobKeeper, Packing, PartLimits, died, in_order
from dpasp.cluster.pools import Job
from dpasp.errors import Error
from dpasp.limits import Watch
from dpasp.limits.work import exit_at_once, packed

P = TypeVar("P")
R = TypeVar("R")
Message = tuple[bytes, ...]

STOPPING = 0.1  # seconds after which processes that were just starting are stopped too
LENGTH = 8  # bytes for the length of a message
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Processes:
    """Some processes on this machine; :func:`~dpasp.cluster.pools.open_pool` makes one."""

    cuts = True

    def __init__(self, number: int) -> None:
        self.processes = [Process() for _ in range(number)]
        self._packing = Packing()

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        turn = _Turn(self.processes, *self._packing.of(job), watch)
        try:
            yield from in_order(turn, parts, watch, fair=fair)
        finally:
            turn.end()

    def close(self) -> None:
        for process in self.processes:
            process.stop()


class _Turn:
    """One job and its running parts; a thread waits for each busy process."""

    def __init__(self, processes: list[Process], number: int, job: bytes, watch: Watch) -> None:
        self.workers = len(processes)
        self._key, self._job, self._watch = number.to_bytes(8, "little"), job, watch
        self._processes = processes
        self._idle = processes[::-1]  # the first one is taken first
        self._threads = ThreadPoolExecutor(len(processes), "dpasp pool")
        self._open: dict[Future[bytes | Error], int] = {}
        self._ended = False

    def hand_out(self, number: int, part: object, rounds: int) -> None:
        self._open[self._threads.submit(self._reply, part, rounds)] = number

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        done, _ = wait(self._open, seconds, FIRST_COMPLETED)
        if not done:
            return None
        reply = done.pop()
        return self._open.pop(reply), reply.result()

    def end(self) -> None:
        """Cancel the parts that are still running."""
        self._ended = True
        begun = [reply for reply in self._open if not reply.cancel()]
        if self._watch.remaining() == 0:  # workers notice it too, and are ready for the next job
            wait(begun, LATE)
        while wait(begun, 0).not_done:
            for process in self._processes:
                process.stop()
            wait(begun, STOPPING)
        self._threads.shutdown()

    def _reply(self, part: object, rounds: int) -> bytes | Error:
        process = self._idle.pop()
        try:
            for _ in range(TRIES):
                try:
                    data = packed((part, PartLimits.by(self._watch, rounds)))
                    return process.ask(self._key, self._job, data)
                except Died:
                    process.stop()
                    if self._ended:
                        break
            return died(self._watch)
        except Error as error:
            return error
        finally:
            self._idle.append(process)


class Died(Exception):
    """The process ended before it replied."""


class Process:
    """A worker, started on first use."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._key = b""  # the key of its job
        self._starting = Lock()

    def ask(self, key: bytes, job: bytes, part: bytes) -> bytes:
        """Return the reply to a part of a job; raise :class:`Died` if none comes."""
        try:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            send(process.stdin, key, *(() if self._key == key else (job,)), part)
            self._key = key
            message = receive(process.stdout)
        except (OSError, ValueError) as error:  # its pipes are broken or closed
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
                with suppress(OSError):  # unsent bytes are lost
                    stream.close()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._process is not None:
                return self._process
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dpasp.cluster.processes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the process that started it
            )
            process = self._process
        assert process.stdout is not None
        if receive(process.stdout) is None:
            raise Died
        return process


def _environment() -> dict[str, str]:
    """This process's environment, with the same dPASP and one thread: workers share the machine."""
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    return {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": path}


def send(stream: IO[bytes], *parts: bytes) -> None:
    head = [len(parts), *map(len, parts)]
    stream.write(b"".join(number.to_bytes(LENGTH, "little") for number in head))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """Return the next message; None at the end of the stream."""
    try:
        lengths = [_number(stream) for _ in range(_number(stream))]
        return tuple(_exactly(stream, length) for length in lengths)
    except EOFError:
        return None


def _number(stream: IO[bytes]) -> int:
    return int.from_bytes(_exactly(stream, LENGTH), "little")


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


# --- in the worker ------------------------------------------------------------------------------


def main() -> None:
    """Do the parts that are asked for, until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one handles it
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything else that is printed is not a reply
    exit_at_once()
    waiting: SimpleQueue[Message] = SimpleQueue()
    Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    worker, job = JobKeeper(), b""
    send(replies, b"ready")
    while True:
        key, *new, part = waiting.get()
        job = new[0] if new else job  # sent only once
        send(replies, worker.reply(key, job, part))


def _listen(requests: IO[bytes], waiting: SimpleQueue[Message]) -> None:
    while (message := receive(requests)) is not None:
        waiting.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
