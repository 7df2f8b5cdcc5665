"""Results as pictures: what is drawn, and what is said when it cannot be."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import dpasp
from dpasp.display.charts import bars
from dpasp.display.scene import Box, Picture
from dpasp.errors import SizeLimit, UsageError
from dpasp.inference.answers import Answer, Answers, MapAnswer

SMOKERS = """0.3::stress(a). 0.4::friend(a,b).
smokes(X) :- stress(X). smokes(Y) :- friend(X,Y), smokes(X). smokes(X) :- friend(X,Y), smokes(Y).
quits(X) :- smokes(X), not stress(X). 0.2::ill(X); 0.1::tired(X) :- smokes(X). :- ill(b), quits(b).
#query smokes(b)."""


def answers(*found: Answer | MapAnswer, **more: object) -> Answers:
    return Answers(found, "stable", "maxent", "compile", **more)  # type: ignore[arg-type]


def words(picture: Picture) -> set[str]:
    root = ElementTree.fromstring(picture.svg)
    return {
        element.text for element in root.iter("{http://www.w3.org/2000/svg}text") if element.text
    }


@pytest.mark.parametrize(
    "given",
    [
        answers(Answer("a", value=0.25), Answer("b | c", lower=0.2, upper=0.7)),
        answers(Answer("sum(1)", value=np.array([0.5, 0.1]))),
        answers(history=[{"iteration": 1, "log_likelihood": -3.2}]),
        answers(Answer("$x_{1$", value=0.5), history=[{"iteration": 1, "log_likelihood": -3.2}]),
    ],
)
def test_a_picture_is_written(given: Answers, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    given.plot(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    given.plot(tmp_path / "p.svg")
    assert ElementTree.parse(tmp_path / "p.svg").getroot().tag.endswith("svg")
    assert {file.name for file in tmp_path.iterdir()} == {"p.png", "p.svg"}


def test_answers_are_drawn_with_their_numbers() -> None:
    shown = words(answers(Answer("a | b", lower=0.2, upper=0.7), Answer("<c>", value=0.25)).plot())
    assert {"P(a | b)", "[0.200000, 0.700000]", "P(<c>)", "0.250000"} <= shown


@pytest.mark.parametrize("empty", [Answer("a", lower=0.0, upper=0.0), Answer("a", value=0.0)])
def test_an_answer_of_nothing_is_visible(empty: Answer) -> None:
    filled = [s for s in bars([empty]).shapes if isinstance(s, Box) and s.fill != "none"]
    assert max(box.width * box.height for box in filled) > 40


def test_the_mean_of_test_rows_is_called_so() -> None:
    shown = words(answers(Answer("sum(1)", value=np.array([0.5, 0.1]))).plot())
    assert "mean 0.300000" in shown


def test_nothing_to_draw() -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        answers(MapAnswer("a?", {"a": True}, value=0.4)).plot()


def test_an_unknown_format_and_a_missing_folder(tmp_path: Path) -> None:
    given = answers(Answer("a", value=0.25))
    with pytest.raises(UsageError, match="cannot write"):
        given.plot(tmp_path / "p.abc")
    with pytest.raises(UsageError, match="cannot write"):
        given.plot(tmp_path / "absent" / "p.svg")


def test_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError) as caught:
        answers(Answer("a", value=0.25)).plot(tmp_path / "p.png")
    assert caught.value.diagnostics[0].code == "plot-missing"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(UsageError) as caught:
        dpasp.loads(SMOKERS).plot()
    assert caught.value.diagnostics[0].code == "plot-missing"


def test_dependencies_name_choices_rules_and_loops() -> None:
    pytest.importorskip("pygraphviz")
    shown = words(dpasp.loads(SMOKERS).plot())
    assert {"0.3 :: stress(a)", "0.4 :: friend(a,b)", "smokes(b)", "one of", "never"} <= shown
    assert {"depends on itself: a loop", "must not hold for", "a constraint", "asked for"} <= shown


def test_large_programs_are_drawn_by_predicate() -> None:
    pytest.importorskip("pygraphviz")
    text = "n(1..200). 0.3::a(X) :- n(X). b(X) :- a(X), not c(X). {c(X)} :- a(X). #query b(1)."
    shown = words(dpasp.loads(text).plot())
    assert {"0.3 :: a/1", "b/1", "c/1", "any of"} <= shown
    assert len(shown) < 20


def test_a_circuit_is_drawn_with_its_names() -> None:
    pytest.importorskip("pygraphviz")
    circuit = dpasp.loads('0.3::a. 0.5::b("<"). c :- a. c :- b(X). #query c.').circuit()
    shown = words(circuit.plot())
    assert {"c", "a", "not a", 'b("<")', "+", "models with query and evidence"} <= shown


def test_circuits_that_nobody_can_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.display.programs.MOST_GATES", 2)
    with pytest.raises(SizeLimit, match="too large to look at"):
        dpasp.loads("0.3::a. 0.4::b. c :- a, b. #query c.").circuit().plot()
