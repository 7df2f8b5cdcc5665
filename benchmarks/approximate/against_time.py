"""How good answers are after so many seconds, beside ProbLog's sampling and k-best.

    python -m benchmarks.approximate.against_time [SECONDS … [INSTANCE … [SYSTEM …]]]

Every run is a process of its own, start-up and grounding included; beside the limit of wall time
stands the CPU time that it had, which is less where the machine is busy. ``dpasp run --time-limit
S`` gives a sure interval with an estimate in it, or the exact answer, and with ``--engine bounds``
all of the time goes to the sure interval; ``problog sample --estimate --timeout S`` gives an
estimate; ``problog -k kbest``, which is interrupted after S seconds, an interval.
The networks are those of ``$DPASP_DATA/networks``, with the evidence of their third query. PASTA's
samplers are not in the table: there is no package of it to install.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inference import families, syntax

SECONDS = (3.0, 10.0, 30.0)
SYSTEMS = ("dPASP", "dPASP, bounds", "ProbLog, samples", "ProbLog, k-best")
PEERS = 10.0  # seconds of the peers
NETWORKS = ("mildew", "munin1", "barley")
GRACE = 60.0  # seconds that a process may take beyond its limit


@dataclass(frozen=True)
class Instance:
    """A program, the same one for ProbLog (if it has one), and the answer if it is known."""

    name: str
    text: str
    problog: str | None
    exact: float | None = None


@dataclass(frozen=True)
class Result:
    """What a system had to say after some seconds."""

    system: str
    seconds: float
    cpu: float
    value: float | None = None
    sure: float | None = None  # the width of the sure interval
    likely: float | None = None  # that of 95 %
    samples: int | None = None


def instances() -> Iterator[Instance]:
    """All programs."""
    for name, text in (
        ("grid 10 × 10", families.grid(10)),
        ("smokers 60", families.smokers(60)),
        ("sparse 100", families.sparse(100)),
    ):
        yield Instance(name, text, syntax.problog(syntax.parse(text)))
    yield Instance("colouring 20", families.colouring(20), None)
    data = os.environ.get("DPASP_DATA")
    if data is None:
        sys.stderr.write("without DPASP_DATA: the networks are left out\n")
        return
    folder = Path(data) / "networks"
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    for name in NETWORKS:
        asked = answers[name]["queries"][2]
        text = (folder / f"{name}.plp").read_text(encoding="utf-8")
        query, _, evidence = asked["query"].partition(" | ")
        rows = [line for line in text.splitlines() if "::" in line]
        rows += [f"evidence({atom})." for atom in evidence.split(", ")]
        rows += [f"query({query}).", ""]
        whole = f"{text}\n#query {asked['query']}.\n"
        yield Instance(name, whole, "\n".join(rows), asked["value"])


def run(words: list[str], seconds: float, interrupt: bool = False) -> tuple[str, float]:
    """What a process prints, both streams together, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds if interrupt else seconds + GRACE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
    except BaseException:  # whoever runs the benchmark has stopped it
        process.kill()
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(instance: Instance, folder: Path, seconds: float, engine: str = "auto") -> Result:
    """The engine auto, or another one, under a limit."""
    name = "dPASP" if engine == "auto" else f"dPASP, {engine}"
    file = folder / "program.plp"
    file.write_text(instance.text, encoding="utf-8")
    words = [
        sys.executable,
        "-m",
        "dpasp",
        "run",
        str(file),
        "--semantics",
        "maxent",
        "--json",
        "-q",
        "--engine",
        engine,
        *(("--gap", "0") if engine == "bounds" else ()),
    ]
    output, cpu = run([*words, "--seed", "1", "--time-limit", str(seconds)], seconds)
    found = json.loads(output)
    if "answers" not in found:
        return Result(name, seconds, cpu)
    answer = found["answers"][0]
    if answer.get("exact", True):
        return Result(name, seconds, cpu, answer["value"], 0.0, 0.0)
    low, high = answer["interval"]
    likely = answer.get("likely", (low, high))
    width = likely[1] - likely[0]
    shown = None if engine == "bounds" else width
    return Result(name, seconds, cpu, answer["value"], high - low, shown, answer.get("samples"))


def sampled_by_problog(instance: Instance, folder: Path, seconds: float) -> Result:
    """ProbLog's sampler, which estimates when its time is over."""
    assert instance.problog is not None
    file = folder / "program.pl"
    file.write_text(instance.problog, encoding="utf-8")
    words = [sys.executable, "-m", "problog", "sample", str(file), "--estimate", "--seed", "1"]
    words += ["--propagate-evidence", "--timeout", str(int(seconds))]
    output, cpu = run(words, seconds)
    count = re.search(r"after\s+(\d+)\s+samples", output)
    value = re.search(r":\s+([0-9.]+(?:e-?\d+)?)\s*$", output, re.M)
    samples = int(count.group(1)) if count else 0
    known = float(value.group(1)) if value and samples else None
    return Result("ProbLog, samples", seconds, cpu, known, samples=samples)


def best_by_problog(instance: Instance, folder: Path, seconds: float) -> Result:
    """ProbLog's k best explanations for and against, which are a sure interval."""
    assert instance.problog is not None
    file = folder / "program.pl"
    file.write_text(instance.problog, encoding="utf-8")
    words = [sys.executable, "-m", "problog", str(file), "-k", "kbest", "-v", "-v", "-v"]
    output, cpu = run(words, seconds, interrupt=True)
    found = re.findall(r"([0-9.e-]+) < p < ([0-9.e-]+)", output)
    if not found:
        return Result("ProbLog, k-best", seconds, cpu)
    low, high = map(float, found[-1])
    return Result("ProbLog, k-best", seconds, cpu, sure=high - low)


def measured(instance: Instance, times: tuple[float, ...], systems: list[str]) -> Iterator[Result]:
    """The systems on an instance; all of them where none is named."""

    def wanted(name: str) -> bool:
        return name in systems or not systems

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wanted("dPASP"):
            yield from (ours(instance, folder, seconds) for seconds in times)
        if wanted("dPASP, bounds"):
            yield ours(instance, folder, times[-1], "bounds")
        if instance.problog is not None and wanted("ProbLog, samples"):
            yield sampled_by_problog(instance, folder, PEERS)
        plain = instance.problog is not None and "evidence(" not in instance.problog
        if plain and wanted("ProbLog, k-best"):  # it takes no evidence
            yield best_by_problog(instance, folder, PEERS)


def main() -> None:
    """Print a table."""
    numbers = [word for word in sys.argv[1:] if word.replace(".", "", 1).isdigit()]
    systems = [word for word in sys.argv[1:] if word in SYSTEMS]
    names = [word for word in sys.argv[1:] if word not in (*numbers, *systems)]
    times = tuple(map(float, numbers)) or SECONDS
    write = sys.stdout.write
    write("| instance | system | limit, s | CPU, s | sure width | 95 % width | samples | ")
    write("estimate | error |\n|---|---|---|---|---|---|---|---|---|\n")
    for instance in instances():
        if names and instance.name not in names:
            continue
        for result in measured(instance, times, systems):
            write(row(instance, result))
            sys.stdout.flush()


def row(instance: Instance, result: Result) -> str:
    """A row of the table."""
    error = None
    if instance.exact is not None and result.value is not None:
        error = abs(result.value - instance.exact)
    shown = [
        instance.name,
        result.system,
        f"{result.seconds:g}",
        f"{result.cpu:.1f}",
        number(result.sure),
        number(result.likely),
        "–" if result.samples is None else f"{result.samples:,}",
        number(result.value, 6),
        number(error, 6),
    ]
    return f"| {' | '.join(shown)} |\n"


def number(value: float | None, digits: int = 4) -> str:
    """A number for the table."""
    return "–" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
