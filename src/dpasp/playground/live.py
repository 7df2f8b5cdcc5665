"""Sliders: answers while the probabilities of a program are changed.

A slider stands for a number in the program: all ground instances of a statement with the same
probability move together. One circuit is compiled for each semantics, in a form that is valid for
all positions of the sliders; a move is one evaluation of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.display.programs import value_ends
from dpasp.errors import Span, UsageError
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
)
from dpasp.inference.answers import bounds_text, strategy_text
from dpasp.inference.asked import ask
from dpasp.inference.circuit import OnCircuit, extremes, on_circuit
from dpasp.inference.decide import under_best
from dpasp.language import ast
from dpasp.language.statements.expressions import Number
from dpasp.language.statements.weights import Learnable, expressions
from dpasp.language.text import SourceFile
from dpasp.limits import Watch
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.weighted import weighed

SliderEnds = tuple[float, ...]  # one number, or the two ends of an interval
ROUNDING = 1e-9  # tolerance of a sum of 1
INSIDE = 0.5  # a probability that leaves every value possible


@dataclass(frozen=True, slots=True)
class Slider:
    """A number of the program, or the two ends of an interval, and its place in the text."""

    name: str  # unique
    label: str  # the atom it belongs to, as written
    line: int
    ends: SliderEnds
    choices: tuple[int, ...]
    value: int  # the value of the choices that it belongs to
    rivals: tuple[str, ...]  # the sliders of the same distribution
    span: Span | None  # the place of its number, if it is written as a number

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": self.label,
            "line": self.line,
            "ends": list(self.ends),
            "instances": len(self.choices),
            "rivals": list(self.rivals),
            "writable": self.span is not None,
        }


def sliders(ground: GroundProgram) -> list[Slider]:
    groups: dict[tuple[int, tuple[SliderEnds, ...]], list[int]] = {}
    for number, choice in enumerate(ground.choices):
        groups.setdefault((choice.statement, tuple(value_ends(ground, choice))), []).append(number)
    every: list[Slider] = []
    for group, ((statement, ends), choices) in enumerate(groups.items()):
        said = ground.program.statements[statement]
        names = [f"{group}.{value}" for value in range(len(ends))]
        labels = ["?"] * len(ends)
        if isinstance(said, ast.Annotated):
            body = f" :- {', '.join(map(str, said.body))}" if said.body else ""
            labels = [f"{head.atom}{body}" for head in said.heads]
        every += (
            Slider(
                names[value],
                labels[value],
                said.span.line,
                interval,
                tuple(choices),
                value,
                tuple(name for name in names if name != names[value]),
                _number_span(said, value),
            )
            for value, interval in enumerate(ends)
        )
    return every


def _number_span(said: ast.Statement, value: int) -> Span | None:
    """The place of a number in the text; None if it is computed or has a name."""
    if not isinstance(said, ast.Annotated):
        return None
    weight = said.heads[value].weight
    plain = all(isinstance(one, Number) for one in expressions(weight))
    keyed = isinstance(weight, Learnable) and weight.key
    return weight.span if plain and not keyed else None


def written(text: str, sliders: Sequence[Slider], moved: Mapping[str, SliderEnds]) -> str:
    """The program's text with the new numbers; computed and named ones do not change."""
    file, changes = SourceFile("", text), []
    for slider in sliders:
        ends = moved.get(slider.name, slider.ends)
        if slider.span is not None and ends != slider.ends:
            start, end = file.slice(slider.span)
            changes.append((start, end, _number(ends) + "?" * text[start:end].endswith("?")))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _number(ends: SliderEnds) -> str:
    """A number or an interval as program text."""
    shown = [f"{end:.6g}" for end in ends]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


class Live:
    """A program whose probabilities change, with a circuit for each semantics used."""

    def __init__(self, ground: GroundProgram) -> None:
        queries = tuple(q for q in ground.questions if isinstance(q, GroundQuery))
        self.sliders = sliders(ground)
        self.ground = replace(ground, questions=queries, choices=_open(ground.choices))
        self._circuits: dict[Meaning, OnCircuit] = {}
        self._worlds = [Live(world) for world in ground.worlds]  # of questions with do(…)

    def at(self, moved: Mapping[str, SliderEnds]) -> GroundProgram:
        return replace(self.ground, choices=self._choices(moved))

    def answers(
        self, meaning: Meaning, moved: Mapping[str, SliderEnds], watch: Watch
    ) -> list[dict[str, Any]]:
        """The answers with some sliders moved; None if that makes the evidence impossible.

        In a program with decisions, these are the answers under the strategy that is best now.
        """
        if meaning not in self._circuits:
            general = replace(self.ground, choices=_inside(self.ground.choices))
            general = weighed(general, meaning) if meaning.weighted else general
            self._circuits[meaning] = on_circuit(general, meaning, watch=watch)
        ground = self.at(moved)
        ground = weighed(ground, meaning) if meaning.weighted else ground
        asked, strategy = under_best(ask(ground, meaning, watch=watch))
        numbers = extremes(asked, self._circuits[meaning])
        answers = []
        for query, number in zip(ground.questions, numbers, strict=True):
            possible = number.possible[0] > 0 and number.consistent[0] > 0
            ends = (number.lower,) if meaning.maxent else (number.lower, number.upper)
            logs = None
            if number.logs is not None:  # too small for a double
                logs = [float(log[0]) for log in number.logs[: len(ends)]]
            shown = [float(end[0]) for end in ends] if possible else None
            text = None if shown is None else bounds_text(shown, logs)
            if text is not None and strategy is not None:
                text += f"  (under {strategy_text(strategy)})"
            answer: dict[str, Any] = {"query": query.text, "ends": shown, "text": text}
            if logs is not None and possible:  # None for that of 0
                answer["log10"] = [None if log == -math.inf else log for log in logs]
            answers.append(answer)
        for world in self._worlds:
            here, there = self._names(), world._names()
            same = {there[key]: here[key] for key in there if here.get(key) in moved}
            positions = {name: moved[other] for name, other in same.items()}
            answers += world.answers(meaning, positions, watch)
        return answers

    def _names(self) -> dict[tuple[object, ...], str]:
        """The names of the sliders, by keys that are the same in the programs of interventions."""
        ends = {slider.name: slider.ends for slider in self.sliders}
        return {
            (
                self.ground.choices[slider.choices[0]].statement,
                slider.value,
                slider.ends,
                *(ends[rival] for rival in slider.rivals),
            ): slider.name
            for slider in self.sliders
        }

    def settled(self, moved: Mapping[str, SliderEnds], last: str) -> dict[str, SliderEnds]:
        """The positions of all sliders after one was moved.

        The others in its distribution change in proportion, so that the sum stays (at most) 1.
        """
        every = {slider.name: slider.ends for slider in self.sliders}
        for name, ends in moved.items():
            if name not in every:
                raise UsageError(f"there is no slider {name!r}")
            if len(ends) != len(every[name]):
                raise UsageError(f"the slider {name!r} needs {len(every[name])} of {list(ends)}")
            if ends[0] > ends[-1]:
                raise UsageError(f"the lower end of the slider {name!r} is above the upper one")
        every |= moved
        if last in every:
            self._give_way(every, last)
        for slider in self.sliders:
            self._check_room(slider, every)
        return every

    def _give_way(self, every: dict[str, SliderEnds], last: str) -> None:
        """Divide the rest of a distribution among the sliders other than the moved one."""
        slider = next(slider for slider in self.sliders if slider.name == last)
        wished = every[last][0]
        rest = sum(every[name][0] for name in slider.rivals)
        nothing = self.ground.choices[slider.choices[0]].nothing
        if any(len(every[name]) > 1 for name in (last, *slider.rivals)):
            return
        if wished + rest <= 1 and nothing:
            return
        for name in slider.rivals:
            share = every[name][0] / rest if rest > 0 else 1 / len(slider.rivals)
            every[name] = ((1 - wished) * share,)

    def _check_room(self, slider: Slider, every: Mapping[str, SliderEnds]) -> None:
        """Refuse a distribution whose numbers cannot sum to 1."""
        ends = [every[name] for name in (slider.name, *slider.rivals)]
        nothing = self.ground.choices[slider.choices[0]].nothing
        least, most = sum(interval[0] for interval in ends), sum(interval[-1] for interval in ends)
        if least > 1 + ROUNDING or (most < 1 - ROUNDING and not nothing):
            raise UsageError("these values of a disjunction leave no probabilities that sum to 1")

    def _choices(self, moved: Mapping[str, SliderEnds]) -> tuple[Choice, ...]:
        ends: dict[int, list[SliderEnds]] = {}
        for slider in self.sliders:
            for choice in slider.choices:
                ends.setdefault(choice, []).append(moved.get(slider.name, slider.ends))
        choices = list(self.ground.choices)
        for i, intervals in ends.items():
            low, high = (tuple(interval[end] for interval in intervals) for end in (0, -1))
            points = all(len(interval) == 1 for interval in intervals)
            weight = FixedWeights(low) if points else IntervalWeights(low, high)
            choices[i] = replace(choices[i], weight=weight)
        return tuple(choices)


def _open(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The choices, in which even a fact of probability 1 may be false."""
    return tuple(
        choice if choice.nothing or len(choice.heads) > 1 else replace(choice, nothing=True)
        for choice in choices
    )


def _inside(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The choices with probabilities that keep all their values possible, for compiling."""
    sizes = [len(choice.heads) for choice in choices]
    return tuple(
        replace(choice, weight=FixedWeights(((INSIDE if choice.nothing else 1) / size,) * size))
        for choice, size in zip(choices, sizes, strict=True)
    )
