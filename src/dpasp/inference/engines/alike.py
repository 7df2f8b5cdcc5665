"""Questions about single atoms under one evidence, which can be answered together.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. {b}. #query a. #query b. #query a, b.")), Meaning())
>>> alike = about_atoms(asked)
>>> [bool(atom) for atom in alike.atoms], alike.certain
([True, False, False], False)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.inference.asked import Asked
from dpasp.language.ast import Mode
from dpasp.logic.program import GroundQuery
from dpasp.semantics.dependencies import determined


@dataclass(frozen=True, slots=True)
class Alike:
    """The determined atom that each question is about, 0 where it is about anything else.

    ``network`` says that the choices determine all atoms of the program, and ``certain`` that
    every total choice also has a model.
    """

    atoms: tuple[int, ...]
    network: bool
    certain: bool


def about_atoms(asked: Asked) -> Alike | None:
    """The atoms that the questions are about.

    None if the questions differ in their evidence, if some are not queries, or if some
    probabilities are intervals.
    """
    questions = asked.questions
    if len(asked.queries) < len(questions) or not questions or asked.has_intervals:
        return None
    if any(question.evidence != questions[0].evidence for question in questions):
        return None
    known = determined(asked.ground.rules, len(asked.ground.symbols))
    network = bool(known.all())
    certain = network and all(rule.head for rule in asked.ground.rules)  # no constraint
    return Alike(tuple(_single(query, known) for query in asked.queries), network, certain)


def _single(query: GroundQuery, known: NDArray[np.bool_]) -> int:
    """The determined atom that a query is about; 0 if it is about anything else."""
    if len(query.literals) != 1 or query.literals[0].mode is Mode.UNDEFINED:
        return 0
    atom = query.literals[0].atom
    return atom if known[atom] else 0
