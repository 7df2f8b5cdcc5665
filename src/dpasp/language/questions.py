"""``#query``, ``#map``, ``#mpe`` and ``#evidence``: clingo reads them as constraints.

``#query a, undef b | not c.`` reaches clingo as ``:- a, b ; not c.`` with every
literal in its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clingo.ast import AST, ASTType, Sign

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.annotations import Draft
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import CLOSING, OPENING, Cursor
from dpasp.language.lexer import Token
from dpasp.language.source import SourceFile, Sources
from dpasp.language.split import Piece

FORMS = {
    "#query": "a query is written #query a, not b | c.",
    "#map": "a map query is written #map a?, b? | c.",
    "#mpe": "the most probable explanation is written #mpe | c.",
    "#evidence": "evidence is written #evidence a, not b.",
}

# What has no meaning between the literals of a question, and what to do.
_FOREIGN = {
    ";": (
        "the literals of a question have ',' between them",
        "write ','; for 'or', define an atom by two rules and ask for that",
    ),
    ":": ("a question holds no conditions", "define an atom by a rule and ask for that"),
    ":-": (
        "a question is not a rule",
        "write the rule as a statement of its own, and ask for its head",
    ),
    "::": ("a question holds no probabilities", "write 0.3::a. as a statement of its own"),
}


@dataclass(slots=True)
class _Item:
    """One literal as written: after the bar?, undef?, marked with '?'?"""

    given: bool
    undefined: Span | None = None
    mark: Span | None = None


def read_question(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a question, its literals left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    kind = {"#pr": "#query", "#max": "#map"}.get(word.text, word.text)
    buffer.put(word.start, word.end, ":-")
    _strip_parentheses(cursor, buffer)
    items = _items(cursor, buffer, kind)
    span = file.span(piece.start, piece.end)
    if not any(not item.given for item in items) and kind != "#mpe":
        message = "there is no evidence here" if kind == "#evidence" else "nothing is asked for"
        cursor.fail("query-empty", message, word, FORMS[kind])
    if not piece.dotted and items:
        buffer.end_statement(piece.end)
    elif not items:
        buffer.blank(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement | None:
        if items and not nodes:
            return None
        body = list(nodes[0].body) if items else []
        return _question(kind, items, body, sources, span)

    return Draft(finish, whole=not items)


def _strip_parentheses(cursor: Cursor, buffer: Buffer) -> None:
    """Blank out the parentheses around a whole question."""
    if cursor.peek().text != "(":
        return
    start = cursor.index
    opening, closing = cursor.peek(), cursor.skip_group()
    if cursor.peek().text in (".", ""):
        buffer.blank(opening.start, opening.end)
        buffer.blank(closing.start, closing.end)
        del cursor.tokens[cursor.index - 1]
        cursor.index = start + 1
    else:
        cursor.index = start


def _items(cursor: Cursor, buffer: Buffer, kind: str) -> list[_Item]:
    """Cut a question into its literals and blank out what clingo does not know."""
    items: list[_Item] = []
    item: _Item | None = None
    barred, depth = False, 0
    while not cursor.at_end():
        token = cursor.next()
        text = token.text
        if depth > 0 or text in CLOSING:
            pass
        elif text == "." and cursor.at_end():
            break
        elif text == "|":
            _check_bar(cursor, token, kind, barred)
            barred = True
            buffer.put(token.start, token.end, ";" if items else " ")
            item = None
        elif text == ",":
            item = None
        elif text in _FOREIGN:
            message, help = _FOREIGN[text]
            cursor.fail("query-syntax", message, token, help)
        elif text == "?":
            _check_question_mark(cursor, token, kind, item)
            assert item is not None
            item.mark = cursor.file.span(token.start, token.end)
            buffer.blank(token.start, token.end)
        elif item is None:
            item = _Item(given=barred)
            items.append(item)
            _undefined(cursor, buffer, token, item)
        depth += (text in OPENING) - (text in CLOSING)
    return items


def _check_bar(cursor: Cursor, token: Token, kind: str, barred: bool) -> None:
    if kind == "#evidence":
        cursor.fail("query-bar", "evidence has no '|'", token, FORMS[kind])
    if barred:
        cursor.fail("query-bar", "a second '|'", token, "keep one, and join literals by ','")
    if cursor.peek().text in (".", ""):
        message = "no evidence follows the '|'"
        cursor.fail("query-bar", message, token, f"remove it; {FORMS[kind]}")


def _check_question_mark(cursor: Cursor, token: Token, kind: str, item: _Item | None) -> None:
    """Only the atoms that ``#map`` asks for are marked with '?'."""
    if item is None:
        cursor.fail("query-mark", "'?' comes after the atom that it marks", token, FORMS["#map"])
    if kind != "#map":
        help = f"write #map to ask for the most probable value; {FORMS[kind]}"
        cursor.fail("query-mark", "this '?' has no meaning here", token, help)
    if item.given:
        message = "evidence is not marked with '?'"
        cursor.fail("query-mark", message, token, "remove the '?', or move the atom before '|'")


def _undefined(cursor: Cursor, buffer: Buffer, token: Token, item: _Item) -> None:
    """Note and blank out the ``undef`` that a literal begins with."""
    negated = token.text == "not" and cursor.peek().text == "undef"
    word = cursor.peek() if negated else token
    after = cursor.peek(1) if negated else cursor.peek()
    if word.text != "undef" or after.text in (",", ".", "|", "(", "?", ")", "", "="):
        return
    if negated or after.text == "not":
        message = "'undef' and 'not' do not go together"
        cursor.fail("query-literal", message, (token.start, after.end), "keep one of them")
    item.undefined = cursor.file.span(token.start, token.end)
    buffer.blank(token.start, token.end)


def _question(
    kind: str, items: list[_Item], body: list[AST], sources: Sources, span: Span
) -> ast.Statement:
    """The statement that the items and what clingo read of them make up."""
    if len(items) != len(body):
        raise _error("query-syntax", "this question cannot be read", span, FORMS[kind])
    asked: list[ast.Literal] = []
    given: list[ast.Literal] = []
    guards: list[AST] = []
    for item, node in zip(items, body, strict=True):
        atom = node.atom if node.ast_type == ASTType.Literal else None
        what = None if atom is None else atom.ast_type
        where = sources.span_of(node.location)
        if what == ASTType.Comparison:
            _check_guard(kind, item, where)
            guards.append(node)
            continue
        literal = _literal(item, node, atom if what == ASTType.SymbolicAtom else None, where)
        if kind == "#map" and not item.given:
            _check_map(item, literal)
        (given if item.given else asked).append(literal)
    if kind == "#evidence":
        return ast.Evidence(tuple(asked), span)
    if kind == "#mpe" and asked:
        message = "#mpe asks for all choices at once, not for an atom"
        help = "write the evidence after '|', #mpe | a., or use #map to ask for some atoms"
        raise _error("mpe-atoms", message, asked[0].span, help)
    if kind != "#mpe" and not asked:
        message = "this asks for no atom, only compares"
        raise _error("query-empty", message, span, FORMS[kind])
    if kind == "#query":
        return ast.Query(tuple(asked), tuple(given), tuple(guards), span)
    atoms = tuple(literal.atom for literal in asked)
    return ast.Map(atoms, tuple(given), tuple(guards), span)


def _check_guard(kind: str, item: _Item, where: Span) -> None:
    if kind == "#evidence":
        help = "write 'a' for true and 'not a' for false, and no comparisons"
        raise _error("query-literal", "evidence holds atoms only", where, help)
    if item.undefined or item.mark:
        message = "a comparison is neither undefined nor asked for"
        raise _error("query-literal", message, where, FORMS[kind])


def _check_map(item: _Item, literal: ast.Literal) -> None:
    """The atoms that a ``#map`` asks for are marked with '?'."""
    if literal.mode is not ast.Mode.TRUE:
        message = "#map asks for atoms, which may turn out true or false"
        help = f"write '{literal.atom}?', or put '{literal.mode.value}{literal.atom}' after '|'"
        raise _error("query-mark", message, literal.span, help)
    if item.mark is None:
        help = f"write '{literal.atom}?' to ask for it, or put it after '|' as evidence"
        message = "an atom that #map asks for is marked with '?'"
        raise _error("query-mark", message, literal.span, help)


def _literal(item: _Item, node: AST, atom: AST | None, where: Span) -> ast.Literal:
    if atom is None:
        help = "define an atom by a rule and ask for that"
        raise _error("query-literal", "a question holds atoms only", where, help)
    sign = node.sign
    if sign == Sign.DoubleNegation:
        message = "a question holds no double negation"
        raise _error("query-literal", message, where, "drop 'not not'")
    if item.undefined is not None:
        return ast.Literal(ast.Mode.UNDEFINED, atom, item.undefined.to(where))
    mode = ast.Mode.TRUE if sign == Sign.NoSign else ast.Mode.FALSE
    return ast.Literal(mode, atom, where)


def _error(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))


# --- several outcomes ---------------------------------------------------------------------------


def asks(statements: Iterable[ast.Statement]) -> bool:
    """Whether a program asks for anything."""
    return any(isinstance(s, ast.Query | ast.Map | ast.Evidence) for s in statements)


def join_outcomes(statements: list[ast.Statement]) -> tuple[ast.Statement, ...]:
    """Read ``f(x, a; 3)`` in questions as ``f(x, a, 3)`` for neural predicates with outcomes."""
    names = {s.name for s in statements if isinstance(s, ast.Neural) and s.outcomes}
    if not names:
        return tuple(statements)

    def atom(node: AST) -> AST:
        pool = node.symbol
        if pool.ast_type != ASTType.Pool or len(pool.arguments) != 2:
            return node
        first, second = pool.arguments
        if first.ast_type != ASTType.Function or first.name not in names:
            return node
        joined = [*first.arguments, *second.arguments]
        return node.update(symbol=first.update(arguments=joined))

    def literals(found: tuple[ast.Literal, ...]) -> tuple[ast.Literal, ...]:
        return tuple(ast.Literal(lit.mode, atom(lit.atom), lit.span) for lit in found)

    def joined(statement: ast.Statement) -> ast.Statement:
        match statement:
            case ast.Query(asked, given, guards, span):
                return ast.Query(literals(asked), literals(given), guards, span)
            case ast.Map(atoms, given, guards, span):
                return ast.Map(tuple(map(atom, atoms)), literals(given), guards, span)
            case ast.Evidence(asked, span):
                return ast.Evidence(literals(asked), span)
        return statement

    return tuple(map(joined, statements))
