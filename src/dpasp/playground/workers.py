"""Workers: a child process for each page, and the queues in front of all of them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.limits import Limits

GRACE = 10.0  # seconds beyond the time limit after which a worker is ended from outside
START = 60.0  # seconds that a worker may take to start
LARGEST = 2**24  # bytes of a reply
KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")

BUSY = "The playground is busy: {} requests are waiting. Please try again in a moment."
DIED = "The work needed more memory than it may have, and was ended."
LATE = "The work took longer than {:g} s, and was ended."
LONG = "The reply is too long to be shown."
STOPPED = "Stopped."


class Busy(Exception):
    """Too many requests are waiting already."""


class Stopped(Exception):
    """The work was ended from outside; the text says why."""


class Late(Stopped):
    """The work took longer than it was given."""


class PageWorker:
    """The child process of one page; it is started when it is first needed."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.used = time.monotonic()
        self._process: asyncio.subprocess.Process | None = None
        self._ended: list[asyncio.subprocess.Process] = []  # on their way out

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """The reply to a request; :class:`Stopped` if the process was ended before it came.

        It is ended where the work takes more than so many seconds (:class:`Late`), by default a
        little more than the limit that it knows itself, and where the one who asks is cancelled.
        """
        self.used = time.monotonic()
        allowed = (self.limits.seconds or 0.0) + GRACE if seconds is None else seconds
        line = json.dumps(dict(request)).encode() + b"\n"
        try:
            if not self.alive:
                await self._start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            process.stdin.write(line)
            await process.stdin.drain()
            reply = await self._line(allowed)
            if reply.pop("last", False):
                self.stop()  # the next request starts another one
            return reply
        except OSError as error:
            self.stop()
            raise Stopped(DIED) from error
        except asyncio.CancelledError:
            self.stop()
            raise
        finally:
            self.used = time.monotonic()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            self._ended.append(process)

    async def close(self) -> None:
        """End the process, and wait until it and those before it are gone."""
        self.stop()
        for process in self._ended:
            await process.wait()
        self._ended.clear()

    async def _start(self) -> None:
        command = ("-P", "-m", "dpasp.playground.worker")
        limits = (str(self.limits.seconds), str(self.limits.megabytes))
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        # One thread each: many pages share the machine.
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, *command, *limits,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/" if os.name == "posix" else None,
            env=environment,
            limit=LARGEST,
        )  # fmt: skip
        await self._line(START)

    async def _line(self, seconds: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), seconds)
        except TimeoutError:
            self.stop()
            raise Late(LATE.format(seconds)) from None
        except (ValueError, asyncio.LimitOverrunError) as error:  # a reply that is too long
            self.stop()
            raise Stopped(LONG) from error
        if not line:
            stopped_here = self._process is None
            self.stop()
            raise Stopped(STOPPED if stopped_here else DIED)
        reply: dict[str, Any] = json.loads(line)
        return reply


@dataclass
class Queue:
    """So many requests run at once, and so many may wait."""

    at_once: int
    waiting: int

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.at_once)
        self._inside = 0

    @property
    def full(self) -> bool:
        """Whether a request that comes now has to wait."""
        return self._free.locked()

    async def __aenter__(self) -> None:
        if self._inside >= self.at_once + self.waiting:
            raise Busy(BUSY.format(self._inside - self.at_once))
        self._inside += 1
        try:
            await self._free.acquire()
        except BaseException:
            self._inside -= 1
            raise

    async def __aexit__(self, *problem: object) -> None:
        self._inside -= 1
        self._free.release()
