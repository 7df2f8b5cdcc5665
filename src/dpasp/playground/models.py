"""The models of a program to step through, those of the most probable total choices first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from dpasp.inference.approximate.bounds import most_probable_first
from dpasp.inference.approximate.draws import Source
from dpasp.inference.approximate.outcomes import probability_of
from dpasp.inference.exact import complete
from dpasp.language import ast
from dpasp.limits import Watch
from dpasp.logic.program import GroundProgram
from dpasp.semantics import leaves
from dpasp.semantics.names import leaf_names

PAGE = 40  # total choices that are told at once


def models(ground: GroundProgram, logic: ast.Logic, first: int, watch: Watch) -> dict[str, Any]:
    """The models of some total choices, from the one with number ``first`` on.

    Intervals of probabilities count with their middles, which only orders the total choices.
    """
    weights = complete(leaves.weights(ground))
    source = Source(ground, logic, watch)
    places = leaves.layout(ground.choices)
    names = leaf_names(ground)
    found = []
    for choice in islice(most_probable_first(weights, places.starts), first, first + PAGE):
        watch.check()
        own = [names[start + value] for start, value in zip(places.starts, choice, strict=False)]
        kept = source.of(choice).kept
        found.append(
            {
                "choices": own,
                "probability": probability_of(choice, weights, places.starts),
                "models": [_model(dict(one)) for one in kept],
            }
        )
    return {"first": first, "total": places.total, "found": found}


def _model(values: dict[str, Any]) -> dict[str, list[str]]:
    return {
        "true": list(_with(values, True)),
        "undefined": list(_with(values, "undef")),
    }


def _with(values: dict[str, Any], wanted: object) -> Iterator[str]:
    return (atom for atom, value in values.items() if value == wanted)
