"""What was measured, as tables (terminal and Markdown) and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from itertools import groupby

from benchmarks.inference.instances import FAMILIES
from benchmarks.inference.measure import Limits, State
from benchmarks.inference.records import RESOLUTION, Record, Start, slower
from benchmarks.inference.systems import DPASP
from rich.console import Console
from rich.table import Table

STATES = {State.TIME: "over time", State.MEMORY: "over memory", State.FAILED: "failed"}


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured in one go."""

    limits: Limits
    repeat: int  # runs below a second are repeated so often
    starts: dict[str, Start]
    records: list[Record]


def seconds(value: float) -> str:
    """CPU seconds with the digits that mean something."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def cell(record: Record | None) -> str:
    """One measurement, in a few characters."""
    if record is None:
        return ""
    if not record.answered:
        return STATES[record.state]
    wrong = " **DIFFERS**" if record.agrees is False else ""
    return f"{seconds(record.seconds)} s, {record.megabytes:.0f} MB{wrong}"


def rows(records: Iterable[Record], systems: list[str]) -> list[tuple[Record, list[str]]]:
    """A record of each instance, and the cells of all systems on it."""
    found = []
    for _, group in groupby(records, key=lambda r: (r.family, r.semantics, r.size)):
        by_system = {record.system: record for record in group}
        first = next(iter(by_system.values()))
        found.append((first, [cell(by_system.get(name)) for name in systems]))
    return found


def kinds(report: Report) -> list[tuple[str, str, list[Record]]]:
    """The records of each family under each semantics."""
    groups = groupby(report.records, key=lambda r: (r.family, r.semantics))
    return [(family, semantics, list(group)) for (family, semantics), group in groups]


def used(report: Report, records: list[Record]) -> list[str]:
    """The systems that were asked, in the order of the start-up table."""
    names = {record.system for record in records}
    return [name for name in report.starts if name in names]


# --- terminal -------------------------------------------------------------------------------


def show(report: Report, console: Console) -> None:
    """Print all tables."""
    console.print(_start_table(report))
    for family, semantics, records in kinds(report):
        systems = used(report, records)
        table = Table(title=f"{family} ({semantics})", title_justify="left")
        for name in ("size", "choices", *systems):
            table.add_column(name, justify="right", no_wrap=True)
        for first, cells in rows(records, systems):
            table.add_row(str(first.size), str(first.choices), *cells)
        console.print(table)
    for line in summary(report):
        console.print(line, markup=False)


def _start_table(report: Report) -> Table:
    table = Table(title="start-up", title_justify="left")
    for name in ("system", "CPU s", "wall s", "MB"):
        table.add_column(name, justify="right")
    for start in report.starts.values():
        title = f"{start.system} {start.version}".strip()
        table.add_row(title, seconds(start.cpu), seconds(start.wall), f"{start.megabytes:.0f}")
    return table


# --- what it says ---------------------------------------------------------------------------


def summary(report: Report) -> list[str]:
    """How many instances each system answered, what differs, and where we are slower."""
    lines = []
    for name in report.starts:
        asked = [record for record in report.records if record.system == name]
        done = sum(record.answered for record in asked)
        lines.append(f"{name}: {done} answered, {len(asked) - done} given up.")
    compared = [record for record in report.records if record.agrees is not None]
    wrong = [record for record in compared if not record.agrees]
    lines.append(f"{len(compared)} answers compared with ours, {len(wrong)} differ.")
    lines += [f"DIFFERENT ANSWER: {_difference(record, report)}" for record in wrong]
    pairs = slower(report.records)
    lines.append(
        f"We are slower (by more than {RESOLUTION} s) than another system "
        f"on {len({(a.family, a.size, a.semantics) for a, _ in pairs})} instances."
    )
    lines += [_slower(ours, other) for ours, other in pairs]
    return lines


def _difference(record: Record, report: Report) -> str:
    ours = next(
        one
        for one in report.records
        if one.system == DPASP.name
        and (one.family, one.size, one.semantics) == (record.family, record.size, record.semantics)
    )
    return (
        f"{record.family} {record.size} ({record.semantics}): "
        f"{record.system} [{record.lower}, {record.upper}], dPASP [{ours.lower}, {ours.upper}]"
    )


def _slower(ours: Record, other: Record) -> str:
    mine = f"{seconds(ours.seconds)} s" if ours.answered else STATES[ours.state]
    return (
        f"Slower: {ours.family} {ours.size} ({ours.semantics}): "
        f"{other.system} {seconds(other.seconds)} s, dPASP {mine}."
    )


# --- files ----------------------------------------------------------------------------------


def markdown(report: Report, targets: list[str], picture: str | None) -> str:
    """The whole report."""
    limits = report.limits
    lines = [
        "# Exact inference, side by side",
        "",
        "Written by `python -m benchmarks.inference`; what is measured and how is in the",
        "[README](../README.md). CPU seconds with start-up taken off, and peak memory; 2 cores,",
        f"one thread; at most about {limits.seconds:g} s and {limits.megabytes:g} MB a run;",
        f"the quickest of {report.repeat} where a run takes less than a second.",
        "A system that gave up is not asked larger programs of the same kind (empty cell).",
        "",
        "## Start-up",
        "",
        *_markdown_table(
            ["system", "CPU s", "wall s", "MB"],
            [
                [
                    f"{start.system} {start.version}".strip(),
                    seconds(start.cpu),
                    seconds(start.wall),
                    f"{start.megabytes:.0f}",
                ]
                for start in report.starts.values()
            ],
        ),
        "",
    ]
    if targets:
        lines += ["## Targets", "", *targets, ""]
    lines += ["## Summary", "", *(f"- {line}" for line in summary(report)), ""]
    if picture:
        lines += [f"![CPU seconds against size, by family]({picture})", ""]
    for family, semantics, records in kinds(report):
        systems = used(report, records)
        body = [[str(r.size), str(r.choices), *cells] for r, cells in rows(records, systems)]
        lines += [f"## {family} ({semantics})", "", FAMILIES[family].about, ""]
        lines += [*_markdown_table(["size", "choices", *systems], body), ""]
    return "\n".join(lines)


def _markdown_table(head: list[str], body: list[list[str]]) -> list[str]:
    line = "|" + "---:|" * len(head)
    return [_line(head), line, *(_line(row) for row in body)]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def to_json(report: Report) -> str:
    """The report as one JSON object, with one line for each record."""
    whole = asdict(report)
    lines = ",\n  ".join(json.dumps(record, default=_plain) for record in whole.pop("records"))
    head = json.dumps(whole, default=_plain).removesuffix("}")
    return f'{head},\n "records": [\n  {lines}\n ]}}\n'


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value)} has no JSON form")
