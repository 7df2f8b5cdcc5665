"""Items → lines: where lines end, how far they stand in, and what stands in one column.

Lines are broken where their author broke them, and where they would be too wide otherwise.
Comments after neighbouring lines stand in one column, and so do the ``:-`` of neighbouring
rules that stood in one column before.

>>> words = [("symbol", "a", 0), ("symbol", ".", 1), ("symbol", "b", 3), ("symbol", ".", 4)]
>>> items = [
...     Item(kind, text, "", int(text == "b"), column, text != ".", 0, False)
...     for kind, text, column in words
... ]
>>> lay_out(items)
'a.\\nb.\\n'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from dpasp.language.text.brackets import CLOSING

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
