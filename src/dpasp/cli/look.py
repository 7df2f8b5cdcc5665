"""``dpasp check``, ``ground`` and ``compile``: what is in a program, behind it and made of it."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import (
    CONSTANTS,
    FILES,
    LIMITS,
    OUTPUT,
    PYTHON,
    QUESTIONS,
    THREADS,
    Flag,
    OptionGroup,
    drawing,
)
from dpasp.cli.reading import (
    asked,
    check_picture,
    nothing_asked,
    planned,
    read_limits,
    read_program,
    wanted_semantics,
    with_constants,
)
from dpasp.display.diagnostics import diagnostics_json
from dpasp.errors import UsageError
from dpasp.writing import write_text

if TYPE_CHECKING:
    from dpasp.circuits import Circuit
    from dpasp.ground.program import GroundProgram

CIRCUIT_FORMATS = (".json", ".nnf", ".dot", ".svg")
CIRCUIT_FILE = OptionGroup(
    "",
    (
        Flag(("-o", "--output"), "write the circuit: .json, .nnf, .dot or .svg", "OUT"),
        THREADS,
    ),
)


@command(FILES, CONSTANTS, LIMITS, OUTPUT)
def check(options: Namespace, console: Console) -> int:
    """Report every mistake in a program, with its place, the reason and what to write instead.

    Names that nothing derives are reported as well. Nothing is grounded, and nothing in the
    program is run.

    examples:
        dpasp check alarm.plp
        dpasp check --json alarm.plp
    """
    from dpasp.ground.checking import check_without_grounding

    program = read_program(options, console)
    doubts = check_without_grounding(program, constants=dict(options.constants))
    warnings = (*program.warnings, *doubts)
    if console.json:
        console.answer(diagnostics_json(warnings))
        return 0
    console.report(warnings)
    if not console.quiet:
        found = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
        console.answer(f"{', '.join(options.files)}: {found if warnings else 'no mistakes found'}")
    return 0


@command(FILES, CONSTANTS, LIMITS, PYTHON, drawing("what depends on what"), OUTPUT)
def show_ground(options: Namespace, console: Console) -> int:
    """Show the ground program: its choices with their probabilities, and its rules.

    examples:
        dpasp ground alarm.plp
        dpasp ground graph.plp -c n=3
        dpasp ground alarm.plp --plot alarm.svg
    """
    from dpasp.display.ground import ground_dict
    from dpasp.ground.text import ground_text

    check_picture(options.plot)
    program = with_constants(read_program(options, console), options)
    ground = program.ground(limits=read_limits(options))
    console.report(ground.warnings)
    if console.json:
        console.answer(json.dumps(ground_dict(ground), indent=2, ensure_ascii=False))
    else:
        console.answer(ground_text(ground))
    if options.plot is not None:
        program.plot(options.plot)
    return 0


@command(FILES, CIRCUIT_FILE, drawing("the circuit"), QUESTIONS, LIMITS, PYTHON, OUTPUT)
def show_circuit(options: Namespace, console: Console) -> int:
    """Compile the program into the circuit that answers its queries, and print its statistics.

    -o writes the circuit as .json, .nnf (one query, for other tools), .dot or .svg.

    examples:
        dpasp compile alarm.plp
        dpasp compile alarm.plp -o alarm.svg
        dpasp compile graph.plp -c n=20 --time-limit 60 -v
    """
    if options.output is not None and Path(options.output).suffix not in CIRCUIT_FORMATS:
        raise UsageError(
            f"-o {options.output}: a circuit is written as {', '.join(CIRCUIT_FORMATS)}",
            help="let the file's name end in one of them",
        )
    check_picture(options.plot)
    program = asked(read_program(options, console), options, console)
    limits = read_limits(options)
    ground = program.ground(limits=limits)
    console.report(ground.warnings)
    if not ground.questions:
        raise nothing_asked(program.source)
    semantics = wanted_semantics(options)
    plan = partial(program.plan, semantics=semantics, limits=limits)
    with planned("compiling", plan, console) as progress:
        circuit = program.circuit(semantics=semantics, limits=limits, progress=progress)
    if options.output is not None:
        write_circuit(circuit, ground, Path(options.output))
    if options.plot is not None:
        circuit.plot(options.plot)
    show_statistics(circuit, console)
    return 0


def write_circuit(circuit: Circuit, ground: GroundProgram, path: Path) -> None:
    """Write a circuit in the format that the file's name says, .nnf with its names beside it."""
    from dpasp.circuits.export import nnf_map
    from dpasp.semantics.leaves import leaf_names

    names, questions = leaf_names(ground), [question.text for question in ground.questions]
    files = {path: circuit_text(circuit, path.suffix, names, questions)}
    if path.suffix == ".nnf":
        (question,) = ground.questions
        evidence = ", ".join(map(str, question.evidence))
        names_and_weights = nnf_map(names, known_weights(ground), question.text, evidence)
        files[path.with_name(f"{path.name}.map")] = names_and_weights
    for file, text in files.items():
        write_text(file, text)


def known_weights(ground: GroundProgram) -> list[float]:
    """The leaf weights, NaN for those that a network or an interval leaves open."""
    from dpasp.ground.program import IntervalWeights
    from dpasp.semantics.leaves import choice_weights

    return [
        math.nan if isinstance(choice.weight, IntervalWeights) else weight
        for choice in ground.choices
        for weight in choice_weights(ground, choice).tolist()
    ]


def circuit_text(circuit: Circuit, suffix: str, names: list[str], questions: list[str]) -> str:
    """The circuit as text of a format."""
    from dpasp.circuits.export import circuit_json, dot, nnf

    if suffix == ".json":
        return circuit_json(circuit, names)
    if suffix == ".dot":
        return dot(circuit, names)
    if suffix == ".svg":
        return circuit.plot().svg
    if len(questions) > 1:
        raise UsageError(
            f".nnf holds one question, and the program asks {len(questions)}",
            help="keep one #query",
        )
    return nnf(circuit)


def show_statistics(circuit: Circuit, console: Console) -> None:
    """Print the statistics of a circuit."""
    from dpasp.display.circuit import statistics_text

    statistics = circuit.statistics
    if console.json:
        console.answer(json.dumps(asdict(statistics), indent=2))
    else:
        console.answer(statistics_text(statistics, parts=console.verbose))
