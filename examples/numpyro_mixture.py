"""A continuous model whose discrete part is a program, sampled by NUTS.

    python examples/numpyro_mixture.py

Machines wear, leak and trip. Rules say what a gauge then shows: off, hot, wet or fine, each with a
normally distributed number. Only the numbers are seen. The program sums over all that may have
happened, constraint included, so that NUTS has to sample nothing but continuous variables. It
needs `pip install '.[numpyro]'`.
"""

from __future__ import annotations

from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import numpyro  # noqa: E402
from jax.scipy.special import logsumexp  # noqa: E402
from numpyro.distributions import Beta, HalfNormal, Normal  # noqa: E402
from numpyro.infer import MCMC, NUTS  # noqa: E402

import dpasp  # noqa: E402

PROGRAM = """
0.2::wear.  0.3::leak.  0.1::trip.
:- leak, trip.                        % a machine that leaks is stopped by hand
gauge(off)  :- trip.
gauge(hot)  :- wear, not trip.
gauge(wet)  :- leak, not wear, not trip.
gauge(fine) :- not wear, not leak, not trip.
#semantics maxent.
"""
TRUE = {"wear": 0.3, "leak": 0.4, "trip": 0.15}
MEANS = {"fine": 20.0, "hot": 60.0, "off": 0.0, "wet": 35.0}


def readings(count: int, seed: int = 1) -> np.ndarray:
    """What the gauges of some machines show, drawn from the model itself."""
    prob = dpasp.loads(PROGRAM).to_numpy("gauge(X)").prob(TRUE)
    random = np.random.default_rng(seed)
    kinds = random.choice(len(MEANS), size=count, p=prob / prob.sum())
    return random.normal(np.array(list(MEANS.values()))[kinds], 3.0)


def model(gauge: Any, seen: np.ndarray) -> None:
    """The prior, and the likelihood with the discrete part summed out."""
    rates = {name: numpyro.sample(name, Beta(1.0, 4.0)) for name in TRUE}
    noise = numpyro.sample("noise", HalfNormal(10.0))
    means = jnp.array(list(MEANS.values()))
    log_density = Normal(means, noise).log_prob(jnp.asarray(seen)[:, None])
    # gauge(rates) are the logarithms of the probabilities of what the gauge can show
    numpyro.factor("readings", logsumexp(gauge(rates) + log_density, axis=1).sum())


def main(count: int = 300, samples: int = 500) -> dict[str, float]:
    """Sample; the mean of each rate given the readings."""
    gauge = dpasp.loads(PROGRAM).to_jax("gauge(X)")
    assert [query[6:-1] for query in gauge.queries] == list(MEANS)
    chain = MCMC(NUTS(model), num_warmup=samples, num_samples=samples, progress_bar=False)
    chain.run(jax.random.key(0), gauge, readings(count))
    drawn = chain.get_samples()
    means = {name: float(values.mean()) for name, values in drawn.items()}
    for name, mean in means.items():
        true = f"   (true: {TRUE[name]})" if name in TRUE else "   (true: 3)"
        print(f"{name:6} {mean:.3f} ± {float(drawn[name].std()):.3f}{true}")
    return means


if __name__ == "__main__":
    main()
