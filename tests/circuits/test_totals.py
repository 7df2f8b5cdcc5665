"""Aggregates over choices: the compiler's running totals beside the enumeration."""

from __future__ import annotations

from random import Random

import numpy as np

from dpasp.circuits import FIELDS, compile
from dpasp.circuits.compiler import CompilerWay, Order
from dpasp.ground import ground
from dpasp.language import parse
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.circuits.ways import compare

WAYS: tuple[tuple[CompilerWay, Order], ...] = (
    ("auto", "auto"),
    ("diagram", "narrow"),
    ("tables", "narrow"),
)
MEANINGS = [Meaning(logic, each) for logic in (Logic.STABLE, *Logic) for each in Probability]


def random_text(random: Random) -> str:
    """A small program whose aggregates range over values of choices, coins and what follows."""
    lines = []
    for i in range(random.randint(1, 3)):
        values = random.sample(range(-2, 5), random.randint(2, 4))
        shares = [random.randint(1, 5) for _ in values]
        total = sum(shares) + random.choice([0, 0, 3])
        heads = "; ".join(f"{s}/{total}::d({i},{v})" for s, v in zip(shares, values, strict=True))
        lines.append(heads + random.choice(["", "", " :- c(1)", " :- not c(2)"]) + ".")
    lines += [f"0.{random.randint(1, 9)}::c({i})." for i in range(1, random.randint(2, 4))]
    if random.random() < 0.3:
        loops = ["{e}.", "e :- not f. f :- not e.", "e | f :- c(1).", "e :- not e, c(1)."]
        lines.append(random.choice(loops))
    if random.random() < 0.5:
        lines.append("g(I) :- d(I,D), D > 0.")
    elements = [
        "D,I : d(I,D)",
        "D : d(I,D)",
        "D*I,I : d(I,D), c(I)",
        "D+E,I,J : d(I,D), d(J,E), I < J",
        "1,I : c(I)",
        "I : d(I,D), not c(I)",
        "2,I,g : g(I)",
        "-1,e : e",
        "1,D : d(0,D)",
        "1,n : not c(1)",
    ]
    for number in range(random.randint(1, 3)):
        parts = "; ".join(random.sample(elements, random.randint(1, 2)))
        name = random.choice(["sum", "sum", "sum", "sum+", "count", "min", "max"])
        aggregate = f"#{name}{{{parts}}}"
        low, high = sorted(random.randint(-3, 8) for _ in range(2))
        lines.append(
            random.choice(
                [
                    f"t({number},S) :- S = {aggregate}.",
                    f"t({number},S) :- S = {aggregate}.",
                    f"t({number},S) :- S = {aggregate}, not c(1).",
                    f"t({number},0) :- {aggregate} >= {high}.",
                    f"t({number},0) :- {low} <= {aggregate} < {high}.",
                    f"t({number},0) :- not {low} < {aggregate} <= {high}.",
                    f"t({number},0) :- {aggregate} != {low}.",
                    f"t({number},S) :- S = {low}..{high}, {aggregate} > S.",
                    f"t({number},0) :- {aggregate} = {low}. :- {aggregate} > {high}.",
                    f"{{t({number},1)}} :- {aggregate} > {low}.",
                    f"d(7,1) :- {aggregate} > {low}. t({number},0) :- d(7,1).",
                ]
            )
        )
    return " ".join(lines) + " #query t(X,S). #query t(0,S), not c(1) | d(0,D)."


def check(number: int, seed: int) -> int:
    random = Random(f"totals {seed} {number}")
    text = random_text(random)
    program = ground(parse(text))
    if len(program.questions) > 60:
        return 0
    return compare(text, program, random.choice(MEANINGS), ways=WAYS)


def test_running_totals_are_the_aggregates() -> None:
    assert sum(check(number, 0) for number in range(60)) > 150


def digits(count: int, rule: str) -> str:
    heads = "; ".join(f"0.1::digit(I,{value})" for value in range(10))
    return f"i(1..{count}). {heads} :- i(I). {rule}"


def test_a_named_sum_has_one_state_for_each_total() -> None:
    """Without groups 12 digits take minutes; with them, some 12 * 108 states with ten edges."""
    text = digits(12, "t(S) :- S = #sum{D,I : digit(I,D)}. #query t(X).")
    program = ground(parse(text))
    assert [question.text for question in program.questions] == [f"t({s})" for s in range(109)]
    ways = [1]
    for _ in range(12):
        ways = [sum(ways[max(s - 9, 0) : s + 1]) for s in range(len(ways) + 9)]
    meaning = Meaning(probability=Probability.MAXENT)
    circuit = compile(program, meaning)
    masses = circuit.masses(leaves.weights(program))
    assert np.allclose(masses[:, FIELDS.index("qe")] * 10**12, ways, rtol=1e-9)
    assert circuit.statistics.nodes < 40_000


def test_totals_beyond_32_bits_are_exact() -> None:
    text = """
    0.5::d(I,1500000000); 0.3::d(I,2000000001); 0.2::d(I,7) :- I = 1..4. less(1..3).
    far :- #sum{D,I : d(I,D); -2000000000,less,I : less(I)} > 2000000003.
    just :- #sum{D,I : d(I,D); -2000000000,less,I : less(I)} = 2000000004.
    #query far. #query just.
    """
    program = ground(parse(text))
    masses = compile(program, Meaning()).masses(leaves.weights(program))
    assert np.allclose(masses[:, FIELDS.index("a")], 0.3**4)
