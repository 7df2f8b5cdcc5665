"""Weighted counts of CNF files by dPASP and by Ganak, each answer compared.

    DPASP_DATA=folder python -m benchmarks.counting                        all of folder/wcnf
    DPASP_DATA=folder python -m benchmarks.counting mc2022_track2_042      only these
    ... --time-limit 20                                                    CPU seconds a run

Every count is a process of its own, whose CPU seconds include starting, reading and, for dPASP,
converting and grounding. Ganak is that of the package ``pyganak`` in ``.bench-venv``
(``--venv`` names another; ``--peers none`` leaves it out). ``answers.json`` beside the instances
holds the published logarithms (base 10).
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
from pathlib import Path

OURS = """
import math, sys, dpasp
program = dpasp.loads(dpasp.convert(sys.argv[1], "wcnf"))
print(program.log_partition() / math.log(10))
"""
GANAKS = """
import math, sys
from pyganak import WeightedCounter
clauses, weights, variables = [], {}, 0
for line in open(sys.argv[1]):
    words = line.split()
    if words[:3] == ["c", "p", "weight"]:
        weights[int(words[3])] = float(words[4])
    elif words and words[0] == "p":
        variables = int(words[2])
    elif words and words[0] != "c":
        clauses.append([int(word) for word in words[:-1]])
counter = WeightedCounter()
counter.new_vars(variables)
for variable in range(1, variables + 1):
    for literal in (variable, -variable):
        other = weights.get(-literal)
        counter.set_lit_weight(literal, weights.get(literal, 1.0 if other is None else 1 - other))
for clause in clauses:
    counter.add_clause(clause)
count = counter.count()
print(math.log10(count) if count > 0 else -math.inf)
"""
CLOSE = 1e-6  # of logarithms (base 10); published ones have eight digits


def measured(python: str, code: str, file: Path, limit: int) -> tuple[float, float | None]:
    """The CPU seconds of a process, and the number it prints; infinite and None at the limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, "-c", code, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": os.devnull},  # no circuit that was compiled before
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    words = done.stdout.split()
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return math.inf, None
    if not words:
        print(done.stderr, file=sys.stderr)
    return seconds, float(words[-1]) if words else None


def cell(seconds: float, found: float | None, expected: float, limit: int) -> str:
    """Seconds, or what went wrong."""
    if found is None:
        return f"> {limit}" if seconds == math.inf else "failed"
    close = abs(found - expected) <= CLOSE * max(1.0, abs(expected))
    return f"{seconds:.2f}" + ("" if close else f" **{found:.8f}**")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("instances", nargs="*", help="names; all unless some are given")
    parser.add_argument("--peers", default="ganak", choices=("ganak", "none"))
    parser.add_argument("--venv", default=".bench-venv", help="where pyganak is installed")
    parser.add_argument("--time-limit", type=int, default=20, help="CPU seconds of a run")
    options = parser.parse_args()
    folder = Path(os.environ["DPASP_DATA"]) / "wcnf"
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    systems = {"dPASP": (sys.executable, OURS)}
    if options.peers == "ganak":
        systems["Ganak"] = (str(Path(options.venv) / "bin" / "python"), GANAKS)
    print("| instance | log10 of the count | " + ", s | ".join(systems) + ", s |")
    print("|---" * (2 + len(systems)) + "|")
    for name in options.instances or answers:
        expected = answers[name]["log10_count"]
        cells = []
        for python, code in systems.values():
            seconds, found = measured(python, code, folder / f"{name}.cnf", options.time_limit)
            shown = math.nan if expected is None else expected
            cells.append(cell(seconds, found, shown, options.time_limit))
        print(f"| {name} | {expected} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
