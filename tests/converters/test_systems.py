"""PASTA, plingo, NeurASP and DeepProbLog: what is rewritten means the same, the rest is refused."""

from __future__ import annotations

import pytest

import dpasp

BIRDS = """\
0.5::bird(1..4).   % four of them
{statement}
"""

PYTHON = """
#python
import torch
class Known(torch.nn.Module):
    def forward(self, x):
        return x
def digit(): return Known()
def i1_test(): return torch.tensor([[0.1, 0.2, 0.7]])
def i2_test(): return torch.tensor([[0.5, 0.4, 0.1]])
i1_train, i2_train = i1_test, i2_test
#end.
"""


def numbers(text: str, *queries: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, a.numbers)) for a in dpasp.loads(text, python=True).query(*queries)]


def test_statistical_statements_count() -> None:
    text = dpasp.convert(
        BIRDS.format(statement="(fly(X) | bird(X))[0.6,1]."), "pasta", from_str=True
    )
    by_hand = BIRDS.format(
        statement="0{fly(X)}1 :- bird(X)."
        " :- #count{X:fly(X),bird(X)} = FB, #count{X:bird(X)} = B, 10*FB < 6*B."
    )
    assert numbers(text, "fly(1)")[0] == pytest.approx(numbers(by_hand, "fly(1)")[0])
    assert "% four of them" in text


def test_both_ends_of_a_statistical_statement() -> None:
    statement = "(smokes(Y) | smokes(X), friend(X,Y))[0.25,0.75]."
    text = dpasp.convert(f"0.5::friend(a,b). smokes(a).\n{statement}", "pasta", from_str=True)
    assert statement in text
    assert numbers(text, "smokes(b)") == [(0.0, 0.0)]  # of one friend none or all


def test_map_and_credal_facts() -> None:
    text = dpasp.convert(
        "win :- red, green. win :- blue, yellow.\n"
        "map 0.4::red. 0.9::green. map 0.5::blue. 0.6::yellow. optimizable [0.1,0.2]::x.",
        "pasta",
        from_str=True,
    )
    assert "% PASTA's --map with a query Q is: #map red?, blue? | Q.\n" in text
    plain = text.replace("[0.1,0.2]::x.", "")
    (answer,) = dpasp.loads(plain).map("red?, blue? | win", semantics="maxent")
    assert answer.assignment == {"red": True, "blue": True}
    win = dpasp.loads(plain).query("win", semantics="maxent")[0].value
    assert answer.value * win == pytest.approx(0.192)  # PASTA tells the joint probability


@pytest.mark.parametrize(
    ("dialect", "text", "line", "words"),
    [
        ("pasta", "utility(a).", 1, "utility"),
        ("pasta", "x:gaussian(0,1).", 1, "continuous"),
        ("pasta", "#learnable(a).", 1, "learning"),
        ("pasta", "(a|b)[0.2].", 1, "expected ','"),
        ("pasta", "(a|b)[0.2,1.2].", 1, "1.2 is not a probability"),
        ("pasta", "a.\n\n1.5::b.", 3, "not a probability"),
        ("plingo", "a.\nb :- &weight(2).", 2, "&weight"),
        ("plingo", '&pr(r(D)) { roll(D,6) } = "1/4" :- d(D).', 1, "&pr"),
        ("plingo", 'a :- &problog("0.3").\nb :- a, &problog("0.2").', 2, "uncertain body"),
        ("plingo", 'a :- &problog("0.3").\n&query(a) :- b.', 2, "question with a body"),
        ("neurasp", "nn(digit(1,X),[0,1]) :- img(X).", 1, "no facts of img"),
        ("neurasp", "img(1..3).\nnn(digit(1,X),[0,1]) :- img(X).", 1, "each input"),
        ("neurasp", "img(a).\nnn(d(1,X),[0,1]) :- img(X).\nb :- d(1,a,0).", 3, "only output of d"),
        ("neurasp", "img(a).\nnn(d,[0,1]) :- img(X).", 2, "cannot be read"),
        ("neurasp", "nn(d(1,X),[0,1]).", 1, "what the input of the network is"),
        ("neurasp", "nn(d(1,a),[0,1]).\nnn(d(1,a),[0,1,2]).", 2, "declared differently above"),
        ("deepproblog", "nn(net,X,Y,[a])::p(X,Y).", 1, "cannot be read"),
        ("deepproblog", "nn(net,[X],Y,[a])::p(Y,X).", 1, "last argument"),
        ("deepproblog", "a.\nb([]).", 2, "lists"),
    ],
)
def test_what_has_no_counterpart(dialect: str, text: str, line: int, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as refused:
        dpasp.convert(text, dialect, from_str=True)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert span.line == line


def test_several_models_of_a_choice_are_not_plingos() -> None:
    with pytest.raises(dpasp.ProgramError, match="several models"):
        dpasp.convert('a :- &problog("0.3"). {b}.', "plingo", from_str=True)


def test_plingos_alarm() -> None:
    text = """
    burglary :- &problog("0.1").   earthquake :- &problog("0.2").
    hears(X) :- person(X), &problog("0.7").
    alarm :- burglary.  alarm :- earthquake.
    person(mary). person(john).
    &evidence(alarm,true).
    &query(burglary). &query(earthquake). &query(hears(mary)).
    """
    found = numbers(dpasp.convert(text, "plingo", from_str=True))
    assert [one[0] for one in found] == pytest.approx([0.1 / 0.28, 0.2 / 0.28, 0.7])


def test_a_network_of_neurasp_that_sees_one_term() -> None:
    text = "nn(digit(2,i1), [0,1,2]). both(N) :- digit(0,i1,N), digit(1,i1,N)."
    assert dpasp.convert(text, "neurasp", from_str=True).splitlines()[-1] == (
        "digit_input(i1) ~ test(@i1_test), train(@i1_train). "
        "?::digit(i1,{0..2}; {0..1}) as @digit :- digit_input(i1). "
        "both(N) :- digit(i1,N,0), digit(i1,N,1)."
    )
    one = dpasp.convert("nn(digit(1,i1), [0,1,2]). two :- digit(0,i1,2).", "neurasp", from_str=True)
    (answer,) = dpasp.loads(one + PYTHON, python=True).query("two")
    assert answer.value == pytest.approx([0.7])
    two = dpasp.convert("nn(digit(1,i1), [yes,no]).", "neurasp", from_str=True)
    assert "gives the probability of its first value only" in two


def test_networks_of_neurasp() -> None:
    pytest.importorskip("torch")
    text = """% sums
    img(i1). img(i2).
    addition(A,B,N) :- digit(0,A,N1), digit(0,B,N2), N=N1+N2.
    nn(digit(1,X), [0,1,2]) :- img(X).
    """
    converted = dpasp.convert(text, "neurasp", from_str=True) + PYTHON
    (answer,) = dpasp.loads(converted, python=True).query("addition(i1,i2,2)")
    assert answer.value == pytest.approx([0.1 * 0.1 + 0.2 * 0.4 + 0.7 * 0.5], abs=1e-6)


def test_a_network_with_several_outputs() -> None:
    text = "g(x). nn(sp(24,X),[true,false]) :- g(X). sp(X) :- sp(X,x,true)."
    converted = dpasp.convert(text, "neurasp", from_str=True)
    assert "?::sp(X,{true,false}; {0..23}) as @sp :- g(X)." in converted
    assert "sp(X) :- sp(x,true,X)." in converted


def test_networks_of_deepproblog() -> None:
    pytest.importorskip("torch")
    text = """
    nn(digit,[X],Y,[0,1,2]) :: digit(X,Y).
    addition(X,Y,Z) :- digit(X,N), digit(Y,M), Z is N+M.
    query(addition(i1,i2,2)).
    """
    converted = dpasp.convert(text, "deepproblog", from_str=True) + PYTHON
    (answer,) = dpasp.loads(converted, python=True).query()
    assert answer.value == pytest.approx([0.1 * 0.1 + 0.2 * 0.4 + 0.7 * 0.5], abs=1e-6)


def test_what_a_network_sees_is_named_by_the_topmost_predicate() -> None:
    text = "nn(net,[X],Y,[a,b])::p(X,Y). q(Img) :- p(Img,a). game(A,B) :- q(A), q(B)."
    converted = dpasp.convert(text, "deepproblog", from_str=True)
    assert "net_input(a) ~ test(@a_test), train(@a_train).\nnet_input(b) ~" in converted
