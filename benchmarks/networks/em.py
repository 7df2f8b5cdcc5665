"""Learning all tables of a network by EM, from rows with missing values, beside pyAgrum.

    DPASP_DATA=folder python -m benchmarks.networks.em alarm child   of folder/networks
    python -m benchmarks.networks.em                                 a small one that comes along

Rows are drawn from the network, and some of their values left out. Each system learns in a
process of its own; what is printed are CPU seconds of ours (reading; compiling and learning) and
of pyAgrum's learning, and the log-likelihood of what was seen before and after ours.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.inference.measure import Limits, State, run
from benchmarks.networks.network import Network, network_folder, read_network

ANNOTATION = re.compile(r"[0-9.eE+-]+::")
DEFAULT_ROWS = {"alarm": 200, "child": 1000}


def drawn(network: Network, rows: int, missing: float, seed: int = 1) -> list[dict[str, str]]:
    """Rows of values by variable, some of which are left out."""
    chance = random.Random(seed)

    def row() -> dict[str, str]:
        values: dict[str, str] = {}
        open_ones = list(network.rows)
        while open_ones:  # a variable comes when all its parents have
            variable = open_ones.pop(0)
            if not network.parents(variable).keys() <= values.keys():
                open_ones.append(variable)
                continue
            for one in network.rows[variable]:
                if all(values[parent] == value for parent, value in one.parents):
                    weights = one.probabilities
                    values[variable] = chance.choices(list(weights), list(weights.values()))[0]
        return values

    return [
        {name: value for name, value in row().items() if chance.random() >= missing}
        for _ in range(rows)
    ]


def ours(text: str, rows: list[dict[str, str]], iterations: int) -> dict[str, object]:
    """CPU seconds of reading, and of compiling and learning."""
    import dpasp

    dpasp.loads("?::a. #semantics maxent.").learn([["a"]], niters=1)  # imports are not counted
    seen = [[f"{name}({value})" for name, value in row.items()] for row in rows]
    clock = [time.process_time()]
    program = dpasp.loads(ANNOTATION.sub("?::", text))
    clock.append(time.process_time())
    history = program.learn(seen, niters=iterations, alg="fixpoint")
    clock.append(time.process_time())
    likelihood = [history[at].log_likelihood for at in (0, -1)]
    return {"read": clock[1] - clock[0], "learn": clock[2] - clock[1], "likelihood": likelihood}


def pyagrum(text: str, rows: list[dict[str, str]], iterations: int) -> dict[str, object]:
    """CPU seconds of aGrUM's EM; it stops by itself, or after so many iterations."""
    import pyagrum as gum
    from benchmarks.networks.inside import bayes_net

    network = read_network(text)
    net = bayes_net(network)
    names = list(network.values)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        lines = [",".join(names)]
        lines += [",".join(row.get(name, "?") for name in names) for row in rows]
        file.write("\n".join(lines) + "\n")
        file.flush()
        learner = gum.BNLearner(file.name, net, ["?"])
        learner.useSmoothingPrior()
        learner.useEM(1e-12)
        learner.EMsetMaxIter(iterations)
        started = time.process_time()
        learner.learnParameters(net.dag())
        return {"learn": time.process_time() - started}


def inside(system: str, options: argparse.Namespace, file: Path) -> dict[str, object]:
    """What one system took, measured in this process."""
    text = file.read_text(encoding="utf-8")
    count = options.rows or DEFAULT_ROWS.get(file.stem, 200)
    rows = drawn(read_network(text), count, options.missing)
    return {"dpasp": ours, "pyagrum": pyagrum}[system](text, rows, options.iterations)


def report(file: Path, options: argparse.Namespace) -> str:
    """A line about one network."""
    count = options.rows or DEFAULT_ROWS.get(file.stem, 200)
    told = [f"--rows={count}", f"--missing={options.missing}", f"--iterations={options.iterations}"]
    line = f"{file.stem}: {count:,} rows, {options.missing:.0%} missing"
    for system in ("dpasp", "pyagrum"):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            command = [sys.executable, "-m", "benchmarks.networks.em", "--inside", system]
            ended = run([*command, *told, str(file)], Path(folder), Limits(120, 8000))
        if ended.state is not State.ANSWERED:
            line += f"; {system}: {ended.errors.strip()[-200:] or ended.state.value}"
            continue
        took = json.loads(ended.output)
        line += f"; {system} learns in {took['learn']:.2f} s"
        if system == "dpasp":
            before, after = took["likelihood"]
            line += f" (reading {took['read']:.2f} s), log-likelihood {before:.1f} → {after:.1f}"
    return line


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="*", help="names; all unless some are given")
    parser.add_argument("--rows", type=int, help="200, for child 1,000, unless said otherwise")
    parser.add_argument("--missing", type=float, default=0.2, help="share of the values")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(inside(options.inside, options, Path(options.networks[0]))))
        return
    folder = network_folder()
    for file in sorted(folder.glob("*.plp")):
        if not options.networks or file.stem in options.networks:
            print(report(file, options), flush=True)


if __name__ == "__main__":
    main()
