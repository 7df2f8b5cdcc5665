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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Error, ProgramError
from dpasp.language.reader import read_readable
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.lexer import CLOSING, OPENING, Token, tokens
from dpasp.language.text.pieces import Piece, cut_statements
from dpasp.language.text.source import Reach


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


COMPARISONS = frozenset({"=", "==", "!=", "<", ">", "<=", ">="})
OPERATORS = frozenset({"+", "-", "*", "/", "\\", "**", "^", "&"})
AGGREGATES = frozenset({"#count", "#sum", "#min", "#max"})
_SPACED = COMPARISONS | {":-", ":~", ":"}
_TIGHT_BEFORE = frozenset({",", ";", ")", "]", ".", "::", ".."})
_TIGHT_AFTER = frozenset({"(", "[", "::", ".."})
_OPERANDS = frozenset({"name", "number", "string", "variable", "call"})
_SIGNATURES = frozenset({"#show", "#defined", "#project"})
_SIGNS = frozenset({"not", "undef"})  # words that stand before an atom


def spaces(tokens: Sequence[Token]) -> list[str]:
    """What to write before each token of one statement: nothing or a space."""
    spacer = _Spacer(tokens)
    return ["" if not index or not spacer.space(index) else " " for index in range(len(tokens))]


@dataclass
class _Bracket:
    """An open bracket: which token it is, and how its first separators are written."""

    index: int
    first: dict[str, bool] = field(default_factory=dict)


class _Spacer:
    """The tokens of a statement, with the bracket that each stands in."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.inside: list[_Bracket | None] = []  # the bracket around each token
        self.partner: dict[int, int] = {}  # closing → opening
        stack: list[_Bracket] = []
        for index, token in enumerate(tokens):
            if token.text in CLOSING and stack:
                self.partner[index] = stack.pop().index
            self.inside.append(stack[-1] if stack else None)
            if token.text in OPENING:
                stack.append(_Bracket(index))
            elif stack and token.text in (",", ";"):
                stack[-1].first.setdefault(token.text, self.written(index + 1))

    def written(self, index: int) -> bool:
        """Whether anything stands between a token and the one before it."""
        if not 0 < index < len(self.tokens):
            return False
        return self.tokens[index - 1].end < self.tokens[index].start

    def space(self, index: int) -> bool:
        """Whether a space stands before a token that is not the first."""
        left, right = self.tokens[index - 1], self.tokens[index]
        if right.text == "}":
            return self.written(self.partner.get(index, index) + 1)
        if right.text == "[" and left.text == ".":
            return True
        if self.tokens[0].text == "#name" and ":" in (left.text, right.text):
            return left.text == ":"  # a name stands after its colon, as in a dictionary
        if right.text in _TIGHT_BEFORE or left.text in _TIGHT_AFTER:
            return False
        if left.text in (",", ";"):
            return self._after_separator(index)
        if self._is_spaced(index) or self._is_spaced(index - 1):
            return True
        if left.text == "{":
            return self.written(index)
        if self._is_operator(index):
            return self._before_operator(index)
        if self._is_operator(index - 1):
            return self._after_operator(index - 1)
        if right.text in OPENING:
            return self._before_bracket(index)
        return self._between_words(index)

    def _after_separator(self, index: int) -> bool:
        around = self.inside[index - 1]
        return True if around is None else around.first[self.tokens[index - 1].text]

    def _is_spaced(self, index: int) -> bool:
        """Whether a token has a space on both sides wherever it stands."""
        text = self.tokens[index].text
        if text in _SPACED:
            return True
        around = self.inside[index]
        if text == "|":  # of a question, and not of an absolute value inside it
            asks = self.tokens[0].text in starting_words().open_ended
            return asks and (around is None or around.index == 1)
        if text in ("~", "∼"):  # of data, and not of a complement
            return around is None and index > 0 and self.tokens[index - 1].text == ")"
        return False

    def _is_operand_end(self, index: int) -> bool:
        token = self.tokens[index]
        if token.kind == "directive":
            return token.text.startswith(("#inf", "#sup"))
        word = token.kind in _OPERANDS and token.text not in _SIGNS
        return word or token.text in CLOSING

    def _is_operator(self, index: int) -> bool:
        return self.tokens[index].text in OPERATORS or self.tokens[index].text == "~"

    def _is_binary(self, index: int) -> bool:
        return index > 0 and self._is_operand_end(index - 1)

    def _is_wide(self, index: int) -> bool:
        """Whether an operator is written with space around it; never in ``#show a/1``."""
        signature = self.tokens[0].text in _SIGNATURES and self.inside[index] is None
        return self.written(index) and not signature

    def _before_operator(self, index: int) -> bool:
        left = self.tokens[index - 1]
        if left.kind == "directive":
            return left.text not in AGGREGATES  # #sum+{…}, but #query -a
        if self._is_operator(index - 1):
            return self._is_binary(index - 1) and self._is_wide(index - 1)
        return left.text in _SIGNS or self._is_wide(index)

    def _after_operator(self, index: int) -> bool:
        """After ``+`` and its like: as before it, and nothing after a sign."""
        if self._is_binary(index):
            return self._is_wide(index)
        unclear = index > 0 and self.tokens[index - 1].text in ("|", "?")
        return unclear and self.written(index + 1)

    def _before_bracket(self, index: int) -> bool:
        left, right = self.tokens[index - 1], self.tokens[index]
        if left.text in _SIGNS:
            return True
        if right.text == "(":
            return False if left.kind in ("name", "call") else self.written(index)
        if right.text == "{":
            return left.text not in AGGREGATES
        return self.written(index)

    def _between_words(self, index: int) -> bool:
        left, right = self.tokens[index - 1], self.tokens[index]
        if right.text == "?" and self.tokens[0].text in ("#map", "#max"):
            return False
        if left.text in _SIGNS or left.kind == "directive" or right.kind in ("directive", "call"):
            return True
        words = _OPERANDS - {"number"}  # 0x1F is read as two tokens
        if left.text in CLOSING and right.kind in _OPERANDS:
            return True
        if (left.kind in words and right.kind in words) or "string" in (left.kind, right.kind):
            return True
        return self.written(index)


WIDTH: Final = 100
_STEP: Final = 4  # how far what belongs to a statement stands in


class Item(NamedTuple):
    """A token, a comment or a block of Python, where it stood and where it belongs."""

    kind: str  # of its token; comment, block (a comment %* … *%) or code
    text: str
    space: str  # before it, if it does not begin a line
    breaks: int  # how many lines ended before it
    column: int  # where it stood in its line, from 0
    starts: bool  # a statement, or stands between two of them
    depth: int  # of the brackets around it
    body: bool  # stands after the ':-' of its statement


Line = list[Item]


def lay_out(items: Sequence[Item]) -> str:
    """The text of a program that is made of these."""
    blocks: list[list[Line]] = [[]]  # lines without blank ones between them
    for line in _lines(items):
        if blocks[-1] and line[0].starts and line[0].breaks > 1:
            blocks.append([])
        blocks[-1] += _narrow(line)
    for block in blocks:
        for kind in (_rule_sign, _trailing_comment):
            _align(block, kind)
    return "\n".join("".join(f"{_written(line)}\n" for line in block) for block in blocks)


def _lines(items: Sequence[Item]) -> Iterator[Line]:
    """The items by the lines that they were written in; blocks of Python stand alone."""
    line = list(items[:1])
    for before, item in pairwise(items):
        alone = "code" in (before.kind, item.kind) and item.kind != "comment"
        if item.breaks or before.kind == "comment" or alone:
            yield line
            line = []
        line.append(item)
    if line:
        yield line


# --- narrow lines -------------------------------------------------------------------------------


def _narrow(line: Line) -> Iterator[Line]:
    """The line, broken as often as it takes to make it narrow, where it can be broken."""
    while (at := _break(line)) is not None:
        yield line[:at]
        line = line[at:]
    yield line


def _break(line: Line) -> int | None:
    """Where to break a line that is too wide: outside of as many brackets as possible."""
    widths = _widths(line)
    last = len(line) - (line[-1].kind == "comment")  # a comment at the end may stand out
    if widths[last - 1] <= WIDTH or any(item.kind in ("block", "code") for item in line):
        return None
    places = [at for at in range(1, last) if _may_break(line[at - 1], line[at])]
    fitting = [at for at in places if widths[at - 1] <= WIDTH]
    if not fitting:
        return places[0] if places else None
    best = min(_rank(line, at) for at in fitting)
    return max(at for at in fitting if _rank(line, at) == best)


def _widths(line: Line) -> list[int]:
    """How wide the line is up to the end of each item."""
    sizes = [len(item.space) + len(item.text) for item in line]
    sizes[0] = _indent(line[0]) + len(line[0].text)
    return list(accumulate(sizes))


def _may_break(before: Item, item: Item) -> bool:
    return item.starts or before.text in (",", ";", ":-")


def _rank(line: Line, at: int) -> tuple[bool, int]:
    return (not line[at].starts, line[at - 1].depth)


def _indent(first: Item) -> int:
    """How far a line stands in."""
    if first.starts:
        return 0
    if first.body:
        return _STEP * (1 + first.depth)
    return _STEP * (first.depth or first.text not in CLOSING)


# --- columns ------------------------------------------------------------------------------------


def _rule_sign(line: Line, run: Sequence[Line]) -> int | None:
    """Which item is the ``:-`` of a rule that begins here, in one column with those before it."""
    at = next((at for at, item in enumerate(line) if item.text == ":-"), None)
    if not at or not line[0].starts or line[0].kind == "block":
        return None
    above = run[-1] if run else None
    signs = [item.column for item in above or () if item.text == ":-"]
    return at if above is None or signs[0] == line[at].column else None


def _trailing_comment(line: Line, run: Sequence[Line]) -> int | None:
    """Which item is a comment after something else."""
    return len(line) - 1 if len(line) > 1 and line[-1].kind == "comment" else None


def _align(block: list[Line], find: Callable[[Line, Sequence[Line]], int | None]) -> None:
    """Put what ``find`` finds in neighbouring lines into one column, where that is narrow."""
    run: list[Line] = []
    for line in [*block, []]:
        if run and (not line or find(line, run) is None):
            _pad(run, [find(other, ()) or 0 for other in run])
            run = []
        if line and find(line, run) is not None:
            run.append(line)


def _pad(run: list[Line], places: list[int]) -> None:
    starts = [_widths(line)[at] - len(line[at].text) for line, at in zip(run, places, strict=True)]
    column = max(starts)
    padded = [_widths(line)[-1] + column - start for line, start in zip(run, starts, strict=True)]
    if len(run) == 1 or max(padded) > WIDTH:
        return
    for line, at, start in zip(run, places, starts, strict=True):
        line[at] = line[at]._replace(space=line[at].space + " " * (column - start))


def _written(line: Line) -> str:
    """The text of a line."""
    words = "".join(item.space + item.text for item in line[1:])
    return " " * _indent(line[0]) + line[0].text + words
