"""Where the values of the table come from: each program once more, as plain Python in fractions.

    python answers/derive.py           compare the table with what is derived here
    python answers/derive.py --write   write it anew, with the times that are known

Nothing of dPASP is used. The questions are in questions.txt. A function lists the worlds of a
program: how probable each is, and which models it has; questions are answered by the definitions.
Values that were published, or computed by another system, come from the folder DPASP_DATA.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "answers.json"
DATA = Path(os.environ.get("DPASP_DATA", ""))
Number = Fraction | float
SHORT = 10**9  # denominators up to this are shown


@dataclass(frozen=True)
class Model:
    """The atoms that are true, and those that are undefined."""

    true: frozenset[str]
    undefined: frozenset[str] = frozenset()


World = tuple[Number, list[Model]]


# --- building worlds ------------------------------------------------------------------------------


def model(*atoms: str, undefined: tuple[str, ...] = ()) -> Model:
    """A model; empty texts are left out."""
    return Model(frozenset(filter(None, atoms)), frozenset(undefined))


def coins(*chances: str) -> Iterator[tuple[Fraction, tuple[bool, ...]]]:
    """All outcomes of independent coins, with their probabilities."""
    for values in product((True, False), repeat=len(chances)):
        weights = (given(chance, value) for chance, value in zip(chances, values, strict=True))
        yield math.prod(weights, start=Fraction(1)), values


def dice(*tables: dict[Any, str]) -> Iterator[tuple[Fraction, tuple[Any, ...]]]:
    """All outcomes of independent choices among values."""
    for values in product(*tables):
        weights = (Fraction(table[v]) for table, v in zip(tables, values, strict=True))
        yield math.prod(weights, start=Fraction(1)), values


def closure(start: set[Any], ways: set[tuple[Any, Any]]) -> set[Any]:
    """Everything that ways lead to from the start."""
    found = set(start)
    while more := {b for a, b in ways if a in found} - found:
        found |= more
    return found


def given(chance: str, value: bool) -> Fraction:
    """The probability of a value of a coin."""
    return Fraction(chance) if value else 1 - Fraction(chance)


# --- the programs ---------------------------------------------------------------------------------


def monty_hall() -> Iterator[World]:
    for p, (prize, other) in dice(dict.fromkeys((1, 2, 3), "1/3"), {2: "1/2", 3: "1/2"}):
        opens = other if prize == 1 else 5 - prize
        yield p, [model(f"prize({prize})", f"opens({opens})")]


def prisoners() -> Iterator[World]:
    for p, (pardoned, other) in dice(dict.fromkeys("abc", "1/3"), {"b": "1/2", "c": "1/2"}):
        named = other if pardoned == "a" else {"b": "c", "c": "b"}[pardoned]
        yield p, [model(f"pardoned({pardoned})", f"named({named})")]


def disease() -> Iterator[World]:
    for p, (sick, right, wrong) in coins("0.01", "0.95", "0.05"):
        yield p, [model("sick" * sick, "positive" * (right if sick else wrong))]


def alarm() -> Iterator[World]:
    for p, (burglary, earthquake, shaken) in coins("0.1", "0.2", "0.7"):
        rings = burglary or (earthquake and shaken)
        yield p, [model("burglary" * burglary, "earthquake" * earthquake, "alarm" * rings)]


def two_dice() -> Iterator[World]:
    six = dict.fromkeys(range(1, 7), "1/6")
    for p, (x, y) in dice(six, six):
        yield p, [model(f"d(1,{x})", f"d(2,{y})", f"sum({x + y})")]


def bridge() -> Iterator[World]:
    roads = [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    for p, open_roads in coins("0.9", "0.8", "0.5", "0.7", "0.6"):
        ways = {way for way, there in zip(roads, open_roads, strict=True) if there}
        reached = closure({1}, ways | {(b, a) for a, b in ways})
        yield p, [model(*(f"reached({place})" for place in reached))]


def birthday() -> Iterator[World]:
    day = dict.fromkeys(range(10), "1/10")
    for p, days in dice(day, day, day, day, day):
        yield p, [model("shared" * (len(set(days)) < 5))]


def constraint() -> Iterator[World]:
    for p, heads in coins("0.5", "0.5", "0.5"):
        some = [f"heads({i})" for i, value in enumerate(heads, 1) if value]
        yield p, [model(*some)] if len(some) >= 2 else []


def umbrella() -> Iterator[World]:
    for rain in product((True, False), repeat=4):
        for carried in product((True, False), repeat=3):
            p = Fraction(1, 2)
            for before, now in pairwise(rain):
                p *= given("0.7" if before else "0.3", now)
            for now, seen in zip(rain[1:], carried, strict=True):
                p *= given("0.9" if now else "0.2", seen)
            atoms = [f"rain({t})" for t in range(4) if rain[t]]
            yield p, [model(*atoms, *(f"umbrella({t + 1})" for t in range(3) if carried[t]))]


def sprinkler() -> Iterator[World]:
    for cloudy, sprinkles, rain, wet in product((True, False), repeat=4):
        p = Fraction(1, 2) * given("0.1" if cloudy else "0.5", sprinkles)
        p *= given("0.8" if cloudy else "0.2", rain)
        p *= given({0: "0", 1: "0.9", 2: "0.99"}[sprinkles + rain], wet)
        yield p, [model("cloudy" * cloudy, "sprinkler" * sprinkles, "rain" * rain, "wet" * wet)]


def student() -> Iterator[World]:
    grades = {
        (0, 0): ("0.3", "0.4", "0.3"),
        (0, 1): ("0.05", "0.25", "0.7"),
        (1, 0): ("0.9", "0.08", "0.02"),
        (1, 1): ("0.5", "0.3", "0.2"),
    }
    letters = ("0.9", "0.6", "0.01")
    for difficult, intelligent, sat, letter in product((True, False), repeat=4):
        for grade in range(3):
            p = given("0.4", difficult) * given("0.3", intelligent)
            p *= Fraction(grades[intelligent, difficult][grade])
            p *= given("0.8" if intelligent else "0.05", sat) * given(letters[grade], letter)
            atoms = ["difficult" * difficult, "intelligent" * intelligent, "sat" * sat]
            yield p, [model(*atoms, f"grade({grade + 1})", "letter" * letter)]


def children() -> Iterator[World]:
    for p, (elder, younger) in coins("0.5", "0.5"):
        both = "both" * (elder and younger)
        boys = "boy(elder)" * elder, "boy(younger)" * younger
        yield p, [model(*boys, "some" * (elder or younger), both)]


def urn() -> Iterator[World]:
    balls = ["red", "red", "red", "blue", "blue"]
    for first, second in permutations(range(5), 2):
        yield Fraction(1, 20), [model(f"first({balls[first]})", f"second({balls[second]})")]


def smokers() -> Iterator[World]:
    pairs = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5)]
    both = [*pairs, *((b, a) for a, b in pairs)]
    for p, values in coins(*["0.3"] * 5, *["0.2"] * 10):
        stressed = {i + 1 for i in range(5) if values[i]}
        smoking = closure(stressed, {w for w, v in zip(both, values[5:], strict=True) if v})
        atoms = [f"stress({i})" for i in stressed] + [f"smokes({i})" for i in smoking]
        yield p, [model(*atoms)]


def grid() -> Iterator[World]:
    places = list(product((1, 2, 3), repeat=2))
    roads = [((x, y), (x + 1, y)) for x, y in places if x < 3]
    roads += [((x, y), (x, y + 1)) for x, y in places if y < 3]
    for p, values in coins(*["0.5"] * 12):
        ways = {road for road, there in zip(roads, values, strict=True) if there}
        reached = closure({(1, 1)}, ways | {(b, a) for a, b in ways})
        yield p, [model(*(f"reached({x},{y})" for x, y in reached))]


def ruin() -> Iterator[World]:
    for p, wins in coins(*["0.4"] * 6):
        purse = 2
        for won in wins:
            purse += (1 if won else -1) if 0 < purse < 4 else 0
        yield p, [model("ruined" * (purse == 0), "rich" * (purse == 4))]


def noisy_or() -> Iterator[World]:
    for p, (cold, flu, allergy, *by) in coins("0.1", "0.05", "0.2", "0.6", "0.8", "0.3", "0.01"):
        sneezes = (cold and by[0]) or (flu and by[1]) or (allergy and by[2]) or by[3]
        causes = "cold" * cold, "flu" * flu, "allergy" * allergy
        yield p, [model(*causes, "sneezes" * sneezes)]


def asia() -> Iterator[World]:
    for values in product((True, False), repeat=7):
        visit, tub, smoke, lung, bronc, xray, dysp = values
        either = tub or lung
        p = given("0.01", visit) * given("0.05" if visit else "0.01", tub) * Fraction(1, 2)
        p *= given("0.1" if smoke else "0.01", lung) * given("0.6" if smoke else "0.3", bronc)
        p *= given("0.98" if either else "0.05", xray)
        chance = {(1, 1): "0.9", (1, 0): "0.8", (0, 1): "0.7", (0, 0): "0.1"}[bronc, either]
        p *= given(chance, dysp)
        names = ("asia", "tub", "smoke", "lung", "bronc", "xray", "dysp", "either")
        said = zip(names, (*values, either), strict=True)
        yield p, [model(*(f"{name}({'yes' if value else 'no'})" for name, value in said))]


# several models, or none


def even_loop() -> Iterator[World]:
    for p, (a,) in coins("0.3"):
        yield p, [model("a", "p"), model("a", "q")] if a else [model()]


def barber() -> Iterator[World]:
    shaved = "shaves(barber,mayor)"
    for p, (villager,) in coins("0.6"):
        unsure = ("shaves(barber,barber)",) if villager else ()
        yield p, [model(shaved, "villager(mayor)", undefined=unsure)]


def nixon() -> Iterator[World]:
    for p, (quaker, republican) in coins("0.8", "0.9"):
        seen = ["quaker" * quaker, "republican" * republican]
        views = ["pacifist"] * quaker + ["hawk"] * republican
        yield p, [model(*seen, view) for view in views] or [model()]


def colouring() -> Iterator[World]:
    for p, (fifth,) in coins("0.3"):
        edges = [(1, 2), (2, 3), (3, 1), (3, 4), *([(1, 4)] if fifth else [])]
        good = [
            colours
            for colours in product(("red", "green", "blue"), repeat=4)
            if colours[0] == "red" and all(colours[a - 1] != colours[b - 1] for a, b in edges)
        ]
        yield p, [model(*(f"colour({i},{c})" for i, c in enumerate(each, 1))) for each in good]


def birds() -> Iterator[World]:
    for p, there in coins(*["0.4"] * 4):
        some = [i for i, value in enumerate(there, 1) if value]
        found = []
        for fly in product((True, False), repeat=len(some)):
            if 10 * sum(fly) >= 6 * len(some):
                says = [f"{'flies' if f else 'stays'}({i})" for i, f in zip(some, fly, strict=True)]
                found.append(model(*(f"bird({i})" for i in some), *says))
        yield p, found


def game() -> Iterator[World]:
    """The positions by the rules of the game: won, lost, and the rest, which are drawn."""
    for p, (last, short) in coins("0.5", "0.7"):
        moves = {("a", "b"), ("b", "a"), ("b", "c"), ("c", "d")}
        moves |= {("d", "e")} if last else set()
        moves |= {("b", "d")} if short else set()
        won: set[str] = set()
        lost: set[str] = set()
        for _ in range(10):
            won |= {x for x, y in moves if y in lost}
            lost |= {x for x in "abcde" if all(y in won for z, y in moves if z == x)}
        drawn = set("abcde") - won - lost
        unsure = tuple(f"wins({x})" for x in drawn)
        yield p, [model(*(f"wins({x})" for x in won), undefined=unsure)]


def disjunction() -> Iterator[World]:
    for p, (hurt, right_handed) in coins("0.6", "0.5"):
        found = []
        for arm in ("left", "right") if hurt else ("",):
            writes = arm != ("right" if right_handed else "left")
            found.append(model("hurt" * hurt, arm, "can_write" * writes))
        yield p, found


def loop_of_three() -> Iterator[World]:
    for p, (a, b) in coins("0.4", "0.5"):
        yield p, [] if a else [model("q" * b)]


def derangement() -> Iterator[World]:
    ways = list(permutations(range(5)))
    yield Fraction(1), [model("some" * any(a == b for a, b in enumerate(way))) for way in ways]


# weights


def agreeing() -> Iterator[World]:
    for spins in product((True, False), repeat=4):
        alike = sum(spins[i] == spins[(i + 1) % 4] for i in range(4))
        yield Fraction(3**alike), [model(*(f"s({i + 1})" for i in range(4) if spins[i]))]


def queens() -> Iterator[World]:
    for rows in permutations(range(6)):
        if all(abs(rows[a] - rows[b]) != b - a for a in range(6) for b in range(a + 1, 6)):
            yield Fraction(1), [model(*(f"queen({c + 1},{r + 1})" for c, r in enumerate(rows)))]


def ising() -> Iterator[World]:
    for spins in product((1, -1), repeat=6):
        energy = sum(spins[i] * spins[(i + 1) % 6] for i in range(6))
        weight = math.exp(energy / 2)
        yield weight, [model(*(f"s({i + 1})" for i in range(6) if spins[i] == 1))]


def friends() -> Iterator[World]:
    for a, b, ill_a, ill_b in product((True, False), repeat=4):
        log = 1.5 * ((not a) + (not b) + (a and ill_a) + (b and ill_b)) + 1.1 * (a == b)
        atoms = "smokes(a)" * a, "smokes(b)" * b, "cancer(a)" * ill_a, "cancer(b)" * ill_b
        yield math.exp(log), [model(*atoms)]


def pennies() -> Iterator[World]:
    for p, heads in coins(*["0.5"] * 10):
        shown = (f"heads({i + 1})" for i in range(10) if heads[i])
        yield p, [model(f"total({sum(heads)})", *shown)]


WORLDS: dict[str, Callable[[], Iterator[World]]] = {
    function.__name__: function
    for function in (
        *(monty_hall, prisoners, disease, alarm, bridge, birthday, constraint, umbrella),
        *(sprinkler, student, children, urn, smokers, grid, ruin, noisy_or, asia, even_loop),
        *(barber, nixon, colouring, birds, game, disjunction, loop_of_three, derangement),
        *(agreeing, queens, ising, friends, pennies),
    )
} | {"dice": two_dice}


# --- questions by their definitions ---------------------------------------------------------------


def literals(text: str) -> list[str]:
    """The literals of a text: commas inside parentheses separate nothing."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def holds(found: Model, wanted: list[str]) -> bool:
    """Whether a model satisfies all literals."""
    for literal in wanted:
        if literal.startswith("not "):
            atom = literal[4:]
            good = atom not in found.true and atom not in found.undefined
        elif literal.startswith("undef "):
            good = literal[6:] in found.undefined
        else:
            good = literal in found.true
        if not good:
            return False
    return True


def probability(worlds: list[World], query: str, semantics: str) -> list[Number]:
    """P(query), or its lower and upper value under credal."""
    asked, _, evidence = (part.strip() for part in query.partition("|"))
    wanted, known = literals(asked), literals(evidence)
    both, e = Fraction(0), Fraction(0)
    a, b, c, d = (Fraction(0) for _ in range(4))
    for weight, models in worlds:
        seen = [m for m in models if holds(m, known)]
        good = [m for m in seen if holds(m, wanted)]
        if not models:
            continue
        both += weight * Fraction(len(good), len(models))
        e += weight * Fraction(len(seen), len(models))
        a += weight * (len(good) == len(models))
        b += weight * bool(good)
        c += weight * (len(seen) == len(models) and not good)
        d += weight * (len(seen) > len(good))
    return [a / (a + d), b / (b + c)] if "credal" in semantics else [both / e]


def most_probable(worlds: list[World], question: str) -> list[Number]:
    """The largest P(values | evidence) over the values of the atoms that are marked."""
    asked, _, evidence = question.partition("|")
    atoms = [atom.strip().removesuffix("?") for atom in literals(asked)]
    known = literals(evidence)
    found: dict[tuple[bool, ...], Number] = {}
    for weight, (only,) in worlds:
        if holds(only, known):
            values = tuple(atom in only.true for atom in atoms)
            found[values] = found.get(values, Fraction(0)) + weight
    return [max(found.values()) / sum(found.values())]


def expected(worlds: list[World], name: str) -> list[Number]:
    """The expected value of the argument of an atom."""
    total: Number = Fraction(0)
    for weight, (only,) in worlds:
        inside = re.compile(rf"{name}\((\d+)\)")
        total += weight * sum(int(m[1]) for atom in only.true if (m := inside.fullmatch(atom)))
    return [total]


# --- decisions, and what is no list of worlds -----------------------------------------------------


def rain_gear() -> Fraction:
    def utility(umbrella: bool, raincoat: bool) -> Fraction:
        total = Fraction(-20 * raincoat - 2 * umbrella)
        for p, (rain, wind) in coins("0.3", "0.5"):
            broken = umbrella and rain and wind
            dry = not rain or raincoat or (umbrella and not broken)
            total += p * (60 * dry - 40 * broken)
        return total

    return max(utility(u, r) for u, r in product((True, False), repeat=2))


def wildcatter() -> Fraction:
    oil = {"dry": ("0.5", 0), "wet": ("0.3", 120), "soaking": ("0.2", 270)}
    sounds = {"dry": ("0.6", "0.3", "0.1"), "wet": ("0.3", "0.4", "0.3")}
    sounds["soaking"] = ("0.1", "0.4", "0.5")
    without = sum(Fraction(p) * (worth - 70) for p, worth in oil.values())
    after = Fraction(-10)
    for result in range(3):
        drilled = sum(
            Fraction(p) * Fraction(sounds[state][result]) * (worth - 70)
            for state, (p, worth) in oil.items()
        )
        after += max(drilled, Fraction(0))
    return max(Fraction(0), Fraction(without), after)


def viral() -> Fraction:
    pairs = [(1, 2), (2, 3), (3, 4), (1, 3)]
    both = [*pairs, *((b, a) for a, b in pairs)]  # who listens to whom

    def utility(told: set[int]) -> Fraction:
        total = Fraction(-3 * len(told))
        for p, values in coins(*["0.4"] * 8):
            ways = {(b, a) for (a, b), v in zip(both, values, strict=True) if v}
            total += 5 * p * len(closure(told, ways))
        return total

    sets = [{i for i in range(1, 5) if bits >> i & 1} for bits in range(0, 32, 2)]
    return max(utility(told) for told in sets if len(told) <= 2)


def of_intervals() -> dict[str, list[Number]]:
    ends = list(product(("0.1", "0.3"), ("0.2", "0.5")))
    pairs = [(Fraction(a), Fraction(b)) for a, b in ends]
    either = [1 - (1 - a) * (1 - b) for a, b in pairs]
    only = [a * (1 - b) for a, b in pairs]
    share = [a / (1 - (1 - a) * (1 - b)) for a, b in pairs]
    found = {"#query c.": either, "#query d.": only, "#query a | c.": share}
    return {question: [min(values), max(values)] for question, values in found.items()}


# --- the table ------------------------------------------------------------------------------------


def derived(program: str, semantics: str, question: str) -> list[Number]:
    """The value of a question; its lower and upper one under credal."""
    if question == "#decide.":
        return [{"rain_gear": rain_gear, "wildcatter": wildcatter, "viral": viral}[program]()]
    if program == "interval":
        return of_intervals()[question]
    worlds = list(WORLDS[program]())
    if question == "log Z":
        return [math.log(sum(weight for weight, _ in worlds))]
    kind, _, asked = question.removesuffix(".").partition(" ")
    if kind == "#map":
        return most_probable(worlds, asked)
    if kind == "#expect":
        return expected(worlds, asked.partition(":")[2].strip().partition("(")[0])
    return probability(worlds, asked, semantics)


def entry(program: str, semantics: str, question: str, source: str) -> dict[str, Any]:
    """A row of the table."""
    values = derived(program, semantics, question)
    row: dict[str, Any] = {"program": program, "semantics": semantics, "question": question}
    names = ("lower", "upper") if len(values) > 1 else ("value",)
    row |= {name: float(value) for name, value in zip(names, values, strict=True)}
    if all(isinstance(value, Fraction) and value.denominator <= SHORT for value in values):
        row["fraction"] = [str(value) for value in values]
    return {**row, "source": source, "times": {}}


def from_files() -> Iterator[dict[str, Any]]:
    """The rows for files of others, with what is published or computed about them."""
    close = {"close": 1e-6}  # their numbers are in single precision, or have eight digits
    for name, known in _answers("networks").items():
        for query in known["queries"]:
            yield {
                "program": f"{name} (bnlearn)",
                "file": f"networks/{name}.plp",
                "semantics": "maxent",
                "question": f"#query {query['query']}.",
                "value": query["value"],
                **close,
                "source": "exact inference by aGrUM, on the network of the bnlearn repository",
                "times": {"agrum": query["agrum_cpu_s"]},
            }
    for name, known in _answers("uai").items():
        if known["log10_z"] is None:
            continue
        row = {"program": f"{name} (UAI 2014)", "file": f"uai/{name}.uai", "semantics": "weighted"}
        source = "variable elimination in NumPy, on the network of the competition"
        yield {
            **row,
            "question": "log Z",
            "value": known["log10_z"] * math.log(10),
            **close,
            "source": source,
            "times": {"elimination": known["seconds"]},
        }
        variable, marginal = next(iter(known["marginals"].items()))
        yield {
            **row,
            "question": f"#query x{variable}(1).",
            "value": marginal[1],
            **close,
            "source": source,
            "times": {},
        }
    for name, known in _answers("wcnf").items():
        yield {
            "program": f"{name} (weighted counting)",
            "file": f"wcnf/{name}.cnf",
            "semantics": "weighted",
            "question": "log Z",
            "value": known["log10_count"] * math.log(10),
            **close,
            "source": "published by the model counting competition of 2022, track 2",
            "times": {},
        }


def _answers(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / folder / "answers.json").read_text())
    return found


def rows() -> list[dict[str, Any]]:
    """What is derived here, in the order of the table."""
    lines = (HERE / "questions.txt").read_text(encoding="utf-8").splitlines()[1:]
    return [entry(*line.split("; ", 3)) for line in lines]


def key(row: dict[str, Any]) -> tuple[str, str, str]:
    """What tells rows apart."""
    return row["program"], row["semantics"], row["question"]


def main(words: list[str]) -> int:
    """Compare or write the table; how many values differ, as an exit code."""
    old = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else []
    times = {key(row): row["times"] for row in old if "question" in row}
    new = rows()
    if "--write" in words:
        new += (
            list(from_files()) if (DATA / "networks").is_dir() else [r for r in old if "file" in r]
        )
        for row in new:
            row["times"] = {**row["times"], **times.get(key(row), {})}
        lines = ",\n ".join(json.dumps(row, ensure_ascii=False) for row in new)
        TABLE.write_text(f"[\n {lines}\n]\n", encoding="utf-8")
        return 0
    known = {key(row): row for row in old}
    wrong = [row for row in new if {**known.get(key(row), {}), "times": {}} != row]
    for row in wrong:
        print("differs:", *key(row))
    print(f"{len(new)} derived, {len(wrong)} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
