"""Ground program in, circuit out.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. 0.5::b. c :- a, not b. #query c."))
>>> compile(program, Meaning()).leaves
4
>>> [part.choices for part in plan(program, Meaning())]
[2]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Literal

from dpasp.circuits.cache import Cache
from dpasp.circuits.circuit import Circuit, PartStatistics, Statistics
from dpasp.circuits.flatten import Flat, flatten
from dpasp.circuits.stops import stopping
from dpasp.dataclass import dataclass
from dpasp.limits import UNLIMITED, Watch, silent
from dpasp.logic.program import GroundProgram
from dpasp.native import _native
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import translate

CompilerMode = Literal["bits", "counts", "least"]  # what is known of the models of a total choice
CompilerWay = Literal["auto", "elimination", "tables", "diagram"]
Order = Literal["auto", "narrow", "breadth", "depth", "polished", "tree"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile: which way and order, how large a part may grow, how much work it may take.

    Under ``weights`` that are known, a network whose tables would be very large is summed up
    in numbers; the circuit is then of these weights alone (``Circuit.of_weights``).
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

    ``observed`` are determined atoms whose truth is then weighed by two more leaves each
    (true, false) after those of the choices. With a ``cache``, a circuit that was compiled
    before is read from there. The share that is compiled is reported to the ``watch``.
    Raises :class:`HeadCycle` for what must be enumerated and :class:`SizeLimit` when every
    way outgrows the options.
    """
    translation = translate(ground, meaning.logic, watch)
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


def _key(flat: Flat, meaning: Meaning, options: Options) -> str:
    """A name for all that shapes a circuit."""
    import hashlib

    shape = (_native.build, meaning.logic, meaning.probability, options, flat.atoms)
    digest = hashlib.sha256(repr(shape).encode())
    for array in (flat.rules, flat.choices, flat.questions, flat.own_atoms, flat.observed):
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(array.tobytes())
    return digest.hexdigest()


def built_by() -> str:
    """Who compiled this compiler, with which options, from which sources.

    >>> built_by()
    '... sources ...'
    """
    return f"{_native.compiler}, {_native.options}, sources {_native.build[:12]}"


@dataclass(frozen=True, slots=True)
class PartPlan:
    """An independent part of the program, and what will be tried on it, the best guess first.

    ``entries`` is how many entries the tables have that elimination makes, where it is chosen.
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
    """What compiling would work on, the widest part first; quick even where compiling is not."""
    translation = translate(ground, meaning.logic, watch)
    flat = flatten(translation, ground.choices, ground.questions, ())
    with stopping(watch) as limits:
        report = _native.plan(native_ground(flat), native_options(flat, meaning, options), limits)
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
    asked = native_options(flat, meaning, options, watch.limits.threads)
    with stopping(watch) as limits:
        native, report = _native.compile(native_ground(flat), asked, limits, progress)
    seconds = watch.elapsed() - started
    statistics = _statistics(native, report, choices, seconds)
    return Circuit(meaning, statistics, native, of_weights=report["of_weights"])


def native_ground(flat: Flat) -> _native.Ground:
    """The program as the native compiler takes it."""
    return _native.Ground(
        flat.atoms, flat.rules, flat.choices, flat.questions, flat.own_atoms, flat.observed
    )


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
        choices=choices,
        determined=report["determined"],
        inner=report["inner"],
        guesses=report["guesses"],
        gates=report["gates"],
        nodes=native.nodes,
        edges=native.edges,
        depth=native.depth,
        width=max((part.width for part in parts), default=0),
        way=_most(part.way for part in parts),
        order=_most(part.order for part in parts),
        seconds=seconds,
        parts=parts,
    )


def _most(names: Any) -> str:
    """The names that occur, the most frequent first."""
    return "+".join(name for name, _ in Counter(names).most_common())
