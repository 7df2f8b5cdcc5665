"""The whole of clingo's input language, in plain statements and in the bodies of ours."""

from __future__ import annotations

import pytest
from clingo.ast import AST, parse_string

from dpasp.errors import ProgramError
from dpasp.language import ast, parse
from tests.language.reading import kinds, one

BODIES = """
a
a, b; c
not a
not not a
-a, not -a(X)
a(X,Y), X < Y, X <= Y, X > Y, X >= Y, X = Y, X != Y
1 < X < 3, not 1 < X
X = 1..3
(X,Y) = (1,2)
a((),(1,),(1,2),((1,2),3))
a(_,_), not b(_)
a(f(g(x),-1),"a string",#inf,#sup)
a("with \\" and \\\\ and \\n"), b("Zoë – ß 😀 .:-0.3::"), c("% no comment %*")
a(X+1,X-1,X*2,X/2,X\\2,X**2,|X|,-X,~X,X&1,X?1,X^1)
a(1;2), a(1,2;3), a((1;2),3)
a(1..3,x)
a(n), a(n+1)
a(0x1F,0b101,0o17)
a : b
a(X) : b(X), not c(X); d
not a(X) : b(X); not not c
#true, not #false
#count { X : a(X) } > 2
2 < #count { X,Y : a(X), b(Y); 1 : c } <= 5
#sum { W,X : a(X,W); -1,y : not b } = N
#sum+ { 1 : a } != 3
#min { X : a(X) } < #sup
not #max { X : a(X) } = 4
not not #count { X : a(X) } 1
{ a; b : c, d; not e } 2
1 { a(X) : b(X) }
not { a } = 1
X = #count { Y : a(Y) }, X = #sum { Y : a(Y) }
a(x'), _b(_c), 'd
a(@f), a(@f(1,X))
a(X'), b(_X)
""".strip().split("\n")

STATEMENTS = (
    r"""
a.
a :- b.
:- a, not b.
a :- .
:- .
a; b | c.
a(X) : b(X).
a(X) : b(X), not c; d :- e.
not a.
not not a :- b.
-a(1).
{ a }.
{ a; b; not c } :- d.
1 { a(X,Y) : b(Y) } 1 :- c(X).
1 <= { a; b } < 3 :- c.
{ a : b } = 2.
#count { X : a(X) : b(X) } >= 1 :- c.
#sum { W,X : a(X) : b(X,W); 1 : c } 5.
a = b.
1 < X :- a(X).
#true.
#false :- a.
a(1..3).
a(1;2;3).
a((1,2),(),(1,)).
a("x", "é", "a\"b\\c\n").
#const n = 3.
#const n = n0 + 1. [default]
#const n = 3. [override]
#const s = "a string".
#show.
#show a/1.
#show -a/1.
#show f(X,Y) : a(X), b(Y).
#show x.
#show (1,2) : a.
#defined a/1.
#defined -a/1.
#external a.
#external a(X) : b(X).
#external a. [true]
#external a(X) : b(X). [free]
#external -a. [false]
#project a/1.
#project a(X) : b(X).
#heuristic a. [1,true]
#heuristic a(X) : b(X). [1@2,sign]
#program base.
#script (python)
#script (lua) x = "#python" #end.
""".strip()
    .replace("#script (python)\n", "#script (python) def f(x): return '%* 0.3::é' #end.\n")
    .split("\n")
)


def clingo(text: str) -> AST:
    """The node that clingo itself reads from a text."""
    nodes: list[AST] = []
    parse_string(text, nodes.append)
    return nodes[1]


@pytest.mark.parametrize("text", STATEMENTS)
def test_plain_statements(text: str) -> None:
    assert one(text) == ast.Plain(clingo(text))


@pytest.mark.parametrize("body", BODIES)
def test_bodies_of_every_kind_of_rule(body: str) -> None:
    expected = list(clingo(f"h :- {body}.").body)
    plain = one(f"h :- {body}.")
    assert isinstance(plain, ast.Plain)
    assert list(plain.node.body) == expected
    rule = one(f"0.3::h(X); ?::-g :- {body}.")
    assert isinstance(rule, ast.Annotated)
    assert list(rule.body) == expected
    neural = one(f'?::h(X, {{a,b}}) as @net with o = "x:-y" :- {body}.')
    assert isinstance(neural, ast.Neural)
    assert list(neural.body) == expected


HEADS = """a|a(X)|a(X,f(Y),"é")|-a|-a(1)|a(1..3)|a(1;2)|a(x,y;z)|a((1;2),3)|a(X+1,|X|)|_a|a'|a(n)"""


@pytest.mark.parametrize("head", HEADS.replace("|X|", "ABS").split("|"))
def test_annotated_heads(head: str) -> None:
    head = head.replace("ABS", "|X|")
    rule = one(f"0.3::{head}; 0.4::z :- b(X,Y).")
    assert isinstance(rule, ast.Annotated)
    assert rule.heads[0].atom == clingo(f"{head}.").head.atom


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a. % b.", ["Plain"]),
        ("a. %* b. %* c. *% d. *% e.", ["Plain", "Plain"]),
        ("0.3::a%* x *%. b.", ["Annotated", "Plain"]),
        ("0.3%* . *%::%* :: *%a.", ["Annotated"]),
        ("#query a %* | b *%.", ["Query"]),
        ("%\n%%\n%* *%\n#! shebang\na.", ["Plain"]),
        ("a :- b. % no dot at the end", ["Plain"]),
        ("a. #! 0.3::b.\nc.", ["Plain", "Plain"]),
        ("%*%* *%*% a.", ["Plain"]),
        ('a("%"). b("%*"). % "\nc.', ["Plain", "Plain", "Plain"]),
        ("\r\n a.\r\n\tb.\r\n", ["Plain", "Plain"]),
    ],
)
def test_comments_and_space(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_comments_inside_a_rule() -> None:
    assert parse("0.3::a :- b, % x. y\n c %* , d %* . *% *% , not e.") == parse(
        "0.3::a :- b, c, not e."
    )


def test_dots_that_end_nothing() -> None:
    text = 'a(1..3). b("x. y"). c :- #sum{1:a} = 1..2. 0.5::d(1..2).'
    assert kinds(text) == ["Plain", "Plain", "Plain", "Annotated"]


def test_statements_with_a_tail() -> None:
    text = "#external a. [true]\n[0.1,0.2]::b. #const n = 1. [override] [0.3,0.4]::c."
    assert kinds(text) == ["Plain", "Annotated", "Plain", "Annotated"]


@pytest.mark.parametrize("probability", ["?", "p", "0.5?", "(1/2)", "[0.1,0.2]", "1-p"])
def test_probabilities_after_a_tail(probability: str) -> None:
    text = f"#const p = 0.3. #external a. [false]\n{probability}::b."
    assert kinds(text) == ["Const", "Plain", "Annotated"]


@pytest.mark.parametrize("text", ["p({}).", "a :- p({}).", "0.3::p({}).", "#query p({})."])
def test_pools_that_stand_for_too_many_statements(text: str) -> None:
    fine = ",".join(["(1;2)"] * 16)
    assert parse(text.format(fine))
    with pytest.raises(ProgramError) as caught:
        parse("q. " + text.format(fine + ",(3;4)") + " r.")
    assert [problem.code for problem in caught.value.diagnostics] == ["many-pools"]


def test_pools_that_make_elements_multiply_nothing() -> None:
    many = "; ".join(["a(1;2)"] * 40)
    for text in (
        f"{{ {many} }}.",
        f"b :- 3 {{ {many} }}.",
        f"{many}.",
        f"p({';'.join('x' * 99)}).",
    ):
        assert kinds(text) == ["Plain"]


def test_names_that_are_words_of_ours() -> None:
    text = "as(with). on :- at, undef. query(x) :- test(x), train(x). learn. 0.3::as. 0.3::undef(x)"
    assert len(parse(f"{text}. #query query(x).").statements) == 7


def test_large_integers_that_fit() -> None:
    assert kinds("a(2147483647). a(-2147483647). a(0x7FFFFFFF).") == ["Plain"] * 3
