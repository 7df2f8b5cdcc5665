"""Tokens, brackets, and a cursor over the tokens of a statement.

>>> [token.text for token in tokens("0.3::b(X) % half", 0, 16)]
['0.3', '::', 'b', '(', 'X', ')']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.source import SourceFile

# A dot also ends a number in 'lr = 1., niters = 5', '1.::a' and '[0., 1.]::a'; before ':-' only
# in an option of a network (see pieces.py).
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


def unbalanced(file: SourceFile, written: Sequence[Token]) -> Diagnostic | None:
    """The first bracket without a partner, or with the wrong one."""
    stack: list[Token] = []
    for token in written:
        if token.kind != "symbol":
            continue
        if token.text in OPENING:
            stack.append(token)
        elif token.text in CLOSING:
            if not stack:
                span = file.span(token.start, token.end)
                message = f"'{token.text}' closes nothing"
                return Diagnostic("unbalanced", message, span, "remove it, or open it before")
            opened = stack.pop()
            if (wanted := _PAIRS[opened.text]) != token.text:
                span = file.span(token.start, token.end)
                message = f"'{opened.text}' is closed by '{token.text}'"
                return Diagnostic("unbalanced", message, span, f"write '{wanted}' here")
    if not stack:
        return None
    opened = stack[-1]
    span, wanted = file.span(opened.start, opened.end), _PAIRS[opened.text]
    return Diagnostic("unbalanced", f"'{opened.text}' is never closed", span, f"add '{wanted}'")


# --- a statement token by token -----------------------------------------------------------------


class Cursor:
    """A position among the tokens of a slice of a file."""

    def __init__(
        self, file: SourceFile, start: int, end: int, among: list[Token] | None = None
    ) -> None:
        self.file = file
        self.tokens = list(tokens(file.text, start, end)) if among is None else among
        self.start, self.end = start, end
        self.index = 0

    def at_end(self) -> bool:
        """Whether all tokens are consumed."""
        return self.index >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token:
        """The next token; after the last one, an empty token."""
        index = self.index + ahead
        if 0 <= index < len(self.tokens):
            return self.tokens[index]
        at = self.tokens[-1].end if self.tokens else self.start
        return Token("end", "", at, at)

    def next(self) -> Token:
        """Consume the next token."""
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

    @staticmethod
    def before(token: Token) -> str:
        """Where an unexpected token is, for messages."""
        return f"before '{token.text}'" if token.text else "at the end of the statement"

    def skip_group(self) -> Token:
        """Consume a token, or a whole bracketed group; return its last token."""
        token = self.next()
        depth = 1 if token.text in OPENING else 0
        while depth:
            if self.at_end():
                message = f"'{token.text}' is never closed"
                self.fail("unbalanced", message, token, "close the bracket")
            last = self.next()
            depth += (last.text in OPENING) - (last.text in CLOSING)
            if not depth:
                return last
        return token

    def fail(
        self, code: str, message: str, where: Token | tuple[int, int], help: str = ""
    ) -> NoReturn:
        """Refuse the statement, pointing at a token or a slice."""
        start, end = (where.start, where.end) if isinstance(where, Token) else where
        raise Refused(Diagnostic(code, message, self.file.span(start, end), help), start)

    def refuse(self, code: str, message: str, where: tuple[int, int], help: str) -> NoReturn:
        """Refuse the statement for a reason that no other mistake can explain."""
        raise Refused(Diagnostic(code, message, self.file.span(*where), help), None)


class Refused(ProgramError):
    """A statement that cannot be read, with the offset at which that was noticed.

    Without an offset the reason is certain; otherwise it may be a consequence of another mistake.
    """

    def __init__(self, problem: Diagnostic, offset: int | None) -> None:
        super().__init__(problem)
        self.offset = offset
