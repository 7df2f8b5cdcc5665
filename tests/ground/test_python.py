"""Functions of ``#python`` and ``#script`` in terms: only when Python is allowed."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from clingo import Function, Number

from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground.program import FixedWeights
from dpasp.ground.python import ProgramPython
from dpasp.language import ast, parse
from tests.ground.reading import grounded, underlined

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
    def next_one(x: int) -> int:
        return x + 1

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


@pytest.mark.parametrize("result", [None, float("inf"), True, object()])
def test_what_they_may_not(result: object) -> None:
    text = "#python\ndef f(): pass\n#end.\na(@f)."
    problem = failing(text, {"f": lambda: result})
    assert problem.code == "python-error"
    assert "it returns" in problem.message
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


def test_functions_get_python_values() -> None:
    seen: list[object] = []

    def look(*values: object) -> int:
        seen.extend(values)
        return 0

    atoms('a(@look(3, "x y", red, -2, f(1))).', {"look": look})
    assert seen == [3, "x y", "red", -2, Function("f", [Number(1)])]


def test_scripts_get_symbols_as_in_clingo() -> None:
    text = "#script (python)\ndef kind(x): return type(x).__name__\n#end.\na(@kind(3))."
    assert atoms(text, {}) == ['a("Symbol")']


def test_real_numbers_are_probabilities() -> None:
    program = grounded("P::a :- P = @half. P::b(P) :- P = @tiny.", python=REALS)
    assert [choice.weight for choice in program.choices] == [
        FixedWeights((0.5,)),
        FixedWeights((1e-05,)),
    ]
    assert failing("P::a :- P = @much.", REALS).code == "probability-range"
    assert "nan" in failing("a(@none).", REALS).message


REALS = {
    "half": lambda: np.float32(0.5),
    "tiny": lambda: 1e-5,
    "much": lambda: 1.5,
    "none": lambda: float("nan"),
}


def test_constants_in_calls_of_statements() -> None:
    program = parse("#const n = 3. #const m = n+1. i(0) ~ test(@xs(n, m*2, -n, other, f(n))).")
    (data,) = (s for s in program.statements if isinstance(s, ast.Data))
    assert isinstance(data.test, ast.Call)
    python = ProgramPython(program, ModuleType("empty"))
    assert python.arguments(data.test) == [3, 8, -3, "other", Function("f", [Number(3)])]
    python = ProgramPython(program, ModuleType("empty"), {"n": "5"})
    assert python.arguments(data.test)[:2] == [5, 12]


def test_arguments_that_are_no_single_value() -> None:
    program = parse("i(0) ~ test(@xs(1..3)).")
    (data,) = program.statements
    assert isinstance(data, ast.Data)
    assert isinstance(data.test, ast.Call)
    with pytest.raises(ProgramError) as caught:
        ProgramPython(program, ModuleType("empty")).arguments(data.test)
    assert caught.value.diagnostics[0].code == "python-argument"
