"""Reasoning shortcuts on MNIST-Half and MNIST-Even-Odd: what is learned besides the labels.

    DPASP_DATA=folder python -m benchmarks.learning.shortcuts half --seeds 0 1 2 [--device cuda]

The tasks are those of rsbench: pairs of digits and their sum, of which only some pairs occur
(Marconato, Teso, Vergari, Passerini, 2023), drawn from MNIST. Each is learned plainly, with a
reward for the entropy of the mean output, and by ensembles of both; and then the member with the
reward whose sums became the likeliest learns on without it. Told are the accuracy of sums and
digits, and the calibration errors of both (ten bins), all in percent.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from benchmarks.learning.digits import Reader, lenet, mnist
from torch import Tensor, nn

import dpasp
from dpasp.learning.shortcuts import Ensemble

PROGRAM = """
#const top = 9.
image(0..1) ~ train(@images).
?::digit(I, {0..top}) as @reader with optim = "AdamW", logits :- image(I).
sum(A + B) :- digit(0, A), digit(1, B).
#semantics maxent.
"""
BINS = 10


@dataclass(frozen=True, slots=True)
class Task:
    """The pairs of digits that occur, the greatest digit, and how many rows there are."""

    pairs: tuple[tuple[int, int], ...]
    top: int
    train: int
    test: int


TASKS = {
    "half": Task(((0, 0), (0, 1), (2, 3), (2, 4)), 4, 2940, 840),
    "even-odd": Task(
        ((0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)), 9, 6720, 1920
    ),
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Pairs of images [rows, 2, 28, 28] and their digits [rows, 2]."""

    images: Tensor
    digits: Tensor


def rows(task: Task, part: str, count: int, seed: int = 0) -> Rows:
    """Rows of a task, in which every pair occurs as often as the others."""
    source = mnist(part)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.tensor(task.pairs).repeat(-(-count // len(task.pairs)), 1)[:count]
    places = torch.empty_like(chosen)
    for digit in range(task.top + 1):
        own = (source.labels == digit).nonzero()[:, 0]
        where = chosen == digit
        picked = torch.randint(0, len(own), (int(where.sum()),), generator=generator)
        places[where] = own[picked]
    return Rows(source.images[places], chosen)


class Small(Reader):
    """The LeNet with as many outputs as there are digits."""

    def __init__(self, count: int) -> None:
        super().__init__()
        layers = list(lenet())
        self.layers = nn.Sequential(*layers[:-1], nn.Linear(84, count))


def calibration(probabilities: Tensor, labels: Tensor) -> float:
    """The expected calibration error: how far confidence is from accuracy, by bins."""
    sure, best = probabilities.max(dim=1)
    right = (best == labels).double()
    places = (sure * BINS).long().clamp(max=BINS - 1)
    parts = [(places == one) for one in range(BINS) if bool((places == one).any())]
    return float(sum(abs((right[one] - sure[one]).sum()) for one in parts) / len(labels))


def measured(learned: Ensemble, test: Rows, device: str) -> list[float]:
    """Sums and digits right, and the calibration errors of both, in percent."""
    data = {"image": test.images.to(device)}
    first = (learned.mean(f"digit({i},D)", data).cpu().double() for i in (0, 1))
    digits = torch.cat(list(first))
    truth = torch.cat([test.digits[:, 0], test.digits[:, 1]])
    names = learned.members[0].answers("sum(S)")
    places = {name: i for i, name in enumerate(names)}
    sums = learned.mean("sum(S)", data).cpu().double()
    wanted = torch.tensor([places[f"sum({s})"] for s in test.digits.sum(1).tolist()])
    shares = (
        (sums.argmax(1) == wanted).double().mean(),
        (digits.argmax(1) == truth).double().mean(),
        calibration(sums, wanted),
        calibration(digits, truth),
    )
    return [100 * float(share) for share in shares]


def alone(learner: dpasp.Program, log_likelihood: float) -> Ensemble:
    """An ensemble of one program that has learned."""
    return Ensemble((learner.module(),), (learner,), (log_likelihood,))


def learned(task: Task, told: argparse.Namespace, seed: int) -> Iterator[tuple[str, Ensemble]]:
    """Members that learned plainly and with entropy, alone and together; the best goes on."""
    train = rows(task, "train", min(task.train, told.train))
    program = dpasp.loads(
        PROGRAM,
        constants={"top": task.top},
        networks={"reader": lambda: Small(task.top + 1)},
        data={"images": train.images},
    )
    seen = [f"sum({s})" for s in train.digits.sum(1).tolist()]
    if seed == told.seeds[0]:
        print(program.shortcuts(seen), flush=True)
    options = {"batch": 64, "device": told.device, "display": "none"}
    count, first = told.members, seed * told.members
    for name, entropy in (("plain", 0.0), (f"entropy {told.entropy:g}", told.entropy)):
        members = program.ensemble(
            count, seen, niters=told.epochs, entropy=entropy, seed=first, **options
        )
        yield name, alone(members.learners[0], members.log_likelihoods[0])
        yield f"{name}, {count} members", members
    best = members.best
    best.learn(seen, niters=told.epochs, entropy=0.0, seed=first, **options)
    yield f"best of {count}, then without", alone(best, max(members.log_likelihoods))


def main(words: list[str] | None = None) -> None:
    """Print a table for each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--members", type=int, default=6)
    parser.add_argument("--entropy", type=float, default=4.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--train", type=int, default=1 << 30, help="at most so many rows")
    told = parser.parse_args(words)
    warnings.filterwarnings("ignore", message="the observations never tell")
    for name in told.tasks or list(TASKS):
        table(TASKS[name], name, told)


def table(task: Task, name: str, told: argparse.Namespace) -> None:
    """Print means and deviations over the seeds, a row for each way to learn."""
    begin = time.process_time()
    test = rows(task, "t10k", task.test, seed=1)
    print(f"\n{name}: {len(task.pairs)} pairs", flush=True)
    by_kind: dict[str, list[list[float]]] = {}
    for seed in told.seeds:
        for kind, members in learned(task, told, seed):
            by_kind.setdefault(kind, []).append(measured(members, test, told.device))
            shown = " ".join(f"{number:8.2f}" for number in by_kind[kind][-1])
            print(f"seed {seed} {kind:>26} {shown}", flush=True)
    print("| % | sums right | digits right | calibration error of sums | of digits |")
    print("|---|---|---|---|---|")
    for kind, found in by_kind.items():
        numbers = torch.tensor(found)
        off = numbers.std(0) if len(found) > 1 else torch.zeros(4)
        cells = [f"{a:.1f} ± {b:.1f}" for a, b in zip(numbers.mean(0), off, strict=True)]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print(f"{time.process_time() - begin:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
