"""All marginals at once: what one gradient gives is what a question for each atom gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.circuits import Options
from dpasp.circuits.compiler import shares
from dpasp.errors import Error, ImpossibleEvidence, UsageError
from dpasp.ground.program import GroundLiteral, GroundProgram, GroundQuery
from dpasp.inference import together
from dpasp.inference.answers import Answer, Answers
from dpasp.inference.asked import ask
from dpasp.inference.circuit import log_lower_upper
from dpasp.inference.enumerate import enumerate_models
from dpasp.inference.together import answered_in_numbers, answered_together
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.semantics.masses import lower_upper
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
    masses, logs = found.masses(weights), found.masses(weights, log=True)
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
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, many_questions=2))
    count = 0
    for seed in range(PROGRAMS):
        random = Random(seed)
        shape = draw_shape(random, undef=logic is not Logic.STABLE, stratified=seed % 2 == 0)
        ground = random_program(random, shape)
        count += compare(f"seed {seed}", ground, Meaning(logic, probability))
    assert count > PROGRAMS


@pytest.mark.parametrize("probability", Probability)
def test_random_networks(probability: Probability, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, many_questions=2))
    meaning = Meaning(Logic.STABLE, probability)
    found = [compare(f"network {i}", random_network(Random(i)), meaning) for i in range(25)]
    assert sum(map(bool, found)) > 20


@pytest.mark.parametrize("logic", Logic)
@pytest.mark.parametrize("probability", Probability)
def test_numbers_of_random_networks(
    logic: Logic, probability: Probability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, many_questions=1))
    meaning, count = Meaning(logic, probability), 0
    for seed in range(60):
        random = Random(seed)
        if seed % 2:
            ground = random_network(random)
        else:
            ground = random_program(random, draw_shape(random, undef=False, stratified=True))
        atoms = about_atoms(ground)
        asked = ask(replace(atoms, questions=atoms.questions[:-1]), meaning)
        found = answered_in_numbers(asked)
        if found is None:
            continue
        expected = enumerate_models(asked.ground, meaning).masses(asked.columns)
        wanted = lower_upper(expected, meaning)
        assert not found.masses(asked.columns).inconsistent.any()
        with np.errstate(invalid="ignore"):  # where the evidence is impossible
            logs = log_lower_upper(found.masses(asked.columns, log=True), meaning)
        for own in (
            lower_upper(found.masses(asked.columns), meaning),
            map(np.exp, logs),
        ):
            for one, other in zip(own, wanted, strict=True):
                known = ~np.isnan(other)
                one, other = np.broadcast_to(one, known.shape)[known], other[known]
                np.testing.assert_allclose(one, other, 1e-9, 1e-13, err_msg=f"{seed} {meaning}")
        count += 1
    assert count > 20


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


def test_too_much_for_tables_or_one_circuit_is_asked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = dpasp.loads(NETWORK).marginals(evidence="v(7,1)")
    assert "circuit_nodes" not in wanted.statistics  # in numbers
    monkeypatch.setattr(together, "answered_in_numbers", lambda asked: None)
    by_gradient = dpasp.loads(NETWORK).marginals(evidence="v(7,1)")
    assert by_gradient.statistics["together"] == 90
    assert by_gradient.statistics["circuit_nodes"] > 1000
    small = Options("elimination", work=1000)
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, network=small))
    one_by_one = dpasp.loads(NETWORK).marginals(evidence="v(7,1)")
    assert "together" not in one_by_one.statistics
    for answers in (by_gradient, one_by_one):
        assert numbers(answers) == pytest.approx(numbers(wanted))


def test_one_question_in_numbers_where_tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "v(3,0) | v(7,1), v(20,2)"
    circuit = dpasp.loads(NETWORK).query(question)
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, large_tables=100))
    tables = dpasp.loads(NETWORK).query(question)
    assert "circuit_nodes" in circuit.statistics
    assert tables.statistics["table_entries"] >= 100
    assert numbers(tables) == pytest.approx(numbers(circuit))


def test_sums_in_numbers_are_looked_for_in_programs_with_many_choices_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a program with few choices would lose by looking is more than it could gain."""
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, large_tables=0))
    rest = "any :- x(_). #query x(1) | any."
    looked = [
        answered_in_numbers(ask(dpasp.loads(f"0.1::x(1..{n}). {rest}").ground(), Meaning()))
        for n in (together.EXACT.many_choices - 1, together.EXACT.many_choices)
    ]
    assert looked[0] is None
    assert looked[1] is not None


def test_independent_parts_and_atoms_that_are_certain() -> None:
    text = "".join(f"0.{i}::a({i}). 0.3::b({i}) :- a({i}). " for i in range(1, 9)) + "c. d :- a(1)."
    answers = dpasp.loads(text).marginals(evidence="not b(2), not b(5), d")
    assert "circuit_nodes" not in answers.statistics
    found = numbers(answers)
    assert found["a(2)"] == pytest.approx(0.2 * 0.7 / (0.2 * 0.7 + 0.8))
    assert [found["b(2)"], found["c"], found["d"], found["a(1)"]] == [0, 1, 1, 1]
    assert found["b(8)"] == pytest.approx(0.24)


def test_weights_that_do_not_fit_are_refused() -> None:
    ground = dpasp.loads("0.3::a. #query a.").ground()
    with pytest.raises(ValueError, match="1 weights for 2 leaves"):
        shares(ground, Meaning(), np.ones(1))
    two = dpasp.loads("0.3::a. 0.4::b. #query a, b.").ground()
    with pytest.raises(ValueError, match="several atoms"):
        shares(two, Meaning(), np.ones(4) / 2)


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


def test_a_term_and_an_atom_of_one_name_are_one() -> None:
    """It is shown where the condition holds or the atom is true, as in clingo."""
    text = """0.3::c(1). a(1) :- c(1). 0.4::a(2). 0.5::d. c(2) :- d. c(3).
    #show a(X) : c(X). #show a/1."""
    program = dpasp.loads(text)
    answers = program.marginals(semantics="maxent")
    assert [answer.query for answer in answers] == ["a(1)", "a(2)", "a(3)"]
    assert answers.to_numpy().tolist() == pytest.approx([0.3, 0.7, 1.0])
    for model in program.models():
        assert len(set(model.true)) == len(model.true)


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


def copying_network(seed: int) -> str:
    """A network whose rows are often certain: most values copy those of a parent."""
    rng = Random(seed)
    sizes = [rng.randint(2, 3) for _ in range(4)]
    lines = []
    for child, size in enumerate(sizes):
        above = sorted(rng.sample(range(child), min(child, rng.randint(1, 2))))
        for row in product(*(range(sizes[parent]) for parent in above)):
            body = ", ".join(f"x{p}({v})" for p, v in zip(above, row, strict=True))
            if rng.random() < 0.5 or sum("::" in line for line in lines) == 7:
                head = f"x{child}({row[0] % size if row else 0})"
            else:
                first = rng.randint(1, 9) / 10
                rest = [(1 - first) / (size - 1)] * (size - 1)
                head = "; ".join(f"{p}::x{child}({v})" for v, p in enumerate([first, *rest]))
            lines.append(f"{head}{' :- ' if body else ''}{body}.")
    return "\n".join(lines) + "\n#semantics maxent.\n"


@pytest.mark.parametrize("seed", range(40))
def test_networks_with_certain_rows(seed: int) -> None:
    text = copying_network(seed)
    atoms = [f"x{i}({v})" for i in range(4) for v in range(3) if f"x{i}({v})" in text]
    for evidence in ((), ("x3(0)",)):
        program = dpasp.loads(text)
        expected = program.query(*atoms, evidence=evidence, engine="enumerate")
        found = program.query(*atoms, evidence=evidence)
        assert [a.value for a in found] == pytest.approx([a.value for a in expected], abs=1e-12)


def test_a_value_that_is_always_one_of_the_parent_stays_in_its_group() -> None:
    """Otherwise the children of a chain of copies have tables over all of its variables."""
    lines = ["0.5::x0(0); 0.3::x0(1); 0.2::x0(2)."]
    for i in range(1, 30):
        lines += [f"x{i}(2) :- x{i - 1}(2).", f"0.6::x{i}(0); 0.4::x{i}(1) :- x{i - 1}(0)."]
        lines.append(f"0.1::x{i}(0); 0.9::x{i}(1) :- x{i - 1}(1).")
        lines += [f"0.{k + 3}::y{i}(0); 0.{7 - k}::y{i}(1) :- x{i}({k})." for k in range(3)]
    program = dpasp.loads("\n".join(lines) + "\n#semantics maxent.\n")
    answers = program.marginals()
    assert answers.statistics["table_entries"] < 1000
    assert answers["x29(2)"].value == pytest.approx(0.2)
