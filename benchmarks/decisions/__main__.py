"""Decisions beside other systems: ``python -m benchmarks.decisions --people 6,10,30``.

Viral marketing on rings and random graphs: who buys may make others buy who trust them; marketing
costs 2, a buyer brings 5. Each system runs in a process of its own with a limit on its time: dPASP,
ProbLog's ``dt`` and PASTA's ``-dtopt``, where they are installed (PASTA by ``--pasta COMMAND``).

``--diagrams FILE…`` solves influence diagrams in XMLBIF beside pyAgrum's
``ShaferShenoyLIMIDInference``. Times are CPU seconds of the whole process, start-up included.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import dpasp


def trust(people: int, kind: str, seed: int) -> list[tuple[int, int]]:
    """Who trusts whom: neighbours on a ring, or 1.5 random pairs a person."""
    if kind == "ring":
        pairs = {(i, (i + 1) % people) for i in range(people)}
        return sorted(pairs | {(b, a) for a, b in pairs})
    random = Random(seed)
    found: set[tuple[int, int]] = set()
    while len(found) < int(1.5 * people):
        a, b = random.sample(range(people), 2)
        found.add((a, b))
    return sorted(found)


def program(people: int, pairs: list[tuple[int, int]], system: str) -> str:
    """The program in the language of a system."""
    lines = [f"person({i})." for i in range(people)] + [f"trusts({a},{b})." for a, b in pairs]
    each = range(people)
    if system == "pasta":
        lines += [f"0.3::by_trust({a},{b})." for a, b in pairs]
        lines += [f"0.4::by_marketing({i})." for i in each]
        lines += [f"decision market({i})." for i in each]
        lines += [f"utility(buys({i}),5). utility(market({i}),-2)." for i in each]
    else:
        lines += ["0.3::by_trust(A,B) :- trusts(A,B).", "0.4::by_marketing(P) :- person(P)."]
    lines += ["buys(P) :- market(P), by_marketing(P)."]
    lines += ["buys(A) :- trusts(A,B), buys(B), by_trust(A,B)."]
    if system == "dpasp":
        lines += ["#decision {market(P) : person(P)}.", "#semantics maxent."]
        lines += ["#utility 5 : buys(P).", "#utility -2 : market(P)."]
    if system == "problog":
        lines += ["?::market(P) :- person(P)."]
        lines += [f"utility(buys({i}),5). utility(market({i}),-2)." for i in each]
    return "\n".join(lines) + "\n"


def command(system: str, path: str, pasta: str = "") -> list[str] | None:
    """How a system is asked; None where it is not installed."""
    if system == "dpasp":
        return [sys.executable, "-m", "dpasp", "run", path]
    if system == "problog":
        known = importlib.util.find_spec("problog") is not None
        return [sys.executable, "-m", "problog", "dt", path] if known else None
    return None if not pasta else [*shlex.split(pasta), path, "-dtopt"]


def measured(system: str, text: str, limit: float, pasta: str) -> tuple[str, float]:
    """The value that a system finds, and the seconds that it took."""
    with tempfile.NamedTemporaryFile("w", suffix=".plp", delete=False) as file:
        file.write(text)
    words = command(system, file.name, pasta)
    try:
        return ("not installed", 0.0) if words is None else _run(words, limit)
    finally:
        Path(file.name).unlink(missing_ok=True)


def _run(words: list[str], limit: float) -> tuple[str, float]:
    """The first value that a command prints, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "out of time", limit
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    numbers = re.findall(VALUE, done.stdout)
    return numbers[0] if numbers else f"failed ({done.returncode})", seconds


VALUE = r"(?:SCORE:|𝔼 =|[Uu]tility:|MEU)\s*\[?\s*(-?\d+\.\d+(?:[eE][-+]?\d+)?)"
BY_PYAGRUM = """
import sys, pyagrum
diagram = pyagrum.loadID(sys.argv[1])
engine = pyagrum.ShaferShenoyLIMIDInference(diagram)
engine.makeInference()
print("MEU", engine.MEU()["mean"])
"""


def diagrams(files: list[str], limit: float) -> None:
    """Print the values of influence diagrams, and the seconds."""
    print("\n| diagram | dPASP | seconds | pyAgrum | seconds |\n|---|---:|---:|---:|---:|")
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            copy, program = Path(folder) / "diagram.bifxml", Path(folder) / "diagram.plp"
            copy.write_text(Path(file).read_text())
            program.write_text(dpasp.convert(copy, "bif"))
            ours = _run([sys.executable, "-m", "dpasp", "run", str(program)], limit)
            theirs = _run([sys.executable, "-c", BY_PYAGRUM, str(copy)], limit)
        cells = [Path(file).stem, ours[0], f"{ours[1]:.1f}", theirs[0], f"{theirs[1]:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table of values and seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", default="6,8,10")
    parser.add_argument("--kinds", default="ring,random")
    parser.add_argument("--systems", default="dpasp,problog,pasta")
    parser.add_argument("--pasta", default="", help="the command that runs PASTA")
    parser.add_argument("--diagrams", nargs="*", default=[], help="files in XMLBIF")
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    if options.diagrams:
        return diagrams(options.diagrams, options.time_limit)
    print("| graph | people | system | value | seconds |\n|---|---:|---|---:|---:|")
    for kind in options.kinds.split(","):
        for people in map(int, options.people.split(",")):
            pairs = trust(people, kind, 0)
            for system in options.systems.split(","):
                text = program(people, pairs, system)
                value, seconds = measured(system, text, options.time_limit, options.pasta)
                print(f"| {kind} | {people} | {system} | {value} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
