"""Reasons as pieces of HTML: tables of numbers, and trees that unfold."""

from __future__ import annotations

from collections.abc import Sequence

from dpasp.display import outline
from dpasp.display.html import FAINT, SHOWN, answer_line, bar, table, warnings_html
from dpasp.display.outline import Reason
from dpasp.inference.answers import bounds_text, decimal_text
from dpasp.inference.explain import (
    Contribution,
    Explanation,
    Explanations,
    Inconsistencies,
    Inconsistency,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.shown import markup

# Readable on white and on black; each kind of reason has one.
COLOURS = {
    "fact": "#12a594",
    "rule": "#4c7bf0",
    "choice": "#c77d0a",
    "free": "#c77d0a",
    "none": "#8a8f98",
    "blocked": "#d2553f",
    "undefined": "#b0489c",
    "loop": "#b0489c",
    "condition": "#4c7bf0",
}
LIST = (
    "list-style:none;margin:.15em 0 .15em .35em;padding-left:.9em;"
    "border-left:1px solid rgba(127,127,127,.35)"
)


def explanations_html(explanations: Explanations) -> str:
    """All explanations, one below the other."""
    return "".join(map(explanation_html, explanations)) + warnings_html(explanations.warnings)


def explanation_html(explanation: Explanation) -> str:
    """An answer, what must be chosen for it, what choices and numbers do, and why."""
    parts = [table([answer_line(explanation.answer)])]
    if explanation.ways:
        note = outline.ways_note(explanation)
        parts.append(_title(f"what must be chosen for it{f' ({note})' if note else ''}"))
        parts.append(table(_ways(explanation.ways), ("share", "probability", "values")))
    elif not any(explanation.answer.numbers):
        parts.append(_title("impossible: no total choice is behind it"))
    for title, why in (("why it holds", explanation.tree), ("why not", explanation.why_not)):
        if why is not None:
            opened = " open" if title == "why it holds" else ""
            head = f"<summary>{title}, {markup(outline.where(why))}</summary>"
            parts.append(f"<details{opened}>{head}{tree_html(why)}</details>")
    parts += _numbers(explanation)
    if explanation.total_choices:
        few = "" if explanation.complete else " (of those that were looked at)"
        rows = table(_ways(explanation.total_choices), ("share", "probability", "total choice"))
        head = f"<summary>the most probable total choices behind it{few}</summary>"
        parts.append(f"<details>{head}{rows}</details>")
    parts += _contributions(explanation)
    return f"<div>{''.join(parts)}</div>"


def _title(text: str) -> str:
    return f'<p style="{FAINT}">{markup(text)}</p>'


def _ways(ways: Sequence[Way]) -> list[tuple[str, ...]]:
    return [
        (
            ""
            if way.share is None
            else bar([way.share], None if way.log_share is None else [way.log_share]),
            markup(bounds_text(way.bounds, way.logs)),
            f"{markup(', '.join(way.values) or 'nothing')}{'' if way.sure else _some()}",
        )
        for way in ways
    ]


def _some() -> str:
    return f' <span style="{FAINT}">only in some of its models</span>'


def _contributions(explanation: Explanation) -> list[str]:
    some = outline.contributing(explanation)
    if not some:
        return []
    rows = table(
        [_contribution(contribution) for contribution in some[:SHOWN]],
        ("value", "prior", "given the query", "answer if certain"),
    )
    return [f"<details><summary>what the choices contribute</summary>{rows}</details>"]


def _contribution(contribution: Contribution) -> tuple[str, ...]:
    return (
        f"<code>{markup(contribution.value)}</code>",
        decimal_text(contribution.prior),
        "impossible" if contribution.posterior is None else decimal_text(contribution.posterior),
        bounds_text(contribution.certain) if contribution.certain else "impossible",
    )


def _numbers(explanation: Explanation) -> list[str]:
    some = outline.moving(explanation)
    if not some:
        return []
    head = ["number", "line", "slope"]
    if explanation.target is not None:
        head.append(f"for {explanation.target:g}")
    rows = table([_number(number, explanation.target) for number in some[:SHOWN]], head)
    title = "what the numbers of the program do to it"
    opened = " open" if explanation.target is not None else ""
    return [f"<details{opened}><summary>{title}</summary>{rows}</details>"]


def _number(number: Sensitivity, target: float | None) -> tuple[str, ...]:
    cells = [
        f"<code>{markup(number.name)}</code>",
        str(number.line),
        markup(outline.slopes_text(number.slope)),
    ]
    if target is not None:
        cells.append(" / ".join(_reached(number)))
    return tuple(cells)


def _reached(number: Sensitivity) -> list[str]:
    """The value of a number that reaches the target, or one for each bound where they differ."""
    values = ["no value" if value is None else decimal_text(value) for value in number.reach]
    return values[:1] if len(set(values)) == 1 else values


def tree_html(tree: Tree) -> str:
    """A tree that unfolds."""
    return branch([outline.tree_outline(tree)])


def inconsistencies_html(inconsistencies: Inconsistencies) -> str:
    """All reasons why there is no model."""
    root = outline.inconsistencies_outline(inconsistencies)
    return f"<div><p>{markup(root.text)}</p>{branch(root.below)}</div>"


def inconsistency_html(inconsistency: Inconsistency) -> str:
    """One reason why there is no model."""
    return f"<div>{branch([outline.inconsistency_outline(inconsistency)])}</div>"


def branch(reasons: Sequence[Reason]) -> str:
    """Lines that unfold where there is something below them."""
    if not reasons:
        return ""
    lines = "".join(f'<li style="margin:.15em 0">{_leaf(reason)}</li>' for reason in reasons)
    return f'<ul style="{LIST}">{lines}</ul>'


def _leaf(reason: Reason) -> str:
    colour = COLOURS.get(reason.kind)
    dot = f'<span style="color:{colour}" aria-hidden="true">●</span> ' if colour else ""
    note = f' <code style="{FAINT}">{markup(reason.note)}</code>' if reason.note else ""
    text = f"{dot}{markup(reason.text)}{note}"
    if not reason.below:
        return text
    opened = " open" if reason.open else ""
    return f"<details{opened}><summary>{text}</summary>{branch(reason.below)}</details>"
