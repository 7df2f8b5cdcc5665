"""What more processes are worth on this machine, and what a model says of up to 1,000 workers.

    python -m benchmarks.approximate.scaling

The model: with W workers, work that costs C seconds of one worker, in P parts, takes

    start + C / W + C / P + P · each

seconds: workers are ready after ``start``, all work at the same time, the last part is waited for,
and the driver spends ``each`` second on every part. All three are CPU seconds that are measured
here, so that they also hold where the machine is busy; the seconds of the first table are not.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable

from benchmarks.inference import families

import dpasp
from dpasp.cluster.pools import Pool, open_pool
from dpasp.inference.sampling.sample import shards

PROCESSES = (1, 2, 4)
WORKERS = (1, 2, 4, 10, 100, 1000)
SAMPLES = 2_000_000  # that are measured
SLOW = 10_000  # those of worlds whose models differ
MANY = 10**9  # those of the model
Work = Callable[[Pool], object]


def works() -> dict[str, Work]:
    """What is shared."""
    network = dpasp.loads(families.bayes(200))
    colours = dpasp.loads(families.colouring(20))

    def samples(pool: Pool) -> object:
        return network.query(engine="sample", n=SAMPLES, seed=1, semantics="maxent", cluster=pool)

    def slow(pool: Pool) -> object:
        return colours.query(engine="sample", n=SLOW, seed=1, semantics="maxent", cluster=pool)

    def atoms(pool: Pool) -> object:
        return network.marginals(semantics="maxent", cluster=pool)

    return {
        f"a network of 200, {SAMPLES:,} samples": samples,
        f"colouring 20 (maxent), {SLOW:,} samples": slow,
        "all atoms of a network of 200, by 64 circuits": atoms,
    }


def seconds(work: Work, pool: Pool) -> float:
    """How long a work takes."""
    began = time.monotonic()
    work(pool)
    return time.monotonic() - began


def children() -> float:
    """The CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def costs(work: Work) -> tuple[float, float]:
    """CPU seconds of one worker and of the driver."""
    before, began = children(), time.process_time()
    with open_pool(1) as pool:
        work(pool)
    return children() - before, time.process_time() - began


def sampling_costs() -> tuple[float, float]:
    """CPU seconds of a worker for the samples, and of the driver for each of their parts."""
    network = dpasp.loads(families.bayes(200))

    def sampling(n: int) -> Work:
        return lambda pool: network.query(
            engine="sample", n=n, seed=1, semantics="maxent", cluster=pool
        )

    costs(sampling(1))  # it is ground by then
    few = SAMPLES // 100
    (cost, driver), (_, less) = costs(sampling(SAMPLES)), costs(sampling(few))
    parts = [sum(1 for _ in shards(n, 1, slow=False)) for n in (SAMPLES, few)]
    return cost, max(0.0, driver - less) / (parts[0] - parts[1])


def main() -> None:
    """Print both tables."""
    write = sys.stdout.write
    tiny = dpasp.loads("0.5::a. #query a.")
    start, _ = costs(lambda pool: tiny.query(engine="sample", n=1, cluster=pool))
    every = works()
    cost, each = sampling_costs()
    load = os.getloadavg()[0]
    write(f"{os.cpu_count()} cores, load {load:.1f}\n\n| work | ")
    write(f"{' | '.join(f'{n} processes' for n in PROCESSES)} |\n|---|{'---|' * 3}\n")
    for name, work in every.items():
        taken = []
        for number in PROCESSES:
            with open_pool(number) as pool:
                tiny.query(engine="sample", n=100_000, cluster=pool)  # all have started
                taken.append(seconds(work, pool))
        write(f"| {name} | {' | '.join(f'{one:.1f} s' for one in taken)} |\n")
        sys.stdout.flush()
    rate = SAMPLES / (cost - start)
    parts = sum(1 for _ in shards(MANY, 1, slow=False))
    write(f"\nstart {start:.2f} s, each part {1000 * each:.2f} ms, {rate:,.0f} samples a second ")
    write(f"and worker; {MANY:,} samples are {parts:,} parts\n\n")
    write("| workers | seconds | times as fast as one |\n|---|---|---|\n")
    work_seconds = MANY / rate
    for workers in WORKERS:
        taken_by = start + work_seconds / workers + work_seconds / parts + parts * each
        first = start + work_seconds + work_seconds / parts + parts * each
        write(f"| {workers:,} | {taken_by:,.1f} | {first / taken_by:,.1f} |\n")


if __name__ == "__main__":
    main()
