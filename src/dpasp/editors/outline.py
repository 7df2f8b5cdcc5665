"""The shape of a text: its outline, what can be folded, and what its words are.

>>> from dpasp.editors.analysis import analyse
>>> found = analyse("0.3::a(1).\\nb :-\\n  a(X).\\n#query b.\\n", "p.plp")
>>> [(entry.name, entry.kind) for entry in outline(found)]
[('0.3::a(1)', 'choice'), ('b', 'rule'), ('#query b', 'question')]
>>> folds(found)
[(1, 2, 'region')]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

from dpasp.editors.analysis import Analysis
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.lexer import Token
from dpasp.language.text.pieces import Piece

EntryKind = Literal["choice", "rule", "network", "data", "code", "question", "directive"]
WordKind = Literal[
    "keyword", "number", "string", "variable", "function", "operator", "comment", "property"
]

LONGEST = 60  # characters of a name in the outline


class Entry(NamedTuple):
    """A statement in the outline."""

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
    places = [(piece.start, piece.end, "region") for piece in analysis.split.pieces]
    lines = [
        (_line(analysis, start), _line(analysis, end - 1), kind) for start, end, kind in places
    ]
    ranges = [*lines, *_comment_runs(analysis)]
    return sorted({(first, last, kind) for first, last, kind in ranges if last > first})


def _comment_runs(analysis: Analysis) -> Iterator[tuple[int, int, str]]:
    """Comments on lines of their own, one below the other."""
    run: tuple[int, int] | None = None
    for start, end in analysis.split.comments:
        first, last = _line(analysis, start), _line(analysis, max(end - 1, start))
        if analysis.text[analysis.file.line_starts[first] : start].strip():
            continue
        if run is not None and first == run[1] + 1:
            run = (run[0], last)
            continue
        if run is not None:
            yield *run, "comment"
        run = (first, last)
    if run is not None:
        yield *run, "comment"


def _line(analysis: Analysis, offset: int) -> int:
    return bisect_right(analysis.file.line_starts, offset) - 1


# --- what words are -----------------------------------------------------------------------------


def word_kinds(analysis: Analysis) -> list[WordAt]:
    """What every word of the text is, in order; Python blocks are left to others."""
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
