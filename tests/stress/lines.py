"""Which tests run which lines of dPASP: a plugin of pytest that writes it down.

    python -m pytest -p tests.stress.lines tests/inference       writes build/lines.json

``tests.stress.mutants`` reads it: only a test that runs a line can notice a fault there.
Processes that a test starts count as part of it. Needs ``coverage``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dpasp"
FOLDERS = [str(SOURCE / name) for name in ("semantics", "inference", "learning")]
WRITTEN = ROOT / "build" / "lines.json"
NAME = "DPASP_TEST"  # of the test that starts a process

_FOLDER = Path(tempfile.mkdtemp(prefix="dpasp-lines-"))
_SETTINGS = _FOLDER / "coverage.toml"
_SETTINGS.write_text(
    f"""[tool.coverage.run]
source = {FOLDERS}
data_file = "{_FOLDER / "data"}"
parallel = true
core = "ctrace"
context = "${{{NAME}-}}"
sigterm = true
disable_warnings = ["no-data-collected", "module-not-imported", "no-ctracer"]
"""
)
_recorder = coverage.Coverage(config_file=str(_SETTINGS), context="")
_seconds: dict[str, float] = defaultdict(float)


def pytest_configure() -> None:
    os.environ["COVERAGE_PROCESS_START"] = str(_SETTINGS)  # read where a process starts
    _recorder.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Everything from here to the next test is this one's."""
    os.environ[NAME] = item.nodeid
    _recorder.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_unconfigure() -> None:
    _recorder.stop()
    _recorder.save()
    os.environ.pop("COVERAGE_PROCESS_START", None)
    every = coverage.Coverage(config_file=str(_SETTINGS))
    every.combine([str(_FOLDER)])
    data = every.get_data()
    names = sorted(_seconds)
    number = {name: index for index, name in enumerate(names)}
    lines = {
        str(Path(file).relative_to(SOURCE)): {
            line: sorted({number[test] for test in tests if test in number})
            for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in sorted(data.measured_files())
    }
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(
        json.dumps({"tests": [[name, round(_seconds[name], 3)] for name in names], "lines": lines})
    )
