"""A step of one's own loop: addition of numbers with N digits, labels as tensors.

    python -m benchmarks.learning.own_loop [--device cuda] [N batch ...]

A linear network, so that nearly all the time is the program's. The medians are wall-clock
milliseconds of one step (forward, backward, Adam), with the device waited for: with labels given
in every step, with observations read before, of the network alone, and (on a GPU) of the step
recorded with torch.cuda.graph.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn

import dpasp

RULES = """
img(0..2*n-1).
?::d(I, {0..9}) as @net with logits :- img(I).
digit(0, I, D) :- d(I, D), I < n.
digit(1, I - n, D) :- d(I, D), I >= n.
carry(0, 0).
sum(I, A + B + C) :- digit(0, I, A), digit(1, I, B), carry(I, C).
carry(I + 1, S / 10) :- sum(I, S).
result(I, S \\ 10) :- sum(I, S).
result(n, C) :- carry(n, C).
#semantics maxent.
"""
QUERY, STEPS, WARM = "result(I,D)", 300, 20


def sums(count: int, digits: int) -> Tensor:
    """The digits [count, digits + 1] of random sums, from the least significant one."""
    terms = torch.randint(0, 10, (count, 2, digits), generator=torch.Generator().manual_seed(0))
    labels, carry = [], torch.zeros(count, dtype=torch.int64)
    for i in range(digits):
        total = terms[:, 0, i] + terms[:, 1, i] + carry
        labels.append(total % 10)
        carry = total // 10
    return torch.stack([*labels, carry], dim=1)


def timed(step: Callable[[], object], device: torch.device) -> float:
    """The median time of a step, in milliseconds."""
    times = []
    for _ in range(WARM + STEPS):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        begin = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - begin)
    return 1e3 * median(times[WARM:])


def recorded(step: Callable[[], object]) -> Callable[[], object]:
    """A step as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(digits: int, batch: int, device: torch.device) -> str:
    """A row of the table."""
    net = nn.Linear(64, 10)
    program = dpasp.loads(RULES, networks={"net": net}, constants={"n": digits})
    model = program.module().to(device)
    labels = sums(batch, digits).to(device)
    images = torch.randn(batch, 2 * digits, 64, device=device)
    seen = model.observe(labels, QUERY)
    on_gpu = device.type == "cuda"
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=on_gpu)

    def step(loss: Callable[[], Tensor]) -> Callable[[], object]:
        def one() -> None:
            optimiser.zero_grad()
            loss().mean().neg().backward()  # type: ignore[no-untyped-call]
            optimiser.step()

        return one

    with_labels = step(lambda: model.log_prob(labels, {"img": images}, QUERY))
    times = [
        timed(with_labels, device),
        timed(step(lambda: model.log_prob(seen, {"img": images})), device),
        timed(step(lambda: net(images.reshape(-1, 64)).log_softmax(-1)), device),
    ]
    if on_gpu:
        times.append(timed(recorded(with_labels), device))
    return f"{digits:>4} {batch:>6}" + "".join(f"{value:>10.2f}" for value in times)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[15, 64, 100, 16])
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    print("   N  batch    labels      read   network  recorded")
    sizes = arguments.sizes
    for digits, batch in zip(sizes[::2], sizes[1::2], strict=True):
        print(measure(digits, batch, device), flush=True)


if __name__ == "__main__":
    main()
