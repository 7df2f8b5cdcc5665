"""The model of `numpyro_mixture.py` in PyTorch: the most likely rates, found by gradient steps.

    python examples/torch_mixture.py

The rates are learnable probabilities of the program, and the noise is a parameter of ours. The
program sums over all that may have happened; one backward pass moves both.
"""

from __future__ import annotations

import math

import torch
from torch.distributions import Normal

import dpasp

PROGRAM = """
?::wear.  ?::leak.  ?::trip.
:- leak, trip.                        % a machine that leaks is stopped by hand
gauge(off)  :- trip.
gauge(hot)  :- wear, not trip.
gauge(wet)  :- leak, not wear, not trip.
gauge(fine) :- not wear, not leak, not trip.
#semantics maxent.
"""
TRUE = {"wear": 0.3, "leak": 0.4, "trip": 0.15}
MEANS = {"fine": 20.0, "hot": 60.0, "off": 0.0, "wet": 35.0}


def readings(count: int) -> torch.Tensor:
    """What the gauges of some machines show, drawn from the model itself."""
    prob = torch.from_numpy(dpasp.loads(PROGRAM).to_numpy("gauge(X)").prob(TRUE))
    kinds = torch.multinomial(prob, count, replacement=True)
    return Normal(torch.tensor(list(MEANS.values()))[kinds].double(), 3.0).sample()


def main(count: int = 300, steps: int = 300) -> dict[str, float]:
    """Fit; the rate of each fault."""
    torch.manual_seed(0)
    seen, program = readings(count), dpasp.loads(PROGRAM)
    model = program.module()
    log_noise = torch.tensor(math.log(10.0), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([*model.parameters(), log_noise], lr=0.05)
    means = torch.tensor(list(MEANS.values()), dtype=torch.float64)
    for _ in range(steps):
        optimiser.zero_grad()
        log_density = Normal(means, log_noise.exp()).log_prob(seen[:, None])
        log_kinds = model.value("gauge(X)").log()  # [1, kinds]
        loss = -torch.logsumexp(log_kinds + log_density, dim=1).mean()
        loss.backward()
        optimiser.step()
    rates = program.to_numpy("gauge(X)").weights
    for name, rate in rates.items():
        print(f"{name:5} {rate:.3f}   (true: {TRUE[name]})")
    print(f"noise {log_noise.exp().item():.3f}   (true: 3)")
    return rates


if __name__ == "__main__":
    main()
