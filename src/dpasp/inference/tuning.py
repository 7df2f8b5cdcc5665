"""The thresholds of inference, with their units and reasons.

A *guard* bounds memory or seconds of large programs: others do not notice it.
Time is given in shares of what is left, or in seconds; *where there is no limit* means that the
caller gave no time limit. ``replace(BOUNDS, gap=0.1)`` makes a variant for a test or a measurement.
"""

from __future__ import annotations

from dpasp.circuits import Options
from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ExactTuning:
    """Exact answers, intervals of probabilities, and most probable values."""

    # which way an exact answer takes
    # all marginals of alarm take 1.3 times as long with 1,600
    many_questions: int = 16  # from here on, one evaluator for all atoms asked for is worth a try,
    # and for rows one gradient is less than roots; and so many rows, where evidence is not leaves,
    # are asked of one circuit: 160 rows of strip 7 take 0.03 s, with 1 row a circuit 0.28 s
    many_choices: int = 200  # with fewer, the tables of a network are small
    large_tables: float = 5e6  # entries: from here on, even one question is summed up in numbers. A
    # grid of 10 x 11 with three values takes 0.5 s so, and 12 s as a circuit
    # guards: for one circuit of many atoms, where a root for each may be less work. It is known at
    # once that a network is too wide (grid 5 with a constraint: with as little work as for others,
    # in any order, 1.8 s in place of 0.4), and after a moment that another program is
    network: Options = Options(way="elimination", nodes=5_000_000, work=50_000_000)
    other: Options = Options(nodes=500_000, work=2_000_000)
    undefined_subsets: int = 15  # a guard: questions about what is undefined in four literals
    # (work of the compiler, models enumerated): tried in turn under lstable; both take about
    # as long. Without them round_table 4 takes 0.16 s, not 0.03
    rounds: tuple[tuple[int, int], ...] = (
        (10_000, 20_000),
        (100_000, 200_000),
        (1_000_000, 2_000_000),
    )
    # enumeration
    table_rows: int = 50_000_000  # a guard: with 100 bits each, about a gigabyte
    # a guard: numbers held at once, 64 MB, of total choices, boxes, or a batch of rows
    held_numbers: int = 1 << 23
    # intervals of probabilities
    vertices: int = 1 << 24  # a guard: the most that are tried one by one
    tried_vertices: int = 4096  # a guard: the most that are tried for each observation, or by #mpe
    few_vertices: int = 512  # so few are all evaluated, without a search
    # weight vectors, total choices, strategies or observations that are evaluated together: 25 to
    # 2,560 are alike
    batch: int = 256
    symmetry_numbers: int = 1 << 26  # a guard, 512 MB: nodes times choices, to find symmetries
    search_boxes: int = 32  # explored at the same time, also by #map: 3 to 1,024 are alike
    halvings: int = 24  # steps of bisection towards a bound: a precision of 6e-8
    grace: float = 0.1  # seconds, and a tenth of the time taken, to improve bounds after a limit
    # most probable values
    ties: int = 1000  # the most that are listed; with 100, a #mpe of alarm lacks some
    quick_tables: float = 1e6  # a guard: entries, where there was no time for the maximum
    map_choices: int = 1 << 16  # a guard: total choices tried for the largest lower probability
    map_enumerated: int = 1 << 22  # a guard: total choices that are enumerated for one question
    # a guard: models that are enumerated and sorted by weight; of more, the best are sought. The
    # first 20 of 16,384 take 0.5 s so, and 0.06 s where they are sought
    sorted_models: int = 20_000
    # tables of evidence
    enumerated_questions: int = 4096  # a guard: rows times questions asked of one enumeration
    # assignments that are possible: so few are all tried for every row. With 6, 60 rows of a #map
    # for four atoms of a network take ten times as long
    map_candidates: int = 64
    # parts for a cluster
    part_rows: int = 256  # rows of test data in a part, at least: a circuit answers many at once
    parts: int = 64  # of questions or rows, at most; and open boxes that are shared out


@dataclass(frozen=True, slots=True)
class BoundsTuning:
    """Sure bounds, and what the engine ``auto`` does with its time."""

    # How auto divides time and memory.
    after_exact: float = 0.5  # share of the time that exact answers leave for bounds,
    patience: float = 20.0  # but at most so many seconds, which are spent even without a limit
    memory: float = 0.75  # share of the memory for grounding and exact answers: samples need little
    after_grounding: float = 0.1  # share of the time that grounding leaves to say there is no
    most_after_grounding: float = 0.3  # answer; so many seconds are always enough for that
    first_try: float = 0.7  # share of the time for the first of two attempts: bounds before
    # samples, programs with unknown choices before cases, a circuit before bounds of its parts
    in_passing: float = 0.001  # a gap that is not worth more time where none was asked for

    gap: float = 0.01  # of the engine bounds, where none is asked for
    unmeasurable: int = 900  # free atoms or guesses: one of 2^900 models has a share near 1e-271

    # Cases: budgets of the compiler.
    whole: Options = Options(nodes=5_000_000, work=200_000_000)  # the whole program
    part: Options = Options(nodes=500_000, work=5_000_000)  # a case of it, or one situation
    together: int = 16  # cases that a pool tries at a time, whatever the number of workers
    # total choices of a case that no circuit fits; with 25, 9 of them take twenty times as long
    enumerated: int = 256

    # Total choices one by one.
    models: int = 10_000  # a guard: of a total choice; one with more is left open
    look: int = 64  # total choices between two looks at the gap; each of the first ones gets one.
    # With 1, 1,200 of them take 1.4 times as long for 196 queries
    tried: int = 8  # a guard: best models under lstable that the semantics is asked about

    # Programs with unknown choices.
    # from which choices are ranked; with 50, bounds of smokers 40 are 1.8 times as wide
    reasons: int = 500
    ranking_work: int = 400_000  # or fewer, if there are more rules than this to look at for them
    ranking_blocks: int = 4  # blocks of worlds that are drawn for it
    evened: tuple[float, ...] = (0.0, 0.2, 0.5, 1.0)  # shares by which choices are made more even,
    # until the event holds in some world
    first_known: int = 8  # at first one in so many choices is known (with all of them at once,
    # bounds of smokers 40 take 1.6 times as long),
    more_known: float = 0.2  # then more each time, by this share of those that are known
    # a guard: for the circuit of a goal, at first; a tenth and ten times are alike on smokers 40
    goal: Options = Options(nodes=300_000, work=300_000)
    # at first; smokers 40 are 1.8 times as wide with 20, and take 1.3 times as long with 2,000
    goal_reasons: int = 200
    most_work: int = 1 << 32  # a guard, minutes: until which the budget of a goal is doubled

    # With intervals: a search among what is compiled may take
    looking: float = 0.5  # this share of the time that there was until then,
    least_looking: float = 0.05  # but always so many seconds


@dataclass(frozen=True, slots=True)
class SamplingTuning:
    """Samples: of worlds, of models, and of chains of worlds."""

    # Worlds: how many at a time. A shard's size depends on nothing but its number.
    samples: int = 10_000  # where no number is asked for
    shard: tuple[int, int] = (2**10, 2**20)  # worlds of the first shards, and of later ones at most
    slow_shard: tuple[int, int] = (2**8, 2**16)  # the same where models of a world must be found
    alike: int = 16  # shards in a row of the same size, so that workers have as much each
    blocks: int = 128  # of worlds that are drawn at once, at most; with 12, 600 worlds at both ends
    # of intervals take 1.3 times as long
    piece: int = 8  # worlds whose inner parts are solved together, at first;
    quick: float = 0.05  # pieces grow while they take less than so many seconds

    # Whether samples are enough.
    # the precision is looked at again after so many times the samples; chains of rare evidence
    # take 1.6 times as long with 1.05 and with 6
    look: float = 1.5
    few: int = 100  # with fewer effective samples, 0.5 is estimated to 0.1 at best
    rare: float = 0.01  # if a smaller share of the samples is effective, there are chains instead,
    seen: int = 1000  # once there are so many samples,
    hopeless: int = 2**20  # a guard: and drawing stops after so many
    kept: int = 2048  # samples that a tally keeps one by one, then as many means of 2, of 4, of 8
    precise: float = 1e-7  # the relative error of the ends of an interval

    # The models of inner parts.
    # One circuit of all situations: with 10 to 300 guesses elimination makes the smallest
    # circuits, or soon gives up. With the compiler's choice, worlds of strip 300 take four times as
    # long, those of colouring 30 a fifteenth
    all_situations: Options = Options(way="elimination", nodes=500_000, work=20_000_000)
    border: int = 8  # with so few atoms in a border, situations are solved one by one; with 80,
    # worlds of strip 7 take 60 times as long
    circuit_share: float = 0.3  # of the time that is left goes to that circuit, at most
    listed: int = 4096  # a guard: models of a situation; more than that are counted on a circuit

    # Models.
    tries: int = 1_000_000  # a guard: draws in a row that may be rejected
    run: int = 1000  # models that are drawn with one seed; with 100, 500 take 1.4 times as long

    # Chains, measured on 30 facts of probability 0.02 of which 9 must hold. How groups of choices
    # move (always one alone: 15 times as long; never flat: twice; flat up to 6 only: 6 times):
    sizes: tuple[int, ...] = (1, 2, 2, 3, 4, 8)  # how many move together: one of these, at random
    near: int = 24  # groups that count as near to one, at most
    near_atoms: int = 400  # a guard: that are looked at to find them
    flat: tuple[float, ...] = (1.0, 1.0, 0.5, 0.2)  # powers of the probabilities a move draws with,
    flattened: int = 64  # unless it moves more choices than this
    solved_worlds: int = 8  # for a chain to go to, where models of each must be found
    starts: int = 4  # blocks that each chain draws to find where to start
    # and when they have moved enough (without three quarters of the states: 4 times as long; a
    # first look after 3 or 320 sweeps: 1.8 or 2.7 times):
    states: int = 20_000  # where no number is asked for, of all chains together
    warm: float = 0.5  # share of the first states that is not counted: chains start anywhere
    sweeps: int = 8  # with fewer, chains say nothing
    first_look: int = 32  # sweeps after which it is first asked whether they are enough
    agree: float = 1.01  # R-hat above which chains do not agree (Vehtari et al., 2021)
    effective: int = 400  # states below which an estimate rests on little (the same)


@dataclass(frozen=True, slots=True)
class ExplainTuning:
    """Explanations: how far to look for reasons."""

    work: int = 1_000_000_000  # nodes of the circuit that are evaluated for one kind of ways;
    layer: int = 2_500  # so many more, 25 µs, for each layer if total choices have no model; and
    each: int = 10_000  # every time counts as so many more. That was about 10 seconds for queries
    # of 60 to 1,200 choices, and enough for the one way of a query that needs all 1,200
    total_choices: int = 10_000  # a guard: that are looked at,
    values: int = 2_000_000  # a guard: and values of choices in them: some seconds
    likeliest: int = 300  # total choices that a tree is sought in before those with a way's values
    tree_lines: int = 300  # of a tree, about
    tree_levels: int = 40  # of a tree
    tree_reasons: int = 8  # of one kind that are listed in a tree
    degrees: int = 64  # a guard: of the polynomials that are solved for a target
    covering: int = 10  # ways for which it is computed what they cover together (2^10 unions)


@dataclass(frozen=True, slots=True)
class DecidingTuning:
    """Expected values and decisions."""

    levels: int = 2_000  # a guard: values of a total of utilities under credal, a root for each
    # strategies that are tried one by one, so that all minimal ones are known: 32,768 of 15 people
    # take 4.9 s (a search for the best one 1.3 s),
    tried: int = 1 << 16
    work: float = 2e9  # unless they are more numbers than this, nodes times strategies: seconds
    patience: int = 500  # open parts of a search, after which more strategies are tried one by one:
    tried_later: int = 1 << 20  # a guard: up to so many, seconds
    listed: int = 1 << 12  # a guard: strategies that are compared with each other, for criteria
    compared: int = 1 << 16  # a guard: total choices times strategies, compared for criteria
    options: int = 64  # a guard: of a decision; of more, atoms are counted in place of being listed
    tables: float = 1e8  # a guard: entries of the tables by which decisions are eliminated
    world_blocks: int = 8  # of worlds for estimates, where no circuit is compiled: 8,192 worlds
    rounds: int = 10_000  # a guard: after which the union bound has converged, or says nothing
    cases: int = 600  # a guard: of decisions, compared in pairs to see which exclude each other
    known: int = 24  # atoms whose value of knowledge is told together: two searches each
    held: int = 1 << 18  # a guard: open parts of a search, at most, before it stops with a bound


EXACT, BOUNDS = ExactTuning(), BoundsTuning()
SAMPLING, EXPLAIN, DECIDING = SamplingTuning(), ExplainTuning(), DecidingTuning()
