"""Ctrl-C between two steps: the first asks to stop, the second stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Request:
    """Whether someone asked to stop."""

    def __init__(self) -> None:
        self.made = False


@contextmanager
def interrupts() -> Iterator[Request]:
    """A request that Ctrl-C makes; a step that runs is finished first."""
    request = Request()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if request.made:
            raise KeyboardInterrupt
        request.made = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)
