"""External atoms that are set from outside: in Python, by rows of tables, by the page."""

from __future__ import annotations

import pickle
from math import log

import pytest

import dpasp
from dpasp.limits import Limits
from dpasp.playground.tasks import Desk

TEXT = (
    "#external sensor(1..2). #external on. [true]\n0.3::fire. 0.9::alarm :- fire, sensor(1)."
    " 0.1::alarm :- sensor(2), on. #semantics maxent. #query alarm."
)
SET = [
    ({}, 0.0),
    ({"sensor(1)": True}, 0.27),
    ({"sensor(1)": 1, "sensor(2)": "true"}, 0.343),
    ({"sensor(2)": True}, 0.1),
    ({"sensor(2)": True, "on": False}, 0.0),
    ({"sensor(2)": "free"}, 0.05),
]


@pytest.mark.parametrize(("externals", "expected"), SET)
@pytest.mark.parametrize("engine", ["compile", "enumerate"])
def test_they_are_set_in_a_query_and_when_loading(
    externals: dict[str, object], expected: float, engine: str
) -> None:
    program = dpasp.loads(TEXT)
    assert program.query(externals=externals, engine=engine)[0].value == pytest.approx(expected)
    assert program.query()[0].value == 0.0  # only for that query
    loaded = dpasp.loads(TEXT, externals=externals)
    assert loaded.query(engine=engine)[0].value == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(loaded)).query()[0].value == pytest.approx(expected)


def test_marginals_and_maps_take_them() -> None:
    program = dpasp.loads(TEXT)
    shown = {a.query: a.value for a in program.marginals(externals={"sensor(1)": True})}
    assert shown["sensor(1)"] == 1.0
    assert shown["alarm"] == pytest.approx(0.27)
    (answer,) = program.map("fire? | alarm", externals={"sensor(1)": True})
    assert answer.assignment == {"fire": True}


def test_learned_numbers_are_kept() -> None:
    program = dpasp.loads("#external s. 0.5?::a. b :- a, s. #semantics maxent.")
    program.learn(["a", "a", "not a", "a"], niters=50, alg="em")
    assert program.query("b", externals={"s": True})[0].value == pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize("semantics", ["maxent", "credal", "weighted", "lstable, credal"])
def test_rows_of_a_table_set_them(semantics: str) -> None:
    program = dpasp.loads(TEXT)
    rows = [
        {"sensor(1)": True, "sensor(2)": None, "fire": None},
        {"sensor(1)": True, "sensor(2)": True, "fire": True},
        {"sensor(1)": None, "sensor(2)": True, "fire": None},
        {"sensor(1)": False, "sensor(2)": False, "fire": None},
    ]
    found = program.query("alarm", evidence=rows, semantics=semantics)[0]
    for i, row in enumerate(rows):
        externals = {key: value for key, value in row.items() if key != "fire" and value}
        evidence = "fire" if row["fire"] else ()
        alone = program.query("alarm", evidence=evidence, externals=externals, semantics=semantics)
        numbers = [side[i] for side in found.numbers]
        assert numbers == pytest.approx(list(alone[0].numbers)), (semantics, row)


def test_one_dictionary_is_one_row() -> None:
    (answer,) = dpasp.loads(TEXT).query("alarm", evidence={"sensor(1)": True, "fire": True})
    assert answer.value == pytest.approx(0.9)


def test_a_free_one_must_be_said_in_every_row() -> None:
    program = dpasp.loads("#external s. [free] 0.5::a. b :- a, s. #semantics maxent.")
    assert program.query("b", evidence={"s": [True, False]})[0].value == pytest.approx([0.5, 0.0])
    with pytest.raises(dpasp.DataError, match="example 1 does not say"):
        program.query("b", evidence={"s": [True, None]})


@pytest.mark.parametrize(
    ("externals", "code", "help"),
    [
        ({"sensr(1)": True}, "unknown-external", "did you mean 'sensor(1)'?"),
        ({"fire": True}, "unknown-external", "#external fire."),
        ({"sensor(1)": "maybe"}, "usage", "true, false or free"),
        ({"sensor(1)": None}, "usage", "true, false or free"),
        ([("sensor(1)", True)], "usage", 'externals={"sensor(1)": True}'),
    ],
)
def test_what_cannot_be_set_is_refused(externals: object, code: str, help: str) -> None:
    with pytest.raises(dpasp.Error) as error:
        dpasp.loads(TEXT).query(externals=externals)  # type: ignore[arg-type]
    assert error.value.diagnostics[0].code == code
    assert help in error.value.diagnostics[0].help


def test_other_values_are_refused_where_they_are_declared() -> None:
    with pytest.raises(dpasp.ProgramError, match="an external atom cannot be maybe"):
        dpasp.loads("a. #external b. [maybe]\n#query a.").query()
    text = "#const value = true. #external b. [value]\n#query b."
    assert dpasp.loads(text).query()[0].lower == 1


def test_what_a_rule_derives_cannot_be_set() -> None:
    with pytest.raises(dpasp.Error, match="a rule derives it"):
        dpasp.loads("#external a. 0.5::b. a :- b.").query("a", externals={"a": True})


def test_the_page_takes_them() -> None:
    request = {"task": "answer", "text": TEXT, "externals": {"sensor(1)": True}}
    (answer,) = Desk(Limits()).do(request)["ok"]["answers"]
    assert answer["value"] == pytest.approx(0.27)


EVERYWHERE = """
#external s. 0.5::a. b :- a, s. n(1) :- b. n(0) :- not b. #decision {d}.
#utility 4 : b, d. #utility -1 : d. #semantics maxent.
"""


@pytest.mark.parametrize("how", [{"externals": {"s": True}}, {"evidence": {"s": True}}])
def test_every_question_takes_externals(how: dict[str, dict[str, bool]]) -> None:
    program = dpasp.loads(EVERYWHERE)
    given = {"given" if name == "evidence" else name: value for name, value in how.items()}
    assert program.decide(**how).value == pytest.approx(1.0)
    assert program.decide().value == 0
    assert float(program.expect("N : n(N)", **how)) == pytest.approx(0.5)
    assert float(program.expect("N : n(N)")) == 0
    plain = dpasp.loads("#external s. 0.5::a. b :- a, s. :- s, not a. #semantics maxent.")
    assert all(model["b"] for model in plain.sample(5, **given))
    assert {str(model) for model in plain.models(**given)} == {"a b s"}
    assert plain.explain("b", **how)[0].answer.value == 1
    assert len(plain.why_inconsistent(**given)) == 1
    assert len(plain.why_inconsistent()) == 0
    assert plain.to_numpy("b", **how).prob() == pytest.approx(1.0)
    assert plain.log_partition(semantics="weighted", **how) == pytest.approx(log(0.5))
    assert plain.log_partition(semantics="weighted") == pytest.approx(0.0)


def test_rows_that_decide_set_externals() -> None:
    decided = dpasp.loads(EVERYWHERE).decide(evidence={"s": [True, False], "a": [True, True]})
    assert [one.value for one in decided] == pytest.approx([3.0, 0.0])
