"""An open page: its requests, their queues, and its worker."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from anyio import CancelScope
from starlette.websockets import WebSocket

from dpasp.dataclass import dataclass
from dpasp.limits import Limits

IDLE = 120.0  # seconds without a request after which a worker is ended; the next starts another
LONGEST_REQUEST = 400_000  # characters of a message
MOST_WAITING = 30  # requests of one page
READING = 10.0  # seconds that reading a program may take; 100,000 characters take up to 7
SHORT = 2.0  # seconds that a request may take while all places for long ones are taken
GRACE = 10.0  # seconds beyond the time limit after which a worker is ended from outside
START = 60.0  # seconds that a worker may take to start
START_LEARNING = 300.0  # the same for one that learns: torch is slow to import on a busy machine
LONGEST_REPLY = 2**24  # bytes of a reply
KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV")
BUSY = "The playground is busy: {} requests are waiting. Please try again in a moment."
DIED = "The work needed more memory than it may have, and was ended."
LATE = "The work took longer than {:g} s, and was ended."
LONG = "The reply is too long to be shown."
STOPPED = "Stopped."

Told = Callable[[Mapping[str, Any], dict[str, Any]], Awaitable[None]]


class NotARequest(Exception):
    """A message that is not a valid request; the text says why, ``id`` is its own, if any."""

    def __init__(self, why: str, id: int | str | None = None) -> None:
        super().__init__(f"This is not a request: {why}.")
        self.id = id


class Page:
    """Reads a page's requests, has them done and sends replies until the page is closed.

    Every message gets a reply. Long work goes into the ``long`` queue; reading a program, and work
    that ends soon while that queue is full, into the ``short`` one, so that a small program does
    not wait for large ones.
    """

    def __init__(self, socket: WebSocket, short: Queue, long: Queue, limits: Limits) -> None:
        self.socket = socket
        self.short = short
        self.long = long
        self.worker = PageWorker(limits, self._tell)
        self.learner = PageWorker(limits, self._tell, learns=True)
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_WAITING)
        self._doing: asyncio.Task[dict[str, Any]] | None = None

    async def run(self) -> None:
        """Serve the page; its work ends with it."""
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self._work()),
            asyncio.create_task(self._tidy()),
        ]
        try:
            while (message := await self.socket.receive())["type"] == "websocket.receive":
                await self._take(message.get("text"))
        finally:
            tasks += [self._doing] if self._doing else []
            for task in tasks:
                task.cancel()
            with CancelScope(shield=True):  # also when the server itself is ending
                await asyncio.gather(*tasks, return_exceptions=True)
                await self.worker.close()
                await self.learner.close()

    async def _take(self, message: str | None) -> None:
        try:
            request = read_request(message)
        except NotARequest as problem:
            await self._send({"id": problem.id, "refused": str(problem)})
            return
        if request.get("task") == "stop":
            await self._stop()
            await self._send({"id": request.get("id"), "ok": {}})
        elif self._requests.full():
            refused = f"{MOST_WAITING} requests of this page are waiting already."
            await self._send({"id": request.get("id"), "refused": refused})
        else:
            self._requests.put_nowait(request)

    async def _stop(self) -> None:
        """End the work under way, running or waiting, and all requests that wait behind it."""
        if self._doing:
            self._doing.cancel()  # its own reply says that it was stopped
        while not self._requests.empty():
            forgotten = self._requests.get_nowait()
            await self._send({"id": forgotten.get("id"), "stopped": STOPPED})

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            self._doing = asyncio.create_task(self._reply(request))
            await asyncio.wait({self._doing})
            stopped = self._doing.cancelled()
            reply = {"stopped": STOPPED} if stopped else self._doing.result()
            self._doing = None
            await self._send({"id": request.get("id"), **reply})

    async def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self._answer(request)
        except Busy as busy:
            return {"refused": str(busy)}
        except Stopped as stopped:
            return {"stopped": str(stopped)}
        except Exception as error:  # a bug of our own: report it to the page, which continues
            self.worker.stop()
            self.learner.stop()
            return {"bug": f"{type(error).__name__}: {error}"}

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("task") == "check":
            async with self.short:
                return await self.worker.ask(request, READING)
        if request.get("task") == "learn":
            async with self.long:
                return await self.learner.ask(request)
        if self.long.full:
            async with self.short:
                with suppress(Late):
                    return await self.worker.ask(request, SHORT)
        async with self.long:
            return await self.worker.ask(request)

    async def _tidy(self) -> None:
        """End a worker that has not been used for a while."""
        while True:
            await asyncio.sleep(IDLE / 4)
            for worker in (self.worker, self.learner):
                idle = self._doing is None and time.monotonic() - worker.used > IDLE
                if idle and worker.alive:
                    worker.stop()

    async def _tell(self, request: Mapping[str, Any], progress: dict[str, Any]) -> None:
        await self._send({"id": request.get("id"), "progress": progress})

    async def _send(self, reply: dict[str, Any]) -> None:
        await self.socket.send_text(json.dumps(reply))


def read_request(message: str | None) -> dict[str, Any]:
    """The request in a message; raises :class:`NotARequest`.

    >>> read_request('{"id": 1, "task": "check", "text": "a."}')["task"]
    'check'
    """
    if message is None:
        raise NotARequest("it is bytes, not text")
    if len(message) > LONGEST_REQUEST:
        raise NotARequest(f"it has more than {LONGEST_REQUEST:,} characters")
    try:
        request = json.loads(message)
    except RecursionError:
        raise NotARequest("it is nested too deeply") from None
    except ValueError:
        raise NotARequest("it is not JSON") from None
    if not isinstance(request, dict):
        raise NotARequest("it is not a JSON object")
    if not isinstance(request.get("id"), int | str | None):
        raise NotARequest("its id is neither a number nor a text")
    if not isinstance(request.get("task"), str):
        raise NotARequest("it names no task", request.get("id"))
    return request


class Busy(Exception):
    """Too many requests are waiting already."""


class Stopped(Exception):
    """The work was ended from outside; the text says why."""


class Late(Stopped):
    """The work took longer than it was given."""


class PageWorker:
    """The child process of one page; it is started when it is first needed.

    ``told`` is called with a request and how far it is, while it is under way. One that ``learns``
    takes longer to start, and more memory.
    """

    def __init__(self, limits: Limits, told: Told | None = None, *, learns: bool = False) -> None:
        self.limits = limits
        self.learns = learns
        self.told = told
        self.used = time.monotonic()
        self._process: asyncio.subprocess.Process | None = None
        self._ended: list[asyncio.subprocess.Process] = []  # on their way out

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Return the reply to a request; raise :class:`Stopped` if the process ended before.

        The process is ended if the work takes more than ``seconds`` (:class:`Late`), by default
        a little more than its own limit, and if this call is cancelled.
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
            end = time.monotonic() + allowed
            while "progress" in (reply := await self._line(end - time.monotonic(), allowed)):
                if self.told is not None:
                    await self.told(request, reply["progress"])
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
        limits = (str(self.limits.seconds), str(self.limits.megabytes), *["learn"] * self.learns)
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
            limit=LONGEST_REPLY,
        )  # fmt: skip
        start = START_LEARNING if self.learns else START
        await self._line(start, start)

    async def _line(self, seconds: float, allowed: float) -> dict[str, Any]:
        """The next line, at most ``seconds`` from now; ``allowed`` is for the work in all."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), seconds)
        except TimeoutError:
            self.stop()
            raise Late(LATE.format(allowed)) from None
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
    """A limited number of requests run at once, and a limited number may wait."""

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
