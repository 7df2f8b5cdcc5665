"""What is refused although it can be read, and what is not (the messages are in snapshots)."""

from __future__ import annotations

from functools import partial

import pytest

from dpasp.errors import ProgramError, UsageError
from dpasp.language import check, parse
from dpasp.language.ast import Logic, Probability
from dpasp.language.reader import SemanticsPair, effective_semantics, parse_semantics
from dpasp.language.statements.constants import numeric_constants
from tests.clocks import steps


def codes(
    text: str, semantics: str | None = None, constants: dict[str, str] | None = None
) -> list[str]:
    try:
        check(parse(text), semantics, constants)
    except ProgramError as error:
        return [problem.code for problem in error.diagnostics]
    return []


DATA = "i(0) ~ test(@p:q)."


@pytest.mark.parametrize(
    "text",
    [
        "0::a. 1::b. 0.0::c. 1.0::d.",
        "0.1::a; 0.2::b; 0.7::c.",
        "0.3::a; 0.3::b; 0.4000000001::c.",
        "1/3::a; 1/3::b; 1/3::c.",
        "1-0.9-0.1::a.",
        "0.1+0.2+0.7::a.",
        "W/10::a; 0.9::b :- w(W). w(3).",
        "?::a; ?::b. 0.2::c; ?::d; ?::e. 0.5?::f; 0.5?::g.",
        "?(X)::a(X); ?(X)::b(X) :- c(X). ?(X,Y)::d(X); ?(Y,X)::e(Y) :- f(X,Y).",
        "[0, 1]::a. [0.5,0.5]::b; [0.5,0.5]::c. [0.2,p]::d. #const p = 0.7.",
        "[0.2, 0.4]::a; 0.6::b.",
        "#const p = 0.3. #const q = p/2. q::a. b(p0). p::c(1).",
        "#const p = 0.3. p. q(p') :- p, r(_p). 0.3::p(x).",  # predicates are not constants
        '#const p = "0.3". p::a.',
        "#const n = 3. n/10::a(n).",
        "#query a. #query a. #map a?. #evidence a. #evidence b.",
        "#semantics lstable. #query undef a. a :- not a.",
        "#python\nfrom x import *\n#end. a(@anything).",
        "#python\nf = g = 1\nimport h.i\nfrom j import k as l\nclass m: pass\n#end.\n"
        "a(@f,@g,@h,@l,@m).",
        "#python\nfor x in 'ab':\n    globals()[x] = 1\n#end. a(@a).",
        "#script (python) def f(): return 1 #end. a(@f).",
        "?::f(X) as @package.module:net :- i(X). i(0) ~ test(@p:q).",
        '?::f(X) as @net on "owner/repo" :- i(X), X > 0. i(0) ~ test("x.NPY"), train("x.pt").',
        '#learn "labels.csv", lr = 1, niters = 5, shuffle = 0, seed = 0, device = "cuda".',
        "#inference sample, n = 100, seed = 1. #semantics maxent.",
        "i(0) ~ test(@p:q). i(1) ~ test(@p:q). ?::f as @m:net :- i(0;1).",
    ],
)
def test_good_programs(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.3::a; 0.3::b; 0.40000001::c.", ["disjunction-sum"]),
        ("1.0000001::a.", ["probability-range"]),
        ("2::a; 3::b. p::c.", ["probability-range", "probability-range", "unknown-constant"]),
        ("W/10::a; 1.5::b :- w(W).", ["probability-range"]),
        ("#semantics stable.\n#semantics stable.", ["semantics-twice"]),
        ("#const p = 0.3. a(p,f(p)).", ["real-number", "real-number"]),
        ("#const p = 0.3. 0.1::a(p) :- b(p). #query a(p).", ["real-number"] * 3),
        ("#const p = 0.3. #const p = 3.", ["const-twice"]),
        ("#const p = 3. #const p = 0.3.", ["const-twice"]),
        ("?(X)::a(X); ?::b(X) :- c(X).", ["parameter-key"]),
        ("?(X)::a.", ["parameter-key"]),
        ("?(Z)::a(X) :- b(X). b(1).", ["parameter-key"]),
        ("W::a.", ["unknown-variable"]),
        ("W::a(X) :- b(X). V::c. b(1).", ["unknown-variable", "unknown-variable"]),
        (f"{DATA} ?::f(X) as @m:net :- other(X). other(1).", ["data-missing"]),
        (f"{DATA} ?::f(X) as @m:net :- not i(X), other(X). other(1).", ["data-missing"]),
        (f"{DATA} ?::f(X) as @m:net :- i(X,1). ?::g as @m:net.", ["data-missing"] * 2),
    ],
)
def test_bad_programs(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_semantics_from_outside_win() -> None:
    program = parse("#semantics lstable, maxent.")
    assert effective_semantics(program) == SemanticsPair(Logic.LSTABLE, Probability.MAXENT)
    assert effective_semantics(program, "credal") == SemanticsPair(
        Logic.LSTABLE, Probability.CREDAL
    )
    assert effective_semantics(program, "stable, credal") == SemanticsPair()
    assert effective_semantics(parse("a.")) == SemanticsPair(Logic.STABLE, Probability.CREDAL)
    assert codes("#semantics lstable. #query undef a.", "stable") == ["undef-two-valued"]
    assert codes("#query undef a.", "lstable") == []
    assert codes("[0.1,0.2]::a.", "maxent") == ["credal-under-maxent"]


@pytest.mark.parametrize("text", ["", "foo", "stable stable", "stable, partial", "credal maxent"])
def test_semantics_that_are_none(text: str) -> None:
    with pytest.raises(ProgramError if text else UsageError) as caught:
        parse_semantics(text)
    assert caught.value.diagnostics[0].span is None


def test_constants_from_outside_win() -> None:
    assert codes("p::a. #const p = 0.3.", constants={"p": "1.5"}) == ["probability-range"]
    assert codes("p::a.", constants={"p": "3/10"}) == []
    assert codes("p::a. #const p = 1.5.", constants={"p": "0.5"}) == []
    assert codes("#const n = 3. a(n).", constants={"n": "0.5"}) == ["real-number"]
    assert codes("#const n = 3. a(n).", constants={"n": "5"}) == []


def test_values_of_constants() -> None:
    program = parse("#const b = a/2. #const a = 1. #const c = b*0.5. #const d = x. #const e = -a.")
    assert numeric_constants(program) == {"a": 1.0, "b": 0.5, "c": 0.25, "e": -1.0}
    assert numeric_constants(program, {"a": "4", "x": "1/4"}) == {
        "a": 4.0,
        "b": 2.0,
        "c": 1.0,
        "d": 0.25,
        "e": -4.0,
        "x": 0.25,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <- b.", ["comparison-head"]),
        ("a = b :- c.", ["comparison-head"]),
        ("a('x').", ["quotes"]),
        ("query(a).", ["problog-directive"]),
        ("evidence(f(a), false).", ["problog-directive"]),
        ("query(a). #query a.", ["problog-directive"]),
        ("query(a). b(X) :- query(X).", []),
        ("query(X) :- a(X).", []),
        ("a % it's 'x' = <- y\n :- b.", []),
        ("a %* x = 'y' *% :- b. a #! 'z' <-\n:- c.", []),
        ('a("x = \'y\'"). b("<-") :- c = d.', []),
        ("{a} = 1. 1 <= {a; b} < 2. #count{1 : a} = 1. a(X) : X = 1..3. :- a = b.", []),
        ("a(X') :- b(X'), 'c. 'd(x').", []),
    ],
)
def test_doubtful_statements_are_read_with_a_warning(text: str, expected: list[str]) -> None:
    warnings = parse(text).warnings
    assert [warning.code for warning in warnings] == expected
    assert {warning.severity for warning in warnings} <= {"warning"}


def test_only_the_base_program() -> None:
    assert codes("#program base. a. #program  base %* the same *% . b.") == []
    with pytest.raises(ProgramError, match="program-part"):
        parse("#program step(t). a. #program base.")


@pytest.mark.parametrize("number", ["1e-400", "0.001e-330", "2.5E-999"])
def test_numbers_below_all_that_can_be_told_from_0(number: str) -> None:
    with pytest.raises(ProgramError, match="too small to be distinguished from 0") as caught:
        parse(f"{number}::a.")
    assert caught.value.diagnostics[0].code == "number-range"


@pytest.mark.parametrize("number", ["0", "0.000", "0e-400", "1e-300"])
def test_numbers_that_can_be_told_from_0_and_0_itself(number: str) -> None:
    assert parse(f"{number}::a.").statements


def test_constants_in_a_chain_cost_the_same_each() -> None:
    def chain(count: int) -> str:
        return "".join(f"#const c{i} = c{i + 1}.\n" for i in range(count)) + f"#const c{count} = 1."

    short, long = (parse(chain(count)) for count in (100, 400))
    assert numeric_constants(long)["c0"] == 1
    costs = [steps(partial(numeric_constants, program)) for program in (short, long)]
    assert costs[1] < 5 * costs[0]


def test_a_constant_without_a_value_is_shown_where_it_is_defined() -> None:
    program = parse("a.\n#const n = 1/0.\nn::b.")
    with pytest.raises(ProgramError) as caught:
        numeric_constants(program)
    (problem,) = caught.value.diagnostics
    assert problem.code == "arithmetic"
    assert problem.span is not None
    assert problem.span.line == 2
