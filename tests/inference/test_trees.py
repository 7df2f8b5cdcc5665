"""Why a literal holds in a model, why not, and what leaves no model."""

from __future__ import annotations

from typing import Any

import pytest

import dpasp
from dpasp.inference.explain.explanation import Tree

SMOKERS = """person(anna). person(bill).
0.3::stress(X) :- person(X).
0.9::friend(anna,bill).
smokes(X) :- stress(X), not rich(X).
smokes(X) :- friend(Y,X), smokes(Y).
rich(X) :- lucky(X), person(X).
0.4::lucky(anna).
"""


def tree(text: str, query: str, semantics: str = "stable") -> Tree:
    (why,) = dpasp.loads(text).explain(query, semantics=semantics)
    assert why.tree is not None
    return why.tree


def why_not(text: str, query: str, semantics: str = "stable") -> Tree:
    (why,) = dpasp.loads(text).explain(query, semantics=semantics)
    assert why.why_not is not None
    return why.why_not


def test_a_derivation_goes_down_to_choices_and_facts() -> None:
    assert str(tree(SMOKERS, "smokes(bill), stress(anna), not stress(bill)")).splitlines() == [
        "smokes(bill), stress(anna), not stress(bill) in all",
        "  smokes(bill): by line 5, since friend(anna,bill) and smokes(anna)",
        "    friend(anna,bill): chosen, with probability 0.9 (line 3)",
        "    smokes(anna): by line 4, since stress(anna) and not rich(anna)",
        "      stress(anna): chosen, with probability 0.3 (line 2)",
        "        person(anna): a fact (line 1)",
        "      not rich(anna): no rule for it applies",
        "        line 6 does not apply, since not lucky(anna)",
        "          not lucky(anna): no rule for it applies",
        "            line 7 does not choose it (it does with probability 0.4)",
        "  stress(anna), explained above",
        "  not stress(bill): no rule for it applies",
        "    line 2 does not choose it (it does with probability 0.3)",
    ]


def test_why_not_names_every_rule_and_what_blocks_it() -> None:
    found = why_not(SMOKERS, "smokes(anna)")
    assert found.value is False
    assert [one.words for one in found.below] == [
        "line 4 does not apply, since not stress(anna)",
        "line 5 can never apply, since there is no friend(Y,anna)",
    ]
    assert [(one.line, one.rule) for one in found.below] == [
        (4, "smokes(X) :- stress(X), not rich(X)."),
        (5, "smokes(X) :- friend(Y,X), smokes(Y)."),
    ]
    assert found.chosen == (
        "not stress(anna)",
        "not stress(bill)",
        "friend(anna,bill)",
        "not lucky(anna)",
    )


def test_what_nothing_gives() -> None:
    found = why_not("0.5::a. b :- a, c.", "b")
    assert [one.words for one in found.walk()] == [
        "not b: no rule for it applies",
        "line 1 can never apply, since not c",
        "not c: there is no rule for it",
    ]
    assert why_not("0.5::a.", "z").words == "not z: there is no rule for it"


@pytest.mark.parametrize(
    ("text", "query", "semantics", "words"),
    [
        (
            "0.9::a. p :- a, not q. q :- a, not p.",
            "p",
            "stable",
            "loop: p → q → p: a loop through an even number of negations (2)",
        ),
        (
            "0.9::a. s :- a, not s.",
            "undef s",
            "partial",
            "loop: s → s: a loop through an odd number of negations (1)",
        ),
        (
            "0.9::a. r :- a, t. t :- r.",
            "not r",
            "stable",
            "loop: r → t → r: they could only derive each other, which is no reason",
        ),
        (
            "0.9::a. s :- a, not s.",
            "undef s",
            "smproblog",
            "s: no stable model fits these choices, so every atom is undefined",
        ),
    ],
)
def test_loops_have_names(text: str, query: str, semantics: str, words: str) -> None:
    assert words in [one.words for one in tree(text, query, semantics).walk()]


def test_undefined_atoms_say_why() -> None:
    found = tree("0.9::a. s :- a, not t. t :- not s. u :- s, a.", "undef u", "wellfounded")
    assert found.value == "undef"
    assert [one.words for one in found.walk()][:4] == [
        "u is undefined: no rule for it surely applies, and not all are ruled out",
        "line 1 may or may not apply, since s is undefined",
        "s is undefined: no rule for it surely applies, and not all are ruled out",
        "line 1 may or may not apply, since t is undefined",
    ]


def test_support_is_founded() -> None:
    # b :- a. would be a rule whose body holds; only the other one founds b.
    found = tree("0.5::c. a :- b. b :- a. b :- c.", "a")
    assert [one.kind for one in found.walk()] == ["rule", "rule", "choice"]
    assert found.below[0].rule == "b :- c."


def test_aggregates_choice_rules_and_disjunctions() -> None:
    text = "0.9::a. {c} :- a. d; e :- a. f :- #count{1: c; 2: d} > 1."
    assert [one.words for one in tree(text, "f").walk()] == [
        "f: by line 1, since the condition 1 < #count { 1: c; 2: d } is met",
        "the condition 1 < #count { 1: c; 2: d } is met; these of its atoms hold: c, d",
        "c: line 1 leaves it open, and it is true here",
        "a: chosen, with probability 0.9 (line 1)",
        "d: by line 1, since a",
        "a, explained above",
    ]
    words = [one.words for one in why_not(text, "d").walk()]
    assert "line 1 does not derive it: e holds instead" in words
    words = [one.words for one in why_not(text, "c").walk()]
    assert "line 1 leaves it open, and it is not true here" in words


def test_a_condition_that_keeps_a_choice_away() -> None:
    text = "0.9::a. {c} :- a. 0.5::f :- #count{1: c; 2: a} > 1."
    words = [one.words for one in why_not(text, "f").walk()]
    assert any(
        one.startswith("the condition 1 < #count { 1: c; 2: a } is not met") for one in words
    )


def test_atoms_have_names_for_people() -> None:
    text = '#name smokes(X): "{X} smokes".\n' + SMOKERS
    assert tree(text, "smokes(bill)").words.startswith("bill smokes: by line ")
    assert why_not(text, "smokes(anna)").words.startswith("it is not true that anna smokes: ")


def test_a_large_tree_ends() -> None:
    text = "0.5::a(0). a(X+1) :- a(X), X < 500. #query a(500)."
    (why,) = dpasp.loads(text).explain()
    assert why.tree is not None
    lines = list(why.tree.walk())
    assert len(lines) < 400
    assert lines[-1].words.endswith("not explained any further")


def test_other_constants() -> None:
    program = dpasp.loads("#const n = 2. 0.5::a. p(n) :- a. q :- p(n).", constants={"n": "5"})
    (why,) = program.explain("q")
    assert why.tree is not None
    assert why.tree.below[0].words == "p(5): by line 1, since a"


# --- why inconsistent ------------------------------------------------------------------------


def test_a_core_has_the_rules_and_choices_that_are_needed() -> None:
    text = "0.5::a. 0.4::b. 0.9::c. d :- a. e :- c. :- d, b. :- e, zzz."
    found = dpasp.loads(text).why_inconsistent()
    assert found.mass == pytest.approx(0.2)
    (reason,) = found
    assert (reason.values, reason.probability) == (("a", "b"), pytest.approx(0.2))
    assert [rule.text for rule in reason.rules] == ["d :- a.", ":- d, b."]
    assert str(found).splitlines() == [
        "total choices of probability 0.2 have no model",
        "  when a, b  (probability 0.200000)",
        "    line 1: d :- a.",
        "    line 1: :- d, b.",
    ]


def test_a_core_says_with_which_values_and_facts() -> None:
    text = "n(1..3).\n0.5::p(X) :- n(X).\nq(X,Y) :- p(X), p(Y), X < Y.\n:- q(X,Y), n(X), Y > 2."
    first, second = dpasp.loads(text).why_inconsistent()
    assert [rule.instance for rule in first.rules] == [
        "q(1,3) :- p(1), p(3), 1 < 3.",
        ":- q(1,3), n(1), 3 > 2.",
    ]
    assert [rule.line for rule in first.rules] == [3, 4]
    assert (first.facts, second.facts) == (("n(1)",), ("n(2)",))


def test_loops_and_disjunctions_leave_no_model() -> None:
    (loop,) = dpasp.loads("0.5::a. b :- not b, a. b :- c. 0.3::c.").why_inconsistent()
    assert loop.values == ("a", "not c")
    assert [rule.text for rule in loop.rules] == ["b :- not b, a."]
    (both,) = dpasp.loads("a; b. :- a. :- b. c.").why_inconsistent()
    assert (both.values, len(both.rules)) == ((), 3)
    (fact,) = dpasp.loads("a. b :- a. :- b. 0.3::c.").why_inconsistent()
    assert ([rule.text for rule in fact.rules], fact.facts) == ([":- b."], ("b",))


def test_nothing_is_inconsistent() -> None:
    found = dpasp.loads("0.3::a. b :- not a.").why_inconsistent()
    assert (len(found), found.mass) == (0, 0)
    assert str(found) == "every total choice has a model"


def test_evidence_that_is_impossible() -> None:
    program = dpasp.loads("0.3::a. b :- a. c :- not a.")
    (reason,) = program.why_inconsistent(given="b, c")
    assert (reason.values, reason.evidence) == ((), ("b", "c"))
    (some,) = program.why_inconsistent(given="b")
    assert (some.values, some.evidence) == (("not a",), ("b",))


@pytest.mark.parametrize("semantics", ["partial", "lstable", "wellfounded"])
def test_constraints_under_three_values(semantics: str) -> None:
    text = "0.5::a. s :- a, not s. :- s."
    (reason,) = dpasp.loads(text).why_inconsistent(semantics=semantics)
    assert reason.values == ("a",)
    assert [rule.text for rule in reason.rules] == ["s :- a, not s.", ":- s."]


def test_smproblog_says_where_there_is_no_stable_model() -> None:
    found = dpasp.loads("0.5::a. s :- a, not s.").why_inconsistent(semantics="smproblog")
    assert found.collapses
    assert str(found).startswith("total choices of probability 0.5 have no stable model")


def test_errors_say_where_to_look() -> None:
    with pytest.raises(dpasp.InconsistentProgram) as caught:
        dpasp.loads("a. :- a. #query a.").query()
    assert "why_inconsistent" in caught.value.diagnostics[0].help
    with pytest.raises(dpasp.ImpossibleEvidence) as impossible:
        dpasp.loads("0.3::a. #query a | b. b :- a, not a.").query()
    assert "why_inconsistent" in impossible.value.diagnostics[0].help


@pytest.mark.parametrize(
    ("factor", "times"),
    [("1e300", "1e+300"), ("1e-9", "1e-09"), ("exp(20000)", "10^8685.89"), ("5?", "5")],
)
def test_trees_say_how_much_factors_of_any_size_count(factor: str, times: str) -> None:
    (why,) = dpasp.loads(f"{{a}}. #factor {factor} : a.").explain("a")
    assert why.tree is not None
    (applies,) = why.tree.factors
    assert applies.endswith(f"the model weighs {times} times as much")


def test_factors_too_large_for_an_explanation_are_not_called_an_improbable_query() -> None:
    text = "1 {x(0..1)} 1. #factor {1e300, 1e300} : x({0, 1})."
    with pytest.raises(dpasp.InferenceError, match="with a choice for each factor"):
        dpasp.loads(text).explain("x(1)")


def test_weighted_trees_are_about_the_most_probable_model_and_name_its_factors() -> None:
    text = "{x; y}. 0.3::a.\nb :- a, x.\nb :- y.\n#factor 3 : x, y.\n#factor 0.5 : not x."
    (why,) = dpasp.loads(text).explain("b", semantics="weighted")
    assert str(why).partition("  why it holds")[2].splitlines() == [
        ", in a model where nothing is chosen:",
        "    b: by line 3, since y",
        "      y: line 1 leaves it open, and it is true here",
        "    factor 3 : x, y (line 4) applies: the model weighs 3 times as much",
        "  why not, in a model where nothing is chosen:",
        "    not b: no rule for it applies",
        "      line 2 does not apply, since not a",
        "        not a: no rule for it applies",
        "          line 1 does not choose it (it does with probability 0.3)",
        "      line 3 does not apply, since not y",
        "        not y: no rule for it applies",
        "          line 1 leaves it open, and it is not true here",
    ]
    assert why.tree is not None
    assert why.why_not is not None
    assert why.tree.to_dict()["factors"] == list(why.tree.factors)
    assert why.why_not.factors == ()  # its model has x, without which it weighs half as much


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            "{a}.\n#factor 0 : a.\n#factor 0 : not a.\n#factor 2 : a.",
            [("", [2, 3], ["#factor 0 : a.", "#factor 0 : not a."])],
        ),
        (
            "n(1..2). 0.3::a(X) :- n(X).\n#factor 0 : a(X), n(X).",
            [
                ("a(1)", [2], ["#factor 0 : a(1), n(1)."]),
                ("a(2)", [2], ["#factor 0 : a(2), n(2)."]),
            ],
        ),
        (
            "1 {x(0..1)} 1.\n#factor {0, 2} : x({0, 1}).\n:- x(1).",
            [("", [1, 2, 3], ["1 {x(0..1)} 1.", "#factor 0 : x(0).", ":- x(1)."])],
        ),
        # what is undefined is not excluded, as under weighted itself
        ("0.5::a. b :- not b, a.\n#factor 0 : b.\n#factor 0 : not b.", [("not a", [3], None)]),
    ],
)
def test_factors_of_weight_0_leave_no_model(text: str, reasons: list[Any]) -> None:
    semantics = "partial, weighted" if "not b, a" in text else "weighted"
    found = dpasp.loads(text).why_inconsistent(semantics=semantics)
    assert len(found) == len(reasons)
    for reason, (values, lines, rules) in zip(found, reasons, strict=True):
        assert ", ".join(reason.values) == values
        assert [rule.line for rule in reason.rules] == lines
        assert rules in (None, [rule.instance for rule in reason.rules])


@pytest.mark.parametrize("logic", ["lstable", "smproblog"])
def test_where_factors_of_weight_0_do_not_count_the_headline_says_so(logic: str) -> None:
    found = dpasp.loads("0.5::a. #factor 0 : a.").why_inconsistent(semantics=f"{logic}, weighted")
    assert str(found).endswith("model, apart from what factors of weight 0 exclude")
