"""Damaged files of data, parameters, checkpoints and circuits: each is read, or refused.

    python -m tests.stress.files 200000        (make files)

Only :class:`dpasp.Error` may come out, and a file of parameters or of unfinished learning that
is damaged is never read: it carries a checksum.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch

import dpasp
from dpasp.circuits import Circuit
from dpasp.language.arguments import examples
from dpasp.learning.checkpoints import read_checkpoint
from tests.stress import seeds

PROGRAM = "?::a. ?::b. c :- a, not b. #semantics maxent. #query c."
SEEN = [{"c": True}, {"c": False}]
TABLES = (
    "a,b\n1,0\n,true\nundef,1\n",
    '"a(1,""x"")",c\n0.5,1\n1,\n',
    "a,b\r\ntrue,false\r\n",
    "\ufeffa,not b\n1,1\n",
)
PIECES = (b",", b";", b'"', b"\n", b"\r", b"\x00", b"\xff", b"nan", b"1e999", b"-1", b"\xc3", b"(")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _whole(kind: str) -> bytes:
    """A file as dPASP writes it, or takes it."""
    path = Path(_folder().name, f"whole.{kind}")
    match kind:
        case "npy":
            np.save(path, np.array(["a, not b", "a"]))
        case "npz":
            np.savez(path, a=np.array([1, 0]), b=np.array([0, 1]))
        case "circuit":
            return dpasp.loads("0.3::a. 0.4::b. c :- a, b. #query c.").circuit().to_bytes()
        case "parameters":
            program = dpasp.loads(PROGRAM)
            program.learn(SEEN, niters=1)
            program.save(path)
        case "checkpoint":
            dpasp.loads(PROGRAM).learn(SEEN, niters=1, checkpoint=path)
    return path.read_bytes()


def _damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(6):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << rng.randrange(8)
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = rng.choice(PIECES)
            case 3:
                del changed[at : at + rng.choice((1, 4, 30))]
            case 4:
                changed[at:at] = changed[at : at + rng.choice((1, 8, 60))]
            case _:
                changed[at : at + 8] = rng.randbytes(8)
    return bytes(changed)


def _table(rng: random.Random) -> str | None:
    data, suffix = rng.choice(TABLES).encode(), ".csv"
    if rng.random() < 0.4:
        data, suffix = _whole(rng.choice(("npy", "npz"))), ".npy"
    path = Path(_folder().name, f"table{suffix}")
    path.write_bytes(_damaged(data, rng))
    examples(path)
    return None


def _circuit(rng: random.Random) -> str | None:
    Circuit.from_bytes(_damaged(_whole("circuit"), rng))
    return None


def _learned(
    kind: str, use: Callable[[dpasp.Program, Path], object], rng: random.Random
) -> str | None:
    whole = _whole(kind)
    damaged = _damaged(whole, rng)
    path = Path(_folder().name, kind)
    path.write_bytes(damaged)
    use(dpasp.loads(PROGRAM), path)
    return None if _same(path, whole) else f"a damaged file is read as {kind}"


def _same(path: Path, whole: bytes) -> bool:
    """Whether a file says what the whole one does; which version wrote it may be damaged."""
    other = path.with_name("other")
    other.write_bytes(whole)
    (tensors, facts), (expected, told) = read_checkpoint(path), read_checkpoint(other)
    return facts == told and all(torch.equal(tensors[name], expected[name]) for name in expected)


def examine(seed: int) -> str | None:
    """What is wrong with how one damaged file is treated."""
    rng = random.Random(seed)
    try:
        match rng.randrange(4):
            case 0:
                return _table(rng)
            case 1:
                return _circuit(rng)
            case 2:
                return _learned("parameters", lambda program, path: program.restore(path), rng)
            case _:
                return _learned(
                    "checkpoint", lambda program, path: program.learn(SEEN, resume=path), rng
                )
    except dpasp.Error:
        return None


if __name__ == "__main__":
    sys.exit(seeds.main("tests.stress.files", examine))
