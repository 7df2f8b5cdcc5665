"""Tasks with weak labels on MNIST, learned from the first step on without a curriculum.

    DPASP_DATA=folder python -m benchmarks.learning.tasks sudoku parity addition [--plot FOLDER]

sudoku     grids of 4 × 4 digits, and whether each is a valid Sudoku
parity     N images of 0 or 1, and whether the number of ones is even or odd
addition   two numbers of N digits, and their sum

What is never told, the digits, is counted up to a renaming where no label tells the names.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
from benchmarks.learning import records
from benchmarks.learning.digits import Reader, lenet, mnist
from torch import Tensor, nn

import dpasp

SUDOKU = """
cell(0..15) ~ train(@train), test(@test).
?::value(C, {0..3}) as @reader with logits :- cell(C).
unit(row(C/4), C) :- C = 0..15.
unit(column(C\\4), C) :- C = 0..15.
unit(box(C/8, C\\4/2), C) :- C = 0..15.
has(U, V) :- unit(U, C), value(C, V).
missing :- unit(U, _), V = 0..3, not has(U, V).
valid :- not missing.
#semantics maxent.
"""
PARITY = """
#const n = 2.
bit(0..n-1) ~ train(@train), test(@test).
?::one(I) as @reader with logits :- bit(I).
odd(0) :- one(0).
odd(I) :- one(I), not odd(I-1), I = 1..n-1.
odd(I) :- not one(I), odd(I-1), I = 1..n-1.
odd :- odd(n-1).
#semantics maxent.
"""
FIRST = torch.tensor([[0, 1, 2, 3], [2, 3, 0, 1], [1, 0, 3, 2], [3, 2, 1, 0]])


@dataclass(frozen=True, slots=True)
class Rows:
    """Images [rows, objects, 28, 28], what they show [rows, objects], and what is told."""

    images: Tensor
    values: Tensor
    told: list[list[str]]


@dataclass(frozen=True, slots=True)
class Task:
    """A program, its rows, its network, and how its rows and values are counted."""

    text: str
    constants: dict[str, int]
    train: Rows
    test: Rows
    outputs: int
    answers: Sequence[str]  # that are told of a row
    renamed: bool  # whether the values are known up to a renaming


class Small(Reader):
    """The LeNet with some number of outputs."""

    def __init__(self, count: int) -> None:
        super().__init__(augment=False)
        self.layers = nn.Sequential(*list(lenet())[:-1], nn.Linear(84, count))


def pictures(values: Tensor, part: str, first: int, generator: torch.Generator) -> Tensor:
    """Images of the digits ``first + value``, drawn from a part of MNIST."""
    source = mnist(part)
    places = torch.empty_like(values)
    for value in values.unique().tolist():
        own = (source.labels == first + value).nonzero()[:, 0]
        where = values == value
        picked = torch.randint(0, len(own), (int(where.sum()),), generator=generator)
        places[where] = own[picked]
    return source.images[places]


# --- the tasks --------------------------------------------------------------------------------


def is_valid(grid: Tensor) -> bool:
    """Whether a grid [4, 4] of the values 0 to 3 is a Sudoku."""
    boxes = grid.reshape(2, 2, 2, 2).permute(0, 2, 1, 3).reshape(4, 4)
    units = torch.cat([grid, grid.T, boxes])
    return bool((units.sort(dim=1).values == torch.arange(4)).all())


def a_grid(valid: bool, generator: torch.Generator) -> Tensor:
    """A valid grid, or one that a few changes have spoilt."""

    def order(count: int) -> Tensor:
        return torch.randperm(count, generator=generator)

    rows, columns = (torch.cat([2 * band + order(2) for band in order(2)]) for _ in range(2))
    grid = order(4)[FIRST[rows][:, columns]]
    while not valid and is_valid(grid):
        cells = torch.randint(0, 16, (3,), generator=generator)
        values = torch.randint(0, 4, (3,), generator=generator)
        grid = grid.flatten().scatter(0, cells, values).reshape(4, 4)
    return grid


def sudoku(told: argparse.Namespace) -> Task:
    """Grids, half of them valid."""

    def rows(count: int, part: str, seed: int) -> Rows:
        generator = torch.Generator().manual_seed(seed)
        grids = torch.stack([a_grid(i % 2 == 0, generator) for i in range(count)])
        said = [["valid"] if i % 2 == 0 else ["not valid"] for i in range(count)]
        values = grids.flatten(1)
        return Rows(pictures(values, part, 1, generator), values, said)

    train, test = rows(told.rows, "train", told.seed), rows(told.test, "t10k", 10_000)
    return Task(SUDOKU, {}, train, test, 4, ("valid", "not valid"), True)


def parity(told: argparse.Namespace) -> Task:
    """Rows of zeros and ones."""

    def rows(count: int, part: str, seed: int) -> Rows:
        generator = torch.Generator().manual_seed(seed)
        values = torch.randint(0, 2, (count, told.n), generator=generator)
        said = [["odd"] if odd else ["not odd"] for odd in (values.sum(1) % 2).tolist()]
        return Rows(pictures(values, part, 0, generator), values, said)

    train, test = rows(told.rows, "train", told.seed), rows(told.test, "t10k", 10_000)
    return Task(PARITY, {"n": told.n}, train, test, 1, ("odd", "not odd"), True)


def addition(told: argparse.Namespace) -> Task:
    """Pairs of numbers, as in ``records.py``."""

    def rows(part: str, count: int) -> Rows:
        data = records.whole(mnist(part, count * 2 * told.n), told.n)
        return Rows(data.images, data.labels, records.numbers(data.labels, told.n))

    text = records.PROGRAM.replace("@@lr", "0.001").replace("#learn @sums.", "")
    train, test = rows("train", told.rows), rows("t10k", told.test)
    return Task(text, {"n": told.n}, train, test, 10, (), False)


TASKS: dict[str, Callable[[argparse.Namespace], Task]] = {
    "sudoku": sudoku,
    "parity": parity,
    "addition": addition,
}


# --- learning and counting --------------------------------------------------------------------


def learn(task: Task, told: argparse.Namespace) -> tuple[dpasp.History, Reader]:
    """Learn a task; the history and the network."""
    torch.manual_seed(told.seed)
    reader = Small(task.outputs)
    program = dpasp.loads(
        task.text,
        constants=task.constants,
        networks={"reader": reader},
        data={"train": task.train.images, "test": task.test.images},
    )
    options: dict[str, Any] = {"niters": told.epochs, "batch": told.batch, "seed": told.seed}
    return program.learn(task.train.told, device=told.device, **options), reader


@torch.no_grad()
def counted(task: Task, reader: Reader) -> tuple[float, float]:
    """How many test rows are right if what is read is believed, and how many values, in percent."""
    reader.eval()
    device = next(reader.parameters()).device
    logits = reader(task.test.images.flatten(0, 1).to(device)).cpu()
    found = logits.argmax(1) if task.outputs > 1 else (logits[:, 0] > 0).long()
    values = found.reshape(task.test.values.shape)
    names = list(permutations(range(max(2, task.outputs)))) if task.renamed else [None]
    reads = [values if order is None else torch.tensor(order)[values] for order in names]
    best = max(reads, key=lambda read: int((read == task.test.values).sum()))
    right = _rows_right(task, values)
    return 100 * right, 100 * float((best == task.test.values).double().mean())


def _rows_right(task: Task, values: Tensor) -> float:
    if "valid" in task.answers:
        found = [["valid"] if is_valid(grid.reshape(4, 4)) else ["not valid"] for grid in values]
    elif "odd" in task.answers:
        # With an even number of bits both names give the same parity.
        found = [["odd"] if odd else ["not odd"] for odd in (values.sum(1) % 2).tolist()]
    else:
        found = records.numbers(values, task.constants["n"])
    pairs = zip(found, task.test.told, strict=True)
    return sum(one == other for one, other in pairs) / len(task.test.told)


def main(words: list[str] | None = None) -> None:
    """Learn the tasks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=list(TASKS), help=", ".join(TASKS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--n", type=int, default=4, help="bits, or digits of a number")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, help="a folder for the curves of learning")
    told = parser.parse_args(words)
    warnings.filterwarnings("ignore", message="the observations never tell")
    print(f"{'task':>10} {'rows right':>11} {'values right':>13} {'log P a row':>12} {'s':>7}")
    for name in told.tasks:
        task, begin = TASKS[name](told), time.monotonic()
        history, reader = learn(task, told)
        rows, values = counted(task, reader)
        score = history[-1].log_likelihood / history.examples
        seconds = time.monotonic() - begin
        print(f"{name:>10} {rows:11.2f} {values:13.2f} {score:12.3f} {seconds:7.1f}", flush=True)
        if told.plot:
            history.plot(told.plot / f"{name}.svg")


if __name__ == "__main__":
    main()
