"""Snapshot files: programs with mistakes and what a person is told about them.

A file is a list of cases::

    === what the case is about
    0.3:a.
    --- text
    p.plp:1:4: error: …
    --- json
    {"file": "p.plp", "line": 1, …}

The program is called ``p.plp``. Further files of it follow as ``--- file NAME``, and
``--- given semantics=maxent, p=0.3`` says what comes from outside. Characters that would
be hard to see are written ``<U+00A0>``. The text and JSON parts are written by

    DPASP_UPDATE_SNAPSHOTS=1 pytest tests/language/test_diagnostics.py

after which the difference is there to be read, message by message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpasp.display.diagnostics import render
from dpasp.errors import Diagnostic, Error
from dpasp.ground import check_without_grounding
from dpasp.ground.checking import program_of_texts
from dpasp.language.text.source import load_text

MAIN = "p.plp"
_ESCAPE = re.compile(r"<U\+([0-9A-F]{4,6})>")


@dataclass(frozen=True)
class Case:
    """A program, its other files, what is given from outside, and what is expected."""

    name: str
    program: str
    files: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    text: str = ""
    json: str = ""

    def written(self) -> str:
        """The case as it stands in its file."""
        parts = [f"=== {self.name}\n{self.program}"]
        parts += [f"--- file {name}\n{text}" for name, text in self.files.items()]
        if self.given:
            given = ", ".join(f"{name}={value}" for name, value in self.given.items())
            parts.append(f"--- given {given}\n")
        return "".join([*parts, f"--- text\n{self.text}", f"--- json\n{self.json}"])


def read(path: Path) -> list[Case]:
    """The cases of a file."""
    blocks = re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_case(block) for block in blocks[1:]]


def _case(block: str) -> Case:
    title, _, rest = block.partition("\n")
    program, *parts = re.split(r"^--- ", rest, flags=re.MULTILINE)
    case = Case(title, program)
    for part in parts:
        heading, _, content = part.partition("\n")
        word, _, argument = heading.partition(" ")
        match word:
            case "file":
                case = replace(case, files={**case.files, argument: content})
            case "given":
                case = replace(case, given=dict(p.split("=") for p in argument.split(", ")))
            case "text":
                case = replace(case, text=content)
            case "json":
                case = replace(case, json=content)
            case _:
                raise ValueError(f"--- {heading}")
    return case


def write(path: Path, cases: list[Case]) -> None:
    """Write the cases of a file."""
    path.write_text("".join(case.written() for case in cases), encoding="utf-8")


def unescape(text: str) -> str:
    """A program with its ``<U+00A0>`` made real."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def diagnostics(case: Case, folder: Path) -> list[Diagnostic]:
    """What is said about a case, its files being written to a folder, the current one."""
    for name, text in {MAIN: case.program, **case.files}.items():
        (folder / name).write_text(unescape(text), encoding="utf-8")
    return list(_told(case))


def _told(case: Case) -> Iterator[Diagnostic]:
    constants = {name: value for name, value in case.given.items() if name != "semantics"}
    try:
        program = program_of_texts([(MAIN, load_text(MAIN))])
        yield from program.warnings
        yield from check_without_grounding(
            program, semantics=case.given.get("semantics"), constants=constants
        )
    except Error as error:
        yield from error.diagnostics


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def answered(case: Case, folder: Path) -> Case:
    """The case with what is really said about it."""
    found = diagnostics(case, folder)
    lines = [json.dumps(diagnostic.to_dict(), ensure_ascii=False) for diagnostic in found]
    text = render(found, lambda name: _text(folder / name))
    return replace(
        case,
        text=f"{text}\n" if text else "",
        json="".join(f"{line}\n" for line in lines),
    )
