"""What a test wants to know about a ground program, in the words of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground import GroundProgram, ground, ground_text
from dpasp.ground.solve import Group, model_blocks
from dpasp.language import parse


def grounded(
    text: str, constants: Mapping[str, str] | None = None, python: object | None = None
) -> GroundProgram:
    """The ground program of a text."""
    return ground(parse(text, "p.plp"), constants=constants, python=python)


def lines(text: str, constants: Mapping[str, str] | None = None) -> list[str]:
    """The lines of the ground program, the count left out."""
    return ground_text(grounded(text, constants)).splitlines()[1:]


def choices(text: str, constants: Mapping[str, str] | None = None) -> list[str]:
    """The lines of the ground program that are choices."""
    program = grounded(text, constants)
    return ground_text(program).splitlines()[1 : 1 + len(program.choices)]


def rules(text: str) -> list[str]:
    """The lines of the ground program that are neither choices nor questions."""
    return [line for line in lines(text) if "::" not in line and line[0] != "#"]


def questions(text: str) -> list[str]:
    """The questions of the ground program in their canonical form."""
    return [question.text for question in grounded(text).questions]


def refused(text: str, constants: Mapping[str, str] | None = None) -> list[Diagnostic]:
    """What is wrong with a program that cannot be ground."""
    with pytest.raises(ProgramError) as caught:
        grounded(text, constants)
    return list(caught.value.diagnostics)


def underlined(diagnostic: Diagnostic, text: str) -> str:
    """The text that a diagnostic points at."""
    span = diagnostic.span
    assert span is not None
    assert span.line == span.end_line
    return text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


def stable_models(program: GroundProgram) -> set[frozenset[str]]:
    """The stable models, for all total choices together, as sets of the program's own atoms."""
    names = {atom: str(symbol) for symbol, atom in program.atoms.items()}
    read: Sequence[int] = sorted(names)
    groups = [Group(choice.selectors, not choice.nothing) for choice in program.choices]
    return {
        frozenset(names[atom] for atom, true in zip(read, row, strict=True) if true)
        for block in model_blocks(program.rules, groups, read)
        for row in block
    }
