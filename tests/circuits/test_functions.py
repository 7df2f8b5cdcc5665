"""Programs as functions of their weights: what a user sees; test_runtimes.py has the numbers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import dpasp


def test_weights_by_name() -> None:
    program = dpasp.loads("0.3::a. 1.0::s. 0.2::x; 0.3::y. c :- a, s. c :- x. #semantics maxent.")
    f = program.to_numpy("c")
    assert f.names == ("a", "x", "y")  # s is sure, and what is left of 1 is computed
    assert f.weights == {"a": 0.3, "x": 0.2, "y": 0.3}
    assert float(f.prob()) == pytest.approx(0.3 + 0.7 * 0.2)
    assert f.prob({"a": [0.0, 1.0]}).tolist() == pytest.approx([0.2, 1.0])
    assert f.prob({"a": [0.0, 1.0], "x": [[0.0], [0.5]]}).shape == (2, 2)
    assert f(f.weights) == f.log_prob([0.3, 0.2, 0.3])
    many = program.to_numpy("c", "a | c", "c | not a, y")
    assert many.prob().shape == (3,)
    assert np.isnan(many.prob({"y": 0.0})[2])  # evidence that these weights make impossible
    with pytest.raises(dpasp.UsageError, match="there is no weight 'not a'"):
        f({"not a": 0.5})
    with pytest.raises(dpasp.UsageError, match="does not end in 3"):
        f([0.5, 0.5])
    with pytest.raises(dpasp.UsageError, match="'high' is not a weight"):
        f({"a": "high"})


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf")])
def test_weights_out_of_range_are_refused(value: float) -> None:
    f = dpasp.loads("0.3::a. #factor 2 : b. {b}. #semantics weighted.").to_numpy("a", "b")
    with pytest.raises(dpasp.UsageError, match="the weight 'a' cannot be"):
        f({"a": [0.5, value]})
    if value == 1.5:
        assert f.prob({"factor 2 : b": 1.5})[1] == pytest.approx(0.6)
    else:
        with pytest.raises(dpasp.UsageError, match="the weight 'factor 2 : b' cannot be"):
            f.gradient({"factor 2 : b": value})


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
    assert f.prob({"factor 2 : a": 5.0})[0] == pytest.approx(other)


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
    for asked in ("#map a?.", "#mpe.", "#expect 3 : a.", "#decision {d}. #decide a."):
        with pytest.raises(dpasp.UsageError, match="asks for something else"):
            dpasp.loads(f"0.2::a. #query a. {asked}").to_numpy()
        assert dpasp.loads(f"0.2::a. {asked} #semantics maxent.").to_numpy("a").prob() == 0.2
    for text in ("0.2::a.", "0.2::a. #expect 3 : a.", "0.2::a. #query b(X)."):
        with pytest.raises(dpasp.UsageError, match="no query"):
            dpasp.loads(text).to_numpy()
    with pytest.raises(dpasp.ImpossibleEvidence, match="b, not a has probability 0"):
        dpasp.loads("0.2::a. b :- a.").to_numpy("a", evidence="b, not a")
    with pytest.raises(dpasp.InconsistentProgram, match="no total choice has a model"):
        dpasp.loads("0.2::a. :- not b.").to_numpy("a")
    with pytest.raises(dpasp.UsageError, match="is written as"):
        dpasp.loads("0.2::a.").export("x.py", "a", to="c")


@pytest.mark.parametrize("target", ["numpy", pytest.param("jax", marks=pytest.mark.slow)])
def test_files_stand_alone(target: str, tmp_path: Path) -> None:
    if target == "jax":
        pytest.importorskip("jax", reason="jax is not installed").config.update(
            "jax_enable_x64", True
        )
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
