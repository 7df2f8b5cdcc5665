"""Plain facts and rows of tables are read and ground without a node each: nothing else changes."""

from __future__ import annotations

import random

import pytest

import dpasp
from dpasp.errors import ProgramError
from dpasp.ground import ground, ground_text, markers
from dpasp.ground.narrow import narrowed
from dpasp.language import ast, check, parse
from dpasp.language.ast import statement_text
from dpasp.limits import UNLIMITED


def test_a_plain_fact_keeps_its_node_text_and_place():
    program = parse("\nedge(1,a). % two\n  node(b).\nok.")
    quick = [s for s in program.statements if isinstance(s, ast.Plain)]
    assert [s.fact for s in quick] == ["edge(1,a)", "node(b)", "ok"]
    assert [statement_text(s) for s in quick] == ["edge(1,a).", "node(b).", "ok."]
    places = [(s.span.line, s.span.column, s.span.end_column) for s in quick]
    assert places == [(2, 1, 11), (3, 3, 11), (4, 1, 4)]
    assert [s.node.location.begin.line for s in quick] == [2, 3, 4]
    assert program == parse("edge( 1,a). node( b). ok .")


@pytest.mark.parametrize("text", ["query(a).", "a('b').", "evidence(a,true).", "p(X).", "p(1;2)."])
def test_what_may_be_doubtful_is_not_read_as_a_plain_fact(text):
    (statement,) = parse(text).statements
    assert isinstance(statement, ast.Plain)
    assert statement.fact is None


def test_a_probability_out_of_range_is_still_reported_with_its_place():
    with pytest.raises(ProgramError) as error:
        check(parse("0.3::a(1).\n1.3::a(2).\n0.6::b; 0.7::c.\n"))
    found = [(d.code, d.span.line, d.span.column) for d in error.value.diagnostics if d.span]
    assert found == [("probability-range", 2, 1), ("disjunction-sum", 3, 1)]


def test_constants_in_plain_facts_are_replaced():
    program = ground(parse("#const n = 7. p(n). 0.5::q(n) :- p(7). #query q(7)."))
    assert "q(7)" in ground_text(program)


def test_facts_that_nothing_asks_for_are_left_out():
    lines = [f"0.25::a({i}, b{i % 3})." for i in range(30)] + ["d(1). d(2)."]
    found = narrowed(parse("\n".join([*lines, "#query a(4,X)."])), {}, UNLIMITED)
    assert found is not None
    kept = [s for s in found.program.statements if isinstance(s, ast.Annotated)]
    assert [s.row.atoms for s in kept if s.row] == [("a(4, b1)",)]


def _random_rows(seed: int) -> str:
    rng = random.Random(seed)

    def atom() -> str:
        return rng.choice(["p(%d)", "q(%d)", "r(%d,x)"]) % rng.randrange(4)

    lines = [f"0.{rng.randrange(1, 9)}::p({rng.randrange(4)})." for _ in range(2)]
    for _ in range(rng.randrange(4, 12)):
        body = ", ".join(rng.choice(("", "", "not ")) + atom() for _ in range(rng.randrange(1, 3)))
        heads = "; ".join(f"0.{rng.randrange(1, 5)}::{atom()}" for _ in range(rng.randrange(1, 3)))
        lines.append(f"{heads} :- {body}.")
    return "\n".join([*lines, "q(1).", "#query p(1).", "#query r(2,x)."])


def _answers(text: str) -> list[float]:
    try:
        return [end for a in dpasp.loads(text).query() for end in (a.lower, a.upper)]
    except dpasp.Error as error:
        return [-1.0, *(float(len(d.message)) for d in error.diagnostics)]


def test_rows_are_ground_as_statements_with_variables_are(monkeypatch):
    for seed in range(80):
        text = _random_rows(seed)
        found = _answers(text)
        with monkeypatch.context() as patched:
            patched.setattr(markers.ChoiceMarkers, "_row", lambda *_: None)
            assert _answers(text) == pytest.approx(found, rel=1e-9)


def test_rows_whose_bodies_cannot_hold_are_left_out_with_all_that_needs_them():
    text = """
        c(1). b(X+1) :- c(X).
        0.3::a :- b(5).                 % never
        0.4::d(1); 0.5::d(2) :- a.
        0.6::e :- not d(1), b(2).       % whatever d(1) is
        0.2::f :- not b(2).             % never
        g :- d(2). h :- not g, e.
        0.7::k(1) :- k(2). 0.7::k(2) :- k(1).
    """
    assert ground_text(ground(parse(text))).splitlines()[1:] == [
        "0.6::e.",
        "c(1).",
        "h :- e.",
        "b(2).",
    ]


def test_atoms_of_rows_that_fit_no_head_are_reported():
    text = "p(X+1) :- q(X). q(1). n(1).\n0.3::a :- p(7), q(X1), not zz, n(2), p(y).\n"
    found = ground(parse(text.replace("q(X1), ", ""))).warnings
    assert [(d.message.split()[0], d.span.line, d.span.column) for d in found if d.span] == [
        ("zz", 2, 21),
        ("n(2)", 2, 25),
        ("p(y)", 2, 31),
    ]


def test_a_program_whose_only_row_cannot_hold_has_no_choice():
    program = ground(parse("c. 0.3::a :- not c. b :- a. d :- not a."))
    assert (program.choices, sorted(map(str, program.atoms))) == ((), ["c", "d"])


def test_the_heads_of_rows_may_all_be_facts():
    program = ground(parse("a. {r}. 0.3::a :- r. 0.4::a :- not r, a."))
    assert ground_text(program).splitlines()[1:] == [
        "0.3::a :- r.",
        "0.4::a :- not r.",
        "a.",
        "{r}.",
    ]


def test_what_needs_a_row_that_cannot_hold_has_no_instance():
    text = """
        0.3::a(1) :- b. {b} :- c. {c} :- b.
        0.5::d(X) :- a(X). #factor 2 : a(X). :~ a(X). [3] {u}. #decision {e(X) : a(X)}.
        #semantics weighted.
    """
    program = ground(parse(text))
    assert (program.choices, program.factors, program.decisions) == ((), (), ())


def test_sums_do_not_name_rows_that_cannot_hold():
    text = """
        0.3::s(1) :- b. {b} :- c. {c} :- b. 0.5::s(2).
        few :- #count{X : s(X)} < 2. some :- #sum{1,X : not s(X), X = 1..2} > 0.
        n(N) :- N = #count{X : s(X)}.
    """
    program = ground(parse(text))
    assert sorted(map(str, program.atoms)) == ["few", "n(0)", "n(1)", "s(2)", "some"]


@pytest.mark.parametrize(
    ("rest", "values"),
    [
        ("0.5::c(3). n(N) :- N = #min{X : c(X)}.", ["#sup", "3"]),
        ("0.5::c(5). n(N) :- N = #max{X : c(X)}.", ["#inf", "5"]),
        ("{c(3;5)}. n(N) :- N = #max{X : c(X)}.", ["#inf", "3", "5"]),
        ("0.5::d. 0.5::c(5) :- not d. n(N) :- N = #max{X : c(X), not d}.", ["#inf", "5"]),
        ("0.5::d(5). n(N) :- N = #max{X : c(X); 5 : not d(5)}.", ["#inf", "5"]),
        ("0.5::c(5). n(N) :- N = #sum{X : c(X)}.", ["0", "5"]),
        ("0.5::c(5). n(N) :- N = #count{X : c(X)}.", ["0", "1"]),
        ("0.5::a. c(5) :- a. d(5) :- a. n(1) :- not c(5), d(5).", ["1"]),  # as written
    ],
)
def test_aggregates_have_no_values_of_rows_that_cannot_hold(rest: str, values: list[str]):
    atoms = ground(parse(f"1/3::c(4) :- zz. {rest}")).atoms
    assert sorted(str(s.arguments[0]) for s in atoms if s.name == "n") == values


def test_atoms_of_programs_with_rows_are_numbered_without_gaps():
    """The orders of the compiler depend on the numbers; a gap made some circuits larger."""
    found = dpasp.loads("c. 0.5::a. 0.4::b(1) :- a. d :- b(1), not a.").ground()
    selectors = {selector for choice in found.choices for selector in choice.selectors}
    names = {number for number, symbol in enumerate(found.symbols) if symbol is not None}
    assert sorted(selectors | names) == list(range(1, len(found.symbols)))
