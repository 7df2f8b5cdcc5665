"""``#query``, ``#map``, ``#mpe`` and ``#evidence``: clingo reads them as constraints.

``#query a, undef b | not c.`` reaches clingo as ``:- a, b ; not c.`` with every
literal in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from clingo.ast import AST, ASTType, Sign

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.annotations import Draft
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import CLOSING, OPENING, Cursor
from dpasp.language.lexer import Piece, Token
from dpasp.language.source import SourceFile, Sources

FORMS = {
    "#query": "a query is written #query a, not b | c.",
    "#map": "a map query is written #map a?, b? | c.",
    "#mpe": "the most probable explanation is written #mpe | c.",
    "#evidence": "evidence is written #evidence a, not b.",
}


@dataclass(slots=True)
class _Item:
    """One literal as written: after the bar?, undef?, marked with '?'?"""

    start: int
    given: bool
    undefined: Span | None = None
    marked: bool = False


def read_question(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a question, its literals left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    kind = {"#pr": "#query", "#max": "#map"}.get(word.text, word.text)
    buffer.put(word.start, word.end, ":-")
    _strip_parentheses(cursor, buffer)
    items = _items(cursor, buffer, kind)
    if not piece.dotted:
        buffer.end_statement(piece.end)
    if not items:
        if kind != "#mpe":
            cursor.fail("query-empty", "there is nothing here to ask for", word, FORMS[kind])
        buffer.blank(piece.start, piece.end + 1)
    span = file.span(piece.start, piece.end)

    def finish(node: AST | None, sources: Sources) -> ast.Statement | None:
        if node is None and items:
            return None
        body = sorted(node.body, key=_position) if node is not None else []
        return _question(kind, items, body, sources, span)

    return Draft(piece.start, piece.end, finish, needs=bool(items))


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
    bar: Token | None = None
    depth = 0
    while not cursor.at_end():
        token = cursor.next()
        text = token.text
        if depth == 0 and text == "." and cursor.at_end():
            break
        if depth == 0 and text == "|":
            if bar is not None or kind == "#evidence":
                cursor.fail("query-bar", "this '|' has no meaning here", token, FORMS[kind])
            if cursor.peek().text in (".", ""):
                cursor.fail("query-bar", "no evidence follows the '|'", token, FORMS[kind])
            bar = token
            buffer.put(token.start, token.end, ";" if items else " ")
            item = None
        elif depth == 0 and text in (",", ";"):
            item = None
        elif depth == 0 and text == "?":
            if item is None:
                message = "'?' comes after the atom that it marks"
                cursor.fail("query-mark", message, token, FORMS[kind])
            item.marked = True
            buffer.blank(token.start, token.end)
        elif item is None:
            item = _Item(token.start, given=bar is not None)
            items.append(item)
            if text == "undef" and cursor.peek().text not in (",", ".", "|", "(", "?", ""):
                item.undefined = cursor.file.span(token.start, token.end)
                buffer.blank(token.start, token.end)
        depth += (text in OPENING) - (text in CLOSING)
    return items


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
        if node.ast_type == ASTType.Literal and node.atom.ast_type == ASTType.Comparison:
            guards.append(node)
            continue
        literal = _literal(item, node, sources)
        _check_mark(kind, item, literal)
        (given if item.given else asked).append(literal)
    if kind == "#evidence":
        if guards:
            where = sources.span_of(guards[0].location)
            raise _error("evidence-guard", "evidence holds no comparison", where, FORMS[kind])
        return ast.Evidence(tuple(asked), span)
    if kind == "#mpe" and asked:
        raise _error("mpe-atoms", "#mpe asks for all choices at once", asked[0].span, FORMS[kind])
    if kind != "#mpe" and not asked:
        raise _error("query-empty", "there is nothing here to ask for", span, FORMS[kind])
    if kind == "#query":
        return ast.Query(tuple(asked), tuple(given), tuple(guards), span)
    atoms = tuple(literal.atom for literal in asked)
    return ast.Map(atoms, tuple(given), tuple(guards), span)


def _check_mark(kind: str, item: _Item, literal: ast.Literal) -> None:
    """The atoms that a ``#map`` asks for are marked with '?', and no others."""
    wanted = kind == "#map" and not item.given
    if item.marked and (not wanted or literal.mode is not ast.Mode.TRUE):
        help = "only the atoms that #map asks for are marked with '?'"
        raise _error("query-mark", "this '?' has no meaning here", literal.span, help)
    if wanted and not item.marked:
        help = f"write '{literal.atom}?' to ask for it, or put it after '|' as evidence"
        message = "an atom of a #map query is marked with '?'"
        raise _error("map-unmarked", message, literal.span, help)


def _literal(item: _Item, node: AST, sources: Sources) -> ast.Literal:
    where = sources.span_of(node.location)
    atom = node.atom if node.ast_type == ASTType.Literal else None
    if atom is None or atom.ast_type != ASTType.SymbolicAtom:
        help = "define an atom by a rule and ask for that"
        raise _error("query-literal", "a question holds atoms only", where, help)
    if node.sign == Sign.DoubleNegation:
        message = "a question holds no double negation"
        raise _error("query-literal", message, where, "drop 'not not'")
    if item.undefined is not None:
        where = item.undefined.to(where)
        if node.sign != Sign.NoSign:
            raise _error("query-literal", "'undef' and 'not' do not go together", where, "keep one")
        return ast.Literal(ast.Mode.UNDEFINED, atom, where)
    mode = ast.Mode.TRUE if node.sign == Sign.NoSign else ast.Mode.FALSE
    return ast.Literal(mode, atom, where)


def _position(node: AST) -> tuple[int, int]:
    begin = node.location.begin
    return begin.line, begin.column


def _error(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))
