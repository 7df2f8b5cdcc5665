"""The mass of total choices without a model: never a rounding error, never lost."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp.circuits import Options, compile
from dpasp.circuits.circuit import consistency
from dpasp.inference.circuit import on_circuit
from dpasp.inference.enumerate import enumerate_models
from dpasp.language.ast import Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.circuits.programs import STABLE

from .test_join import random_programs, random_weights


def test_what_is_tiny_is_told() -> None:
    for text in ("1e-20::a. 0.3::b. :- a, b.", "1e-20::a. 0.3::b. c :- a, b, not c."):
        answers = dpasp.loads(text).query("b")
        assert answers.inconsistent == pytest.approx(3e-21, rel=1e-12)
        assert [warning.code for warning in answers.warnings] == ["inconsistent-choices"]
        assert dpasp.loads(text).query("b", semantics="smproblog").inconsistent == 0


def test_what_is_undefined_seldom_is_not_lost() -> None:
    program = dpasp.loads("1e-20::a. 0.3::b. c :- a, b, not c.")
    (answer,) = program.query("undef b", semantics="smproblog, maxent")
    assert answer.value == pytest.approx(3e-21, rel=1e-12)


def test_rounding_is_not_told() -> None:
    text = "".join(f"0.1::a({i}). 0.7::b({i}). " for i in range(60))
    text += "p(X) :- a(X), not q(X). q(X) :- b(X), not p(X)."
    for semantics in ("maxent", "credal"):
        answers = dpasp.loads(text).query("p(59)", semantics=semantics)
        assert answers.inconsistent == 0
        assert answers.warnings == ()


def test_as_the_table_says() -> None:
    """Weights of all sizes: the masses agree in all digits, however small they are."""
    added, certain = 0, 0
    for seen, (ground, logic) in enumerate(random_programs(range(200, 500))):
        found = on_circuit(ground, Meaning(logic, Probability.MAXENT))
        known = consistency(found.circuit, found.layout)
        added += known.layers is not None
        certain += known.never
        weights = random_weights(ground, 4, seen)
        for i, scale in enumerate((1.0, 1e-3, 1e-9, 1e-25)):
            for choice in range(len(ground.choices)):
                own = weights[leaves.layout(ground.choices).of(choice), i]
                own[1:] *= scale
                own[0] = 1.0 - own[1:].sum()
        table = enumerate_models(ground, Meaning(logic, Probability.MAXENT)).masses(weights)
        rows = found.masses(weights)
        exact = known.layers is not None or known.never
        rtol, atol = (1e-9, 0.0) if exact else (1e-9, 1e-11)
        lost, expected = (own.inconsistent + own.undefined for own in (rows, table))
        np.testing.assert_allclose(lost, expected, rtol=rtol, atol=atol)
    assert min(added, certain) > 40


def test_a_compiler_that_branches_on_atoms_leaves_the_difference() -> None:
    ground = dpasp.loads(
        "0.3::a. 0.4::b. c :- a. c :- b. d :- c, not b. :- d, a. #query c."
    ).ground()
    found = compile(ground, STABLE, options=Options(way="elimination"))
    known = consistency(found, leaves.layout(ground.choices))
    weights = leaves.weights(ground)[:, np.newaxis]
    difference = 1.0 - found.masses(weights)[0, 0]
    assert known.missing(weights, difference) == pytest.approx(0.3 * 0.6)
    rounding = np.array([1e-16])
    if known.layers is None:
        assert known.missing(weights, rounding) == 0
