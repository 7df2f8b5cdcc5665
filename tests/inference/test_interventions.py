"""do(…) and counterfactuals, compared with programs that were changed by hand."""

from __future__ import annotations

import json
import os
from random import Random

import pytest

import dpasp
from dpasp.cli import main
from dpasp.language import parse
from dpasp.language.ast import statement_text

COUNT = int(os.environ.get("DPASP_INTERVENTIONS", "30"))
LOGICS = ("stable", "partial", "lstable", "wellfounded")
Rule = tuple[tuple[str, ...], tuple[str, ...]]  # heads with probabilities or without, body

SPRINKLER = """
0.5::cloudy.
0.1::sprinkler :- cloudy. 0.5::sprinkler :- not cloudy.
0.8::rain :- cloudy. 0.2::rain :- not cloudy.
0.9::wet :- sprinkler. 0.9::wet :- rain.
#semantics maxent.
"""
# Pearl, Causality: the court orders, the captain signals, two riflemen shoot; A may be nervous.
SQUAD = """
0.7::order. 0.2::nervous.
captain :- order. a :- captain. a :- nervous. b :- captain. dead :- a. dead :- b.
#semantics maxent.
"""


class Case:
    """A random program in pieces, which can be written with atoms set, and as twins."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.logic = random.choice(LOGICS)
        self.chances = [(random.randint(1, 9) / 10, f"u{i}") for i in range(random.randint(1, 3))]
        inner = [f"n{i}" for i in range(random.randint(2, 5))]
        atoms = [*(name for _, name in self.chances), *inner]
        self.rules: list[tuple[str, list[str]]] = []
        for _ in range(random.randint(3, 7)):
            body = random.sample(atoms, random.randint(0, 2))
            self.rules.append(
                (random.choice(inner), [random.choice(["", "", "not "]) + atom for atom in body])
            )
        if random.random() < 0.2:
            self.rules.append(("", random.sample(atoms, 2)))
        if random.random() < 0.3:  # a disjunction by chance
            self.choice = (0.25, random.choice(inner), 0.5, random.choice(inner))
        else:
            self.choice = None
        used = {lit.removeprefix("not ") for head, body in self.rules for lit in (head, *body)}
        used = sorted((used | {name for _, name in self.chances}) - {""})
        self.do = {a: random.random() < 0.5 for a in random.sample(used, random.randint(1, 2))}

        def literals(most: int) -> list[str]:
            some = random.sample(atoms, random.randint(1, most))
            return [random.choice(["", "not "]) + atom for atom in some]

        self.query, self.evidence, self.given = literals(2), literals(1), literals(2)
        self.evidence = self.evidence if random.random() < 0.5 else []

    def text(self, semantics: str) -> str:
        """The program as it is."""
        return self._written({}, {}) + f"#semantics {self.logic}, {semantics}."

    def changed(self, semantics: str) -> str:
        """The program with atoms set."""
        return self._written(self.do, {}) + f"#semantics {self.logic}, {semantics}."

    def twins(self, semantics: str) -> str:
        """The program as it is, beside a copy of what do leads to."""
        copies = {atom: f"x{atom}" for atom in self.reached()}
        written = self._written({}, {}) + self._written(self.do, copies)
        return written + f"#semantics {self.logic}, {semantics}."

    def reached(self) -> set[str]:
        """The atoms that rules lead to from those that are set."""
        reached, before = set(self.do), set[str]()
        while reached != before:
            before = set(reached)
            for head, body in self.rules:
                if head and any(literal.removeprefix("not ") in reached for literal in body):
                    reached.add(head)
        return reached

    def _written(self, do: dict[str, bool], names: dict[str, str]) -> str:
        def named(literal: str) -> str:
            sign, atom = ("not ", literal[4:]) if literal.startswith("not ") else ("", literal)
            return sign + names.get(atom, atom)

        lines = []
        for number, name in self.chances:
            if not names:
                lines.append(f"{number}::c{name}.")
            if name not in do and (not names or name in names):
                lines.append(f"{names.get(name, name)} :- c{name}.")
        for head, body in self.rules:
            if names and head not in names and not any(named(lit) != lit for lit in body):
                continue
            if head in do:
                continue
            tail = f" :- {', '.join(map(named, body))}" if body else ""
            lines.append(f"{names.get(head, head)}{tail}.")
        if self.choice is not None:
            p, one, q, other = self.choice
            if not names:
                lines.append(f"{p}::v0; {q}::v1.")
            for value, head in (("v0", one), ("v1", other)):
                if head not in do and (not names or head in names):
                    lines.append(f"{names.get(head, head)} :- {value}.")
        lines += [f"{names.get(atom, atom)}." for atom, taken in do.items() if taken]
        return " ".join(lines) + "\n"

    def asked(self) -> tuple[str, str]:
        do = ", ".join(atom if taken else f"not {atom}" for atom, taken in self.do.items())
        evidence = "".join(f", {literal}" for literal in self.evidence)
        return f"{', '.join(self.query)} | do({do}){evidence}", ", ".join(self.given)


def copied(literal: str, copies: set[str]) -> str:
    sign, atom = ("not ", literal[4:]) if literal.startswith("not ") else ("", literal)
    return f"{sign}x{atom}" if atom in copies else literal


def numbers(program: str, query: str, engine: str = "auto") -> list[float] | str:
    try:
        answer = dpasp.loads(program).query(query, engine=engine)[0]
    except (dpasp.ImpossibleEvidence, dpasp.InconsistentProgram) as error:
        return type(error).__name__
    return [float(number) for number in answer.numbers]


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_random_interventions(semantics: str) -> None:
    for seed in range(COUNT):
        case = Case(seed)
        query, _ = case.asked()
        plain = f"{', '.join(case.query)}{' | ' if case.evidence else ''}{', '.join(case.evidence)}"
        expected = numbers(case.changed(semantics), plain, "enumerate")
        found = numbers(case.text(semantics), query, "enumerate" if seed % 3 == 0 else "auto")
        assert found == pytest.approx(expected, abs=1e-9), (seed, case.text(semantics), query)


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_random_counterfactuals(semantics: str) -> None:
    for seed in range(COUNT):
        case = Case(seed)
        query, given = case.asked()
        twins = case.twins(semantics)

        copies = case.reached()
        asked = ", ".join(copied(literal, copies) for literal in case.query)
        condition = ", ".join([*(copied(lit, copies) for lit in case.evidence), *case.given])
        expected = numbers(twins, f"{asked} | {condition}", "enumerate")
        found = numbers(case.text(semantics), f"{query} given {given}")
        assert found == pytest.approx(expected, abs=1e-9), (
            seed,
            case.text(semantics),
            query,
            given,
        )


def test_the_sprinkler() -> None:
    """P(c | do(s)) is P(c), and P(w | do(s), c) by hand."""
    program = dpasp.loads(SPRINKLER)
    answers = program.query("cloudy | do(sprinkler)", "cloudy | sprinkler", "wet | do(rain)")
    assert [a.value for a in answers] == pytest.approx([0.5, 1 / 6, 0.9 + 0.1 * 0.3 * 0.9])
    assert program.expect("10 : wet | do(rain)").value == pytest.approx(9.27)
    (best,) = program.map("cloudy?, rain? | do(sprinkler), wet")
    assert best.assignment == {"cloudy": True, "rain": True}


def test_the_firing_squad() -> None:
    """Pearl's questions: had A not shot, would the prisoner be alive?"""
    program = dpasp.loads(SQUAD)
    dead = 1 - 0.3 * 0.8
    value = program.query("not dead | do(not a) given dead")[0].value
    assert value == pytest.approx(0.3 * 0.2 / dead)
    assert program.query("dead | do(a) given not dead")[0].value == pytest.approx(1.0)
    assert program.query("dead | do(not a) given b")[0].value == pytest.approx(1.0)
    # as evidence after the intervention it says something else
    assert program.query("order | do(not a), dead")[0].value == pytest.approx(1.0)
    assert program.query("order | do(not a) given dead")[0].value == pytest.approx(0.7 / dead)


def test_variables_instances_and_disjunctions() -> None:
    program = dpasp.loads(
        """
        person(anna; bill; carl). 0.3::stress(X) :- person(X).
        smokes(X) :- stress(X). 0.5::follows(X,Y) :- person(X), person(Y), X != Y.
        smokes(X) :- follows(X,Y), smokes(Y).
        0.2::state(calm); 0.8::state(busy).
        #semantics maxent. #const who = anna.
        """
    )
    answers = program.query(
        "smokes(X) | do(not smokes(who)), smokes(bill)", "state(X) | do(state(calm))"
    )
    assert answers["smokes(anna) | do(not smokes(who)), smokes(bill)"].value == 0.0
    assert answers["smokes(bill) | do(not smokes(who)), smokes(bill)"].value == 1.0
    # the other value of a disjunction stays as it is
    assert [answers[i].value for i in (-2, -1)] == pytest.approx([0.8, 1.0])


def test_answers_come_in_the_order_of_the_program() -> None:
    program = dpasp.loads(
        SPRINKLER
        + "#query wet | do(rain). #query wet. #expect 1 : wet | do(not rain). #query rain."
    )
    names = [answer.query for answer in program.query()]
    assert names == ["wet | do(rain)", "wet", "1 : wet | do(not rain)", "rain"]


def test_evidence_joins_what_was_observed() -> None:
    program = dpasp.loads(SQUAD + "#evidence dead.")
    assert program.query("dead | do(not a)")[0].value == pytest.approx(1.0)
    value = program.query("dead | do(not a) given not nervous")[0].value
    assert value == pytest.approx(1.0)
    plain = dpasp.loads(SQUAD)
    table = {"dead": [True, False, None], "nervous": [None, None, True]}
    found = plain.query("dead | do(not a) given not b", evidence=table)[0].value
    assert found == pytest.approx([0.0, 0.0, 0.0])
    found = plain.query("order | do(not a)", evidence={"dead": [True, None]})[0].value
    assert found == pytest.approx([1.0, 0.7])
    with_dictionary = plain.query("not dead | do(not a) given dead", evidence={"nervous": True})
    assert with_dictionary[0].value == pytest.approx(0.3)


def test_decisions_can_be_set() -> None:
    program = dpasp.loads(
        """
        0.3::rain. #decision {umbrella; coat}. wet :- rain, not umbrella, not coat.
        #utility 100 : not wet. #utility -10 : umbrella. #utility -5 : coat. #semantics maxent.
        """
    )
    best = program.query("wet | do(not coat)")[0]
    assert best.value == 0.0
    assert best.strategy == {"umbrella": True}
    assert program.query("wet | do(coat)")[0].strategy == {"umbrella": False}
    one = dpasp.loads("#decision 1 {a; b; c} 1. #utility 2 : a. #utility 1 : b. #semantics maxent.")
    assert one.query("b | do(not a)")[0].value == 1.0
    assert one.query("b | do(c)")[0].value == 0.0
    with pytest.raises(dpasp.ProgramError, match="depends on what is decided"):
        program.query("wet | do(not coat) given wet")


def test_printing_and_json(tmp_path, capsys) -> None:
    for text in (
        "#query not wet | do(not rain) given wet.",
        "#query a | do(b, not c), d(X), X < 3 given e(X).",
        "#expect 3 : a | do(b).",
        "#map a? | do(b), c.",
        "#mpe | do(b).",
    ):
        assert statement_text(parse(text).statements[0]) == text
    path = tmp_path / "p.plp"
    path.write_text(SQUAD)
    assert main(["run", str(path), "--query", "not dead | do(not a) given dead", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["query"] == "not dead | do(not a) given dead"
    assert answer["value"] == pytest.approx(0.06 / 0.76)


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
def test_statistical_statements_are_causes_too(engine: str) -> None:
    """What is set is not counted among the birds that fly by the statement."""
    program = dpasp.loads(
        "bird(1..3). (fly(X) | bird(X))[0.6, 1]. 0.5::near. seen :- fly(2), near.#semantics maxent."
    )
    for query, expected in (
        ("fly(1) | do(not fly(2))", 3 / 4),
        ("seen | do(not fly(2)) given seen", 0),
        ("seen | do(not fly(1)) given fly(1), seen", 1),
        ("seen | do(not fly(1)) given fly(1)", 1 / 3),
    ):
        assert program.query(query, engine=engine)[0].value == pytest.approx(expected), query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a. #query a | do(p(X)).", "without variables"),
        ("a. #query a | b given c.", "needs do"),
        ("a. b. #query a | do(b), do(not b).", "both true and false"),
        ("#const n = 1. p(1..2). #query p(2) | do(p(n), not p(1)).", "both true and false"),
        ("a. b. #query a | do(b.", "never closed"),
        ("#decision {a}. #utility 1 : a. #decide | do(a).", "decisions are not taken"),
        ("a. b. #query a | do(b) given.", "nothing follows"),
        ("a. #query a | do(undef a).", "true or false"),
        ("a. #query a | do().", "names no atom"),
        ("a. b. #query a | do(b) given c given d.", "a second 'given'"),
        ("a. b. #query a | do(b) given do(a).", "before it"),
        ("do(x). a. #query a | do(a).", "a predicate do/1"),
        ("a. b. #query a | do(b). #semantics weighted.", "under the weighted"),
        ("a. b. #query a | do(b) given a. #semantics smproblog.", "under smproblog"),
        ("a. #query a | do(rian).", "has no rian/0"),
        ("#external b. a :- b. #query a | do(b).", "set from outside"),
    ],
)
def test_what_cannot_be_set_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=message) as caught:
        dpasp.loads(text).query()
    assert caught.value.diagnostics[0].span is not None
