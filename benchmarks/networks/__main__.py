"""Bayesian networks as programs, measured beside pyAgrum and ProbLog.

    DPASP_DATA=folder python -m benchmarks.networks              all networks of folder/networks
    DPASP_DATA=folder python -m benchmarks.networks alarm pigs   only these
    python -m benchmarks.networks                                a small one that comes along

A folder of networks holds one program each, ``NAME.plp``, and ``answers.json`` with queries and
their values: ``{"NAME": {"queries": [{"query": "a(x) | b(y)", "value": 0.5}]}}``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inference.measure import Limits, State, run
from benchmarks.networks.network import network_folder, read_network, split_query, table_sum
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
STAGES = ("read", "ground", "answer")
HEAD = (
    *("network", "query", "table sum", "nodes", "read, s", "ground, s", "answer, s", "MB"),
    *("pyAgrum, s", "ProbLog, s", ""),
)


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a network and its value."""

    network: str
    number: int
    file: Path
    query: str
    value: float


def queries(names: list[str]) -> Iterator[Query]:
    """The queries of the networks with these names, or of all."""
    folder = network_folder()
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    for name, own in answers.items():
        if names and name not in names:
            continue
        for number, one in enumerate(own["queries"], 1):
            yield Query(name, number, folder / f"{name}.plp", one["query"], one["value"])


def measured(query: Query, system: str, limits: Limits) -> dict[str, object]:
    """What one system took for a query, or how it ended."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if system == "problog":
            return _problog(query, Path(folder), limits)
        command = [sys.executable, "-m", "benchmarks.networks.inside", system]
        found = run([*command, str(query.file), query.query], Path(folder), limits)
    if found.state is not State.ANSWERED:
        return {"state": found.state.value, "error": found.errors.strip()[-200:]}
    return {**json.loads(found.output), "megabytes": found.megabytes}


def _problog(query: Query, folder: Path, limits: Limits) -> dict[str, object]:
    (variable, value), evidence = split_query(query.query)
    rows = [line for line in query.file.read_text(encoding="utf-8").splitlines() if "::" in line]
    rows += [f"evidence({name}({own}),true)." for name, own in evidence.items()]
    file = folder / "network.pl"
    file.write_text("\n".join([*rows, f"query({variable}({value})).", ""]), encoding="utf-8")
    found = run([sys.executable, "-m", "problog", str(file)], folder, limits)
    if found.state is not State.ANSWERED or ":\t" not in found.output:
        return {"state": found.state.value}
    value = float(found.output.strip().splitlines()[0].rpartition("\t")[2])
    return {"value": value, "seconds": {"answer": found.cpu}}


def row(query: Query, limits: dict[str, Limits]) -> tuple[list[str], bool]:
    """The cells of one query, and whether all is right, by systems under limits."""
    found = {name: measured(query, name, own) for name, own in limits.items()}
    ours = found["dpasp"]
    problems = [
        f"{name}: {one.get('state', 'wrong')}"
        for name, one in found.items()
        if "value" not in one or abs(float(str(one["value"])) - query.value) > 1e-6
    ]
    seconds = ours.get("seconds", {})
    assert isinstance(seconds, dict)
    stages = [f"{seconds[name]:.2f}" if name in seconds else "–" for name in STAGES]
    network = read_network(query.file.read_text(encoding="utf-8"))
    cells = [
        *(query.network, str(query.number), f"{table_sum(network, query.query):,}"),
        f"{ours['circuit_nodes']:,}" if "circuit_nodes" in ours else "–",
        *stages,
        f"{ours['megabytes']:.0f}" if "megabytes" in ours else "–",
        *(_seconds(found.get(name)) for name in ("pyagrum", "problog")),
        "; ".join(problems),
    ]
    return cells, not any(text.startswith("dpasp") for text in problems)


def _seconds(found: dict[str, object] | None) -> str:
    if found is None or not isinstance(found.get("seconds"), dict):
        return "–"
    seconds = found["seconds"]
    assert isinstance(seconds, dict)
    return f"{seconds['answer']:.3f}"


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--peers", default="pyagrum,problog", help="pyagrum, problog or none")
    parser.add_argument("--time-limit", type=float, default=60, help="CPU seconds a query")
    parser.add_argument("--peer-limit", type=float, help="CPU seconds a query for the others")
    parser.add_argument("--memory-limit", type=float, default=4000, help="megabytes")
    parser.add_argument("--output", type=Path, help="write results.md to this folder")
    options = parser.parse_args()
    limits = {"dpasp": Limits(options.time_limit, options.memory_limit)}
    for name in options.peers.split(","):
        if name and name != "none":
            seconds = options.peer_limit or options.time_limit
            limits[name] = Limits(seconds, options.memory_limit)
    console = Console(width=None if Console().is_terminal else 150)
    rows, right = [], 0
    for query in queries(options.networks):
        cells, good = row(query, limits)
        console.print(" ".join(cells), highlight=False)
        rows.append(cells)
        right += good
    table = Table(*HEAD)
    for cells in rows:
        table.add_row(*cells)
    console.print(table)
    console.print(f"{right} of {len(rows)} queries are answered, and right")
    if options.output:
        lines = ["# Networks", "", (HERE / "about.md").read_text(encoding="utf-8").strip(), ""]
        lines += [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [f"| {' | '.join(cells)} |" for cells in rows]
        lines += ["", f"{right} of {len(rows)} queries are answered, and right."]
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
