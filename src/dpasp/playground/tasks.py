"""What a page can ask for, and what it gets: everything here runs in a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from dpasp.display.ground import dependencies_picture
from dpasp.display.outline import explanation_outline
from dpasp.errors import Diagnostic, Error, ProgramError, Span, UsageError, without_warnings
from dpasp.ground.checking import check_without_grounding, program_of_texts
from dpasp.inference.answers import Answers, AnyAnswer
from dpasp.language import ast
from dpasp.language.statements.semantics import effective_semantics
from dpasp.language.text.lexer import tokens
from dpasp.language.text.source import Reach
from dpasp.limits import Limits, silent
from dpasp.playground.about import MOST_CHARACTERS
from dpasp.playground.live import Live, SliderEnds, written
from dpasp.program import Program
from dpasp.semantics.meaning import Meaning
from dpasp.writing import harmless, printable

FILE = "program.plp"
MODELS = 100  # that are sent at once
WAYS = 8  # reasons of an answer that are shown
FARTHEST = 100_000  # models that the page may step over
MOST_NUMBERS = 200  # answers, and sliders, that the page shows
MOST_PROBLEMS = 100  # mistakes, or warnings, that the page lists
MOST_SEMANTICS = 15  # that a slider moves at once: all there are
PACE = 0.2  # seconds between two reports of progress
STAGES = {"exact": "compiling"}  # in words for a page, where they differ
SMALLER = "make the program smaller, or write #inference bounds. into it"
HELP = {
    "time-limit": SMALLER,
    "memory-limit": SMALLER,
    "not-exact": SMALLER,
    "stopped-early": "make the program smaller",
    "impossible-evidence": "ask without it, or change the program",
    "python-not-allowed": "the playground runs no Python: use `dpasp run` for this program",
}
Kind = TypeVar("Kind", str, int, list[Any], dict[str, Any])
KINDS: dict[type, str] = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}
Request = Mapping[str, Any]
Reply = dict[str, Any]


class Progress:
    """Tells a page how far its answers are: the stage, and the share of it that is done."""

    def __init__(self, tell: Callable[[Reply], None]) -> None:
        self._tell = tell
        self._stage = "grounding"
        self._told = -PACE

    def __call__(self, done: float, total: float | None) -> None:
        """Tell how much is done, now and then."""
        if time.monotonic() - self._told >= PACE:
            self._say(min(done / total, 1.0) if total else None)

    def stage(self, text: str) -> None:
        """Tell what is done now."""
        new = STAGES.get(text, text)
        if new != self._stage:
            self._stage = new
            self._say(None)

    def _say(self, share: float | None) -> None:
        self._told = time.monotonic()
        self._tell({"stage": self._stage, "share": share})


class Desk:
    """The work of one page: its program, and what was made of it so far.

    ``tell`` is called with how far an answer is, while it is computed.
    """

    def __init__(self, limits: Limits, tell: Callable[[Reply], None] = silent) -> None:
        self.limits = limits
        self.tell = tell
        self._text = ""
        self._program: Program | None = None
        self._live: Live | None = None
        self._tasks: dict[str, Callable[[Request], Reply]] = {
            "check": self.check,
            "answer": self.answer,
            "decide": self.decide,
            "sliders": self.sliders,
            "slide": self.slide,
            "write": self.write,
            "why": self.why,
            "graph": self.graph,
            "models": self.models,
        }

    def do(self, request: Request) -> Reply:
        """The reply to a request: what was found, or the errors."""
        try:
            task = self._tasks.get(str(request.get("task")))
            if task is None:
                known = ", ".join(self._tasks)
                raise UsageError(
                    f"there is no task {request.get('task')!r}", help=f"one of {known}"
                )
            with without_warnings():
                return {"ok": task(request)}
        except Error as error:
            return _listed("errors", error.diagnostics)
        except MemoryError:
            return {"errors": [self._watch().out_of_memory().diagnostics[0].to_dict()]}

    # --- tasks -------------------------------------------------------------------------------

    def check(self, request: Request) -> Reply:
        """The mistakes in a program, found without grounding it."""
        source = self._source(_text(request))
        warnings = [*source.warnings, *check_without_grounding(source), *_not_here(source)]
        logic, probability = effective_semantics(source, None)
        return {
            **_listed("warnings", warnings),
            "semantics": f"{logic.value}, {probability.value}",
        }

    def answer(self, request: Request) -> Reply:
        """The answers to the program's questions, or to others, under one semantics."""
        program = self._of(request)
        asked = {name: _texts(request, name) for name in ("queries", "evidence")}
        answers = program.query(
            *asked["queries"],
            evidence=asked["evidence"],
            semantics=_semantics(request),
            limits=self.limits,
            progress=Progress(self.tell),
        )
        return _answers(answers)

    def decide(self, request: Request) -> Reply:
        """The best decisions, what the others would cost, and what the utilities add."""
        found = self._of(request).decide(
            _field(request, "query", str, "") or None,
            evidence=_texts(request, "evidence"),
            criterion=_field(request, "criterion", str, "") or None,
            semantics=_semantics(request),
            limits=self.limits,
        )
        assert not isinstance(found, list)  # there is no data here
        return found.to_dict() | {"text": str(found)}

    def sliders(self, request: Request) -> Reply:
        """The numbers that can be moved."""
        every = self._moving(request).sliders
        return {
            "sliders": [slider.to_dict() for slider in every[:MOST_NUMBERS]],
            "left": max(0, len(every) - MOST_NUMBERS),
        }

    def slide(self, request: Request) -> Reply:
        """The answers with some numbers moved, under several semantics, from their circuits."""
        names = _field(request, "semantics", list)
        if len(names) > MOST_SEMANTICS or not all(isinstance(name, str) for name in names):
            raise UsageError(f"`semantics` is a list of at most {MOST_SEMANTICS} names")
        live, program = self._moving(request), self._of(request)
        settled = live.settled(_moved(request), _field(request, "last", str, ""))
        watch = self.limits.start()
        by_name = {}
        for name in names:
            meaning = Meaning(*effective_semantics(program.source, name))
            by_name[name] = live.answers(meaning, settled, watch)
        return {"answers": by_name, "moved": {k: list(v) for k, v in settled.items()}}

    def write(self, request: Request) -> Reply:
        """The program's text with the numbers where the sliders stand."""
        live = self._moving(request)
        return {"text": written(self._text, live.sliders, live.settled(_moved(request), ""))}

    def why(self, request: Request) -> Reply:
        """The reasons of one answer, as a tree."""
        (only,) = self._of(request).explain(
            _field(request, "query", str),
            semantics=_semantics(request),
            top=WAYS,
            limits=self.limits,
        )
        return explanation_outline(only).to_dict()

    def graph(self, request: Request) -> Reply:
        """What depends on what, drawn."""
        ground = self._of(request).ground(limits=self.limits)
        return {"svg": dependencies_picture(ground).svg}

    def models(self, request: Request) -> Reply:
        """Some models with the total choices they belong to, from the one with a number on."""
        first = _field(request, "first", int, 0)
        if not 0 <= first <= FARTHEST:
            raise UsageError(f"`first` is a number from 0 to {FARTHEST:,}")
        last = first + MODELS
        every = self._of(request).models(
            last + 1, semantics=_semantics(request), limits=self.limits
        )
        some = list(islice(every, first, None))
        records = [
            {
                "choice": list(model.choice),
                "probability": list(model.probability),
                "true": list(model.true),
                "undefined": list(model.undefined),
            }
            for model in some[:MODELS]
        ]
        return {"models": records, "more": len(some) > MODELS}

    # --- what is kept ------------------------------------------------------------------------

    def _of(self, request: Request) -> Program:
        """The program in a request; one that is asked again is not read again."""
        text = _text(request)
        if self._program is None or text != self._text:
            self._program = Program(self._source(text))
            self._text, self._live = text, None
        return self._program

    def _moving(self, request: Request) -> Live:
        program = self._of(request)
        if self._live is None:
            self._live = Live(program.ground(limits=self.limits))
        return self._live

    def _source(self, text: str) -> ast.Program:
        refuse_files(text)
        source = program_of_texts([(FILE, text)], {FILE: Reach()})  # no files here
        refuse_networks(source)
        return source

    def _watch(self) -> Any:
        return self.limits.start()


def refuse_files(text: str) -> None:
    """Raise :class:`ProgramError` for ``#include``: there are no files here."""
    places = [token for token in tokens(text, 0, len(text)) if token.text == "#include"]
    if places:
        raise ProgramError(
            Diagnostic(
                "playground",
                "the playground reads no files",
                _span(text, token.start, token.end),
                "write the statements of the file here",
            )
            for token in places
        )


def refuse_networks(source: ast.Program) -> None:
    """Raise :class:`ProgramError` for what needs Python or files: networks and data."""
    networks = [
        statement
        for statement in source.statements
        if isinstance(statement, ast.Data) or getattr(statement, "network", None) is not None
    ]
    if networks:
        raise ProgramError(
            Diagnostic(
                "playground",
                "networks and data do not run in the playground",
                statement.span,
                "use `dpasp run` for this program",
            )
            for statement in networks
        )


def _not_here(source: ast.Program) -> list[Diagnostic]:
    """Warnings about statements that the playground leaves out."""
    return [
        Diagnostic(
            "playground",
            "nothing is learned in the playground: the answers use the initial probabilities",
            statement.span,
            "use `dpasp run` to learn",
            "warning",
        )
        for statement in source.statements
        if isinstance(statement, ast.Learn)
    ]


def _for_a_page(problem: Diagnostic) -> Diagnostic:
    """A diagnostic with help that someone at the page can use: there are no options here."""
    return (
        replace(problem, help=HELP[problem.code])
        if "--" in problem.help and problem.code in HELP
        else problem
    )


def _listed(name: str, problems: Sequence[Diagnostic]) -> Reply:
    """Some diagnostics under their name, and how many are left out."""
    shown = [_for_a_page(problem).to_dict() for problem in problems[:MOST_PROBLEMS]]
    return {name: shown, "left": max(0, len(problems) - MOST_PROBLEMS)}


def _answers(answers: Answers) -> Reply:
    record = answers.to_dict()
    some = answers.answers[:MOST_NUMBERS]
    return {
        "answers": [answer.to_dict() | {"text": _said(answer)} for answer in some],
        "left": max(0, len(answers) - MOST_NUMBERS),
        "semantics": f"{answers.logic}, {answers.probability}",
        "engine": answers.engine,
        "inconsistent": answers.inconsistent,
        "warnings": _listed("warnings", answers.warnings)["warnings"],
        "statistics": record["statistics"],
    }


def _said(answer: AnyAnswer) -> str:
    """An answer as the command line prints it; of a probability, what follows its name."""
    name = getattr(answer, "name", "")
    return str(answer).removeprefix(f"{printable(harmless(name))} = ")


def _field(request: Request, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """A field of a request, which is of a kind; :class:`UsageError` where it is not."""
    found = request.get(name, default)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise UsageError(f"the request {request['task']!r} needs `{name}`, {KINDS[kind]}")
    try:
        str(found).encode()
    except UnicodeEncodeError:
        raise UsageError(f"`{name}` has half a character: a lone surrogate") from None
    return found


def _text(request: Request) -> str:
    text = _field(request, "text", str)
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"a program in the playground has at most {MOST_CHARACTERS:,} characters")
    return text.replace("\r\n", "\n")


def _texts(request: Request, name: str) -> list[str]:
    """A list of texts in a request; none if it is not there."""
    texts = _field(request, name, list, [])
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"`{name}` is a list of texts")
    return texts


def _semantics(request: Request) -> str:
    return _field(request, "semantics", str, "")


def _moved(request: Request) -> dict[str, SliderEnds]:
    return {name: _ends(name, ends) for name, ends in _field(request, "moved", dict).items()}


def _ends(name: str, numbers: object) -> SliderEnds:
    """Where a slider stands: one probability, or a lower and an upper one."""
    if not isinstance(numbers, list) or len(numbers) not in (1, 2):
        raise UsageError(f"the slider {name!r} needs one number, or two")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
            raise UsageError(f"{number!r} is not a probability")
    return tuple(map(float, numbers))


def _span(text: str, start: int, end: int) -> Span:
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Span(FILE, line, column, line, column + end - start)
