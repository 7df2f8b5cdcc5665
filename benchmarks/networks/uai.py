"""Markov networks of the UAI competitions: all marginals and the sum of all weights.

    DPASP_DATA=folder python -m benchmarks.networks.uai             all networks of folder/uai
    DPASP_DATA=folder python -m benchmarks.networks.uai Grids_11    only these
    ... --time-limit 60                                             CPU seconds a process
    ... --mpe                                                       the most probable state instead

What is printed are CPU seconds, of a process for each network and system: of dPASP from the file to
all marginals (conversion, reading, grounding and sums), and of its ``log_partition``; of pyAgrum's
Shafer-Shenoy inference with all targets; and of the sum by toulbar2's search (``isZ``), both
without reading the file. The packages ``pyagrum`` and ``pytoulbar2`` are those of ``.bench-venv``
(``--venv`` names another; ``--peers none`` leaves them out). Answers are compared with those of
``answers.json``, and where it has none, with each other.

With ``--mpe``, dPASP's ``map`` (from the file on) stands beside toulbar2's search (without reading
the file). toulbar2 rounds costs to as many decimal places as ``DECIMALS`` says. The logarithm of
the weight of the state that each finds is taken from the tables of the file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# "seconds"; "marginals" by atom; "log10" of the sum, and its "sum_seconds"; "state"
Found = dict[str, Any]
DECIMALS = 10  # of toulbar2's costs, which are natural logarithms; it has 7 if not told otherwise
CLOSE = 1e-6  # of the logarithms (base 10) of the largest weights


def ours(file: Path) -> Found:
    """All marginals, and the sum after that."""
    import dpasp

    started = time.process_time()
    program = dpasp.loads(dpasp.convert(file, "uai"))
    found = {answer.query.partition(" |")[0]: answer.value for answer in program.marginals()}
    first = time.process_time()
    total = float(program.log_partition()) / math.log(10)
    times = {"seconds": first - started, "sum_seconds": time.process_time() - first}
    return {**times, "marginals": found, "log10": total}


def toulbar2s(file: Path) -> Found:
    """The sum by a search that counts; simplifications that only keep the best are left out."""
    from pytoulbar2 import CFN

    network: Any = CFN(verbose=-1)
    network.Option.isZ, network.Option.logepsilon = True, -math.inf
    network.Option.evidence_file = f"{file}.evid"
    network.Option.preprocessFunctional = network.Option.lds = network.Option.DEE = 0
    network.Option.elimDegree = network.Option.elimDegree_preprocessing = -1
    network.Read(str(file))
    started = time.process_time()
    network.Solve()
    return {"seconds": time.process_time() - started, "log10": network.Option.logZ}


def our_state(file: Path) -> Found:
    """The most probable state."""
    import dpasp

    started = time.process_time()
    (answer,) = dpasp.loads(dpasp.convert(file, "uai")).map()
    seconds = time.process_time() - started
    held = [atom[1:-1].split("(") for atom, holds in answer.assignment.items() if holds]
    values = {int(variable): int(value) for variable, value in held}
    variables = int(file.read_text().split(maxsplit=2)[1])
    # a variable with a single value is no choice, and so not listed
    return {"seconds": seconds, "state": [values.get(variable, 0) for variable in range(variables)]}


def toulbar2s_state(file: Path) -> Found:
    """The most probable state."""
    from pytoulbar2 import CFN

    network: Any = CFN(verbose=-1)
    network.Option.resolution = DECIMALS
    network.Option.evidence_file = f"{file}.evid"
    network.Read(str(file))
    started = time.process_time()
    state, _, _ = network.Solve()
    return {"seconds": time.process_time() - started, "state": list(state)}


def log10_weight(file: Path, state: list[int]) -> float:
    """The logarithm of the weight of a state; minus infinity if evidence rules it out."""
    words = iter(file.read_text().split())
    next(words)
    sizes = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    listed = list(map(int, Path(f"{file}.evid").read_text().split()))
    if any(state[listed[1 + 2 * i]] != listed[2 + 2 * i] for i in range(listed[0])):
        return -math.inf
    weights = []
    for scope in scopes:
        table, place = [float(next(words)) for _ in range(int(next(words)))], 0
        for variable in scope:
            place = place * sizes[variable] + state[variable]
        weights.append(table[place])
    return math.fsum(map(math.log10, weights)) if all(weights) else -math.inf


def pyagrums(file: Path) -> Found:
    """All marginals."""
    import numpy as np
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
    return {"seconds": time.process_time() - started, "marginals": found}


SYSTEMS = {"dpasp": ours, "pyagrum": pyagrums, "toulbar2": toulbar2s}
SYSTEMS |= {"dpasp-mpe": our_state, "toulbar2-mpe": toulbar2s_state}


def measured(python: str, system: str, file: Path, limit: int) -> Found | str:
    """What a process of its own finds, or in words why it finds nothing in the CPU seconds."""
    done = subprocess.run(
        [python, "-m", "benchmarks.networks.uai", "--alone", system, str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    lines = done.stdout.splitlines()
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"> {limit}"
    if done.returncode:
        print(done.stderr, end="", file=sys.stderr)
        return "failed"
    found: Found = json.loads(lines[-1])
    return found


def error(found: dict[str, float], expected: dict[str, float]) -> str:
    """The largest difference to the marginals that are known, as a cell."""
    differences = [abs(found.get(atom, 0.0) - share) for atom, share in expected.items()]
    return f"{max(differences):.0e}" if differences else "–"


def row(mine: Found, peers: list[Found | str], known: dict[str, Any]) -> list[str]:
    """The cells of a network."""
    expected = {
        f"x{variable}({value})": share
        for variable, shares in known["marginals"].items()
        for value, share in enumerate(shares)
    }
    cells = [f"{mine['seconds']:.2f}", f"{mine['sum_seconds']:.2f}"]
    cells.append(error(mine["marginals"], expected))
    log10 = known["log10_z"]
    cells.append(f"{mine['log10']:.6f}" if log10 is None else f"{abs(mine['log10'] - log10):.0e}")
    for found in peers:
        if isinstance(found, str):
            cells += [found, "–"]
        elif "marginals" in found:
            cells += [f"{found['seconds']:.2f}"]
            cells += [error(found["marginals"], expected or mine["marginals"])]
        else:
            reference = mine["log10"] if log10 is None else log10
            cells += [f"{found['seconds']:.2f}", f"{abs(found['log10'] - reference):.0e}"]
    return cells


def mpe_row(file: Path, mine: Found | str, other: Found | str) -> list[str]:
    """The cells of a network whose most probable state is asked for."""
    cells, logs = [], []
    for found in (mine, other):
        cells.append(found if isinstance(found, str) else f"{found['seconds']:.2f}")
        if not isinstance(found, str):
            logs.append(log10_weight(file, found["state"]))
    same = len(logs) == 2 and abs(logs[0] - logs[1]) <= CLOSE
    return [*cells, " ≠ ".join(f"{log:.6f}" for log in (logs[:1] if same else logs))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--peers", default="pyagrum,toulbar2", help="some of these, or none")
    parser.add_argument("--venv", default=".bench-venv", help="where they are installed")
    parser.add_argument("--time-limit", type=int, default=60, help="CPU seconds of a process")
    parser.add_argument("--mpe", action="store_true", help="the most probable state")
    parser.add_argument("--alone", choices=tuple(SYSTEMS), help="one system, one file, as JSON")
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(SYSTEMS[options.alone](Path(options.networks[0]))))
        return
    folder = Path(os.environ["DPASP_DATA"]) / "uai"
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    peers = [] if options.peers == "none" else options.peers.split(",")
    if options.mpe:
        print(
            "| network | dPASP, s | toulbar2, s | log10 of the largest weight |\n|---|---|---|---|"
        )
        for name in options.networks or answers:
            file, python = folder / f"{name}.uai", str(Path(options.venv) / "bin" / "python")
            mine = measured(sys.executable, "dpasp-mpe", file, options.time_limit)
            other = measured(python, "toulbar2-mpe", file, options.time_limit)
            print(f"| {name} | {' | '.join(mpe_row(file, mine, other))} |", flush=True)
        return
    print("| network | marginals, s | sum, s | error | of log10 sum |", end="")
    print("".join(f" {peer}, s | error |" for peer in peers))
    print("|---" * (5 + 2 * len(peers)) + "|")
    for name in options.networks or answers:
        file, python = folder / f"{name}.uai", str(Path(options.venv) / "bin" / "python")
        mine = measured(sys.executable, "dpasp", file, options.time_limit)
        if isinstance(mine, str):
            print(f"| {name} | {mine} |", flush=True)
            continue
        others = [measured(python, peer, file, options.time_limit) for peer in peers]
        cells = row(mine, others, answers[name])
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
