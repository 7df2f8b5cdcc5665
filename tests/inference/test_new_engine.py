"""An engine from elsewhere: a function, a line in the table, and everyone knows it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import dpasp
from dpasp.cli import main
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked, EngineResult
from dpasp.language.statements.engines import ENGINES, Engine, register
from dpasp.language.statements.options import COUNT

SOURCE = Path(__file__).parents[2] / "src" / "dpasp"
TEXT = "0.3::a. #semantics maxent. #query a. #query not a."


def solve(asked: Asked) -> EngineResult:
    """The same for everything: one part in ``n``."""
    value = 1 / (asked.method.whole("n") or 2)
    return EngineResult(tuple(Answer(query.text, value=value) for query in asked.queries), "toy")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(ENGINES):
        monkeypatch.setitem(ENGINES, name, ENGINES[name])  # so that all is as before afterwards
    monkeypatch.setitem(ENGINES, "toy", Engine("toy", solve))
    monkeypatch.delitem(ENGINES, "toy")
    register(Engine("toy", solve, {"n": COUNT}, aliases={"third": {"n": 3}}))


def values(answers: dpasp.Answers) -> list[float]:
    return [float(answer.numbers[0]) for answer in answers]


@pytest.mark.usefixtures("toy")
def test_in_python() -> None:
    program = dpasp.loads(TEXT)
    answers = program.query(engine="toy")
    assert (answers.engine, values(answers)) == ("toy", [0.5, 0.5])
    assert values(program.query(engine="toy", n=4)) == [0.25, 0.25]
    assert values(program.query(engine="third")) == pytest.approx([1 / 3, 1 / 3])
    with pytest.raises(dpasp.UsageError, match="toy has no option gap"):
        program.query(engine="toy", gap=0.1)


@pytest.mark.usefixtures("toy")
def test_in_the_directive() -> None:
    program = dpasp.loads(TEXT + "#inference toy, n = 5.")
    assert values(program.query()) == [0.2, 0.2]
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(TEXT + "#inference toy, gap = 0.5.")
    assert caught.value.diagnostics[0].code == "unknown-option"


@pytest.mark.usefixtures("toy")
def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.plp"
    file.write_text(TEXT)
    assert main(["run", str(file), "--engine", "toy", "--samples", "10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["engine"], found["answers"][0]["value"]) == ("toy", 0.1)


@pytest.mark.usefixtures("toy")
def test_names_are_taken_once() -> None:
    for other in (Engine("toy", solve), Engine("new", solve, aliases={"exact": {}})):
        with pytest.raises(dpasp.UsageError, match="already an engine"):
            register(other)


def test_engines_are_named_in_one_table() -> None:
    """Outside of the table no module lists the engines again."""
    for path in SOURCE.rglob("*.py"):
        if path == SOURCE / "language" / "statements" / "engines.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                words = {e.value for e in node.elts if isinstance(e, ast.Constant)}
                assert len(words & set(ENGINES)) < 3, (path, node.lineno)
            if isinstance(node, ast.Dict):
                keys = {k.value for k in node.keys if isinstance(k, ast.Constant)}
                assert len(keys & set(ENGINES)) < 3, (path, node.lineno)
