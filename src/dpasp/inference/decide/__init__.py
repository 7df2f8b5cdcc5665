"""Answers to ``#expect`` and ``#decide``, and to queries under the best strategy.

- ``expected``: expected values from masses
- ``strategies``: all strategies, their values, and which of them a criterion keeps
- ``elimination``: the best of many strategies if every utility depends on few decisions
- ``search``: the best of many strategies, by branch and bound
- ``estimates``: estimates from worlds and a certain bound, if no circuit was compiled in time
- ``why``: alternatives, contributions, the value of knowledge

Under maxent, an expected value is a sum of answers to queries, by any engine. Everything else is
exact: from one circuit, or by enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpasp.errors import (
    Diagnostic,
    ImpossibleEvidence,
    LimitReached,
    ProgramError,
    UsageError,
)
from dpasp.ground.program import (
    GroundDecide,
    GroundExpect,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    GroundUtility,
)
from dpasp.inference.answers import (
    Answer,
    AnswerNumber,
    AnyAnswer,
    Decision,
    Expectation,
    MapAnswer,
)
from dpasp.inference.asked import Asked, EngineResult
from dpasp.inference.decide import strategies
from dpasp.inference.decide.expected import expected, totals, values
from dpasp.inference.decide.strategies import Best, Deciding, Score, decided_choices
from dpasp.inference.decide.why import Why
from dpasp.inference.rows import by_questions
from dpasp.language.statements.engines import ENGINES
from dpasp.semantics import masses
from dpasp.semantics.masses import Array, Question
from dpasp.semantics.meaning import Meaning

Plain = Callable[[Asked], EngineResult]  # answers questions for probabilities
MAXIMIN, MAXIMAX = "maximin", "maximax"
CRITERIA = (MAXIMIN, MAXIMAX, "interval dominance", "maximality", "E-admissibility")
SCORES: Mapping[str, Score] = {MAXIMIN: strategies.lower, MAXIMAX: strategies.upper}


def valued(asked: Asked, plain: Plain) -> EngineResult:
    """The answers to all questions of a program with decisions or expectations, in order."""
    worth = asked.ground.worth
    if asked.rows is not None and (asked.ground.decisions or not asked.meaning.maxent):
        return by_questions(asked, lambda one: valued(one, plain))
    decided = {
        question.place: decisions(asked, question)
        for question in worth
        if isinstance(question, GroundDecide)
    }
    others = len(asked.questions) + len(worth) - len(decided)
    strategy: Mapping[str, bool] | None = None
    if asked.ground.decisions and others:
        chosen = _governing(asked, decided)
        asked = _under(asked, chosen)
        strategy = None if asked.has_rows else chosen[0].strategy
    expects = [question for question in worth if isinstance(question, GroundExpect)]
    found, more = _queries_and_expectations(asked, expects, plain, strategy)
    by_place: dict[int, Sequence[AnyAnswer]] = {**decided}
    by_place |= {q.place: (a,) for q, a in zip(expects, more, strict=True)}
    rest = iter(found.answers)
    places = range(len(asked.questions) + len(worth))
    answers = [each for p in places for each in by_place.get(p) or (next(rest),)]
    stopped = [d for some in decided.values() for d in some if not d.exact]
    return replace(found, answers=tuple(answers), warnings=(*found.warnings, *_not_sure(stopped)))


def _not_sure(stopped: Sequence[Decision]) -> tuple[Diagnostic, ...]:
    if not stopped:
        return ()
    gap = max(decision.gap for decision in stopped)
    message = "a limit was reached before the best decisions were certain: these are the best "
    if any(decision.samples for decision in stopped):
        message += f"by estimates; no strategy is worth more than {stopped[0].most:.6g}"
    else:
        message += f"that were found, and no others are better by over {gap:.6g}"
    help = "raise the limit, or let it fail with --exact"
    return (Diagnostic("not-exact", message, help=help, severity="warning"),)


# --- expectations --------------------------------------------------------------------------------


def _queries_and_expectations(
    asked: Asked,
    expects: Sequence[GroundExpect],
    plain: Plain,
    strategy: Mapping[str, bool] | None,
) -> tuple[EngineResult, list[Expectation]]:
    linear = asked.meaning.maxent
    parts = [_questions(question) for question in expects] if linear else []
    questions: list[Question] = [*asked.questions, *(q for part in parts for q in part)]
    if questions:
        found = plain(asked.with_questions(questions))
    else:
        found = EngineResult((), asked.method.engine if asked.method.compiles else "compile")
    answers = found.answers[: len(asked.questions)]
    rest = iter(found.answers[len(asked.questions) :])
    if linear:
        more = [
            _summed(question, [next(rest) for _ in part])
            for question, part in zip(expects, parts, strict=True)
        ]
    else:
        _check_engine(asked, expects)
        more = [_bounds(asked, question) for question in expects]
    if strategy is not None:
        answers = tuple(
            replace(a, strategy=strategy) if isinstance(a, Answer | MapAnswer) else a
            for a in answers
        )
        more = [replace(a, strategy=strategy) for a in more]
    return replace(found, answers=answers), more


def _questions(question: GroundExpect) -> list[GroundQuery]:
    """A query for each body, after one that always holds, for the evidence."""
    bodies: list[tuple[GroundLiteral, ...]] = [(), *totals(question.terms)]
    return [GroundQuery(body, question.evidence, question.text, question.span) for body in bodies]


def _summed(question: GroundExpect, answers: Sequence[AnyAnswer]) -> Expectation:
    """The expected value from the probabilities of the bodies."""
    values = list(totals(question.terms).values())
    found = [answer for answer in answers[1:] if isinstance(answer, Answer)]
    first = answers[0]
    assert isinstance(first, Answer)
    shape = np.shape(first.numbers[0])

    def total(end: int | None) -> AnswerNumber:
        result = np.zeros(shape)
        for value, answer in zip(values, found, strict=True):
            numbers: AnswerNumber
            if end is None:
                numbers = answer.value if answer.value is not None else np.nan
            else:
                ends = answer.interval or (answer.numbers[0], answer.numbers[-1])
                numbers = ends[end if value >= 0 else 1 - end]
            result = result + value * np.asarray(numbers)
        return result if result.ndim else float(result)

    if all(answer.exact and answer.value is not None for answer in found):
        return Expectation(question.text, value=total(None))
    interval = total(0), total(1)
    gaps = any(answer.gap is not None for answer in found)
    samples = [answer.samples for answer in found if answer.samples is not None]
    known = all(answer.value is not None for answer in found)
    return Expectation(
        question.text,
        value=total(None) if known else 0.5 * np.add(*interval),
        interval=interval,
        gap=np.subtract(interval[1], interval[0]) if gaps else None,
        samples=min(samples, default=None),
    )


def _bounds(asked: Asked, question: GroundExpect) -> Expectation:
    """The lower and the upper expected value under credal."""
    value = expected(asked, question.terms, question.evidence)
    masses.check_consistent(value.consistent, value.inconsistent, asked.inconsistent == "normalize")
    if not np.all(value.possible > 0):
        raise ImpossibleEvidence(masses.impossible_evidence(question.evidence, question.span))

    def number(row: Array) -> AnswerNumber:
        return row if asked.has_rows else float(row[0])

    return Expectation(question.text, lower=number(value.lower), upper=number(value.upper))


def _check_engine(asked: Asked, questions: Sequence[GroundExpect | GroundDecide]) -> None:
    if questions and not ENGINES[asked.method.engine].exact:
        what = (
            "expectations under credal" if isinstance(questions[0], GroundExpect) else "decisions"
        )
        raise UsageError(
            f"the engine {asked.method.engine} does not give {what}",
            help="use the engine auto, compile or enumerate; within a time limit, decisions come "
            "with a bound",
        )


# --- decisions -----------------------------------------------------------------------------------


def decisions(
    asked: Asked, question: GroundDecide, criterion: str | None = None
) -> tuple[Decision, ...]:
    """The best strategies: one for each row and, under credal, for each of two criteria.

    Raises :class:`UsageError` for a criterion that does not exist or does not fit.
    """
    _check_engine(asked, [question])
    ground = asked.ground
    if not ground.decisions:
        message = "there is nothing to decide: no instance of a #decision has an atom"
        help = "its body or its atoms cannot hold; `dpasp ground` shows what can"
        raise ProgramError(Diagnostic("decide-nothing", message, question.span, help))
    if not question.literals and not ground.utilities:
        message = "no decision is better than another: the program has no utilities"
        help = "#utility 5 : a. says what is worth something; #decide goal. makes a goal probable"
        raise ProgramError(Diagnostic("decide-nothing", message, question.span, help))
    wanted = _criteria(asked, asked.criterion if criterion is None else criterion)
    terms = _counted(ground, question)
    try:
        watch = asked.watch.share(1 if asked.method.exact or not asked.watch.limited else 2)
        timed = Deciding.of(replace(asked, watch=watch), terms, question.evidence)
        deciding = replace(timed, asked=asked)
    except LimitReached as limit:
        return _by_estimates(asked, question, terms, wanted, _while_deciding(limit, asked))
    rows = range(asked.columns.shape[1])
    return tuple(
        _decision(deciding.of_row(row), question, name, row if asked.has_rows else None)
        for row in rows
        for name in wanted
    )


def _counted(
    ground: GroundProgram, question: GroundExpect | GroundDecide
) -> tuple[GroundUtility, ...]:
    """What is maximised: the terms of an expectation, the utilities, or 1 if a goal is reached."""
    if isinstance(question, GroundExpect):
        return question.terms
    goal = (GroundUtility(1.0, question.literals, -1),)
    return goal if question.literals else ground.utilities


def compiled(ground: GroundProgram, meaning: Meaning) -> GroundProgram:
    """The program whose circuit answers the first question; for a decision, its value."""
    if ground.questions or not ground.worth:
        return ground
    first = ground.worth[0]
    return values(ground, meaning, _counted(ground, first), first.evidence).ground


def decided(
    asked: Asked, criterion: str | None
) -> tuple[tuple[Decision, ...], tuple[Diagnostic, ...]]:
    """The decisions for the only question, one for each row, with warnings."""
    if len(asked.ground.worth) != 1:
        texts = ", ".join(question.text for question in asked.ground.worth)
        matching = f"these match: {texts}" if texts else "no atoms match it"
        help = "ask for one of them" if texts else "`dpasp ground` shows which atoms there are"
        raise UsageError(f"a decision is about one question, and {matching}", help=help)
    if asked.rows is not None:

        def solve(row: Asked) -> EngineResult:
            answers, warnings = decided(row, criterion)
            return EngineResult(answers, row.method.engine, warnings=warnings)

        result = by_questions(asked, solve)
        return tuple(a for a in result.answers if isinstance(a, Decision)), result.warnings
    question = asked.ground.worth[0]
    assert isinstance(question, GroundDecide)
    if criterion is None and not asked.meaning.maxent:
        criterion = MAXIMIN
    found = decisions(asked, question, criterion)
    return found, _not_sure([each for each in found if not each.exact])


def _criteria(asked: Asked, criterion: str | None) -> Sequence[str | None]:
    if criterion is None:
        return [None] if asked.meaning.maxent else [MAXIMIN, MAXIMAX]
    name = str(criterion).lower().replace("_", " ").replace("-", " ")
    known = {each.lower().replace("-", " "): each for each in CRITERIA}
    if name not in known:
        choices = ", ".join(CRITERIA)
        raise UsageError(f"the criterion {criterion!r} is not one of {choices}")
    if asked.meaning.maxent:
        message = f"{known[name]} compares intervals, and under {asked.meaning.probability.value} "
        raise UsageError(
            f"{message}every strategy has one value",
            help="leave the criterion out, or say semantics='credal'",
        )
    return [known[name]]


def _decision(
    deciding: Deciding, question: GroundDecide, criterion: str | None, row: int | None
) -> Decision:
    """The best strategy under a criterion, or those that the criterion keeps."""
    asked = deciding.asked
    kept: tuple[Mapping[str, bool], ...] = ()
    if criterion is not None and criterion not in SCORES:
        kept = tuple(map(deciding.named, strategies.undominated(deciding, criterion)))
    score = SCORES.get(criterion or MAXIMIN, strategies.lower)
    best = deciding.best(score)
    if asked.inconsistent == "error":
        masses.check_consistent(best.value.consistent, best.value.inconsistent, allowed=False)
    if not best.exact and asked.method.exact and best.stopped is not None:
        raise _while_deciding(best.stopped, asked)
    found = _told(deciding, question, criterion, best, score)
    minimal = _minimal(deciding, best, score) if question.literals else ()
    most = None if best.exact else best.most
    return replace(found, strategies=kept, minimal=minimal, most=most, row=row)


def _told(
    deciding: Deciding, question: GroundDecide, criterion: str | None, best: Best, score: Score
) -> Decision:
    """A strategy with its value and its reasons."""
    single = deciding.asked.meaning.maxent
    low, high = float(best.value.lower[0]), float(best.value.upper[0])
    return Decision(
        question.text,
        deciding.named(best.strategy),
        value=low if single else None,
        lower=None if single else low,
        upper=None if single else high,
        criterion=criterion,
        goal=bool(question.literals),
        most=best.most,
        why=Why(deciding, best, score),
    )


def _while_deciding(limit: LimitReached, asked: Asked) -> LimitReached:
    """The limit, with help: other engines do not make decisions."""
    help = "raise the limit, or decide less at once"
    if asked.method.exact:
        help = "raise the limit, or leave --exact out: then the best found comes with a bound"
    (found,) = limit.diagnostics
    return type(limit)(replace(found, help=help))


def _by_estimates(
    asked: Asked,
    question: GroundDecide,
    terms: tuple[GroundUtility, ...],
    criteria: Sequence[str | None],
    limit: LimitReached,
) -> tuple[Decision, ...]:
    """The best strategies by estimates from worlds, if no circuit was compiled in time.

    Raises the limit if worlds are not enough, or exact answers are required.
    """
    if asked.method.exact or asked.method.engine != "auto" or asked.has_rows:
        raise limit
    from dpasp.inference.decide.estimates import best_of_estimates, by_worlds

    deciding = by_worlds(asked, terms, question.evidence)
    if deciding is None or any(criterion not in (None, *SCORES) for criterion in criteria):
        raise limit
    score = strategies.lower  # all atoms are determined: the lower value is the upper one
    found = best_of_estimates(deciding, score, limit)
    if found is None:
        raise limit
    best, ends, samples = found
    told = (_told(deciding, question, criterion, best, score) for criterion in criteria)
    return tuple(replace(each, interval=ends, samples=samples) for each in told)


def _minimal(deciding: Deciding, best: Best, score: Score) -> tuple[tuple[str, ...], ...]:
    """The minimal sets of atoms that make the goal as probable as possible."""
    if not deciding.few:
        return (tuple(n for n, taken in deciding.named(best.strategy).items() if taken),)
    every = np.array(list(deciding.strategies()))
    scores = score(deciding.worth(every))
    close = strategies.tolerance(best.score)
    good = every[np.nan_to_num(scores, nan=-np.inf) >= best.score - close]
    good = good[np.argsort(good.sum(axis=1), kind="stable")]
    least: list[strategies.Strategy] = []
    for each in good:
        if not any(np.all(each[smaller]) for smaller in least):
            least.append(each)
    names = np.array(deciding.names, dtype=object)
    return tuple(tuple(names[each]) for each in least)


def _governing(asked: Asked, decided: Mapping[int, Sequence[Decision]]) -> Sequence[Decision]:
    """The decisions under which queries are answered, one a row: those asked for, or the best."""
    for some in decided.values():
        return _careful(some)
    if not asked.ground.utilities:
        message = "the program has decisions, and nothing says which are best"
        help = "add a #utility, ask #decide goal., or write what is decided as facts"
        raise ProgramError(Diagnostic("decide-nothing", message, None, help))
    question = GroundDecide((), asked.ground.evidence, "", None, 0)
    return _careful(decisions(asked, question))


def _careful(found: Sequence[Decision]) -> Sequence[Decision]:
    """The decisions of every row by one criterion: maximin, if there are several."""
    return [d for d in found if d.criterion in (None, MAXIMIN)] or found


def _under(asked: Asked, chosen: Sequence[Decision]) -> Asked:
    """The same questions with the decisions taken, in every row its own."""
    weights = asked.weights.copy()
    columns = weights if asked.has_rows else weights[:, np.newaxis]
    for row, decision in enumerate(chosen):
        taken = np.array(list(decision.strategy.values()), dtype=np.float64)
        for value, choice in zip(taken, decided_choices(asked.ground), strict=True):
            columns[asked.layout.of(choice), row] = value, 1.0 - value
    return replace(asked, weights=weights)


def under_best(asked: Asked) -> tuple[Asked, Mapping[str, bool] | None]:
    """The same questions under the best strategy, and that strategy; None without decisions."""
    if not asked.ground.decisions:
        return asked, None
    decide = next((q for q in asked.ground.worth if isinstance(q, GroundDecide)), None)
    chosen = _governing(asked, {0: decisions(asked, decide)} if decide else {})
    return _under(asked, chosen), chosen[0].strategy
