"""Factors and the weighted semantics: extremes, refusals, and what every command makes of them."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from contextlib import suppress
from itertools import islice
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.circuits import FIELDS, compile
from dpasp.circuits.compiler import maxima
from dpasp.inference import summed
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import restricted, unsure
from dpasp.inference.bounds.relaxed import Budget, RelaxedBounds
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.weighted import weighed
from tests.inference.test_sampling import ask
from tests.oracle.markov import random_network

FRIENDS = """
person(a; b; c). friend(a, b). friend(b, c).
{smokes(X)} :- person(X).
#factor 3 : friend(X, Y), smokes(X), smokes(Y).
#factor 0.5 : smokes(X).
"""


def value(text: str, query: str = "a", **arguments: object) -> float:
    (answer,) = dpasp.loads(text).query(query, **arguments)
    return float(answer.value)


def friends() -> dict[tuple[bool, ...], float]:
    """The weights of the eight worlds, by the definition."""
    return {
        world: 0.5 ** sum(world) * 3.0 ** ((world[0] and world[1]) + (world[1] and world[2]))
        for world in itertools.product((False, True), repeat=3)
    }


def codes(text: str) -> list[str]:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(text).query("a")
    return [problem.code for problem in caught.value.diagnostics]


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("0", 0.0),
        ("1", 0.5),
        ("3", 0.75),
        ("1e300", 1.0),
        ("exp(5000)", 1.0),
        ("exp(-log(3))", 0.25),
    ],
)
def test_a_factor_may_be_any_number_from_0_on(weight: str, expected: float, engine: str) -> None:
    assert value(f"{{a}}. #factor {weight} : a.", engine=engine) == pytest.approx(expected)


def test_what_is_nearly_impossible_keeps_its_logarithm() -> None:
    (answer,) = dpasp.loads("{a}. #factor exp(-2000) : a.").query("a")
    assert answer.log10 == pytest.approx(-2000 / math.log(10))
    program = dpasp.loads("{a}. #factor exp(2000) : a. #factor exp(-2001) : a.")
    assert float(program.query("a")[0].value) == pytest.approx(1 / (1 + math.e))


def test_what_takes_too_many_choices_is_refused_where_it_is_no_table() -> None:
    text = "{a; b}. #factor exp(1e8) : a. #factor 3 : a, b."
    assert value(text, "b") == pytest.approx(0.75)
    with pytest.raises(dpasp.SizeLimit, match="too many factors"):
        value(text, "b", engine="enumerate")


def test_large_factors_cancel() -> None:
    text = "{a; b}. #factor 1e300 : a. #factor 1e-300 : a. #factor 3 : a, b."
    assert value(text) == pytest.approx(4 / 6)


def test_a_program_without_weight_is_inconsistent_and_evidence_may_be_impossible() -> None:
    with pytest.raises(dpasp.InconsistentProgram):
        dpasp.loads("a. #factor 0 : a.").query("a")
    with pytest.raises(dpasp.ImpossibleEvidence):
        dpasp.loads("{a; b}. #factor 0 : b.").query("a | b")


def test_a_factor_whose_body_never_holds_or_always_holds_changes_nothing() -> None:
    text = "{a}. d(1). #factor 5 : e. #factor 7 : d(X). #factor 2 : a."
    assert value(text) == pytest.approx(2 / 3)
    assert dpasp.loads(text).log_partition() == pytest.approx(math.log(7 * 3))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{a}. #factor -1 : a.", "factor-range"),
        ("{a}. #factor 1e999 : a.", "number-range"),
        ("{a}. #factor exp(1e300) : a.", "factor-range"),
        ("{a}. #factor exp(-1e5*50000) : a.", "factor-range"),
        ("{a}. #factor log(-1) : a.", "arithmetic"),
        ("{a}. #factor X : a.", "unknown-variable"),
        ("{a}. w(-2). #factor W : a, w(W).", "factor-range"),
        ("{a}. #factor 2.", "factor-syntax"),
        ("{a}. #factor 2 : .", "factor-syntax"),
        ("{a}. #factor : a.", "factor-syntax"),
        ("{a}. #factor 0? : a.", "factor-range"),
        ("{a}. #factor 2 : a. #semantics maxent.", "factor-semantics"),
        ("[0.2, 0.4]::a. #factor 2 : a.", "credal-under-maxent"),
        ("{a}. :~ a. [1@2] #semantics weighted.", "optimisation-level"),
        ("{a}. l(1). :~ a, l(L). [1@L] #semantics weighted.", "optimisation-level"),
        ("{a}. :~ a. [x] #semantics weighted.", "cost-number"),
        ("{a}. :~ a. [1]", "optimisation"),
        ("{a}. #maximize{1 : a}. #semantics maxent.", "optimisation"),
    ],
)
def test_refused(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_the_refusal_of_a_weak_constraint_names_weighted() -> None:
    with pytest.raises(dpasp.ProgramError, match="#semantics weighted"):
        dpasp.loads("{a}. :~ a. [1]").query("a")


def test_costs_count_once_for_each_tuple() -> None:
    text = "{a; b}. :~ a. [1, t] :~ b. [1, t] #maximize{2, s : a}. #semantics weighted."
    weights = {(x, y): math.exp(-(x or y) + 2 * x) for x in (0, 1) for y in (0, 1)}
    wanted = sum(w for (x, _), w in weights.items() if x) / sum(weights.values())
    assert value(text) == pytest.approx(wanted)


def test_numbers_of_probabilities_have_exp_and_log() -> None:
    assert value("exp(-1)::a. #semantics maxent.") == pytest.approx(math.exp(-1))
    assert value("log(2)::a. #semantics maxent.") == pytest.approx(math.log(2))


# --- every way to ask ----------------------------------------------------------------------------


def test_the_partition_function_is_the_sum_of_all_weights() -> None:
    program, worlds = dpasp.loads(FRIENDS), friends()
    assert program.log_partition() == pytest.approx(math.log(sum(worlds.values())))
    given = sum(weight for world, weight in worlds.items() if world[2])
    assert program.log_partition(evidence="smokes(c)") == pytest.approx(math.log(given))
    assert program.log_partition(evidence="smokes(c), not smokes(c)") == -math.inf
    with pytest.raises(dpasp.UsageError, match="no weights"):
        dpasp.loads("0.3::a. #semantics maxent.").log_partition()


def test_a_semantics_without_factors_counts_models() -> None:
    text = "0.5::rain. {umbrella} :- rain."
    assert value(text, "rain", semantics="weighted") == pytest.approx(2 / 3)
    assert dpasp.loads(text).log_partition(semantics="weighted") == pytest.approx(math.log(1.5))


@pytest.mark.parametrize("engine", ["auto", "bounds", "sample"])
def test_engines_agree(engine: str) -> None:
    worlds = friends()
    wanted = sum(w for world, w in worlds.items() if world[0]) / sum(worlds.values())
    options = {"seed": 3, "n": 4000} if engine == "sample" else {}
    (answer,) = dpasp.loads(FRIENDS).query("smokes(a)", engine=engine, **options)
    if engine == "sample":
        assert answer.interval is not None
        low, high = map(float, answer.interval)
        assert low <= wanted <= high < low + 0.05
    else:
        assert float(answer.value) == pytest.approx(wanted)


def test_models_have_their_own_probabilities_the_most_probable_first() -> None:
    worlds = friends()
    found = list(dpasp.loads(FRIENDS).models())
    numbers = [model.probability[0] for model in found]
    assert numbers == sorted(numbers, reverse=True)
    assert sum(numbers) == pytest.approx(1.0)
    top = tuple(found[0].values[f"smokes({name})"] is True for name in "abc")
    assert top == max(worlds, key=lambda world: worlds[world])
    assert numbers[0] == pytest.approx(max(worlds.values()) / sum(worlds.values()))


def test_many_models_are_found_one_after_the_other() -> None:
    text = "{a(1..18)}. #factor X/7 : a(X)."  # more than are sorted
    heaviest = [m.probability[0] for m in itertools.islice(dpasp.loads(text).models(), 3)]
    total = math.prod(1 + x / 7 for x in range(1, 19))
    best = math.prod(max(1.0, x / 7) for x in range(1, 19)) / total
    assert heaviest == pytest.approx([best, best, best * 7 / 8])  # 7/7 is 1: a tie


def test_most_probable_values() -> None:
    worlds = friends()
    most, total = max(worlds.values()), sum(worlds.values())
    (everything,) = dpasp.loads(FRIENDS).map()
    assert everything.value == pytest.approx(most / total)
    assert set(everything.assignment) == {f"smokes({name})" for name in "abc"}
    (some,) = dpasp.loads(FRIENDS).map("smokes(a)?, smokes(c)? | smokes(b)")
    assert some.assignment == {"smokes(a)": True, "smokes(c)": True}


def heaviest(program: dpasp.Program, question: str | None, engine: str) -> object:
    """The logarithm, the assignments and the search, or the code of the error."""
    try:
        answers = program.map(question, engine=engine)
    except dpasp.Error as error:
        return error.diagnostics[0].code
    (best,) = answers
    assert isinstance(best, dpasp.MapAnswer)
    assert best.exact
    log = best.logs[0] if best.logs else math.log10(best.value or 0.0)
    return log, [best.assignment, *best.ties], answers.statistics["map"]


def test_the_most_probable_models_of_random_networks_are_those_of_the_enumeration() -> None:
    compared = 0
    for seed in range(60):
        text = random_network(seed)
        variables = re.findall(r"1 {(x\d)\((.+)\)} 1\.", text)
        values = {"0..1": "01", "0..2": "012", "a;b": "ab"}
        atoms = [f"{name}({value})?" for name, written in variables for value in values[written]]
        lines = [line for line in text.splitlines() if not line.startswith("#query")]
        program = dpasp.loads("\n".join([*lines, ":~ x0(0), not x1(1). [2]"]))
        for question in (None, ", ".join(atoms), "| not x1(1)"):
            found, expected = (heaviest(program, question, e) for e in ("auto", "enumerate"))
            if isinstance(expected, str):
                assert found == expected, f"seed {seed}"
                continue
            assert isinstance(found, tuple)
            assert isinstance(expected, tuple)
            assert found[0] == pytest.approx(expected[0], rel=1e-8, abs=1e-8), f"seed {seed}"
            assert found[1] == expected[1], f"seed {seed}"
            assert found[2] == "tables" or question not in (None, "| not x1(1)")
            compared += found[2] == "tables"
    assert compared > 100


def partial_map(seed: int) -> tuple[dpasp.Program, str]:
    """A random network with up to three marked atoms, under one of five semantics."""
    rng, text = Random(seed), random_network(seed)
    kept = [line for line in text.splitlines() if not line.startswith(("#query", "#semantics"))]
    values = {"0..1": "01", "0..2": "012", "a;b": "ab"}
    variables = re.findall(r"1 {(x\d)\((.+)\)} 1\.", text)
    atoms = [f"{name}({value})" for name, written in variables for value in values[written]]
    atoms += re.findall(r"\b([pq]\d)\b", text)[:2]
    logic = rng.choice(("stable", "stable", "partial", "wellfounded", "lstable", "smproblog"))
    if logic != "stable":  # where there are no choice rules

        def drawn(match: re.Match[str]) -> str:
            some = values[match[2]]
            return "; ".join(f"{1 / len(some):.4f}::{match[1]}({v})" for v in some) + "."

        kept = [re.sub(r"1 {(x\d)\((.+)\)} 1\.", drawn, line) for line in kept]
        kept = [re.sub(r"^{(p\d)}\.", r"0.5::\1.", line) for line in kept]
    marked = rng.sample(atoms, rng.randrange(1, min(4, len(atoms)) + 1))
    given = rng.choice(("", f" | {rng.choice(atoms)}"))
    program = dpasp.loads("\n".join([*kept, f"#semantics {logic}, weighted."]))
    return program, ", ".join(f"{atom}?" for atom in dict.fromkeys(marked)) + given


PARTIAL = int(os.environ.get("DPASP_RANDOM", "100"))


@pytest.mark.filterwarnings("ignore")
def test_the_most_probable_values_of_some_atoms_are_those_of_the_enumeration() -> None:
    compared = 0
    for seed in range(PARTIAL):
        program, question = partial_map(seed)
        found, expected = (heaviest(program, question, e) for e in ("auto", "enumerate"))
        if isinstance(expected, str):
            assert found == expected, f"seed {seed}"
            continue
        assert isinstance(found, tuple)
        assert isinstance(expected, tuple)
        assert found[0] == pytest.approx(expected[0], rel=1e-8, abs=1e-8), f"seed {seed}"
        assert found[1] == expected[1], f"seed {seed}"
        compared += found[2] == "tables"
    assert compared > PARTIAL // 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entries", [2, 6, 24])
def test_where_tables_are_too_large_the_most_probable_values_are_bounded(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By mini-buckets, or by sums and maxima in an order that is not theirs."""
    monkeypatch.setattr(summed, "maxima", lambda *a, **k: maxima(*a, **{**k, "most": entries}))
    checked = Counter[bool]()
    for seed in range(60):
        program, question = partial_map(seed)
        for text in (question, "| " + question.partition(" | ")[2]):
            expected = heaviest(program, text, "enumerate")
            if isinstance(expected, str):
                continue
            with monkeypatch.context() as patch:
                patch.setattr("dpasp.inference.exact.solved", late)
                try:
                    (answer,) = program.map(text)
                except dpasp.TimeLimit:  # nothing was found
                    continue
            assert isinstance(answer, dpasp.MapAnswer)
            best = 10 ** expected[0]
            assert answer.value <= best * (1 + 1e-9)
            assert answer.most is None or answer.most >= best * (1 - 1e-9)
            assert not answer.exact or answer.value == pytest.approx(best)
            checked[answer.exact] += 1
    assert min(checked[False], checked[True]) > 5


def test_bounds_where_many_weights_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the divided tables take for the best may fit no state of a group at all."""
    monkeypatch.setattr(summed, "maxima", lambda *a, **k: maxima(*a, **{**k, "most": 5}))
    monkeypatch.setattr("dpasp.inference.exact.solved", late)
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        weights, lines = np.ones((3, 3, 3, 3)), [f"1 {{x{i}(0..2)}} 1." for i in range(4)]
        for scope in itertools.combinations(range(4), 3):
            table = rng.choice([0.0, 0.0, 1.0, 2.0], size=(3, 3, 3))
            weights *= np.expand_dims(table, ({0, 1, 2, 3} - set(scope)).pop())
            sets = ", ".join(f"x{i}({{0..2}})" for i in scope)
            lines.append(f"#factor {{{', '.join(map(str, table.ravel().tolist()))}}} : {sets}.")
        if not weights.any():
            continue
        with suppress(dpasp.TimeLimit):  # nothing was found
            (answer,) = dpasp.loads("\n".join(lines)).map()
            assert isinstance(answer, dpasp.MapAnswer)
            held = answer.assignment
            state = tuple(next(v for v in range(3) if held[f"x{i}({v})"]) for i in range(4))
            assert answer.value <= weights[state] / weights.sum() * (1 + 1e-9)
            assert (answer.most or answer.value) >= weights.max() / weights.sum() * (1 - 1e-9)
            checked += 1
    assert checked > 10


def late(asked: Asked) -> None:
    raise dpasp.TimeLimit("too late")


def test_the_most_probable_model_of_a_long_chain_with_numbers_beyond_doubles() -> None:
    rng = np.random.default_rng(5)
    logs = rng.uniform(-150, 150, size=(59, 3, 3)).round(3)
    lines = [f"1 {{x{i}(0..2)}} 1." for i in range(60)]
    for i, table in enumerate(logs):
        numbers = ", ".join(f"{10.0**number!r}" for number in table.ravel().tolist())
        lines.append(f"#factor {{{numbers}}} : x{i}({{0..2}}), x{i + 1}({{0..2}}).")
    program = dpasp.loads("\n".join(lines))
    most, total = (
        np.zeros(3),
        np.zeros(3),
    )  # of the paths that end in each state, to the power of 10
    for table in logs:
        most = (most[:, np.newaxis] + table).max(axis=0)
        total = np.logaddexp.reduce((total[:, np.newaxis] + table) * math.log(10)) / math.log(10)
    last = int(np.argmin(most))  # an end that the best path does not have
    (answer,) = program.map(f"| x59({last})")
    path = [next(v for v in range(3) if answer.assignment[f"x{i}({v})"]) for i in range(60)]
    assert path[-1] == last
    assert sum(t[a, b] for t, (a, b) in zip(logs, itertools.pairwise(path), strict=True)) == (
        pytest.approx(most[last])
    )
    assert math.log10(answer.value) == pytest.approx(most[last] - total[last], abs=1e-6)


def test_ties_of_the_most_probable_model_are_listed_up_to_a_thousand() -> None:
    table = "#factor {2, 1, 1, 2} : x0({0,1}), x1({0,1})."
    for free, ties, more in ((0, 2, False), (8, 512, False), (10, 1000, True)):
        rest = f"{{a(1..{free})}}." if free else ""
        (answer,) = dpasp.loads(f"1{{x0(0..1)}}1. 1{{x1(0..1)}}1. {table} {rest}").map()
        assert (len(answer.ties) + 1, answer.more_ties) == (ties, more)
        assert answer.value == pytest.approx(2 / 6 / 2**free)
        assert len({tuple(tie.items()) for tie in (answer.assignment, *answer.ties)}) == ties


@pytest.mark.parametrize("limit", [dpasp.SizeLimit, dpasp.TimeLimit])
def test_other_searches_find_the_most_probable_model_where_tables_are_too_large(
    limit: type[dpasp.LimitReached], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "1{x(0..1)}1. {y}. #factor {2, 1} : x({0,1}). #factor 3 : y, x(1)."
    expected = dpasp.loads(text).map()

    def stopped(*_: object, **__: object) -> None:
        raise limit("too much")

    monkeypatch.setattr("dpasp.inference.summed.maxima", stopped)
    found = dpasp.loads(text).map()
    assert (expected.statistics["map"], found.statistics["map"]) == ("tables", "maximum")
    assert found[0].assignment == expected[0].assignment == {"x(0)": False, "x(1)": True, "y": True}
    assert found[0].value == pytest.approx(expected[0].value)


def test_sampled_models_follow_their_weights() -> None:
    worlds = friends()
    drawn = dpasp.loads(FRIENDS).sample(3000, seed=2)
    share = sum(model["smokes(b)"] is True for model in drawn) / len(drawn)
    wanted = sum(w for world, w in worlds.items() if world[1]) / sum(worlds.values())
    assert share == pytest.approx(wanted, abs=0.04)


def test_slopes_are_derivatives_by_the_factors() -> None:
    text = "{a; b}. #factor %s : a, b. #factor 0.5 : a. 0.3::c. #factor 4 : c, b."
    why = dpasp.loads(text % "3").explain("a", target=0.6)[0]
    (number,) = [part for part in why.sensitivity if part.name.startswith("factor 3")]
    assert number.value == pytest.approx(3.0)
    step = 1e-5
    slope = (value(text % f"{3 + step}") - value(text % f"{3 - step}")) / (2 * step)
    assert number.slope[0] == pytest.approx(slope, rel=1e-5)
    assert number.reach[0] is not None
    assert value(text % repr(number.reach[0])) == pytest.approx(0.6)
    shares = [way.share for way in why.total_choices]
    assert sum(share for share in shares if share) <= 1 + 1e-9


def test_an_exactly_one_choice_rule_is_one_choice() -> None:
    answers = dpasp.loads("1 {x(0..2)} 1. #factor 2 : x(1).").query("x(1)")
    assert float(answers[0].value) == pytest.approx(0.5)
    assert (answers.statistics["choices"], answers.statistics["factors"]) == (1, 1)


def test_the_ground_program_shows_factors() -> None:
    text = str(dpasp.loads("{a; b}. #factor 2.5 : a, not b. :~ b. [1]").ground())
    assert "#factor 2.5 : not b, a." in text
    assert "#factor 0.3678794412 : b." in text


def test_a_zero_beside_a_number_that_is_too_small() -> None:
    """x(2) cannot be; x(1) can, with a share that no double holds."""
    text = """1{x(0..2)}1. 1{y(0..1)}1. 1{z(0..1)}1.
    #factor {1, 1, 1e-250, 0, 0, 0} : x({0,1,2}), y({0,1}).
    #factor {1, 0, 0, 1} : y({0,1}), z({0,1}).
    #factor {1, 1, 1e-250, 1, 1, 1} : x({0,1,2}), z({0,1}).
    """
    found = dpasp.loads(text, semantics="weighted").query("x(0)", "x(1)", "x(2)")
    assert [answer.value for answer in found] == [1.0, 0.0, 0.0]
    assert found[1].log10 == pytest.approx(-500 - math.log10(2))
    assert found[2].log10 == -math.inf


def test_arithmetic_beyond_doubles() -> None:
    large, small = "{a}. #factor 1e308*1e10 : a.", "{a}. #factor 1e-308*1e-30 : a."
    assert dpasp.loads(large).query("not a")[0].log10 == pytest.approx(-318)
    assert dpasp.loads(small).query("a")[0].log10 == pytest.approx(-338)


def test_a_table_beside_a_total_choice_without_a_stable_model() -> None:
    """The model in which everything is undefined has its weight when tables are summed up, too."""
    text = "0.5::c(1). 0.5::c(2). a :- c(1), not a. #factor {1,3} : c({1,2}). #query c(2)."
    for semantics in ("smproblog, weighted", "lstable, weighted"):
        program = dpasp.loads(f"#semantics {semantics}. {text}")
        values = [program.query(engine=engine)[0].value for engine in ("auto", "enumerate")]
        assert values[0] == pytest.approx(values[1])


# --- sums over tables, and what is left where they are too large ---------------------------------


def weighted_of(text: str) -> Asked:
    """What a program asks, with a choice for each factor."""
    meaning = Meaning(Logic.STABLE, Probability.WEIGHTED)
    return ask(weighed(dpasp.loads(text).ground(), meaning), meaning)


def grid(size: int) -> str:
    return f"""v(0..{size - 1},0..{size - 1}). {{s(X,Y)}} :- v(X,Y).
    n(X,Y,X+1,Y) :- v(X,Y), v(X+1,Y). n(X,Y,X,Y+1) :- v(X,Y), v(X,Y+1).
    #factor 1.7 : n(X,Y,A,B), s(X,Y), s(A,B). #factor (X+1)/4 : s(X,Y)."""


@pytest.mark.parametrize("engine", ["auto", "compile", "bounds"])
def test_plain_factors_are_summed_up_as_tables_are(engine: str) -> None:
    program = dpasp.loads(grid(3))
    answers = program.query("s(0,0)", "s(1,1), s(2,2) | not s(0,1)", engine=engine)
    assert answers.statistics["way"] == "sums"
    assert (answers.statistics["choices"], answers.statistics["factors"]) == (9, 12 + 9)
    reference = program.query("s(0,0)", "s(1,1), s(2,2) | not s(0,1)", engine="enumerate")
    for found, wanted in zip(answers, reference, strict=True):
        assert found.value == pytest.approx(float(wanted.value), abs=1e-12)
        assert found.interval == ((found.value, found.value) if engine == "bounds" else None)


def test_sums_leave_a_disjunction_through_a_loop_to_the_enumeration() -> None:
    text = "1{x(0..1)}1. a ; b :- x(0). a :- b. b :- a. #factor {3, 1} : x({0,1})."
    assert value(text) == pytest.approx(3 / 4)
    assert dpasp.loads(text).log_partition() == pytest.approx(math.log(4))


@pytest.mark.parametrize("seed", range(40))
def test_cases_and_unknown_choices_bound_what_factors_weigh(seed: int) -> None:
    asked = weighted_of(random_network(seed))
    ground, layout = asked.ground, asked.layout
    whole = compile(ground, asked.meaning).masses(asked.weights)
    for choice in range(min(3, len(ground.choices))):
        parts = np.zeros_like(whole)
        for value, weight in enumerate(asked.weights[layout.of(choice)]):
            case = restricted(ground, {choice: value})
            others = np.delete(asked.weights, layout.of(choice))
            parts += weight * compile(case, asked.meaning).masses(others)
        assert parts == pytest.approx(whole, rel=1e-9, abs=1e-300)
    e, qe = FIELDS.index("e"), FIELDS.index("qe")
    relaxed, nothing = (
        RelaxedBounds(asked, Budget(4, 200, 20)),
        [unsure(asked.meaning)] * len(whole),
    )
    for _ in islice(relaxed.steps(UNLIMITED), 30):
        for masses, bound in zip(whole, relaxed.narrowed(nothing), strict=True):
            if masses[e] > 0:
                low, high = bound.interval
                assert low - 1e-9 <= masses[qe] / masses[e] <= high + 1e-9


def test_drawing_from_a_program_without_weight_says_that_it_is_inconsistent() -> None:
    program = dpasp.loads("{a}. #factor 0 : a. #factor 0 : not a.")
    with pytest.raises(dpasp.InconsistentProgram):
        program.query("a", engine="sample")
    with pytest.raises(dpasp.InconsistentProgram):
        program.sample(3)
