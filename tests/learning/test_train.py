"""The loop: what it learns, when it stops, how it goes on, what it refuses."""

from __future__ import annotations

import os
import signal
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

import dpasp
from dpasp.circuits.gpu.walks import Walked
from dpasp.language import parse
from dpasp.learning.history import Moment, StopReason
from dpasp.learning.masses import CircuitEngine
from dpasp.learning.options import learn_options
from dpasp.learning.steps import Learner
from dpasp.learning.train import LATER, ConvergenceWarning
from dpasp.learning.tuning import Tuning
from tests.clocks import Given

from .programs import addition

SIMPLE = """?::a. ?::b. c :- a, not b. #learn @rows, niters = 5.
#python
def rows():
    return [["c"]] * 3 + [["not c"]] * 2 + [["a"]]
#end."""


def state(program: dpasp.Program) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in program.module().state_dict().items()}


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("rule", ["lagrange", "neurasp", "gradient"])
def test_networks_and_parameters_learn_together(rule: str) -> None:
    program = dpasp.loads(addition(), python=True)
    history = program.learn(alg=rule, niters=25)
    assert [record.iteration for record in history] == list(range(1, 26))
    assert history[-1].log_likelihood > history[0].log_likelihood / 3
    labels = [row[0] for row in program.functions["sums"]()]
    assert program.accuracy("s(X)", labels) > 0.9
    assert program.learned()[0]["values"][0] < 0.2


@pytest.mark.parametrize("optimiser", ["SGD", "adamw", "LBFGS", "RMSprop"])
def test_any_optimiser(optimiser: str) -> None:
    text = (
        addition(optimiser).replace("lr = 0.01", "lr = 0.1").replace("Dropout(0.2)", "Identity()")
    )
    history = dpasp.loads(text, python=True).learn(niters=4)
    assert history[-1].log_likelihood > history[0].log_likelihood


def test_the_same_seed_gives_the_same_bits() -> None:
    found = []
    for seed in (1, 1, 2):
        program = dpasp.loads(addition(), python=True)
        program.learn(niters=2, seed=seed)
        found.append(state(program))
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_learning_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    dpasp.loads(addition(), python=True).learn(niters=1)
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("rule", ["lagrange", "gradient"])
def test_resuming_gives_the_same_bits(rule: str, tmp_path: Path) -> None:
    whole = dpasp.loads(addition(), python=True)
    expected = whole.learn(alg=rule, momentum=0.5)
    file = tmp_path / "part.checkpoint"
    dpasp.loads(addition(), python=True).learn(alg=rule, momentum=0.5, niters=2, checkpoint=file)
    rest = dpasp.loads(addition(), python=True)
    history = rest.learn(alg=rule, momentum=0.5, resume=file)
    assert history.to_list() == expected.to_list()
    assert same(state(rest), state(whole))


def test_an_interrupt_saves_in_the_middle_of_an_iteration(tmp_path: Path) -> None:
    whole = dpasp.loads(addition(), python=True)
    expected = whole.learn()
    file = tmp_path / "part.checkpoint"
    steps = 0

    def interrupt(moment: Moment) -> None:
        nonlocal steps
        steps += 1
        if steps == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpasp.learning.train.TUNING", Tuning(report=0.0))
        with pytest.raises(dpasp.Interrupted, match="what is learned so far is in"):
            dpasp.loads(addition(), python=True).learn(checkpoint=file, watcher=interrupt)
    with safe_open(file, "pt") as saved:
        assert saved.metadata()["format"] == "dpasp-2"
    rest = dpasp.loads(addition(), python=True)
    assert rest.learn(resume=file).to_list() == expected.to_list()
    assert same(state(rest), state(whole))


def test_a_time_limit_saves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.learning.train.TUNING", Tuning(report=0.0))
    file, clock = tmp_path / "part.checkpoint", Given()
    with pytest.raises(dpasp.TimeLimit, match="what is learned so far"):
        dpasp.loads(addition(), python=True).learn(
            niters=10**9,
            checkpoint=file,
            periodic=False,
            limits=clock.limits(),
            watcher=lambda moment: clock.end(),
        )
    assert file.exists()


def test_a_checkpoint_of_other_learning_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "part.checkpoint"
    dpasp.loads(addition(), python=True).learn(niters=1, checkpoint=file)
    for other in ({"batch": 40}, {"alg": "neurasp"}, {"seed": 3}):
        with pytest.raises(dpasp.DataError) as caught:
            dpasp.loads(addition(), python=True).learn(resume=file, **other)
        assert caught.value.diagnostics[0].code == "checkpoint-other"
    (tmp_path / "text").write_text("no tensors")
    with pytest.raises(dpasp.DataError, match="holds no learned parameters"):
        dpasp.loads(addition(), python=True).learn(resume=tmp_path / "text")


def test_what_was_learned_is_saved_and_restored(tmp_path: Path) -> None:
    program = dpasp.loads(addition(), python=True)
    program.learn(niters=2)
    program.save(tmp_path / "learned.safetensors")
    other = dpasp.loads(addition(), python=True)
    other.restore(tmp_path / "learned.safetensors")
    assert same(state(program), state(other))
    assert other.query()[0].value == pytest.approx(program.query()[0].value, abs=0)
    with pytest.raises(dpasp.DataError, match="another program"):
        dpasp.loads("?::a.").restore(tmp_path / "learned.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["learned.safetensors"]


def test_examples_held_out_stop_learning_and_the_best_is_kept() -> None:
    seen = [["a"]] * 30 + [["not a"]] * 10
    program = dpasp.loads("?::a. #semantics maxent.")
    history = program.learn(seen, niters=50, validation=0.25, patience=2)
    assert history.reason is StopReason.PATIENCE
    assert len(history) < 10
    assert history.examples == 30
    assert all(record.validation is not None for record in history)
    scores = [record.validation for record in history if record.validation is not None]
    held_out = program.module().log_prob([["a"], ["not a"]]).detach()
    best = max(scores)
    shares = [k * held_out[0] + (10 - k) * held_out[1] for k in range(11)]
    assert any(float(score) == pytest.approx(best) for score in shares)


def test_batches_cover_every_example_once() -> None:
    seen = [["a"]] * 3 + [["not a"]] * 4
    history = dpasp.loads("0.5?::a. #semantics maxent.").learn(
        seen, niters=1, batch=3, alg="lagrange", lr=1e-9
    )
    assert history[0].log_likelihood == pytest.approx(7 * torch.tensor(0.5).log().item(), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "seen", "options", "code"),
    [
        ("a.", [["a"]], {}, "learn-nothing"),
        ("?::a. b :- a.", [["a"], ["b"], ["b", "not a"]], {}, "observation-impossible"),
        ("?::a.", [["a"], ["c"]], {}, "observation-atom"),
        ("?::a.", [], {}, "observation-none"),
        ("?::a.", 3, {}, "observation-syntax"),
        ("?::a.", [[3]], {}, "observation-syntax"),
        ("?::a.", [["a"]], {"validation": 1.0}, "learn-validation"),
        (addition(), None, {"alg": "fixpoint"}, "learn-neural-fixpoint"),
        (addition(), [["s(0)"]], {}, "data-length"),
        (addition("Adem"), None, {}, "unknown-optimiser"),
        (addition().replace("logits", "logits, betta = 1"), None, {}, "optimiser-option"),
        (addition().replace("logits", "logits, eps = -1"), None, {}, "optimiser-option"),
    ],
)
def test_what_is_refused(text: str, seen: object, options: dict[str, object], code: str) -> None:
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads(text, python=True).learn(seen, **options)
    assert caught.value.diagnostics[0].code == code


def test_impossible_observations_are_told_by_index_and_text() -> None:
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads("?::a. b :- a.").learn([["a"], ["not a", "b"], [], ["b", "~a"]])
    told = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert told == [
        "example 1 observes not a, b, which has probability 0",
        "example 3 observes not a, b, which has probability 0",
    ]


def test_learning_that_diverges_is_told() -> None:
    text = addition().replace("torch.nn.ReLU()", 'torch.nn.Threshold(0, float("nan"))')
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads(text, python=True).learn()
    assert caught.value.diagnostics[0].code == "learn-diverged"


def test_options_are_checked() -> None:
    program = dpasp.loads("?::a.")
    with pytest.raises(dpasp.UsageError, match="no option itterations"):
        program.learn([["a"]], itterations=3)
    with pytest.raises(dpasp.UsageError, match="niters must be"):
        program.learn([["a"]], niters=0)
    with pytest.raises(dpasp.UsageError, match="nothing to learn from"):
        program.learn()


def test_fixpoint_beside_a_frozen_network_sees_all_examples_at_once() -> None:
    text = addition().replace("?::d(X", "!::d(X").replace(", batch = 50", "")
    program = dpasp.loads(text, python=True)
    scores = [record.log_likelihood for record in program.learn(niters=15)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(scores))
    assert scores[-1] > scores[0]


def test_the_circuit_as_torch_operations_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    native = dpasp.loads(addition(), python=True)
    expected = native.learn(niters=3)

    def layered(self: CircuitEngine, device: torch.device) -> CircuitEngine:
        return CircuitEngine(self.circuit, Walked(self.circuit, device))

    monkeypatch.setattr(CircuitEngine, "to", layered)
    other = dpasp.loads(addition(), python=True)
    history = other.learn(niters=3)
    assert history[-1].log_likelihood == pytest.approx(expected[-1].log_likelihood, rel=1e-6)
    ours, theirs = state(native), state(other)
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-5) for name in ours)


def test_what_cannot_be_saved_is_told(tmp_path: Path) -> None:
    program = dpasp.loads("?::a. #query a.")
    with pytest.raises(dpasp.UsageError, match="there is no folder"):
        program.save(tmp_path / "no" / "a.safetensors")
    with pytest.raises(dpasp.UsageError, match="Is a directory"):
        program.save(tmp_path)
    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []  # nothing is left behind


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("rule", ["lagrange", "fixpoint"])
def test_a_request_stops_a_step_and_saves_what_was_before_it(
    number: signal.Signals, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = addition() if rule == "lagrange" else SIMPLE
    expected = dpasp.loads(text, python=True)
    history = expected.learn()
    file, finished = tmp_path / "part.checkpoint", []
    look, calls = Learner._look, count(1)

    def interrupted(self: Learner, *arguments: Any) -> Any:
        if next(calls) == 3:
            os.kill(os.getpid(), number)
            finished.append(True)
        return look(self, *arguments)

    monkeypatch.setattr(Learner, "_look", interrupted)
    with pytest.raises(dpasp.Interrupted, match="what is learned so far is in"):
        dpasp.loads(text, python=True).learn(checkpoint=file, periodic=False)
    assert finished == []
    rest = dpasp.loads(text, python=True)
    assert rest.learn(resume=file).to_list() == history.to_list()
    assert same(state(rest), state(expected))


def test_the_end_of_the_time_stops_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, finished, clock = tmp_path / "part.checkpoint", [], Given()
    alarms: list[float] = []

    def long(self: Learner, *arguments: Any) -> Any:
        alarms.append(signal.getitimer(signal.ITIMER_REAL)[0])
        clock.end()
        signal.raise_signal(signal.SIGALRM)  # when it goes off, the time is over
        finished.append(True)

    monkeypatch.setattr(Learner, "_look", long)
    program = dpasp.loads(SIMPLE, python=True)
    program.ground()
    with pytest.raises(dpasp.TimeLimit, match="what is learned so far"):
        program.learn(checkpoint=file, limits=clock.limits(1000))
    assert (finished, file.exists()) == ([], True)
    assert 0 < alarms[0] <= 1000 + LATER
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize("count", [5, 7])
def test_the_first_impossible_examples_are_named_and_the_others_counted(count: int) -> None:
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads("?::a. b :- a, not a.").learn([["b"]] * count + [["a"]])
    messages = [one.message for one in caught.value.diagnostics]
    assert len(messages) == min(count, 6)
    assert messages[5:] == ["2 more examples are impossible"][: count - 5]


def test_options_are_whole_numbers_and_switches() -> None:
    given = {"niters": 5.0, "batch": None, "seed": None, "patience": 3.0, "shuffle": 0}
    found = learn_options(parse('?::a. #learn "seen.csv", batch = 7, workers = 2.'), given)
    values = [found.niters, found.batch, found.seed, found.patience, found.workers, found.shuffle]
    assert values == [5, None, 0, 3, 2, False]
    assert [type(value) for value in values[-3:]] == [int, int, bool]


# --- until it has converged --------------------------------------------------------------------

# Three of four times what is learned is hidden: every pass goes a quarter of the way that is left.
HIDDEN = "?::a. 0.1::s. w :- a, s. ?::b. 0.1::t. v :- b, t."
WON = [["w", "v"]] * 2 + [["w", "not v"]] * 6 + [["not w", "v"]] * 4 + [["not w", "not v"]] * 188


def test_expectation_maximisation_goes_on_until_it_has_converged() -> None:
    program = dpasp.loads(HIDDEN)
    history = program.learn(WON)
    assert history.converged
    assert history.reason.value == "the log-likelihood has converged"
    assert 30 < len(history) < 2000
    assert [record.converged for record in history[-2:]] == [None, True]
    assert history.to_list()[-1]["converged"] is True
    assert [record["values"][0] for record in program.learned()] == pytest.approx(
        [0.4, 0.3], abs=1e-4
    )
    far = dpasp.loads(HIDDEN).learn(WON, niters=len(history) + 200)
    assert len(far) == len(history) + 200
    assert far[-1].log_likelihood == pytest.approx(history[-1].log_likelihood, rel=1e-8)
    near = dpasp.loads(HIDDEN).learn(WON, tolerance=1e-3)
    assert len(near) < len(history)


def test_what_has_not_converged_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.learning.train.MOST_PASSES", 5)
    with pytest.warns(ConvergenceWarning, match="not converged after 5 passes"):
        history = dpasp.loads(HIDDEN).learn(WON)
    assert history.converged is False
    assert history.to_list()[-1]["converged"] is False
    assert "it has not converged" in str(history)
    told = dpasp.loads(HIDDEN).learn(WON, niters=5)  # as was asked for
    assert len(told) == 5
    assert told.converged is False
    assert "converged" not in told.to_list()[-1]


def test_where_the_likelihood_goes_up_and_down_nothing_is_said_of_its_end() -> None:
    for options in ({"alg": "lagrange"}, {"batch": 50}, {"likelihood": "sampled", "samples": 10}):
        history = dpasp.loads(HIDDEN).learn(WON, **options)
        assert (len(history), history.converged) == (30, None)
        with pytest.raises(dpasp.DataError, match="leave tolerance out"):
            dpasp.loads(HIDDEN).learn(WON, tolerance=1e-6, **options)


def test_going_on_with_what_has_converged_is_the_same(tmp_path: Path) -> None:
    whole = dpasp.loads(HIDDEN).learn(WON)
    dpasp.loads(HIDDEN).learn(WON, niters=7, checkpoint=tmp_path / "c")
    rest = dpasp.loads(HIDDEN).learn(WON, resume=tmp_path / "c", checkpoint=tmp_path / "d")
    assert rest.to_list() == whole.to_list()
    again = dpasp.loads(HIDDEN).learn(WON, resume=tmp_path / "d")
    assert again.to_list() == whole.to_list()
