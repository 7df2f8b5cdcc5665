"""One program in many hands: threads, processes, an event loop; and the same bits in all."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import dpasp
from tests.clocks import PATIENCE

TEXT = """
0.3::a(1..4).  [0.2, 0.4]::x.
b(X) :- a(X), not c(X).  c(X) :- a(X), not b(X).
d :- a(1), a(2).  d :- x.
"""
ASKED = [f"b({i}) | not a({j})" for i in range(1, 5) for j in range(1, 5) if i != j]
ASKED += [f"a({i}), d" for i in range(1, 5)]
PROGRAM = dpasp.loads(TEXT)


def ask(query: str) -> tuple[object, object]:
    (answer,) = PROGRAM.query(query)
    return answer.lower, answer.upper


@pytest.fixture(scope="module")
def wanted() -> dict[str, tuple[object, object]]:
    return {query: ask(query) for query in ASKED}


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient_threads")
def test_threads(wanted: dict[str, tuple[object, object]]) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, ASKED * 4))
    assert found == [wanted[query] for query in ASKED * 4]


@pytest.mark.usefixtures("impatient_threads")
def test_threads_make_one_module() -> None:
    import torch  # not above: a process that is spawned would wait for it, too
    from torch import nn

    text = "img(0). ?::d(X, {0..2}) as @net :- img(X). #semantics maxent."
    program = dpasp.loads(
        text, functions={"net": lambda: nn.Sequential(nn.Linear(2, 3), nn.Softmax(1))}
    )
    with ThreadPoolExecutor(8) as threads:
        models = list(threads.map(lambda _: program.module(), range(8)))
        data = {"img(0)": torch.rand(2, 2)}
        found = list(threads.map(lambda i: models[i].value("d(0,0)", data), range(8)))
    assert len({id(model) for model in models}) == 1
    assert all(torch.equal(one, found[0]) for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork(wanted: dict[str, tuple[object, object]]) -> None:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:  # with all that the parent has: the grounder, the ground programs, circuits
        code = 1
        try:
            found = json.dumps([ask(query) for query in ASKED[:3]])
            os.write(send, found.encode())
            code = 0
        finally:
            os._exit(code)
    os.close(send)
    with os.fdopen(receive) as pipe:
        found = json.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    assert [tuple(one) for one in found] == [wanted[query] for query in ASKED[:3]]


def ask_it(program: dpasp.Program, query: str) -> tuple[object, object]:
    (answer,) = program.query(query)
    return answer.lower, answer.upper


def test_spawn(wanted: dict[str, tuple[object, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    # a worker of pytest-xdist has none
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None, raising=False)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as processes:
        found = processes.submit(ask_it, PROGRAM, ASKED[0]).result(timeout=PATIENCE)
    assert found == wanted[ASKED[0]]


def test_asyncio(wanted: dict[str, tuple[object, object]]) -> None:
    async def every() -> list[tuple[object, object]]:
        return await asyncio.gather(*(asyncio.to_thread(ask, query) for query in ASKED))

    assert asyncio.run(asyncio.wait_for(every(), PATIENCE)) == [wanted[query] for query in ASKED]


# --- the same bits -----------------------------------------------------------------------------

ONE = "0.3::a(1..3).  b(X) :- a(X), not c(X).  c(X) :- a(X), not b(X).\n#query b(X).\n"
TWO = (
    "[0.2, 0.45]::x(X) :- a(X).  d :- x(X), b(X).\n?::y.  e :- y, d.\n#query d | a(1).  #query e.\n"
)
LEARN = '#learn "seen.csv", niters = 7, alg = "gradient", batch = 2.\n#semantics credal.\n'


def bits(folder: Path, files: list[str], seed: str, threads: str) -> object:
    """What a process of its own answers, in full precision."""
    where = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
    where["XDG_CACHE_HOME"] = str(folder / f"cache{seed}{threads}{files[0]}")
    words = ["run", *files, "--json", "-q", "--threads", threads, "--seed", "3"]
    code = "import sys; from dpasp.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=where, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    answers = {one["query"]: one for one in told["answers"]}
    return answers, [one["values"] for one in told.get("learned", ())], told.get("history")


@pytest.mark.slow
def test_the_same_bits_whatever_the_threads_hashes_and_order_of_files(tmp_path: Path) -> None:
    (tmp_path / "one.plp").write_text(ONE)
    (tmp_path / "two.plp").write_text(TWO)
    (tmp_path / "learn.plp").write_text(TWO.replace("[0.2, 0.45]", "0.3") + LEARN)
    (tmp_path / "seen.csv").write_text("e,y\n1,1\n0,\n0,0\n,1\n0,1\n")
    first = bits(tmp_path, ["one.plp", "two.plp"], "0", "1")
    assert bits(tmp_path, ["two.plp", "one.plp"], "7", "2") == first
    learned = bits(tmp_path, ["one.plp", "learn.plp"], "0", "1")
    assert bits(tmp_path, ["learn.plp", "one.plp"], "7", "2") == learned
