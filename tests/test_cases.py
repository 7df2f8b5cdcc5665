"""Every case and every example gives what it says; `tests/expected.py` has the format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpasp
from dpasp.inference.answers import Answer, Answers, Assignment, MapAnswer, assignment_text

from .expected import Case, Expected, read_case
from .oracle.answers import Bounds, ask, table
from .oracle.programs import NotPropositional, Program, read

FOLDER = Path(__file__).parent / "cases"
EXAMPLES = Path(__file__).parent.parent / "examples"
FILES = sorted(FOLDER.rglob("*.plp"))
EXAMPLE_FILES = [path for path in sorted(EXAMPLES.glob("*.plp")) if read_case(path).answers]
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
TOLERANCE = 1e-9
ENGINES = ("enumerate", "auto")


def name(path: Path) -> str:
    """A short name for the test report."""
    return str(path.relative_to(FOLDER if path.is_relative_to(FOLDER) else EXAMPLES.parent))


def ask_dpasp(case: Case, engine: str) -> Answers:
    """What dpasp answers to the file's questions."""
    program = dpasp.load(case.path, constants=case.constants, python=False)
    return program.query(semantics=case.semantics, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", FILES + EXAMPLE_FILES, ids=name)
def test_case(path: Path, engine: str) -> None:
    case = read_case(path)
    if case.refusals:
        refused(case, engine)
    else:
        answered(case, ask_dpasp(case, engine))


def refused(case: Case, engine: str) -> None:
    """The errors are those that the file names, at their places."""
    with pytest.raises(dpasp.Error) as caught:
        ask_dpasp(case, engine)
    seen = [
        (d.code, d.span and d.span.line, d.span and d.span.column)
        for d in caught.value.diagnostics
        if d.severity == "error"
    ]
    wanted = [(r.code, r.line, r.column) for r in case.refusals]
    told = [
        one if want[1] is not None else (one[0], None, None)
        for one, want in zip(seen, wanted, strict=False)
    ]
    assert told == wanted, str(caught.value)
    assert len(seen) == len(wanted), str(caught.value)


def answered(case: Case, answers: Answers) -> None:
    """The answers, the warnings and the inconsistent mass are those that the file gives."""
    seen = [one for answer in answers for one in flattened(answer)]
    assert len(seen) == len(case.answers), str(answers)
    for got, wanted in zip(seen, case.answers, strict=True):
        assert (got.kind, squeezed(got.query)) == (wanted.kind, squeezed(wanted.query))
        assert got.places == wanted.places, wanted.query
        assert got.lower == pytest.approx(wanted.lower, rel=TOLERANCE, abs=TOLERANCE), wanted
        assert got.upper == pytest.approx(wanted.upper, rel=TOLERANCE, abs=TOLERANCE), wanted
    codes = {warning.code for warning in answers.warnings}
    expected = set(case.warnings)
    if case.inconsistent is not None:
        assert answers.inconsistent == pytest.approx(case.inconsistent, abs=TOLERANCE)
        expected |= {"inconsistent-choices"} if case.inconsistent else set()
        assert codes == expected


def flattened(answer: Answer | MapAnswer) -> list[Expected]:
    """An answer in the form of what is expected."""
    if isinstance(answer, Answer):
        lower, upper = answer.numbers[0], answer.numbers[-1]
        return [Expected("ℙ", answer.query, float(lower), float(upper))]
    ways = frozenset(literals(one) for one in (answer.assignment, *answer.ties))
    if answer.value is not None:
        return [Expected("max ℙ", answer.query, answer.value, answer.value, ways)]
    assert answer.lower is not None
    assert answer.upper is not None
    assert answer.lower_assignment is not None
    surest = frozenset(literals(one) for one in (answer.lower_assignment, *answer.lower_ties))
    return [
        Expected("max lower ℙ", answer.query, answer.lower, answer.lower, surest),
        Expected("max upper ℙ", answer.query, answer.upper, answer.upper, ways),
    ]


def literals(assignment: Assignment) -> frozenset[str]:
    """The literals of an assignment."""
    return frozenset(assignment_text({atom: value}) for atom, value in assignment.items())


def squeezed(query: str) -> str:
    """The query without its spaces."""
    return re.sub(r"\s", "", query)


# --- the files themselves --------------------------------------------------------------------


def propositional(path: Path) -> Program | None:
    """The file's program if the second oracle can read it."""
    if not read_case(path).answers:
        return None
    try:
        program = read(path.read_text(encoding="utf-8"))
    except NotPropositional:
        return None
    limit = 9 if program.semantics[0] in ("stable", "smproblog") else 6
    known = all(
        literal.atom in program.atoms
        for query in program.queries
        for literal in query.literals + query.evidence
    )
    return program if known and program.queries and len(program.atoms) <= limit else None


@pytest.mark.parametrize("path", [p for p in FILES + EXAMPLE_FILES if propositional(p)], ids=name)
def test_the_oracle_agrees(path: Path) -> None:
    program = propositional(path)
    assert program is not None
    logic, probability = program.semantics
    found = table(program, logic)
    case = read_case(path)
    assert len(case.answers) == len(program.queries)
    for query, wanted in zip(program.queries, case.answers, strict=True):
        bounds = ask(found, query, probability)
        assert isinstance(bounds, Bounds)
        assert float(bounds.lower) == pytest.approx(wanted.lower, abs=1e-12), str(query)
        assert float(bounds.upper) == pytest.approx(wanted.upper, abs=1e-12), str(query)
    if not program.credal:
        assert float(found.inconsistent()) == pytest.approx(case.inconsistent, abs=1e-12)


def test_there_are_enough_cases() -> None:
    assert len(FILES) >= 250
    for logic in LOGICS:
        for probability in ("credal", "maxent"):
            assert len(list((FOLDER / logic / probability).glob("*.plp"))) >= 15


@pytest.mark.parametrize("path", FILES + EXAMPLE_FILES, ids=name)
def test_every_file_says_what_it_expects_and_why(path: Path) -> None:
    case = read_case(path)
    assert bool(case.answers) != bool(case.refusals)
    assert case.source or case.refusals
    text = path.read_text(encoding="utf-8")
    if path.is_relative_to(FOLDER):  # no misspelt word goes unnoticed
        said = re.findall(r"^% (\w+):", text, re.M)
        known = {"expect", "error", "warning", "inconsistent", "semantics", "constants", "source"}
        assert set(said) <= known
    logic, probability = path.parts[-3:-1]
    if logic in LOGICS:
        assert f"#semantics {logic}, {probability}." in text
