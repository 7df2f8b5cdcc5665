"""The arguments of a neural head: plain ones, the set of values, the set of outcomes.

``f(X, {a, b}; {0, ..., 8})`` reaches clingo as ``f(X, (a, b), (0 .. 8))``.
"""

from __future__ import annotations

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.language.text.clingo_text import Buffer
from dpasp.language.text.lexer import Cursor, Token

_SETS = "write f(X, {a,b}), or f(X, {a,b}; {0..8}) for several outcomes"


@dataclass(slots=True)
class _Argument:
    """An argument of a neural head: its first token, and whether it is a set."""

    start: Token
    is_set: bool
    commas: int = 0


@dataclass(slots=True)
class HeadArguments:
    """The arguments of a neural head; outcomes follow a ';'."""

    items: list[_Argument]
    semicolon: int | None = None  # number of arguments before it

    def values(self) -> int | None:
        """The index of the set of values, if there is one."""
        cut = len(self.items) if self.semicolon is None else self.semicolon
        return cut - 1 if cut and self.items[cut - 1].is_set else None


def read_arguments(cursor: Cursor, buffer: Buffer) -> HeadArguments:
    """Rewrite the arguments of a neural head as clingo terms."""
    cursor.next()
    result = HeadArguments([])
    while True:
        start = cursor.peek()
        argument = _Argument(start, is_set=start.text == "{")
        if argument.is_set:
            argument.commas = _set(cursor, buffer)
        result.items.append(argument)
        ending = _rest_of_argument(cursor, argument)
        if ending.text == ")":
            break
        if ending.text == ";":
            if result.semicolon is not None:
                cursor.fail("neural-sets", "a second ';' in a neural head", ending, _SETS)
            result.semicolon = len(result.items)
            buffer.put(ending.start, ending.end, ",")
    _check_sets(cursor, result)
    return result


def _rest_of_argument(cursor: Cursor, argument: _Argument) -> Token:
    """Consume the rest of an argument and the ',', ';' or ')' after it."""
    while cursor.peek().text not in (",", ";", ")"):
        token = cursor.peek()
        if argument.is_set or token.text == "{":
            message = "a set is an argument of its own"
            cursor.fail("neural-sets", message, token, _SETS)
        if token.text == "[":
            message = "the values of a network stand in braces"
            cursor.fail("neural-sets", message, token, "write {a, b}")
        cursor.skip_group()
    return cursor.next()


def _set(cursor: Cursor, buffer: Buffer) -> int:
    """Rewrite ``{a, b}`` as ``(a, b)``; return how many commas are left in it."""
    opening, commas = cursor.next(), 0
    buffer.put(opening.start, opening.end, "(")
    while True:
        token = cursor.peek()
        if token.text in ("}", ","):
            where = (opening.start, token.end)
            message = "a value is missing in this set"
            cursor.fail("neural-sets", message, where, "write the values, as in {a, b} or {0..9}")
        if token.kind == "ellipsis":
            _ellipsis(cursor, buffer)
            commas -= 1  # it joins two elements
        while cursor.peek().text not in (",", ";", "}"):
            if (part := cursor.peek()).kind == "variable":
                message = f"{part.text} is a variable, but the values of a network are fixed"
                help = "write the values, or use a constant: {0..n} with #const n = 9."
                cursor.fail("neural-values", message, part, help)
            cursor.skip_group()
        ending = cursor.next()
        if ending.text == ";":
            cursor.fail("neural-sets", "the values of a set have ',' between them", ending, _SETS)
        if ending.text == "}":
            buffer.put(ending.start, ending.end, ")")
            return commas
        commas += 1


def _ellipsis(cursor: Cursor, buffer: Buffer) -> None:
    """Rewrite ``0, ..., 9`` (the ellipsis is next) as ``0 .. 9``."""
    before, comma, dots = cursor.peek(-2), cursor.peek(-1), cursor.next()
    after, last = cursor.next(), cursor.peek()
    if not (before.text.isdigit() and after.text == "," and last.text.isdigit()):
        message = "an ellipsis stands between two integers"
        cursor.fail("ellipsis", message, dots, "write {0, ..., 9}, or {0..9}")
    earlier, between = cursor.peek(-6), cursor.peek(-5)  # in 'earlier, before, ..., last'
    if between.text == "," and earlier.text.isdigit():
        step = float(before.text) - float(earlier.text)
        if step != 1:
            message = f"an ellipsis counts by ones, not by {step:g}"
            cursor.fail("ellipsis", message, dots, "write out all the values")
    buffer.put(comma.start, after.end, "..")


def _check_sets(cursor: Cursor, arguments: HeadArguments) -> None:
    """Values must be the last argument (before the ';'), outcomes the only one after it."""
    items, cut = arguments.items, arguments.semicolon
    first = items if cut is None else items[:cut]
    for argument in first[:-1]:
        if argument.is_set:
            message = "the set of values is the last argument of a neural head"
            cursor.fail("neural-sets", message, argument.start, _SETS)
    if cut is not None and (len(items) != cut + 1 or not items[cut].is_set):
        message = "one set of outcomes follows the ';' in a neural head"
        wrong = items[cut] if not items[cut].is_set else items[cut + 1]
        cursor.fail("neural-sets", message, wrong.start, _SETS)


def sorted_arguments(
    nodes: list[AST], arguments: HeadArguments
) -> tuple[tuple[AST, ...], tuple[AST, ...], tuple[AST, ...]]:
    """The arguments, values and outcomes of a neural head."""
    cut, at = arguments.semicolon, arguments.values()
    values = () if at is None else _elements(nodes[at], arguments.items[at])
    outcomes = () if cut is None else _elements(nodes[cut], arguments.items[cut])
    last = at if at is not None else cut
    return tuple(nodes[:last]), values, outcomes


def _elements(node: AST, argument: _Argument) -> tuple[AST, ...]:
    return tuple(node.arguments) if argument.commas else (node,)
