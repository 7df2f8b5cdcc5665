"""Ground what is asked: less is ground, and every answer stays the same."""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.errors import Error
from dpasp.ground.narrow import narrowed
from dpasp.ground.tuning import Tuning
from dpasp.inference.answers import Answers
from dpasp.language import parse
from dpasp.limits import UNLIMITED, Limits
from dpasp.program import grounding
from dpasp.program.grounding import is_short
from tests.clocks import PATIENCE

PROGRAMS = int(os.environ.get("DPASP_RANDOM_DEMANDS", "150"))

WEATHER = """
0.5::weather(sun,0); 0.5::weather(rain,0).
0.6::weather(sun,T); 0.4::weather(rain,T) :- T > 0, P = T-1, weather(sun,P).
0.2::weather(sun,T); 0.8::weather(rain,T) :- T > 0, P = T-1, weather(rain,P).
"""


@pytest.fixture(autouse=True)
def look_for_demands_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every program were too long to ground it in full at first."""
    monkeypatch.setattr(grounding, "is_short", lambda _program: False)


def left_out(text: str) -> tuple[str, ...]:
    found = narrowed(parse(text), {}, UNLIMITED)
    return () if found is None else found.left_out


def test_a_chain_without_end_is_answered() -> None:
    program = dpasp.loads(
        WEATHER,
    )
    answers = program.query("weather(sun,10)", limits=Limits(seconds=PATIENCE))
    assert answers[0].numbers[0] == pytest.approx(0.33335, abs=1e-5)
    assert answers.statistics["choices"] == 21
    again = program.query("weather(rain,2) | weather(sun,1)", limits=Limits(seconds=PATIENCE))
    assert again[0].numbers[0] == pytest.approx(0.4)
    assert "weather/2 where nothing asks" in answers.statistics["left_out"]


def test_one_of_many_facts() -> None:
    program = dpasp.loads("0.3::f(1..3000). 0.2::g(X) :- f(X). #query g(7).")
    answers = program.query()
    assert answers.statistics["choices"] == 2
    assert answers[0].numbers[0] == pytest.approx(0.06)
    assert len(program.ground().choices) == 6000  # who asks for everything gets everything


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5::a. 0.5::b. #query a.", ("b/0",)),
        ("0.5::a. 0.5::b. :- b. #query a.", ()),
        ("0.5::a. 0.5::b. {c} :- b. #query a.", ()),
        ("0.5::a. 0.5::b. c :- b, not d. d :- b, not c. #query a.", ()),
        ("0.5::a. 0.5::b. -c :- b. #query a.", ()),
        ("0.5::a. 0.5::b. #query a. #query b.", ()),
        ("0.5::a. 0.5::b. #evidence b. #query a.", ()),
        ("0.5::a. 0.5::b. #query a. #mpe.", ()),
        ("0.5::a. [0.2, 0.4]::b. #query a.", ()),
        ("0.5::a. 0.4?::b. #query a.", ()),
        ("0.5::a. 0.5::b. c :- #count{1 : b} > 0. #query c.", ("a/0",)),
        ("0.5::a(1). 0.5::a(2). #query a(X).", ()),
        ("0.5::a(1). 0.5::a(2). #query a(2).", ("a/1 where nothing asks",)),
        ("0.5::s(0). 0.7::k(1..5). s(X) :- s(X-1), k(X). #query s(3).", ()),
        (
            "0.5::c(0). 0.5::x(1..9). c(I+1) :- c(I), x(I). s(I) :- c(I). #query c(5), s(2).",
            ("s/1 where nothing asks",),
        ),
        (
            "0.5::c(9). c(I) :- c(I+1). 0.5::s(1..9). #query c(5), s(2).",
            ("s/1 where nothing asks",),
        ),
        ("0.5::a; 0.5::b. 0.5::c. #query b.", ("c/0",)),
        ("0.5::a; 0.5::b. {b}. 0.5::c. a :- c. #query b.", ("a/0", "c/0")),
    ],
)
def test_what_is_left_out(text: str, expected: tuple[str, ...]) -> None:
    assert left_out(text) == expected


def test_of_a_recursion_that_goes_the_wrong_way_only_other_predicates_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpasp.ground.narrow.TUNING", Tuning(demands=1000))
    text = "0.5::s(0). 0.7::k(1..5). s(X) :- s(X-1), k(X), X < 9. 0.5::t. #query s(3)."
    assert left_out(text) == ("t/0",)
    assert dpasp.loads(text).query()[0].numbers[0] == pytest.approx(0.5 * 0.7**3)


def test_unsafe_rules_and_unknown_atoms_are_told_all_the_same() -> None:
    with pytest.raises(Error, match=r"unsafe|nothing gives"):
        dpasp.loads("0.5::a. 0.5::b(X). #query a.").query()
    (warning,) = dpasp.loads("0.5::b(1). 0.5::b(2). #query b(3).").query().warnings
    assert "closest atom that can occur is b(2)" in (warning.help or "")


def test_statements_without_variables_are_asked_for_by_their_instances() -> None:
    dice = "; ".join(f"1/6::d(1,{value})" for value in range(1, 7)) + "."
    text = dice + dice.replace("(1,", "(2,") + "sum(Z) :- d(1,X), d(2,Y), Z = X + Y."
    program = dpasp.loads(text)
    assert program.query("sum(7)")[0].numbers[0] == pytest.approx(1 / 6)
    assert program.query("sum(12) | d(1,6)")[0].numbers[0] == pytest.approx(1 / 6)


def test_other_questions_about_the_same_program() -> None:
    program = dpasp.loads("0.5::a(1..4). 0.5::b(X) :- a(X).")
    assert program.query("b(3)").statistics["choices"] == 2
    assert program.query("b(4)").statistics["choices"] == 8  # from now on all is known
    assert program.explain("b(3)")[0].ways


EDGES = "".join(f"0.5::edge({i},{i + 1}). " for i in range(40))
PATHS = f"{EDGES} path(X,Y) :- edge(X,Y). path(X,Z) :- path(X,Y), edge(Y,Z). #query path(0,40)."


@pytest.mark.parametrize("limit", [None, PATIENCE])
def test_short_programs_are_ground_in_full_unless_that_is_much(
    monkeypatch: pytest.MonkeyPatch, limit: float | None
) -> None:
    monkeypatch.setattr(grounding, "is_short", is_short)
    whole = dpasp.loads(PATHS).query(limits=dpasp.Limits(seconds=limit))
    assert "left_out" not in whole.statistics
    monkeypatch.setattr(grounding, "SMALL", 200)
    part = dpasp.loads(PATHS).query(limits=dpasp.Limits(seconds=limit))
    assert part.statistics["left_out"]
    assert part.statistics["ground_rules"] < whole.statistics["ground_rules"]
    assert part[0].numbers[0] == pytest.approx(whole[0].numbers[0]) == pytest.approx(0.5**40)


@pytest.mark.parametrize(
    "text",
    [
        "p(X+1) :- p(X).",
        "p(1+X) :- p(X).",
        "p(X-1) :- p(X).",
        "p(Y) :- p(X), Y = X*2.",
        "p(f(X)) :- p(X).",
        "p(1..n).",
        "p(1..9999).",
        "p(-X) :- p(X).",
    ],
)
def test_programs_whose_terms_may_grow_are_not_short(text: str) -> None:
    assert not is_short(parse(f"{text} 0.5::a. #const n = 9."))
    assert is_short(parse("q(X) :- p(X), X < 3, X != -1. :- X = 1, q(X). p(1..9). 0.5::a."))


def test_comments_change_nothing() -> None:
    assert is_short(parse("0.5::a. #query a.  % not p(X+1) or p(f(X)), and/or p(1..n)"))
    text = f"{WEATHER} #query weather(sun,3). % sun and/or rain"
    found = narrowed(parse(text), {}, UNLIMITED)
    assert found is not None
    assert found.endless


# --- random programs -----------------------------------------------------------------------------


class Draw:
    """A random program with variables over a small domain."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.kinds = [f"p{i}" for i in range(self.random.randint(3, 6))]
        self.arity = {kind: self.random.choice((0, 1, 1, 2)) for kind in self.kinds}

    def text(self) -> str:
        """The program, without questions."""
        random = self.random
        lines = ["d(1..3).", "e(1,2). e(2,3). e(3,1)."]
        for place, kind in enumerate(self.kinds):
            for _ in range(random.choice((1, 1, 2))):
                lines.append(self.rule(kind, self.kinds[:place]))
        if random.random() < 0.25:
            lines.append(f":- {self.atom(random.choice(self.kinds), 'XY')}, d(X), d(Y), X < Y.")
        if random.random() < 0.2:
            kind = random.choice(self.kinds)
            lines.append(f"{{q(X)}} :- {self.atom(kind, 'XY')}, d(X), d(Y).")
        random.shuffle(lines)
        return "\n".join(lines)

    def atom(self, kind: str, names: str) -> str:
        """An atom over some variables and numbers."""
        pick = [self.random.choice([*names, "1", "2"]) for _ in range(self.arity[kind])]
        return f"{kind}({','.join(pick)})" if pick else kind

    def rule(self, kind: str, below: list[str]) -> str:
        """A fact or rule for a predicate, over predicates before it, or itself."""
        random = self.random
        head = self.atom(kind, "XY")
        share = random.choice(("", "0.3::", "0.6::"))
        if not below or random.random() < 0.3:
            if random.random() < 0.3 and self.arity[kind] == 1:
                return f"0.4::{kind}(1..3)."
            if random.random() < 0.3 and self.arity[kind] == 2:
                weight = random.choice(("1/4", "0.25"))  # the second is a row of a table
                first = random.choice("123")
                heads = (f"{weight}::{kind}({first},{value})" for value in "123")
                return "; ".join(heads) + random.choice((".", " :- e(1,2)."))
            return f"{share or '0.5::'}{head} :- d(X), d(Y)."
        body = ["d(X)", "d(Y)"] if random.random() < 0.6 else ["e(X,Y)"]
        for _ in range(random.randint(1, 2)):
            sign = random.choice(("", "", "not "))
            body.append(sign + self.atom(random.choice(below), "XY"))
        if random.random() < 0.3:
            body.append(self.atom(kind, "XY"))
        if random.random() < 0.2:
            body.append(random.choice(("X < Y", "X != Y", "Y = X + 1", "X > 1")))
        if random.random() < 0.1:
            body.append(f"1 <= #count{{Z : {self.atom(random.choice(below), 'ZX')}, d(Z)}}")
        heads = f"{share}{head}"
        if share == "0.3::" and random.random() < 0.5:
            heads += f"; 0.5::{self.atom(kind, 'XY')}"
        random.shuffle(body)
        return f"{heads} :- {', '.join(body)}."

    def query(self) -> str:
        """A query, sometimes with evidence or variables."""
        names = "1233X" if self.random.random() < 0.3 else "123"
        asked = [self.atom(self.random.choice(self.kinds), names) for _ in range(2)]
        if self.random.random() < 0.4:
            return f"#query {asked[0]} | {self.random.choice(('', 'not '))}{asked[1]}."
        return f"#query {asked[0]}."


def numbers(answers: Answers) -> dict[str, list[float]]:
    return {answer.query: [float(n) for n in answer.numbers] for answer in answers}


def asked(text: str, semantics: str) -> Answers | str:
    try:
        return dpasp.loads(text).query(semantics=semantics)
    except Error as error:
        return error.diagnostics[0].code


def test_random_programs_have_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = 0
    for seed in range(PROGRAMS):
        draw = Draw(seed)
        text = f"{draw.text()}\n{draw.query()}"
        semantics = ("stable, credal", "stable, maxent", "smproblog, maxent")[seed % 3]
        found = asked(text, semantics)
        with monkeypatch.context() as patch:
            patch.setattr("dpasp.ground.narrow.narrowed", lambda *_: None)
            wanted = asked(text, semantics)
        if isinstance(found, str) or isinstance(wanted, str):
            assert found == wanted, text
            continue
        narrow += "left_out" in found.statistics
        assert numbers(found).keys() == numbers(wanted).keys(), text
        for query, values in numbers(wanted).items():
            np.testing.assert_allclose(numbers(found)[query], values, 1e-9, 1e-12, err_msg=text)
        assert found.inconsistent == pytest.approx(wanted.inconsistent), text
    assert narrow > PROGRAMS / 4
