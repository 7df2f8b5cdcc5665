"""The answers to the questions for the most probable values.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #map a?, b?.")), Meaning())
>>> answer, how = map_answers(asked, on_circuit(asked.ground, asked.meaning))[0]
>>> answer.assignment, how
({'a': False, 'b': True}, 'leaves')
"""

from __future__ import annotations

from dataclasses import replace

from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.reference.enumerate import enumerate_models
from dpasp.inference.probable.by_circuit import most_probable_by_circuit
from dpasp.inference.probable.by_table import check_enumerable, most_probable_by_table
from dpasp.inference.probable.task import MapTask
from dpasp.logic.program import GroundMap


def map_answers(asked: Asked, evaluator: Evaluator) -> dict[int, tuple[MapAnswer, str]]:
    """By the place of the question: its answer, and how it was found.

    A circuit is searched where there is one and that can work; otherwise all total choices
    are enumerated, once for all questions. Raises :class:`SizeLimit` if they are too many.
    """
    answers = {}
    table = evaluator.enumeration
    places = [i for i, question in enumerate(asked.questions) if isinstance(question, GroundMap)]
    for done, place in enumerate(places):
        watch = asked.watch.share(len(places) - done, asked.watch.report)
        task = MapTask(replace(asked, watch=watch), place, evaluator)
        best = None if evaluator.circuit is None else most_probable_by_circuit(task)
        if best is None:
            if table is None:
                check_enumerable(task)
                table = enumerate_models(asked.ground, asked.meaning, watch=task.watch)
            best = most_probable_by_table(task, table), "table"
        answers[place] = best
    return answers
