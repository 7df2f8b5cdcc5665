"""Quick fixes: the help of a diagnostic as a change of the text that is known to help.

A help text suggests what to write. Every suggestion is tried, and offered only if it removes the
diagnostic and adds no other.

>>> text = "#quary a.\\na.\\n"
>>> [fix.title for fix in fixes(text, "p.plp", problems(text, "p.plp")[0])]
["change to '#query'"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpasp.dataclass import dataclass
from dpasp.editors.analysis import problems
from dpasp.errors import Diagnostic
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.pieces import cut_statements
from dpasp.language.text.source import SourceFile

_MEANT = re.compile(r"did you mean '(.+)'\?")
_WRITE = re.compile(r"(?:write|say|add) (.+)")
_QUOTED = re.compile(r"'([^']+)'")
_REMOVE = ("remove", "keep one", "leave it out", "write it once")
MOST = 12  # suggestions of one help text that are tried


@dataclass(frozen=True, slots=True)
class Fix:
    """A change: what to write in place of a slice of the text."""

    title: str
    start: int
    end: int
    text: str

    def applied(self, text: str) -> str:
        """The text with the change made."""
        return text[: self.start] + self.text + text[self.end :]


def fixes(text: str, file: str, problem: Diagnostic) -> list[Fix]:
    """The changes that the help of a problem suggests and that are known to remove it."""
    if problem.span is None or problem.span.file != file:
        return []
    before = _counted(text, file)
    by_text: dict[str, Fix] = {}
    for fix in list(_suggestions(text, file, problem))[:MOST]:
        changed = fix.applied(text)
        after = _counted(changed, file)
        if changed != text and len(after) < len(before) and set(after) <= set(before):
            by_text.setdefault(changed, fix)
    return list(by_text.values())


def _counted(text: str, file: str) -> list[tuple[str, str]]:
    """The problems of a text without their places, which a change moves."""
    counts: dict[tuple[str, str], int] = {}
    keys = []
    for problem in problems(text, file):
        key = (problem.code, problem.message)
        counts[key] = counts.get(key, 0) + 1
        keys.append((*key[:1], f"{key[1]} {counts[key]}"))
    return keys


def _suggestions(text: str, file: str, problem: Diagnostic) -> Iterator[Fix]:
    assert problem.span is not None
    source = SourceFile(file, text)
    starts, span = source.line_starts, problem.span
    start = starts[span.line - 1] + span.column - 1
    end = starts[span.end_line - 1] + span.end_column - 1
    help = problem.help
    if meant := _MEANT.search(help):
        yield from _replacements(text, start, end, meant[1])
    if help.startswith(_REMOVE):
        stop = end + 1 if text[end : end + 1] == "\n" and text[:start].endswith(("\n", "")) else end
        yield Fix("remove it", start, stop, "")
    if problem.code == "missing-dot":
        yield Fix("end the statement with a dot", start, start, ".")
    if (written := _WRITE.match(help)) is not None:
        for part in _alternatives(written[1]):
            yield Fix(f"change to '{part}'", start, end, part)
            yield from _insertions(text, start, end, part)


def _replacements(text: str, start: int, end: int, word: str) -> Iterator[Fix]:
    """The word in place of the whole slice, or of the word in it that looks like it."""
    title = f"change to '{word}'"
    yield Fix(title, start, end, word)
    old = text[start:end]
    yield Fix(title, start, end, re.sub(r'"[^"]*"', f'"{word}"', old))
    for match in re.finditer(r"[#@]?[\w.']+", old):
        sign = match[0][0] if match[0][0] in "@#" and word[0] not in "@#" else ""
        yield Fix(title, start + match.start(), start + match.end(), sign + word)


def _alternatives(help: str) -> Iterator[str]:
    """What a help text proposes: in quotes, before an 'or' or a colon, or all of it."""
    quoted = _QUOTED.findall(help)
    yield from quoted
    for part in re.split(r",? or |; |: ", help):
        yield part.strip()
        yield part.strip().strip("'")
    yield help


def _insertions(text: str, start: int, end: int, sign: str) -> Iterator[Fix]:
    """A closing bracket or a separator that is missing, before the slice or at the end."""
    if len(sign) != 1:
        return
    title = f"add '{sign}'"
    yield Fix(title, start, start, sign + (" " if sign in ",;" else ""))
    yield Fix(title, end, end, sign)
    for piece in cut_statements(text, starting_words()).pieces:
        if piece.start <= start < piece.end:
            yield Fix(title, piece.end - piece.dotted, piece.end - piece.dotted, sign)
