"""Program → GroundProgram: clingo grounds, we gather the choices, rules and questions.

>>> from dpasp.language import parse
>>> ground_program = ground(parse("d(1..2). 0.5::b :- d(X). #query b."))
>>> len(ground_program.choices), [question.text for question in ground_program.questions]
(2, ['b'])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import ast
from dpasp.language import check as check_language
from dpasp.language.collector import collector_paused
from dpasp.language.statements.constants import numeric_constants
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.assemble import Assembly, assemble
from dpasp.logic.constants import unused
from dpasp.logic.encode import QUESTIONS, Encoding, encode
from dpasp.logic.grounder import Grounder
from dpasp.logic.neural import read_data
from dpasp.logic.program import GroundProgram
from dpasp.logic.python import Functions, run_scripts
from dpasp.logic.questions import ground_questions


def ground(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    python: object | None = None,
    watch: Watch = UNLIMITED,
) -> GroundProgram:
    """Ground a program that :func:`dpasp.language.check` has found nothing wrong with.

    :class:`ProgramError` tells what can only be found now: unsafe variables,
    probabilities that depend on variables, functions that fail.

    ``constants`` win over the program's own. ``python`` is a module, mapping or other
    object whose functions are the program's ``@functions``; None does not allow Python,
    and an empty mapping allows the program's ``#script`` blocks.
    """
    given = constants or {}
    scripts = run_scripts(program, allowed=python is not None)
    namespaces = [names for names in (scripts or None, python) if names is not None]
    with collector_paused():
        encoding = encode(program, given)
        grounder = Grounder(encoding, Functions(program, namespaces, encoding.choices.facts), watch)
        grounder.ground("base")
        numbers = numeric_constants(program, given)
        assembly = assemble(encoding, grounder.control, grounder.rules, numbers)
        raise_problems(assembly.problems, program)
        return _finish(encoding, grounder, assembly, unused(program, given))


def _finish(
    encoding: Encoding, grounder: Grounder, assembly: Assembly, warnings: list[Diagnostic]
) -> GroundProgram:
    """Ground the questions too, and put everything together."""
    program = encoding.program
    warnings += grounder.warnings()
    grounder.rules.open = False
    grounder.ground(QUESTIONS)
    questions = ground_questions(encoding.questions, grounder.control, program, assembly.atoms)
    # What the questions name and nothing defines is told by the questions themselves.
    warnings += (w for w in grounder.warnings() if w.code != "undefined-atom")
    warnings += questions.warnings
    return GroundProgram(
        program=program,
        symbols=assembly.symbols(),
        rules=tuple(assembly.rules),
        choices=tuple(assembly.choices),
        parameters=tuple(assembly.weights.parameters),
        networks=tuple(assembly.networks),
        questions=questions.questions,
        evidence=questions.evidence,
        warnings=tuple(program.sources.in_order(warnings)),
        atoms=assembly.atoms,
        data=tuple(read_data(grounder.control, program)),
    )


def raise_problems(problems: Iterable[Diagnostic], program: ast.Program) -> None:
    """Raise the problems, in the order of the text, if there are any."""
    if ordered := program.sources.in_order(problems):
        raise ProgramError(ordered)


def check(
    program: ast.Program,
    *,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
) -> tuple[Diagnostic, ...]:
    """What is wrong with a program, found without grounding it or running anything.

    All errors are raised together as a :class:`ProgramError`; warnings are given back.
    """
    problems: list[Diagnostic] = []
    try:
        check_language(program, semantics, constants)
    except ProgramError as error:
        problems += error.diagnostics
    grounder = Grounder(encode(program, constants or {}), Functions(program, (), ()), UNLIMITED)
    try:
        grounder.ground()
    except ProgramError as error:
        known = {(problem.code, problem.span) for problem in problems}
        problems += (d for d in error.diagnostics if (d.code, d.span) not in known)
    raise_problems(problems, program)
    return (*unused(program, constants or {}), *grounder.warnings())
