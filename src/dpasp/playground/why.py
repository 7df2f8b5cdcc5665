"""Why an answer is what it is, as a tree that the page unfolds.

This is the one place where the page's reasons are made, from ``program.explain``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpasp.display.html import matters
from dpasp.inference.answers import interval_text
from dpasp.inference.explain import Contribution, Way
from dpasp.limits import Limits
from dpasp.program import Program

TOP = 8  # total choices


@dataclass(frozen=True, slots=True)
class Reason:
    """A line of the tree with what is below it; ``share`` is drawn as a bar."""

    text: str
    note: str = ""
    share: float | None = None
    below: tuple[Reason, ...] = ()
    open: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "text": self.text,
            "note": self.note,
            "share": self.share,
            "open": self.open,
            "below": [reason.to_dict() for reason in self.below],
        }


def why(program: Program, query: str, semantics: str, limits: Limits) -> Reason:
    """The reasons of one answer."""
    (found,) = program.explain(query, semantics=semantics, top=TOP, limits=limits)
    parts = []
    if found.ways:
        few = "" if found.complete else ", of those that were looked at"
        note = f"the most probable first{few}"
        parts.append(
            Reason("the ways it comes about", note, None, tuple(map(_way, found.ways)), True)
        )
    else:
        parts.append(Reason("it cannot come about", "no total choice is behind it"))
    some = [one for one in found.contributions if matters(one, found.answer)]
    if some:
        given = tuple(map(_contribution, some))
        parts.append(Reason("what each choice does to it", "", None, given, True))
    return Reason(f"ℙ({query})", interval_text(found.answer.numbers), None, tuple(parts), True)


def _way(way: Way) -> Reason:
    taken = [value for value in way.values if not value.startswith(("not ", "none of "))]
    left = [value for value in way.values if value not in taken]
    below = (Reason("left out", ", ".join(left)),) if left else ()
    sure = "" if way.sure else " · only in some of its models"
    note = f"{100 * way.share:.3g} % of it · probability {way.probability:.4g}{sure}"
    return Reason(", ".join(taken) or "nothing happens", note, way.share, below)


def _contribution(one: Contribution) -> Reason:
    after = "impossible" if one.posterior is None else f"{one.posterior:.4g}"
    certain = interval_text(one.certain) if one.certain else "impossible"
    note = (
        f"probability {one.prior:.4g}, given the query {after}; if certain, the answer is {certain}"
    )
    return Reason(one.value, note, one.posterior)
