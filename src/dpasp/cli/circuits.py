"""``dpasp compile`` and ``export``: the circuit behind the answers, as a file or a function."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path

from dpasp.circuits import Circuit
from dpasp.circuits.functions import TARGETS
from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import (
    FILES,
    LIMITS,
    OUTPUT,
    PYTHON,
    QUESTIONS,
    THREADS,
    Flag,
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
    without_questions,
)
from dpasp.errors import UsageError
from dpasp.ground.program import GroundProgram, IntervalWeights
from dpasp.semantics.leaves import choice_weights, leaf_names
from dpasp.writing import check_ending, write_text

CIRCUIT_FORMATS = (".json", ".nnf", ".dot", ".svg")
CIRCUIT_FILE = Flag(("-o", "--output"), "write the circuit: .json, .nnf, .dot or .svg", "OUT")
TO = Flag(("--to",), "the system that the function is for", choices=tuple(TARGETS), required=True)
FUNCTION_FILE = Flag(
    ("-o", "--output"),
    f"the file to write: {', '.join(f'{t.ending} for {n}' for n, t in TARGETS.items())}",
    "OUT",
    required=True,
)


@command(FILES, CIRCUIT_FILE, THREADS, drawing("the circuit"), QUESTIONS, LIMITS, PYTHON, OUTPUT)
def show_circuit(options: Namespace, console: Console) -> int:
    """Compile the program into the circuit that answers its queries, and print its statistics.

    -o writes the circuit as .json, .nnf (one query, for other tools), .dot or .svg.

    examples:
        dpasp compile alarm.plp
        dpasp compile alarm.plp -o alarm.svg
        dpasp compile graph.plp -c n=20 --time-limit 60 -v
    """
    from dpasp.display.programs import statistics_text

    if options.output is not None:
        check_ending(options.output, "a circuit", CIRCUIT_FORMATS)
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
    if console.json:
        console.answer_json(asdict(circuit.statistics))
    else:
        console.answer(statistics_text(circuit.statistics, parts=console.verbose))
    return 0


def write_circuit(circuit: Circuit, ground: GroundProgram, path: Path) -> None:
    """Write a circuit in the format of the file's ending; a file of names comes with .nnf."""
    from dpasp.circuits.export import circuit_json, dot, nnf, nnf_map

    names, questions = leaf_names(ground), ground.questions
    if path.suffix == ".json":
        write_text(path, circuit_json(circuit, names))
    elif path.suffix == ".dot":
        write_text(path, dot(circuit, names))
    elif path.suffix == ".svg":
        write_text(path, circuit.plot().svg)
    elif len(questions) > 1:
        message = f".nnf holds one query, but the program asks {len(questions)}"
        raise UsageError(message, help="keep one #query")
    else:
        evidence = ", ".join(map(str, questions[0].evidence))
        weights = [  # NaN where a network or an interval leaves the weight open
            math.nan if isinstance(choice.weight, IntervalWeights) else weight
            for choice in ground.choices
            for weight in choice_weights(ground, choice).tolist()
        ]
        beside = nnf_map(names, weights, questions[0].text, evidence)
        write_text(path, nnf(circuit))
        write_text(path.with_name(f"{path.name}.map"), beside)


@command(FILES, TO, FUNCTION_FILE, QUESTIONS, LIMITS, PYTHON, OUTPUT)
def export(options: Namespace, console: Console) -> int:
    """Write the probabilities of queries as a function of the numbers in the program.

    The function takes a weight for every probability, by name, and gives the probability of each
    query, its logarithm and its gradient (under credal, of the lower and the upper bound), in
    double precision. It does not need dPASP: a .py file needs JAX or NumPy, a .onnx model a runtime
    such as onnxruntime, and a .c file the C library. Writing .onnx needs dpasp[onnx].

    examples:
        dpasp export alarm.plp --query "burglary | alarm" --to c -o alarm.c
        dpasp export alarm.plp --to jax -o alarm.py
        dpasp export alarm.plp --semantics maxent --to onnx -o alarm.onnx
    """
    source = read_program(options, console)
    if options.queries:  # only these are written
        source = without_questions(source)
    program = asked(source, options, console)
    limits = read_limits(options)
    program.export(
        options.output, to=options.to, semantics=wanted_semantics(options), limits=limits
    )
    console.report(program.warnings)
    if console.json:
        console.answer_json({"file": options.output, "to": options.to})
    elif not console.quiet:
        console.answer(f"{options.output}: a function for {options.to}")
    return 0
