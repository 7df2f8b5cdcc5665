"""From a program to a ground program: clingo grounds; choices, rules and questions are collected.

A program is ground once, by :class:`Grounder`, and can then be asked any number of questions. If
integers may leave 32 bits, it is ground again, carefully.

>>> from dpasp.language import parse
>>> ground_program = ground(parse("d(1..2). 0.5::b :- d(X). #query b."))
>>> len(ground_program.choices), [question.text for question in ground_program.questions]
(2, ['b'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from math import inf
from threading import Lock
from typing import Any

from clingo import Control, MessageCode, Symbol
from clingo.ast import ProgramBuilder

from dpasp.errors import Diagnostic, MemoryLimit, ProgramError, TimeLimit
from dpasp.ground.assemble import GroundRules, TooLarge, assemble, ground_tables
from dpasp.ground.dry_run import dry_run
from dpasp.ground.encode import Encoding, encode, encode_questions
from dpasp.ground.markers import RuleInstance, is_hidden
from dpasp.ground.messages import Messages, undefined_in_rows
from dpasp.ground.overflow import Arithmetic, again, careful_from_the_start
from dpasp.ground.program import GroundProgram
from dpasp.ground.python import CallerObjects, Functions, run_scripts
from dpasp.ground.questions import QuestionMarkers, ground_questions
from dpasp.ground.sums import leave_out
from dpasp.ground.terms import Signature, symbol_constants, unused_constants
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.reader import collector_paused
from dpasp.language.statements.constants import numeric_constants
from dpasp.limits import UNLIMITED, Watch
from dpasp.limits.work import Supervisor, in_child

_GROUNDING = "the program was still being ground: raise the limit, or make the program smaller"
_ENDLESS = (
    "the program was still being ground; does a rule such as p(X+1) :- p(X) have no end? "
    "Bound it, as in p(X+1) :- p(X), X < 9, or raise the limit"
)


def ground(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    python: object | None = None,
    watch: Watch = UNLIMITED,
) -> GroundProgram:
    """Ground a program that has passed :func:`dpasp.language.check`.

    Raises a :class:`ProgramError` with mistakes that show only now: unsafe variables, wrong
    probabilities that depend on variables, functions that fail.

    ``constants`` override the program's own. ``python`` is a module, mapping or other object whose
    functions are the program's ``@functions``; None forbids Python, and an empty mapping allows the
    program's ``#script`` blocks.
    """
    return Grounder(program, constants=constants, python=python, watch=watch).ask(program, watch)


def ground_in_child(
    program: ast.Program,
    *,
    constants: Mapping[str, str] | None = None,
    watch: Watch,
    most: float = inf,
) -> GroundProgram:
    """Like :func:`ground`, in a child process that a limit ends; for a program without Python.

    Raises :class:`TooLarge` if it has more than ``most`` ground rules.
    """

    def work() -> tuple[GroundProgram, int] | None:
        try:
            grounder = Grounder(program, constants=constants, watch=watch, most=most)
        except TooLarge:
            return None
        grounded = grounder.ask(program, watch)
        empty: Any = None  # the parent has it already, or can derive it
        return replace(grounded, program=empty, symbols=()), len(grounded.symbols)

    with _while_grounding(watch):
        received = in_child(work, watch)
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
    """Ground a program without Python in another process, only to see whether this ends.

    It stops at ``most`` ground rules; a limit is raised as by :func:`ground`.
    """
    with _while_grounding(watch):
        encoding = encode(program, constants or {})
        dry_run(encoding.text(), ("base", encoding.questions.part), watch, most)


class Grounder:
    """A program that is ground once, and asked any number of questions.

    The arguments are those of :func:`ground`. With ``origins``, the ``instances`` of its rules are
    known, and the body of every ground rule is its instance's atom. Raises :class:`TooLarge` if
    there are more than ``most`` ground rules. After an error in :meth:`ask`, a new one is needed.

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
        self._lock = Lock()  # clingo's controls are not thread-safe
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
            leave_out(assembly.rules, assembly.choices, assembly.atoms)
            warnings = unused_constants(program, overrides)
            warnings += self._arithmetic.warnings
            if assembly.missing:
                doubts = undefined_in_rows(program, assembly.missing, assembly.atoms)
                warnings += islice(doubts, TUNING.messages)
            symbols = symbol_constants(program, overrides)
            tables, unknown = ground_tables(program, assembly.atoms, symbols)
            self._ground = GroundProgram(
                program=program,
                symbols=assembly.symbols(),
                rules=tuple(assembly.rules),
                choices=tuple(assembly.choices),
                parameters=tuple(assembly.weights.parameters),
                networks=tuple(assembly.networks),
                warnings=(*warnings, *unknown, *clingo.warnings()),
                atoms=assembly.atoms,
                data=tuple(assembly.data),
                decisions=tuple(assembly.decisions),
                factors=tuple(assembly.factors),
                tables=tables,
                externals=assembly.externals,
            )
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
        """Ground the program without its questions, carefully if integers may leave 32 bits."""
        own = self._arithmetic.functions()
        careful = careful_from_the_start(program, self._arithmetic)
        while True:
            encoding = encode(program, self._overrides, origins=origins, careful=careful)
            functions = Functions(program, *python, own)
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

        ``program`` is the one that was ground, or the same with other questions at its end; all
        results share everything but ``questions``, ``evidence`` and ``warnings``.
        """
        clingo, known = self._clingo, self._ground
        with self._lock, collector_paused():
            clingo.turn_to(program, watch)
            self._arithmetic.warnings.clear()
            markers = self._ground_questions(program)
            numbers = numeric_constants(program, self._overrides)
            found = ground_questions(markers, clingo.control, program, known.atoms, numbers)
            # The questions themselves report undefined names.
            said = [w for w in clingo.warnings() if w.code != "undefined-atom"]
            said += self._arithmetic.warnings
        warnings = program.sources.in_order(
            (*program.warnings, *known.warnings, *said, *found.warnings)
        )
        return replace(
            known,
            program=program,
            questions=found.questions,
            evidence=found.evidence,
            utilities=found.utilities,
            worth=found.worth,
            warnings=tuple(warnings),
        )

    def _ground_questions(self, program: ast.Program) -> QuestionMarkers:
        """Ground the questions of a program, carefully if integers may leave 32 bits."""
        clingo = self._clingo
        markers, self._first = self._first, None
        if program is not self._ground.program:
            markers = None
        careful = careful_from_the_start(program, self._arithmetic)
        while True:
            if markers is None:
                markers = encode_questions(careful, self._rounds)
                self._rounds += 1
                with ProgramBuilder(clingo.control) as builder:
                    for node in markers.nodes():
                        builder.add(node)
            clingo.ground(markers.part)
            once_more = again(careful, clingo.control, self._overrides, questions=True)
            if once_more is None:
                return markers
            careful, markers = once_more, None


def raise_problems(problems: Iterable[Diagnostic], program: ast.Program) -> None:
    """Raise the problems, in the order of the text, if there are any."""
    if ordered := program.sources.in_order(problems):
        raise ProgramError(ordered)


@contextmanager
def _while_grounding(watch: Watch) -> Iterator[None]:
    """Give limits that are reached inside the help for grounding."""
    started = watch.elapsed()
    try:
        yield
    except (TimeLimit, MemoryLimit) as error:
        help = _ENDLESS if watch.elapsed() - started > TUNING.long else _GROUNDING
        raise type(error)(replace(d, help=help) for d in error.diagnostics) from None


class ClingoGrounder:
    """clingo's grounder for one program, with its messages and errors in our words."""

    def __init__(
        self, encoding: Encoding, functions: Functions, watch: Watch, most: float = inf
    ) -> None:
        self._functions = functions
        self._messages: list[tuple[MessageCode, str]] = []
        self.turn_to(encoding.program, watch)
        self.rules = GroundRules(lambda: self._supervisor.check(), most)
        functions.check = lambda: self._supervisor.check()
        self.control = Control(logger=self._note, message_limit=TUNING.messages)
        self.control.register_observer(self.rules, replace=True)
        if encoding.careful is not None and encoding.careful.sums is not None:
            self.control.register_observer(encoding.careful.sums.found)
        encoding.add_to(self.control)

    def turn_to(self, program: ast.Program, watch: Watch) -> None:
        """Continue with other questions and another clock."""
        self._program = program
        self._messages.clear()
        self._rewriter = Messages(program.sources)
        self._supervisor = Supervisor(watch)

    def _note(self, code: MessageCode, message: str) -> None:
        self._messages.append((code, message))

    def ground(self, *parts: str) -> None:
        """Ground parts of the program; without any, only check that variables are safe."""
        wanted: Sequence[tuple[str, Sequence[Symbol]]] = [(part, []) for part in parts]
        try:
            with _while_grounding(self._supervisor.watch):
                self._supervisor.run(lambda: self.control.ground(wanted, context=self._functions))
        except RuntimeError as error:
            raise self._explain(error) from error

    def _explain(self, error: RuntimeError) -> BaseException:
        """What stopped the grounder, in our words."""
        if self._functions.failure is not None:
            return self._functions.failure
        said = [m for code, m in self._messages if code == MessageCode.RuntimeError]
        rewrite = self._rewriter.rewrite
        problems = [d for message in said or [str(error)] for d in rewrite(message, ())]
        return ProgramError(self._program.sources.in_order(problems))

    def warnings(self) -> list[Diagnostic]:
        """clingo's warnings."""
        said = [m for code, m in self._messages if code != MessageCode.RuntimeError]
        known = list(self._signatures()) if said else []
        return [d for message in said for d in self._rewriter.rewrite(message, known)]

    def _signatures(self) -> Iterator[Signature]:
        base = self.control.symbolic_atoms
        for name, arity, positive in base.signatures:
            if not is_hidden(name) and any(True for _ in base.by_signature(name, arity, positive)):
                yield Signature(name, arity, positive)
