"""What a page can ask for, and what it gets: everything here runs in a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from dpasp.display.charts import decision_picture, learning_curve
from dpasp.display.programs import dependencies_picture
from dpasp.display.reasons import outline
from dpasp.errors import (
    Diagnostic,
    Error,
    LimitReached,
    ProgramError,
    Span,
    UsageError,
    without_warnings,
)
from dpasp.ground.checking import check_without_grounding, program_of_texts
from dpasp.inference.answers import Answers, AnyAnswer, Decision, as_point, strategy_text
from dpasp.inference.asked import ask
from dpasp.inference.decide import CRITERIA, decided
from dpasp.language import ast
from dpasp.language.arguments import table_of_text
from dpasp.language.ast import statement_text
from dpasp.language.text.lexer import tokens
from dpasp.language.text.source import Reach, SourceFile
from dpasp.limits import Limits, silent
from dpasp.playground.about import MOST_CHARACTERS
from dpasp.playground.live import Live, SliderEnds, written
from dpasp.program import Program
from dpasp.semantics.meaning import Meaning
from dpasp.writing import counted, harmless, printable

if TYPE_CHECKING:
    from dpasp.learning.history import Moment

FILE = "program.plp"
TASKS = "check answer decide learn sliders slide write why graph models".split()  # of a desk
MODELS = 100  # that are sent at once
MOST_NAMED = 8  # questions that an error names
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

    def __init__(self, tell: Callable[[Reply], None], stage: str = "grounding") -> None:
        self._tell = tell
        self._stage = stage
        self._told = -PACE

    def __call__(self, done: float, total: float | None) -> None:
        if time.monotonic() - self._told >= PACE:
            self._say(min(done / total, 1.0) if total else None)

    def stage(self, text: str) -> None:
        new = STAGES.get(text, text)
        if new != self._stage:
            self._stage = new
            self._say(None)

    def learned(self, moment: Moment) -> None:
        self._stage = f"learning, iteration {moment.iteration}"
        self(0, None)

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
        self._decided: tuple[str, Live] | None = None

    def do(self, request: Request) -> Reply:
        """The reply to a request: what was found, or the errors."""
        try:
            name = request.get("task")
            if name not in TASKS:
                raise UsageError(f"there is no task {name!r}", help=f"one of {', '.join(TASKS)}")
            with without_warnings():
                return {"ok": getattr(self, name)(request)}
        except Error as error:
            return _listed("errors", error.diagnostics)
        except MemoryError:
            return {"errors": [self.limits.start().out_of_memory().diagnostics[0].to_dict()]}

    # --- tasks -------------------------------------------------------------------------------

    def check(self, request: Request) -> Reply:
        """The mistakes in a program, found without grounding it."""
        source = self._source(_text(request))
        warnings = [*source.warnings, *check_without_grounding(source), *_not_here(source)]
        return {**_listed("warnings", warnings), "semantics": str(Meaning.of(source))}

    def answer(self, request: Request) -> Reply:
        """The answers to the program's questions, or to others, under one semantics."""
        program = self._of(request)
        asked = {name: _texts(request, name) for name in ("queries", "evidence")}
        answers = program.query(
            *asked["queries"],
            evidence=asked["evidence"],
            semantics=_semantics(request),
            externals=_field(request, "externals", dict, {}),
            limits=self.limits,
            progress=Progress(self.tell),
        )
        return _answers(answers)

    def decide(self, request: Request) -> Reply:
        """The best decisions where the sliders stand, and why they are the best.

        Without a query it is what the first ``#decide`` asks, or the expected utility.
        """
        program = self._of(request)
        watch = self.limits.start(Progress(self.tell, "comparing decisions"))
        query, evidence = _field(request, "query", str, ""), _texts(request, "evidence")
        questions = _decide_questions(program.source)
        wanted = query or questions[0]
        given = f"#evidence {', '.join(evidence)}." if evidence else ""
        live = self._deciding(f"{self._text}\n#decide {wanted}.\n{given}")
        ground = live.at(live.settled(_moved(request), ""))
        line = self._text.count("\n") + 2  # of the question; the program may have its own
        asked = tuple(each for each in ground.worth if each.span and each.span.line == line)
        ground = replace(ground, worth=asked)
        meaning = Meaning.of(program.source, _semantics(request))
        criterion = _field(request, "criterion", str, "") or None
        (found, *_), warnings = decided(ask(ground, meaning, watch=watch), criterion)
        reply = found.to_dict() | {
            "text": str(found),
            "best": strategy_text(found.strategy),
            "name": found.name,
            "ends": as_point(found.numbers),
            "asked": wanted,
            "questions": questions,
            "criteria": [] if meaning.maxent else list(CRITERIA),
            "warnings": _shown(warnings),
            **_reasons(found),
        }
        if request.get("knowing") and meaning.maxent:
            reply["knowing"] = found.why.knowing().to_dict()
        if request.get("picture"):
            reply["svg"] = decision_picture(found).svg
        return reply

    def learn(self, request: Request) -> Reply:
        """What a program learns from a table: its numbers, its text with them, and the curve.

        Where a limit ends learning, what was found by then.
        """
        program = Program(self._source(_text(request)))
        table = table_of_text(_field(request, "table", str), "the table")
        records: list[Reply] = []

        def watch(moment: Moment) -> None:
            if moment.finished is not None:
                records.append(moment.finished.to_dict())
                progress.learned(moment)

        progress = Progress(self.tell, "learning")
        stopped = ""
        try:
            history = program.learn(
                table, semantics=_semantics(request), limits=self.limits, watcher=watch
            )
            words = str(history)
        except LimitReached as limit:
            if not records:
                raise
            stopped = limit.diagnostics[0].message
            words = counted(len(records), "iteration")
        return {
            "text": program.learned_program(),
            "learned": program.learned(),
            "examples": len(next(iter(table.values()))),
            "words": words,
            "stopped": stopped,
            "svg": learning_curve(records).svg if records else "",
            "log_likelihood": [record["log_likelihood"] for record in records],
            "warnings": _shown(program.warnings),
        }

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
            meaning = Meaning.of(program.source, name)
            by_name[name] = live.answers(meaning, settled, watch)
        return {"answers": by_name, "moved": {k: list(v) for k, v in settled.items()}}

    def write(self, request: Request) -> Reply:
        """The program's text with the numbers where the sliders stand."""
        live = self._moving(request)
        return {"text": written(self._text, live.sliders, live.settled(_moved(request), ""))}

    def why(self, request: Request) -> Reply:
        """The reasons of one answer, as a tree."""
        query = _field(request, "query", str)
        found = self._of(request).explain(
            query, semantics=_semantics(request), top=WAYS, limits=self.limits
        )
        if len(found) != 1:
            texts = [each.answer.query for each in found]
            some = f"{', '.join(texts[:MOST_NAMED])}{', …' * (len(texts) > MOST_NAMED)}"
            help = f"ask about one of {some}" if texts else "`models` lists what can be true"
            raise UsageError(f"{query} stands for {len(texts)} questions, not for one", help=help)
        return outline(found[0]).to_dict()

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

    def _deciding(self, text: str) -> Live:
        """The program of a text with its question, whose numbers can be moved."""
        if self._decided is None or self._decided[0] != text:
            self._decided = text, Live(Program(self._source(text)).ground(limits=self.limits))
        return self._decided[1]

    def _source(self, text: str) -> ast.Program:
        """The program of a text, without what needs files or Python."""
        places = [token for token in tokens(text, 0, len(text)) if token.text == "#include"]
        file = SourceFile(FILE, text)
        _refuse(
            "the playground reads no files",
            "write the statements of the file here",
            (file.span(token.start, token.end) for token in places),
        )
        source = program_of_texts([(FILE, text)], {FILE: Reach()})  # no files here
        _refuse(
            "networks and data do not run in the playground",
            "use `dpasp run` for this program",
            (
                statement.span
                for statement in source.statements
                if isinstance(statement, ast.Data) or getattr(statement, "network", None)
            ),
        )
        return source


def _refuse(message: str, help: str, spans: Iterable[Span]) -> None:
    """Raise :class:`ProgramError` if there are places of something that cannot be done here."""
    problems = [Diagnostic("playground", message, span, help) for span in spans]
    if problems:
        raise ProgramError(problems)


def _not_here(source: ast.Program) -> Iterator[Diagnostic]:
    """Warnings about statements that the playground leaves out."""
    for statement in source.statements:
        match statement:
            case ast.Learn():
                message = "the answers use the initial probabilities: nothing is learned by itself"
                help = "the tab Learn learns from a table, with the options of this line"
            case ast.Python():
                message = "the playground runs no Python: this block is left out"
                help = "use `dpasp run --python` for this program"
            case _:
                continue
        yield Diagnostic("playground", message, statement.span, help, "warning")


def _shown(problems: Sequence[Diagnostic]) -> list[Reply]:
    """The first diagnostics, with help that someone at the page can use: it has no options."""
    return [
        p.to_dict() | ({"help": HELP[p.code]} if "--" in p.help and p.code in HELP else {})
        for p in problems[:MOST_PROBLEMS]
    ]


def _listed(name: str, problems: Sequence[Diagnostic]) -> Reply:
    """Some diagnostics under their name, and how many are left out."""
    return {name: _shown(problems), "left": max(0, len(problems) - MOST_PROBLEMS)}


def _answers(answers: Answers) -> Reply:
    record = answers.to_dict()
    some = answers.answers[:MOST_NUMBERS]
    return {
        "answers": [
            answer.to_dict() | {"text": _said(answer), "name": getattr(answer, "name", None)}
            for answer in some
        ],
        "left": max(0, len(answers) - MOST_NUMBERS),
        "semantics": f"{answers.logic}, {answers.probability}",
        "engine": answers.engine,
        "inconsistent": answers.inconsistent,
        "warnings": _shown(answers.warnings),
        "statistics": record["statistics"],
    }


def _decide_questions(source: ast.Program) -> list[str]:
    """What a program asks to decide, as it follows ``#decide``; nothing for the utility."""
    asked = [each for each in source.statements if isinstance(each, ast.Decide)]
    texts = [statement_text(each).removeprefix("#decide").strip(" .") for each in asked]
    worth = any(isinstance(each, ast.Utility) for each in source.statements)
    return list(dict.fromkeys([*texts, *([""] if worth or not texts else [])]))


def _reasons(found: Decision) -> Reply:
    """Why a decision is the best: the alternatives, what the utilities add, what may change."""
    reply: Reply = {
        "alternatives": [
            {"instead": row.instead, "ends": _numbers(row.value), "loss": row.loss}
            for row in found.alternatives[:MOST_NUMBERS]
        ],
        "contributions": [
            {
                "utility": row.utility,
                "probability": _numbers(row.probability),
                "adds": _numbers(row.adds),
            }
            for row in found.contributions[:MOST_NUMBERS]
        ],
        "left": max(0, len(found.alternatives) - MOST_NUMBERS),
    }
    if found.lower is None:
        points = found.turning_points
        reply["turning"] = [row._asdict() for row in points[:MOST_NUMBERS]]
        reply["note"] = points.note
    return reply


def _numbers(value: float | tuple[float, ...]) -> list[float]:
    """One number, or the ends of an interval."""
    return [number + 0.0 for number in (value if isinstance(value, tuple) else (value,))]  # no -0


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
    texts = _field(request, name, list, [])
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"`{name}` is a list of texts")
    return texts


def _semantics(request: Request) -> str | None:
    return _field(request, "semantics", str, "") or None


def _moved(request: Request) -> dict[str, SliderEnds]:
    return {name: _ends(name, ends) for name, ends in _field(request, "moved", dict, {}).items()}


def _ends(name: str, numbers: object) -> SliderEnds:
    """Where a slider stands: one probability, or a lower and an upper one."""
    if not isinstance(numbers, list) or len(numbers) not in (1, 2):
        raise UsageError(f"the slider {name!r} needs one number, or two")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
            raise UsageError(f"{number!r} is not a probability")
    return tuple(map(float, numbers))
