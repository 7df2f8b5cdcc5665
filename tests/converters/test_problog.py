"""ProbLog's programs, converted rule by rule, give ProbLog's answers.

The programs in ``problog/`` are written in ProbLog's style, by the topics of its
documentation; each begins with a line ``%% title``. A title that ends in ``(refused)`` is
refused by the converter, ``(refused by both)`` by ProbLog as well. Those of ``certain.pl`` are
about where the two might differ.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random

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
    """Our answers to the program, converted rule by rule."""
    answers = dpasp.loads(dpasp.convert(text, "problog", from_str=True, ground=False)).query()
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
    by_topic = [name for name in PROGRAMS if not name.startswith("certain: ")]
    without = [name for name in by_topic if not name.split(": ")[1].startswith(LISTS)]
    converted = [name for name in without if "(refused" not in name]
    assert len(without) >= 100
    assert len(converted) / len(without) >= 0.8


OPERATORS = ("=", "==", "\\==", "\\=", "@<", "<", ">", "=<", ">=", "=:=", "=\\=")


def random_program(rng: Random) -> str:
    """A program of three predicates of facts and four of rules, some with all that Prolog has."""
    places = {name: rng.choice([0, 1, 1, 2]) for name in "efgpqrs"}
    names: list[str] = []

    def atom(name: str, terms: Sequence[str]) -> str:
        args = ",".join(rng.choice(terms) for _ in range(places[name]))
        return f"{name}({args})" if args else name

    def goal(depth: int = 0) -> str:
        name, terms = rng.choice("efgpqrs"), [*names, *names, "1", "2", "a", "_"]
        left, right = rng.choice(names or ["1"]), rng.choice(terms)
        kinds = [
            atom(name, terms),
            f"\\+ {atom(name, terms)}",
            f"{left} {rng.choice(OPERATORS)} {right}",
            f"between(1,{rng.choice(['2', left])},{left})",
            f"X is {left} {rng.choice(['+', '-', '*', '//', 'mod'])} 2",
            f"member({left},[1,{rng.choice('12a')}])",
            f"call({name}{''.join(f',{rng.choice(terms)}' for _ in range(places[name]))})",
        ]
        if depth < 2:
            first, second = goal(depth + 1), goal(depth + 1)
            fold = rng.choice(["length", "sum_list", "max_list", "min_list"])
            kinds += [f"({first} ; {second})", f"\\+ ({first}, {second})"]
            kinds += [f"forall({first}, {second})", f"findall({left},{first},L), {fold}(L,{right})"]
        return rng.choice([kinds[0], kinds[0], kinds[1], *kinds])

    lines = [":- use_module(library(lists))."]
    for name in "efg":
        values = rng.choice([("1", "2", "3"), ("1", "2", "3"), ("1", "a", "b")])
        for _ in range(rng.randint(1, 3)):
            lines.append(f"{rng.choice(['', '0.3::', '0.5::'])}{atom(name, values)}.")
    for name in "pqrs":
        for _ in range(rng.choice([1, 1, 2])):
            body = [atom(rng.choice("efg"), ("X", "Y")) for _ in range(rng.choice([1, 1, 2]))]
            names[:] = [v for v in "XY" if any(v in text for text in body)]
            body += [goal() for _ in range(rng.choice([0, 1, 1, 2]))]
            head = atom(name, (*names, *names, "1"))
            lines.append(f"{rng.choice(['', '', '0.4::'])}{head} :- {', '.join(body)}.")
    lines += [f"query({atom(name, ('_', '1', '2'))})." for name in rng.sample("pqrs", 2)]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_are_converted_with_their_answers_or_refused(seed: int) -> None:
    rng, converted = Random(seed), 0
    while converted < 4:
        text = random_program(rng)
        try:
            found = by_us(text)
        except dpasp.ProgramError:
            continue
        converted += 1
        expected = by_problog(text)
        assert expected is not None, text
        possible = {atom for numbers in (expected, found) for atom, p in numbers.items() if p > 0}
        assert {atom: found.get(atom) for atom in possible} == pytest.approx(
            {atom: expected.get(atom) for atom in possible}, abs=1e-9
        ), text


def asking_program(rng: Random) -> str:
    """A program whose rules take values from the questions."""
    before = rng.choice(["g(M)", "f(M), g(M)", "\\+ f(M), g(M)"])
    lines = ["0.3::f(X). 0.6::g(0). d(1). d(2). 0.5::e(1,2). 0.5::e(2,1)."]
    lines.append(f"0.5::g(N) :- N > 0, M is N-1, {before}.")
    goals = ["f(X)", "g(X)", "\\+ f(X)", "p(X)", "q(X)", "d(X)", "e(X,Y), f(Y)", "e(Y,X), q(Y)"]
    goals += ["X > 0, Y is X-1, g(Y)"]
    for name in "pqrs":
        body = ", ".join(rng.choice(goals) for _ in range(rng.choice([1, 1, 2])))
        lines.append(f"{rng.choice(['', '', '0.4::'])}{name}(X) :- {body}.")
    lines += [f"query({rng.choice('pqrs')}({rng.choice('1123')}))." for _ in range(3)]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_values_come_from_what_is_asked(seed: int) -> None:
    rng, converted = Random(seed), 0
    while converted < 4:
        text = asking_program(rng)
        try:
            found = by_us(text)
        except dpasp.ProgramError:
            continue
        expected = by_problog(text)
        converted += 1
        assert found == pytest.approx(expected, abs=1e-9), text
