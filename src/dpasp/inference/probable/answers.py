"""The answers to the questions for the most probable values."""

from __future__ import annotations

from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.reference.enumerate import enumerate_models
from dpasp.inference.probable.by_circuit import most_probable_by_circuit
from dpasp.inference.probable.by_table import check_enumerable, most_probable_by_table
from dpasp.inference.probable.question import MapQuestion
from dpasp.logic.program import GroundMap


def map_answers(asked: Asked, evaluator: Evaluator) -> dict[int, tuple[MapAnswer, str]]:
    """By the place of the question: its answer, and how it was found.

    The circuit is searched where there is one and it can tell; otherwise all total choices
    are enumerated, at most once.
    """
    found = {}
    table = evaluator.enumeration
    for place, question in enumerate(asked.questions):
        if not isinstance(question, GroundMap):
            continue
        own = MapQuestion(asked, place, evaluator)
        best = None if evaluator.circuit is None else most_probable_by_circuit(own)
        if best is None:
            if table is None:
                check_enumerable(own)
                table = enumerate_models(asked.ground, asked.meaning, watch=own.watch)
            best = most_probable_by_table(own, table), "table"
        found[place] = best
    return found
