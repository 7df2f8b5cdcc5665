"""Saved parameters: of which program they are, and whether they are as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpasp
from dpasp.cli import main
from dpasp.limits import Limits

AB = "?::a. ?::b. c :- a, not b. #semantics maxent. #query c. #query a."
BA = "?::b. ?::a. c :- a, not b. #semantics maxent. #query c. #query a."
ROWS = [["a", "not b"], ["a", "not b"], ["a", "b"], ["not a", "not b"]]


def values(program: dpasp.Program) -> list[object]:
    return [answer.value for answer in program.query()]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    program = dpasp.loads(AB)
    program.learn(ROWS)
    program.save(tmp_path / "p.safetensors")
    assert values(program) == pytest.approx([0.5625, 0.75])
    return tmp_path / "p.safetensors"


def test_another_program_s_parameters_are_refused_with_the_difference(saved: Path) -> None:
    program = dpasp.loads(BA)
    with pytest.raises(dpasp.DataError, match=r"it has '\?::a\.' where this program has '\?::b\.'"):
        program.restore(saved)
    with pytest.raises(dpasp.DataError, match="another program"):
        dpasp.loads("?::a. ?::b :- a. #query a.").restore(saved)
    with pytest.raises(dpasp.DataError, match=r"it lacks '\?::z\.'"):
        dpasp.loads(AB + " ?::z.").restore(saved)


def test_force_and_rules_say_otherwise(saved: Path) -> None:
    program = dpasp.loads(BA)
    program.restore(saved, rules={})  # by name
    assert values(program) == pytest.approx([0.5625, 0.75])
    program.restore(saved, force=True)  # in their order
    assert values(program) == pytest.approx([0.25 * 0.25, 0.25])
    other = dpasp.loads("?::x. ?::y. #semantics maxent. #query x.")
    other.restore(saved, rules={"?::x.": "?::b.", "?::y.": "?::a."})
    assert values(other) == pytest.approx([0.25])
    with pytest.raises(dpasp.UsageError, match=r"the file has no learnable rule '\?::q\.'"):
        other.restore(saved, rules={"?::x.": "?::q."})
    with pytest.raises(dpasp.DataError, match=r"no parameters for the rule '\?::y\.'"):
        other.restore(saved, rules={"?::x.": "?::b."})


def test_the_command_line(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ba.plp"
    file.write_text(BA)
    assert main(["run", str(file), "--load", str(saved)]) == 65
    assert "where this program has" in capsys.readouterr().err
    assert main(["run", str(file), "--load", str(saved), "--force"]) == 0
    assert "0.250000" in capsys.readouterr().out
    assert main(["run", str(file), "--force", "--query", "a"]) == 2
    by_rule = ["--load", str(saved), "--rule", "?::a. from ?::a."]
    capsys.readouterr()
    assert main(["run", str(file), *by_rule]) == 0
    assert capsys.readouterr().out == "ℙ(c) = 0.562500\nℙ(a) = 0.750000\n"
    swapped = [*by_rule[:2], "--rule", "?::a. from ?::b.", "--rule", "?::b. from ?::a."]
    assert main(["run", str(file), *swapped]) == 0
    assert "ℙ(a) = 0.250000" in capsys.readouterr().out
    assert main(["run", str(file), *by_rule[:2], "--rule", "?::z. from ?::a."]) == 2
    assert "no learnable rule '?::z.'" in capsys.readouterr().err
    for wrong in ([*by_rule, "--force"], by_rule[2:], [*by_rule[:2], "--rule", "?::a."]):
        assert main(["run", str(file), *wrong]) == 2


def test_learning_goes_on_only_with_its_own_program(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    dpasp.loads(AB).learn(ROWS, checkpoint=kept, niters=2)
    with pytest.raises(dpasp.DataError, match="where this program has"):
        dpasp.loads(BA).learn(ROWS, resume=kept, niters=3)
    dpasp.loads(BA).learn(ROWS, resume=kept, force=True, niters=3)
    dpasp.loads(AB).learn(ROWS, resume=kept, niters=3, limits=Limits())


def test_no_damaged_bit_is_read(saved: Path) -> None:
    """Whatever bit of the numbers is turned, the file is refused."""
    whole = saved.read_bytes()
    program = dpasp.loads(AB)
    for bit in range(8 * (len(whole) - 16), 8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(damaged)
        with pytest.raises(dpasp.DataError, match="damaged"):
            program.restore(saved)
    saved.write_bytes(whole)
    program.restore(saved)
