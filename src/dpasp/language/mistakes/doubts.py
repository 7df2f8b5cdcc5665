"""Warnings about statements that can be read but are probably not meant that way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic
from dpasp.language.statements.annotated import Annotated
from dpasp.language.statements.annotated_heads import before_body
from dpasp.language.statements.neural import Neural
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import Statement
from dpasp.language.text import Buffer, Piece, SourceFile, Sources
from dpasp.language.text.lexer import CLOSING, OPENING, STRING, tokens
from dpasp.language.text.trees import walk

_COMPARISON = re.compile(r'[^:"{}]*?(?P<sign><-|[<>=!]=?)[^:"{}]*\.?\s*\Z', re.DOTALL)
_QUOTED = re.compile(rf"{STRING}|(?<![\w'])(?P<quoted>'(?P<name>[A-Za-z_]\w*)')(?![\w'])", re.ASCII)
_VARIABLE = re.compile(r"(?<![\w'])_*[A-Z]\w*", re.ASCII)
_MAIN = re.compile(r"^[ \t]*def\s+main\s*\(", re.MULTILINE)
_SHOWN = 80  # characters of a statement quoted in help
_PROBLOG = re.compile(r"(query|evidence)\s*\(([^(),]*(?:\([^()]*\))?)(?:,\s*(true|false))?\)\.")


def doubts(file: SourceFile, piece: Piece, buffer: Buffer) -> Iterator[Diagnostic]:
    """What is doubtful about a clingo statement; the buffer has no comments."""
    text = file.text[piece.start : piece.end]
    if "%" in text or "#!" in text:
        text = buffer.text(piece.start, piece.end)
    if "'" in text:
        yield from _quotes(file, piece, text)
    if "=" in text or "<" in text or ">" in text:
        yield from _comparison(file, piece, before_body(text))
    if text.startswith(("query", "evidence")):
        yield from _problog(file, piece, text)
    yield from semicolons(file, piece)


def semicolons(file: SourceFile, piece: Piece) -> Iterator[Diagnostic]:
    """A ';' between the conditions of a body: 'and' here, 'or' in Prolog."""
    text = file.text[piece.start : piece.end]
    start = piece.start + len(before_body(text))
    if piece.directive or file.text.find(";", start, piece.end) < 0:
        return
    parts, head = _alternatives(file, start, piece.end), before_body(text).strip()
    if len(parts) < 2:
        return
    span = file.span(parts[0][1], parts[0][1] + 1)
    words = [" ".join(file.text[begin:end].split()) for begin, end in parts]
    if "%" in text or len(text) > _SHOWN:
        help = "write ',' for 'and'; for 'or', write one rule for each case"
    elif piece.annotated:
        variables = ",".join(dict.fromkeys(_VARIABLE.findall(head)))
        either = f"either({variables})" if variables else "either"
        cases = " ".join(f"{either} :- {case}." for case in words)
        both = f"{cases} {head} :- {either}."
        help = f"write '{head} :- {', '.join(words)}.' for 'and'; for 'or', '{both}'"
    else:
        cases = " ".join(f"{head} :- {case}.".strip() for case in words)
        joined = f"{head} :- {', '.join(words)}.".strip()
        help = f"write '{joined}' for 'and'; for 'or', '{cases}'"
    message = "';' means 'and' in a body, just as ',' does"
    yield Diagnostic("body-semicolon", message, span, help, "warning")


def _alternatives(file: SourceFile, start: int, end: int) -> list[tuple[int, int]]:
    """The slices of a body between its ';'; none if a condition ``a : b`` needs them."""
    slices: list[tuple[int, int]] = []
    depth, begin = 0, start
    for token in tokens(file.text, start, end):
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if token.text == ":-" and begin == start:
            begin = token.end
        elif depth == 0 and token.text == ":":
            return []
        elif depth == 0 and token.text in (";", ".") and token.kind == "symbol":
            slices.append((begin, token.start))
            begin = token.end
    return slices


def unused_main(statement: Statement) -> Iterator[Diagnostic]:
    """A ``main`` in a script, which clingo would call and we do not."""
    script = isinstance(statement, Plain) and statement.node.ast_type == ASTType.Script
    if script and isinstance(statement, Plain) and _MAIN.search(statement.node.code):
        message = "the function main of this script is never called"
        help = "define @functions for rules to call, and drive the program from Python"
        yield Diagnostic("script-main", message, statement.span, help, "warning")


def names_a_predicate(
    warning: Diagnostic, statements: Iterable[Statement], sources: Sources
) -> bool:
    """Whether a fact ``query(a).`` or ``evidence(a).`` belongs to a predicate used in a body."""
    if warning.code != "problog-directive" or warning.span is None:
        return False
    text = sources.text_of(warning.span) or ""
    name = "query" if text.startswith("query") else "evidence"
    return any(
        part.ast_type == ASTType.SymbolicAtom and str(part).partition("(")[0] == name
        for statement in statements
        for node in _body(statement)
        for part in walk(node)
    )


def _body(statement: Statement) -> Iterable[AST]:
    if isinstance(statement, Annotated | Neural):
        return statement.body
    if isinstance(statement, Plain) and statement.node.ast_type == ASTType.Rule:
        return list(statement.node.body)
    return ()


def _comparison(file: SourceFile, piece: Piece, head: str) -> Iterator[Diagnostic]:
    match = _COMPARISON.match(head)
    if match is None or head.startswith("#"):
        return
    span = file.span(piece.start + match.start("sign"), piece.start + match.end("sign"))
    message = "the head of this rule is a comparison, which derives nothing"
    help = "write an atom before ':-', and comparisons after it"
    if match["sign"] == "<-":
        message = "this is read as 'less than minus', a comparison"
        help = "write a rule as 'head :- body.'"
    yield Diagnostic("comparison-head", message, span, help, "warning")


def _quotes(file: SourceFile, piece: Piece, text: str) -> Iterator[Diagnostic]:
    for match in _QUOTED.finditer(text):
        if name := match["name"]:
            span = file.span(piece.start + match.start(), piece.start + match.end())
            what = "a variable" if name[0].isupper() else "a name"
            message = f"{match['quoted']} in single quotes is {what}, not text"
            help = f'write "{name}", or {name.lower()} without quotes'
            yield Diagnostic("quotes", message, span, help, "warning")


def _problog(file: SourceFile, piece: Piece, text: str) -> Iterator[Diagnostic]:
    match = _PROBLOG.fullmatch(text)
    if match is None:
        return
    word, atom, value = match.groups()
    negated = "not " if value == "false" else ""
    span = file.span(piece.start, piece.end)
    message = f"this is a fact named {word}, and asks nothing"
    help = f"write #{word} {negated}{' '.join(atom.split())}."
    yield Diagnostic("problog-directive", message, span, help, "warning")
