"""The most probable models, compared with the definition on random programs."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import groupby

import clingo
import pytest

import dpasp
from dpasp.errors import UsageError

P = "0.6::p. {a; b; c; d} :- p."
PROGRAMS = 8  # for each of twelve semantics
Seen = tuple[tuple[str, ...], tuple[str, ...]]


def random_program(random: random.Random) -> str:
    atoms = "abcde"
    lines = [f"{random.randint(1, 9) / 10}::{atom}." for atom in random.sample("pqr", 2)]
    if random.random() < 0.4:
        lines.append(f"{random.randint(1, 9) / 10}::a; 0.1::b :- p.")
    for _ in range(random.randint(1, 4)):
        body = [random.choice(["", "not "]) + random.choice("pqr" + atoms) for _ in range(2)]
        head = random.choice(atoms)
        if random.random() < 0.4:
            head = f"{{{head}; {random.choice(atoms)}}}"
        lines.append(f"{head} :- {', '.join(body)}.")
    lines.append("#defined p/0. #defined q/0. #defined r/0.")
    lines += [f"#defined {atom}/0." for atom in atoms]
    return " ".join(lines)


def by_definition(
    text: str, semantics: str, hidden: set[str], given: str
) -> dict[Seen, list[float]]:
    """What is shown, with its lower and its upper probability."""
    found: dict[Seen, list[float]] = defaultdict(lambda: [0.0, 0.0])
    every = dpasp.loads(text).models(semantics=semantics)
    for _, group in groupby(every, key=lambda m: (m.choice, m.probability)):
        models = list(group)
        weight = models[0].probability[0]
        if "weighted" in semantics:
            weight *= len(models)  # each model has its own
        counts: Counter[Seen] = Counter()
        for model in models:
            if not given or model.values.get(given) is True:
                true = tuple(name for name in model.true if name not in hidden)
                counts[true, tuple(n for n in model.undefined if n not in hidden)] += 1
        for key, count in counts.items():
            sure, some = float(count == len(models)), 1.0
            if "credal" not in semantics:
                sure = some = count / len(models)
            found[key][0] += weight * sure
            found[key][1] += weight * some
    return found


@pytest.mark.filterwarnings("ignore::dpasp.ProgramWarning")
@pytest.mark.parametrize("logic", ["stable", "partial", "lstable", "smproblog"])
@pytest.mark.parametrize("probability", ["credal", "maxent", "weighted"])
def test_random_programs_by_definition(logic: str, probability: str) -> None:
    drawn = random.Random(f"{logic} {probability}")
    semantics = f"{logic}, {probability}"
    for _ in range(PROGRAMS):
        text = random_program(drawn)
        hidden = set(drawn.sample("pqrabcde", drawn.choice([0, 2, 5])))
        given = drawn.choice(["", "", "a", "p"])
        try:
            expected = by_definition(text, semantics, hidden, given)
        except dpasp.Error:  # no total choice has a model
            continue
        left = sorted(set("pqrabcde") - hidden)
        said = drawn.choice(["#show {}/0.", "#project {}/0.", "#project {}."])
        whole = text + " ".join(said.format(atom) for atom in left) if hidden else text
        program = dpasp.loads(whole)
        numbers = sorted((pair[1] for pair in expected.values()), reverse=True)
        for most in (0, 1, 3):
            try:
                found = list(program.models(best=most, given=given or (), semantics=semantics))
            except dpasp.ImpossibleEvidence:
                assert not expected
                break
            assert len(found) == min(most or len(expected), len(expected)), whole
            uppers = [model.probability[-1] for model in found]
            assert uppers == pytest.approx(numbers[: len(found)]), whole
            assert len({(m.true, m.undefined) for m in found}) == len(found)
            for model in found:
                ends = expected[model.true, model.undefined]
                assert [model.probability[0], uppers[0] and model.probability[-1]] == pytest.approx(
                    ends
                ), whole
                assert 10 ** model.logs[-1] == pytest.approx(model.probability[-1])


def test_many_models_share_what_their_total_choice_has() -> None:
    best = list(dpasp.loads(P).models(best=2, semantics="maxent"))
    assert (str(best[0]), best[0].choice) == ("", ("not p",))
    assert [m.probability for m in best] == [(0.4,), (pytest.approx(0.6 / 16),)]
    credal = list(dpasp.loads(P).models(best=0))
    assert [m.probability for m in credal] == [(0.0, 0.6)] * 16 + [(0.4, 0.4)]
    shown = list(dpasp.loads(P + "#show a/0.").models(best=2))
    assert [(str(m), m.probability) for m in shown] == [("", (0.4, 1.0)), ("a", (0.0, 0.6))]


def test_it_stops_where_nothing_can_be_better() -> None:
    best = list(dpasp.loads("0.6::p(1..60).").models(best=2, semantics="maxent"))
    assert [len(m.true) for m in best] == [60, 59]
    # All that is known of the 2^40 models is that they are too many to matter.
    text = "0.6::q. 0.1::p. {a(1..40)} :- p. #semantics maxent."
    assert [str(m) for m in dpasp.loads(text).models(best=2)] == ["q", ""]
    assert len(list(dpasp.loads("{a(1..40)}.").models(best=3))) == 3


def test_conditions_of_project() -> None:
    text = "0.6::p. {a(1..3)} :- p. #project a(X) : X = 1..2. #project p/0."
    found = list(dpasp.loads(text).models(best=3, semantics="maxent"))
    assert [m.probability[0] for m in found] == pytest.approx([0.4, 0.15, 0.15])
    assert all("a(3)" not in m.true for m in found)
    assert "a(3)" in found[0].values
    assert not any("projected" in name for name in found[0].values)


def test_intervals() -> None:
    found = list(dpasp.loads("[0.2,0.7]::f. 0.5::g.").models(best=3))
    expected = [(0.15, 0.4), (0.15, 0.4), (0.1, 0.35)]
    assert [m.probability for m in found] == [pytest.approx(pair) for pair in expected]
    with pytest.raises(UsageError, match="intervals to be added"):
        list(dpasp.loads("[0.2,0.7]::f. 0.5::g :- f.").models(best=3))


@pytest.mark.parametrize("semantics", ["credal", "maxent", "weighted"])
@pytest.mark.parametrize("project", ["#project p/0. #project a/1.", "#project p. #project a(1)."])
def test_a_plain_listing_has_no_repeats_either(semantics: str, project: str) -> None:
    text = f"0.6::p. {{a(1); b(1..3)}} :- p. {project} #show a/1. #show b/1. #show p/0."
    found = list(dpasp.loads(text).models(0, semantics=semantics))
    assert sorted(map(str, found)) == ["", "p", "p a(1)"]
    assert len(list(dpasp.loads(text).models(2, semantics=semantics))) == 2
    assert not any("projected" in name for model in found for name in model.values)
    if semantics == "weighted":  # 8 models of 0.6 each for both, and one of 0.4
        assert [m.probability[0] for m in found] == pytest.approx([4.8 / 10, 4.8 / 10, 0.4 / 10])
    else:
        assert [m.probability for m in found] == [(0.6,), (0.6,), (0.4,)]


def test_a_program_without_probabilities_has_the_projections_that_clingo_finds() -> None:
    text = "{a(1..3)}. b :- a(1). c :- a(2), a(3). #project b/0. #project c : b."
    control = clingo.Control(["0", "--project=auto"])
    control.add("base", [], text)
    control.ground([("base", [])])
    with control.solve(yield_=True) as solving:
        expected = sum(1 for _ in solving)
    found = list(dpasp.loads(text).models())
    assert len(found) == len(set(map(str, found))) == expected
