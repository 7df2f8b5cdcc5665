"""A process of the pool on this machine: ``python -m dpasp.scale.worker``.

Requests come by standard input and replies leave by standard output, each with its length before
it. It ends with whoever started it: when its standard input ends, whatever it is doing.

>>> from io import BytesIO
>>> stream = BytesIO()
>>> send(stream, b"part", b"of a job")
>>> _ = stream.seek(0)
>>> receive(stream), receive(stream)
((b'part', b'of a job'), None)
"""

from __future__ import annotations

import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread
from typing import IO

from dpasp.ground.supervise import exit_at_once
from dpasp.scale.doing import JobKeeper

LENGTH = 8  # bytes that say how long a message is

Message = tuple[bytes, ...]


def send(stream: IO[bytes], *parts: bytes) -> None:
    """Write a message of some parts."""
    head = [len(parts), *map(len, parts)]
    stream.write(b"".join(number.to_bytes(LENGTH, "little") for number in head))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """The next message; None where the stream ends."""
    count = _number(stream)
    lengths = [_number(stream) for _ in range(count or 0)]
    parts = [_exactly(stream, length) for length in lengths if length is not None]
    if count is None or any(part is None for part in parts) or len(parts) < count:
        return None
    return tuple(part for part in parts if part is not None)


def _number(stream: IO[bytes]) -> int | None:
    data = _exactly(stream, LENGTH)
    return None if data is None else int.from_bytes(data, "little")


def _exactly(stream: IO[bytes], length: int) -> bytes | None:
    data = stream.read(length)
    return data if len(data) == length else None


def main() -> None:
    """Do what is asked until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process decides
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything else prints is no reply
    exit_at_once()
    waiting: SimpleQueue[Message] = SimpleQueue()
    Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    worker, job = JobKeeper(), b""
    send(replies, b"ready")
    while True:
        key, *new, part = waiting.get()
        job = new[0] if new else job  # it is sent once
        send(replies, worker.reply(key, job, part))


def _listen(requests: IO[bytes], waiting: SimpleQueue[Message]) -> None:
    while (message := receive(requests)) is not None:
        waiting.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
