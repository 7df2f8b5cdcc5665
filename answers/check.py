"""Check a system against the table of answers, and measure how long it takes.

    python answers/check.py                        dPASP, in this process
    python answers/check.py --system problog       ProbLog, on the programs that mean the same to it
    python answers/check.py --command "mine {file}"      any command that prints a number
    python answers/check.py --record --write       keep the times, and write README.md

A command is given a file with the program, its #semantics and one #query. The last number that it
prints counts; under credal the last two, the lower and the upper probability. The exit code is 1 if
an answer is wrong; what a system does not answer is not wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "answers.json"
CLOSE = 1e-9
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
ABOUT = """\
# A table of answers

Programs, questions and exact values, for any system that answers such questions. `answers.json` is
the table, `programs/` has the programs, and `python answers/check.py` checks a system against it
and writes this page (`--help` says how).

The source says where a value comes from, which is never dPASP. Times are seconds in one process
after its imports, from the text to the answer, measured once on a machine that others used as well.
An empty cell means that the system does not answer.
"""
Entry = dict[str, Any]
Found = tuple[float, ...]  # one number, or two


class Declined(Exception):
    """The system does not answer such questions."""


def text_of(entry: Entry) -> str:
    """The program with its semantics and one query."""
    program = (HERE / "programs" / f"{entry['program']}.plp").read_text(encoding="utf-8")
    return f"{program}\n#semantics {entry['semantics']}.\n#query {entry['query']}.\n"


def wanted(entry: Entry) -> Found:
    """The numbers that are right."""
    return (entry["value"],) if "value" in entry else (entry["lower"], entry["upper"])


def by_dpasp(entry: Entry) -> Found:
    """dPASP's answer."""
    import dpasp

    (answer,) = dpasp.loads(text_of(entry)).query()
    found = (answer.value,) if answer.value is not None else (answer.lower, answer.upper)
    return tuple(map(float, found))


def by_problog(entry: Entry) -> Found:
    """ProbLog's answer, to programs without loops through negation, constraints and factors."""
    text = (HERE / "programs" / f"{entry['program']}.plp").read_text(encoding="utf-8")
    if entry["semantics"] != "maxent" or entry["program"] in ("even_loop", "constraint"):
        raise Declined
    from problog import get_evaluatable
    from problog.program import PrologString

    query, _, evidence = entry["query"].partition("|")
    lines = [re.sub(r"\bnot ", r"\\+", text)]
    lines += [f"evidence({each.strip()})." for each in evidence.split(", ") if each.strip()]
    lines.append(f"query({query.strip()}).")
    found = get_evaluatable().create_from(PrologString(_in_prolog("\n".join(lines)))).evaluate()
    return (float(next(iter(found.values()))),)


def _in_prolog(text: str) -> str:
    """Ranges and sums as Prolog has them."""
    text = re.sub(
        r"person\(1\.\.5\)\.", "person(1). person(2). person(3). person(4). person(5).", text
    )
    text = re.sub(r"(\w+)\(T-1\), T = 1\.\.3", r"between(1, 3, T), S is T - 1, \1(S)", text)
    text = re.sub(
        r"(\\\+)between\(1, 3, T\), S is T - 1, (\w+)\(S\)",
        r"between(1, 3, T), S is T - 1, \\+\2(S)",
        text,
    )
    text = re.sub(r":- (\\?\+?\w+\(T\)), T = 1\.\.3", r":- between(1, 3, T), \1", text)
    return text.replace("Z = X + Y", "Z is X + Y")


def by_command(command: str) -> Callable[[Entry], Found]:
    """The answers of a command."""

    def answer(entry: Entry) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{entry['program']}.plp"
            file.write_text(text_of(entry), encoding="utf-8")
            words = shlex.split(command.format(file=file, query=entry["query"]))
            done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        numbers = [float(number) for number in NUMBER.findall(done.stdout)]
        count = len(wanted(entry))
        if done.returncode or len(numbers) < count:
            raise Declined
        return tuple(numbers[-count:])

    return answer


SYSTEMS = {"dpasp": by_dpasp, "problog": by_problog}


def checked(entries: list[Entry], name: str, answer: Callable[[Entry], Found], close: float) -> int:
    """Ask a system everything, print what it says, and note its times; how many are wrong."""
    wrong = 0
    for entry in entries:
        entry["times"].pop(name, None)
        started = time.perf_counter()
        try:
            found = answer(entry)
        except Declined:
            print(f"-     {entry['program']}: {entry['query']}")
            continue
        seconds = time.perf_counter() - started
        right = wanted(entry)
        off = max(abs(a - b) for a, b in zip(found, right, strict=True))
        wrong += not off <= close
        entry["times"][name] = round(seconds, 4)
        said = "ok   " if off <= close else "WRONG"
        about = f"{entry['program']}: {entry['query']}"
        print(f"{said} {about}  {found}  off by {off:.1g}, {seconds:.3f} s")
    return wrong


def page(entries: list[Entry]) -> str:
    """The table as Markdown."""
    names = list(dict.fromkeys(name for entry in entries for name in entry["times"]))
    times_of = " | ".join(f"{name}, s" for name in names)
    lines = [
        ABOUT,
        f"| program | query | semantics | value | {times_of} | source |",
        f"|---|---|---|---|{'---:|' * len(names)}---|",
    ]
    for entry in entries:
        exact = entry.get("fraction", repr(entry.get("value")))
        shown = f"[{', '.join(exact)}]" if isinstance(exact, list) else exact
        query = entry["query"].replace("|", "\\|")
        times = " | ".join(str(entry["times"].get(name, "")) for name in names)
        about = f"{entry['program']} | `{query}` | {entry['semantics']} | {shown}"
        lines.append(f"| {about} | {times} | {entry['source']} |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> int:
    """Check; the number of wrong answers as an exit code."""
    parser = argparse.ArgumentParser(description="check a system against the table of answers")
    parser.add_argument("--system", choices=SYSTEMS, default="dpasp")
    parser.add_argument("--command", help="a command in place of a system; {file} is the program")
    parser.add_argument("--name", help="what to call the command in the table")
    parser.add_argument("--close", type=float, default=CLOSE, help="how far answers may be off")
    parser.add_argument("--record", action="store_true", help="keep the times in answers.json")
    parser.add_argument("--write", action="store_true", help="write README.md")
    options = parser.parse_args(words)
    entries: list[Entry] = json.loads(TABLE.read_text(encoding="utf-8"))
    answer = by_command(options.command) if options.command else SYSTEMS[options.system]
    name = options.name or (options.command or options.system).split()[0]
    if not options.command:
        answer(entries[0])  # its imports
    wrong = checked(entries, name, answer, options.close)
    if options.record:
        TABLE.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.write:
        (HERE / "README.md").write_text(page(entries), encoding="utf-8")
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
