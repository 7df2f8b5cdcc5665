"""Random programs with factors: every answer under weighted is what the definition says.

``DPASP_WEIGHTED`` sets how many programs are drawn (60 if it is not set), and
``DPASP_WEIGHTED_FIRST`` the seed of the first.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest

import dpasp
from dpasp.inference.asked import Method

from .answers import WANTED, Table, table
from .generate import generate
from .programs import Literal, Program, Query, Rule

PROGRAMS = int(os.environ.get("DPASP_WEIGHTED", "60"))
FIRST = int(os.environ.get("DPASP_WEIGHTED_FIRST", "0"))
BLOCK = 30
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
# by sums over tables, and by a circuit with a choice for each factor
ENGINES = (("enumerate", False), ("compile", True), ("compile", False))
WEIGHTS = (0.0, 0.25, 1.0, 2.5, 7.0, 1e300, 1e-300)


@dataclass(frozen=True)
class Factor:
    """``#factor weight : body.``, or a weak constraint of this cost."""

    log: float
    body: tuple[Literal, ...]
    text: str


@dataclass(frozen=True)
class Weighted:
    """A program without choice rules, its factors, and the same with choice rules as text."""

    program: Program
    factors: tuple[Factor, ...]
    text: str


def weighted(seed: int) -> Weighted | None:
    """The random program of a seed; None where it has intervals."""
    random = Random(seed)
    program = generate(seed, 4)
    if program.credal:
        return None
    factors = tuple(_factor(random, program.atoms, i) for i in range(random.randint(0, 4)))
    lines = [str(program), *(factor.text for factor in factors)]
    return Weighted(program, factors, "\n".join(lines))


def with_choice_rules(seed: int) -> Weighted | None:
    """The same with choice rules in the text, which the oracle knows as loops through negation."""
    random = Random(seed)
    plain = weighted(seed)
    if plain is None:
        return None
    rules, lines, queries = list(plain.program.rules), [plain.text], list(plain.program.queries)
    names = list(plain.program.atoms)
    for i in range(random.randint(1, 2)):
        atom = random.choice([*names, f"x{i}"])
        body = _body(random, names, random.randint(0, 1))
        rules += _chosen(atom, body, f"no{i}")
        shown = ", ".join(map(str, body))
        lines.append(f"{{{atom}}}{' :- ' if shown else ''}{shown}.")
    if random.random() < 0.5:
        group = [f"y({i})" for i in range(random.randint(2, 3))]
        for i, atom in enumerate(group):
            rules += _chosen(atom, (), f"noy{i}")
        rules += [Rule((), (a, b)) for i, a in enumerate(group) for b in group[:i]]
        rules.append(Rule((), (), tuple(group)))
        lines.append(random.choice(("1 {%s} 1.", "{%s} = 1.")) % "; ".join(group))
        names += group
    program = Program(tuple(rules), plain.program.choices, tuple(queries))
    factors = tuple(_factor(random, names, 10 + i) for i in range(2))
    queries.append(Query((Literal("", names[-1]),)))
    program = Program(tuple(rules), plain.program.choices, tuple(queries))
    lines += [factor.text for factor in factors]
    return Weighted(program, plain.factors + factors, "\n".join(lines))


def _chosen(atom: str, body: Sequence[Literal], other: str) -> list[Rule]:
    """A choice rule: the atom or another one that nobody names."""
    positive = tuple(one.atom for one in body if not one.mode)
    negative = tuple(one.atom for one in body if one.mode)
    return [
        Rule((atom,), positive, (*negative, other)),
        Rule((other,), positive, (*negative, atom)),
    ]


def _body(random: Random, atoms: Sequence[str], size: int) -> tuple[Literal, ...]:
    picked = random.sample(list(atoms), min(size, len(atoms)))
    return tuple(Literal(random.choice(("", "not ")), atom) for atom in picked)


def _factor(random: Random, atoms: Sequence[str], place: int) -> Factor:
    body = _body(random, atoms, random.randint(1, 2))
    shown = ", ".join(map(str, body))
    if random.random() < 0.3:
        cost = random.randint(-3, 3)
        return Factor(-float(cost), body, f":~ {shown}. [{cost}, t({place})]")
    weight = random.choice(WEIGHTS)
    log = math.log(weight) if weight else -math.inf
    return Factor(log, body, f"#factor {weight!r} : {shown}.")


# --- the definition ------------------------------------------------------------------------------


def answer(found: Table, factors: Sequence[Factor], query: Query) -> float | str:
    """Σ P(θ) Π factors over the models with query and evidence, over that with the evidence."""
    logs = []  # of all models: weight, evidence, query and evidence
    for theta, p in found.weights[0].items():
        for model in found.models[theta]:
            if p == 0:
                continue

            def holds(literals: Sequence[Literal], model: tuple[int, ...] = model) -> bool:
                return all(
                    model[found.atoms.index(one.atom)] == WANTED[one.mode] for one in literals
                )

            log = math.log(p) + sum(factor.log for factor in factors if holds(factor.body))
            logs.append((log, holds(query.evidence), holds(query.evidence + query.literals)))
    possible = [log for log, *_ in logs if log > -math.inf]
    if not possible:
        return "inconsistent"
    most = max((log for log, e, _ in logs if e), default=-math.inf)
    if most == -math.inf:
        return "impossible-evidence"
    total = math.fsum(math.exp(log - most) for log, e, _ in logs if e)
    return math.fsum(math.exp(log - most) for log, _, qe in logs if qe) / total


def differences(case: Weighted, logics: Sequence[str]) -> Iterator[str]:
    """Every way in which dpasp and the definition differ."""
    for logic in logics:
        if logic == "wellfounded" and case.program.disjunctive:
            continue
        found = table(case.program, logic)
        for query in case.program.queries:
            if logic == "stable" and query.undefined:
                continue
            wanted = answer(found, case.factors, query)
            loaded = dpasp.loads(f"{case.text}\n#query {query}.")
            for engine, sums in ENGINES:
                seen: float | str
                try:
                    with pytest.MonkeyPatch.context() as patch:
                        patch.setattr(Method, "sums", sums)
                        answers = loaded.query(semantics=f"{logic}, weighted", engine=engine)
                    seen = float(answers[0].value)
                except dpasp.ImpossibleEvidence:
                    seen = "impossible-evidence"
                except dpasp.InconsistentProgram:
                    seen = "inconsistent"
                close = isinstance(seen, float) and isinstance(wanted, float)
                if seen != wanted and not (close and math.isclose(seen, wanted, abs_tol=1e-9)):
                    yield f"{logic}, {engine}, sums {sums}: {query} is {seen}, not {wanted}"


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BLOCK))
def test_random_programs(first: int) -> None:
    for seed in range(first, min(first + BLOCK, FIRST + PROGRAMS)):
        if (case := weighted(seed)) is not None:
            found = list(differences(case, LOGICS))
            assert not found, "\n".join([f"seed {seed}:", case.text, "", *found])


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BLOCK))
def test_random_programs_with_choice_rules(first: int) -> None:
    for seed in range(first, min(first + BLOCK, FIRST + PROGRAMS)):
        if (case := with_choice_rules(seed)) is not None:
            found = list(differences(case, ("stable",)))
            assert not found, "\n".join([f"seed {seed}:", case.text, "", *found])


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BLOCK))
def test_trees_are_about_the_most_probable_models(first: int) -> None:
    for seed in range(first, min(first + BLOCK, FIRST + PROGRAMS)):
        made = {"stable": with_choice_rules, "lstable": weighted, "smproblog": weighted}
        for logic, make in made.items():
            if (case := make(seed)) is not None:
                untold = list(wrong_trees(case, f"{logic}, weighted"))
                assert not untold, "\n".join([f"seed {seed}, {logic}:", case.text, *untold])


def wrong_trees(case: Weighted, semantics: str) -> Iterator[str]:
    """Queries whose trees are missing, superfluous, or about a model that is not the heaviest."""
    loaded = dpasp.loads(case.text)
    for query in case.program.queries:
        if semantics.startswith("stable") and query.undefined:
            continue
        try:
            (why,) = loaded.explain(str(query), semantics=semantics)
        except dpasp.InferenceError:  # impossible evidence, no model, or masses below all doubles
            continue
        evidence = ", ".join(map(str, query.evidence)) or ()
        every = list(loaded.models(given=evidence, semantics=semantics))
        if not {one.atom for one in query.literals} <= every[0].values.keys():
            continue  # an atom that cannot occur
        for wanted, tree in ((True, why.tree), (False, why.why_not)):
            fitting = [
                model
                for model in every
                if wanted is all(holds(one, model.values) for one in query.literals)
            ]
            if not fitting or tree is None:
                if fitting or tree is not None:
                    yield f"{query}: {wanted} has {len(fitting)} models and the tree {tree}"
                continue
            best = [m for m in fitting if m.logs[0] > fitting[0].logs[0] - 1e-5]
            if not any(set(tree.chosen) <= set(model.choice) for model in best):
                yield f"{query}: {wanted} in a model of {tree.chosen}, not of {best[0].choice}"


def holds(literal: Literal, values: Mapping[str, bool | str]) -> bool:
    """Whether a literal holds in a model of dpasp."""
    return values[literal.atom] == {"": True, "not ": False, "undef ": "undef"}[literal.mode]


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BLOCK))
def test_factors_of_weight_0_leave_no_model(first: int) -> None:
    made = {"stable": with_choice_rules, "partial": weighted, "wellfounded": weighted}
    for seed in range(first, min(first + BLOCK, FIRST + PROGRAMS)):
        for logic, make in made.items():
            case = make(seed)
            if case is None or (logic == "wellfounded" and case.program.disjunctive):
                continue
            found = dpasp.loads(case.text).why_inconsistent(semantics=f"{logic}, weighted")
            mass = lost_mass(table(case.program, logic), case.factors)
            assert found.mass == pytest.approx(mass, abs=1e-9), f"seed {seed}, {logic}"
            assert bool(found) == (mass > 0)


def lost_mass(found: Table, factors: Sequence[Factor]) -> float:
    """The probability of the total choices all of whose models weigh 0."""
    zero = [factor.body for factor in factors if factor.log == -math.inf]

    def excluded(model: tuple[int, ...]) -> bool:
        return any(
            all(model[found.atoms.index(one.atom)] == WANTED[one.mode] for one in body)
            for body in zero
        )

    every = found.weights[0].items()
    return math.fsum(p for theta, p in every if all(map(excluded, found.models[theta])))
