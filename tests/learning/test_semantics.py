"""Neural predicates under each semantics: the examples learn what nobody told them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import dpasp

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None, reason="needs scikit-learn"
)


def learned(name: str) -> dpasp.Program:
    program = dpasp.load(EXAMPLES / f"{name}.plp")
    program.learn()
    return program


@pytest.mark.parametrize(
    ("name", "query", "truth"),
    [
        ("arguments_learn", "odd(X)", "test_odd"),
        ("door_learn", "wants(X)", "test_wants"),
        ("game_learn", "open(X)", "test_even"),
        ("barber_learn", "undef shaves(barber,anna)", "test_even"),
    ],
)
def test_what_was_never_seen_is_learned(name: str, query: str, truth: str) -> None:
    program = learned(name)
    wanted = program.functions[truth]()
    rows = program.functions["test_rows"]()
    data = {"picture": rows} if wanted.ndim == 2 else {"picture(0)": rows}
    found = program.module().value(query, data).detach() > 0.5
    assert float((found == wanted.reshape(found.shape)).double().mean()) > 0.9


@pytest.mark.parametrize(
    ("name", "semantics", "seen"),
    [
        ("arguments_learn", "stable", ["undef in(0)"]),
        ("door_learn", "stable", ["undef go(0)"]),
        ("barber_learn", "lstable", ["undef shaves(barber,anna)"]),
        ("game_learn", "stable", ["undef win(0)"]),
    ],
)
def test_under_another_semantics_it_could_not_be(
    name: str, semantics: str, seen: list[str]
) -> None:
    program = dpasp.load(EXAMPLES / f"{name}.plp")
    rows = program.functions["test_rows"]()[:1]
    data = {"picture": rows} if rows.ndim == 3 else {"picture(0)": rows}
    assert program.module().log_prob([seen], data).isfinite().all()
    other = program.module(f"{semantics}, maxent")
    if semantics == "lstable":
        assert not other.log_prob([seen], data).isfinite().any()
    else:
        with pytest.raises(dpasp.DataError, match="no atom is ever undefined under the stable"):
            other.log_prob([seen], data)


def test_witnesses_that_contradict_each_other_are_told_by_the_interval() -> None:
    program = learned("witnesses_learn")
    truth = torch.tensor([text == "even" for text in program.functions["test_seen"]()])
    data = {"image(x)": program.functions["test_images"]()}
    found = program.module().bounds(["even", "odd"], data)
    lower, upper = found.lower.detach(), found.upper.detach()
    right = (lower[:, 0] + upper[:, 0] > 1) == truth
    width = upper[:, 0] - lower[:, 0]
    assert float(right.double().mean()) > 0.9
    assert float(width[~right].mean()) > 1.5 * float(width[right].mean())
    assert torch.allclose(lower[:, 0], 1 - upper[:, 1], atol=1e-5)


@pytest.mark.parametrize("seen", [{"a": ["undef", True]}, [["undef a"], ["a"]], ["a", "undef a"]])
def test_nothing_is_observed_to_be_undefined_under_a_two_valued_semantics(seen: Any) -> None:
    program = dpasp.loads("0.3?::a. b :- not a. #semantics maxent.")
    match = r"observes undef a, but no atom is ever undefined under the stable semantics"
    for refuse in (program.learn, program.module().log_prob):
        with pytest.raises(dpasp.DataError, match=match):
            refuse(seen)
    table = {"a": ["undef", True]}
    with pytest.raises(dpasp.DataError, match=match):
        program.query("b", evidence=table)
    three = dpasp.loads("0.3?::a. b :- not b. #semantics lstable, maxent.")
    assert three.module().log_prob(["undef b", "b"]).exp().tolist() == [1.0, 0.0]
