"""A program with what the command line says about it, ready to be asked."""

from __future__ import annotations

from argparse import Namespace

from dpasp.cli.console import Console
from dpasp.cli.reading import python_allowed, with_command_questions
from dpasp.language import ast
from dpasp.program import Program


def asked(source: ast.Program, options: Namespace, console: Console) -> Program:
    """The program with the questions, the evidence and the constants of the command line."""
    program = Program(
        with_command_questions(source, options, console),
        python=python_allowed(options),
        constants=dict(options.constants),
    )
    console.has_read()
    return program
