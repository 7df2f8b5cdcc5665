"""A program's text, laid out well: the same program, its comments, and nothing else changed.

Only space is touched: between tokens (``spacing``), at the start and the end of lines, and
in lines that are too long (``layout``). Where an author breaks a line or leaves one blank, it
stays so. ``#python`` and ``#script`` blocks are kept to the letter. A question that ends
without its dot is given it.

>>> print(formatted("0.3 :: a( X ):-b(X),\\n  not c. %why\\n#query a(1)"), end="")
0.3::a(X) :- b(X),
    not c.  %why
#query a(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpasp.errors import Diagnostic, Error, ProgramError
from dpasp.language.formatting.layout import Item, lay_out
from dpasp.language.formatting.spacing import spaces
from dpasp.language.reader import read_readable
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.brackets import CLOSING, OPENING
from dpasp.language.text.files import Reach
from dpasp.language.text.lexer import Token, tokens
from dpasp.language.text.pieces import Piece, cut_statements


def formatted(text: str, file: str = "<program>") -> str:
    """Return the text of a program, laid out well.

    Raises :class:`ProgramError` if it cannot be read. What comes out is read again and
    compared: it is the same program, or there is an error.

    >>> formatted("0.3 ::a:-b .")
    '0.3::a :- b.\\n'
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    alone = {file: Reach()}  # what it includes is not what is formatted, and is not read
    program, errors = read_readable([(file, text)], reaches=alone)
    mistakes = [error for error in errors if error.code != "file-not-allowed"]
    if mistakes:
        raise ProgramError(mistakes)
    items = list(_items(text))
    result = lay_out(items)
    if result == text:
        return text
    again, wrong = read_readable([(file, result)], reaches=alone)
    same = again == program and len(wrong) == len(errors)
    if not same or _texts(items) != _texts(_items(result)):
        message = f"formatting {file} would change what it says, so it is left as it is"
        help = "this is a bug in dPASP: please report it with the program"
        raise Error(Diagnostic("format", message, help=help))
    return result


def _texts(items: Iterable[Item]) -> list[str]:
    return [item.text for item in items]


def _items(text: str) -> Iterator[Item]:
    """All that a text is made of, in order."""
    pieces_of = cut_statements(text, starting_words())
    comments = iter([*pieces_of.comments, (len(text), len(text))])
    comment, end = next(comments), 0
    for piece in pieces_of.pieces:
        while comment[0] < piece.start:
            yield _comment(text, comment, end, None)
            comment, end = next(comments), comment[1]
        for token, space, depth, body in _statement(text, piece):
            first = token.start == piece.start
            item = Item(token.kind, token.text, " " if first else space, 0, 0, first, depth, body)
            while comment[0] < token.start:
                yield _comment(text, comment, end, item)
                comment, end = next(comments), comment[1]
            yield _placed(item, text, end, token.start)
            end = token.end
    while comment[0] < len(text):
        yield _comment(text, comment, end, None)
        comment, end = next(comments), comment[1]


def _placed(item: Item, text: str, end: int, start: int) -> Item:
    """An item with what is between it and the end of the one before."""
    breaks = text.count("\n", end, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    return Item(*item[:3], breaks, column, *item[5:])


def _comment(text: str, place: tuple[int, int], end: int, before: Item | None) -> Item:
    """A comment, before a token of a statement or between two statements."""
    said = text[slice(*place)]
    kind, space = ("block", " ") if said.startswith("%*") else ("comment", "  ")
    depth, body = (before.depth, before.body) if before else (0, False)
    item = Item(kind, said.rstrip(), space, 0, 0, before is None, depth, body)
    return _placed(item, text, end, place[0])


def _statement(text: str, piece: Piece) -> Iterator[tuple[Token, str, int, bool]]:
    """The tokens of one statement, each with the space before it and where it stands."""
    if piece.directive in starting_words().blocks:
        yield Token("code", text[piece.start : piece.end], piece.start, piece.end), " ", 0, False
        return
    words_of = list(tokens(text, piece.start, piece.end))
    if not piece.dotted:
        words_of.append(Token("symbol", ".", words_of[-1].end, words_of[-1].end))
    depth, body = 0, False
    for token, space in zip(words_of, spaces(words_of), strict=True):
        depth -= token.text in CLOSING
        yield token, space, depth, body
        depth += token.text in OPENING
        body = body or token.text == ":-"
