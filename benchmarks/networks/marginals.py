"""All marginals of a network beside one query, under the evidence of its last query.

    DPASP_DATA=folder python -m benchmarks.networks.marginals alarm andes   of folder/networks
    python -m benchmarks.networks.marginals                                 a small one

What is printed are the CPU seconds of ``program.query`` and of ``program.marginals``, grounding
included, the least of three; those of pyAgrum's inference with one target, and with all.
Circuits that an earlier run has left on disk are not used.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.networks.inside import bayes_net
from benchmarks.networks.network import network_folder, read_network, split_query

TIMES = 3


def seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of the quickest of some runs."""

    def once() -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return min(once() for _ in range(TIMES))


def ours(text: str, query: str) -> tuple[float, float]:
    """One query, and all marginals."""
    import dpasp

    dpasp.loads("0.5::a. #query a.").query()
    evidence = query.partition("|")[2].strip()
    one = [dpasp.loads(text) for _ in range(TIMES)]
    every = [dpasp.loads(text) for _ in range(TIMES)]
    return (
        seconds(lambda: one.pop().query(query)),
        seconds(lambda: every.pop().marginals(evidence=evidence)),
    )


def pyagrums(text: str, query: str) -> tuple[float, float]:
    """One target, and all targets."""
    import pyagrum as gum

    net = bayes_net(read_network(text))
    (target, _), evidence = split_query(query)

    def infer(targets: list[str]) -> Any:
        engine = gum.LazyPropagation(net)
        engine.setNumberOfThreads(1)
        engine.setEvidence(evidence)
        for name in targets:
            engine.addTarget(name)
        engine.makeInference()
        return [engine.posterior(name) for name in targets]

    return seconds(lambda: infer([target])), seconds(lambda: infer(list(net.names())))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--peers", default="pyagrum", help="pyagrum or none")
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.devnull
    answers = json.loads((network_folder() / "answers.json").read_text(encoding="utf-8"))
    print("| network | query, s | marginals, s | ratio | pyAgrum: one, s | all, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in options.networks or answers:
        text = (network_folder() / f"{name}.plp").read_text(encoding="utf-8")
        query = answers[name]["queries"][-1]["query"]
        cells = [name]
        for system in (ours, pyagrums)[: 1 + (options.peers == "pyagrum")]:
            one, every = system(text, query)
            cells += [f"{one:.3f}", f"{every:.3f}", f"{every / one:.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
