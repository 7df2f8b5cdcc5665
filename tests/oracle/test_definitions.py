"""The oracle itself, against the definitions read aloud and against answers derived by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest

from .answers import Answer, Bounds, Refused, answer, table
from .generate import generate
from .models import FALSE, TRUE, UNDEFINED, Interpretation
from .programs import NotPropositional, Program, Rule, read

# --- the definitions, word for word ----------------------------------------------------------


def satisfies(interpretation: dict[str, int], rule: Rule, negative: dict[str, int]) -> bool:
    """Whether I(head) ≥ I(body), with ``not b`` read off the interpretation ``negative``."""
    positive = min((interpretation[a] for a in rule.positive), default=TRUE)
    negated = min((TRUE - negative[a] for a in rule.negative), default=TRUE)
    head = max((interpretation[a] for a in rule.head), default=FALSE)
    return head >= min(positive, negated)


def partial_stable(rules: Sequence[Rule], atoms: Sequence[str]) -> set[Interpretation]:
    """Every I that is a ≤-minimal model of P/I, over all pairs of interpretations."""
    interpretations = [
        dict(zip(atoms, values, strict=True))
        for values in product((FALSE, UNDEFINED, TRUE), repeat=len(atoms))
    ]
    return {
        tuple(one.values())
        for one in interpretations
        if all(satisfies(one, rule, one) for rule in rules)
        and not any(
            other != one
            and all(other[a] <= one[a] for a in atoms)
            and all(satisfies(other, rule, one) for rule in rules)
            for other in interpretations
        )
    }


def stable(rules: Sequence[Rule], atoms: Sequence[str]) -> set[Interpretation]:
    """Every set M that is a ⊆-minimal model of the Gelfond-Lifschitz reduct, with sets."""

    def models(true: frozenset[str], reduct: Sequence[Rule]) -> bool:
        return all(
            not true.isdisjoint(rule.head) for rule in reduct if true.issuperset(rule.positive)
        )

    found = set()
    for size in range(len(atoms) + 1):
        for true in map(frozenset, combinations(atoms, size)):
            reduct = [rule for rule in rules if true.isdisjoint(rule.negative)]
            smaller = (frozenset(s) for k in range(size) for s in combinations(sorted(true), k))
            if models(true, reduct) and not any(models(s, reduct) for s in smaller):
                found.add(tuple(TRUE if atom in true else FALSE for atom in atoms))
    return found


def well_founded(rules: Sequence[Rule], atoms: Sequence[str]) -> Interpretation:
    """The well-founded model of a normal program, by the alternating fixpoint."""

    def least(assumed: frozenset[str]) -> frozenset[str]:
        true: frozenset[str] = frozenset()
        while True:
            more = frozenset(
                rule.head[0]
                for rule in rules
                if assumed.isdisjoint(rule.negative) and true.issuperset(rule.positive)
            )
            if more == true:
                return true
            true = more

    true: frozenset[str] = frozenset()
    while (wider := least(least(true))) != true:
        true = wider
    possible = least(true)
    return tuple(TRUE if a in true else UNDEFINED if a in possible else FALSE for a in atoms)


def plain(program: Program) -> Program:
    """The program without its probabilities: every choice takes its first value."""
    chosen = tuple(rule for choice in program.choices if (rule := choice.rules[0]) is not None)
    return Program(program.rules + chosen, ())


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_the_fast_models_are_those_of_the_definitions(start: int) -> None:
    for seed in range(start, start + 100):
        program = plain(generate(seed, largest=4))
        atoms = program.atoms
        found = {logic: set(table(program, logic).models[()]) for logic in ("stable", "partial")}
        assert found["stable"] == stable(program.rules, atoms), str(program)
        assert found["partial"] == partial_stable(program.rules, atoms), str(program)


def test_the_most_undefined_model_is_the_well_founded_one() -> None:
    for seed in range(400):
        program = plain(generate(seed))
        normal = Program(tuple(rule for rule in program.rules if len(rule.head) == 1), ())
        if normal.rules:
            (found,) = table(normal, "wellfounded").models[()]
            assert found == well_founded(normal.rules, normal.atoms), str(normal)


# --- by hand ---------------------------------------------------------------------------------


def models(text: str, logic: str) -> set[str]:
    """The models of a program without choices, as text: ``a b?`` is a true, b undefined."""
    program = read(text)
    found = table(program, logic)
    mark = {TRUE: "", UNDEFINED: "?"}
    return {
        " ".join(
            atom + mark[value]
            for atom, value in zip(program.atoms, one, strict=True)
            if value != FALSE
        )
        for one in found.models[()]
    }


MODELS = [
    # facts and rules
    ("a. b :- a.", "stable", {"a b"}),
    ("a. b :- a.", "partial", {"a b"}),
    # an unfounded loop is false
    ("a :- b. b :- a.", "stable", {""}),
    ("a :- b. b :- a.", "partial", {""}),
    # even loop: two stable models, and undefined as a third partial one
    ("a :- not b. b :- not a.", "stable", {"a", "b"}),
    ("a :- not b. b :- not a.", "partial", {"a", "b", "a? b?"}),
    ("a :- not b. b :- not a.", "lstable", {"a", "b"}),
    ("a :- not b. b :- not a.", "wellfounded", {"a? b?"}),
    # odd loop: no stable model
    ("a :- not a.", "stable", set()),
    ("a :- not a.", "partial", {"a?"}),
    ("a :- not a.", "lstable", {"a?"}),
    ("a :- not a.", "smproblog", {"a?"}),
    ("a :- not a.", "wellfounded", {"a?"}),
    # smproblog: one loop without a model and even the fact is undefined
    ("a :- not a. b.", "smproblog", {"a? b?"}),
    ("a :- not a. b.", "partial", {"a? b"}),
    # least undefined is minimal, not empty: the odd loop stays, the even one is decided
    ("a :- not a. b :- not c. c :- not b.", "lstable", {"a? b", "a? c"}),
    ("a :- not a. b :- not c. c :- not b.", "partial", {"a? b", "a? c", "a? b? c?"}),
    # three in a ring: only undefined
    ("a :- not b. b :- not c. c :- not a.", "stable", set()),
    ("a :- not b. b :- not c. c :- not a.", "partial", {"a? b? c?"}),
    # disjunction is minimal, and a head cycle is no support
    ("a; b.", "stable", {"a", "b"}),
    ("a; b.", "partial", {"a", "b"}),
    ("a; b. a :- b. b :- a.", "stable", {"a b"}),
    ("a; b. a :- b. b :- a.", "partial", {"a b"}),
    # a disjunctive program without a partial stable model (Przymusinski's example)
    ("a; b; c. a :- not b. b :- not c. c :- not a.", "partial", set()),
    # a constraint's body must be false, undefined is not enough
    (":- a. a :- not b. b :- not a.", "stable", {"b"}),
    (":- a. a :- not b. b :- not a.", "partial", {"b"}),
    (":- a. a :- not b. b :- not a.", "lstable", {"b"}),
    (":- a. a :- not b. b :- not a.", "wellfounded", set()),
    # least undefined is taken after the constraints
    (":- a. :- b. a :- not b. b :- not a.", "lstable", set()),
]


@pytest.mark.parametrize(("text", "logic", "expected"), MODELS)
def test_models_by_hand(text: str, logic: str, expected: set[str]) -> None:
    assert models(text, logic) == expected


def bounds(lower: str, upper: str | None = None) -> Bounds:
    return Bounds(Fraction(lower), Fraction(upper or lower))


EVEN = "0.3::x. a :- x, not b. b :- x, not a. "
CLASH = "0.3::x. 0.6::y. :- x, y. "
ANSWERS: list[tuple[str, str, Answer]] = [
    # one choice, one rule
    ("0.3::a. b :- a. #query b.", "stable, maxent", bounds("0.3")),
    ("0.3::a. b :- a. #query b.", "stable, credal", bounds("0.3")),
    ("0.3::a. 0.5::a. #query a.", "stable, credal", bounds("0.65")),  # 1 - 0.7·0.5
    # under x two models, one with a
    (EVEN + "#query a.", "stable, credal", bounds("0", "0.3")),
    (EVEN + "#query a.", "stable, maxent", bounds("0.15")),
    (EVEN + "#query a | x.", "stable, credal", bounds("0", "1")),
    (EVEN + "#query a.", "partial, maxent", bounds("0.1")),  # a third model: both undefined
    (EVEN + "#query undef a.", "partial, credal", bounds("0", "0.3")),
    (EVEN + "#query undef a.", "lstable, credal", bounds("0")),
    (EVEN + "#query undef a.", "wellfounded, credal", bounds("0.3")),
    # without x nothing asks for a or b, so x is certain given a; a/(a+d) is 0/0, hence 1
    (EVEN + "#query x | a.", "stable, credal", bounds("1")),
    (EVEN + "#query not x | a.", "stable, credal", bounds("0")),
    # annotated disjunction; 0.2 is left for nothing
    ("0.3::a; 0.5::b. #query not a, not b.", "stable, credal", bounds("0.2")),
    ("0.3::a; 0.5::b. #query a | not b.", "stable, maxent", bounds("0.6")),
    # inconsistent mass 0.18 is normalised away: 0.12/0.82
    (CLASH + "#query x.", "stable, credal", Bounds(Fraction(12, 82), Fraction(12, 82))),
    (CLASH + "#query x.", "partial, maxent", Bounds(Fraction(12, 82), Fraction(12, 82))),
    (CLASH + "#query x.", "smproblog, credal", bounds("0.12")),  # Z = 0.18 has x undefined
    (CLASH + "#query undef x.", "smproblog, maxent", bounds("0.18")),
    (CLASH + "#query x | undef y.", "smproblog, maxent", bounds("0")),
    # credal facts
    ("[0.2, 0.7]::a. 0.5::b. c :- a, b. #query c.", "stable, credal", bounds("0.1", "0.35")),
    # c only if f; given c, f for sure whatever its probability (a vertex without c is skipped)
    ("[0, 0.7]::f. c :- f. #query f | c.", "stable, credal", bounds("1")),
    # credal AD: the two others take at least 0.3 and at most 0.8
    ("[0.1,0.9]::a; [0.1,0.3]::b; [0.2,0.5]::c. #query a.", "stable, credal", bounds("0.2", "0.7")),
    # no answers
    ("a :- not a. 0.5::b. #query b.", "stable, credal", Refused("inconsistent")),
    ("0.3::a. #query a | not a, a.", "stable, credal", Refused("impossible-evidence")),
    ("0.3::a. #query a | undef a.", "partial, maxent", Refused("impossible-evidence")),
]


@pytest.mark.parametrize(("text", "semantics", "expected"), ANSWERS)
def test_answers_by_hand(text: str, semantics: str, expected: Answer) -> None:
    logic, _, probability = semantics.partition(", ")
    assert answer(read(text), logic, probability) == [expected]


def test_inconsistent_mass() -> None:
    assert table(read(CLASH), "stable").inconsistent() == Fraction(18, 100)


def test_vertices_of_a_credal_disjunction() -> None:
    (choice,) = read("[0.1,0.3]::a; [0.2,0.5]::b; [0.4,0.6]::c.").choices
    assert {tuple(map(float, vertex)) for vertex in choice.vertices} == {
        (0.1, 0.3, 0.6, 0.0),
        (0.1, 0.5, 0.4, 0.0),
        (0.2, 0.2, 0.6, 0.0),
        (0.3, 0.2, 0.5, 0.0),
        (0.3, 0.3, 0.4, 0.0),
    }


@pytest.mark.parametrize("seed", range(50))
def test_reading_undoes_printing(seed: int) -> None:
    program = generate(seed)
    text = f"{program}\n" + "\n".join(f"#query {query}." for query in program.queries)
    assert read(text) == program


@pytest.mark.parametrize("text", ["a(X) :- b(X).", "a :- X = 1.", "1 { a; b } 1.", "-a.", "a"])
def test_what_is_not_propositional_is_refused(text: str) -> None:
    with pytest.raises(NotPropositional):
        read(text)
