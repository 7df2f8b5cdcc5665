"""ProbLog's decisions and utilities: the best strategy is the one that ProbLog finds."""

from __future__ import annotations

import pytest

import dpasp

problog = pytest.importorskip("problog")

PROGRAMS = {
    "an umbrella": """
        0.3::rain. 0.5::wind. ?::umbrella. ?::raincoat.
        broken :- umbrella, rain, wind.
        dry :- rain, raincoat. dry :- rain, umbrella, \\+ broken. dry :- \\+ rain.
        utility(broken, -40). utility(raincoat, -20). utility(umbrella, -2). utility(dry, 60).
    """,
    "one of several, for each": """
        day(1). day(2). 0.4::rain(1). 0.7::rain(2).
        ?::go(D, sea); ?::go(D, museum) :- day(D).
        fun(D) :- go(D, sea), \\+ rain(D).
        utility(fun(D), 10) :- day(D).
        utility(go(D, museum), 4.5) :- day(D).
        utility(\\+ go(D, sea), 0.25) :- day(D).
    """,
    "marketing": """
        person(a). person(b). person(c). trusts(a,b). trusts(b,c). trusts(c,a).
        ?::marketed(P) :- person(P).
        0.3::viral(P,Q) :- trusts(P,Q). 0.2::by_ad(P) :- person(P).
        buys(P) :- marketed(P), by_ad(P). buys(P) :- viral(P,Q), buys(Q), trusts(P,Q).
        utility(buys(P), 5) :- person(P). utility(marketed(P), -1) :- person(P).
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_best_strategy_is_problogs(name: str) -> None:
    from problog.program import PrologString
    from problog.tasks.dtproblog import dtproblog

    choices, value, _ = dtproblog(PrologString(PROGRAMS[name]))
    found = dpasp.loads(dpasp.convert(PROGRAMS[name], "problog", from_str=True)).decide()
    assert found.value == pytest.approx(value, abs=1e-9)
    taken = [atom for atom, is_taken in choices.items() if is_taken]
    theirs = {str(atom.args[2] if atom.functor == "choice" else atom) for atom in taken}
    assert {atom for atom, is_taken in found.strategy.items() if is_taken} == theirs


def test_what_the_body_of_a_decision_needs_is_kept() -> None:
    text = "0.3::a. 0.4::b. decision(d) :- (a ; b). decision(e) :- \\+ (a, b). utility(d, 1)."
    found = dpasp.convert(text, "problog", from_str=True, ground=False)
    for rule in ("d_case :- a.", "d_case :- b.", "e_fails :- a, b."):
        assert rule in found


def test_all_forms() -> None:
    text = "0.4::a. decision(d). ?::e; ?::f :- a. b :- a, d. b => 5. utility(d, -1.5). c(2). \n"
    text += "utility(c(X), X) :- c(X)."
    found = dpasp.convert(text, "problog", from_str=True, ground=False)
    assert (
        found.split("\n\n", 1)[1].split()
        == (
            "0.4::a. #decision {d}. #decision {e; f} 1 :- a. b :- a, d. #utility 5 : b. "
            "#utility -1.5 : d. c(2). #utility X : c(X). #decide."
        ).split()
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.5::a. decision(a).", "rules or chance make true"),
        ("?::a; 0.5::b.", "beside"),
        ("?::a. 0.5::b(1). utility(a, 5) :- b(1).", "uncertain body"),
        ("?::a. c(1). c(2). utility(a, 5) :- c(X).", "once for each value"),
        ("?::a. utility(a, much).", "not a number"),
        ("?::a. b :- utility(a, X).", "utility/2 has no counterpart"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words):
        dpasp.convert(text, "problog", from_str=True)
