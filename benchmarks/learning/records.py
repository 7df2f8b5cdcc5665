"""Addition of two numbers of N MNIST digits each, learned from sums only, for any N.

    DPASP_DATA=folder python -m benchmarks.learning.records 4 15 --augment --average 0.999

One program serves every N. There are 60,000/2N sums to learn from and 10,000/2N to test with, as
in the literature; a test sum is right if the digits that are read add up to it, each read once, or
by the mean over 5 or 81 views of its image (``digits.VIEWS``). The network is the paper's LeNet
unless --network says otherwise; images stay bytes until it reads them, so all work on them is done
there.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from benchmarks.learning import digits
from benchmarks.learning.digits import NETWORKS, VIEWS, Digits, Reader
from torch import Tensor

import dpasp

PROGRAM = """
#const n = 1.
image(0..2*n-1) ~ train(@train), test(@test).
?::digit(I, {0..9}) as @reader with optim = "AdamW", lr = @@lr, logits :- image(I).

carry(0, 0).
sum(I, A + B + C) :- digit(I, A), digit(I + n, B), carry(I, C).
carry(I + 1, S / 10) :- sum(I, S).
result(I, S \\ 10) :- sum(I, S).
result(n, C) :- carry(n, C).

#semantics maxent.
#learn @sums.
"""
# Sums a step and passes over the data, by the digits of a number; the last is for all longer ones.
STEPS = {
    1: (128, 100),
    2: (64, 100),
    4: (32, 100),
    15: (16, 500),
    100: (4, 500),
    200: (2, 300),
    500: (1, 400),
}
CHANCE = math.log(0.1)  # what a network that reads nothing makes of a digit of a sum


@dataclass(frozen=True, slots=True)
class How:
    """How a run learns."""

    n: int
    seed: int
    device: str
    batch: int
    epochs: int
    lr: float
    warmup: float
    network: str
    augment: bool
    average: float
    capture: bool
    tries: int
    trial: int  # passes of each cold start, where there are several
    train: int  # images to learn from
    test: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave."""

    sums: float  # percent of the test sums
    digits: float  # percent of the test digits
    sums_5: float  # the same, where every digit is read by so many views of its image
    digits_5: float
    sums_81: float
    digits_81: float
    per_digit: float  # the log-likelihood of the training sums, by digit of a sum, at the end
    seconds: float  # of learning, all cold starts included
    ready: float  # seconds to read, ground and compile


def numbers(labels: Tensor, n: int) -> list[list[str]]:
    """The digits of the sums, from the least significant one, as observations."""
    found = []
    for first, second in labels.reshape(-1, 2, n).tolist():
        carry, told = 0, []
        for place, (a, b) in enumerate(zip(first, second, strict=True)):
            total = a + b + carry
            carry = total // 10
            told.append(f"result({place},{total % 10})")
        found.append([*told, f"result({n},{carry})"])
    return found


def whole(data: Digits, n: int) -> Digits:
    """As many rows as make whole pairs of numbers: images [rows, 2N, 28, 28], labels [rows, 2N]."""
    rows = len(data.labels) // (2 * n)
    images = data.images[: rows * 2 * n].reshape(rows, 2 * n, 28, 28)
    return Digits(images, data.labels[: rows * 2 * n].reshape(rows, 2 * n))


def program_of(how: How, reader: Reader, train: Digits, test: Digits) -> dpasp.Program:
    """The program for numbers of so many digits, with its data."""
    return dpasp.loads(
        PROGRAM.replace("@@lr", repr(how.lr)),
        constants={"n": how.n},
        networks={"reader": reader},
        data={"train": train.images, "test": test.images},
        functions={"sums": lambda: numbers(train.labels, how.n)},
    )


def cold_start(how: How, train: Digits, test: Digits) -> tuple[dpasp.Program, Reader]:
    """A program that has begun to learn: of several starts the one whose sums are likeliest.

    Some starts fall into a reading of the digits in which few sums are possible; which ones
    do shows early in the likelihood, and needs no label of a digit.
    """
    best: tuple[float, dpasp.Program, Reader] | None = None
    for attempt in range(how.tries):
        seed = how.seed + 1000 * attempt
        torch.manual_seed(seed)
        reader = Reader(how.augment, how.network)
        program = program_of(how, reader, train, test)
        score = 0.0
        if how.tries > 1:
            options = _options(how, seed) | {"niters": how.trial, "schedule": "constant"}
            history = program.learn(**options | {"average": 0.0})
            score = history[-1].log_likelihood
            told = score / history.examples / (how.n + 1)
            print(f"    start {attempt + 1}: log P a digit {told:.3f}", flush=True)
        if best is None or score > best[0]:
            best = score, program, reader
    assert best is not None
    return best[1], best[2]


def _options(how: How, seed: int) -> dict[str, object]:
    return {
        "niters": how.epochs,
        "batch": how.batch,
        "schedule": "cosine",
        "warmup": how.warmup,
        "average": how.average,
        "capture": how.capture,
        "device": how.device,
        "seed": seed,
    }


def run(how: How) -> Result:
    """Learn once, and test."""
    train = whole(digits.mnist("train", how.train), how.n)
    test = whole(digits.mnist("t10k", how.test), how.n)
    begin = time.monotonic()
    program, reader = cold_start(how, train, test)
    history = program.learn(**_options(how, how.seed))
    seconds = time.monotonic() - begin
    per_digit = history[-1].log_likelihood / history.examples / (how.n + 1)
    shares = [share for views in VIEWS for share in tested(reader, test, how.n, views)]
    warn(per_digit, shares[1])
    percents = [100 * share for share in shares]
    return Result(*percents, per_digit, seconds, seconds - history.seconds)


def tested(reader: Reader, test: Digits, n: int, views: int) -> tuple[float, float]:
    """The shares of the test sums and of the test digits that are right."""
    read = reader.read(test.images.flatten(0, 1), views).reshape(test.labels.shape)
    right = [a == b for a, b in zip(numbers(read, n), numbers(test.labels, n), strict=True)]
    return statistics.mean(right), float((read == test.labels).double().mean())


def warn(per_digit: float, correct: float) -> None:
    """Say it when the network reads something other than digits."""
    if per_digit < CHANCE / 2:
        message = f"the sums are hardly likelier than by chance (log P a digit {per_digit:.2f})"
        warnings.warn(f"{message}: try another seed, --tries 4, or a smaller --lr", stacklevel=2)
    if correct < 0.5:
        message = f"only {100 * correct:.1f} % of the digits are read as what they are"
        warnings.warn(
            f"{message}: the start fell into another reading, perhaps a mirrored one; "
            "try another seed, or --tries 4",
            stacklevel=2,
        )


def runs(told: argparse.Namespace) -> Iterator[How]:
    """The runs that were asked for."""
    for n in told.n:
        batch, epochs = STEPS[min((known for known in STEPS if known >= n), default=max(STEPS))]
        for seed in told.seeds:
            yield How(
                n,
                seed,
                told.device,
                told.batch or batch,
                told.epochs or epochs,
                told.lr,
                told.warmup,
                told.network,
                told.augment,
                told.average,
                told.device.startswith("cuda") and not told.no_capture,
                told.tries,
                told.trial,
                told.train,
                told.test,
            )


def write(path: Path, how: How, result: Result) -> None:
    """Add a row to a table (.csv), or a line to a file of JSON lines."""
    row = asdict(how) | asdict(result) | {"torch": torch.__version__}
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)
        else:
            file.write(json.dumps(row) + "\n")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found.add_argument("n", type=int, nargs="+", help="digits of a number")
    found.add_argument("--seeds", type=int, nargs="+", default=[0])
    found.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    found.add_argument("--batch", type=int, help="sums a step")
    found.add_argument("--epochs", type=int)
    found.add_argument("--lr", type=float, default=0.003)
    found.add_argument("--warmup", type=float, default=0.02, help="share of the steps")
    found.add_argument("--network", choices=list(NETWORKS), default="lenet")
    found.add_argument("--augment", action="store_true", help="change the images a little")
    found.add_argument("--average", type=float, default=0.999, help="of the weights, 0 for none")
    found.add_argument("--no-capture", action="store_true", help="do not record steps on a GPU")
    found.add_argument("--tries", type=int, default=1, help="cold starts, the best goes on")
    found.add_argument("--trial", type=int, default=10, help="passes of each of them")
    found.add_argument("--train", type=int, default=60_000, help="images to learn from")
    found.add_argument("--test", type=int, default=10_000)
    found.add_argument("--write", type=Path, help="add the results to a .csv or .jsonl file")
    return found


def main(words: list[str] | None = None) -> None:
    """Run what was asked for and print a table."""
    told = parser().parse_args(words)
    names = ["N", "seed", *(field.name for field in fields(Result))]
    print(" ".join(f"{name:>10}" for name in names), flush=True)
    all_results: dict[int, list[Result]] = {}
    for how in runs(told):
        result = run(how)
        numbers_ = [f"{value:10.3f}" for value in asdict(result).values()]
        print(f"{how.n:10} {how.seed:10} {' '.join(numbers_)}", flush=True)
        all_results.setdefault(how.n, []).append(result)
        if told.write:
            write(told.write, how, result)
    for n, results in all_results.items():
        means = [
            _mean([getattr(r, name) for r in results]) for name in ("sums", "sums_5", "sums_81")
        ]
        once, five, many = means
        print(f"N = {n}: {once} %, by 5 views {five}, by 81 {many} (seeds: {len(results)})")


def _mean(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f} ± {spread:.1f}"


if __name__ == "__main__":
    main(sys.argv[1:])
