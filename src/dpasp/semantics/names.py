"""What each leaf weight stands for, in words.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> leaf_names(ground(parse("0.3::a. 0.2::b; 0.8::c.")))
['a', 'not a', 'b', 'c']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dpasp.logic.program import Choice, GroundProgram


def leaf_names(ground: GroundProgram) -> list[str]:
    """A name for each leaf: the atom that the value derives, told apart where that is needed."""
    names = [name for choice in ground.choices for name in _names(ground, choice)]
    seen = Counter(names)
    places = [i for i, choice in enumerate(ground.choices) for _ in _names(ground, choice)]
    return [
        name if seen[name] == 1 else name + _difference(ground.choices[place], place)
        for name, place in zip(names, places, strict=True)
    ]


def _names(ground: GroundProgram, choice: Choice) -> Iterator[str]:
    heads = [str(ground.symbols[head]) for head in choice.heads]
    yield from heads
    if choice.nothing:
        yield f"not {heads[0]}" if len(heads) == 1 else f"none of {', '.join(heads)}"


def _difference(choice: Choice, number: int) -> str:
    values = ", ".join(f"{name}={value}" for name, value in choice.substitution)
    return f" [{number + 1}{': ' if values else ''}{values}]"
