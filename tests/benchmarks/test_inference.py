"""The benchmarks' translations mean the same, and their comparisons can fail."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.inference import syntax
from benchmarks.inference.instances import CREDAL, FAMILIES, MAXENT, TARGETS, Instance
from benchmarks.inference.measure import Limits, State, run
from benchmarks.inference.records import Record, slower
from benchmarks.inference.systems import DPASP, ENUMERATE, PEERS, Answer

import dpasp

STRATIFIED = [family for family in FAMILIES.values() if family.stratified]
SMALL = {"closure": 2, "addition": 1, "grid": 3, "sparse": 6, "smokers": 4}
LIMITS = Limits(300, 4000)


def problog_answer(text: str) -> float:
    engine = pytest.importorskip("problog")
    from problog.program import PrologString

    found = engine.get_evaluatable().create_from(PrologString(text)).evaluate()
    return float(next(iter(found.values())))


@pytest.mark.parametrize("family", STRATIFIED, ids=lambda family: family.name)
def test_a_translated_program_has_the_same_answer(family):
    instance = Instance(family, SMALL.get(family.name, 5), MAXENT)
    ours = dpasp.loads(instance.text).query(semantics=MAXENT)[0].value
    assert problog_answer(PEERS["problog"].write(instance)) == pytest.approx(ours, rel=1e-9)


def test_what_the_other_languages_look_like():
    text = syntax.parse("0.3::a. 0.4::b(1) :- a, not c. c :- d(X,Y). #query b(1), not c | a.")
    assert syntax.aspmc(text).splitlines()[-5:] == [
        "c :- d(X,Y).",
        "given :- a.",
        r"asked :- b(1), \+c, given.",
        "query(asked).",
        "query(given).",
    ]
    assert syntax.plingo(text).splitlines()[:3] == [
        'a :- &problog("0.3").',
        'choice(1) :- &problog("0.4").',
        "b(1) :- a, not c, choice(1).",
    ]


def test_every_choice_is_counted():
    assert Instance(FAMILIES["smokers"], 25, MAXENT).choices == 75
    assert Instance(FAMILIES["strip"], 12, CREDAL).choices == 21
    assert Instance(FAMILIES["addition"], 100, MAXENT).choices == 200


def test_targets_are_among_the_sizes_that_are_measured():
    for target in TARGETS:
        assert target.instance.size in target.instance.family.sizes
        assert target.instance.semantics in target.instance.family.semantics


def test_answers_that_differ_are_seen():
    assert PEERS["problog"].agrees(Answer(0.5, 0.5), Answer(0.5 + 1e-9, 0.5))
    assert not PEERS["problog"].agrees(Answer(0.5, 0.5), Answer(0.50001, 0.5))
    assert not PEERS["plingo"].agrees(Answer(0.5, 0.5), Answer(0.501, 0.501))
    assert not ENUMERATE.agrees(Answer(0.2, 0.5), Answer(0.2, 0.6))


def test_answers_are_read():
    assert PEERS["problog"].read("     asked:\t0.25    \n") == Answer(0.25, 0.25)
    both = "[RESULT] aspmc: given:   0.5\n[RESULT] aspmc: asked:   1e-1\n"
    assert PEERS["aspmc"].read(both) == Answer(0.2, 0.2)
    assert DPASP.read('{"answers": [{"lower": 0.1, "upper": 0.2}]}') == Answer(0.1, 0.2)
    with pytest.raises(ValueError, match="asked"):
        PEERS["plingo"].read("Models : 3")


def test_plingo_stopped_early_is_no_answer(tmp_path: Path):
    plingo = tmp_path / "plingo"
    plingo.write_text("#!/bin/sh\necho 'asked: 0.5'\nexit 11\n")
    plingo.chmod(0o755)
    command = PEERS["plingo"].command(str(tmp_path), "program.plp", MAXENT)
    assert run(command, tmp_path, LIMITS).state is State.TIME


def test_limits_are_kept(tmp_path: Path):
    spin = run([sys.executable, "-c", "while True: pass"], tmp_path, Limits(1, 4000))
    assert spin.state is State.TIME
    assert spin.cpu > 0.5  # its own, however long it waited for a processor
    big = run([sys.executable, "-c", "x = bytearray(10**9)"], tmp_path, Limits(5, 300))
    assert big.state is State.MEMORY
    good = run([sys.executable, "-c", "print(1)"], tmp_path, LIMITS)
    assert (good.state, good.output) == (State.ANSWERED, "1\n")


def test_where_we_are_slower_is_told():
    ours = Record("grid", 3, MAXENT, 12, "dPASP", State.ANSWERED, 1, 0.8, 1, 50, 0.5, 0.5)
    other = replace(ours, system="problog", seconds=0.2)
    gave_up = replace(ours, state=State.TIME, lower=None, upper=None)
    assert slower([ours, other]) == [(ours, other)]
    assert slower([gave_up, other]) == [(gave_up, other)]
    assert slower([replace(ours, seconds=0.21), other]) == []
    assert slower([ours, replace(other, state=State.TIME)]) == []
