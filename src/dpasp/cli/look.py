"""``dpasp check``, ``ground``, ``explain``, ``models`` and ``sample``: look into a program."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import (
    CLUSTER,
    CONSTANT,
    EXTERNAL,
    FILES,
    LIMITS,
    MEANING,
    OUTPUT,
    PYTHON,
    QUESTIONS,
    Flag,
    drawing,
    share,
    whole_number,
)
from dpasp.cli.reading import (
    asked,
    check_picture,
    nothing_asked,
    read_limits,
    read_program,
    wanted_semantics,
    with_constants,
    without_questions,
)
from dpasp.display.diagnostics import to_dict
from dpasp.errors import UsageError
from dpasp.language import ast
from dpasp.writing import counted

if TYPE_CHECKING:
    from dpasp.inference.answers import Decision
    from dpasp.inference.explain.explanation import Explanations, Inconsistencies
    from dpasp.inference.models import Model
    from dpasp.program import Program

EMPTY = "(nothing is true)"


@command(FILES, CONSTANT, LIMITS, OUTPUT)
def check(options: Namespace, console: Console) -> int:
    """Report every mistake in a program, with its place, the reason and what to write instead.

    Names that no rule derives are reported as well. Nothing is grounded, and nothing in the program
    is run.

    examples:
        dpasp check alarm.plp
        dpasp check --json alarm.plp
    """
    from dpasp.ground.checking import check_without_grounding

    program = read_program(options, console)
    doubts = check_without_grounding(program, constants=dict(options.constants))
    warnings = (*program.warnings, *doubts)
    if console.json:
        console.answer_json(to_dict(warnings))
        return 0
    console.report(warnings)
    if not console.quiet:
        found = counted(len(warnings), "warning")
        console.answer(f"{', '.join(options.files)}: {found if warnings else 'no mistakes found'}")
    return 0


@command(FILES, CONSTANT, EXTERNAL, LIMITS, PYTHON, drawing("what depends on what"), OUTPUT)
def show_ground(options: Namespace, console: Console) -> int:
    """Show the ground program: its choices with their probabilities, and its rules.

    examples:
        dpasp ground alarm.plp
        dpasp ground graph.plp -c n=3
        dpasp ground alarm.plp --plot alarm.svg
    """
    from dpasp.display.programs import ground_dict
    from dpasp.ground.text import ground_text

    check_picture(options.plot)
    program = with_constants(read_program(options, console), options)
    ground = program.ground(limits=read_limits(options))
    console.report(ground.warnings)
    if console.json:
        console.answer_json(ground_dict(ground))
    else:
        console.answer(ground_text(ground))
    if options.plot is not None:
        program.plot(options.plot)
    return 0


@command(
    FILES,
    Flag(("--top",), "how many ways and total choices to show (default: 5)", "N", whole_number, 5),
    Flag(("--target",), "show what each number must be for the answer to be P", "P", share),
    Flag(("--why-inconsistent",), "show what leaves no model, instead of explaining answers"),
    QUESTIONS,
    LIMITS,
    PYTHON,
    drawing("the reasons"),
    OUTPUT,
)
def explain(options: Namespace, console: Console) -> int:
    """Explain the answers.

    Shows which choices lead to an answer (the most probable minimal sets), why it holds in one
    model and why not in another, rule by rule, how probable each choice is given the query, and
    how the answer changes with each number in the program. -v adds the most probable total
    choices. For decisions it shows how much each alternative loses, what each utility adds, what
    knowing an atom would be worth, and how far each probability can change before another strategy
    becomes better. With --query, only that query is explained. #map and #mpe are not explained.

    --why-inconsistent shows instead minimal sets of choices and rules that leave no model (or none
    that satisfies the evidence).

    examples:
        dpasp explain alarm.plp
        dpasp explain alarm.plp --query "burglary | alarm" --top 3
        dpasp explain alarm.plp --target 0.5
        dpasp explain plan.plp --why-inconsistent
    """
    from dpasp.display.reasons import as_text, outline

    check_picture(options.plot)
    source = read_program(options, console)
    if options.queries:  # only these are explained
        source = without_questions(source)
    program = asked(source, options, console)
    how: dict[str, Any] = {"semantics": wanted_semantics(options), "limits": read_limits(options)}
    reasons: Explanations | Inconsistencies
    decided: Sequence[Decision] = ()
    if options.why_inconsistent:
        if options.queries or options.target is not None:
            message = "--why-inconsistent asks about models, not about a query or a target"
            help = 'leave them out; --evidence "a, not b" asks about models that satisfy it'
            raise UsageError(message, help)
        reasons = program.why_inconsistent(top=options.top, **how)
        console.report(program.source.warnings)
        text = str(reasons)
    else:
        reasons = program.explain(top=options.top, target=options.target, **how)
        console.report(reasons.warnings)
        decided = () if options.queries else decisions(program, console, how)
        if not (reasons or decided):
            raise nothing_asked(program.source)
        texts = [f"{decision}\n\n{decision.why}\n" for decision in decided]
        text = "\n".join([*texts, *(as_text(outline(each, options.verbose)) for each in reasons)])
    if console.json:
        more = [decision.to_dict() | decision.reasons() for decision in decided]
        console.answer_json(reasons.to_dict() | ({"decisions": more} if more else {}))
    else:
        console.answer(text)
    if options.plot is not None:
        (reasons if reasons or not decided else decided[0]).plot(options.plot)
    return 0


def decisions(program: Program, console: Console, how: dict[str, Any]) -> list[Decision]:
    from dpasp.inference.answers import Decision

    if not any(isinstance(statement, ast.Decision) for statement in program.source.statements):
        return []
    answers = program.query(**how)
    console.report(answers.warnings)
    return [each for each in answers if isinstance(each, Decision)]


@command(
    FILES,
    Flag(("-n", "--number"), "at most this many (default, and 0: all)", "N", whole_number),
    Flag(
        ("--best",),
        "the N most probable models, each with its own probability (0: all)",
        "N",
        whole_number,
    ),
    MEANING,
    LIMITS,
    PYTHON,
    OUTPUT,
)
def models(options: Namespace, console: Console) -> int:
    """List the models of every total choice, the most probable total choice first.

    Each total choice is printed with its probability. #show selects the atoms to show. Models are
    printed as they are found. A program without probabilities has the models that clingo finds.
    With --best, each line is a model with its own probability; models that show the same atoms
    count as one.

    examples:
        dpasp models alarm.plp
        dpasp models alarm.plp --given "alarm, not burglary"
        dpasp models queens.lp -n 1
        dpasp models alarm.plp --best 3 --psem maxent
    """
    from dpasp.inference.answers import bounds_text

    program = with_constants(read_program(options, console), options)
    found = program.models(
        options.number,
        best=options.best,
        given=options.given,
        semantics=wanted_semantics(options),
        limits=read_limits(options),
    )
    console.report(program.warnings)
    lines = model_lines(found)
    if console.json:
        records = (json.dumps(model.to_dict(), ensure_ascii=False) for model in found)
        lines = (f"  {',' if number else ''}{record}" for number, record in enumerate(records))
        console.answer('{"models": [')
    elif options.best is not None:
        shown = ((bounds_text(m.probability, m.logs or None), str(m) or EMPTY) for m in found)
        lines = map("  ".join, shown)
    some = False
    for line in lines:
        console.answer(line)
        some = True
    if console.json:
        warned = json.dumps([w.to_dict() for w in program.warnings], ensure_ascii=False)
        console.answer(f'], "warnings": {warned}}}' if program.warnings else "]}")
    if not some and not console.quiet:
        console.note("there is no model")
    return 0


def model_lines(models: Iterator[Model]) -> Iterator[str]:
    """Lines with each total choice (or model with a weight) and its models below."""
    alone: tuple[tuple[str, ...], tuple[float, ...]] = ((), (1.0,))  # a program without choices
    before = alone
    for model in models:
        this = (model.choice, model.probability)
        if this != before:
            yield model.choice_text
        before = this
        yield ("" if this == alone else "  ") + (str(model) or EMPTY)


@command(
    FILES,
    Flag(("-n", "--number"), "how many (default: 1)", "N", whole_number, default=1),
    Flag(("--seed",), "the same seed gives the same models", "N", whole_number),
    Flag(
        ("--intervals",),
        "which value of each interval of probabilities to draw with",
        choices=("lower", "middle", "upper"),
    ),
    CLUSTER,
    MEANING,
    LIMITS,
    PYTHON,
    OUTPUT,
)
def sample(options: Namespace, console: Console) -> int:
    """Draw models at random.

    A total choice is drawn according to its probability, then one of its models uniformly. Each
    line is a model; #show selects the atoms to show. --json has the values of all atoms.

    examples:
        dpasp sample alarm.plp -n 10
        dpasp sample alarm.plp -n 1000 --given alarm --seed 1 --json
    """
    from dpasp.ground.text import shown_by

    shown = shown_by(read_program(options, console))
    program = with_constants(shown.program, options)
    samples = program.sample(
        options.number,
        given=options.given,
        semantics=wanted_semantics(options),
        seed=options.seed,
        intervals=options.intervals,
        cluster=options.cluster,
        limits=read_limits(options),
    )
    console.report(program.warnings)
    if console.json:
        records = [{k: v for k, v in drawn.items() if not shown.is_term(k)} for drawn in samples]
        fields: dict[str, object] = {"samples": records}
        if program.warnings:
            fields["warnings"] = [warning.to_dict() for warning in program.warnings]
        console.answer_json(fields)
        return 0
    for drawn in samples:
        undefined = (f"undef({name})" for name in shown.names(drawn, "undef"))
        console.answer(" ".join([*shown.names(drawn), *undefined]) or EMPTY)
    return 0
