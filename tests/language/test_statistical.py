"""Statistical statements: what they mean, how they are read and printed, what is refused."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random

import pytest

import dpasp
from dpasp.ground import ground, ground_text
from dpasp.language import check, parse
from dpasp.language.ast import Statistical, statement_text
from dpasp.language.formatting import formatted

BIRDS = "0.5::bird(1). 0.5::bird(2). 0.5::bird(3). 0.5::bird(4)."
# Programs of PASTA's examples/conditionals with the values that they state. Those of the second are
# stated for the bounds in its comment; those of the third are not normalised.
PUBLISHED = [
    (
        "bird(1..4). 0.7::fly_w(1). (fly(X) | bird(X))[0.6,1]. fly :- fly(1). fly :- fly_w(1).",
        "fly",
        (0.7, 1.0),
    ),
    (BIRDS + "(fly(X) | bird(X))[0.6,1].", "fly(1)", (0.25, 0.5)),
    (
        "0.4::chicken(1..4). peacock(X) :- X = 1..4, not chicken(X)."
        "(fly(X) | chicken(X))[0.4,1]. (fly(X) | peacock(X))[0,0.6].",
        "fly(1)",
        (0.0864, 0.9616),
    ),
    (
        "0.4::chicken(1..4). 0.6::peacock(1..4)."
        "(fly(X) | chicken(X))[0.4,1]. (fly(X) | peacock(X))[0,0.6].",
        "fly(1)",
        (0.11736576 / 0.97345792, 0.6220672 / 0.97345792),
    ),
    (
        "0.11::friend(a,b). 0.13::friend(b,c). 0.17::friend(c,e). 0.19::friend(b,d)."
        "0.23::friend(d,e). (smokes(Y) | smokes(X), friend(X,Y))[0.4,1]. 0.7::smokes_w(d)."
        "smokes(a). smokes(c). smokes(e). smk :- smokes_w(d). smk :- smokes(d).",
        "smk",
        (0.7, 0.70627),
    ),
]


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
@pytest.mark.parametrize(("text", "query", "expected"), PUBLISHED)
def test_the_values_that_pasta_publishes(
    text: str, query: str, expected: tuple[float, float], engine: str
) -> None:
    (answer,) = dpasp.loads(text).query(query, engine=engine)
    assert answer.numbers == pytest.approx(expected, abs=1e-9)


def subsets(items: range) -> list[frozenset[int]]:
    return [
        frozenset(some)
        for some in chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))
    ]


def by_definition(
    probabilities: list[float], low: float, high: float, semantics: str
) -> tuple[float, ...]:
    """The answer for f(0) by looking at all models of all sets of those with the body."""
    people, lower, upper, consistent = range(len(probabilities)), 0.0, 0.0, 0.0
    for present in subsets(people):
        mass = 1.0
        for i, p in enumerate(probabilities):
            mass *= p if i in present else 1 - p
        models = [
            some
            for some in subsets(people)
            if some <= present and low * len(present) <= len(some) <= high * len(present)
        ]
        if not models:
            continue
        consistent += mass
        share = sum(0 in some for some in models) / len(models)
        lower += mass * (share == 1 if semantics == "credal" else share)
        upper += mass * (share > 0 if semantics == "credal" else share)
    if semantics == "credal":
        return lower / consistent, upper / consistent
    return (lower / consistent,)


@pytest.mark.parametrize("seed", range(12))
def test_random_shares_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    probabilities = [random.randint(1, 9) / 10 for _ in range(random.randint(1, 4))]
    low, high = sorted(random.choice([0, 0.25, 0.3, 0.5, 0.6, 0.75, 1]) for _ in range(2))
    facts = "".join(f"{p}::b({i})." for i, p in enumerate(probabilities))
    program = dpasp.loads(f"{facts} (f(X) | b(X))[{low}, {high}]. #query f(0).")
    for semantics in ("credal", "maxent"):
        expected = by_definition(probabilities, low, high, semantics)
        for engine in ("compile", "enumerate"):
            (answer,) = program.query(engine=engine, semantics=semantics)
            assert answer.numbers == pytest.approx(expected, abs=1e-9), (seed, semantics, engine)


def test_shares_are_exact() -> None:
    people = "".join(f"p({i})." for i in range(10))
    low = dpasp.loads(f"{people} (f(X) | p(X))[0.29, 0.3]. n :- #count{{X : f(X)}} = 3. #query n.")
    assert low.query()[0].numbers == (1.0, 1.0)
    third = dpasp.loads("p(1..3). (f(X) | p(X))[1/3, 1/3]. n :- #count{X : f(X)} = 1. #query n.")
    assert third.query()[0].numbers == (1.0, 1.0)


def test_large_counts_do_not_wrap_around() -> None:
    text = "p(1..30). (f(X) | p(X))[0.123456789, 1]. n :- #count{X : f(X)} > 3. #query n."
    assert dpasp.loads(text).query(engine="compile")[0].numbers == (1.0, 1.0)


def test_constants_and_both_forms() -> None:
    first = parse("(fly(X) | bird(X), not ill(X))[share, 1].").statements
    second = parse("(share,1) % of all\n[fly(X)|bird(X), not ill(X)].").statements
    assert first == second
    assert statement_text(first[0]) == "(fly(X) | bird(X), not ill(X))[share, 1]."
    program = dpasp.loads("#const share = 0.6. bird(1..2). (fly(X) | bird(X))[share, 1].")
    assert program.query("fly(1)")[0].lower == 1.0
    program = dpasp.loads(
        "#const share = 0.6. bird(1..2). (fly(X) | bird(X))[share, 1].", constants={"share": 0.5}
    )
    assert program.query("fly(1)")[0].lower == 0.0


def test_variables_of_pairs_are_counted() -> None:
    text = "r(1,1..3). r(2,1). (f(X,Y) | r(X,Y))[0.5, 0.5]. n :- #count{X,Y : f(X,Y)} = 2. #query n"
    assert dpasp.loads(text).query()[0].numbers == (1.0, 1.0)
    text = "r(1,1..3). r(2,1). (f(X) | r(X,_))[0.5, 0.5]. n :- #count{X : f(X)} = 1. #query n."
    assert dpasp.loads(text).query()[0].numbers == (1.0, 1.0)


def test_ground_text_and_formatting() -> None:
    text = "bird(1..2). (fly(X) | bird(X))[0.6, 1]."
    assert "{fly(1)}." in ground_text(ground(parse(text)))
    assert formatted("( fly(X)|bird(X) ) [0.6, 1] .") == "(fly(X) | bird(X)) [0.6, 1].\n"
    assert formatted("(0.6,1)[fly(X)|bird(X)].") == "(0.6,1)[fly(X) | bird(X)].\n"


def test_explanations_and_models_know_the_statement() -> None:
    program = dpasp.loads("0.5::bird(1). (fly(X) | bird(X))[1, 1]. #query fly(1).")
    assert program.explain() is not None
    assert len(list(program.models())) == 2


@pytest.mark.parametrize(
    ("text", "code", "column", "words"),
    [
        ("(fly(X) | bird(X)).", "statistical-syntax", 19, "bounds"),
        ("(fly(X) | bird(X))[0.6].", "statistical-syntax", 23, "expected ','"),
        ("(fly(X) | bird(X))[].", "statistical-syntax", 19, "bounds"),
        ("(fly(X), run(X) | bird(X))[0.6,1].", "statistical-syntax", 8, "one atom"),
        ("(not fly(X) | bird(X))[0.6,1].", "statistical-syntax", 2, "one atom"),
        ("( | bird(X))[0.6,1].", "statistical-syntax", 3, "before the '|'"),
        ("(fly(X) | )[0.6,1].", "statistical-syntax", 9, "after the '|'"),
        ("(fly(X) bird(X))[0.6,1].", "statistical-syntax", 17, "'|'"),
        ("(f | #count{X : b(X)} > 1)[0.6,1].", "statistical-syntax", 6, "literals"),
        ("(f(X) | b(X) | c(X))[0.6,1].", "statistical-syntax", 14, "a second '|'"),
        ("(f(X) | b(X) : c(X))[0.6,1].", "statistical-syntax", 14, "literals"),
        ("(f(X) | b(X))[0.6,1] :- c.", "statistical-syntax", 22, "unexpected ':-'"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(
    text: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(dpasp.ProgramError) as error:
        parse(text)
    (problem,) = error.value.diagnostics
    assert problem.code == code
    assert problem.span is not None
    assert problem.span.column == column
    assert words in problem.message
    assert problem.help


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(f(X) | b(X))[0.6, 1.5].", "probability-range"),
        ("(f(X) | b(X))[0.6, 0.5].", "interval-order"),
        ("(f(X,Y) | b(X))[0.6, 1].", "unknown-variable"),
        ("(f(X) | b(X))[X, 1].", "unknown-variable"),
        ("(f(X) | b(X))[p, 1].", "unknown-constant"),
        ("(f(X) | b(X))[0.1234567890123, 1].", "number-range"),
        ("#semantics partial. (f(X) | b(X))[0.6, 1].", "statistical-semantics"),
        ("#semantics wellfounded, maxent. (f(X) | b(X))[0.6, 1].", "statistical-semantics"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, code: str) -> None:
    with pytest.raises(dpasp.ProgramError) as error:
        check(parse(f"{text} b(1)."))
    assert [problem.code for problem in error.value.diagnostics] == [code]
    with pytest.raises(dpasp.ProgramError):
        dpasp.loads(f"{text} b(1).").query("f(1)")


def test_the_help_under_another_semantics_works() -> None:
    with pytest.raises(dpasp.ProgramError) as error:
        check(parse("(f(X) | b(X))[0.6, 1]."), "lstable")
    line = error.value.diagnostics[0].help.partition("probability: ")[2]
    assert line == "[0.6, 1]::f(X) :- b(X)."
    assert not isinstance(parse(line).statements[0], Statistical)
