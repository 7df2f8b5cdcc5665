"""Learning where the circuit does not fit: lower bounds of the likelihood, and samples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import dpasp
from dpasp.inference.tuning import BOUNDS
from dpasp.learning import ascents
from dpasp.learning.ascents import Ascent, LikelihoodWarning, ascent_of
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import ObservationReader
from dpasp.learning.options import learn_options
from dpasp.learning.tuning import Tuning
from dpasp.limits import UNLIMITED
from tests.learning.programs import addition

# Whether two corners of a grid are connected: every circuit soon grows beyond a small budget.
GRID = """
edge(X,Y, X+1,Y) :- X = 0..1, Y = 0..2. edge(X,Y, X,Y+1) :- X = 0..2, Y = 0..1.
?::open(X,Y,V,W) :- edge(X,Y,V,W). 0.2::tunnel(0..2).
way(X,Y, V,W) :- open(X,Y,V,W). way(X,Y, V,W) :- open(V,W,X,Y).
way(I,I, 2,2) :- tunnel(I).
reach(0,0). reach(V,W) :- reach(X,Y), way(X,Y,V,W).
"""
FAR = [["reach(2,2)"]] * 65 + [["not reach(2,2)"]] * 35
# Models differ: not determined.
INNER = """
?::x(1..6). a(X) :- x(X), not b(X). b(X) :- x(X), not a(X). ok :- a(X), a(X+1). ok :- a(6).
"""
OK = [["ok"]] * 55 + [["not ok"]] * 45
SEMANTICS = ("stable, maxent", "stable, credal", "partial, maxent", "lstable, credal")


def made(text: str, rows: list[list[str]], **options: Any) -> tuple[ProgramModule, Ascent]:
    """A model and what it would ascend."""
    program = dpasp.loads(text)
    model = program.module()
    seen = ObservationReader(model.ground).read(rows, "rows")
    return model, ascent_of(model, seen, learn_options(program.source, options), UNLIMITED)


def weights_of(model: ProgramModule, probability: float) -> Tensor:
    with torch.no_grad():
        row = torch.tensor([[probability, 1 - probability]], dtype=torch.float64)
        model.probabilities.assign(row)
        return model.weights().detach()


def logs_of(ascent: Ascent, weights: Tensor) -> Tensor:
    counts = torch.ones(ascent.likelihood.count, dtype=torch.float64)
    return ascent.likelihood.log_shared(weights, counts)[0]


def learned(text: str, rows: list[list[str]], **options: Any) -> tuple[float, dpasp.History]:
    program = dpasp.loads(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelihoodWarning)
        history = program.learn(rows, display="none", **options)
    return program.learned()[0]["values"][0], history


CASES = [(GRID, FAR, 200, f"#semantics {s}.") for s in SEMANTICS]


@pytest.mark.parametrize(("text", "rows", "nodes", "semantics"), CASES)
def test_the_bound_is_below_the_likelihood_and_only_tightens(
    text: str, rows: list[list[str]], nodes: int, semantics: str
) -> None:
    model, exact = made(text + semantics, rows, likelihood="exact")
    _, bound = made(text + semantics, rows, likelihood="bound", nodes=nodes)
    assert bound.kind == "bound"
    points = [weights_of(model, p) for p in (0.2, 0.5, 0.8)]
    before = [torch.full((2,), -torch.inf)] * len(points)
    widths = []
    for iteration in range(6):
        for place, weights in enumerate(points):
            low, whole = logs_of(bound, weights), logs_of(exact, weights)
            above = bound.above(weights, torch.arange(2))
            assert (low <= whole + 1e-12).all()
            assert (whole <= low + above + 1e-9).all()
            assert (low >= before[place] - 1e-12).all()
            before[place] = low
            widths.append(float(above.sum()))
        bound = Ascent.by(bound.source.tightened(points[1][:, 0].numpy(), iteration + 1))
    assert widths[0] > 0  # there was something to tighten


@pytest.mark.parametrize(("text", "rows", "nodes", "semantics"), CASES)
def test_the_gradient_of_a_bound(
    text: str, rows: list[list[str]], nodes: int, semantics: str
) -> None:
    model, bound = made(text + semantics, rows, likelihood="bound", nodes=nodes)
    weights, counts = weights_of(model, 0.4), torch.tensor([0.3, 0.7], dtype=torch.float64)
    slopes = bound.likelihood.log_shared(weights, counts)[1]
    step = 1e-6
    for leaf in range(0, len(weights), 3):
        ends = []
        for sign in (1, -1):
            moved = weights.clone()
            moved[leaf] += sign * step
            ends.append(float(logs_of(bound, moved) @ counts))
        assert float(slopes[leaf]) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)
    wide = torch.cat([weights, weights_of(model, 0.7)], dim=1)
    logs, columns = bound.likelihood.log(wide, torch.tensor([1, 0]))
    assert logs[0] == pytest.approx(float(logs_of(bound, weights)[1]))
    single = bound.likelihood.log_shared(weights, torch.tensor([0.0, 1.0]).double())[1]
    assert torch.allclose(columns[:, :1], single)


@pytest.mark.parametrize(("text", "rows", "nodes", "semantics"), CASES)
def test_a_bound_in_log_space(text: str, rows: list[list[str]], nodes: int, semantics: str) -> None:
    model, bound = made(text + semantics, rows, likelihood="bound", nodes=nodes)
    assert bound.kind == "bound"
    weights, engine = weights_of(model, 0.3), bound.likelihood.engine
    fields = bound.likelihood.mixture.fields
    known = engine.traced(weights, fields)[0]
    seeds = (known > 0).double()
    masses, slopes = engine.gradient(weights, seeds / known.clamp(min=1e-300), fields)
    logs, log_slopes = engine.gradient(weights, seeds, fields, log=True)
    assert torch.allclose(logs, masses.log())
    assert torch.allclose(log_slopes, slopes)


@pytest.mark.parametrize("alg", ["fixpoint", "lagrange", "gradient"])
def test_little_room_is_enough_to_learn(alg: str) -> None:
    niters = 30 if alg == "fixpoint" else 60
    exact, _ = learned(GRID, FAR, alg=alg, niters=niters, likelihood="exact")
    near, history = learned(GRID, FAR, alg=alg, niters=niters, likelihood="bound", nodes=1200)
    assert near == pytest.approx(exact, abs=0.03)
    assert history.likelihood == "bound"
    gaps = [record.gap for record in history]
    assert all(gap is not None for gap in gaps)
    if alg == "fixpoint":  # never falls, and what is compiled further only raises it
        values = [record.log_likelihood for record in history]
        assert values == sorted(values)


@pytest.mark.parametrize(("text", "rows"), [(GRID, FAR), (INNER, OK)], ids=["certain", "inner"])
def test_sampled_gradients_are_unbiased(text: str, rows: list[list[str]]) -> None:
    model, exact = made(text, rows, likelihood="exact")
    _, sampled = made(text, rows, likelihood="sampled", samples=50, seed=3)
    weights, counts = weights_of(model, 0.3), torch.tensor([0.65, 0.35], dtype=torch.float64)
    wanted, slopes = exact.likelihood.log_shared(weights, counts)
    drawn = []
    for step in range(100):
        sampled.begin(0, step)
        drawn.append(sampled.likelihood.log_shared(weights, counts)[1][:, 0])
    several = torch.stack(drawn)
    error = several.std(dim=0) / len(drawn) ** 0.5
    # The circuit leaves out what does not matter: compare what is within the simplex.
    pairs = several.mean(dim=0).view(-1, 2) - slopes.view(-1, 2)
    spread = error.view(-1, 2).norm(dim=1) + 1e-12
    assert ((pairs[:, 0] - pairs[:, 1]).abs() <= 4 * spread).all()
    logs = logs_of(sampled, weights)
    assert torch.allclose(logs, wanted, atol=0.5)


def test_samples_learn() -> None:
    for text, rows in ((GRID, FAR), (INNER, OK)):
        exact, _ = learned(text, rows, niters=30, likelihood="exact")
        near, history = learned(text, rows, niters=30, likelihood="sampled", seed=1)
        assert near == pytest.approx(exact, abs=0.03)
        assert history.likelihood == "sampled"
        assert history[0].to_dict()["likelihood"] == "sampled"
        assert "sampled log-likelihood" in str(history)


def test_auto_is_exact_if_it_fits_and_says_if_not() -> None:
    program = dpasp.loads(GRID)
    assert program.learn(FAR, niters=1).likelihood == "exact"
    with pytest.warns(LikelihoodWarning, match="ascends a lower bound"):
        history = program.learn(FAR, niters=2, nodes=50)
    assert history.likelihood == "bound"
    assert [set(record) for record in history.to_list()] == [
        {"iteration", "log_likelihood", "likelihood", "gap"}
    ] * 2
    assert "below the exact one" in str(history)
    with pytest.raises(dpasp.LimitReached):
        program.learn(FAR, niters=2, nodes=50, likelihood="exact")
    assert dpasp.loads(GRID + '#learn "x.csv", likelihood = "bound", nodes = 9.')


def test_what_is_learned_by_a_bound_has_no_standard_errors() -> None:
    program = dpasp.loads(GRID)
    program.learn(FAR, niters=1, likelihood="exact")
    assert "errors" in program.learned()[0]
    program.learn(FAR, niters=1, likelihood="bound")
    assert "errors" not in program.learned()[0]


def test_what_does_not_go_is_refused_with_what_does() -> None:
    network = dpasp.loads(addition(), python=True)
    with pytest.raises(dpasp.DataError, match='say likelihood = "bound"'):
        network.learn(likelihood="sampled")
    interval = dpasp.loads("[0.1, 0.2]::a. ?::b. c :- a, b.")
    for kind in ("bound", "sampled"):
        with pytest.raises(dpasp.DataError, match="intervals of probabilities"):
            interval.learn([["c"]], likelihood=kind)
        with pytest.raises(dpasp.DataError, match="imprecise needs exact counts"):
            dpasp.loads("?::b.").learn([["b"]], likelihood=kind, imprecise=1)
    with pytest.raises(dpasp.UsageError, match="one of auto, exact, bound, sampled"):
        interval.learn([["c"]], likelihood="sure")


def test_a_bound_of_what_the_choices_do_not_determine_is_refused() -> None:
    with pytest.raises(dpasp.DataError, match="do not determine the observations"):
        dpasp.loads(INNER).learn(OK, likelihood="bound")
    with pytest.raises(dpasp.DataError, match='say likelihood = "sampled"'):
        dpasp.loads(INNER).learn(OK, nodes=5)


def test_a_bound_of_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.inference.bounds.relaxed.BOUNDS", replace(BOUNDS, evened=(0.0,)))
    rare = "1e-9::x(1..3). ?::y. z :- x(1), x(2), x(3), y."
    with pytest.raises(dpasp.DataError, match="there is no bound to ascend"):
        dpasp.loads(rare).learn([["z"]], likelihood="bound")


def test_samples_of_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.learning.ascents.TUNING", Tuning(most_worlds=10_000))
    rare = "1e-9::x(1..3). ?::y. z :- 2 { x(1..3) }, y."
    with pytest.raises(dpasp.DataError, match="none of 10,240 sampled worlds"):
        dpasp.loads(rare).learn([["z"]], likelihood="sampled")


def test_networks_learn_by_a_bound() -> None:
    whole = dpasp.loads(addition(), python=True)
    exact = whole.learn(likelihood="exact")
    part = dpasp.loads(addition(), python=True)
    history = part.learn(likelihood="bound", nodes=200)
    assert history.likelihood == "bound"
    for one, other in zip(exact, history, strict=True):
        assert other.gap is not None
        assert other.log_likelihood <= one.log_likelihood + 5
    assert history[-1].log_likelihood > history[0].log_likelihood


@pytest.mark.parametrize(
    ("text", "rows", "options"),
    [
        (GRID, FAR, {"likelihood": "bound", "nodes": 200}),
        (GRID, FAR, {"likelihood": "sampled"}),
    ],
)
def test_going_on_gives_the_same_bits(
    tmp_path: Path, text: str, rows: list[list[str]], options: dict[str, Any]
) -> None:
    file = tmp_path / "run.checkpoint"
    whole = dpasp.loads(text)
    expected = whole.learn(rows, niters=6, **options)
    begun = dpasp.loads(text)
    begun.learn(rows, niters=3, checkpoint=file, **options)
    rest = dpasp.loads(text)
    assert rest.learn(rows, niters=6, resume=file, **options).to_list() == expected.to_list()
    assert rest.learned() == whole.learned()


def test_a_bound_is_restored_in_place_of_what_was_compiled() -> None:
    _, fresh = made(GRID, FAR, likelihood="bound", nodes=200)
    nothing = [[[[], -1], [[], 0]] for _ in range(2)]  # no choice was known when it was written
    assert fresh.source is not None
    back = fresh.source.restored([0, nothing])
    assert back.state == [0, nothing]
    assert set(back.likelihood.engine.parts) == {None}


def test_going_on_with_another_likelihood_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.checkpoint"
    program = dpasp.loads(GRID)
    program.learn(FAR, niters=1, checkpoint=file)

    def no_room(*_: object) -> None:
        raise dpasp.MemoryLimit("out of memory")

    monkeypatch.setattr(ascents, "_exact", no_room)
    with warnings.catch_warnings(), pytest.raises(dpasp.DataError, match="lower bound"):
        warnings.simplefilter("ignore", LikelihoodWarning)
        program.learn(FAR, niters=2, resume=file)
