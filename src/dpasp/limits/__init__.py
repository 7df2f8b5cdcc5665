"""Limits of time and memory, and what happens when one is reached.

A user writes :class:`Limits`; each computation starts a :class:`Watch` from it, which every stage
checks often (``watch``). Work that does not come back to Python is run where it can be left: in a
thread or in a copy of this process (``work``). The command line ends its process where no stage
noticed a limit (``watchdog``). Elsewhere: the native code checks the same limits and says why it
stopped (:mod:`dpasp.circuits.circuit`), and clingo's grounder is tried in a process of its own
where this one may not be copied (:mod:`dpasp.ground.dry_run`).
"""

from dpasp.limits.watch import (
    MOST_THREADS,
    UNLIMITED,
    Limits,
    Report,
    Watch,
    before_any_answer,
    memory_in_use,
    silent,
    started,
)

__all__ = [
    "MOST_THREADS",
    "UNLIMITED",
    "Limits",
    "Report",
    "Watch",
    "before_any_answer",
    "memory_in_use",
    "silent",
    "started",
]
