"""Queries, maps and evidence: their instances, their text, and atoms that cannot occur."""

from __future__ import annotations

import pytest

from dpasp.ground import ground
from dpasp.ground.program import GroundMap, GroundQuery
from dpasp.language import extend, parse
from dpasp.language.ast import Mode
from tests.ground.reading import grounded, questions, refused, underlined

FACTS = "0.5::a(1..3). 0.5::b(2..4). 0.5::c. 0.5::p(1,x). 0.5::p(2,y). "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#query c.", ["c"]),
        ("#query a(X).", ["a(1)", "a(2)", "a(3)"]),
        ("#query not a(X).", ["not a(1)", "not a(2)", "not a(3)"]),
        ("#query undef a(X).", ["undef a(1)", "undef a(2)", "undef a(3)"]),
        # positive literals join
        ("#query a(X), b(X).", ["a(2), b(2)", "a(3), b(3)"]),
        # 'not' binds only what nothing else binds
        ("#query a(X), not b(X).", ["a(1), not b(1)", "a(2), not b(2)", "a(3), not b(3)"]),
        ("#query c, not b(X).", ["c, not b(2)", "c, not b(3)", "c, not b(4)"]),
        # evidence takes part
        ("#query a(X) | b(X), c.", ["a(2) | b(2), c", "a(3) | b(3), c"]),
        ("#query a(X) | not b(X).", ["a(1) | not b(1)", "a(2) | not b(2)", "a(3) | not b(3)"]),
        ("#query c | a(X), X > 1.", ["c | a(2)", "c | a(3)"]),
        # guards
        ("#query a(X), X > 1.", ["a(2)", "a(3)"]),
        ("#query a(X), b(Y), Y = X+1, X < 3.", ["a(1), b(2)", "a(2), b(3)"]),
        ("#query a(X), not b(Y), Y = X+1, X > 2.", ["a(3), not b(4)"]),
        # anonymous variables are variables here
        ("#query p(_,Y).", ["p(1,x)", "p(2,y)"]),
        # terms are evaluated, pools and intervals are several queries
        ("#query a(1+1).", ["a(2)"]),
        ("#query a(3;1).", ["a(1)", "a(3)"]),
        ("#query a(2..3).", ["a(2)", "a(3)"]),
        ("#query p(1..2,Y).", ["p(1,x)", "p(2,y)"]),
        ("#query p((2;1),Y).", ["p(1,x)", "p(2,y)"]),
        ("#const n = 3. #query a(n).", ["a(3)"]),
        ("#const c = 3. #query c.", ["c"]),
        # clingo's order of terms
        (
            '0.5::o(10). 0.5::o(9). 0.5::o(b). 0.5::o("a"). 0.5::o(f(1)). #query o(X).',
            ["o(9)", "o(10)", "o(b)", 'o("a")', "o(f(1))"],
        ),
        ("#query(c, not a(1) | undef b(2)).", ["c, not a(1) | undef b(2)"]),
        # the program's order, each instance once
        ("#query b(2). #query a(1;1). #query c.", ["b(2)", "a(1)", "c"]),
        ("#query c, c.", ["c"]),
        # maps take all instances at once
        ("#map a(X)?.", ["a(1)?, a(2)?, a(3)?"]),
        ("#map a(X)?, b(Y)?, X < 2, Y > 3 | c.", ["a(1)?, b(4)? | c"]),
        ("#map a(X)?, b(X)?.", ["a(2)?, b(2)?, a(3)?, b(3)?"]),
        ("#map c?, a(X)?, X < 2.", ["c?, a(1)?"]),
        ("#map b(X)?, a(Y)?, Y > 2, X > 3.", ["b(4)?, a(3)?"]),
        ("#map c? | a(X).", ["c? | a(1), a(2), a(3)"]),
        ("#mpe | c.", ["mpe | c"]),
        ("#mpe.", ["mpe"]),
    ],
)
def test_instances(text: str, expected: list[str]) -> None:
    assert questions(FACTS + text) == expected


def test_literals_of_a_query() -> None:
    (query,) = grounded(FACTS + "#query c, not a(1) | undef b(2).").questions
    assert isinstance(query, GroundQuery)
    assert [literal.mode for literal in query.literals] == [Mode.TRUE, Mode.FALSE]
    assert [literal.mode for literal in query.evidence] == [Mode.UNDEFINED]
    assert str(query.evidence[0]) == "undef b(2)"


def test_evidence_joins_every_question_but_not_its_text() -> None:
    program = grounded(FACTS + "#query a(1) | c. #evidence b(2), not b(3). #map c?. #evidence c.")
    told = [[str(literal) for literal in q.evidence] for q in program.questions]
    assert told == [["c", "b(2)", "not b(3)"], ["b(2)", "not b(3)", "c"]]
    assert [q.text for q in program.questions] == ["a(1) | c", "c?"]
    assert [str(literal) for literal in program.evidence] == ["b(2)", "not b(3)", "c"]


def test_evidence_with_variables_is_all_its_instances() -> None:
    program = grounded(FACTS + "#evidence a(X), not b(Y).")
    told = [str(literal) for literal in program.evidence]
    assert told == ["a(1)", "a(2)", "a(3)", "not b(2)", "not b(3)", "not b(4)"]


def test_mpe_is_about_everything() -> None:
    first, second = grounded(FACTS + "#mpe | c. #map c?.").questions
    assert isinstance(first, GroundMap)
    assert isinstance(second, GroundMap)
    assert (first.everything, first.atoms) == (True, ())
    assert (second.everything, len(second.atoms)) == (False, 1)


def test_independent_marks_are_not_multiplied() -> None:
    text = "0.5::a(1..300). 0.5::b(1..300). #map a(X)?, b(Y)?."
    (found,) = grounded(text).questions
    assert isinstance(found, GroundMap)
    assert len(found.atoms) == 600


def test_a_declared_outcome_in_a_query() -> None:
    text = """
#python
def net(): pass
def rows(): pass
#end.
i(0) ~ test(@rows).
?::f(X, {a,b}; {0..2}) as @net :- i(X).
#query f(0, a; 2).
"""
    program = grounded(text)
    (query,) = program.questions
    assert query.text == "f(0,a,2)"
    assert program.warnings == ()


# --- atoms that cannot occur -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "place", "message", "help"),
    [
        ("a(4)", "a(4)", "a(4) cannot occur, so its probability is 0", "a("),
        ("not a(4)", "a(4)", "a(4) cannot occur, so 'not' holds for it in every model", "a("),
        ("undef a(4)", "a(4)", "a(4) cannot occur, so no model leaves it undefined", "a("),
        ("c | a(4)", "a(4)", "a(4) cannot occur, so this evidence is impossible", "a("),
        (
            "a(1,2)",
            "a(1,2)",
            "a(1,2) cannot occur, so its probability is 0",
            "there is a/1: check the number of arguments",
        ),
        ("-c", "-c", "-c cannot occur, so its probability is 0", "'c'"),
        ("cc", "cc", "cc cannot occur, so its probability is 0", "did you mean 'c'?"),
        ("zzz", "zzz", "zzz cannot occur, so its probability is 0", "`dpasp ground` shows"),
        ("do(a)", "do(a)", "do(a) cannot occur, so its probability is 0", "#query a | do(b)."),
    ],
)
def test_warning(query: str, place: str, message: str, help: str) -> None:
    text = f"{FACTS} #query {query}."
    program = grounded(text)
    (warning,) = program.warnings
    assert (warning.code, warning.severity) == ("unknown-atom", "warning")
    assert warning.message == message
    assert help in warning.help
    assert underlined(warning, text) == place
    assert len(program.questions) == 1


def test_an_atom_that_cannot_occur_has_no_number() -> None:
    (query,) = grounded("0.5::a. #query b, a.").questions
    assert isinstance(query, GroundQuery)
    assert query.literals[0].atom == 0
    assert query.literals[1].atom != 0


def test_the_closest_atom_is_named() -> None:
    (warning,) = grounded("0.5::smokes(anna). 0.5::smokes(bill). #query smokes(bil).").warnings
    assert warning.help == "the closest atom that can occur is smokes(bill)"


def test_a_query_without_instances() -> None:
    program = grounded("0.5::smokes(anna). #query smoke(X).")
    assert program.questions == ()
    (warning,) = program.warnings
    assert warning.code == "no-instances"
    assert warning.help == "did you mean 'smokes'?"


def test_questions_define_nothing() -> None:
    text = "0.5::a(1). b :- c. #query c. #query d(X). #query a(2)."
    program = grounded(text)
    assert {str(symbol) for symbol in program.atoms} == {"a(1)"}
    codes = [warning.code for warning in program.warnings]
    assert codes == ["undefined-atom", "unknown-atom", "no-instances", "unknown-atom"]


def test_questions_add_no_rules() -> None:
    plain = grounded("0.5::a(1..2). b(X) :- a(X).")
    asked = grounded("0.5::a(1..2). b(X) :- a(X). #query b(X), not a(Y). #map b(X)?.")
    assert asked.rules == plain.rules
    assert asked.symbols == plain.symbols


@pytest.mark.parametrize(
    ("query", "variable"), [("a(X), X < Y", "Y"), ("a(X*X)", "X"), ("a(1), W < 3", "W")]
)
def test_unsafe_variables_are_underlined(query: str, variable: str) -> None:
    text = f"{FACTS}\n#query {query}."
    problem = refused(text)[0]
    assert problem.code == "unsafe-variable"
    assert underlined(problem, text) == variable


def test_questions_that_are_added_later() -> None:
    program = extend(parse("0.5::a(1..2)."), "#query a(X), X < Y.", "<query>")
    with pytest.raises(Exception, match="unsafe") as caught:
        ground(program)
    assert caught.value.diagnostics[0].span.file == "<query>"  # type: ignore[attr-defined]
    asked = extend(parse("0.5::a(1..2)."), "#query a(X), X < 2.", "<query>")
    assert [question.text for question in ground(asked).questions] == ["a(1)"]


@pytest.mark.parametrize(
    ("asked", "told", "help"),
    [
        ("p(X) | a = 1", "a = 1 compares the constant a with 1 and is never true", "write a"),
        ("p(1) | false = a", "false = a compares the constant a with false", "write not a"),
        ("p(1), a != 1", "a != 1 compares the constant a with 1 and is always", "write not a"),
    ],
)
def test_a_comparison_with_the_name_of_an_atom(asked: str, told: str, help: str) -> None:
    (warning,) = ground(parse(f"{{a}}. p(1). #query {asked}.")).warnings
    assert warning.code == "compared-atom"
    assert warning.message.startswith(told)
    assert warning.help == f"to observe the atom, {help}"


@pytest.mark.parametrize("text", ["v(a). #query v(X), X = a.", "#const a = 1. #query p(X), a = 1."])
def test_comparisons_that_may_hold_are_not_doubted(text: str) -> None:
    assert not ground(parse(f"{{a}}. p(1). {text}")).warnings
