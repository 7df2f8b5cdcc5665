"""Random programs: every answer of every semantics is the oracle's.

``DPASP_RANDOM`` sets how many programs are drawn (3,000 if it is not set; those after the first
300 are slow tests), and ``DPASP_RANDOM_FIRST`` the seed of the first; ``DPASP_RANDOM_ATOMS`` how
many atoms the largest has (5), ``DPASP_RANDOM_ENGINE`` which engine answers (enumerate).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

import dpasp
from dpasp.inference.answers import Assignment, MapAnswer, assignment_text

from .answers import Answer, Bounds, Refused, ask, most_probable, table
from .generate import generate
from .programs import Program, Query

PROGRAMS = int(os.environ.get("DPASP_RANDOM", "3000"))
FIRST = int(os.environ.get("DPASP_RANDOM_FIRST", "0"))
ATOMS = int(os.environ.get("DPASP_RANDOM_ATOMS", "5"))
ENGINE = os.environ.get("DPASP_RANDOM_ENGINE", "enumerate")
FEW = 200  # programs in every run of the tests
BLOCK = 50
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
TOLERANCE = 1e-9


def blocks(programs: int, few: int) -> list[object]:
    """The first seeds of the blocks of programs; those after a few programs are slow tests."""
    return [
        pytest.param(first, marks=[pytest.mark.slow] if first >= FIRST + few else [])
        for first in range(FIRST, FIRST + programs, BLOCK)
    ]


@dataclass(frozen=True)
class Expectation:
    """What the oracle says under one semantics."""

    semantics: str
    answers: dict[Query, Answer]
    inconsistent: float | None  # not said for credal programs, where it depends on the vertex


def expectations(program: Program) -> Iterator[Expectation]:
    """What the oracle says under every semantics that gives the program a meaning."""
    for logic in LOGICS:
        if logic == "wellfounded" and program.disjunctive:
            continue
        found = table(program, logic)
        queries = [q for q in program.queries if logic != "stable" or not q.undefined]
        lost = None if program.credal else float(found.inconsistent())
        for probability in ("credal",) if program.credal else ("credal", "maxent"):
            answers = {query: ask(found, query, probability) for query in queries}
            yield Expectation(f"{logic}, {probability}", answers, lost)


@dataclass
class Asked:
    """dpasp's programs, one for each set of questions, so that each is grounded once."""

    text: str
    programs: dict[tuple[Query, ...], dpasp.Program] = field(default_factory=dict)

    def query(self, queries: tuple[Query, ...], semantics: str) -> dpasp.Answers:
        """dpasp's answers to the questions."""
        if queries not in self.programs:
            lines = "".join(f"\n#query {query}." for query in queries)
            self.programs[queries] = dpasp.loads(self.text + lines)
        return self.programs[queries].query(semantics=semantics, engine=ENGINE)


def differences(program: Program, refusals: bool) -> Iterator[str]:
    """Every way in which dpasp and the oracle differ, in what they refuse if that is asked for."""
    asked = Asked(str(program))
    for expected in expectations(program):
        good = {q: a for q, a in expected.answers.items() if isinstance(a, Bounds)}
        if good:
            yield from compare(good, asked, expected)
        bad = {q: a.code for q, a in expected.answers.items() if isinstance(a, Refused)}
        if bad and refusals:
            yield from compare_refusals(bad, asked, expected.semantics)


def compare(good: dict[Query, Bounds], asked: Asked, expected: Expectation) -> Iterator[str]:
    """Where dpasp's numbers are not the oracle's."""
    answers = asked.query(tuple(good), expected.semantics)
    lost = expected.inconsistent
    if lost is not None and abs(answers.inconsistent - lost) > TOLERANCE:
        yield f"{expected.semantics}: inconsistent {answers.inconsistent}, not {lost}"
    for answer, (query, bounds) in zip(answers, good.items(), strict=True):
        lower, upper = float(answer.numbers[0]), float(answer.numbers[-1])
        wanted = float(bounds.lower), float(bounds.upper)
        if abs(lower - wanted[0]) > TOLERANCE or abs(upper - wanted[1]) > TOLERANCE:
            yield f"{expected.semantics}: {query} is {[lower, upper]}, not {list(wanted)}"


def compare_refusals(bad: dict[Query, str], asked: Asked, semantics: str) -> Iterator[str]:
    """Where dpasp answers a query that it should refuse, or gives another reason."""
    try:
        seen = str(asked.query(tuple(bad), semantics))
    except dpasp.ImpossibleEvidence as error:
        told = [problem for problem in error.diagnostics if problem.severity == "error"]
        if set(bad.values()) == {"impossible-evidence"} and len(told) == len(bad):
            return
        seen = str(error)
    except dpasp.InconsistentProgram as error:
        if set(bad.values()) == {"inconsistent"}:
            return
        seen = str(error)
    yield f"{semantics}: {seen}, not {[f'{query}: {code}' for query, code in bad.items()]}"


@pytest.mark.parametrize("first", blocks(PROGRAMS, FEW))
def test_random_programs(first: int) -> None:
    for seed in range(first, min(first + BLOCK, FIRST + PROGRAMS)):
        program = generate(seed, ATOMS)
        found = list(differences(program, refusals=seed % 3 == 0))
        assert not found, "\n".join([f"seed {seed}:", str(program), "", *found])


# --- most probable values --------------------------------------------------------------------


def map_differences(seed: int) -> Iterator[str]:
    """Where the most probable values of two atoms, given the first evidence, differ."""
    program = generate(seed, 4)
    atoms, evidence = program.atoms[:2], program.queries[0].evidence
    given = " | " + ", ".join(map(str, evidence)) if evidence else ""
    question = f"#map {', '.join(f'{atom}?' for atom in atoms)}{given}."
    loaded = dpasp.loads(f"{program}\n{question}")
    for logic in LOGICS:
        if logic == "wellfounded" and program.disjunctive:
            continue
        if logic == "stable" and program.queries[0].undefined:
            continue
        found = table(program, logic)
        for probability in ("credal",) if program.credal else ("credal", "maxent"):
            expected = most_probable(found, atoms, evidence, probability)
            seen = map_answer(loaded, f"{logic}, {probability}")
            if isinstance(expected, Refused) or isinstance(seen, str):
                if not isinstance(expected, Refused) or seen != expected.code:
                    yield f"{logic}, {probability}: {seen}, not {expected}"
                continue
            for best, one in zip(expected, seen, strict=True):
                places = {frozenset(map(str, value)) for value in best.values}
                if abs(one[0] - best.probability) > TOLERANCE or one[1] != places:
                    yield f"{logic}, {probability}: {one}, not {float(best.probability)} {places}"


def map_answer(
    program: dpasp.Program, semantics: str
) -> str | list[tuple[float, set[frozenset[str]]]]:
    """dpasp's best values by lower and by upper probability, or the code of its refusal."""
    try:
        (answer,) = program.query(semantics=semantics, engine=ENGINE)
    except dpasp.Error as error:
        return error.diagnostics[0].code
    assert isinstance(answer, MapAnswer)
    upper = {literals(one) for one in (answer.assignment, *answer.ties)}
    if answer.lower_assignment is None:
        return [(answer.value or 0.0, upper)] * 2
    lower = {literals(one) for one in (answer.lower_assignment, *answer.lower_ties)}
    return [(answer.lower or 0.0, lower), (answer.upper or 0.0, upper)]


def literals(assignment: Assignment) -> frozenset[str]:
    """The literals of an assignment."""
    return frozenset(assignment_text({atom: value}) for atom, value in assignment.items())


@pytest.mark.parametrize("first", blocks(PROGRAMS // 20, BLOCK))
def test_most_probable_values(first: int) -> None:
    for seed in range(first, first + BLOCK):
        found = list(map_differences(seed))
        assert not found, "\n".join([f"seed {seed}:", str(generate(seed, 4)), "", *found])


# --- the programs themselves -----------------------------------------------------------------


def test_the_programs_are_diverse() -> None:
    """A thousand programs have all the features, and answers of every kind."""
    features = dict.fromkeys(
        ("disjunction", "constraint", "annotated", "credal", "undef", "evidence", "body"), 0
    )
    kinds = {"interval": 0, "point": 0, "impossible-evidence": 0, "inconsistent": 0}
    for seed in range(1000):
        program = generate(seed)
        features["disjunction"] += program.disjunctive
        features["constraint"] += any(not rule.head for rule in program.rules)
        features["annotated"] += any(len(choice.heads) > 1 for choice in program.choices)
        features["body"] += any(choice.positive or choice.negative for choice in program.choices)
        features["credal"] += program.credal
        features["undef"] += any(query.undefined for query in program.queries)
        features["evidence"] += any(query.evidence for query in program.queries)
        found = table(program, "partial")
        for query in program.queries:
            match ask(found, query, "credal"):
                case Refused(code):
                    kinds[code] += 1
                case Bounds(lower, upper):
                    kinds["interval"] += lower < upper
                    kinds["point"] += 0 < lower == upper < 1
    assert min(features.values()) >= 100, features
    assert min(kinds.values()) >= 100, kinds
