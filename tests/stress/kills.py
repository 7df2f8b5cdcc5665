"""Kill what is writing, again and again: nothing half-written is read, nothing good is lost.

    python -m tests.stress.kills 500        (make kills)

A child process writes parameters, checkpoints of learning, circuits, the cache, answers or a
page, and is killed (SIGKILL): half of the time at a random moment, half of the time aimed, at
one of the calls that touch files. Whatever the moment, the file must then be one of those that
an undisturbed run leaves, or the one that was there before. At the end a run that is left alone
must have removed what the killed ones left aside.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import dpasp
from dpasp.circuits import compile
from dpasp.circuits.cache import Cache
from dpasp.cli import main as command
from tests.circuits.programs import STABLE

TEXT = """?::rain(1..9). 0.3::sprinkler.
wet(X) :- rain(X). wet(X) :- sprinkler, X = 1..9.
#semantics maxent.
#query wet(1). #query wet(2) | sprinkler.
"""
TOUCHES = ("open", "os.rename", "os.remove", "os.chmod")  # what an aimed kill counts
KEY = "0" * 64
LONGEST = 300.0  # seconds for one child, on a busy machine


def observations(count: int) -> list[dict[str, bool]]:
    draw = random.Random(count)
    return [{f"wet({i})": draw.random() < 0.5 for i in range(1, 10)} for _ in range(count)]


@dataclass(frozen=True)
class Writer:
    """Something that writes a file: how, and whether what is there is whole."""

    name: str
    file: str
    write: Callable[[Path, int], object]  # the second of two different contents if 1
    whole: Callable[[Path], bool]


def save(path: Path, which: int) -> None:
    program = dpasp.loads(TEXT)
    program.learn(observations(2 + which), niters=1)
    program.save(path)


def restores(path: Path) -> bool:
    dpasp.loads(TEXT).restore(path)
    return True


def learn(path: Path, which: int) -> None:
    dpasp.loads(TEXT).learn(observations(3), niters=6 + which, alg="gradient", checkpoint=path)


def resumes(path: Path) -> bool:
    dpasp.loads(TEXT).learn(observations(3), niters=9, alg="gradient", resume=path)
    return True


def run(*words: str) -> Callable[[Path, int], object]:
    def write(path: Path, which: int) -> object:
        program = path.with_suffix(".plp")
        query = ["--query", "wet(3)"] if which else []
        return command(
            [words[0], str(program), "--quiet", "--no-learn", *query, *words[1:], str(path)]
            if words[0] == "run"
            else [words[0], str(program), "--quiet", *query, *words[1:], str(path)]
        )

    return write


def is_circuit(path: Path) -> bool:
    return bool(json.loads(path.read_text())["nodes"])


def is_table(path: Path) -> bool:
    lines = path.read_text().splitlines()
    return len(lines) in (3, 4) and all(line.count(",") == lines[0].count(",") for line in lines)


def is_page(path: Path) -> bool:
    return path.read_text().rstrip().endswith("</html>")


def keep(path: Path, which: int) -> None:
    ground = dpasp.loads(TEXT.replace("?::", "0.2::")).ground()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    Cache(path.parent, worth=0.0).put(KEY, compile(ground, STABLE))


def is_kept(path: Path) -> bool:
    """A circuit is read from the cache, or there is none; never a damaged one."""
    circuit = Cache(path.parent).get(KEY)
    return circuit is None or circuit.statistics.nodes > 0


WRITERS = (
    Writer("parameters", "p.safetensors", save, restores),
    Writer("checkpoints of learning", "l.safetensors", learn, resumes),
    Writer("compile -o", "c.json", run("compile", "-o"), is_circuit),
    Writer("run --csv", "a.csv", run("run", "--csv"), is_table),
    Writer("run --report", "a.html", run("run", "--report"), is_page),
    Writer("cache of circuits", f"cache/{KEY}.circuit", keep, is_kept),
)


def child(work: Callable[[], object], touch: int | None) -> int:
    """Start work in a child that is killed when it touches a file for the n-th time."""
    process = os.fork()
    if process:
        return process
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1), os.dup2(quiet, 2)
    seen = 0

    def count(event: str, arguments: object) -> None:
        nonlocal seen
        if event in TOUCHES:
            seen += 1
            if seen == touch:
                os.kill(os.getpid(), signal.SIGKILL)

    if touch is not None:
        sys.addaudithook(count)
    try:
        work()
    finally:
        os._exit(0)


def end(process: int, wait: float | None) -> tuple[bool, float]:
    """Wait for a child, or kill it after some seconds: whether it was killed, and how long."""
    started = time.monotonic()
    while time.monotonic() - started < LONGEST:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.WIFSIGNALED(status), time.monotonic() - started
        if wait is not None and time.monotonic() - started >= wait:
            os.kill(process, signal.SIGKILL)
            wait = None
        time.sleep(0.001)
    raise TimeoutError(f"a child did not end within {LONGEST} s")


def attack(writer: Writer, folder: Path, kills: int, draw: random.Random) -> Counter[str]:
    """Kill one kind of writer so many times; count what became of it."""
    path = folder / writer.file
    path.with_suffix(".plp").parent.mkdir(exist_ok=True)
    path.with_suffix(".plp").write_text(TEXT.replace("?::", "0.2::"))
    _, seconds = end(child(lambda: writer.write(path, 0), None), None)  # an undisturbed run
    undisturbed = set(os.listdir(path.parent))
    result: Counter[str] = Counter()
    while result["kills"] < kills:
        there, which = path.exists(), draw.randrange(2)
        touch = draw.randrange(1, 13) if draw.random() < 0.5 else None
        wait = None if touch else draw.uniform(0.0, 1.1 * seconds)
        killed, _ = end(child(lambda: writer.write(path, which), touch), wait)  # noqa: B023
        result["kills" if killed else "ended before"] += 1
        if there and not path.exists():
            result["LOST"] += 1
        if path.exists():
            try:
                result["whole" if writer.whole(path) else "DAMAGED"] += 1
            except (dpasp.Error, ValueError, KeyError) as error:
                result["DAMAGED"] += 1
                print(f"{writer.name}: {error}")
    end(child(lambda: writer.write(path, 0), None), None)
    result["LEFT ASIDE"] += len(set(os.listdir(path.parent)) - undisturbed)
    return result


def main(kills: int) -> int:
    torch.set_num_threads(1)
    draw, wrong = random.Random(1), 0
    for writer in WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            result = attack(writer, Path(folder), -(-kills // len(WRITERS)), draw)
        wrong += result["LOST"] + result["DAMAGED"] + result["LEFT ASIDE"]
        print(f"{writer.name}: {dict(result)}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)))
