"""Navigation in a text: definitions, references, renaming, outline, folds, kinds of words."""

from __future__ import annotations

import ast as python
import re
from bisect import bisect_right
from collections.abc import Iterator
from textwrap import dedent
from typing import Literal, NamedTuple

from dpasp.editors.analysis import Analysis
from dpasp.errors import Span, UsageError
from dpasp.language.ast import Python
from dpasp.language.statements.statement import starting_words
from dpasp.language.text.lexer import RESERVED, Piece, Token

_NAME = re.compile(r"[_']*[a-z][A-Za-z0-9_']*")
_VARIABLE = re.compile(r"[_']*[A-Z][A-Za-z0-9_']*")
_WORDS = {"not", "undef"}
LONGEST = 60  # characters of a name in the outline


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
    """Every reference to the name at an offset, with or without its definitions."""
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
    """The name that would be renamed at an offset, if any."""
    place, token = analysis.occurrence_at(offset), analysis.token_at(offset)
    if place is not None:
        return place.span
    if token is not None and token.kind == "variable" and token.text != "_":
        return analysis.file.span(token.start, token.end)
    return None


def rename(analysis: Analysis, offset: int, name: str) -> list[Span]:
    """The places for a new name; raises an error if renaming would change the program's meaning."""
    place, old = analysis.occurrence_at(offset), renamed_span(analysis, offset)
    if old is None:
        raise UsageError("only predicates and variables can be renamed here")
    if analysis.unread:
        raise UsageError("first correct what cannot be read: the name may occur there too")
    if place is None:
        _check(name, _VARIABLE, "the name of a variable begins in upper case, as in Person")
        piece = analysis.piece_at(offset)
        taken = {token.text for token in analysis.tokens_of(piece)} if piece else set()
    else:
        _check(name, _NAME, "the name of a predicate begins in lower case, as in smokes")
        known = {other.predicate for other in analysis.occurrences}
        taken = {p.name for p in known if p.arity == place.predicate.arity}
    if name in taken and name != analysis.text[slice(*analysis.slice(old))]:
        raise UsageError(f"{name} already exists: the two would become one")
    return references(analysis, offset)


def _check(name: str, form: re.Pattern[str], help: str) -> None:
    if not form.fullmatch(name) or name in _WORDS or name.startswith(RESERVED):
        raise UsageError(f"{name} cannot be used: {help}")


def _function(token: Token) -> str:
    return token.text.removeprefix("@").strip()


def _python_definitions(analysis: Analysis, name: str) -> Iterator[Span]:
    """Where a block defines a name at its top level."""
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


# --- the shape of a text ------------------------------------------------------------------------

EntryKind = Literal["choice", "rule", "network", "data", "code", "question", "directive"]
WordKind = Literal[
    "keyword", "number", "string", "variable", "function", "operator", "comment", "property"
]


class Entry(NamedTuple):
    name: str
    kind: EntryKind
    start: int
    end: int


class WordAt(NamedTuple):
    """A slice of the text and what it is."""

    start: int
    end: int
    kind: WordKind
    defined: bool = False  # the head of a rule


def outline(analysis: Analysis) -> list[Entry]:
    """The statements of a text by their heads, in their order."""
    entries = []
    for piece in analysis.split.pieces:
        text = " ".join(_head(analysis, piece).split())
        if text:
            short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
            entries.append(Entry(short, _kind(analysis, piece), piece.start, piece.end))
    return entries


def _head(analysis: Analysis, piece: Piece) -> str:
    """A statement up to its ':-', without its final dot and without comments."""
    if piece.directive in starting_words().blocks:
        return piece.directive
    tokens = analysis.tokens_of(piece)
    at = next((i for i, token in enumerate(tokens) if token.text == ":-"), len(tokens))
    shown = tokens[: at or len(tokens)]
    if shown and shown[-1].text == ".":
        shown = shown[:-1]
    return analysis.text[shown[0].start : shown[-1].end] if shown else ""


def _kind(analysis: Analysis, piece: Piece) -> EntryKind:
    if piece.directive in starting_words().blocks:
        return "code"
    if piece.directive:
        return "question" if piece.directive in starting_words().open_ended else "directive"
    if piece.annotated:
        words = {token.text for token in analysis.tokens_of(piece)}
        return "network" if "as" in words else "choice"
    return "data" if piece.data else "rule"


def folds(analysis: Analysis) -> list[tuple[int, int, str]]:
    """First and last lines (from 0) of what can be folded: statements, blocks, comments."""
    ranges = [
        (_line(analysis, piece.start), _line(analysis, piece.end - 1), "region")
        for piece in analysis.split.pieces
    ]
    run = (-9, -9, "comment")  # comments on separate lines, one below the other
    for start, end in analysis.split.comments:
        first, last = _line(analysis, start), _line(analysis, max(end - 1, start))
        if not analysis.text[analysis.file.line_starts[first] : start].strip():
            if first == run[1] + 1:
                first = run[0]
            else:
                ranges.append(run)
            run = (first, last, "comment")
    return sorted({(first, last, kind) for first, last, kind in [*ranges, run] if last > first})


def _line(analysis: Analysis, offset: int) -> int:
    return bisect_right(analysis.file.line_starts, offset) - 1


def word_kinds(analysis: Analysis) -> list[WordAt]:
    """The kind of every word of the text, in order, except for Python blocks."""
    named = {
        analysis.slice(place.span)[0]: place.role == "head"
        for place in analysis.occurrences
        if place.span.file == analysis.file.name
    }
    result = [WordAt(start, end, "comment") for start, end in analysis.split.comments]
    for piece in analysis.split.pieces:
        if piece.directive in starting_words().blocks:
            result.append(WordAt(piece.start, piece.start + len(piece.directive), "keyword"))
        tokens = analysis.tokens_of(piece)
        for index, token in enumerate(tokens):
            kind = _word_kind(token, tokens[index + 1 : index + 2], token.start in named)
            if kind is not None:
                result.append(WordAt(token.start, token.end, kind, named.get(token.start, False)))
    return sorted(result)


def _word_kind(token: Token, after: list[Token], named: bool) -> WordKind | None:
    if token.kind in ("number", "string", "variable"):
        return token.kind  # type: ignore[return-value]
    if token.kind == "directive":
        return "keyword"
    if token.kind == "call" or named:
        return "function"
    if token.kind == "name":
        if token.text in ("not", "undef", "as", "with", "on", "at"):
            return "keyword"
        return "property" if after and after[0].text == "=" else None
    return "operator" if token.text in ("::", ":-", "?", "!", "~", "|", ":") else None
