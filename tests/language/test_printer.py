"""What is printed reads back as the same program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpasp.language import ast, parse
from dpasp.language.ast import statement_text, to_text
from dpasp.language.statements.expressions import number_text
from tests.language.seeds import seeds


def readable(text: str) -> bool:
    """Whether a program of ours is meant to be read (some are there to be refused)."""
    try:
        parse(text)
    except Exception:
        return False
    return True


def test_our_own_programs() -> None:
    programs = [parse(text) for text in seeds() if readable(text)]
    assert len(programs) > 200
    for program in programs:
        assert parse(to_text(program)) == program


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0.3 :: a ; 7/10::b:-c . ", "0.3::a; 7/10::b :- c."),
        ("1.::a.", "1::a."),
        ("1e-3::a.", "0.001::a."),
        ("1/2?::a; *?::b.", "(1/2)?::a; ?::b."),
        ("?( X,Y )::a(X,Y):-b(X,Y).", "?(X,Y)::a(X,Y) :- b(X,Y)."),
        ("[0.2 , p]::a.", "[0.2, p]::a."),
        ("#const p = 1/(2-0.5).", "#const p = 1.0/(2.0-0.5)."),
        ("#pr(a,not b|undef c)", "#query a, not b | undef c."),
        ("#query a(X), X>1 | b.", "#query a(X) | b, X > 1."),
        ("#max(a? | b).", "#map a? | b."),
        ("#mpe", "#mpe."),
        ("#evidence   a , not b .", "#evidence a, not b."),
        ("#semantics(maxent,lstable).", "#semantics lstable, maxent."),
        (
            '?::f(X,{a,b};{0..8})as@net on"r"at"github"with lr=1.,logits:-g(X).',
            '?::f(X, {a, b}; {(0..8)}) as @net on "r" at "github" '
            "with lr = 1.0, logits = true :- g(X).",
        ),
        ("!::-f as@m.n:g(1).", "!::-f as @m.n:g(1)."),
        ('i(0)~train("a\\"b"),test(@f(1)).', 'i(0) ~ test(@f(1)), train("a\\"b").'),
        ("#learn@f,lr=.001e3.", ""),
        ('#learn "f.csv" , o=(1,2.).', '#learn "f.csv", o = (1, 2.0).'),
        ("#inference sample,n=10.", "#inference sample, n = 10."),
        ("#python x = 1\n#end  .", "#python x = 1\n#end."),
        ("#script(lua) x #end.", "#script (lua)x#end."),
        ("b :. a :- f() = X, c : .", "b: ."),
    ],
)
def test_printed_form(text: str, printed: str) -> None:
    if not printed:
        assert not readable(text)
        return
    program = parse(text)
    assert statement_text(program.statements[0]) == printed
    assert parse(to_text(program)) == program


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_numbers_keep_their_value(value: float) -> None:
    (statement,) = parse(f"{number_text(value)}::a.").statements
    assert isinstance(statement, ast.Annotated)
    assert statement.heads[0].weight == ast.Fixed(ast.Number(value))


# --- random programs ----------------------------------------------------------------------------

numbers = st.floats(0, 1e6, allow_nan=False).map(ast.Number)
names = st.sampled_from(["p", "q0", "_r'"]).map(ast.Name)
variables = st.sampled_from(["X", "_Y", "Zed'"]).map(ast.Variable)
operators = st.sampled_from(["+", "-", "*", "/", "\\", "**"])
expressions = st.recursive(
    st.one_of(numbers, names, variables),
    lambda inner: st.one_of(
        st.builds(ast.Operation, operators, inner, inner),
        st.builds(ast.Operation, st.just("-"), st.none(), inner),
    ),
    max_leaves=12,
)
keys = st.lists(st.sampled_from(["X", "_Y", "Z'"]), unique=True, max_size=3).map(tuple)
weights = st.one_of(
    st.builds(ast.Fixed, expressions),
    st.builds(ast.Interval, expressions, expressions),
    st.builds(ast.Learnable, st.one_of(st.none(), expressions), keys),
)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
values = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    texts,
    st.lists(st.one_of(st.integers(0, 99), st.floats(0, 1)), max_size=3).map(tuple),
)
options = st.lists(
    st.builds(ast.Option, st.sampled_from(["lr", "o1", "Net"]), values),
    unique_by=lambda option: option.name,
    max_size=3,
).map(tuple)
atom_texts = st.sampled_from(
    ["a", "-b", "c(X,f(Y))", 'd("é\\n",_)', "e(1..3)", "g(1;2)", "h((1,),())", "undef", "k(f())"]
)
literal_texts = st.sampled_from(
    "a|not b(X)|not not -c|X = 1..3|d : e, not f|#count{X : g(X)} > 2|h : |{i} 1".split("|")
)


@given(st.lists(st.tuples(weights, atom_texts), min_size=1, max_size=4), st.lists(literal_texts))
@settings(max_examples=300)
def test_random_annotated_statements(heads: list[tuple[ast.Weight, str]], body: list[str]) -> None:
    plain = parse("; ".join(f"0::{atom}" for _, atom in heads) + f" :- {'; '.join(body)}.")
    (model,) = plain.statements
    assert isinstance(model, ast.Annotated)
    made = tuple(
        ast.Head(weight, head.atom) for (weight, _), head in zip(heads, model.heads, strict=True)
    )
    statement = ast.Annotated(made, model.body)
    assert parse(statement_text(statement)).statements == (statement,)


@given(options, texts, st.one_of(st.none(), texts))
@settings(max_examples=200)
def test_random_options_and_strings(
    found: tuple[ast.Option, ...], path: str, repository: str | None
) -> None:
    learn = ast.Learn(ast.File(path), found)
    inference = ast.Inference("sample", found)
    (model,) = parse("?::f(X, {a,b}) as @net :- g(X).").statements
    assert isinstance(model, ast.Neural)
    neural = ast.Neural(
        model.name,
        model.positive,
        model.arguments,
        model.values,
        (),
        False,
        ast.Network(ast.Call("net"), repository),
        found,
        model.body,
    )
    for statement in (learn, inference, neural):
        assert parse(statement_text(statement)).statements == (statement,)


@given(
    st.lists(st.tuples(st.sampled_from(ast.Mode), atom_texts), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(ast.Mode), atom_texts), max_size=3),
    st.booleans(),
)
def test_random_queries(
    asked: list[tuple[ast.Mode, str]], given: list[tuple[ast.Mode, str]], guarded: bool
) -> None:
    given = [(mode, atom.replace("_", "Z")) for mode, atom in given]  # '_' is refused there
    words = [", ".join(f"{mode.value}{atom}" for mode, atom in part) for part in (asked, given)]
    text = " | ".join(filter(None, words)) + (", X < Y" if guarded else "")
    program = parse(f"#query {text}.")
    (statement,) = program.statements
    assert isinstance(statement, ast.Query)
    assert [literal.mode for literal in statement.literals] == [mode for mode, _ in asked]
    assert [literal.mode for literal in statement.evidence] == [mode for mode, _ in given]
    assert len(statement.guards) == guarded
    assert parse(to_text(program)) == program
