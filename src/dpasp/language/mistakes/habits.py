"""Common mistakes: the text around an error decides which message a person gets.

>>> from dpasp.language import parse
>>> from dpasp.errors import ProgramError
>>> try:
...     parse("a := b.")
... except ProgramError as error:
...     print(error.diagnostics[0].code, error.diagnostics[0].help, sep=": ")
assignment: write '='
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from dpasp.errors import Diagnostic
from dpasp.language.text.lexer import Token
from dpasp.language.text.source import SourceFile


class Mistake(NamedTuple):
    """A pattern that covers the place of an error, and what it means.

    ``{0}`` in the texts is the first group of the pattern, ``{lower}`` the same with its
    first letter in lower case, ``{under}`` with '_' in place of '-'.
    """

    pattern: re.Pattern[str]
    code: str
    message: str
    help: str


def _mistake(pattern: str, code: str, message: str, help: str) -> Mistake:
    return Mistake(re.compile(pattern, re.ASCII), code, message, help)


# How other languages begin a comment, looked for at the beginning of a statement.
FOREIGN_COMMENT = re.compile(r"//|/\*|--|#(?![A-Za-z_!])|<!--")

# Looked up in order; each pattern must cover the error's place.
MISTAKES = (
    _mistake(
        r"(?<![\w.:])(\d+(?:\.\d+)?|\?)\s*:(?![:~-])",
        "single-colon",
        "a probability is followed by two colons",
        "write {0}::a",
    ),
    _mistake(
        r"(?<![\w.:])([a-z]\w*(?:\([^()]*\))?)\s*:\s*(\d+\.\d+)",
        "probability-last",
        "the probability comes before the atom",
        "write {1}::{0}",
    ),
    _mistake(
        r"(?<![\w.])0+([1-9]\d*|0)",
        "leading-zero",
        "an integer has no zeros before it",
        "write {0}",
    ),
    _mistake(r"\\\+", "prolog-not", "'\\+' is Prolog's negation", "write 'not'"),
    _mistake(
        r"(-?[\w']+(?:\([^()]*\))?)\s*(?P<here>=<)\s*(-?[\w']+)",
        "prolog-less",
        "'=<' is Prolog's comparison",
        "write {0} <= {2}",
    ),
    _mistake(r"=<", "prolog-less", "'=<' is Prolog's comparison", "write '<='"),
    _mistake(
        r":-(?:[^\"]|\"[^\"]*\")*?(-?[\w']+(?:\([^()]*\))?)\s*(?P<here>=>)\s*(-?[\w']+)",
        "arrow-comparison",
        "'=>' compares nothing",
        "write {0} >= {2}",
    ),
    _mistake(r"=\\=|\\==?", "prolog-unequal", "this comparison is Prolog's", "write '!='"),
    _mistake(r"=:=|===?", "prolog-equal", "this comparison is another language's", "write '='"),
    _mistake(
        r"([A-Z]\w*)\s+is\b",
        "prolog-is",
        "'is' is Prolog's",
        "write '{0} = …', with '=' in place of 'is'",
    ),
    _mistake(r"\b(mod|rem)\b", "prolog-mod", "'{0}' is Prolog's", "write X \\ 2 for X modulo 2"),
    _mistake(
        r"(?:,|:-)\s*(?P<here>!)\s*(?=[.,;])",
        "prolog-cut",
        "there is no cut",
        "leave it out: the order of rules and conditions has no meaning",
    ),
    _mistake(r"\?-", "prolog-query", "'?-' is Prolog's query", "write #query a."),
    _mistake(
        r"(?:,|;|:-)\s*(?P<here>\([^()]*(?:\([^()]*\)[^()]*)*\))",
        "body-group",
        "conditions are not grouped by parentheses",
        "write one rule for each case, or define an atom for the group",
    ),
    _mistake(r"\A\?\s*([a-z]\w*)", "single-colon", "'?' is followed by '::'", "write ?::{0}"),
    _mistake(
        r"\[[^\[\]]*\]?",
        "list",
        "there are no lists",
        "write one fact for each element, or a tuple (1,2,3)",
    ),
    _mistake(
        r"<[-=]+|←",
        "arrow",
        "a rule is not written with an arrow",
        "write 'head :- body.'",
    ),
    _mistake(
        r"[-=]+>",
        "arrow",
        "a rule is not written with an arrow",
        "write it the other way round, 'head :- body.'",
    ),
    _mistake(r":=", "assignment", "there are no assignments", "write '='"),
    _mistake(r"!\s*(-?[a-z_]\w*)", "bang-not", "'!' is not negation here", "write 'not {0}'"),
    _mistake(r"~\s*(-?[a-z_]\w*)", "tilde-not", "'~' is not negation here", "write 'not {0}'"),
    _mistake(
        r"\bnot\s*\([^()]*\)",
        "not-group",
        "'not' goes before one atom, not before a group",
        "define an atom by a rule, 'c :- a, b.', and write 'not c'",
    ),
    _mistake(
        r"\b([A-Z]\w*)\s*\(",
        "capital-predicate",
        "the name of a predicate begins in lower case; {0} is a variable",
        "write {lower}(…)",
    ),
    _mistake(
        r"(?P<here>\band\b|&+)(?:\s*(?:not\s+)?-?[a-z]\w*(?:\([^()]*\))?)?",
        "word-operator",
        "conditions are joined by ','",
        "write ',' in its place",
    ),
    _mistake(
        r"\b(or|xor)\b|\|\|",
        "word-operator",
        "there is no 'or' inside a body",
        "write one rule for each case",
    ),
    _mistake(r"\b(if|when|where)\b", "word-operator", "'{0}' is written ':-'", "write a :- b."),
    _mistake(
        r"\b(given)\b", "word-operator", "'given' is written '|'", "write #query a | b, not c."
    ),
    _mistake(
        r"(?<!#)\b(count|sum|min|max)\s*\{[^{}]*",
        "aggregate-hash",
        "an aggregate begins with '#'",
        "write #{0}{{…}}",
    ),
    _mistake(
        r"#(count|sum|min|max)\s*\(",
        "aggregate-braces",
        "an aggregate has its elements in braces",
        "write #{0}{{X : p(X)}}",
    ),
    _mistake(
        r"\(\s*#(count|sum|min|max)\b",
        "aggregate-nested",
        "an aggregate cannot be part of a term",
        "give its value to a variable: N = #{0}{{…}}",
    ),
    _mistake(
        r"\b(?P<here>[a-z]\w*(?:-[a-z]\w*)+)(?=\s*(?:\(|:-|\.|$))(?:\([^()]*\))?",
        "name-dash",
        "a name has no '-' in it",
        "write {under}",
    ),
    _mistake(
        r"\b([a-z]\w*)(?P<here>\?)(?=\()(?:\([^()]*\))?",
        "name-mark",
        "a name has no '?' in it",
        "write {0}(…)",
    ),
    _mistake(
        r"'[^'\n]*'?|`[^`\n]*`?",
        "quotes",
        "text is written in double quotes",
        'write "text", or a name in lower case',
    ),
    _mistake(
        r"@\s*([A-Z]\w*)",
        "function-syntax",
        "a function in a term begins in lower case",
        "define {lower} in #python and write @{lower}",
    ),
    _mistake(r"@(?!\s*[A-Za-z_])", "function-syntax", "a name is missing after '@'", "write @name"),
    _mistake(
        r"#(?![A-Za-z_])", "unknown-directive", "a word is missing after '#'", "remove the '#'"
    ),
)


# What is looked at around an error: for an expression that begins anywhere in a text of n
# characters and looks through it, n² steps are made.
NEAR = 1_000  # characters before it and behind it
LONG = 200  # characters of a token, from which on it is only known to be there
UNKNOWN = "\0"  # what stands for a character that is not looked at


def known_mistake(file: SourceFile, written: Sequence[Token], at: int) -> Diagnostic | None:
    """The diagnostic of the first mistake whose pattern covers an offset among the tokens."""
    near = [token for token in written if token.end >= at - NEAR and token.start <= at + NEAR]
    if not near:
        return None
    base, masked = near[0].start, _masked(file.text, near)
    if near[0] is not written[0]:  # it is not the beginning of a statement
        base, masked = base - 1, UNKNOWN + masked
    at -= base
    for mistake in MISTAKES:
        for match in mistake.pattern.finditer(masked):
            if match.start() <= at and not masked[match.end() : at].strip():
                start, end = match.span("here" if "here" in match.groupdict() else 0)
                end = start + len(masked[start:end].rstrip())
                span = file.span(base + start, base + end)
                message, help = _filled(mistake.message, match), _filled(mistake.help, match)
                return Diagnostic(mistake.code, message, span, help)
    return None


def _filled(text: str, match: re.Match[str]) -> str:
    groups = [group or "" for group in match.groups()]
    first = groups[0] if groups else ""
    return text.format(
        *groups, lower=first[:1].lower() + first[1:], under=first.replace("-", "_").lower()
    )


def _masked(text: str, written: Sequence[Token]) -> str:
    """The text of the tokens, without comments, strings emptied, long tokens unknown."""
    parts: list[str] = []
    at = written[0].start
    for token in written:
        parts.append(re.sub(r"[^\n]", " ", text[at : token.start]))
        if token.kind == "string":
            parts.append(f'"{" " * (len(token.text) - 2)}"')
        else:
            known = len(token.text) <= LONG
            parts.append(token.text if known else UNKNOWN * len(token.text))
        at = token.end
    return "".join(parts)
