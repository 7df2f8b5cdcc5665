"""Programs in clingo's syntax, with some of their statements rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dpasp.converters.output import LaidOut
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.statements.kind import starting_words
from dpasp.language.text import SourceFile, Token
from dpasp.language.text.lexer import tokens
from dpasp.language.text.pieces import cut_statements

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
        """Whether it begins with these tokens."""
        return tuple(word.text for word in self.words[: len(texts)]) == texts

    def refuse(self, message: str, help: str = "", at: Token | None = None) -> ProgramError:
        """An error that points at one token, or at the whole statement."""
        start, end = (self.start, self.end) if at is None else (at.start, at.end)
        span = self.source.span(start, end)
        return ProgramError(Diagnostic("no-counterpart", message, span, help))


def statements(text: str, file: str) -> list[Statement]:
    """Cut a text into statements."""
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


def rewritten(
    text: str, read: Sequence[Statement], rewrite: Callable[[Statement], str | None]
) -> LaidOut:
    """Rewrite statements (None keeps one as it is); raises all problems together."""
    problems: list[Diagnostic] = []
    chunks: list[tuple[str, tuple[int, int]]] = []
    at = 0
    for statement in read:
        try:
            new = rewrite(statement)
        except ProgramError as error:
            problems += error.diagnostics
            continue
        if new is not None:
            chunks.append((text[at : statement.start], (at, statement.start)))
            chunks.append((new, (statement.start, statement.end)))
            at = statement.end
    if problems:
        raise ProgramError(problems)
    chunks.append((text[at:] if text.endswith("\n") else f"{text[at:]}\n", (at, len(text))))
    return _laid_out(chunks, read)


def _laid_out(chunks: Sequence[tuple[str, tuple[int, int]]], read: Sequence[Statement]) -> LaidOut:
    """Join chunks of text, remembering which slice each line comes from."""
    whole = "".join(chunk for chunk, _ in chunks)
    origins = [(0, 0)] * (whole.count("\n") + 1)
    line = 0
    rewritten_at = {(statement.start, statement.end) for statement in read}
    for chunk, slice in chunks:
        at = slice[0]
        for i, part in enumerate(chunk.split("\n")):
            line += i > 0
            if part.strip() and origins[line] == (0, 0):
                origins[line] = slice if slice in rewritten_at else (at, at + len(part))
            at += len(part) + 1
    return LaidOut(whole, tuple(origins))


def atoms(tokens: Sequence[Token], name: str) -> Iterator[tuple[int, int]]:
    """First and last token of each atom of a predicate with arguments."""
    for place, word in enumerate(tokens[:-1]):
        if word.text == name and tokens[place + 1].text == "(":
            yield place, closing(tokens, place + 1)
