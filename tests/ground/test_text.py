"""The ground program as text."""

from __future__ import annotations

from dpasp.ground import ground_text
from tests.ground.reading import grounded

PROGRAM = """
d(1..2).
0.5::b :- d(1;2), x(1;2).
{x(1..2)}.
0.3::a(X); 0.2:: -c :- d(X), not e(X).
e(2) :- not f.
f :- not e(2).
:- a(1), #count{X : x(X)} > 1.
u; v :- a(2).
0.1?::z; ?::y; 0.2::w.
[0.1, 0.25]::y.
1/3::third.
#query b.
#query a(X) | not f.
#mpe | z.
#map a(X)?.
#evidence z, not w.
#python
def net(): pass
def rows(): pass
#end.
input(k) ~ test(@rows).
!::i(X, {1,2}) as @net :- input(X).
"""

TEXT = """\
% 8 choices, 10 rules
0.5::b :- x(2) or x(1).
0.3::a(1); 0.2::-c.
0.3::a(2); 0.2::-c :- not e(2).
0.1?::z; 0.7?::y; 0.2::w.
[0.1, 0.25]::y.
0.3333333333::third.
!::i(k,1); !::i(k,2) as @net of input(k).
"""


def test_everything() -> None:
    text = ground_text(grounded(PROGRAM))
    head, *rest = text.splitlines()
    assert head == "% 7 choices, 10 rules"
    assert rest[:7] == TEXT.splitlines()[1:]
    assert sorted(rest[7:17]) == sorted(
        [
            "input(k).",
            "d(1).",
            "d(2).",
            "e(2) :- not f.",
            "f :- not e(2).",
            "{x(1)}.",
            "{x(2)}.",
            "u; v :- a(2).",
            *(line for line in rest if line[0] == "#" and "#sum" in line),
            *(line for line in rest if line.startswith(":- #")),
        ]
    )
    assert rest[17:] == [
        "#evidence z, not w.",
        "#query b.",
        "#query a(1) | not f.",
        "#query a(2) | not f.",
        "#mpe | z.",
        "#map a(1)?, a(2)?.",
    ]


def test_one_of_each_in_the_first_line() -> None:
    assert ground_text(grounded("0.5::a. b :- a.")).splitlines()[0] == "% 1 choice, 1 rule"
    assert ground_text(grounded("")) == "% 0 choices, 0 rules"


def test_the_same_text_every_time() -> None:
    assert ground_text(grounded(PROGRAM)) == ground_text(grounded(PROGRAM))
