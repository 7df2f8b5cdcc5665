"""A table of evidence: rows of a network, a fifth of the cells missing, one variable asked for.

    DPASP_DATA=folder python -m benchmarks.networks.rows alarm         of folder/networks
    python -m benchmarks.networks.rows --rows 1000 --peers pyagrum     a small network

The rows are drawn from the network; the variable with the most values is asked for, and its column
left out. Printed are seconds of the processor, all threads together: of compiling and of answering
all rows by ``program.predict``, and for the peers of answering one row after the other (pyAgrum's
lazy propagation, whose engine is kept; pgmpy's variable elimination), measured on some rows and
scaled.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.networks.inside import bayes_net
from benchmarks.networks.network import Network, network_folder, read_network

PEER_ROWS = 50  # that a peer answers; its time is scaled to all
Rows = list[dict[str, str | None]]


def drawn(network: Network, count: int, missing: float, seed: int = 1) -> Rows:
    """Rows of the network, with a share of the cells missing."""
    random, order = Random(seed), sorted(network.values, key=lambda v: len(network.ancestors([v])))
    tables = {
        name: {frozenset(row.parents): row.probabilities for row in network.rows[name]}
        for name in order
    }
    rows: Rows = []
    for _ in range(count):
        values: dict[str, str] = {}
        for name in order:
            given = frozenset((parent, values[parent]) for parent in network.parents(name))
            shares = tables[name][given]
            values[name] = random.choices(list(shares), list(shares.values()))[0]
        rows.append({k: None if random.random() < missing else v for k, v in values.items()})
    return rows


def ours(text: str, target: str, rows: Rows) -> tuple[float, float, list[list[float]]]:
    """Seconds for the first row alone, and for all of them; the answers."""
    import dpasp

    program = dpasp.loads(text, semantics="maxent")
    started = time.process_time()
    program.query(f"{target}(X)", evidence=rows[:1])
    first = time.process_time() - started
    started = time.process_time()
    answers = program.query(f"{target}(X)", evidence=rows)
    seconds = time.process_time() - started
    by_value = {a.query[len(target) + 1 : -1]: a.value for a in answers}  # type: ignore[union-attr]
    return first, seconds, [[float(column[i]) for column in map(by_value.get, sorted(by_value))]
                            for i in range(len(rows))]  # type: ignore[index]  # fmt: skip


def pyagrum(network: Network, target: str, rows: Rows) -> list[list[float]]:
    """The answers of pyAgrum, row by row."""
    import pyagrum as gum

    net = bayes_net(network)
    engine = gum.LazyPropagation(net)
    engine.addTarget(target)
    found = []
    for row in rows:
        engine.setEvidence({name: value for name, value in row.items() if value is not None})
        engine.makeInference()
        posterior = engine.posterior(target)
        found.append([float(posterior[{target: v}]) for v in sorted(network.values[target])])
    return found


def pgmpy(network: Network, target: str, rows: Rows) -> list[list[float]]:
    """The answers of pgmpy, row by row."""
    from itertools import product

    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    arcs = [(parent, name) for name in network.values for parent in network.parents(name)]
    model = DiscreteBayesianNetwork(arcs)
    model.add_nodes_from(network.values)
    for name, values in network.values.items():
        parents = list(network.parents(name))
        table = {frozenset(row.parents): row.probabilities for row in network.rows[name]}
        columns = [
            table[frozenset(zip(parents, given, strict=True))]
            for given in product(*(network.values[parent] for parent in parents))
        ]
        numbers = [[column.get(value, 0.0) for column in columns] for value in values]
        states = {v: list(network.values[v]) for v in (name, *parents)}
        sizes = [len(network.values[parent]) for parent in parents]
        model.add_cpds(TabularCPD(name, len(values), numbers, parents, sizes, state_names=states))
    engine = VariableElimination(model)
    found = []
    for row in rows:
        evidence = {name: value for name, value in row.items() if value is not None}
        posterior = engine.query([target], evidence=evidence, show_progress=False)
        states = posterior.state_names[target]
        by_value = dict(zip(states, posterior.values, strict=True))
        found.append([float(by_value[value]) for value in sorted(network.values[target])])
    return found


PEERS: dict[str, Callable[[Network, str, Rows], list[list[float]]]] = {
    "pyagrum": pyagrum,
    "pgmpy": pgmpy,
}


def measured(peer: str, network: Network, target: str, rows: Rows, wanted: Any) -> str:
    """The seconds that a peer would take for all rows, and how far its answers are from ours."""
    some = rows[:PEER_ROWS]
    started = time.process_time()
    try:
        found = PEERS[peer](network, target, some)
    except ImportError:
        return "not installed"
    seconds = (time.process_time() - started) * len(rows) / len(some)
    pairs = zip(found, wanted, strict=False)
    apart = max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True))
    return f"{seconds:.1f} (differs by {apart:.0e})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--missing", type=float, default=0.2)
    parser.add_argument("--peers", default="pyagrum,pgmpy", help="with commas, or none")
    options = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = os.devnull
    peers = [peer for peer in options.peers.split(",") if peer in PEERS]
    print(f"| network | asked for | rows | first row, s | all rows, s | {' | '.join(peers)} |")
    print("|---" * (5 + len(peers)) + "|")
    files = sorted(network_folder().glob("*.plp"))
    for file in files:
        if options.networks and file.stem not in options.networks:
            continue
        text = file.read_text(encoding="utf-8")
        network = read_network(text)
        target = max(network.values, key=lambda name: (len(network.values[name]), name))
        rows = drawn(network, options.rows, options.missing)
        for row in rows:
            del row[target]
        first, seconds, found = ours(text, target, rows)
        others = [measured(peer, network, target, rows, found) for peer in peers]
        cells = [file.stem, target, f"{len(rows):,}", f"{first:.2f}", f"{seconds:.2f}", *others]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
