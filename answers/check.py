"""Check a system against the table of answers, and measure how long it takes.

    python answers/check.py                        dPASP, in this process
    python answers/check.py --system problog       ProbLog, on the programs that mean the same to it
    python answers/check.py --system ganak         Ganak (pyganak), on the files in CNF
    python answers/check.py --command "mine {file}"      any command that prints a number
    python answers/check.py --record               keep the times, and write README.md

A command is given a file with the program, its #semantics and one question. The last number that it
prints counts; under credal the last two, the lower and the upper probability. For "log Z", the
logarithm of the sum of all weights, the file holds no question. The exit code is 1 if an answer is
wrong; what a system does not answer is not wrong. Programs of others are looked for in the folder
DPASP_DATA; derive.py says where the values come from.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "answers.json"
CLOSE = 1e-9
LIMIT = 60.0  # seconds for a question
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
NOT_OF_PROBLOG = {"even_loop", "constraint", "nixon", "colouring", "birds", "disjunction"}
NOT_OF_PROBLOG |= {"loop_of_three", "derangement", "pennies"}
ABOUT = """\
# A table of answers

Programs, questions and exact values, for any system that answers such questions. `answers.json` is
the table, `programs/` has the programs, and `python answers/check.py` checks a system against it
and writes this page (`--help` says how). Programs with a name in brackets are files of others,
which are looked for in the folder `DPASP_DATA`: networks of the
[bnlearn repository](https://www.bnlearn.com/bnrepository/) as programs, Markov networks of the
[UAI competitions](https://github.com/dechterlab/uai-competitions), and problems of the
[model counting competition](https://mccompetition.org).

The source says where a value comes from, which is never dPASP: `python answers/derive.py` computes
those of the first programs once more, in fractions. Times are CPU seconds in one process after its
imports, from the text to the answer, measured once on a machine that others used as well; those of
aGrUM and of the elimination are without reading, those of Ganak with starting Python. An empty cell
means that the system does not answer (dPASP and Ganak: within 60 s by the clock of that busy
machine), or was not asked.
"""
Entry = dict[str, Any]
Found = tuple[float, ...]  # one number, or two


class Declined(Exception):
    """The system does not answer such questions."""


def program_of(entry: Entry) -> str:
    """The program without a question."""
    if "file" not in entry:
        return (HERE / "programs" / f"{entry['program']}.plp").read_text(encoding="utf-8")
    path = Path(os.environ.get("DPASP_DATA", ""), entry["file"])
    if not path.is_file():
        raise Declined
    if path.suffix == ".plp":
        return path.read_text(encoding="utf-8")
    import dpasp

    return dpasp.convert(path, {".uai": "uai", ".cnf": "wcnf"}[path.suffix])


def text_of(entry: Entry) -> str:
    """The program with its semantics and its question."""
    program = program_of(entry)
    said = "" if "#semantics" in program else f"#semantics {entry['semantics']}.\n"
    question = "" if entry["question"] == "log Z" else f"{entry['question']}\n"
    return f"{program}\n{said}{question}"


def wanted(entry: Entry) -> Found:
    """The numbers that are right."""
    return (entry["value"],) if "value" in entry else (entry["lower"], entry["upper"])


def by_dpasp(entry: Entry) -> Found:
    """dPASP's answer."""
    import dpasp

    program, limits = dpasp.loads(text_of(entry)), dpasp.Limits(seconds=LIMIT)
    try:
        if entry["question"] == "log Z":
            return (float(program.log_partition(limits=limits)),)
        (answer,) = program.query(exact=True, limits=limits)
    except dpasp.LimitReached:
        raise Declined from None
    if getattr(answer, "value", None) is not None:
        return (float(answer.value),)
    return float(answer.lower), float(answer.upper)


def by_problog(entry: Entry) -> Found:
    """ProbLog's answer to queries of programs that mean the same to it."""
    asked = entry["question"].removesuffix(".")
    told = asked.startswith("#query ") and entry["semantics"] == "maxent"
    if not told or entry["program"] in NOT_OF_PROBLOG or "file" in entry:
        raise Declined
    from problog import get_evaluatable
    from problog.program import PrologString

    query, _, evidence = asked.removeprefix("#query ").partition("|")
    lines = [program_of(entry)]
    given = [each.strip() for each in re.split(r",(?![^(]*\))", evidence) if each.strip()]
    lines += [f"evidence({each})." for each in given]
    lines.append(f"query({query.strip()}).")
    text = _in_prolog(re.sub(r"\bnot ", r"\\+", "\n".join(lines)))
    found = get_evaluatable().create_from(PrologString(text)).evaluate()
    return (float(next(iter(found.values()))),)


def by_ganak(entry: Entry) -> Found:
    """Ganak's count of a file in CNF, in a process of its own."""
    path = Path(os.environ.get("DPASP_DATA", ""), entry.get("file", ""))
    if path.suffix != ".cnf" or not path.is_file():
        raise Declined
    code = runpy.run_path(str(HERE.parent / "benchmarks" / "counting" / "__main__.py"))["GANAKS"]
    words = [sys.executable, "-c", code, str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    except subprocess.TimeoutExpired:
        raise Declined from None
    return (float(done.stdout) * math.log(10),)


def _in_prolog(text: str) -> str:
    """Ranges, sums and comments as Prolog has them."""
    text = re.sub(
        r"(\w+)\((\d)\.\.(\d)\)\.",
        lambda m: " ".join(f"{m[1]}({i})." for i in range(int(m[2]), int(m[3]) + 1)),
        text,
    )
    text = text.replace("place(1..3, 1..3).", "place(X,Y) :- between(1,3,X), between(1,3,Y).")
    text = re.sub(r"(\w+)\(T-1\), T = 1\.\.3", r"between(1, 3, T), S is T - 1, \1(S)", text)
    text = re.sub(
        r"(\\\+)between\(1, 3, T\), S is T - 1, (\w+)\(S\)",
        r"between(1, 3, T), S is T - 1, \\+\2(S)",
        text,
    )
    text = re.sub(r":- (\\?\+?\w+\(T\)), T = 1\.\.3", r":- between(1, 3, T), \1", text)
    text = re.sub(r":- T = 0\.\.5\.", ":- between(0, 5, T).", text)
    text = re.sub(
        r"has\(T\+1,C([+-])1\) :- has\(T,C\), (.*?)(?:, T = 0\.\.5)?, 0 < C, C < 4\.",
        r"has(U,D) :- between(0, 5, T), U is T+1, between(1, 3, C), D is C\g<1>1, has(T,C), \2.",
        text,
    )
    text = re.sub(
        r"joined\(X,Y,(X\+1,Y|X,Y\+1)\) :- (\w+)\(X,Y\)\.",
        lambda m: (
            f"joined(X,Y,V,W) :- {m[2]}(X,Y), "
            + ("V is X+1, W = Y." if m[2] == "right" else "V = X, W is Y+1.")
        ),
        text,
    )
    return text.replace("Z = X + Y", "Z is X + Y")


def by_command(command: str) -> Callable[[Entry], Found]:
    """The answers of a command."""

    def answer(entry: Entry) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.plp"
            file.write_text(text_of(entry), encoding="utf-8")
            words = shlex.split(command.format(file=file, question=entry["question"]))
            done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        numbers = [float(number) for number in NUMBER.findall(done.stdout)]
        count = len(wanted(entry))
        if done.returncode or len(numbers) < count:
            raise Declined
        return tuple(numbers[-count:])

    return answer


SYSTEMS = {"dpasp": by_dpasp, "problog": by_problog, "ganak": by_ganak}


def clock() -> float:
    """CPU seconds of this process and of those that it started."""
    return sum(os.times()[:4])


def checked(entries: list[Entry], name: str, answer: Callable[[Entry], Found], close: float) -> int:
    """Ask a system everything, print what it says, and note its times; how many are wrong."""
    wrong = 0
    for entry in entries:
        about = f"{entry['program']}: {entry['question']}"
        started = clock()
        try:
            found = answer(entry)
        except Declined:
            print(f"-     {about}", flush=True)
            continue
        seconds = clock() - started
        right = wanted(entry)
        off = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(found, right, strict=True))
        good = off <= max(close, entry.get("close", 0.0))
        wrong += not good
        if good:
            entry["times"][name] = round(seconds, 4)
        said = "ok   " if good else "WRONG"
        print(f"{said} {about}  {found}  off by {off:.1g}, {seconds:.3f} s", flush=True)
    return wrong


def page(entries: list[Entry]) -> str:
    """The table as Markdown."""
    names = list(dict.fromkeys(name for entry in entries for name in entry["times"]))
    times_of = " | ".join(f"{name}, s" for name in names)
    lines = [
        ABOUT,
        f"| program | question | semantics | value | {times_of} | source |",
        f"|---|---|---|---|{'---:|' * len(names)}---|",
    ]
    for entry in entries:
        exact = entry.get("fraction") or [f"{value:.9g}" for value in wanted(entry)]
        shown = f"[{', '.join(exact)}]" if len(exact) > 1 else exact[0]
        question = entry["question"].replace("|", "\\|")
        times = " | ".join(str(entry["times"].get(name, "")) for name in names)
        about = f"{entry['program']} | `{question}` | {entry['semantics']} | {shown}"
        lines.append(f"| {about} | {times} | {entry['source']} |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> int:
    """Check; the number of wrong answers as an exit code."""
    parser = argparse.ArgumentParser(description="check a system against the table of answers")
    parser.add_argument("--system", choices=SYSTEMS, default="dpasp")
    parser.add_argument("--command", help="a command in place of a system; {file} is the program")
    parser.add_argument("--name", help="what to call the command in the table")
    parser.add_argument("--only", default="", help="only programs whose name holds this text")
    parser.add_argument("--close", type=float, default=CLOSE, help="how far answers may be off")
    parser.add_argument(
        "--record", action="store_true", help="keep the times in answers.json, write README.md"
    )
    options = parser.parse_args(words)
    entries: list[Entry] = json.loads(TABLE.read_text(encoding="utf-8"))
    answer = by_command(options.command) if options.command else SYSTEMS[options.system]
    name = options.name or (options.command or options.system).split()[0]
    with suppress(Declined):
        if not options.command:
            answer(entries[0])  # its imports
    asked = [entry for entry in entries if options.only in entry["program"]]
    wrong = checked(asked, name, answer, options.close)
    if options.record:
        lines = ",\n ".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        TABLE.write_text(f"[\n {lines}\n]\n", encoding="utf-8")
        (HERE / "README.md").write_text(page(entries), encoding="utf-8")
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
