"""The systems that are measured: how each is called, and what it answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from benchmarks.inference import syntax
from benchmarks.inference.instances import FAMILIES, MAXENT, Family, Instance
from benchmarks.inference.measure import Limits, Run, State, run

_TINY = Family("tiny", lambda size: "0.5::a. #query a.", (1,), (1,))


@dataclass(frozen=True, slots=True)
class Answer:
    """Lower and upper probability, which are the same for most systems."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class System:
    """A program that answers queries.

    ``relative`` and ``absolute`` say how precisely it prints its answers.
    """

    name: str
    package: str | None
    write: Callable[[Instance], str]
    command: Callable[[str, str, str], list[str]]  # folder of commands, file, semantics
    read: Callable[[str], Answer]
    applies: Callable[[Instance], bool]
    relative: float = 1e-6
    absolute: float = 1e-9

    def agrees(self, mine: Answer, ours: Answer) -> bool:
        """Whether two answers are the same as far as this system prints them."""
        pairs = ((mine.lower, ours.lower), (mine.upper, ours.upper))
        return all(isclose(*pair, rel_tol=self.relative, abs_tol=self.absolute) for pair in pairs)


def solve(
    system: System, instance: Instance, bin_folder: str, limits: Limits
) -> tuple[Run, Answer | None, str]:
    """One run of a system, its answer, and what went wrong if there is none."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        file = Path(name) / "program.plp"
        file.write_text(system.write(instance) + "\n", encoding="utf-8")
        found = run(system.command(bin_folder, file.name, instance.semantics), Path(name), limits)
    if found.state is not State.ANSWERED:
        return found, None, _last_line(found.errors or found.output)
    try:
        return found, system.read(found.output + found.errors), ""
    except (ValueError, KeyError, ZeroDivisionError) as error:
        return found, None, f"no answer could be read: {error}"


def start_up(system: System, bin_folder: str, limits: Limits, times: int) -> Run | None:
    """The quickest of some runs on a program of two statements; None if it does not work."""
    instance = Instance(_TINY, 1, MAXENT)
    runs = []
    for _ in range(times):
        found, answer, _ = solve(system, instance, bin_folder, limits)
        if answer is None or not system.agrees(answer, Answer(0.5, 0.5)):
            return None
        runs.append(found)
    return min(runs, key=lambda one: one.cpu)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else ""


# --- dPASP ----------------------------------------------------------------------------------


def _dpasp(engine: str) -> Callable[[str, str, str], list[str]]:
    def command(folder: str, file: str, semantics: str) -> list[str]:
        options = ["--json", "--quiet", "--no-python", "--engine", engine]
        return [sys.executable, "-m", "dpasp", "run", file, "--semantics", semantics, *options]

    return command


def _read_json(text: str) -> Answer:
    (answer,) = json.loads(text)["answers"]
    if "value" in answer:
        return Answer(answer["value"], answer["value"])
    return Answer(answer["lower"], answer["upper"])


# --- the others -----------------------------------------------------------------------------


def _translated(
    translate: Callable[[syntax.Text], str],
    arithmetic: Callable[[syntax.Text, int], syntax.Text] | None = None,
) -> Callable[[Instance], str]:
    def write(instance: Instance) -> str:
        text = syntax.parse(instance.text)
        if arithmetic and instance.family is FAMILIES["addition"]:
            text = arithmetic(text, instance.size)
        return translate(text)

    return write


def _problog(folder: str, file: str, semantics: str) -> list[str]:
    return [f"{folder}/problog", file]


def _aspmc(folder: str, file: str, semantics: str) -> list[str]:
    return [f"{folder}/aspmc", "--verbosity", "result", "--mode", "problog", "--count", file]


def _plingo(folder: str, file: str, semantics: str) -> list[str]:
    # Its exit status is clingo's. Stopped at the time limit it prints an answer nevertheless,
    # from the models that it has seen: that must not count.
    script = (
        '"$0" "$1" --frontend=problog --quiet=2; '
        "case $? in 0|10|20|30) exit 0;; 1|11|31) exit 124;; *) exit 1;; esac"
    )
    return ["sh", "-c", script, f"{folder}/plingo", file]


def _value(text: str, name: str) -> float:
    found = re.search(rf"\b{name}:\s+([-+.\deE]+)", text)
    if not found:
        raise ValueError(f"{name} is not in the output")
    return float(found[1])


def _read_value(text: str) -> Answer:
    value = _value(text, syntax.ASKED)
    return Answer(value, value)


def _read_ratio(text: str) -> Answer:
    value = _value(text, syntax.ASKED)
    if f"{syntax.GIVEN}:" in text:
        value /= _value(text, syntax.GIVEN)
    return Answer(value, value)


def _own(instance: Instance) -> str:
    return instance.text


def _stratified(instance: Instance) -> bool:
    return instance.family.stratified


DPASP = System("dPASP", None, _own, _dpasp("auto"), _read_json, lambda instance: True)
ENUMERATE = System(
    "enumeration", None, _own, _dpasp("enumerate"), _read_json,
    lambda instance: not instance.family.stratified,
)  # fmt: skip
PEERS = {
    peer.name: peer
    for peer in (
        System(
            "problog", "problog[sdd]", _translated(syntax.problog, syntax.with_is),
            _problog, _read_value, _stratified,
        ),
        System(
            "aspmc", "aspmc", _translated(syntax.aspmc, syntax.with_tables),
            _aspmc, _read_ratio, _stratified,
        ),
        # weights are rounded to five digits, and so are the answers
        System(
            "plingo", "plingo", _translated(syntax.plingo),
            _plingo, _read_value, _stratified, relative=0, absolute=1e-4,
        ),
    )
}  # fmt: skip


# --- their own environment ------------------------------------------------------------------


def install(folder: Path, names: list[str]) -> dict[str, str]:
    """The versions of the peers in a virtual environment, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = {}
    for name in names:
        if (version := _version(python, name)) is None:
            package = PEERS[name].package or name
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=False)
            version = _version(python, name)
        if version is not None:
            found[name] = version
    return found


def _version(python: Path, name: str) -> str | None:
    script = f"import importlib.metadata as m; print(m.version({name!r}))"
    result = subprocess.run([str(python), "-c", script], capture_output=True, text=True)
    return result.stdout.strip() or None
