"""Solving: where the solver's own preprocessing must be kept away."""

from __future__ import annotations

import pytest

import dpasp

DISJUNCTION = """
0.2::e :- not e. 0.7::c :- not a. 0.4::d :- a.
d :- c. d :- not c. c :- d.
b :- e, a, not d. e :- c, b, not e.
d; e :- b, not c. b; a; d :- not d. e; b :- d, c, not a. e; a.
"""


def test_a_condition_of_several_atoms_next_to_a_disjunction() -> None:
    # No model has b: the conjunction that stands for the query must not be merged with c.
    program = dpasp.loads(DISJUNCTION)
    for engine in ("enumerate", "bounds"):
        (answer,) = program.query("b, not e | c", engine=engine)
        assert answer.numbers == pytest.approx((0, 0), abs=1e-12)
