"""Circuits as functions in other systems: each runtime gives what we give, and its gradient."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dpasp
from dpasp.circuits.functions import numpy_function
from dpasp.circuits.functions.arithmetic import Arithmetic, arithmetic
from dpasp.circuits.functions.c_source import c_source
from dpasp.errors import Span
from dpasp.ground.program import GroundProgram
from dpasp.inference.asked import Placed
from dpasp.inference.circuit import OnCircuit, on_circuit
from dpasp.language.ast import Logic, Probability, Program
from dpasp.semantics import leaves
from dpasp.semantics.masses import lower_upper
from dpasp.semantics.meaning import Meaning

from .programs import draw_shape, random_program

Rows = np.ndarray[Any, np.dtype[np.float64]]
FEW = int(os.environ.get("DPASP_RANDOM_FUNCTIONS", "40"))  # programs for each logic, both kinds
NETWORKS = Path(os.environ.get("DPASP_DATA", "")) / "networks"


def random_forms(
    logic: Logic, count: int
) -> Iterator[tuple[Arithmetic, OnCircuit, Rows, Callable[[Rows], Rows]]]:
    """Forms with their evaluators, leaf weights [leaves, 4], and what picks a form's weights."""
    for seed in range(count):
        random = Random(seed)
        shape = draw_shape(random, undef=logic is not Logic.STABLE)
        ground = placed(random_program(random, shape))
        meaning = Meaning(logic, list(Probability)[seed % 2])
        try:
            evaluator = on_circuit(ground, meaning)
        except dpasp.ProgramError:  # it has no meaning under this semantics
            continue
        form = arithmetic(ground, evaluator.circuit)
        names = leaves.leaf_names(ground)
        picked = [names.index(name) for name in form.names]
        numbers = np.random.default_rng(seed)
        columns = np.concatenate(
            [numbers.dirichlet(np.ones(leaves.leaf_count(c)), 4).T for c in ground.choices]
        )
        yield form, evaluator, columns, lambda columns, picked=picked: columns[picked].T


def placed(ground: GroundProgram) -> GroundProgram:
    """The program with statements that have a place, by which choices are named."""
    lines = tuple(Placed(Span("<test>", i, 1, i, 2)) for i in range(1, len(ground.choices) + 1))
    return replace(ground, program=Program(lines))


def ours(evaluator: OnCircuit, columns: Rows, bounds: bool) -> Rows:
    """The answers [cases, answers] by our own evaluation."""
    lower, upper = lower_upper(evaluator.masses(columns), evaluator.meaning)
    return np.concatenate([lower, upper]).T if bounds else lower.T


def flat(answers: Any) -> Rows:
    """What a function of several queries returns, as one array [cases, answers]."""
    ends = answers if isinstance(answers, tuple) else (answers,)
    return np.concatenate([np.asarray(end) for end in ends], axis=-1)


@pytest.mark.parametrize("logic", list(Logic), ids=lambda logic: logic.value)
def test_random_programs(logic: Logic) -> None:
    for form, evaluator, columns, pick in random_forms(logic, FEW):
        function = numpy_function(form)
        found = flat(function.prob(pick(columns)))
        np.testing.assert_allclose(found, ours(evaluator, columns, form.bounds), atol=1e-12)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(
                np.exp(flat(function.log_prob(pick(columns)))), found, atol=1e-12
            )


def test_gradients_are_differences() -> None:
    for form, _, columns, pick in random_forms(Logic.STABLE, 12):
        function, weights, step = numpy_function(form), pick(columns), 1e-6
        slopes = function.gradient(weights)
        logs = flat(function.log_prob(weights))
        for i, name in enumerate(form.names):
            moved = [weights.copy(), weights.copy()]
            moved[0][:, i] += step
            moved[1][:, i] -= step
            up, down = (flat(function.log_prob(each)) for each in moved)
            with np.errstate(invalid="ignore"):
                difference = (up - down) / (2 * step)
            fine = np.isfinite(logs) & (logs < -1e-3) & (logs > -7)
            np.testing.assert_allclose(
                flat(slopes[name])[fine], difference[fine], rtol=1e-5, atol=1e-5
            )


# --- the other runtimes ----------------------------------------------------------------------


def compiled_c(form: Arithmetic, folder: Path) -> Callable[[Rows], tuple[Rows, Rows, Rows]]:
    """Probabilities, logarithms and gradients [weights, answers] of one case, by a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = folder / "f.c", folder / f"f{len(list(folder.iterdir()))}.so"
    source.write_text(c_source(form, "f"))
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    command = [compiler, *strict, "-O1", "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    code = ctypes.CDLL(str(library))
    code.f_prob.restype = code.f_log_prob.restype = ctypes.c_double

    def pointer(array: Rows) -> ctypes.c_void_p:
        return array.ctypes.data_as(ctypes.c_void_p)

    def call(weights: Rows) -> tuple[Rows, Rows, Rows]:
        weights = np.ascontiguousarray(weights)
        probs, logs = np.empty(len(form.answers)), np.empty(len(form.answers))
        slopes = np.empty((len(form.answers), len(weights)))
        assert code.f_probs(pointer(weights), pointer(probs)) == 0
        assert code.f_log_probs(pointer(weights), pointer(logs)) == 0
        np.testing.assert_equal(code.f_prob(pointer(weights)), probs[0])
        np.testing.assert_equal(code.f_log_prob(pointer(weights)), logs[0])
        for i in range(len(form.answers)):
            assert code.f_gradient(pointer(weights), i, pointer(slopes[i])) == 0
        return probs, logs, slopes.T

    return call


def compare_c(form: Arithmetic, weights: Rows, folder: Path) -> None:
    function, call = numpy_function(form), compiled_c(form, folder)
    every = [call(row) for row in weights]
    np.testing.assert_allclose([e[0] for e in every], flat(function.prob(weights)), atol=1e-12)
    np.testing.assert_allclose([e[1] for e in every], flat(function.log_prob(weights)), rtol=1e-12)
    slopes = function.gradient(weights)
    for i, name in enumerate(form.names):
        found = [each[2][i] for each in every]
        np.testing.assert_allclose(found, flat(slopes[name]), rtol=1e-9, atol=1e-12)


def compare_onnx(form: Arithmetic, weights: Rows) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from onnx import checker

    from dpasp.circuits.functions.onnx_model import OPSET, onnx_model

    model = onnx_model(form)
    checker.check_model(model, full_check=True)
    assert [opset.version for opset in model.opset_import] == [OPSET]
    session = runtime.InferenceSession(model.SerializeToString())
    function = numpy_function(form)
    for cases in (weights, weights[:1]):  # any number of cases
        probs, logs = session.run(None, {"weights": cases})
        np.testing.assert_allclose(probs, flat(function.prob(cases)), atol=1e-12)
        np.testing.assert_allclose(logs, flat(function.log_prob(cases)), rtol=1e-12)
    known = session.get_modelmeta().custom_metadata_map
    assert tuple(json.loads(known["weights"])) == form.names


def with_jax() -> ModuleType:
    jax: ModuleType = pytest.importorskip("jax", reason="jax is not installed")
    jax.config.update("jax_enable_x64", True)
    return jax


def compare_jax(form: Arithmetic, weights: Rows, *, mapped: bool = False) -> None:
    jax = with_jax()
    from dpasp.circuits.functions import jax_function

    function, reference = jax_function(form), numpy_function(form)
    np.testing.assert_allclose(
        flat(function.log_prob(weights)), flat(reference.log_prob(weights)), rtol=1e-12
    )
    total = jax.jit(jax.grad(lambda w: sum(end.sum() for end in _ends(function.log_prob(w)))))
    found = np.asarray(total(weights))
    slopes = reference.gradient(weights)
    for i, name in enumerate(form.names):
        np.testing.assert_allclose(
            found[:, i], flat(slopes[name]).sum(axis=-1), rtol=1e-9, atol=1e-12
        )
    if mapped:
        by_row = jax.vmap(function.prob)(weights)
        np.testing.assert_allclose(flat(by_row), flat(reference.prob(weights)), atol=1e-12)


def _ends(answers: Any) -> tuple[Any, ...]:
    return answers if isinstance(answers, tuple) else (answers,)


OTHERS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("onnx", "jax")]


@pytest.mark.parametrize("kind", ["c", *OTHERS])
def test_runtimes_on_random_programs(kind: str, tmp_path: Path) -> None:
    compared = 0
    for form, _, columns, pick in random_forms(Logic.STABLE, 20):
        weights = pick(columns)
        known = np.isfinite(flat(numpy_function(form).log_prob(weights))).all()
        if not known or not len(form.operations):
            continue
        if kind == "c":
            compare_c(form, weights, tmp_path)
        elif kind == "onnx":
            compare_onnx(form, weights)
        else:
            compare_jax(form, weights, mapped=compared == 0)
        compared += 1
        if compared == (1 if kind == "jax" else 6):  # XLA takes seconds
            break
    assert compared


def addition(digits: int) -> tuple[str, str]:
    """A program that adds two numbers, digit by digit, and a query for one sum."""
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
    query = ", ".join(f"z({j},{total // 10**j % 10})" for j in range(digits + 1))
    return "\n".join(choices) + rules, query


@pytest.mark.slow  # JAX takes seconds
def test_addition_of_15_digits_in_all_four(tmp_path: Path) -> None:
    text, query = addition(15)
    program = dpasp.loads(text)
    form = program._arithmetic((query,), (), None, dpasp.Limits())
    assert form.single
    weights = np.random.default_rng(0).dirichlet(np.ones(10), (2, 30)).reshape(2, 300)
    order = [f"d({i},{j},{k})" for i in (0, 1) for j in range(15) for k in range(10)]
    assert list(form.names) == order
    function = numpy_function(form)
    ground = program._groundings.ground(
        program._groundings.checked((f"#query {query}.",), (), None), dpasp.Limits().start()
    )
    evaluator = on_circuit(ground, Meaning(Logic.STABLE, Probability.MAXENT))
    masses = evaluator.masses(weights.T)
    np.testing.assert_allclose(function.prob(weights), (masses.qe / masses.e)[0], rtol=1e-9)
    many = replace(form, single=False)
    compare_c(many, weights, tmp_path)
    compare_onnx(many, weights)
    compare_jax(many, weights)
    small = weights**60  # far below the range of doubles
    logs = evaluator.masses(small.T, log=True)
    expected = (logs.qe - logs.e)[0]
    assert np.all(expected < -1400)
    np.testing.assert_allclose(function.log_prob(small), expected, rtol=1e-12)
    probs, found, _ = compiled_c(many, tmp_path)(small[0])
    assert (probs[0], found[0]) == (0.0, pytest.approx(expected[0]))


@pytest.mark.slow
def test_alarm_in_all_four(tmp_path: Path) -> None:
    if not (NETWORKS / "alarm.plp").exists():
        pytest.skip("DPASP_DATA has no networks")
    known = json.loads((NETWORKS / "answers.json").read_text())["alarm"]
    program = dpasp.load(NETWORKS / "alarm.plp")
    queries = [entry["query"] for entry in known["queries"]]
    answers = program.query(*queries, semantics="maxent")
    form = program._arithmetic(tuple(queries), (), "maxent", dpasp.Limits())
    function = numpy_function(form)
    values = [float(answer.value) for answer in answers]  # type: ignore[arg-type, union-attr]
    np.testing.assert_allclose(np.ravel(function.prob()), values, atol=1e-9)
    rows = np.stack([form.weights, form.weights * 0.9])
    many = replace(form, single=False)
    compare_c(many, rows, tmp_path)
    compare_onnx(many, rows)
    compare_jax(many, rows)


# --- what a user sees ------------------------------------------------------------------------


def test_weights_by_name() -> None:
    program = dpasp.loads("0.3::a. 1.0::s. 0.2::x; 0.3::y. c :- a, s. c :- x. #semantics maxent.")
    f = program.to_numpy("c")
    assert f.names == ("a", "x", "y")  # s is sure, and what is left of 1 is computed
    assert f.weights == {"a": 0.3, "x": 0.2, "y": 0.3}
    assert float(f.prob()) == pytest.approx(0.3 + 0.7 * 0.2)
    assert f.prob({"a": [0.0, 1.0]}).tolist() == pytest.approx([0.2, 1.0])
    assert f.prob({"a": [0.0, 1.0], "x": [[0.0], [0.5]]}).shape == (2, 2)
    assert f(f.weights) == f.log_prob([0.3, 0.2, 0.3])
    many = program.to_numpy("c", "a | c", "c | not c, x")
    assert many.prob().shape == (3,)
    assert np.isnan(many.prob()[2])  # impossible evidence
    with pytest.raises(dpasp.UsageError, match="there is no weight 'not a'"):
        f({"not a": 0.5})
    with pytest.raises(dpasp.UsageError, match="does not end in 3"):
        f([0.5, 0.5])


def test_bounds_under_credal() -> None:
    program = dpasp.loads("0.3::a. p :- a, not q. q :- a, not p.")
    lower, upper = program.to_numpy("p").prob({"a": 0.5})
    assert (float(lower), float(upper)) == (0.0, 0.5)


def test_factors_under_weighted() -> None:
    text = "0.3::c. {a} :- c. #factor 2 : a. p :- not q. q :- not p. #semantics weighted."
    f = dpasp.loads(text).to_numpy("a", "p")
    assert f.names == ("c", "factor 2 : a")
    assert f.prob().tolist() == pytest.approx([0.375, 0.5])
    other = dpasp.loads(text.replace("2 : a", "5 : a")).query("a")[0].value
    assert f.prob({"factor 2 : a": 5 / 6})[0] == pytest.approx(other)


def test_learned_values_are_what_is_missing() -> None:
    pytest.importorskip("torch")
    program = dpasp.loads("?::a. #semantics maxent.")
    program.learn([["a"], ["a"], ["a"], ["not a"]])
    assert program.to_numpy("a").weights["a"] == pytest.approx(0.75)


def test_outputs_of_networks_have_to_be_given() -> None:
    torch = pytest.importorskip("torch")
    text = "?::d(X, {a, b}) as @net :- i(X). i(0) ~ test(@xs). #semantics maxent."
    program = dpasp.loads(text, networks={"net": torch.nn.Softmax(1)}, data={"xs": [[0.0, 1.0]]})
    f = program.to_numpy("d(0,a)")
    with pytest.raises(dpasp.UsageError, match="is missing"):
        f()
    assert float(f.prob({"d(0,a)": 0.25, "d(0,b)": 0.75})) == pytest.approx(0.25)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(dpasp.UsageError, match="an interval has no place"):
        dpasp.loads("[0.2, 0.4]::a.").to_numpy("a")
    with pytest.raises(dpasp.UsageError, match="most probable values"):
        dpasp.loads("0.2::a. #map a?.").to_numpy()
    with pytest.raises(dpasp.UsageError, match="no query"):
        dpasp.loads("0.2::a.").to_numpy()
    with pytest.raises(dpasp.UsageError, match="is written as"):
        dpasp.loads("0.2::a.").export("x.py", "a", to="c")


@pytest.mark.slow  # JAX takes seconds
def test_jax_in_single_precision_is_refused() -> None:
    jax = with_jax()
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(dpasp.UsageError, match="jax_enable_x64"):
            dpasp.loads("0.2::a.").to_jax("a")
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.slow  # JAX takes seconds
def test_limits_hold_beside_jax() -> None:
    """JAX warns of every copy of a process, as one that grounds under a limit is."""
    with_jax()
    answers = dpasp.loads("n(1..3). 0.3::a(X) :- n(X).").query("a(1)", limits=dpasp.Limits(60))
    assert answers[0].lower == pytest.approx(0.3)


@pytest.mark.slow  # JAX takes seconds
def test_constant_answers(tmp_path: Path) -> None:
    f = dpasp.loads("a. #semantics maxent.").to_numpy("a", "not a")
    assert f.names == ()
    assert f.prob().tolist() == [1.0, 0.0]
    form = dpasp.loads("a. #semantics maxent.")._arithmetic(("a",), (), None, dpasp.Limits())
    assert compiled_c(form, tmp_path)(np.empty(0))[0].tolist() == [1.0]


@pytest.mark.parametrize("target", ["numpy", pytest.param("jax", marks=pytest.mark.slow)])
def test_files_stand_alone(target: str, tmp_path: Path) -> None:
    if target == "jax":
        with_jax()
    program, path = tmp_path / "p.plp", tmp_path / "made.py"
    program.write_text('0.3::a("x\\\\y"). 0.5::b. c :- a(X). c :- b. #semantics maxent.\n')
    from dpasp.cli import main

    assert main(["export", str(program), "--query", "c", "--to", target, "-o", str(path)]) == 0
    text = path.read_text()
    assert "dpasp." not in text.split("TABLES")[0].replace("dpasp.circuits", "")
    spec = importlib.util.spec_from_file_location("made", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["made"] = module
    spec.loader.exec_module(module)
    assert float(module.FUNCTION.prob()) == pytest.approx(0.65)
    with pytest.raises(ValueError, match="there is no weight"):
        module.FUNCTION({"z": 0.5})
