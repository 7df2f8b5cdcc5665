r"""Canonical layout of a program's text; nothing but white space changes.

Spaces between tokens follow from the tokens on both sides and the bracket around them; where styles
differ (``f(a,b)`` or ``f(a, b)``, ``X+1`` or ``X + 1``), the author's is kept, consistently within
a bracket. Lines are broken where the author broke them and where they would be too wide. Comments
after neighbouring lines are aligned, and so are the ``:-`` of neighbouring rules that were aligned
before. ``#python`` and ``#script`` blocks stay as they are. A missing final dot of a question is
added.

>>> print(formatted("0.3 :: a( X ):-b(X),\n  not c. %why\n#query a(1)"), end="")
0.3::a(X) :- b(X),
    not c.  %why
#query a(1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Error, ProgramError
from dpasp.language.arguments import text_given
from dpasp.language.reader import read_readable
from dpasp.language.statements.statement import starting_words
from dpasp.language.text import Piece, Token
from dpasp.language.text.lexer import CLOSING, OPENING, cut_statements, tokens
from dpasp.language.text.source import Reach
from dpasp.writing import path_given


def formatted(text: str, file: str = "<program>") -> str:
    r"""Return the text of a program in canonical layout.

    Raises :class:`ProgramError` if it cannot be read. The result is read again and compared with
    the original program before it is returned.

    >>> formatted("0.3 ::a:-b .")
    '0.3::a :- b.\n'
    """
    file, text = path_given(file), text_given(text, "a program")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    alone = {file: Reach()}  # do not read included files
    program, errors = read_readable([(file, text)], reaches=alone)
    mistakes = [error for error in errors if error.code != "file-not-allowed"]
    if mistakes:
        raise ProgramError(mistakes)
    items = _items(text)
    result = lay_out(items)
    if result == text:
        return text
    again, wrong = read_readable([(file, result)], reaches=alone)
    same = again == program and len(wrong) == len(errors)
    if not same or [item.text for item in items] != [item.text for item in _items(result)]:
        message = f"formatting {file} would change its meaning, so it is left as it is"
        help = "this is a bug in dPASP: please report it with the program"
        raise Error(Diagnostic("format", message, help=help))
    return result


def _items(text: str) -> list[Item]:
    cut = cut_statements(text, starting_words())
    found: list[tuple[int, int, Item]] = []
    for piece in cut.pieces:
        for token, space, depth, body in _statement(text, piece):
            first = token.start == piece.start
            item = Item(token.kind, token.text, " " if first else space, 0, 0, first, depth, body)
            found.append((token.start, token.end, item))
    for start, end in cut.comments:
        said = text[start:end]
        kind, space = ("block", " ") if said.startswith("%*") else ("comment", "  ")
        found.append((start, end, Item(kind, said.rstrip(), space, 0, 0, True, 0, False)))
    found.sort(key=lambda placed: placed[0])
    for at in range(len(found) - 2, -1, -1):
        (start, end, item), after = found[at], found[at + 1][2]
        if item.kind in ("block", "comment") and not after.starts:  # inside a statement
            inside = item._replace(starts=False, depth=after.depth, body=after.body)
            found[at] = (start, end, inside)
    ends = [0, *(end for _, end, _ in found)]
    return [
        item._replace(
            breaks=text.count("\n", before, start), column=start - (text.rfind("\n", 0, start) + 1)
        )
        for before, (start, _, item) in zip(ends, found, strict=False)
    ]


def _statement(text: str, piece: Piece) -> Iterator[tuple[Token, str, int, bool]]:
    """The tokens of a statement: each with its space, bracket depth, whether it is in the body."""
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


# --- spaces between tokens ----------------------------------------------------------------------

COMPARISONS = frozenset({"=", "==", "!=", "<", ">", "<=", ">="})
OPERATORS = frozenset({"+", "-", "*", "/", "\\", "**", "^", "&", "~"})
AGGREGATES = frozenset({"#count", "#sum", "#min", "#max"})
_SPACED = COMPARISONS | {":-", ":~", ":"}
_TIGHT_BEFORE = frozenset({",", ";", ")", "]", ".", "::", ".."})
_TIGHT_AFTER = frozenset({"(", "[", "::", ".."})
_OPERANDS = frozenset({"name", "number", "string", "variable", "call"})
_SIGNATURES = frozenset({"#show", "#defined", "#project"})
_SIGNS = frozenset({"not", "undef"})  # words before an atom


def spaces(tokens: Sequence[Token]) -> list[str]:
    """The space (or none) before each token of a statement."""
    spacer = _Spacer(tokens)
    return ["" if not index or not spacer.space(index) else " " for index in range(len(tokens))]


@dataclass
class _Bracket:
    """An open bracket: its token, and whether its first separators have a space."""

    index: int
    first: dict[str, bool] = field(default_factory=dict)


class _Spacer:
    """The tokens of a statement with the bracket around each."""

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
        """Whether there was space before a token."""
        if not 0 < index < len(self.tokens):
            return False
        return self.tokens[index - 1].end < self.tokens[index].start

    def space(self, index: int) -> bool:
        """Whether to put a space before a token that is not the first."""
        left, right = self.tokens[index - 1], self.tokens[index]
        if right.text == "}":
            return self.written(self.partner.get(index, index) + 1)
        if right.text == "[" and left.text == ".":
            return True
        if self.tokens[0].text == "#name" and ":" in (left.text, right.text):
            return left.text == ":"  # as in a dictionary
        if right.text in _TIGHT_BEFORE or left.text in _TIGHT_AFTER:
            return False
        if left.text in (",", ";"):
            around = self.inside[index - 1]
            return around is None or around.first[left.text]
        if self._is_spaced(index) or self._is_spaced(index - 1):
            return True
        if left.text == "{":
            return self.written(index)
        if right.text in OPERATORS:
            return self._before_operator(index)
        if left.text in OPERATORS:
            return self._after_operator(index - 1)
        return self._between_operands(left, right, self.written(index))

    def _is_spaced(self, index: int) -> bool:
        """Whether a token always has a space on both sides."""
        text = self.tokens[index].text
        if text in _SPACED:
            return True
        around = self.inside[index]
        if text == "|":  # of a question, not of an absolute value
            if self.tokens[0].text == "(":  # of a statistical statement
                outer = around is not None and self.inside[around.index] is None
                return outer and not any(
                    t.text == "|" and self.inside[at] is around
                    for at, t in enumerate(self.tokens[:index])
                )
            asks = self.tokens[0].text in starting_words().open_ended
            return asks and (around is None or around.index == 1)
        if text in ("~", "∼"):  # of data, not a complement
            return around is None and index > 0 and self.tokens[index - 1].text == ")"
        return False

    def _is_binary(self, index: int) -> bool:
        """Whether an operand ends before an operator."""
        before = self.tokens[index - 1]
        if before.kind == "directive":
            return before.text.startswith(("#inf", "#sup"))
        word = before.kind in _OPERANDS and before.text not in _SIGNS
        return index > 0 and (word or before.text in CLOSING)

    def _is_wide(self, index: int) -> bool:
        """Whether an operator has space around it; never in ``#show a/1``."""
        signature = self.tokens[0].text in _SIGNATURES and self.inside[index] is None
        return self.written(index) and not signature

    def _before_operator(self, index: int) -> bool:
        left = self.tokens[index - 1]
        if left.kind == "directive":
            return left.text not in AGGREGATES  # #sum+{…}, but #query -a
        if left.text in OPERATORS:
            return self._is_binary(index - 1) and self._is_wide(index - 1)
        return left.text in _SIGNS or self._is_wide(index)

    def _after_operator(self, index: int) -> bool:
        """The same after a binary operator as before it; none after a sign."""
        if self._is_binary(index):
            return self._is_wide(index)
        unclear = index > 0 and self.tokens[index - 1].text in ("|", "?")
        return unclear and self.written(index + 1)

    def _between_operands(self, left: Token, right: Token, written: bool) -> bool:
        """Between two words, or before an opening bracket."""
        if left.text in _SIGNS:
            return True
        if right.text == "(" and left.kind in ("name", "call"):
            return False
        if right.text == "{":
            return left.text not in AGGREGATES
        if right.text in OPENING:
            return written
        if right.text == "?" and self.tokens[0].text in ("#map", "#max"):
            return False
        if left.kind == "directive" or right.kind in ("directive", "call"):
            return True
        words = _OPERANDS - {"number"}  # 0x1F is two tokens
        if left.text in CLOSING and right.kind in _OPERANDS:
            return True
        if (left.kind in words and right.kind in words) or "string" in (left.kind, right.kind):
            return True
        return written


# --- lines --------------------------------------------------------------------------------------

WIDTH: Final = 100
_STEP: Final = 4  # indentation inside a statement


class Item(NamedTuple):
    """A token, comment or block of Python: its position and its context."""

    kind: str  # of its token; or comment, block (%* … *%), code
    text: str
    space: str  # before it, unless it begins a line
    breaks: int  # line breaks before it
    column: int  # in the original line, from 0
    starts: bool  # begins a statement, or is between two
    depth: int  # of brackets
    body: bool  # after the ':-' of its statement


Line = list[Item]


def lay_out(items: Sequence[Item]) -> str:
    """The text of a program made of these items."""
    blocks: list[list[Line]] = [[]]  # separated by blank lines
    for line in _lines(items):
        if blocks[-1] and line[0].starts and line[0].breaks > 1:
            blocks.append([])
        blocks[-1] += _narrow(line)
    for block in blocks:
        for kind in (_rule_sign, _trailing_comment):
            _align(block, kind)
    return "\n".join("".join(f"{_written(line)}\n" for line in block) for block in blocks)


def _lines(items: Sequence[Item]) -> Iterator[Line]:
    """The items by original line; blocks of Python are on their own."""
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
    """The line, broken until it is narrow enough or cannot be broken."""
    while (at := _break(line)) is not None:
        yield line[:at]
        line = line[at:]
    yield line


def _break(line: Line) -> int | None:
    """Where to break a line that is too wide: inside as few brackets as possible."""
    widths = _widths(line)
    last = len(line) - (line[-1].kind == "comment")  # a trailing comment may be wider
    if widths[last - 1] <= WIDTH or any(item.kind in ("block", "code") for item in line):
        return None
    pairs = enumerate(pairwise(line[:last]), 1)
    places = [at for at, (a, b) in pairs if b.starts or a.text in (",", ";", ":-")]
    fitting = [at for at in places if widths[at - 1] <= WIDTH]
    if not fitting:
        return places[0] if places else None
    return min(fitting, key=lambda at: (not line[at].starts, line[at - 1].depth, -at))


def _widths(line: Line) -> list[int]:
    """The width of the line up to the end of each item."""
    sizes = [len(item.space) + len(item.text) for item in line]
    sizes[0] = _indent(line[0]) + len(line[0].text)
    return list(accumulate(sizes))


def _indent(first: Item) -> int:
    if first.starts:
        return 0
    if first.body:
        return _STEP * (1 + first.depth)
    return _STEP * (first.depth or first.text not in CLOSING)


# --- columns ------------------------------------------------------------------------------------


def _rule_sign(line: Line, run: Sequence[Line]) -> int | None:
    """Index of the ``:-`` of a rule that begins here, in the same column as those before it."""
    at = next((at for at, item in enumerate(line) if item.text == ":-"), None)
    if not at or not line[0].starts or line[0].kind == "block":
        return None
    above = run[-1] if run else None
    signs = [item.column for item in above or () if item.text == ":-"]
    return at if above is None or signs[0] == line[at].column else None


def _trailing_comment(line: Line, run: Sequence[Line]) -> int | None:
    """Index of a comment after something else."""
    return len(line) - 1 if len(line) > 1 and line[-1].kind == "comment" else None


def _align(block: list[Line], find: Callable[[Line, Sequence[Line]], int | None]) -> None:
    """Align what ``find`` finds in neighbouring lines, unless that makes them too wide."""
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
    words = "".join(item.space + item.text for item in line[1:])
    return " " * _indent(line[0]) + line[0].text + words
