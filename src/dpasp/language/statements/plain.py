"""clingo's own statements: rules, ``#show``, ``#external``, …, and ``#script`` blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.statements.options import quote
from dpasp.language.statements.statement import (
    Draft,
    FromRow,
    Probability,
    Setting,
    Statement,
    lazy_span_field,
    span_field,
)
from dpasp.language.text import Reading, Sources
from dpasp.language.text.clingo_text import body_text, exact

_WORD = re.compile(r"#\w+")
_SCRIPT = re.compile(r"#script\s*\(\s*(\w+)\s*\)", re.ASCII)


@dataclass(frozen=True)
class Plain(FromRow, Statement):
    """A clingo statement: a rule, ``#show``, ``#const``, ``#script``, …

    The node and span of a plain ground fact are made on first use.
    """

    node: AST
    span: Span = lazy_span_field()
    fact: ClassVar[str | None] = None  # the text of a plain ground fact without its dot

    words = ("#script",)
    block = True
    form = "#script (python) … #end."
    about = "clingo's own form of `#python`"

    @staticmethod
    def read(cursor: Reading) -> Draft:
        """Read ``#script (python) … #end.``; clingo sees an empty one."""
        text = cursor.file.text
        header = _SCRIPT.match(text, cursor.start)
        end = text.rindex("#end", 0, cursor.end)
        if header is None:
            message = "a script begins with its language in parentheses"
            help = "write #script (python) … #end., or #python … #end."
            cursor.fail("directive-syntax", message, cursor.peek(), help)
        code = text[header.end() : end].strip(" \t\r")  # as clingo does
        cursor.buffer.blank(header.end(), end)
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            return Plain(nodes[0].update(code=code), span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Plain], setting: Setting) -> Iterator[Diagnostic]:
        """Check the values of externals, and refuse weak constraints except under weighted."""
        yield from _check_externals(statements, setting)
        weighted = setting.meaning.probability is Probability.WEIGHTED
        rules = [statement for statement in statements if statement.fact is None]
        costs = [statement for statement in rules if statement.node.ast_type == ASTType.Minimize]
        if not weighted:
            for span in dict.fromkeys(statement.span for statement in costs):
                word = _WORD.match(setting.program.sources.text_of(span) or "")
                what = word[0] if word else "a weak constraint"
                message = f"{what} has no meaning under {setting.meaning.probability.value}"
                yield Diagnostic("optimisation", message, span, _CHOOSES)
            return
        for statement in costs:
            node = statement.node
            if node.priority.ast_type == ASTType.SymbolicTerm and str(node.priority) != "0":
                where = setting.program.sources.span_of(node.priority.location)
                yield another_level(str(node.priority), where)

    def __str__(self) -> str:
        node = self.node
        if node.ast_type == ASTType.Script:
            return f"#script ({node.name}){node.code}#end."
        if node.ast_type == ASTType.Rule:
            return exact(node.head) + body_text(node.body)
        return exact(node)


_CHOOSES = (
    "it would choose among models, which is not a probability; say '#semantics weighted.', under "
    "which a cost c is a factor exp(-c), or write constraints"
)
LEVELS = "costs at several levels choose among models; leave out '@', and let the costs say it"


def _check_externals(statements: Sequence[Plain], setting: Setting) -> Iterator[Diagnostic]:
    """Refuse ``#external a. [maybe]``, which clingo would read as false."""
    nodes = [statement.node for statement in statements if statement.fact is None]
    known = {"true", "false", "free", "release"}
    known |= {node.name for node in nodes if node.ast_type == ASTType.Definition}
    for node in nodes:
        if node.ast_type == ASTType.External:
            value = node.external_type
            if value.ast_type == ASTType.SymbolicTerm and str(value) not in known:
                message = f"an external atom cannot be {value}"
                where = setting.program.sources.span_of(value.location)
                help = "write [true], [false] or [free]"
                yield Diagnostic("external-value", message, where, help)


def another_level(level: str, where: Span | None) -> Diagnostic:
    message = f"a cost at level {level} has no meaning as a weight: exp(-cost) has only level 0"
    return Diagnostic("optimisation-level", message, where, LEVELS)


_INCLUDE_FORM = 'a file is included by #include "file.plp".'

_STANDARD = {
    "incmode": "it solves a program again and again with more steps, which is not a probability; "
    "say how many steps there are: #const n = 5. time(1..n).",
    "csp": "it needs a solver of its own; write plain rules and constraints",
}


@dataclass(frozen=True, slots=True)
class Include(Statement):
    """A file name as written; the span is that of the name."""

    path: str
    span: Span = span_field()

    words = ("#include",)
    form = '#include "file.plp".'
    about = "includes the statements of another file"

    @staticmethod
    def read(cursor: Reading) -> Include:
        cursor.next()
        token = cursor.peek()
        if token.text == "<":
            name = cursor.peek(1).text
            message = f"clingo's own file {name} cannot be included"
            cursor.fail("include-syntax", message, token, _STANDARD.get(name, _INCLUDE_FORM))
        message = "a file name in quotes is missing here"
        path = cursor.expect_string("include-syntax", message, _INCLUDE_FORM)
        cursor.expect_end(_INCLUDE_FORM)
        return Include(path, cursor.where(token))

    def __str__(self) -> str:
        return f"#include {quote(self.path)}."
