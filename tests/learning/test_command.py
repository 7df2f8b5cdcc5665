"""Learning from the command line, in one process and in two."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpasp.cli import main
from tests.clocks import PATIENCE

from .programs import addition

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.plp").write_text(addition())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process: importing torch once is enough."""

    def command(*words: str, wanted: int = 0) -> dict[str, Any]:
        code = main(["run", "--json", "p.plp", *words])
        told = capsys.readouterr()
        assert code == wanted, told.out + told.err
        found: dict[str, Any] = json.loads(told.out)
        return found

    return command


def test_learn_save_and_load(folder: Path, run: Run) -> None:
    first = run("--save", "p.safetensors")
    assert len(first["history"]) == 6
    assert first["learned"][0]["rule"] == "?::noise."
    assert len(first["answers"]) == 5
    assert len(first["answers"][0]["value"]) == 120
    again = run("--load", "p.safetensors")
    assert again["answers"] == first["answers"]
    assert "history" not in again
    assert sorted(path.name for path in folder.iterdir()) == ["p.plp", "p.safetensors"]


def test_without_learning_the_first_weights_answer(run: Run) -> None:
    assert "history" not in run("--no-learn")


def test_resume_of_what_is_no_checkpoint(run: Run) -> None:
    assert run("--resume", "none", wanted=65)["errors"][0]["code"] == "checkpoint-file"
    assert run("--resume", "x", "--no-learn", wanted=2)["errors"][0]["code"] == "usage"


def test_learned_probabilities_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "p.plp").write_text(addition().replace("#query s(X).", ""))
    assert main(["run", "p.plp"]) == 0
    assert "learned ?::noise.  0." in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupt_says_where_it_saved(folder: Path) -> None:
    text = addition().replace("niters = 6", "niters = 1000000000")
    (folder / "p.plp").write_text(text.replace('"none"', '"loglikelihood"'))
    command = [sys.executable, "-m", "dpasp", "run", "p.plp"]
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert running.stderr is not None
    assert "iteration 1/1000000000" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "what is learned so far is in p.checkpoint" in told
    assert (folder / "p.checkpoint").exists()


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 2])
def test_two_processes_learn_the_same_as_one(nodes: int, folder: Path, run: Run) -> None:
    # The last batch has one example, so one of the processes has none.
    text = addition().replace("Dropout(0.2)", "Identity()").replace("batch = 50", "batch = 17")
    (folder / "p.plp").write_text(text)
    alone = run()
    together = json.loads(learned_on(nodes, folder))
    for one, two in zip(alone["history"], together["history"], strict=True):
        assert two["log_likelihood"] == pytest.approx(one["log_likelihood"], rel=1e-5)
    assert together["learned"][0]["values"] == pytest.approx(
        alone["learned"][0]["values"], rel=1e-4
    )


def learned_on(nodes: int, folder: Path) -> str:
    """What two processes print, on so many nodes: those are all on this machine."""
    # The processes meet at a free port of this machine. What waits for the others waits long
    # enough for a busy one, and no name of a host is looked up.
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", str(nodes),
        "--nproc-per-node", str(2 // nodes), "--local-addr", "127.0.0.1",
        "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}",
        "--rdzv-conf", "keep_alive_interval=60,read_timeout=600",
        "-m", "dpasp", "run", "--json", "p.plp",
    ]  # fmt: skip
    here = {**ENVIRONMENT, "GLOO_SOCKET_IFNAME": LOOPBACK}
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=here)
        for _ in range(nodes)
    ]
    told = [node.communicate(timeout=PATIENCE) for node in started]
    assert [node.returncode for node in started] == [0] * nodes, told
    return "".join(out for out, _ in told)  # only the first process prints, wherever it is
