"""Work that is shared by the machines of a Ray cluster: two nodes, one of which is killed."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpasp
from tests.clocks import COMPUTING, PATIENCE, Given, command, until_working, wait

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'dpasp[cluster]'")

TEXT = """
node(1..3). 0.5::edge(X, Y) :- node(X), node(Y), X < Y.
1 { colour(X, (r; g; b)) } 1 :- node(X).
:- edge(X, Y), colour(X, C), colour(Y, C).
#query colour(1, r) | edge(1, 2).
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine."""
    import warnings

    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own, while it starts
        made = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
        made.second = made.add_node(**small)
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_node_that_is_killed_changes_no_bit(cluster: Any) -> None:
    program = dpasp.loads(TEXT)
    asked = {"engine": "sample", "n": 6000, "seed": 3, "semantics": "maxent"}
    alone = program.query(**asked)  # type: ignore[arg-type]
    whole = program.query(cluster=cluster.address, **asked)  # type: ignore[arg-type]
    assert whole.to_dict()["answers"] == alone.to_dict()["answers"]

    killed: list[float] = []

    def kill(done: float, total: float | None) -> None:
        if not killed:
            killed.append(done)
            cluster.remove_node(cluster.second, allow_graceful=False)

    shared = program.query(cluster=cluster.address, progress=kill, **asked)  # type: ignore[arg-type]
    assert killed[0] < 6000
    assert shared.to_dict()["answers"] == alone.to_dict()["answers"]

    # The node that is left answers alone, errors come as they do here, and limits hold.
    queries = ["edge(1, 2)", "colour(1, r)", "edge(1, 3) | edge(2, 3)"]
    answers = program.query(*queries, cluster=cluster.address)
    assert np.allclose(answers.to_numpy(), program.query(*queries).to_numpy(), rtol=1e-12)
    with pytest.raises(dpasp.ImpossibleEvidence):
        program.query(
            "edge(1, 2) | colour(1, r), colour(1, g)", "edge(1, 2)", cluster=cluster.address
        )
    clock, asked["n"] = Given(), 10**9
    limited = {"limits": clock.limits(), "progress": lambda done, total: clock.end()}
    some = program.query(cluster=cluster.address, **limited, **asked)  # type: ignore[arg-type]
    assert 0 < (some[0].samples or 0) < 10**9  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_memory_limit_reaches_the_cluster(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program = dpasp.loads(TEXT)
    monkeypatch.setattr("dpasp.limits.memory_in_use", lambda: 0.0)  # so only workers can notice
    with pytest.raises(dpasp.MemoryLimit, match="memory limit of 1 MB"):
        program.query(
            "edge(1, 2)",
            "edge(1, 3)",
            engine="compile",
            cluster=cluster.address,
            limits=dpasp.Limits(megabytes=1),
        )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.filterwarnings("ignore")
def test_ctrl_c_ends_the_work_of_the_cluster(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "colours.plp"
    file.write_text(TEXT)
    words = ["run", str(file), "--engine", "sample", "--samples", "1000000000"]
    words += ["--cluster", cluster.address]
    run = command(COMPUTING, *words)
    try:
        until_working(run)
        run.send_signal(signal.SIGINT)
        out, said = run.communicate(timeout=PATIENCE)
        assert (run.returncode, out, said) == (130, "", "error: interrupted [interrupted]\n")
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        wait(
            lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"],
            "the end of all work",
        )
    finally:
        ray.shutdown()
        run.kill()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_cluster_answers() -> None:
    with pytest.raises(dpasp.UsageError, match="no Ray cluster answers at"):
        dpasp.loads("0.3::a. #query a.").query(cluster="127.0.0.1:1")
