"""Definitions, references and new names: of predicates, variables and Python functions.

>>> found = analyse("a(X) :- b(X).\\nb(1).\\n", "p.plp")
>>> [str(span) for span in definition_spans(found, 8)]
['p.plp:2:1']
>>> [str(span) for span in references(found, 2)]
['p.plp:1:3', 'p.plp:1:11']
"""

from __future__ import annotations

import ast as python
import re
from collections.abc import Iterator
from textwrap import dedent

from dpasp.editors.analysis import Analysis, analyse
from dpasp.errors import Span, UsageError
from dpasp.language.ast import Python
from dpasp.language.text.lexer import RESERVED, Token

_NAME = re.compile(r"[_']*[a-z][A-Za-z0-9_']*")
_VARIABLE = re.compile(r"[_']*[A-Z][A-Za-z0-9_']*")
_WORDS = {"not", "undef"}


def definition_spans(analysis: Analysis, offset: int) -> list[Span]:
    """Where the name at an offset is defined: heads of rules, or ``def`` in a block."""
    token = analysis.token_at(offset)
    if token is not None and token.kind == "call":
        return list(_python_definitions(analysis, _function(token)))
    place = analysis.occurrence_at(offset)
    if place is None:
        return []
    return [other.span for other in analysis.of(place.predicate) if other.role == "head"]


def references(analysis: Analysis, offset: int, declaration: bool = True) -> list[Span]:
    """Every place that names what is named at an offset; with or without its definitions."""
    place = analysis.occurrence_at(offset)
    if place is not None:
        others = analysis.of(place.predicate)
        return [other.span for other in others if declaration or other.role != "head"]
    return [analysis.file.span(start, end) for start, end in _same_words(analysis, offset)]


def _same_words(analysis: Analysis, offset: int) -> Iterator[tuple[int, int]]:
    """The same variable in the same statement, the same Python function in all of them."""
    token, piece = analysis.token_at(offset), analysis.piece_at(offset)
    if token is None or piece is None:
        return
    if token.kind == "variable" and token.text != "_":
        for other in analysis.tokens_of(piece):
            if other.kind == "variable" and other.text == token.text:
                yield other.start, other.end
    elif token.kind == "call":
        for anywhere in analysis.split.pieces:
            for other in analysis.tokens_of(anywhere):
                if other.kind == "call" and _function(other) == _function(token):
                    yield other.start, other.end


def renamed_span(analysis: Analysis, offset: int) -> Span | None:
    """What would be renamed at an offset; None if nothing there can be."""
    place, token = analysis.occurrence_at(offset), analysis.token_at(offset)
    if place is not None:
        return place.span
    if token is not None and token.kind == "variable" and token.text != "_":
        return analysis.file.span(token.start, token.end)
    return None


def rename(analysis: Analysis, offset: int, name: str) -> list[Span]:
    """The places to write a new name to; an error if the program would then say another thing."""
    place, old = analysis.occurrence_at(offset), renamed_span(analysis, offset)
    if old is None:
        raise UsageError("only predicates and variables can be renamed here")
    if analysis.unread:
        raise UsageError("correct what cannot be read first: the name may stand there too")
    if place is None:
        _check(name, _VARIABLE, "the name of a variable begins in upper case, as in Person")
        piece = analysis.piece_at(offset)
        taken = {token.text for token in analysis.tokens_of(piece)} if piece else set()
    else:
        _check(name, _NAME, "the name of a predicate begins in lower case, as in smokes")
        known = {other.predicate for other in analysis.occurrences}
        taken = {p.name for p in known if p.arity == place.predicate.arity}
    if name in taken and name != analysis.text[slice(*analysis.slice(old))]:
        raise UsageError(f"{name} is there already: the two would become one")
    return references(analysis, offset)


def _check(name: str, form: re.Pattern[str], help: str) -> None:
    if not form.fullmatch(name) or name in _WORDS or name.startswith(RESERVED):
        raise UsageError(f"{name} cannot be used: {help}")


# --- Python -------------------------------------------------------------------------------------


def _function(token: Token) -> str:
    return token.text.removeprefix("@").strip()


def _python_definitions(analysis: Analysis, name: str) -> Iterator[Span]:
    """Where a block defines a name at its top."""
    for statement in analysis.program.statements:
        if isinstance(statement, Python):
            for line, names in _defined(statement.code):
                if name in names:
                    at = statement.span.line + line - 1
                    yield Span(statement.span.file, at, 1, at, 1)


def _defined(code: str) -> Iterator[tuple[int, set[str]]]:
    """The names that a block defines, with their lines from 1."""
    try:
        tree = python.parse(dedent(code))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        match node:
            case python.FunctionDef(name=name) | python.ClassDef(name=name):
                yield node.lineno, {name}
            case python.Assign(targets=targets):
                yield node.lineno, {t.id for t in targets if isinstance(t, python.Name)}
            case python.Import(names=names) | python.ImportFrom(names=names):
                yield node.lineno, {alias.asname or alias.name for alias in names}


def python_names(analysis: Analysis) -> list[str]:
    """The names that the blocks of a program define, in their order."""
    blocks = [s for s in analysis.program.statements if isinstance(s, Python)]
    return [name for block in blocks for _, names in _defined(block.code) for name in sorted(names)]


__all__ = ["analyse", "definition_spans", "python_names", "references", "rename", "renamed_span"]
