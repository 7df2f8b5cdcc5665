"""A program that was used in any order gives what a fresh one gives after the same changes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as draw
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import dpasp

TEXTS = (
    "?::a. ?::b. c :- a, not b. c :- b, not a. #query c. #query a | c.",
    "?::a; 0.3::b; ?::d. c :- a. c :- d, e. ?::e. #query c. #query d | not a.",
    "?::a. 0.4::b. c :- a, not d. d :- b, not c. #query c. #query d.",
)
OBSERVED = (
    [{"c": True}, {"c": False}, {"c": True, "a": True}],
    [{"a": True}, {"a": False}, {"a": False}],
)
SEMANTICS = ("stable,maxent", "stable,credal", "lstable,maxent", "smproblog,maxent")

Change = Callable[[dpasp.Program], object]


class Uses(RuleBasedStateMachine):
    """What one may do with a program; only learning and restoring change it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.changes: list[Change] = []
        self.saved: list[tuple[Path, list[Change]]] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(text=draw.sampled_from(TEXTS))
    def load(self, text: str) -> None:
        self.text = text
        self.program = dpasp.loads(text)

    @rule(which=draw.sampled_from(OBSERVED), niters=draw.integers(1, 3))
    def learn(self, which: list[dict[str, bool]], niters: int) -> None:
        def change(program: dpasp.Program) -> object:
            return program.learn(which, niters=niters, semantics="stable,maxent", seed=1)

        change(self.program)
        self.changes.append(change)

    @rule()
    def save(self) -> None:
        path = Path(self.folder.name, f"{len(self.saved)}.safetensors")
        self.program.save(path)
        self.saved.append((path, list(self.changes)))

    @precondition(lambda self: self.saved)
    @rule(data=draw.data())
    def restore(self, data: draw.DataObject) -> None:
        path, changes = data.draw(draw.sampled_from(self.saved))
        self.program.restore(path)
        self.changes = list(changes)

    @rule(semantics=draw.sampled_from(SEMANTICS))
    def query(self, semantics: str) -> None:
        self.program.query(semantics=semantics)

    @rule()
    def other_questions(self) -> None:
        self.program.query("b", evidence=["not c"])
        self.program.query("c", engine="enumerate")

    @rule(seed=draw.integers(0, 3))
    def look(self, seed: int) -> None:
        self.program.sample(5, seed=seed, semantics="stable,maxent")
        self.program.explain("c")
        self.program.circuit(semantics="stable,maxent")

    @rule()
    def mistake(self) -> None:
        try:
            self.program.query("c, (")
        except dpasp.Error:
            return
        raise AssertionError("a mistake was not told")

    @invariant()
    def equals_a_fresh_one(self) -> None:
        if not hasattr(self, "program"):
            return
        fresh = dpasp.loads(self.text)
        for change in self.changes:
            change(fresh)
        np.testing.assert_array_equal(numbers(self.program), numbers(fresh))


def numbers(program: dpasp.Program) -> list[float]:
    answers = program.query(semantics="stable,maxent")
    return [float(answer.value) for answer in answers]


FEW = settings(
    max_examples=25,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


class TestUses(Uses.TestCase):
    settings = FEW


@pytest.mark.slow
class TestManyUses(Uses.TestCase):
    settings = settings(FEW, max_examples=250)
