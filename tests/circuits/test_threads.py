"""Compiling in several threads: the same circuit, the same reports, the same errors."""

from __future__ import annotations

from random import Random

import pytest

import dpasp
from dpasp.circuits import Circuit, Options, compile
from dpasp.errors import SizeLimit, TimeLimit
from dpasp.ground.program import GroundProgram
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Limits
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.clocks import looks

from .programs import draw_shape, random_program

MAXENT = Meaning(Logic.STABLE, Probability.MAXENT)
CREDAL = Meaning()


def grid(size: int, name: str = "g") -> str:
    """A grid whose edges may be there; it is one part, and has no groups."""
    lines = [f"{name}r(0,0)."]
    for x in range(size):
        for y in range(size):
            for u, v in ((x + 1, y), (x, y + 1)):
                if u < size and v < size:
                    lines.append(f"0.5::{name}e({x},{y},{u},{v}).")
                    lines.append(f"{name}r({u},{v}) :- {name}r({x},{y}), {name}e({x},{y},{u},{v}).")
                    lines.append(f"{name}r({x},{y}) :- {name}r({u},{v}), {name}e({x},{y},{u},{v}).")
    return "\n".join([*lines, f"#query {name}r({size - 1},{size - 1})."])


def coupled(size: int) -> str:
    """A ring of even loops that constraints couple: models to count, and a race of several ways."""
    lines = [f"0.5::x({i}). {{a({i})}} :- x({i}). " for i in range(size)]
    lines += [f":- a({i}), a({(i + 1) % size}), x({(i + 2) % size})." for i in range(size)]
    return "\n".join([*lines, "#query a(0)."])


def many(parts: int) -> str:
    """Parts of different sizes, all of which are asked for."""
    chains = [
        f"0.5::c({k},0). "
        + " ".join(f"0.3::c({k},{i}) :- c({k},{i - 1})." for i in range(1, k % 40))
        for k in range(1, parts)
    ]
    return "\n".join([*chains, "all :- c(1,0), c(5,3), c(39,38). #query all. #query c(_,2)."])


PROGRAMS = {
    "one part": grid(5),
    "several large parts": "\n".join(grid(4, name) for name in "abc"),
    "many parts": many(120),
    "models to count": coupled(14),
    "all of them": "\n".join([grid(4), many(60), coupled(8)]),
}


def compiled(ground: GroundProgram, meaning: Meaning, threads: int, **options: int) -> Circuit:
    watch = Limits(threads=threads).start()
    return compile(ground, meaning, options=Options(**options), watch=watch)  # type: ignore[arg-type]


def told(circuit: Circuit) -> object:
    """All but how long it took."""
    parts = circuit.statistics.parts
    return circuit.native.to_bytes(), [(p.way, p.order, p.width, p.nodes, p.gates) for p in parts]


@pytest.mark.parametrize("meaning", [CREDAL, MAXENT], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bytes_whatever_the_number_of_threads(name: str, meaning: Meaning) -> None:
    ground = dpasp.loads(PROGRAMS[name]).ground()
    alone = told(compiled(ground, meaning, 1))
    for threads in (2, 4):
        assert told(compiled(ground, meaning, threads)) == alone


@pytest.mark.parametrize("name", ["models to count", "all of them"])
def test_the_same_numbers_under_known_weights(name: str) -> None:
    ground = dpasp.loads(PROGRAMS[name]).ground()
    options = Options(weights=leaves.weights(ground))
    one, *others = (
        compile(ground, MAXENT, options=options, watch=Limits(threads=threads).start())
        for threads in (1, 2, 4)
    )
    assert all(told(other) == told(one) for other in others)


def test_random_programs() -> None:
    for seed in range(30):
        random = Random(seed)
        ground = random_program(random, draw_shape(random, undef=False, stratified=seed % 2 == 0))
        one, three = (told(compiled(ground, MAXENT, threads)) for threads in (1, 3))
        assert one == three, seed


def test_the_same_refusal() -> None:
    ground = dpasp.loads("\n".join([many(50), grid(9), grid(8, "h")])).ground()
    messages = []
    for threads in (1, 4):
        with pytest.raises(SizeLimit) as refusal:
            compiled(ground, CREDAL, threads, nodes=300, work=100_000)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


def test_limits_hold_in_all_threads() -> None:
    ground = dpasp.loads("\n".join(grid(12, name) for name in "ab")).ground()
    with pytest.raises(TimeLimit):
        compile(ground, CREDAL, watch=looks(20_000, threads=4).start())


def test_one_thread_at_least() -> None:
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(dpasp.UsageError, match="threads"):
            Limits(threads=wrong)  # type: ignore[arg-type]
