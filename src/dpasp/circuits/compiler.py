"""From a ground program to a circuit, a plan of the work, or shares computed without a circuit.

Native code gets the translated program as flat arrays of integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpasp.circuits.cache import Cache
from dpasp.circuits.circuit import Circuit, HeadCycle, PartStatistics, Statistics, stopping
from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass
from dpasp.ground.program import Choice, GroundProgram, IntervalWeights, Rule
from dpasp.limits import UNLIMITED, Watch, silent
from dpasp.native import _native
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Question, query_literals
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Translation, Weighed, translate
from dpasp.writing import counted

NEVER = 0  # the literal that never holds
_WAYS = {"diagram": "diagrams"}  # in words, where they differ


class Flat(NamedTuple):
    """The arguments of the native compiler, whose source describes the arrays."""

    atoms: int
    rules: Integers
    choices: Integers
    questions: Integers
    own_atoms: Integers
    observed: Integers

    @property
    def size(self) -> int:
        """The number of all numbers."""
        return len(self.rules) + len(self.choices) + len(self.questions)


def flatten(
    translation: Translation,
    choices: Sequence[Choice],
    questions: Sequence[Question],
    observed: Sequence[int],
) -> Flat:
    """The program and the questions as arrays."""
    own_atoms: list[int] = []
    if translation.least:
        for atom in translation.own_atoms:
            own_atoms += (atom, translation.twins[atom])
    return Flat(
        translation.size,
        flat_rules(translation.rules),
        flat_choices(choices),
        flat_questions(translation, questions),
        np.array(own_atoms, dtype=np.int64),
        np.array(observed, dtype=np.int64),
    )


def flat_rules(rules: Iterable[Rule]) -> Integers:
    """Flags, heads, body and, if there are weights, the bound and the weights of each rule."""
    data: list[int] = []
    for head, body, choice, weights, bound in rules:
        data.append(choice + 2 * (weights is not None))
        data.append(len(head))
        data += head
        data.append(len(body))
        data += body
        if weights is not None:
            data.append(bound)
            data += weights
    return np.array(data, dtype=np.int64)


def flat_choices(choices: Iterable[Choice]) -> Integers:
    """The number of selectors of each choice, flags (1 nothing, 2 intervals), and the selectors."""
    data: list[int] = []
    for choice in choices:
        flags = choice.nothing + 2 * isinstance(choice.weight, IntervalWeights)
        data += (len(choice.selectors), flags, *choice.selectors)
    return np.array(data, dtype=np.int64)


def flat_questions(translation: Translation, questions: Iterable[Question]) -> Integers:
    """The literals of each query and of its evidence, both preceded by their number."""
    data: list[int] = []
    for question in questions:
        for part in (query_literals(question), question.evidence):
            conjunction = translation.conjunction(part)
            if conjunction is None:
                conjunction = (NEVER,)
            data.append(len(conjunction))
            data += conjunction
    return np.array(data, dtype=np.int64)


# --- compiling ---------------------------------------------------------------------------------

CompilerMode = Literal["bits", "counts", "least"]  # what to know about models of a total choice
CompilerWay = Literal["auto", "elimination", "tables", "diagram", "search"]
Order = Literal["auto", "narrow", "breadth", "depth", "polished", "tree"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile: way and order, the largest size of a part, and the most work.

    With known ``weights``, a network with very large tables is summed up with numbers; the circuit
    is then valid only for these weights (``Circuit.of_weights``).
    """

    way: CompilerWay = "auto"
    order: Order = "auto"
    nodes: int = 30_000_000  # of a part, at most
    work: int = 6_000_000_000  # about ten minutes for one attempt
    weights: Weights | None = field(default=None, repr=False, compare=False)  # [leaves]


def compile(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    observed: Sequence[int] = (),
    options: Options = Options(),  # noqa: B008 - frozen
    cache: Cache | None = None,
    watch: Watch = UNLIMITED,
) -> Circuit:
    """The circuit that answers the questions of a ground program.

    ``observed`` are determined atoms that get two more leaves each (true, false) after those of the
    choices. With a ``cache``, a circuit that was compiled before is read from there. Progress is
    reported to the ``watch``. Raises :class:`HeadCycle` for programs that must be enumerated, and
    :class:`SizeLimit` if every way exceeds the options.
    """
    translation = _compilable(ground, meaning, watch)
    flat = flatten(translation, ground.choices, ground.questions, observed)
    if cache is None or not cache.is_for(flat.size):
        return compile_flat(flat, len(ground.choices), meaning, options, watch)
    key = _key(flat, meaning, options)
    cached = cache.get(key)
    if cached is not None:
        return replace(cached, cached=True)
    circuit = compile_flat(flat, len(ground.choices), meaning, options, watch)
    if not circuit.of_weights:
        cache.put(key, circuit)
    return circuit


def _compilable(ground: GroundProgram, meaning: Meaning, watch: Watch) -> Translation:
    """The translated program; raises :class:`HeadCycle` for one that must be enumerated."""
    if isinstance(ground, Weighed) and ground.by_table:
        raise HeadCycle("a total choice is weighed as a whole: its models are enumerated")
    return translate(ground, meaning.logic, watch)


def _key(flat: Flat, meaning: Meaning, options: Options) -> str:
    """A key for everything that affects a circuit."""
    import hashlib

    shape = (_native.build, meaning.logic, meaning.probability, options, flat.atoms)
    digest = hashlib.sha256(repr(shape).encode())
    for array in flat[1:]:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(array.tobytes())
    return digest.hexdigest()


def built_by() -> str:
    """Which compiler, options and sources the native code was built from.

    >>> built_by()
    '... sources ...'
    """
    return f"{_native.compiler}, {_native.options}, sources {_native.build[:12]}"


@dataclass(frozen=True, slots=True)
class PartPlan:
    """An independent part of the program, and what will be tried on it, the most promising first.

    ``entries`` is the number of entries of all tables, if elimination is chosen.
    """

    choices: int
    guesses: int
    gates: int
    width: int  # the smallest that an order promises
    tries: tuple[str, ...]
    entries: int = 0


def plan(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    options: Options = Options(),  # noqa: B008 - frozen
    watch: Watch = UNLIMITED,
) -> tuple[PartPlan, ...]:
    """What compiling would involve, the widest part first; quick even if compiling is not."""
    translation = _compilable(ground, meaning, watch)
    flat = flatten(translation, ground.choices, ground.questions, ())
    with stopping(watch) as limits:
        report = _native.plan(_native.Ground(*flat), native_options(flat, meaning, options), limits)
    parts: list[PartPlan] = []
    for section in report["parts"]:
        text = f"{section['way']}, {section['order']}"
        # The tries of a part come in a row; a part begins with the first way again.
        same = parts and text not in parts[-1].tries
        size = (section["choices"], section["guesses"], section["gates"])
        if same and size == (parts[-1].choices, parts[-1].guesses, parts[-1].gates):
            last = parts.pop()
            width = min(last.width, section["width"] or last.width)
            parts.append(PartPlan(*size, width, (*last.tries, text)))
        else:
            entries = section.get("entries", 0)
            parts.append(PartPlan(*size, section["width"], (text,), entries))
    return tuple(sorted(parts, key=lambda part: -part.width))


def compile_flat(
    flat: Flat,
    choices: int,
    meaning: Meaning,
    options: Options,
    watch: Watch,
) -> Circuit:
    """The circuit of a flattened program."""
    started = watch.elapsed()
    progress = None if watch.report is silent else lambda share: watch.report(share, 1.0)
    asked = native_options(flat, meaning, options, watch.limits.threads or 1)
    with stopping(watch) as limits:
        native, report = _native.compile(_native.Ground(*flat), asked, limits, progress)
    seconds = watch.elapsed() - started
    statistics = _statistics(native, report, choices, seconds)
    return Circuit(meaning, statistics, native, of_weights=report["of_weights"])


def native_options(
    flat: Flat, meaning: Meaning, options: Options, threads: int = 1
) -> _native.Options:
    """The options as the native compiler takes them."""
    mode: CompilerMode = "counts" if meaning.maxent else "bits"
    if len(flat.own_atoms):
        mode = "least"
    weights = [] if options.weights is None else options.weights.tolist()
    how = (options.way, options.order, options.nodes, options.work)
    return _native.Options(mode, *how, weights, threads)


def _statistics(
    native: _native.Circuit, report: dict[str, Any], choices: int, seconds: float
) -> Statistics:
    parts = tuple(PartStatistics(**part) for part in report["parts"])
    return Statistics(
        choices,
        native.nodes,
        native.edges,
        native.depth,
        max((part.width for part in parts), default=0),
        _most(part.way for part in parts),
        seconds,
        _most(part.order for part in parts),
        **{name: report[name] for name in ("determined", "inner", "guesses", "gates")},
        parts=parts,
    )


def _most(names: Any) -> str:
    """The names that occur, the most frequent first."""
    return "+".join(name for name, _ in Counter(names).most_common())


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of a program and its independent parts, the widest first.

    >>> tries = ("diagram, narrow", "diagram, reverse narrow", "tables, narrow")
    >>> print(Plan(9, (PartPlan(5, 2, 30, 4, tries), PartPlan(2, 0, 3, 1, tries))))
    9 choices, of which 7 matter, in 2 parts; the widest has 5 choices, 2 inner variables, \
width about 4; trying diagrams (narrow), tables (narrow)
    >>> print(Plan(9, (PartPlan(9, 0, 30, 5, ("elimination, tree",), 1214),)))
    9 choices in 1 part; width about 5; elimination, by tables of 1,214 entries in all
    """

    choices: int
    parts: tuple[PartPlan, ...]

    def __str__(self) -> str:
        if not self.parts:
            return f"{counted(self.choices, 'choice')}, none of which matters"
        text = counted(self.choices, "choice")
        matter = sum(part.choices for part in self.parts)
        if matter < self.choices:
            text += f", of which {matter} matter{'s' if matter == 1 else ''},"
        text += f" in {counted(len(self.parts), 'part')}"
        widest = self.parts[0]
        size = [counted(widest.choices, "choice")]
        if widest.guesses:
            size.append(counted(widest.guesses, "inner variable"))
        size.append(f"width about {widest.width}")
        if len(self.parts) > 1:
            text += f"; the widest has {', '.join(size)}"
        else:
            text += f"; {', '.join(size[1:])}"
        if widest.entries:
            return f"{text}; elimination, by tables of {widest.entries:,} entries in all"
        return f"{text}; trying {_tries(widest.tries)}"

    def _repr_html_(self) -> str:
        from dpasp.display.html import plan_html

        return plan_html(self)


def _tries(tries: tuple[str, ...]) -> str:
    """Ways with their orders; an order and its reverse count as one."""
    orders: dict[str, dict[str, None]] = {}
    for way, order in (text.split(", ") for text in tries):
        orders.setdefault(way, {})[order.removeprefix("reverse ")] = None
    return ", ".join(f"{_WAYS.get(way, way)} ({', '.join(names)})" for way, names in orders.items())


@dataclass(frozen=True, slots=True)
class Shares:
    """The masses of evidence and query together, as logarithms [questions].

    ``entries`` is the number of entries in the tables of the elimination, and ``width`` the bits of
    the largest.
    """

    log_holds: Array
    entries: int
    width: int


def shares(
    ground: GroundProgram,
    meaning: Meaning,
    weights: Weights,
    *,
    least: float = 0,
    most: float = 3e8,
    watch: Watch = UNLIMITED,
) -> Shares | None:
    """The shares of questions about one atom each, all under the same evidence.

    The choices must determine all atoms, and there may be no constraints unless models have weights
    (factors and tables are then summed up). None where the program is no network, or there are
    fewer than ``least`` entries. Raises :class:`SizeLimit` if there are more than ``most``.
    """
    flat, options = _in_numbers(ground, meaning, weights, most, watch)
    with stopping(watch) as limits:
        summed = _native.shares(flat, options, least, limits)
    return None if summed is None else Shares(*summed)


@dataclass(frozen=True, slots=True)
class Maxima:
    """The largest weight of any joint answer to the questions, and the answers that have it.

    ``holds`` says for each of these which questions hold [ties, questions]; ``log`` is the
    logarithm of the weight. If that is only a bound, ``holds`` is the best answer found, and
    ``found`` the logarithm of a lower bound of its weight; otherwise both are equal.
    """

    log: float
    found: float
    holds: Integers

    @property
    def exact(self) -> bool:
        """Whether what was found has the largest weight."""
        return self.found >= self.log - 1e-10


def maxima(
    ground: GroundProgram,
    meaning: Meaning,
    weights: Weights,
    ties: int,
    *,
    sums: bool = False,
    bounded: bool = False,
    most: float = 3e8,
    watch: Watch = UNLIMITED,
) -> Maxima | None:
    """The most probable answers to the questions together, at most ``ties`` of them.

    Programs are as in :func:`shares`. Without ``sums``, the questions must read the values of all
    choices; with them, everything else is summed out. Raises :class:`SizeLimit` if the tables have
    more than ``most`` entries, unless the maximum may be ``bounded`` instead.
    """
    flat, options = _in_numbers(ground, meaning, weights, most, watch)
    with stopping(watch) as limits:
        found = _native.maxima(flat, options, ties, sums, bounded, limits)
    return None if found is None else Maxima(*found)


def _in_numbers(
    ground: GroundProgram, meaning: Meaning, weights: Weights, most: float, watch: Watch
) -> tuple[_native.Ground, _native.Options]:
    """The program with its tables, and options for at most ``most`` entries."""
    translation = translate(ground, meaning.logic, watch)
    flat = flatten(translation, ground.choices, ground.questions, ())
    tables = None
    if isinstance(ground, Weighed) and ground.plain is not None:
        tables, numbers = _flat_tables(ground)
        weights = np.concatenate([weights, numbers])
    options = native_options(flat, meaning, Options(work=int(most), weights=weights))
    return _native.Ground(*flat, tables), options


def _flat_tables(ground: Weighed) -> tuple[Integers, Weights]:
    """The sets of literals of all tables, each preceded by their number, and the weights."""
    from dpasp.semantics.weighted import factor_tables

    data: list[int] = []
    weights: list[Weights] = [np.zeros(0)]
    for sets, numbers in factor_tables(ground):
        data.append(len(sets))
        for literals in sets:
            data.append(len(literals))
            data += literals
        weights.append(numbers)
    return np.array(data, dtype=np.int64), np.concatenate(weights)
