"""Why a statement cannot be read: its brackets, its dots, its neighbours, known mistakes.

The parsers say *where* they got stuck; what is wrong is often elsewhere, such as a dot
that is missing on the line before. These functions look at the whole statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.mistakes.habits import FOREIGN_COMMENT, known_mistake
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.brackets import CLOSING, OPENING, unbalanced
from dpasp.language.text.lexer import INLINE, Token, tokens
from dpasp.language.text.pieces import Piece
from dpasp.language.text.source import SourceFile

_INFIX = frozenset("and or xor is mod rem if when where given".split())  # of other languages
_KEYWORDS = frozenset({"not", "undef", "as", "on", "at", "with"})
_SEPARATORS = frozenset({",", ";", "|", ":-", ":", "::", ".", "(", "[", "{", "not", ""})
_EXPECTING = re.compile(r"(?:syntax|lexer) error, unexpected .*?(?:, expecting (.*))?$", re.DOTALL)


def diagnose(file: SourceFile, piece: Piece, at: int) -> Diagnostic | None:
    """What is wrong with a statement that got stuck at an offset; None if that is not clear."""
    written = list(tokens(file.text, piece.start, piece.end))
    if not written:
        return None
    index = next((i for i, token in enumerate(written) if token.end > at), len(written))
    return (
        _foreign_comment(file, piece)
        or _first_word(file, written, index)
        or _unknown_word(file, written, index)
        or unbalanced(file, written)
        or _missing_dot(file, written, index)
        or _annotation(file, written, index)
        or known_mistake(file, written, at)
        or _second_rule(file, written, index)
        or _no_atom(file, written, index)
        or _neighbours(file, written, index)
    )


def structural(file: SourceFile, piece: Piece, at: int) -> Diagnostic | None:
    """What is wrong with the shape of a statement: its brackets, or a dot that is missing."""
    written = list(tokens(file.text, piece.start, piece.end))
    index = next((i for i, token in enumerate(written) if token.end > at), len(written))
    return (
        _foreign_comment(file, piece)
        or _first_word(file, written, index)
        or unbalanced(file, written)
        or _missing_dot(file, written, index)
    )


def missing_end(file: SourceFile, piece: Piece) -> Diagnostic:
    """A statement that is not ended when something else begins, or the text ends."""
    last = list(tokens(file.text, piece.start, piece.end))[-1]
    if last.text == "..":
        span = file.span(last.start, last.end)
        return Diagnostic("missing-dot", "two dots at the end", span, "end it with one dot")
    return missing_dot(file, last)


def unexpected(file: SourceFile, start: int, end: int, what: str) -> Diagnostic:
    """What can be said when nothing better is known: what clingo did not expect."""
    seen = file.text[start:end].strip()
    match = _EXPECTING.match(what)
    message = f"unexpected '{seen}'" if seen else "this cannot be read"
    if what.startswith("lexer") and seen:
        message = f"'{seen}' has no meaning here"
        return Diagnostic("syntax", message, file.span(start, end), "remove it")
    help = "compare it with the examples in the language guide"
    if match and match[1]:
        help = f"expected {_words(match[1])} here"
    return Diagnostic("syntax", message, file.span(start, end), help)


def _words(expecting: str) -> str:
    """clingo's list of tokens, in words.

    >>> _words('<IDENTIFIER> or "," or )')
    "a name, ',' or ')'"
    """
    names = {"<IDENTIFIER>": "a name", "<NUMBER>": "a number", "<VARIABLE>": "a variable"}
    parts = [part.strip().strip('"') for part in expecting.split(" or ")]
    shown = [names.get(part, f"'{part}'") for part in parts]
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _foreign_comment(file: SourceFile, piece: Piece) -> Diagnostic | None:
    match = FOREIGN_COMMENT.match(file.text, piece.start)
    if match is None:
        return None
    message = f"'{match.group().strip()}' does not begin a comment"
    help = "write '%' before a comment, or %* … *% around it"
    return Diagnostic("comment", message, file.span(*match.span()), help)


def _first_word(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """A statement that begins with what cannot begin one, or with a directive without '#'."""
    first = written[0]
    span = file.span(first.start, first.end)
    if first.text in (".", ",", ";", "|"):
        message = f"a statement cannot begin with '{first.text}'"
        help = "remove it" if first.text == "." else "is the dot before it one too many?"
        return Diagnostic("missing-part", message, span, help)
    word = f"#{first.text}"
    if index == 1 and written[1:] and first.kind == "name" and word in starting_words().begin:
        message = f"a directive begins with '#'; {first.text} is a name"
        return Diagnostic("unknown-directive", message, span, f"write {word}")
    return None


def _annotation(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """A probability where there can be none, or a network without its '?::'."""
    texts = [token.text for token in written]
    for at in (index, index + 1):
        if texts[at : at + 1] == ["::"]:
            return Diagnostic(
                "annotation-body",
                "only the head of a rule can have a probability",
                file.span(written[at].start, written[at].end),
                "make it a statement of its own, '0.3::a.', and write the atom alone here",
            )
    if "::" not in texts and any(
        token.text == "as" and after.kind == "call" for token, after in pairwise(written)
    ):
        message = "a neural head has '?::' (learnable) or '!::' (frozen) before it"
        span = file.span(written[0].start, written[0].end)
        return Diagnostic("neural-annotation", message, span, f"write ?::{written[0].text}")
    return None


def _unknown_word(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """An unknown word with '#', where the statement got stuck."""
    token = written[min(index, len(written) - 1)]
    if token.kind != "directive" or token.text in INLINE | starting_words().begin:
        return None
    help = nearest(token.text, INLINE - {"#end"}) or f"known here are {', '.join(sorted(INLINE))}"
    span = file.span(token.start, token.end)
    return Diagnostic("unknown-directive", f"unknown word {token.text}", span, help)


def can_end(token: Token) -> bool:
    """Whether a statement can end after a token."""
    if token.kind in ("number", "string", "variable", "call"):
        return True
    named = token.kind == "name" and token.text not in _KEYWORDS
    return named or token.text in CLOSING or token.text in ("?", "#true", "#false")


def can_begin(token: Token) -> bool:
    """Whether a statement can begin with a token."""
    if token.kind in ("name", "number", "variable", "directive"):
        return token.text not in _INFIX
    return token.text in ("?", "!", "-", "[", "{", ":-", ":~")


def missing_dot(file: SourceFile, last: Token) -> Diagnostic:
    """A statement that ends after a token, without its dot."""
    shown = last.text if len(last.text) <= 20 else f"…{last.text[-19:]}"
    if last.kind == "number" and file.text[last.end : last.end + 1] == "%":
        span = file.span(last.end, last.end + 1)
        message = "'%' begins a comment, so the rest of this line is not read"
        return Diagnostic("comment", message, span, "write a probability as a number, 0.3::a")
    if last.text == "?":
        span = file.span(last.start, last.end)
        return Diagnostic("missing-dot", "a statement ends with a dot", span, "write '.' here")
    message = f"the dot at the end of this statement is missing, after '{shown}'"
    return Diagnostic("missing-dot", message, file.span(last.end, last.end), f"write '{shown}.'")


def _missing_dot(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """A statement that goes on, on a new line, with what looks like another one."""
    for at in range(1, min(index + 1, len(written))):
        last, token = written[at - 1], written[at]
        # Before the place of the error, '-', '{' and the like may well continue a statement.
        begins = can_begin(token) if at == index else token.kind in ("name", "number", "directive")
        between = file.text[last.end : token.start]
        if "\n" in between and begins and can_end(last) and token.text not in _KEYWORDS | _INFIX:
            return missing_dot(file, last)
    return None


def _second_rule(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """A second ':-': the statement before it was ended by a comma, or not at all."""
    if index >= len(written) or written[index].text != ":-":
        return None
    if not any(token.text == ":-" for token in written[:index]):
        return None
    start = index - 1
    depth = 0
    while start > 0:  # back to the beginning of the head of the second rule
        text = written[start].text
        depth += (text in CLOSING) - (text in OPENING)
        if depth == 0 and written[start - 1].text in _SEPARATORS:
            break
        start -= 1
    before, head = written[start - 1], written[start]
    if start > 0 and before.text in (",", ";") and "\n" in file.text[before.end : head.start]:
        span = file.span(before.start, before.end)
        message = f"this '{before.text}' continues the rule, but another one follows"
        return Diagnostic("missing-dot", message, span, "end the rule with '.' here")
    span = file.span(written[index].start, written[index].end)
    message = "a second ':-' in one statement"
    return Diagnostic("second-rule", message, span, "end the rule before with a dot")


def _no_atom(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """A variable, number or string where an atom belongs: ``wet :- Rain.``"""
    for at in (index - 1, index):
        if not 0 <= at < len(written) - 1 or _depth(written[:at]) > 0:
            continue
        token, after = written[at], written[at + 1]
        before = written[at - 1] if at else None
        if before and before.kind != "directive" and before.text not in _SEPARATORS:
            continue
        span = file.span(token.start, token.end)
        if after.text == "(" and token.kind == "number":
            message = f"{token.text} is a number, not the name of a predicate"
            help = f"begin the name with a letter in lower case: p{token.text}(…)"
            return Diagnostic("no-atom", message, span, help)
        ends = after.text in (".", ",", ";", ":-", "|", "}", ":")
        if ends and (problem := _not_an_atom(token, span)):
            return problem
    return None


def _depth(written: Sequence[Token]) -> int:
    """How many brackets (but braces, which hold atoms) are open after the tokens."""
    return sum((t.text in ("(", "[")) - (t.text in (")", "]")) for t in written)


def _not_an_atom(token: Token, span: Span) -> Diagnostic | None:
    if token.kind == "variable" and token.text.strip("_'"):
        lower = token.text[:1].lower() + token.text[1:]
        message = f"{token.text} is a variable, and an atom belongs here"
        return Diagnostic("no-atom", message, span, f"write {lower}: names begin in lower case")
    if token.kind == "number" and "." in token.text:
        message = f"{token.text} is a number, and an atom belongs here"
        help = f"write {token.text}::a for an atom that has this probability"
        return Diagnostic("no-atom", message, span, help)
    if token.kind in ("number", "string"):
        message = f"{token.text} is not an atom"
        help = "write an atom such as a or p(X), or a comparison such as X = 1"
        return Diagnostic("no-atom", message, span, help)
    return None


def _neighbours(file: SourceFile, written: Sequence[Token], index: int) -> Diagnostic | None:
    """Two things with nothing between them, or a separator with nothing after it."""
    if not 0 < index < len(written):
        return None
    last, token = written[index - 1], written[index]
    span = file.span(token.start, token.end)
    if can_end(last) and token.kind in ("name", "number", "variable", "string", "call"):
        message = f"something is missing between '{last.text}' and '{token.text}'"
        help = f"write ',' to join them, or '.' to end a statement before '{token.text}'"
        return Diagnostic("missing-separator", message, span, help)
    if last.text in _SEPARATORS - {"."} and token.text in _SEPARATORS - OPENING | CLOSING:
        message = f"something is missing between '{last.text}' and '{token.text}'"
        help = f"write what belongs there, or remove the '{last.text}'"
        if last.text in OPENING:
            help = f"write what belongs there, or remove the '{token.text}'"
        return Diagnostic("missing-part", message, span, help)
    return None
