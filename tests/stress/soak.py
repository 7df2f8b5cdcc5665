"""One process, many mixed calls: its memory must not grow.

    python -m tests.stress.soak 20000        (make soak)

The calls are those of a long-lived service: reading programs (good and damaged), answering under
all semantics, evidence, samples, explanations, learning, saving, modules and errors. After a
fifth of them, when everything has been imported and used once, the memory is taken note of; at
the end it may be at most 20 MB more.
"""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

import dpasp
from tests.language.fuzz import damaged

MOST = 20.0  # megabytes
SEMANTICS = [
    f"{logic},{probability}"
    for logic in ("stable", "partial", "lstable", "smproblog", "wellfounded")
    for probability in ("credal", "maxent")
]
DAY = "0.4::busy. 0.3::tired. nap :- tired, not work. work :- busy, not nap. #query nap."


def query(draw: random.Random, folder: Path) -> None:
    program = dpasp.loads(f"{draw.random():.6f}::a({draw.randrange(10**6)}). {DAY} #query a(_).")
    program.query(semantics=draw.choice(SEMANTICS))


def evidence(draw: random.Random, folder: Path) -> None:
    chain = " ".join(f"0.9::s({i + 1}) :- s({i})." for i in range(draw.randrange(2, 30)))
    dpasp.loads(f"0.5::s(0). {chain} #query s(0).").query(evidence=["s(2)"])


def intervals(draw: random.Random, folder: Path) -> None:
    dpasp.loads(f"[0.1, {draw.uniform(0.2, 0.9):.6f}]::tired. 0.4::busy. {DAY[24:]}").query()


def wrong(draw: random.Random, folder: Path) -> None:
    with contextlib.suppress(dpasp.Error):
        dpasp.loads(damaged(draw.randrange(10**6))).query(
            limits=dpasp.Limits(seconds=2, megabytes=4000)
        )


def look(draw: random.Random, folder: Path) -> None:
    program = dpasp.loads(DAY)
    program.explain("nap")
    program.sample(20, seed=draw.randrange(100), semantics="stable,maxent")
    list(program.models())


def learn(draw: random.Random, folder: Path) -> None:
    program = dpasp.loads("?::a. ?::b. c :- a. c :- b. #semantics maxent. #query c.")
    rows = [{"a": draw.random() < 0.3, "c": True} for _ in range(5)]
    program.learn([{**row, "c": True} if row["a"] else {"a": False} for row in rows], niters=3)
    program.save(folder / "p.safetensors")
    dpasp.loads("?::a. ?::b. c :- a. c :- b. #semantics maxent. #query c.").restore(
        folder / "p.safetensors"
    )


def module(draw: random.Random, folder: Path) -> None:
    model = dpasp.loads("?::a. 0.5::b. c :- a, b. #semantics maxent. #query c.").module()
    model.prob("c").sum().backward()


CALLS: tuple[Callable[[random.Random, Path], None], ...] = (
    query,
    evidence,
    intervals,
    wrong,
    look,
    learn,
    module,
)


def memory() -> float:
    """Megabytes that this process uses now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main(count: int) -> int:
    torch.set_num_threads(1)
    draw, made, base = random.Random(1), Counter[str](), 0.0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            if number % max(1, count // 10) == 0:
                if number >= count // 5 and not base:
                    base = memory()
                print(f"{number} calls: {memory():.1f} MB", flush=True)
            call = draw.choices(CALLS, (6, 3, 3, 6, 1, 1, 2))[0]
            made[call.__name__] += 1
            call(draw, Path(folder))
    grown = memory() - base
    print(f"{dict(made)}: {grown:+.1f} MB in {time.monotonic() - started:.0f} s")
    return int(grown > MOST)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20000))
