"""How often the intervals of sampled answers hold the exact answer.

    python -m benchmarks.approximate.coverage [SEEDS]

For every case and number of samples: the share of the seeds for which the interval of 95 %
holds the exact answer (under credal, both ends of it), and the mean width of the interval.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import dpasp

CASES = {
    "nearly equal samples": "0.005::z. {a}. a :- z. #query a.",
    "nearly certain": "0.995::z. {a}. a :- z. #query a.",
    "rare evidence": "0.01::x. {a}. 0.5::y. a :- y. #query a | x.",
    "rare evidence that is derived": (
        "0.05::x. 0.1::y. 0.3::z. e :- x, z. e :- y, not z. #query z | e."
    ),
    "evidence among the models": "0.2::x. 0.7::y. {e} :- x. e :- y, x. #query y | e.",
    "a network": (
        "0.1::b. 0.2::e. 0.9::a :- b, e. 0.8::a :- b, not e. 0.3::a :- not b, e. "
        "0.01::a :- not b, not e. 0.7::j :- a. 0.05::j :- not a. #query b | j."
    ),
    "no model for some": "0.3::a. 0.6::b. p :- a, not q. q :- b, not p. :- p, b. #query p.",
}
NUMBERS = (1, 10, 100, 1000)
GAP = 0.2
MOST = 1000  # samples where a gap decides when to stop


@dataclass(frozen=True)
class Result:
    """How often the exact answer was held, and how wide the intervals were."""

    case: str
    semantics: str
    samples: str
    held: float
    width: float


def covered(case: str, semantics: str, seeds: int, **options: float) -> tuple[float, float]:
    """The share of seeds whose interval holds the exact answer, and the mean width."""
    program = dpasp.loads(CASES[case])
    exact = program.query(semantics=semantics, engine="enumerate")[0].numbers
    held, widths = 0, []
    for seed in range(seeds):
        answer = program.query(semantics=semantics, engine="sample", seed=seed, **options)[0]
        assert isinstance(answer, dpasp.Answer)
        assert answer.interval is not None
        low, high = (float(end) for end in answer.interval)
        held += low <= float(exact[0]) and float(exact[-1]) <= high
        widths.append(high - low)
    return held / seeds, float(np.mean(widths))


def results(seeds: int) -> Iterator[Result]:
    """All cases under both semantics, at every number of samples and stopping at a gap."""
    for case in CASES:
        for semantics in ("credal", "maxent"):
            for n in NUMBERS:
                yield Result(case, semantics, str(n), *covered(case, semantics, seeds, n=n))
            held = covered(case, semantics, seeds, n=MOST, gap=GAP)
            yield Result(case, semantics, f"gap {GAP}", *held)


def main() -> None:
    """Print a table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    write = sys.stdout.write
    write(f"{seeds} seeds\n\n| case | semantics | samples | held | mean width |\n")
    write("|---|---|---|---|---|\n")
    worst = 1.0
    for one in results(seeds):
        worst = min(worst, one.held)
        held = f"{100 * one.held:.1f} %"
        write(f"| {one.case} | {one.semantics} | {one.samples} | {held} | {one.width:.3f} |\n")
        sys.stdout.flush()
    write(f"\nleast: {100 * worst:.1f} %\n")


if __name__ == "__main__":
    main()
