"""A program that learns: its module with the data and observations that it names.

``program.learn()``, ``program.save()`` and answers over test data use it. In the learned program's
text, learned numbers (or intervals), which read back as the same doubles, replace the parameters;
there is a rule for each value of a key, and no ``#learn``. Everything else, comments included,
stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from clingo import Symbol
from safetensors.torch import load as deserialized
from safetensors.torch import save as serialized
from torch import nn
from torch.utils.data import Dataset

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Span, UsageError
from dpasp.ground.columns import Columns
from dpasp.ground.program import GroundProgram
from dpasp.ground.python import ProgramPython
from dpasp.language import ast
from dpasp.language.arguments import Example
from dpasp.language.ast import statement_text
from dpasp.learning import checkpoints
from dpasp.learning.ascents import check_possible
from dpasp.learning.data import (
    DataPart,
    DataRows,
    Observed,
    check_lengths,
    load_rows,
    no_dataset_for,
    read_observations,
)
from dpasp.learning.history import History
from dpasp.learning.likelihood import likelihood_of
from dpasp.learning.masses import refuse_nan
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import ObservationReader, Observations
from dpasp.learning.options import learn_options, learn_statement
from dpasp.learning.shortcuts import Shortcuts, indistinct_values, settled
from dpasp.learning.steps import process_group
from dpasp.learning.train import HowToLearn, start_learning
from dpasp.learning.tuning import TUNING
from dpasp.learning.uncertainty import Errors, Fit, intervals_of
from dpasp.learning.weights import LearnedIntervals, needed_data
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Objective
from dpasp.writing import counted

NETWORKS = (
    "% The networks keep what they learned in a file: program.save(path), program.restore(path)."
)

# The semantics, the objective, the parameters and networks (safetensors), learned intervals.
LearnedState = tuple[str, Objective, bytes, LearnedIntervals | None]


@dataclass(slots=True)
class Trainable:
    """A module, the Python of its program, and the observations that ``#learn`` names."""

    model: ProgramModule
    python: ProgramPython
    _observed: Observed | None = None
    _fit: Fit | None = None
    _errors: tuple[torch.Tensor, Errors] | None = None  # with the parameters that they belong to

    def rows(
        self, part: DataPart, data: Mapping[str, object] | None = None
    ) -> dict[Symbol, DataRows]:
        """The data of the program, overridden by those given."""
        ground, optional = self.model.ground, self.model.optional
        wanted = dict.fromkeys((*needed_data(ground), *optional.values()))
        by_atom: dict[Symbol, DataRows] = {}
        for key, value in self.model.by_name(data).items():
            if isinstance(value, Dataset):
                atoms = self.model.atoms_of(key)
                if len(atoms) > 1:
                    raise no_dataset_for(atoms)
                by_atom[atoms[0]] = DataRows(value)
            else:
                parts = self.model.rows_of(key, value)
                by_atom |= {atom: DataRows(rows) for atom, rows in parts.items()}
        by_atom = {atom: rows for atom, rows in by_atom.items() if atom in wanted}
        # If objects may be missing, only those given exist.
        given_names = {atom.name for atom in by_atom}
        rest = {atom for atom in needed_data(ground) if atom not in by_atom}
        if rest := {a for a in rest if not (a in optional and a.name in given_names)}:
            loaded = load_rows(ground, self.python, part, rest)
            by_atom |= {atom: rows for atom, rows in loaded.items() if atom not in by_atom}
        check_lengths(by_atom, {}, part)
        for atom in needed_data(ground):
            if atom not in by_atom and atom not in optional:
                message = f"{atom} has no {part} data"
                help = f"say where it comes from: {atom} ~ {part}(@function)., or pass data="
                help += f'{{"{atom}": rows}}'
                span = self.model.nets[0].statement.span
                raise DataError.at("data-none", message, span, help)
        return {atom: by_atom[atom] for atom in wanted if atom in by_atom}

    @torch.no_grad()
    def weights(self, part: DataPart = "test", data: Mapping[str, object] | None = None) -> Weights:
        """The leaf weights: [leaves], or [leaves, rows] if networks read data."""
        rows = self.rows(part, data)
        with in_use(self.model):
            if not rows:
                return self.model.weights().cpu().numpy()[:, 0]
            atom, first = next(iter(rows.items()))
            if not len(first):
                help = "give at least one, or leave the queries out"
                raise DataError.at("data-none", f"{atom} has no rows of {part} data", help=help)
            starts = range(0, len(first), TUNING.rows)
            device = next(self.model.parameters(), torch.empty(0)).device
            parts = []
            for start in starts:
                end = start + TUNING.rows
                some = {atom: data.span(start, end).to(device) for atom, data in rows.items()}
                parts.append(self.model.weights(some).cpu())
        for start, part_weights in zip(starts, parts, strict=True):
            refuse_nan(part_weights, start)
        return torch.cat(parts, dim=1).numpy()

    def learn(
        self, observations: object, data: Mapping[str, object] | None, how: HowToLearn
    ) -> History:
        """Learn from observations (None: those that ``#learn`` names); return the history."""
        with process_group(torch.device(how.options.place)) as processes:
            seen, rows, span = self.examples(observations, data, how.options.query)
            self._fit = self.model.probabilities.intervals = None
            try:
                loop = start_learning(self.model, seen, rows, how, span, processes)
                history = loop.run()
            finally:
                if len(self.model.probabilities):
                    self.model.probabilities.logits.requires_grad_(True)
                self.model.eval()
            self._fit = Fit(loop.learner, loop.train.to(loop.device))
            if how.options.imprecise is not None:
                counts = self._fit.learner.seen_counts(self._fit.examples)
                found = intervals_of(self.model, counts, how.options.imprecise)
                self.model.probabilities.intervals = found
        return history

    def examples(
        self, observations: object, data: Mapping[str, object] | None, query: str | None
    ) -> tuple[Observations, dict[Symbol, DataRows], Span | None]:
        """The examples to learn from, read and checked, and where they are named."""
        seen, span = self._seen(observations, query, "learn()")
        rows = self.rows("train", data)
        for atom, source in rows.items():
            if len(source) != len(seen):
                observed = counted(len(seen), "observation")
                message = f"{atom} has {counted(len(source), 'row')} for {observed}"
                help = "observation i belongs to row i of the train data"
                raise DataError.at("data-length", message, span, help)
        return seen, rows, span

    def _seen(
        self, observations: object, query: str | None, what: str
    ) -> tuple[Observations, Span | None]:
        """Observations (None: those that ``#learn`` names), and where they are named."""
        statement = learn_statement(self.model.ground.program)
        span = statement.span if statement is not None else None
        if observations is None and statement is None:
            message = "there is nothing to learn from"
            help = 'pass observations, as in learn([["a"], ["not a"]]), or say #learn @labels.'
            raise UsageError.at("learn-observations", message, help=help)
        if observations is None and statement is not None:
            observations = self._named(statement, query).train
        reader = ObservationReader(self.model.ground, span, self.model.meaning.logic)
        if query is None:
            return reader.read(observations, what), span
        return self.model.label_reader(reader).read(observations, query)[0], span

    def _named(self, statement: ast.Learn, query: str | None) -> Observed:
        if self._observed is None or self._observed.query != query:
            cells = Columns.of(self.model.ground)
            self._observed = read_observations(statement.observations, self.python, query, cells)
        return self._observed

    def labels(self) -> list[Example]:
        """The observations of the test rows, if the program has them."""
        statement = learn_statement(self.model.ground.program)
        if statement is None or not self.model.ground.networks:
            return []
        query = learn_options(self.model.ground.program, {}).query
        test = self._named(statement, query).test
        if test is None or query is None:
            return test or []
        reader = ObservationReader(self.model.ground)
        seen, _ = self.model.label_reader(reader).read(test, query)
        return [tuple(map(str, seen.distinct[i])) for i in seen.ids.tolist()]

    def save(self, path: str | Path) -> None:
        facts: dict[str, Any] = {"kind": "parameters", "learned": self.learned(most=0)}
        facts["program"] = checkpoints.described(self.model)
        if self.intervals is not None:
            facts["intervals"] = [self.intervals.lower, self.intervals.upper]
        checkpoints.write_checkpoint(path, self.model.state_dict(), facts)

    def restore(
        self, path: str | Path, force: bool = False, rules: Mapping[str, str] | None = None
    ) -> None:
        """Read learned parameters from a file, which may be a checkpoint.

        It must belong to this program unless ``rules`` maps its rules, or ``force`` takes its
        numbers in order.
        """
        tensors, facts = checkpoints.read_checkpoint(path)
        if facts.get("kind") == "checkpoint":
            tensors = checkpoints.under(tensors, "model.")
        if rules is not None:
            tensors = checkpoints.by_rule(self.model, tensors, facts, rules)
        elif not force:
            checkpoints.check_belongs(self.model, facts, path)
        intervals = checkpoints.intervals_by_rule(self.model, facts, rules or {})
        checkpoints.load_state(self.model, tensors, path)
        self.model.probabilities.intervals, self._fit = intervals, None

    @property
    def intervals(self) -> LearnedIntervals | None:
        return self.model.probabilities.intervals

    def state(self) -> LearnedState:
        tensors = serialized(checkpoints.own(self.model.state_dict()))
        return self.model.semantics, self.model.objective, tensors, self.intervals

    def take_over(self, tensors: bytes, intervals: LearnedIntervals | None) -> None:
        """Become the same as the one whose :meth:`state` has these, after its meaning."""
        self.model.load_state_dict(deserialized(tensors))
        self.model.probabilities.intervals = intervals

    def learned_program(self) -> str:
        table, parameters = self.model.probabilities.table(), self.model.ground.parameters
        pairs = zip(table, parameters, strict=True)
        points = tuple(tuple(row[: len(parameter.initial)]) for row, parameter in pairs)
        return learned_text(self.model.ground, self.intervals or LearnedIntervals(points, points))

    def shortcuts(self, observations: object) -> Shortcuts:
        """What observations (None: those of ``#learn``) leave open about the networks."""
        query = learn_options(self.model.ground.program, {}).query
        seen, span = self._seen(observations, query, "shortcuts()")
        model = self.model
        likelihood = likelihood_of(model.ground, model.meaning, seen.distinct, model.objective)
        check_possible(model, likelihood, seen, span)
        pairs = tuple(indistinct_values(model, likelihood))
        return Shortcuts(pairs, tuple(settled(model, likelihood, seen)))

    def errors(self, most: int | None = None) -> Errors | None:
        """The standard errors of what was learned; None if nothing was learned here.

        Also None if the likelihood was not exact, or if so many probabilities (more than ``most``)
        were learned that it would take long.
        """
        if self._fit is None or not len(self.model.probabilities):
            return None
        if self._fit.learner.ascent.kind != "exact":
            return None  # the curvature of the likelihood is not known
        now = self.model.probabilities.logits.detach().clone()
        if self._errors is None or not torch.equal(self._errors[0], now):
            if most is not None and len(self._fit.directions()) > most:
                return None
            self._errors = now, self._fit.standard_errors()
        return self._errors[1]

    def learned(self, most: int | None = TUNING.quick_errors) -> list[dict[str, Any]]:
        """The learned probabilities by statement, as in JSON.

        Standard errors are included unless more than ``most`` probabilities were learned.
        """
        records: list[dict[str, Any]] = []
        ground, errors = self.model.ground, self.errors(most)
        table = self.model.probabilities.table()
        for place, (parameter, values) in enumerate(zip(ground.parameters, table, strict=True)):
            statement = ground.program.statements[parameter.statement]
            record: dict[str, Any] = {
                "rule": statement_text(statement),
                "file": statement.span.file,
                "line": statement.span.line,
            }
            if parameter.key:
                record["key"] = {name: str(value) for name, value in parameter.key}
            record["values"] = values[: len(parameter.initial)]
            if errors is not None:
                record["errors"] = errors.values[place]
            if isinstance(statement, ast.Factor):
                share = values[0]
                record["values"] = [factor_of(share)]
                if errors is not None:  # dw = dp / (1 - p)²
                    record["errors"] = [
                        None if error is None or share >= 1.0 else error / (1.0 - share) ** 2
                        for error in errors.values[place]
                    ]
            if errors is not None:
                reasons = [reason and reason.value for reason in errors.reasons[place]]
                if any(reasons):
                    record["error_reasons"] = reasons
            if self.intervals is not None:
                record["lower"] = list(self.intervals.lower[place])
                record["upper"] = list(self.intervals.upper[place])
            records.append(record)
        return records


@contextmanager
def in_use(model: nn.Module) -> Iterator[None]:
    """Put the module into evaluation mode (no dropout and the like) for a while."""
    before = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in before:
            part.training = True


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers for a while; then its generators are restored."""
    with torch.random.fork_rng(list(range(torch.cuda.device_count()))):
        torch.manual_seed(seed)
        yield


def factor_of(share: float) -> float:
    """The factor w from its learned share w / (1 + w)."""
    return share / (1.0 - share) if share < 1.0 else math.inf


def learned_text(ground: GroundProgram, learned: LearnedIntervals) -> str:
    """The program as text with what was learned.

    The files of a program are concatenated; included files replace their #include.
    """
    statements = ground.program.statements
    new: dict[int, list[str]] = {  # the new texts of some statements
        index: [] for index, statement in enumerate(statements) if isinstance(statement, ast.Learn)
    }
    ends = zip(ground.parameters, learned.lower, learned.upper, strict=True)
    for parameter, lower, upper in ends:
        line = statement_text(_with_learned(statements[parameter.statement], lower, upper))
        if parameter.key:
            key = ", ".join(f"{name} = {value}" for name, value in parameter.key)
            line = f"{line.removesuffix('.')}, {key}."
        new.setdefault(parameter.statement, []).append(line)
    if any("#include" in text for text in ground.program.sources.values()):
        parts = (new.get(i, [statement_text(one)]) for i, one in enumerate(statements))
        text = "".join(f"{line}\n" for part in parts for line in part)
    else:
        text = _edited(ground.program, new)
    return f"{NETWORKS}\n{text}" if ground.networks else text


def _with_learned(
    statement: ast.Statement, lower: Sequence[float], upper: Sequence[float]
) -> ast.Statement:
    """A statement with learned numbers, or ends of intervals, by head."""
    if isinstance(statement, ast.Factor):
        return replace(statement, weight=ast.Fixed(ast.Number(factor_of(lower[0]))))
    assert isinstance(statement, ast.Annotated)
    heads = list(statement.heads)
    for i, (head, *ends) in enumerate(zip(heads, lower, upper, strict=True)):
        if isinstance(head.weight, ast.Learnable):
            low, high = map(ast.Number, ends)
            weight = ast.Fixed(low) if ends[0] == ends[1] else ast.Interval(low, high)
            heads[i] = replace(head, weight=weight)
    return replace(statement, heads=tuple(heads))


def _edited(program: ast.Program, new: dict[int, list[str]]) -> str:
    """The texts of the files with some statements replaced."""
    texts = []
    for file in program.sources.files:
        text = file.text
        spans = ((program.statements[index].span, lines) for index, lines in new.items())
        edits = ((*file.slice(span), lines) for span, lines in spans if span.file == file.name)
        for begin, end, lines in sorted(edits, reverse=True):
            if not lines and begin in file.line_starts and text[end : end + 1] == "\n":
                end += 1  # the statement had the line to itself
            text = text[:begin] + "\n".join(lines) + text[end:]
        texts.append(text if text.endswith("\n") else f"{text}\n")
    return "".join(texts)
