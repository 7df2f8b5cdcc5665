"""Markov networks of the UAI competitions: all marginals and the sum of all weights.

    DPASP_DATA=folder python -m benchmarks.networks.uai             all networks of folder/uai
    DPASP_DATA=folder python -m benchmarks.networks.uai Grids_11    only these

What is printed are CPU seconds in one process: of dPASP from the file to all marginals (conversion,
reading, grounding and sums), of its ``log_partition``, and of pyAgrum's Shafer-Shenoy inference
with all targets, without reading the file. Answers are compared with those of ``answers.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np


def ours(file: Path) -> tuple[float, float, float, dict[str, float]]:
    """Seconds for all marginals and for the sum, its logarithm (base 10), and the marginals."""
    import dpasp

    started = time.process_time()
    program = dpasp.loads(dpasp.convert(file, "uai"))
    found = {answer.query.partition(" |")[0]: answer.value for answer in program.marginals()}
    first = time.process_time()
    total = float(program.log_partition()) / math.log(10)
    return first - started, time.process_time() - first, total, found


def pyagrums(file: Path) -> tuple[float, dict[str, float]]:
    """Seconds of inference for all marginals, and the marginals."""
    import pyagrum as gum

    words = iter(file.read_text().split())
    next(words)
    sizes = [int(next(words)) for _ in range(int(next(words)))]
    net: Any = gum.MarkovRandomField()
    for i, size in enumerate(sizes):
        net.add(gum.RangeVariable(f"x{i}", "", 0, size - 1))
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    tables: dict[frozenset[int], np.ndarray] = {}
    for scope in scopes:
        numbers = np.array([float(next(words)) for _ in range(int(next(words)))])
        table = numbers.reshape([sizes[v] for v in scope])
        order = sorted(scope)
        table = table.transpose([scope.index(v) for v in order])
        key = frozenset(scope)
        tables[key] = tables[key] * table if key in tables else table
    for key, table in tables.items():
        order = sorted(key)
        factor = net.addFactor([f"x{v}" for v in order])
        place = [order.index(int(name[1:])) for name in reversed(factor.names)]
        factor.fillWith(table.transpose(place).flatten("C").tolist())
    listed = list(map(int, Path(f"{file}.evid").read_text().split()))
    evidence = {f"x{listed[1 + 2 * i]}": listed[2 + 2 * i] for i in range(listed[0])}
    started = time.process_time()
    engine = gum.ShaferShenoyMRFInference(net)
    engine.setEvidence(evidence)
    engine.makeInference()
    found = {}
    for i, size in enumerate(sizes):
        shares = engine.posterior(f"x{i}").tolist()
        found |= {f"x{i}({value})": shares[value] for value in range(size)}
    return time.process_time() - started, found


def error(found: dict[str, float], expected: dict[str, list[float]]) -> float:
    """The largest difference to the marginals that are known."""
    return max(
        abs(found.get(f"x{variable}({value})", 0.0) - share)
        for variable, shares in expected.items()
        for value, share in enumerate(shares)
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--peers", default="pyagrum", help="pyagrum or none")
    options = parser.parse_args()
    folder = Path(os.environ["DPASP_DATA"]) / "uai"
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    print("| network | marginals, s | sum, s | error | of log10 sum | pyAgrum, s | error |")
    print("|---|---|---|---|---|---|---|")
    for name in options.networks or answers:
        known = answers[name]
        if known["log10_z"] is None:
            continue
        every, total, log, found = ours(folder / f"{name}.uai")
        cells = [f"{every:.2f}", f"{total:.2f}", f"{error(found, known['marginals']):.0e}"]
        cells.append(f"{abs(log - known['log10_z']):.0e}")
        if options.peers != "none":
            seconds, theirs = pyagrums(folder / f"{name}.uai")
            cells += [f"{seconds:.2f}", f"{error(theirs, known['marginals']):.0e}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
