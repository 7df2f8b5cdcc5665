"""Names for the values of choices, each of its own."""

from __future__ import annotations

from collections import Counter

from dpasp.logic.program import Choice, GroundProgram


def choice_labels(ground: GroundProgram) -> list[list[str]]:
    """For every choice, the names of its values.

    A value is named by the atom it derives; where several choices derive the same
    atom, their substitutions and then numbers tell them apart: ``b [X=1]``, ``a #2``.
    """
    plain = [[str(ground.symbols[head]) for head in choice.heads] for choice in ground.choices]
    often = Counter(label for labels in plain for label in labels)
    longer = [
        [_with_substitution(label, choice) if often[label] > 1 else label for label in labels]
        for labels, choice in zip(plain, ground.choices, strict=True)
    ]
    often = Counter(label for labels in longer for label in labels)
    seen: Counter[str] = Counter()
    result: list[list[str]] = []
    for labels in longer:
        result.append([])
        for label in labels:
            seen[label] += 1
            result[-1].append(f"{label} #{seen[label]}" if often[label] > 1 else label)
    return result


def _with_substitution(label: str, choice: Choice) -> str:
    values = ", ".join(f"{name}={value}" for name, value in choice.substitution)
    return f"{label} [{values}]" if values else label
