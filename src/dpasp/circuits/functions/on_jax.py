"""Probabilities as a function of named weights in JAX: jit, grad and vmap go through it.

Operations are divided into steps of the same width for a loop in JAX, so that the code that XLA
compiles does not grow with the circuit. The backward pass is written out: it needs the values only
once, not a copy for every step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from dpasp.circuits.functions.on_numpy import (
    DOWN,
    NEVER,
    UP,
    Function,
    _plainly,
    moved,
    power,
)

NARROWEST = 16  # operations in a step: fewer are not worth one


class JaxFunction(Function):
    """P(query | evidence) as a function of the probabilities in a program, in JAX.

    It is used like a :class:`Function`, with JAX arrays. ``jax.grad`` works; if a probability is 0,
    the gradient of its logarithm is 0. If the evidence has probability 0, so is ``jax.grad``, but
    not ``gradient``. A weight out of range gives NaN for the answers that depend on it, as JAX
    cannot raise an error.
    """

    xp: Any = jnp

    def __init__(
        self, tables: Mapping[str, Any], refuse: Callable[[str, str], Exception] = _plainly
    ) -> None:
        super().__init__(tables, refuse)
        if not jax.config.jax_enable_x64:
            raise refuse(
                "JAX computes in single precision here, which circuits are not right in",
                'say jax.config.update("jax_enable_x64", True) first',
            )
        steps, rows = _in_steps(tables, len(self.names))
        self._jitted = jax.jit(lambda weights: _walk(weights, tables["constants"], steps, rows))

    def gradient(self, weights: Any = None) -> dict[str, Any]:
        """The derivatives of the logarithm of the probability, by the names of the weights."""
        columns = self._columns(weights)
        rows = self._flat(columns).T
        every = jax.vmap(jax.jacrev(lambda row: self._answers(row, log=True)))(rows)
        impossible = jnp.isnan(self._answers(rows, log=True))
        every = jnp.where(impossible[..., None], jnp.nan, every)
        slopes = jnp.moveaxis(every, -1, 0).reshape(len(self.names), *columns.shape[:-1], -1)
        return {name: self._shaped(slopes[i]) for i, name in enumerate(self.names)}

    def _checked(self, columns: Any) -> Any:
        return jnp.where((columns >= 0) & (columns <= self.tables["largest"]), columns, jnp.nan)

    def _compute(self, weights: Any) -> Any:
        return self._jitted(weights)

    def _within(self, values: Any, least: float, most: float) -> Any:
        """As in NumPy; their slopes stay."""
        return values + lax.stop_gradient(jnp.clip(values, least, most) - values)


def _in_steps(tables: Mapping[str, Any], weights: int) -> tuple[Any, Any]:
    """The operations [steps, width, 4] with values numbered by step, and the answers' values."""
    operations, levels = tables["operations"], tables["levels"]
    first = len(tables["constants"]) + weights
    counts = np.diff(levels)
    width = max(NARROWEST, -(-len(operations) // max(len(counts), 1)))
    steps = -(-counts // width)  # by level
    starts = (np.cumsum(steps) - steps) * width - levels[:-1]
    place = np.concatenate(
        [np.arange(first), first + np.arange(len(operations)) + np.repeat(starts, counts)]
    ).astype(np.int32)
    wide = np.zeros((max(int(steps.sum()), 1) * width, 4), dtype=np.int32)  # a step, or more
    wide[place[first:] - first] = place[operations]
    return wide.reshape(-1, width, 4), place[tables["ratios"]].T


@jax.custom_vjp  # type: ignore[untyped-decorator]
def _walk(weights: Any, constants: Any, steps: Any, rows: Any) -> tuple[Any, Any]:
    """The numbers and scales [3, answers, cases] of what the answers are ratios of."""
    numbers, scales = _values(weights, constants, steps)
    return numbers[rows], scales[rows]


def _there(weights: Any, constants: Any, steps: Any, rows: Any) -> Any:
    numbers, scales = _values(weights, constants, steps)
    kept = (numbers, scales, constants, steps, rows, weights.shape[0])
    return (numbers[rows], scales[rows]), kept


def _back(kept: Any, slopes: Any) -> Any:
    """The slopes by the weights; the scales count as constants."""
    numbers, scales, constants, steps, rows, weights = kept
    first, width = len(constants) + weights, steps.shape[1]
    back = jnp.zeros_like(numbers).at[rows].add(slopes[0])

    def step(i: Any, back: Any) -> Any:
        at = len(steps) - 1 - i
        of = steps[at]
        begin = first + at * width
        here = lax.dynamic_slice_in_dim(back, begin, width)
        scale = lax.dynamic_slice_in_dim(scales, begin, width)
        of_numbers, of_scales = numbers[of], scales[of]  # [width, 4, cases]
        steps_up = power(jnp, of_scales[:, 0::2] + of_scales[:, 1::2] - scale[:, None])
        part = here[:, None] * steps_up  # [width, 2, cases]
        back = back.at[of[:, 0::2]].add(part * of_numbers[:, 1::2])
        return back.at[of[:, 1::2]].add(part * of_numbers[:, 0::2])

    back = lax.fori_loop(0, len(steps), step, back)
    found = back[len(constants) : first]
    for sign, factor in ((-1, UP), (1, DOWN)):
        for count in range(1, 5):
            due = scales[len(constants) : first] * sign >= count
            found = found * jnp.where(due, factor, 1.0)
    return found, None, None, None


_walk.defvjp(_there, _back)


def _values(weights: Any, constants: Any, steps: Any) -> tuple[Any, Any]:
    """The numbers and scales of all values [values, cases], from weights [weights, cases]."""
    inputs, input_scales = weights, jnp.zeros_like(weights)
    for _ in range(5):
        inputs, input_scales = moved(jnp, inputs, input_scales)
    width, cases = steps.shape[1], weights.shape[1]
    first = len(constants) + weights.shape[0]
    fixed = jnp.broadcast_to(jnp.asarray(constants)[:, None], (len(constants), cases))
    room = jnp.zeros((len(steps) * width, cases))
    numbers = jnp.concatenate([fixed, inputs, room])
    scales = jnp.concatenate([jnp.zeros_like(fixed), input_scales, room])

    def step(i: Any, values: Any) -> Any:
        numbers, scales = values
        of = steps[i]
        found, scale = _combine(numbers[of], scales[of])
        begin = (first + i * width, 0)
        return (
            lax.dynamic_update_slice(numbers, found, begin),
            lax.dynamic_update_slice(scales, scale, begin),
        )

    found: tuple[Any, Any] = lax.fori_loop(0, len(steps), step, (numbers, scales))
    return found


def _combine(numbers: Any, scales: Any) -> tuple[Any, Any]:
    """The sums of two products, of [width, 4, cases], and their scales."""
    left, right = scales[:, 0::2], scales[:, 1::2]
    products, steps = moved(jnp, numbers[:, 0::2] * numbers[:, 1::2], left + right)
    steps = jnp.where(products == 0, float(NEVER), steps)
    top = jnp.max(steps, axis=1)
    found = jnp.sum(products * power(jnp, steps - top[:, None]), axis=1)
    return found, jnp.where(top == NEVER, 0.0, top)
