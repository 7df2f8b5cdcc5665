"""A program with its questions: checked, ground, and kept for the next call."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.ground import worlds
from dpasp.ground.assemble import TooLarge
from dpasp.ground.columns import Columns
from dpasp.ground.grounding import Grounder, ground_in_child, try_grounding
from dpasp.ground.program import GroundProgram
from dpasp.ground.python import run_blocks, with_objects
from dpasp.language import ast, extend
from dpasp.language.reader import check, parse_semantics
from dpasp.language.statements.python import runs_in_terms
from dpasp.limits import Watch
from dpasp.limits.work import can_fork
from dpasp.semantics.meaning import Meaning

if TYPE_CHECKING:
    from dpasp.inference.explain.trees import Texts

# Mistakes that are none under another semantics.
OPEN_CODES = {
    "undef-two-valued",
    "credal-under-maxent",
    "factor-semantics",
    "optimisation",
    "do-semantics",
    "statistical-semantics",
}
SMALL = 50_000  # ground rules; up to that, grounding everything beats finding what is needed
# Statements: a program with at most this many, whose terms do not grow, is ground quickly.
SHORT = 1_000
GROWING = re.compile(
    r"[A-Z][\w']*\s*(?:[-+*/\\^&?|]|\.\.)"  # X+1
    r"|(?:[+*/\\^&?~|]|(?<!:)-|\.\.)\s*[A-Z]"  # 1+X, but not :- X
    r"|\([^()]*\("  # p(f(X))
    r"|\.\.\s*(?:[a-z_(]|\d{4})"  # 1..n
)
REMEMBERED = 4  # ground programs kept, each with the questions it was ground for


@dataclass(frozen=True, slots=True)
class Checked:
    """The program with its questions, checked under a semantics."""

    program: ast.Program
    meaning: Meaning
    key: tuple[tuple[str, ...], tuple[str, ...]]  # the added questions and evidence
    groundings: Groundings

    def ground(self, watch: Watch, *, narrow: bool = False, summed: bool = False) -> GroundProgram:
        """Return the ground program, as :meth:`Groundings.ground` does."""
        return self.groundings.ground(self, watch, narrow=narrow, summed=summed)


class Groundings:
    """One program, checked and ground with its questions when they are first asked.

    Raises :class:`ProgramError` if the program is wrong under every semantics.
    """

    def __init__(
        self,
        source: ast.Program,
        *,
        python: bool = False,
        constants: Mapping[str, str] | None = None,
        objects: Mapping[str, object] | None = None,
    ) -> None:
        self.source = source
        self.python = python
        self.constants = constants or {}
        self.objects = objects or {}
        self._module: ModuleType | None = None
        self._running = Lock()  # held while the program's Python runs, which is once
        self._grounders: list[Grounder] = []  # at most one that is not in use
        self._ends = False  # whether grounding is known to end
        self._narrow: bool | None = None  # whether to find what the questions need, if known
        self._ground: OrderedDict[object, GroundProgram] = OrderedDict()
        self._origins: Texts | None = None
        # with other values of external atoms
        self._set: OrderedDict[object, Groundings] = OrderedDict()
        self._problem = _refuse(source, self.constants)
        self._checked: OrderedDict[object, Checked] = OrderedDict()

    def module(self) -> ModuleType | None:
        """Return what the ``#python`` blocks define, together with the caller's objects.

        The blocks run at the first call. None if they may not run and there are no objects.
        """
        with self._running:
            if self._module is None:
                blocks = run_blocks(self.source) if self.python else None
                self._module = with_objects(blocks, self.objects)
            return self._module

    def showing(self, source: ast.Program) -> Groundings:
        """Return groundings of a program with more rules, sharing the Python that has run."""
        if source is self.source:
            return self
        other = Groundings(
            source, python=self.python, constants=self.constants, objects=self.objects
        )
        other._module = self.module()
        return other

    def setting(self, externals: tuple[tuple[str, str], ...]) -> Groundings:
        """Return groundings of the program with these values of external atoms."""
        if not externals:
            return self
        found = self._set.get(externals)
        if found is None:
            every = tuple({**dict(self.source.externals), **dict(externals)}.items())
            found = self.showing(replace(self.source, externals=every))
        keep(self._set, externals, found)
        return found

    def checked(
        self, questions: tuple[str, ...], evidence: tuple[str, ...], semantics: str | None
    ) -> Checked:
        """Return the program with these questions (none: its own) and this evidence.

        Raises :class:`ProgramError` for mistakes under the semantics.
        """
        if semantics is not None:
            parse_semantics(semantics)
        key = (questions, evidence, semantics)
        known = self._checked.get(key)
        if known is None:
            program = self._with(questions, evidence)
            if questions or evidence or semantics is not None:
                check(program, semantics, self.constants, numbers=False)
            elif self._problem is not None:
                raise ProgramError(self._problem.diagnostics)
            meaning = Meaning.of(program, semantics)
            known = Checked(program, meaning, (questions, evidence), self)
            keep(self._checked, key, known)
        return known

    def unchecked(self, questions: tuple[str, ...], meaning: Meaning = Meaning()) -> Checked:  # noqa: B008 - frozen
        """Return the program with these questions, unchecked."""
        return Checked(self._with(questions, ()), meaning, (questions, ()), self)

    def columns(self, watch: Watch) -> Columns:
        """What the columns of tables mean; grounds the program if columns may hold values."""
        return Columns(self.source, lambda: self.unchecked(()).ground(watch).atoms, watch.check)

    def _with(self, questions: tuple[str, ...], evidence: tuple[str, ...]) -> ast.Program:
        """The program with other questions, if any, in place of its own, and more evidence.

        Questions come last, so that all other statements keep their positions.
        """
        asked = [s for s in self.source.statements if isinstance(s, ast.ASKING)]
        rest = [s for s in self.source.statements if not isinstance(s, ast.ASKING)]
        statements = (*rest, *asked) if not questions else tuple(rest)
        program = replace(self.source, statements=statements)
        for i, text in enumerate((*questions, *evidence), 1):
            program = extend(program, text, file="<query>" if i == 1 else f"<query {i}>")
        return program

    def ground(
        self, checked: Checked, watch: Watch, *, narrow: bool = False, summed: bool = False
    ) -> GroundProgram:
        """Return the ground program; the last few are kept.

        With ``narrow``, what its questions do not need is left out if that is faster. With
        ``summed``, factors and tables are left as they are, to be summed up, if possible. Raises
        :class:`ProgramError` if clingo refuses the program, and :class:`LimitReached` at a limit.
        """
        if worlds.sets_atoms(checked.program):
            return self._with_worlds(checked, watch, narrow, summed)
        if checked.meaning.weighted:
            return self._weighed(checked, watch, narrow, summed)
        whole, part = (checked.key, False), (checked.key, True)
        for key in (whole, part) if narrow else (whole,):
            kept = self._ground.get(key)
            if kept is not None:
                keep(self._ground, key, kept)
                return kept
        started = time.perf_counter()
        program, key = None, whole
        if narrow and self._narrow is None and is_short(checked.program):
            with suppress(TooLarge):
                program = self._ask_grounder(checked, watch, SMALL)
                self._narrow = False
        if narrow and program is None:
            program = self._narrowed(checked, watch)
            key = whole if program is None else part
        if program is None:
            program = self._ask_grounder(checked, watch)
        program = replace(program, seconds=time.perf_counter() - started)
        keep(self._ground, key, program)
        return program

    def _with_worlds(
        self, checked: Checked, watch: Watch, narrow: bool, summed: bool
    ) -> GroundProgram:
        """The ground program, and those of the questions with ``do(…)``; the last few are kept."""
        asked, evidence = checked.key

        def made() -> GroundProgram:
            plain = replace(
                checked,
                program=worlds.without_interventions(checked.program),
                key=((*asked, "without do"), evidence),
            )
            ground = self.ground(plain, watch, narrow=narrow, summed=summed)
            if not any(isinstance(s, ast.ASKING) for s in plain.program.statements):
                # without a question, a program with utilities would decide
                ground = replace(ground, worth=())
            others = worlds.worlds(
                checked.program, lambda source: self._grounder_of(source, watch, keep=False)
            )
            return replace(ground, program=checked.program, worlds=tuple(others))

        return self._kept((checked.key, checked.meaning, "do"), made)

    def _weighed(self, checked: Checked, watch: Watch, narrow: bool, summed: bool) -> GroundProgram:
        """The ground program with choices for factors and guesses; the last few are kept."""
        plain = replace(checked, meaning=Meaning(checked.meaning.logic))
        ground = self.ground(plain, watch, narrow=narrow)
        summed = summed and bool(ground.tables or ground.factors)

        def made() -> GroundProgram:
            from dpasp.semantics.weighted import weighed, without_factors

            program = without_factors(ground, checked.meaning, watch) if summed else None
            return program or weighed(ground, checked.meaning, watch)

        key = (checked.key, checked.meaning, ground.left_out, summed)
        return self._kept(key, made, ground.seconds)

    def _kept(
        self, key: object, made: Callable[[], GroundProgram], seconds: float = 0.0
    ) -> GroundProgram:
        """The ground program of a key, made once; ``seconds`` were spent on it before."""
        found = self._ground.get(key)
        if found is None:
            started = time.perf_counter() - seconds
            found = made()
            found = replace(found, seconds=time.perf_counter() - started)
        keep(self._ground, key, found)
        return found

    def _narrowed(self, checked: Checked, watch: Watch) -> GroundProgram | None:
        """The ground program reduced to what its questions need; None to ground everything.

        A later question may be about anything, so from the second one on everything is ground and
        kept, unless that might never end.
        """
        if self._narrow is False or self._grounders:
            return None
        from dpasp.ground.narrow import narrowed  # most programs are small

        narrow = narrowed(checked.program, self.constants, watch)
        self._narrow = narrow is not None and narrow.endless
        if narrow is None:
            return None
        program = self._grounder_of(narrow.program, watch, keep=False)
        if not narrow.endless and any(w.code == "unknown-atom" for w in program.warnings):
            return None  # the warning's help lists all atoms
        return replace(program, program=checked.program, left_out=narrow.left_out)

    def origins(self, checked: Checked, watch: Watch) -> Texts:
        """Return the program's rules with their instances, for explanations.

        This grounds the program once more; the last result is kept.
        """
        plain = self.ground(checked, watch)
        if self._origins is None or self._origins.traced.plain is not plain:
            grounder = Grounder(
                checked.program,
                constants=self.constants,
                python=self.module(),
                watch=watch,
                origins=True,
            )
            ground = grounder.ask(checked.program, watch)
            from dpasp.inference.explain.trees import Texts, Traced

            self._origins = Texts.of(Traced(ground, grounder.instances, plain), self.constants)
        return self._origins

    def _ask_grounder(self, checked: Checked, watch: Watch, most: float = inf) -> GroundProgram:
        """The whole ground program, by a grounder that is kept for later questions.

        Raises :class:`TooLarge` if it is not kept yet and has more than ``most`` ground rules.
        """
        # Taken out while it works: other threads must not use it, nor anyone after an error.
        grounder = None
        with suppress(IndexError):
            grounder = self._grounders.pop()
        if grounder is None:
            return self._grounder_of(checked.program, watch, keep=True, most=most)
        program = grounder.ask(checked.program, watch)
        self._grounders = [grounder]
        return program

    def _grounder_of(
        self, source: ast.Program, watch: Watch, *, keep: bool, most: float = inf
    ) -> GroundProgram:
        """The ground program; under a limit, first in a child process, which can be stopped.

        Where forking is not possible, another process tries it first.
        """
        module = self.module()
        stays = not watch.limited or self._ends or watch.limits.ends_process
        # In a child, side effects of the program's Python would be lost.
        if not (stays or (module and runs_in_terms(source))):
            arguments: Any = {"constants": self.constants, "watch": watch, "most": most}
            if can_fork():
                program = ground_in_child(source, **arguments)
                self._ends = keep
                return program
            try_grounding(source, **arguments)
        grounder = Grounder(source, constants=self.constants, python=module, watch=watch, most=most)
        program = grounder.ask(source, watch)
        if keep:
            self._grounders = [grounder]
        return program


def keep(kept: OrderedDict[Any, Any], key: object, value: object) -> None:
    """Keep a value among the last few; other threads may do the same at once."""
    kept[key] = value
    with suppress(KeyError):  # another thread removed it
        kept.move_to_end(key)
        while len(kept) > REMEMBERED:
            kept.popitem(last=False)


def is_short(program: ast.Program) -> bool:
    """Whether grounding all of a program is likely to be faster than finding its demands."""
    if len(program.statements) > SHORT:
        return False
    return not any(text is None or GROWING.search(text) for text in program.texts())


def _refuse(source: ast.Program, constants: Mapping[str, str]) -> ProgramError | None:
    """Raise a program's mistakes; return those that are mistakes only under its own semantics."""
    try:
        check(source, None, constants)
    except ProgramError as error:
        if any(problem.code not in OPEN_CODES for problem in error.diagnostics):
            raise
        return error
    return None
