"""``export``, ``models --best``, ``--rows``, deciding and ``mcp``: bad input, limits and Ctrl-C.

Every end has its exit code, and nothing is half-written.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.clocks import GROUNDING, PATIENCE, command, until_working

from .conftest import Command
from .test_limits import COLOURS, ENDLESS, SILENT, ended

EXPORT = ("export", "--to", "c", "-o", "f.c")
BEST = ("models", "--best", "2")
ROWS = ("run", "--rows", "r.csv", "-o", "out.csv", "--exact")
DECISION = "#decision {d}. #utility 1 : d, p(1). #semantics maxent. #decide.\n"


def written(folder: Path = Path()) -> set[str]:
    """The files in a folder but those that the test made."""
    return {path.name for path in folder.iterdir()} - {"p.plp", "r.csv", "said"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("export", "--to", "pascal", "-o", "f.c"), 2, "invalid choice: 'pascal'"),
        (("export", "--to", "c"), 2, "-o"),
        (("export", "--to", "c", "-o", "f.py", "--query", "a"), 2, "is written as .c"),
        (("export", "--to", "c", "-o", "no/f.c", "--query", "a"), 2, "cannot write no/f.c"),
        (EXPORT, 2, "by #map, #mpe, #expect or #decide"),
        ((*EXPORT, "--query", "a |"), 65, "<--query>"),
        ((*EXPORT, "--semantics", "nonsense"), 2, "nonsense"),
        ((*EXPORT, "--marginals"), 2, "there is no option --marginals"),
        ((*EXPORT, "--criterion", "maximin"), 2, "there is no option --criterion"),
        (("compile", "--marginals"), 2, "there is no option --marginals"),
        (("explain", "--criterion", "maximin"), 2, "there is no option --criterion"),
        (("models", "--best", "-1"), 2, "'-1' is not a whole number"),
        (("models", "--best", "two"), 2, "'two' is not a whole number"),
        (("run", "--rows", "absent.csv"), 65, "absent.csv"),
        (("run", "-o", "out.csv"), 2, "add --rows"),
        (("run", "--rows", "r.csv", "-o", "out.json"), 2, "is written as .csv"),
        (("run", "--log-partition", "--query", "a"), 2, "cannot be combined with --query"),
        (("run", "--log-partition", "--rows", "r.csv"), 2, "cannot be combined with --rows"),
        (("run", "--criterion", "best"), 2, "best"),
        (("mcp", "--time-limit", "0"), 2, "'0' is not a positive number"),
        (("mcp", "--port", "1"), 2, "there is no option --port"),
    ],
)
def test_bad_input(dpasp: Command, words: tuple[str, ...], code: int, said: str) -> None:
    Path("r.csv").write_text("a\ntrue\n")
    text = (
        None if words[0] == "mcp" else "0.3::a. #decision {d}. #utility 1 : d. #query a. #decide."
    )
    result = dpasp(*words, text=text)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert written() == set()
    if words[0] != "mcp":
        told = dpasp(*words, "--json", text=text)
        assert told.code == code
        assert told.json["errors"]


@pytest.mark.parametrize("words", [EXPORT, BEST, ("run", "--rows", "r.csv")], ids=" ".join)
def test_a_missing_file(dpasp: Command, words: tuple[str, ...]) -> None:
    result = dpasp(*words, "absent.plp")
    assert (result.code, result.out) == (65, "")
    assert "cannot read absent.plp" in result.err
    assert written() == set()


def test_what_is_exported_is_reported(dpasp: Command) -> None:
    text = "0.3::a. #query a."
    assert dpasp(*EXPORT, text=text).out == "f.c: a function for c\n"
    assert dpasp(*EXPORT, "--json", text=text).json == {"file": "f.c", "to": "c"}
    assert dpasp(*EXPORT, "-q", text=text).out == ""
    before = Path("f.c").read_bytes()
    assert dpasp(*EXPORT, text="[0.1, 0.2]::a. #query a.").code == 2
    assert Path("f.c").read_bytes() == before  # what was there stays


STUCK = [
    pytest.param(EXPORT, ENDLESS, id="export"),
    pytest.param(EXPORT, SILENT, id="export, in a join"),
    pytest.param(BEST, ENDLESS, id="models"),
    pytest.param(ROWS, ENDLESS, id="rows"),
    pytest.param(("run", "--exact"), ENDLESS.replace("#query p(1).", DECISION), id="decide"),
    pytest.param(("run", "--log-partition", "-p", "weighted"), ENDLESS, id="log Z"),
]
HARD = [
    pytest.param(EXPORT, COLOURS, id="export"),
    pytest.param((*BEST, "-p", "maxent"), COLOURS, id="models"),
    pytest.param(("run", "--log-partition", "-p", "weighted"), COLOURS, id="log Z"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "text"), [*STUCK, *HARD])
def test_the_time_limit(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    (tmp_path / "r.csv").write_text("a\ntrue\n")
    code, said, _ = ended(tmp_path, text, *words, "--time-limit", "0.7")
    assert (code, "stopped at the time limit of 0.7 s [time-limit]" in said) == (124, True), said
    assert written(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("words", "text"), STUCK[:1] + STUCK[2:])
def test_the_memory_limit(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    (tmp_path / "r.csv").write_text("a\ntrue\n")
    code, said, used = ended(tmp_path, text, *words, "--memory-limit", "250")
    assert (code, "[memory-limit]" in said) == (125, True), said
    assert used < 400
    assert written(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("words", "text"), STUCK[:1] + STUCK[2:])
def test_ctrl_c(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    (tmp_path / "p.plp").write_text(text)
    (tmp_path / "r.csv").write_text("a\ntrue\n")
    process = command(GROUNDING, *words, "p.plp", cwd=tmp_path)
    until_working(process)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "error: interrupted [interrupted]"
    assert written(tmp_path) == set()
