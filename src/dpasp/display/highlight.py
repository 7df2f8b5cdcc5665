"""A program's text with its words in colours, as HTML.

>>> highlighted("a :- b. % why")
'a <span style="color:#8a63d2">:-</span> b. <span style="color:#808890">% why</span>'
"""

from __future__ import annotations

from dpasp.language.text.lexer import tokens
from dpasp.shown import markup

# Readable on white and on black.
COLOURS = {
    "comment": "#808890",
    "directive": "#c2478f",
    "keyword": "#8a63d2",
    "number": "#1a86c7",
    "string": "#3f9142",
    "variable": "#c06a1b",
    "call": "#c2478f",
}
KEYWORDS = frozenset((":-", "::", "not", "undef", "~"))


def highlighted(text: str) -> str:
    """The text as HTML, unchanged but for the colours."""
    parts: list[str] = []
    at = 0
    for token in tokens(text, 0, len(text)):
        parts.append(_between(text[at : token.start]))
        kind = "keyword" if token.text in KEYWORDS else token.kind
        parts.append(_coloured(token.text, kind))
        at = token.end
    parts.append(_between(text[at:]))
    return "".join(parts)


def _between(text: str) -> str:
    """Space and comments: what is not space is comment."""
    if not text.strip():
        return text
    inner = text.strip()
    start = text.index(inner)
    return text[:start] + _coloured(inner, "comment") + text[start + len(inner) :]


def _coloured(text: str, kind: str) -> str:
    shown = markup(text, quote=False)
    return f'<span style="color:{COLOURS[kind]}">{shown}</span>' if kind in COLOURS else shown
