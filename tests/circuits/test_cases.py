"""Every case, under every semantics that gives it a meaning, by every way of the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpasp
from dpasp.circuits import Cache
from dpasp.language.ast import Logic, Probability
from dpasp.language.reader import effective_semantics
from dpasp.semantics.meaning import Meaning

from ..expected import read_case
from .ways import compare

FOLDER = Path(__file__).parent.parent / "cases"
FILES = [path for path in sorted(FOLDER.rglob("*.plp")) if read_case(path).answers]


EVERY = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))


@EVERY
def test_case(path: Path) -> None:
    case = read_case(path)
    program = dpasp.load(path, constants=case.constants)
    meaning = Meaning(*effective_semantics(program.source, case.semantics))
    compare(meaning.logic.value, program.ground(), meaning)


@pytest.mark.slow
@EVERY
def test_case_under_other_semantics(path: Path, tmp_path: Path) -> None:
    ground = dpasp.load(path, constants=read_case(path).constants).ground()
    cache = Cache(tmp_path, worth=0.0)
    for logic in Logic:
        for probability in Probability:
            compare(logic.value, ground, Meaning(logic, probability), cache)
