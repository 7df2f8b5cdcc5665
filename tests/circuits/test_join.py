"""Circuits of cases, and of enumerated total choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpasp
from dpasp import circuits
from dpasp.circuits.join import Fallen, constant_circuit, fold, join
from dpasp.errors import InferenceError
from dpasp.ground.program import GroundProgram
from dpasp.inference import intervals
from dpasp.inference.bounds.cases import restricted
from dpasp.inference.circuit import on_circuit
from dpasp.inference.enumerate import enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED
from dpasp.native import _native
from dpasp.semantics import leaves
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import weights
from dpasp.semantics.meaning import Meaning
from tests.circuits.programs import STABLE, draw_shape, random_program
from tests.clocks import over
from tests.oracle.generate import generate

TEXT = (
    "0.3::a. 0.2::b; 0.5::c. 0.6::d. p :- a, not q. q :- not p, c. r :- b. r :- p, d. "
    "#query r. #query p | not b."
)


@pytest.fixture
def ground() -> GroundProgram:
    return dpasp.loads(TEXT).ground()


def compiled(ground: GroundProgram, *fallen: tuple[int, int]) -> circuits.Circuit:
    return circuits.compile(restricted(ground, dict(fallen)), Meaning())


def test_cases_of_different_depths_are_the_whole(ground: GroundProgram) -> None:
    paths: list[Fallen] = [
        ((1, 0),),
        ((1, 1), (0, 0)),
        ((1, 1), (0, 1), (2, 0)),
        ((1, 1), (0, 1), (2, 1)),
        ((1, 2),),
    ]
    cases = {path: compiled(ground, *path) for path in paths}
    joined = join(cases, ground.choices, Meaning())
    whole = circuits.compile(ground, Meaning())
    vectors = np.stack([weights(ground), np.array([0.9, 0.1, 0.3, 0.1, 0.6, 0.2, 0.8])], axis=1)
    fields = ("consistent", "a", "b", "c", "d")
    expected = whole.masses(vectors, fields=fields)[:, :5]
    assert joined.masses(vectors, fields=fields)[:, :5] == pytest.approx(expected, abs=1e-14)


def test_what_is_first_is_certain_and_what_is_missing_has_no_model(ground: GroundProgram) -> None:
    first = ((1, 1),)
    cases = {(*first, (0, 0)): compiled(ground, *first, (0, 0))}
    joined = join(cases, ground.choices, Meaning(), first=first)
    masses = joined.masses(weights(ground), fields=("consistent",))
    assert masses[0, 0] == pytest.approx(0.3)  # that of a: c is certain


@pytest.mark.parametrize("holds", [True, False])
def test_constants(holds: bool) -> None:
    constant = constant_circuit(holds, 2)
    a, b, c, d = constant.masses(np.empty(0), fields=("a", "b", "c", "d"))[1, 1:5]
    assert (a, b, c, d) == ((1, 1, 0, 0) if holds else (0, 0, 1, 1))


def test_a_limit_stops_it(ground: GroundProgram) -> None:
    cases = {((0, value),): compiled(ground, (0, value)) for value in (0, 1)}
    with pytest.raises(dpasp.TimeLimit):
        join(cases, ground.choices, Meaning(), watch=over().start())


@pytest.mark.parametrize(
    ("leaves", "decisions"),
    [
        ([[0, 1, 2], [0, 1]], [0, 2, 0, 1]),  # leaves that are too many,
        ([[0, 9], [0, 1]], [0, 2, 0, 1]),  # and that there are not
        ([[0, 1], [0, 1]], [0, 2, 0]),  # a decision that is cut short
        ([[0, 1], [0, 1]], [0, 2, 0, 2]),  # about itself
        ([[0, 1], [0, 1]], [3, 2, 0, 1]),  # about a choice that there is not
        ([[0, 1], [0, 1]], []),  # none at all
        ([[0, 1]], [0, 2, 0, 0]),
    ],
)
def test_nothing_in_the_arrays_is_trusted(leaves: list[list[int]], decisions: list[int]) -> None:
    part = circuits.compile(dpasp.loads("0.3::a. #query a.").ground(), Meaning())
    arrays = [np.array(one, dtype=np.int64) for one in leaves]
    flat = np.array(decisions, dtype=np.int64)
    limits = _native.Limits(np.inf, np.inf)
    with pytest.raises(ValueError, match=r"\w"):
        _native.join([part.native] * 2, arrays, flat, 4, limits)


def test_no_limit_is_no_limit(ground: GroundProgram) -> None:
    cases = {((0, value),): compiled(ground, (0, value)) for value in (0, 1)}
    assert join(cases, ground.choices, Meaning(), watch=UNLIMITED).questions == 2


# --- enumerated total choices --------------------------------------------------------------------


CYCLE = """
0.4::x. [0.2, 0.7]::y. [0.1, 0.3]::z.
a; b :- x. a :- b, y. b :- a, y. c :- a, not z. :- z, y, x.
"""


@pytest.fixture
def nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is a head cycle."""

    def refuse(*arguments: Any, **options: Any) -> circuits.Circuit:
        raise circuits.HeadCycle("a head cycle")

    monkeypatch.setattr(circuits, "compile", refuse)


def random_programs(seeds: range) -> Iterator[tuple[GroundProgram, Logic]]:
    for seed in seeds:
        random = Random(seed)
        logic = list(Logic)[seed % len(Logic)]
        shape = draw_shape(random, undef=logic is not Logic.STABLE)
        ground = random_program(random, shape)
        if logic is not Logic.WELLFOUNDED or not shape.disjunction:
            yield ground, logic


def random_weights(ground: GroundProgram, columns: int, seed: int) -> NDArray[np.float64]:
    places = leaves.layout(ground.choices)
    weights = np.random.default_rng(seed).random((places.size, columns))
    for i in range(len(ground.choices)):
        weights[places.of(i)] /= weights[places.of(i)].sum(axis=0)
    return weights


@pytest.mark.parametrize("probability", [Probability.CREDAL, Probability.MAXENT])
def test_folded_and_enumerated_masses_are_the_same(
    probability: Probability, nothing_compiles: None
) -> None:
    programs = 0
    for ground, logic in random_programs(range(150)):
        table = enumerate_models(ground, Meaning(logic, probability))
        found = on_circuit(ground, Meaning(logic, probability))
        weights = random_weights(ground, 3, programs)
        expected, masses = table.masses(weights).array(), found.masses(weights).array()
        known = ~np.isnan(masses)  # only what the semantics asks for
        np.testing.assert_allclose(masses[known], expected[known], rtol=1e-12, atol=1e-15)
        assert known[[0, 5, 6] if probability is Probability.MAXENT else [0, 1, 2, 3, 4]].all()
        assert known[7:].all()
        assert found.circuit.statistics.way == "enumerated"
        programs += 1
    assert programs > 120


def test_observed_atoms_are_leaves_of_a_folded_circuit_too() -> None:
    compared = 0
    for ground, _ in random_programs(range(0, 600, len(Logic))):
        atoms = np.flatnonzero(determined(ground.rules, len(ground.symbols))).tolist()[1:3]
        try:
            compiled = circuits.compile(ground, STABLE, observed=atoms)
        except circuits.HeadCycle:
            continue
        table = enumerate_models(ground, STABLE, observed=atoms)
        enumerated = fold(ground.choices, table.counted(), STABLE)
        assert enumerated.leaves == compiled.leaves
        seen = np.random.default_rng(compared).integers(0, 2, (2 * len(atoms), 4))
        weights = np.concatenate([random_weights(ground, 4, compared), seen])
        np.testing.assert_allclose(
            enumerated.masses(weights), compiled.masses(weights), rtol=1e-12, atol=1e-15
        )
        compared += 1
    assert compared > 80


def test_an_atom_that_models_choose_is_no_leaf(nothing_compiles: None) -> None:
    ground = dpasp.loads("0.5::x. a :- not b, x. b :- not a, x. #query a.").ground()
    inner = ground.atoms[next(s for s in ground.atoms if str(s) == "a")]
    with pytest.raises(InferenceError, match="not determined"):
        on_circuit(ground, STABLE, observed=[inner])


def test_answers_are_those_of_the_table(nothing_compiles: None) -> None:
    asked = 0
    for seed in range(700, 760):
        program = generate(seed, 6)
        loaded, query = dpasp.loads(str(program)), program.queries[0]
        logic = ("stable", "partial", "lstable", "smproblog", "wellfounded")[seed % 5]
        if (logic == "wellfounded" and program.disjunctive) or (
            logic == "stable" and query.undefined
        ):
            continue
        given = " | " + ", ".join(map(str, query.evidence)) if query.evidence else ""
        semantics = f"{logic}, {'credal' if program.credal or seed % 2 else 'maxent'}"
        for ask, text in ((loaded.query, str(query)), (loaded.map, given)):
            results: list[object] = []
            for engine in ("auto", "enumerate"):
                try:
                    answers = ask(text, semantics=semantics, engine=engine)
                    results.append(pytest.approx(list(answers[0].numbers), abs=1e-9))
                    assert answers.engine == "enumerate"
                except dpasp.InferenceError as error:
                    results.append(error.diagnostics[0].code)
            first, second = results
            assert first == getattr(second, "expected", second), (str(program), text, semantics)
            asked += 1
    assert asked > 90


def test_the_answer_says_that_a_head_cycle_was_enumerated() -> None:
    program = dpasp.loads(CYCLE + "#query c | x.")
    table = program.query(engine="enumerate")
    assert (table.engine, table.statistics["way"]) == ("enumerate", "table")
    for engine in ("auto", "compile"):
        answers = program.query(engine=engine)
        assert (answers.engine, answers.statistics["way"]) == ("enumerate", "enumerated")
        assert answers.statistics["circuit_nodes"] > 3
        assert answers.statistics["total_choices"] == table.statistics["total_choices"]
        assert answers[0].numbers == pytest.approx(table[0].numbers, abs=1e-12)
        assert answers.inconsistent == pytest.approx(table.inconsistent)
        told = [warning.code for warning in answers.warnings]
        assert told == ["head-cycle"] * (engine == "compile") + ["inconsistent-choices"]


def test_a_program_with_a_head_cycle_has_a_circuit() -> None:
    program = dpasp.loads(CYCLE + "#query c | x. #query not a.")
    circuit = program.circuit()
    assert circuit.statistics.way == "enumerated"
    assert circuits.Circuit.from_bytes(circuit.to_bytes()).statistics == circuit.statistics
    ground = program.ground()
    weights = random_weights(ground, 2, 1)
    table = enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL))
    expected = np.moveaxis(table.masses(weights).array()[:5], 0, 1)
    np.testing.assert_allclose(circuit.masses(weights)[:, :5], expected, rtol=1e-12)


def test_many_credal_facts_beside_a_head_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = "".join(f"[0.{i}, 0.{i + 3}]::f({i}). " for i in range(1, 7))
    program = dpasp.loads(CYCLE + facts + "a :- f(1), f(2). d :- c, f(X), not f(X+1), X < 6.")
    expected = program.query("d | a", engine="enumerate")[0]
    monkeypatch.setattr(intervals, "EXACT", replace(intervals.EXACT, few_vertices=0))
    monkeypatch.setattr(intervals, "vertex_weights", None)  # the vertices are not all tried
    found = program.query("d | a")[0]
    assert found.numbers == pytest.approx(expected.numbers, abs=1e-10)
    assert found.lower_at == pytest.approx(expected.lower_at)
