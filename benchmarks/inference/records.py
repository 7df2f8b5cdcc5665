"""Measure systems on instances: one record for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from benchmarks.inference.instances import Instance
from benchmarks.inference.measure import Limits, Run, State
from benchmarks.inference.systems import DPASP, Answer, System, solve, start_up

SHORT = 1.0  # CPU seconds below which a run is repeated: noise matters there
RESOLUTION = 0.05  # CPU seconds that two runs of the same command differ by


@dataclass(frozen=True, slots=True)
class Start:
    """What a system needs for the smallest program."""

    system: str
    version: str
    cpu: float
    wall: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Record:
    """One system on one instance; ``seconds`` are CPU seconds, start-up aside."""

    family: str
    size: int
    semantics: str
    choices: int
    system: str
    state: State
    cpu: float
    seconds: float
    wall: float
    megabytes: float
    lower: float | None
    upper: float | None
    agrees: bool | None = None
    note: str = ""

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self.state is State.ANSWERED


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the systems are, and what a run may take."""

    folder: str
    limits: Limits
    repeat: int


def starts(bench: Bench, systems: Iterable[System], versions: dict[str, str]) -> dict[str, Start]:
    """The start-up of each system that works."""
    found = {}
    for system in systems:
        quickest = start_up(system, bench.folder, bench.limits, bench.repeat + 2)
        if quickest is not None:
            version = versions.get(system.name, "")
            found[system.name] = Start(
                system.name, version, quickest.cpu, quickest.wall, quickest.megabytes
            )
    return found


def measure(
    bench: Bench,
    systems: list[System],
    start: dict[str, Start],
    instances: Iterable[Instance],
) -> Iterator[Record]:
    """The records of all systems on all instances to which they apply.

    A system that gave up on an instance is not asked larger ones of the same kind.
    """
    gave_up: set[tuple[str, str, str]] = set()
    for instance in instances:
        ours: Answer | None = None
        for system in systems:
            key = (system.name, instance.family.name, instance.semantics)
            if key in gave_up or system.name not in start or not system.applies(instance):
                continue
            record = _record(bench, system, start[system.name], instance)
            answer = _answer(record)
            if system is DPASP:
                ours = answer
            elif answer is not None and ours is not None:
                record = replace(record, agrees=system.agrees(answer, ours))
            if answer is None:
                gave_up.add(key)
            yield record


def _record(bench: Bench, system: System, start: Start, instance: Instance) -> Record:
    best: tuple[Run, Answer | None, str] | None = None
    limits = replace(bench.limits, seconds=bench.limits.seconds + start.cpu)
    for _ in range(bench.repeat):
        found = solve(system, instance, bench.folder, limits)
        if best is None or (found[1] is not None and found[0].cpu < best[0].cpu):
            best = found
        if found[1] is None or found[0].cpu - start.cpu > SHORT:
            break
    assert best is not None
    run, answer, note = best
    state = State.FAILED if run.state is State.ANSWERED and answer is None else run.state
    return Record(
        instance.family.name,
        instance.size,
        instance.semantics,
        instance.choices,
        system.name,
        state,
        round(run.cpu, 4),
        round(max(0.0, run.cpu - start.cpu), 4),
        round(run.wall, 4),
        round(run.megabytes, 1),
        answer.lower if answer else None,
        answer.upper if answer else None,
        note=note,
    )


def _answer(record: Record) -> Answer | None:
    if record.lower is None or record.upper is None:
        return None
    return Answer(record.lower, record.upper)


def slower(records: list[Record]) -> list[tuple[Record, Record]]:
    """Our record and another system's, wherever that one answered sooner than we did."""
    ours = {_key(record): record for record in records if record.system == DPASP.name}
    return [
        (ours[_key(record)], record)
        for record in records
        if record.system != DPASP.name
        and record.answered
        and _key(record) in ours
        and not (
            ours[_key(record)].answered
            and ours[_key(record)].seconds <= record.seconds + RESOLUTION
        )
    ]


def _key(record: Record) -> tuple[str, int, str]:
    return record.family, record.size, record.semantics
