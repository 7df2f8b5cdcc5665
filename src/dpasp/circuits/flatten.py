"""A translated program as flat arrays of integers, the form in which it goes to native code.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.language.ast import Logic
>>> from dpasp.semantics.translate import translate
>>> program = ground(parse("0.3::a. b :- not a. #query b."))
>>> flat = flatten(translate(program, Logic.STABLE), program.choices, program.questions, ())
>>> flat.atoms, flat.questions.tolist()
(4, [1, 3, 0])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass
from dpasp.logic.program import Choice, IntervalWeights, Rule
from dpasp.semantics.masses import Question, query_literals
from dpasp.semantics.translate import Translation

NEVER = 0  # the literal that never holds


@dataclass(frozen=True, slots=True)
class Flat:
    """The arguments of the native compiler; its source says how each array is laid out."""

    atoms: int
    rules: Integers
    choices: Integers
    questions: Integers
    own_atoms: Integers
    observed: Integers

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.rules) + len(self.choices) + len(self.questions)


def flatten(
    translation: Translation,
    choices: Sequence[Choice],
    questions: Sequence[Question],
    observed: Sequence[int],
) -> Flat:
    """The program and the questions as arrays."""
    own_atoms: list[int] = []
    if translation.least:
        for atom in translation.own_atoms:
            own_atoms += (atom, translation.twins[atom])
    return Flat(
        translation.size,
        flat_rules(translation.rules),
        flat_choices(choices),
        flat_questions(translation, questions),
        np.array(own_atoms, dtype=np.int64),
        np.array(observed, dtype=np.int64),
    )


def flat_rules(rules: Iterable[Rule]) -> Integers:
    """Flags, heads, body and, where there are weights, the bound and the weights of each rule."""
    data: list[int] = []
    for head, body, choice, weights, bound in rules:
        data.append(choice + 2 * (weights is not None))
        data.append(len(head))
        data += head
        data.append(len(body))
        data += body
        if weights is not None:
            data.append(bound)
            data += weights
    return np.array(data, dtype=np.int64)


def flat_choices(choices: Iterable[Choice]) -> Integers:
    """How many selectors each choice has, flags (1 nothing, 2 intervals), and the selectors."""
    data: list[int] = []
    for choice in choices:
        flags = choice.nothing + 2 * isinstance(choice.weight, IntervalWeights)
        data += (len(choice.selectors), flags, *choice.selectors)
    return np.array(data, dtype=np.int64)


def flat_questions(translation: Translation, questions: Iterable[Question]) -> Integers:
    """The literals of each query and of its evidence, each with their number before them."""
    data: list[int] = []
    for question in questions:
        for part in (query_literals(question), question.evidence):
            conjunction = translation.conjunction(part)
            if conjunction is None:
                conjunction = (NEVER,)
            data.append(len(conjunction))
            data += conjunction
    return np.array(data, dtype=np.int64)
