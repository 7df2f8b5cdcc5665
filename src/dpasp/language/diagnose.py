"""Find out why a statement cannot be read: brackets, dots, neighbours, common mistakes.

Parsers say *where* they failed; what is wrong is often elsewhere, such as a missing dot on the line
before. These functions look at the whole statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dpasp.errors import Diagnostic, nearest
from dpasp.language.statements.statement import starting_words
from dpasp.language.text import Cursor, Piece, SourceFile, Token
from dpasp.language.text.lexer import (
    CLOSING,
    INFIX,
    INLINE,
    KEYWORDS,
    OPENING,
    can_begin,
    can_end,
    tokens,
    unbalanced,
)
from dpasp.language.tuning import TUNING

_SEPARATORS = frozenset({",", ";", "|", ":-", ":", "::", ".", "(", "[", "{", "not", ""})
_EXPECTING = re.compile(r"(?:syntax|lexer) error, unexpected .*?(?:, expecting (.*))?$", re.DOTALL)
# How comments begin in other languages, looked for at the start of a statement.
FOREIGN_COMMENT = re.compile(r"//|/\*|--|#(?![A-Za-z_!])|<!--")
# Only text near the error is searched: a search of n characters may take n² steps.
UNKNOWN = "\0"  # a masked character


def diagnose(
    file: SourceFile, piece: Piece, at: int, shape_only: bool = False
) -> Diagnostic | None:
    """What is wrong with a statement in which parsing failed at an offset; None if unclear.

    With ``shape_only``, look only at its brackets and for a missing dot.
    """
    cursor = Cursor(file, piece.start, piece.end)
    if not cursor.tokens:
        return None
    while not cursor.at_end() and cursor.peek().end <= at:
        cursor.next()
    shape = (
        _foreign_comment(cursor)
        or _first_word(cursor)
        or (None if shape_only else _unknown_word(cursor))
        or unbalanced(cursor)
        or _missing_dot(cursor)
    )
    if shape or shape_only:
        return shape
    return (
        _annotation(cursor)
        or known_mistake(cursor, at)
        or _second_rule(cursor)
        or _no_atom(cursor)
        or _neighbours(cursor)
    )


def missing_end(file: SourceFile, piece: Piece) -> Diagnostic:
    """A statement without a dot before the next one or the end of the text."""
    last = list(tokens(file.text, piece.start, piece.end))[-1]
    if last.text == "..":
        return file.problem("missing-dot", "two dots at the end", last, "end it with one dot")
    return _no_dot_after(file, last)


def unexpected(file: SourceFile, start: int, end: int, what: str) -> Diagnostic:
    """The fallback: what clingo did not expect."""
    seen, where = file.text[start:end].strip(), (start, end)
    if what.startswith("lexer") and seen:
        return file.problem("syntax", f"'{seen}' has no meaning here", where, "remove it")
    match = _EXPECTING.match(what)
    message = f"unexpected '{seen}'" if seen else "this cannot be read"
    help = "compare it with the examples in the language guide"
    if match and match[1]:
        help = f"expected {_words(match[1])} here"
    return file.problem("syntax", message, where, help)


def _words(expecting: str) -> str:
    """clingo's list of expected tokens in words.

    >>> _words('<IDENTIFIER> or "," or )')
    "a name, ',' or ')'"
    """
    names = {"<IDENTIFIER>": "a name", "<NUMBER>": "a number", "<VARIABLE>": "a variable"}
    parts = [part.strip().strip('"') for part in expecting.split(" or ")]
    shown = [names.get(part, f"'{part}'") for part in parts]
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _foreign_comment(cursor: Cursor) -> Diagnostic | None:
    match = FOREIGN_COMMENT.match(cursor.file.text, cursor.start)
    if match is None:
        return None
    message = f"'{match.group().strip()}' does not begin a comment"
    help = "write '%' before a comment, or %* … *% around it"
    return cursor.file.problem("comment", message, match.span(), help)


def _first_word(cursor: Cursor) -> Diagnostic | None:
    """A statement that begins with a separator, or with a directive without '#'."""
    first, word = cursor.tokens[0], f"#{cursor.tokens[0].text}"
    if first.text in (".", ",", ";", "|"):
        message = f"a statement cannot begin with '{first.text}'"
        help = "remove it" if first.text == "." else "is there one dot too many before it?"
        return cursor.file.problem("missing-part", message, first, help)
    named = first.kind == "name" and word in starting_words().begin
    if cursor.index == 1 < len(cursor.tokens) and named:
        message = f"a directive begins with '#'; {first.text} is a name"
        return cursor.file.problem("unknown-directive", message, first, f"write {word}")
    return None


def _annotation(cursor: Cursor) -> Diagnostic | None:
    """A probability in the wrong place, or a network without its '?::'."""
    for token in (cursor.peek(), cursor.peek(1)):
        if token.text == "::":
            message = "only the head of a rule can have a probability"
            help = "make it a statement of its own, '0.3::a.', and write the atom alone here"
            return cursor.file.problem("annotation-body", message, token, help)
    written = cursor.tokens
    named = any(a.text == "as" and b.kind == "call" for a, b in pairwise(written))
    if named and all(token.text != "::" for token in written):
        message = "a neural head has '?::' (learnable) or '!::' (frozen) before it"
        help = f"write ?::{written[0].text}"
        return cursor.file.problem("neural-annotation", message, written[0], help)
    return None


def _unknown_word(cursor: Cursor) -> Diagnostic | None:
    token = cursor.tokens[min(cursor.index, len(cursor.tokens) - 1)]
    if token.kind != "directive" or token.text in INLINE | starting_words().begin:
        return None
    help = nearest(token.text, INLINE - {"#end"}) or f"known here are {', '.join(sorted(INLINE))}"
    return cursor.file.problem("unknown-directive", f"unknown word {token.text}", token, help)


def _no_dot_after(file: SourceFile, last: Token) -> Diagnostic:
    shown = last.text if len(last.text) <= 20 else f"…{last.text[-19:]}"
    if last.kind == "number" and file.text[last.end : last.end + 1] == "%":
        message = "'%' begins a comment, so the rest of this line is not read"
        help = "write a probability as a number, 0.3::a"
        return file.problem("comment", message, (last.end, last.end + 1), help)
    if last.text == "?":
        return file.problem("missing-dot", "a statement ends with a dot", last, "write '.' here")
    if last.text in (":-", ",", ";", "|", ":", "::"):
        message = f"this statement ends with '{shown}', after which something is missing"
        return file.problem("missing-part", message, last, "write what belongs there, and a dot")
    message = f"the dot at the end of this statement is missing, after '{shown}'"
    return file.problem("missing-dot", message, (last.end, last.end), f"write '{shown}.'")


def _missing_dot(cursor: Cursor) -> Diagnostic | None:
    """A statement that continues on a new line with what looks like another one."""
    for at, (last, token) in enumerate(pairwise(cursor.tokens[: cursor.index + 1]), 1):
        # Before the error, '-', '{' and the like may well continue a statement.
        early = token.kind in ("name", "number", "directive")
        begins = can_begin(token) if at == cursor.index else early
        between = cursor.file.text[last.end : token.start]
        if "\n" in between and begins and can_end(last) and token.text not in KEYWORDS | INFIX:
            return _no_dot_after(cursor.file, last)
    return None


def _second_rule(cursor: Cursor) -> Diagnostic | None:
    """A second ':-': the rule before it ended with a comma or without a dot."""
    written, start = cursor.tokens, cursor.index - 1
    if cursor.peek().text != ":-" or all(t.text != ":-" for t in written[: cursor.index]):
        return None
    depth = 0
    while start > 0:  # back to the start of the second rule's head
        text = written[start].text
        depth += (text in CLOSING) - (text in OPENING)
        if depth == 0 and written[start - 1].text in _SEPARATORS:
            break
        start -= 1
    before, head = written[start - 1], written[start]
    between = cursor.file.text[before.end : head.start]
    if start > 0 and before.text in (",", ";") and "\n" in between:
        message = f"this '{before.text}' continues the rule, but another one follows"
        return cursor.file.problem("missing-dot", message, before, "end the rule with '.' here")
    message, help = "a second ':-' in one statement", "end the rule before with a dot"
    return cursor.file.problem("second-rule", message, cursor.peek(), help)


def _no_atom(cursor: Cursor) -> Diagnostic | None:
    """A variable, number or string where an atom belongs: ``wet :- Rain.``"""
    written = cursor.tokens
    for at in (cursor.index - 1, cursor.index):
        depth = sum((t.text in ("(", "[")) - (t.text in (")", "]")) for t in written[: max(at, 0)])
        if not 0 <= at < len(written) - 1 or depth > 0:
            continue
        token, after = written[at], written[at + 1]
        before = written[at - 1] if at else None
        if before and before.kind != "directive" and before.text not in _SEPARATORS:
            continue
        message = help = ""
        if after.text == "(" and token.kind == "number":
            message = f"{token.text} is a number, not the name of a predicate"
            help = f"begin the name with a letter in lower case: p{token.text}(…)"
        elif after.text in (".", ",", ";", ":-", "|", "}", ":"):
            message, help = _not_an_atom(token)
        if message:
            return cursor.file.problem("no-atom", message, token, help)
    return None


def _not_an_atom(token: Token) -> tuple[str, str]:
    """Why a token is not an atom, and what to write; empty if it may be one."""
    if token.kind == "variable" and token.text.strip("_'"):
        lower = token.text[:1].lower() + token.text[1:]
        message = f"{token.text} is a variable, but an atom belongs here"
        return message, f"write {lower}: names begin in lower case"
    if token.kind == "number" and "." in token.text:
        message = f"{token.text} is a number, but an atom belongs here"
        return message, f"write {token.text}::a for an atom that has this probability"
    if token.kind in ("number", "string"):
        help = "write an atom such as a or p(X), or a comparison such as X = 1"
        return f"{token.text} is not an atom", help
    return "", ""


def _neighbours(cursor: Cursor) -> Diagnostic | None:
    """Two operands without a separator, or two separators without an operand."""
    if cursor.index == 0 or cursor.at_end():
        return None
    last, token = cursor.peek(-1), cursor.peek()
    message = f"something is missing between '{last.text}' and '{token.text}'"
    if can_end(last) and token.kind in ("name", "number", "variable", "string", "call"):
        help = f"write ',' to join them, or '.' to end a statement before '{token.text}'"
        return cursor.file.problem("missing-separator", message, token, help)
    if last.text in _SEPARATORS - {"."} and token.text in _SEPARATORS - OPENING | CLOSING:
        needless = token if last.text in OPENING else last
        help = f"write what belongs there, or remove the '{needless.text}'"
        return cursor.file.problem("missing-part", message, token, help)
    return None


# --- common mistakes ----------------------------------------------------------------------------


class Mistake(NamedTuple):
    """A pattern that covers the place of an error, and what it means.

    In message and help ``{0}`` is the first group of the pattern, ``{lower}`` the same with its
    first letter in lower case, ``{under}`` with '_' for '-'.
    """

    pattern: str
    code: str
    message: str
    help: str


# Tried in order; the pattern must cover the error. {0}, {lower}, {under}: see Mistake.
# fmt: off
MISTAKES = (
    Mistake(r"#utility\s+(-?[a-z]\w*(?:\([^()]*\))?)\s*:\s*(\d+(?:\.\d+)?)", "utility-syntax",
            "the number comes before the ':'", "write #utility {1} : {0}."),
    Mistake(r"#factor\s+(-?[a-z]\w*(?:\([^()]*\))?)\s*:\s*(\d+(?:\.\d+)?)", "factor-syntax",
            "the number comes before the ':'", "write #factor {1} : {0}."),
    Mistake(r"\A(\[\s*\d[\d.]*\s*,\s*\d[\d.]*\s*\])\s*:(?!:)", "single-colon",
            "an interval of probabilities is followed by two colons", "write {0}::a"),
    Mistake(r"(?<![\w.:])(\d+(?:\.\d+)?|\?)\s*:(?![:~-])", "single-colon",
            "a probability is followed by two colons", "write {0}::a"),
    Mistake(r"(?<![\w.:])([a-z]\w*(?:\([^()]*\))?)\s*:\s*(\d+\.\d+)", "probability-last",
            "the probability comes before the atom", "write {1}::{0}"),
    Mistake(r"(?<![\w.])0+([1-9]\d*|0)", "leading-zero",
            "an integer has no leading zeros", "write {0}"),
    Mistake(r"\\\+", "prolog-not", "'\\+' is Prolog's negation", "write 'not'"),
    Mistake(r"(-?[\w']+(?:\([^()]*\))?)\s*(?P<here>=<)\s*(-?[\w']+)", "prolog-less",
            "'=<' is Prolog's comparison", "write {0} <= {2}"),
    Mistake(r"=<", "prolog-less", "'=<' is Prolog's comparison", "write '<='"),
    Mistake(r":-(?:[^\"]|\"[^\"]*\")*?(-?[\w']+(?:\([^()]*\))?)\s*(?P<here>=>)\s*(-?[\w']+)",
            "arrow-comparison", "'=>' compares nothing",
            "write {0} >= {2}"),
    Mistake(r"#\w+\s*\{[^{}]*\}\s*(?P<here>=>)", "arrow-comparison",
            "'=>' compares nothing", "write '>='"),
    Mistake(r"=\\=|\\==?", "prolog-unequal", "this comparison is Prolog's", "write '!='"),
    Mistake(r"=:=|===?", "prolog-equal", "this comparison is another language's", "write '='"),
    Mistake(r"([A-Z]\w*)\s+is\b", "prolog-is",
            "'is' is Prolog's", "write '{0} = …', with '=' in place of 'is'"),
    Mistake(r"\b(mod|rem)\b", "prolog-mod", "'{0}' is Prolog's", "write X \\ 2 for X modulo 2"),
    Mistake(r"(?:,|:-)\s*(?P<here>!)\s*(?=[.,;])", "prolog-cut",
            "there is no cut", "leave it out: the order of rules and conditions has no meaning"),
    Mistake(r"\?-", "prolog-query", "'?-' is Prolog's query", "write #query a."),
    Mistake(r"(?:,|;|:-)\s*(?P<here>\([^()]*(?:\([^()]*\)[^()]*)*\))", "body-group",
            "conditions are not grouped by parentheses",
            "write one rule for each case, or define an atom for the group"),
    Mistake(r"\A\?\s*([a-z]\w*)", "single-colon", "'?' is followed by '::'", "write ?::{0}"),
    Mistake(r"\[[^\[\]]*\]?", "list",
            "there are no lists", "write one fact for each element, or a tuple (1,2,3)"),
    Mistake(r"<[-=]+|←", "arrow", "a rule is not written with an arrow", "write 'head :- body.'"),
    Mistake(r"[-=]+>", "arrow",
            "a rule is not written with an arrow",
            "write it the other way round, 'head :- body.'"),
    Mistake(r"\A(-?[a-z]\w*(?:\([^()]*\))?)\s*(?P<here>:=)", "assignment",
            "a rule is not written with ':='", "write {0} :- b., with ':-'"),
    Mistake(r":=", "assignment", "there are no assignments", "write '='"),
    Mistake(r"!\s*(-?[a-z_]\w*)", "bang-not", "'!' is not negation here", "write 'not {0}'"),
    Mistake(r"~\s*(-?[a-z_]\w*)", "tilde-not", "'~' is not negation here", "write 'not {0}'"),
    Mistake(r"\bnot\s*\([^()]*\)", "not-group",
            "'not' goes before one atom, not before a group",
            "define an atom by a rule, 'c :- a, b.', and write 'not c'"),
    Mistake(r"#(?:query|pr)\s+(?P<here>(?:P|Pr|Prob)\s*)\(", "capital-predicate",
            "a query is for a probability already", "write #query a | b."),
    Mistake(r"\b([A-Z]\w*)\s*\(", "capital-predicate",
            "the name of a predicate begins in lower case; {0} is a variable", "write {lower}(…)"),
    Mistake(r"(?P<here>\band\b|&+)(?:\s*(?:not\s+)?-?[a-z]\w*(?:\([^()]*\))?)?", "word-operator",
            "conditions are joined by ','", "write ',' in its place"),
    Mistake(r"\A-?[a-z]\w*(?:\([^()]*\))?\s+(?P<here>or|v)\b", "word-operator",
            "'{0}' is written ';' in a head", "write a; b."),
    Mistake(r"\b(or|xor)\b|\|\|", "word-operator",
            "there is no 'or' inside a body", "write one rule for each case"),
    Mistake(r"#(?:query|pr|map|mpe|decide)\b[^\"]*?\b(?P<here>if|when|where)\b", "word-operator",
            "'{0}' is written '|' in a question", "write #query a | b, not c."),
    Mistake(r"\b(if|when|where)\b", "word-operator", "'{0}' is written ':-'", "write a :- b."),
    Mistake(r"\b(given)\b", "word-operator",
            "'given' is written '|'", "write #query a | b, not c."),
    Mistake(r"(?<!#)\b(count|sum|min|max)\s*\{[^{}]*", "aggregate-hash",
            "an aggregate begins with '#'", "write #{0}{{…}}"),
    Mistake(r"#(count|sum|min|max)\s*\(", "aggregate-braces",
            "an aggregate has its elements in braces", "write #{0}{{X : p(X)}}"),
    Mistake(r"#(count|sum|min|max)\s*\{[^{}:]*(?P<here>\|)", "aggregate-braces",
            "the condition of an aggregate comes after ':'", "write #{0}{{X : p(X)}}"),
    Mistake(r"\(\s*#(count|sum|min|max)\b", "aggregate-nested",
            "an aggregate cannot be part of a term",
            "give its value to a variable: N = #{0}{{…}}"),
    Mistake(r"\b(?P<here>[a-z]\w*(?:-[a-z]\w*)+)(?=\s*(?:\(|:-|\.|$))(?:\([^()]*\))?", "name-dash",
            "a name has no '-' in it", "write {under}"),
    Mistake(r"\b([a-z]\w*)(?P<here>\?)(?=\()(?:\([^()]*\))?", "name-mark",
            "a name has no '?' in it", "write {0}(…)"),
    Mistake(r"'[^'\n]*'?|`[^`\n]*`?", "quotes",
            "text is written in double quotes", 'write "text", or a name in lower case'),
    Mistake(r"@\s*([A-Z]\w*)", "function-syntax",
            "a function in a term begins in lower case",
            "define {lower} in #python and write @{lower}"),
    Mistake(r"@(?!\s*[A-Za-z_])", "function-syntax", "a name is missing after '@'", "write @name"),
    Mistake(r"#(?![A-Za-z_])", "unknown-directive",
            "a word is missing after '#'", "remove the '#'"),
)
# fmt: on


def known_mistake(cursor: Cursor, at: int) -> Diagnostic | None:
    """The first mistake whose pattern covers an offset."""
    first, last = at - TUNING.near_error, at + TUNING.near_error
    near = [token for token in cursor.tokens if token.end >= first and token.start <= last]
    if not near:
        return None
    base, masked = near[0].start, _masked(cursor.file.text, near)
    if near[0] is not cursor.tokens[0]:  # not the start of the statement
        base, masked = base - 1, UNKNOWN + masked
    at -= base
    for mistake in MISTAKES:
        for match in re.finditer(mistake.pattern, masked, re.ASCII):
            if match.start() <= at and not masked[match.end() : at].strip():
                start, end = match.span("here" if "here" in match.groupdict() else 0)
                where = (base + start, base + start + len(masked[start:end].rstrip()))
                message, help = _filled(mistake.message, match), _filled(mistake.help, match)
                return cursor.file.problem(mistake.code, message, where, help)
    return None


def _filled(text: str, match: re.Match[str]) -> str:
    groups = [group or "" for group in match.groups()]
    first = groups[0] if groups else ""
    return text.format(
        *groups, lower=first[:1].lower() + first[1:], under=first.replace("-", "_").lower()
    )


def _masked(text: str, written: Sequence[Token]) -> str:
    """The text of the tokens, with comments, strings and long tokens masked."""
    parts: list[str] = []
    at = written[0].start
    for token in written:
        parts.append(re.sub(r"[^\n]", " ", text[at : token.start]))
        if token.kind == "string":
            parts.append(f'"{" " * (len(token.text) - 2)}"')
        else:
            known = len(token.text) <= TUNING.masked_token
            parts.append(token.text if known else UNKNOWN * len(token.text))
        at = token.end
    return "".join(parts)
