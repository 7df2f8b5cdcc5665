"""BLInD: Bayesian networks told in words, with a question each, as programs; every answer is met.

    git clone https://github.com/HLR/BLInD
    python -m benchmarks.networks.blind BLInD                      both sets, 900 items each
    python -m benchmarks.networks.blind BLInD --peers none         without ProbLog and pyAgrum
    python -m benchmarks.networks.blind datasets/Base_1000_examples.csv
    python -m benchmarks.networks.blind BLInD --output blind.md    the tables of blind.md

The sets belong to A. Nafar, K. B. Venable and P. Kordjamshidi, *Reasoning over Uncertain Text by
Generative Large Language Models* (AAAI 2025), and are not part of this repository. Each item is a
network as sentences, a question and its answer:

>>> print(program("n1 is true with probability of 55%. n1 is false with probability of 45%. "
...     "If n1 is False, then n0 is True with probability of 39%. "
...     "If n1 is False, then n0 is False with probability of 61%. "
...     "If n1 is True, then n0 is True with probability of 3%. "
...     "If n1 is True, then n0 is False with probability of 97%. ",
...     "What is the probability that n0 is True given that n1 is False?"))
0.55::n1.
0.39::n0 :- not n1.
0.03::n0 :- n1.
#query n0 | not n1.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

SETS = ("Base_1000_examples.csv", "Colored_1000_examples.csv")
COLUMNS = {"contexts", "query", "answers", "graph", "depth"}
TOLERANCE = 1e-9
ABOUT = """\
# BLInD

Written by `python -m benchmarks.networks.blind`; where the sets come from is said there. Each
item is a network of Boolean variables in sentences, with a question and its answer. The sentences
are read by patterns, and checked: that both values of each row are told and add up to 100 %, and
that the edges are those of the column "graph". An answer is met if it differs by no more than
1e-9. Milliseconds are CPU time an item, from the text of the program to its answer, in one
process with one question after the other; pyAgrum answers for one variable at a time, so it is
asked once for each variable of a question.

In the sets as of commit c79a7ca no answer is wrong and no network is at odds with its graph. The
files are named for 1000 items and hold 900. The second set is the first with other names: the
same networks, questions and answers in the same order.
"""
SENTENCE = re.compile(
    r"(?:If (?P<given>.+?), then )?(?P<variable>.+?) is (?P<value>true|false)"
    r" with probability of (?P<percent>\d+)%",
    re.IGNORECASE,
)
EVENT = re.compile(r"(?P<variable>.+) is (?P<value>true|false)", re.IGNORECASE)
QUESTION = re.compile(r"What is the probability that (.+?)(?: given that (.+))?\?")

Rows = dict[str, dict[tuple[str, ...], dict[bool, int]]]  # variable, literals of parents, value


@dataclass(frozen=True, slots=True)
class Item:
    """A question about a network, as a program, with the answer that the set gives."""

    place: str
    variables: int
    program: str
    value: float


# --- from words to programs -----------------------------------------------------------------


def program(context: str, question: str) -> str:
    """The program of a network that is told in sentences, with its query.

    Raises ``ValueError`` where a sentence is not understood or a row is not complete.
    """
    lines = []
    for variable, rows in tables(context).items():
        for body, percents in rows.items():
            if percents.keys() != {True, False} or sum(percents.values()) != 100:
                raise ValueError(f"{variable} given {body} has the percentages {percents}")
            rest = f" :- {', '.join(body)}" if body else ""
            lines.append(f"{percents[True] / 100:g}::{variable}{rest}.")
    asked = QUESTION.fullmatch(question.strip())
    if not asked:
        raise ValueError(f"not a question: {question!r}")
    query, given = (", ".join(literals(part)) if part else "" for part in asked.groups())
    return "\n".join([*lines, f"#query {query} | {given}." if given else f"#query {query}."])


def tables(context: str) -> Rows:
    """The percentages that the sentences of a network give, by variable and row."""
    found: Rows = {}
    for sentence in filter(None, (part.strip() for part in context.split("."))):
        read = SENTENCE.fullmatch(sentence)
        if not read:
            raise ValueError(f"not a sentence about a network: {sentence!r}")
        rows = found.setdefault(name(read["variable"]), {})
        percents = rows.setdefault(literals(read["given"]) if read["given"] else (), {})
        value = read["value"].lower() == "true"
        if value in percents:
            raise ValueError(f"told twice: {sentence!r}")
        percents[value] = int(read["percent"])
    return found


def literals(text: str) -> tuple[str, ...]:
    """The literals of "n0 is True and n1 is False"."""
    found = [(part, EVENT.fullmatch(part)) for part in text.split(" and ")]
    for part, event in found:
        if not event:
            raise ValueError(f"not an event: {part!r}")
    return tuple(
        ("" if event["value"].lower() == "true" else "not ") + name(event["variable"])
        for _, event in found
        if event
    )


def name(variable: str) -> str:
    """An atom for a variable: "purple event" is purple_event."""
    return re.sub(r"\W+", "_", variable.strip().lower())


def parents(graph: str) -> dict[str, set[str]]:
    """The parents of each variable in the column "graph"."""
    found = {}
    for part in graph.split(" | "):
        above, _, variable = part.partition(" -> ")
        found[name(variable)] = {name(parent) for parent in re.findall(r"'([^']+)'", above)}
    return found


def items(file: Path) -> Iterator[Item]:
    """The items of a set; ``ValueError`` names the item that cannot be read."""
    with file.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        missing = COLUMNS - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{file} has no column {', '.join(sorted(missing))}")
        for number, row in enumerate(reader, 1):
            place = f"{file.name}, item {number}"
            try:
                told = {
                    variable: {literal.removeprefix("not ") for body in rows for literal in body}
                    for variable, rows in tables(row["contexts"]).items()
                }
                if told != parents(row["graph"]):
                    raise ValueError(f"the graph is {row['graph']!r}, the sentences say {told}")
                text = program(row["contexts"], row["query"])
                yield Item(place, len(told), text, float(row["answers"]))
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from error


# --- the systems ----------------------------------------------------------------------------


def dpasp(text: str) -> float:
    """Our answer."""
    import dpasp

    return float(dpasp.loads(text).query(semantics="maxent")[0].value)


def problog(text: str) -> float:
    """ProbLog's answer."""
    import problog as engine
    from benchmarks.inference import syntax
    from problog.program import PrologString

    model = PrologString(syntax.problog(syntax.parse(text)))
    (value,) = engine.get_evaluatable().create_from(model).evaluate().values()
    return float(value)


def pyagrum(text: str) -> float:
    """PyAgrum's answer, by the chain rule where several variables are asked."""
    import pyagrum as gum
    from benchmarks.inference import syntax

    read = syntax.parse(text)
    net = gum.BayesNet()
    for statement in read.statements:
        ((_, variable),) = statement.heads
        if variable not in net.names():
            net.add(gum.LabelizedVariable(variable, variable, ["false", "true"]))
    for statement in read.statements:
        ((probability, variable),) = statement.heads
        given = dict(map(_event, statement.body))
        for parent in given:
            if not net.existsArc(parent, variable):
                net.addArc(parent, variable)
        above = float(probability or 1)
        net.cpt(variable)[given] = [1 - above, above]
    evidence = dict(map(_event, read.evidence))
    product = 1.0
    for variable, value in map(_event, read.query):
        posterior: Any = gum.getPosterior(net, target=variable, evs=evidence)
        product *= posterior[value == "true"]
        evidence[variable] = value
    return product


def _event(literal: str) -> tuple[str, str]:
    return literal.removeprefix("not "), "false" if literal.startswith("not ") else "true"


SYSTEMS: dict[str, Callable[[str], float]] = {
    "dpasp": dpasp,
    "problog": problog,
    "pyagrum": pyagrum,
}


# --- all of it ------------------------------------------------------------------------------


def files(paths: list[Path]) -> Iterator[Path]:
    """The files of the sets: as given, or those of a clone or of a folder."""
    for path in paths:
        if path.is_file():
            yield path
            continue
        folder = path / "datasets" if (path / "datasets").is_dir() else path
        found = [folder / name for name in SETS if (folder / name).is_file()]
        if not found:
            raise ValueError(
                f"{path} holds none of {', '.join(SETS)}; "
                "they come with: git clone https://github.com/HLR/BLInD"
            )
        yield from found


def rows(file: Path, systems: list[str]) -> tuple[list[list[str]], list[str]]:
    """A row for each number of variables, and a line for each answer that is not met."""
    lines, wrong = [], []
    sizes: dict[int, list[Item]] = {}
    for item in items(file):
        sizes.setdefault(item.variables, []).append(item)
    for size, group in sizes.items():
        met, worst, cells = 0, 0.0, []
        for system in systems:
            started = time.process_time()
            values = [SYSTEMS[system](item.program) for item in group]
            took = (time.process_time() - started) / len(group)
            cells.append(f"{1000 * took:.1f}")
            for item, value in zip(group, values, strict=True):
                if not isclose(value, item.value, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    wrong.append(f"{item.place}: {system} {value!r}, the set {item.value!r}")
                elif system == "dpasp":
                    met += 1
                if system == "dpasp":
                    worst = max(worst, abs(value - item.value))
        lines.append([str(size), str(len(group)), str(met), f"{worst:.0e}", *cells])
    return lines, wrong


def table(file: Path, systems: list[str]) -> tuple[list[str], list[str]]:
    """The lines of a Markdown table about a set, and a line for each answer that is not met."""
    head = ["variables", "items", "met", "largest difference", *(f"{s}, ms" for s in systems)]
    body, wrong = rows(file, systems)
    lines = [f"## {file.name}", "", f"| {' | '.join(head)} |", "|" + "---:|" * len(head)]
    lines += [f"| {' | '.join(cells)} |" for cells in body]
    asked, met = (sum(int(cells[column]) for cells in body) for column in (1, 2))
    told = f"{met} of {asked} answers are met."
    different = len({item.program for item in items(file)})
    if different < asked:
        told += f" {asked - different} items repeat an earlier one."
    return [*lines, "", told, *wrong], wrong


def main(words: list[str] | None = None) -> int:
    """Answer all items, print a table for each set; 1 if an answer is not met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.networks.blind",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", type=Path, help="a clone of BLInD, or its files")
    parser.add_argument("--peers", default="problog,pyagrum", help="or one of them, or none")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the tables to a file")
    options = parser.parse_args(words)
    peers = [] if options.peers == "none" else options.peers.split(",")
    if unknown := set(peers) - set(SYSTEMS):
        parser.error(f"--peers: {', '.join(unknown)} is none of problog, pyagrum")
    try:
        found = list(files(options.paths))
    except ValueError as error:
        parser.error(str(error))
    for system in ("dpasp", *peers):
        SYSTEMS[system]("0.5::a. #query a.")  # imports are not counted
    page, faults = [ABOUT], 0
    for file in found:
        try:
            lines, wrong = table(file, ["dpasp", *peers])
        except ValueError as error:
            parser.error(str(error))
        faults += len(wrong)
        page.append("\n".join([*lines, ""]))
        print(page[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(page), encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
