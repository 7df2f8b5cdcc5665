"""A page that is open: its requests, one after the other, on its own worker."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Protocol

from anyio import CancelScope

from dpasp.limits import Limits
from dpasp.playground.workers import Busy, PageWorker, Queue, Stopped

IDLE = 120.0  # seconds without a request after which a worker is ended; the next starts another
LARGEST = 400_000  # characters of a message
MOST_WAITING = 30  # requests of one page


class Channel(Protocol):
    """What a page speaks through: text in, text out."""

    async def receive_text(self) -> str:
        """The next message; raises when the page is gone."""

    async def send_text(self, data: str) -> None:
        """Say something to the page."""


class Page:
    """Reads what a page asks, has it done and sends the replies, until the page is gone."""

    def __init__(self, channel: Channel, queue: Queue, limits: Limits) -> None:
        self.channel = channel
        self.queue = queue
        self.worker = PageWorker(limits)
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_WAITING)

    async def run(self) -> None:
        """Serve the page; whatever it has under way ends with it."""
        tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._tidy())]
        try:
            while True:
                await self._take(await self.channel.receive_text())
        finally:
            for task in tasks:
                task.cancel()
            self.worker.stop()
            with CancelScope(shield=True):  # also when the server itself is ending
                await asyncio.gather(*tasks, return_exceptions=True)
                await self.worker.close()

    async def _take(self, message: str) -> None:
        try:
            request = json.loads(message) if len(message) <= LARGEST else None
        except ValueError:
            request = None
        if not isinstance(request, dict):
            await self._send({"id": None, "refused": "This is not a request."})
        elif request.get("task") == "stop":
            self._forget()
            self.worker.stop()
        elif self._requests.full():
            refused = f"{MOST_WAITING} requests of this page are waiting already."
            await self._send({"id": request.get("id"), "refused": refused})
        else:
            self._requests.put_nowait(request)

    def _forget(self) -> None:
        while not self._requests.empty():
            self._requests.get_nowait()

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            try:
                async with self.queue:
                    reply = await self.worker.ask(request)
            except Busy as busy:
                reply = {"refused": str(busy)}
            except Stopped as stopped:
                reply = {"stopped": str(stopped)}
            await self._send({"id": request.get("id"), **reply})

    async def _tidy(self) -> None:
        """End a worker that nobody has used for a while."""
        while True:
            await asyncio.sleep(IDLE / 4)
            if self.worker.alive and time.monotonic() - self.worker.used > IDLE:
                self.worker.stop()

    async def _send(self, reply: dict[str, Any]) -> None:
        await self.channel.send_text(json.dumps(reply))
