"""The rules of a ground program: clingo's own language keeps its meaning."""

from __future__ import annotations

import random

import pytest
from clingo import Control

from tests.ground.reading import grounded, lines, refused, rules, stable_models


def clingo_models(text: str) -> set[frozenset[str]]:
    """The stable models by clingo itself."""
    control = Control(["0", "--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    found = set()
    with control.solve(yield_=True) as handle:
        for model in handle:
            found.add(frozenset(str(symbol) for symbol in model.symbols(atoms=True)))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a. b :- a.", ["a.", "b."]),
        ("{a}. b :- a, not c. {c}.", ["{a}.", "{c}.", "b :- not c, a."]),
        ("{a}. :- a.", ["{a}.", ":- a."]),
        ("{a}. b; c :- a.", ["{a}.", "b; c :- a."]),
        ("{a; b}.", ["{a; b}."]),
        # facts disappear from bodies, what cannot be true from the program
        ("d(1). {a(1)}. b(X) :- a(X), d(X), not e(X). e(2).", None),
        ("{a}. :- not a, a.", None),
    ],
)
def test_rules(text: str, expected: list[str] | None) -> None:
    if expected is not None:
        assert sorted(rules(text)) == sorted(expected)
    assert stable_models(grounded(text)) == clingo_models(text)


@pytest.mark.parametrize(
    "text",
    [
        "{a(1..4)}. b :- #count{X : a(X)} >= 3. c(S) :- S = #sum{X : a(X)}, S > 7.",
        "2 {a(1..4)} 3. :- a(X), a(Y), X < Y, X+1 = Y.",
        "{a(1..2)}. b :- not not a(1). c :- a(X) : X = 1..2. d(X) : a(X) :- not b.",
        "{a(1..2)}. -b(X) :- a(X). b(2) :- not a(1). #show b/1.",
        "a :- not b. b :- not a. {c} :- a. d; e :- b. :- d, not c, not b.",
        "p(X,Y) :- q(X), q(Y), X < Y. {q(1..3)}. r :- #min{X : q(X)} = 2, #max{X : q(X)} = 3.",
        "#const n = 3. {a(1..n)} = n-1. b(X;X+1) :- a(X). #heuristic a(1). [1,true]",
        'a("x y"). {b(X)} :- a(X). c((1,2),f(1)) :- b(_). d(X) :- c(X,_).',
        "edge(1,2). edge(2,3). edge(3,1). {col(X,(r;g))} = 1 :- edge(X,_). :- edge(X,Y), "
        "col(X,C), col(Y,C). #project col/2.",
        "a; b. b :- a. a :- b.",
        "{x}. a :- x, b. b :- a. a :- not x, #true. :- #false.",
    ],
)
def test_all_of_clingo(text: str) -> None:
    assert stable_models(grounded(text)) == clingo_models(text)


def random_program(random: random.Random) -> str:
    """A small program with loops, disjunction, constraints and choices."""
    atoms = "abcde"

    def literal() -> str:
        return random.choice(["", "", "not ", "not not "]) + random.choice(atoms)

    statements = []
    for _ in range(random.randint(3, 9)):
        head = random.choice(
            [
                random.choice(atoms),
                random.choice(atoms),
                "; ".join(random.sample(atoms, 2)),
                "{" + "; ".join(random.sample(atoms, random.randint(1, 3))) + "}",
                "",
            ]
        )
        body = ", ".join(literal() for _ in range(random.randint(0 if head else 1, 3)))
        if random.random() < 0.15:
            body += (
                "," if body else ""
            ) + f"#count{{1:{atoms[0]}; 2:{atoms[1]}; 3:{atoms[2]}}} > 1"
        statements.append(f"{head}{' :- ' if body else ''}{body}.")
    return " ".join(statements)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_clingos_models(seed: int) -> None:
    text = random_program(random.Random(seed))
    assert stable_models(grounded(text)) == clingo_models(text)


@pytest.mark.parametrize("seed", range(60))
def test_a_half_is_a_free_choice(seed: int) -> None:
    """With the probabilities forgotten, an annotated atom is an atom that may be chosen."""
    numbers = random.Random(seed)
    plain, ours = random_program(numbers), ""
    free = ""
    for position in range(numbers.randint(1, 4)):
        head, other = numbers.sample("abcdef", 2)
        body = numbers.choice(["", f" :- {other}", f" :- not {other}", f" :- {other}, not e"])
        ours += f" 0.5::{head}{body}."
        free += f" {{x({position})}}. {head} :- x({position}){body.replace(' :- ', ', ')}."
    found = stable_models(grounded(plain + ours))
    expected = clingo_models(plain + free)
    assert found == {frozenset(a for a in model if a[0] != "x") for model in expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#external a. b :- a.", {frozenset[str]()}),
        ("#external a. [true] b :- a.", {frozenset({"a", "b"})}),
        ("#external a. [free] b :- a.", {frozenset[str](), frozenset({"a", "b"})}),
        ("#external a. [true] a :- c. {c}. ", {frozenset[str](), frozenset({"a", "c"})}),
        ("#external a(X) : d(X). d(1). b :- a(X).", {frozenset({"d(1)"})}),
    ],
)
def test_external_atoms(text: str, expected: set[frozenset[str]]) -> None:
    assert stable_models(grounded(text)) == expected


def test_external_atoms_can_be_heads_of_choices() -> None:
    program = grounded("#external a. [true] 0.5::a. b :- a.")
    assert stable_models(program) == {frozenset(), frozenset({"a", "b"})}


def test_weights_are_kept() -> None:
    program = grounded("{a; b}. c :- #sum{2 : a; 3 : b; -1 : d} >= 2. {d}.")
    weighted = [rule for rule in program.rules if rule.weights is not None]
    assert weighted
    assert stable_models(program) == clingo_models("{a;b}. c :- #sum{2:a;3:b;-1:d} >= 2. {d}.")


def test_show_hides_nothing() -> None:
    program = grounded("0.5::a(1). b(X) :- a(X). #show. #show b/1. #show f(X) : a(X).")
    assert {str(symbol) for symbol in program.atoms} == {"a(1)", "b(1)"}


def test_defined_says_that_an_atom_is_meant_to_be_missing() -> None:
    assert grounded("#defined b/1. a :- b(1).").warnings == ()


def test_classical_negation() -> None:
    text = "0.5::a. 0.5:: -a."
    assert stable_models(grounded(text)) == {frozenset(), frozenset({"a"}), frozenset({"-a"})}
    assert ":- a, -a." in lines(text) or ":- -a, a." in lines(text)


def test_every_atom_of_the_rules_is_within_the_symbols() -> None:
    program = grounded("0.1::a; 0.2::b; 0.3::c :- not d. {d}. e :- #count{1:a;2:b} > 1.")
    used = {abs(lit) for rule in program.rules for lit in (*rule.head, *rule.body)}
    assert used <= set(range(1, len(program.symbols)))
    for symbol, atom in program.atoms.items():
        assert program.symbols[atom] == symbol


def test_the_same_program_gives_the_same_ground_program() -> None:
    text = "n(1..5). 0.3::e(X,Y) :- n(X), n(Y). p(X,Y) :- e(X,Y). p(X,Z) :- p(X,Y), e(Y,Z)."
    first, second = grounded(text), grounded(text)
    assert (first.rules, first.choices, first.symbols) == (
        second.rules,
        second.choices,
        second.symbols,
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("#theory t {}.", "theory"),
        ("#program later. a.", "program-part"),
    ],
)
def test_refused(text: str, code: str) -> None:
    assert [problem.code for problem in refused(text)] == [code]


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("{e(1..3,1..3)}. #edge (X,Y) : e(X,Y).", 25),  # the acyclic graphs of three nodes
        ("{e(1..3,1..3)}. #edge (X,Y) : e(X,Y). #edge (1,2). #edge (2,3).", 8),
        ("{e(1..2)}. #edge (a,b;b,a) : e(1), not e(2).", 3),
        ("#edge (X,X+1) : X = 1..3. {c}.", 2),
        ("#edge (1,2). #edge (2,1).", 0),
    ],
)
def test_edges_allow_no_cycle_as_in_clingo(text: str, models: int) -> None:
    found = stable_models(grounded(text))
    assert found == clingo_models(text)
    assert len(found) == models
