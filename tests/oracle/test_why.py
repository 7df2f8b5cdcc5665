"""Random programs: minimal explanations and cores are those of the definitions.

``DPASP_WHY`` sets how many programs are drawn (10 if it is not set).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, combinations, product

import pytest

import dpasp
from dpasp.inference.explain.explanation import Explanation, Inconsistency
from dpasp.semantics.leaves import leaf_names

from .answers import Bounds, Table, Theta, ask, table
from .generate import generate
from .models import Base, number
from .programs import Program, Query, Rule

PROGRAMS = int(os.environ.get("DPASP_WHY", "10"))
BLOCK = 5
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
MANY = 10_000
Partial = frozenset[tuple[int, int]]  # choices and the positions of their values


def logics(program: Program) -> Iterator[str]:
    for logic in LOGICS:
        if logic != "wellfounded" or not program.disjunctive:
            yield logic


def leaves(program: dpasp.Program) -> dict[str, tuple[int, int]]:
    """The choice (by its statement) and the position of each value, by name."""
    ground = program.ground()
    places = [
        (choice.statement, position)
        for choice in ground.choices
        for position in range(len(choice.selectors) + choice.nothing)
    ]
    return dict(zip(leaf_names(ground), places, strict=True))


def partials(found: Table) -> list[Partial]:
    """All sets of values, small ones first."""
    values = [sorted(set(column)) for column in zip(*found.models, strict=True)]
    every = product(*([None, *own] for own in values))
    sets = [
        frozenset((i, value) for i, value in enumerate(one) if value is not None) for one in every
    ]
    return sorted(sets, key=len)


def extending(found: Table, values: Partial) -> list[Theta]:
    return [theta for theta in found.models if all(theta[i] == v for i, v in values)]


def primes(found: Table, fails: Callable[[Theta], object]) -> list[Partial]:
    """The smallest sets of values with which no total choice fails."""
    kept: list[Partial] = []
    for values in partials(found):
        if any(known <= values for known in kept):
            continue
        if not any(fails(theta) for theta in extending(found, values)):
            kept.append(values)
    return kept


def counts(found: Table, query: Query) -> Mapping[Theta, tuple[int, int]]:
    """How many models there are, and how many satisfy query and evidence."""
    from .answers import WANTED

    literals = (*query.literals, *query.evidence)
    wanted = [(found.atoms.index(one.atom), WANTED[one.mode]) for one in literals]
    return {
        theta: (len(models), sum(all(m[a] == v for a, v in wanted) for m in models))
        for theta, models in found.models.items()
    }


def expected_ways(found: Table, query: Query) -> set[tuple[Partial, bool]]:
    count = counts(found, query)
    sure = primes(found, lambda theta: count[theta][1] < count[theta][0])
    some = primes(found, lambda theta: 0 == count[theta][1] < count[theta][0])

    def kept(many: list[Partial]) -> list[Partial]:
        return [one for one in many if any(count[theta][1] for theta in extending(found, one))]

    both = {(way, True) for way in kept(sure)}
    return both | {(way, False) for way in kept(some) if (way, True) not in both}


def ways_differ(seed: int) -> Iterator[str]:
    oracle = generate(seed)
    for logic in logics(oracle):
        found = table(oracle, logic)
        queries = [
            query
            for query in oracle.queries
            if not (logic == "stable" and query.undefined)
            and isinstance(ask(found, query, "credal"), Bounds)
        ]
        if not queries:
            continue
        program = dpasp.loads("\n".join([str(oracle), *(f"#query {q}." for q in queries)]))
        names = leaves(program)
        every = program.explain(semantics=f"{logic}, credal", top=MANY)
        for query, why in zip(queries, every, strict=True):
            got = {(frozenset(names[n] for n in way.values), way.sure) for way in why.ways}
            wanted = expected_ways(found, query)
            if got != wanted or not why.complete:
                yield f"{seed} {logic} {query}: {got - wanted} and not {wanted - got}"
            chances = [way.bounds[-1] for way in why.ways]
            if chances != sorted(chances, reverse=True):
                yield f"{seed} {logic} {query}: not in order"
            covered = why.covered
            if why.ways and covered is not None and abs(covered - 1) > 1e-9:
                yield f"{seed} {logic} {query}: all ways cover {covered}"
            yield from wrong_trees(seed, why, any(n > m for n, m in counts(found, query).values()))


def wrong_trees(seed: int, why: Explanation, can_fail: bool) -> Iterator[str]:
    """Trees that are missing, say what is not so, or go in circles without saying so."""
    query = why.answer.query
    if (why.tree is None) is (why.answer.numbers[-1] > 0):
        yield f"{seed} {query}: {why.tree}"
    if why.answer.numbers[0] < 1 and why.why_not is None and can_fail:
        yield f"{seed} {query}: no why not"
    for tree in (why.tree, why.why_not):
        for one in () if tree is None else tree.walk():
            value = {"rule": True, "fact": True, "none": False, "undefined": "undef"}
            told = one.literal and one.value is not None and one.kind in value
            if told and one.value != value[one.kind]:
                yield f"{seed} {query}: {one.words}"
            if one.kind == "rule" and one.value is True:
                for part in one.below:
                    holds = not part.value if part.literal.startswith("not ") else part.value
                    if holds is not True:
                        yield f"{seed} {query}: {one.words} but {part.words}"
            if one.kind == "blocked" and not one.below and "instead" not in one.words:
                yield f"{seed} {query}: {one.words}: by what?"


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_ways_are_the_minimal_explanations(first: int) -> None:
    found = [line for seed in range(first, first + BLOCK) for line in ways_differ(seed)]
    assert found == []


# --- why inconsistent ------------------------------------------------------------------------


def subsets(rules: list[Rule]) -> Iterator[tuple[Rule, ...]]:
    return chain.from_iterable(combinations(rules, n) for n in range(len(rules) + 1))


def certain_rules(program: dpasp.Program, oracle: Program) -> set[int]:
    """The rules (by number) that clingo finds to be always in force."""
    from dpasp.ground.grounding import Grounder
    from dpasp.limits import UNLIMITED

    grounder = Grounder(program.source, origins=True)
    grounder.ask(program.source, UNLIMITED)
    many = len(oracle.choices)
    sure = {one.statement - many for one in grounder.instances if one.certain}
    facts = {
        i
        for i, rule in enumerate(oracle.rules)
        if len(rule.head) == 1 and not rule.positive and not rule.negative
    }
    return sure | facts


def leaves_no_model(
    oracle: Program, existence: str, thetas: list[Theta], on: list[Rule], free: list[Rule]
) -> bool:
    """Whether there is no model, however the free rules and the other choices are taken."""
    atoms = oracle.atoms
    for some in subsets(free):
        base = Base(number((*on, *some), atoms), len(atoms))
        for theta in thetas:
            picked = [choice.rules[i] for choice, i in zip(oracle.choices, theta, strict=True)]
            chosen = number([rule for rule in picked if rule is not None], atoms)
            if base.models(existence, chosen):
                return False
    return True


def check_core(
    seed: int, oracle: Program, logic: str, one: Inconsistency, place: dict[str, tuple[int, int]]
) -> Iterator[str]:
    existence = {"lstable": "partial", "smproblog": "stable"}.get(logic, logic)
    found = table(oracle, "stable" if logic == "smproblog" else logic)
    thetas = extending(found, frozenset(place[name] for name in one.values))
    many = len(oracle.choices)
    always = certain_rules(dpasp.loads(str(oracle)), oracle)
    needed = [rule.line - 1 - many for rule in one.rules]
    on = [oracle.rules[i] for i in sorted(always)]
    free = [i for i in range(len(oracle.rules)) if i not in always and i not in needed]
    if len(free) > 6:
        return
    if not leaves_no_model(
        oracle,
        existence,
        thetas,
        on + [oracle.rules[i] for i in needed],
        [oracle.rules[i] for i in free],
    ):
        yield f"{seed} {logic}: {one.values} {needed} leave a model"
    for left in needed:
        rest = [oracle.rules[i] for i in needed if i != left]
        others = [oracle.rules[i] for i in (*free, left)]
        if leaves_no_model(oracle, existence, thetas, on + rest, others):
            yield f"{seed} {logic}: {one.values} {needed}: {left} is not needed"


def cores_differ(seed: int) -> Iterator[str]:
    oracle = generate(seed, 4)
    program = dpasp.loads(str(oracle))
    place = leaves(program)
    for logic in logics(oracle):
        if oracle.disjunctive and logic != "stable":
            continue  # the definition takes long
        found = table(oracle, "stable" if logic == "smproblog" else logic)
        reasons = program.why_inconsistent(semantics=logic, top=MANY)
        got = {frozenset(place[name] for name in one.values) for one in reasons}
        wanted = set(primes(found, found.models.get))
        if got != wanted:
            yield f"{seed} {logic}: {got} is not {wanted}"
        if not oracle.credal and abs(reasons.mass - float(found.inconsistent())) > 1e-9:
            yield f"{seed} {logic}: mass {reasons.mass}"
        for one in reasons[:1]:
            yield from check_core(seed, oracle, logic, one, place)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_cores_are_minimal_and_leave_no_model(first: int) -> None:
    found = [line for seed in range(first, first + BLOCK) for line in cores_differ(seed)]
    assert found == []
