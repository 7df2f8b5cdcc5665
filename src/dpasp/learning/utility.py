"""Expected totals as tensors, and learning that maximises the expected utility."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, UsageError
from dpasp.ground.program import GroundLiteral, GroundQuery, GroundUtility
from dpasp.inference.asked import ask
from dpasp.inference.decide.strategies import Deciding, decided_choices, decided_names, lower
from dpasp.language.arguments import shown_value
from dpasp.learning.data import DataRows
from dpasp.learning.history import History, Record, StopReason
from dpasp.learning.masses import MassEngine, native_engine, probabilities
from dpasp.learning.observations import Observations
from dpasp.learning.optimisers import optimisers
from dpasp.semantics.leaves import layout

if TYPE_CHECKING:
    from dpasp.learning.module import ProgramModule
    from dpasp.learning.train import HowToLearn

Strategy = Mapping[str, bool]
PASSES, RATE = 100, 0.05  # passes over the data; learning rate of the probabilities, in logits


@dataclass(frozen=True, slots=True)
class Total:
    """The queries of an expected total with their values, and what evaluates them."""

    queries: tuple[GroundQuery, ...]
    numbers: tuple[float, ...]
    engine: MassEngine

    @classmethod
    def of(
        cls,
        model: ProgramModule,
        terms: Sequence[GroundUtility],
        evidence: tuple[GroundLiteral, ...],
        device: torch.device,
    ) -> Total:
        """Compile the expected total of the terms given the evidence."""
        if not model.meaning.maxent:
            help = "make the module with program.module('maxent')"
            raise UsageError("under credal an expected total is an interval", help)
        queries = tuple(GroundQuery(t.literals, evidence, "", None) for t in terms)
        queries = queries or (GroundQuery((), evidence, "", None),)
        engine = native_engine(model.ground, model.meaning, queries, watch=model.limits.start())
        return cls(queries, tuple(t.value for t in terms) or (0.0,), engine.to(device))

    def __call__(self, model: ProgramModule, weights: Tensor) -> Tensor:
        shares = probabilities(weights, self.engine, self.queries, model.meaning)
        assert isinstance(shares, Tensor)
        return shares @ weights.new_tensor(self.numbers)


def decided(model: ProgramModule, weights: Tensor, strategy: Strategy | None) -> Tensor:
    """The weights with the decisions taken: as given, or the best ones for every row."""
    ground = model.ground
    choices = decided_choices(ground)
    if not choices:
        if strategy:
            raise UsageError("the program has no decisions, so there is no strategy to follow")
        return weights
    names = decided_names(ground)
    if strategy is None:
        worth = model.basis.ask_worth("#decide.", model.limits.start())
        columns = weights.detach().cpu().numpy().astype(np.float64)
        asked = ask(replace(worth, worth=()), model.meaning, weights=columns)
        deciding = Deciding.of(asked, worth.utilities, worth.evidence)
        rows = [deciding.of_row(row).best(lower).strategy for row in range(columns.shape[1])]
        taken = weights.new_tensor(np.array(rows, dtype=np.float64).T)  # [decided atoms, batch]
    else:
        unknown = [name for name in strategy if name not in names]
        if unknown or len(strategy) < len(names):
            missing = [name for name in names if name not in strategy]
            message = f"{unknown[0]} is not decided" if unknown else f"{missing[0]} is missing"
            raise UsageError(message, help=f"say for each of {', '.join(names)} True or False")
        for name in names:
            if (value := strategy[name]) not in (True, False):
                message = f"{name} is {shown_value(value)}, which is neither True nor False"
                raise UsageError(message, help="a strategy says what is taken: True or False")
        taken = weights.new_tensor([float(strategy[name]) for name in names])
        taken = taken[:, None].expand(-1, weights.shape[1])
    starts = torch.tensor([layout(ground.choices).starts[choice] for choice in choices])
    places = torch.cat([starts, starts + 1]).to(weights.device)
    return weights.index_copy(0, places, torch.cat([taken, 1.0 - taken]).to(weights.dtype))


def utility(
    model: ProgramModule,
    weights: Tensor,
    strategy: Strategy | None,
    seen: Observations | None = None,
) -> Tensor:
    """The expected utility [batch] given what was observed in each row."""
    if not model.ground.utilities:
        message = "the program has no utilities"
        raise UsageError.at("decide-nothing", message, help="write #utility 5 : a.")
    weights = decided(model, weights, strategy)
    device = weights.device
    if seen is None:
        return _total(model, (), device)(model, weights)
    columns = weights if weights.shape[1] > 1 else weights.expand(-1, len(seen))
    result = columns.new_zeros(len(seen))
    for number, observation in enumerate(seen.distinct):
        rows = (seen.ids == number).nonzero()[:, 0].to(device)
        if len(rows):
            total = _total(model, tuple(observation), device)
            result = result.index_copy(0, rows, total(model, columns[:, rows]))
    return result


def _total(model: ProgramModule, given: tuple[GroundLiteral, ...], device: torch.device) -> Total:
    """The total for the expected utility; the last few are kept."""
    key = (tuple(map(str, given)), str(device))
    if key not in model.totals:
        evidence = tuple(dict.fromkeys((*given, *model.ground.evidence)))
        model.totals[key] = Total.of(model, model.ground.utilities, evidence, device)
    return model.totals[key]


def learn_utility(
    model: ProgramModule,
    rows: Mapping[Symbol, DataRows],
    seen: Observations | None,
    how: HowToLearn,
) -> History:
    """Maximise the expected utility, averaged over the rows; return its history."""
    options, started = how.options, time.perf_counter()
    counts = {len(source) for source in rows.values()} | (
        {len(seen)} if seen is not None else set()
    )
    if len(counts) > 1:
        message = f"there are {' and '.join(map(str, sorted(counts)))} rows"
        raise DataError.at("data-length", message, help="give as many of each")
    count = counts.pop() if counts else 1
    device = torch.device(options.place)
    model.to(device)
    made = optimisers(model.nets, options.lr)
    if len(model.probabilities):
        rate = RATE if options.lr is None else options.lr
        made.append(torch.optim.Adam(model.probabilities.parameters(), lr=rate))
    if not made:
        raise UsageError("nothing can be learned: the program has no parameters and no networks")
    batch = options.batch or min(count, 256)
    random = torch.Generator().manual_seed(options.seed)
    records: list[Record] = []
    for iteration in range(1, (options.niters or PASSES) + 1):
        order = torch.randperm(count, generator=random) if options.shuffle else torch.arange(count)
        gained = 0.0
        for some in torch.split(order, batch):
            how.watch.check()
            data = {atom: source.take(some).to(device) for atom, source in rows.items()}
            weights = model.weights(data or None)
            observed = None if seen is None else seen[some]
            mean = utility(model, weights, None, observed).mean()
            for optimiser in made:
                optimiser.zero_grad()
            torch.autograd.backward(-mean)
            for optimiser in made:
                optimiser.step()
            gained += float(mean.detach()) * len(some)
        records.append(Record(iteration, gained / count, likelihood="utility"))
    return History(tuple(records), StopReason.DONE, count, time.perf_counter() - started)
