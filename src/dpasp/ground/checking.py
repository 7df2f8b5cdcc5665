"""From texts to a program, and mistakes that can be found without grounding it.

If some statements cannot be read, the others are still checked, so that one run reports a typo in a
directive and an unsafe variable together. Warnings are about names that nothing in the text can
derive: a predicate counts as derived if a head, a choice, a decision, ``#external``, a neural or a
data statement has its name, arity and sign, whatever its body, or if ``#defined`` names it.

>>> try:
...     program_of_texts([("p.plp", "#qery a. 1.5::b.")])
... except ProgramError as error:
...     print(*map(str, error.diagnostics), sep=chr(10))
p.plp:1:1: error: unknown directive #qery [unknown-directive]
p.plp:1:10: error: 1.5 is not a probability [probability-range]
>>> from dpasp.language import parse
>>> for warning in underived(parse("0.3::wet. slips :- wet, icey. 0.1::icy. #query wett.")):
...     print(warning.message, warning.help, sep="; ")
icey occurs in no head, so it is always false; did you mean 'icy'?
wett cannot occur, so its probability is 0; did you mean 'wet'?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground.encode import encode
from dpasp.ground.grounding import ClingoGrounder, raise_problems
from dpasp.ground.messages import suggest, undefined_atoms
from dpasp.ground.overflow import Arithmetic, careful_from_the_start
from dpasp.ground.python import Functions
from dpasp.ground.questions import (
    UNDERIVED,
    cannot_occur,
    no_instances,
    question_literals,
)
from dpasp.ground.terms import (
    Signature,
    can_occur,
    derived_by,
    row_predicates,
    unused_constants,
)
from dpasp.ground.tuning import TUNING
from dpasp.language import ast, check
from dpasp.language.reader import read_readable
from dpasp.language.text.source import Reach
from dpasp.limits import UNLIMITED

# Mistakes in a single statement, whatever the rest of the program says.
LOCAL_CODES = {
    "disjunction-sum",
    "interval-order",
    "interval-sum",
    "mixed-annotations",
    "optimisation",
    "probability-range",
    "unsafe-variable",
}


def program_of_texts(
    texts: Sequence[tuple[str, str]], reaches: Mapping[str, Reach] | None = None
) -> ast.Program:
    """The program in some named texts; raises a :class:`ProgramError` with all mistakes.

    ``reaches`` says which files some texts may read; other texts may read any.
    """
    program, errors = read_with_problems(texts, reaches)
    if errors:
        raise ProgramError(errors)
    return program


def read_with_problems(
    texts: Sequence[tuple[str, str]], reaches: Mapping[str, Reach] | None = None
) -> tuple[ast.Program, list[Diagnostic]]:
    """The statements that can be read, and the mistakes if some cannot be."""
    program, errors = read_readable(list(texts), reaches=reaches)
    return program, _with_local_problems(errors, program) if errors else []


def _with_local_problems(errors: list[Diagnostic], program: ast.Program) -> list[Diagnostic]:
    """The errors of reading, and those in statements that could be read.

    Of the latter only mistakes in single statements: others may follow from the errors.
    """
    try:
        check_without_grounding(program)
    except ProgramError as error:
        more = [problem for problem in error.diagnostics if problem.code in LOCAL_CODES]
        return program.sources.in_order([*errors, *more])
    return errors


def check_without_grounding(
    program: ast.Program,
    *,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
) -> tuple[Diagnostic, ...]:
    """Check a program without grounding it or running anything.

    All errors are raised together as a :class:`ProgramError`; warnings are returned.
    """
    problems: list[Diagnostic] = []
    try:
        check(program, semantics, constants)
    except ProgramError as error:
        problems += error.diagnostics
    arithmetic = Arithmetic()
    careful = careful_from_the_start(program, arithmetic)
    functions = Functions(program, {}, None, arithmetic.functions())
    try:
        encoding = encode(program, constants or {}, careful=careful)
        clingo = ClingoGrounder(encoding, functions, UNLIMITED)
        clingo.ground()
    except ProgramError as error:
        known = {(problem.code, problem.span) for problem in problems}
        problems += (d for d in error.diagnostics if (d.code, d.span) not in known)
    raise_problems(problems, program)
    doubts = (*unused_constants(program, constants or {}), *clingo.warnings(), *underived(program))
    return tuple(program.sources.in_order(doubts))


def underived(program: ast.Program) -> Iterator[Diagnostic]:
    """Warn about the atoms of bodies and questions that nothing can derive, in their order."""
    known: set[Signature] = set()
    unsure: list[tuple[ast.Statement, Collection[Signature] | None]] = []
    for statement in program.statements:
        quick = row_predicates(statement)
        known.update(quick[0] if quick else derived_by(statement))
        if quick is None or quick[1]:
            unsure.append((statement, quick and quick[1]))
    found = (
        problem
        for statement, looked_at in unsure
        if looked_at is None or not known.issuperset(looked_at)
        for problem in (
            _about_question(statement, known, program)
            if isinstance(statement, ast.Question)
            else undefined_atoms(statement, known, program.sources)
        )
    )
    yield from islice(found, TUNING.messages)


def _about_question(
    question: ast.Question, known: set[Signature], program: ast.Program
) -> Iterator[Diagnostic]:
    told = False
    for literal in question_literals(question):
        if can_occur(literal.atom, known):
            continue
        text = str(literal.atom)
        help = suggest(text.partition("(")[0], known) or UNDERIVED
        if literal.is_ground:
            span = program.sources.span_of(literal.atom.symbol.location)
            yield cannot_occur(text, literal, span, help)
        elif not told:
            told = True
            yield no_instances(question.span, help)
