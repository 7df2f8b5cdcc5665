"""Probabilities as a function of weights in C and in ONNX.

The C file only needs the C library. The ONNX model takes ``weights`` [cases, weights] in double
precision and returns ``probability`` and ``log_probability`` [cases, answers]; its metadata has the
names of weights and answers, and the weights of the program, as JSON.

Example::

    Path("alarm.c").write_text(c_source(form, "alarm"))     # then: cc -O2 -c alarm.c
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partialmethod
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.functions.arithmetic import Arithmetic
from dpasp.circuits.functions.on_numpy import NEVER, answered, moved, power
from dpasp.version import __version__

PER_LINE = 6  # operations in a line of their table

HEAD = """\
/* Probabilities of a program as functions of its weights. Written by dPASP {version}.
 *
 *   double {p}_prob(const double *weights)          the first answer's probability
 *   double {p}_log_prob(const double *weights)      and its logarithm, -inf for 0
 *   int {p}_probs(const double *weights, double *out)          all answers, {answers} of them
 *   int {p}_log_probs(const double *weights, double *out)      their logarithms
 *   int {p}_gradient(const double *weights, int answer, double *out)
 *                      the derivatives of that answer's logarithm, one for each weight
 *
 * Weights: {weights}. {p}_weight_names and {p}_answer_names say what is what, and
 * {p}_weights what the program says (NaN where a network does). Evidence of probability 0 gives
 * NaN, and so does a weight out of range: a probability above 1, or anything below 0. Functions
 * that return an int return 0, or 1 if there is no more memory (the others, NaN); they may be
 * called from several threads at once. Link with -lm.
 */
#include <math.h>
#include <stdlib.h>

enum {{
    {p}_weight_count = {weights},
    {p}_answer_count = {answers},
    CONSTANTS = {constants},
    FIRST = {first},
    OPERATIONS = {operations},
    VALUES = {values}
}};
"""

BODY = """\

/* A value is a number times 2 to the power of 256 times its scale. */
static const double UP = 0x1p256, DOWN = 0x1p-256, LARGE = 0x1p128, SMALL = 0x1p-128;

static double steps(int scale)
{
    if (scale == 0) return 1.0;
    if (scale <= -3) return 0.0;
    return ldexp(1.0, 256 * (scale > 3 ? 3 : scale));
}

static void product(double *number, int *scale)
{
    const double size = fabs(*number);
    if (size < SMALL) {
        if (size > 0.0) { *number *= UP; --*scale; }
    } else if (size > LARGE) {
        *number *= DOWN;
        ++*scale;
    }
}

static void compute(const double *weights, double *number, int *scale)
{
    int i, k;
    for (i = 0; i < CONSTANTS; i++) {
        number[i] = constant_values[i];
        scale[i] = 0;
    }
    for (i = 0; i < P_weight_count; i++) {
        double *const n = number + CONSTANTS + i;
        int *const s = scale + CONSTANTS + i;
        *n = weights[i] >= 0.0 && weights[i] <= largest[i] ? weights[i] : (double)NAN;
        *s = 0;
        for (k = 0; k < 5; k++) product(n, s);
    }
    for (i = 0; i < OPERATIONS; i++) {
        const int *const of = operations[i];
        double x = number[of[0]] * number[of[1]], y = number[of[2]] * number[of[3]];
        int s = scale[of[0]] + scale[of[1]], t = scale[of[2]] + scale[of[3]];
        product(&x, &s);
        product(&y, &t);
        if (s != t && x != 0.0 && y != 0.0) {
            if (s < t) { x *= steps(s - t); s = t; }
            else y *= steps(t - s);
        } else if (x == 0.0) {
            s = y == 0.0 ? 0 : t;
        }
        number[FIRST + i] = x + y;
        scale[FIRST + i] = s;
    }
}

static double answer_of(int answer, const double *number, const int *scale, int logarithm)
{
    const int *const ratio = ratios[answer];
    const double above = number[ratio[0]], below = number[ratio[1]];
    const int apart = scale[ratio[0]] - scale[ratio[1]];
    double found;
    if (!(number[ratio[2]] > 0.0)) return (double)NAN;
    if (below <= 0.0) return logarithm ? log(otherwise[answer]) : otherwise[answer];
    if (logarithm) {
        if (above <= 0.0) return -(double)INFINITY;
        found = log(above) - log(below) + 256.0 * 0.69314718055994530942 * apart;
        return found > 0.0 ? 0.0 : found;
    }
    found = above / below * steps(apart);
    return found < 0.0 ? 0.0 : found > 1.0 ? 1.0 : found;
}

static int answers_of(const double *weights, double *out, int count, int logarithm)
{
    double *const number = malloc(VALUES * sizeof *number);
    int *const scale = malloc(VALUES * sizeof *scale);
    const int failed = number == NULL || scale == NULL;
    int i;
    if (!failed) {
        compute(weights, number, scale);
        for (i = 0; i < count; i++) out[i] = answer_of(i, number, scale, logarithm);
    }
    free(number);
    free(scale);
    return failed;
}

int P_probs(const double *weights, double *out);
int P_log_probs(const double *weights, double *out);
double P_prob(const double *weights);
double P_log_prob(const double *weights);
int P_gradient(const double *weights, int answer, double *out);

int P_probs(const double *weights, double *out)
{
    return answers_of(weights, out, P_answer_count, 0);
}

int P_log_probs(const double *weights, double *out)
{
    return answers_of(weights, out, P_answer_count, 1);
}

double P_prob(const double *weights)
{
    double out = (double)NAN;
    return answers_of(weights, &out, 1, 0) ? (double)NAN : out;
}

double P_log_prob(const double *weights)
{
    double out = (double)NAN;
    return answers_of(weights, &out, 1, 1) ? (double)NAN : out;
}

int P_gradient(const double *weights, int answer, double *out)
{
    double *const number = malloc(VALUES * sizeof *number);
    double *const slope = calloc(VALUES, sizeof *slope);
    int *const scale = malloc(VALUES * sizeof *scale);
    const int failed = number == NULL || slope == NULL || scale == NULL;
    int i, k, unknown;
    if (!failed) {
        const int *const ratio = ratios[answer];
        compute(weights, number, scale);
        unknown = isnan(answer_of(answer, number, scale, 0));
        if (number[ratio[0]] > 0.0 && number[ratio[1]] > 0.0) {
            slope[ratio[0]] += 1.0 / number[ratio[0]];
            slope[ratio[1]] -= 1.0 / number[ratio[1]];
        }
        for (i = OPERATIONS - 1; i >= 0; i--) {
            const int *const of = operations[i];
            const double here = slope[FIRST + i];
            if (here == 0.0) continue;
            for (k = 0; k < 4; k += 2) {
                const int x = of[k], y = of[k + 1];
                const double part = here * steps(scale[x] + scale[y] - scale[FIRST + i]);
                slope[x] += part * number[y];
                slope[y] += part * number[x];
            }
        }
        for (i = 0; i < P_weight_count; i++) {
            const double found = ldexp(slope[CONSTANTS + i], -256 * scale[CONSTANTS + i]);
            out[i] = unknown ? (double)NAN : found;
        }
    }
    free(number);
    free(slope);
    free(scale);
    return failed;
}
"""


def c_source(form: Arithmetic, name: str) -> str:
    """The functions in C, whose names begin with ``name``."""
    prefix = c_name(name)
    head = HEAD.format(
        version=__version__,
        p=prefix,
        weights=len(form.names),
        answers=len(form.answers),
        constants=len(form.constants),
        first=form.first,
        operations=len(form.operations),
        values=form.first + len(form.operations),
    )
    rows = [f"{{{','.join(map(str, row))}}}" for row in form.operations.tolist()]
    lines = [",".join(rows[i : i + PER_LINE]) for i in range(0, len(rows), PER_LINE)]
    ratios = [f"{{{', '.join(map(str, row))}}}" for row in form.ratios.tolist()]
    text, number, whole = "const char *const", "static const double", "static const int"
    tables = [
        _table(f"extern {text} {prefix}_weight_names", len(form.names), None),
        _table(f"extern {text} {prefix}_answer_names", len(form.answers), None),
        _table(f"extern const double {prefix}_weights", len(form.names), None),
        _table(f"{text} {prefix}_weight_names", len(form.names), map(_quoted, form.names)),
        _table(f"{text} {prefix}_answer_names", len(form.answers), map(_quoted, form.answers)),
        _table(f"const double {prefix}_weights", len(form.names), map(_double, form.weights)),
        _table(f"{number} largest", len(form.names), map(_double, form.largest)),
        _table(f"{number} constant_values", len(form.constants), map(_double, form.constants)),
        _table(f"{number} otherwise", len(form.answers), map(_double, form.otherwise)),
        _table(f"{whole} ratios", len(form.answers), ratios, "[3]"),
        _table(f"{whole} operations", len(rows), lines, "[4]", wide=True),
    ]
    return head + "\n" + "\n".join(tables) + BODY.replace("P_", f"{prefix}_")


def c_name(name: str) -> str:
    """A valid C name, made from the name of a file.

    >>> c_name("15-digits.v2"), c_name("alarm")
    ('p15_digits_v2', 'alarm')
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "program"
    return plain if plain[0].isalpha() else f"p{plain}"


def _table(
    declared: str, size: int, items: Iterable[str] | None, more: str = "", wide: bool = False
) -> str:
    """A table of a given size; if it is 0, there is one empty place, as C requires."""
    start = f"{declared}[{max(size, 1)}]{more}"
    if items is None:
        return f"{start};"
    inside = list(items) or ["{0}" if more else "0"]
    lines = inside if wide else wrap(", ".join(inside), 96, break_long_words=False)
    if not wide and any('"' in item for item in inside):
        lines = [f"{item}," for item in inside]
    body = (",\n    " if wide else "\n    ").join(lines)
    return f"{start} = {{\n    {body}\n}};"


def _double(value: float) -> str:
    return "(double)NAN" if value != value else repr(float(value))


def _quoted(text: str) -> str:
    """A C string; bytes that are not plain letters are octal numbers."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'


# --- ONNX ---------------------------------------------------------------------------------------

OPSET = 18  # ReduceMax with axes as an input, ScatterND in double
IR_VERSION = 9


def onnx_model(form: Arithmetic) -> Any:
    """The model (``onnx.ModelProto``), with one block of nodes for each level."""
    from onnx import TensorProto, helper

    graph = _Graph()
    numbers, scales = _inputs(graph, form)
    for begin, end in zip(form.levels[:-1].tolist(), form.levels[1:].tolist(), strict=True):
        found = _combined(graph, form.operations[begin:end].T, numbers, scales)
        places = np.arange(form.first + begin, form.first + end)[:, np.newaxis]
        numbers, scales = (
            graph.node("ScatterND", buffer, places, values)
            for buffer, values in zip((numbers, scales), found, strict=True)
        )
    rows, otherwise = form.ratios.T, form.otherwise[:, np.newaxis]
    outputs = ("probability", "log_probability")
    with np.errstate(divide="ignore"):
        for log, name in enumerate(outputs):
            of_ratios = numbers[rows], scales[rows]
            found = answered(graph, *of_ratios, otherwise, bool(log), graph.clip)
            graph.node("Transpose", found, name=name, perm=[1, 0])
    double = TensorProto.DOUBLE
    made = helper.make_graph(
        graph.nodes,
        "dpasp",
        [helper.make_tensor_value_info("weights", double, ["cases", len(form.names)])],
        [helper.make_tensor_value_info(name, double, ["cases", len(rows.T)]) for name in outputs],
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
    """The meaning of the model's numbers, as JSON; null for weights without a default."""
    known = [None if weight != weight else weight for weight in form.weights.tolist()]
    tables = {"weights": form.names, "answers": form.answers, "program": known}
    return {name: json.dumps(table, ensure_ascii=False) for name, table in tables.items()}


def _inputs(graph: _Graph, form: Arithmetic) -> tuple[Any, Any]:
    """The numbers and scales of all values [values, cases]; those of operations are still 0."""
    weights = _Value(graph, "weights")
    good = (weights >= 0) & (weights <= form.largest)
    numbers = graph.node("Transpose", graph.where(good, weights, np.nan), perm=[1, 0])
    scales = graph.node("Expand", 0, graph.node("Shape", numbers))
    for _ in range(5):
        numbers, scales = moved(graph, numbers, scales)
    one, two = np.array([0]), np.array([1])
    cases = graph.node("Slice", graph.node("Shape", weights), one, two)

    def filled(values: Any, rows: int) -> _Value:
        shape = graph.node("Concat", np.array([rows]), cases, axis=0)
        return graph.node("Expand", values, shape)

    room = filled(0, len(form.operations))
    known = filled(form.constants[:, np.newaxis], len(form.constants))
    unscaled = filled(0, len(form.constants))
    return (
        graph.node("Concat", known, numbers, room, axis=0),
        graph.node("Concat", unscaled, scales, room, axis=0),
    )


def _combined(graph: _Graph, of: NDArray[np.int32], numbers: Any, scales: Any) -> tuple[Any, Any]:
    """The sums of two products and their scales."""
    left, right, first = of[0::2], of[1::2], np.array([0])
    products, steps = moved(graph, numbers[left] * numbers[right], scales[left] + scales[right])
    steps = graph.where(products == 0, NEVER, steps)
    top = graph.node("ReduceMax", steps, first, keepdims=1)
    parts = products * power(graph, steps - top)
    scale = graph.where(top == NEVER, 0, top)
    return graph.node("ReduceSum", parts, first, keepdims=0), graph.node("Squeeze", scale, first)


class _Graph:
    """Nodes and constants of a graph, with the methods of NumPy that the formulas use."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._known: dict[object, str] = {}
        self._truths: set[str] = set()  # what is a truth value, which numbers cannot be added to

    def node(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> _Value:
        """The output of a new node; inputs from outside the graph become constants."""
        from onnx import helper

        names = list(map(self._name, inputs))
        if kind in ("Add", "Sub"):
            names = [self.node("Cast", n, to=11).name if n in self._truths else n for n in names]
        name = name or f"v{len(self.nodes)}"
        if kind in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "And", "Not"):
            self._truths.add(name)
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return _Value(self, name)

    where = partialmethod(node, "Where")
    abs = partialmethod(node, "Abs")
    log = partialmethod(node, "Log")
    clip = partialmethod(node, "Clip")
    isnan = partialmethod(node, "IsNaN")

    def asarray(self, array: Any) -> _Value:
        return _Value(self, self._name(array))

    def _name(self, value: Any) -> str:
        """The name of a value or of a constant, each stored once; plain numbers are doubles."""
        from onnx import numpy_helper

        if isinstance(value, str):
            return value
        if isinstance(value, _Value):
            return value.name
        whole = isinstance(value, np.ndarray) and value.dtype.kind == "i"
        array = np.ascontiguousarray(value, dtype=np.int64 if whole else np.float64)
        array = array.reshape(np.shape(value))
        key = (whole, array.shape, array.tobytes())
        if key not in self._known:
            name = self._known[key] = f"c{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(array, name))
        return self._known[key]


class _Value:
    """An array of the graph, whose arithmetic makes nodes."""

    def __init__(self, graph: _Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def node(self, kind: str, *others: Any) -> _Value:
        return self.graph.node(kind, self, *others)

    def __getitem__(self, places: Any) -> _Value:
        places = places if isinstance(places, _Value) else np.asarray(places)
        return self.graph.node("Gather", self, places, axis=0)

    def astype(self, kind: type) -> _Value:
        """The values as whole numbers."""
        return self.graph.node("Cast", self, to=6)

    __add__ = partialmethod(node, "Add")
    __sub__ = partialmethod(node, "Sub")
    __mul__ = partialmethod(node, "Mul")
    __truediv__ = partialmethod(node, "Div")
    __lt__ = partialmethod(node, "Less")
    __le__ = partialmethod(node, "LessOrEqual")
    __gt__ = partialmethod(node, "Greater")
    __ge__ = partialmethod(node, "GreaterOrEqual")
    __eq__ = partialmethod(node, "Equal")
    __and__ = partialmethod(node, "And")
    __invert__ = partialmethod(node, "Not")
