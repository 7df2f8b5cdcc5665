"""The input of an engine (:class:`Asked`) and its output (:class:`EngineResult`).

How to answer is a :class:`Method`, set by the caller or by ``#inference``.

>>> from dpasp.language import parse
>>> program = parse("#inference sample, n = 100.")
>>> method(program).engine, method(program, options={"n": 7}).whole("n"), method(program, "exact")
('sample', 7, Method(engine='auto', options={}, exact=True))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from dpasp.cluster.pools import HERE, Pool
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, InconsistentProgram, Span, UsageError, closest
from dpasp.ground.columns import LiteralReader
from dpasp.ground.program import GroundLiteral, GroundProgram, GroundQuery, IntervalWeights
from dpasp.inference.answers import Answer, AnyAnswer, Decision, MapAnswers
from dpasp.language import ast
from dpasp.language.arguments import Rows, plain_number, text_given
from dpasp.language.ast import Program
from dpasp.language.statements import engines
from dpasp.language.statements.engines import inference_problems
from dpasp.language.statements.statement import Statement
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import leaves
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Question
from dpasp.semantics.meaning import Meaning

TOP = 5  # how many reasons are shown, the most probable first
# The option and the name of a limit.
_LIMITS = {
    **dict.fromkeys(("time_limit", "timeout", "seconds"), "seconds=10"),
    **dict.fromkeys(("memory_limit", "megabytes", "memory"), "megabytes=2000"),
}
# The arguments of query() and its like that are not options of an engine.
_ARGUMENTS = "evidence semantics exact data externals cluster limits progress".split()
INCONSISTENT = ("normalize", "error")


@dataclass(frozen=True, slots=True)
class Method:
    """The name of an engine in the table, and its options.

    With ``exact``, reaching a limit is an error; otherwise there is an approximate answer. The
    workers of the ``pool`` share the work; without a pool, this process does it all.
    """

    engine: str = "auto"
    options: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False
    pool: Pool | None = field(default=None, repr=False, compare=False)

    def real(self, option: str) -> float | None:
        """The value of an option as a float; None if it was not given, or is not a number."""
        value = self.options.get(option)
        return float(value) if isinstance(value, int | float) else None

    def whole(self, option: str) -> int | None:
        """The value of an option that is a whole number; None if it was not given."""
        value = self.options.get(option)
        return int(value) if isinstance(value, int | float) else None

    @property
    def seed(self) -> int:
        """The given seed, or a new one."""
        from secrets import randbits  # exact answers need none

        given = self.whole("seed")
        return randbits(63) if given is None else given

    @property
    def anytime(self) -> bool:
        """Whether there is an answer even at a limit: at worst the interval from 0 to 1."""
        return engines.ENGINES[self.engine].anytime and not self.exact

    @property
    def sums(self) -> bool:
        """Whether factors and tables may be summed up."""
        if self.engine == "bounds":
            return self.whole("nmodels") is None
        return self.engine in ("auto", "compile")

    @property
    def compiles(self) -> bool:
        """Whether the engine makes a circuit."""
        return engines.ENGINES[self.engine].compiles


def method(
    program: ast.Program,
    engine: str | Method | None = None,
    options: Mapping[str, object] | None = None,
    exact: bool = False,
    pool: Pool | None = None,
) -> Method:
    """The method of the program, overridden by ``engine`` and ``options``.

    With ``exact``, or for the engine of that name, only exact answers are accepted. The workers of
    the ``pool`` share the work.

    Raises :class:`UsageError` for an unknown engine or option, and if exact answers are wanted from
    an engine that has none.
    """
    if isinstance(engine, Method):
        return replace(engine, exact=engine.exact or exact, pool=pool or engine.pool)
    directive = next((s for s in program.statements if isinstance(s, ast.Inference)), None)
    if engine is not None:
        name = text_given(engine, "an engine")
    else:
        name = directive.method if directive else "auto"
    chosen, known, wanted = engines.named(name), engines.engine_options(name), dict[str, object]()
    if chosen is None:
        raise _unknown(name, directive if engine is None else None)
    for key, value in (options or {}).items():
        if value is not None:
            wanted[key] = plain_number(value)
    if wanted:
        _check(name, wanted)
    written = {option.name: option.value for option in directive.options} if directive else {}
    implied = chosen.aliases.get(name, {})
    chosen_options = {
        key: value for key, value in {**implied, **written, **wanted}.items() if key in known
    }
    if exact and not chosen.exact:
        raise UsageError(
            f"the engine {name} does not compute exact answers",
            help="ask for exact answers with the engine auto, compile or enumerate",
        )
    return Method(chosen.name, chosen_options, exact or bool(implied.get("exact")), pool)


def _unknown(name: str, directive: ast.Inference | None) -> UsageError:
    known = ", ".join(engines.ENGINES)
    message = f"the engine {name!r} is not one of {known}"
    span = directive.span if directive else None
    return UsageError(Diagnostic("usage", message, span, f"choose one of {known}"))


def _check(name: str, options: Mapping[str, object]) -> None:
    """Raise :class:`UsageError` for options that the engine does not have."""
    asked_for = tuple(ast.Option(key, value) for key, value in options.items())  # type: ignore[arg-type]
    problems = [
        replace(d, span=None, message=d.message.removeprefix("#inference "))
        for d in inference_problems(ast.Inference(name, asked_for))
    ]
    if problems and (limits := [_LIMITS[key] for key in options if key in _LIMITS]):
        problems[0] = replace(problems[0], help=f"limits=dpasp.Limits({', '.join(limits)})")
    elif problems and (
        near := [n for k in options if (n := closest(k, _ARGUMENTS, 0.75)) not in ("", k)]
    ):
        problems[0] = replace(problems[0], help=f"did you mean '{near[0]}'?")
    if problems:
        raise UsageError(problems)


@dataclass(frozen=True, slots=True)
class EvidenceRows:
    """A table of evidence, with the literals for the codes in its columns."""

    table: Rows
    literals: tuple[tuple[GroundLiteral, ...], ...]  # by column
    device: str = "cpu"  # where the rows are evaluated, if one circuit answers for all

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: slice | Sequence[int]) -> EvidenceRows:
        return replace(self, table=replace(self.table, codes=self.table.codes[rows]))

    def evidence(self, row: int) -> tuple[GroundLiteral, ...]:
        """What was observed in a row."""
        pairs = zip(self.literals, self.table.codes[row].tolist(), strict=True)
        return tuple(literals[code - 1] for literals, code in pairs if code)


@dataclass(frozen=True)
class Asked:
    """A ground program with its questions, its semantics, and the method to answer.

    ``weights`` are those of the leaves, [leaves] or [leaves, rows] with one column for each row of
    test data. With ``inconsistent="error"``, total choices without a model are an error. The
    ``watch`` says when to stop, and takes reports. ``rows`` are a table of evidence; the questions
    are answered for each row. If ``lenient``, impossible evidence makes an answer NaN and is not an
    error.
    """

    ground: GroundProgram
    meaning: Meaning
    weights: Weights
    method: Method
    inconsistent: str
    watch: Watch
    rows: EvidenceRows | None = None
    criterion: str | None = None  # how to decide under credal
    lenient: bool = False
    worlds: tuple[Asked, ...] = ()  # the questions with do(…), each of a program of its own

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in the order of the answers."""
        return self.ground.questions

    @cached_property
    def queries(self) -> tuple[GroundQuery, ...]:
        """The questions for a probability."""
        return tuple(q for q in self.questions if isinstance(q, GroundQuery))

    @cached_property
    def layout(self) -> LeafLayout:
        """Where the leaves of each choice lie."""
        return leaves.layout(self.ground.choices)

    @property
    def has_rows(self) -> bool:
        """Whether every answer has one number for each row of test data."""
        return self.weights.ndim == 2

    @property
    def columns(self) -> Weights:
        """The weights [leaves, rows]; one row without test data."""
        return self.weights if self.has_rows else self.weights[:, np.newaxis]

    @cached_property
    def has_intervals(self) -> bool:
        """Whether some probabilities are intervals."""
        return any(isinstance(choice.weight, IntervalWeights) for choice in self.ground.choices)

    @property
    def pool(self) -> Pool:
        """The workers that share the work; without any, this process does it all."""
        return HERE if self.method.pool is None else self.method.pool

    def with_questions(self, questions: Sequence[Question]) -> Asked:
        """The same with other questions over the same atoms."""
        return replace(self, ground=replace(self.ground, questions=tuple(questions)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle for another process, without the text, the watch and the pool."""
        places = tuple(Placed(statement.span) for statement in self.ground.program.statements)
        ground = replace(self.ground, program=Program(places), warnings=(), networks=(), data=())
        how = (replace(self.method, pool=None), self.inconsistent, UNLIMITED)
        rest = (self.rows, self.criterion, self.lenient, self.worlds)
        return Asked, (ground, self.meaning, self.weights, *how, *rest)

    def one_row(self) -> Asked:
        """This value itself; raises :class:`UsageError` if there are rows of test data."""
        if self.has_rows:
            raise UsageError("this needs one row of test data, and the program has many")
        return self


def ask(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    weights: Weights | None = None,
    method: Method = Method(),  # noqa: B008 - frozen
    inconsistent: str = "normalize",
    watch: Watch = UNLIMITED,
    rows: EvidenceRows | None = None,
) -> Asked:
    """What is asked, checked; ``weights`` override the program's own.

    Raises :class:`UsageError` if ``inconsistent`` is neither "normalize" nor "error", and
    :class:`DataError` if weights are unknown (NaN), because they come from a network.
    """
    if inconsistent not in INCONSISTENT:
        raise UsageError(f"inconsistent is normalize or error, not {inconsistent!r}")
    if meaning.weighted:
        inconsistent = "normalize"  # total choices without a model weigh nothing
    known = leaves.weights(ground) if weights is None else weights
    if np.isnan(known).any():
        raise DataError(
            Diagnostic(
                "network-output",
                "the probabilities of this program come from a network, and no data was given",
                help="name test data, as in input(x) ~ test(@images), or ask program.module()",
            )
        )
    return Asked(ground, meaning, known, method, inconsistent, watch, rows)


def evidence_rows(
    table: Rows | None, ground: GroundProgram, meaning: Meaning
) -> EvidenceRows | None:
    """The table of evidence for a ground program, if there is one.

    Raises :class:`DataError` for atoms that cannot occur, or cannot be undefined.
    """
    if table is None:
        return None
    if not len(table):
        message = "evidence: the table has no rows"
        raise DataError(Diagnostic("observation-none", message, help="give at least one row"))
    seen = ground if ground.observed is None else replace(ground, atoms=ground.observed)
    return EvidenceRows(table, LiteralReader(seen, logic=meaning.logic).rows(table))


@dataclass(frozen=True, slots=True)
class Placed(Statement):
    """A statement of which only the place is kept."""

    span: Span


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The answers to all questions, in their order.

    ``engine`` is the one that finally answered, ``inconsistent`` the mass of the total choices
    without a model, and ``precision`` a phrase such as "up to " for that mass.
    """

    answers: tuple[AnyAnswer, ...]
    engine: str
    inconsistent: float = 0.0
    precision: str = ""
    warnings: tuple[Diagnostic, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Approximate:
    """Approximate answers under one weight vector, and the inconsistent mass seen so far."""

    answers: tuple[Answer, ...]
    inconsistent: float
    warnings: tuple[Diagnostic, ...]


def row_by_row(
    asked: Asked, precision: str, answer: Callable[[Weights], Approximate]
) -> EngineResult:
    """The answers for every row of weights, found one after the other.

    Raises :class:`InconsistentProgram` if there are total choices without a model and these are an
    error.
    """
    rows = [answer(row) for row in asked.columns.T]
    lost = max((row.inconsistent for row in rows), default=0.0)
    if lost > 0 and asked.inconsistent == "error":
        raise InconsistentProgram(f"total choices of probability about {lost:g} have no model")
    answers = in_columns([row.answers for row in rows]) if asked.has_rows else rows[0].answers
    warnings = dict.fromkeys(warning for row in rows for warning in row.warnings)
    return EngineResult(answers, asked.method.engine, lost, precision, tuple(warnings))


def in_columns(found: Sequence[Sequence[AnyAnswer]]) -> tuple[AnyAnswer, ...]:
    """Join the answers of several rows, or runs of rows, to each question.

    Decisions stay one for each row.
    """
    joined: list[AnyAnswer] = []
    for parts in zip(*found, strict=True):
        if answers := [part for part in parts if isinstance(part, Answer)]:
            joined.append(side_by_side(answers))
        elif decisions := [part for part in parts if isinstance(part, Decision)]:
            joined += [replace(decision, row=row) for row, decision in enumerate(decisions)]
        else:
            maps = [p.rows if isinstance(p, MapAnswers) else (p,) for p in parts]
            joined.append(MapAnswers(parts[0].query, tuple(chain(*maps))))
    return tuple(joined)


def side_by_side(parts: Sequence[Answer]) -> Answer:
    """Join the answers to one query for several rows of test data, or runs of rows."""
    if any(part.interval is not None for part in parts):
        parts = [part if part.interval is not None else _with_interval(part) for part in parts]
    samples = [part.samples for part in parts if part.samples is not None]
    fields: dict[str, Any] = {"samples": min(samples, default=None), "strategy": None}
    for name in ("value", "lower", "upper", "gap", "interval", "likely"):
        fields[name] = _column([getattr(part, name) for part in parts])
    if any(part.logs is not None for part in parts):
        fields["logs"] = _column([part.logarithms() for part in parts])
    chained = [part for part in parts if part.chains is not None]
    if chained:  # only as good as the worst of them
        fields["chains"] = chained[0].chains
        fields["effective"] = min(part.effective or 0.0 for part in chained)
        fields["r_hat"] = max(part.r_hat or 0.0 for part in chained)
    return replace(parts[0], **fields)


def _with_interval(answer: Answer) -> Answer:
    """An exact answer with the fields of one that is not, so that both fit into one array."""
    ends = (answer.numbers[0], answer.numbers[-1])
    return replace(answer, interval=ends, likely=ends, gap=np.zeros(np.shape(ends[0])))


def _column(numbers: Sequence[Any]) -> Any:
    """Numbers in one array, or tuples in one array per place; None if one is missing."""
    if any(number is None for number in numbers):
        return None
    if isinstance(numbers[0], tuple):
        return tuple(map(_column, zip(*numbers, strict=True)))
    return np.concatenate([np.atleast_1d(number) for number in numbers])


def stopped_early(stopped: str, gap: float) -> Diagnostic:
    """The warning that a limit, named by ``stopped``, caused a gap."""
    return Diagnostic("stopped-early", f"{stopped}, with a gap of {gap:g}", severity="warning")


def inconsistent_choices(inconsistent: float, precision: str = "") -> tuple[Diagnostic, ...]:
    """The warning about total choices without a model."""
    if not inconsistent:
        return ()
    return (
        Diagnostic(
            "inconsistent-choices",
            f"total choices of probability {precision}{inconsistent:g} have no model; "
            "the answers are conditional on the others",
            help="dpasp explain --why-inconsistent (program.why_inconsistent()) shows what "
            "leaves no model",
            severity="warning",
        ),
    )
