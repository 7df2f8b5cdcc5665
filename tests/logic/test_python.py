"""Functions of ``#python`` and ``#script`` in terms: only when Python is allowed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from clingo import Function, Number, Symbol

from dpasp.errors import Diagnostic, ProgramError
from tests.logic.reading import grounded, underlined

SCRIPT = """
#script (python)
from clingo import Number
def double(x):
    return Number(2 * x.number)
def several():
    return [Number(1), Number(3)]
#end.
"""


def atoms(text: str, python: object) -> list[str]:
    return sorted(str(symbol) for symbol in grounded(text, python=python).atoms)


def failing(text: str, python: object | None) -> Diagnostic:
    with pytest.raises(ProgramError) as caught:
        grounded(text, python=python)
    (problem,) = caught.value.diagnostics
    return problem


def test_scripts() -> None:
    assert atoms(SCRIPT + "a(@double(3)). b(@several).", {}) == ["a(6)", "b(1)", "b(3)"]


def test_scripts_in_annotated_statements_and_questions() -> None:
    text = SCRIPT + "d(1..2). 0.5::a(@double(X)) :- d(X). #query a(@double(2))."
    program = grounded(text, python={})
    heads = [str(program.symbols[choice.heads[0]]) for choice in program.choices]
    assert heads == ["a(2)", "a(4)"]
    assert [question.text for question in program.questions] == ["a(4)"]


def test_functions_of_python_blocks() -> None:
    def next_one(x: Symbol) -> Symbol:
        return Number(x.number + 1)

    text = "#python\ndef next_one(x): pass\n#end.\na(@next_one(3))."
    assert atoms(text, SimpleNamespace(next_one=next_one)) == ["a(4)"]
    assert atoms(text, {"next_one": next_one}) == ["a(4)"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (3, ["a(3)"]),
        ("x y", ['a("x y")']),
        (Function("f", [Number(1)]), ["a(f(1))"]),
        ([1, "b", Number(2)], ['a("b")', "a(1)", "a(2)"]),
        (range(2), ["a(0)", "a(1)"]),
        ([], []),
    ],
)
def test_what_functions_may_give_back(result: object, expected: list[str]) -> None:
    text = "#python\ndef f(): pass\n#end.\na(@f)."
    assert atoms(text, {"f": lambda: result}) == expected


@pytest.mark.parametrize("result", [None, 0.5, True, object()])
def test_what_they_may_not(result: object) -> None:
    text = "#python\ndef f(): pass\n#end.\na(@f)."
    problem = failing(text, {"f": lambda: result})
    assert problem.code == "python-error"
    assert "gives back" in problem.message
    assert underlined(problem, text) == "@f"


def test_scripts_need_permission() -> None:
    problem = failing(SCRIPT + "a(@double(1)).", None)
    assert problem.code == "python-not-allowed"
    assert problem.span is not None
    assert problem.span.line == 2
    assert "--python" in problem.help


def test_functions_need_permission() -> None:
    text = "#python\ndef f(): return 1\n#end.\na(@f)."
    problem = failing(text, None)
    assert problem.code == "python-not-allowed"
    assert underlined(problem, text) == "@f"


def test_python_that_is_not_called_needs_none() -> None:
    assert atoms("#python\ndef f(): return 1\n#end.\na.", None) == ["a"]


def test_an_unknown_function_has_the_nearest_named() -> None:
    text = SCRIPT + "a(@duoble(1))."
    problem = failing(text, {})
    assert problem.code == "unknown-function"
    assert problem.help == "did you mean 'double'?"
    assert underlined(problem, text) == "@duoble(1)"


def test_a_function_that_fails() -> None:
    text = "#script (python)\ndef f(x): return 1 // x.number\n#end.\n0.5::a(X) :- X = @f(0)."
    problem = failing(text, {})
    assert problem.code == "python-error"
    assert problem.message.startswith("@f(0) fails: ZeroDivisionError")
    assert underlined(problem, text) == "@f(0)"


def test_a_script_that_fails_is_shown_at_its_line() -> None:
    problem = failing("a.\n#script (python)\nx = 1\ny = x / 0\n#end.", {})
    assert problem.code == "python-error"
    assert problem.span is not None
    assert problem.span.line == 4
    broken = failing("a.\n#script (python)\nx = 1\ny = = 0\n#end.", {})
    assert broken.span is not None
    assert broken.span.line == 4


def test_other_languages_are_refused() -> None:
    assert failing("#script (lua)\n#end.\na.", {}).code == "script-language"


def test_errors_of_ours_pass_through_functions() -> None:
    text = "#python\ndef f(): pass\n#end.\na(@f)."

    def refuse() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grounded(text, python={"f": refuse})
