"""What holds for all tests."""

from __future__ import annotations

import signal
import threading

from hypothesis import HealthCheck, settings

# A shell that starts something in the background makes it, and all that it starts, deaf to
# Ctrl-C; the tests of Ctrl-C need it to be heard, and would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis has the same examples in every run, and none fails because the machine is busy.
settings.register_profile(
    "dpasp", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dpasp")
