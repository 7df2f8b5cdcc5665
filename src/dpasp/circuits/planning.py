"""What compiling would work on, in a form that a person can read before it is done."""

from __future__ import annotations

from dpasp.circuits.compiler import PartPlan
from dpasp.dataclass import dataclass

_WAYS = {"diagram": "diagrams"}  # in words, where they differ


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a program and its independent parts, the widest first.

    >>> tries = ("diagram, narrow", "diagram, reverse narrow", "tables, narrow")
    >>> print(Plan(9, (PartPlan(5, 2, 30, 4, tries), PartPlan(2, 0, 3, 1, tries))))
    9 choices, of which 7 matter, in 2 parts; the widest has 5 choices, 2 inner variables, \
width about 4; trying diagrams (narrow), tables (narrow)
    >>> print(Plan(9, (PartPlan(9, 0, 30, 5, ("elimination, tree",), 1214),)))
    9 choices in 1 part; width about 5; elimination, by tables of 1,214 entries in all
    """

    choices: int
    parts: tuple[PartPlan, ...]

    def __str__(self) -> str:
        if not self.parts:
            return f"{_count(self.choices, 'choice')}, none of which matters"
        text = _count(self.choices, "choice")
        matter = sum(part.choices for part in self.parts)
        if matter < self.choices:
            text += f", of which {matter} matter{'s' if matter == 1 else ''},"
        text += f" in {_count(len(self.parts), 'part')}"
        widest = self.parts[0]
        size = [_count(widest.choices, "choice")]
        if widest.guesses:
            size.append(_count(widest.guesses, "inner variable"))
        size.append(f"width about {widest.width}")
        if len(self.parts) > 1:
            text += f"; the widest has {', '.join(size)}"
        else:
            text += f"; {', '.join(size[1:])}"
        if widest.entries:
            return f"{text}; elimination, by tables of {widest.entries:,} entries in all"
        return f"{text}; trying {_tries(widest.tries)}"

    def _repr_html_(self) -> str:
        from dpasp.display.html import plan_html

        return plan_html(self)


def _tries(tries: tuple[str, ...]) -> str:
    """Ways with their orders; an order and its reverse are one."""
    orders: dict[str, dict[str, None]] = {}
    for way, order in (text.split(", ") for text in tries):
        orders.setdefault(way, {})[order.removeprefix("reverse ")] = None
    return ", ".join(f"{_WAYS.get(way, way)} ({', '.join(names)})" for way, names in orders.items())


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"
