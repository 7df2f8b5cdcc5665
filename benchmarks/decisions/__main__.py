"""Viral marketing on rings and random graphs: ``python -m benchmarks.decisions --people 6,10,30``.

Who buys may make others buy who trust them; marketing costs 2, a buyer brings 5. Each system runs
in a process of its own with a limit on its time: dPASP, ProbLog's ``dt`` and PASTA's ``-dtn``
where they are installed. Values are printed with the seconds, so that they can be compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random


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


def command(system: str, path: str) -> list[str] | None:
    """How a system is asked; None where it is not installed."""
    if system == "dpasp":
        return [sys.executable, "-m", "dpasp", "run", path]
    if system == "problog":
        known = importlib.util.find_spec("problog") is not None
        return [sys.executable, "-m", "problog", "dt", path] if known else None
    found = shutil.which("pasta", path=str(Path(sys.executable).parent)) or shutil.which("pasta")
    return None if found is None else [found, path, "-dtn"]


def measured(system: str, text: str, limit: float) -> tuple[str, float]:
    """What a system says in one line, and the seconds that it took."""
    with tempfile.NamedTemporaryFile("w", suffix=".plp", delete=False) as file:
        file.write(text)
    words = command(system, file.name)
    if words is None:
        return "not installed", 0.0
    started = time.perf_counter()
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "out of time", limit
    finally:
        Path(file.name).unlink(missing_ok=True)
    seconds = time.perf_counter() - started
    numbers = re.findall(r"(?:SCORE:|𝔼 =|Utility.*?)\s*\[?\s*(-?\d+\.\d+)", done.stdout)
    return numbers[0] if numbers else f"failed ({done.returncode})", seconds


def main() -> None:
    """Print a table of values and seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", default="6,8,10")
    parser.add_argument("--kinds", default="ring,random")
    parser.add_argument("--systems", default="dpasp,problog,pasta")
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    print("| graph | people | system | value | seconds |\n|---|---:|---|---:|---:|")
    for kind in options.kinds.split(","):
        for people in map(int, options.people.split(",")):
            pairs = trust(people, kind, 0)
            for system in options.systems.split(","):
                value, seconds = measured(
                    system, program(people, pairs, system), options.time_limit
                )
                print(f"| {kind} | {people} | {system} | {value} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
