"""Syntax errors explained: what the place looks like decides what a person is told."""

from __future__ import annotations

import re
from typing import NamedTuple

from dpasp.errors import Diagnostic
from dpasp.language.source import SourceFile


class Mistake(NamedTuple):
    """A pattern that ends at (or just after) the place of an error, and what it means."""

    pattern: re.Pattern[str]
    code: str
    message: str
    help: str


def _mistake(pattern: str, code: str, message: str, help: str) -> Mistake:
    return Mistake(re.compile(pattern), code, message, help)


# Looked up in order at the error's line; each pattern must cover the error's place.
MISTAKES = (
    _mistake(
        r"\d+\.\d+\s*:(?![:-])",
        "single-colon",
        "a probability is followed by two colons",
        "write 0.3::a",
    ),
    _mistake(
        r"\b\d+\.\d+",
        "real-number",
        "a real number stands where clingo has only integers",
        "real numbers are allowed as probabilities (0.3::a) and in #const; scale it to an integer",
    ),
    _mistake(r"\\\+", "prolog-not", "'\\+' is Prolog's negation", "write 'not'"),
    _mistake(r"=<", "prolog-less", "'=<' is Prolog's comparison", "write '<='"),
    _mistake(r"\\==?", "prolog-unequal", "'\\=' is Prolog's comparison", "write '!='"),
    _mistake(r"=:=|=\\=", "prolog-compare", "this is Prolog's comparison", "write '=' or '!='"),
    _mistake(r"\b[A-Z]\w*\s+is\b.*", "prolog-is", "'is' is Prolog's", "write 'X = Y + 1'"),
    _mistake(r"<-+", "arrow", "a rule is not written with an arrow", "write 'head :- body.'"),
    _mistake(r"~\s*-?[a-z_]", "tilde-not", "'~' is not negation here", "write 'not'"),
    _mistake(r"!\s*[a-z]", "bang-not", "'!' is not negation here", "write 'not'"),
    _mistake(r"\bt\(_?\w*\)\s*::", "problog-learn", "t(_) is ProbLog's", "write '?::a'"),
    _mistake(r"\b[A-Z]\w*\s*\(", "capital-predicate", "a predicate begins in lower case", ""),
    _mistake(r"\band\b|&&|\bor\b|\|\|", "word-operator", "conditions are joined by ','", ""),
    _mistake(r"\bif\b", "word-if", "a rule is written 'head :- body.'", "write ':-'"),
    _mistake(r"->", "arrow", "there is no '->' here", "write rules as 'head :- body.'"),
    _mistake(r"'[^'\n]*'", "quotes", "strings are written in double quotes", 'write "text"'),
)

_UNEXPECTED = re.compile(r"\w+ error, unexpected (.*?)(?:, expecting (.*))?$", re.DOTALL)


def explain(file: SourceFile, start: int, end: int, what: str) -> Diagnostic:
    """The diagnostic for a syntax error at a slice of the text."""
    line_start = file.text.rfind("\n", 0, start) + 1
    line_end = file.text.find("\n", start)
    line = file.text[line_start : len(file.text) if line_end < 0 else line_end]
    at = start - line_start
    for mistake in MISTAKES:
        for match in mistake.pattern.finditer(line):
            if match.start() <= at <= match.end():
                span = file.span(line_start + match.start(), line_start + match.end())
                return Diagnostic(mistake.code, mistake.message, span, mistake.help)
    return _unexpected(file, start, end, what)


def _unexpected(file: SourceFile, start: int, end: int, what: str) -> Diagnostic:
    span = file.span(start, end)
    seen = file.text[start:end].strip()
    if what == "unexpected end":
        help = "end the last statement with a dot"
        return Diagnostic("missing-dot", "the program ends inside a statement", span, help)
    match = _UNEXPECTED.match(what)
    expecting = match.group(2) if match else None
    message = f"unexpected '{seen}'" if seen else "this cannot be read"
    if expecting:
        wanted = re.sub(r"<(\w+)>", lambda m: m.group(1).lower(), expecting)
        return Diagnostic("syntax", message, span, f"expected {wanted} here")
    help = "does the statement before it end with a dot?"
    if seen == ".":
        help = "something is missing before the final dot"
    elif seen in (")", "]", "}"):
        help = "is a bracket opened and closed in its place?"
    return Diagnostic("syntax", message, span, help)
