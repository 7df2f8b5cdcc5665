"""What is behind an answer, against the answers to other questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import dpasp
from dpasp.inference.circuit import OnCircuit
from dpasp.inference.explain import ways
from dpasp.inference.tuning import EXPLAIN
from dpasp.semantics.masses import Masses

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
        shares = [way.share or 0.0 for way in why.total_choices]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)
        assert why.complete


def test_fewer_total_choices_are_the_first_of_all() -> None:
    program = dpasp.loads(LOOP)
    for semantics in ("credal", "maxent"):
        (all_, *_), (few, *_) = (program.explain(semantics=semantics, top=n) for n in (100, 2))
        assert few.total_choices == all_.total_choices[:2]


def test_by_hand() -> None:
    (why,) = dpasp.loads(ALARM).explain()
    assert (why.answer.lower, why.answer.upper) == pytest.approx((0.1 / 0.226, 0.1 / 0.226))
    first = why.total_choices[0]
    assert first.values == ("burglary", "not earthquake", "alarm by line 4")
    assert (first.probability, first.share, first.sure) == pytest.approx((0.056, 0.56, True))
    burglary = why.contributions[0]
    assert (burglary.value, burglary.prior) == ("burglary", 0.1)
    assert burglary.posterior == pytest.approx(1)
    assert burglary.certain == pytest.approx((1, 1))


def test_sure_and_possible_total_choices_under_credal() -> None:
    text = "0.3::a. 0.5::b. p :- a, not q. q :- a, not p. p :- b. #query p."
    (why,) = dpasp.loads(text).explain()
    assert [(way.values, way.sure) for way in why.ways] == [(("b",), True), (("a",), False)]
    assert {way.values: way.sure for way in why.total_choices} == {
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


def test_they_are_left_out_under_weighted_too() -> None:
    why = dpasp.loads("#semantics weighted. 0.3::a. #query a. #map a?.").explain()
    assert [each.answer.query for each in why] == ["a"]
    assert [warning.code for warning in why.warnings] == ["explain-map"]


def test_how_many_total_choices() -> None:
    program = dpasp.loads("0.3::a. #query a.")
    assert program.explain(top=0)[0].ways == ()
    with pytest.raises(dpasp.UsageError, match="the number of ways is a whole number"):
        program.explain("a", top=-3)


def test_irrelevant_choices_are_left_out() -> None:
    text = "0.3::a. 0.5::b. 0.9::z. c :- a. c :- b, not d. 0.2::d. #query c."
    (why,) = dpasp.loads(text).explain()
    assert [(way.values, way.probability) for way in why.ways] == [
        (("b", "not d"), pytest.approx(0.4)),
        (("a",), pytest.approx(0.3)),
    ]
    assert why.covered == pytest.approx(1)


def test_total_choices_without_a_model_do_not_count_against_a_way() -> None:
    (why,) = dpasp.loads("0.5::a. 0.3::b. :- a, b. #query a.").explain()
    assert [way.values for way in why.ways] == [("a",)]


def test_rows_are_named_together_only_where_models_may_use_both() -> None:
    """Which of two rows is used is decided by a choice, or may differ from model to model."""
    rows = "0.5::r :- p. 0.4::r :- not p. #query r."
    (chosen,) = dpasp.loads(f"0.3::p. {rows}").explain()
    assert [(way.values, way.sure) for way in chosen.ways] == [
        (("not p", "r by line 1 #2"), True),
        (("p", "r by line 1 #1"), True),
    ]
    (guessed,) = dpasp.loads("{p}. " + rows).explain()
    assert [(way.values, way.sure) for way in guessed.ways] == [
        (("r by line 1 #1",), False),
        (("r by line 1 #2",), False),
        (("r by line 1 #1", "r by line 1 #2"), True),
    ]


def test_what_always_holds_needs_no_choice() -> None:
    (why,) = dpasp.loads("0.5::a. b :- a. b :- not a. #query b.").explain()
    assert [(way.values, way.probability, way.share) for way in why.ways] == [((), 1, 1)]
    assert why.why_not is None


def test_intervals() -> None:
    (why,) = dpasp.loads("[0.3, 0.6]::a. 0.5::b. c :- a. c :- b. #query c.").explain()
    assert (why.answer.lower, why.answer.upper) == pytest.approx((0.65, 0.8))
    assert [(way.values, way.bounds, way.share) for way in why.ways] == [
        (("a",), (0.3, 0.6), None),
        (("b",), (0.5,), None),
    ]
    assert why.ways[0].probability is None
    by_name = {one.name: one for one in why.sensitivity}
    assert by_name["0.5::b"].slope == pytest.approx((0.7, 0.4))
    assert by_name["[0.3, 0.6]::a"].slope == pytest.approx((0.5, 0.5))
    assert why.to_dict()["lower_at"] == {"a": 0.3}
    assert why.contributions == ()


def test_intervals_that_leave_no_room_are_narrower() -> None:
    (why,) = dpasp.loads("[0.6, 0.7]::a; [0.1, 0.9]::b. #query b.").explain()
    assert why.ways[0].bounds == pytest.approx((0.3, 0.4))


# --- sensitivity -----------------------------------------------------------------------------


NUMBERS = """
n(1..3). {first}::a(X) :- n(X). {second}::b; {third}::c. 0.5::d.
p :- a(X), not q. q :- b, not p. p :- c, d. :- b, d.
#query p | not c.
"""


@pytest.mark.parametrize("semantics", ["stable, maxent", "stable, credal", "lstable, maxent"])
def test_slopes_are_derivatives(semantics: str) -> None:
    now = {"first": 0.3, "second": 0.2, "third": 0.4}
    program = dpasp.loads(NUMBERS.format(**now))
    (why,) = program.explain(semantics=semantics)
    step = 1e-6
    for name, one in zip(now, ("0.3::a(X)", "0.2::b", "0.4::c"), strict=True):
        slope = next(found.slope for found in why.sensitivity if found.name == one)
        ends = []
        for sign in (1, -1):
            moved = now | {name: now[name] + sign * step}
            answers = dpasp.loads(NUMBERS.format(**moved)).query(semantics=semantics)
            ends.append(answers[0].numbers)
        expected = [(float(up) - float(down)) / (2 * step) for up, down in zip(*ends, strict=True)]
        assert slope == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
@pytest.mark.parametrize("target", [0.2, 0.75, 0.85])
def test_the_value_that_reaches_a_target_does(target: float, semantics: str) -> None:
    now = {"first": 0.3, "second": 0.2, "third": 0.4}
    (why,) = dpasp.loads(NUMBERS.format(**now)).explain(semantics=semantics, target=target)
    reached = 0
    for name, one in zip(now, ("0.3::a(X)", "0.2::b", "0.4::c"), strict=True):
        found = next(found for found in why.sensitivity if found.name == one)
        for side, value in enumerate(found.reach):
            if value is None:
                continue
            reached += 1
            moved = now | {name: f"{value:.12f}"}
            answer = dpasp.loads(NUMBERS.format(**moved)).query(semantics=semantics)[0]
            assert float(answer.numbers[side]) == pytest.approx(target, abs=1e-6)
    assert reached


def test_a_target_no_number_reaches() -> None:
    (why,) = dpasp.loads("0.3::a. 0.5::b. c :- a, b. #query c.").explain(target=0.9)
    assert all(one.reach == (None, None) for one in why.sensitivity)


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_a_number_that_the_answer_does_not_depend_on_reaches_no_target(semantics: str) -> None:
    loop = "0.5::u. a :- u, not b. b :- u, not a. #query a | a."
    (why,) = dpasp.loads(loop).explain(semantics=semantics, target=0.25)
    assert {end for one in why.sensitivity for end in one.reach} == {None}
    assert "no number of the program reaches 0.25" in str(why)
    (why,) = dpasp.loads(loop).explain(semantics=semantics, target=1.0)
    assert {end for one in why.sensitivity for end in one.reach} == {0.5}  # it is 1 already


def test_a_target_that_is_nearly_met_is_not_met() -> None:
    """What no number changes is 0, and a number that is small goes no higher than it can."""
    (why,) = dpasp.loads("0.5::u. 0.5::v. a :- u, not u. #query a.").explain(target=1e-8)
    assert {end for one in why.sensitivity for end in one.reach} == {None}
    (why,) = dpasp.loads("0.5::u. 0.9999999::v. a :- u, v. #query a.").explain(target=1.0)
    assert next(one for one in why.sensitivity if one.name == "0.5::u").reach == (None, None)
    (why,) = dpasp.loads("0.5::u. #query u.").explain(target=1e-8)
    assert why.sensitivity[0].reach == pytest.approx((1e-8, 1e-8))


def test_a_number_that_must_stay_a_distribution() -> None:
    text = "0.3::a; 0.2::b; 0.5::c. d :- a. d :- c. #semantics maxent. #query d."
    (why,) = dpasp.loads(text).explain(target=0.9)
    found = {one.name: one.reach[0] for one in why.sensitivity}
    assert found == {
        "0.2::b": pytest.approx(0.1),
        "0.5::c": pytest.approx(0.75),
        "0.3::a": pytest.approx(0.65),
    }


def test_targets_that_make_no_sense() -> None:
    with pytest.raises(dpasp.UsageError, match=r"a target is a number from 0 to 1, not 1\.5"):
        dpasp.loads("0.3::a. #query a.").explain(target=1.5)
    with pytest.raises(dpasp.UsageError, match="not intervals"):
        dpasp.loads("[0.2, 0.3]::a. #query a.").explain(target=0.5)


def test_numbers_that_depend_on_variables_are_told_apart() -> None:
    text = "w(1..2). X/10::a(X) :- w(X). b :- a(X). #query b."
    (why,) = dpasp.loads(text).explain(semantics="maxent")
    assert {one.name: one.value for one in why.sensitivity} == {
        "0.100000::a(1)": pytest.approx(0.1),
        "0.200000::a(2)": pytest.approx(0.2),
    }


def test_the_way_of_a_query_that_needs_every_choice_is_found_in_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of 80 values takes evaluations by the logarithm of the choices, not their number."""
    evaluated: list[int] = []
    masses = OnCircuit.masses

    def counted(self: OnCircuit, *arguments: Any) -> Masses:
        evaluated.append(1)
        return masses(self, *arguments)

    monkeypatch.setattr(OnCircuit, "masses", counted)
    (why,) = dpasp.loads("0.9::a(1..80). q :- a(X) : X = 1..80. #query q.").explain()
    assert [len(way.values) for way in why.ways] == [80]
    assert why.complete
    assert len(evaluated) < 80 * 30  # some 15,000 if choices are fixed one at a time


@pytest.mark.parametrize(("work", "found"), [(0, 0), (20_000, 0), (400_000, 1)])
def test_a_search_for_ways_beyond_its_budget_says_so(
    work: int, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of eight are 56 ways."""
    text = "0.3::a(1..8). q :- 3 <= #count { X : a(X) }. #query q."
    monkeypatch.setattr(ways, "EXPLAIN", replace(EXPLAIN, work=work))
    said = "after" if found else "with none found"
    with pytest.warns(dpasp.ProgramWarning, match=f"the search for .* q was stopped {said}"):
        (why,) = dpasp.loads(text).explain(top=100)
    assert not why.complete
    assert len(why.ways) == found
    assert all(len(way.values) == 3 and way.sure for way in why.ways)


@pytest.mark.filterwarnings("ignore:the search for what must be chosen")
def test_one_way_is_found_where_the_budget_is_too_small_for_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of the 200 pairs is a way, and hundreds of sets are tried before the first of them."""
    pairs = "0.1::a(1..200). 0.1::b(1..200). q :- a(X), b(X). #query q."
    monkeypatch.setattr(ways, "EXPLAIN", replace(EXPLAIN, work=20_000_000))
    (why,) = dpasp.loads(pairs).explain()
    assert not why.complete
    ((one, other),) = [way.values for way in why.ways]
    assert one.replace("a", "b") == other


def test_reasons_for_no_model_are_sought_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is spent, there is still one reason, and it is not said to be the best."""
    text = "0.9::a(1..40). :- a(X) : X = 1..40."
    monkeypatch.setattr(ways, "EXPLAIN", replace(EXPLAIN, work=10_000_000))
    reasons = dpasp.loads(text).why_inconsistent()
    assert not reasons.complete
    assert [len(reason.values) for reason in reasons] == [40]


def test_a_tree_names_the_rows_of_a_table_that_apply_and_no_others() -> None:
    """Rows of one table exclude each other: of four choices for d, the bodies of three fail."""
    rows = "".join(
        f"0.{8 - n}::d(yes); 0.{2 + n}::d(no) :- t({t}), b({b})."
        for n, (t, b) in enumerate([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])
    )
    text = f"0.6::t(yes); 0.4::t(no). 0.7::b(yes); 0.3::b(no).\n{rows} #query d(yes)."
    (why,) = dpasp.loads(text, semantics="maxent").explain()
    assert why.tree is not None
    assert why.tree.chosen[:2] == ("t(yes)", "b(yes)")
    assert len(why.tree.chosen) == 3
    assert why.tree.chosen[2].startswith("d(yes)")
    assert why.why_not is not None
    assert len(why.why_not.chosen) == 3
