"""Twins, the unrolled well-founded model, the literals of questions, and what is refused."""

from __future__ import annotations

import pytest
from clingo import Function

import dpasp
from dpasp.ground.program import GroundLiteral, GroundProgram, Rule
from dpasp.language.ast import Logic, Mode
from dpasp.semantics.dependencies import determined
from dpasp.semantics.translate import NegativeLoop, Translation, translate
from tests.oracle.generate import generate
from tests.semantics.build import ground as ground_of


def translated(text: str, logic: Logic) -> tuple[GroundProgram, Translation]:
    ground = dpasp.loads(text).ground()
    return ground, translate(ground, logic)


def literal(ground: GroundProgram, mode: Mode, name: str) -> GroundLiteral:
    symbol = Function(name)
    return GroundLiteral(mode, ground.atoms.get(symbol, 0), symbol)


def test_stable_and_smproblog_change_nothing() -> None:
    for logic in (Logic.STABLE, Logic.SMPROBLOG):
        ground, translation = translated("0.3::x. a :- x, not b. b :- not a.", logic)
        assert translation.rules == ground.rules
        assert translation.own_atoms == ()


def test_only_atoms_that_can_be_undefined_get_twins() -> None:
    ground, translation = translated("0.3::x. a :- x, not b. b :- not a. c :- x.", Logic.PARTIAL)
    twinned = {str(ground.symbols[atom]) for atom in translation.own_atoms}
    assert twinned == {"a", "b"}
    for name in ("x", "c"):
        atom = ground.atoms[Function(name)]
        assert translation.twins[atom] == atom
    a, b = ground.atoms[Function("a")], ground.atoms[Function("b")]
    a2, b2 = translation.twins[a], translation.twins[b]
    assert {a2, b2} == {translation.size - 1, translation.size - 2}
    assert Rule((a2,), (a,)) in translation.rules
    assert Rule((b,), (-a2,)) in translation.rules
    assert Rule((b2,), (-a,)) in translation.rules


def test_a_constraint_holds_when_its_body_is_false() -> None:
    ground, translation = translated("a :- not b. b :- not a. :- a, not b.", Logic.PARTIAL)
    a, b = ground.atoms[Function("a")], ground.atoms[Function("b")]
    constraint = next(rule for rule in translation.rules if not rule.head)
    assert set(constraint.body) == {translation.twins[a], -b}


def test_literals_of_questions() -> None:
    ground, translation = translated("0.3::x. a :- x, not a.", Logic.LSTABLE)
    a = ground.atoms[Function("a")]
    twin = translation.twins[a]
    assert translation.literal(literal(ground, Mode.TRUE, "a")) == (a,)
    assert translation.literal(literal(ground, Mode.FALSE, "a")) == (-twin,)
    assert translation.literal(literal(ground, Mode.UNDEFINED, "a")) == (-a, twin)
    assert translation.literal(literal(ground, Mode.UNDEFINED, "x")) is None
    assert translation.literal(literal(ground, Mode.TRUE, "nowhere")) is None
    assert translation.literal(literal(ground, Mode.FALSE, "nowhere")) == ()


def test_contradictions_cannot_hold() -> None:
    ground, translation = translated("0.3::x.", Logic.STABLE)
    both = [literal(ground, Mode.TRUE, "x"), literal(ground, Mode.FALSE, "x")]
    assert translation.conjunction(both) is None
    assert translation.conjunction([]) == ()
    assert len(translation.conjunction([both[0], both[0]]) or ()) == 1


def test_the_well_founded_model_is_stratified() -> None:
    for seed in range(200):
        program = generate(seed)
        if program.disjunctive:
            continue
        translation = translate(ground_of(program), Logic.WELLFOUNDED)
        assert determined(translation.rules, translation.size).all()


def test_rounds_of_a_loop() -> None:
    assert NegativeLoop(frozenset({1}), (), 1).rounds == 1
    assert NegativeLoop(frozenset({1, 2}), (), 2).rounds == 2


@pytest.mark.parametrize("length", range(1, 9))
def test_long_alternations_are_unrolled_far_enough(length: int) -> None:
    """A chain of moves inside one loop: positions are lost and won by turns from its end."""
    moves = "".join(f"m({i},{i + 1}). " for i in range(length))
    loop = f"0.5::m({length},0). w(X) :- m(X,Y), not w(Y)."
    program = dpasp.loads(moves + loop)
    for i in range(length + 1):
        won = program.query(f"w({i}) | not m({length},0)", semantics="wellfounded, maxent")[0]
        assert won.value == ((length - i) % 2)


def test_a_well_founded_program_that_is_too_large_is_refused() -> None:
    size = 2400
    cycle = (
        f"w(X) :- m(X,Y), not w(Y). m(X,(X+1)\\{size}) :- X = 0..{size - 1}. 0.5::z. :- z, w(0)."
    )
    with pytest.raises(dpasp.SizeLimit):
        dpasp.loads(cycle).query("z", semantics="wellfounded, maxent", exact=True)


# --- what is refused -----------------------------------------------------------------------------


THREE = ("partial", "lstable", "smproblog", "wellfounded")
LOOP = "a :- not b. b :- not a.\n"


def refusals(text: str, semantics: str) -> list[tuple[str, int | None]]:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(text).query(semantics=semantics)
    return [(d.code, d.span.line if d.span else None) for d in caught.value.diagnostics]


@pytest.mark.parametrize("logic", THREE)
def test_choice_rules(logic: str) -> None:
    assert refusals("0.3::x.\n{c} :- x.\n#query x.", logic) == [("choice-rule", 2)]


@pytest.mark.parametrize("logic", THREE)
@pytest.mark.parametrize("aggregate", ["#count { 1 : a; 2 : b } > 1", "1 { a; b } 1"])
def test_aggregates_over_what_can_be_undefined(logic: str, aggregate: str) -> None:
    text = f"{LOOP}d(1).\nc :- {aggregate}.\ne :- #sum {{ X : d(X) }} > 0.\n#query a."
    assert refusals(text, logic) == [("undetermined-aggregate", 3)]


@pytest.mark.parametrize("logic", THREE)
def test_conditional_literals_over_what_can_be_undefined(logic: str) -> None:
    text = f"{LOOP}c :- a.\nd :- c : b.\n#query d."
    assert refusals(text, logic) == [("undetermined-condition", 3)]


@pytest.mark.parametrize("logic", THREE)
def test_classical_negation(logic: str) -> None:
    assert refusals("0.3::x.\n-c :- x.\nd(-1).\n#query x.", logic) == [("classical-negation", 2)]


def test_disjunction_under_wellfounded() -> None:
    assert refusals("0.3::x.\na; b :- x.\n#query x.", "wellfounded") == [
        ("wellfounded-disjunction", 2)
    ]


@pytest.mark.parametrize("logic", THREE)
def test_over_determined_atoms_all_is_well(logic: str) -> None:
    text = """
    0.5::x(1). 0.5::x(2). d(1..2).
    some :- #count { X : x(X) } > 0.
    all :- x(X) : d(X).
    twice :- not not some.
    a :- some, not a, not twice.
    #query some. #query all. #query twice.
    """
    values = [answer.value for answer in dpasp.loads(text).query(semantics=f"{logic}, maxent")]
    assert values == pytest.approx([0.75, 0.25, 0.75])


def test_double_negation_in_a_loop_is_three_valued() -> None:
    text = "a :- not not a. #query a. #query not a. #query undef a."
    values = [answer.value for answer in dpasp.loads(text).query(semantics="partial, maxent")]
    assert values == pytest.approx([1 / 3] * 3)


def test_stable_has_all_of_clingo() -> None:
    text = "0.3::x. {c; d} :- x. -e :- c. f :- #count { 1 : c; 2 : d } = 1. #query f | x."
    assert dpasp.loads(text).query(semantics="maxent")[0].value == pytest.approx(0.5)
