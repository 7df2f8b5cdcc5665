"""The limits of a query reach the evaluation of its circuit, and draws that need no solving."""

from __future__ import annotations

from typing import Any

import pytest

import dpasp
from dpasp.circuits import Circuit
from dpasp.inference.sharing import _statistics
from dpasp.limits import UNLIMITED, Limits
from tests.clocks import looks

TEXT = "0.3::a. 0.6::b. c :- a. c :- b. #query c."


@pytest.mark.parametrize("text", [TEXT, f"{TEXT} [0.2, 0.4]::d. #query d | c.", f"{TEXT} #map a?."])
@pytest.mark.parametrize("explained", [False, True])
def test_every_evaluation_has_the_watch_of_its_query(
    text: str, explained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, watches = dpasp.loads(text), []
    masses = Circuit.masses

    def noting(self: Circuit, weights: Any, **options: Any) -> Any:
        watches.append(options.get("watch", UNLIMITED))
        return masses(self, weights, **options)

    monkeypatch.setattr(Circuit, "masses", noting)
    limits = Limits(seconds=1000)
    if explained and "[" not in text:
        program.explain("c", limits=limits)
    else:
        program.query(limits=limits)
    assert watches
    assert all(watch.limits.seconds == 1000 for watch in watches)


def test_bounds_tell_how_much_of_the_whole_is_known() -> None:
    told: list[tuple[float, float | None]] = []
    program = dpasp.loads("0.3::a. 0.6::b. c :- a, not d. d :- a, not c. c :- b. #query c.")
    asked = program.query(engine="bounds", progress=lambda done, total: told.append((done, total)))
    assert asked[0].upper == pytest.approx(0.72)
    assert told[-1] == (pytest.approx(1.0), 1.0)
    assert {total for _, total in told} == {1.0}


def test_sampling_keeps_its_time_where_nothing_new_is_drawn() -> None:
    program = dpasp.loads("0.5::a. #query a.")
    program.ground()
    with pytest.raises(dpasp.TimeLimit):
        program.sample(10**9, limits=looks(100))
    answers = program.query(engine="sample", n=10**9, seed=1, limits=looks(100))
    assert [warning.code for warning in answers.warnings] == ["stopped-early"]
    assert 0 < answers[0].samples < 10**9


def test_the_times_of_parts_are_added_and_their_sizes_are_not() -> None:
    parts = [
        {"nodes": 3, "way": "tables", "seconds": {"compile": 1.0, "evaluate": 0.5}},
        {"nodes": 8, "way": "tables", "seconds": {"compile": 2.0}},
        {"nodes": 5, "seconds": {"evaluate": 0.25}},
    ]
    expected = {"nodes": 8, "way": "tables", "seconds": {"compile": 3.0, "evaluate": 0.75}}
    assert _statistics(parts) == expected
