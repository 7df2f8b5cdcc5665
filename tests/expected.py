"""What a `.plp` file says about its own answers, in the comments it opens with.

    % expect: ℙ(a | b) = 0.3              the answers, in the program's order: a number,
    % expect: ℙ(a) = [0.2, 2/7]           or lower and upper (one number: both are that)
    % expect: max ℙ(a?) = 0.4 at not a    a most probable value; ties are joined by " or "
    % expect: max lower ℙ(a?) = 0.1 at a  (under credal both this and "max upper")
    % inconsistent: 0.12                  the mass without a model; 0 unless it is said, or "any"
    % error: probability-range at 2:1     in place of answers: what is refused, and where
    % warning: unknown-atom               codes of the warnings that must come with the answers
    % semantics: lstable, maxent          asked for from outside, in place of `#semantics`
    % constants: n=3, p=0.2               given from outside
    % source: by hand: 1 - 0.5·0.5        where the numbers come from; no file goes without

Everything else in the comments is for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path


@dataclass(frozen=True)
class Expected:
    """One expected answer; ``places`` are the assignments of a most probable value."""

    kind: str  # "ℙ", "max ℙ", "max lower ℙ" or "max upper ℙ"
    query: str
    lower: float
    upper: float
    places: frozenset[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class Refusal:
    """An expected error: its code, and its place when that is said."""

    code: str
    line: int | None
    column: int | None


@dataclass(frozen=True)
class Case:
    """What a file says about itself."""

    path: Path
    answers: tuple[Expected, ...]
    refusals: tuple[Refusal, ...]
    warnings: tuple[str, ...]
    inconsistent: float | None
    semantics: str | None
    constants: dict[str, str]
    source: str


_LINE = re.compile(r"% (expect|inconsistent|error|warning|semantics|constants|source): *(.*\S)\s*")
_EXPECT = re.compile(r"((?:max |max lower |max upper )?ℙ)\((.*)\) = (\S+|\[.*?\])(?: at (.*))?")
_ERROR = re.compile(r"([a-z-]+)(?: at (\d+):(\d+))?")


def read_case(path: Path) -> Case:
    """The case that the file's opening comments describe."""
    said: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("%"):
            break
        if match := _LINE.fullmatch(line):
            said.setdefault(match[1], []).append(match[2])
    inconsistent = said.get("inconsistent", ["0"])[0]
    constants = ", ".join(said.get("constants", []))
    return Case(
        path,
        tuple(_expected(line) for line in said.get("expect", [])),
        tuple(_refusal(line) for line in said.get("error", [])),
        tuple(said.get("warning", [])),
        None if inconsistent == "any" else _number(inconsistent),
        said.get("semantics", [None])[0],
        dict(pair.split("=", 1) for pair in constants.split(", ") if pair),
        " ".join(said.get("source", [])),
    )


def _expected(line: str) -> Expected:
    match = _EXPECT.fullmatch(line)
    assert match, f"cannot read '% expect: {line}'"
    kind, query, value, places = match.groups()
    bounds = [_number(end) for end in value.strip("[]").split(",")]
    ways = (frozenset(way.split(", ")) for way in (places or "").split(" or ") if way)
    return Expected(kind, query, bounds[0], bounds[-1], frozenset(ways))


def _refusal(line: str) -> Refusal:
    match = _ERROR.fullmatch(line)
    assert match, f"cannot read '% error: {line}'"
    code, row, column = match.groups()
    return Refusal(code, int(row) if row else None, int(column) if column else None)


def _number(text: str) -> float:
    above, _, below = text.strip().partition("/")
    return float(Fraction(above) / Fraction(below or "1"))
