"""Checks of a program that can be read, without grounding or running it.

>>> from dpasp.language import parse
>>> try:
...     check(parse("1.5::a. #query undef a."))
... except ProgramError as error:
...     print(*(problem.code for problem in error.diagnostics))
probability-range undef-two-valued
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.statements.constants import check_constants, numeric_constants
from dpasp.language.statements.kind import Kind, Setting, kinds
from dpasp.language.statements.python import check_calls
from dpasp.language.statements.semantics import effective_semantics, parse_semantics
from dpasp.language.statements.statement import Program, SemanticsPair, Statement


def check(
    program: Program,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
    *,
    numbers: bool = True,
) -> None:
    """Raise a :class:`ProgramError` with everything that is wrong with a program.

    Without ``numbers``, probabilities are skipped: they were checked before.
    """
    problems: list[Diagnostic] = []
    meaning, values = SemanticsPair(), None
    try:
        meaning = effective_semantics(program, semantics)
        values = numeric_constants(program, constants) if numbers else None
    except ProgramError as error:
        problems += error.diagnostics
    problems += check_constants(program, constants or {})
    by_kind: dict[type[Statement], list[Statement]] = {}
    for statement in program.statements:
        by_kind.setdefault(type(statement), []).append(statement)
    setting = Setting(program, meaning, values)
    for kind in kinds():
        statements = by_kind.get(kind.node, [])
        problems += _repeated(kind, statements)
        problems += kind.check(statements, setting)
    problems += check_calls(program)
    if problems:
        raise ProgramError(program.sources.in_order(problems))


def _repeated(kind: Kind[Statement], statements: Sequence[Statement]) -> Iterator[Diagnostic]:
    """Directives that may occur only once and occur again."""
    for statement in statements[1:] if kind.once else ():
        first = statements[0].span
        where = f"the first is in line {first.line} of {first.file}"
        message = f"a second {kind.words[0]}; {where}"
        yield Diagnostic(f"{kind.name}-twice", message, statement.span, "keep one of them")


__all__ = ["SemanticsPair", "check", "effective_semantics", "parse_semantics"]
