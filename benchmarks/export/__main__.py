"""Sizes and speeds of exported functions, beside our own evaluation.

    python -m benchmarks.export                 prints the tables
    python -m benchmarks.export --write         and writes results.md

The programs are an addition of 15 digits and networks of ``DPASP_DATA`` (asia, which comes along,
without it). Times are the best of some rounds in one process with one thread where the
runtime lets us say so; a case is one assignment of all weights.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.networks.network import network_folder

import dpasp
from dpasp.circuits.functions import TARGETS, jax_function, numpy_function, write_function
from dpasp.circuits.functions.arithmetic import Arithmetic
from dpasp.inference.circuit import on_circuit

CASES = 64
ROUNDS = 5
NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "win95pts")


def addition(digits: int = 15) -> tuple[str, str]:
    """A program that adds two numbers, and a query for one sum."""
    choices = [
        "; ".join(f"0.1::d({i},{j},{k})" for k in range(10)) + "."
        for i in (0, 1)
        for j in range(digits)
    ]
    rules = f"""
        carry(0,0).
        carry(J+1,(X+Y+C)/10) :- d(0,J,X), d(1,J,Y), carry(J,C), J < {digits}.
        z(J,(X+Y+C)\\10) :- d(0,J,X), d(1,J,Y), carry(J,C).
        z({digits},C) :- carry({digits},C).
        #semantics maxent."""
    total = 123456789012345 + 987654321098765
    return "\n".join(choices) + rules, ", ".join(
        f"z({j},{total // 10**j % 10})" for j in range(digits + 1)
    )


def programs() -> list[tuple[str, dpasp.Program, str]]:
    """The programs by name, each with a query."""
    import json

    text, query = addition()
    found = [("addition of 15 digits", dpasp.loads(text), query)]
    folder = network_folder()
    known = json.loads((folder / "answers.json").read_text())
    for name in NETWORKS:
        if name in known:
            asked = known[name]["queries"][-1]["query"]
            found.append((name, dpasp.load(folder / f"{name}.plp", semantics="maxent"), asked))
    return found


def best(work: Callable[[], Any]) -> float:
    """Milliseconds of the quickest of some rounds, after one that is not counted."""
    work()
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def measured(program: dpasp.Program, query: str, folder: Path) -> dict[str, Any]:
    """All numbers of one program."""
    import jax
    import onnxruntime

    form: Arithmetic = program._arithmetic((query,), (), "maxent", dpasp.Limits())
    sizes = {}
    for target, chosen in TARGETS.items():
        path = folder / f"f_{target}{chosen.ending}"
        write_function(form, target, path)
        sizes[target] = path.stat().st_size
    rows = np.repeat(form.weights[np.newaxis], CASES, axis=0)
    library = folder / f"f{len(form.operations)}.so"  # a name is loaded once
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", library, folder / "f_c.c", "-lm"]
    subprocess.run(command, check=True)
    code, out = ctypes.CDLL(str(library)), np.empty(len(form.answers))
    pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in rows]
    result, slopes = (x.ctypes.data_as(ctypes.c_void_p) for x in (out, np.empty(rows.shape[1])))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "f_onnx.onnx"), options)
    in_numpy, in_jax = numpy_function(form), jax_function(form)
    quick = jax.jit(in_jax.log_prob)
    started = time.perf_counter()
    jax.block_until_ready(quick(rows))
    compiling = time.perf_counter() - started
    gradient = jax.jit(jax.grad(lambda w: in_jax.log_prob(w).sum()))
    checked = program._groundings.checked((f"#query {query}.",), (), "maxent")
    ground = program._groundings.ground(checked, dpasp.Limits().start())
    circuit = on_circuit(ground, checked.meaning)
    from dpasp.semantics import leaves

    columns = np.repeat(leaves.weights(ground)[:, np.newaxis], CASES, axis=1)
    seeds = np.ones((1, 7, CASES)) * (np.arange(7) >= 5)[np.newaxis, :, np.newaxis]
    return {
        "operations": len(form.operations),
        "levels": len(form.levels) - 1,
        "weights": len(form.names),
        "sizes": sizes,
        "xla": compiling,
        "value": {
            "ours": best(lambda: circuit.circuit.masses(columns, fields=("qe", "e"))),
            "c": best(lambda: [code.f_c_log_probs(p, result) for p in pointers]),
            "jax": best(lambda: jax.block_until_ready(quick(rows))),
            "numpy": best(lambda: in_numpy.log_prob(rows)),
            "onnx": best(lambda: session.run(None, {"weights": rows})),
        },
        "gradient": {
            "ours": best(lambda: circuit.circuit.gradient(columns, seeds)),
            "c": best(lambda: [code.f_c_gradient(p, 0, slopes) for p in pointers]),
            "jax": best(lambda: jax.block_until_ready(gradient(rows))),
            "numpy": best(lambda: in_numpy.gradient(rows)),
        },
    }


def page(found: dict[str, dict[str, Any]]) -> str:
    """The tables as Markdown."""
    lines = [
        "# Queries as functions in other systems",
        "",
        "Written by `python -m benchmarks.export --write` on a machine that others used as well.",
        f"Times are milliseconds for {CASES} cases; ours is the native evaluation of the circuit.",
        "",
        "| program | weights | operations | levels | .py (numpy) | .py (jax) | .onnx | .c |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, each in found.items():
        sizes = [f"{each['sizes'][t] / 1000:.0f} kB" for t in ("numpy", "jax", "onnx", "c")]
        counts = [str(each[key]) for key in ("weights", "operations", "levels")]
        lines.append(f"| {' | '.join([name, *counts, *sizes])} |")
    for kind, about in (("value", "log-probability"), ("gradient", "and its gradient")):
        names = list(next(iter(found.values()))[kind])
        more = ["XLA compiles, s"] if kind == "value" else []
        lines += ["", f"| {about}, ms | {' | '.join([*names, *more])} |"]
        lines.append(f"|---|{'---:|' * (len(names) + len(more))}")
        for name, each in found.items():
            numbers = [f"{each[kind][key]:.2f}" for key in names]
            numbers += [f"{each['xla']:.1f}"] if more else []
            lines.append(f"| {' | '.join([name, *numbers])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write results.md")
    write = parser.parse_args().write
    import jax

    jax.config.update("jax_enable_x64", True)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, program, query in programs():
            found[name] = measured(program, query, Path(folder))
    text = page(found)
    print(text)
    if write:
        Path(__file__).with_name("results.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
