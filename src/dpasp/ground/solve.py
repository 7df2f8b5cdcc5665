"""The stable models of ground rules: all of them as rows of bits, or the cheapest one.

The rules go to a new solver through its backend; the selectors of the choices are free. Solving
runs in one of clingo's threads while this one waits, so that Ctrl-C and limits work at once,
however hard the next model is to find.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import accumulate, count
from typing import Any

import numpy as np
from clingo import Control, Model
from clingo.backend import Backend
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.program import Rule
from dpasp.ground.terms import MOST
from dpasp.ground.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch, silent

STRATEGY = "usc,stratify"  # cores from below, and models on the way


@dataclass(frozen=True, slots=True)
class Group:
    """Free atoms of which at most one is true, or exactly one when ``exactly`` is set."""

    atoms: tuple[int, ...]
    exactly: bool


def model_blocks(
    rules: Iterable[Rule],
    groups: Iterable[Group],
    read: Sequence[int],
    *,
    project: bool = False,
    watch: Watch = UNLIMITED,
) -> Iterator[NDArray[np.bool_]]:
    """The stable models as blocks of rows: the truth of the atoms ``read``.

    With ``project``, models that agree on these atoms come once.
    """
    yield from _solve(control_of(rules, groups, read, project), read, watch)


class Solver:
    """The stable models of ground rules, asked for one total choice after another.

    >>> solver = Solver([Rule((2,), (1,)), Rule((3,), (-2,))], [Group((1,), False)], [2, 3])
    >>> solver.models([-1]).tolist(), solver.models([1]).tolist()
    ([[False, True]], [[True, False]])
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        groups: Iterable[Group],
        read: Sequence[int],
        *,
        project: bool = False,
    ) -> None:
        self.read = read
        self._control = control_of(rules, groups, read, project)

    def models(self, chosen: Sequence[int], watch: Watch = UNLIMITED) -> NDArray[np.bool_]:
        """The models in which the literals ``chosen`` hold, a row of bits each."""
        blocks = list(self.blocks(chosen, watch))
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.read)), dtype=np.bool_)

    def blocks(
        self, chosen: Sequence[int], watch: Watch = UNLIMITED
    ) -> Generator[NDArray[np.bool_]]:
        """The same models as they are found, in blocks of rows."""
        return _solve(self._control, self.read, watch, chosen)

    def core(self, chosen: Sequence[int], watch: Watch = UNLIMITED) -> list[int] | None:
        """Some of the literals ``chosen`` that exclude all models; None if there is a model.

        >>> Solver([Rule((), (1, 2))], [Group((n,), False) for n in (1, 2, 3)], []).core([1, 2, 3])
        [1, 2]
        """
        configuration = self._control.configuration.solve
        before = configuration.models  # type: ignore[union-attr]
        configuration.models = 1  # type: ignore[union-attr]
        try:
            with self._control.solve(chosen, async_=True) as handle:
                while not handle.wait(TUNING.tick):
                    watch.check()
                watch.check()
                return None if handle.get().satisfiable else list(handle.core())
        finally:
            configuration.models = before  # type: ignore[union-attr]


def found_at_random(
    rules: Iterable[Rule],
    groups: Iterable[Group],
    read: Sequence[int],
    wanted: tuple[int, int],
    watch: Watch = UNLIMITED,
) -> NDArray[np.bool_]:
    """Some models, each found by a search with random decisions, as rows; none if there is none.

    ``wanted`` are their number and a seed. The distribution of the models means nothing.
    """
    control = control_of(rules, groups, read)
    settings: Any = control.configuration
    settings.solve.models, settings.solver.sign_def, settings.solver.rand_freq = 1, "rnd", 1.0
    count, seed = wanted
    rows: list[NDArray[np.bool_]] = []
    for number in range(count):
        settings.solver.seed = seed + number
        blocks = list(_solve(control, read, watch))
        if not blocks:
            break
        rows.append(blocks[0][0])
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(read))


def control_of(
    rules: Iterable[Rule], groups: Iterable[Group], read: Sequence[int], project: bool = False
) -> Control:
    """A solver that holds the rules."""
    rules, groups = tuple(rules), tuple(groups)
    if any(rule.weights is not None and sum(rule.weights) > MOST for rule in rules):
        used = [atom for rule in rules for atom in (*rule.head, *map(abs, rule.body))]
        used += [*read, *(atom for group in groups for atom in group.atoms)]
        rules = tuple(with_small_sums(rules, count(max(used) + 1)))
    # With disjunction, clasp's equivalence preprocessing can merge atoms that differ.
    disjunctive = any(len(rule.head) > 1 and not rule.choice for rule in rules)
    control = Control(["0", "--eq=0"] if disjunctive else ["0"], logger=silent)
    with control.backend() as backend:
        for rule in rules:
            _add_rule(backend, rule)
        for group in groups:
            _add_group(backend, group)
        if project:
            backend.add_project(read)
    if project:
        control.configuration.solve.project = "project"  # type: ignore[union-attr]
    return control


def _solve(
    control: Control, read: Sequence[int], watch: Watch, chosen: Sequence[int] = ()
) -> Generator[NDArray[np.bool_]]:
    rows: list[bytes] = []

    def keep(model: Model) -> None:
        rows.append(bytes(map(model.is_true, read)))

    done = False
    with control.solve(chosen, on_model=keep, async_=True) as handle:
        while not done:
            done = handle.wait(TUNING.tick)
            watch.check()
            # The solver's thread only appends, so the rows so far are complete.
            count = len(rows)
            block = rows[:count]
            del rows[:count]
            if block:
                bits = np.frombuffer(b"".join(block), dtype=np.bool_)
                yield bits.reshape(count, len(read))
        handle.get()


def _add_rule(backend: Backend, rule: Rule) -> None:
    if rule.weights is None:
        backend.add_rule(rule.head, rule.body, rule.choice)
    else:
        weighted = list(zip(rule.body, rule.weights, strict=True))
        backend.add_weight_rule(rule.head, rule.bound, weighted, rule.choice)


def _add_group(backend: Backend, group: Group) -> None:
    backend.add_rule(group.atoms, (), True)
    if group.exactly:
        backend.add_rule((), [-atom for atom in group.atoms])
    if len(group.atoms) > 1:
        backend.add_weight_rule((), 2, [(atom, 1) for atom in group.atoms])


# --- sums beyond 32 bits -----------------------------------------------------------------------


def with_small_sums(rules: Sequence[Rule], fresh: Iterator[int]) -> Iterator[Rule]:
    """The rules, with equivalents of those whose weights sum to more than clasp can have.

    ``fresh`` yields unused atoms. Raises :class:`SizeLimit` if that takes too many.

    >>> large = Rule((1,), (2, 3, 4), False, (2_000_000_000, 1_000_000_000, 500_000_000), 10**9)
    >>> list(with_small_sums([large], iter([])))
    [Rule(head=(1,), body=(2, 3, 4), choice=False, weights=(2, 2, 1), bound=2)]
    """
    for rule in rules:
        if rule.weights is None or sum(rule.weights) <= MOST:
            yield rule
            continue
        shared, bound = math.gcd(*rule.weights), max(rule.bound, 0)
        bound = -(-bound // shared)
        weights = tuple(min(weight // shared, bound) for weight in rule.weights)
        if sum(weights) <= MOST:
            yield rule._replace(weights=weights, bound=bound)
        else:
            yield from _counted(rule._replace(weights=weights, bound=bound), fresh)


def _counted(rule: Rule, fresh: Iterator[int]) -> Iterator[Rule]:
    """A rule with weights as rules over atoms that say how much is still missing.

    ``missing[i][b]`` is the body that holds where the literals from the i-th on weigh at least b.
    """
    items = sorted(zip(rule.weights or (), rule.body, strict=True), reverse=True)
    rest = [*accumulate((weight for weight, _ in reversed(items)), initial=0)][::-1]
    missing: list[dict[int, tuple[int, ...] | None]] = [{rule.bound: None}]
    for place, (weight, _) in enumerate(items):
        wanted = [b for b in missing[place] if 0 < b <= rest[place]]
        missing.append(dict.fromkeys(n for b in wanted for n in (b - weight, b)))
        if len(missing[-1]) > TUNING.partial_sums:
            raise SizeLimit("a sum beyond 32 bits has too many values to be enumerated")
    for place in range(len(items), -1, -1):
        for bound in missing[place]:
            if bound <= 0:
                missing[place][bound] = ()
            elif bound <= rest[place]:
                weight, literal = items[place]
                head = next(fresh)
                missing[place][bound] = (head,)
                for body, more in (
                    (missing[place + 1][bound - weight], (literal,)),
                    (missing[place + 1][bound], ()),
                ):
                    if body is not None:
                        yield Rule((head,), (*more, *body))
    whole = missing[0][rule.bound]
    if whole is not None:
        yield rule._replace(body=whole, weights=None, bound=0)


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The models found, each cheaper than the last; no model costs less than ``least``."""

    rows: tuple[NDArray[np.bool_], ...]
    cost: int
    least: int


def cheapest(
    rules: Iterable[Rule],
    groups: Iterable[Group],
    costs: Sequence[tuple[int, int]],
    read: Sequence[int],
    watch: Watch = UNLIMITED,
) -> Cheapest | None:
    """The cheapest model, or at a limit the best so far; None if none was found.

    ``costs`` are those of literals, none of which is negative.
    """
    control = control_of(rules, groups, read)
    control.configuration.solver.opt_strategy = STRATEGY  # type: ignore[union-attr]
    with control.backend() as backend:
        backend.add_minimize(0, costs)
    rows: list[NDArray[np.bool_]] = []
    costs_seen, least, proven = [0], [0], False

    def keep(model: Model) -> None:
        rows.append(np.array([model.is_true(atom) for atom in read], dtype=np.bool_))
        costs_seen.append(model.cost[0] if model.cost else 0)

    def raised(lower: Sequence[int]) -> None:
        least.append(lower[0])

    with control.solve(on_model=keep, on_unsat=raised, async_=True) as handle:
        try:
            while not handle.wait(TUNING.tick):
                watch.check()
            proven = bool(handle.get().exhausted)
        except LimitReached:
            handle.cancel()
    if not rows:
        return None
    cost = costs_seen[-1]
    return Cheapest(tuple(rows), cost, cost if proven else min(max(least), cost))
