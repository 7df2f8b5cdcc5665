"""Observations: for each example the literals that were seen, each distinct set kept once.

An observation is a list of texts such as ``["sum(9)", "not carry"]`` or one text with
commas; ``~a`` is ``not a``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from clingo import Symbol
from torch import Tensor

from dpasp.errors import DataError, Diagnostic, Span, nearest
from dpasp.language.ast import Mode, Neural
from dpasp.logic.constants import parse_symbol
from dpasp.logic.program import GroundLiteral, GroundProgram

Observation = tuple[GroundLiteral, ...]
Given = str | Sequence[str]
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Observations:
    """Distinct observations, and for each example the number of its own."""

    distinct: tuple[Observation, ...]
    ids: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def text(self, example: int) -> str:
        """An example's observation as text."""
        return observation_text(self.distinct[int(self.ids[example])])

    def select(self, indices: Tensor) -> Observations:
        """The observations of some of the examples."""
        return Observations(self.distinct, self.ids[indices])


def observation_text(observation: Observation) -> str:
    """An observation as text; the empty one holds of every example."""
    return ", ".join(map(str, observation)) or "nothing"


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

    def read(self, given: Iterable[Given]) -> Observations:
        """The observations of a list with one entry for each example."""
        ids = [self.number(one, index) for index, one in enumerate(given)]
        return Observations(self.distinct, torch.tensor(ids, dtype=torch.int64))

    def number(self, given: Given, index: int = 0) -> int:
        """The number of an observation; ``index`` is its example, for messages."""
        texts = tuple(split(given)) if isinstance(given, str) else tuple(given)
        found = self._seen.get(texts)
        if found is None:
            literals = {self.literal(text, index): None for text in texts}
            observation = tuple(sorted(literals, key=lambda one: (one.atom, one.mode.value)))
            found = self._numbers.setdefault(observation, len(self._numbers))
            self._seen[texts] = found
        return found

    def literal(self, text: str, index: int = 0) -> GroundLiteral:
        """The literal that a text says."""
        found = self._literals.get(text)
        if found is None:
            found = self._literals[text] = self._literal(text, index)
        return found

    def _literal(self, text: object, index: int) -> GroundLiteral:
        if not isinstance(text, str):
            help = 'an observation is a list of texts such as ["sum(9)", "not carry"]'
            message = f"example {index} observes a {type(text).__name__}, not a text"
            raise self._error("observation-syntax", message, help)
        mode, atom = _mode(text)
        symbol = self._symbol(atom)
        if symbol is None:
            message = f"example {index} observes '{text}', which is not a literal"
            help = "write a ground atom: sum(9), not sum(9), undef sum(9)"
            raise self._error("observation-syntax", message, help)
        number = self.ground.atoms.get(symbol)
        if number is None:
            known = [str(name) for name in self.ground.atoms]
            help = nearest(str(symbol), known) or "name an atom that some rule can derive"
            message = f"example {index} observes {text.strip()}, but {symbol} cannot occur"
            raise self._error("observation-atom", message, help)
        return GroundLiteral(mode, number, symbol)

    def _symbol(self, atom: str) -> Symbol | None:
        name, _, rest = atom.partition("(")
        if ";" in rest and name in self._neural:
            atom = atom.replace(";", ",")  # f(x; 3) for a neural predicate with outcomes
        return parse_symbol(atom)

    def _error(self, code: str, message: str, help: str) -> DataError:
        return DataError(Diagnostic(code, message, self.span, help))


def _mode(text: str) -> tuple[Mode, str]:
    text = text.strip().removesuffix(".")
    if text.startswith("~"):
        return Mode.FALSE, text[1:].strip()
    for mode in (Mode.FALSE, Mode.UNDEFINED):
        if text.startswith(mode.value):
            return mode, text[len(mode.value) :].strip()
    return Mode.TRUE, text


def split(text: str) -> list[str]:
    """The literals of a text, cut at the commas between them.

    >>> split('a(1,2), not b("x,y")')
    ['a(1,2)', ' not b("x,y")']
    """
    parts, depth, start, quoted = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if letter == "," and depth == 0:
                parts.append(text[start:at])
                start = at + 1
    return [part for part in (*parts, text[start:]) if part.strip()]
