"""The ``#python`` blocks of a program, run once and kept as a module."""

from __future__ import annotations

import textwrap
from types import ModuleType
from typing import Any

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast

NAME = "dpasp_program"


def run_blocks(program: ast.Program) -> ModuleType:
    """A module with all that the program's ``#python`` blocks define, run in their order."""
    module = ModuleType(NAME)
    for statement in program.statements:
        if isinstance(statement, ast.Python):
            run_code(statement.code, statement.span, module.__dict__)
    return module


def run_code(text: str, span: Span, namespace: dict[str, Any]) -> None:
    """Run a piece of a program that is Python; an error is shown at the line that raised it."""
    code = "\n" * (span.line - 1) + textwrap.dedent(text)  # lines as in the file
    try:
        exec(compile(code, span.file, "exec"), namespace)
    except Exception as error:
        message = f"this Python fails: {type(error).__name__}: {error}"
        raise ProgramError(Diagnostic("python-error", message, _place(error, span))) from error


def _place(error: Exception, span: Span) -> Span:
    """The line of the block at which an error was raised."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == span.file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is None or not span.line <= line <= span.end_line:
        return span
    return Span(span.file, line, 1, line, 2)
