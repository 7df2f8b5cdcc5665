"""``dpasp run``: learn if the program has a #learn, then answer its queries."""

from __future__ import annotations

import math
import os
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpasp.cli.commands import command
from dpasp.cli.console import Console, written
from dpasp.cli.options import (
    ENGINE,
    FILES,
    FILES_WRITTEN,
    LEARNING,
    LIMITS,
    OTHER_QUESTIONS,
    OUTPUT,
    PYTHON,
    QUESTIONS,
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
from dpasp.display.diagnostics import in_terminal
from dpasp.display.progress import watching_learning
from dpasp.errors import Diagnostic, LimitReached, UsageError
from dpasp.inference.answers import Answers
from dpasp.inference.asked import Method, method
from dpasp.language.ast import Learn
from dpasp.language.statements import engines
from dpasp.limits import Limits
from dpasp.limits.watchdog import Ending
from dpasp.program import Program
from dpasp.semantics.meaning import Meaning
from dpasp.writing import check_ending, check_written, harmless, write_text

NOT_GROUND = (
    "the program was not ground in time, so it is not known which atoms it shows: raise "
    "{option}, or make the program smaller"
)
SHOWN = 20  # learned parameters that are printed


@command(FILES, QUESTIONS, OTHER_QUESTIONS, ENGINE, LEARNING, LIMITS, PYTHON, FILES_WRITTEN, OUTPUT)
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
    check_options(options)
    source = read_program(options, console)
    program = asked(source, options, console)
    how = chosen_method(options, program)
    if options.threads is not None and uses_torch(program):
        import torch

        torch.set_num_threads(options.threads)
    by_rows = options.rows is not None and not options.marginals
    if options.device not in (None, "cpu", "auto") and not (uses_torch(program) or by_rows):
        console.note(f"warning: the program has no network: --device {options.device} has no use")
    if learns(options, program):
        learn_first(program, options, console)
        if not speaks():
            return 0
    semantics, limits = wanted_semantics(options), read_limits(options)
    if options.log_partition:
        show_partition(program, semantics, limits, console)
        return 0
    rows = options.rows is not None
    files = (options.csv, options.plot, options.report, options.rows)
    if limits.ends_process and how.anytime and not any(file is not None for file in files):
        limits = prepared_for_the_limit(limits, program, how, semantics, options, console)
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
            **({"device": options.device} if by_rows else {}),
            cluster=options.cluster,
            limits=limits,
            progress=progress,
        )
    answers = replace(answers, files=source.files)
    show_answers(answers, program, console)
    if options.csv is not None:
        answers.save(options.csv)
    if options.output is not None:
        write_rows(answers, options.output)
    if options.plot is not None:
        answers.plot(options.plot)
    if options.report is not None:
        write_report(answers, program, options, limits, console)
    return 0


def check_options(options: Namespace) -> None:
    """Refuse options that exclude each other, and files with unknown endings."""
    if options.csv is not None:
        check_ending(options.csv, "a table", TABLES)
    check_picture(options.plot)
    if options.report is not None:
        check_ending(options.report, "a report", (".html", ".htm"))
    if options.output is not None:
        if options.rows is None:
            message = "-o writes a line for each row of a table of evidence, and there is none"
            raise UsageError(message, "add --rows F.csv; --csv F.csv writes answers as a table")
        check_ending(options.output, "a table of rows", (".csv",))
    outputs = ("csv", "plot", "report", "output", "save", "learned")
    check_written((getattr(options, name) for name in outputs), (*options.files, options.rows))
    if options.marginals and options.criterion:
        raise UsageError("--criterion goes with #decide, which --marginals does not ask")
    help = "leave one of them out; what is given goes into --evidence"
    if options.marginals and options.queries:
        message = "--marginals asks for every atom that the program shows, in place of --query"
        raise UsageError(message, help)
    others = ("marginals", "queries", "criterion", "rows", "csv", "plot", "report")
    if options.log_partition and (other := next((o for o in others if getattr(options, o)), None)):
        word = "--query" if other == "queries" else f"--{other}"
        message = f"--log-partition prints one number, and cannot be combined with {word}"
        raise UsageError(message, help)


def show_partition(
    program: Program, semantics: str | None, limits: Limits, console: Console
) -> None:
    found = program.log_partition(semantics=semantics, limits=limits)
    logs = [found] if isinstance(found, float) else found.tolist()
    console.watchdog.send_away()
    if console.json:
        known = [None if math.isinf(log) else log for log in logs]
        console.answer_json({"log_partition": known[0] if isinstance(found, float) else known})
    else:
        console.answer("\n".join(f"log Z = {log:.6f}" for log in logs))


def prepared_for_the_limit(
    limits: Limits,
    program: Program,
    how: Method,
    semantics: str | None,
    options: Namespace,
    console: Console,
) -> Limits:
    """Prepare answers for the case that the process is ended at a limit before its engine answers.

    Normally an engine watches the clock and answers in time. If it does not, on a busy machine,
    each answer is printed as between 0 and 1, and the exit code is still 0. The returned limits
    name the questions as soon as the program is ground.
    """
    from dpasp.inference.exact import before_any_bound, nothing_sure, says_something

    meaning = Meaning.of(program.source, semantics)

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


def write_report(
    answers: Answers, program: Program, options: Namespace, limits: Limits, console: Console
) -> None:
    """Write the report: under a limit, first without reasons, then with those found in time."""
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


def chosen_method(options: Namespace, program: Program) -> Method:
    """The engine and its options; raises :class:`UsageError` for options that it does not have."""
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
            message = f"{word} requires --engine {' or '.join(others)}"
            help = f"add --engine {others[0]}, or leave {word} out"
            raise UsageError(f"{message}, and the engine is {how.engine}", help)
        if value is not None:
            wanted[option] = value
    return replace(how, options=wanted)


def uses_torch(program: Program) -> bool:
    statements = program.source.statements
    return any(isinstance(s, Learn) or getattr(s, "network", None) for s in statements)


def show_answers(answers: Answers, program: Program, console: Console) -> None:
    """Print the answers with their warnings and, with ``-v``, details."""
    text = ""
    if console.json:
        text = answers.to_json(indent=2)
    elif len(answers):
        text = answers_text(answers, brief=in_terminal(console.answers))
    console.watchdog.send_away()  # the answers are on their way
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
        console.note(f"semantics: {answers.logic}, {answers.probability}")
        console.note(f"engine: {answers.engine}")
        for name, value in answers.statistics.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {number:.3f}" for key, number in value.items())
            console.note(f"{name.replace('_', ' ')}: {value}")


# --- learning ------------------------------------------------------------------------------------


def learns(options: Namespace, program: Program) -> bool:
    """Whether to learn, load or save something (and so to import torch)."""
    wanted = ("save", "learned", "load", "resume", "force", "rules", "likelihood")
    return any(getattr(options, name) for name in wanted) or any(
        isinstance(statement, Learn) for statement in program.source.statements
    )


def learn_first(program: Program, options: Namespace, console: Console) -> None:
    """Learn if the program has a ``#learn`` (and no option forbids it); load and save."""
    statement = next((s for s in program.source.statements if isinstance(s, Learn)), None)
    if options.resume and (options.load or options.no_learn):
        raise UsageError("--resume continues learning: leave out --load and --no-learn")
    if options.force and not (options.load or options.resume):
        raise UsageError("--force requires --load or --resume")
    if options.resume and statement is None:
        raise UsageError("--resume continues learning, but the program has no #learn")
    if options.likelihood and (statement is None or options.load or options.no_learn):
        raise UsageError("--likelihood requires learning, and nothing is learned here")
    if options.exact and options.likelihood not in (None, "exact"):
        raise UsageError(f"--exact cannot be combined with --likelihood {options.likelihood}")
    if options.rules and (options.force or not options.load):
        raise UsageError("--rule requires --load, and cannot be combined with --force")
    if options.load:
        rules = dict(options.rules) if options.rules else None
        program.restore(options.load, force=options.force, rules=rules)
    elif statement is not None and not options.no_learn:
        _learn(program, statement, options, console)
        if speaks() and not console.quiet:
            _tell(program, console)
    if options.save and speaks():
        program.save(options.save)
        if not console.quiet:
            console.note(f"saved what was learned in {options.save}")
    if options.learned and speaks():
        write_text(options.learned, program.learned_program())
        if not console.quiet:
            console.note(f"wrote the learned program to {options.learned}")


def speaks() -> bool:
    """Whether this process prints; of those that ``torchrun`` started, only the first does."""
    return os.environ.get("RANK", "0") == "0"


def _learn(program: Program, statement: Learn, options: Namespace, console: Console) -> None:
    display = next((str(o.value) for o in statement.options if o.name == "display"), "progress")
    insisted = "exact" if options.exact else None
    written = {
        "seed": options.seed,
        "device": options.device,
        "likelihood": options.likelihood or insisted,
    }
    wanted = {name: value for name, value in written.items() if value is not None}
    kept = checkpoint(options)
    stream = None if console.quiet or not speaks() else console.messages
    console.watchdog.send_away()  # learning stops by itself, and saves
    with _warnings_as_notes(console), watching_learning(display, stream) as watcher:
        program.learn(
            semantics=wanted_semantics(options),
            checkpoint=kept,
            periodic=bool(options.save or options.resume),
            resume=options.resume,
            force=options.force,
            limits=read_limits(options),
            watcher=watcher,
            **wanted,
        )
    if speaks():
        kept.unlink(missing_ok=True)  # learning is finished


@contextmanager
def _warnings_as_notes(console: Console) -> Iterator[None]:
    """Print Python's warnings the way the command prints its own."""

    def show(message: Warning | str, *rest: object) -> None:
        if not console.quiet and speaks():
            console.note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _tell(program: Program, console: Console) -> None:
    """Print the learned probabilities, the first few of many."""
    records = program.learned()
    for record in records[:SHOWN]:
        key = ", ".join(f"{name} = {value}" for name, value in record.get("key", {}).items())
        values = ", ".join(_with_error(record, place) for place in range(len(record["values"])))
        console.note(f"learned {record['rule']}{f' with {key}' if key else ''}  {values}")
    if len(records) > SHOWN:
        console.note(f"and {len(records) - SHOWN} more; --json lists them all")


def _with_error(record: Mapping[str, Any], place: int) -> str:
    """A learned probability with its standard error and its interval, if it has them."""
    text = f"{record['values'][place]:.6f}"
    error = record["errors"][place] if "errors" in record else None
    if error is not None:
        text += f" ± {error:.6f}"
    elif reason := record.get("error_reasons", {place: None})[place]:
        text += f" (no standard error: {reason})"
    if "lower" in record:
        text += f" in [{record['lower'][place]:.6f}, {record['upper'][place]:.6f}]"
    return text


def checkpoint(options: Namespace) -> Path:
    """The file for unfinished learning: beside --save, or in the current folder."""
    if options.resume:
        return Path(options.resume)
    if options.save:
        return Path(f"{options.save}.checkpoint")
    name = "program" if options.files[0] == "-" else Path(options.files[0]).stem
    return Path(f"{name}.checkpoint")
