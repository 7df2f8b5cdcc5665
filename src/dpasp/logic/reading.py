r"""Named texts → program, or one error with everything that is wrong.

Where some statements cannot be read, the others are checked all the same, so that one
run reports a typo in a directive and an unsafe variable together.

>>> try:
...     program_of_texts([("p.plp", "#qery a. 1.5::b.")])
... except ProgramError as error:
...     print(*error.diagnostics, sep="\n")
p.plp:1:1: error: unknown directive #qery [unknown-directive]
p.plp:1:10: error: 1.5 is not a probability [probability-range]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.ast import Program
from dpasp.language.reader import read_readable
from dpasp.language.text.source import Reach
from dpasp.logic.ground import check_without_grounding

# Mistakes that a statement makes by itself, whatever the rest of the program says.
LOCAL_CODES = {
    "disjunction-sum",
    "interval-order",
    "interval-sum",
    "mixed-annotations",
    "optimisation",
    "probability-range",
    "unsafe-variable",
}


def program_of_texts(
    texts: Sequence[tuple[str, str]], reaches: Mapping[str, Reach] | None = None
) -> Program:
    """The program that named texts say together; all that is wrong as a :class:`ProgramError`.

    ``reaches`` says which files the texts of some names may read; others may read any.
    """
    program, errors = read_with_problems(texts, reaches)
    if errors:
        raise ProgramError(errors)
    return program


def read_with_problems(
    texts: Sequence[tuple[str, str]], reaches: Mapping[str, Reach] | None = None
) -> tuple[Program, list[Diagnostic]]:
    """The statements that can be read, and what is wrong if some cannot be."""
    program, errors = read_readable(list(texts), reaches=reaches)
    return program, _with_local_problems(errors, program) if errors else []


def _with_local_problems(errors: list[Diagnostic], program: Program) -> list[Diagnostic]:
    """The errors of reading, and what is wrong with the statements that could be read.

    Of the latter only what a statement says by itself: the rest may follow from the errors.
    """
    try:
        check_without_grounding(program)
    except ProgramError as error:
        more = [problem for problem in error.diagnostics if problem.code in LOCAL_CODES]
        return program.sources.in_order([*errors, *more])
    return errors
