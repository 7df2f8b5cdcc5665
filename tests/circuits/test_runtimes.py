"""Functions of random programs and networks in C, ONNX and JAX: each runtime gives what we give.

``DPASP_RANDOM_RUNTIMES=2000`` compares that many programs in each runtime. Several programs are
joined into one function, so that a compiler starts once for all of them.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dpasp
from dpasp.circuits.functions import numpy_function
from dpasp.circuits.functions.arithmetic import Arithmetic, arithmetic
from dpasp.circuits.functions.files import c_source
from dpasp.errors import Span
from dpasp.ground.program import GroundProgram
from dpasp.inference.asked import Placed
from dpasp.inference.circuit import log_lower_upper, on_circuit
from dpasp.language.ast import Logic, Probability, Program
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.oracle.markov import random_network

from .programs import draw_shape, random_program

Array = np.ndarray[Any, np.dtype[np.float64]]
MANY = int(os.environ.get("DPASP_RANDOM_RUNTIMES", "300"))
TOGETHER = 25  # programs in a function
CASES = 4
CLOSE = 1e-9
NETWORKS = Path(os.environ.get("DPASP_DATA", "")) / "networks"


@dataclass(frozen=True)
class Drawn:
    """A program as a function, with weights for it and what we answer to them."""

    form: Arithmetic
    weights: Array  # [cases, weights]
    logs: Array  # [cases, answers], NaN where the evidence is impossible


def drawn(count: int) -> Iterator[Drawn]:
    """Programs under every semantics that gives a circuit, and networks, in turn."""
    kinds: list[Callable[[int], Drawn | None]] = [
        lambda seed, logic=logic, probability=probability: _rules(seed, logic, probability)  # type: ignore[misc]
        for logic, probability in product(Logic, (Probability.CREDAL, Probability.MAXENT))
    ]
    kinds += [_bayesian, _bayesian, _weighted, _weighted]
    seeds = iter(range(10 * count + 100))
    found = (kinds[seed % len(kinds)](seed) for seed in seeds)
    return islice((one for one in found if one is not None), count)


def _rules(seed: int, logic: Logic, probability: Probability) -> Drawn | None:
    """Random rules with loops, choices, aggregates and disjunctions."""
    random = Random(seed)
    ground = random_program(random, draw_shape(random, undef=logic is not Logic.STABLE))
    lines = tuple(Placed(Span("<test>", i, 1, i, 2)) for i in range(1, len(ground.choices) + 1))
    try:
        return _drawn(replace(ground, program=Program(lines)), Meaning(logic, probability), seed)
    except dpasp.ProgramError:  # it has no meaning under this semantics
        return None


def _bayesian(seed: int) -> Drawn:
    """A network of 4 to 9 variables with 2 or 3 values and up to 3 parents each."""
    random = Random(seed)
    values = [random.choice((2, 3)) for _ in range(random.randint(4, 9))]
    lines = []
    for i, size in enumerate(values):
        parents = random.sample(range(i), min(i, random.randint(0, 3)))
        for row in product(*(range(values[parent]) for parent in parents)):
            numbers = np.random.default_rng(random.randrange(10**9)).dirichlet(np.ones(size))
            heads = "; ".join(f"{p:.6f}::x({i},{v})" for v, p in enumerate(numbers[:-1]))
            heads += f"; {1 - sum(round(p, 6) for p in numbers[:-1]):.6f}::x({i},{size - 1})"
            body = ", ".join(f"x({p},{v})" for p, v in zip(parents, row, strict=True))
            lines.append(f"{heads} :- {body}." if body else f"{heads}.")
    atoms = [f"x({i},{random.randrange(size)})" for i, size in enumerate(values)]
    random.shuffle(atoms)
    queries = f"#query {atoms[0]}. #query {atoms[1]} | {atoms[2]}, not {atoms[3]}."
    program = dpasp.loads("\n".join([*lines, queries, "#semantics maxent."]))
    return _drawn(program.ground(), Meaning(Logic.STABLE, Probability.MAXENT), seed)


def _weighted(seed: int) -> Drawn | None:
    """A Markov network among rules, with the weights that it has."""
    program = dpasp.loads(random_network(seed))
    try:
        tens = [float(answer.log10) for answer in program.query()]  # type: ignore[arg-type, union-attr]
        form = program._arithmetic((), (), None, dpasp.Limits())
    except dpasp.InferenceError:  # impossible evidence
        return None
    logs = np.tile(np.log(10) * np.array(tens), (CASES, 1))
    return Drawn(form, np.tile(form.weights, (CASES, 1)), logs)


def _drawn(ground: GroundProgram, meaning: Meaning, seed: int) -> Drawn:
    """A ground program with plain weights, some that are 0, and two that are tiny."""
    evaluator = on_circuit(ground, meaning)
    form = arithmetic(ground, evaluator.circuit)
    names, numbers = leaves.leaf_names(ground), np.random.default_rng(seed)
    parts = []
    for choice in ground.choices:
        size = leaves.leaf_count(choice)
        some = numbers.dirichlet(np.ones(size), CASES).T
        some[0, 1] *= numbers.random() < 0.3
        some[0, 2] *= 1e-12
        some[0, 3] *= 1e-80 if meaning.logic is Logic.STABLE else 1e-12
        parts.append(some / some.sum(axis=0))
    columns = np.concatenate(parts)
    masses = evaluator.masses(columns, log=True)
    with np.errstate(invalid="ignore"):
        lower, upper = log_lower_upper(masses, meaning)
        possible = masses.e if meaning.maxent else np.logaddexp(masses.b, masses.d)
    ends = [np.where(np.isneginf(possible), np.nan, end) for end in (lower, upper)]
    logs = np.concatenate(ends[: 2 if form.bounds else 1]).T
    return Drawn(form, columns[[names.index(name) for name in form.names]].T, logs)


def joined(every: Sequence[Drawn]) -> Drawn:
    """Several programs as one function; all of them, or none, have lower and upper answers."""
    forms = [each.form for each in every]
    constants, weights = (
        np.cumsum([0, *(len(part) for part in parts)])
        for parts in ([form.constants for form in forms], [form.names for form in forms])
    )
    first = int(constants[-1] + weights[-1])
    level = np.concatenate([np.repeat(range(len(f.levels) - 1), np.diff(f.levels)) for f in forms])
    order = np.argsort(level, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = first + np.arange(len(order))
    operations, ratios, begin = [], [], 0
    for i, form in enumerate(forms):
        here = np.concatenate(
            [
                constants[i] + np.arange(len(form.constants)),
                constants[-1] + weights[i] + np.arange(len(form.names)),
                place[begin : begin + len(form.operations)],
            ]
        ).astype(np.int32)
        operations.append(here[form.operations])
        ratios.append(here[form.ratios])
        begin += len(form.operations)
    form = Arithmetic(
        names=tuple(f"{i} {name}" for i, form in enumerate(forms) for name in form.names),
        weights=np.concatenate([form.weights for form in forms]),
        largest=np.concatenate([form.largest for form in forms]),
        queries=tuple(f"{i} {query}" for i, form in enumerate(forms) for query in form.queries),
        bounds=forms[0].bounds,
        single=False,
        constants=np.concatenate([form.constants for form in forms]),
        operations=np.concatenate(operations)[order],
        levels=np.searchsorted(level[order], np.arange(level.max(initial=-1) + 2)).astype(np.int32),
        ratios=_ends(ratios, forms[0].bounds),
        otherwise=_ends([form.otherwise for form in forms], forms[0].bounds),
    )
    logs = _ends([each.logs.T for each in every], form.bounds).T
    return Drawn(form, np.concatenate([each.weights for each in every], axis=1), logs)


def _ends(parts: list[Any], bounds: bool) -> Any:
    """The answers of all programs: under credal, all lower ones before all upper ones."""
    halves = zip(*(np.split(part, 2 if bounds else 1) for part in parts), strict=True)
    return np.concatenate([one for half in halves for one in half])


# --- the runtimes ----------------------------------------------------------------------------


def flat(answers: Any) -> Array:
    """What a function of several queries returns, as one array [cases, answers]."""
    ends = answers if isinstance(answers, tuple) else (answers,)
    return np.concatenate([np.asarray(end) for end in ends], axis=-1)


def right(one: Drawn, probs: Any, logs: Any) -> None:
    """Compare the answers [cases, answers] of a runtime with ours."""
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(probs, np.exp(one.logs), rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(logs, one.logs, rtol=CLOSE, atol=CLOSE)


def right_slopes(one: Drawn, slopes: Any) -> None:
    """Compare the slopes [cases, answers, weights] of a runtime with those in NumPy.

    They are those by the logarithms of weights: by a tiny weight they are huge, and cancel.
    """
    known = numpy_function(one.form).gradient(one.weights)
    wanted = np.stack([flat(known[name]) for name in one.form.names], axis=-1)
    scale = np.where(one.weights > 0, one.weights, 1.0)[:, np.newaxis]
    np.testing.assert_allclose(slopes * scale, wanted * scale, rtol=CLOSE, atol=CLOSE)


def in_numpy(one: Drawn, folder: Path) -> None:
    function = numpy_function(one.form)
    right(one, flat(function.prob(one.weights)), flat(function.log_prob(one.weights)))


def out_of_range(one: Drawn) -> Array:
    """A case whose weights are all wrong: the answers that depend on some are NaN."""
    return np.where(np.arange(len(one.form.names)) % 2, -0.5, np.inf)[np.newaxis]


def in_c(one: Drawn, folder: Path) -> None:
    call = compiled_c(one.form, folder)
    every = [call(row) for row in one.weights]
    right(one, [each[0] for each in every], [each[1] for each in every])
    right_slopes(one, [each[2] for each in every])
    if len(one.form.names):
        probs, logs, slopes = call(out_of_range(one)[0])
        assert np.isnan(probs).any()
        np.testing.assert_equal(np.isnan(logs), np.isnan(probs))
        np.testing.assert_equal(np.isnan(slopes).all(axis=1), np.isnan(probs))


def compiled_c(form: Arithmetic, folder: Path) -> Callable[[Array], tuple[Array, Array, Array]]:
    """Probabilities, logarithms and gradients [answers, weights] of one case, by a C compiler."""
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

    def pointer(array: Array) -> ctypes.c_void_p:
        return array.ctypes.data_as(ctypes.c_void_p)

    def call(weights: Array) -> tuple[Array, Array, Array]:
        weights = np.ascontiguousarray(weights)
        probs, logs = np.empty(len(form.answers)), np.empty(len(form.answers))
        slopes = np.empty((len(form.answers), len(weights)))
        assert code.f_probs(pointer(weights), pointer(probs)) == 0
        assert code.f_log_probs(pointer(weights), pointer(logs)) == 0
        np.testing.assert_equal(code.f_prob(pointer(weights)), probs[0])
        np.testing.assert_equal(code.f_log_prob(pointer(weights)), logs[0])
        for i in range(len(form.answers)):
            assert code.f_gradient(pointer(weights), i, pointer(slopes[i])) == 0
        return probs, logs, slopes

    return call


def in_onnx(one: Drawn, folder: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install '.[onnx]'")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from onnx import checker

    from dpasp.circuits.functions.files import OPSET, onnx_model

    model = onnx_model(one.form)
    checker.check_model(model, full_check=True)
    assert [opset.version for opset in model.opset_import] == [OPSET]
    session = runtime.InferenceSession(model.SerializeToString())
    right(one, *session.run(None, {"weights": one.weights}))
    probs, logs = session.run(None, {"weights": one.weights[:1]})  # any number of cases
    right(replace(one, weights=one.weights[:1], logs=one.logs[:1]), probs, logs)
    if len(one.form.names):
        probs, logs = session.run(None, {"weights": out_of_range(one)})
        assert np.isnan(probs).any()
        np.testing.assert_equal(np.isnan(logs), np.isnan(probs))
    known = session.get_modelmeta().custom_metadata_map
    assert tuple(json.loads(known["weights"])) == one.form.names


def with_jax() -> ModuleType:
    jax: ModuleType = pytest.importorskip(
        "jax", reason="jax is not installed: pip install '.[jax]'"
    )
    jax.config.update("jax_enable_x64", True)
    return jax


def in_jax(one: Drawn, folder: Path) -> None:
    jax = with_jax()
    from dpasp.circuits.functions import jax_function

    function = jax_function(one.form)
    by_row = jax.jit(jax.vmap(function.prob))(one.weights)
    right(one, flat(by_row), flat(function.log_prob(one.weights)))
    few = replace(
        one, weights=one.weights[:2], logs=one.logs[:2]
    )  # slopes of many answers are slow
    slopes = function.gradient(few.weights)
    right_slopes(few, np.stack([flat(slopes[name]) for name in one.form.names], axis=-1))
    if len(one.form.names):
        probs, logs = flat(function.prob(out_of_range(one))), flat(function(out_of_range(one)))
        assert np.isnan(probs).any()
        np.testing.assert_equal(np.isnan(logs), np.isnan(probs))


RUNTIMES = {"numpy": in_numpy, "c": in_c, "onnx": in_onnx, "jax": in_jax}


@pytest.mark.parametrize(("runtime", "count"), [("numpy", 70), ("c", 28)])
def test_some_random_programs(runtime: str, count: int, tmp_path: Path) -> None:
    compare(runtime, count, tmp_path)


@pytest.mark.slow  # compilers, for many programs
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_many_random_programs(runtime: str, tmp_path: Path) -> None:
    compare(runtime, MANY, tmp_path)


def compare(runtime: str, count: int, folder: Path) -> None:
    """Compare so many programs with the answers of a runtime."""
    every = list(drawn(count))
    assert len(every) == count
    for bounds in (False, True):
        alike = [one for one in every if one.form.bounds is bounds]
        for begin in range(0, len(alike), TOGETHER):
            RUNTIMES[runtime](joined(alike[begin : begin + TOGETHER]), folder)


def test_our_own_slopes() -> None:
    """The gradient in NumPy is that of the circuit by the native code."""
    compared = 0
    for seed in range(40):
        random = Random(seed)
        ground = random_program(random, draw_shape(random))
        meaning = Meaning(Logic.STABLE, list(Probability)[seed % 2])
        circuit = on_circuit(ground, meaning).circuit
        lines = tuple(Placed(Span("<test>", i, 1, i, 2)) for i in range(len(ground.choices)))
        ground = replace(ground, program=Program(lines))
        form = arithmetic(ground, circuit)
        weights = leaves.weights(ground)
        found = numpy_function(form).gradient()
        names = leaves.leaf_names(ground)
        rest = {  # by the name of a weight, the leaf that it leaves less for
            names[leaf]: place.stop - 1
            for index, choice in enumerate(ground.choices)
            if choice.nothing
            for place in [leaves.layout(ground.choices).of(index)]
            for leaf in range(place.start, place.stop - 1)
        }
        pairs = [("qe", ("e",))] if meaning.maxent else [("a", ("a", "d")), ("b", ("b", "c"))]
        for end, (above, below) in enumerate(pairs):
            for query in range(circuit.questions):
                slopes = ratio_slopes(circuit, weights, query, above, below)
                if slopes is None:
                    continue
                for name in form.names:
                    leaf = names.index(name)
                    wanted = slopes[leaf] - (slopes[rest[name]] if name in rest else 0.0)
                    ends = found[name] if form.bounds else (found[name],)
                    assert ends[end][query] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
                    compared += 1
    assert compared > 100


def ratio_slopes(
    circuit: Any, weights: Array, query: int, above: str, below: tuple[str, ...]
) -> Array | None:
    """The slopes of log(above / below) by the leaf weights; None where a mass is 0."""
    from dpasp.circuits import FIELDS

    total = np.zeros(len(weights))
    for names, sign in (((above,), 1.0), (below, -1.0)):
        seeds = np.zeros((circuit.questions, len(FIELDS)))
        seeds[query, [FIELDS.index(name) for name in names]] = 1.0
        masses, slopes = circuit.gradient(weights, seeds)
        mass = sum(masses[query, FIELDS.index(name)] for name in names)
        if not mass > 0:
            return None
        total += sign * slopes / mass
    return total


def test_slopes_are_differences() -> None:
    """Under every semantics, where the logarithm is neither too steep nor too flat."""
    step, compared = 1e-6, 0
    for one in drawn(28):
        function, weights = numpy_function(replace(one.form, single=False)), one.weights[:1]
        slopes = function.gradient(weights)
        logs = flat(function.log_prob(weights))
        fine = np.isfinite(logs) & (logs < -1e-3) & (logs > -7)
        for i, name in enumerate(one.form.names):
            if not 0.01 < weights[0, i] < 100:
                continue
            moved = [weights.copy(), weights.copy()]
            moved[0][:, i] += step
            moved[1][:, i] -= step
            up, down = (flat(function.log_prob(each)) for each in moved)
            difference = (up[fine] - down[fine]) / (2 * step)
            np.testing.assert_allclose(flat(slopes[name])[fine], difference, rtol=1e-4, atol=1e-5)
            compared += int(fine.sum())
    assert compared > 100


# --- named programs --------------------------------------------------------------------------


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
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_addition_of_15_digits(runtime: str, tmp_path: Path) -> None:
    text, query = addition(15)
    program = dpasp.loads(f"{text} #query {query}.")
    ground = program.ground()
    evaluator = on_circuit(ground, Meaning(Logic.STABLE, Probability.MAXENT))
    form = arithmetic(ground, evaluator.circuit)
    order = [f"d({i},{j},{k})" for i in (0, 1) for j in range(15) for k in range(10)]
    assert list(form.names) == order
    weights = np.random.default_rng(0).dirichlet(np.ones(10), (3, 30)).reshape(3, 300)
    weights[2] **= 60  # far below the range of doubles
    masses = evaluator.masses(weights.T, log=True)
    logs = (masses.qe - masses.e).T
    assert logs[2] < -1400
    RUNTIMES[runtime](Drawn(form, weights, logs), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", ["alarm", "child", "insurance"])
def test_networks(runtime: str, name: str, tmp_path: Path) -> None:
    if not (NETWORKS / f"{name}.plp").exists():
        pytest.skip("DPASP_DATA has no networks")
    known = json.loads((NETWORKS / "answers.json").read_text())[name]
    program = dpasp.load(NETWORKS / f"{name}.plp")
    queries = tuple(entry["query"] for entry in known["queries"])
    answers = program.query(*queries, semantics="maxent")
    form = program._arithmetic(queries, (), "maxent", dpasp.Limits())
    logs = np.log([[float(answer.value) for answer in answers]])  # type: ignore[arg-type, union-attr]
    RUNTIMES[runtime](Drawn(form, form.weights[np.newaxis], logs), tmp_path)


def test_constant_answers(tmp_path: Path) -> None:
    f = dpasp.loads("a. #semantics maxent.").to_numpy("a", "not a")
    assert f.names == ()
    assert f.prob().tolist() == [1.0, 0.0]
    form = dpasp.loads("a. #semantics maxent.")._arithmetic(("a",), (), None, dpasp.Limits())
    assert compiled_c(form, tmp_path)(np.empty(0))[0].tolist() == [1.0]


@pytest.mark.slow  # JAX takes seconds
@pytest.mark.parametrize("query", ["a", "b", "a | b", "not a"])
def test_a_query_without_arithmetic_in_jax(query: str) -> None:
    jax = with_jax()
    program = dpasp.loads("0.2::a. 0.3::b. #semantics maxent.")
    f = program.to_jax(query)
    assert float(f.prob()) == pytest.approx(float(program.to_numpy(query).prob()))
    slope = float(jax.grad(f)({"a": 0.5, "b": 0.5})["a"])
    assert slope == pytest.approx({"a": 2.0, "a | b": 2.0, "b": 0.0, "not a": -2.0}[query])


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


# --- learning and continuous models ----------------------------------------------------------

LEARNABLE = """0.3?::a. 0.4?::b. 0.2?::c; 0.5?::d.
p :- a, not q. q :- b, not p. r :- p. r :- b, not c. s :- d, not s, not b."""


@pytest.mark.slow  # JAX takes seconds
@pytest.mark.parametrize("probability", list(Probability))
@pytest.mark.parametrize("logic", list(Logic))
def test_slopes_in_jax_are_those_of_the_module(logic: Logic, probability: Probability) -> None:
    jax, torch = with_jax(), pytest.importorskip("torch")
    program, query = dpasp.loads(LEARNABLE), "r | not q, not c"
    meaning = f"{logic.value}, {probability.value}"
    function = program.to_jax(query, semantics=meaning)
    assert function.names == ("a", "b", "c", "d")
    module = program.module(semantics=meaning)
    (logits,) = module.parameters()
    pairs = [torch.stack([logits[i], logits[i + 1]]).softmax(0)[:1] for i in (0, 2)]
    weights = torch.cat([*pairs, logits[4:].softmax(0)[:2]])  # in the order of the names
    ours = module.prob(query)
    for end in ("lower", "upper") if function.bounds else ("value",):
        value = getattr(ours, end) if function.bounds else ours
        (wanted,) = torch.autograd.grad(value.log().sum(), logits, retain_graph=True)
        slopes = jax.grad(lambda w, end=end: getattr(function(w), end, function(w)))(
            weights.detach().numpy()
        )
        (found,) = torch.autograd.grad(
            weights, logits, torch.from_numpy(np.array(slopes)), retain_graph=True
        )
        assert value.item() > 0.01
        np.testing.assert_allclose(found, wanted, rtol=CLOSE, atol=CLOSE)


@pytest.mark.slow  # JAX takes seconds
def test_second_derivatives_in_jax() -> None:
    jax = with_jax()
    program, at = dpasp.loads(LEARNABLE), np.array([0.3, 0.4, 0.2, 0.5])
    function = program.to_jax("r | not q", semantics="maxent")
    second = np.asarray(jax.hessian(function)(at))
    numpy = program.to_numpy("r | not q", semantics="maxent")
    step = 1e-5 * np.eye(4)
    up, down = (np.array(list(numpy.gradient(at + s * step).values())) for s in (1, -1))
    np.testing.assert_allclose(second, (up - down) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "options"),
    [("torch_mixture", {"steps": 200}), ("numpyro_mixture", {"count": 150, "samples": 150})],
)
def test_continuous_models_find_the_rates(example: str, options: dict[str, int]) -> None:
    pytest.importorskip(example.partition("_")[0], reason="pip install '.[learn,numpyro]'")
    path = Path(__file__).parents[2] / "examples" / f"{example}.py"
    module = runpy.run_path(str(path))
    found = module["main"](**options)
    for name, rate in module["TRUE"].items():
        assert found[name] == pytest.approx(rate, abs=0.12)
