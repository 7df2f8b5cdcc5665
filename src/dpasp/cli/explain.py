"""``dpasp explain``: what is behind an answer, and what leaves no model."""

from __future__ import annotations

import json
from argparse import Namespace

from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import (
    FILES,
    LIMITS,
    OUTPUT,
    PYTHON,
    QUESTIONS,
    Flag,
    OptionGroup,
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
    without_questions,
)
from dpasp.display.reasons import explanation_text, inconsistencies_text
from dpasp.errors import UsageError
from dpasp.program import Program

WHAT = OptionGroup(
    "",
    (
        Flag(
            ("--top",),
            "how many ways and total choices to show (default: 5)",
            "N",
            whole_number,
            default=5,
        ),
        Flag(("--target",), "show what each number must be for the answer to be P", "P", share),
        Flag(("--why-inconsistent",), "show what leaves no model, in place of answers"),
    ),
)


@command(FILES, WHAT, QUESTIONS, LIMITS, PYTHON, drawing("the reasons"), OUTPUT)
def explain(options: Namespace, console: Console) -> int:
    """Explain the answers.

    Shows which choices lead to an answer (the most probable minimal sets), why it holds in one
    model and why not in another, rule by rule, how probable each choice is given the query, and
    how the answer changes with each number in the program. -v adds the most probable total
    choices. With --query, only that is explained. #map and #mpe are not explained.

    --why-inconsistent shows instead which choices and rules leave no model (or none that
    satisfies the evidence); each of them is needed.

    examples:
        dpasp explain alarm.plp
        dpasp explain alarm.plp --query "burglary | alarm" --top 3
        dpasp explain alarm.plp --target 0.5
        dpasp explain plan.plp --why-inconsistent
    """
    check_picture(options.plot)
    source = read_program(options, console)
    if options.queries:  # they alone are explained
        source = without_questions(source)
    program = asked(source, options, console)
    if options.why_inconsistent:
        return _inconsistent(program, options, console)
    explanations = program.explain(
        semantics=wanted_semantics(options),
        top=options.top,
        target=options.target,
        limits=read_limits(options),
    )
    console.report(explanations.warnings)
    if not explanations:
        raise nothing_asked(program.source)
    if console.json:
        console.answer(json.dumps(explanations.to_dict(), indent=2, ensure_ascii=False))
    else:
        texts = (explanation_text(each, options.verbose) for each in explanations)
        console.answer("\n".join(texts))
    if options.plot is not None:
        explanations.plot(options.plot)
    return 0


def _inconsistent(program: Program, options: Namespace, console: Console) -> int:
    """Print what leaves no model."""
    if options.queries or options.target is not None:
        raise UsageError(
            "--why-inconsistent asks about models, not about a query or a target",
            help='leave them out; --evidence "a, not b" asks about models that satisfy it',
        )
    reasons = program.why_inconsistent(
        semantics=wanted_semantics(options), top=options.top, limits=read_limits(options)
    )
    console.report(program.source.warnings)
    if console.json:
        console.answer(json.dumps(reasons.to_dict(), indent=2, ensure_ascii=False))
    else:
        console.answer(inconsistencies_text(reasons))
    if options.plot is not None:
        reasons.plot(options.plot)
    return 0
