"""Every engine under every semantics, with and without intervals: none refuses, all agree."""

from __future__ import annotations

import pytest

import dpasp
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.engines import ENGINES

LOOPS = "a :- x, not b. b :- y, not a. c :- z, a. c :- b. #query a. #query c | x. #query not c."
PLAIN = f"0.3::x. 0.5::y. 0.3::z. {LOOPS}"
INTERVALS = f"[0.2, 0.4]::x. 0.5::y. 0.3::z. {LOOPS}"
ROUNDING = 1e-9


def check(text: str, engine: str, semantics: str) -> None:
    """What an engine says holds the exact answers, or is equal to them."""
    exact = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
    options = {"seed": 3, "n": 4000} if engine == "sample" else {}
    found = dpasp.loads(text).query(semantics=semantics, engine=engine, **options)
    assert len(found) == 3
    for truth, answer in zip(exact, found, strict=True):
        assert isinstance(answer, dpasp.Answer)
        low, high = float(truth.numbers[0]), float(truth.numbers[-1])
        if answer.interval is None:
            assert answer.numbers == pytest.approx(truth.numbers)
        else:
            assert float(answer.interval[0]) <= low + ROUNDING
            assert high - ROUNDING <= float(answer.interval[1])


@pytest.mark.parametrize("logic", [logic.value for logic in Logic])
@pytest.mark.parametrize("engine", list(ENGINES))
def test_no_engine_refuses_a_semantics(engine: str, logic: str) -> None:
    for probability in Probability:
        check(PLAIN, engine, f"{logic}, {probability.value}")


@pytest.mark.parametrize("logic", [logic.value for logic in Logic])
@pytest.mark.parametrize("engine", list(ENGINES))
def test_no_engine_refuses_intervals(engine: str, logic: str) -> None:
    check(INTERVALS, engine, f"{logic}, credal")
    with pytest.raises(dpasp.ProgramError, match="no meaning under maxent"):
        dpasp.loads(INTERVALS).query(semantics=f"{logic}, maxent", engine=engine)
