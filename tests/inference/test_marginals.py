"""All marginals at once: what one gradient gives is what a question for each atom gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.circuits import Options
from dpasp.errors import Error, ImpossibleEvidence, UsageError
from dpasp.inference.answers import Answer, Answers
from dpasp.inference.asked import ask
from dpasp.inference.engines import together
from dpasp.inference.engines.reference.enumerate import enumerate_models
from dpasp.inference.engines.together import answered_together
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.logic.program import GroundLiteral, GroundProgram, GroundQuery
from dpasp.semantics.meaning import Meaning

from ..circuits.programs import draw_shape, random_network, random_program
from ..circuits.test_elimination import network

PROGRAMS = 40


def about_atoms(ground: GroundProgram) -> GroundProgram:
    """The program with a question for each of its atoms, and one for it being false."""
    evidence = ground.questions[0].evidence
    queries = [
        GroundQuery((GroundLiteral(mode, atom, symbol),), evidence, str(symbol), None)
        for symbol, atom in ground.atoms.items()
        for mode in (Mode.TRUE, Mode.FALSE)
    ]
    return replace(ground, questions=(*queries, replace(ground.questions[1], evidence=evidence)))


def compare(name: str, ground: GroundProgram, meaning: Meaning) -> int:
    """How many questions were answered together, all of them as by the enumeration."""
    asked = ask(about_atoms(ground), meaning)
    weights = asked.columns
    try:
        expected = enumerate_models(asked.ground, meaning).masses(weights)
    except Error:
        return 0  # no meaning under this semantics
    found = answered_together(asked)
    if found is None:
        return 0
    masses, logs = found.masses(weights), found.log_masses(weights)
    for field in (*meaning.fields, "inconsistent", "undefined"):
        wanted = getattr(expected, field)
        text = f"{name} {meaning} {field}"
        np.testing.assert_allclose(getattr(masses, field), wanted, 1e-9, 1e-13, err_msg=text)
        if field in meaning.fields:
            own = np.exp(getattr(logs, field))
            np.testing.assert_allclose(own, wanted, 1e-9, 1e-13, err_msg=f"log {text}")
    return int(found.statistics["together"])


@pytest.mark.parametrize("logic", Logic)
@pytest.mark.parametrize("probability", Probability)
def test_random_programs(
    logic: Logic, probability: Probability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "MANY", 2)
    count = 0
    for seed in range(PROGRAMS):
        random = Random(seed)
        shape = draw_shape(random, undef=logic is not Logic.STABLE, stratified=seed % 2 == 0)
        ground = random_program(random, shape)
        count += compare(f"seed {seed}", ground, Meaning(logic, probability))
    assert count > PROGRAMS


@pytest.mark.parametrize("probability", Probability)
def test_random_networks(probability: Probability, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MANY", 2)
    meaning = Meaning(Logic.STABLE, probability)
    found = [compare(f"network {i}", random_network(Random(i)), meaning) for i in range(25)]
    assert sum(map(bool, found)) > 20


NETWORK = network(30)


def numbers(answers: Answers) -> dict[str, float]:
    found = {}
    for one in answers:
        assert isinstance(one, Answer)
        assert one.numbers[0] == one.numbers[-1] or abs(one.numbers[0] - one.numbers[-1]) < 1e-12
        found[one.query] = float(one.numbers[0])
    return found


def test_all_atoms_of_a_network() -> None:
    program = dpasp.loads(NETWORK)
    answers = program.marginals(evidence="v(7,1), v(20,2)")
    assert answers.statistics["together"] == len(answers) == 90
    found = numbers(answers)
    for i in range(30):
        assert sum(found[f"v({i},{value})"] for value in range(3)) == pytest.approx(1)
    single = program.query("v(3,0) | v(7,1), v(20,2)", "v(29,2) | v(7,1), v(20,2)")
    assert [found["v(3,0)"], found["v(29,2)"]] == pytest.approx(list(numbers(single).values()))


def test_a_query_for_all_atoms_is_answered_together() -> None:
    program = dpasp.loads(NETWORK)
    answers = program.query("v(_,0) | v(7,1)")
    assert answers.statistics["together"] == 30
    assert "v(12,0) | v(7,1)" in numbers(answers)


def test_too_much_for_one_circuit_is_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = numbers(dpasp.loads(NETWORK).marginals(evidence="v(7,1)"))
    monkeypatch.setattr(together, "NETWORK", Options("elimination", work=1000))
    answers = dpasp.loads(NETWORK).marginals(evidence="v(7,1)")
    assert "together" not in answers.statistics
    assert numbers(answers) == pytest.approx(wanted)


def test_improbable_evidence_loses_no_digits() -> None:
    rows = [f"1e-9::v({i}). 0.3::w({i}) :- v({i})." for i in range(50)]
    program = dpasp.loads("\n".join(rows))
    found = numbers(program.marginals(evidence=", ".join(f"v({i})" for i in range(50))))
    assert found["w(3)"] == pytest.approx(0.3)
    assert found["v(3)"] == 1


def test_only_what_is_shown() -> None:
    text = "0.3::a(1..2). b :- a(1). c :- a(2). #show b/0. #show f(X) : a(X). #query c."
    answers = dpasp.loads(text).marginals()
    assert [answer.query for answer in answers] == ["b", "f(1)", "f(2)"]


def test_atoms_that_models_choose_have_bounds() -> None:
    text = "0.4::a(1..20). {b(X)} :- a(X)."
    answers = dpasp.loads(text).marginals(evidence="a(3)")
    assert answers.statistics["together"] == 20
    found = answers["b(3)"], answers["b(4)"], answers["a(3)"]
    assert [one.numbers for one in found] == [(0, 1), (0, pytest.approx(0.4)), (1, 1)]
    maxent = dpasp.loads(text).marginals(semantics="maxent")
    assert maxent["b(4)"].numbers == (pytest.approx(0.2),)


def test_inconsistent_choices_are_told() -> None:
    program = dpasp.loads("0.5::a(1..20). :- a(1), a(2).")
    answers = program.marginals()
    assert answers.inconsistent == pytest.approx(0.25)
    assert answers["a(1)"].numbers[0] == pytest.approx(1 / 3)
    with pytest.raises(Error, match=r"probability 0\.25 have no model"):
        program.marginals(inconsistent="error")


def test_impossible_evidence_is_refused() -> None:
    with pytest.raises(ImpossibleEvidence, match="has probability 0") as refusal:
        dpasp.loads("0.5::a(1..20). b :- a(1), not a(1).").marginals(evidence="b")
    assert refusal.value.diagnostics[0].span is None


def test_other_engines_and_their_options() -> None:
    program = dpasp.loads("0.5::a(1..3).")
    sampled = program.marginals(engine="sample", n=100, seed=1)
    assert [one.samples for one in sampled if isinstance(one, Answer)] == [100] * 3
    assert program.marginals(engine="enumerate")["a(2)"].numbers == (0.5, 0.5)
    with pytest.raises(UsageError, match="engine"):
        program.marginals(engine="guess")


def test_intervals_are_asked_one_by_one() -> None:
    program = dpasp.loads("[0.2, 0.4]::a(1..20). b :- a(1), not a(2).")
    answers = program.marginals(evidence="a(1)")
    assert "together" not in answers.statistics
    assert answers["b"].numbers == (pytest.approx(0.6), pytest.approx(0.8))


def test_files_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    dpasp.loads("0.5::a(1..20).").marginals().save(file)
    assert len(file.read_text().splitlines()) == 21
