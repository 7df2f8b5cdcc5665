"""Laws that hold for every program, tried on random ones under every semantics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dpasp
from tests.oracle.generate import generate
from tests.oracle.programs import Choice, Literal, Program, Query

LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
SEMANTICS = [(logic, probability) for logic in LOGICS for probability in ("credal", "maxent")]
ENGINES = ("enumerate", "auto")
SEEDS = range(7000, 7025)

Numbers = tuple[float, float] | str  # lower and upper, or the code of an error


def ask(text: str | dpasp.Program, query: str, semantics: str, engine: str) -> Numbers:
    program = dpasp.loads(text) if isinstance(text, str) else text
    try:
        answer = program.query(query, semantics=semantics, engine=engine)[0]
    except dpasp.InferenceError as error:
        return error.diagnostics[0].code
    numbers = [float(number) for number in answer.numbers]
    return numbers[0], numbers[-1]


def same(left: Numbers, right: Numbers) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-9))


def suitable(program: Program, logic: str, probability: str) -> bool:
    if logic == "wellfounded" and program.disjunctive:
        return False
    return not (probability == "maxent" and program.credal)


def random_cases(probability: str | None = None) -> Iterator[tuple[Program, Query, str, str]]:
    """Programs with a query each, a semantics and an engine, all combinations by turns."""
    for seed in SEEDS:
        program = generate(seed)
        for turn, (logic, kind) in enumerate(SEMANTICS):
            if kind == (probability or kind) and suitable(program, logic, kind):
                query = program.queries[(seed + turn) % len(program.queries)]
                if logic != "stable" or not query.undefined:
                    yield program, query, f"{logic}, {kind}", ENGINES[(seed + turn) % 2]


def statements(program: Program) -> list[str]:
    return [str(one) for one in (*program.choices, *program.rules)]


def renamed(text: str) -> str:
    return re.sub(r"\b([a-h])\b", r"thing_\1(0, \"\1\")", text).replace('\\"', '"')


def test_names_do_not_matter() -> None:
    for program, query, semantics, engine in random_cases():
        before = ask(str(program), str(query), semantics, engine)
        after = ask(renamed(str(program)), renamed(str(query)), semantics, engine)
        assert same(before, after), (str(program), str(query), semantics)


def test_order_does_not_matter() -> None:
    for program, query, semantics, engine in random_cases():
        shuffled = statements(program)
        Random(1).shuffle(shuffled)
        before = ask(str(program), str(query), semantics, engine)
        after = ask("\n".join(shuffled), str(query), semantics, engine)
        assert same(before, after), (str(program), str(query), semantics)


def test_files_can_be_split(tmp_path: Path) -> None:
    files = [tmp_path / "one.plp", tmp_path / "two.plp"]
    for program, query, semantics, engine in random_cases():
        lines = statements(program)
        files[0].write_text("\n".join(lines[::2]))
        files[1].write_text("\n".join(lines[1::2]))
        before = ask(str(program), str(query), semantics, engine)
        assert same(before, ask(dpasp.load(*files), str(query), semantics, engine))


def test_an_irrelevant_fact_does_not_matter() -> None:
    for program, query, semantics, engine in random_cases():
        before = ask(str(program), str(query), semantics, engine)
        more = f"{program}\n0.37::unrelated. also :- unrelated."
        assert same(before, ask(more, str(query), semantics, engine)), (str(program), semantics)


def chained(choice: Choice, index: int) -> list[str]:
    """An annotated disjunction as facts that are tried one after the other."""
    body = [*choice.positive, *(f"not {atom}" for atom in choice.negative)]
    rest, lines, before = Fraction(1), [], ""
    for position, (head, probability) in enumerate(zip(choice.heads, choice.lower, strict=True)):
        try_ = f"try({index},{position})"
        share = probability / rest if rest else Fraction(0)
        lines.append(f"{share.numerator}/{share.denominator}::{try_}.")
        lines.append(f"{head} :- {', '.join([before + try_, *body])}.")
        before += f"not {try_}, "
        rest -= probability
    return lines


def test_a_disjunction_is_a_chain_of_facts() -> None:
    tried = 0
    for program, query, semantics, engine in random_cases():
        if program.credal or all(len(choice.heads) == 1 for choice in program.choices):
            continue
        tried += 1
        lines = [line for i, c in enumerate(program.choices) for line in chained(c, i)]
        text = "\n".join([*lines, *map(str, program.rules)])
        before = ask(str(program), str(query), semantics, engine)
        after = ask(text, str(query), semantics, engine)
        assert same(before, after), (str(program), text, str(query), semantics)
    assert tried > 50


def test_true_false_and_undefined_sum_to_one_under_maxent() -> None:
    for program, query, semantics, engine in random_cases("maxent"):
        atom = query.literals[0].atom
        modes = ("", "not ") if semantics.startswith("stable") else ("", "not ", "undef ")
        queries = [str(Query((Literal(mode, atom),), query.evidence)) for mode in modes]
        numbers = [ask(str(program), one, semantics, engine) for one in queries]
        if not any(isinstance(number, str) for number in numbers):
            total = sum(number[0] for number in numbers if not isinstance(number, str))
            assert total == pytest.approx(1, abs=1e-9), (str(program), queries, semantics)


def test_maxent_lies_between_lower_and_upper() -> None:
    for program, query, semantics, engine in random_cases("maxent"):
        value = ask(str(program), str(query), semantics, engine)
        bounds = ask(str(program), str(query), semantics.replace("maxent", "credal"), engine)
        if isinstance(value, str) or isinstance(bounds, str):
            assert value == bounds
            continue
        assert bounds[0] - 1e-9 <= value[0] <= bounds[1] + 1e-9, (str(program), str(query))


def test_lower_is_one_minus_the_upper_of_the_negation() -> None:
    for seed in SEEDS:
        program = generate(seed)
        for atom in program.atoms[:2]:
            for engine in ENGINES:
                yes = ask(str(program), atom, "stable, credal", engine)
                no = ask(str(program), f"not {atom}", "stable, credal", engine)
                if isinstance(yes, str) or isinstance(no, str):
                    assert yes == no
                    continue
                assert yes == pytest.approx((1 - no[1], 1 - no[0]), abs=1e-9), str(program)


def widened(choice: Choice) -> Choice:
    """The choice with its first interval, or its only probability, made wider."""
    lower, upper = list(choice.lower), list(choice.upper)
    lower[0] = max(Fraction(0), lower[0] - Fraction(1, 8))
    upper[0] = min(Fraction(1), upper[0] + Fraction(1, 10))
    return replace(choice, lower=tuple(lower), upper=tuple(upper))


def test_a_wider_interval_never_narrows_an_answer() -> None:
    tried = 0
    for program, query, semantics, engine in random_cases("credal"):
        for i, choice in enumerate(program.choices):
            if not choice.credal and len(choice.heads) > 1:
                continue
            choices = (*program.choices[:i], widened(choice), *program.choices[i + 1 :])
            before = ask(str(program), str(query), semantics, engine)
            after = ask(str(replace(program, choices=choices)), str(query), semantics, engine)
            if isinstance(before, str) or isinstance(after, str):
                continue
            tried += 1
            assert after[0] <= before[0] + 1e-9, (str(program), str(query), semantics)
            assert after[1] >= before[1] - 1e-9, (str(program), str(query), semantics)
            break
    assert tried > 50
