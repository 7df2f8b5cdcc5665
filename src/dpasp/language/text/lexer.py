"""Tokens, brackets, a cursor over the tokens of a statement, and a text cut into statements.

clingo reads almost everything, so cutting only looks for what can end a statement or make it one of
dPASP's.

>>> [token.text for token in tokens("0.3::b(X) % half", 0, 16)]
['0.3', '::', 'b', '(', 'X', ')']
>>> text = "a. 0.3::b."
>>> words = Words(frozenset({"#query"}), frozenset({"#query"}), frozenset())
>>> [text[piece.start:piece.end] for piece in cut_statements(text, words).pieces]
['a.', '0.3::b.']
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import NamedTuple, NoReturn

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.text.source import Slice, SourceFile

# A dot also ends a number in 'lr = 1., niters = 5', '1.::a' and '[0., 1.]::a'; before ':-' only
# in an option of a network.
DECIMAL = r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+\.(?=\s*[,)\]]|::|\?)"
# Possessive quantifiers: backtracking over a long string would take gigabytes.
STRING = r'"(?:[^"\\\n\x00\ud800-\udfff]++|\\["\\n])*+"'
PYTHON_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"
COMMENT = r"(?:%(?!\*)|\#!)[^\n]*"

_TOKEN = re.compile(
    rf"\s+|{COMMENT}|(?P<block>%\*)|(?P<string>{STRING})|(?P<ellipsis>\.\.\.|…)"
    rf"|(?P<number>{DECIMAL}|\d+\.(?=\s*:-)|\d+)|(?P<call>@\s*(?:{PYTHON_NAME}|[A-Za-z_]\w*))"
    r"|(?P<name>[_']*+[a-z][\w']*)|(?P<variable>[_']*+[A-Z][\w']*|_++(?!'))"
    r"|(?P<directive>\#[A-Za-z_]+)|(?P<symbol>[_']++|::|:-|:~|\.\.|\*\*|!=|<=|>=|==|.)",
    re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(r'\\([n"\\])')
_BLOCK = re.compile(r"%\*|\*%")

RESERVED = "_dpasp_"  # prefix of internal names
# clingo's words with '#' that begin a statement, and those that occur inside one.
CLINGO_DIRECTIVES = frozenset(
    "#const #show #external #defined #program #project #heuristic #edge #theory"
    " #minimize #maximize #minimise #maximise".split()
)
INLINE = frozenset("#true #false #inf #infimum #sup #supremum #count #sum #min #max #end".split())


class Token(NamedTuple):
    """A token with its kind (string, number, name, variable, call, directive, symbol) and slice."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a slice, without comments and space."""
    at, match_token = start, _TOKEN.match
    while at < end:
        match = match_token(text, at, end)
        assert match is not None  # the last alternative takes any character
        kind, (begin, at) = match.lastgroup, match.span()
        if kind == "block":
            at = comment_end(text, begin, end) or end
        elif kind is not None:
            yield Token(kind, match.group(), begin, at)


def unquote(text: str) -> str:
    r"""The content of a string literal.

    >>> unquote('"a\\b"')
    'a\\b'
    """
    return _ESCAPE.sub(lambda pair: "\n" if pair[1] == "n" else pair[1], text[1:-1])


def outside(written: Iterable[Token]) -> Iterator[tuple[int, Token]]:
    """The tokens outside of all brackets, each with its index.

    >>> [token.text for _, token in outside(tokens("f(a, b), [c]", 0, 12))]
    ['f', ',']
    """
    depth = 0
    for place, token in enumerate(written):
        depth -= token.text in CLOSING
        if depth == 0 and token.text not in CLOSING and token.text not in OPENING:
            yield place, token
        depth += token.text in OPENING


def comment_end(text: str, start: int, end: int | None = None) -> int | None:
    """End of the (nesting) block comment that begins at ``start``; None if it is unclosed."""
    depth, at, end = 0, start, len(text) if end is None else end
    while match := _BLOCK.search(text, at, end):
        at = match.end()
        depth += 1 if match.group() == "%*" else -1
        if depth == 0:
            return at
    return None


# --- brackets -----------------------------------------------------------------------------------

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def unbalanced(cursor: Cursor) -> Diagnostic | None:
    """The first bracket without a partner, or with the wrong one."""
    stack: list[Token] = []
    problem = cursor.file.problem
    for token in cursor.tokens:
        if token.kind != "symbol":
            continue
        if token.text in OPENING:
            stack.append(token)
        elif token.text in CLOSING:
            if not stack:
                message = f"'{token.text}' closes nothing"
                return problem("unbalanced", message, token, "remove it, or open it before")
            opened = stack.pop()
            if (wanted := _PAIRS[opened.text]) != token.text:
                message = f"'{opened.text}' is closed by '{token.text}'"
                return problem("unbalanced", message, token, f"write '{wanted}' here")
    if not stack:
        return None
    opened = stack[-1]
    message = f"'{opened.text}' is never closed"
    return problem("unbalanced", message, opened, f"add '{_PAIRS[opened.text]}'")


# --- a statement token by token -----------------------------------------------------------------


class Cursor:
    """A position among the tokens of a slice of a file."""

    def __init__(
        self, file: SourceFile, start: int, end: int, among: list[Token] | None = None
    ) -> None:
        self.file = file
        self.start, self.end = start, end
        self.index = 0
        if among is not None:
            self.tokens = among

    @cached_property
    def tokens(self) -> list[Token]:
        return list(tokens(self.file.text, self.start, self.end))

    @property
    def span(self) -> Span:
        """The place of the whole slice."""
        return self.file.span(self.start, self.end)

    def where(self, first: Token, last: Token | None = None) -> Span:
        """The place of a token, or of all from the first to the last."""
        return self.file.span(first.start, (last or first).end)

    def at_end(self) -> bool:
        return self.index >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token:
        """The next token; after the last one, an empty token."""
        index = self.index + ahead
        if 0 <= index < len(self.tokens):
            return self.tokens[index]
        at = self.tokens[-1].end if self.tokens else self.start
        return Token("end", "", at, at)

    def next(self) -> Token:
        token = self.peek()
        self.index += 1
        return token

    def accept(self, *texts: str) -> Token | None:
        """Consume the next token if it is one of these."""
        return self.next() if self.peek().text in texts else None

    def expect(self, text: str, code: str, help: str) -> Token:
        """Consume the next token, which must be this one."""
        token = self.accept(text)
        if token is None:
            there = self.peek()
            self.fail(code, f"expected '{text}' {self.before(there)}", there, help)
        return token

    def expect_string(self, code: str, message: str, help: str) -> str:
        """Consume a string literal; its content."""
        if self.peek().kind != "string":
            self.fail(code, message, self.peek(), help)
        return unquote(self.next().text)

    def expect_end(
        self, form: str, parenthesis: object = None, code: str = "directive-syntax"
    ) -> None:
        """Refuse anything but the final dot, after the ``parenthesis`` if one was opened."""
        if parenthesis:
            self.expect(")", code, form)
        rest = self.next()
        if rest.text != "." or not self.at_end():
            what = f"unexpected '{rest.text}'" if rest.text else "the end is missing"
            self.fail(code, what, rest, form)

    @staticmethod
    def before(token: Token) -> str:
        """Where an unexpected token is, for messages."""
        return f"before '{token.text}'" if token.text else "at the end of the statement"

    def skip_group(self) -> Token:
        """Consume a token, or a whole bracketed group; return its last token."""
        first = last = self.next()
        depth = int(first.text in OPENING)
        while depth:
            if self.at_end():
                message = f"'{first.text}' is never closed"
                self.fail("unbalanced", message, first, "close the bracket")
            last = self.next()
            depth += (last.text in OPENING) - (last.text in CLOSING)
        return last

    def fail(
        self, code: str, message: str, where: Slice | tuple[int, int], help: str = ""
    ) -> NoReturn:
        """Refuse the statement, pointing at a token or a slice."""
        start = where.start if isinstance(where, Slice) else where[0]
        raise Refused(self.file.problem(code, message, where, help), start)

    def refuse(self, code: str, message: str, where: tuple[int, int], help: str) -> NoReturn:
        """Refuse the statement for a reason that is certain."""
        raise Refused(self.file.problem(code, message, where, help), None)


class Refused(ProgramError):
    """A statement that cannot be read, with the offset at which that was noticed.

    Without an offset the reason is certain; otherwise it may be a consequence of another mistake.
    """

    def __init__(self, problem: Diagnostic, offset: int | None) -> None:
        super().__init__(problem)
        self.offset = offset


# --- rows of tables -----------------------------------------------------------------------------

# Numbers that a float cannot tell from 1 are left to the slower reader.
NUMBER = r"(?!0\.9{15}|1\.0{15})\d{1,9}\.\d{1,99}(?:[eE]-\d{1,2})?"
_NAME = r"(?!not\b)[a-z]\w*"
_TERM = rf"(?:{_NAME}|0|[1-9]\d{{0,8}}(?!\w))"
_ATOM = rf"{_NAME}(?:\({_TERM}(?:, ?{_TERM})*\))?"
_HEAD = rf"{NUMBER} ?:: ?{_ATOM}"
_LITERAL = rf"(?:not )?{_ATOM}"
ROW = re.compile(
    rf"[ \t\r\n]*(?:(?P<heads>(?P<number>{NUMBER}) ?:: ?(?P<atom>{_ATOM})"
    rf"(?P<more>(?: ?; ?{_HEAD})*))"
    rf"(?: ?:- ?(?P<body>{_LITERAL}(?:, ?{_LITERAL})*))?"
    # A fact that might be another system's question is read with care.
    rf"|(?!query\b|evidence\b)(?P<fact>{_ATOM}))(?P<dot>\.)(?=[ \t\r\n]|\Z)",
    re.ASCII,
)
HEADS = re.compile(rf"({NUMBER}) ?:: ?({_ATOM})", re.ASCII)  # of a row
ANNOTATION = re.compile(rf"{NUMBER} ?::", re.ASCII)

# --- statements ----------------------------------------------------------------------------------


BIG = r"\d{10,}|0x[\dA-Fa-f]{8,}|0o[0-7]{11,}|0b[01]{32,}"  # may exceed clingo's integers

_COARSE = re.compile(
    # the lookahead skips most of the text quickly
    r'(?=["%@.…\d:~∼\[#]|[^\t\n\r\x20-\x7e])(?:'
    rf"(?P<string>{STRING})|(?P<comment>{COMMENT})|(?P<block>%\*)|@{PYTHON_NAME}"
    rf"|(?P<ellipsis>\.\.\.|…)|(?<![\w'])(?:(?P<decimal>{DECIMAL})|(?P<integer>{BIG}))"
    r"|\.\.|(?P<dot>\.)|(?P<mark>::)|:~|(?P<tilde>[~∼])|(?P<open>\[)"
    r"|(?P<directive>\#[A-Za-z_]+)|(?P<bad>[^\t\n\r\x20-\x7e]|\"))",
    re.ASCII,
)
_BLANK = " \t\r\n"  # other white space is refused
_SPACE = re.compile(rf"[{_BLANK}]*")
_END = re.compile(r"#end\s*(\.)|^[ \t]*#end[ \t]*$", re.MULTILINE)
_UNREADABLE = re.compile(r"[^\t\r\n -~]")  # only ASCII outside of strings
# An interval before '::' (or, with a mistake in between, two numbers); any other bracket belongs
# to the statement before it, as in '#external a. [false]'.
_INTERVAL = re.compile(r"\[[^\]]*\]\s*::|\[[^\]@A-Za-z]*,[^\]@A-Za-z]*\][^:;.]*::")
_TAIL = re.compile(r":~|#external|#heuristic|#const")  # may be followed by '[…]' after the dot
_NUMBERS = re.compile(r"(?<=#factor)\s*\{[^{}\"%]*\}", re.ASCII)
_NO_DIGIT = re.compile(r"\.\d+", re.ASCII)
_WITH = re.compile(r"\bwith\b")
_NUMBER_IF = re.compile(r"\d\.\s*:-", re.ASCII)
_BAD_ANYWHERE = re.compile(r"[\x00\ud800-\udfff]")
_BAD_IN_STRING = re.compile(r'\\(?:[^"\\n]|$)|[\x00\ud800-\udfff]', re.MULTILINE)
_LOOSE_STRING = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"')


class Words(NamedTuple):
    """Words with '#' that ``begin`` statements.

    The final dot of ``open_ended`` ones may be missing; ``blocks`` end with '#end.'.
    """

    begin: frozenset[str]
    open_ended: frozenset[str]
    blocks: frozenset[str]


class Mark(NamedTuple):
    """Something that clingo must not see; a statement of dPASP's should blank it out."""

    kind: str
    start: int
    end: int


@dataclass(slots=True)
class Piece:
    """A statement's slice of the text, including its dot, and what was seen in it."""

    start: int
    end: int
    directive: str = ""  # its first word, if that has a '#'
    annotated: bool = False  # has a '::'
    data: bool = False  # has a '~'
    dotted: bool = True  # ends with its dot
    marks: tuple[Mark, ...] = ()  # reals, ellipses, large integers
    row: re.Match[str] | None = None  # set if it is a row of a table or a plain fact


@dataclass(slots=True)
class Split:
    """The statements of a text, its comments, and what cannot be read at all."""

    pieces: list[Piece] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    problems: list[Mark] = field(default_factory=list)

    def index_at(self, offset: int) -> int:
        """The index of the piece at an offset, or -1."""
        index = bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1
        return index if index >= 0 and offset < self.pieces[index].end else -1


def cut_statements(text: str, words: Words) -> Split:
    return _Splitter(text, words).run()


class _Splitter:
    """One pass over the text; ``piece`` is the current statement, if any."""

    def __init__(self, text: str, words: Words) -> None:
        self.text = text
        self.words = words
        self.result = Split()
        self.piece: Piece | None = None
        self.seen = 0  # everything before this offset is done

    def run(self) -> Split:
        at, text, search, row = 0, self.text, _COARSE.search, ROW.match
        while True:
            if self.piece is None and (match := row(text, self.seen)) and self._is_row(match):
                at = self.seen = match.end("dot")
                continue
            match = search(text, at)
            if match is None:
                if (piece := self._begin(len(text))) is None:
                    return self.result
                at = self._end(piece, self._trimmed(len(text)), dotted=False)
                continue
            kind, start, at = match.lastgroup, match.start(), match.end()
            if kind == "comment":
                self._begin(start)
                self.result.comments.append((start, at))
            elif kind == "block":
                at = self._block_comment(start)
            else:
                at = self._inside(kind, start, at)
            self.seen = max(self.seen, at)

    def _is_row(self, match: re.Match[str]) -> bool:
        """Whether a statement of this form is a row of a table, which is then a piece."""
        annotated = match["fact"] is None
        if annotated and "with" in match[0]:  # perhaps the options of a network
            return False
        start, end = match.start("heads" if annotated else "fact"), match.end("dot")
        self.result.pieces.append(Piece(start, end, annotated=annotated, row=match))
        return True

    def _begin(self, before: int) -> Piece | None:
        """The current piece, begun if there is text before ``before``."""
        if self.piece is None and self.seen < before:
            space = _SPACE.match(self.text, self.seen, before)
            assert space is not None  # it may be empty
            if space.end() < before:
                self.piece = Piece(space.end(), before)
        return self.piece

    def _end(self, piece: Piece, end: int, dotted: bool = True) -> int:
        """End a statement and return where to continue.

        If the dot may be missing, what follows on a new line may be another statement.
        """
        open_ended = piece.directive in self.words.open_ended
        if open_ended and (cut := _open_end(self.text, piece.start, end)):
            (end, self.seen), dotted = cut, False
            piece.marks = tuple(mark for mark in piece.marks if mark.start < end)
        else:
            self.seen = end if dotted else len(self.text)
        self._close(piece, end, dotted)
        return self.seen

    def _close(self, piece: Piece, end: int, dotted: bool) -> None:
        piece.end, piece.dotted = end, dotted
        self.result.pieces.append(piece)
        self.piece = None

    def _trimmed(self, end: int) -> int:
        """The end of a slice without trailing space and comments."""
        text, at = self.text, len(self.result.comments)
        while True:
            while end and text[end - 1] in _BLANK:
                end -= 1
            at -= 1
            if at < 0 or self.result.comments[at][1] != end:
                return end
            end = self.result.comments[at][0]

    def _inside(self, kind: str | None, start: int, end: int) -> int:
        """Handle a token that is not a comment; return where to continue."""
        if kind == "open" and self._begin(start) is None:
            return self._bracket(start)
        if kind == "directive":
            return self._directive(self.text[start:end], start, end)
        piece = self._begin(start)
        if piece is None:
            piece = self.piece = Piece(start, end)
        if kind == "dot":
            return self._dot(piece, start, end)
        if kind == "mark":
            piece.annotated = True
        elif kind == "tilde":
            piece.data = True
        if kind in ("decimal", "integer", "ellipsis", "tilde"):
            piece.marks += (Mark(kind, start, end),)
        return self._bad(piece, start, end) if kind == "bad" else end

    def _dot(self, piece: Piece, start: int, end: int) -> int:
        """A dot ends the statement or is part of a number."""
        number_ends = piece.annotated and _NUMBER_IF.match(self.text, start - 1) is not None
        if number_ends and _WITH.search(self.text, piece.start, start):
            return end  # in the last option of a network
        if number := _NO_DIGIT.match(self.text, start):
            before = self.text[piece.start : start].rstrip()[-1:]
            if before == "" or before in ";,|([:+-*/=":
                self.result.problems.append(Mark("leading-dot", start, number.end()))
                return number.end()
        return self._end(piece, end)

    def _block_comment(self, start: int) -> int:
        self._begin(start)
        end = comment_end(self.text, start)
        if end is None:
            self.result.problems.append(Mark("unclosed-comment", start, start + 2))
            end = len(self.text)
        self.result.comments.append((start, end))
        return end

    def _bad(self, piece: Piece, start: int, end: int) -> int:
        """Record an unreadable character or string."""
        problems, text = self.result.problems, self.text
        if text[start] != '"':
            problems.append(Mark("bad-character", start, end))
            return end
        if string := _LOOSE_STRING.match(text, start):
            if wrong := _BAD_IN_STRING.search(text, start, string.end()):
                code = "string-escape" if wrong.group()[0] == "\\" else "bad-character"
                problems.append(Mark(code, *wrong.span()))
            return string.end()
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        problems.append(Mark("unclosed-string", start, line_end))
        last = self._trimmed(line_end)
        if text[last - 1] == ".":  # probably meant to end the statement
            return self._end(piece, last)
        return line_end

    def _bracket(self, start: int) -> int:
        """A '[' after a statement: the start of a credal fact, or the tail of the statement."""
        pieces, close = self.result.pieces, self.text.find("]", start)
        if (
            close >= 0
            and pieces
            and _TAIL.match(self.text, pieces[-1].start)
            and not _INTERVAL.match(self.text, start)
        ):
            pieces[-1].end = close + 1
            if wrong := _UNREADABLE.search(self.text, start, close):
                self.result.problems.append(Mark("bad-character", *wrong.span()))
            return close + 1
        self.piece = Piece(start, start)
        return start + 1

    def _directive(self, word: str, start: int, end: int) -> int:
        piece = self._begin(start)
        # A directive inside a statement: the dot before it is missing.
        if piece is not None and word in self.words.begin and word not in INLINE:
            end_before = self._trimmed(start)
            if self.text[end_before - 1] not in ":,;|([{":
                self._close(piece, end_before, dotted=False)
                piece = None
        if piece is not None:
            return end
        self.piece = Piece(start, end, directive=word)
        if table := _NUMBERS.match(self.text, end):  # the numbers of a table, which may be many
            return table.end()
        if word in self.words.blocks:
            return self._script(self.piece, start, end)
        return end

    def _script(self, piece: Piece, start: int, end: int) -> int:
        match = _END.search(self.text, end)
        if match is None:
            self.result.problems.append(Mark("unclosed-block", start, end))
            self._close(piece, len(self.text), dotted=False)
            return len(self.text)
        if not match[1]:
            at = self.text.index("#end", match.start())
            self.result.problems.append(Mark("end-dot", at, at + len("#end")))
        for wrong in _BAD_ANYWHERE.finditer(self.text, start, match.end()):
            self.result.problems.append(Mark("bad-character", *wrong.span()))
        self._close(piece, match.end(), dotted=True)
        return match.end()


INFIX = frozenset("and or xor is mod rem if when where given".split())  # of other languages
KEYWORDS = frozenset({"not", "undef", "as", "on", "at", "with"})


def can_end(token: Token) -> bool:
    if token.kind in ("number", "string", "variable", "call"):
        return True
    named = token.kind == "name" and token.text not in KEYWORDS
    return named or token.text in CLOSING or token.text in ("?", "#true", "#false")


def can_begin(token: Token) -> bool:
    if token.kind in ("name", "number", "variable", "directive"):
        return token.text not in INFIX
    return token.text in ("?", "!", "-", "[", "{", ":-", ":~")


def _open_end(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where a statement without a dot ends and the next one begins, if it does."""
    depth, last = 0, None
    if text.find("\n", start, end) < 0:
        return None
    for token in tokens(text, start, end):
        if (
            last is not None
            and depth == 0
            and ((can_end(last) and last.kind != "call") or last.text == "#mpe")
            and can_begin(token)
            and "\n" in text[last.end : token.start]
        ):
            return last.end, token.start
        depth += (token.text in OPENING) - (token.text in CLOSING)
        last = token
    return None
