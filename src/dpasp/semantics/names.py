"""What the values of choices, and so the leaf weights, are called.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> leaf_names(ground(parse("0.3::a. 0.2::b; 0.8::c. 0.5::d :- a.")))
['a', 'not a', 'b', 'c', 'd by line 1', 'not d by line 1']
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from dpasp.logic.program import Choice, GroundProgram, Rule

Labels = list[list[str]]  # by choice and value


def leaf_names(ground: GroundProgram) -> list[str]:
    """A name for each leaf: that of the choice's value, or that none is taken."""
    names = []
    for choice, labels in zip(ground.choices, choice_labels(ground), strict=True):
        names += labels
        if choice.nothing:
            names.append(f"not {labels[0]}" if len(labels) == 1 else f"none of {', '.join(labels)}")
    return names


def choice_labels(ground: GroundProgram) -> Labels:
    """For every choice, the names of its values, each of its own.

    A value is named by the atom it derives. Where that atom does not hold exactly when the
    value is taken, for its rule has a body or the atom has other rules, the name says which
    line the choice is: ``b by line 3``. Substitutions and then numbers tell the values
    apart that would still be called the same: ``b [X=1] by line 3``, ``a by line 1 #2``.
    """
    rules = _rules(ground)
    plain = [[str(ground.symbols[head]) for head in choice.heads] for choice in ground.choices]
    lines = [
        [
            "" if rules[head] == [Rule((head,), (selector,))] else _line(ground, choice)
            for head, selector in zip(choice.heads, choice.selectors, strict=True)
        ]
        for choice in ground.choices
    ]
    where = [_substitution(choice) for choice in ground.choices]
    named = _joined(plain, lines)
    placed = [
        [label + place for label in labels] for labels, place in zip(plain, where, strict=True)
    ]
    longer = _joined(placed, lines)
    return _numbered(_where_repeated(named, lambda i, k: longer[i][k]))


def _rules(ground: GroundProgram) -> dict[int, list[Rule]]:
    """The rules of the atoms that choices derive, by atom."""
    heads = {head for choice in ground.choices for head in choice.heads}
    by_head: dict[int, list[Rule]] = defaultdict(list)
    for rule in ground.rules:
        for head in heads.intersection(rule.head):
            by_head[head].append(rule)
    return by_head


def _joined(left: Labels, right: Labels) -> Labels:
    return [
        [label + other for label, other in zip(*pair, strict=True)]
        for pair in zip(left, right, strict=True)
    ]


def _where_repeated(labels: Labels, other: Callable[[int, int], str]) -> Labels:
    """The labels, with another one in place of those that occur more than once."""
    often = Counter(label for of_choice in labels for label in of_choice)
    return [
        [other(i, k) if often[label] > 1 else label for k, label in enumerate(of_choice)]
        for i, of_choice in enumerate(labels)
    ]


def _numbered(labels: Labels) -> Labels:
    seen: Counter[str] = Counter()

    def number(i: int, k: int) -> str:
        label = labels[i][k]
        seen[label] += 1
        return f"{label} #{seen[label]}"

    return _where_repeated(labels, number)


def _substitution(choice: Choice) -> str:
    values = ", ".join(f"{name}={value}" for name, value in choice.substitution)
    return f" [{values}]" if values else ""


def _line(ground: GroundProgram, choice: Choice) -> str:
    return f" by line {ground.program.statements[choice.statement].span.line}"
