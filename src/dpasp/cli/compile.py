"""``dpasp compile``: the circuit behind the answers, for other tools and to look at."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path

from dpasp.circuits import Circuit
from dpasp.circuits.export import circuit_json, dot, nnf, nnf_map
from dpasp.cli.asking import asked
from dpasp.cli.console import Console
from dpasp.cli.options import (
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
from dpasp.cli.plan import planned
from dpasp.cli.reading import (
    nothing_asked,
    read_limits,
    read_program,
    wanted_semantics,
)
from dpasp.display.circuit import statistics_text
from dpasp.errors import UsageError
from dpasp.ground.program import GroundProgram, IntervalWeights
from dpasp.pictures.picture import FORMATS as PICTURES
from dpasp.semantics.leaves import choice_weights, leaf_names
from dpasp.writing import check_ending, write_text

FORMATS = (".json", ".nnf", ".dot", ".svg")


DESCRIPTION = """\
Compile the program into the circuit that answers its queries, and print what it is made of.
With -o the circuit is written: .json (our own), .nnf (one query, for other tools), .dot or .svg.

examples:
    dpasp compile alarm.plp
    dpasp compile alarm.plp -o alarm.svg
    dpasp compile graph.plp -c n=20 --time-limit 60 -v
"""
CIRCUIT_FILE = OptionGroup(
    "",
    (
        Flag(("-o", "--output"), "write the circuit: .json, .nnf, .dot or .svg", "OUT"),
        THREADS,
    ),
)
OPTIONS = (FILES, CIRCUIT_FILE, drawing("the circuit"), QUESTIONS, LIMITS, PYTHON, OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Compile a program, write the circuit, and print what it was made of."""
    if options.output is not None and Path(options.output).suffix not in FORMATS:
        raise UsageError(
            f"-o {options.output}: a circuit is written as {', '.join(FORMATS)}",
            help="let the file's name end in one of them",
        )
    if options.plot is not None:
        check_ending(options.plot, "a picture", PICTURES)
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
    return [
        math.nan if isinstance(choice.weight, IntervalWeights) else weight
        for choice in ground.choices
        for weight in choice_weights(ground, choice).tolist()
    ]


def circuit_text(circuit: Circuit, suffix: str, names: list[str], questions: list[str]) -> str:
    """The circuit as text of a format."""
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
    statistics = circuit.statistics
    if console.json:
        console.answer(json.dumps(asdict(statistics), indent=2))
    else:
        console.answer(statistics_text(statistics, parts=console.verbose))
