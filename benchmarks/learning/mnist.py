"""MNIST addition as in the paper: dPASP and the hand-written loop, epoch by epoch in turn.

    DPASP_DATA=folder python -m benchmarks.learning.mnist [--batch 1000] [--epochs 5]

CPU seconds of one thread; both start from the same weights and see the same batches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benchmarks.learning import loop

import dpasp
from dpasp.learning.options import learn_options
from dpasp.learning.train import HowToLearn, StopRequest, start_learning

EXAMPLE = Path(__file__).parents[2] / "examples" / "mnist_add.plp"


def clock(device: str) -> float:
    """CPU seconds; on a GPU, seconds with everything that was asked for done."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--capture", action="store_true", help="record dPASP's steps on a GPU")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(given.seed)
    program = dpasp.load(EXAMPLE)
    trained = program._torch.trainable()
    own = program.functions
    options = {"batch": given.batch, "seed": given.seed, "device": given.device}
    options["capture"] = given.capture
    how = HowToLearn(learn_options(program.source, {**options, "niters": given.epochs}))
    seen, rows, span = trained.examples(None, None, how.options.query)
    run = start_learning(trained.model, seen, rows, how, span)
    net = own["Net"]()
    net.load_state_dict(trained.model.nets[0].module.state_dict())
    net.to(given.device)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.001)
    rows = [own["train_half"](i).to(given.device) for i in (0, 1)]
    digits = [own["half"](own["train_labels"], i).long() for i in (0, 1)]
    sums = (digits[0] + digits[1]).to(given.device)

    print(f"batch {given.batch}, seed {given.seed}, {given.device}")
    print(f"{'epoch':>5} {'loop s':>8} {'dPASP s':>8} {'ratio':>6}")
    spent = [0.0, 0.0]
    for number in range(given.epochs):
        order = run.order()
        begin = clock(given.device)
        loop.epoch(net, optimiser, *rows, sums, order, given.batch)
        middle = clock(given.device)
        run.iterate(StopRequest())
        end = clock(given.device)
        spent = [spent[0] + middle - begin, spent[1] + end - middle]
        ratio = (end - middle) / (middle - begin)
        print(f"{number + 1:5} {middle - begin:8.3f} {end - middle:8.3f} {ratio:6.3f}", flush=True)
    print(f"{'all':>5} {spent[0]:8.3f} {spent[1]:8.3f} {spent[1] / spent[0]:6.3f}")
    trained.model.to("cpu")
    report(program, own, net.to("cpu"))


def report(program: dpasp.Program, own: Mapping[str, Any], net: torch.nn.Module) -> None:
    """Accuracies, and the time for all answers over the test pairs."""
    tests = [own["test_half"](i) for i in (0, 1)]
    labels = own["half"](own["test_labels"], 0).long(), own["half"](own["test_labels"], 1).long()
    learned = program._torch.trainable().model.nets[0].module.eval()
    for name, module in (("loop", net.eval()), ("dPASP", learned)):
        with torch.no_grad():
            pairs = zip(tests, labels, strict=True)
            right = [(module(x).argmax(1) == y).double().mean() for x, y in pairs]
        total = loop.accuracy(module, *tests, labels[0] + labels[1])
        print(f"{name:>6}: sums {100 * total:.2f} %, digits {50 * float(sum(right)):.2f} %")
    print(f" dPASP: sums {100 * program.accuracy('sum(X)', own['test_sums']()):.2f} % by its own")
    program.query()
    for _ in range(3):
        begin = time.process_time()
        with torch.no_grad():
            net(torch.cat(tests))
        middle = time.process_time()
        answers = program.query()
        end = time.process_time()
        ratio = (end - middle) / (middle - begin)
        print(
            f"{len(answers)} sums of {len(tests[0])} pairs: {end - middle:.3f} s, "
            f"the network alone {middle - begin:.3f} s, ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
