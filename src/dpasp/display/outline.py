"""Reasons as lines with lines below them: what text, pages, pictures and the playground show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpasp.inference.answers import Answer, bounds_text, number_text
from dpasp.inference.explain import (
    Contribution,
    Explanation,
    Inconsistencies,
    Inconsistency,
    Sensitivity,
    Tree,
    Way,
)

SAME = 1e-12  # numbers that differ by less are the same
MOST = 20  # lines of one kind


@dataclass(frozen=True, slots=True)
class Reason:
    """A line with what is below it; ``share`` is drawn as a bar, ``kind`` gives a colour."""

    text: str
    note: str = ""
    share: float | None = None
    below: tuple[Reason, ...] = ()
    open: bool = False
    kind: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "text": self.text,
            "note": self.note,
            "share": self.share,
            "open": self.open,
            "kind": self.kind,
            "below": [reason.to_dict() for reason in self.below],
        }


def explanation(found: Explanation) -> Reason:
    """Everything about one answer."""
    parts = [*_ways(found), *_trees(found), *_contributions(found), *_numbers(found)]
    if not parts:
        parts = [Reason("it cannot come about", "no total choice is behind it")]
    return Reason(
        f"ℙ({found.answer.query})", bounds_text(_ends(found.answer)), None, tuple(parts), True
    )


def _ends(answer: Answer) -> list[float]:
    return [float(number) for number in answer.numbers]


def _ways(found: Explanation) -> Iterator[Reason]:
    if not found.ways:
        yield Reason("it cannot come about", "no total choice is behind it")
        return
    yield Reason(
        "what must be chosen for it", ways_note(found), None, tuple(map(_way, found.ways)), True
    )


def ways_note(found: Explanation) -> str:
    """How much the ways cover, and whether they are surely the most probable ones."""
    covered = "" if found.covered is None else f"together {100 * found.covered:.3g} % of it"
    few = "" if found.complete else "of those that were looked at"
    overlap = "they may overlap" if len(found.ways) > 1 else ""
    return ", ".join(filter(None, (covered, overlap, few)))


def _way(way: Way) -> Reason:
    share = "" if way.share is None else f"{100 * way.share:.3g} % of it · "
    sure = "" if way.sure else " · only in some of its models"
    note = f"{share}probability {bounds_text(way.bounds)}{sure}"
    return Reason(", ".join(way.values) or "nothing", note, way.share)


def _trees(found: Explanation) -> Iterator[Reason]:
    if found.tree is not None:
        yield Reason("why it holds", where(found.tree), None, (tree(found.tree),), True)
    if found.why_not is not None:
        yield Reason("why not", where(found.why_not), None, (tree(found.why_not),))


def where(found: Tree) -> str:
    """Which model a tree is about."""
    if not found.chosen:
        return "in a model"
    taken = [one for one in found.chosen if not one.startswith(("not ", "none of "))]
    if not taken:
        return "in a model where nothing is chosen"
    rest = " and nothing else" if len(taken) < len(found.chosen) else ""
    return f"in a model where {', '.join(taken)}{rest} {'is' if len(taken) == 1 else 'are'} chosen"


def tree(found: Tree) -> Reason:
    """The reasons of a literal."""
    below = tuple(map(tree, found.below))
    text = f"{found.literal} in all" if found.kind == "all" else found.words
    return Reason(text, found.rule, None, below, True, found.kind)


def _contributions(found: Explanation) -> Iterator[Reason]:
    some = [one for one in found.contributions if matters(one, found.answer)]
    if some:
        given = tuple(map(_contribution, some[:MOST]))
        yield Reason("what each choice does to it", _more(some), None, given)


def _contribution(one: Contribution) -> Reason:
    after = "impossible" if one.posterior is None else f"{one.posterior:.4g}"
    certain = bounds_text(one.certain) if one.certain else "impossible"
    note = (
        f"probability {one.prior:.4g}, given the query {after}; if certain, the answer is {certain}"
    )
    return Reason(one.value, note, one.posterior)


def matters(one: Contribution, answer: Answer) -> bool:
    """Whether a choice has to do with an answer: one of both would change with the other."""
    if one.posterior is None or len(one.certain) != len(answer.numbers):
        return True
    pairs = [(one.posterior, one.prior), *zip(one.certain, answer.numbers, strict=True)]
    return any(abs(float(a) - float(b)) > SAME for a, b in pairs)


def _numbers(found: Explanation) -> Iterator[Reason]:
    some = moving(found)
    if some:
        lines = tuple(_number(one, found.target) for one in some[:MOST])
        yield Reason("what its numbers do to it", _more(some), None, lines)


def moving(found: Explanation) -> list[Sensitivity]:
    """The numbers that the answer changes with."""
    return [
        one
        for one in found.sensitivity
        if any(abs(slope) > SAME for slope in one.slope)
        or any(value is not None for value in one.reach)
    ]


def _number(one: Sensitivity, target: float | None) -> Reason:
    note = f"line {one.line} · slope {slopes_text(one.slope)}"
    if target is not None:
        note += f" · {reach_text(one, target)}"
    return Reason(one.name, note)


def slopes_text(slope: Sequence[float]) -> str:
    """One slope, or that of the lower and of the upper value where they differ."""
    if len(set(slope)) == 1:
        return number_text(slope[0])
    return f"{number_text(slope[0])} of the lower, {number_text(slope[-1])} of the upper value"


def reach_text(one: Sensitivity, target: float) -> str:
    """What a number must be for the answer to be the target."""
    texts = ["no value" if value is None else number_text(value) for value in one.reach]
    if len(texts) == 2 and one.reach[0] != one.reach[1]:
        return f"lower value {target:g} at {texts[0]}, upper value {target:g} at {texts[1]}"
    return f"{target:g} at {texts[0]}"


def _more(some: Sequence[object]) -> str:
    return f"the first {MOST} of {len(some)}" if len(some) > MOST else ""


# --- what leaves no model ----------------------------------------------------------------------


def inconsistencies(found: Inconsistencies) -> Reason:
    """All reasons why there is no model."""
    lines = tuple(map(inconsistency, found))
    return Reason(headline(found), "", None, lines, True)


def headline(found: Inconsistencies) -> str:
    """What the reasons are about, in a sentence."""
    what = f"that satisfies {', '.join(found.evidence)}" if found.evidence else ""
    model = "stable model" if found.collapses else "model"
    if not found.found and found.complete:
        return " ".join(filter(None, (f"every total choice has a {model}", what)))
    text = f"total choices of probability {found.mass:.6g} have no {model}"
    few = "" if found.complete else " (the most probable reasons that were found in time)"
    return " ".join(filter(None, (text, what))) + few


def inconsistency(found: Inconsistency) -> Reason:
    """One reason why there is no model."""
    chosen = ", ".join(found.values)
    text = f"when {chosen}" if chosen else "whatever is chosen"
    lines = [
        Reason(f"line {rule.line}: {rule.text}", _values(rule.text, rule.instance))
        for rule in found.rules
    ]
    lines += [Reason(f"the evidence {one}") for one in found.evidence]
    lines += [Reason(f"{one} is certain", kind="fact") for one in found.facts]
    note = f"probability {bounds_text(found.bounds)}"
    return Reason(text, note, None, tuple(lines), True, "undefined")


def _values(text: str, instance: str) -> str:
    return "" if text == instance else f"here: {instance}"
