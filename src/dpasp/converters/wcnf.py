"""Weighted and projected model counting: CNF files of the model counting competition.

A variable is a probabilistic fact, a clause a constraint. The two weights of a variable are divided
by their sum, and a factor for all models compensates for that: :meth:`Program.log_partition` is the
logarithm of the count. In projected counting (``c p show``), the other variables are free atoms
under the credal semantics: an assignment of the shown ones counts once if some assignment of the
others fits.

>>> text = "c p weight 1 0.5 0\\nc p weight -1 1.5 0\\np cnf 1 1\\n1 0"
>>> print(converted(text, "<text>"))
% converted from a weighted counting problem
% log_partition() is the logarithm of the count.
#semantics stable, weighted.
<BLANKLINE>
0.25::x(1).
:- not x(1).
<BLANKLINE>
% The weights of a variable were divided by their sum; this is the product of all sums.
#factor exp(0.6931471805599453) : #true.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from math import fsum, isinf, isnan, log

from dpasp.converters.text import heading
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.language.text import SourceFile

KINDS = {"mc": (False, False), "wmc": (True, False), "pmc": (False, True), "pwmc": (True, True)}
HELP = "the format is: p cnf VARIABLES CLAUSES, then the literals of each clause, then 0"
WEIGHT = "a weight is written: c p weight LITERAL NUMBER 0"
SHOW = "the variables to count are written: c p show VARIABLE … 0"
SCALED = "% The weights of a variable were divided by their sum; this is the product of all sums."
SMALL = 1e-3  # a share below this is written: 1 minus the other one would have fewer digits
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_RATIO = re.compile(r"(\d+)/(\d+)")


@dataclass(slots=True)
class Count:
    """A counting problem; ``shown`` is None if all variables are counted."""

    variables: int = 0
    clauses: list[list[int]] = field(default_factory=list)
    weights: dict[int, float] = field(default_factory=dict)  # by literal
    shown: set[int] | None = None

    def pair(self, variable: int) -> tuple[float, float]:
        """The weights of a variable and of its negation.

        A missing weight is 1 minus the other one, or 1 if both are missing.
        """
        plain, negated = self.weights.get(variable), self.weights.get(-variable)
        if plain is None:
            return (1.0, 1.0) if negated is None else (1.0 - negated, negated)
        return plain, 1.0 - plain if negated is None else negated

    @property
    def counted(self) -> Sequence[int]:
        """The variables whose assignments are counted."""
        return range(1, self.variables + 1) if self.shown is None else sorted(self.shown)


def converted(text: str, file: str) -> str:
    """Convert a counting problem in the format of the model counting competition."""
    reader = _Reader(text, file)
    count = reader.read()
    sums = map(sum, map(count.pair, count.counted))  # of both weights of each variable
    scale = fsum(log(both) for both in sums if both != 0)
    if count.shown is None:
        notes = ["% log_partition() is the logarithm of the count.", "#semantics stable, weighted."]
    else:
        notes = [
            f"% log_partition() + {scale!r} is the logarithm of the count: the weights of a",
            "% shown variable were divided by their sum.",
            "#semantics stable, credal.",
        ]
    foot = []
    if scale and count.shown is None:
        foot = ["", SCALED, f"#factor exp({scale!r}) : #true."]
    kinds = ["weighted"] * bool(count.weights) + ["projected"] * (count.shown is not None)
    head = heading(" ".join(["a", *kinds, "counting problem"]), file, *notes)
    lines = [*_facts(count, reader), *map(_constraint, count.clauses), *foot]
    return head + "\n".join(lines) + "\n"


def _facts(count: Count, reader: _Reader) -> Iterator[str]:
    for variable in range(1, count.variables + 1):
        if count.shown is not None and variable not in count.shown:
            yield f"{{x({variable})}}."
            continue
        plain, negated = count.pair(variable)
        place = reader.places.get(variable) or reader.places.get(-variable)
        if min(plain, negated) < 0:
            message = f"one weight of the variable {variable} is above 1, the other is missing"
            raise reader.refuse(message, WEIGHT, place)
        if plain == negated == 0:
            yield f":- x({variable}). :- not x({variable}). {{x({variable})}}."
            continue
        shares = plain / (plain + negated), negated / (plain + negated)
        if any(
            isnan(s) or (s == 0) != (w == 0) for s, w in zip(shares, (plain, negated), strict=True)
        ):
            message = f"the weights of the variable {variable} are too far apart"
            raise reader.refuse(message, "one of them vanishes beside the other", place)
        if 0 < shares[1] < SMALL:
            yield f"{shares[1]!r}::not_x({variable}). x({variable}) :- not not_x({variable})."
        else:
            yield f"{shares[0]!r}::x({variable})."


def _constraint(clause: Sequence[int]) -> str:
    body = ", ".join(f"x({-literal})" if literal < 0 else f"not x({literal})" for literal in clause)
    return f":- {body or '#true'}."


class _Reader:
    """Reads a file line by line; clauses may go over several lines."""

    def __init__(self, text: str, file: str) -> None:
        self.source = SourceFile(file, text)
        self.count = Count()
        self.kind: str | None = None
        self.declared: int | None = None  # clauses
        self.places: dict[int, tuple[int, int]] = {}  # of weights, by literal
        self.line = (0, 0)  # where the current line starts and ends
        self.shows = (0, 0)

    def read(self) -> Count:
        count, clause, start = self.count, list[int](), 0
        for line in self.source.text.splitlines(keepends=True):
            self.line = (start, start + len(line.rstrip()))
            start += len(line)
            words = line.split()
            if not words or words[0] == "%":
                continue
            if words[0] == "c":
                self.comment(words)
            elif words[0] == "p":
                self.header(words)
            else:
                if self.declared is None:
                    raise self.refuse("a clause before the line 'p cnf'")
                for word in words:
                    literal = self.literal(word)
                    if literal:
                        clause.append(literal)
                    else:
                        count.clauses.append(clause)
                        clause = []
        if self.declared is None:
            raise self.refuse("there is no line 'p cnf VARIABLES CLAUSES'")
        if clause:
            raise self.refuse("the last clause does not end with 0")
        if len(count.clauses) != self.declared:
            message = f"{len(count.clauses)} clauses where {self.declared} were declared"
            raise self.refuse(message)
        self.check()
        return count

    def check(self) -> None:
        """Check the kind of counting against the file, and the variables against their number."""
        count = self.count
        for literal, place in self.places.items():
            self.known(abs(literal), place)
        for variable in count.shown or ():
            self.known(variable, self.shows)
        if self.kind is None:
            return
        weighted, projected = KINDS[self.kind]
        if count.weights and not weighted:
            place = next(iter(self.places.values()))
            raise self.refuse(f"'c t {self.kind}' counts without weights", "write c t wmc", place)
        if projected != (count.shown is not None):
            message = f"'c t {self.kind}' {'needs' if projected else 'has no'} 'c p show'"
            raise self.refuse(message, SHOW, self.shows if count.shown is not None else None)

    def known(self, variable: int, place: tuple[int, int]) -> None:
        if variable > self.count.variables:
            message = f"the variable {variable} is above the {self.count.variables} declared"
            raise self.refuse(message, HELP, place)

    def header(self, words: Sequence[str]) -> None:
        if self.declared is not None:
            raise self.refuse("a second line 'p cnf'")
        if len(words) != 4 or words[1] != "cnf" or not all(map(_whole, words[2:])):
            raise self.refuse("this line cannot be read")
        self.count.variables, self.declared = int(words[2]), int(words[3])

    def comment(self, words: Sequence[str]) -> None:
        match words[1:]:
            case ["t", kind]:
                if kind not in KINDS:
                    message = f"unknown kind of counting {kind!r}"
                    raise self.refuse(message, f"it is one of {', '.join(KINDS)}")
                self.kind = kind
            case ["p", "weight", *rest]:
                if len(rest) != 3 or rest[2] != "0":
                    raise self.refuse("this weight cannot be read", WEIGHT)
                literal = self.integer(rest[0], WEIGHT)
                if literal == 0 or literal in self.count.weights:
                    message = "0 is not a literal" if literal == 0 else "a second weight of it"
                    raise self.refuse(message, WEIGHT)
                self.count.weights[literal] = self.number(rest[1])
                self.places[literal] = self.line
            case ["p", "show", *rest]:
                if not rest or rest[-1] != "0":
                    raise self.refuse("this list does not end with 0", SHOW)
                self.shows = self.line
                shown = {self.integer(word, SHOW) for word in rest[:-1]}
                if any(variable <= 0 for variable in shown):
                    raise self.refuse("a variable is a number from 1 on", SHOW)
                self.count.shown = (self.count.shown or set()) | shown
            case ["ind", *_]:
                raise self.refuse("this set of variables may change what is counted", SHOW)
            case ["p", word, *_]:
                raise self.refuse(f"'c p {word}' has no counterpart", f"{WEIGHT}; {SHOW}")

    def number(self, word: str) -> float:
        if ratio := _RATIO.fullmatch(word):
            if int(ratio[2]) == 0:
                raise self.refuse(f"{word!r} divides by 0", WEIGHT)
            return int(ratio[1]) / int(ratio[2])
        if _NUMBER.fullmatch(word) is None or isinf(float(word)):
            raise self.refuse(f"{word!r} is not a number from 0 on", WEIGHT)
        return float(word)

    def integer(self, word: str, help: str = HELP) -> int:
        if not _whole(word.removeprefix("-")):
            raise self.refuse(f"{word!r} is not a whole number", help)
        return int(word)

    def literal(self, word: str) -> int:
        literal = self.integer(word)
        self.known(abs(literal), self.line)
        return literal

    def refuse(
        self, message: str, help: str = HELP, place: tuple[int, int] | None = None
    ) -> ProgramError:
        """An error that points at a line, by default the current one."""
        if not self.source.text.strip():
            return ProgramError.at("foreign-syntax", "the file is empty", help=help)
        span = self.source.span(*(place or self.line))
        return ProgramError.at("foreign-syntax", message, span, help)


def _whole(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 9
