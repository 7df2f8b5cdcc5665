"""Every engine under every semantics, with and without intervals: none refuses, all agree."""

from __future__ import annotations

import pytest

import dpasp
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.engines import engine_names, named

LOOPS = "a :- x, not b. b :- y, not a. c :- z, a. c :- b. d :- z, not d."
QUERIES = "#query a. #query c | x. #query not c. #query b | not a, y."
PLAIN = f"0.3::x. 0.5::y. 0.3::z. {LOOPS} {QUERIES}"
INTERVALS = {
    "fact and rule": "[0.2, 0.4]::x. 0.6::w. [0.2, 0.4]::y :- w. 0.3::z.",
    "disjunction": "[0.2, 0.4]::x; [0.3, 0.8]::y. [0.1, 0.3]::z; [0.2, 0.4]::v; [0.4, 0.6]::w.",
}
ROUNDING = 1e-9


def check(text: str, engine: str, semantics: str) -> None:
    """What an engine says holds the exact answers, or is equal to them."""
    exact = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
    found_engine = named(engine)
    assert found_engine is not None
    options = {"seed": 5, "n": 480} if found_engine.name == "sample" else {}
    found = dpasp.loads(text).query(semantics=semantics, engine=engine, **options)
    assert len(found) == len(exact) >= 4
    for truth, answer in zip(exact, found, strict=True):
        assert isinstance(answer, dpasp.Answer)
        low, high = float(truth.numbers[0]), float(truth.numbers[-1])
        if found_engine.exact:
            assert answer.interval is None
            assert answer.numbers == pytest.approx(truth.numbers)
        else:
            assert answer.interval is not None
            least, most = map(float, answer.interval)
            luck = most - least if options else 0.0  # 1 of 20 samples misses; none by six sigmas
            assert least - luck <= low + ROUNDING
            assert high - ROUNDING <= most + luck


def asked(logic: str) -> str:
    """What is asked besides where atoms can be undefined."""
    return "" if logic == "stable" else "#query undef d. #query undef a | y."


@pytest.mark.parametrize("logic", [logic.value for logic in Logic])
@pytest.mark.parametrize("engine", engine_names())
def test_no_engine_refuses_a_semantics(engine: str, logic: str) -> None:
    for probability in Probability:
        check(PLAIN + asked(logic), engine, f"{logic}, {probability.value}")


@pytest.mark.slow
@pytest.mark.parametrize("logic", [logic.value for logic in Logic])
@pytest.mark.parametrize("engine", engine_names())
@pytest.mark.parametrize("place", INTERVALS)
def test_no_engine_refuses_intervals(place: str, engine: str, logic: str) -> None:
    text = f"{INTERVALS[place]} {LOOPS} {QUERIES} {asked(logic)}"
    check(text, engine, f"{logic}, credal")
    with pytest.raises(dpasp.ProgramError, match="no meaning under maxent"):
        dpasp.loads(text).query(semantics=f"{logic}, maxent", engine=engine)


ODD = "0.6::b. 0.5::x. a :- not a, not b. c :- x, not d. d :- x, not c. e :- x, a. "


@pytest.mark.parametrize("engine", ["auto", "compile", "enumerate", "bounds", "sample"])
@pytest.mark.parametrize("logic", ["wellfounded", "partial", "lstable", "smproblog"])
def test_what_is_undefined_is_told(engine: str, logic: str) -> None:
    """ℙ(a) + ℙ(not a) + ℙ(undef a) = 1: the third is not left out where it is positive."""
    text = ODD + f"#semantics {logic}, maxent. #query a. #query not a. #query undef a. #query b."
    options = {"seed": 5, "n": 2_000} if engine == "sample" else {}
    found = dpasp.loads(text).query(engine=engine, **options)
    holds, fails, undefined, other = found
    assert holds.undefined == fails.undefined == undefined.value
    assert holds.value + fails.value + holds.undefined == pytest.approx(1.0)
    assert holds.undefined == pytest.approx(0.4, abs=0.05 if engine == "sample" else 1e-9)
    assert undefined.undefined is None
    assert (other.undefined is not None) == (logic == "smproblog")
    assert f"(undefined: {holds.undefined:.6f})" in str(holds)
    assert found.to_dict()["answers"][0]["undefined"] == holds.undefined


@pytest.mark.parametrize("logic", ["wellfounded", "partial", "lstable", "smproblog", "stable"])
def test_undefined_bounds_and_conjunctions(logic: str) -> None:
    text = ODD + "#query c. #query a, x. #query e, x | x. #query c, not d. #query a | b."
    for engine in ("compile", "enumerate"):
        c, pair, both, loop, given = dpasp.loads(text).query(
            semantics=f"{logic}, credal", engine=engine, inconsistent="normalize"
        )
        expected = {
            "wellfounded": ((0.5, 0.5), (0.2, 0.2), (0.4, 0.4), (0.5, 0.5)),
            "partial": ((0.0, 0.5), (0.2, 0.2), (0.4, 0.4), (0.0, 0.5)),
            "lstable": (None, (0.2, 0.2), (0.4, 0.4), None),
            "smproblog": ((0.4, 0.4), (0.4, 0.4), None, (0.4, 0.4)),
            "stable": (None, None, None, None),
        }[logic]
        for answer, ends in zip((c, pair, both, loop), expected, strict=True):
            assert answer.undefined == (None if ends is None else pytest.approx(ends))
        assert given.undefined is None
