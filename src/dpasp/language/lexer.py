"""Text → pieces: where each statement begins and ends, and the tokens of those that are ours.

Two passes, because almost all of a program is clingo's to read: :func:`split` looks
only at what can end a statement or make it ours, :func:`tokens` reads a slice in full.

>>> [text[piece.start:piece.end] for text in ["a. 0.3::b."] for piece in split(text).pieces]
['a.', '0.3::b.']
>>> [token.text for token in tokens("0.3::b(X)", 0, 9)]
['0.3', '::', 'b', '(', 'X', ')']
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

NUMBER = r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+\.(?=\s*,)|\d+"
STRING = r'"(?:[^"\\\n]|\\["\\n])*"'
PYTHON_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+:[A-Za-z_]\w*|[A-Za-z_]\w*:[A-Za-z_]\w*"

_COARSE = re.compile(
    rf"(?P<string>{STRING})|(?P<block>%\*)|(?P<comment>%[^\n]*)|(?P<call>@(?:{PYTHON_NAME}))"
    r"|(?P<ellipsis>\.\.\.|…)|(?P<decimal>(?<![\w'])(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+\.(?=\s*,)))|(?P<range>\.\.)"
    r"|(?P<dot>\.)|(?P<mark>::)|(?P<weak>:~)|(?P<tilde>~)|(?P<open>\[)|(?P<directive>\#[A-Za-z_]+)"
    r"|(?P<bad>[^\x00-\x7f]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\"])",
    re.ASCII,
)

_TOKEN = re.compile(
    rf"\s+|%\*|%[^\n]*|(?P<string>{STRING})|(?P<ellipsis>\.\.\.|…)|(?P<number>{NUMBER})"
    rf"|(?P<call>@\s*(?:{PYTHON_NAME}|[A-Za-z_]\w*))|(?P<name>_*[a-z][\w']*)|(?P<variable>_*[A-Z][\w']*|_+)"
    r"|(?P<directive>\#[A-Za-z_]+)|(?P<symbol>::|:-|:~|\.\.|\*\*|!=|<=|>=|==|.)",
    re.ASCII | re.DOTALL,
)

_BLOCK = re.compile(r"%\*|\*%")
_END = re.compile(r"#end\s*\.")
_SPACE = re.compile(r"\s+")


class Token(NamedTuple):
    """A token: its kind (string, number, name, variable, call, directive, symbol) and slice."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Piece:
    """A statement's slice of the text, its final dot included, and what was seen in it."""

    start: int
    end: int
    directive: str = ""  # the #word that it begins with
    annotated: bool = False  # has a '::'
    data: bool = False  # has a '~'
    dotted: bool = True  # ends with its dot
    decimals: list[tuple[int, int]] = field(default_factory=list)


class Problem(NamedTuple):
    """Something that no statement can hold."""

    code: str
    start: int
    end: int


@dataclass(slots=True)
class Split:
    """The pieces of a text, its comments, and what cannot be read at all."""

    pieces: list[Piece] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def piece_at(self, offset: int) -> Piece | None:
        """The last piece that begins at or before an offset."""
        index = bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1
        return self.pieces[index] if index >= 0 else None


QUESTIONS = frozenset({"#query", "#pr", "#map", "#max", "#mpe"})


def split(text: str) -> Split:
    """Cut a text into statements."""
    return _Splitter(text).run()


def _is_binary(before: str) -> bool:
    """Whether a '~' after this text stands between two things, and is not clingo's complement."""
    last = before.rstrip()[-1:]
    return ":-" not in before and (last.isalnum() or last in ("_", "'", ")"))


class _Splitter:
    """One walk over the text; ``piece`` is the statement that is being read, if any."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.result = Split()
        self.piece: Piece | None = None
        self.seen = 0  # everything before this offset belongs to a piece or is blank

    def run(self) -> Split:
        at, text = 0, self.text
        while True:
            match = _COARSE.search(text, at)
            if match is None:
                if (piece := self._begin(len(text))) is None:
                    return self.result
                at = self._dot(piece, len(text.rstrip()), dotted=False)
                continue
            kind, start, at = match.lastgroup, match.start(), match.end()
            if kind == "comment":
                self._begin(start)
                self.result.comments.append((start, at))
            elif kind == "block":
                at = self._block_comment(start)
            else:
                at = self._inside(kind or "", match, start, at)
            self.seen = max(self.seen, at)

    def _block_comment(self, start: int) -> int:
        """Skip a block comment (they nest); give back where it ends."""
        self._begin(start)
        depth, at = 0, start
        while match := _BLOCK.search(self.text, at):
            at = match.end()
            depth += 1 if match.group() == "%*" else -1
            if depth == 0:
                self.result.comments.append((start, at))
                return at
        self.result.problems.append(Problem("unclosed-comment", start, start + 2))
        self.result.comments.append((start, len(self.text)))
        return len(self.text)

    def _begin(self, before: int) -> Piece | None:
        """The piece that holds the text up to ``before``, begun if there is any such text."""
        if self.piece is None:
            at = self.seen
            while at < before:
                space = _SPACE.match(self.text, at)
                at = space.end() if space else at
                # comments were stepped over by ``seen``; anything else starts a statement
                if at < before:
                    self.piece = Piece(at, before)
                break
        return self.piece

    def _dot(self, piece: Piece, end: int, dotted: bool = True) -> int:
        """End a statement; give back where the next one begins.

        The dot of a query may be missing, so what follows on a new line may not be the query's.
        """
        if piece.directive in QUESTIONS and (cut := _question_end(self.text, piece.start, end)):
            end, self.seen = cut
            self._close(end, dotted=False)
            return self.seen
        self._close(end, dotted)
        self.seen = max(self.seen, end) if dotted else len(self.text)
        return self.seen

    def _close(self, end: int, dotted: bool) -> None:
        if self.piece is not None:
            self.piece.end, self.piece.dotted = end, dotted
            self.result.pieces.append(self.piece)
            self.piece = None

    def _inside(self, kind: str, match: re.Match[str], start: int, end: int) -> int:
        """Read one token that is not a comment; give back where to go on."""
        if kind == "open" and self._begin(start) is None:
            return self._bracket(start)
        if kind == "directive":
            return self._directive(match.group(), start, end)
        piece = self._begin(start) or Piece(start, end)
        self.piece = piece
        if kind == "dot":
            return self._dot(piece, end)
        elif kind == "mark":
            piece.annotated = True
        elif kind == "tilde":
            piece.data |= _is_binary(self.text[piece.start : start])
        elif kind == "decimal":
            piece.decimals.append((start, end))
        elif kind == "bad":
            code = "unclosed-string" if match.group() == '"' else "bad-character"
            self.result.problems.append(Problem(code, start, end))
            if code == "unclosed-string":
                line_end = self.text.find("\n", start)
                return len(self.text) if line_end < 0 else line_end
        return end

    def _bracket(self, start: int) -> int:
        """A '[' where a statement could begin: of a credal fact, or the tail of the last one."""
        close = self.text.find("]", start)
        pieces = self.result.pieces
        if close >= 0 and pieces and not re.match(r"\]\s*::", self.text[close : close + 80]):
            pieces[-1].end = close + 1
            return close + 1
        self.piece = Piece(start, start)
        return start + 1

    def _directive(self, word: str, start: int, end: int) -> int:
        piece = self._begin(start)
        # A query may lack its dot: the next directive then begins another statement.
        if piece is not None and piece.directive in QUESTIONS and word in DIRECTIVES:
            self._close(len(self.text[:start].rstrip()), dotted=False)
            piece = None
        if piece is not None:
            return end
        self.piece = Piece(start, end, directive=word)
        if word in ("#python", "#script"):
            return self._script(word, start, end)
        return end

    def _script(self, word: str, start: int, end: int) -> int:
        match = _END.search(self.text, end)
        if match is None:
            self.result.problems.append(Problem("unclosed-block", start, end))
            self._close(len(self.text), dotted=False)
            return len(self.text)
        self._close(match.end(), dotted=True)
        return match.end()


_ENDS = ("name", "number", "string", "variable")  # kinds of tokens that can end a literal


def _question_end(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a question without a dot ends and the next statement begins, if that is so."""
    depth, last = 0, None
    for token in tokens(text, start, end):
        if (
            last is not None
            and depth == 0
            and (last.kind in _ENDS or last.text in (")", "?", "}"))
            and last.text not in ("not", "undef")
            and (token.kind in ("name", "number", "directive", "call") or token.text in "?!-[{:-")
            and "\n" in text[last.end : token.start]
        ):
            return last.end, token.start
        depth += (token.text in "([{") - (token.text in ")]}")
        last = token
    return None


DIRECTIVES = frozenset(
    "#query #pr #map #max #mpe #evidence #semantics #learn #inference #python #script #const #show"
    " #include #external #defined #program #project #heuristic #edge #theory #minimize #maximize"
    " #minimise #maximise".split()
)


def tokens(text: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a slice, comments and space left out."""
    at = start
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:  # cannot happen: the last alternative takes any character
            return
        kind, at = match.lastgroup, match.end()
        if kind is not None:
            yield Token(kind, match.group(), match.start(), at)
        elif match.group() == "%*":
            depth = 1
            while depth and (block := _BLOCK.search(text, at, end)):
                depth += 1 if block.group() == "%*" else -1
                at = block.end()
            at = end if depth else at
