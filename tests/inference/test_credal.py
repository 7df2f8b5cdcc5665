"""Many credal choices: branch and bound on the circuit is as exact as trying all vertices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.errors import MemoryLimit, TimeLimit
from dpasp.inference import boxes, intervals
from dpasp.inference.answers import Answer
from dpasp.limits import Watch
from tests.clocks import looks
from tests.oracle.generate import generate
from tests.oracle.programs import Choice

GRID = "r(0,0). r(X,Y) :- r(A,B), e(A,B,X,Y). "


def widened(choice: Choice, random: Random) -> Choice:
    """A choice with intervals, where that leaves no mass over."""
    if len(choice.heads) > 1 and sum(choice.lower) < 1:
        return choice
    low = (max(Fraction(0), p - Fraction(random.randint(0, 4), 10)) for p in choice.lower)
    high = (min(Fraction(1), p + Fraction(random.randint(0, 4), 10)) for p in choice.upper)
    return replace(choice, lower=tuple(low), upper=tuple(high))


def ask(program: dpasp.Program, query: str, semantics: str) -> str | list[float]:
    try:
        answers = program.query(query, semantics=semantics)
    except dpasp.InferenceError as error:
        return error.diagnostics[0].code
    return [*map(float, answers[0].numbers), answers.inconsistent]


def compare(
    program: dpasp.Program, query: str, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All vertices say what is said when no number of them counts as few."""
    monkeypatch.setattr(intervals, "EXACT", replace(intervals.EXACT, few_vertices=1 << 20))
    expected = ask(program, query, semantics)
    monkeypatch.setattr(intervals, "EXACT", replace(intervals.EXACT, few_vertices=0))
    found = ask(program, query, semantics)
    if isinstance(expected, str):
        assert found == expected, (str(program.source), query)
    else:
        assert found == pytest.approx(expected, abs=1e-10), (str(program.source), query)


def test_the_search_finds_what_all_vertices_say(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    for seed in range(300, 360):
        program = generate(seed, 6)
        random = Random(seed)
        program = replace(program, choices=tuple(widened(c, random) for c in program.choices))
        loaded = dpasp.loads(str(program))
        logic = ("stable", "partial", "lstable", "wellfounded", "smproblog")[seed % 5]
        if logic == "wellfounded" and program.disjunctive:
            continue
        for query in program.queries:
            if logic == "stable" and query.undefined:
                continue
            compare(loaded, str(query), f"{logic}, credal", monkeypatch)
            searched += 1
    assert searched > 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e :- x, not y. y :- x, not e. q :- not x. #query q | e.", (0, 0)),
        ("e :- x, not y. y :- x, not e. q :- not x. #query not q | e.", (1, 1)),
    ],
)
def test_a_bound_that_no_vertex_decides(
    text: str, expected: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where x cannot be, the evidence is impossible; where it must be, e is never sure."""
    for few in (0, 1 << 20):
        monkeypatch.setattr(intervals, "EXACT", replace(intervals.EXACT, few_vertices=few))
        assert dpasp.loads(f"[0, 1]::x. {text}").query()[0].numbers == expected


def test_vertices_that_differ_say_what_all_vertices_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """All intervals are the same, so that some choices are alike."""
    fewer = 0

    def count(classes: list[list[int]], _: object) -> int:
        nonlocal fewer
        fewer += any(len(own) > 1 for own in classes)
        return 0

    monkeypatch.setattr(intervals, "count_vertices", count)
    for seed in range(400, 460):
        program = generate(seed, 6)
        same = tuple(
            replace(one, lower=(Fraction(1, 5),), upper=(Fraction(7, 10),))
            if len(one.heads) == 1
            else one
            for one in program.choices
        )
        loaded = dpasp.loads(str(replace(program, choices=same)))
        logic = ("stable", "partial", "lstable")[seed % 3]
        for query in program.queries:
            if logic == "stable" and query.undefined:
                continue
            compare(loaded, str(query), f"{logic}, credal", monkeypatch)
    assert fewer > 50


def test_a_stopped_search_holds_what_all_vertices_say(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = 0
    for seed in range(360, 440):
        program, random = generate(seed, 6), Random(seed)
        program = replace(program, choices=tuple(widened(c, random) for c in program.choices))
        loaded, query = dpasp.loads(str(program)), str(program.queries[0])
        semantics = ("partial", "lstable")[seed % 2]
        expected = ask(loaded, query, semantics)
        with monkeypatch.context() as patch:
            patch.setattr(intervals, "EXACT", replace(intervals.EXACT, few_vertices=0))
            halvings = 2 + seed % 9  # coarse bounds and fine ones
            patch.setattr(boxes, "EXACT", replace(boxes.EXACT, halvings=halvings))
            stop_after(seed % 3, patch)
            found = ask(loaded, query, semantics)
        if isinstance(expected, str):
            assert found == expected, (str(program), query)
            continue
        assert not isinstance(found, str)
        assert found[0] <= expected[0] + 1e-12, (str(program), query)
        assert found[1] >= expected[1] - 1e-12, (str(program), query)
        stopped += found[:2] != pytest.approx(expected[:2], abs=1e-6)
    assert stopped > 20


def edges(size: int, random: Random) -> dict[str, tuple[float, float]]:
    return {
        f"e({i},{j},{i + down},{j + 1 - down})": (
            round(random.uniform(0.2, 0.5), 2),
            round(random.uniform(0.6, 0.9), 2),
        )
        for i in range(size)
        for j in range(size)
        for down in (0, 1)
        if i + down < size and j + 1 - down < size
    }


def test_24_credal_edges_of_a_grid() -> None:
    """Reaching the corner grows with every edge, so its bounds are those of the ends."""
    intervals = edges(4, Random(1))
    text = "".join(f"[{low},{high}]::{edge}. " for edge, (low, high) in intervals.items())
    found = dpasp.loads(text + GRID).query("r(3,3)")[0]
    for end, value, at in ((0, found.lower, found.lower_at), (1, found.upper, found.upper_at)):
        fixed = "".join(f"{bounds[end]}::{edge}. " for edge, bounds in intervals.items())
        assert value == pytest.approx(dpasp.loads(fixed + GRID).query("r(3,3)")[0].lower, rel=1e-9)
        assert at == pytest.approx({edge: bounds[end] for edge, bounds in intervals.items()})


def test_30_credal_facts_with_evidence_and_the_vertex_that_attains_the_bounds() -> None:
    random = Random(5)
    lines = [f"[0.{random.randint(1, 4)}, 0.{random.randint(5, 9)}]::x({i})." for i in range(30)]
    atoms = [f"x({i})" for i in range(30)]
    for k in range(30):
        for _ in range(random.randint(1, 2)):
            body = [random.choice(("", "", "not ")) + atom for atom in random.sample(atoms, 2)]
            lines.append(f"y({k}) :- {', '.join(body)}.")
        atoms.append(f"y({k})")
    program = dpasp.loads("\n".join(lines))
    found = program.query("y(20) | y(29), not y(25)", limits=looks(100_000))[0]
    assert found.exact
    for value, at in ((found.lower, found.lower_at), (found.upper, found.upper_at)):
        assert at is not None
        fixed = [f"{p}::{atom}." for atom, p in at.items()] + lines[30:]
        one = dpasp.loads("\n".join(fixed)).query("y(20) | y(29), not y(25)")[0]
        assert (one.lower, one.upper) == pytest.approx((value, value), rel=1e-9)
    assert isinstance(found.lower, float)
    assert isinstance(found.upper, float)
    middle = ["0.45::" + line.split("::")[1] for line in lines[:30]] + lines[30:]
    inside = dpasp.loads("\n".join(middle)).query("y(20) | y(29), not y(25)")[0]
    assert found.lower < np.asarray(inside.lower) < found.upper


def test_the_vertex_is_told_for_few_choices_too() -> None:
    found = dpasp.loads("[0.2, 0.5]::a. [0.1, 0.3]::b. 0.5::c. d :- a, not b.").query("d")[0]
    assert found.lower_at == pytest.approx({"a": 0.2, "b": 0.3})
    assert found.upper_at == pytest.approx({"a": 0.5, "b": 0.1})
    assert dpasp.loads("0.5::c.").query("c")[0].lower_at is None


def grid(size: int, *questions: str) -> dpasp.Program:
    """A grid of credal edges; the extremes of what :func:`hard` asks take 5 × 5 many seconds."""
    intervals = edges(size, Random(2))
    text = "".join(f"[{low},{high}]::{edge}. " for edge, (low, high) in intervals.items())
    program = dpasp.loads(text + GRID + "".join(f"#query {question}. " for question in questions))
    program.ground()
    return program


def hard(size: int) -> str:
    return f"r(1,1), not r(3,1) | r({size - 1},{size - 1}), not r(2,3)"


def stop_after(
    steps: int, patch: pytest.MonkeyPatch, limit: type[dpasp.LimitReached] = TimeLimit
) -> None:
    """Let a limit stop all searches after so many steps."""
    left = iter(range(steps))

    class Stopping(Watch):
        def check(self) -> None:
            if next(left, None) is None:
                raise limit("stopped")

    patch.setattr(boxes, "EXACT", replace(boxes.EXACT, grace=60.0))
    patch.setattr(Watch, "share", lambda self, parts, report=None: Stopping(self.limits))


@pytest.mark.parametrize("limit", [TimeLimit, MemoryLimit])
def test_a_limit_leaves_sure_bounds(
    monkeypatch: pytest.MonkeyPatch, limit: type[dpasp.LimitReached]
) -> None:
    """The bounds hold the exact ones, come closer with time, and say how far they may be off."""
    program = grid(4)
    exact = program.query(hard(4))[0].numbers
    gaps: list[float] = []
    for steps in (1, 60, 90):
        with monkeypatch.context() as patch:
            stop_after(steps, patch, limit)
            answers = program.query(hard(4))
        found = answers[0]
        assert isinstance(found, Answer)
        assert found.lower is not None
        assert found.upper is not None
        assert found.gap is not None
        assert float(found.lower) <= float(exact[0])
        assert float(found.upper) >= float(exact[1])
        assert found.interval == (found.lower, found.upper)
        assert float(found.gap) >= max(exact[0] - found.lower, found.upper - exact[1]) - 1e-12
        gaps.append(float(found.gap))
        (warning,) = answers.warnings
        assert (warning.code, warning.severity) == ("stopped-early", "warning")
        assert warning.message == f"stopped, with a gap of {gaps[-1]:g}"
        assert answers.to_dict()["warnings"] == [warning.to_dict()]
        assert answers.to_dict()["answers"][0]["gap"] == gaps[-1]
        assert str(found).endswith(f"(gap {gaps[-1]:.6f})")
    assert gaps[2] < gaps[1] <= gaps[0]


def test_the_search_keeps_to_the_time_limit() -> None:
    program = grid(5, hard(5))
    program.ground()
    answers = program.query(limits=looks(200))
    assert answers.warnings[0].message.startswith("stopped at the time limit of 1000 s, with a gap")


def test_one_question_may_be_exact_and_another_not(monkeypatch: pytest.MonkeyPatch) -> None:
    program = grid(5, "r(1,1)", hard(5))
    exact = program.query("r(1,1)")[0]
    program.ground()
    monkeypatch.setattr(boxes, "EXACT", replace(boxes.EXACT, grace=0.0))
    easy, stopped = program.query(limits=looks(400))
    assert isinstance(easy, Answer)
    assert isinstance(stopped, Answer)
    assert easy.gap is None
    assert easy.numbers == pytest.approx(exact.numbers)
    assert stopped.gap is not None
