"""Addition of two numbers of N digits each, with carry: the sums' digits are the labels.

    DPASP_DATA=folder python -m benchmarks.learning.many_digits [N ...]

Almost every observation is its own, so the observed digits are leaves of one circuit
that grows with N, not with the number of sums.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

import dpasp

MNIST = Path(__file__).parents[2] / "examples" / "mnist_add.plp"
PYTHON = """
N = {digits}
def rows(of, which): return of[: len(of) // (2 * N) * 2 * N][which::2 * N]
def train_at(which): return rows(train_images, which)
def test_at(which): return rows(test_images, which)
def numbers(labels):
    count = len(labels) // (2 * N)
    table = labels[: count * 2 * N].long().reshape(count, 2, N).tolist()
    for first, second in table:
        # the digits of both numbers from the least significant one
        total = sum((a + b) * 10**i for i, (a, b) in enumerate(zip(first, second)))
        yield [f"result({{i}},{{total // 10**i % 10}})" for i in range(N + 1)]
def train_labels_(): return list(numbers(train_labels))
#end.
"""
RULES = """
digit(0, I, D) :- d(I, D), I < {digits}.
digit(1, I - {digits}, D) :- d(I, D), I >= {digits}.
carry(0, 0).
sum(I, A + B + C) :- digit(0, I, A), digit(1, I, B), carry(I, C).
carry(I + 1, S / 10) :- sum(I, S).
result(I, S \\ 10) :- sum(I, S).
result({digits}, C) :- carry({digits}, C).
#semantics maxent.
#learn @train_labels_, niters = 1, batch = {batch}, display = "none".
"""


def text(digits: int) -> str:
    """The program for numbers of so many digits."""
    mnist = MNIST.read_text()
    start = mnist[mnist.index("#python") : mnist.index("#end.")]
    inputs = "".join(
        f"input({i}) ~ test(@test_at({i})), train(@train_at({i})).\n" for i in range(2 * digits)
    )
    net = "?::d(I, {0..9}) as @digit_net with lr = 0.001 :- input(I).\n"
    batch = max(1, 60 // digits)
    python = PYTHON.format(digits=digits)
    return start + python + inputs + net + RULES.format(digits=digits, batch=batch)


def main() -> None:
    """Print a table."""
    torch.set_num_threads(1)
    print(f"{'N':>3} {'pairs':>6} {'CPU s an epoch':>15} {'log P a digit':>14}")
    for digits in [int(word) for word in sys.argv[1:]] or [1, 2, 4, 15]:
        program = dpasp.loads(text(digits), python=True)
        program.module()
        begin = time.process_time()
        history = program.learn()
        seconds = time.process_time() - begin
        score = history[0].log_likelihood / (history.examples * digits)
        print(f"{digits:3} {history.examples:6} {seconds:15.2f} {score:14.3f}", flush=True)


if __name__ == "__main__":
    main()
