"""Reasons as lines with lines below them: what text, pages, pictures and the playground show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.inference.answers import Answer, bounds_text, decimal_text
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


def explanation_outline(explanation: Explanation) -> Reason:
    """Everything about one answer."""
    parts = [
        *_ways(explanation),
        *_trees(explanation),
        *_contributions(explanation),
        *_numbers(explanation),
    ]
    if not parts:
        parts = [Reason("it cannot come about", "no total choice is behind it")]
    return Reason(
        f"ℙ({explanation.answer.query})",
        bounds_text(_ends(explanation.answer)),
        None,
        tuple(parts),
        True,
    )


def _ends(answer: Answer) -> list[float]:
    return [float(number) for number in answer.numbers]


def _ways(explanation: Explanation) -> Iterator[Reason]:
    if not explanation.ways:
        yield Reason("it cannot come about", "no total choice is behind it")
        return
    yield Reason(
        "what must be chosen for it",
        ways_note(explanation),
        None,
        tuple(map(_way, explanation.ways)),
        True,
    )


def ways_note(explanation: Explanation) -> str:
    """How much the ways cover, and whether they are surely the most probable ones."""
    covered = (
        "" if explanation.covered is None else f"together {100 * explanation.covered:.3g} % of it"
    )
    few = "" if explanation.complete else "of those that were looked at"
    overlap = "they may overlap" if len(explanation.ways) > 1 else ""
    return ", ".join(filter(None, (covered, overlap, few)))


def _percent(way: Way) -> str:
    """The share of a way, which may be below the range of floating-point numbers."""
    if way.share or way.log_share is None or way.log_share == -math.inf:
        return f"{100 * (way.share or 0.0):.3g}"
    return decimal_text(0.0, way.log_share + 2)


def _way(way: Way) -> Reason:
    share = "" if way.share is None else f"{_percent(way)} % of it · "
    sure = "" if way.sure else " · only in some of its models"
    note = f"{share}probability {bounds_text(way.bounds, way.logs)}{sure}"
    return Reason(", ".join(way.values) or "nothing", note, way.share)


def _trees(explanation: Explanation) -> Iterator[Reason]:
    if explanation.tree is not None:
        yield Reason(
            "why it holds", where(explanation.tree), None, (tree_outline(explanation.tree),), True
        )
    if explanation.why_not is not None:
        yield Reason(
            "why not", where(explanation.why_not), None, (tree_outline(explanation.why_not),)
        )


def where(tree: Tree) -> str:
    """Which model a tree is about."""
    if not tree.chosen:
        return "in a model"
    taken = [value for value in tree.chosen if not value.startswith(("not ", "none of "))]
    if not taken:
        return "in a model where nothing is chosen"
    rest = " and nothing else" if len(taken) < len(tree.chosen) else ""
    return f"in a model where {', '.join(taken)}{rest} {'is' if len(taken) == 1 else 'are'} chosen"


def tree_outline(tree: Tree) -> Reason:
    """The reasons of a literal."""
    below = tuple(map(tree_outline, tree.below))
    text = f"{tree.literal} in all" if tree.kind == "all" else tree.words
    return Reason(text, tree.rule, None, below, True, tree.kind)


def _contributions(explanation: Explanation) -> Iterator[Reason]:
    some = contributing(explanation)
    if some:
        lines = tuple(map(_contribution, some[:MOST]))
        yield Reason("what each choice does to it", _more(some), None, lines)


def _contribution(contribution: Contribution) -> Reason:
    after = "impossible" if contribution.posterior is None else f"{contribution.posterior:.4g}"
    certain = bounds_text(contribution.certain) if contribution.certain else "impossible"
    prior = f"probability {contribution.prior:.4g}"
    note = f"{prior}, given the query {after}; if certain, the answer is {certain}"
    return Reason(contribution.value, note, contribution.posterior)


def contributing(explanation: Explanation) -> list[Contribution]:
    """The choices that have to do with the answer."""
    answer = explanation.answer
    return [choice for choice in explanation.contributions if _matters(choice, answer)]


def _matters(contribution: Contribution, answer: Answer) -> bool:
    """Whether a choice and an answer depend on each other."""
    if contribution.posterior is None or len(contribution.certain) != len(answer.numbers):
        return True
    pairs = [
        (contribution.posterior, contribution.prior),
        *zip(contribution.certain, answer.numbers, strict=True),
    ]
    return any(abs(float(a) - float(b)) > SAME for a, b in pairs)


def _numbers(explanation: Explanation) -> Iterator[Reason]:
    some = moving(explanation)
    if some:
        lines = tuple(_number(number, explanation.target) for number in some[:MOST])
        yield Reason("what its numbers do to it", _more(some), None, lines)


def moving(explanation: Explanation) -> list[Sensitivity]:
    """The numbers that the answer changes with."""
    return [
        number
        for number in explanation.sensitivity
        if any(abs(slope) > SAME for slope in number.slope)
        or any(value is not None for value in number.reach)
    ]


def _number(number: Sensitivity, target: float | None) -> Reason:
    note = f"line {number.line} · slope {slopes_text(number.slope)}"
    if target is not None:
        note += f" · {reach_text(number, target)}"
    return Reason(number.name, note)


def slopes_text(slope: Sequence[float]) -> str:
    """One slope, or that of the lower and of the upper value where they differ."""
    if len(set(slope)) == 1:
        return decimal_text(slope[0])
    return f"{decimal_text(slope[0])} of the lower, {decimal_text(slope[-1])} of the upper value"


def reach_text(number: Sensitivity, target: float) -> str:
    """What a number must be for the answer to be the target."""
    texts = ["no value" if value is None else decimal_text(value) for value in number.reach]
    if len(texts) == 2 and number.reach[0] != number.reach[1]:
        return f"lower value {target:g} at {texts[0]}, upper value {target:g} at {texts[1]}"
    return f"{target:g} at {texts[0]}"


def _more(some: Sequence[object]) -> str:
    return f"the first {MOST} of {len(some)}" if len(some) > MOST else ""


# --- what leaves no model ----------------------------------------------------------------------


def inconsistencies_outline(inconsistencies: Inconsistencies) -> Reason:
    """All reasons why there is no model."""
    lines = tuple(map(inconsistency_outline, inconsistencies))
    return Reason(headline(inconsistencies), "", None, lines, True)


def headline(inconsistencies: Inconsistencies) -> str:
    """What the reasons are about, in a sentence."""
    what = (
        f"that satisfies {', '.join(inconsistencies.evidence)}" if inconsistencies.evidence else ""
    )
    model = "stable model" if inconsistencies.collapses else "model"
    if not inconsistencies.reasons and inconsistencies.complete:
        return " ".join(filter(None, (f"every total choice has a {model}", what)))
    text = f"total choices of probability {inconsistencies.mass:.6g} have no {model}"
    few = "" if inconsistencies.complete else " (the most probable reasons that were found in time)"
    return " ".join(filter(None, (text, what))) + few


def inconsistency_outline(inconsistency: Inconsistency) -> Reason:
    """One reason why there is no model."""
    chosen = ", ".join(inconsistency.values)
    text = f"when {chosen}" if chosen else "whatever is chosen"
    lines = [
        Reason(f"line {rule.line}: {rule.text}", _values(rule.text, rule.instance))
        for rule in inconsistency.rules
    ]
    lines += [Reason(f"the evidence {literal}") for literal in inconsistency.evidence]
    lines += [Reason(f"{atom} is certain", kind="fact") for atom in inconsistency.facts]
    note = f"probability {bounds_text(inconsistency.bounds)}"
    return Reason(text, note, None, tuple(lines), True, "undefined")


def _values(text: str, instance: str) -> str:
    return "" if text == instance else f"here: {instance}"
