"""Text → tokens, and the words that the language knows.

>>> [token.text for token in tokens("0.3::b(X) % half", 0, 16)]
['0.3', '::', 'b', '(', 'X', ')']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# A dot is part of a number also in 'lr = 1., niters = 5', '1.::a' and '[0., 1.]::a'. Before
# ':-' it is when an option of a network ends there (the pieces of a text are cut that way).
DECIMAL = r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+\.(?=\s*[,)\]]|::|\?)"
# Nothing is tried twice ('+' after a repetition): a long string would take gigabytes.
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

RESERVED = "_dpasp_"  # how names begin that only we may use
# clingo's words with '#' that begin a statement, and those that stand inside one.
CLINGO_DIRECTIVES = frozenset(
    "#const #show #external #defined #program #project #heuristic #edge #theory"
    " #minimize #maximize #minimise #maximise".split()
)
INLINE = frozenset("#true #false #inf #infimum #sup #supremum #count #sum #min #max #end".split())


class Token(NamedTuple):
    """A token: its kind (string, number, name, variable, call, directive, symbol) and slice."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a slice, comments and space left out."""
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
    """Where the block comment that begins at ``start`` ends (they nest); None if it does not."""
    depth, at, end = 0, start, len(text) if end is None else end
    while match := _BLOCK.search(text, at, end):
        at = match.end()
        depth += 1 if match.group() == "%*" else -1
        if depth == 0:
            return at
    return None
