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
    atom = re.sub(r'"(-?[\d.]+)"', r"\1", atom)
    atom = re.sub(r", *", ",", re.sub(r"(\w)-(\w)", r"(\1,\2)", atom)).replace("nil", "[]")
    while (inner := re.sub(r"cons\(((?:[^()]|\([^()]*\))*?),\[(.*?)\]\)", _list, atom)) != atom:
        atom = inner
    return atom


def _list(match: re.Match[str]) -> str:
    return f"[{match[1]},{match[2]}]" if match[2] else f"[{match[1]}]"


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


def test_if_then_else_is_two_cases() -> None:
    """ProbLog has none; the cases with a test and its negation are the same in Prolog."""
    facts = "0.3::rain. 0.5::cold. day(1). day(2). 0.4::wet(1). 0.2::v(3). "
    asked = "query(take(_)). query(n(_)). query(only). query(late(_)). query(s(_))."
    found = by_us(
        facts + "take(X) :- (rain -> X = umbrella ; cold -> X = coat ; X = hat). "
        "n(N) :- day(D), (D > 1, wet(1) -> N is D+1 ; N = D). only :- (rain -> cold). "
        "0.5::late(D) :- day(D), (wet(D) -> true ; cold). "
        f"s(M) :- day(D), (wet(D) -> M is max(D, 1) ; M is min(D, 1)). {asked}"
    )
    expected = by_problog(
        facts + "take(umbrella) :- rain. take(coat) :- \\+ rain, cold. "
        "take(hat) :- \\+ rain, \\+ cold. n(N) :- day(D), D > 1, wet(1), N is D+1. "
        "n(D) :- day(D), \\+ (D > 1, wet(1)). only :- rain, cold. "
        "c(D) :- day(D), wet(D). c(D) :- day(D), \\+ wet(D), cold. 0.5::late(D) :- c(D). "
        f"s(D) :- day(D), wet(D). s(1) :- day(D), \\+ wet(D). {asked}"
    )
    assert expected is not None
    assert {a: p for a, p in found.items() if p} == pytest.approx(
        {a: p for a, p in expected.items() if p}, abs=1e-9
    )


def test_most_programs_convert() -> None:
    by_topic = [name for name in PROGRAMS if not name.startswith("certain: ")]
    converted = [name for name in by_topic if "(refused" not in name]
    assert len(by_topic) >= 110
    assert len(converted) / len(by_topic) >= 0.75


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
    while converted < 3:
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
