"""What holds for all tests."""

from __future__ import annotations

import signal
import threading

# A shell that starts something in the background makes it, and all that it starts, deaf to
# Ctrl-C; the tests of Ctrl-C need it to be heard, and would wait for ever.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
