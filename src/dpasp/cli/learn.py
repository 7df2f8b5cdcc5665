"""What ``dpasp run`` does before it answers: read what was learned, or learn."""

from __future__ import annotations

import os
import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpasp.cli.console import Console
from dpasp.cli.reading import read_limits, wanted_semantics
from dpasp.display.progress import watching_learning
from dpasp.errors import UsageError
from dpasp.language import ast
from dpasp.program import Program
from dpasp.writing import write_text

SHOWN = 20  # learned parameters that are printed


def learn_first(program: Program, options: Namespace, console: Console) -> None:
    """Learn if the program has a ``#learn`` (and no option forbids it); load and save."""
    statement = next((s for s in program.source.statements if isinstance(s, ast.Learn)), None)
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
    """Whether this process prints: of those that ``torchrun`` started, only the first."""
    return os.environ.get("RANK", "0") == "0"


def _learn(program: Program, statement: ast.Learn, options: Namespace, console: Console) -> None:
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
        kept.unlink(missing_ok=True)  # it is finished


@contextmanager
def _warnings_as_notes(console: Console) -> Iterator[None]:
    """Within it, warnings of Python are printed the way the command prints its own."""

    def show(message: Warning | str, *rest: object) -> None:
        if not console.quiet and speaks():
            console.note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _tell(program: Program, console: Console) -> None:
    """Say what the learned probabilities are, where they are few."""
    records = program.learned()
    for record in records[:SHOWN]:
        key = ", ".join(f"{name} = {value}" for name, value in record.get("key", {}).items())
        values = ", ".join(_with_error(record, place) for place in range(len(record["values"])))
        console.note(f"learned {record['rule']}{f' with {key}' if key else ''}  {values}")
    if len(records) > SHOWN:
        console.note(f"and {len(records) - SHOWN} more; --json lists them all")


def _with_error(record: Mapping[str, Any], place: int) -> str:
    """A learned probability with its standard error and its interval, as far as there are."""
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
    """Where unfinished learning is kept: beside --save, or in the current folder."""
    if options.resume:
        return Path(options.resume)
    if options.save:
        return Path(f"{options.save}.checkpoint")
    name = "program" if options.files[0] == "-" else Path(options.files[0]).stem
    return Path(f"{name}.checkpoint")
