"""A page that is open: its requests, one after the other, on its own worker."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

from anyio import CancelScope
from starlette.websockets import WebSocket

from dpasp.limits import Limits
from dpasp.playground.workers import STOPPED, Busy, Late, PageWorker, Queue, Stopped

IDLE = 120.0  # seconds without a request after which a worker is ended; the next starts another
LARGEST = 400_000  # characters of a message
MOST_WAITING = 30  # requests of one page
READING = 10.0  # seconds that reading a program may take; 100,000 characters take up to 7
SHORT = 2.0  # seconds that a request may take while all places for long ones are taken


class NotARequest(Exception):
    """A message that cannot be read as a request; the text says why, ``id`` whose it is."""

    def __init__(self, why: str, id: int | str | None = None) -> None:
        super().__init__(f"This is not a request: {why}.")
        self.id = id


class Page:
    """Reads what a page asks, has it done and sends the replies, until the page is gone.

    Every message has a reply. Work that takes long runs in the ``long`` queue; reading a program,
    and whatever ends soon while that queue is full, in the ``short`` one, so that a small program
    does not wait for large ones.
    """

    def __init__(self, socket: WebSocket, short: Queue, long: Queue, limits: Limits) -> None:
        self.socket = socket
        self.short = short
        self.long = long
        self.worker = PageWorker(limits)
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_WAITING)
        self._doing: asyncio.Task[dict[str, Any]] | None = None

    async def run(self) -> None:
        """Serve the page; whatever it has under way ends with it."""
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
        """End what is under way, whether it runs or waits for its turn, and all that is to come."""
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
        except Exception as error:  # a bug of our own: the page hears of it, and goes on
            self.worker.stop()
            return {"bug": f"{type(error).__name__}: {error}"}

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("task") == "check":
            async with self.short:
                return await self.worker.ask(request, READING)
        if self.long.full:
            async with self.short:
                with suppress(Late):
                    return await self.worker.ask(request, SHORT)
        async with self.long:
            return await self.worker.ask(request)

    async def _tidy(self) -> None:
        """End a worker that nobody has used for a while."""
        while True:
            await asyncio.sleep(IDLE / 4)
            idle = self._doing is None and time.monotonic() - self.worker.used > IDLE
            if idle and self.worker.alive:
                self.worker.stop()

    async def _send(self, reply: dict[str, Any]) -> None:
        await self.socket.send_text(json.dumps(reply))


def read_request(message: str | None) -> dict[str, Any]:
    """The request in a message; raises :class:`NotARequest`.

    >>> read_request('{"id": 1, "task": "check", "text": "a."}')["task"]
    'check'
    """
    if message is None:
        raise NotARequest("it is bytes, not text")
    if len(message) > LARGEST:
        raise NotARequest(f"it has more than {LARGEST:,} characters")
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
