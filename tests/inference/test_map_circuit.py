"""The most probable values on a circuit are those of the reference table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.inference.answers import MapAnswer
from dpasp.inference.map import answers as probable_answers
from dpasp.semantics.meaning import Meaning
from tests.clocks import looks
from tests.oracle.generate import generate

from .test_credal import widened


def ask(
    program: dpasp.Program,
    question: str,
    semantics: str,
    engine: str,
    ways: Counter[str] | None = None,
) -> MapAnswer | str:
    try:
        answers = program.map(question, semantics=semantics, engine=engine)
    except dpasp.InferenceError as error:
        return error.diagnostics[0].code
    if ways is not None:
        ways[answers.statistics["map"]] += 1
    (answer,) = answers
    assert isinstance(answer, MapAnswer)
    return answer


def agree(left: MapAnswer | str, right: MapAnswer | str) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return (
        list(left.numbers) == pytest.approx(list(right.numbers), abs=1e-9)
        and [left.assignment, *left.ties] == [right.assignment, *right.ties]
        and left.lower_assignment == right.lower_assignment
        and left.lower_ties == right.lower_ties
    )


def test_random_programs() -> None:
    """Every way finds what the table says, ties included."""
    ways: Counter[str] = Counter()
    for seed in range(400, 640):
        program = generate(seed, 6)
        loaded, evidence = dpasp.loads(str(program)), program.queries[0].evidence
        given = " | " + ", ".join(map(str, evidence)) if evidence else ""
        logic = ("stable", "partial", "lstable", "smproblog", "wellfounded")[seed % 5]
        if (logic == "wellfounded" and program.disjunctive) or (
            logic == "stable" and program.queries[0].undefined
        ):
            continue
        marked = ", ".join(f"{atom}?" for atom in program.atoms[: 2 + seed % 3])
        for question in (marked + given, given):
            probability = "maxent" if seed % 2 and not program.credal else "credal"
            semantics = f"{logic}, {probability}"
            expected = ask(loaded, question, semantics, "enumerate")
            found = ask(loaded, question, semantics, "auto", ways)
            assert agree(found, expected), (str(program), question, semantics)
    assert min(ways[way] for way in ("maximum", "leaves", "queries")) > 50


@pytest.mark.parametrize(("body", "lower"), [("x", 0.0), ("x, y", 1.0)])
def test_evidence_that_is_possible_and_never_sure(body: str, lower: float) -> None:
    """The lower probability is 1 where only one total choice can have the evidence."""
    program = dpasp.loads(f"0.4::x. 0.3::y. {{e}} :- {body}.")
    best = ask(program, " | e", "stable, credal", "auto")
    assert agree(best, ask(program, " | e", "stable, credal", "enumerate"))
    assert isinstance(best, MapAnswer)
    assert (best.lower, best.upper) == (lower, 1.0)


def test_the_most_probable_total_choice_of_300_facts() -> None:
    random = Random(1)
    chances = [round(random.uniform(0.55, 0.95), 2) for _ in range(300)]
    text = "".join(f"{p}::a({i}). " for i, p in enumerate(chances))
    text += "r(0). r(I+1) :- r(I), not a(I), I < 300. broken :- not r(5)."
    # 2^300 total choices are never all looked at
    (answer,) = dpasp.loads(text).map("| broken", semantics="maxent", limits=looks(10_000))
    assert isinstance(answer, MapAnswer)
    assert all(answer.assignment[f"a({i})"] for i in range(300))
    expected = 1.0
    for p in chances:
        expected *= p
    intact = 1.0
    for p in chances[:5]:
        intact *= 1 - p
    assert answer.value == pytest.approx(expected / (1 - intact), rel=1e-9)


def test_marked_atoms_among_40_choices() -> None:
    """A hidden chain: the marked states are those of the likeliest pair, by hand."""
    text = "0.5::s(0). 0.9::s(T+1) :- s(T), T = 0..19. 0.2::s(T+1) :- not s(T), T = 0..19."
    answer = ask(dpasp.loads(text), "s(0)?, s(20)? | s(19)", "maxent", "auto")
    assert isinstance(answer, MapAnswer)
    # P(s(t+1)) = 0.2 + 0.7 P(s(t)): s(0) given s(19) is 0.5 (2/3 ± (1/3 or 2/3) 0.7^19) / P(s(19))
    true, false = 2 / 3 + 0.7**19 / 3, 2 / 3 - 0.7**19 * 2 / 3
    assert answer.assignment == {"s(0)": True, "s(20)": True}
    assert answer.value == pytest.approx(0.9 * true / (true + false))


def test_countless_ties_are_cut_short() -> None:
    text = "0.5::a(1..30). 0.6::b. c :- a(X), b."
    marked = ", ".join(f"a({i})?" for i in range(1, 31))
    for question in ("| c", f"{marked} | c"):
        answer = ask(dpasp.loads(text), question, "maxent", "auto")
        assert isinstance(answer, MapAnswer)
        assert answer.value == pytest.approx(0.5**30 / (1 - 0.5**30))
        assert 900 < len(answer.ties) < 1100


@pytest.fixture
def nothing_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probable_answers, "enumerate_models", None)


@pytest.mark.usefixtures("nothing_is_enumerated")
def test_inner_atoms_among_40_choices() -> None:
    """Independent even loops: each marked pair by itself, by hand."""
    text = "".join(f"0.{i % 4 + 5}::x({i}). " for i in range(40))
    text += "a(I) :- x(I), not b(I). b(I) :- x(I), not a(I)."
    answers = dpasp.loads(text).map("a(0)?, a(1)?, b(1)?, a(2)? | x(1)", semantics="maxent")
    assert (answers.engine, answers.statistics["map"]) == ("compile", "queries")
    # a(i) has half of x(i): 0.25 of 0.5, 0.3 of 0.6, 0.35 of 0.7
    (best,) = answers
    assert isinstance(best, MapAnswer)
    assert best.assignment == {"a(0)": False, "a(1)": True, "b(1)": False, "a(2)": False}
    assert best.ties == ({"a(0)": False, "a(1)": False, "b(1)": True, "a(2)": False},)
    assert best.value == pytest.approx(0.75 * 0.5 * 0.65)


@pytest.mark.usefixtures("nothing_is_enumerated")
def test_credal_facts_among_40_choices() -> None:
    text = "".join(f"[0.{i % 3 + 1}, 0.{i % 3 + 6}]::x({i}). " for i in range(15))
    text += "0.5::y(1..25). a(I) :- x(I), y(I), not b(I). b(I) :- y(I), not a(I)."
    answers = dpasp.loads(text).map("a(1)?, b(2)?, x(3)?")
    assert answers.statistics["map"] == "queries"
    (best,) = answers
    assert isinstance(best, MapAnswer)
    # not a(1): surely unless x(1) and y(1); b(2): possible with y(2), and sure without x(2) only
    assert best.assignment == {"a(1)": False, "b(2)": False, "x(3)": False}
    assert best.upper == pytest.approx(1.0 * (0.5 + 0.5 * 0.8) * 0.9)
    assert best.lower_assignment == {"a(1)": False, "b(2)": False, "x(3)": False}
    assert best.lower == pytest.approx((1 - 0.7 * 0.5) * 0.5 * 0.4)


@pytest.mark.usefixtures("nothing_is_enumerated")
@pytest.mark.parametrize("probability", ["maxent", "credal"])
def test_total_choices_without_models_are_undefined(probability: str) -> None:
    """Under smproblog they count, with every atom undefined, when nothing speaks against it."""
    text = "".join(f"0.6::x({i}). " for i in range(30)) + "a :- x(0), x(1), not a."
    program, semantics = dpasp.loads(text), f"smproblog, {probability}"
    best = ask(program, "", semantics, "auto")
    assert isinstance(best, MapAnswer)
    assert all(best.assignment.values())
    assert best.numbers == pytest.approx([0.6**30] * len(best.numbers))
    marked = ask(program, "x(0)?, x(2)?, never?", semantics, "auto")
    assert isinstance(marked, MapAnswer)
    # 0.36 of all; what comes next is "not x(0), x(2)" with 0.24
    assert marked.assignment == {"x(0)": "undef", "x(2)": "undef", "never": "undef"}
    assert marked.numbers == pytest.approx([0.36] * len(marked.numbers))
    given = ask(program, "x(0)?, never? | undef x(5)", semantics, "auto")
    assert isinstance(given, MapAnswer)
    assert given.assignment == {"x(0)": "undef", "never": "undef"}
    assert given.numbers == pytest.approx([1.0] * len(given.numbers))


def test_random_programs_with_credal_facts() -> None:
    ways: Counter[str] = Counter()
    for seed in range(2000, 2120):
        program, random = generate(seed, 6), Random(seed)
        program = replace(program, choices=tuple(widened(c, random) for c in program.choices))
        loaded, evidence = dpasp.loads(str(program)), program.queries[0].evidence
        given = " | " + ", ".join(map(str, evidence)) if evidence else ""
        semantics = ("partial", "lstable", "smproblog")[seed % 3]
        expected = ask(loaded, given, semantics, "enumerate")
        found = ask(loaded, given, semantics, "auto", ways)
        assert agree(found, expected), (str(program), given, semantics)
    assert ways["maximum"] > 80


@pytest.mark.usefixtures("nothing_is_enumerated")
def test_the_most_probable_total_choice_with_credal_facts_among_38_choices() -> None:
    text = "".join(f"[0.{i % 4 + 1}, 0.{i % 4 + 4}]::x({i}). " for i in range(8))
    text += "".join(f"0.{i % 3 + 6}::y({i}). " for i in range(30))
    best = ask(dpasp.loads(text + "z :- x(3), not y(0)."), "", "credal", "auto")
    assert isinstance(best, MapAnswer)
    upper = lower = (0.6 * 0.7 * 0.8) ** 10
    for i in range(8):
        low, high = (i % 4 + 1) / 10, (i % 4 + 4) / 10
        upper, lower = upper * max(high, 1 - low), lower * max(low, 1 - high)
    assert (best.upper, best.lower) == pytest.approx((upper, lower))
    assert best.lower_assignment is not None
    assert [best.lower_assignment[f"x({i})"] for i in range(4)] == [False, False, False, True]
    # Given z, x(3) and not y(0) hold: z has a probability between 0.4 * 0.4 and 0.7 * 0.4.
    given = ask(dpasp.loads(text + "z :- x(3), not y(0)."), "| z", "credal", "auto")
    assert isinstance(given, MapAnswer)
    ratio = 0.4 / 0.6 / (0.4 * max(0.7, 0.6))  # of P(θ), whose x(3) has the same end as P(z)
    assert given.upper == pytest.approx(upper * ratio)


@pytest.mark.usefixtures("nothing_is_enumerated")
def test_the_largest_lower_probability_where_no_vertex_has_it_for_its_best() -> None:
    text = """[0.02,0.6]::u; [0.02,0.6]::v; [0.35,0.4]::w. 0.05::e(1..3).
    z :- u, e(1). z :- v, e(2). z :- w, e(3)."""
    best = ask(dpasp.loads(text), "| z", "credal", "auto")
    assert isinstance(best, MapAnswer)
    assert (best.upper, best.lower) == pytest.approx((0.6 * 0.95**2, 0.35 * 0.95**2))
    assert best.lower_assignment is not None
    assert best.lower_assignment["w"]


def test_too_many_credal_facts_for_the_most_probable_total_choice() -> None:
    text = "".join(f"[0.2, 0.6]::x({i}). " for i in range(30))
    with pytest.raises(dpasp.SizeLimit, match=r"enumeration of 1\.07e\+09 total choices"):
        dpasp.loads(text + "y :- #count{I : x(I)} >= 2.").map("| y")


def test_the_search_by_queries_stops_at_a_limit() -> None:
    text = "".join(f"0.5::x({i}). " for i in range(40))
    text += "a(I) :- x(I), not b(I). b(I) :- x(I), not a(I)."
    marked = ", ".join(f"a({i})?" for i in range(40))
    with pytest.raises(dpasp.TimeLimit):
        dpasp.loads(text).map(marked, semantics="maxent", limits=looks(10_000), exact=True)


def test_rows_of_weights_have_their_own_most_probable_values() -> None:
    from dpasp.inference.asked import ask
    from dpasp.inference.exact import answer
    from dpasp.language.ast import Logic, Probability

    ground = dpasp.loads("0.3::a. #mpe.").ground()
    meaning = Meaning(Logic.STABLE, Probability.MAXENT)
    weights = np.array([[0.9, 0.2], [0.1, 0.8]])
    (rows,) = answer(ask(ground, meaning, weights=weights))
    assert [row.assignment["a"] for row in rows] == [True, False]  # type: ignore[union-attr]
    assert rows.numbers[0] == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize(
    "text",
    [
        "[0,1]::a. 0.3::b.",
        "[0.2,0.7]::a. 0.3::b. [0,0.4]::c. x :- a. y :- x, not z. z :- x, not y.",
        "[0.1,0.3]::a; [0.2,0.5]::b; [0.4,0.6]::c. [0.5,0.5]::d. 0::e.",
    ],
)
def test_total_choices_with_intervals_and_nothing_seen(text: str) -> None:
    program = dpasp.loads(text)
    found, wanted = program.map()[0], program.map(engine="enumerate")[0]
    assert (found.lower, found.upper) == pytest.approx((wanted.lower, wanted.upper))
    assert {str(one) for one in (found.assignment, *found.ties)} == {
        str(one) for one in (wanted.assignment, *wanted.ties)
    }
    assert {str(one) for one in (found.lower_assignment, *found.lower_ties)} == {
        str(one) for one in (wanted.lower_assignment, *wanted.lower_ties)
    }


def test_many_intervals_and_nothing_seen() -> None:
    found = dpasp.loads("[0.2,0.7]::a(1..30). 0.3::b.").map()[0]
    assert (found.lower, found.upper) == pytest.approx((0.3**30 * 0.7, 0.8**30 * 0.7))


def test_intervals_that_the_evidence_does_not_depend_on_count_by_themselves() -> None:
    text = "[0.2,0.6]::a(1..{n}). [0.1,0.4]::x; [0.3,0.9]::y. b :- a(1), a(2). b :- a(3). #mpe | b."
    small = dpasp.loads(text.format(n=5))
    (found,), (wanted,) = small.query(engine="compile"), small.query(engine="enumerate")
    assert isinstance(found, MapAnswer)
    assert isinstance(wanted, MapAnswer)
    assert found.assignment == wanted.assignment
    assert found.lower_assignment == wanted.lower_assignment
    assert (found.lower, found.upper) == pytest.approx((wanted.lower, wanted.upper), rel=1e-9)
    (large,) = dpasp.loads(text.format(n=30)).query()  # 2^31 vertices
    assert isinstance(large, MapAnswer)
    assert found.upper is not None
    assert found.lower is not None
    assert large.upper == pytest.approx(float(found.upper) * 0.8**25, rel=1e-9)
    assert large.lower == pytest.approx(float(found.lower) * 0.4**25, rel=1e-9)


def test_thirty_intervals_that_say_nothing() -> None:
    (found,) = dpasp.loads("[0,1]::a(1..30). #mpe.").query()
    assert (found.lower, found.upper) == (0.0, 1.0)


@pytest.mark.parametrize("evidence", ["not b", "not d", "not b, not d"])
def test_an_interval_from_0_to_1_that_the_evidence_does_not_touch(evidence: str) -> None:
    """Every value of it can have probability 0, and so every total choice."""
    program = dpasp.loads(f"[0,1]::a. 0.8::b. 0.3::c. d :- b, c. #mpe | {evidence}.")
    (exact,), (found,) = program.query(engine="enumerate"), program.query(engine="compile")
    assert str(found) == str(exact)
    assert found.lower == 0.0
