"""Program → GroundProgram: clingo grounds, we gather the choices, rules and questions.

>>> from dpasp.language import parse
>>> ground_program = ground(parse("d(1..2). 0.5::b :- d(X). #query b."))
>>> len(ground_program.choices), [question.text for question in ground_program.questions]
(2, ['b'])
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock

from clingo import Control, MessageCode, Symbol

from dpasp.errors import Diagnostic, MemoryLimit, ProgramError, TimeLimit
from dpasp.language import ast
from dpasp.language import check as check_language
from dpasp.language.collector import collector_paused
from dpasp.language.statements.constants import numeric_constants
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.ask import ask
from dpasp.logic.assemble import Assembly, assemble
from dpasp.logic.constants import unused
from dpasp.logic.encode import (
    Encoding,
    add_questions,
    encode,
    encode_questions,
    questions_part,
    raise_problems,
    sorted_by_place,
)
from dpasp.logic.markers import is_hidden
from dpasp.logic.messages import Messages
from dpasp.logic.neural import read_data
from dpasp.logic.observer import Rules
from dpasp.logic.program import GroundProgram
from dpasp.logic.python import Functions, run_scripts
from dpasp.logic.questions import QuestionMarkers
from dpasp.logic.supervise import Supervisor
from dpasp.logic.terms import Signature

_GROUNDING = "the program was still being ground: raise the limit, or make the program smaller"
_ENDLESS = (
    "the program was still being ground; does a rule such as p(X+1) :- p(X) have no end? "
    "Bound it, as in p(X+1) :- p(X), X < 9, or raise the limit"
)
LONG = 0.5  # seconds of grounding after which a rule may have no end
MESSAGE_LIMIT = 1_000  # how many messages clingo may have about one program


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
    return Grounder(program, constants=constants, python=python, watch=watch).ask(program, watch)


class Grounder:
    """A program that is ground once, and asked any number of questions.

    The arguments are those of :func:`ground`. After an error of :meth:`ask` it cannot be
    asked again: make a new one.

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
    ) -> None:
        given = constants or {}
        scripts = run_scripts(program, allowed=python is not None)
        sources = [source for source in (scripts or None, python) if source is not None]
        self._lock = Lock()  # clingo's controls are not for several threads at once
        with collector_paused():
            encoding = encode(program, given)
            raise_problems(encoding.problems, program)
            functions = Functions(program, sources, encoding.choices.facts)
            session = self._session = Session(encoding, functions, watch)
            session.ground("base")
            numbers = numeric_constants(program, given)
            assembly = assemble(encoding, session.control, session.rules, numbers)
            raise_problems(assembly.problems, program)
            self._ground = _without_questions(program, session, assembly, unused(program, given))
            session.rules.open = False
        self._first: QuestionMarkers | None = encoding.questions
        self._rounds = 1

    def ask(self, program: ast.Program, watch: Watch) -> GroundProgram:
        """The ground program with the questions and the evidence of ``program``.

        ``program`` is the one that was ground, or that with other questions at its end;
        everything but ``questions``, ``evidence`` and ``warnings`` is shared by all answers.
        """
        session, known = self._session, self._ground
        with self._lock, collector_paused():
            session.turn_to(program, watch)
            markers = self._markers(program)
            session.ground(questions_part(markers))
            asked = ask(markers, session.control, program, known.atoms)
            # What the questions name and nothing defines is told by the questions themselves.
            told = (w for w in session.warnings() if w.code != "undefined-atom")
        return replace(
            known,
            program=program,
            questions=asked.found,
            evidence=asked.evidence,
            warnings=tuple(sorted_by_place([*known.warnings, *told, *asked.warnings], program)),
        )

    def _markers(self, program: ast.Program) -> QuestionMarkers:
        """The questions of a program, which clingo has been given."""
        first, self._first = self._first, None
        if first is not None and program is self._ground.program:
            return first
        markers = encode_questions(program, self._rounds)
        self._rounds += 1
        add_questions(self._session.control, markers)
        return markers


def _without_questions(
    program: ast.Program, session: Session, assembly: Assembly, warnings: list[Diagnostic]
) -> GroundProgram:
    """What has been ground, before any question."""
    return GroundProgram(
        program=program,
        symbols=assembly.symbols(),
        rules=tuple(assembly.rules),
        choices=tuple(assembly.choices),
        parameters=tuple(assembly.weights.parameters),
        networks=tuple(assembly.networks),
        warnings=(*warnings, *session.warnings()),
        atoms=assembly.atoms,
        data=tuple(read_data(session.control, program)),
    )


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
    encoding = encode(program, constants or {})
    known = {problem.code for problem in problems}
    problems += (problem for problem in encoding.problems if problem.code not in known)
    session = Session(encoding, Functions(program, (), ()), UNLIMITED)
    try:
        session.ground()
    except ProgramError as error:
        told = {(problem.code, problem.span) for problem in problems}
        problems += (d for d in error.diagnostics if (d.code, d.span) not in told)
    raise_problems(problems, program)
    return (*unused(program, constants or {}), *session.warnings())


class Session:
    """A control of clingo's for a program, with what it said and what went wrong."""

    def __init__(self, encoding: Encoding, functions: Functions, watch: Watch) -> None:
        self._program = encoding.program
        self._functions = functions
        self._messages: list[tuple[MessageCode, str]] = []
        self._lines = encoding.choices.lines
        self._rewriter = Messages(encoding.program.sources, self._lines)
        self._supervisor = Supervisor(watch)
        self.rules = Rules(lambda: self._supervisor.check())
        self.control = Control(logger=self._note, message_limit=MESSAGE_LIMIT)
        self.control.register_observer(self.rules, replace=True)
        encoding.add_to(self.control)

    def turn_to(self, program: ast.Program, watch: Watch) -> None:
        """Go on with the same program and other questions, under another clock."""
        self._program = program
        self._messages.clear()
        self._rewriter = Messages(program.sources, self._lines)
        self._supervisor = Supervisor(watch)

    def _note(self, code: MessageCode, message: str) -> None:
        self._messages.append((code, message))

    def ground(self, *parts: str) -> None:
        """Ground parts of the program; with none, only check that variables are safe."""
        started = time.monotonic()
        wanted: Sequence[tuple[str, Sequence[Symbol]]] = [(part, []) for part in parts]
        try:
            self._supervisor.run(lambda: self.control.ground(wanted, context=self._functions))
        except RuntimeError as error:
            raise self._explain(error) from error
        except (TimeLimit, MemoryLimit) as error:
            long = time.monotonic() - started > LONG
            help = _ENDLESS if long else _GROUNDING
            raise type(error)(replace(d, help=help) for d in error.diagnostics) from None

    def _explain(self, error: RuntimeError) -> BaseException:
        """What stopped the grounder, in our words."""
        if self._functions.failure is not None:
            return self._functions.failure
        said = [m for code, m in self._messages if code == MessageCode.RuntimeError]
        rewrite = self._rewriter.rewrite
        problems = [d for message in said or [str(error)] for d in rewrite(message, ())]
        return ProgramError(sorted_by_place(problems, self._program))

    def warnings(self) -> list[Diagnostic]:
        """What clingo said that does not stop the grounder."""
        said = [m for code, m in self._messages if code != MessageCode.RuntimeError]
        known = list(self._signatures()) if said else []
        return [d for message in said for d in self._rewriter.rewrite(message, known)]

    def _signatures(self) -> Iterator[Signature]:
        """The predicates that have atoms."""
        base = self.control.symbolic_atoms
        for name, arity, positive in base.signatures:
            if not is_hidden(name) and any(True for _ in base.by_signature(name, arity, positive)):
                yield Signature(name, arity, positive)
