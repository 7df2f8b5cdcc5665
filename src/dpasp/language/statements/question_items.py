"""A question's text, cut into its literals: what clingo does not know of it is blanked out.

The bar before the evidence, ``undef`` and the ``?`` of ``#map`` are noted with each literal.

>>> from dpasp.language import parse
>>> (query,) = parse("#map a? | undef b.").statements
>>> str(query.atoms[0]), query.evidence[0].mode.name
('a', 'UNDEFINED')
"""

from __future__ import annotations

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.language.text.brackets import CLOSING, OPENING
from dpasp.language.text.buffer import Buffer
from dpasp.language.text.cursor import Cursor
from dpasp.language.text.lexer import Token

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
class QuestionItem:
    """One literal as written: after the bar?, undef?, marked with '?'?"""

    is_evidence: bool
    undefined: Span | None = None
    mark: Span | None = None


def strip_parentheses(cursor: Cursor, buffer: Buffer) -> None:
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


def question_items(cursor: Cursor, buffer: Buffer, directive: str) -> list[QuestionItem]:
    """Cut a question into its literals and blank out what clingo does not know."""
    items: list[QuestionItem] = []
    item: QuestionItem | None = None
    barred, depth = False, 0
    while not cursor.at_end():
        token = cursor.next()
        text = token.text
        if depth > 0 or text in CLOSING:
            pass
        elif text == "." and cursor.at_end():
            break
        elif text == "|":
            _check_bar(cursor, token, directive, barred)
            barred = True
            buffer.put(token.start, token.end, ";" if items else " ")
            item = None
        elif text == ",":
            item = None
        elif text in _FOREIGN:
            message, help = _FOREIGN[text]
            cursor.fail("query-syntax", message, token, help)
        elif text == "?":
            _check_question_mark(cursor, token, directive, item)
            assert item is not None
            item.mark = cursor.file.span(token.start, token.end)
            buffer.blank(token.start, token.end)
        elif item is None:
            item = QuestionItem(is_evidence=barred)
            items.append(item)
            _undefined(cursor, buffer, token, item)
        depth += (text in OPENING) - (text in CLOSING)
    return items


def _check_bar(cursor: Cursor, token: Token, directive: str, barred: bool) -> None:
    if directive == "#evidence":
        cursor.fail("query-bar", "evidence has no '|'", token, FORMS[directive])
    if barred:
        cursor.fail("query-bar", "a second '|'", token, "keep one, and join literals by ','")
    if cursor.peek().text in (".", ""):
        message = "no evidence follows the '|'"
        cursor.fail("query-bar", message, token, f"remove it; {FORMS[directive]}")


def _check_question_mark(
    cursor: Cursor, token: Token, directive: str, item: QuestionItem | None
) -> None:
    """Only the atoms that ``#map`` asks for are marked with '?'."""
    if item is None:
        cursor.fail("query-mark", "'?' comes after the atom that it marks", token, FORMS["#map"])
    if directive != "#map":
        help = f"write #map to ask for the most probable value; {FORMS[directive]}"
        cursor.fail("query-mark", "this '?' has no meaning here", token, help)
    if item.is_evidence:
        message = "evidence is not marked with '?'"
        cursor.fail("query-mark", message, token, "remove the '?', or move the atom before '|'")


def _undefined(cursor: Cursor, buffer: Buffer, token: Token, item: QuestionItem) -> None:
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
