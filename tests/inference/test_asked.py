"""``#inference`` chooses the engine, and what is asked for wins over it."""

from __future__ import annotations

import pytest

import dpasp

TEXT = "0.3::a. #query a. "


@pytest.mark.parametrize(
    ("said", "engine", "used"),
    [
        ("", None, "compile"),
        ("#inference exact.", None, "compile"),
        ("#inference enumerate.", None, "enumerate"),
        ("#inference enumerate.", "compile", "compile"),
        ("#inference compile.", "enumerate", "enumerate"),
        ("#inference enumerate.", "exact", "compile"),
    ],
)
def test_who_chooses(said: str, engine: str | None, used: str) -> None:
    assert dpasp.loads(TEXT + said).query(engine=engine).engine == used


def test_an_engine_that_does_not_exist_is_refused() -> None:
    with pytest.raises(dpasp.UsageError, match="the engine 'magic' is not one of auto"):
        dpasp.loads(TEXT).query(engine="magic")


def test_options_belong_to_an_engine() -> None:
    with pytest.raises(dpasp.UsageError, match="compile has no option gap"):
        dpasp.loads(TEXT).query(engine="compile", gap=0.1)
    with pytest.raises(dpasp.UsageError, match="seed must be a whole number"):
        dpasp.loads(TEXT).query(seed=0.5)


def test_a_limit_under_another_name() -> None:
    program = dpasp.loads("0.5::a. #query a.")
    for name, remedy in (("time_limit", "seconds=10"), ("memory_limit", "megabytes=2000")):
        with pytest.raises(dpasp.UsageError, match=rf"limits=dpasp.Limits\({remedy}\)"):
            program.query(**{name: 3})
