"""ProbLog's programs, converted, give ProbLog's answers.

The programs in ``problog/`` are written in ProbLog's style, by the topics of its
documentation; each begins with a line ``%% title``. A title that ends in ``(refused)`` is
refused by the converter, ``(refused by both)`` by ProbLog as well.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import dpasp

problog = pytest.importorskip("problog")

FOLDER = Path(__file__).parent / "problog"
PROGRAMS = {
    f"{path.stem}: {title}": text
    for path in sorted(FOLDER.glob("*.pl"))
    for title, text in re.findall(r"^%% (.*?)\n(.*?)(?=^%% |\Z)", path.read_text(), re.M | re.S)
}
LISTS = ("a list in a fact", "a list that is used as a list")


def by_problog(text: str) -> dict[str, float] | None:
    """ProbLog's answers; None if it refuses."""
    from problog import get_evaluatable
    from problog.errors import ProbLogError
    from problog.program import PrologString

    text = re.sub("^:- table.*$", "", text, flags=re.M)  # it tables everything, and says nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = get_evaluatable().create_from(PrologString(text)).evaluate()
        except ProbLogError:
            return None
    return {canonical(str(atom)): value for atom, value in found.items()}


def canonical(atom: str) -> str:
    """An atom with the differences of the two languages' writing removed."""
    atom = atom.replace("\\+", "not ").replace("'", '"')
    return re.sub(r", *", ",", re.sub(r"(\w)-(\w)", r"(\1,\2)", atom))


def by_us(text: str) -> dict[str, float]:
    """Our answers to the converted program."""
    answers = dpasp.loads(dpasp.convert(text, "problog", from_str=True)).query()
    return {canonical(str(answer.query)): float(answer.value) for answer in answers}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "(refused" not in name])
def test_converted_programs_give_problogs_answers(name: str) -> None:
    expected = by_problog(PROGRAMS[name])
    assert expected is not None
    found = by_us(PROGRAMS[name])
    possible = {atom for numbers in (expected, found) for atom, p in numbers.items() if p > 0}
    assert {atom: found.get(atom) for atom in possible} == pytest.approx(
        {atom: expected.get(atom) for atom in possible}, abs=1e-9
    )


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "(refused" in name])
def test_what_has_no_counterpart_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(dpasp.Error) as refused:
        by_us(PROGRAMS[name])
    if not isinstance(refused.value, dpasp.InferenceError):
        assert all(problem.span is not None for problem in refused.value.diagnostics)
    if "refused by both" in name:
        assert by_problog(PROGRAMS[name]) is None


def test_most_programs_without_lists_convert() -> None:
    without = [name for name in PROGRAMS if not name.split(": ")[1].startswith(LISTS)]
    converted = [name for name in without if "(refused" not in name]
    assert len(without) >= 100
    assert len(converted) / len(without) >= 0.8


def test_if_then_else() -> None:
    text = "n(1). n(5). 0.5::p(X,Y) :- n(X), (X > 3 -> Y = big ; Y = small). query(p(_,_))."
    assert by_us(text) == {"p(1,small)": 0.5, "p(5,big)": 0.5}


def test_a_negative_cycle_has_its_well_founded_meaning() -> None:
    assert by_us("0.5::c. a :- \\+ b. b :- \\+ a, c. query(a). query(b).") == {"a": 0.5, "b": 0}
