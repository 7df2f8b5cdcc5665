"""The results of parts in their order, while workers do several at the same time.

>>> from dpasp.limits import UNLIMITED
>>> from dpasp.ground.packing import packed
>>> class LastFirst:
...     workers, replies = 2, []
...     def hand_out(self, number, part, rounds):
...         self.replies.append((number, packed((None, 10 * part))))
...     def wait(self, seconds):
...         return self.replies.pop()
>>> list(in_order(LastFirst(), range(5), UNLIMITED, fair=False))
[0, 10, 20, 30, 40]
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Protocol

from dpasp.errors import Error
from dpasp.limits import Watch
from dpasp.scale import doing

TICK = 0.05  # seconds between two looks at the clock
LATE = 1.0  # seconds that workers have to notice by themselves that the time is over
AHEAD = 2  # parts for each worker that are handed out before they are needed


class Turn(Protocol):
    """Some workers and one job."""

    @property
    def workers(self) -> int:
        """How many parts are done at the same time."""
        ...

    def hand_out(self, number: int, part: object, rounds: int) -> None:
        """Let someone do a part; its time is what is left for so many rounds."""
        ...

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        """A reply with the number of its part, if one comes within so many seconds."""
        ...


def in_order(turn: Turn, parts: Iterable[Any], watch: Watch, *, fair: bool) -> Iterator[Any]:
    """What came of each part; raises what a part raised in its place, and what the watch does."""
    total = len(parts) if fair and isinstance(parts, Sized) else None
    left, replies = iter(parts), dict[int, bytes | Error]()
    handed = passed_on = 0
    over = False
    patience = _Patience(watch)
    while True:
        while not over and handed - passed_on < AHEAD * turn.workers:
            try:
                part = next(left)
            except StopIteration:
                over = True
                break
            rounds = 1 if total is None else -(-(total - handed) // turn.workers)
            turn.hand_out(handed, part, rounds)
            handed += 1
        if passed_on == handed:
            return
        while passed_on not in replies:
            reply_with_number = turn.wait(TICK)
            if reply_with_number is not None:
                replies[reply_with_number[0]] = reply_with_number[1]
            else:
                patience.look()
        reply = replies.pop(passed_on)
        passed_on += 1
        if isinstance(reply, Error):
            raise reply
        yield doing.reply_value(reply)


class _Patience:
    """Raises what a watch raises, but gives workers a moment to notice the time by themselves."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._since: float | None = None

    def look(self) -> None:
        if self._watch.remaining() != 0:
            self._watch.check()
            return
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self._watch.limits.noticed()
        elif now > self._since + LATE:
            raise self._watch.out_of_time()
