"""Learning for the decision instead of the likelihood: ``python examples/learn_to_decide.py``.

A sensor reading tells how a machine will fail: a stop for a check costs 1, a failure that was not
checked costs 10. A straight line is all that the network can learn, and the truth is not one: ever
larger readings soon mean little. Trained for the likelihood, the line follows the many
ordinary readings; trained for the expected utility, it follows what matters for the decision.
"""

from __future__ import annotations

import torch

import dpasp

COSTS = """
#utility -1 : stop.
#utility -10 : fails, not stop.
#semantics maxent.
"""
PERCEIVE = f"""
reading(0) ~ train(@readings).
?::fails_at(X) as @net with lr = 0.05 :- reading(X).
fails :- fails_at(0).
#decision {{stop}}.
{COSTS}
"""
ACT = f"""
reading(0) ~ train(@readings).
?::stop_at(X) as @net with lr = 0.05 :- reading(X).
stop :- stop_at(0).
0.5::fails.
{COSTS}
"""


def net() -> torch.nn.Module:
    """A straight line."""
    line = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sigmoid())
    torch.nn.init.zeros_(line[0].weight)
    torch.nn.init.zeros_(line[0].bias)
    return line


def machines(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Readings, and whether each machine fails."""
    random = torch.Generator().manual_seed(seed)
    reading = torch.randn(count, 1, generator=random)
    wild = torch.rand(count, generator=random) < 0.25
    reading[wild] = 4 + 2 * torch.rand(int(wild.sum()), 1, generator=random)
    chance = torch.where(wild, 0.02, torch.sigmoid(6 * (reading[:, 0] - 1.0)))
    return reading, torch.rand(count, generator=random) < chance


def cost(stops: torch.Tensor, fails: torch.Tensor) -> float:
    """The mean utility of stopping where told."""
    return float((-1.0 * stops - 10.0 * (fails & ~stops)).mean())


def main() -> tuple[float, float]:
    """Print and return what both ways are worth on machines that were not seen."""
    readings, fails = machines(1000, 0)
    fresh, truth = machines(2000, 1)

    perceiving = dpasp.loads(PERCEIVE, networks={"net": net()}, data={"readings": readings})
    seen = ["fails_at(0)" if one else "not fails_at(0)" for one in fails]
    perceiving.learn(seen, niters=150, batch=1000, display="none")
    model = perceiving.module()
    values = [
        model.utility({"reading(0)": fresh}, strategy={"stop": stop}) for stop in (True, False)
    ]
    by_likelihood = cost(values[0] > values[1], truth)

    acting = dpasp.loads(ACT, networks={"net": net()}, data={"readings": readings})
    outcomes = ["fails" if one else "not fails" for one in fails]
    acting.learn(outcomes, maximise="utility", niters=150, batch=1000)
    stops = acting.module().prob("stop", {"reading(0)": fresh})[:, 0] > 0.5
    by_utility = cost(stops, truth)

    print(f"trained for the likelihood, then decided: {by_likelihood:.3f}")
    print(f"trained for the expected utility:         {by_utility:.3f}")
    return by_likelihood, by_utility


if __name__ == "__main__":
    main()
