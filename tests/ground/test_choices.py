"""Which choices a program has: one for each ground instance of an annotated statement."""

from __future__ import annotations

import pytest

from tests.ground.reading import choices, grounded, lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.3::a.", ["0.3::a."]),
        ('0.3::a(1,b,"c d",f(x)).', ['0.3::a(1,b,"c d",f(x)).']),
        ("0.3:: -a(1).", ["0.3::-a(1)."]),
        ("0.1::a; 0.2::b; 0.7::c.", ["0.1::a; 0.2::b; 0.7::c."]),
        # the same statement twice is two choices
        ("0.3::a. 0.3::a.", ["0.3::a.", "0.3::a."]),
        # one for each substitution, body-only variables included
        ("d(1..2). 0.5::b :- d(X).", ["0.5::b.", "0.5::b."]),
        ("d(1..2). 0.5::b(X) :- d(X).", ["0.5::b(1).", "0.5::b(2)."]),
        ("d(1,2). d(1,3). 0.5::b(X) :- d(X,Y).", ["0.5::b(1).", "0.5::b(1)."]),
        # '_' and local variables do not count
        ("d(1,2). d(1,3). 0.5::b(X) :- d(X,_).", ["0.5::b(1)."]),
        ("d(1..3). 0.5::b :- #count{X : d(X)} > 2.", ["0.5::b."]),
        ("d(1..3). e(1..3). 0.5::b :- d(X) : e(X).", ["0.5::b."]),
        # what an aggregate is assigned to is a variable of the rule
        ("d(1..3). 0.5::b(N) :- N = #count{X : d(X)}.", ["0.5::b(3)."]),
        # each element of a pool or interval in a head is its own choice
        ("0.5::a(1..3).", ["0.5::a(1).", "0.5::a(2).", "0.5::a(3)."]),
        ("0.5::a(1..2); 0.5::b.", ["0.5::a(1); 0.5::b.", "0.5::a(2); 0.5::b."]),
        # a pool in the body is another way to need the same choice
        ("{d(1..2)}. 0.5::b :- d(1;2).", ["0.5::b :- d(2) or d(1)."]),
        # a body that cannot hold has no instance
        ("d(1..3). 0.5::b(X) :- d(X), X > 2.", ["0.5::b(3)."]),
        ("d(1). 0.5::b(X) :- d(X), not d(X).", []),
        # arithmetic in heads
        ("d(1..2). 0.5::b(X*10+1) :- d(X).", ["0.5::b(11).", "0.5::b(21)."]),
        ("d(2..3). 0.5::b(X/2) :- d(X).", ["0.5::b(1).", "0.5::b(1)."]),
        # bodies that depend on other choices
        ("0.3::a. 0.4::b :- a. 0.5::c :- not b.", ["0.3::a.", "0.4::b :- a.", "0.5::c :- not b."]),
    ],
)
def test_instances(text: str, expected: list[str]) -> None:
    assert choices(text) == expected


def test_a_pool_of_atoms_of_different_arity() -> None:
    assert sorted(choices("0.5::a(1;2,3;x).")) == ["0.5::a(1).", "0.5::a(2,3).", "0.5::a(x)."]


def test_variables_that_occur_in_one_element_of_a_body_pool_only() -> None:
    program = grounded("d(1..2). 0.5::b :- d(X;Y).")
    found = sorted(str(choice.substitution[0]) for choice in program.choices)
    assert found == sorted(
        str((name, symbol.arguments[0]))
        for name in "XY"
        for symbol in program.atoms
        if symbol.name == "d"
    )


def test_the_substitution_is_kept() -> None:
    (choice,) = grounded("d(1,2). 0.5::b(Y) :- d(X,Y), Z = X+Y.").choices
    found = {name: str(symbol) for name, symbol in choice.substitution}
    assert found == {"X": "1", "Y": "2", "Z": "3"}


def test_statements_are_named_by_their_index() -> None:
    program = grounded("a. 0.3::b. c :- b. 0.4::d(1..2).")
    assert [choice.statement for choice in program.choices] == [1, 3, 3]


def test_selectors_are_atoms_without_name_and_without_rules() -> None:
    program = grounded("0.1::a; 0.2::b :- c. {c}. 0.3::a.")
    selectors = [s for choice in program.choices for s in choice.selectors]
    assert len(selectors) == len(set(selectors)) == 3
    derived = {atom for rule in program.rules for atom in rule.head}
    for selector in selectors:
        assert program.symbols[selector] is None
        assert selector not in derived
    assert max(selectors) < len(program.symbols)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#const n = 2. {b(1..2)}. 0.5::a(n) :- b(n).", ["0.5::a(2) :- b(2)."]),
        ("#const n' = 2. 0.5::a(n').", ["0.5::a(2)."]),
        ("#const f = 1. {b(f(),1)}. 0.5::a :- b(f(),f).", ["0.5::a :- b(1,1)."]),
        ("{b}. 0.5::-a(-1) :- not b.", ["0.5::-a(-1) :- not b."]),
        ('{b("a; B")}. 0.5::a :- b("a; B").', ['0.5::a :- b("a; B").']),
        ("{b(1..2)}. 0.1::a; 0.2::c(1,f(2)) :- b(1), 1 < 2.", ["0.1::a; 0.2::c(1,f(2)) :- b(1)."]),
        ("0.5::a :- b. b :- c. #defined c/0.", []),
    ],
)
def test_rules_without_variables(text: str, expected: list[str]) -> None:
    assert choices(text) == expected


def test_an_atom_of_several_choices_and_rules() -> None:
    assert lines("0.3::a. 0.4::a :- b. a :- c. {b; c}.")[:3] == [
        "0.3::a.",
        "0.4::a :- b.",
        "{b; c}.",
    ]


def test_a_head_that_is_a_fact_stays_a_choice() -> None:
    program = grounded("a. 0.3::a.")
    (choice,) = program.choices
    assert str(program.symbols[choice.heads[0]]) == "a"


def test_the_same_atom_twice_in_a_disjunction() -> None:
    program = grounded("0.3::a; 0.4::a.")
    (choice,) = program.choices
    assert choice.heads[0] == choice.heads[1]
    assert choice.selectors[0] != choice.selectors[1]


def test_no_name_of_ours_clashes_with_the_programs() -> None:
    text = "choice0(1). 0.5::choice0(2). facts(1). 0.3::ask0(X) :- choice0(X). #query ask0(X)."
    assert choices(text) == ["0.5::choice0(2).", "0.3::ask0(1).", "0.3::ask0(2) :- choice0(2)."]


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("0.3::a.", True),
        ("1::a.", False),
        ("0.1::a; 0.2::b; 0.7::c.", False),
        ("0.1::a; 0.2::b; 0.6::c.", True),
        ("1/3::a; 1/3::b; 1/3::c.", False),
        ("0.9999999999999::a.", True),  # what is written counts, however little it leaves
        ("0.5::a; 0.4999999999::b.", True),
        ("[0.2, 0.7]::a.", True),
        ("[0.2, 0.7]::a; [0.3, 0.8]::b.", False),
        ("?::a.", True),
        ("1?::a.", True),
        ("?::a; ?::b.", False),
        ("0.3?::a; 0.3?::b.", True),
    ],
)
def test_whether_nothing_can_be_chosen(text: str, nothing: bool) -> None:
    (choice,) = grounded(text).choices
    assert choice.nothing is nothing


@pytest.mark.parametrize(
    "text",
    [
        "0.5::a(1);0.5 ::  b( x , y2 ):-not c,d(1, y). 2.5e-1::e; 0.75::f. 0.4::d(1,y).",
        "0.5::a(1); % a comment\n 0.5::b(x,y2) :- not c; d(1,y). 1/4::e; 3/4::f. 0.4::d(1,y).",
        "#const k = 1. 0.5::a(k); 0.5::b(x,y2) :- not c, d(k,y). 0.25::e; 0.75::f. 0.4::d(1,y).",
    ],
)
def test_rows_mean_the_same_however_they_are_written(text: str) -> None:
    plain = "0.5::a(1); 0.5::b(x,y2) :- not c, d(1,y). 0.25::e; 0.75::f. 0.4::d(1,y)."
    found, expected = (sorted(lines(one + " 0.3::c.")) for one in (text, plain))
    assert found == expected
