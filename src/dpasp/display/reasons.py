"""Reasons as trees of lines, shown as text, as HTML that unfolds, or as a picture.

:func:`outline` turns every kind of explanation into a tree of :class:`Reason`, which the playground
unfolds itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.display.html import FAINT, answer_line, bar, table
from dpasp.display.scene import (
    Box,
    Picture,
    PlacedShape,
    Stroke,
    TextLine,
    shortened,
    text_width,
    titled,
)
from dpasp.inference.answers import Answer, bounds_text, decimal_text
from dpasp.inference.explain.explanation import (
    Contribution,
    Explanation,
    Inconsistencies,
    Inconsistency,
    Outlined,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.writing import harmless, markup, printable

SAME = 1e-12  # numbers that differ by less count as equal
MOST = 20  # lines of one table
IN_WORDS = {("sure", "yes"): "in every model", ("sure", "no"): "in some models"}
LOOKED_AT = "of those that were looked at"
# Each kind of reason has a colour that is readable on white and on black, another one in pictures,
# and a meaning for the legend.
KINDS = {
    "fact": ("#12a594", "second", "a fact"),
    "rule": ("#4c7bf0", "accent", "by a rule"),
    "choice": ("#c77d0a", "warm", "chosen, or not"),
    "free": ("#c77d0a", "warm", "chosen, or not"),
    "none": ("#8a8f98", "faint", "does not hold"),
    "blocked": ("#d2553f", "line", "a rule that does not apply"),
    "undefined": ("#b0489c", "loop", "undefined, or no model"),
    "loop": ("#b0489c", "loop", "a loop"),
    "condition": ("#4c7bf0", "accent", "by a rule"),
    "again": ("", "faint", "does not hold"),
}
LIST = (
    "list-style:none;margin:.15em 0 .15em .35em;padding-left:.9em;"
    "border-left:1px solid rgba(127,127,127,.35)"
)
ROW, STEP, MARGIN = 24.0, 24.0, 24.0  # pixels of a picture
WIDEST = 760.0  # of a line
BAR = 70.0

Row = tuple[tuple[str, ...], float | None]  # the cells of a line, and the number drawn as a bar


@dataclass(frozen=True, slots=True)
class Reason:
    """A line with the lines below it.

    ``share`` is drawn as a bar and ``kind`` chooses a colour. A reason with a ``head`` is a table:
    the lines below it have ``cells``, which their ``note`` repeats as text. ``rule`` is the rule
    that a line is about; the text omits it, since it names the rule's line already.
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
    answer: Answer | None = None  # the subject of everything below

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "note": self.note or self.rule,
            "share": self.share,
            "open": self.open,
            "kind": self.kind,
            "below": [reason.to_dict() for reason in self.below],
        }


def outline(explains: Outlined, total_choices: bool = False) -> Reason:
    """An explanation as a tree of reasons.

    For an answer, it lists the most probable ``total_choices`` if wanted.
    """
    match explains:
        case Explanation():
            return _explanation(explains, total_choices)
        case Tree():
            below = tuple(map(outline, explains.below))
            text = f"{explains.literal} in all" if explains.kind == "all" else explains.words
            return Reason(text, below=below, open=True, kind=explains.kind, rule=explains.rule)
        case Inconsistencies():
            return Reason(_headline(explains), below=tuple(map(outline, explains)), open=True)
        case Inconsistency():
            return _inconsistency(explains)
    raise TypeError(f"a {type(explains).__name__} has no outline")


# --- what is behind an answer ------------------------------------------------------------------


def _explanation(explanation: Explanation, total_choices: bool) -> Reason:
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
    return Reason(
        f"ℙ({answer.query})", bounds_text(ends), below=tuple(sections), open=True, answer=answer
    )


def _table(
    title: str,
    head: tuple[str, ...],
    rows: Sequence[Row],
    count: int,
    *,
    note: str = "",
    open: bool = False,
) -> Reason:
    """A table of ``count`` rows, of which some are shown; empty columns are left out."""
    kept = [i for i in range(len(head)) if any(cells[i] for cells, _ in rows)]
    names = tuple(head[i] for i in kept)
    lines = []
    for cells, share in rows:
        shown = tuple(cells[i] for i in kept)
        pairs = zip(names[:-1], shown, strict=False)
        words = " · ".join(IN_WORDS.get(pair, " ".join(pair)) for pair in pairs)
        lines.append(Reason(shown[-1], words, share, cells=shown))
    if count > len(rows):
        lines.append(Reason(f"and {count - len(rows)} more"))
    return Reason(title, note, below=tuple(lines), open=open, head=names)


def _attained(answer: Answer) -> Iterator[Reason]:
    """Where in the intervals the bounds are attained, if they differ."""
    if answer.lower_at == answer.upper_at:
        return
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
            factors = [Reason(factor, kind="condition") for factor in tree.factors]
            below = (outline(tree), *factors)
            yield Reason(title, _where(tree), below=below, open=tree is explanation.tree)


def _where(tree: Tree) -> str:
    """The model that a tree is about, in words."""
    if not tree.chosen:
        return "in a model"
    taken = [value for value in tree.chosen if not value.startswith(("not ", "none of "))]
    if not taken:
        return "in a model where nothing is chosen"
    rest = " and nothing else" if len(taken) < len(tree.chosen) else ""
    return f"in a model where {', '.join(taken)}{rest} {'is' if len(taken) == 1 else 'are'} chosen"


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
    """The numbers of the program on which the answer depends."""
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
    """One text, or one for each bound if they differ."""
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


# --- what leaves no model ----------------------------------------------------------------------


def _headline(inconsistencies: Inconsistencies) -> str:
    """The subject of the reasons, in a sentence."""
    what = (
        f"that satisfies {', '.join(inconsistencies.evidence)}" if inconsistencies.evidence else ""
    )
    model = "stable model" if inconsistencies.collapses else "model"
    few = "" if inconsistencies.complete else " (the most probable reasons that were found in time)"
    if not inconsistencies.all_factors:
        few += ", apart from what factors of weight 0 exclude"
    if not inconsistencies.reasons and inconsistencies.complete:
        return " ".join(filter(None, (f"every total choice has a {model}", what))) + few
    text = f"total choices of probability {inconsistencies.mass:.6g} have no {model}"
    return " ".join(filter(None, (text, what))) + few


def _inconsistency(inconsistency: Inconsistency) -> Reason:
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


# --- text --------------------------------------------------------------------------------------


def as_text(reason: Reason) -> str:
    """The text that the command line prints, without a final line end."""
    lines = _tree_lines(reason, 0) if reason.answer is None else _answer_lines(reason)
    return printable(harmless("\n".join(lines)))


def _answer_lines(root: Reason) -> Iterator[str]:
    """An answer with its sections, tables before trees."""
    yield str(root.answer)
    for section in sorted(root.below, key=lambda section: bool(section.below and not section.head)):
        if section.head:
            note = f" ({section.note})" if section.note else ""
            yield f"  {section.text}{note}:"
            yield from _table_lines(section)
        elif section.below:
            yield f"  {section.text}, {section.note}:"
            for below in section.below:
                yield from _tree_lines(below, 2)
        else:
            yield f"  {section.text}"


def _tree_lines(reason: Reason, depth: int) -> Iterator[str]:
    note = f"  ({reason.note})" if reason.note else ""
    yield f"{'  ' * depth}{reason.text}{note}"
    for below in reason.below:
        yield from _tree_lines(below, depth + 1)


def _table_lines(section: Reason) -> Iterator[str]:
    """The head and the rows below it; the last column is not padded."""
    rows = [section.head, *(line.cells for line in section.below if line.cells)]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"    {'  '.join(cells)}  {row[-1]}"
    yield from (f"    {line.text}" for line in section.below if not line.cells)


# --- HTML --------------------------------------------------------------------------------------


def as_html(reason: Reason) -> str:
    """Lines that unfold; an answer has its bar and all its sections."""
    if reason.answer is not None:
        sections = "".join(map(_section_html, reason.below))
        return f"<div>{table([answer_line(reason.answer)])}{sections}</div>"
    if reason.kind:
        return f"<div>{_branch([reason])}</div>"
    return f"<div><p>{markup(reason.text)}</p>{_branch(reason.below)}</div>"


def _section_html(section: Reason) -> str:
    note = f", {section.note}" if section.note else ""
    title = markup(f"{section.text}{note}")
    if not section.below:
        return f'<p style="{FAINT}">{title}</p>'
    body = _table_html(section) if section.head else _branch(section.below)
    opened = " open" if section.open else ""
    return f"<details{opened}><summary>{title}</summary>{body}</details>"


def _table_html(section: Reason) -> str:
    """The rows, each after a bar if it has a share."""
    bars = any(line.share is not None for line in section.below)
    rows = []
    for line in section.below:
        if line.cells:
            *cells, name = map(markup, line.cells)
            drawn = "" if line.share is None else bar([line.share])
            rows.append([*([drawn] if bars else []), *cells, f"<code>{name}</code>"])
    rest = [f"<p>{markup(line.text)}</p>" for line in section.below if not line.cells]
    return table(rows, [*([""] if bars else []), *map(markup, section.head)]) + "".join(rest)


def _branch(reasons: Sequence[Reason]) -> str:
    """A line, which unfolds if there are lines below it."""
    if not reasons:
        return ""
    lines = "".join(f'<li style="margin:.15em 0">{_leaf(reason)}</li>' for reason in reasons)
    return f'<ul style="{LIST}">{lines}</ul>'


def _leaf(reason: Reason) -> str:
    colour = KINDS.get(reason.kind, ("",))[0]
    dot = f'<span style="color:{colour}" aria-hidden="true">●</span> ' if colour else ""
    note = reason.note or reason.rule
    beside = f' <code style="{FAINT}">{markup(note)}</code>' if note else ""
    text = f"{dot}{markup(reason.text)}{beside}"
    if not reason.below:
        return text
    opened = " open" if reason.open else ""
    return f"<details{opened}><summary>{text}</summary>{_branch(reason.below)}</details>"


# --- pictures ----------------------------------------------------------------------------------


def as_picture(root: Reason) -> Picture:
    """The tree with connecting lines, and a legend of the colours."""
    title = f"{root.text} = {root.note}" if root.note else root.text
    shapes: list[PlacedShape] = [*titled(title, MARGIN, MARGIN + 8)]
    top = MARGIN + 34.0
    rows = list(_rows(root.below, 0, None, count()))
    right = MARGIN + text_width(title, 15)
    for row, (reason, depth, parent) in enumerate(rows):
        x, y = MARGIN + STEP * depth, top + ROW * row
        if parent is not None:
            left, start = x - STEP + 5, top + ROW * parent + 9
            shapes.append(Stroke(((left, start), (left, y), (x - 3, y)), "rule"))
        right = max(right, _draw_line(shapes, reason, x, y))
    height = top + ROW * len(rows)
    shapes += _legend([reason.kind for reason, _, _ in rows], MARGIN, height + 8)
    return Picture(max(right, 620.0) + MARGIN, height + 34, tuple(shapes), title)


def _draw_line(shapes: list[PlacedShape], reason: Reason, x: float, y: float) -> float:
    """Draw one line; return where it ends."""
    if reason.kind:
        colour = KINDS.get(reason.kind, ("", "ink"))[1]
        shapes.append(Box(x, y - 5, 10, 10, colour, radius=5))
    text = shortened(reason.text, WIDEST)
    start = x + (16 if reason.kind else 0)
    bold = bool(reason.below) and not reason.kind
    shapes.append(TextLine(start, y + 4.5, text, 13, "start", "ink", bold))
    end = start + text_width(text) * (1.16 if bold else 1.0)
    if reason.share is not None:
        shapes.append(Box(end + 12, y - 4, BAR, 8, "accent_soft", radius=2))
        shapes.append(Box(end + 12, y - 4, BAR * min(1.0, reason.share), 8, "accent", radius=2))
        end += 12 + BAR
    if note := shortened(reason.note or reason.rule, WIDEST, 11):
        shapes.append(TextLine(end + 12, y + 4, note, 11, "start", "faint"))
        end += 12 + text_width(note, 11)
    return end


def _rows(
    reasons: Sequence[Reason], depth: int, parent: int | None, numbers: Iterator[int]
) -> Iterator[tuple[Reason, int, int | None]]:
    """Every line with its depth and the row of its parent."""
    for reason, row in zip(reasons, numbers, strict=False):
        yield reason, depth, parent
        yield from _rows(reason.below, depth + 1, row, numbers)


def _legend(kinds: Sequence[str], x: float, y: float) -> Iterator[PlacedShape]:
    for colour, meaning in dict.fromkeys(KINDS[kind][1:] for kind in kinds if kind in KINDS):
        yield Box(x, y - 4, 8, 8, colour, radius=4)
        yield TextLine(x + 13, y + 4, meaning, 11, "start", "faint")
        x += 30 + text_width(meaning, 11)
