"""Programs as a user holds them: load, ask, read the answers.

>>> program = loads("0.3::a. p :- a, not q. q :- a, not p. #query p.")
>>> print(program.query())
ℙ(p) = [0.000000, 0.300000]
>>> program.query("p | a", semantics="maxent")[0].value
0.5
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import ProgramError
from dpasp.inference.answers import Answers
from dpasp.inference.evaluator import Report, silent
from dpasp.inference.exact import answer
from dpasp.language import ast, extend, parse_files
from dpasp.language import parse as parse_text
from dpasp.language.checks import check, effective_semantics
from dpasp.limits import Limits, Watch
from dpasp.logic.blocks import run_blocks
from dpasp.logic.ground import ground
from dpasp.logic.program import GroundProgram

NO_LIMITS = Limits()
OPEN_CODES = {"undef-two-valued", "credal-under-maxent"}  # other semantics may be asked for
REMEMBERED = 4  # ground programs that are kept, by the questions they were ground with


@dataclass(frozen=True, slots=True)
class Grounded:
    """A ground program, and how long it took."""

    program: GroundProgram
    seconds: float


class Program:
    """A program that can be asked.

    Nothing runs when it is made; it is ground when it is first asked, and ``#python``
    blocks run then, if ``python`` allows them.
    """

    def __init__(
        self,
        source: ast.Program,
        *,
        python: bool = False,
        constants: Mapping[str, object] | None = None,
    ) -> None:
        self.source = source
        self.python = python
        self.constants = {name: str(value) for name, value in (constants or {}).items()}
        self._module: ModuleType | None = None
        self._ground: OrderedDict[tuple[tuple[str, ...], ...], Grounded] = OrderedDict()
        _refuse(source, self.constants)

    def __repr__(self) -> str:
        files = ", ".join(self.source.files)
        return f"<dpasp.Program {files}: {len(self.source.statements)} statements>"

    def query(
        self,
        *queries: str,
        evidence: str | Iterable[str] = (),
        semantics: str | None = None,
        engine: str = "auto",
        inconsistent: str = "normalize",
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Answers:
        """The answers to the queries, or to all questions of the program when none is given.

        ``evidence`` joins that of every query; ``semantics`` (as ``"lstable, maxent"``)
        wins over the program's. ``engine`` is auto, compile or enumerate; total choices
        without a model are an error with ``inconsistent="error"``.
        """
        return self._ask(
            tuple(f"#query {_bare(query)}." for query in queries),
            evidence, semantics, engine, inconsistent, limits, progress,
        )  # fmt: skip

    def map(
        self,
        question: str | None = None,
        *,
        evidence: str | Iterable[str] = (),
        semantics: str | None = None,
        engine: str = "auto",
        inconsistent: str = "normalize",
        limits: Limits = NO_LIMITS,
        progress: Report = silent,
    ) -> Answers:
        """The most probable values: of the atoms marked in ``"a?, b? | e"``, or of all choices.

        Without marked atoms (``"| e"`` or ``""``) it is the most probable total choice.
        """
        text = _bare(question or "")
        word = "#map" if "?" in text else "#mpe"
        return self._ask(
            (f"{word} {text}.",), evidence, semantics, engine, inconsistent, limits, progress
        )

    def __call__(self, semantics: str | None = None) -> NDArray[np.float64]:
        """Print the answers to the program's questions and give them back as an array."""
        answers = self.query(semantics=semantics)
        sys.stdout.write(f"{answers}\n" if len(answers) else "")
        return answers.to_numpy()

    def ground(self, *, limits: Limits = NO_LIMITS) -> GroundProgram:
        """The ground program with the program's own questions."""
        return self._grounded((), (), limits.start()).program

    def _ask(
        self,
        questions: tuple[str, ...],
        evidence: str | Iterable[str],
        semantics: str | None,
        engine: str,
        inconsistent: str,
        limits: Limits,
        progress: Report,
    ) -> Answers:
        given = (evidence,) if isinstance(evidence, str) else tuple(evidence)
        told = tuple(f"#evidence {_bare(one)}." for one in given)
        watch = limits.start()
        program = self._with(questions, told)
        check(program, semantics, self.constants)
        meaning = effective_semantics(program, semantics)
        grounded = self._grounded(questions, told, watch)
        answers = answer(
            grounded.program,
            *meaning,
            engine=engine,
            inconsistent=inconsistent,
            watch=watch,
            progress=progress,
        )
        statistics = dict(answers.statistics)
        statistics["seconds"] = {"ground": grounded.seconds, **statistics["seconds"]}
        return replace(answers, statistics=statistics)

    def _grounded(
        self, questions: tuple[str, ...], evidence: tuple[str, ...], watch: Watch
    ) -> Grounded:
        key = (questions, evidence)
        if key in self._ground:
            self._ground.move_to_end(key)
            return self._ground[key]
        started = time.perf_counter()
        found = ground(
            self._with(questions, evidence),
            constants=self.constants,
            python=self._functions(),
            watch=watch,
        )
        self._ground[key] = Grounded(found, time.perf_counter() - started)
        while len(self._ground) > REMEMBERED:
            self._ground.popitem(last=False)
        return self._ground[key]

    def _with(self, questions: tuple[str, ...], evidence: tuple[str, ...]) -> ast.Program:
        """The program with other questions in place of its own (if given) and more evidence.

        Questions come last, so that all other statements keep their places.
        """
        asked = [s for s in self.source.statements if isinstance(s, ast.Query | ast.Map)]
        rest = [s for s in self.source.statements if not isinstance(s, ast.Query | ast.Map)]
        statements = (*rest, *asked) if not questions else tuple(rest)
        program = replace(self.source, statements=statements)
        for i, text in enumerate((*questions, *evidence), 1):
            program = extend(program, text, file="<query>" if i == 1 else f"<query {i}>")
        return program

    def _functions(self) -> ModuleType | None:
        if not self.python:
            return None
        if self._module is None:
            self._module = run_blocks(self.source)
        return self._module


def load(
    *paths: str | Path, python: bool = True, constants: Mapping[str, object] | None = None
) -> Program:
    """The program in some files; their ``#python`` blocks may run unless ``python`` is false."""
    return Program(parse_files(paths), python=python, constants=constants)


def loads(
    text: str,
    *,
    file: str = "<program>",
    python: bool = False,
    constants: Mapping[str, object] | None = None,
) -> Program:
    """The program in a text; its ``#python`` blocks may run only if ``python`` is true."""
    return Program(parse_text(text, file), python=python, constants=constants)


def parse(source: str | Path, from_str: bool = False, *, python: bool | None = None) -> Program:
    """The program in a file, or with ``from_str`` in a text."""
    if from_str:
        return loads(str(source), python=bool(python))
    return load(source, python=python is not False)


def _refuse(source: ast.Program, constants: Mapping[str, str]) -> None:
    """Raise what is wrong with a program, unless another semantics may make it right."""
    try:
        check(source, None, constants)
    except ProgramError as error:
        if any(problem.code not in OPEN_CODES for problem in error.diagnostics):
            raise


def _bare(text: str) -> str:
    """A question without its directive and its dot."""
    text = text.strip()
    for word in ("#query", "#pr", "#map", "#max", "#mpe", "#evidence"):
        if text.startswith(word):
            text = text[len(word) :].strip()
            break
    return text.removesuffix(".").strip()
