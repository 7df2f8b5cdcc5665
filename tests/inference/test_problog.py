"""On stratified programs the answers are ProbLog's."""

from __future__ import annotations

import warnings
from random import Random

import pytest

import dpasp

problog = pytest.importorskip("problog")

CLASSICS = {
    "alarm": (
        """
        0.1::burglary. 0.2::earthquake.
        0.7::hears(X) :- person(X).
        person(john). person(mary).
        alarm :- burglary. alarm :- earthquake.
        calls(X) :- alarm, hears(X).
        """,
        ["burglary", "earthquake", "alarm"],
        ["calls(john)", "calls(mary)"],
    ),
    "smokers": (
        """
        0.3::stress(X) :- person(X).
        0.2::influences(X,Y) :- person(X), person(Y).
        smokes(X) :- stress(X).
        smokes(X) :- friend(X,Y), influences(Y,X), smokes(Y).
        0.4::asthma(X) :- smokes(X).
        person(1). person(2). person(3). person(4).
        friend(1,2). friend(2,1). friend(2,4). friend(3,2). friend(4,2).
        """,
        ["smokes(1)", "smokes(3)", "asthma(3)", "asthma(4)"],
        ["smokes(2)", "not influences(4,2)"],
    ),
    "dice": (
        """
        1/6::one(D); 1/6::two(D); 1/6::three(D); 1/6::four(D); 1/6::five(D); 1/6::six(D) :- die(D).
        die(1). die(2).
        odd(D) :- one(D). odd(D) :- three(D). odd(D) :- five(D).
        even(D) :- die(D), not odd(D).
        same :- odd(1), odd(2). same :- even(1), even(2).
        """,
        ["six(1)", "odd(2)", "same"],
        ["same", "not six(2)"],
    ),
    "coins": ("d(1). d(2). 0.5::b :- d(X). 0.25::c :- b.", ["b", "c"], []),
}


def random_program(seed: int) -> tuple[str, list[str], list[str]]:
    """A stratified program: facts, disjunctions, rules with negation below them, recursion."""
    rng = Random(seed)
    nodes = range(1, rng.randint(2, 3) + 1)
    p = lambda: round(rng.uniform(0.05, 0.95), 2)  # noqa: E731
    lines = [f"node({i})." for i in nodes]
    pairs = [(i, j) for i in nodes for j in nodes if i != j]
    lines += [f"{p()}::e({i},{j})." for i, j in rng.sample(pairs, min(len(pairs), 4))]
    lines += [f"{p()}::f({i})." for i in nodes]
    red, green = sorted((p() / 2, p() / 2))
    lines.append(f"{red:.3f}::c(X,r); {green:.3f}::c(X,g) :- node(X).")
    lines += ["path(X,Y) :- e(X,Y).", "path(X,Y) :- e(X,Z), path(Z,Y)."]
    lower = ["f(X)", "c(X,r)", "c(X,g)", "path(X,1)", "path(2,X)"]
    asked = []
    for layer in range(rng.randint(1, 3)):
        name = f"l{layer}"
        for _ in range(rng.randint(1, 2)):
            positive = rng.sample(lower, rng.randint(0, 2))
            negative = [f"not {atom}" for atom in rng.sample(lower, rng.randint(0, 2))]
            annotation = f"{p()}::" if rng.random() < 0.4 else ""
            body = ", ".join(["node(X)", *positive, *negative])
            lines.append(f"{annotation}{name}(X) :- {body}.")
        if rng.random() < 0.5:
            lines.append(f"{name}(X) :- e(X,Y), {name}(Y).")
        lower = [*lower, f"{name}(X)"]
        asked += [f"{name}({i})" for i in nodes]
    evidence = [
        rng.choice(["", "not "]) + atom
        for atom in rng.sample([*asked, "f(1)", "c(1,r)", "path(1,2)"], rng.randint(0, 2))
    ]
    return "\n".join(lines), [*asked, "path(1,2)"], evidence


def by_problog(text: str, queries: list[str], evidence: list[str]) -> dict[str, float] | None:
    """ProbLog's answers; None if it says that the evidence is impossible."""
    from problog import get_evaluatable
    from problog.errors import InconsistentEvidenceError
    from problog.program import PrologString

    lines = [text.replace("not ", "\\+")]
    lines += [f"query({query})." for query in queries]
    lines += [
        f"evidence({one.removeprefix('not ')},{'false' if one.startswith('not ') else 'true'})."
        for one in evidence
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = get_evaluatable().create_from(PrologString("\n".join(lines))).evaluate()
        except InconsistentEvidenceError:
            return None
    return {str(atom).replace(" ", ""): value for atom, value in found.items()}


def compare(text: str, queries: list[str], evidence: list[str], semantics: str) -> None:
    expected = by_problog(text, queries, evidence)
    program = dpasp.loads(text)
    if expected is None:
        with pytest.raises(dpasp.ImpossibleEvidence):
            program.query(*queries, evidence=evidence, semantics=semantics)
        return
    answers = program.query(*queries, evidence=evidence, semantics=semantics)
    for query, answer in zip(queries, answers, strict=True):
        numbers = [float(number) for number in answer.numbers]
        assert numbers == pytest.approx([expected[query]] * len(numbers), abs=1e-9), (text, query)


@pytest.mark.parametrize("name", CLASSICS)
def test_classics(name: str) -> None:
    compare(*CLASSICS[name], "wellfounded, maxent")
    compare(*CLASSICS[name], "stable, credal")


@pytest.mark.parametrize("seed", range(56))
def test_random_stratified_programs(seed: int) -> None:
    logics = ("wellfounded", "stable", "partial", "lstable", "smproblog")
    probability = "credal" if seed % 2 else "maxent"
    compare(*random_program(seed), f"{logics[seed % 5]}, {probability}")
