"""What clingo complains about, in our words and at the right place."""

from __future__ import annotations

import pytest

from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground import check_without_grounding
from dpasp.language import parse
from tests.ground.reading import grounded, refused, underlined


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("a(X) :- not b(X). b(1).", ["X"]),
        ("a(X) :- X < Y, b(X). b(1).", ["Y"]),
        ("a :- b(X+Y). b(1).", ["X", "Y"]),
        ("0.5::a(X).", ["X"]),
        ("0.5::a(X) :- not b(X). b(1).", ["X"]),
        ("0.5::a; 0.5::b(Z) :- c. c.", ["Z"]),
        ("0.5::a :- c, X < 3. c.", ["X"]),
        ("a :- c : not d(X). c. d(1).", ["X"]),
        ("{a(X)}.", ["X"]),
        ("a(_).", ["_"]),
        ("0.5::a :- c, _ < 3. c.", ["_"]),
        ('a("é", X) :- b("ü"), not c(X). b(1). c(1).', ["X"]),
        ('% é\n0.5::a("日本", X) :- b.\nb.', ["X"]),
        ("a(X') :- b. b.", ["X'"]),
    ],
)
def test_unsafe_variables_are_underlined(text: str, variables: list[str]) -> None:
    problems = refused(text)
    assert {problem.code for problem in problems} == {"unsafe-variable"}
    assert [underlined(problem, text) for problem in problems] == variables
    for problem, variable in zip(problems, variables, strict=True):
        assert variable in problem.message
        assert "positive body literal" in problem.help


def test_an_unsafe_variable_in_an_aggregate() -> None:
    (problem,) = refused("n(N) :- N = #count{v(X)}. v(1).")
    assert problem.help == "write the atoms that give it values after a ':', #count{X : p(X)}"


def test_an_atom_that_nothing_derives_is_named_as_it_is_written() -> None:
    found = warnings("a(X) :- b(X), c(_,X,_). 0.3::d :- b(X), e(X,\n  _). b(1).")
    assert [one.message.partition(" occurs")[0] for one in found] == ["c(_,X,_)", "e(X, _)"]


def test_several_statements_are_told_together_in_order() -> None:
    text = "0.5::a(X).\nb(Y).\n{c(Z)}."
    assert [underlined(problem, text) for problem in refused(text)] == ["X", "Y", "Z"]


def warnings(text: str) -> tuple[Diagnostic, ...]:
    return grounded(text).warnings


@pytest.mark.parametrize(
    ("text", "code", "place", "help"),
    [
        ("0.5::smokes(a). b :- smoke(a).", "undefined-atom", "smoke(a)", "did you mean 'smokes'?"),
        (
            "0.5::p(1,2). b :- not p(1).",
            "undefined-atom",
            "p(1)",
            "there is p/2: check the number of arguments",
        ),
        (
            "0.5::a. b :- a, zzz(X,f(Y,Z),1).",
            "undefined-atom",
            "zzz(X,f(Y,Z),1)",
            "#defined zzz/3.",
        ),
        ("0.5::a. b :- -a.", "undefined-atom", "-a", "'a'"),
        ("0.5::a. 0.2::c. 0.5::b(1) :- a, not cc.", "undefined-atom", "cc", "did you mean 'c'?"),
        ("0.5::a. 0.5::b(d(1)) :- a, not not d(1).", "undefined-atom", "d(1)", "#defined d/1."),
        ("0.5::a. 0.5::b :- not d(1+1), a.", "undefined-atom", "d(1+1)", "#defined d/1."),
        ('0.5::b :- "é" < "ü", d(1).', "undefined-atom", "d(1)", "#defined d/1."),
        ("0.5::a. 0.5::b :- a, c(1/0). {c(1)}.", "undefined-operation", "1/0", "division by 0"),
        ("a(X/0) :- X = 1..2.", "undefined-operation", "X/0", "division by 0"),
        ("0.5::a(X/X) :- X = 0..1.", "undefined-operation", "X/X", "division by 0"),
        ("0.5::a(1). #query a(X/X), X = 0..1.", "undefined-operation", "X/X", "division by 0"),
        ("a(f+1).", "undefined-operation", "f+1", "integers"),
        ("a(1..X) :- X = x.", "undefined-operation", "1..X", "integers"),
        ("d(1). a :- d(X), 0 < #sum{X : d(X)}.", "global-variable", "X", "another name"),
    ],
)
def test_warnings(text: str, code: str, place: str, help: str) -> None:
    (warning,) = warnings(text)
    assert (warning.code, warning.severity) == (code, "warning")
    assert underlined(warning, text) == place
    assert help in warning.help


def test_warnings_come_once_and_in_order() -> None:
    text = "0.5::x.\na :- y1.\nb :- y2.\na :- y1."
    found = [warning.span.line for warning in warnings(text) if warning.span]
    assert found == [2, 3, 4]


def test_no_internal_name_leaks() -> None:
    text = "0.5::a(X) :- b(X,Y), not c(Z). #query a(X), X < W. ?::d :- X = X."
    for problem in refused(text):
        for word in ("$", "#inc", "<string>", "_dpasp", "#Arith", "#Anon"):
            assert word not in problem.message
            assert word not in problem.help


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("#const n = 1.\n#const n = 2.\na(n).", "const-twice", 2),
        ("#const n = m.\n#const m = n.\na(n).", "const-cycle", 1),
    ],
)
def test_constants(text: str, code: str, line: int) -> None:
    problem = next(problem for problem in refused(text) if problem.code == code)
    assert problem.span is not None
    assert problem.span.line == line


# --- check: nothing is ground, nothing runs ------------------------------------------------------


def checked(text: str) -> list[Diagnostic]:
    with pytest.raises(ProgramError) as caught:
        check_without_grounding(parse(text))
    return list(caught.value.diagnostics)


def test_a_good_program() -> None:
    assert (
        check_without_grounding(parse("d(1..2). 0.3::a(X) :- d(X). #query a(X) | not a(1).")) == ()
    )


def test_errors_of_all_kinds_together() -> None:
    text = "a(X) :- not b(X).\n1.5::c.\nW::d.\n#query e(Y*Y).\n?(Z)::f."
    found = [(problem.code, problem.span.line) for problem in checked(text) if problem.span]
    assert found == [
        ("unsafe-variable", 1),
        ("probability-range", 2),
        ("unknown-variable", 3),
        ("unsafe-variable", 4),
        ("parameter-key", 5),
    ]


def test_check_does_not_ground() -> None:
    check_without_grounding(parse("p(0). p(X+1) :- p(X). 0.5::q(X+1) :- q(X). 0.5::q(0)."))


def test_check_runs_nothing(tmp_path: object) -> None:
    text = f"""
#script (python)
open("{tmp_path}/ran", "w").close()
def f(): open("{tmp_path}/ran", "w").close()
#end.
#python
open("{tmp_path}/ran", "w").close()
def g(): open("{tmp_path}/ran", "w").close()
#end.
#const n = @g.
a(@f). 0.5::b(@g). 0.5::c(X) :- X = @f. d(n).
"""
    check_without_grounding(parse(text))
    assert not (tmp_path / "ran").exists()  # type: ignore[operator]


def test_check_takes_constants() -> None:
    check_without_grounding(parse("p::a."), constants={"p": "0.3"})
    with pytest.raises(ProgramError):
        check_without_grounding(parse("p::a."), constants={"p": "1.3"})


def test_constants_that_the_program_does_not_name() -> None:
    program = parse("#const p = 0.2. p::a(n).")
    assert check_without_grounding(program, constants={"p": "0.3", "n": "2"}) == ()
    (warning,) = check_without_grounding(program, constants={"m": "0.3"})
    assert (warning.code, warning.severity) == ("unused-constant", "warning")


def test_what_is_decided_can_occur() -> None:
    text = "#decision {go(X) : place(X)} :- open. place(1). {open}. #utility 3 : go(1)."
    assert check_without_grounding(parse(text)) == ()
    found = check_without_grounding(parse(text.replace(": place", ": plce")))
    assert [problem.message for problem in found] == [
        "plce(X) occurs in no head, so it is always false"
    ]
