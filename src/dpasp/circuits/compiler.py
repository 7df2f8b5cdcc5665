"""Ground program in, circuit out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpasp.circuits.cache import Cache
from dpasp.circuits.circuit import Circuit, PartStatistics, Statistics
from dpasp.circuits.flatten import Flat, Question, flatten
from dpasp.circuits.stops import stopping
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram
from dpasp.native import _native
from dpasp.semantics.translate import translate

Mode = Literal["bits", "counts", "least"]  # what is known of the models of a total choice
Progress = Callable[[float], None]  # from 0 to 1
Way = Literal["auto", "search", "tables", "diagram"]
Order = Literal["auto", "narrow", "breadth", "depth", "polished", "width", "frequency"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile: which way and order, how large a part may grow, how much work it may take."""

    way: Way = "auto"
    order: Order = "auto"
    nodes: int = 20_000_000
    work: int = 6_000_000_000  # about ten minutes for one attempt


def compile(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability | None = None,
    *,
    questions: Sequence[Question] | None = None,
    observed: Sequence[int] = (),
    options: Options = Options(),  # noqa: B008 - frozen
    cache: Cache | None = None,
    watch: Watch = UNLIMITED,
    progress: Progress | None = None,
) -> Circuit:
    """The circuit that answers the questions (those of the program unless others are given).

    ``observed`` are determined atoms whose truth is then weighed by two more leaves each
    (true, false) after those of the choices. With a ``cache``, a circuit that was compiled
    before is read from there. ``progress`` is told now and then which share is compiled.
    Raises :class:`HeadCycle` for what must be
    enumerated and :class:`SizeLimit` when every way outgrows the options.
    """
    translation = translate(ground, logic, watch)
    asked = ground.questions if questions is None else questions
    flat = flatten(translation, ground.choices, asked, observed)
    key = _key(flat, logic, probability, options) if cache else ""
    found = cache.get(key) if cache else None
    if found is not None:
        return replace(found, cached=True)
    size = len(ground.choices)
    circuit = compile_flat(flat, size, logic, probability, options, watch, progress)
    if cache:
        cache.put(key, circuit)
    return circuit


def _key(flat: Flat, logic: Logic, probability: Probability | None, options: Options) -> str:
    """A name for all that shapes a circuit."""
    shape = (_native.build, logic, probability, options, flat.atoms)
    digest = hashlib.sha256(repr(shape).encode())
    for array in (flat.rules, flat.choices, flat.questions, flat.own, flat.observed):
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(array.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class PartPlan:
    """An independent part of the program, and what will be tried on it, the best guess first."""

    choices: int
    guesses: int
    gates: int
    width: int  # the smallest that an order promises
    tries: tuple[str, ...]


def plan(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability | None = None,
    *,
    questions: Sequence[Question] | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
    watch: Watch = UNLIMITED,
) -> tuple[PartPlan, ...]:
    """What compiling would work on, the widest part first; quick even where compiling is not."""
    translation = translate(ground, logic, watch)
    asked = ground.questions if questions is None else questions
    flat = flatten(translation, ground.choices, asked, ())
    with stopping(watch) as limits:
        report = _native.plan(_ground(flat), _options(flat, probability, options), limits)
    parts: list[PartPlan] = []
    for one in report["parts"]:
        text = f"{one['way']}, {one['order']}"
        # The tries of a part come in a row; a part begins with the first way again.
        same = parts and text not in parts[-1].tries
        size = (one["choices"], one["guesses"], one["gates"])
        if same and size == (parts[-1].choices, parts[-1].guesses, parts[-1].gates):
            last = parts.pop()
            width = min(last.width, one["width"] or last.width)
            parts.append(PartPlan(*size, width, (*last.tries, text)))
        else:
            parts.append(PartPlan(*size, one["width"], (text,)))
    return tuple(sorted(parts, key=lambda part: -part.width))


def compile_flat(
    flat: Flat,
    choices: int,
    logic: Logic,
    probability: Probability | None,
    options: Options,
    watch: Watch,
    progress: Progress | None = None,
) -> Circuit:
    """The circuit of a flattened program."""
    started = watch.elapsed()
    asked = _options(flat, probability, options)
    with stopping(watch) as limits:
        native, report = _native.compile(_ground(flat), asked, limits, progress)
    seconds = watch.elapsed() - started
    return Circuit(logic, probability, _statistics(native, report, choices, seconds), native)


def _ground(flat: Flat) -> _native.Ground:
    """The program as the native compiler takes it."""
    return _native.Ground(
        flat.atoms, flat.rules, flat.choices, flat.questions, flat.own, flat.observed
    )


def _options(flat: Flat, probability: Probability | None, options: Options) -> _native.Options:
    """The options as the native compiler takes them."""
    mode: Mode = "bits" if probability is Probability.CREDAL else "counts"
    if len(flat.own):
        mode = "least"
    return _native.Options(mode, options.way, options.order, options.nodes, options.work)


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
