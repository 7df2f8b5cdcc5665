"""Reasons as lines with lines below them.

This is the one model of a reason: :mod:`dpasp.display.reasons` prints it as text, as HTML and as a
picture, and the playground unfolds it.
"""

from __future__ import annotations

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
MOST = 20  # lines of one table
LOOKED_AT = "of those that were looked at"

Row = tuple[tuple[str, ...], float | None]  # the cells of a line, and what is drawn as a bar


@dataclass(frozen=True, slots=True)
class Reason:
    """A line with what is below it.

    ``share`` is drawn as a bar and ``kind`` gives a colour. A reason with a ``head`` is a table:
    the lines below it have ``cells``, which their ``note`` repeats in one line. ``rule`` is the
    rule that a line is about; text leaves it out, for its words name the line already.
    """

    text: str
    note: str = ""
    share: float | None = None
    below: tuple[Reason, ...] = ()
    open: bool = False
    kind: str = ""
    rule: str = ""
    head: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "text": self.text,
            "note": self.note or self.rule,
            "share": self.share,
            "open": self.open,
            "kind": self.kind,
            "below": [reason.to_dict() for reason in self.below],
        }


# --- what is behind an answer ------------------------------------------------------------------


def explanation_outline(explanation: Explanation, total_choices: bool = False) -> Reason:
    """Everything about one answer; with the most probable total choices, if they are wanted."""
    answer = explanation.answer
    sections = [*_attained(answer), *_ways(explanation), *_trees(explanation)]
    if contributions := [c for c in explanation.contributions if _matters(c, answer)]:
        lines = [_contribution(contribution) for contribution in contributions[:MOST]]
        head = ("prior", "given query", "if certain", "value")
        sections.append(_table("what the choices contribute", head, lines, len(contributions)))
    sections += _numbers(explanation)
    if total_choices and explanation.total_choices:
        lines = list(map(_way, explanation.total_choices))
        head = ("share", "probability", "sure", "total choice")
        title = "the most probable total choices behind it"
        note = "" if explanation.complete else LOOKED_AT
        sections.append(_table(title, head, lines, len(lines), note=note))
    ends = [float(number) for number in answer.numbers]
    return Reason(f"ℙ({answer.query})", bounds_text(ends), below=tuple(sections), open=True)


def _table(
    title: str,
    head: tuple[str, ...],
    rows: Sequence[Row],
    count: int,
    *,
    note: str = "",
    open: bool = False,
) -> Reason:
    """A table of ``count`` rows, of which some are shown; columns without a word are left out."""
    kept = [i for i in range(len(head)) if any(cells[i] for cells, _ in rows)]
    names = tuple(head[i] for i in kept)
    lines = []
    for cells, share in rows:
        shown = tuple(cells[i] for i in kept)
        words = " · ".join(f"{name} {cell}" for name, cell in zip(names[:-1], shown, strict=False))
        lines.append(Reason(shown[-1], words, share, cells=shown))
    if count > len(rows):
        lines.append(Reason(f"and {count - len(rows)} more"))
    return Reason(title, note, below=tuple(lines), open=open, head=names)


def _attained(answer: Answer) -> Iterator[Reason]:
    """Where in the intervals the bounds are attained."""
    for name, at in (("lower", answer.lower_at), ("upper", answer.upper_at)):
        if at:
            values = ", ".join(f"{value} = {decimal_text(number)}" for value, number in at.items())
            yield Reason(f"the {name} value is attained at {values}")


def _ways(explanation: Explanation) -> Iterator[Reason]:
    if explanation.ways:
        covered = explanation.covered
        notes = (
            "" if covered is None else f"together {100 * covered:.3g} % of it",
            "they may overlap" if len(explanation.ways) > 1 else "",
            "" if explanation.complete else LOOKED_AT,
        )
        lines = list(map(_way, explanation.ways))
        head, note = ("share", "probability", "sure", "values"), ", ".join(filter(None, notes))
        title = "what must be chosen for it"
        yield _table(title, head, lines, len(lines), note=note, open=True)
    elif not any(explanation.answer.numbers):
        yield Reason("impossible: no total choice is behind it")


def _way(way: Way) -> Row:
    share = "" if way.share is None else decimal_text(way.share, way.log_share)
    chosen = ", ".join(way.values) or "nothing"
    sure = "yes" if way.sure else "no"
    return (share, bounds_text(way.bounds, way.logs), sure, chosen), way.share


def _trees(explanation: Explanation) -> Iterator[Reason]:
    for title, tree in (("why it holds", explanation.tree), ("why not", explanation.why_not)):
        if tree is not None:
            below = (tree_outline(tree),)
            yield Reason(title, where(tree), below=below, open=tree is explanation.tree)


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
    return Reason(text, below=below, open=True, kind=tree.kind, rule=tree.rule)


def _matters(contribution: Contribution, answer: Answer) -> bool:
    """Whether a choice and an answer depend on each other."""
    if contribution.posterior is None or len(contribution.certain) != len(answer.numbers):
        return True
    pairs = [
        (contribution.posterior, contribution.prior),
        *zip(contribution.certain, answer.numbers, strict=True),
    ]
    return any(abs(float(a) - float(b)) > SAME for a, b in pairs)


def _contribution(contribution: Contribution) -> Row:
    after = contribution.posterior
    cells = (
        decimal_text(contribution.prior),
        "impossible" if after is None else decimal_text(after),
        bounds_text(contribution.certain) if contribution.certain else "impossible",
        contribution.value,
    )
    return cells, after


def _numbers(explanation: Explanation) -> Iterator[Reason]:
    """The numbers of the program that the answer changes with."""
    target = explanation.target
    some = [
        number
        for number in explanation.sensitivity
        if any(abs(slope) > SAME for slope in number.slope)
        or any(value is not None for value in number.reach)
    ]
    if some:
        aim = "" if target is None else f"for {target:g}"
        lines = [_number(number, target) for number in some[:MOST]]
        title, head = "what the numbers of the program do to it", ("slope", aim, "line", "number")
        yield _table(title, head, lines, len(some), open=target is not None)
    elif target is not None:
        yield Reason(f"no number of the program reaches {target:g}: the answer depends on none")


def _number(number: Sensitivity, target: float | None) -> Row:
    reach = ["none" if value is None else decimal_text(value) for value in number.reach]
    cells = (
        _pair([decimal_text(slope) for slope in number.slope]),
        "" if target is None else _pair(reach),
        str(number.line),
        number.name,
    )
    return cells, None


def _pair(texts: Sequence[str]) -> str:
    """One text, or one for each bound where they differ."""
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


# --- what leaves no model ----------------------------------------------------------------------


def inconsistencies_outline(inconsistencies: Inconsistencies) -> Reason:
    """All reasons why there is no model."""
    lines = tuple(map(inconsistency_outline, inconsistencies))
    return Reason(headline(inconsistencies), below=lines, open=True)


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
        Reason(
            f"line {rule.line}: {rule.text}",
            "" if rule.text == rule.instance else f"here: {rule.instance}",
        )
        for rule in inconsistency.rules
    ]
    lines += [Reason(f"the evidence {literal}") for literal in inconsistency.evidence]
    lines += [Reason(f"{atom} is certain", kind="fact") for atom in inconsistency.facts]
    note = f"probability {bounds_text(inconsistency.bounds)}"
    return Reason(text, note, below=tuple(lines), open=True, kind="undefined")
