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
from dpasp.errors import Diagnostic, Error, InferenceError, SizeLimit
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


class HeadCycle(InferenceError):
    """The compiler does not cover disjunction through a positive loop; enumerate instead."""

    default_code = "head-cycle"


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
    try:
        report = _native.plan(*_inputs(flat, probability, options, watch))
    except _native.Stopped as stopped:
        raise _failure(stopped, watch) from None
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
    try:
        native, report = _native.compile(*_inputs(flat, probability, options, watch), progress)
    except _native.Stopped as stopped:
        raise _failure(stopped, watch) from None
    seconds = watch.elapsed() - started
    return Circuit(logic, probability, _statistics(native, report, choices, seconds), native)


def _inputs(
    flat: Flat, probability: Probability | None, options: Options, watch: Watch
) -> tuple[_native.Ground, _native.Options, _native.Limits]:
    """What the native compiler takes."""
    watch.check()
    mode: Mode = "bits" if probability is Probability.CREDAL else "counts"
    if len(flat.own):
        mode = "least"
    left, memory = watch.remaining(), watch.limits.megabytes
    return (
        _native.Ground(
            flat.atoms, flat.rules, flat.choices, flat.questions, flat.own, flat.observed
        ),
        _native.Options(mode, options.way, options.order, options.nodes, options.work),
        _native.Limits(-1.0 if left is None else left, -1.0 if memory is None else memory),
    )


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


def _failure(stopped: _native.Stopped, watch: Watch) -> Error:
    """The error for why the native code stopped."""
    match stopped.reason:
        case _native.Reason.HEAD_CYCLE:
            return HeadCycle(
                "this program has a disjunction through a positive loop, which is not compiled",
                help="query() and circuit() do without: they enumerate its total choices",
            )
        case _native.Reason.OBSERVED:
            text = f"{stopped}, so it cannot be a leaf"
            return InferenceError(Diagnostic("observed-inner", text))
        case _native.Reason.TIME:
            return watch.out_of_time()
        case _native.Reason.MEMORY:
            return watch.out_of_memory()
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"the circuit is too large: {stopped}",
            help="ask fewer questions at once, make the loops of the program narrower, "
            "or use --engine bounds or sample",
        )
    )
