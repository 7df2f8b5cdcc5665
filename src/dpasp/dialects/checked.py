"""What a converter made is read once more, so that it never gives a program we would refuse."""

from __future__ import annotations

from dataclasses import replace

from dpasp.dialects.layout import LaidOut
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.source import SourceFile
from dpasp.logic import check_without_grounding
from dpasp.logic.reading import program_of_texts


def checked_text(
    head: str,
    body: LaidOut,
    foot: str,
    source: SourceFile,
    allowed: frozenset[str] = frozenset(),
) -> str:
    """The whole text; a mistake in it is reported at its place in the original.

    Problems with the ``allowed`` codes are left for the run of the program to report.
    """
    text = f"{head}{body.text}{foot}"
    try:
        check_without_grounding(program_of_texts([(source.name, text)]))
    except ProgramError as error:
        first = head.count("\n") + 1
        problems = [d for d in error.diagnostics if d.code not in {*allowed, "file-not-allowed"}]
        if problems:
            moved = dict.fromkeys(_moved(d, first, body, source) for d in problems)
            raise ProgramError(moved) from error
    return text


def _moved(problem: Diagnostic, first: int, body: LaidOut, source: SourceFile) -> Diagnostic:
    line = problem.span.line - first if problem.span is not None else -1
    if not 0 <= line < len(body.origins):
        return replace(problem, span=None)
    return replace(problem, span=source.span(*body.origins[line]))
