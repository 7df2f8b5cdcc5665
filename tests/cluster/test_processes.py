"""Work that is shared by processes of this machine: the same bits, whatever their number."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpasp
from dpasp.cluster import processes
from dpasp.cluster.parts import TRIES, JobKeeper, pack_job
from dpasp.cluster.pools import Pool, checked_cluster, open_pool
from dpasp.cluster.processes import Processes
from dpasp.inference import boxes
from dpasp.inference.asked import Method, ask
from dpasp.inference.bounds.bounds import by_cases
from dpasp.limits import UNLIMITED
from dpasp.limits.work import packed, unpacked
from dpasp.semantics.meaning import Meaning
from tests.clocks import COMPUTING, PATIENCE, Given, command, until_working, wait

COLOURS = """
node(1..3). 0.5::edge(X, Y) :- node(X), node(Y), X < Y.
1 { colour(X, (r; g; b)) } 1 :- node(X).
:- edge(X, Y), colour(X, C), colour(Y, C).
#query colour(1, r) | edge(1, 2). #query edge(1, 3).
"""
NETWORK = """
0.1::b. 0.2::e. 0.9::a :- b, e. 0.8::a :- b, not e. 0.3::a :- not b, e. 0.01::a :- not b, not e.
0.7::j :- a. 0.05::j :- not a. 0.6::m :- a. 0.01::m :- not a.
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Processes]:
    with open_pool(2) as pool:
        assert isinstance(pool, Processes)
        yield pool


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_samples_are_the_same_bits(pool: Processes, semantics: str) -> None:
    program = dpasp.loads(COLOURS)
    asked = {"engine": "sample", "n": 600, "seed": 3, "semantics": semantics}
    alone = program.query(**asked)  # type: ignore[arg-type]
    shared = program.query(cluster=pool, **asked)  # type: ignore[arg-type]
    assert shared.to_dict()["answers"] == alone.to_dict()["answers"]
    assert shared.inconsistent == alone.inconsistent


def test_samples_stop_at_the_same_gap(pool: Processes) -> None:
    program = dpasp.loads(NETWORK)
    asked = {"engine": "sample", "n": 10**9, "gap": 0.02, "seed": 1}
    alone = program.query("j", **asked)  # type: ignore[arg-type]
    shared = program.query("j", cluster=pool, **asked)  # type: ignore[arg-type]
    assert shared[0] == alone[0]
    assert 1000 < (shared[0].samples or 0) < 10**6  # type: ignore[union-attr]


def test_models_are_the_same(pool: Processes) -> None:
    program = dpasp.loads(NETWORK)
    alone = program.sample(2500, given="j", seed=5)
    assert program.sample(2500, given="j", seed=5, cluster=pool) == alone
    assert alone[:1000] != alone[1000:2000]


@pytest.mark.parametrize("engine", ["auto", "enumerate", "bounds"])
def test_questions_are_shared(pool: Processes, engine: str) -> None:
    program = dpasp.loads(NETWORK)
    queries = ["b", "e | j", "j, not m", "a | m"]
    alone = program.query(*queries, engine=engine)
    shared = program.query(*queries, engine=engine, cluster=pool)
    assert [answer.query for answer in shared] == queries
    assert np.allclose(shared.to_numpy(), alone.to_numpy(), rtol=1e-12, atol=0)
    assert shared.statistics["parts"] == 4
    assert shared.engine == alone.engine


def test_marginals_are_shared(pool: Processes) -> None:
    program = dpasp.loads(NETWORK)
    alone, shared = program.marginals(evidence="j"), program.marginals(evidence="j", cluster=pool)
    assert [answer.query for answer in shared] == [answer.query for answer in alone]
    assert np.allclose(shared.to_numpy(), alone.to_numpy(), rtol=1e-12, atol=0)


def test_intervals_are_told_as_alone(pool: Processes) -> None:
    program = dpasp.loads("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c. #query a | b. #map b?.")
    alone, shared = program.query(), program.query(cluster=pool)
    assert shared.answers == alone.answers
    assert shared[0].lower_at == alone[0].lower_at == {"a": 0.2}  # type: ignore[union-attr]


@pytest.mark.parametrize("engine", ["auto", "sample"])
def test_rows_are_shared(pool: Processes, engine: str) -> None:
    torch = pytest.importorskip("torch")
    text = "?::p(x) as @net :- row(x). row(x) ~ test(@rows). 0.3::a. q :- p(x), a. #query q."
    rows = np.linspace(0, 1, 600).reshape(-1, 1)
    net = torch.nn.Sigmoid()
    program = dpasp.loads(text, networks={"net": net}, data={"rows": rows})
    asked = {"engine": engine, "seed": 1, "semantics": "maxent"}
    asked |= {"n": 50} if engine == "sample" else {}
    alone = program.query(**asked)  # type: ignore[arg-type]
    shared = program.query(cluster=pool, **asked)  # type: ignore[arg-type]
    assert np.array_equal(shared.to_numpy(), alone.to_numpy())
    assert shared.to_numpy().shape == (1, 600)


def test_all_impossible_evidence_is_told(pool: Processes) -> None:
    program = dpasp.loads("0.3::a. b :- a, not a.")
    queries = ["a | b", "a", "not a | b, a"]
    with pytest.raises(dpasp.ImpossibleEvidence) as alone:
        program.query(*queries)
    with pytest.raises(dpasp.ImpossibleEvidence) as shared:
        program.query(*queries, cluster=pool)
    assert shared.value.diagnostics == alone.value.diagnostics


def test_refusals_name_their_place(pool: Processes) -> None:
    program = dpasp.loads("0.3::a.\n{b; c} 1 :- a.\n#query b. #query c.")
    with pytest.raises(dpasp.ProgramError) as error:
        program.query(semantics="partial", cluster=pool)
    assert error.value.diagnostics[0].span is not None
    assert error.value.diagnostics[0].span.line == 2


def test_one_exact_question_is_not_shared(pool: Processes) -> None:
    answers = dpasp.loads("0.3::a. #query a.").query(cluster=pool)
    assert answers[0].numbers[0] == 0.3
    assert [warning.code for warning in answers.warnings] == ["cluster-idle"]


def test_a_process_that_dies_is_replaced(pool: Processes) -> None:
    program = dpasp.loads(COLOURS)
    asked = {"engine": "sample", "n": 2000, "seed": 3, "semantics": "maxent"}
    alone = program.query(**asked)  # type: ignore[arg-type]
    killed: list[int] = []

    def kill(done: float, total: float | None) -> None:
        if len(killed) < 2:
            one = pool.processes[len(killed)]
            wait(lambda: one._process is not None, "the start of the process")
            assert one._process is not None
            killed.append(one._process.pid)
            one._process.kill()

    shared = program.query(cluster=pool, progress=kill, **asked)  # type: ignore[arg-type]
    assert len(set(killed)) == 2
    assert shared.to_dict()["answers"] == alone.to_dict()["answers"]


def test_a_part_that_ends_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    class Dying(processes.Process):
        def ask(self, key: bytes, job: bytes, part: bytes) -> bytes:
            asked.append(part)
            raise processes.Died

    monkeypatch.setattr(processes, "Process", Dying)
    with open_pool(1) as pool:
        answers = dpasp.loads("0.3::a. #query a.").query(engine="sample", n=1, cluster=pool)
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert answer.interval == (0.0, 1.0)
    assert "ended 3 workers" in answers.warnings[0].message
    assert len(asked) == TRIES


def test_a_time_limit_reaches_the_workers(pool: Processes) -> None:
    program = dpasp.loads(COLOURS)
    clock = Given()  # the time is over with the first part that comes back
    answers = program.query(
        "edge(1, 3)",
        engine="sample",
        n=10**9,
        cluster=pool,
        limits=clock.limits(),
        progress=lambda done, total: clock.end(),
    )
    assert 0 < (answers[0].samples or 0) < 10**9  # type: ignore[union-attr]
    assert "stopped-early" in [warning.code for warning in answers.warnings]
    # Those who were still at work are gone, and the pool goes on.
    assert program.query(engine="sample", n=10, seed=1, cluster=pool)[0].samples == 10  # type: ignore[union-attr]


def test_a_memory_limit_reaches_the_workers(
    pool: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, limits = dpasp.loads(NETWORK), dpasp.Limits(megabytes=1)
    monkeypatch.setattr("dpasp.limits.memory_in_use", lambda: 0.0)  # so only workers can notice
    with pytest.raises(dpasp.MemoryLimit, match="memory limit of 1 MB"):
        program.query("b", "e", engine="compile", cluster=pool, limits=limits)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    file = tmp_path / "colours.plp"
    file.write_text(COLOURS)
    words = ["run", str(file), "--engine", "sample", "--samples", "1000000000", "--cluster", "2"]
    run = command(COMPUTING, *words)
    until_working(run)
    wait(lambda: len(_children(run.pid)) == 2, "the start of the second one")
    children = _children(run.pid)
    run.send_signal(signal.SIGINT)
    out, said = run.communicate(timeout=PATIENCE)
    assert (run.returncode, out, said) == (130, "", "error: interrupted [interrupted]\n")
    wait(
        lambda: not any(Path(f"/proc/{child}").exists() for child in children),
        "the end of all processes",
    )


def _children(parent: int) -> list[int]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    if not path.parent.parent.parent.exists():
        pytest.skip("there is no /proc here")
    try:
        every = [
            int(child)
            for thread in path.parent.parent.glob("*/children")
            for child in thread.read_text().split()
        ]
    except OSError:
        return []
    named = []
    for child in every:
        try:
            if b"dpasp.cluster.processes" in Path(f"/proc/{child}/cmdline").read_bytes():
                named.append(child)
        except OSError:
            pass
    return named


def test_another_version_is_refused() -> None:
    job = packed(("0.0.0", b""))
    part = packed((1, dpasp_allowed()))
    with pytest.raises(dpasp.UsageError, match=r"this is dPASP 0\.0\.0"):
        raise unpacked(JobKeeper().reply("key", job, part))[0]


def dpasp_allowed() -> object:
    from dpasp.cluster.parts import PartLimits

    return PartLimits.by(UNLIMITED)


def test_nothing_foreign_is_unpacked() -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.system, ("true",)

    data = pickle.dumps(("()", pickle.dumps(Evil.__reduce__(Evil())[0])))
    with pytest.raises(dpasp.UsageError, match="is not something that dPASP sends"):
        unpacked(data)
    with pytest.raises(dpasp.UsageError, match="cannot be sent"):
        pack_job(lambda: 1)
    # What a module of ours imports is no way around that.
    hidden = b"cdpasp.cluster.processes\nsubprocess\n."
    with pytest.raises(dpasp.UsageError, match="is not something that dPASP sends"):
        unpacked(pickle.dumps(("()", hidden)))


@pytest.mark.parametrize("text", ["local", "3", "auto", "10.0.0.1:6379", "ray://head:10001"])
def test_names_of_clusters(text: str) -> None:
    assert checked_cluster(text) == text


@pytest.mark.parametrize("cluster", ["locl", "0", "-1", 0, 5000, True, 1.5, "head", "http://a:1"])
def test_what_is_no_cluster_is_refused(cluster: object) -> None:
    with pytest.raises(dpasp.UsageError):
        dpasp.loads("0.3::a. #query a.").query(cluster=cluster)  # type: ignore[arg-type]


def test_an_address_needs_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(dpasp.UsageError, match=r"pip install 'dpasp\[cluster\]'"):
        dpasp.loads("0.3::a. #query a.").query(cluster="10.0.0.1:6379")


def test_an_engine_from_elsewhere_cannot_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpasp.language.statements.engines import ENGINES, Engine

    monkeypatch.setitem(ENGINES, "mine", Engine("mine", lambda asked: None))
    with pytest.raises(dpasp.UsageError, match="the engine mine cannot be shared"):
        dpasp.loads("0.3::a. #query a.").query(engine="mine", cluster=1)


def grid(size: int) -> str:
    return f"""
    v(1..{size}, 1..{size}). 0.5::e(X, Y, X + 1, Y) :- v(X, Y), v(X + 1, Y).
    0.5::e(X, Y, X, Y + 1) :- v(X, Y), v(X, Y + 1).
    r(1, 1). r(Z, W) :- r(X, Y), e(X, Y, Z, W). r(X, Y) :- r(Z, W), e(X, Y, Z, W).
    #query r({size}, {size}).
    """


def test_cases_of_a_compilation_are_shared(pool: Processes) -> None:
    program = dpasp.loads(grid(3))
    exact = float(program.query()[0].numbers[0])

    def sure(pool: Pool) -> dpasp.Answer:
        asked = ask(program.ground(), Meaning(), method=Method("bounds", pool=pool))
        approximate, _ = by_cases(asked, wanted=0.1, whole=False)
        return approximate.answers[0]

    with open_pool(1) as alone:
        first, second = sure(alone), sure(pool)
    assert first == second
    assert first.interval is not None
    assert first.interval[0] <= exact <= first.interval[1]
    assert first.gap is not None
    assert first.gap <= 0.1


def test_a_search_over_intervals_is_shared(
    pool: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = " ".join(f"[0.{1 + i % 4}, 0.{5 + i % 5}]::a({i})." for i in range(12))
    rules = " ".join(
        f"q :- a({i}), not a({(i + 5) % 12}), not a({(i + 7) % 12})." for i in range(12)
    )
    program = dpasp.loads(f"{facts} {rules} e :- a(0), a(3). e :- not a(4). #query q | e.")
    alone = program.query(engine="compile")
    monkeypatch.setattr(boxes, "EXACT", replace(boxes.EXACT, parts=2))
    shared_boxes = counting_boxes(monkeypatch)
    with open_pool(1) as other:
        shared = [program.query(engine="compile", cluster=who) for who in (other, pool)]
    assert sum(shared_boxes) > 2
    assert shared[0].answers == shared[1].answers
    assert np.allclose(shared[0].to_numpy(), alone.to_numpy(), rtol=1e-12, atol=0)


def counting_boxes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many boxes are handed out, from now on."""
    counts: list[int] = []
    plain = boxes.Search.hand_out

    def counting(self: Any, boxes: list[Any], share: Any) -> object:
        counts.append(len(boxes))
        return plain(self, boxes, share)

    monkeypatch.setattr(boxes.Search, "hand_out", counting)
    return counts


@pytest.mark.slow
def test_the_members_of_an_ensemble_learn_apart() -> None:
    torch = pytest.importorskip("torch")
    text = """
    #python
    import torch
    def net():
        return torch.nn.Linear(1, 1)
    def rows():
        return torch.tensor([[1.0], [2.0]])
    #end.
    row(0) ~ train(@rows). ?::on(X) as @net with logits :- row(X). #semantics maxent.
    """
    program = dpasp.loads(text, python=True)
    observations = [["on(0)"], ["not on(0)"]]
    with open_pool(1) as pool:
        shared = program.ensemble(2, observations, niters=2, seed=4, cluster=pool)
    alone = program.ensemble(2, observations, niters=2, seed=4)
    assert shared.log_likelihoods == alone.log_likelihoods
    members = [shared.members, alone.members]
    weights = [[list(member.state_dict().values()) for member in found] for found in members]
    for first, second in zip(*weights, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(*weights[0], strict=True))
    given = dpasp.loads("?::a. b(@f(1)).", functions={"f": lambda n: n})
    with pytest.raises(dpasp.UsageError, match="f is an object of this process"):
        given.ensemble(2, [["a"]], cluster=1)
