"""What chains come to: an estimate, how many samples it is worth, and whether chains agree.

States of a chain depend on one another, so that nothing here holds at every number of them, as
the intervals of independent worlds do: it holds in the long run. The interval is that of the
means of independent chains (Student), or by the effective number of states if that is wider;
and what the chains can have missed at the level of 95 % is added at both ends, so that equal
states do not count as certainty. R-hat compares halves of chains with one another and is 1 where
they agree (Gelman and Rubin, 1992; split as by Vehtari et al., 2021); the effective number adds
autocorrelations up as long as pairs of them are positive and fall (Geyer, 1992).

>>> import numpy as np
>>> states = np.random.default_rng(1).random((16, 400))
>>> mixed = mixture(states, 1 - states, states)
>>> round(mixed.r_hat, 1), 4000 < mixed.effective < 9000, mixed.interval[0] < mixed.value
(1.0, True, True)
"""

from __future__ import annotations

import math

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.sampling.intervals import MISSED, Ends
from dpasp.semantics.masses import Array

AGREE = 1.01  # R-hat above which chains do not agree
ENOUGH = 400  # effective states below which an estimate rests on little
# Student's t at 97.5 %, by degrees of freedom from 1 on.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306),
    *(2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
)
NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Mixture:
    """An estimate (None where no state says anything), its interval, and how good the chains are.

    The states are worth ``effective`` independent ones; ``r_hat`` is near 1 where chains agree.
    """

    value: float | None
    interval: Ends
    effective: float
    r_hat: float

    @property
    def good(self) -> bool:
        """Whether chains agree, after enough states."""
        return self.r_hat <= AGREE and self.effective >= ENOUGH


def mixture(for_: Array, against: Array, energies: Array) -> Mixture:
    """What the states of chains come to; how much of each is for and against [chains, states].

    The ``energies`` [chains, states] are the logarithms of the probabilities of states: where
    all states say the same about the query, they show whether the chains move.
    """
    whole = for_ + against
    mean = float(whole.mean())
    if not mean > 0:
        return Mixture(None, (0.0, 1.0), 0.0, math.inf)
    value = float(for_.mean()) / mean
    spread = (for_ - value * whole) / mean  # of the ratio, to first order
    moving = spread if float(spread.std()) > 1e-9 else energies
    effective, agreement = effective_states(moving), r_hat(moving)
    if effective < 1:
        return Mixture(value, (0.0, 1.0), effective, agreement)
    chains = len(spread)
    between = STUDENT[chains - 2] * float(spread.mean(axis=1).std(ddof=1)) / math.sqrt(chains)
    width = max(between, NORMAL * float(spread.std()) / math.sqrt(effective))
    missed = 1 - MISSED ** (1 / effective)
    low, high = max(0.0, value - width), min(1.0, value + width)
    return Mixture(value, (low * (1 - missed), high * (1 - missed) + missed), effective, agreement)


def r_hat(series: Array) -> float:
    """How much more the halves of chains [chains, states] differ than states of one do."""
    length = series.shape[1] // 2
    if length < 2:
        return math.inf
    halves = np.concatenate([series[:, :length], series[:, -length:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if not within > 0:
        return 1.0 if not between > 0 else math.inf
    return math.sqrt((length - 1) / length + between / within)


def effective_states(series: Array) -> float:
    """How many independent states would be as good for a mean as those of chains."""
    chains, length = series.shape
    if length < 4:
        return 0.0
    # Autocovariances by lag, of all chains at once by a Fourier transform.
    centred = series - series.mean(axis=1, keepdims=True)
    size = int(2 ** math.ceil(math.log2(2 * length)))
    spectrum = np.fft.rfft(centred, size, axis=1)
    lags = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :length] / length
    within = float(lags[:, 0].mean()) * length / (length - 1)
    total = within * (length - 1) / length + float(series.mean(axis=1).var(ddof=1))
    if not total > 0:
        return float(chains)  # none of them ever moved
    correlations = 1 - (within - lags.mean(axis=0)) / total
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    falling = np.minimum.accumulate(pairs)
    last = int(np.argmax(falling <= 0)) if (falling <= 0).any() else len(falling)
    # The autocorrelation time: how many states are worth one independent state.
    time = max(-1 + 2 * float(falling[:last].sum()), 1 / math.log10(chains * length))
    return float(chains * length / time)
