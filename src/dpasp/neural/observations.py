"""Observations: for each example the literals that were seen, each distinct set kept once.

:mod:`dpasp.language.observations` says in which shapes they come.

>>> import dpasp
>>> program = dpasp.loads("0.3::a. b :- not a.")
>>> seen = ObservationReader(program.ground()).read(["a", "b", "a"])
>>> len(seen), len(seen.distinct), seen.text(1), len(seen[:2] + seen)
(3, 2, 'b', 5)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from clingo import Symbol
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span, nearest
from dpasp.ground.program import GroundLiteral, GroundProgram, GroundQuery
from dpasp.ground.values import IntegerOverflow, parse_symbol
from dpasp.language.ast import NOWHERE, Mode, Neural
from dpasp.language.observations import Example, examples

Observation = tuple[GroundLiteral, ...]
AnyObservations = object  # observations in any shape that dpasp.language.observations reads
BRIEF = 8  # literals of an observation that a message shows


@dataclass(frozen=True, slots=True)
class Observations(Sequence["Observations"]):
    """Distinct observations, and for each example the number of its own.

    They can be indexed (by a number, a slice, a list, or a tensor of numbers or truth values),
    joined with ``+``, pickled, and put together by a ``DataLoader``; whatever comes out are
    observations again.
    """

    distinct: tuple[Observation, ...]
    ids: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, key: Any) -> Observations:
        """The observations of some examples (of one, for a number)."""
        ids = self.ids[torch.as_tensor(key) if isinstance(key, list) else key]
        return Observations(self.distinct, ids.reshape(-1))

    def __add__(self, other: Observations) -> Observations:
        return join_observations([self, other])

    def __reduce__(self) -> tuple[Any, ...]:
        texts = tuple(tuple(map(str, observation)) for observation in self.distinct)
        atoms = tuple(
            tuple(literal.atom for literal in observation) for observation in self.distinct
        )
        return _restored, (texts, atoms, self.ids)

    def text(self, example: int) -> str:
        """An example's observation as text."""
        return observation_text(self.distinct[int(self.ids[example])])


def _restored(texts: tuple[Example, ...], atoms: Sequence[Sequence[int]], ids: Tensor) -> Any:
    """Observations from what was pickled."""

    def literal(text: str, atom: int) -> GroundLiteral:
        mode, name = _mode(text)
        return GroundLiteral(mode, atom, parse_symbol(name))  # type: ignore[arg-type]

    distinct = tuple(
        tuple(literal(text, atom) for text, atom in zip(written, numbers, strict=True))
        for written, numbers in zip(texts, atoms, strict=True)
    )
    return Observations(distinct, ids)


def join_observations(parts: Sequence[Observations]) -> Observations:
    """The examples of several observations of one program, one after the other."""
    longest = max((part.distinct for part in parts), key=len)
    if all(part.distinct == longest[: len(part.distinct)] for part in parts):
        return Observations(longest, torch.cat([part.ids for part in parts]))
    distinct = dict.fromkeys(seen for part in parts for seen in part.distinct)
    numbers = {seen: i for i, seen in enumerate(distinct)}
    maps = [torch.tensor([numbers[seen] for seen in part.distinct]) for part in parts]
    ids = [renumbered[part.ids] for renumbered, part in zip(maps, parts, strict=True)]
    return Observations(tuple(numbers), torch.cat(ids))


# How a DataLoader puts the examples of a batch together (torch's way to teach it a type).
default_collate_fn_map[Observations] = lambda batch, **_: join_observations(batch)


def observation_text(observation: Observation) -> str:
    """An observation as text; the empty one holds of every example."""
    return ", ".join(map(str, observation)) or "nothing"


def questions_of(observations: Sequence[Observation]) -> tuple[GroundQuery, ...]:
    """The questions how probable observations are."""
    return tuple(
        GroundQuery(literals, (), observation_text(literals), NOWHERE) for literals in observations
    )


def observation_brief(observation: Observation) -> str:
    """An observation as text, of a long one its beginning."""
    if len(observation) <= BRIEF:
        return observation_text(observation)
    rest = len(observation) - BRIEF
    return f"{observation_text(observation[:BRIEF])} and {rest} more literals"


class ObservationReader:
    """Reads observations against a ground program; texts that come again cost nothing."""

    def __init__(self, ground: GroundProgram, span: Span | None = None) -> None:
        self.ground = ground
        self.span = span
        self._literals: dict[str, GroundLiteral] = {}
        self._numbers: dict[Observation, int] = {}
        self._seen: dict[tuple[str, ...], int] = {}
        statements = ground.program.statements
        self._neural = {s.name for s in statements if isinstance(s, Neural) and s.outcomes}

    @property
    def distinct(self) -> tuple[Observation, ...]:
        """The distinct observations so far, by number."""
        return tuple(self._numbers)

    def read(self, observations: AnyObservations, what: str = "observations") -> Observations:
        """The observations in any shape; ``what`` names them in messages."""
        rows = examples(observations, what, self.span)
        ids = [self.number(row, index) for index, row in enumerate(rows)]
        return Observations(self.distinct, torch.tensor(ids, dtype=torch.int64))

    def renumbered(self, observations: Observations) -> Observations:
        """Observations with the numbers that they have here; another program's are read again."""
        distinct = observations.distinct
        if distinct == self.distinct[: len(distinct)]:
            return observations
        numbers = [self.number(tuple(map(str, observation))) for observation in distinct]
        ids = torch.tensor(numbers, dtype=torch.int64, device=observations.ids.device)
        return Observations(self.distinct, ids[observations.ids])

    def number(self, texts: Example, index: int = 0) -> int:
        """The number of an observation; ``index`` is its example, for messages."""
        number = self._seen.get(texts)
        if number is None:
            literals = {self.literal(text, index): None for text in texts}
            number = self._seen[texts] = self.number_of(tuple(literals))
        return number

    def number_of(self, literals: Observation) -> int:
        """The number of an observation of these literals, each once, in any order."""
        observation = tuple(
            sorted(literals, key=lambda literal: (literal.atom, literal.mode.value))
        )
        return self._numbers.setdefault(observation, len(self._numbers))

    def literal(self, text: str, index: int = 0) -> GroundLiteral:
        """The literal that a text says."""
        literal = self._literals.get(text)
        if literal is None:
            literal = self._literals[text] = self._literal(text, index)
        return literal

    def _literal(self, text: str, index: int) -> GroundLiteral:
        mode, atom = _mode(text)
        try:
            symbol = self._symbol(atom)
        except IntegerOverflow as error:
            problem = error.diagnostics[0]
            message = f"example {index} observes {text}: {problem.message}"
            raise self._error(problem.code, message, problem.help) from None
        if symbol is None:
            message = f"example {index} observes '{text}', which is not a literal"
            help = "write a ground atom: sum(9), not sum(9), undef sum(9)"
            raise self._error("observation-syntax", message, help)
        number = self.ground.atoms.get(symbol, 0)
        # What cannot occur is certainly false; but a name that the program lacks is a mistake.
        if not number and (mode is not Mode.FALSE or not self._mentions(symbol.name)):
            known = [str(name) for name in self.ground.atoms]
            help = nearest(str(symbol), known) or "name an atom that some rule can derive"
            message = f"example {index} observes {text}, but {symbol} cannot occur"
            raise self._error("observation-atom", message, help)
        return GroundLiteral(mode, number, symbol)

    def _mentions(self, name: str) -> bool:
        """Whether the program's text has a word."""
        texts = self.ground.program.sources.values()
        return any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)

    def _symbol(self, atom: str) -> Symbol | None:
        name, _, rest = atom.partition("(")
        if ";" in rest and name in self._neural:
            atom = atom.replace(";", ",")  # f(x; 3) for a neural predicate with outcomes
        return parse_symbol(atom)

    def _error(self, code: str, message: str, help: str) -> DataError:
        return DataError(Diagnostic(code, message, self.span, help))


def _mode(text: str) -> tuple[Mode, str]:
    for mode in (Mode.FALSE, Mode.UNDEFINED):
        if text.startswith(mode.value):
            return mode, text[len(mode.value) :].strip()
    return Mode.TRUE, text
