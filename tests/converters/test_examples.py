"""ProbLog's learning from interpretations: the parameters that it finds are found here."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import dpasp
from tests.cli.conftest import Command
from tests.cli.conftest import dpasp as command  # noqa: F401

problog = pytest.importorskip("problog")

BURGLARY = """
t(0.5)::burglary. 0.2::earthquake. t(_)::hears(X) :- person(X).
person(john). person(mary).
alarm :- burglary. alarm :- earthquake.
calls(X) :- alarm, hears(X).
"""
NIGHTS = """
evidence(burglary). evidence(calls(john)).
---
evidence(alarm, false). evidence(burglary, false).
---
evidence(alarm). evidence(calls(mary), false). evidence(calls(john), false).
-----
evidence(calls(mary)).
"""
LEARNED = {
    "hidden causes": (BURGLARY, NIGHTS),
    "a fact about anything": (
        "t(_)::b(X). t(_)::a(X) :- b(X).",
        "evidence(a(1)).\n---\nevidence(b(1)). evidence(a(1), false).\n---\nevidence(\\+ b(2)).",
    ),
    "a parameter for each value": (
        "t(_,X)::p(X) :- between(0,1,X). t(0.3,X)::q(X,Y) :- p(X), r(Y). r(1). r(2).",
        "evidence(p(0)). evidence(q(0,1)). evidence(q(0,2), false).\n---\n"
        "evidence(p(0), false). evidence(p(1)). evidence(q(1,1)).\n---\nevidence(p(1), false).",
    ),
    "disjunctions": (
        "t(_)::c(X,red); t(_)::c(X,blue); 0.2::c(X,green) :- ball(X). ball(1). ball(2).",
        "evidence(c(1,red)).\n---\nevidence(c(1,red)). evidence(c(2,green)).\n---\n"
        "evidence(c(2,blue)).",
    ),
    "one choice for each head": (
        "t(_)::s(X) :- f(X,Y). f(1,1). f(1,2). f(2,1).",
        "evidence(s(1)). evidence(s(2)).\n---\nevidence(s(1), false).",
    ),
}


def by_problog(model: Path, examples: Path) -> list[float]:
    """The parameters that ProbLog learns, in order."""
    from problog.learning.lfi import LFIProblem, read_examples
    from problog.program import PrologFile

    random.seed(1)
    found = LFIProblem(PrologFile(str(model)), list(read_examples(str(examples))), normalize=True)
    found.run()
    numbers = re.findall(r"([\d.e-]+)::", found.get_model())
    return sorted(float(number) for number in numbers)


@pytest.mark.parametrize("name", LEARNED)
def test_the_parameters_are_problogs(name: str, tmp_path: Path) -> None:
    model, examples = tmp_path / "model.pl", tmp_path / "examples.ev"
    for path, text in zip((model, examples), LEARNED[name], strict=True):
        path.write_text(text)
    program = dpasp.loads(dpasp.convert(model, "problog", examples=examples), python=True)
    program.learn()
    numbers = re.findall(r"([\d.e-]+)(?:\?\([^)]*\))?::", program.learned_program())
    found = sorted(float(number) for number in numbers)
    expected = by_problog(model, examples)
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_command(command: Command) -> None:  # noqa: F811
    Path("m.pl").write_text("t(_)::a. b :- a. query(b).")
    Path("one.ev").write_text("evidence(b).\n")
    Path("two.ev").write_text("evidence(b, false).\n----\n% nothing\n---\nevidence(b).")
    written = command("convert", "m.pl", "one.ev", "two.ev", "--from", "problog")
    assert written.code == 0
    assert "[\n        ['b'],\n        ['not b'],\n        ['b'],\n    ]" in written.out
    assert command("convert", "m.pl", "one.ev", "--from", "plingo").code == 2
    assert command("convert", "m.pl", "one.ev", "--from", "problog", "--ground").code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("evidence(b, perhaps).", "this is not evidence"),
        ("evidence(b(X)).", "this is not evidence"),
        ("b.", "this is not evidence"),
        ("evidence(b). evidence(b, false).", "true and false in one example"),
        ("evidence(c).", "nothing defines c"),
    ],
)
def test_examples_that_are_none(text: str, words: str, tmp_path: Path) -> None:
    model, examples = tmp_path / "model.pl", tmp_path / "examples.ev"
    model.write_text("t(_)::a. b :- a.")
    examples.write_text(text)
    with pytest.raises(dpasp.ProgramError, match=words):
        dpasp.convert(model, "problog", examples=examples)
