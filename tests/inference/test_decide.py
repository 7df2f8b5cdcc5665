"""Expected values and decisions, compared with the definition: every strategy, every model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import pytest

import dpasp

LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
Literals = tuple[tuple[str, str], ...]  # (mode, atom)
Term = tuple[float, Literals]


class Case:
    """A random program in pieces: facts, decisions with bodies, rules, utilities, evidence."""

    def __init__(self, seed: int, logic: str, intervals: bool) -> None:
        random = Random(seed)
        self.logic = logic
        chances = [f"c{i}" for i in range(random.randint(1, 3))]
        decided = [f"d{i}" for i in range(random.randint(1, 3))]
        inner = [f"n{i}" for i in range(random.randint(1, 4))]
        self.facts: list[tuple[float, float, str]] = []
        for atom in chances:
            low = random.randint(1, 6) / 10
            high = random.randint(int(low * 10), 9) / 10
            self.facts.append((low, high if intervals and random.random() < 0.6 else low, atom))
        self.decisions = [
            (atom, random.choice(["", "", f" :- {random.choice(chances)}."])) for atom in decided
        ]
        self.bounds = random.choice([None, None, (1, 1), (0, 1), (0, 2)])
        if self.bounds and self.bounds[0] > len(decided):
            self.bounds = None
        atoms = [*chances, *decided, *inner]
        self.rules = []
        for _ in range(random.randint(2, 6)):
            head = random.choice(inner)
            body = random.sample(atoms, random.randint(1, 3))
            signs = (random.choice(["", "not "]) for _ in body)
            self.rules.append(
                f"{head} :- {', '.join(s + a for s, a in zip(signs, body, strict=True))}."
            )
        if random.random() < 0.2:
            self.rules.append(f":- {', '.join(random.sample(atoms, 2))}.")

        def literals(most: int) -> Literals:
            some = random.sample(atoms, random.randint(1, most))
            return tuple((random.choice(["", "", "not "]), atom) for atom in some)

        self.terms = [(random.randint(-9, 9) / 2, literals(2)) for _ in range(random.randint(1, 4))]
        self.evidence = literals(2) if random.random() < 0.5 else ()
        self.goal = literals(2)

    def vertices(self) -> Iterator[str]:
        ends = [sorted({low, high}) for low, high, _ in self.facts]
        for numbers in itertools.product(*ends):
            pairs = zip(numbers, self.facts, strict=True)
            yield " ".join(f"{number}::{atom}." for number, (*_, atom) in pairs)

    def strategies(self) -> Iterator[dict[str, bool]]:
        low, high = self.bounds or (0, len(self.decisions))
        for taken in itertools.product([False, True], repeat=len(self.decisions)):
            free = not self.bounds or any(body for _, body in self.decisions)
            if free or low <= sum(taken) <= high:
                names = (atom for atom, _ in self.decisions)
                yield dict(zip(names, taken, strict=True))

    def under(self, strategy: Mapping[str, bool]) -> str:
        bodies = dict(self.decisions)
        taken = [f"{d}{bodies[d] or '.'}" for d, is_taken in strategy.items() if is_taken]
        return " ".join([*self.rules, *taken])

    def text(self, probability: str) -> str:
        facts = [
            f"{low}::{atom}." if low == high else f"[{low}, {high}]::{atom}."
            for low, high, atom in self.facts
        ]
        if self.bounds and not any(body for _, body in self.decisions):
            names = "; ".join(atom for atom, _ in self.decisions)
            decisions = [f"#decision {self.bounds[0]} {{{names}}} {self.bounds[1]}."]
        else:
            decisions = [f"#decision {{{atom}}}{body or '.'}" for atom, body in self.decisions]
        utilities = [f"#utility {value} : {said(body)}." for value, body in self.terms]
        semantics = f"#semantics {self.logic}, {probability}."
        return "\n".join([*facts, *self.rules, *decisions, *utilities, semantics])


def said(literals: Literals) -> str:
    return ", ".join(mode + atom for mode, atom in literals)


def holds(values: Mapping[str, object], literals: Literals) -> bool:
    wanted = {"": True, "not ": False}
    return all(values.get(atom, False) is wanted[mode] for mode, atom in literals)


def worlds(text: str, logic: str) -> list[tuple[float, list[Mapping[str, object]]]]:
    """The total choices with a model: their probabilities and their models."""
    found: dict[tuple[str, ...], tuple[float, list[Mapping[str, object]]]] = {}
    program = dpasp.loads(f"{text} #semantics {logic}.")
    for model in program.models():
        values = model.values
        if logic == "smproblog" and model.undefined:  # every atom is, those of other strategies too
            values = dict.fromkeys((f"{k}{i}" for k in "cdn" for i in range(4)), "undef")
        found.setdefault(model.choice, (model.probability[0], []))[1].append(values)
    return list(found.values())


def by_definition(
    found: Sequence[tuple[float, list[Mapping[str, object]]]],
    terms: Sequence[Term],
    evidence: Literals,
    probability: str,
) -> tuple[float, float] | None:
    """The least and the largest expected value; None if the evidence is impossible."""

    def total(model: Mapping[str, object]) -> float:
        return sum(value for value, body in terms if holds(model, body))

    outcomes = [[(holds(m, evidence), total(m)) for m in models] for _, models in found]
    masses = [mass for mass, _ in found]
    if probability == "maxent":
        shares = [[m / len(o)] * len(o) for m, o in zip(masses, outcomes, strict=True)]
        pairs = [
            (w, u)
            for ws, o in zip(shares, outcomes, strict=True)
            for w, (e, u) in zip(ws, o, strict=True)
            if e
        ]
        whole = sum(w for w, _ in pairs)
        if whole <= 0:
            return None
        value = sum(w * u for w, u in pairs) / whole
        return value, value
    if not any(m > 0 and any(e for e, _ in o) for m, o in zip(masses, outcomes, strict=True)):
        return None
    ends = []
    for sign in (1, -1):
        # bisection on the definition: the least value of (U - λ) where the evidence holds
        low, high = -100.0, 100.0
        for _ in range(80):
            middle = (low + high) / 2
            value = sum(
                m * min((sign * u - middle) if e else 0.0 for e, u in o)
                for m, o in zip(masses, outcomes, strict=True)
            )
            low, high = (middle, high) if value >= 0 else (low, middle)
        ends.append(sign * low)
    return ends[0], ends[1]


def reference(case: Case, terms: Sequence[Term], evidence: Literals, probability: str):
    """The value of every strategy, and None for those that the evidence excludes."""
    table = {}
    for strategy in case.strategies():
        every = []
        for facts in case.vertices():
            found = worlds(f"{facts} {case.under(strategy)}", case.logic)
            value = by_definition(found, terms, evidence, probability) if found else None
            every += [value] if value else []
        key = tuple(strategy.items())
        table[key] = (min(v[0] for v in every), max(v[1] for v in every)) if every else None
    return table


def check(seed: int, logic: str, probability: str) -> None:
    case = Case(seed, logic, intervals=probability == "credal" and seed % 2 == 0)
    program = dpasp.loads(case.text(probability))
    bar = f"| {said(case.evidence)}" if case.evidence else ""
    for terms, question in ((case.terms, bar), ([(1.0, case.goal)], f"{said(case.goal)} {bar}")):
        table = reference(case, terms, case.evidence, probability)
        candidates = {s: v for s, v in table.items() if v is not None}
        if not candidates:
            with pytest.raises(dpasp.Error):
                program.decide(question)
            continue
        for end, criterion in enumerate(
            [None] if probability == "maxent" else ["maximin", "maximax"]
        ):
            decision = program.decide(question, criterion=criterion)
            best = max(value[end] for value in candidates.values())
            numbers = decision.numbers
            context = f"{case.text(probability)}\n#decide {question}. {criterion} {table}"
            assert numbers[-1 if end else 0] == pytest.approx(best, abs=1e-7), context
            chosen = candidates[tuple(decision.strategy.items())]
            assert numbers == pytest.approx(chosen[: len(numbers)], abs=1e-7), context


@pytest.mark.parametrize("logic", LOGICS)
@pytest.mark.parametrize("probability", ["maxent", "credal"])
def test_random_programs_agree_with_the_definition(logic: str, probability: str) -> None:
    for seed in range(12):
        check(seed, logic, probability)
