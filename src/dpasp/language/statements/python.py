"""``#python … #end.`` blocks, and the ``@functions`` that a program can call.

The functions are read from the text of the blocks; nothing is run.
"""

from __future__ import annotations

import ast as python
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import replace

from clingo.ast import ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.statements.neural import Network
from dpasp.language.statements.options import Call
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import (
    Program,
    Statement,
    clingo_terms,
    parts_of,
    span_field,
)
from dpasp.language.text import Reading
from dpasp.language.text.clingo_text import walk


@dataclass(frozen=True, slots=True)
class Python(Statement):
    """``#python … #end.``; ``code`` is the text in between."""

    code: str
    span: Span = span_field()

    words = ("#python",)
    block = True
    form = "#python … #end."
    about = "Python code that defines the program's `@functions`"

    @staticmethod
    def read(cursor: Reading) -> Python:
        text = cursor.file.text
        code = text[cursor.start + len("#python") : text.rindex("#end", 0, cursor.end)]
        return Python(code, cursor.span)

    def __str__(self) -> str:
        return f"#python{self.code}#end."


def check_calls(program: Program) -> Iterator[Diagnostic]:
    """Find blocks that are not Python and calls of undefined functions."""
    names: set[str] = set(program.supplied)
    open_ended = False  # a block may define names that its text does not show
    scripts = program.sources.holds("#script")
    for statement in program.statements:
        if isinstance(statement, Python):
            tree = _parse(statement)
            if isinstance(tree, Diagnostic):
                yield tree
                open_ended = True
            else:
                bound, more = _bound(tree)
                names |= bound
                open_ended |= more
        elif scripts and isinstance(statement, Plain):
            open_ended |= statement.node.ast_type == ASTType.Script
    if open_ended:
        return
    for name, span in _calls(program):
        if ":" not in name and name not in names:
            yield _unknown(name, span, names)


def called(program: Program) -> set[str]:
    """The names after ``@`` in a program."""
    return {name for name, _ in _calls(program)}


def _unknown(name: str, span: Span, names: set[str]) -> Diagnostic:
    help = nearest(name, names)
    if not help and not names:
        help = (
            f"define it in a block (#python, then def {name}(…): …, then #end.), "
            "or pass it to load or loads in networks=, data= or functions="
        )
    elif not help:
        help = f"the #python blocks define {', '.join(sorted(names))}"
    return Diagnostic("unknown-function", f"no #python block defines {name}", span, help)


def _parse(block: Python) -> python.Module | Diagnostic:
    """The syntax tree of a block, or the problem with it."""
    code = textwrap.dedent(block.code)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reported when the block runs
            return python.parse(code)
    except SyntaxError as error:
        what, span = error.msg, _span_of(block, code, error)
    except (ValueError, RecursionError, MemoryError) as error:  # a null character, deep nesting
        what, span = str(error) or "it is nested too deeply", block.span
    what = re.sub(r"\bline (\d+)", lambda m: f"line {int(m[1]) + block.span.line - 1}", what)
    message = f"this is not Python: {what}"
    return Diagnostic("python-syntax", message, span, "correct the Python in this block")


def _span_of(block: Python, code: str, error: SyntaxError) -> Span:
    """The place of a syntax error in the program's file."""
    number, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
    whole, end = block.code.split("\n"), block.span.end_column
    if number > len(whole):
        return replace(block.span, line=block.span.end_line, column=end - 1)
    margin = len(whole[number - 1]) - len(code.split("\n")[number - 1])
    column = min(column + margin, len(whole[number - 1]) + 1)
    if number == 1:
        column += block.span.column - 1 + len("#python")
    line = block.span.line + number - 1
    return replace(block.span, line=line, column=column, end_line=line, end_column=column)


def _bound(tree: python.Module) -> tuple[set[str], bool]:
    """The names that a module binds, and whether it may bind some that its text does not show."""
    names: set[str] = set()
    more = False
    for node in python.walk(tree):
        match node:
            case python.FunctionDef(name=name) | python.AsyncFunctionDef(name=name):
                names.add(name)
            case python.ClassDef(name=name) | python.Name(id=name, ctx=python.Store()):
                names.add(name)
            case python.alias(name=name, asname=other):
                names.add((other or name).partition(".")[0])
                more |= name == "*"
            case python.Name(id="exec" | "globals" | "setattr"):
                more = True
    return names, more


def _calls(program: Program) -> Iterator[tuple[str, Span]]:
    """The functions called by our statements and in clingo's terms."""
    if not program.sources.holds("@"):
        return
    for statement in program.statements:
        if "@" in (program.sources.text_of(statement.span) or "@"):
            networks = parts_of(statement, Network)
            elsewhere = [network.factory for network in networks if network.repository]
            for call in parts_of(statement, Call):
                if call not in elsewhere:
                    yield call.function, call.span
            yield from _external(program, statement)


def runs_in_terms(program: Program) -> bool:
    r"""Whether Python runs during grounding: scripts, or functions in terms.

    >>> from dpasp.language import parse
    >>> runs_in_terms(parse("a(@f(1))."))
    True
    >>> runs_in_terms(parse("#python\ndef rows(): ...\n#end.\nimage(0) ~ test(@rows)."))
    False
    """
    called = program.sources.holds("@")
    for statement in program.statements:
        if isinstance(statement, Plain) and statement.node.ast_type == ASTType.Script:
            return True
        if called and next(_external(program, statement), None) is not None:
            return True
    return False


def _external(program: Program, statement: Statement) -> Iterator[tuple[str, Span]]:
    for node in clingo_terms(statement):
        for part in walk(node):
            if part.ast_type == ASTType.Function and part.external:
                yield part.name, program.sources.span_of(part.location)
