r"""What the converters share: words, statements, and writing the program.

>>> text = "a :- b.  % why\n\nc."
>>> pieces = [NewPiece((0, 7), "a :- b."), comment((9, 14), "% why"), NewPiece((16, 18), "c.")]
>>> laid_out(text, pieces).text
'a :- b.  % why\n\nc.\n'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from clingo import String

from dpasp.converters import TEXT
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, each
from dpasp.ground import check_without_grounding
from dpasp.ground.checking import program_of_texts
from dpasp.ground.columns import plain_name
from dpasp.language.statements.statement import starting_words
from dpasp.language.text import SourceFile, Token
from dpasp.language.text.lexer import cut_statements, tokens

Slice = tuple[int, int]  # start and end in a text
Item = TypeVar("Item")
Made = TypeVar("Made")


# --- names of ours ------------------------------------------------------------------------------

NAME = re.compile(r"_*[a-z][A-Za-z0-9_']*")
TAKEN = {"not", "undef", "as", "with"}


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None and text not in TAKEN


def slug(text: str) -> str:
    """A valid name made from any text."""
    words = plain_name(text)
    return words if is_name(words) else f"n_{words}"


def unused_name(name: str, used: Iterable[str]) -> str:
    """The name, with a number appended if it is in use."""
    taken, number, free = set(used), 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def quoted(text: str) -> str:
    return str(String(text))


def values_text(values: Sequence[str]) -> str:
    """A set of values, written as an interval if they form one."""
    numbers = [int(value) for value in values if value.isdigit()]
    if len(numbers) == len(values) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{{{numbers[0]}..{numbers[-1]}}}"
    return f"{{{','.join(values)}}}"


# --- words --------------------------------------------------------------------------------------


class Word(NamedTuple):
    """A word of a text: its kind is the group of the pattern that it matches."""

    kind: str
    text: str
    start: int
    end: int


def words_of(pattern: re.Pattern[str], text: str, start: int = 0) -> list[Word]:
    """The words of a text that begins at ``start``; anything unmatched is space."""
    return [
        Word(match.lastgroup, match[0], start + match.start(), start + match.end())
        for match in pattern.finditer(text)
        if match.lastgroup is not None
    ]


class Reader:
    """Takes words one after the other; errors point at the next one, or the last of all."""

    def __init__(self, words: Sequence[Any], source: SourceFile) -> None:
        self.words, self.source = words, source
        self.next = 0

    @property
    def text(self) -> str:
        """The text of the next word."""
        return self.words[self.next].text if self.next < len(self.words) else ""

    def take(self, expected: str = "") -> Any:
        """The next word, which must be the expected one if that is given."""
        if self.next >= len(self.words):
            raise self.refuse("the text ends too early")
        if expected and self.text != expected:
            raise self.refuse(f"'{expected}' is missing before this")
        self.next += 1
        return self.words[self.next - 1]

    def listed(self, one: Callable[[], Made]) -> list[Made]:
        items = [one()]
        while self.text == ",":
            self.take()
            items.append(one())
        return items

    def refuse(self, message: str, help: str = "", at: Any = None) -> ProgramError:
        span = None
        if self.words:
            word = at or self.words[min(self.next, len(self.words) - 1)]
            span = self.source.span(word.start, word.end)
        return ProgramError.at("foreign-syntax", message, span, help)


# --- statements in clingo's syntax --------------------------------------------------------------

OPEN, CLOSE = set("([{"), set(")]}")


@dataclass(frozen=True)
class Statement:
    """A statement: its tokens, and its slice of the text."""

    source: SourceFile
    start: int
    end: int
    words: tuple[Token, ...]

    @property
    def text(self) -> str:
        """The statement as written."""
        return self.source.text[self.start : self.end]

    def slice(self, tokens: Sequence[Token]) -> str:
        """The text from the first to the last of some tokens."""
        return self.source.text[tokens[0].start : tokens[-1].end] if tokens else ""

    def begins(self, *texts: str) -> bool:
        return tuple(word.text for word in self.words[: len(texts)]) == texts

    def refuse(self, message: str, help: str = "", at: Token | None = None) -> ProgramError:
        """An error that points at one token, or at the whole statement."""
        start, end = (self.start, self.end) if at is None else (at.start, at.end)
        span = self.source.span(start, end)
        return ProgramError.at("no-counterpart", message, span, help)


def statements(text: str, file: str) -> list[Statement]:
    source = SourceFile(file, text)
    return [
        Statement(source, piece.start, piece.end, tuple(tokens(text, piece.start, piece.end)))
        for piece in cut_statements(text, starting_words()).pieces
    ]


def separated(tokens: Sequence[Token], *separators: str) -> list[list[Token]]:
    """Split tokens at separators outside of brackets."""
    result: list[list[Token]] = [[]]
    depth = 0
    for word in tokens:
        depth += (word.text in OPEN) - (word.text in CLOSE)
        if depth == 0 and word.text in separators:
            result.append([])
        else:
            result[-1].append(word)
    return result


def closing(tokens: Sequence[Token], opening: int) -> int:
    """Index of the bracket that closes the one at ``opening``; the last token if none does."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].text in OPEN) - (tokens[place].text in CLOSE)
        if depth == 0:
            return place
    return len(tokens) - 1


def inside(tokens: Sequence[Token], opening: int) -> Sequence[Token]:
    """The tokens between a bracket and its partner."""
    return tokens[opening + 1 : closing(tokens, opening)]


def head_and_body(statement: Statement) -> tuple[list[Token], list[Token]]:
    """The tokens before and after ``:-``, without the final dot."""
    plain = statement.words[:-1] if statement.words[-1].text == "." else statement.words
    head, *body = separated(plain, ":-")
    return head, body[0] if body else []


def atoms(tokens: Sequence[Token], name: str) -> Iterator[tuple[int, int]]:
    """First and last token of each atom of a predicate with arguments."""
    for place, word in enumerate(tokens[:-1]):
        if word.text == name and tokens[place + 1].text == "(":
            yield place, closing(tokens, place + 1)


# --- the layout of a new program ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A text, and the slice of the original behind each of its lines."""

    text: str
    origins: tuple[Slice, ...]


def rewritten(
    text: str, read: Sequence[Statement], rewrite: Callable[[Statement], str | None]
) -> LaidOut:
    """Rewrite statements (None keeps one as it is); raises all problems together."""
    chunks: list[tuple[str, Slice, bool]] = []  # new text, its origin, whether it was rewritten
    at = 0
    for statement, new in zip(read, each(rewrite, read), strict=True):
        if new is not None:
            chunks.append((text[at : statement.start], (at, statement.start), False))
            chunks.append((new, (statement.start, statement.end), True))
            at = statement.end
    chunks.append((text[at:] if text.endswith("\n") else f"{text[at:]}\n", (at, len(text)), False))
    whole = "".join(chunk for chunk, _, _ in chunks)
    origins: list[Slice] = [(0, 0)] * (whole.count("\n") + 1)
    line = 0
    for chunk, origin, is_new in chunks:
        at = origin[0]
        for i, part in enumerate(chunk.split("\n")):
            line += i > 0
            if part.strip() and origins[line] == (0, 0):
                origins[line] = origin if is_new else (at, at + len(part))
            at += len(part) + 1
    return LaidOut(whole, tuple(origins))


@dataclass(frozen=True, slots=True)
class NewPiece:
    """A piece of the new text, and the slice of the original it replaces."""

    at: Slice
    text: str
    is_comment: bool = False


def comment(at: Slice, text: str) -> NewPiece:
    """A Prolog comment as lines that begin with ``%``."""
    if text.startswith("/*"):
        lines = enumerate(text[2:-2].strip().splitlines())
        text = "\n".join(f"% {'  ' if i else ''}{line.strip()}".rstrip() for i, line in lines)
    elif text.startswith("#!"):
        text = f"% {text}"
    if text.startswith("%*"):  # which would begin a block
        text = f"% {text[1:]}"
    return NewPiece(at, text or "%", is_comment=True)


def laid_out(text: str, pieces: Sequence[NewPiece]) -> LaidOut:
    """Join the pieces with the line breaks of the original.

    A comment inside a statement moves in front of it. Statements that shared a line still do
    if they fit.
    """
    statements = [piece for piece in pieces if not piece.is_comment]

    def place(piece: NewPiece) -> tuple[int, int, int]:
        if piece.is_comment:
            for other in statements:
                if other.at[0] < piece.at[0] < other.at[1]:
                    return (other.at[0], 0, piece.at[0])
        return (piece.at[0], 1, 0)

    lines: list[str] = []
    origins: list[Slice] = []
    end = 0
    for piece in sorted(pieces, key=place):
        start, outside, _ = place(piece)
        at = piece.at if outside else (start, start)
        breaks = text[end : at[0]].count("\n") if at[0] >= end else 1
        last = lines[-1] if lines else "%"
        short = "\n" not in piece.text and len(last) + len(piece.text) <= 94
        if lines and breaks == 0 and short and (piece.is_comment or "%" not in last):
            lines[-1] += ("  " if piece.is_comment else " ") + piece.text
        else:
            if lines and breaks > 1:
                lines.append("")
            lines += piece.text.split("\n")
        end = max(end, at[1])
        origins += [at] * (len(lines) - len(origins))
    return LaidOut("".join(f"{line}\n" for line in lines), tuple(origins))


# --- the whole program --------------------------------------------------------------------------


def heading(system: str, file: str, *lines: str) -> str:
    """The first lines of a converted program: its origin, then the given lines."""
    origin = "" if file == TEXT else f": {Path(file).name}"
    return "\n".join([f"% converted from {system}{origin}", *lines, "", ""])


def checked_text(
    head: str,
    body: LaidOut,
    foot: str,
    source: SourceFile,
    allowed: frozenset[str] = frozenset(),
) -> str:
    """The whole program, read again so that no invalid program is written.

    Errors are reported at their place in the original; those with ``allowed`` codes are left for
    the run of the program.
    """
    text = f"{head}{body.text}{foot}"
    try:
        check_without_grounding(program_of_texts([(source.name, text)]))
    except ProgramError as error:
        moved: dict[Diagnostic, None] = {}
        for problem in error.diagnostics:
            if problem.code not in {*allowed, "file-not-allowed"}:
                line = problem.span.line - head.count("\n") - 1 if problem.span else -1
                known = 0 <= line < len(body.origins)
                span = source.span(*body.origins[line]) if known else None
                moved[replace(problem, span=span)] = None
        if moved:
            raise ProgramError(moved) from error
    return text
