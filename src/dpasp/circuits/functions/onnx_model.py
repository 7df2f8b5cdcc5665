"""Probabilities as a function of weights as a model of ONNX, for onnxruntime and others.

The input ``weights`` is [cases, weights] in double precision, with any number of cases; the outputs
``probability`` and ``log_probability`` are [cases, answers]. The names of weights and answers, and
what the program says of the weights, are in the model's metadata as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.functions.arithmetic import Arithmetic
from dpasp.circuits.functions.on_numpy import DOWN, LARGE, LOG_UP, NEVER, SMALL, STEPS, UP
from dpasp.version import __version__

OPSET = 18  # ReduceMax with axes as an input, ScatterND in double
IR_VERSION = 9


def onnx_model(form: Arithmetic) -> Any:
    """The model (``onnx.ModelProto``); its graph has one block of nodes for each level."""
    from onnx import TensorProto, helper

    graph = _Graph()
    numbers, scales = _inputs(graph, form)
    for begin, end in zip(form.levels[:-1].tolist(), form.levels[1:].tolist(), strict=True):
        found = _level(graph, form.operations[begin:end], numbers, scales)
        places = np.arange(form.first + begin, form.first + end)[:, np.newaxis]
        numbers, scales = (
            graph.node("ScatterND", [buffer, graph.whole(places), values])
            for buffer, values in zip((numbers, scales), found, strict=True)
        )
    _answers(graph, form, numbers, scales)
    double = TensorProto.DOUBLE
    made = helper.make_graph(
        graph.nodes,
        "dpasp",
        [helper.make_tensor_value_info("weights", double, ["cases", len(form.names)])],
        [
            helper.make_tensor_value_info(name, double, ["cases", len(form.answers)])
            for name in ("probability", "log_probability")
        ],
        graph.initializers,
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="dpasp",
        producer_version=__version__,
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, metadata(form))
    return model


def metadata(form: Arithmetic) -> dict[str, str]:
    """What the numbers of the model are, as JSON; null for weights that the program leaves open."""
    known = [None if weight != weight else weight for weight in form.weights.tolist()]
    tables = {"weights": form.names, "answers": form.answers, "program": known}
    return {name: json.dumps(table, ensure_ascii=False) for name, table in tables.items()}


class _Graph:
    """Nodes and constants of a graph, named one after the other."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._known: dict[object, str] = {}

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        from onnx import helper

        name = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def pair(self, values: str) -> tuple[str, str]:
        """The two halves of the first axis."""
        from onnx import helper

        names = f"v{len(self.nodes)}a", f"v{len(self.nodes)}b"
        self.nodes.append(helper.make_node("Split", [values], names, axis=0, num_outputs=2))
        return names

    def constant(self, array: NDArray[Any]) -> str:
        """A constant, which is kept once."""
        from onnx import numpy_helper

        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            name = self._known[key] = f"c{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(array, name))
        return self._known[key]

    def real(self, value: float | NDArray[np.float64]) -> str:
        """A constant in double precision."""
        return self.constant(np.asarray(value, dtype=np.float64))

    def whole(self, value: object) -> str:
        """A constant of integers."""
        return self.constant(np.asarray(value, dtype=np.int64))


def _inputs(graph: _Graph, form: Arithmetic) -> tuple[str, str]:
    """The numbers and scales of all values [values, cases], those of operations still 0."""
    numbers = graph.node("Transpose", ["weights"], perm=[1, 0])
    nothing = graph.node("Mul", [numbers, graph.real(0.0)])
    scales = nothing
    for _ in range(5):
        numbers, scales = _moved(graph, numbers, scales)
    one_case = graph.node(
        "Slice", [graph.node("Shape", ["weights"]), *map(graph.whole, ([0], [1]))]
    )
    cases = {
        rows: graph.node("Concat", [graph.whole([rows]), one_case], axis=0)
        for rows in (len(form.constants), len(form.operations))
    }
    known = graph.node(
        "Expand", [graph.real(form.constants[:, np.newaxis]), cases[len(form.constants)]]
    )
    unscaled = graph.node("Expand", [graph.real(0.0), cases[len(form.constants)]])
    room = graph.node("Expand", [graph.real(0.0), cases[len(form.operations)]])
    return (
        graph.node("Concat", [known, numbers, room], axis=0),
        graph.node("Concat", [unscaled, scales, room], axis=0),
    )


def _moved(graph: _Graph, numbers: str, scales: str) -> tuple[str, str]:
    """The same values with numbers of medium size."""
    size = graph.node("Abs", [numbers])
    tiny = graph.node("Less", [size, graph.real(SMALL)])
    huge = graph.node("Greater", [size, graph.real(LARGE)])
    one, none = graph.real(1.0), graph.real(0.0)
    factor = graph.node(
        "Where",
        [tiny, graph.real(UP), graph.node("Where", [huge, graph.real(DOWN), one])],
    )
    step = graph.node("Where", [tiny, graph.real(-1.0), graph.node("Where", [huge, one, none])])
    return graph.node("Mul", [numbers, factor]), graph.node("Add", [scales, step])


def _power(graph: _Graph, scale: str) -> str:
    """2 to the 256, to the power of a scale; 0 where that is very small."""
    inside = graph.node("Clip", [scale, graph.real(-3.0), graph.real(3.0)])
    place = graph.node("Cast", [graph.node("Add", [inside, graph.real(3.0)])], to=7)  # to int64
    return graph.node("Gather", [graph.real(STEPS), place], axis=0)


def _level(
    graph: _Graph, operations: NDArray[np.int32], numbers: str, scales: str
) -> tuple[str, str]:
    """The numbers and scales of a level's operations."""
    of = graph.whole(np.stack([operations[:, 0::2].T, operations[:, 1::2].T]))
    lefts, rights = graph.pair(graph.node("Gather", [numbers, of], axis=0))  # [1, 2, values, cases]
    ups, downs = graph.pair(graph.node("Gather", [scales, of], axis=0))
    products, steps = graph.node("Mul", [lefts, rights]), graph.node("Add", [ups, downs])
    products, steps = _moved(graph, products, steps)
    none = graph.node("Equal", [products, graph.real(0.0)])
    steps = graph.node("Where", [none, graph.real(float(NEVER)), steps])
    top = graph.node("ReduceMax", [steps, graph.whole([1])], keepdims=1)
    parts = graph.node("Mul", [products, _power(graph, graph.node("Sub", [steps, top]))])
    found = graph.node("ReduceSum", [parts, graph.whole([0, 1])], keepdims=0)
    lost = graph.node("Equal", [top, graph.real(float(NEVER))])
    scale = graph.node("Where", [lost, graph.real(0.0), top])
    return found, graph.node("Squeeze", [scale, graph.whole([0, 1])])


def _answers(graph: _Graph, form: Arithmetic, numbers: str, scales: str) -> None:
    """The two outputs."""
    above, below, evidence = (
        graph.node("Gather", [numbers, graph.whole(form.ratios[:, i])], axis=0) for i in range(3)
    )
    ups, downs = (
        graph.node("Gather", [scales, graph.whole(form.ratios[:, i])], axis=0) for i in range(2)
    )
    apart = graph.node("Sub", [ups, downs])
    none, one = graph.real(0.0), graph.real(1.0)
    known = graph.node("Greater", [below, none])
    possible = graph.node("Greater", [evidence, none])
    under = graph.node("Where", [known, below, one])
    ratio = graph.node("Mul", [graph.node("Div", [above, under]), _power(graph, apart)])
    logs = graph.node("Sub", [graph.node("Log", [_at_least_0(graph, above)]), _log(graph, under)])
    logs = graph.node("Add", [logs, graph.node("Mul", [apart, graph.real(LOG_UP)])])
    with np.errstate(divide="ignore"):
        otherwise = form.otherwise[:, np.newaxis], np.log(form.otherwise)[:, np.newaxis]
    for name, values, ends, missing in zip(
        ("probability", "log_probability"),
        (ratio, logs),
        ((none, one), (graph.real(-np.inf), none)),
        otherwise,
        strict=True,
    ):
        inside = graph.node("Clip", [values, *ends])
        answer = graph.node("Where", [known, inside, graph.real(missing)])
        answer = graph.node("Where", [possible, answer, graph.real(np.nan)])
        graph.node("Transpose", [answer], name, perm=[1, 0])


def _at_least_0(graph: _Graph, values: str) -> str:
    return graph.node("Max", [values, graph.real(0.0)])


def _log(graph: _Graph, values: str) -> str:
    return graph.node("Log", [values])
