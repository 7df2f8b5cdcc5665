"""LP^MLN and Markov logic: against their definitions, world by world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, combinations, product
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dpasp

BIRDS = """\
bird(X) :- residentBird(X).  bird(X) :- migratoryBird(X).
:- residentBird(X), migratoryBird(X).
"""
SQUAD = """\
{order} {nervous}
captain :- order.  a :- captain.  b :- captain.  a :- nervous.  d :- a.  d :- b.
captain2 :- order.  b2 :- captain2.  d2 :- a2.  d2 :- b2.
a2 :- captain2, not do_a.  a2 :- nervous, not do_a.  do_a.
&evidence(d).  &query(d2).
"""


def probabilities(text: str, dialect: str, names: Iterable[str]) -> dict[str, float]:
    converted = dpasp.convert(text, dialect, from_str=True)
    converted += "".join(f"#query {name}.\n" for name in names)
    program = dpasp.loads(converted)
    return dict(zip(names, [float(answer.value) for answer in program.query()], strict=True))


@pytest.mark.parametrize(
    "soft",
    [
        "2 : residentBird(jo). 1 : migratoryBird(jo).",
        "2 residentBird(jo). 1.0 migratoryBird(jo).",
        'residentBird(jo) :- &weight(2). migratoryBird(jo) :- &weight("1").',
        '{residentBird(jo)}. :~ not residentBird(jo). ["2"@0,0] '
        '{migratoryBird(jo)}. :~ not migratoryBird(jo). ["1"@0,0]',
        "@log(7.38905609893065) : residentBird(jo). 1 : migratoryBird(jo).",
    ],
)
def test_birds(soft: str) -> None:
    names = ["residentBird(jo)", "migratoryBird(jo)", "not bird(jo)"]
    found = probabilities(BIRDS + soft, "lpmln", names)
    assert list(found.values()) == pytest.approx([0.66524, 0.24473, 0.09003], abs=5e-6)


@pytest.mark.parametrize(
    ("order", "nervous"),
    [
        ('order :- &log("0.7/0.3").', 'nervous :- &log("0.2/0.8").'),
        ("@log(0.7) : order. @log(0.3) :- order.", "@log(0.2) : nervous. @log(0.8) :- nervous."),
    ],
)
def test_the_firing_squad(order: str, nervous: str) -> None:
    text = SQUAD.replace("{order}", order).replace("{nervous}", nervous)
    (answer,) = dpasp.loads(dpasp.convert(text, "lpmln", from_str=True)).query()
    assert float(answer.value) == pytest.approx(0.92105, abs=5e-6)


Rule = tuple[float | None, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def subsets(names: Iterable[str]) -> list[frozenset[str]]:
    listed = list(names)
    sizes = range(len(listed) + 1)
    return [frozenset(s) for s in chain.from_iterable(combinations(listed, n) for n in sizes)]


def holds(rule: Rule, world: frozenset[str], reduct: frozenset[str]) -> bool:
    """Whether the rule's reduct holds in a world."""
    _, heads, plus, minus = rule
    return not (world.issuperset(plus) and reduct.isdisjoint(minus)) or not world.isdisjoint(heads)


def lpmln(rules: list[Rule], names: str) -> dict[frozenset[str], float]:
    """The weights of LP^MLN's stable models, by its definition."""
    found = {}
    for world in subsets(names):
        kept = [rule for rule in rules if holds(rule, world, world)]
        if any(rule not in kept for rule in rules if rule[0] is None):
            continue
        smaller = [s for s in subsets(world) if s != world]
        if not any(all(holds(rule, s, world) for rule in kept) for s in smaller):
            found[world] = exp(sum(rule[0] for rule in kept if rule[0] is not None))
    return found


def test_random_programs_against_the_definition() -> None:
    random, names, tried = Random(22), "abcd", 0
    while tried < 150:
        rules: list[Rule] = []
        for _ in range(random.randint(2, 6)):
            weight = None if random.random() < 0.3 else random.randint(-15, 25) / 10
            heads = tuple(random.sample(names, random.choice([0, 1, 1, 1, 2])))
            body = random.sample(names, random.randint(0 if heads else 1, 3))
            cut = random.randint(0, len(body))
            rules.append((weight, heads, tuple(body[:cut]), tuple(body[cut:])))
        models = lpmln(rules, names)
        if not models:
            continue
        tried += 1
        text = ""
        for weight, heads, plus, minus in rules:
            mark = "" if weight is None else f"{weight} : " if heads else f"{weight} "
            body = ", ".join([*plus, *(f"not {name}" for name in minus)])
            text += f"{mark}{' ; '.join(heads)}{f' :- {body}' if body else ''}.\n"
        found = probabilities(text, "lpmln", list(names))
        total = sum(models.values())
        for name in names:
            expected = sum(w for model, w in models.items() if name in model) / total
            assert found[name] == pytest.approx(expected, abs=1e-9), text


def test_instances_of_rules_count_one_by_one() -> None:
    text = "p(1..3). q(1). 0.7 : r(X) :- p(X), not q(X). -0.4 : s :- p(X), r(X). W : t(W) :- p(W)."
    with pytest.raises(dpasp.ProgramError):
        dpasp.convert(text, "lpmln", from_str=True)
    text = text.replace("W : t(W) :- p(W)", "t(W) :- p(W), &weight(W)")
    names = ["s", "r(2)", "t(3)"]
    found = probabilities(text, "lpmln", names)
    weights = {
        (s, r2, r3): exp(0.7 * (r2 + r3) - 0.4 * (sum(s or not r for r in (r2, r3)) + 1))
        for s, r2, r3 in product((False, True), repeat=3)
        if not s or r2 or r3
    }
    total = sum(weights.values())
    assert found["s"] == pytest.approx(sum(w for k, w in weights.items() if k[0]) / total)
    assert found["r(2)"] == pytest.approx(sum(w for k, w in weights.items() if k[1]) / total)
    assert found["t(3)"] == pytest.approx(exp(3) / (1 + exp(3)))


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a. 2 : {b}.", 4, "atoms in its head"),
        ("2 : b(1..2).", 8, "several values"),
        ("p(1). 2 : b :- p(_).", 18, "without a name"),
        ("0.3::a.", 1, "no meaning in LP"),
        ('a :- &problog("0.3").', 6, "no counterpart"),
        ("alpha : a.", 1, "not a number"),
        ("0.7/0.3 : a.", 1, "one number"),
        ('{a}. :~ a. ["2"@1,0]', 6, "another level"),
        ('a :- &weight("two").', 14, "a weight is a number"),
        ("2 : a(X).", 1, "unsafe"),
    ],
)
def test_refused_lpmln(text: str, column: int, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as refused:
        dpasp.convert(text, "lpmln", from_str=True)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert span.column == column


SMOKERS = """\
// smokers
person = {Anna, Bob}
Smokes(person)
Cancer(person)
Friends(person, person)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x,y) => (Smokes(x) <=> Smokes(y))   // peers
-0.7 Smokes(x) ^ !Cancer(x)
0.4 EXIST y (Friends(x,y) ^ x != y)
!Friends(x,x).
"""
PEOPLE = ("anna", "bob")
World = dict[str, bool]


def markov(atoms: list[str], weigh: Callable[[World], float]) -> dict[tuple[bool, ...], float]:
    worlds = product((False, True), repeat=len(atoms))
    return {values: weigh(dict(zip(atoms, values, strict=True))) for values in worlds}


def smokers(w: World) -> float:
    if any(w[f"friends({x},{x})"] for x in PEOPLE):
        return 0.0
    total = 0.0
    for x in PEOPLE:
        total += 1.5 * (not w[f"smokes({x})"] or w[f"cancer({x})"])
        total -= 0.7 * (w[f"smokes({x})"] and not w[f"cancer({x})"])
        total += 0.4 * any(w[f"friends({x},{y})"] for y in PEOPLE if x != y)
        for y in PEOPLE:
            same = w[f"smokes({x})"] == w[f"smokes({y})"]
            total += 1.1 * (not w[f"friends({x},{y})"] or same)
    return exp(total)


def test_markov_logic_against_its_worlds() -> None:
    atoms = [f"{p}({x})" for p in ("smokes", "cancer") for x in PEOPLE]
    atoms += [f"friends({x},{y})" for x in PEOPLE for y in PEOPLE]
    worlds = markov(atoms, smokers)
    found = probabilities(SMOKERS, "mln", atoms)
    total = sum(worlds.values())
    for i, name in enumerate(atoms):
        assert found[name] == pytest.approx(sum(w for v, w in worlds.items() if v[i]) / total)
    program = dpasp.loads(dpasp.convert(SMOKERS, "mln", from_str=True))
    assert program.log_partition() == pytest.approx(log(total))


def test_evidence_of_markov_logic(tmp_path: Path) -> None:
    (tmp_path / "s.mln").write_text(SMOKERS.replace("person = {Anna, Bob}\n", ""))
    (tmp_path / "s.db").write_text("Smokes(Anna)\n!Cancer(Bob) // not yet\nFriends(Anna,Bob)\n")
    text = dpasp.convert(tmp_path / "s.mln", "mln", evidence=tmp_path / "s.db")
    assert "#evidence smokes(anna), not cancer(bob), friends(anna,bob)." in text
    atoms = [f"{p}({x})" for p in ("smokes", "cancer") for x in PEOPLE]
    atoms += [f"friends({x},{y})" for x in PEOPLE for y in PEOPLE]

    def seen(w: World) -> float:
        fits = w["smokes(anna)"] and not w["cancer(bob)"] and w["friends(anna,bob)"]
        return smokers(w) if fits else 0.0

    worlds = markov(atoms, seen)
    (answer,) = dpasp.loads(text + "#query smokes(bob).").query()
    i = atoms.index("smokes(bob)")
    expected = sum(w for v, w in worlds.items() if v[i]) / sum(worlds.values())
    assert float(answer.value) == pytest.approx(expected)


def random_formula(random: Random, depth: int) -> tuple[str, Callable[[World, str], bool]]:
    if depth == 0:
        name = random.choice("PQR")
        arg = random.choice(["x", "A"])
        value = {"A": "a"}.get(arg, "")
        return f"{name}({arg})", lambda w, x: w[f"{name.lower()}({value or x})"]
    kind = random.choice(["!", "^", "v", "=>", "<=>"])
    left, first = random_formula(random, depth - 1)
    if kind == "!":
        return f"!({left})", lambda w, x: not first(w, x)
    right, second = random_formula(random, random.randint(0, depth - 1))
    means: dict[str, Callable[[bool, bool], bool]] = {
        "^": lambda a, b: a and b,
        "v": lambda a, b: a or b,
        "=>": lambda a, b: not a or b,
        "<=>": lambda a, b: a == b,
    }
    return f"({left} {kind} {right})", lambda w, x: means[kind](first(w, x), second(w, x))


def test_random_formulas_against_their_worlds() -> None:
    random, tried = Random(5), 0
    atoms = [f"{p}({c})" for p in "pqr" for c in "ab"]
    while tried < 60:
        soft = [(random.randint(-20, 20) / 10, random_formula(random, 2)) for _ in range(3)]
        hard, must = random_formula(random, 2)
        text = "t = {A, B}\nP(t)\nQ(t)\nR(t)\n" + "".join(f"{w} {f[0]}\n" for w, f in soft)

        def weigh(world: World, must: Any = must, soft: Any = soft) -> float:
            if not all(must(world, c) for c in "ab"):
                return 0.0
            # A formula without variables has one grounding.
            return exp(
                sum(
                    weight * formula(world, c)
                    for weight, (shown, formula) in soft
                    for c in ("ab" if "x" in shown else "a")
                )
            )

        worlds = markov(atoms, weigh)
        total = sum(worlds.values())
        if total == 0:
            continue
        tried += 1
        found = probabilities(f"{text}{hard}.\n", "mln", atoms)
        for i, name in enumerate(atoms):
            expected = sum(w for v, w in worlds.items() if v[i]) / total
            assert found[name] == pytest.approx(expected, abs=1e-9), text


def test_one_value_of_each() -> None:
    text = (
        "o = {A}\nc = {1, ..., 3}\nIs(o, c!)\nRain\n1 Is(x,2) ^ Rain\nFORALL z (Is(z,c) => c != 3)."
    )
    found = probabilities(text, "mln", ["is(a,1)", "is(a,2)", "rain"])
    total = 3 + exp(1)
    assert found["is(a,3)" if "is(a,3)" in found else "is(a,1)"] == pytest.approx(2 / total)
    assert found["rain"] == pytest.approx((1 + exp(1)) / total)


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("P(x) => Q(x)", 1, "without a weight"),
        ("1.5 P(x).", 1, "a weight and a dot"),
        ("1.5 P(+x)", 7, "learned weights"),
        ("1 FORALL x (P(x))", 3, "FORALL in a formula with a weight"),
        ("1 (EXIST x (P(x))) => P(A)", 3, "EXIST under a negation"),
        ("1 EXIST x P(x) ^ Q(x)", 3, "how far the quantifier goes"),
        ("1 P(x) => Q(x) => P(x)", 16, "a second =>"),
        ("1 P(x,y)", 3, "not declared"),
        ("1 P(C)", 5, "not among the constants"),
        ("1 P(x) ^ S(x)", 12, "the types t and u"),
        ("1 P(x) ^ x != y", 15, "type of y"),
        ("1 P(x", 5, "too early"),
        ("1 P(x) & Q(x)", 8, "cannot be read"),
        ("P(t)", 1, "declared above"),
        ("k = {a}", 6, "a capital letter"),
        ("#include x", 1, "directive"),
    ],
)
def test_refused_markov_logic(line: str, column: int, words: str) -> None:
    text = f"t = {{A, B}}\nu = {{A}}\nP(t)\nQ(t)\nS(u)\n{line}"
    with pytest.raises(dpasp.ProgramError, match=words) as refused:
        dpasp.convert(text, "mln", from_str=True)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column) == (6, column)


def test_an_empty_file_is_no_markov_logic() -> None:
    with pytest.raises(dpasp.ProgramError, match="no formula"):
        dpasp.convert("// nothing\n", "mln", from_str=True)
