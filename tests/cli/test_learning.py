"""``dpasp run`` with something to learn."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command

FLIPS = '?::a.\n#semantics maxent.\n#learn "seen.csv", niters = 5.\n#query a.\n'


@pytest.fixture(autouse=True)
def seen(dpasp: Command) -> None:
    """Observations beside the program: heads three times in four."""
    Path("seen.csv").write_text("a\n1\n1\n1\n0\n")


def test_learn_then_answer(dpasp: Command) -> None:
    code, out, err = dpasp("run", text=FLIPS)
    assert (code, out) == (0, "ℙ(a) = 0.750000\n")
    assert err == "learned ?::a.  0.750000 ± 0.216506\n"


def test_learning_can_be_left_out(dpasp: Command) -> None:
    assert dpasp("run", "--no-learn", text=FLIPS).out == "ℙ(a) = 0.500000\n"


def test_json_has_what_was_learned(dpasp: Command) -> None:
    seen = dpasp("run", "--json", "--threads", "1", text=FLIPS).json
    assert seen["learned"][0]["line"] == 1
    assert seen["learned"][0]["values"] == pytest.approx([0.75])
    assert [record["iteration"] for record in seen["history"]] == [1, 2, 3, 4, 5]


def test_save_and_load(dpasp: Command) -> None:
    assert dpasp("run", "-q", "--save", "f.safetensors", text=FLIPS).code == 0
    Path("seen.csv").unlink()
    assert dpasp("run", "--load", "f.safetensors", text=FLIPS).out == "ℙ(a) = 0.750000\n"


def test_the_learned_program_is_written(dpasp: Command) -> None:
    done = dpasp("run", "--learned", "learned.plp", text=FLIPS)
    assert "± 0." in done.err
    assert "wrote the learned program to learned.plp" in done.err
    number, rest = Path("learned.plp").read_text(encoding="utf-8").split("::")
    assert (float(number), rest[:2]) == (pytest.approx(0.75), "a.")
    assert dpasp("run", "learned.plp").out == done.out


def test_a_line_for_each_iteration_when_asked_for(dpasp: Command) -> None:
    text = FLIPS.replace("niters = 5", 'niters = 2, display = "loglikelihood"')
    lines = dpasp("run", text=text).err.splitlines()
    assert len(lines) == 3  # the last says what was learned
    assert lines[1].startswith("iteration 2/2  log-likelihood ")
    assert dpasp("run", "-q", text=text).err == ""


@pytest.mark.filterwarnings("default")  # the command prints it
def test_what_has_not_converged_and_what_has_no_error_is_told(dpasp: Command) -> None:
    hidden = '?::b. 0.1::s. a :- b, s. #learn "seen.csv", niters = 3, tolerance = 1e-9. #query a.\n'
    done = dpasp("run", text=hidden)
    assert "warning: learning has not converged after 3 passes" in done.err
    assert "(no standard error: it is at an edge, 0 or 1)" in done.err
    said = dpasp("run", "--json", text=hidden).json
    assert said["history"][-1]["converged"] is False
    assert said["learned"][0]["errors"] == [None]
    assert said["learned"][0]["error_reasons"] == ["it is at an edge, 0 or 1"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--load", "absent.safetensors"], 65, "absent.safetensors"),
        (["--threads", "0"], 2, "0 is not a number of threads"),
        (["--seed", "x"], 2, "'x' is not a whole number"),
        (["--resume", "c", "--no-learn"], 2, "--resume"),
    ],
)
def test_mistakes(dpasp: Command, words: list[str], code: int, said: str) -> None:
    result = dpasp("run", *words, text=FLIPS)
    assert (result.code, result.out) == (code, "")
    assert said in result.err


def test_missing_observations(dpasp: Command) -> None:
    Path("seen.csv").unlink()
    code, out, err = dpasp("run", text=FLIPS)
    assert (code, out) == (65, "")
    assert err.startswith("p.plp:3:8: error: ")
    assert "seen.csv" in err


WAYS = """?::x(1..8). y :- x(N), x(N+1), not x(N+3). #semantics maxent.
#learn "ways.csv", niters = 2, display = "loglikelihood". #query y.
"""


@pytest.mark.parametrize("kind", ["exact", "bound", "sampled"])
def test_what_is_ascended_can_be_said(dpasp: Command, kind: str) -> None:
    Path("ways.csv").write_text("y\n1\n1\n0\n")
    done = dpasp("run", "--json", "--likelihood", kind, text=WAYS)
    said = [record.get("likelihood", "exact") for record in done.json["history"]]
    assert said == [kind, kind]
    assert ("gap" in done.json["history"][0]) == (kind == "bound")
    words = {
        "bound": "  lower bound of the log-likelihood ",
        "sampled": "  sampled log-likelihood ",
    }
    assert words.get(kind, "  log-likelihood ") in done.err


@pytest.mark.filterwarnings("default")  # the command prints it
def test_what_does_not_fit_is_said_and_exact_insists(dpasp: Command) -> None:
    Path("ways.csv").write_text("y\n1\n1\n0\n")
    small = WAYS.replace("niters = 2", "niters = 2, nodes = 9")
    done = dpasp("run", text=small)
    assert done.code == 0
    assert "learning ascends a lower bound" in done.err
    assert dpasp("run", "--exact", text=small).code == 125


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-learn"], "nothing is learned here"),
        (["--exact"], "--exact cannot be combined with --likelihood bound"),
    ],
)
def test_what_is_ascended_where_it_has_no_use(dpasp: Command, words: list[str], said: str) -> None:
    done = dpasp("run", "--likelihood", "bound", *words, text=FLIPS)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
