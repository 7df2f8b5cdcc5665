"""Random programs with integers far beyond 32 bits against sums and arithmetic in Python's own."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable

import pytest

import dpasp
from dpasp.language.ast import Logic

SAID: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
MOST = 2**31 - 1


class RandomSum:
    """A sum over independent facts that is compared, as text and as its probability."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        size = chance.randint(2, 6)
        sign = chance.choice([(1,), (1, -1), (-1,)])
        large = chance.choice([MOST, 10**9, 2**30, 7])
        self.weights = [chance.choice(sign) * chance.randint(0, large) for _ in range(size)]
        if chance.random() < 0.3:  # in round numbers
            self.weights = [weight // 10**7 * 10**7 for weight in self.weights]
        self.certain = {i for i in range(size) if chance.random() < 0.2}
        self.probabilities = [chance.randint(1, 9) / 10 for _ in range(size)]
        self.said = chance.choice(list(SAID))
        self.plus = chance.random() < 0.25
        self.negated = chance.random() < 0.3
        near = [self.value(chosen) for chosen in self.choices()]
        fitting = [value for value in near if abs(value) < MOST]
        self.bound = chance.choice([0, MOST, *fitting, *fitting])
        self.mirrored = chance.random() < 0.3

    def choices(self) -> list[tuple[bool, ...]]:
        return list(itertools.product([True, False], repeat=len(self.weights)))

    def value(self, chosen: tuple[bool, ...]) -> int:
        weights = [max(0, w) if self.plus else w for w in self.weights]
        return sum(w for i, w in enumerate(weights) if chosen[i] or i in self.certain)

    def text(self) -> str:
        facts = " ".join(f"w({i},{weight})." for i, weight in enumerate(self.weights))
        choices = " ".join(f"{p}::x({i})." for i, p in enumerate(self.probabilities))
        certain = " ".join(f"x({i})." for i in self.certain)
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        aggregate = f"#sum{'+' * self.plus}{{W,I : x(I), w(I,W)}}"
        compared = f"{aggregate} {self.said} {self.bound}"
        if self.mirrored:
            compared = f"{self.bound} {turned.get(self.said, self.said)} {aggregate}"
        return f"{facts} {choices} {certain} ok :- {'not ' * self.negated}{compared}. #query ok."

    def probability(self) -> float:
        total = 0.0
        for chosen in self.choices():
            mass = 1.0
            for holds, p in zip(chosen, self.probabilities, strict=True):
                mass *= p if holds else 1 - p
            if SAID[self.said](self.value(chosen), self.bound) != self.negated:
                total += mass
        return total


@pytest.mark.parametrize("seed", range(120))
def test_sums_that_are_compared(seed: int) -> None:
    case = RandomSum(seed)
    expected = pytest.approx(case.probability(), abs=1e-12)
    for engine in ("compile", "enumerate", "bounds"):
        answer = dpasp.loads(case.text()).query(engine=engine)[0]
        assert (answer.lower, answer.upper) == (expected, expected), case.text()


@pytest.mark.parametrize("seed", range(200, 230))
def test_sums_under_every_semantics_and_in_every_command(seed: int) -> None:
    case = RandomSum(seed)
    program, expected = dpasp.loads(case.text()), case.probability()
    for logic in Logic:
        answer = program.query(semantics=f"{logic.value}, maxent")[0]
        assert answer.value == pytest.approx(expected, abs=1e-12), (logic, case.text())
    models = list(program.models())
    share = sum(model.probability[0] for model in models if "ok" in model.true)
    assert share == pytest.approx(expected, abs=1e-12)
    sampled = program.query(engine="sample", n=400, seed=1)[0]
    assert float(sampled.lower) == pytest.approx(expected, abs=0.2)
    explained = program.explain("ok")[0]
    assert explained.answer.lower == pytest.approx(expected, abs=1e-12)


ARITHMETIC: dict[str, Callable[[int, int], int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: None if y == 0 else int(abs(x) // abs(y)) * (1 if x * y >= 0 else -1),
    "\\": lambda x, y: None if y == 0 else abs(x) % abs(y) * (1 if x >= 0 else -1),
}


def expression(chance: random.Random, depth: int) -> tuple[str, Callable[[int], int | None]]:
    """An arithmetic term over X, and its value."""
    if depth == 0:
        if chance.random() < 0.6:
            return "X", lambda x: x
        number = chance.choice([1, 2, 3, 46341, 70000, 10**9, MOST])
        return str(number), lambda x: number
    sign = chance.choice(list(ARITHMETIC))
    (left, first), (right, second) = expression(chance, depth - 1), expression(chance, depth - 1)

    def value(x: int) -> int | None:
        a, b = first(x), second(x)
        return None if a is None or b is None else ARITHMETIC[sign](a, b)

    return f"({left}{sign}{right})", value


@pytest.mark.parametrize("seed", range(150))
def test_arithmetic_is_exact_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    text, value = expression(chance, chance.randint(1, 3))
    numbers = [chance.choice([0, 1, -1, 5, 46341, -46341, 10**9, MOST, -MOST]) for _ in range(3)]
    place = chance.choice(
        ["q(X,{0}) :- p(X).", "q(X,Y) :- p(X), Y = {0}.", "q(X,1) :- p(X), {0} > 7."]
    )
    program = dpasp.loads(" ".join(f"p({n})." for n in numbers) + " " + place.format(text))
    values = {n: value(n) for n in numbers}
    if any(found is not None and not -MOST - 1 <= found <= MOST for found in values.values()):
        with pytest.raises(dpasp.ProgramError, match="integers go from"):
            program.ground()
        return
    ground = program.ground()
    found = {tuple(a.number for a in s.arguments) for s in ground.atoms if s.name == "q"}
    if "> 7" in place:
        assert found == {(n, 1) for n, v in values.items() if v is not None and v > 7}
    else:
        assert found == {(n, v) for n, v in values.items() if v is not None}
