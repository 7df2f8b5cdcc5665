"""Repeat the tests that touch time beside busy loops: ``make busy``.

    python -m tests.stress.busy 20                 20 times, beside six busy loops
    python -m tests.stress.busy 20 -m "not slow"   arguments for pytest

A test touches time if it, a fixture that it uses, or a function of its module that it calls names
a limit, a clock, a signal, a process or a thread. As a plugin of pytest (``-p tests.stress.busy``)
this module leaves out all others.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

BUSY = 6
TESTS = Path(__file__).parent.parent
TIME = re.compile(
    r"Limits\(|limits=|looks\(|over\(|Given\(|time_limit|time-limit|memory-limit|sleep\(|monotonic|"
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
    items[:] = kept
    config.hook.pytest_deselected(items=left)


def main() -> int:
    times, *arguments = sys.argv[1:]
    files = [
        str(path)
        for path in sorted(TESTS.rglob("test_*.py"))
        if TIME.search(path.read_text()) or "fixture" in path.read_text()
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.stress.busy"]
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    failed = 0
    try:
        for number in range(1, int(times) + 1):
            print(f"--- {number} of {times}", flush=True)
            failed += subprocess.run([*command, *files, *arguments]).returncode != 0
    finally:
        for loop in busy:
            loop.kill()
    print(f"{times} repetitions beside {BUSY} busy loops, {failed} with failures")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
