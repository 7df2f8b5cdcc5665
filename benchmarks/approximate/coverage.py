"""How often the intervals of sampled answers hold the exact answer.

    python -m benchmarks.approximate.coverage [SEEDS [worlds|chains|CASE …]]

For every case and number of samples: the share of the seeds for which the interval of 95 %
holds the exact answer (under credal, both ends of it), and the mean width of the interval. There
are two kinds of samples: plain worlds, and states of chains, whose interval holds in the long run
only. Without a kind both are asked for, without a case all cases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import dpasp
from dpasp.inference.asked import Asked, Method, ask
from dpasp.inference.sampling import tallies
from dpasp.inference.sampling.sample import sampled_row
from dpasp.inference.sampling.stream import Prepared
from dpasp.language.ast import Probability
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning

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
RARE = {
    "one in 80,000, counted": (
        "0.02::x(1..5). e :- 3 { x(I) }. 0.3::b. c :- b, x(1). c :- not b, x(2). #query c | e."
    ),
    "one in 80,000, two causes": (
        "0.001::f. 0.002::t. 0.3::n. 0.01::c :- f. 0.004::c :- t, n. {a} :- f. #query f | c."
    ),
}
KINDS = ("worlds", "chains")
NUMBERS = (1, 10, 100, 1000)
GAP = 0.2
MOST = 1000  # samples where a gap decides when to stop
STATES = 800  # of chains

Ends = tuple[float, float]


@dataclass(frozen=True)
class Result:
    """How often the exact answer was held, and how wide the intervals were."""

    kind: str
    case: str
    semantics: str
    samples: str
    held: float
    width: float


def asked_of(text: str, semantics: str) -> Asked:
    """The queries of a program under a semantics."""
    meaning = Meaning(probability=Probability(semantics))
    return ask(dpasp.loads(text).ground(), meaning)


def covered(
    text: str, semantics: str, seeds: int, intervals: Callable[[Asked], Callable[[int], Ends]]
) -> tuple[float, float]:
    """The share of seeds whose interval holds the exact answer, and the mean width.

    ``intervals`` gives what finds the interval of a seed.
    """
    exact = dpasp.loads(text).query(semantics=semantics, engine="enumerate")[0].numbers
    held, widths, find = 0, [], intervals(asked_of(text, semantics))
    for seed in range(seeds):
        low, high = find(seed)
        held += low <= float(exact[0]) and float(exact[-1]) <= high
        widths.append(high - low)
    return held / seeds, float(np.mean(widths))


def plain(**options: float) -> Callable[[Asked], Callable[[int], Ends]]:
    """The intervals of the engine ``sample``; what is prepared does not depend on the seed."""

    def prepared(asked: Asked) -> Callable[[int], Ends]:
        groups = [Prepared(asked, asked.queries)]

        def find(seed: int) -> Ends:
            seeded = replace(asked, method=Method("sample", {**options, "seed": seed}))
            return _ends(sampled_row(seeded, groups, asked.weights).answers)

        return find

    return prepared


def _ends(answers: Sequence[dpasp.Answer]) -> Ends:
    (answer,) = answers
    assert answer.interval is not None
    low, high = answer.interval
    return float(low), float(high)


def results(seeds: int, wanted: Sequence[str]) -> Iterator[Result]:
    """The cases under both semantics, at every number of samples and stopping at a gap."""
    cases = [case for case in (*CASES, *RARE) if case in wanted] or [*CASES, *RARE]
    for case in (case for case in cases if case in CASES and "worlds" in wanted):
        for semantics in ("credal", "maxent"):
            for n in NUMBERS:
                held = covered(CASES[case], semantics, seeds, plain(n=n))
                yield Result("worlds", case, semantics, str(n), *held)
            held = covered(CASES[case], semantics, seeds, plain(n=MOST, gap=GAP))
            yield Result("worlds", case, semantics, f"gap {GAP}", *held)
    for case in (case for case in cases if case in RARE and "chains" in wanted):
        text = RARE[case]
        held = covered(text, "maxent", seeds, plain(n=STATES, chains=16))
        yield Result("chains", case, "maxent", str(STATES), *held)


def remembered(betting: Callable[..., Ends]) -> Callable[..., Ends]:
    """The same intervals, computed once for equal samples: many seeds have them."""
    known: dict[tuple[object, ...], Ends] = {}

    def interval(for_: Array, against: Array, counts: Array, *rest: object) -> Ends:
        key = (for_.tobytes(), against.tobytes(), counts.tobytes(), *rest)
        if key not in known:
            known[key] = betting(for_, against, counts, *rest)
        return known[key]

    return interval


def main() -> None:
    """Print a table."""
    tallies.betting = remembered(tallies.betting)
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wanted = sys.argv[2:]
    unknown = [word for word in wanted if word not in (*KINDS, *CASES, *RARE)]
    if unknown:
        sys.exit(f"{unknown[0]} is none of: {', '.join((*KINDS, *CASES, *RARE))}")
    if not any(kind in wanted for kind in KINDS):
        wanted += KINDS
    write = sys.stdout.write
    write(f"{seeds} seeds\n\n| samples of | case | semantics | samples | held | mean width |\n")
    write("|---|---|---|---|---|---|\n")
    worst = 1.0
    for one in results(seeds, wanted):
        worst = min(worst, one.held)
        held = f"{100 * one.held:.1f} %"
        start = f"| {one.kind} | {one.case} | {one.semantics} | {one.samples} "
        write(f"{start}| {held} | {one.width:.3f} |\n")
        sys.stdout.flush()
    write(f"\nleast: {100 * worst:.1f} %\n")


if __name__ == "__main__":
    main()
