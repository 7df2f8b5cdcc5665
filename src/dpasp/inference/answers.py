"""Answers, which print themselves, appear in notebooks, and turn into JSON and tables.

>>> answer = Answer("a | b", lower=0.2, upper=0.7)
>>> print(answer)
ℙ(a | b) = [0.200000, 0.700000]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError, closest, needed
from dpasp.language.arguments import whole_given
from dpasp.version import __version__
from dpasp.writing import counted, harmless, printable

if TYPE_CHECKING:
    import pandas

    from dpasp.display.scene import Picture

AnswerNumber = float | NDArray[np.float64]  # an array has one number for each test row
Item = TypeVar("Item")
Value = bool | Literal["undef"]  # of an atom in an assignment
Assignment = Mapping[str, Value]
SAME = 1e-12  # the relative difference by which equal bounds may differ because of rounding
SMALLEST = float(np.finfo(np.float64).tiny)  # doubles below this lose digits
SHOWN = 3  # ties that are shown as text
EDGE = 5  # test rows at the top and at the bottom of a long table


def decimal_text(number: float, log10: float | None = None) -> str:
    """Six decimals, or an exponent if they would hide that the number is not 0.

    A number too small for a double is given by its logarithm (base 10).

    >>> decimal_text(0.5), decimal_text(1.2345678e-10), decimal_text(0.0)
    ('0.500000', '1.234568e-10', '0.000000')
    >>> decimal_text(0.0, log10=-2287.87)
    '10^-2287.9'
    """
    if log10 is None and 0 < number < SMALLEST:
        log10 = math.log10(number)
    if log10 is not None and number < SMALLEST and log10 > -math.inf:
        return f"10^{log10:.1f}"
    text = f"{number:.6f}"
    return f"{number:.6e}" if number != 0 and float(text) == 0 else text


class Listed(Sequence[Item]):
    """Results that are the sequence in one of their fields, whose name is ``listed``."""

    __slots__ = ()
    listed: ClassVar[str]

    @overload
    def __getitem__(self, which: int) -> Item: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[Item]: ...
    def __getitem__(self, which: int | slice) -> Any:
        return getattr(self, self.listed)[which]

    def __len__(self) -> int:
        return len(getattr(self, self.listed))


class _Numbered:
    """An answer that is one number, or a lower and an upper one."""

    __slots__ = ()
    kind: ClassVar[str]  # the kind of answer in JSON
    written: ClassVar[tuple[str, ...]]  # the fields in JSON, if known,
    unsure: ClassVar[tuple[str, ...]] = ("gap", "exact")  # and if the answer is not exact
    query: str

    @property
    def exact(self) -> bool:
        """Whether the answer is exact."""
        return True

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The value, or the lower and the upper value."""
        ends = (getattr(self, name) for name in ("value", "lower", "upper"))
        return tuple(number for number in ends if number is not None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without unknown fields."""
        found = {name: _listed(getattr(self, name)) for name in self.written}
        if self.exact:
            found |= dict.fromkeys(self.unsure)
        nothing = [name for name, value in found.items() if value is None]
        nothing += [name for name in ("more_ties", "more_lower_ties") if not found.get(name)]
        known = {name: value for name, value in found.items() if name not in nothing}
        return {"query": self.query, "kind": self.kind} | known | self._log_fields()

    def _log_fields(self) -> dict[str, object]:
        """The logarithms that the JSON form has."""
        return {}

    def __hash__(self) -> int:
        return hash(self.query)

    def __repr__(self) -> str:
        return str(self)


class _Probability(_Numbered):
    """An answer that is a probability, or several.

    The logarithms (base 10) of its numbers work for probabilities of any size. If some are too
    small for doubles, ``logs`` of a subclass has one logarithm for each of its ``numbers``.
    """

    __slots__ = ()
    logs: tuple[AnswerNumber, ...] | None

    def _repr_html_(self) -> str:
        from dpasp.display.html import answer_html

        assert isinstance(self, Answer | MapAnswer | MapAnswers)
        return answer_html(self)

    def __float__(self) -> float:
        """The number; :class:`UsageError` for an interval or several rows."""
        low, high = self.numbers[0], self.numbers[-1]
        if np.size(low) != 1:
            help = "take answer.value[i], or all of them with numpy.asarray(answer.value)"
            raise UsageError(f"the answer has {counted(np.size(low), 'row')}, not one number", help)
        one, other = float(np.ravel(low)[0]), float(np.ravel(high)[0])
        if other - one > SAME * abs(other):
            help = "take answer.lower or answer.upper"
            raise UsageError(f"the answer is an interval, {interval_text([one, other])}", help)
        return one

    @property
    def log10(self) -> AnswerNumber | None:
        """The logarithm (base 10) of the probability; None for an interval.

        It is -inf for 0. Under credal, it is a number if the bounds are equal.
        """
        logs = self.logarithms()
        return logs[0] if np.all(_same_logs(logs[0], logs[-1])) else None

    @property
    def log10_lower(self) -> AnswerNumber | None:
        """The logarithm of the lower probability; None under maxent."""
        return None if len(self.logarithms()) == 1 else self.logarithms()[0]

    @property
    def log10_upper(self) -> AnswerNumber | None:
        """The logarithm of the upper probability; None under maxent."""
        return None if len(self.logarithms()) == 1 else self.logarithms()[1]

    def logarithms(self) -> tuple[AnswerNumber, ...]:
        """The logarithm of each of the ``numbers``."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            found = [np.log10(number) for number in self.numbers]
        return tuple(log if np.ndim(log) else float(log) for log in found)

    def _log_fields(self) -> dict[str, object]:
        """The logarithms for JSON, if some numbers are too small for doubles."""
        numbers, logs = self.numbers, self.logarithms()
        names = ["log10"] if len(logs) == 1 else ["log10_lower", "log10_upper"]
        if len(logs) > 1 and self.log10 is not None:
            names, numbers, logs = ["log10", *names], (numbers[0], *numbers), (logs[0], *logs)
        found: dict[str, object] = {}
        for name, log, number in zip(names, logs, numbers, strict=True):
            if np.any((np.asarray(number) < SMALLEST) & (np.asarray(log) > -np.inf)):
                rows = np.asarray(log).tolist()  # JSON has no logarithm of 0
                found[name] = (
                    [None if row == -math.inf else row for row in rows] if np.ndim(log) else rows
                )
        return found


def _same_logs(low: AnswerNumber, high: AnswerNumber) -> NDArray[np.bool_]:
    """Whether two logarithms are equal up to rounding."""
    with np.errstate(invalid="ignore"):  # the logarithms of two zeros
        close = np.abs(np.subtract(high, low)) <= SAME * np.maximum(1.0, np.abs(high))
    return np.asarray(close | (np.asarray(low) == np.asarray(high)))


@dataclass(frozen=True, slots=True)
class Answer(_Probability):
    """The probability of a query: ``value`` under maxent, ``lower`` and ``upper`` under credal.

    If probabilities of the program are intervals, ``lower_at`` and ``upper_at`` are probabilities
    within them that attain the bounds.

    An approximate answer has an ``interval`` around the exact one:

    - with ``samples``, it comes from that many and has a confidence of 95 %;
    - with a ``gap``, its width, it certainly contains the exact answer;
    - with both, the ``interval`` is certain, and ``likely`` has a confidence of 95 %.

    Samples from ``chains`` depend on each other: they are worth ``effective`` independent ones,
    their interval holds only in the long run, and ``r_hat`` is near 1 if the chains agree.

    A probability may be too small for a double, which is then 0: ``log10`` (``log10_lower``,
    ``log10_upper``) is its logarithm. If there are such numbers, ``logs`` are the logarithms of all
    ``numbers``.

    If the query can be undefined, ``undefined`` is the probability of that given the evidence: one
    number under maxent, a lower and an upper one under credal.

    In a program with decisions, it is the answer under the best ``strategy``.
    """

    kind: ClassVar[str] = "probability"
    sign: ClassVar[str] = "ℙ"
    written: ClassVar[tuple[str, ...]] = (
        *("value", "lower", "upper", "interval", "samples", "gap", "likely", "chains"),
        *("effective", "r_hat", "undefined", "exact", "strategy"),
    )
    unsure: ClassVar[tuple[str, ...]] = ("exact",)
    query: str
    value: AnswerNumber | None = None
    lower: AnswerNumber | None = None
    upper: AnswerNumber | None = None
    lower_at: Mapping[str, float] | None = field(default=None, compare=False)
    upper_at: Mapping[str, float] | None = field(default=None, compare=False)
    interval: tuple[AnswerNumber, AnswerNumber] | None = None
    samples: int | None = None
    gap: AnswerNumber | None = None
    likely: tuple[AnswerNumber, AnswerNumber] | None = None
    chains: int | None = None
    effective: float | None = None
    r_hat: float | None = None
    logs: tuple[AnswerNumber, ...] | None = field(default=None, repr=False)
    undefined: AnswerNumber | tuple[AnswerNumber, ...] | None = None
    strategy: Mapping[str, bool] | None = field(default=None, compare=False)

    def __eq__(self, other: object) -> bool:
        """Whether queries and answers are equal in every row."""
        if not isinstance(other, Answer):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = _Numbered.__hash__
    __repr__ = _Numbered.__repr__

    @property
    def exact(self) -> bool:
        """Whether the answer is exact, not an estimate or bounds."""
        return self.interval is None or (self.gap is not None and not np.any(self.gap))

    @property
    def name(self) -> str:
        """The name of the numbers: ``ℙ(a | b)``, or ``𝔼(Z : sum(Z))``."""
        return f"{self.sign}({self.query})"

    def rows_text(self) -> list[str]:
        """The numbers of every test row, as text."""
        numbers = np.broadcast_arrays(*map(np.atleast_1d, self.numbers))
        logs = np.broadcast_arrays(*map(np.atleast_1d, self.logarithms()))
        pairs = zip(zip(*numbers, strict=True), zip(*logs, strict=True), strict=True)
        return [bounds_text(row, row_logs) for row, row_logs in pairs]

    def __str__(self) -> str:
        return printable(harmless(self._text()))

    def _text(self) -> str:
        numbers = self.numbers
        if not np.ndim(numbers[0]):
            text = interval_text if self.interval is not None else bounds_text
            notes = self._precision()
            if self.undefined is not None:
                ends = self.undefined if isinstance(self.undefined, tuple) else (self.undefined,)
                notes += f"  (undefined: {bounds_text(ends)})"
            if self.strategy is not None:
                notes += f"  (under {strategy_text(self.strategy)})"
            return f"{self.name} = {text(numbers, self.logs)}{notes}"
        lines = [f"  {i:5d}  {text}" for i, text in enumerate(self.rows_text())]
        if len(lines) > 2 * EDGE:
            left = f"  …      {len(lines) - 2 * EDGE:,} more"
            lines = [*lines[:EDGE], left, *lines[-EDGE:]]
        return "\n".join([f"{self.name}:", *lines])

    def _precision(self) -> str:
        """The precision of an approximate answer as text."""
        if self.interval is None:
            return ""
        if self.samples is not None:
            sure = "" if self.likely is None else f"surely {interval_text(self.interval)}; "
            likely = interval_text(self.likely or self.interval)
            kind = "sample" if self.samples == 1 else "samples"
            if self.chains is not None:
                alike = f"{self.effective or 0.0:.0f} samples"
                worth = "1 sample" if alike == "1 samples" else alike
                worth = f"worth {worth}, R-hat {self.r_hat or 0.0:.3f}"
                kind = (
                    f"{'state' if self.samples == 1 else 'states'} of {self.chains} chains, {worth}"
                )
            return f"  ({sure}95 %: {likely}, {self.samples} {kind})"
        logs = self.logs
        if logs is not None:  # of the ends, where the interval is the answer itself
            logs = None if np.any(self.gap) else (logs[0], logs[-1])
        within = "" if self.value is None else f"within {interval_text(self.interval, logs)}, "
        return f"  ({within}gap {decimal_text(float(self.gap or 0.0))})"


@dataclass(frozen=True, slots=True)
class Expectation(Answer):
    """An expected total, which may be any real number.

    >>> print(Expectation("Z : sum(Z)", value=-9.0))
    𝔼(Z : sum(Z)) = -9.000000
    """

    kind: ClassVar[str] = "expectation"
    sign: ClassVar[str] = "𝔼"
    __hash__ = _Numbered.__hash__
    __repr__ = _Numbered.__repr__

    def logarithms(self) -> tuple[AnswerNumber, ...]:
        """Not known: an expected total may be negative."""
        found = (np.full(np.shape(number), np.nan) for number in self.numbers)
        return tuple(log if np.ndim(log) else float(log) for log in found)

    def _log_fields(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True, slots=True)
class Decision(_Numbered):
    """The best strategy: which of the decided atoms are taken, and the value of that.

    ``value`` is its expected utility (for ``#decide goal``, the probability of the goal). Under
    credal, it is between ``lower`` and ``upper``, and the ``criterion`` says which of these counts:
    ``maximin`` the lower one, ``maximax`` the upper one. Other criteria leave several
    ``strategies``. If a limit stopped the search, this is the best strategy found, and none has a
    value above ``most``. If no circuit was compiled in time, the value is an estimate from
    ``samples`` random worlds, with a confidence ``interval``.

    ``alternatives`` shows what every other decision would cost, ``contributions`` what the
    utilities add, ``value_of("atom")`` how much knowing an atom before deciding is worth, and
    ``turning_points`` how far probabilities can change before another strategy is better.
    """

    kind: ClassVar[str] = "decision"
    written: ClassVar[tuple[str, ...]] = (
        *("value", "lower", "upper", "criterion", "strategy", "strategies", "minimal", "most"),
        *("gap", "exact", "interval", "samples", "row"),
    )
    query: str
    strategy: Mapping[str, bool]
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    criterion: str | None = None
    goal: bool = False  # whether the value is the probability of a goal
    strategies: tuple[Mapping[str, bool], ...] = ()  # those that a criterion leaves
    minimal: tuple[tuple[str, ...], ...] = ()  # sets of atoms that suffice for the goal
    most: float | None = None
    interval: tuple[float, float] | None = None  # 95 %, where the value is an estimate
    samples: int | None = None  # worlds that the estimate is from
    row: int | None = None  # of test data
    why: Any = field(default=None, compare=False, repr=False)

    __hash__ = _Numbered.__hash__
    __repr__ = _Numbered.__repr__

    @property
    def exact(self) -> bool:
        """Whether the search ended, so that no other strategy is better."""
        return self.most is None

    @property
    def gap(self) -> float:
        """The most by which another strategy could be better; 0 if the search ended."""
        if self.most is None:
            return 0.0
        counts = self.upper if self.criterion == "maximax" else self.lower
        return self.most - (counts if counts is not None else self.value or 0.0)

    @property
    def alternatives(self) -> Any:
        """What every other decision would cost: a table that prints, and has ``rows``."""
        return self._known().alternatives

    @property
    def contributions(self) -> Any:
        """What each utility adds to the expected total, the largest first."""
        return self._known().contributions

    @property
    def turning_points(self) -> Any:
        """How far each probability can change before another strategy is better."""
        return self._known().turning_points

    def value_of(self, atom: str) -> float:
        """How much it is worth to know whether an atom holds before deciding."""
        return float(self._known().value_of(atom))

    def reasons(self, atoms: Sequence[str] | None = None) -> dict[str, Any]:
        """All reasons in a dictionary, for JSON: ``alternatives``, ``contributions``, ``knowing``
        (the value of knowing each atom, or these ``atoms``), ``turning_points``, ``notes``.
        """
        found: dict[str, Any] = self._known().to_dict(atoms)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        kept = (getattr(self, each.name) for each in fields(self) if each.name != "why")
        return type(self), tuple(kept)  # reasons stay with the circuit that tells them

    def _known(self) -> Any:
        if self.why is None:
            raise UsageError("this decision was read from elsewhere: ask program.decide() for why")
        return self.why

    @property
    def name(self) -> str:
        """The name of the value: ``max 𝔼(| e)`` or ``max ℙ(goal | e)``."""
        what = f"ℙ({self.query})" if self.goal else "𝔼" + (f"({self.query})" if self.query else "")
        return f"{self.criterion or 'max'} {what}"

    def __float__(self) -> float:
        """The value; :class:`UsageError` for an interval."""
        return float(Expectation(self.query, self.value, self.lower, self.upper))

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}: "
        if self.strategies:
            kept = "\n".join(f"  {strategy_text(each)}" for each in self.strategies)
            count = len(self.strategies)
            left = f"{count} strateg{'ies are' if count > 1 else 'y is'} left by {self.criterion}"
            return printable(harmless(f"{row}{left}:\n{kept}"))
        text = f"{row}{self.name} = {bounds_text(self.numbers)} at {strategy_text(self.strategy)}"
        if self.most is not None:
            how = f"estimated from {counted(self.samples, 'world')}; " if self.samples else ""
            text += f"  ({how}no strategy has more than {decimal_text(self.most)})"
        for smaller in self.minimal if len(self.minimal) > 1 else ():
            text += f"\n  minimal: {', '.join(smaller) or 'nothing'}"
        return printable(harmless(text))

    def plot(self, path: str | Path | None = None) -> Picture:
        """The alternatives as bars, with their costs; saved if there is a path."""
        from dpasp.display.charts import decision_picture

        return decision_picture(self).saved(path)

    def _repr_html_(self) -> str:
        from dpasp.display.html import decision_html

        return decision_html(self)


LISTED = 12  # the most atoms not taken that are all named


def strategy_text(strategy: Mapping[str, bool]) -> str:
    """``umbrella, not raincoat``; if many are not taken, they are only counted.

    >>> strategy_text({"umbrella": True, "raincoat": False})
    'umbrella, not raincoat'
    """
    left = [name for name, taken in strategy.items() if not taken]
    if len(left) <= LISTED:
        return assignment_text(strategy)
    taken = ", ".join(name for name, chosen in strategy.items() if chosen) or "nothing"
    return f"{taken} and none of {len(left)} others"


@dataclass(frozen=True, slots=True)
class MapAnswer(_Probability):
    """The most probable joint value of some atoms.

    Under maxent, ``assignment`` has probability ``value``. Under credal, ``assignment`` has the
    largest upper probability ``upper``, and ``lower_assignment`` the largest lower probability
    ``lower``. ``ties`` and ``lower_ties`` are other assignments with the same probability;
    ``more_ties`` and ``more_lower_ties`` say that there are even more.

    If a limit stopped the search, these are the best assignments found, and their probabilities are
    at least these numbers. No assignment has a probability above ``most``, or a lower probability
    above ``lower_most``. Logarithms and ``strategy`` are as in :class:`Answer`.
    """

    kind: ClassVar[str] = "map"
    written: ClassVar[tuple[str, ...]] = (
        *("value", "lower", "upper", "assignment", "lower_assignment", "ties", "lower_ties"),
        *("more_ties", "more_lower_ties", "interval", "most", "lower_most", "gap", "exact"),
        "strategy",
    )
    query: str
    assignment: Assignment
    value: float | None = None
    upper: float | None = None
    lower: float | None = None
    lower_assignment: Assignment | None = None
    ties: tuple[Assignment, ...] = ()
    lower_ties: tuple[Assignment, ...] = ()
    more_ties: bool = False
    more_lower_ties: bool = False
    most: float | None = None
    lower_most: float | None = None
    logs: tuple[AnswerNumber, ...] | None = field(default=None, repr=False)
    strategy: Mapping[str, bool] | None = field(default=None, compare=False)

    __hash__ = _Numbered.__hash__
    __repr__ = _Numbered.__repr__

    @property
    def interval(self) -> tuple[float, float] | None:
        """What the largest (upper) probability surely lies in; None if it is exact."""
        best = self.upper if self.value is None else self.value
        return None if self.most is None or best is None else (best, self.most)

    @property
    def gap(self) -> float:
        """The most by which another assignment could be more probable; 0 if the search ended."""
        best = self.upper if self.value is None else self.value
        pairs = ((best, self.most), (self.lower, self.lower_most))
        return max((m - n for n, m in pairs if n is not None and m is not None), default=0.0)

    @property
    def exact(self) -> bool:
        """Whether the search ended, so that no other assignment is more probable."""
        return self.most is None and self.lower_most is None

    def __str__(self) -> str:
        logs = self.logarithms()
        value = self.upper if self.value is None else self.value
        upper = (value, logs[-1], (self.assignment, *self.ties), self.more_ties, self.most)
        lines = [self._line("max ℙ", *upper)]
        if self.lower_assignment is not None and not self._coincide():
            every = (self.lower_assignment, *self.lower_ties)
            lower = (self.lower, logs[0], every, self.more_lower_ties, self.lower_most)
            lines = [self._line("max lower ℙ", *lower), self._line("max upper ℙ", *upper)]
        return printable(harmless("\n".join(lines)))

    def _line(
        self,
        name: str,
        value: float | None,
        log: AnswerNumber,
        every: tuple[Assignment, ...],
        more: bool,
        most: float | None,
    ) -> str:
        """The best assignments by one probability, on a line."""
        values = " or ".join(assignment_text(tied) for tied in every[: SHOWN + 1])
        left = len(every) - 1 - SHOWN
        if left > 0:
            values += f" and more than {counted(left, 'other')}" if more else f" and {left} more"
        bound = "" if most is None else f"  (no other has more than {decimal_text(most)})"
        under = "" if self.strategy is None else f"  (under {strategy_text(self.strategy)})"
        number = decimal_text(value or 0.0, float(log))
        sign = "=" if most is None else "≥"
        return f"{name}({self.query}) {sign} {number} at {values}{bound}{under}"

    def _coincide(self) -> bool:
        """Whether the lower and upper probability have the same assignments."""
        low, high = self.lower or 0.0, self.upper or 0.0
        ties = (self.assignment, *self.ties), (self.lower_assignment, *self.lower_ties)
        most = self.most == self.lower_most and bool(
            _same_logs(self.logarithms()[0], self.logarithms()[-1])
        )
        return high - low <= SAME * high and ties[0] == ties[1] and most


@dataclass(frozen=True, slots=True)
class MapAnswers(_Probability, Listed[MapAnswer]):
    """The most probable values of some atoms for every row, each a :class:`MapAnswer`.

    A row whose evidence is impossible has no assignment, and NaN for its probability.
    """

    kind: ClassVar[str] = "map"
    listed: ClassVar = "rows"
    query: str
    rows: tuple[MapAnswer, ...]
    row_labels: Any = field(default=None, compare=False)
    logs: tuple[AnswerNumber, ...] | None = field(default=None, repr=False, compare=False)

    __hash__ = _Numbered.__hash__
    __repr__ = _Numbered.__repr__

    @property
    def exact(self) -> bool:
        """Whether every search ended."""
        return all(row.exact for row in self.rows)

    @property
    def gap(self) -> float:
        """The most by which another assignment of some row could be more probable."""
        return max((row.gap for row in self.rows), default=0.0)

    @property
    def value(self) -> AnswerNumber | None:
        """The probability of the best assignment of each row; None under credal."""
        return self.numbers[0] if len(self.numbers) == 1 else None

    @property
    def lower(self) -> AnswerNumber | None:
        """The largest lower probability of each row; None under maxent."""
        return self.numbers[0] if len(self.numbers) > 1 else None

    @property
    def upper(self) -> AnswerNumber | None:
        """The largest upper probability of each row; None under maxent."""
        return self.numbers[1] if len(self.numbers) > 1 else None

    def logarithms(self) -> tuple[AnswerNumber, ...]:
        """The logarithm of each of the ``numbers``."""
        return tuple(map(np.array, zip(*(row.logarithms() for row in self.rows), strict=True)))

    @property
    def numbers(self) -> tuple[AnswerNumber, ...]:
        """The values [rows], or the lower and the upper values."""
        return tuple(map(np.array, zip(*(row.numbers for row in self.rows), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: a list with an entry for each row, in every field."""
        rows = [row.to_dict() for row in self.rows]
        names = dict.fromkeys(name for row in rows for name in row)
        lists = {
            name: [None if value != value else value for value in (row.get(name) for row in rows)]
            for name in names
        }
        return lists | {"query": self.query, "kind": self.kind}

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame with a line for each row and a column for each marked atom.

        Under credal there are two for each, ``…_lower`` and ``…_upper``.
        """
        pandas = needed("pandas", "usage", "to_frame()", "pip install pandas")
        lines: list[dict[str, Any]] = []
        for row in self.rows:
            line: dict[str, Any] = dict(row.assignment)
            if row.value is None:
                line = {f"{atom}_lower": v for atom, v in (row.lower_assignment or {}).items()}
                line |= {f"{atom}_upper": v for atom, v in row.assignment.items()}
            ends = {"value": row.value, "lower": row.lower, "upper": row.upper}
            lines.append(line | {name: end for name, end in ends.items() if end is not None})
        frame = pandas.DataFrame(lines)
        if self.row_labels is None:
            return frame.rename_axis("row")
        return frame.set_index(self.row_labels)

    def __str__(self) -> str:
        count = len(self.rows)
        shown = [i for i in range(count) if i < EDGE or i >= count - EDGE]
        names = row_names(shown, self.row_labels)
        width = max(map(len, names), default=0)
        texts = [
            [f"{name:>{width}}  {line}" for line in _of_row(self.rows[i])]
            for name, i in zip(names, shown, strict=True)
        ]
        if len(shown) < count:
            texts.insert(EDGE, [f"{'…':>{width}}  {count - len(shown):,} more"])
        lines = [f"    {printable(harmless(line))}" for text in texts for line in text]
        return "\n".join([printable(harmless(f"max ℙ({self.query}):")), *lines])


def row_names(rows: Iterable[int], labels: Any = None) -> list[str]:
    """The names of rows: the labels of their table, or numbers."""
    return [str(row if labels is None else labels[row]) for row in rows]


def _of_row(answer: MapAnswer) -> list[str]:
    """The part about one row in the text of all rows."""
    if np.isnan(answer.numbers[0]):
        return ["nan"]
    named = f"({harmless(answer.query)})"
    return [line.replace(named, "", 1) for line in str(answer).splitlines()]


def _same(one: object, other: object) -> bool:
    """Whether two fields of answers are equal: numbers, rows of numbers, or pairs of them."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if one is None or other is None or isinstance(one, str):
        return one == other if isinstance(one, str) else one is other
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)


def assignment_text(assignment: Assignment) -> str:
    """An assignment as literals.

    >>> assignment_text({"a": True, "b": False, "c": "undef"})
    'a, not b, undef c'
    """
    words = {True: "", False: "not ", "undef": "undef "}
    return ", ".join(words[value] + atom for atom, value in assignment.items()) or "nothing"


AnyAnswer = Answer | MapAnswer | MapAnswers | Decision


def lines_and_rows(answers: Iterable[AnyAnswer]) -> tuple[list[str], list[Answer]]:
    """The texts of single answers, and the answers that have a number for each test row."""
    lines, rows = list[str](), list[Answer]()
    for answer in answers:
        if not isinstance(answer, Answer):
            lines.append(str(answer))
        elif any(np.ndim(number) for number in answer.numbers):
            rows.append(answer)
        else:
            lines.append(answer._text())
    return lines, rows


@dataclass(frozen=True)
class Answers(Sequence[AnyAnswer]):
    """The answers to a program's questions, in its order, by index or by the query's text.

    Two are equal if they give the same answers under the same semantics, however found.
    """

    answers: tuple[AnyAnswer, ...]
    logic: str
    probability: str
    engine: str = field(compare=False)
    inconsistent: float = field(default=0.0, compare=False)  # mass of total choices without a model
    files: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
    statistics: Mapping[str, Any] = field(default_factory=dict, compare=False)
    # the learned parameters by statement, and the iterations of learning
    learned: Sequence[Mapping[str, Any]] = field(default=(), compare=False)
    history: Sequence[Mapping[str, Any]] = field(default=(), compare=False)
    row_labels: Any = field(default=None, compare=False)  # of a table of evidence: its index

    @overload
    def __getitem__(self, key: int | str) -> AnyAnswer: ...

    @overload
    def __getitem__(self, key: slice) -> Sequence[AnyAnswer]: ...

    def __getitem__(self, key: int | str | slice) -> AnyAnswer | Sequence[AnyAnswer]:
        if not isinstance(key, str):
            return self.answers[key]
        for answer in self.answers:
            if _squeeze(answer.query) == _squeeze(key):
                return answer
        names = [answer.query for answer in self.answers]
        near = closest(key, names)
        hint = f"; did you mean {near!r}?" if near else ""
        raise KeyError(f"no answer to {key!r}{hint}")

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[AnyAnswer]:
        return iter(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as printed by ``--json``."""
        return {
            "version": __version__,
            "files": list(self.files),
            "semantics": {"logic": self.logic, "probability": self.probability},
            "engine": self.engine,
            "inconsistent": self.inconsistent,
            "answers": [answer.to_dict() for answer in self.answers],
            **({"learned": list(self.learned)} if self.learned or self.history else {}),
            **({"history": list(self.history)} if self.history else {}),
            **(
                {"warnings": [warning.to_dict() for warning in self.warnings]}
                if self.warnings
                else {}
            ),
            "statistics": dict(self.statistics),
        }

    def to_json(self, indent: int | str | None = None) -> str:
        """Everything, as JSON text."""
        import json

        if indent is not None and not isinstance(indent, str):
            indent = whole_given(indent, "indent")
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_numpy(self) -> NDArray[np.float64]:
        """The numbers: [answers] under maxent, [answers, 2] under credal, then test rows."""
        width = 1 if self.probability == "maxent" else 2
        rows = [np.broadcast_arrays(*answer.numbers) for answer in self.answers]
        shape = np.broadcast_shapes(*(row[0].shape for row in rows)) if rows else ()
        array = np.empty((len(rows), width, *shape))
        for i, row in enumerate(rows):
            array[i] = row
        return array[:, 0] if width == 1 else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def to_frame(self) -> pandas.DataFrame:
        """A pandas DataFrame with a line for each answer and row.

        Rows of a table of evidence keep their index; those of test data are numbered. A pair of
        numbers becomes two columns, ``interval_lower`` and ``interval_upper``.

        Raises :class:`UsageError` if pandas is not installed.
        """
        pandas = needed("pandas", "usage", "to_frame()", "pip install pandas")
        tables = [(each, _row_count(each)) for each in map(_table_columns, self.answers)]
        frames = []
        for columns, rows in tables:
            if rows is None:
                frames.append(pandas.DataFrame([columns]))
                continue
            labels = self.row_labels
            if labels is None or len(labels) != rows:
                labels = pandas.RangeIndex(rows, name="row")
            frames.append(pandas.DataFrame(columns, index=labels))
        if not frames:
            return pandas.DataFrame()
        return pandas.concat(frames, ignore_index=all(rows is None for _, rows in tables))

    def save(self, path: str | Path) -> None:
        """Write the table to a file: .csv, or (by pandas and pyarrow) .parquet."""
        from dpasp.display.answers import write_table

        write_table(self, path)

    def records(self) -> Iterator[dict[str, Any]]:
        """The lines of the table: one for each answer and row."""
        for columns in map(_table_columns, self.answers):
            if _row_count(columns) is None:
                yield columns
                continue
            lists = {k: v.tolist() for k, v in columns.items() if isinstance(v, np.ndarray)}
            for row, values in enumerate(zip(*lists.values(), strict=True)):
                yield columns | {"row": row} | dict(zip(lists, values, strict=True))

    def __str__(self) -> str:
        from dpasp.display.answers import answers_text

        return answers_text(self, brief=True)

    def plot(self, path: str | Path | None = None) -> Picture:
        """The answers as bars and intervals, above the learning curve; saved if there is a path.

        A notebook shows it; ``path`` ends in .svg or, with matplotlib, in .png or .pdf.
        """
        from dpasp.display.charts import answers_picture

        return answers_picture(self).saved(path)

    def __repr__(self) -> str:
        return str(self) or f"no answers ({self.engine})"

    def _repr_html_(self) -> str:
        from dpasp.display.html import answers_html

        return answers_html(self)


def interval_text(numbers: Sequence[Any], logs: Sequence[Any] | None = None) -> str:
    """A number, or an interval; ``logs`` (base 10) for numbers too small for a double.

    >>> interval_text([0.2, 0.7])
    '[0.200000, 0.700000]'
    """
    known = [None] * len(numbers) if logs is None else [float(log) for log in logs]
    texts = [decimal_text(float(number), log) for number, log in zip(numbers, known, strict=True)]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def bounds_text(numbers: Sequence[Any], logs: Sequence[Any] | None = None) -> str:
    """An exact answer: one number if the lower and upper probability are equal.

    >>> bounds_text([0.2, 0.7]), bounds_text([0.3, 0.3])
    ('[0.200000, 0.700000]', '0.300000')
    """
    same = len(as_point(numbers, logs)) == 1
    return interval_text(numbers[:1], logs and logs[:1]) if same else interval_text(numbers, logs)


def _table_columns(answer: AnyAnswer) -> dict[str, Any]:
    """The columns of an answer in a table: a number or a text each, or one for each row."""
    columns: dict[str, Any] = {}

    def told(text: Callable[[Any], str], value: Any) -> Any:
        if not isinstance(answer, MapAnswers):
            return text(value)
        return np.array([text(each or ()) for each in value], dtype=object)

    for name, value in answer.to_dict().items():
        pair = getattr(answer, name, None)
        if name in ("interval", "likely", "undefined") and isinstance(pair, tuple):
            columns |= {f"{name}_lower": pair[0], f"{name}_upper": pair[1]}
        elif name in ("assignment", "lower_assignment", "strategy"):
            columns[name] = told(lambda values: assignment_text(dict(values)), value)
        elif name in ("ties", "lower_ties"):
            columns[name] = told(lambda ties: " or ".join(map(assignment_text, ties)), value)
        elif isinstance(value, list) and name not in ("strategies", "minimal"):
            numbers = all(n is None or isinstance(n, int | float) for n in value)
            columns[name] = np.asarray(value, dtype=np.float64 if numbers else object)
        elif not isinstance(value, list):
            columns[name] = value
    return columns


def _row_count(columns: Mapping[str, Any]) -> int | None:
    """How many rows there are; None for one answer."""
    arrays = (value for value in columns.values() if isinstance(value, np.ndarray) and value.ndim)
    return next((len(array) for array in arrays), None)


def as_point(numbers: Sequence[float], logs: Sequence[Any] | None = None) -> list[float]:
    """A lower and an upper probability as one number if they are equal up to rounding.

    >>> as_point([0.3, 0.3]), as_point([0.2, 0.7])
    ([0.3], [0.2, 0.7])
    """
    low, high = float(numbers[0]), float(numbers[-1])
    same = high - low <= SAME * abs(high)
    if same and logs is not None and high < SMALLEST:
        same = bool(_same_logs(logs[0], logs[-1]))
    return [low] if same else [low, high]


def log10_of(number: float) -> float:
    """The logarithm (base 10); -inf for 0."""
    return math.log10(number) if number > 0 else -math.inf


def _listed(value: Any) -> Any:
    """A field for JSON: lists for arrays and tuples, null for NaN and infinity."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        if not value or isinstance(value[0], Mapping | tuple):
            return [dict(e) if isinstance(e, Mapping) else list(e) for e in value] or None
        value = np.array(value).T
    if isinstance(value, np.ndarray):
        listed = value.tolist()
        flat = value.ndim == 1 and np.isnan(value).any()
        return [None if number != number else number for number in listed] if flat else listed
    return None if isinstance(value, float) and math.isinf(value) else value


def _squeeze(text: str) -> str:
    """A query's text without insignificant spaces: 'a|not b' is 'a | not b'."""
    parts = text.split('"')  # those at odd positions are inside strings
    for i in range(0, len(parts), 2):
        words = parts[i].replace("not ", "not\0").replace("undef ", "undef\0")
        parts[i] = "".join(words.split()).replace("\0", " ")
    return '"'.join(parts)
