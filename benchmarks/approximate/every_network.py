"""The engine ``auto`` under limits on every network: is there always an answer, and how wide?

    DPASP_DATA=… python -m benchmarks.approximate.every_network [LIMIT … [NETWORK …]]

A LIMIT is a number of seconds, ``5``, or seconds and megabytes, ``5,600``. Every network of
``$DPASP_DATA/networks`` is asked its three queries, each in a process of its own, from the file to
the answer. The table has a row for each network and limit: how many of the queries have an answer
(exit code 0), how many of those are exact, the widest sure interval and the widest of 95 %, how
many of each hold the value that is known, the largest error of an estimate, and the longest time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMITS = ("1", "5", "5,600")
GRACE = 60.0  # seconds beyond its limit after which a process is given up
SINGLE = 1e-6  # the networks' files hold numbers of single precision

Ends = tuple[float, float]


@dataclass(frozen=True)
class Network:
    """A program without queries, and its queries with their values."""

    name: str
    text: str
    queries: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Found:
    """What a run came to."""

    code: int
    seconds: float
    known: float
    value: float = 0.5
    sure: Ends = (0.0, 1.0)
    likely: Ends = (0.0, 1.0)
    exact: bool = False

    def holds(self, ends: Ends) -> bool:
        """Whether an interval holds the value that is known, up to how precise that is."""
        return ends[0] - SINGLE <= self.known <= ends[1] + SINGLE


def networks(folder: Path) -> Iterator[Network]:
    """All networks of a folder."""
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    for name, known in sorted(answers.items()):
        text = (folder / f"{name}.plp").read_text(encoding="utf-8")
        queries = tuple((each["query"], float(each["value"])) for each in known["queries"])
        yield Network(name, text, queries)


def asked(text: str, query: str, known: float, limit: str) -> Found:
    """The answer to a query in a process of its own."""
    seconds, _, megabytes = limit.partition(",")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.plp"
        file.write_text(f"{text}\n#query {query}.\n", encoding="utf-8")
        words = [sys.executable, "-m", "dpasp", "run", str(file), "--json", "-q", "--seed", "1"]
        words += ["--semantics", "maxent", "--time-limit", seconds]
        words += ["--memory-limit", megabytes] if megabytes else []
        began = time.monotonic()
        run = subprocess.run(words, capture_output=True, text=True, timeout=float(seconds) + GRACE)
        taken = time.monotonic() - began
    if run.returncode != 0:
        return Found(run.returncode, taken, known)
    (answer,) = json.loads(run.stdout)["answers"]
    value = answer["value"]
    if answer.get("exact", True):
        return Found(0, taken, known, value, (value, value), (value, value), exact=True)
    low, high = answer["interval"]
    likely = answer.get("likely", (low, high))
    return Found(0, taken, known, value, (low, high), (likely[0], likely[1]))


def row(name: str, limit: str, found: Sequence[Found]) -> str:
    """A row of the table."""
    good = [one for one in found if one.code == 0]
    seconds, _, megabytes = limit.partition(",")
    shown = [
        name,
        f"{seconds} s" + (f", {megabytes} MB" if megabytes else ""),
        f"{len(good)} of {len(found)}",
        str(sum(one.exact for one in good)),
        f"{max((one.sure[1] - one.sure[0] for one in good), default=1.0):.4f}",
        f"{max((one.likely[1] - one.likely[0] for one in good), default=1.0):.4f}",
        f"{sum(one.holds(one.sure) for one in good)}",
        f"{sum(one.holds(one.likely) for one in good)}",
        f"{max((abs(one.value - one.known) for one in good), default=1.0):.4f}",
        f"{max(one.seconds for one in found):.1f}",
    ]
    return f"| {' | '.join(shown)} |\n"


def main() -> None:
    """Print the table."""
    data = os.environ.get("DPASP_DATA")
    if data is None:
        sys.exit("the networks are those of $DPASP_DATA/networks: say where that is")
    write = sys.stdout.write
    write("| network | limit | answered | exact | sure width | 95 % width | in the sure one | ")
    write("in that of 95 % | error | longest, s |\n|---|---|---|---|---|---|---|---|---|---|\n")
    refused = 0
    limits = [word for word in sys.argv[1:] if word[0].isdigit()]
    names = [word for word in sys.argv[1:] if word not in limits]
    for limit in limits or LIMITS:
        for network in networks(Path(data) / "networks"):
            if names and network.name not in names:
                continue
            found = [asked(network.text, *query, limit) for query in network.queries]
            refused += sum(one.code != 0 for one in found)
            write(row(network.name, limit, found))
            sys.stdout.flush()
    write(f"\nwithout an answer: {refused}\n")


if __name__ == "__main__":
    main()
