"""Program → GroundProgram: clingo grounds, we gather the choices, rules and questions.

>>> from dpasp.language import parse
>>> ground_program = ground(parse("d(1..2). 0.5::b :- d(X). #query b."))
>>> len(ground_program.choices), [question.text for question in ground_program.questions]
(2, ['b'])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from threading import Lock
from typing import Any

from clingo import Symbol

from dpasp.errors import Diagnostic, MemoryLimit, ProgramError, TimeLimit
from dpasp.language import ast, check
from dpasp.language.collector import collector_paused
from dpasp.language.statements.constants import numeric_constants
from dpasp.limits import UNLIMITED, Watch
from dpasp.limits.work import in_child
from dpasp.logic.assemble import Assembly, assemble
from dpasp.logic.clingo import ClingoGrounder, TooLarge, while_grounding
from dpasp.logic.constants import unused_constants
from dpasp.logic.dry_run import dry_run
from dpasp.logic.encode import (
    Encoding,
    add_questions,
    encode,
    encode_questions,
    questions_part,
)
from dpasp.logic.origins import RuleInstance
from dpasp.logic.overflow import Arithmetic, again, careful_from_the_start
from dpasp.logic.program import GroundProgram
from dpasp.logic.python import CallerObjects, Functions, run_scripts
from dpasp.logic.questions import QuestionMarkers, ground_questions
from dpasp.logic.underived import underived


def ground(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    python: object | None = None,
    watch: Watch = UNLIMITED,
) -> GroundProgram:
    """Ground a program that :func:`dpasp.language.check` has found nothing wrong with.

    :class:`ProgramError` lists what can only be found now: unsafe variables,
    probabilities that depend on variables, functions that fail.

    ``constants`` win over the program's own. ``python`` is a module, mapping or other
    object whose functions are the program's ``@functions``; None does not allow Python,
    and an empty mapping allows the program's ``#script`` blocks.
    """
    return Grounder(program, constants=constants, python=python, watch=watch).ask(program, watch)


def ground_in_child(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    watch: Watch,
    most: float = inf,
) -> GroundProgram:
    """Like :func:`ground` for a program without Python, so that nothing is left at a limit.

    Raises :class:`TooLarge` where it has more than ``most`` ground rules.
    """

    def work() -> tuple[GroundProgram, int] | None:
        try:
            grounder = Grounder(program, constants=constants, watch=watch, most=most)
        except TooLarge:
            return None
        grounded = grounder.ask(program, watch)
        empty: Any = None  # what is here already, or follows from the rest, is not sent
        return replace(grounded, program=empty, symbols=()), len(grounded.symbols)

    started = watch.elapsed()
    try:
        received = in_child(work, watch)
    except (TimeLimit, MemoryLimit) as error:
        raise while_grounding(error, watch.elapsed() - started) from None
    if received is None:
        raise TooLarge
    grounded, count = received
    names: list[Symbol | None] = [None] * count
    for symbol, atom in grounded.atoms.items():
        names[atom] = symbol
    return replace(grounded, program=program, symbols=tuple(names))


def try_grounding(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    watch: Watch,
    most: float = inf,
) -> None:
    """Return when another process has ground a program without Python, so that it is known to end.

    It goes no further than ``most`` ground rules; a limit is raised as by :func:`ground`.
    """
    started = watch.elapsed()
    try:
        dry_run(encode(program, constants or {}).dry_run(most), watch)
    except (TimeLimit, MemoryLimit) as error:
        raise while_grounding(error, watch.elapsed() - started) from None


class Grounder:
    """A program that is ground once, and asked any number of questions.

    The arguments are those of :func:`ground`. With ``origins``, the ``instances`` of its rules
    are known, and every ground rule of the program has its instance's atom for a body. Raises
    :class:`TooLarge` where there are more than ``most`` ground rules. After an error of
    :meth:`ask` it cannot be asked again: make a new one.

    >>> from dpasp.language import extend, parse
    >>> program = parse("d(1..2). 0.5::b(X) :- d(X).")
    >>> grounder = Grounder(program)
    >>> for text in ("#query b(1).", "#query b(X)."):
    ...     found = grounder.ask(extend(program, text), UNLIMITED)
    ...     print([question.text for question in found.questions])
    ['b(1)']
    ['b(1)', 'b(2)']
    """

    def __init__(
        self,
        program: ast.Program,
        *,
        constants: Mapping[str, str] | None = None,
        python: object | None = None,
        watch: Watch = UNLIMITED,
        origins: bool = False,
        most: float = inf,
    ) -> None:
        self._overrides = overrides = constants or {}
        allowed = python is not None and not isinstance(python, CallerObjects)
        scripts = run_scripts(program, allowed=allowed)
        self._lock = Lock()  # clingo's controls are not for several threads at once
        with collector_paused():
            self._arithmetic = Arithmetic()
            self._clingo, encoding = self._ground_base(
                program, (scripts, python), watch, origins, most
            )
            clingo = self._clingo
            if encoding.rules is not None:
                clingo.rules.rules = encoding.rules.closed(clingo.control, clingo.rules.rules)
            numbers = numeric_constants(program, overrides)
            assembly = assemble(encoding, clingo.control, clingo.rules, numbers)
            raise_problems(assembly.problems, program)
            warnings = unused_constants(program, overrides)
            warnings += self._arithmetic.warnings
            self._ground = _without_questions(program, clingo, assembly, warnings)
            clingo.rules.open = False
            self.instances: tuple[RuleInstance, ...] = ()
            if encoding.rules is not None:
                self.instances = encoding.rules.read(clingo.control)
        self._first: QuestionMarkers | None = encoding.questions
        self._rounds = 1

    def _ground_base(
        self,
        program: ast.Program,
        python: tuple[Mapping[str, object], object | None],
        watch: Watch,
        origins: bool,
        most: float,
    ) -> tuple[ClingoGrounder, Encoding]:
        """The program without its questions; carefully where integers may leave 32 bits."""
        own = self._arithmetic.functions()
        careful = careful_from_the_start(program, self._arithmetic)
        while True:
            encoding = encode(program, self._overrides, origins=origins, careful=careful)
            functions = Functions(program, *python, encoding.choices.facts, own)
            clingo = ClingoGrounder(encoding, functions, watch, most)
            try:
                clingo.ground("base")
            except ProgramError as error:
                raise careful.unsure(error) from None
            once_more = again(careful, clingo.control, self._overrides)
            if once_more is None:
                break
            careful = once_more
        if careful.sums is not None:
            clingo.rules.rules += careful.sums.rules(clingo.control, clingo.rules.rules)
        return clingo, encoding

    def ask(self, program: ast.Program, watch: Watch) -> GroundProgram:
        """The ground program with the questions and the evidence of ``program``.

        ``program`` is the one that was ground, or that with other questions at its end;
        everything but ``questions``, ``evidence`` and ``warnings`` is shared by all answers.
        """
        clingo, known = self._clingo, self._ground
        with self._lock, collector_paused():
            clingo.turn_to(program, watch)
            markers = self._ground_questions(program)
            asked = ground_questions(markers, clingo.control, program, known.atoms)
            # What the questions name and nothing defines is reported by the questions themselves.
            said = (w for w in clingo.warnings() if w.code != "undefined-atom")
            warnings = (*program.warnings, *known.warnings, *said, *asked.warnings)
        return replace(
            known,
            program=program,
            questions=asked.questions,
            evidence=asked.evidence,
            warnings=tuple(program.sources.in_order(warnings)),
        )

    def _ground_questions(self, program: ast.Program) -> QuestionMarkers:
        """The questions of a program, ground; carefully where integers may leave 32 bits."""
        clingo = self._clingo
        markers, self._first = self._first, None
        if program is not self._ground.program:
            markers = None
        careful = careful_from_the_start(program, self._arithmetic)
        while True:
            if markers is None:
                markers = encode_questions(careful, self._rounds)
                self._rounds += 1
                add_questions(clingo.control, markers)
            clingo.ground(questions_part(markers))
            once_more = again(careful, clingo.control, self._overrides, questions=True)
            if once_more is None:
                return markers
            careful, markers = once_more, None


def _without_questions(
    program: ast.Program, clingo: ClingoGrounder, assembly: Assembly, warnings: list[Diagnostic]
) -> GroundProgram:
    """What has been ground, before any question."""
    return GroundProgram(
        program=program,
        symbols=assembly.symbols(),
        rules=tuple(assembly.rules),
        choices=tuple(assembly.choices),
        parameters=tuple(assembly.weights.parameters),
        networks=tuple(assembly.networks),
        warnings=(*warnings, *clingo.warnings()),
        atoms=assembly.atoms,
        data=tuple(assembly.data),
    )


def raise_problems(problems: Iterable[Diagnostic], program: ast.Program) -> None:
    """Raise the problems, in the order of the text, if there are any."""
    if ordered := program.sources.in_order(problems):
        raise ProgramError(ordered)


def check_without_grounding(
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
        check(program, semantics, constants)
    except ProgramError as error:
        problems += error.diagnostics
    arithmetic = Arithmetic()
    careful = careful_from_the_start(program, arithmetic)
    functions = Functions(program, {}, None, (), arithmetic.functions())
    encoding = encode(program, constants or {}, careful=careful)
    clingo = ClingoGrounder(encoding, functions, UNLIMITED)
    try:
        clingo.ground()
    except ProgramError as error:
        known = {(problem.code, problem.span) for problem in problems}
        problems += (d for d in error.diagnostics if (d.code, d.span) not in known)
    raise_problems(problems, program)
    doubts = (*unused_constants(program, constants or {}), *clingo.warnings(), *underived(program))
    return tuple(program.sources.in_order(doubts))
