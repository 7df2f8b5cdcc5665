"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from dpasp.circuits import Cache

# A shell that starts something in the background makes it, and all that it starts, deaf to
# Ctrl-C; the tests of Ctrl-C need it to be heard, and would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis has the same examples in every run, and none fails because the machine is busy.
settings.register_profile(
    "dpasp", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dpasp")


@pytest.fixture(scope="session", autouse=True)
def own_cache() -> Iterator[None]:
    """Circuits that took long are not kept here: which these are depends on the machine."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XDG_CACHE_HOME", folder)  # for processes of their own
        default = Cache.default
        patch.setattr(Cache, "default", lambda: replace(default(), worth=inf))
        yield
