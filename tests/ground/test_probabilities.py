"""The numbers behind choices: expressions, constants, intervals, and what is refused."""

from __future__ import annotations

import pytest

from dpasp.errors import UsageError
from dpasp.ground.program import FixedWeights, IntervalWeights
from dpasp.semantics.leaves import weights
from tests.ground.reading import choices, grounded, refused, underlined


def probabilities(text: str, constants: dict[str, str] | None = None) -> list[float]:
    found = []
    for choice in grounded(text, constants).choices:
        assert isinstance(choice.weight, FixedWeights)
        found += choice.weight.probabilities
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.3::a.", [0.3]),
        ("3/10::a.", [0.3]),
        ("1e-3::a.", [0.001]),
        ("1::a. 0::b.", [1.0, 0.0]),
        ("#const p = 0.3. p::a. (1-p)/2::b.", [0.3, 0.35]),
        ("#const n = 3. n/10::a.", [0.3]),
        ("#const p = 3/10. p::a.", [0.3]),  # real arithmetic, where clingo has 0
        ("#const q = p/2. #const p = 0.5. q::a.", [0.25]),
        ("w(2). w(5). W/10::a(W) :- w(W).", [0.2, 0.5]),
        ('w("0.25"). W::a(W) :- w(W).', [0.25]),
        ("w(1,4). A/B::a :- w(A,B).", [0.25]),
        ("w(3). W/10::a; (10-W)/10::b :- w(W).", [0.3, 0.7]),
        ("2**(-2)::a.", [0.25]),
        ("#const n = 2. 1/n::a(X) :- X = 1..n.", [0.5, 0.5]),
    ],
)
def test_values(text: str, expected: list[float]) -> None:
    assert probabilities(text) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("#const p = 0.3. p::a.", {"p": "0.6"}, [0.6]),
        ("#const p = 0.3. p::a.", {"p": "1/4"}, [0.25]),
        ("#const n = 2. n/10::a(1..n).", {"n": "3"}, [0.3, 0.3, 0.3]),
        ("p::a.", {"p": "0.1"}, [0.1]),
        ("0.5::a(X) :- X = 1..n.", {"n": "2"}, [0.5, 0.5]),
        ("#const n = 2. [override] 0.5::a(1..n).", {"n": "3"}, [0.5, 0.5]),
    ],
)
def test_constants_given_from_outside(
    text: str, given: dict[str, str], expected: list[float]
) -> None:
    assert probabilities(text, given) == pytest.approx(expected)


def test_a_constant_that_is_no_number_can_be_given() -> None:
    assert choices("#const who = anna. 0.5::a(who).", {"who": "bill"}) == ["0.5::a(bill)."]


def test_a_value_that_is_nothing_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="not a value for the constant p"):
        grounded("0.5::a.", {"p": "0.3.4"})


def test_constants_are_replaced_in_heads_but_not_the_names_of_atoms() -> None:
    assert choices("#const n = 3. 0.1::a(n). 0.2::n. 0.3::f(g(n)). 0.4::n(n).") == [
        "0.1::a(3).",
        "0.2::n.",
        "0.3::f(g(3)).",
        "0.4::n(3).",
    ]


def test_intervals() -> None:
    text = "w(2). [W/10, 0.5]::a(W) :- w(W). [0.1,0.3]::b; 0.2::c; [0.4,0.7]::d."
    first, second = grounded(text).choices
    assert first.weight == IntervalWeights((0.2,), (0.5,))
    assert second.weight == IntervalWeights((0.1, 0.2, 0.4), (0.3, 0.2, 0.7))


def test_a_sum_within_the_slack_is_scaled() -> None:
    found = probabilities("0.5::a; 0.5000000005::b.")
    assert sum(found) == 1.0


def test_bounds_within_the_slack_are_scaled() -> None:
    for text in ("[0.5,0.6]::a; [0.5000000005,0.7]::b.", "[0.2,0.3]::a; [0.1,0.6999999995]::b."):
        weight = grounded(text).choices[0].weight
        assert isinstance(weight, IntervalWeights)
        assert sum(weight.lower) <= 1.0 <= sum(weight.upper)
        assert all(low <= high for low, high in zip(weight.lower, weight.upper, strict=True))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("0.999999999999999::a.", 1e-15),
        ("0.9999999999999999::a.", 1e-16),
        ("1-1e-15::a.", 1e-15),
        ("w(1). 1-W/10**15::a :- w(W).", 1e-15),
        ("#const p = 0.999999999999999. p::a.", 1e-15),
        ("0.999999999999::a; 1e-13::b.", 9e-13),
        ("0.333333333333333::a; 0.333333333333333::b; 0.333333333333333::c.", 1e-15),
        ("0.2::a; 0.2::b; 0.2::c; 0.2::d; 0.199999999999999::e.", 1e-15),
        ("1::a.", None),
        ("0.7+0.2+0.1::a.", None),  # 0.9999999999999999 in floating point
        ("0.1::a; 0.2::b; 0.7::c.", None),
        ("1/3::a; 1/3::b; 1/3::c.", None),
        ("0.3333333333333333::a; 0.3333333333333333::b; 0.3333333333333333::c.", None),
    ],
)
def test_what_is_left_is_kept_to_the_last_digit(text: str, left: float | None) -> None:
    ground = grounded(text)
    (choice,) = ground.choices
    assert choice.nothing == (left is not None)
    if left is not None:
        assert weights(ground)[-1] == left


@pytest.mark.parametrize(
    "text",
    [
        "0.99999999999999999::a.",
        "1.00000000000000000001::a.",
        "1-1e-17::a.",
        "0.3**2000::a.",
        "1e-200*1e-200::a.",
        "[0.2, 0.99999999999999999]::a.",
        "#const p = 1e-400. p::a.",
        "w(1). 1-W/10**17::a :- w(W).",
    ],
)
def test_what_floats_cannot_tell_from_0_or_1_is_refused(text: str) -> None:
    assert [problem.code for problem in refused(text)] == ["number-range"]


@pytest.mark.parametrize("value", ["1e-400", "0.99999999999999999", "1e400", "1/1e400"])
def test_such_a_number_from_outside_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match=f"the constant p cannot be {value}: it is too"):
        grounded("p::a.", {"p": value})


def test_such_a_number_in_a_string_is_refused() -> None:
    (problem,) = refused('w("1e-400"). W::a :- w(W).')
    assert "too small to be distinguished from 0" in problem.message


@pytest.mark.parametrize(
    ("text", "code", "place", "words"),
    [
        ("1.0000000000001::a.", "probability-range", "1.0000000000001", ["1.0000000000001"]),
        ("-1e-13::a.", "probability-range", "-1e-13", ["-1e-13"]),
        ("0.5+0.5000000000001::a.", "probability-range", None, ["1.0000000000001"]),
        ("w(12). W/10::a(W) :- w(W).", "probability-range", "W/10", ["1.2", "W = 12"]),
        ("w(1). (W-2)/3::a(W) :- w(W).", "probability-range", "(W-2)/3", ["W = 1"]),
        ("w(0). 1/W::a(W) :- w(W).", "arithmetic", "1/W", ["division by zero", "W = 0"]),
        ("w(x). W::a(W) :- w(W).", "probability-number", "W", ["W is x"]),
        ("1.5::a.", "probability-range", "1.5", ["1.5"]),
        ("w(6). W/10::a; 0.5::b :- w(W).", "disjunction-sum", None, ["1.1", "W = 6"]),
        ("w(6). [W/10,0.7]::a; [0.5,1]::b :- w(W).", "disjunction-sum", None, ["1.1"]),
        ("w(1). [0,W/10]::a; [0,0.5]::b :- w(W).", "interval-sum", None, ["0.6"]),
        ("w(6). [W/10, 0.5]::a :- w(W).", "interval-order", "[W/10, 0.5]", ["0.6", "W = 6"]),
        ("p::a.", "unknown-constant", "p", ["p"]),
        ("?::a; [0.1,0.2]::b.", "mixed-annotations", "[0.1,0.2]", []),
    ],
)
def test_refused(text: str, code: str, place: str | None, words: list[str]) -> None:
    (problem,) = refused(text)
    assert problem.code == code
    for word in words:
        assert word in problem.message
    assert problem.help
    if place is not None:
        assert underlined(problem, text).strip("()") == place.strip("()")


def test_one_error_for_each_statement_and_all_statements_together() -> None:
    text = "w(12..20). W/10::a(W) :- w(W).\n1/0::b.\n0.5::c."
    assert [problem.code for problem in refused(text)] == ["probability-range", "arithmetic"]
