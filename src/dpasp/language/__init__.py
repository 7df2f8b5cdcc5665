"""Text to syntax tree. Nothing here grounds or runs a program, or imports torch.

:func:`parse` finds what cannot be read; :func:`check` finds what makes no sense, which may depend
on semantics and constants given from outside.

>>> len(parse("0.3::a. #query a.").statements)
2
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.ast import Decide, Evidence, Expect, Map, Program, Query
from dpasp.language.reader import check, read_texts
from dpasp.language.text.source import Reach, load_text


def parse(text: str, file: str = "<program>") -> Program:
    """Read a program; raise a :class:`dpasp.ProgramError` with all mistakes."""
    return read_texts([(file, text)])


def parse_files(paths: Iterable[str | Path]) -> Program:
    """Read several files as one program."""
    return read_texts([(str(path), load_text(path)) for path in paths])


def extend(program: Program, text: str, file: str = "<query>") -> Program:
    """The program with the questions and evidence of a text appended.

    The text may come from anywhere: it may not read files, and other statements are refused.
    """
    more = read_texts([(file, text)], program.sources, {file: Reach()})
    others = [
        s for s in more.statements if not isinstance(s, Query | Map | Evidence | Expect | Decide)
    ]
    if others:
        message = "only questions and evidence can be given here"
        help = "write rules, directives and Python into the program itself"
        raise ProgramError([Diagnostic("question-only", message, s.span, help) for s in others])
    return replace(
        program,
        statements=program.statements + more.statements,
        sources=more.sources,
        warnings=program.warnings + more.warnings,
    )


__all__ = ["Program", "check", "extend", "parse", "parse_files"]
