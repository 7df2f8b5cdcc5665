"""What is measured: families with their sizes, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.inference import families
from benchmarks.inference.syntax import parse

CREDAL = "stable,credal"
MAXENT = "stable,maxent"
LEAST_CREDAL = "lstable,credal"
LEAST_MAXENT = "lstable,maxent"


@dataclass(frozen=True, slots=True)
class Family:
    """Programs of one kind in growing sizes.

    A stratified program means the same under both semantics, and to the systems that know
    no others, so one semantics is measured; the others are measured under both.
    """

    name: str
    make: Callable[[int], str]
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    stratified: bool = True
    logic: str = "stable"

    @property
    def about(self) -> str:
        """One line that says what its programs are."""
        return (self.make.__doc__ or "").strip().splitlines()[0]

    @property
    def semantics(self) -> tuple[str, ...]:
        """The semantics under which it is measured."""
        return (MAXENT,) if self.stratified else (f"{self.logic},credal", f"{self.logic},maxent")


@dataclass(frozen=True, slots=True)
class Instance:
    """One program of a family, under one semantics."""

    family: Family
    size: int
    semantics: str

    @property
    def text(self) -> str:
        """The program."""
        return self.family.make(self.size)

    @property
    def choices(self) -> int:
        """How many choices the program has (those of the families are written out)."""
        return sum(statement.annotated for statement in parse(self.text).statements)


@dataclass(frozen=True, slots=True)
class Target:
    """The most CPU seconds that an instance should take, start-up aside."""

    instance: Instance
    seconds: float


FAMILIES = {
    family.name: family
    for family in (
        Family("chain", families.chain, (20, 50, 100, 200, 400), (12, 100)),
        Family("grid", families.grid, (3, 4, 5, 6, 7), (3, 5)),
        Family("ladder", families.ladder, (5, 10, 15, 20, 50, 100, 200), (5, 100)),
        Family("sparse", families.sparse, (10, 20, 30, 40, 50, 60), (10, 30)),
        Family("closure", families.closure, (4, 6, 8, 10, 12), (4,)),
        Family("smokers", families.smokers, (6, 10, 15, 20, 25, 30, 35), (6, 20)),
        Family("bayes", families.bayes, (10, 20, 50, 100, 200, 400), (10, 200)),
        Family("addition", families.addition, (1, 2, 4, 10, 30, 100), (1, 100)),
        Family("fault_tree", families.fault_tree, (10, 20, 50, 100, 200), (10, 100)),
        Family(
            "smokers_with_negation", families.smokers_with_negation, (4, 6, 8, 10, 20, 30), (4,),
            stratified=False,
        ),
        Family("strip", families.strip, (4, 8, 12, 20, 50, 100), (6,), stratified=False),
        Family("colouring", families.colouring, (6, 8, 10, 12, 15, 20), (6,), stratified=False),
        Family(
            "even_cycles", families.even_cycles, (5, 10, 20, 50, 200, 1000), (8,),
            stratified=False,
        ),
        Family("insomnia", families.insomnia, (4, 6, 8, 20, 50, 100), (5,), stratified=False),
        Family(
            "argumentation", families.argumentation, (5, 7, 9, 20, 100, 200), (6,),
            stratified=False,
        ),
        Family(
            "round_table", families.round_table, (4, 6, 8), (4,),
            stratified=False, logic="lstable",
        ),
        Family("birds", families.birds, (8, 10, 12, 16, 20, 30), (8,), stratified=False),
        Family("totals", families.totals, (2, 3, 5, 10, 20, 50), (3,), stratified=False),
    )
}  # fmt: skip


def instances(
    names: Iterable[str], sizes: tuple[int, ...] | None = None, quick: bool = False
) -> Iterator[Instance]:
    """The instances of some families, small ones first in each."""
    for name in names:
        family = FAMILIES[name]
        for semantics in family.semantics:
            for size in sizes or (family.quick if quick else family.sizes):
                yield Instance(family, size, semantics)


def _target(name: str, size: int, semantics: str, seconds: float) -> Target:
    return Target(Instance(FAMILIES[name], size, semantics), seconds)


TARGETS = (
    _target("chain", 20, MAXENT, 0.02),
    _target("grid", 5, MAXENT, 0.3),
    _target("grid", 6, MAXENT, 8),
    _target("ladder", 100, MAXENT, 2),
    _target("sparse", 50, MAXENT, 20),
    _target("smokers", 25, MAXENT, 1),
    _target("smokers", 30, MAXENT, 7),
    _target("bayes", 200, MAXENT, 0.15),
    _target("smokers_with_negation", 20, MAXENT, 1),
    _target("even_cycles", 200, CREDAL, 0.1),
    _target("even_cycles", 200, MAXENT, 0.1),
    _target("strip", 12, CREDAL, 0.3),
    _target("strip", 12, MAXENT, 5),
    _target("strip", 100, CREDAL, 10),
    _target("strip", 100, MAXENT, 2),
    _target("colouring", 20, MAXENT, 10),
    _target("insomnia", 20, CREDAL, 0.2),
    _target("insomnia", 20, MAXENT, 0.6),
    _target("insomnia", 50, MAXENT, 5),
    _target("argumentation", 100, CREDAL, 0.2),
    _target("round_table", 6, LEAST_CREDAL, 0.5),
    _target("round_table", 6, LEAST_MAXENT, 0.5),
    _target("addition", 100, MAXENT, 1.0),
)
