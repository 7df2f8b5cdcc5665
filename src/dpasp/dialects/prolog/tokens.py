"""Prolog's words: names, variables, numbers, texts, operators; and its comments.

>>> [token.text for token in tokens("0.3::a(X) :- X =< 2. % yes")]
['0.3', '::', 'a', '(', 'X', ')', ':-', 'X', '=<', '2', '.', '% yes']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from dpasp.dataclass import dataclass

TokenKind = Literal[
    "comment", "end", "variable", "name", "quoted", "text", "number", "sign", "unknown"
]

# Operators: how tightly each binds (1200 the least), and on which side it may be nested.
INFIX: dict[str, tuple[int, str]] = {
    **dict.fromkeys((":-", "<-", "-->"), (1200, "xfx")),
    **dict.fromkeys((";", "|"), (1100, "xfy")),
    "->": (1050, "xfy"),
    ",": (1000, "xfy"),
    **dict.fromkeys(("::", "~"), (1000, "xfx")),
    **dict.fromkeys(
        "= \\= == \\== =@= \\=@= is as =.. < > =< >= =:= =\\= @< @> @=< @>= => <= != <>".split(),
        (700, "xfx"),
    ),
    ":": (600, "xfy"),
    **dict.fromkeys(("+", "-", "/\\", "\\/", "xor"), (500, "yfx")),
    **dict.fromkeys(("*", "/", "//", "mod", "rem", "div", "rdiv", "<<", ">>"), (400, "yfx")),
    "**": (200, "xfx"),
    "^": (200, "xfy"),
}
PREFIX_OPERATORS: dict[str, tuple[int, str]] = {
    **dict.fromkeys((":-", "?-"), (1200, "fx")),
    **dict.fromkeys(("table", "dynamic", "discontiguous", "initialization"), (1150, "fx")),
    **dict.fromkeys(("\\+", "not"), (900, "fy")),
    **dict.fromkeys(("-", "+", "\\"), (200, "fy")),
}

_SIGNS = sorted(
    (sign for sign in {*INFIX, *PREFIX_OPERATORS, *"()[]{}!?.#@$&"} if not sign.isalpha()),
    key=len,
    reverse=True,
)
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<comment>%[^\n]*|/\*.*?\*/|\A\#![^\n]*)",
            r"(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w))",
            r"(?P<variable>(?:_|[^\W\d_a-z])\w*)",
            r"(?P<name>[^\W\d_]\w*)",
            r"(?P<quoted>'(?:[^'\\]++|\\.|'')*+')",
            r'(?P<text>"(?:[^"\\]++|\\.|"")*+")',
            r"(?P<end>\.(?=\s|%|\Z))",
            f"(?P<sign>{'|'.join(map(re.escape, _SIGNS))})",
            r"(?P<space>\s+)",
            r"(?P<unknown>.)",
        )
    ),
    re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word and where it stands; ``open`` when a parenthesis follows at once."""

    kind: TokenKind
    text: str
    start: int
    end: int
    open: bool = False

    @property
    def name(self) -> str | None:
        """What it is called as a name or an operator; None if it is neither."""
        if self.kind == "quoted":
            return unquoted(self.text)
        return self.text if self.kind in ("name", "sign") else None


def tokens(text: str) -> Iterator[Token]:
    """The words of a text, comments among them."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "variable" and match[0][0].isalpha() and not match[0][0].isupper():
            kind = "name"  # a small letter from another alphabet
        if kind != "space":
            opens = text[match.end() : match.end() + 1] == "("
            yield Token(kind, match[0], match.start(), match.end(), opens)  # type: ignore[arg-type]


def unquoted(text: str) -> str:
    """What stands between quotes, with its escapes read."""
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    known = {"n": "\n", "t": "\t", "\n": ""}
    return re.sub(r"\\(.)", lambda m: known.get(m[1], m[1]), inner, flags=re.S)
