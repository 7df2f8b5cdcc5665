"""Why a strategy is the best: its alternatives, what utilities add, what knowledge is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.ground.program import FixedWeights, GroundLiteral, GroundUtility
from dpasp.inference.asked import Asked
from dpasp.inference.decide.strategies import Best, Deciding, Score, Strategy, influenced
from dpasp.inference.tuning import DECIDING
from dpasp.language.arguments import list_given, text_given
from dpasp.language.ast import Mode
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import choice_labels
from dpasp.semantics.masses import Array
from dpasp.writing import counted


class Alternative(NamedTuple):
    """Another decision, everything else unchanged: its value, and how much it loses."""

    instead: str
    value: float | tuple[float, float]
    loss: float


class Contribution(NamedTuple):
    """What a utility adds: its value times the probability that it counts."""

    utility: str
    probability: float | tuple[float, float]
    adds: float | tuple[float, float]


class Knowledge(NamedTuple):
    """How much it is worth to know whether an atom holds before deciding."""

    atom: str
    worth: float


class TurningPoint(NamedTuple):
    """A probability, and the range of numbers for which the strategy stays the best."""

    probability: str
    now: float
    low: float
    high: float


_HEADS = {"low": "from", "high": "to"}


class Reasons(tuple[Any, ...]):
    """A table of reasons, which prints itself and appears in notebooks."""

    head: tuple[str, ...]
    note: str

    def __new__(cls, rows: Sequence[Any], head: Sequence[str] = (), note: str = "") -> Reasons:
        """``note`` says what the table leaves out."""
        table = super().__new__(cls, rows)
        table.head, table.note = tuple(_HEADS.get(name, name) for name in head), note
        return table

    @property
    def rows(self) -> tuple[Any, ...]:
        """The rows, named tuples."""
        return tuple(self)

    def cells(self) -> list[list[str]]:
        """The texts of all cells; the first row is the head."""
        return [list(self.head), *([_cell(value) for value in row] for row in self)]

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*(line.rstrip() for line in lines), *([self.note] if self.note else [])])

    __repr__ = __str__

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, for JSON."""
        return [dict(zip(self.head, row, strict=True)) for row in self.rows]

    def _repr_html_(self) -> str:
        from dpasp.display.html import reasons_html

        return reasons_html(self)


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_cell, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Why:
    """The reasons for the best strategy of a question."""

    deciding: Deciding
    best: Best
    score: Score

    @property
    def asked(self) -> Asked:
        """The questions, for one row of weights."""
        row = self.deciding.asked.columns[:, self.deciding.row]
        return replace(self.deciding.asked, weights=row)

    @cached_property
    def alternatives(self) -> Reasons:
        """Every other decision, everything else unchanged, with how much it loses."""
        changes = list(self._changes())
        rows = []
        if changes:
            value = self.deciding.worth(np.array([strategy for strategy, _ in changes]))
            scores = self.score(value)
            for (_, text), score, low, high in zip(
                changes, scores, value.lower, value.upper, strict=True
            ):
                if math.isnan(score):
                    continue
                single = self.asked.meaning.maxent
                number = float(low) if single else (float(low), float(high))
                rows.append(Alternative(text, number, self.best.score - float(score)))
        rows.sort(key=lambda row: row.loss)
        return Reasons(rows, Alternative._fields)

    def _changes(self) -> Iterator[tuple[Strategy, str]]:
        """Strategies that differ from the best one in one decision, with the difference."""
        best, names = self.best.strategy, self.deciding.names
        for places, least, most in self.deciding.groups:
            taken = [place for place in places if best[place]]
            for place in places:
                changed = best.copy()
                changed[place] = not changed[place]
                if least <= changed[list(places)].sum() <= most:
                    yield changed, f"{'' if changed[place] else 'not '}{names[place]}"
                elif changed[place] and len(taken) == 1:
                    changed[taken[0]] = False
                    yield changed, names[place]

    @cached_property
    def contributions(self) -> Reasons:
        """What each utility adds to the expected total under the best strategy."""
        shares = self._shares()
        single = self.asked.meaning.maxent
        rows = []
        for term in self.deciding.terms:
            text = f"{term.value:g} : {', '.join(map(str, term.literals))}"
            low, high = shares[term.literals]
            ends = sorted((term.value * low + 0.0, term.value * high + 0.0))  # no -0
            rows.append(
                Contribution(text, low, ends[0])
                if single
                else Contribution(text, (low, high), (ends[0], ends[1]))
            )
        rows.sort(key=lambda row: -abs(row.adds if isinstance(row.adds, float) else row.adds[1]))
        return Reasons(rows, Contribution._fields)

    def _shares(self) -> dict[tuple[GroundLiteral, ...], tuple[float, float]]:
        """The probability of every body under the best strategy, from a single circuit."""
        strategy = self.best.strategy[np.newaxis]
        bodies = dict.fromkeys(term.literals for term in self.deciding.terms)
        if not self.asked.meaning.maxent:
            values = {body: self._alone(body).worth(strategy) for body in bodies}
            return {b: (float(v.lower[0]), float(v.upper[0])) for b, v in values.items()}
        terms = tuple(GroundUtility(1.0, body, -1) for body in bodies)
        deciding = Deciding.of(self.asked, terms, self.deciding.evidence)
        found = deciding.evaluator.masses(deciding.columns(strategy), self.asked.watch)
        shares = np.nan_to_num(masses.maxent(found)[1:, 0]).tolist()
        return {body: (share, share) for body, share in zip(bodies, shares, strict=True)}

    def to_dict(self, atoms: Sequence[str] | None = None) -> dict[str, Any]:
        """All reasons for the decision, for JSON.

        - ``alternatives``: ``instead`` (another decision), its ``value`` and its ``loss``;
        - ``contributions``: a ``utility``, its ``probability``, and what it ``adds``;
        - ``knowing``: an ``atom``, and what it is ``worth`` to know it before deciding: for
          ``atoms``, or for the uncertain ones that no decision influences, the most valuable first;
        - ``turning_points``: a ``probability``, its number ``now``, and the range (``from``,
          ``to``) in which it can change, alone, while the strategy stays the best;
        - ``notes``: what is left out, and why.

        Under credal, ``knowing`` and ``turning_points`` are empty: they need single probabilities.
        """
        tables = {"alternatives": self.alternatives, "contributions": self.contributions}
        notes = []
        if self.asked.meaning.maxent:
            tables |= {"knowing": self.knowing(atoms), "turning_points": self.turning_points}
        else:
            tables |= {"knowing": Reasons((), ()), "turning_points": Reasons((), ())}
            notes = ["what knowledge is worth, and turning points, need single probabilities"]
        notes += [f"{name.replace('_', ' ')}: {t.note}" for name, t in tables.items() if t.note]
        return {name: table.to_dict() for name, table in tables.items()} | {"notes": notes}

    def tables(self) -> list[Reasons]:
        """All reasons as tables, without empty ones."""
        found = [self.alternatives, self.contributions]
        if self.asked.meaning.maxent:
            found += [self.knowing(), self.turning_points]
        return [table for table in found if len(table)]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    def within(self, watch: Watch) -> Why:
        """The same reasons, within other limits."""
        asked = replace(self.deciding.asked, watch=watch)
        return replace(self, deciding=replace(self.deciding, asked=asked))

    def knowing(self, atoms: Sequence[str] | None = None) -> Reasons:
        """How much it is worth to know each of the atoms (or all ``knowable``) in advance."""
        wanted = self.knowable() if atoms is None else list_given(atoms, "atoms")
        most, watch = DECIDING.known if atoms is None else len(wanted), self.asked.watch
        rows: list[Knowledge] = []
        for atom in wanted[:most]:
            left = watch.remaining()
            if atoms is None and left is not None and left < watch.elapsed():
                break  # the remaining time is for other reasons
            rows.append(Knowledge(atom, self.value_of(atom)))
        note = "" if len(rows) == len(wanted) else f"{len(rows)} of {counted(len(wanted), 'atom')}"
        return Reasons(sorted(rows, key=lambda row: -row.worth), Knowledge._fields, note)

    def knowable(self) -> list[str]:
        """The uncertain atoms that no decision influences; those of choices come first."""
        ground = self.asked.ground
        reached = influenced(ground, self.deciding.decided)
        if any(reached[literal.atom] for literal in self.deciding.evidence):
            return []
        facts = {r.head[0] for r in ground.rules if len(r.head) == 1 and not (r.body or r.choice)}
        heads = [head for choice in ground.choices for head in choice.heads]
        atoms = dict.fromkeys((*heads, *sorted(ground.atoms.values())))
        symbols = [ground.symbols[a] for a in atoms if not reached[a] and a not in facts]
        return [str(symbol) for symbol in symbols if symbol is not None]

    def _alone(self, literals: tuple[GroundLiteral, ...]) -> Deciding:
        """The same decisions with a utility of 1 if these literals hold, and no other."""
        return Deciding.of(self.asked, (GroundUtility(1.0, literals, -1),), self.deciding.evidence)

    def value_of(self, atom: str) -> float:
        """How much it is worth to know whether an atom holds before deciding.

        Raises :class:`UsageError` for an atom that does not exist, if the atom or the evidence
        depends on decisions, and under credal.
        """
        asked = self.asked
        if not asked.meaning.maxent:
            raise UsageError(
                "the value of knowing an atom is one number, and needs single probabilities",
                help="ask under maxent",
            )
        literals = self._values_of(atom)
        total = 0.0
        for literal in literals:
            chance = float(self._alone((literal,)).worth(self.best.strategy[np.newaxis]).lower[0])
            if chance > 0:
                known = (*self.deciding.evidence, literal)
                best = Deciding.of(asked, self.deciding.terms, known).best(self.score)
                total += chance * best.score
        return max(0.0, total - self.best.score)

    def _values_of(self, atom: str) -> list[GroundLiteral]:
        """A literal for each value that an atom can have; no decision must influence it."""
        from dpasp.ground.terms import parse_symbol
        from dpasp.semantics.translate import can_be_undefined

        ground = self.asked.ground
        symbol = parse_symbol(text_given(atom, "an atom").strip())
        number = ground.atoms.get(symbol, 0) if symbol is not None else 0
        if not number or symbol is None:
            raise UsageError(f"nothing derives the atom {atom!r}, so there is nothing to know")
        reached = influenced(ground, self.deciding.decided)
        if reached[number]:
            raise UsageError(
                f"{symbol} depends on what is decided, so it cannot be known before",
                help="ask for the value of an atom that no decision leads to",
            )
        for literal in self.deciding.evidence:
            if reached[literal.atom]:
                raise UsageError(
                    f"the evidence {literal} depends on what is decided: it is not known before",
                    help="ask without it for the value of knowing an atom",
                )
        modes = [Mode.TRUE, Mode.FALSE]
        if can_be_undefined(ground, self.asked.meaning.logic)[number]:
            modes.append(Mode.UNDEFINED)
        return [GroundLiteral(mode, number, symbol) for mode in modes]

    @cached_property
    def turning_points(self) -> Reasons:
        """How far each probability can change, alone, before another strategy is better."""
        asked, deciding = self.asked, self.deciding
        if not asked.meaning.maxent:
            raise UsageError(
                "how far a probability may move is told under maxent only",
                help="under credal, intervals say what is not known exactly",
            )
        complete = deciding.few and deciding.count <= DECIDING.listed
        others = deciding.strategies() if complete else (s for s, _ in self._changes())
        note = "" if complete else "compared with strategies that differ in one decision"
        rows = list(self._points(np.array([self.best.strategy, *others])))
        rows.sort(key=lambda row: min(row.now - row.low, row.high - row.now))
        return Reasons(rows, TurningPoint._fields, note)

    def _points(self, strategies: NDArray[np.bool_]) -> Iterator[TurningPoint]:
        ground, layout = self.asked.ground, self.asked.layout
        labels = choice_labels(ground)
        columns = self.deciding.columns(strategies)
        for index, choice in enumerate(ground.choices):
            if not isinstance(choice.weight, FixedWeights):
                continue
            leaves = layout.of(index)
            for value, label in enumerate(labels[index]):
                now = float(columns[leaves.start + value, 0])
                if 0 < now < 1:
                    ends = [self._at(columns, leaves, value, number) for number in (0.0, 1.0)]
                    low, high = _range(ends, now)
                    if low > 0 or high < 1:
                        yield TurningPoint(label, now, low, high)

    def _at(self, columns: Array, leaves: slice, value: int, number: float) -> tuple[Array, Array]:
        """Expected total and mass of the evidence, if a value of a choice has this probability."""
        moved = columns.copy()
        others = moved[leaves].copy()
        others[value] = 0.0
        rest = others.sum(axis=0)
        moved[leaves] = others * (1.0 - number) / np.where(rest > 0, rest, 1.0)
        moved[leaves.start + value] = number
        wanted = self.deciding.values
        found = self.deciding.evaluator.masses(moved, self.asked.watch)
        return wanted.numbers @ found.qe[1:], found.e[0]


def _range(ends: Sequence[tuple[Array, Array]], now: float) -> tuple[float, float]:
    """The range around ``now`` in which the first strategy is best; totals are linear."""
    (total0, mass0), (total1, mass1) = ends
    # N₀(p)·Z(p) - N(p)·Z₀(p) ≥ 0 for the first strategy (N₀, Z₀): a quadratic in p for each other
    slope_n, slope_z = total1 - total0, mass1 - mass0
    square = slope_n[0] * slope_z - slope_n * slope_z[0]
    linear = slope_n[0] * mass0 + total0[0] * slope_z - slope_n * mass0[0] - total0 * slope_z[0]
    constant = total0[0] * mass0 - total0 * mass0[0]
    low, high = 0.0, 1.0
    scale = 1e-9 * max(1.0, float(np.abs(total0).max()), float(np.abs(total1).max()))
    for a, b, c in zip(square[1:], linear[1:], constant[1:], strict=True):
        for root in _roots(float(a), float(b), float(c), scale):
            if a * now * now + b * now + c <= scale:  # another strategy is as good now
                continue
            if root <= now:
                low = max(low, root)
            else:
                high = min(high, root)
    return low, high


def _roots(a: float, b: float, c: float, scale: float) -> list[float]:
    """The roots in [0, 1] of a p² + b p + c."""
    terms = [a, b, c] if abs(a) > scale else [b, c] if abs(b) > scale else []
    real = [float(root.real) for root in np.roots(terms) if root.imag == 0]
    return [root for root in real if -1e-12 <= root <= 1 + 1e-12]
