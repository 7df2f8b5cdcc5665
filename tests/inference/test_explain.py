"""What is behind an answer, against the answers to other questions."""

from __future__ import annotations

import pytest

import dpasp

ALARM = """
0.1::burglary. 0.2::earthquake.
alarm :- burglary.
0.7::alarm :- earthquake.
#query burglary | alarm.
"""
LOOP = """
0.3::a. 0.6::b. 0.2::c; 0.5::d.
p :- a, not q. q :- b, not p. r :- c, p. r :- d. :- c, a, p.
#query r | q. #query not p, d | not c.
"""
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")


def value(answers: dpasp.Answers) -> float:
    return float(answers[0].numbers[0])


@pytest.mark.parametrize("logic", LOGICS)
def test_posteriors_and_certain_answers_under_maxent(logic: str) -> None:
    program = dpasp.loads(LOOP)
    semantics = f"{logic}, maxent"
    for why in program.explain(semantics=semantics):
        query, _, given = why.answer.query.partition(" | ")
        assert why.answer.value == pytest.approx(
            value(program.query(why.answer.query, semantics=semantics))
        )
        for one in why.contributions:
            after = program.query(f"{one.value} | {query}, {given}", semantics=semantics)
            assert one.posterior == pytest.approx(value(after))
            question = f"{query} | {given}, {one.value}"
            if one.certain:
                certain = program.query(question, semantics=semantics)
                assert one.certain == pytest.approx([value(certain)])
            else:
                with pytest.raises(dpasp.ImpossibleEvidence):
                    program.query(question, semantics=semantics)


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_shares_sum_to_one_and_come_in_order(semantics: str) -> None:
    for why in dpasp.loads(LOOP).explain(semantics=semantics, top=100):
        shares = [way.share for way in why.ways]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        assert why.complete


def test_fewer_total_choices_are_the_first_of_all() -> None:
    program = dpasp.loads(LOOP)
    for semantics in ("credal", "maxent"):
        (all_, *_), (few, *_) = (program.explain(semantics=semantics, top=n) for n in (100, 2))
        assert few.ways == all_.ways[:2]


def test_by_hand() -> None:
    (why,) = dpasp.loads(ALARM).explain()
    assert (why.answer.lower, why.answer.upper) == pytest.approx((0.1 / 0.226, 0.1 / 0.226))
    first = why.ways[0]
    assert first.values == ("burglary", "not earthquake", "alarm by line 4")
    assert (first.probability, first.share, first.sure) == pytest.approx((0.056, 0.56, True))
    burglary = why.contributions[0]
    assert (burglary.value, burglary.prior) == ("burglary", 0.1)
    assert burglary.posterior == pytest.approx(1)
    assert burglary.certain == pytest.approx((1, 1))


def test_sure_and_possible_total_choices_under_credal() -> None:
    text = "0.3::a. 0.5::b. p :- a, not q. q :- a, not p. p :- b. #query p."
    (why,) = dpasp.loads(text).explain()
    assert {way.values: way.sure for way in why.ways} == {
        ("not a", "b"): True,
        ("a", "not b"): False,
        ("a", "b"): True,
    }


def test_a_query_that_cannot_hold_has_nothing_behind_it() -> None:
    (why,) = dpasp.loads("0.3::a. b :- a, not a. #query b.").explain()
    assert why.ways == ()
    assert [one.posterior for one in why.contributions] == [None]


def test_what_cannot_be_explained() -> None:
    with pytest.raises(dpasp.ImpossibleEvidence, match="the evidence a, not a"):
        dpasp.loads("0.3::a. 0.2::b.").explain("b | a, not a")
    with pytest.raises(dpasp.InconsistentProgram):
        dpasp.loads("0.3::a. b. :- b. #query a.").explain()
    with pytest.raises(dpasp.ProgramError, match="an explanation does not take intervals"):
        dpasp.loads("[0.2, 0.4]::a. #query a.").explain()


def test_a_value_that_excludes_the_evidence() -> None:
    (why,) = dpasp.loads("0.5::a; 0.5::b. 0.4::c. #semantics maxent. #query c | a.").explain()
    assert {one.value: one.certain for one in why.contributions}["b"] == ()


def test_an_impossible_query_has_no_posteriors() -> None:
    program = dpasp.loads("0.5::a. 0.3::b. :- a, b. #query a. #query a | b.")
    possible, impossible = program.explain()
    assert [one.posterior for one in possible.contributions] == [1, 0]
    assert [one.posterior for one in impossible.contributions] == [None, None]
    assert impossible.ways == ()


def test_total_choices_without_a_model_are_told() -> None:
    program = dpasp.loads("0.5::a. 0.3::b. :- a, b. #query a.")
    found = program.explain()
    assert found.inconsistent == pytest.approx(0.15)
    assert found.warnings == program.query().warnings
    assert [warning.code for warning in found.warnings] == ["inconsistent-choices"]


def test_most_probable_values_are_left_out() -> None:
    program = dpasp.loads("0.3::a. #query a. #mpe. #map a?.")
    found = program.explain()
    assert [one.answer.query for one in found] == ["a"]
    assert [warning.code for warning in found.warnings] == ["explain-map", "explain-map"]
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads("0.3::a. #mpe.").explain()
    (problem,) = caught.value.diagnostics
    assert problem.code == "explain-map"
    assert "--query" in problem.help
    assert "--engine" not in problem.help
    assert len(dpasp.loads("0.3::a. #mpe.").explain("a")) == 1


def test_intervals_have_words_of_their_own() -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads("[0.2, 0.4]::a. #query a.").explain()
    (problem,) = caught.value.diagnostics
    assert problem.code == "explain-credal"
    assert "--engine" not in problem.help


def test_how_many_total_choices() -> None:
    program = dpasp.loads("0.3::a. #query a.")
    assert program.explain(top=0)[0].ways == ()
    with pytest.raises(dpasp.UsageError, match="-3 total choices"):
        program.explain("a", top=-3)
