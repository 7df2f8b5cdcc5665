"""The thresholds of learning, each with its unit and the reason for its value."""

from __future__ import annotations

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that affect how long learning takes, not its results."""

    # The likelihood of observations. A root for each costs a little of every evaluation; atoms as
    # leaves cost a larger circuit. With 64 distinct observations the two are about even.
    few_observations: int = 64
    long_observations: int = 2000  # literals of all of them: of more, atoms become leaves

    # Where the exact likelihood is too large. Four iterations from 34 observations of a grid 5 take
    # 3.1 s.
    bound_nodes: int = 500_000  # of the circuits of a bound, all together; 1.9 s with 50,000
    gap: float = 1e-6  # of the log-likelihood that is closed enough: 1e-9 to 1e-4 are alike
    tightened: int = 4  # observations tightened after an iteration, the largest gaps; 6.1 s with 40
    tightening_time: float = 0.3  # the share of the time that is left
    goal_work: int = 1_000_000  # of an attempt to know more choices, shared by all observations;
    least_goal_work: int = 50_000  # but not less for each. 7.9 and 9.5 s with ten times as much
    # worlds that say which choices matter, shared alike; with 4,000, a grid 4 takes twice as long
    reasons: int = 400
    # sampled worlds whose models differ: each may have to be solved. With 6 or 640, learning is
    # from other samples
    worlds_together: int = 64
    most_worlds: int = 10_000_000  # a guard: that are drawn for an observation

    # Memory and patience.
    rows: int = 1000  # examples that networks see at once where a step may take any number
    circuits: int = 16  # of queries that a module remembers
    label_codes: int = 1 << 20  # a guard: combinations of labels that are looked up by their number
    shortcut_work: int = 1 << 28  # a guard: products of looking for shortcuts, about a second
    quick_errors: int = 16  # probabilities up to which standard errors come unasked
    warm_steps: int = 3  # before one is recorded: optimisers make their state, cuDNN chooses ways
    report: float = 0.1  # seconds between two reports of progress


TUNING = Tuning()
