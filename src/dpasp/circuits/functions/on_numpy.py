"""Probabilities as a function of named weights, with NumPy alone.

A value is a number times a power of 2^256, so that neither a product of many small probabilities
nor one of many large weights leaves the range of doubles. The formulas at the end take an ``xp``
with the functions of NumPy or JAX, or one that writes an ONNX graph.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

UP, DOWN = 2.0**256, 2.0**-256  # one step of the scale
LARGE, SMALL = 2.0**128, 2.0**-128  # numbers outside of these are moved by one step
STEPS = np.array([0.0, 2.0**-512, DOWN, 1.0, UP, 2.0**512, 2.0**768])  # those from -3 to 3
LOG_UP = 256.0 * float(np.log(2.0))
NEVER = -(1 << 24)  # the scale of 0, in a sum: below all others


class Bounds(NamedTuple):
    """A lower and an upper probability, or their logarithms, or slopes."""

    lower: Any
    upper: Any


def _plainly(message: str, help: str) -> Exception:
    return ValueError(f"{message}; {help}")


class Function:
    """P(query | evidence) as a function of the probabilities in a program, by their names.

    Weights are a dictionary of numbers, or of arrays with one number for each case; missing names
    have the weights of the program (``weights``). They may also be an array whose last axis has all
    weights in the order of ``names``. The result has one number for each case and, if there are
    several queries, another axis for ``queries``; under credal, there is a lower and an upper one.
    Evidence of probability 0 gives NaN. Negative weights and probabilities above 1 are errors.
    """

    xp: Any = np

    def __init__(
        self, tables: Mapping[str, Any], refuse: Callable[[str, str], Exception] = _plainly
    ) -> None:
        self.tables = tables
        self.refuse = refuse
        self.names: tuple[str, ...] = tuple(tables["names"])
        self.queries: tuple[str, ...] = tuple(tables["queries"])
        self.weights: dict[str, float] = {
            name: float(weight)
            for name, weight in zip(self.names, tables["weights"], strict=True)
            if weight == weight
        }
        self.bounds: bool = tables["bounds"]
        self.single: bool = tables["single"]
        self._place = {name: i for i, name in enumerate(self.names)}

    def __call__(self, weights: Any = None) -> Any:
        """The logarithm of the probability; -inf for 0."""
        return self.log_prob(weights)

    def log_prob(self, weights: Any = None) -> Any:
        """The logarithm of the probability, even if that is too small for a double."""
        return self._shaped(self._answers(self._columns(weights), log=True))

    def prob(self, weights: Any = None) -> Any:
        return self._shaped(self._answers(self._columns(weights), log=False))

    def gradient(self, weights: Any = None) -> dict[str, Any]:
        """The derivatives of the logarithm of the probability, by the names of the weights.

        Each weight is independent; what a choice leaves for nothing is the rest to 1.
        """
        columns = self._columns(weights)
        slopes = self._slopes(columns)  # [weights, cases, answers]
        return {name: self._shaped(slopes[i]) for i, name in enumerate(self.names)}

    def __repr__(self) -> str:
        asked = ", ".join(self.queries)
        weights = f"{len(self.names)} weight{'s' * (len(self.names) != 1)}"
        return f"<{type(self).__name__}: {asked}; {weights}>"

    # --- weights and answers ---------------------------------------------------------------------

    def _columns(self, weights: Any) -> Any:
        """The weights as an array with the names as its last axis."""
        if weights is not None and not isinstance(weights, Mapping):
            array = self._array(weights)
            if array.shape[-1:] != (len(self.names),):
                raise self.refuse(
                    f"an array of weights of shape {array.shape} does not end in {len(self.names)}",
                    "its last axis has one number for each of .names; or pass a dictionary",
                )
            return self._checked(array)
        given = dict(weights or {})
        unknown = [name for name in given if name not in self._place]
        if unknown:
            raise self.refuse(
                f"there is no weight {unknown[0]!r}",
                "the weights are .names: values of choices that the program leaves open, without "
                f"their complements; here {_some(self.names)}",
            )
        missing = [name for name in self.names if name not in given and name not in self.weights]
        if missing:
            more = f", and {len(missing) - 1} more" if missing[1:] else ""
            raise self.refuse(
                f"the weight {missing[0]!r} is missing" + more,
                "the program does not say what they are (they come from a network): pass them",
            )
        return self._checked(self._joined(given))

    def _joined(self, given: Mapping[str, Any]) -> Any:
        xp, arrays = self.xp, [self._array(value) for value in given.values()]
        shapes = [array.shape for array in arrays]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            help = "pass numbers, or arrays of them that have one shape"
            raise self.refuse(f"weights of shapes {shapes} do not fit together", help) from None
        known = [xp.broadcast_to(self._array(self.tables["weights"]), (*shape, len(self.names)))]
        known += [xp.broadcast_to(array, shape)[..., None] for array in arrays]
        chosen = np.arange(len(self.names))
        chosen[[self._place[name] for name in given]] = len(self.names) + np.arange(len(given))
        return xp.concatenate(known, axis=-1)[..., chosen]

    def _array(self, value: Any) -> Any:
        try:
            return self.xp.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            help = "pass numbers, or arrays of them that have one shape"
            raise self.refuse(f"{value!r:.40} is not a weight", help) from None

    def _checked(self, columns: Any) -> Any:
        wrong = np.argwhere(~((columns >= 0) & (columns <= self.tables["largest"])))
        if len(wrong):
            name, value = self.names[wrong[0, -1]], columns[tuple(wrong[0])]
            raise self.refuse(
                f"the weight {name!r} cannot be {value:g}",
                "probabilities lie between 0 and 1, and factors are numbers from 0",
            )
        return columns

    def _flat(self, columns: Any) -> Any:
        """Columns [cases…, weights] as [weights, cases]."""
        return columns.reshape(math.prod(columns.shape[:-1]), len(self.names)).T

    def _shaped(self, answers: Any) -> Any:
        """The answers [cases…, answers] as they are returned."""
        count = len(self.queries)
        ends = [answers[..., :count], answers[..., count:]] if self.bounds else [answers]
        if self.single:
            ends = [end[..., 0] for end in ends]
        return Bounds(*ends) if self.bounds else ends[0]

    def _answers(self, columns: Any, log: bool) -> Any:
        numbers, scales = self._compute(self._flat(columns))
        otherwise = self.tables["otherwise"][:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = answered(self.xp, numbers, scales, otherwise, log, self._within)
        return found.T.reshape(*columns.shape[:-1], len(otherwise))

    def _compute(self, weights: Any) -> tuple[Any, Any]:
        """Numbers and scales [3, answers, cases]: numerators, denominators, and evidence."""
        numbers, scales = self._walk(weights)
        rows = self.tables["ratios"].T
        return numbers[rows], scales[rows]

    def _within(self, values: Any, least: float, most: float) -> Any:
        """The values, clipped in case rounding took them out of their range."""
        return np.clip(values, least, most)

    # --- arithmetic ------------------------------------------------------------------------------

    def _walk(self, weights: Any) -> tuple[Any, Any]:
        """The numbers and scales of all values [values, cases], from weights [weights, cases]."""
        tables = self.tables
        first = len(tables["constants"]) + len(self.names)
        shape = (first + len(tables["operations"]), weights.shape[1])
        numbers, scales = np.empty(shape), np.zeros(shape, dtype=np.int32)
        numbers[: len(tables["constants"])] = tables["constants"][:, np.newaxis]
        inputs = slice(len(tables["constants"]), first)
        numbers[inputs] = weights
        for _ in range(5):
            numbers[inputs], scales[inputs] = moved(np, numbers[inputs], scales[inputs])
        for begin, end in zip(tables["levels"][:-1], tables["levels"][1:], strict=True):
            of = tables["operations"][begin:end].T
            with np.errstate(under="ignore"):
                found = _combined(numbers[of], scales[of])
            numbers[first + begin : first + end], scales[first + begin : first + end] = found
        return numbers, scales

    def _slopes(self, columns: Any) -> Any:
        """The slopes [weights, cases…, answers] of the logarithms of the answers."""
        tables, cases = self.tables, columns.shape[:-1]
        numbers, scales = self._walk(self._flat(columns))
        inputs = slice(len(tables["constants"]), len(tables["constants"]) + len(self.names))
        slopes = []
        for above, below, evidence in tables["ratios"]:
            back = np.zeros_like(numbers)
            with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
                known = (numbers[evidence] > 0) & (numbers[below] > 0) & (numbers[above] > 0)
                back[above] += np.where(known, 1.0 / numbers[above], 0.0)
                back[below] -= np.where(known, 1.0 / numbers[below], 0.0)
                self._walk_back(numbers, scales, back)
                by_weight = np.ldexp(back[inputs], -256 * scales[inputs])
            slopes.append(np.where(numbers[evidence] > 0, by_weight, np.nan))
        return np.stack(slopes, axis=-1).reshape(len(self.names), *cases, len(slopes))

    def _walk_back(self, numbers: Any, scales: Any, back: Any) -> None:
        """Propagate the slopes by values to the values that they were computed from."""
        tables = self.tables
        first = len(numbers) - len(tables["operations"])
        for begin, end in zip(tables["levels"][-2::-1], tables["levels"][:0:-1], strict=True):
            here = slice(first + begin, first + end)
            of = tables["operations"][begin:end].T
            for left, right in ((of[0], of[1]), (of[2], of[3])):
                part = back[here] * power(np, scales[left] + scales[right] - scales[here])
                np.add.at(back, left, part * numbers[right])
                np.add.at(back, right, part * numbers[left])


def _combined(numbers: Any, scales: Any) -> tuple[Any, Any]:
    """The sums of two products, of [4, values, cases], and their scales."""
    products, steps = moved(np, numbers[0::2] * numbers[1::2], scales[0::2] + scales[1::2])
    steps = np.where(products == 0, NEVER, steps)
    top = np.maximum(steps[0], steps[1])
    parts = products * power(np, steps - top)
    return parts[0] + parts[1], np.where(top == NEVER, 0, top)


# --- formulas ------------------------------------------------------------------------------------


def moved(xp: Any, numbers: Any, scales: Any) -> tuple[Any, Any]:
    """The same values, with numbers of medium size, or closer to that by one step."""
    size = xp.abs(numbers)
    tiny, huge = (size < SMALL) & (size > 0), size > LARGE
    return numbers * xp.where(tiny, UP, xp.where(huge, DOWN, 1.0)), scales - tiny + huge


def power(xp: Any, scale: Any) -> Any:
    """2 to the 256, to the power of a scale; 0 where that is very small."""
    return xp.asarray(STEPS)[(xp.clip(scale, -3, 3) + 3).astype(np.int32)]


def answered(
    xp: Any, numbers: Any, scales: Any, otherwise: Any, log: bool, within: Callable[..., Any]
) -> Any:
    """The answers [answers, cases], from the numbers and scales of :meth:`Function._compute`."""
    above, below, evidence = numbers[0], numbers[1], numbers[2]
    apart = scales[0] - scales[1]
    known = ~(below <= 0)
    under = xp.where(known, below, 1.0)
    if log:
        some = known & (above > 0)
        ratio = xp.log(xp.where(some, above, 1.0)) - xp.log(under) + apart * LOG_UP
        found, otherwise = xp.where(some, within(ratio, -np.inf, 0.0), -np.inf), np.log(otherwise)
    else:
        found = within(above / under * power(xp, apart), 0.0, 1.0)
    possible = (evidence > 0) & ~xp.isnan(above + below)
    return xp.where(possible, xp.where(known, found, otherwise), np.nan)


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, … ({len(names)} in all)"


# --- tables as text, for files -------------------------------------------------------------------


def packed(tables: Mapping[str, Any]) -> str:
    """The tables as a line of text."""
    arrays = {name: table for name, table in tables.items() if isinstance(table, np.ndarray)}
    plain = {name: table for name, table in tables.items() if name not in arrays}
    plain["arrays"] = [[name, str(array.dtype), array.shape] for name, array in arrays.items()]
    data = b"".join(array.tobytes() for array in arrays.values())
    return base64.b85encode(zlib.compress(json.dumps(plain).encode() + b"\n" + data, 9)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """The inverse of :func:`packed`."""
    head, _, data = zlib.decompress(base64.b85decode(text)).partition(b"\n")
    tables: dict[str, Any] = json.loads(head)
    at = 0
    for name, kind, shape in tables.pop("arrays"):
        count = int(np.prod(shape))
        array = np.frombuffer(data, dtype=kind, count=count, offset=at).reshape(shape)
        tables[name] = array
        at += array.nbytes
    return tables
