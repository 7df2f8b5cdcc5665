"""A meaning answers what the rest asks; no other module compares names of semantics."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from clingo import Function

from dpasp.ground.program import GroundLiteral
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import TRANSLATIONS

SOURCE = Path(__file__).parents[2] / "src" / "dpasp"


def test_what_answers_are_made_of() -> None:
    assert Meaning(Logic.STABLE, Probability.MAXENT).fields == ("consistent", "qe", "e")
    assert Meaning(Logic.STABLE, Probability.CREDAL).fields == ("consistent", "a", "b", "c", "d")
    assert str(Meaning(Logic.LSTABLE, Probability.MAXENT)) == "lstable, maxent"


@pytest.mark.parametrize("logic", Logic)
def test_total_choices_without_stable_models(logic: Logic) -> None:
    undefined = GroundLiteral(Mode.UNDEFINED, 1, Function("a"))
    true = GroundLiteral(Mode.TRUE, 1, Function("a"))
    meaning = Meaning(logic)
    assert meaning.holds_without_models([]) == (logic is Logic.SMPROBLOG)
    assert meaning.holds_without_models([undefined]) == (logic is Logic.SMPROBLOG)
    assert not meaning.holds_without_models([undefined, true])


def test_every_logic_has_its_translation() -> None:
    assert set(TRANSLATIONS) == set(Logic)


def test_one_place_behind_the_translation_knows_smproblog() -> None:
    known = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"\bSMPROBLOG\b", path.read_text(encoding="utf-8"))
    }
    assert known == {
        "language/statements/statement.py",  # its name
        "language/statements/questions.py",  # has no counterfactuals
        "semantics/translate.py",
        "semantics/meaning.py",
    }
