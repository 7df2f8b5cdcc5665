"""Accuracy over the test rows, where the program tells their labels."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp.inference.answers import Answer, Answers
from dpasp.learning.history import accuracies

from .programs import addition


def answers(*given: tuple[str, list[float]], probability: str = "maxent") -> Answers:
    if probability == "maxent":
        found = [Answer(query, value=np.array(rows)) for query, rows in given]
    else:
        found = [
            Answer(query, lower=np.zeros(len(rows)), upper=np.array(rows)) for query, rows in given
        ]
    return Answers(tuple(found), "stable", probability, "compile")


@pytest.mark.parametrize("probability", ["maxent", "credal"])
def test_the_most_probable_answer_counts(probability: str) -> None:
    seen = answers(("s(0)", [0.9, 0.2, 0.5]), ("s(1)", [0.1, 0.8, 0.4]), probability=probability)
    assert accuracies(seen, [["s(0)"], "s(1)", ["s( 1 )", "x"]]) == {"s": pytest.approx(2 / 3)}


def test_negative_labels() -> None:
    seen = answers(("xor", [0.9, 0.2]), ("not xor", [0.1, 0.8]))
    assert accuracies(seen, ["xor", "not xor"]) == {"xor": 1.0}
    assert accuracies(seen, ["~xor", "not  xor"]) == {"xor": 0.5}


def test_nothing_to_compare_is_no_accuracy() -> None:
    assert accuracies(answers(("s(0)", [0.9, 0.2])), ["s(0)", "s(0)"]) == {}
    assert accuracies(answers(("s(0)", [0.9]), ("s(1)", [0.1])), ["s(0)", "s(0)"]) == {}


def test_a_program_that_tells_its_test_labels() -> None:
    text = addition().replace("def sums(): return [", "def rows_(): return [")
    both = 'def sums(): return {"train": rows_(), "test": rows_()}\n#end.'
    program = dpasp.loads(text.replace("#end.", both), python=True)
    program.learn(niters=25)
    labels = [row[0] for row in program.functions["rows_"]()]
    found = program.query().statistics["accuracy"]
    assert found == {"s": pytest.approx(program.accuracy("s(X)", labels))}
    assert found["s"] > 0.9
