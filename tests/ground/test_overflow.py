"""Integers beyond 32 bits: exact in between, refused where terms would hold them, summed up."""

from __future__ import annotations

import random
from typing import Any

import pytest
from clingo import Number

import dpasp
from dpasp.ground import overflow
from dpasp.ground.program import Rule
from dpasp.ground.solve import Group, model_blocks, with_small_sums
from dpasp.ground.terms import parse_symbol

BEYOND = {
    "p(2147483647). q(X+1) :- p(X).": ("X+1", 2147483648),
    "p(-2147483647). q(X-2) :- p(X).": ("X-2", -2147483649),
    "p(-2147483647). q(X) :- p(X+2).": ("X+2", 2147483649),
    "p(2147483647). q(Y) :- p(X), Y = X+1.": ("X+1", 2147483648),
    "p(2147483647). q :- p(X), X+1 > X.": ("X+1", 2147483648),
    "p(2147483647). q :- p(X), not p(X+2).": ("X+2", 2147483649),
    "p(1). p(X+X) :- p(X), X > 0.": ("X+X", 2147483648),
    "n(1..3). p(2**(X*11)) :- n(X), X > 2.": ("2**(X*11)", 2**33),
    "#const k = 100000. p(k*k).": ("k*k", 10**10),
    "#const k = 100000*100000. p(k).": ("100000*100000", 10**10),
    "n(1..50000). q(X*X) :- n(X), X > 49999.": ("X*X", 2500000000),
    "p(70000). 0.5::q(X*Y) :- p(X), p(Y).": ("X*Y", 4900000000),
    "0.5::q(70000*70000).": ("70000*70000", 4900000000),
    "q(1). 0.5::a :- q(70000*70000).": ("70000*70000", 4900000000),
    "p(70000,-70000). q :- p(X,Y), X*Y < 3.": ("X*Y", -4900000000),
    "p(70000). q(Z) :- p(X), Y = X*2, Z = Y*X.": ("Y*X", 9800000000),
    "p(70000). {q(X*X) : p(X)}.": ("X*X", 4900000000),
    "p(70000). q(X*X); r(X) :- p(X).": ("X*X", 4900000000),
    "p(70000). q :- 1 #count{Y : p(X), Y = X*X}.": ("X*X", 4900000000),
    "p(70000). :- p(X), q(X*X) : p(X).": ("X*X", 4900000000),
    "p(70000). #external q(X*X) : p(X).": ("X*X", 4900000000),
    "p(70000). #edge (X*X,X) : p(X).": ("X*X", 4900000000),
    "p(70000). #query p(X), X*X > 3.": ("X*X", 4900000000),
    "p(70000). #query p(70000*70000).": ("70000*70000", 4900000000),
    "p(70000). #evidence not p(70000*70000). #query p(70000).": ("70000*70000", 4900000000),
    "p(-2147483647-1). q(X/Y) :- p(X), Y = -1.": ("X/Y", 2147483648),  # ends clingo's process
    "p(-2147483647-1). q(-X) :- p(X).": ("-X", 2147483648),
    "p(-2147483647-1). q(|X|) :- p(X).": ("|X|", 2147483648),
    "n(1..3). 0.5::s(X) :- n(X). p(S*1000000000) :- S = #count{X : s(X)}.": (
        "S*1000000000",
        3000000000,
    ),
}
WITHIN = {
    "p(2147483646). q(X+1) :- p(X).": [2147483647],
    "p(2147483647). p(1). q(X+1) :- p(X), X < 2147483647.": [2],
    "p(2147483647). p(1). q(X+1) :- p(X), 2147483647 > X.": [2],
    "p(50000,2). p(3,50000). q(X*Y) :- p(X,Y).": [100000, 150000],
    "p(70000). q(X*X/X) :- p(X).": [70000],  # only what comes out has to fit
    "n(1..30). q(2**X) :- n(X), X > 28.": [2**29, 2**30],
    "p(1000000,3). q(Y*Y) :- p(X,Y).": [9],
    "p(1..1000). q(S) :- S = #sum{X : p(X)}.": [500500],
    "p(2147483647,1). p(2147483647,2). q(S) :- S = #sum{X : p(X,_)}.": [2147483647],
    "p(a;b;7). q(X*2) :- p(X), X = 7.": [14],
    "p(100000). q(X*2) :- 1 <= X <= 3.": [2, 4, 6],
    "p(100000;3). q(X*Y) :- p(X), p(Y), X < 10, Y < 10.": [9],
    "p(-7,2). q(X/Y) :- p(X,Y). q(X\\Y) :- p(X,Y).": [-3, -1],
}


@pytest.mark.parametrize("text", BEYOND)
def test_what_leaves_32_bits_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(dpasp.Error) as raised:
        dpasp.loads(text).ground()
    term, value = BEYOND[text]
    (problem,) = raised.value.diagnostics
    assert problem.code == "integer-overflow"
    assert f"is {value}" in problem.message
    span = problem.span
    assert span is not None
    assert text[span.column - 1 : span.end_column - 1].strip("()") == term.strip("()")


@pytest.mark.parametrize("text", WITHIN)
def test_what_stays_within_is_exact(text: str) -> None:
    ground = dpasp.loads(text).ground()
    assert sorted(s.arguments[0].number for s in ground.atoms if s.name == "q") == WITHIN[text]
    assert not ground.warnings


def test_a_division_that_has_no_value_is_warned_about() -> None:
    (warning,) = dpasp.loads("p(0..1). q(4/X) :- p(X).").ground().warnings
    assert (warning.code, warning.span.column if warning.span else 0) == ("undefined-operation", 12)


def test_what_cannot_be_checked_is_refused() -> None:
    text = "q(1000000). p(X) :- q(Y), X*1 <= 5, X >= 1, X*Y > 7."
    with pytest.raises(dpasp.ProgramError, match="may leave 32 bits"):
        dpasp.loads(text).ground()


def test_a_sum_may_use_the_value_of_another() -> None:
    text = "q(1000). q(1). p(N) :- q(Y), N = #sum{X : q(X)}, #sum{X*N*9,Y : q(X)} > LIMIT."
    assert dpasp.loads(text.replace("LIMIT", "9018008")).query("p(1001)")[0].lower == 1.0
    assert dpasp.loads(text.replace("LIMIT", "9018009")).query("p(1001)")[0].lower == 0.0


def test_constants_from_outside() -> None:
    text = "#const k = 10. p(k*k)."
    assert not dpasp.loads(text).ground().warnings
    with pytest.raises(dpasp.ProgramError, match=r"k\*k is 2500000000 here"):
        dpasp.loads(text, constants={"k": 50000}).ground()


WIDE = 4294967298  # clingo reads 2


@pytest.mark.parametrize("value", [WIDE, str(WIDE), -(2**31) - 1, "2*2000000000", 2**31])
def test_a_wide_constant_from_outside_is_refused(value: object) -> None:
    with pytest.raises(dpasp.UsageError, match="the constant n cannot be"):
        dpasp.loads("0.5::a(n). #query a(X).", constants={"n": value}).query()


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_constant_is_a_finite_number(value: float) -> None:
    with pytest.raises(dpasp.UsageError, match="the constant n cannot be"):
        dpasp.loads("0.5::a(n).", constants={"n": value})


ENTRANCES: dict[str, Any] = {
    "query": lambda p, atom: p.query(atom),
    "evidence": lambda p, atom: p.query("a(1)", evidence=atom),
    "evidence by name": lambda p, atom: p.query("a(1)", evidence={atom: True}),
    "marginals": lambda p, atom: p.marginals(evidence={atom: False}),
    "map": lambda p, atom: p.map(f"{atom}?"),
    "sample": lambda p, atom: p.sample(2, given=atom),
    "models": lambda p, atom: list(p.models(given=atom)),
    "explain": lambda p, atom: p.explain(atom),
    "why": lambda p, atom: p.why_inconsistent(given=atom),
    "observed": lambda p, atom: p.learn([atom, "a(1)"]),
    "observed by name": lambda p, atom: p.learn([{atom: True}]),
    "a table": lambda p, atom: p.learn({atom: [1, 0]}),
    "a module": lambda p, atom: p.module().log_prob([atom]),
    "probabilities": lambda p, atom: p.module().prob(atom),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("number", [str(WIDE), "2000000000*2"])
def test_wide_integers_are_refused_at_every_entrance(entrance: str, number: str) -> None:
    program = dpasp.loads("?::a(1..3).")
    with pytest.raises(dpasp.Error) as raised:
        ENTRANCES[entrance](program, f"a({number})")
    assert raised.value.diagnostics[0].code in ("number-range", "integer-overflow")


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("atom", ["é", "日本(1)", "a(é)", "a(1)\0b", "\0a(1)"])
def test_letters_that_clingo_cannot_read_are_refused(entrance: str, atom: str) -> None:
    program = dpasp.loads("?::a(1..3).")
    with pytest.raises(dpasp.Error):
        ENTRANCES[entrance](program, atom)


def test_a_wide_integer_in_the_name_of_a_column_is_told() -> None:
    with pytest.raises(dpasp.DataError, match=f"cannot be read: {WIDE} is too large"):
        dpasp.loads("?::a(1..3).").query("a(1)", evidence=[{f"a({WIDE})": True}])


def test_texts_from_outside() -> None:
    assert parse_symbol("-2147483647-1") == Number(-(2**31))
    for text in ("2147483648", "a(70000*70000)", "(-2147483647-1)/(-1)", "2**31", "0xffffffff"):
        with pytest.raises(dpasp.DataError):
            parse_symbol(text)
    assert str(parse_symbol('a("4294967298")')) == 'a("4294967298")'


# --- sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p(2000000000;2000000001). s(S) :- S = #sum{X : p(X)}.", "reach 4000000001"),
        ("p(1..3). s(S) :- S = #sum{1500000000,X : p(X)}.", "reach 4500000000"),
        ("p(2000000000;2000000001). {z}. #sum{X : a(X) : p(X)} 7 :- z.", "reach 4000000001"),
        ("p(-2000000000;2000000000). {a} :- #sum{X : p(X); -7 : a; X : a, p(X)} != 3.", "itself"),
    ],
)
def test_sums_that_cannot_be_ours_are_refused(text: str, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as raised:
        dpasp.loads(text).ground()
    assert raised.value.diagnostics[0].code == "integer-overflow"


def test_a_sum_that_only_might_leave_32_bits_is_clingos() -> None:
    text = "w(1..3,1000000000). 0.5::a(X) :- w(X,W). b :- #sum{W,X : a(X), w(X,W), X < 3} > 1."
    ground = dpasp.loads(text).ground()
    assert not any(name is not None and name.name.startswith("_") for name in ground.symbols)
    assert dpasp.loads(text).query("b")[0].lower == 0.75


LARGE = [2_000_000_000, 1_999_999_999, 1_500_000_001, 777_777_777, 123_456_789]


def test_sums_for_clasp_are_the_same_with_smaller_numbers() -> None:
    chance = random.Random(7)
    for _ in range(50):
        weights = tuple(chance.choice(LARGE) for _ in range(chance.randint(2, 7)))
        bound = chance.choice([1, sum(weights), sum(weights) + 1, chance.randint(1, sum(weights))])
        literals = tuple(chance.choice([1, -1]) * (i + 1) for i in range(len(weights)))
        rule = Rule((50,), literals, False, weights, bound)
        read = [*range(1, len(weights) + 1), 50]
        groups = [Group((atom,), False) for atom in read[:-1]]
        rows = [row for block in model_blocks([rule], groups, read) for row in block.tolist()]
        assert len(rows) == 2 ** len(weights)
        for row in rows:
            true = [row[abs(lit) - 1] == (lit > 0) for lit in literals]
            total = sum(weight for weight, holds in zip(weights, true, strict=True) if holds)
            assert row[-1] == (total >= bound)


def test_a_sum_with_too_many_values_is_refused() -> None:
    chance = random.Random(3)
    weights = tuple(chance.randint(10**9, 2 * 10**9) for _ in range(60))
    rule = Rule((100,), tuple(range(1, 61)), False, weights, sum(weights) // 2)
    with pytest.raises(dpasp.SizeLimit):
        list(with_small_sums([rule], iter(range(101, 10**9))))


# --- with care, nothing else changes -----------------------------------------------------------

ORDINARY = [
    "n(1..4). 0.5::a(X) :- n(X). b :- #sum{X : a(X)} > 4. c :- 2 #sum{X,X : a(X), X != 2} 5.",
    "n(1..4). 0.5::a(X) :- n(X). b(X+1) :- a(X). c :- b(X), b(2*X). d :- not b(X-1), a(X).",
    "n(1..3). 0.5::a(X) :- n(X). b :- not #sum{-X : a(X); X*X : not a(X), n(X)} = 3.",
    "n(1..3). 0.5::a(X) :- n(X). r(1). r(X) :- n(X), #sum{Y : r(Y), a(Y)} >= X-1, X > 1.",
    "n(1..3). {a(X)} :- n(X). :- #sum{X : a(X)} = S, S \\ 2 = 1. b :- a(X), a(X+1).",
    "n(1..3). {a(X) : n(X)} 2. 0.5::c :- #sum+{X-2,X : a(X)} < 1. b :- c, #sum{X : a(X)} != 2.",
    "n(1..3). a(X); b(X) :- n(X), x(X). 0.5::x(X) :- n(X). c :- #sum{X*2 : a(X); 1 : b(3)} > 4.",
    "n(1..2;4). 0.5::a(X;X+1) :- n(X). b(S) :- S = #sum{X : a(X)}. c :- b(S), S > 3.",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_care_changes_no_answer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[tuple[str, object, object]]:
        found = dpasp.loads(text).marginals()
        return [(a.query, round(float(a.lower), 12), round(float(a.upper), 12)) for a in found]

    def all_statements(
        program: Any, control: Any, overrides: Any, questions: bool
    ) -> frozenset[int]:
        return frozenset() if questions else frozenset(range(len(program.statements)))

    expected = answers()
    monkeypatch.setattr(overflow, "suspects", all_statements)
    assert answers() == expected


def test_what_no_question_needs_is_not_looked_at() -> None:
    text = "0.5::a(1..9). b(X*X) :- a(X). 0.5::c(2000000). d(X*2) :- c(X). #query d(4000000)."
    assert dpasp.loads(text).query()[0].lower == 0.5
