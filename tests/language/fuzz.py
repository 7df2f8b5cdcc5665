"""Programs with random damage, and what must hold for every one of them.

    python -m tests.language.fuzz 200000        (make fuzz)

Only :class:`dpasp.Error` ever escapes from reading and checking, each with a place
inside the text, and what can be read is read again from its printed form. clingo's
parser ends the whole process over some texts, so the work is done by a child: what
it was at when it died is reported like any other failure.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

from dpasp.display.diagnostics import render
from dpasp.errors import Diagnostic, Error
from dpasp.ground import check_without_grounding
from dpasp.language.ast import to_text
from dpasp.language.reader import read_readable
from tests.language.seeds import seeds
from tests.stress import seeds as seeds_of

FILE = "<damaged>"  # no file, whose folder would be looked up each time
LONG = 300  # characters of a program
_PIECES = (
    """:: :- . , ; | ( ) [ ] { } ? ! * + - / \\ ** ~ ∼ … ... .. : :~ _ @ # % %* *% " ' $ & ^ < > =
    != <= 0 1 0.3 .5 1. 1e-3 1e999 99999999999 0x1F a b X Y not undef as on at with test train é ß
    “ ” ≤ − \n \t \r \x00 \x07 \ud800 😀 #query #map #mpe #evidence #semantics #learn #inference
    #python #end #end. #const #show #include #script #external #count #sum #true #theory &a{b} @f
    {0..9} {a,b} 0.3::a ?::a [0.2,0.7]::a as@net "x" "\\n" "\\q" (((( )))) ---- #max #program ~"""
).split(" ")


def damaged(seed: int) -> str:
    """A program made from our own, with damage: the same for the same seed."""
    rng = random.Random(seed)
    programs = seeds()
    text = rng.choice(programs)
    if len(text) > LONG and rng.random() < 0.75:
        text = _some_lines(text, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        text = _damage(text, rng, programs)
    return text


def _some_lines(text: str, rng: random.Random) -> str:
    """Lines of a long program, so that most of what is read is near the damage."""
    lines = text.splitlines(keepends=True)
    first = rng.randrange(len(lines))
    return "".join(lines[first : first + rng.choice((2, 5, 10))])


def _damage(text: str, rng: random.Random, programs: tuple[str, ...]) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((1, 1, 2, 5, 20, 80)))
    match rng.randrange(10):
        case 0 | 1:
            return text[:start] + text[end:]
        case 2 | 3:
            return text[:start] + rng.choice(_PIECES).strip(" ") + text[start:]
        case 4:
            return text[:start] + rng.choice(_PIECES) + text[end:]
        case 5:
            return text[:end] + text[start:end] * rng.choice((1, 2, 40)) + text[end:]
        case 6:
            other = rng.choice(programs)
            at = rng.randrange(len(other) + 1)
            return text[:start] + other[at : at + rng.choice((3, 10, 50, 400))] + text[end:]
        case 7:
            return text[:start]
        case 8:
            return text[:start] + text[start:end][::-1] + text[end:]
        case _:
            return _bytes(text, rng)


def _bytes(text: str, rng: random.Random) -> str:
    """The text with a byte changed, as a file in a wrong encoding would have it."""
    data = bytearray(text.encode(errors="surrogatepass"))
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return data.decode(errors=rng.choice(("replace", "surrogateescape", "ignore")))


def examine(text: str) -> str | None:
    """What is wrong with how a text is treated, None when nothing is."""
    try:
        program, errors = read_readable([(FILE, text)])
        wrong = _misplaced(errors, text) or _misplaced(program.warnings, text)
        if errors or wrong:
            return wrong
        printed = to_text(program)
        again, errors = read_readable([(FILE, printed)])
        if errors or again != program:
            return f"reads otherwise when printed:\n{printed}\n{errors}"
        return _misplaced(_checked(program), text)
    except Exception as error:  # the very thing that must not happen
        return f"{type(error).__name__}: {error}"


def _checked(program: object) -> tuple[Diagnostic, ...]:
    try:
        return check_without_grounding(program)  # type: ignore[arg-type]
    except Error as error:
        return error.diagnostics


def _misplaced(diagnostics: object, text: str) -> str | None:
    """A diagnostic that names no place inside the text, or that cannot be shown."""
    lines = text.split("\n")
    assert isinstance(diagnostics, list | tuple)
    for diagnostic in diagnostics:
        span = diagnostic.span
        if span is None or not (
            1 <= span.line <= span.end_line <= len(lines)
            and 1 <= span.column <= len(lines[span.line - 1]) + 1
            and 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
            and (span.line, span.column) <= (span.end_line, span.end_column)
        ):
            return f"out of place: {diagnostic!r}"
        render([diagnostic], {FILE: text}.get)
    return None


def failures(first: int, last: int) -> Iterator[tuple[int, str]]:
    """The seeds whose programs are not treated well, and how."""
    for seed in range(first, last):
        if (wrong := examine(damaged(seed))) is not None:
            yield seed, wrong


def examine_seed(seed: int) -> str | None:
    """What is wrong with how the program of a seed is treated, and the program."""
    text = damaged(seed)
    wrong = examine(text)
    return None if wrong is None else f"{wrong}\n{text!r}"


if __name__ == "__main__":
    sys.exit(seeds_of.main("tests.language.fuzz", examine_seed))
