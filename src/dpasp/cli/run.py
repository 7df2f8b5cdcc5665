"""``dpasp run``: answer the queries of a program."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dpasp.cli.commands import command
from dpasp.cli.console import Console, written
from dpasp.cli.options import (
    ENGINE,
    FILES,
    FILES_WRITTEN,
    LEARNING,
    LIMITS,
    OUTPUT,
    PYTHON,
    QUESTIONS,
    ROWS,
)
from dpasp.cli.reading import (
    asked,
    check_picture,
    nothing_asked,
    planned,
    read_limits,
    read_program,
    wanted_semantics,
)
from dpasp.display.answers import ENDINGS as TABLES
from dpasp.display.answers import answers_text, write_rows
from dpasp.display.terminal import in_terminal
from dpasp.errors import Diagnostic, LimitReached, UsageError
from dpasp.inference.answers import Answers
from dpasp.inference.asked import Method, method
from dpasp.language.ast import Learn
from dpasp.language.reader import effective_semantics
from dpasp.language.statements import engines
from dpasp.limits import Limits
from dpasp.limits.watchdog import Ending
from dpasp.program import Program
from dpasp.semantics.meaning import Meaning
from dpasp.writing import check_ending, harmless, write_text

NOT_GROUND = (
    "the program was not ground in time, so it is not known which atoms it shows: raise "
    "{option}, or make the program smaller"
)


@command(FILES, QUESTIONS, ROWS, ENGINE, LEARNING, LIMITS, PYTHON, FILES_WRITTEN, OUTPUT)
def run(options: Namespace, console: Console) -> int:
    """Learn if the program has a #learn, then answer its queries. Several files form one program.

    examples:
        dpasp run alarm.plp
        dpasp run alarm.plp --query "burglary | alarm" --evidence "not earthquake"
        dpasp run alarm.plp --marginals --evidence alarm  the probability of every shown atom
        dpasp run alarm.plp --rows calls.csv --query burglary -o answers.csv
        dpasp run alarm.plp --semantics lstable,maxent --json
        dpasp run graph.plp -c n=5 --time-limit 10
        dpasp run alarm.plp --engine sample --cluster local
        dpasp run alarm.plp --report alarm.html           a page with answers and explanations
        dpasp run digits.plp --save digits.safetensors    learn, and save what was learned
        dpasp run digits.plp --load digits.safetensors    answer with it, without learning
    """
    check_files(options)
    check_rows(options)
    check_marginals(options)
    source = read_program(options, console)
    program = asked(source, options, console)
    how = chosen_method(options, program)
    if options.threads is not None and uses_torch(program):
        import torch

        torch.set_num_threads(options.threads)
    if options.device not in (None, "cpu", "auto") and not uses_torch(program):
        console.note(f"warning: the program has no network: --device {options.device} has no use")
    if learns(options, program):
        from dpasp.cli.learn import learn_first, speaks

        learn_first(program, options, console)
        if not speaks():
            return 0
    semantics, limits = wanted_semantics(options), read_limits(options)
    rows = options.rows is not None
    if limits.ends_process and how.anytime and not files_wanted(options) and not rows:
        limits = prepared_for_the_limit(limits, program, how, semantics, options, console)
    if options.log_partition:
        show_partition(program, options, console)
        return 0
    ask = program.marginals if options.marginals else program.query
    plan = None
    if how.compiles and not options.marginals:
        plan = partial(program.plan, semantics=semantics, limits=limits)
    with planned("answering", plan, console) as progress:
        answers = ask(
            evidence=Path(options.rows) if rows else (),
            semantics=semantics,
            engine=how,
            inconsistent=options.inconsistent,
            **({} if options.marginals else {"criterion": options.criterion}),
            cluster=options.cluster,
            limits=limits,
            progress=progress,
        )
    answers = replace(answers, files=source.files)
    show_answers(answers, program, console)
    write_files(answers, program, options, limits, console)
    return 0


def show_partition(program: Program, options: Namespace, console: Console) -> None:
    """Print the logarithm of the partition function, or one for each row of data."""
    found = program.log_partition(semantics=wanted_semantics(options), limits=read_limits(options))
    logs = [found] if isinstance(found, float) else found.tolist()
    console.watchdog.send_away()
    if console.json:
        import json

        known = [None if math.isinf(log) else log for log in logs]
        shown = known[0] if isinstance(found, float) else known
        console.answer(json.dumps({"log_partition": shown}, indent=2))
    else:
        console.answer("\n".join(f"log Z = {log:.6f}" for log in logs))


def check_files(options: Namespace) -> None:
    """Refuse names of files that do not say how to write them, before the work is done."""
    if options.csv is not None:
        check_ending(options.csv, "a table", TABLES)
    check_picture(options.plot)
    if options.report is not None:
        check_ending(options.report, "a report", (".html", ".htm"))


def check_rows(options: Namespace) -> None:
    """Refuse an output of rows where there are none, or that does not say how to write it."""
    if options.output is None:
        return
    if options.rows is None:
        raise UsageError(
            "-o writes a line for each row of a table of evidence, and there is none",
            help="add --rows F.csv; --csv F.csv writes answers as a table",
        )
    check_ending(options.output, "a table of rows", (".csv",))


def files_wanted(options: Namespace) -> bool:
    """Whether the answers are to be written to files, too."""
    return any(name is not None for name in (options.csv, options.plot, options.report))


def prepared_for_the_limit(
    limits: Limits,
    program: Program,
    how: Method,
    semantics: str | None,
    options: Namespace,
    console: Console,
) -> Limits:
    """Have something to say where the process ends at a limit before its engine answers.

    An engine looks at the clock and answers in time. Should it not come to that, on a machine
    that is busy, each answer is between 0 and 1, and the exit code is 0 all the same. The limits
    that are given back have the questions named as soon as the program is ground.
    """
    from dpasp.inference.bounds.nothing_known import before_any_bound, nothing_sure, says_something

    meaning = Meaning(*effective_semantics(program.source, semantics))

    def words(asked: Sequence[str] | None, limit: LimitReached) -> Ending:
        answers = nothing_sure(program.source, meaning, before_any_bound(limit), asked)
        if console.json:
            return Ending((written(answers.to_json(indent=2), console.answers),), 0)
        warnings = console.rendered(answers.warnings)
        said = (written(warnings, console.messages),) if warnings else ()
        return Ending((*said, written(harmless(answers_text(answers)), console.answers)), 0)

    def asked(questions: Sequence[str]) -> None:
        console.watchdog.say(partial(words, questions))

    if options.marginals:
        console.watchdog.say(partial(console.last_words, NOT_GROUND))
        return replace(limits, asked=asked)
    if not says_something(program.source, how):
        return limits
    console.watchdog.say(partial(words, None))
    return replace(limits, asked=asked)


def check_marginals(options: Namespace) -> None:
    """Refuse questions that would not be answered."""
    if options.marginals and options.criterion:
        raise UsageError("--criterion goes with #decide, which --marginals does not ask")
    if options.marginals and options.queries:
        raise UsageError(
            "--marginals asks for every atom that the program shows, in place of --query",
            help="leave one of them out; what is given goes into --evidence",
        )


def write_files(
    answers: Answers, program: Program, options: Namespace, limits: Limits, console: Console
) -> None:
    """Write the files that were asked for."""
    if options.csv is not None:
        answers.save(options.csv)
    if options.output is not None:
        write_rows(answers, options.output)
    if options.plot is not None:
        answers.plot(options.plot)
    if options.report is not None:
        write_report(answers, program, options, limits, console)


def write_report(
    answers: Answers, program: Program, options: Namespace, limits: Limits, console: Console
) -> None:
    """Write the page: under a limit first without reasons, then with those found in time."""
    import shlex

    from dpasp.display.report import report

    def words(limit: LimitReached) -> Ending:
        message = f"{limit.diagnostics[0].message} before all reasons for the report were found"
        told = console.rendered([Diagnostic("stopped-early", message, severity="warning")])
        return Ending((written(told, console.messages),) if told else (), 0)

    command = shlex.join(["dpasp", *options.words])
    if limits.ends_process:
        write_text(options.report, report(program, answers, command, reasons=False))
        console.watchdog.come_back(words)
    write_text(options.report, report(program, answers, command, limits))


def learns(options: Namespace, program: Program) -> bool:
    """Whether something is to be learned, loaded or saved (and torch to be imported)."""
    statements = program.source.statements
    return any(isinstance(statement, Learn) for statement in statements) or bool(
        options.save or options.load or options.resume or options.force or options.rules
    )


def chosen_method(options: Namespace, program: Program) -> Method:
    """How to answer; raises :class:`UsageError` for options that the engine does not have."""
    how = method(program.source, options.engine, {"seed": options.seed}, options.exact)
    known, wanted = engines.engine_options(how.engine), dict(how.options)
    for word, option, value in (
        ("--samples", "n", options.samples),
        ("--gap", "gap", options.gap),
        ("--chains", "chains", options.chains),
        ("--nmodels", "nmodels", options.nmodels),
    ):
        if value is not None and option not in known:
            others = [name for name in engines.with_option(option) if name in engines.ENGINES]
            raise UsageError(
                f"{word} requires --engine {' or '.join(others)}, and the engine is {how.engine}",
                help=f"add --engine {others[0]}, or leave {word} out",
            )
        if value is not None:
            wanted[option] = value
    return replace(how, options=wanted)


def uses_torch(program: Program) -> bool:
    """Whether the program has networks or learns."""
    statements = program.source.statements
    return any(isinstance(s, Learn) or getattr(s, "network", None) for s in statements)


def show_answers(answers: Answers, program: Program, console: Console) -> None:
    """Print the answers, and beside them what else is worth knowing."""
    text = ""
    if console.json:
        text = answers.to_json(indent=2)
    elif len(answers):
        text = answers_text(answers, brief=in_terminal(console.answers))
    console.watchdog.send_away()  # from here on there is something to read
    console.report(answers.warnings)
    if text:
        console.answer(text)
    elif not console.quiet:
        (nothing,) = nothing_asked(program.source).diagnostics
        console.note(f"{nothing.message}; {nothing.help}")
    if not console.quiet:
        for name, share in answers.statistics.get("accuracy", {}).items():
            console.note(f"the most probable {name} is right for {100 * share:.2f} % of the rows")
    if console.verbose:
        for line in details(answers):
            console.note(line)


def details(answers: Answers) -> list[str]:
    """What ``-v`` prints: the semantics, the engine and its statistics."""
    lines = [f"semantics: {answers.logic}, {answers.probability}", f"engine: {answers.engine}"]
    for name, value in answers.statistics.items():
        if isinstance(value, dict):
            parts = ", ".join(f"{key} {number:.3f}" for key, number in value.items())
            lines.append(f"{name}: {parts}")
        else:
            lines.append(f"{name.replace('_', ' ')}: {value}")
    return lines
