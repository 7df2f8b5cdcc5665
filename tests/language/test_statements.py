"""Every statement that dPASP adds to clingo's, as the language guide describes it."""

from __future__ import annotations

import pytest

from dpasp.language import ast, parse
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.language.statements.expressions import expression_text
from tests.language.reading import codes, kinds, one, shown


def annotated(text: str) -> ast.Annotated:
    statement = one(text)
    assert isinstance(statement, ast.Annotated)
    return statement


def weights(text: str) -> list[ast.Weight]:
    return [head.weight for head in annotated(text).heads]


def neural(text: str) -> ast.Neural:
    statement = one(text)
    assert isinstance(statement, ast.Neural)
    return statement


# --- probabilities ------------------------------------------------------------------------------


def test_a_probabilistic_fact() -> None:
    fact = annotated("0.8::influences(anna,bill).")
    assert [str(head.atom) for head in fact.heads] == ["influences(anna,bill)"]
    assert fact.heads[0].weight == ast.Fixed(ast.Number(0.8))
    assert fact.body == ()


def test_a_probabilistic_rule() -> None:
    rule = annotated("0.1::cancer(X) :- smokes(X), not lucky(X).")
    assert [str(literal) for literal in rule.body] == ["smokes(X)", "not lucky(X)"]


def test_an_annotated_disjunction() -> None:
    rule = annotated("0.05::eq(heavy); 0.15::eq(mild) | 0.8::eq(none) :- b.")
    assert [str(head.atom) for head in rule.heads] == ["eq(heavy)", "eq(mild)", "eq(none)"]
    assert [str(literal) for literal in rule.body] == ["b"]


def test_heads_stay_in_their_order() -> None:
    names = "zebra ape x1 x10 x2 b a c".split()
    text = "; ".join(f"0.1::{name}" for name in names)
    assert [str(head.atom) for head in annotated(f"{text}.").heads] == names


def test_a_negated_head() -> None:
    (head,) = annotated("0.3::-a(X) :- b(X).").heads
    assert str(head.atom) == "-a(X)"
    assert shown("0.3::-a. 0.3:: - a.") == ["0.3::-a.", "0.3::-a."]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.3", 0.3),
        ("1", 1.0),
        ("0", 0.0),
        ("1.", 1.0),
        ("1e-3", 1e-3),
        ("2.5E-1", 0.25),
        ("1E+0", 1.0),
        ("007", 7.0),
    ],
)
def test_numbers(written: str, value: float) -> None:
    assert weights(f"{written}::a.") == [ast.Fixed(ast.Number(value))]


@pytest.mark.parametrize(
    ("written", "grouped"),
    [
        ("3/10", "3/10"),
        ("p", "p"),
        ("W/10", "W/10"),
        ("1-p*2", "1-p*2"),
        ("(1-p)*2", "(1-p)*2"),
        ("1-(2-3)", "1-(2-3)"),
        ("1-2-3", "1-2-3"),
        ("2**3**2", "2**3**2"),
        ("(2**3)**2", "(2**3)**2"),
        ("-1+2", "-1+2"),
        ("-(1+2)", "-(1+2)"),
        ("7\\2", "7\\2"),
        ("_p'+X'", "_p'+X'"),
    ],
)
def test_expressions(written: str, grouped: str) -> None:
    (weight,) = weights(f"{written}::a.")
    assert isinstance(weight, ast.Fixed)
    assert expression_text(weight.probability) == grouped


def test_real_constants_are_ours_and_others_clingos() -> None:
    text = "#const p = 0.3. #const q = p + 1e-2. #const n = 3. #const m = 3/10."
    assert kinds(text) == ["Const", "Const", "Plain", "Plain"]


def test_learnable_parameters() -> None:
    assert weights("?::a.") == [ast.Learnable(None, ())]
    assert weights("0.5?::h1; ?::h2; 1/4?::h3 :- b.")[1:] == [
        ast.Learnable(None, ()),
        ast.Learnable(ast.Operation("/", ast.Number(1.0), ast.Number(4.0)), ()),
    ]
    assert weights("0.2::a; ?::b.") == [ast.Fixed(ast.Number(0.2)), ast.Learnable(None, ())]


@pytest.mark.parametrize("written", ["?*", "*?", "?"])
def test_tied_parameters(written: str) -> None:
    assert weights(f"{written}::a(X) :- b(X).") == [ast.Learnable(None, ())]


def test_tied_parameters_with_a_start() -> None:
    assert weights("*0.5?::a. ".strip()) == [ast.Learnable(ast.Number(0.5), ())]
    assert weights("0.5?*::a.") == [ast.Learnable(ast.Number(0.5), ())]


def test_keyed_parameters() -> None:
    assert weights("?(X)::a(X,Y) :- b(X,Y).") == [ast.Learnable(None, ("X",))]
    assert weights("0.1?( X , Y )::a(X,Y) :- b(X,Y).") == [
        ast.Learnable(ast.Number(0.1), ("X", "Y"))
    ]


def test_credal_statements() -> None:
    assert weights("[0.2, 0.7]::f.") == [ast.Interval(ast.Number(0.2), ast.Number(0.7))]
    assert len(weights("[0.1,0.3]::a; [0.2,0.5]::b; [p,1-p]::c.")) == 3
    assert weights("[0., 1.]::f(X) :- g(X).") == [ast.Interval(ast.Number(0), ast.Number(1))]


# --- networks and data --------------------------------------------------------------------------


def test_a_neural_disjunction() -> None:
    statement = neural('?::digit(X, {0..9}) as @net with optim = "Adam", lr = 0.001 :- input(X).')
    assert (statement.name, statement.learnable, statement.positive) == ("digit", True, True)
    assert [str(term) for term in statement.arguments] == ["X"]
    assert [str(term) for term in statement.values] == ["(0..9)"]
    assert statement.outcomes == ()
    assert statement.network == ast.Network(ast.Call("net"))
    assert statement.options == (ast.Option("optim", "Adam"), ast.Option("lr", 0.001))
    assert [str(literal) for literal in statement.body] == ["input(X)"]


def test_a_frozen_neural_fact() -> None:
    statement = neural("!::even(X) as @net :- input(X).")
    assert (statement.learnable, statement.values) == (False, ())
    assert [str(term) for term in statement.arguments] == ["X"]


def test_a_neural_statement_without_arguments() -> None:
    statement = neural("?::-coin as @net.")
    assert (statement.name, statement.positive, statement.arguments) == ("coin", False, ())


@pytest.mark.parametrize(
    ("head", "arguments", "values", "outcomes"),
    [
        ("f(X, {a,b})", ["X"], ["a", "b"], []),
        ("f(X; {a,b,c})", ["X"], [], ["a", "b", "c"]),
        ("f(X, {a,b}; {0..8})", ["X"], ["a", "b"], ["(0..8)"]),
        ("f(X, Y, {a})", ["X", "Y"], ["a"], []),
        ("f({a,b})", [], ["a", "b"], []),
        ("f({a,b}; {c,d})", [], ["a", "b"], ["c", "d"]),
        ('f(X, {(a,b), g(1), -3, "x y"})', ["X"], ["(a,b)", "g(1)", "-3", '"x y"'], []),
        ("f(X, {0,...,9})", ["X"], ["(0..9)"], []),
        ("f(X, {0,…,9})", ["X"], ["(0..9)"], []),
        ("f(X, {1, 2, ..., 9, 20})", ["X"], ["1", "(2..9)", "20"], []),
        ("f(X, {0..n-1})", ["X"], ["(0..(n-1))"], []),
        ("f((X,Y), {a,b})", ["(X,Y)"], ["a", "b"], []),
    ],
)
def test_neural_heads(
    head: str, arguments: list[str], values: list[str], outcomes: list[str]
) -> None:
    statement = neural(f"?::{head} as @net :- g(X).")
    assert [str(term) for term in statement.arguments] == arguments
    assert [str(term) for term in statement.values] == values
    assert [str(term) for term in statement.outcomes] == outcomes


@pytest.mark.parametrize(
    ("written", "network"),
    [
        ("@net", ast.Network(ast.Call("net"))),
        ("@ net", ast.Network(ast.Call("net"))),
        ('@net on "owner/repo" at "github"', ast.Network(ast.Call("net"), "owner/repo", "github")),
        ('@net on "folder"', ast.Network(ast.Call("net"), "folder")),
        ("@module:factory", ast.Network(ast.Call("module:factory"))),
        ("@module.path:factory", ast.Network(ast.Call("module.path:factory"))),
        ("@Net", ast.Network(ast.Call("Net"))),
    ],
)
def test_where_networks_come_from(written: str, network: ast.Network) -> None:
    assert neural(f"?::f(X) as {written} :- g(X).").network == network


def test_networks_with_arguments() -> None:
    call = neural('?::f(X) as @net(10, "x") :- g(X).').network.factory
    assert [str(argument) for argument in call.arguments] == ["10", '"x"']
    assert call.function == "net"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.001", 0.001),
        ("1.", 1.0),
        ("1e-3", 1e-3),
        ("5", 5),
        ("-2", -2),
        ("+2", 2),
        ('"Adam"', "Adam"),
        ("adam", "adam"),
        ("true", True),
        ("False", False),
        ("(0.9, 0.999)", (0.9, 0.999)),
        ("(1., 2)", (1.0, 2)),
        ("()", ()),
        ('"a\\"b\\\\c\\n"', 'a"b\\c\n'),
    ],
)
def test_values_of_options(written: str, value: ast.Value) -> None:
    (option,) = neural(f"?::f(X) as @net with o = {written} :- g(X).").options
    assert option == ast.Option("o", value)
    assert type(option.value) is type(value)


def test_an_option_without_a_value_is_true() -> None:
    assert neural("?::f(X) as @net with logits, lr = 1. :- g(X).").options == (
        ast.Option("logits", True),
        ast.Option("lr", 1.0),
    )


def test_data() -> None:
    statement = one('input(0) ~ test(@te(0, "x")), train("tr.csv").')
    assert isinstance(statement, ast.Data)
    assert (statement.name, [*map(str, statement.arguments)]) == ("input", ["0"])
    assert isinstance(statement.test, ast.Call)
    assert statement.test.function == "te"
    assert [str(argument) for argument in statement.test.arguments] == ["0", '"x"']
    assert statement.train == ast.File("tr.csv")


def test_data_in_any_order_and_either_alone() -> None:
    assert shown("i(x) ~ train(@t), test(@s). i(y) ~ train(@t). i((1,2)) ∼ test(@s).") == [
        "i(x) ~ test(@s), train(@t).",
        "i(y) ~ train(@t).",
        "i((1,2)) ~ test(@s).",
    ]


def test_a_complement_is_not_data() -> None:
    assert kinds("a(X) :- b(Y), X = ~Y. b(~1).") == ["Plain", "Plain"]


# --- questions ----------------------------------------------------------------------------------


def query(text: str) -> ast.Query:
    statement = one(text)
    assert isinstance(statement, ast.Query)
    return statement


def literals(found: tuple[ast.Literal, ...]) -> list[tuple[Mode, str]]:
    return [(literal.mode, str(literal.atom)) for literal in found]


@pytest.mark.parametrize(
    "text",
    [
        "#query a, not b | undef c.",
        "#query(a, not b | undef c).",
        "#pr a, not b | undef c.",
        "#pr( a ,\n not b\n| undef c )",
        "#query a, not b | undef c",
        "#query  a,not b|undef c  % and a comment",
    ],
)
def test_queries(text: str) -> None:
    statement = query(text)
    assert literals(statement.literals) == [(Mode.TRUE, "a"), (Mode.FALSE, "b")]
    assert literals(statement.evidence) == [(Mode.UNDEFINED, "c")]


def test_a_query_with_variables_and_guards() -> None:
    statement = query("#query sum(X), X > 3 | b(X), not X = 5.")
    assert literals(statement.literals) == [(Mode.TRUE, "sum(X)")]
    assert [str(guard) for guard in statement.guards] == ["X > 3", "not X = 5"]


def test_atoms_named_undef() -> None:
    assert literals(query("#query undef.").literals) == [(Mode.TRUE, "undef")]
    assert literals(query("#query undef(a), undef undef.").literals) == [
        (Mode.TRUE, "undef(a)"),
        (Mode.UNDEFINED, "undef"),
    ]


def test_classical_negation_in_queries() -> None:
    assert literals(query("#query -a, not -b(X).").literals) == [
        (Mode.TRUE, "-a"),
        (Mode.FALSE, "-b(X)"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#query a\n#query b\n", ["Query", "Query"]),
        ("#query a\nb.\n#query b", ["Query", "Plain", "Query"]),
        ("#query a\n0.3::b.", ["Query", "Annotated"]),
        ("#query a | b\n?::c.", ["Query", "Annotated"]),
        ("#query a\n[0.1,0.2]::c.", ["Query", "Annotated"]),
        ("#query a(X),\nX > 1\n-b.", ["Query", "Plain"]),
        ("#query a\n:- b.", ["Query", "Plain"]),
        ("#query a\n{b}.", ["Query", "Plain"]),
        ("#map a?\nb.", ["Map", "Plain"]),
        ("#mpe\nb.", ["Map", "Plain"]),
        ("#query a #query b.", ["Query", "Query"]),
        ("#query a % c\n%* d *% b.", ["Query", "Plain"]),
        ("#query(a\n| b)\nc.", ["Query", "Plain"]),
        ("#query a,\nb,\nnot\nc.", ["Query"]),
    ],
)
def test_the_dot_of_a_query_may_be_missing(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_map_and_mpe() -> None:
    first, second, third, fourth = parse("#map a?, b(X)? | e. #map(x?). #mpe | e. #mpe.").statements
    assert isinstance(first, ast.Map)
    assert [str(each.atom) for each in first.literals] == ["a", "b(X)"]
    assert literals(first.evidence) == [(Mode.TRUE, "e")]
    assert isinstance(second, ast.Map)
    assert [str(each.atom) for each in second.literals] == ["x"]
    assert third == ast.Map((), first.evidence)
    assert fourth == ast.Map((), ())


def test_max_is_map_unless_it_is_an_aggregate() -> None:
    assert kinds("#max a? | b. #max{X : p(X)} = 3 :- q. r :- 1 = #max{X : p(X)}.") == [
        "Map",
        "Plain",
        "Plain",
    ]


def test_evidence() -> None:
    statement = one("#evidence a, not b, undef c.")
    assert isinstance(statement, ast.Evidence)
    assert literals(statement.literals) == [
        (Mode.TRUE, "a"),
        (Mode.FALSE, "b"),
        (Mode.UNDEFINED, "c"),
    ]


def test_several_outcomes_in_questions() -> None:
    text = "?::f(X, {a,b}; {0..8}) as @net :- g(X). #query f(x, a; 3). #evidence f(x,b;4)."
    assert shown(f"{text} #map f(x,a;1)?. #query h(x; 3).")[1:] == [
        "#query f(x,a,3).",
        "#evidence f(x,b,4).",
        "#map f(x,a,1)?.",
        "#query h(x;3).",
    ]


# --- directives ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "logic", "probability"),
    [
        ("lstable, maxent", Logic.LSTABLE, Probability.MAXENT),
        ("credal, partial", Logic.PARTIAL, Probability.CREDAL),
        ("stable", Logic.STABLE, None),
        ("maxent", None, Probability.MAXENT),
        ("(smproblog, maxent)", Logic.SMPROBLOG, Probability.MAXENT),
        ("wellfounded", Logic.WELLFOUNDED, None),
        ("Maxent", None, Probability.MAXENT),
    ],
)
def test_semantics(written: str, logic: Logic | None, probability: Probability | None) -> None:
    assert one(f"#semantics {written}.") == ast.Semantics(logic, probability)


def test_learn() -> None:
    text = '#learn @labels, lr = 0.001, niters = 5, batch = 1000, alg = "lagrange".'
    assert one(text) == ast.Learn(
        ast.Call("labels"),
        (
            ast.Option("lr", 0.001),
            ast.Option("niters", 5),
            ast.Option("batch", 1000),
            ast.Option("alg", "lagrange"),
        ),
    )
    assert one('#learn "labels.csv".') == ast.Learn(ast.File("labels.csv"), ())
    assert one("#learn(@labels).") == ast.Learn(ast.Call("labels"), ())


def test_learn_with_arguments() -> None:
    statement = one('#learn @labels(0, "x"), lr = 1., niters = 5.')
    assert isinstance(statement, ast.Learn)
    assert isinstance(statement.observations, ast.Call)
    assert [str(argument) for argument in statement.observations.arguments] == ["0", '"x"']
    assert statement.options[0] == ast.Option("lr", 1.0)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("exact", ast.Inference("exact", ())),
        ("sample, n = 10000", ast.Inference("sample", (ast.Option("n", 10000),))),
        ("bounds, gap = 0.01", ast.Inference("bounds", (ast.Option("gap", 0.01),))),
        ("aseo, nmodels = 100", ast.Inference("aseo", (ast.Option("nmodels", 100),))),
    ],
)
def test_inference(written: str, expected: ast.Inference) -> None:
    assert one(f"#inference {written}.") == expected


def test_python_is_kept_as_it_is_and_not_run() -> None:
    code = "\nimport no_such_module  # 'never run'. %* #query a. 0.3::b\nraise SystemExit\n"
    assert one(f"#python{code}#end.") == ast.Python(code)


def test_words_that_look_like_the_end_of_python() -> None:
    code = "\n# the #end of it is not here\nx = '#ending'\n"
    assert one(f"#python{code}#end .") == ast.Python(code)


def test_nothing_runs_when_a_program_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    parse('#python\nprint("ran")\n#end.\n#script (python)\nprint("ran")\n#end.\na(@f(1)).')
    assert capsys.readouterr() == ("", "")


def test_a_program_equals_what_says_the_same() -> None:
    assert parse("0.3::a.  b:-c,d .") == parse("\n\n0.30 :: a.\nb :- c; d.")
    assert parse("0.3::a.") != parse("0.4::a.")


def test_one_mistake_hides_no_other() -> None:
    text = "0.3:a. b :- c d. #qeury x. e(f. g :- h(. #semantics foo. ?::k(X,{a}). good."
    assert codes(text) == [
        "single-colon",
        "missing-separator",
        "unknown-directive",
        "unbalanced",
        "unbalanced",
        "unknown-semantics",
        "neural-network-missing",
    ]
