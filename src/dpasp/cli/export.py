"""``dpasp export``: the probabilities of a program as a function in another system."""

from __future__ import annotations

from argparse import Namespace

from dpasp.circuits.functions import TARGETS
from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import FILES, LIMITS, OUTPUT, PYTHON, QUESTIONS, Flag, OptionGroup
from dpasp.cli.reading import asked, nothing_asked, read_limits, read_program, wanted_semantics

WHERE = OptionGroup(
    "",
    (
        Flag(
            ("--to",),
            "the system that the function is for",
            choices=tuple(TARGETS),
            required=True,
        ),
        Flag(
            ("-o", "--output"),
            f"the file to write: {', '.join(f'{t.ending} for {n}' for n, t in TARGETS.items())}",
            "OUT",
            required=True,
        ),
    ),
)
# A function has the program's queries, and those that are added.
QUERIES = OptionGroup(
    QUESTIONS.title, tuple(f for f in QUESTIONS.options if "--marginals" not in f.names)
)


@command(FILES, WHERE, QUERIES, LIMITS, PYTHON, OUTPUT)
def export(options: Namespace, console: Console) -> int:
    """Write the probabilities of queries as a function of the numbers in the program.

    The function takes a weight for every probability, by name, and gives the probability of each
    query, its logarithm and its gradient (under credal, of the lower and the upper bound), in
    double precision. It does not need dPASP: a .py file needs JAX or NumPy, a .onnx model a runtime
    such as onnxruntime, and a .c file the C library. Writing it needs dpasp[jax] or dpasp[onnx].

    examples:
        dpasp export alarm.plp --query "burglary | alarm" --to c -o alarm.c
        dpasp export alarm.plp --to jax -o alarm.py
        dpasp export alarm.plp --semantics maxent --to onnx -o alarm.onnx
    """
    import json

    source = read_program(options, console)
    program = asked(source, options, console)
    limits = read_limits(options)
    if not program.ground(limits=limits).questions:
        raise nothing_asked(program.source)
    program.export(
        options.output, to=options.to, semantics=wanted_semantics(options), limits=limits
    )
    console.report(program.warnings)
    if console.json:
        console.answer(json.dumps({"file": options.output, "to": options.to}))
    elif not console.quiet:
        console.answer(f"{options.output}: a function for {options.to}")
    return 0
