"""Repeat the tests that touch time beside busy loops: ``make busy``.

    python -m tests.stress.busy 20                 20 times, beside six busy loops
    python -m tests.stress.busy 20 -m "not slow"   arguments for pytest

A test touches time if it, a fixture that it uses, or a function of its module that it calls names
a limit, a clock, a signal, a process or a thread. As a plugin of pytest (``-p tests.stress.busy``)
this module leaves out all others, and repeats these as often as ``DPASP_TIMES`` says. A limit of
memory alone is none of time.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

BUSY = 6
TIMES = "DPASP_TIMES"
TESTS = Path(__file__).parent.parent
TIME = re.compile(
    r"Limits\((?!\)|megabytes)|looks\(|over\(|Given\(|time_limit|time-limit|memory-limit|sleep\(|monotonic|"
    r"SIG[A-Z]{3,}|KeyboardInterrupt|interrupt|Popen|Process\(|Thread\(|steps\("
)


def touches_time(function: FunctionType, seen: set[str]) -> bool:
    """Whether a function, or one of its module that it calls, says a word about time."""
    source = inspect.getsource(function)
    if TIME.search(source):
        return True
    called = {name for name in function.__code__.co_names if name not in seen}
    seen |= called
    own = (function.__globals__.get(name) for name in called)
    return any(
        isinstance(one, FunctionType)
        and one.__module__ == function.__module__
        and touches_time(one, seen)
        for one in own
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, left = [], []
    for item in items:
        functions = [item.function] if isinstance(item, pytest.Function) else []
        fixtures = getattr(item, "_fixtureinfo", None)
        for definitions in (fixtures.name2fixturedefs if fixtures else {}).values():
            functions += [
                one.func for one in definitions if one.func.__module__.startswith("tests")
            ]
        (kept if any(touches_time(one, set()) for one in functions) else left).append(item)
    items[:] = kept * int(os.environ.get(TIMES, 1))
    config.hook.pytest_deselected(items=left)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:  # a long run says it at once
        print(f"\n{report.nodeid} ({report.when})\n{report.longreprtext}", flush=True)


def main() -> int:
    times, *arguments = sys.argv[1:]
    files = [
        str(path)
        for path in sorted(TESTS.rglob("test_*.py"))
        if TIME.search(path.read_text()) or "fixture" in path.read_text()
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.stress.busy"]
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        environment = {**os.environ, TIMES: times}
        return subprocess.run([*command, *files, *arguments], env=environment).returncode
    finally:
        for loop in busy:
            loop.kill()


if __name__ == "__main__":
    sys.exit(main())
