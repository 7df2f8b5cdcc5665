"""Tables of evidence: each row is answered as if it were asked alone."""

from __future__ import annotations

import math
import random
import warnings
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpasp
from dpasp.display.answers import write_rows
from dpasp.inference import rows as rows_module
from dpasp.inference.rows import by_questions

SMOKERS = """
0.4::smoke(yes); 0.6::smoke(no).
0.3::lung(yes); 0.7::lung(no) :- smoke(yes).
0.01::lung(yes); 0.99::lung(no) :- smoke(no).
0.2::visit("Asia trip").
#semantics maxent.
"""
SEMANTICS = (
    *("stable, maxent", "stable, credal", "partial, maxent", "lstable, credal"),
    *("smproblog, maxent", "smproblog, credal", "wellfounded, credal", "stable, weighted"),
)


def random_program(rng: random.Random, intervals: bool, disjunction: bool = True) -> str:
    """A program with a variable of three values, facts, rules and often a loop through negation."""

    def fact() -> str:
        if intervals and rng.random() < 0.4:
            low = rng.choice((0.1, 0.3))
            return f"[{low}, {low + 0.4}]"
        return f"{rng.choice((0.2, 0.5, 0.9))}"

    lines = ["0.2::v(x); 0.5::v(y); 0.3::v(z).", f"{fact()}::a.", f"{fact()}::b :- v(x)."]
    lines.append("c :- a, not b. c :- v(y).")
    if rng.random() < 0.6:
        lines.append("p :- a, not q. q :- a, not p.")
    if rng.random() < 0.3:
        lines.append("r :- b, not r.")
    if rng.random() < 0.4:
        lines.append(":- v(z), a.")
    lines.append(f"{fact()}::d(1); 0.1::d(2) :- c." if not intervals else "0.3::d(1); 0.1::d(2).")
    if rng.random() < 0.4 and disjunction:
        lines.append("e ; f :- d(1).")
    lines.append("p :- b, v(y). q :- d(9). e :- d(9). r :- d(9).")
    return "\n".join(lines)


def random_row(rng: random.Random, inner: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "v": rng.choice(("x", "y", "z", None, None)),
        "a": rng.choice((True, False, None)),
        "c": rng.choice((True, False, None)),
        "d": rng.choice((1, 2, None, None)),
    }
    if inner:
        row["p"] = rng.choice((True, False, None))
    return row


def alone(program: dpasp.Program, query: str, row: dict[str, Any], **how: Any) -> tuple[float, ...]:
    try:
        return tuple(map(float, program.query(query, evidence=row, **how)[0].numbers))  # type: ignore[arg-type]
    except dpasp.ImpossibleEvidence:
        return (math.nan,)


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_answered_as_if_alone(seed: int) -> None:
    rng = random.Random(seed)
    semantics = SEMANTICS[seed % len(SEMANTICS)]
    intervals = "credal" in semantics and rng.random() < 0.4
    text = random_program(rng, intervals, disjunction="wellfounded" not in semantics)
    program = dpasp.loads(text, semantics=semantics)
    table = [random_row(rng, inner=seed % 3 == 0) for _ in range(7)]
    query = rng.choice(("c", "p", "a, not c", "v(x) | not b"))
    engine = rng.choice(("auto", "auto", "enumerate"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = program.query(query, evidence=table, engine=engine)
        for i, row in enumerate(table):
            wanted = alone(program, query, row, engine="enumerate")
            found = [float(np.asarray(number)[i]) for number in answers[0].numbers]
            assert found == pytest.approx(wanted * (len(found) // len(wanted)), nan_ok=True)


def test_all_marginals_of_rows() -> None:
    program = dpasp.loads(SMOKERS)
    table = pd.DataFrame({"smoke": ["yes", None, "no"], "lung": [None, "yes", "no"]})
    answers = program.marginals(evidence=table)
    for i, row in enumerate(table.to_dict("records")):
        for answer in program.marginals(evidence=row):
            assert answers[answer.query].value[i] == pytest.approx(answer.value)  # type: ignore[union-attr,index]


def test_the_way_by_leaves_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("this is asked row by row")

    monkeypatch.setattr(rows_module, "by_questions", never)
    answers = dpasp.loads(SMOKERS).query("lung(X)", evidence={"smoke": ["yes", "no"] * 50})
    assert answers["lung(yes)"].value == pytest.approx([0.3, 0.01] * 50)
    assert answers.statistics["rows"] == 2  # equal rows are answered once
    assert callable(by_questions)


def test_impossible_rows_are_nan_and_counted() -> None:
    program = dpasp.loads("0.5::a. b :- a. #semantics maxent.")
    with pytest.warns(dpasp.ProgramWarning, match=r"2 rows have evidence .* row 1: not a, b"):
        answers = program.query("a", evidence={"a": [None, False, False], "b": [True, True, True]})
    assert np.isnan(answers[0].value).tolist() == [False, True, True]  # type: ignore[arg-type]
    assert '"value": [1.0, null, null]' in answers.to_json()


def test_index_and_order_are_kept() -> None:
    table = pd.DataFrame(
        {"smoke": ["no", "yes", "no"]}, index=pd.Index(["x", "z", "y"], name="who")
    )
    program = dpasp.loads(SMOKERS)
    frame = program.query("lung(yes)", evidence=table).to_frame()
    assert frame.index.equals(table.index)
    assert frame["value"].tolist() == pytest.approx([0.01, 0.3, 0.01])
    predicted = program.predict(table, "lung(X)")
    assert predicted.index.equals(table.index)
    assert list(predicted) == ["no", "yes"]
    answers = program.query("lung(X)", evidence=table)
    assert [line.split()[0] for line in str(answers).splitlines()] == ["row", "x", "z", "y"]
    assert ">z</td>" in answers._repr_html_()
    found = program.map("lung(X)?", evidence=table)
    assert [line.split()[0] for line in str(found).splitlines()[1:]] == ["x", "z", "y"]
    both = program.query("lung(X)", evidence=table).to_frame()
    assert both.index.tolist() == ["x", "z", "y"] * 2


def test_predictions_under_credal_are_bounds() -> None:
    program = dpasp.loads("[0.2, 0.6]::s(1); [0.4, 0.8]::s(2). 0.5::w :- s(1).")
    predicted = program.predict({"w": [False, None]}, "s(X)")
    assert list(predicted) == ["1_lower", "1_upper", "2_lower", "2_upper"]
    assert predicted.iloc[1].tolist() == pytest.approx([0.2, 0.6, 0.4, 0.8])


def test_a_frame_of_polars_gives_one_of_polars() -> None:
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"smoke": ["no", None, "yes"]})
    predicted = dpasp.loads(SMOKERS).predict(table, "lung(X)")
    assert isinstance(predicted, polars.DataFrame)
    assert predicted["yes"].to_list() == pytest.approx([0.01, 0.126, 0.3])


COLUMNS: dict[str, Any] = {
    "category": pd.Series(["yes", "no", None], dtype="category"),
    "strings": pd.Series(["yes", "no", pd.NA], dtype="string"),
    "objects": pd.Series(["yes", "no", np.nan], dtype=object),
    "question marks": ["yes", "no", "?"],
    "empty": ["yes", "no", ""],
    "as they were before conversion": ["Yes", "No", None],
    "in capitals": ["YES", "no", None],
    "array": np.array(["yes", "no", "?"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_of_every_type_are_read(kind: str) -> None:
    answers = dpasp.loads(SMOKERS).query("lung(yes)", evidence={"smoke": COLUMNS[kind]})
    assert answers[0].value == pytest.approx([0.3, 0.01, 0.126])


def test_numbers_and_words_with_spaces() -> None:
    program = dpasp.loads('0.5::n(1); 0.3::n(2); 0.2::n(3). big :- n(X), X > 1. 0.4::w("a b").')
    for column in ([1, 3, None], [1.0, 3.0, math.nan], pd.array([1, 3, None], "Int64"),
                   ["1", "3", ""], ["1.0", "3.0", ""]):  # fmt: skip
        found = program.query("big", evidence={"n": column}, semantics="maxent")[0].value
        assert found == pytest.approx([0, 1, 0.5])
    assert program.query("w(X)", evidence={"w": ["a b"]}, semantics="maxent")[0].value == 1
    assert program.query("big", evidence={"n": 3}, semantics="maxent")[0].value == 1


BAD: dict[str, tuple[Any, str, str]] = {
    "unknown column": ({"smoker": ["yes"]}, "smoker", "did you mean 'smoke'"),
    "unknown value": ({"smoke": ["yes", "yess"]}, "example 1 says 'yess'", "did you mean yes"),
    "a number": ({"smoke": [3]}, "3 about smoke", "no, yes"),
    "twice": (pd.DataFrame([["yes", "no"]], columns=["smoke", "smoke"]), "two columns", "keep one"),
    "no rows": (pd.DataFrame({"smoke": []}), "no rows", "at least one"),
    "no columns": (pd.DataFrame(index=[1, 2]), "no columns", ""),
    "mixed": ({"smoke": ["yes", True, 3]}, "True about smoke", "no, yes"),
    "unequal": ({"smoke": ["yes"], "lung": ["yes", "no"]}, "unequal lengths", ""),
    "lists in cells": ({"smoke": [["yes"], ["no"]]}, "about smoke", "no, yes"),
    "unknown column of numbers": ({"id": [1]}, "about id, which the program", "lung, smoke"),
    "unknown column without values": ({"id": [None]}, "about id, which the program", "lung, smoke"),
    "no names": (pd.DataFrame([["yes"]]), "not the name", "name atoms"),
    "undefined": ({"visit(\"Asia trip\")": ["undef"]}, "ever undefined", "lstable"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_tables_have_a_clear_end(kind: str) -> None:
    table, message, help = BAD[kind]
    with pytest.raises(dpasp.DataError) as refused:
        dpasp.loads(SMOKERS).query("lung(yes)", evidence=table)
    (problem,) = refused.value.diagnostics
    assert message in problem.message
    assert help in problem.help


DAYS = """0.5::day("2024-01-02"); 0.3::day("2024-01-03"); 0.2::day("2024-01-03 12:30:00").
late :- day("2024-01-03 12:30:00"). #semantics maxent."""


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_dates_are_read_as_their_texts(unit: str, tmp_path: Path) -> None:
    program = dpasp.loads(DAYS)
    days = pd.Series(pd.to_datetime(["2024-01-02 00:00:00", None, "2024-01-03 12:30:00"]))
    column = days.astype(f"datetime64[{unit}]")
    assert program.query("late", evidence={"day": column})[0].value == pytest.approx([0, 0.2, 1])
    one = program.query("late", evidence={"day": column.to_numpy()[2]})
    assert one[0].value == pytest.approx(1)
    pd.DataFrame({"day": column}).to_csv(tmp_path / "days.csv", index=False)
    found = program.query("late", evidence=tmp_path / "days.csv")
    assert found[0].value == pytest.approx([0, 0.2, 1])


AWKWARD: dict[str, tuple[str, Any]] = {
    "category": ("smoke", pd.Series(["yes", "no", None], dtype="category")),
    "capitals": ("Smoke", pd.Series(["YES", "No", "?"])),
    "text": ("visit", pd.Series(["Asia trip", None, ""], dtype="string")),
    "bool": ("flag", pd.Series([True, False, True])),
    "boolean": ("flag", pd.Series([True, None, False], dtype="boolean")),
    "Int64": ("level", pd.Series([3, None, -1], dtype="Int64")),
    "floats": ("level", pd.Series([3.0, np.nan, -1.0])),
    "mixed": ("level", pd.Series([3, "0", -1.0], dtype=object)),
    "a term": ("p(anna)", pd.Series(["3", None, 1], dtype=object)),
    "an atom": ("rain", pd.Series(["1", "FALSE", "NA"])),
}
EVERYTHING = """
0.4::smoke(yes); 0.6::smoke(no). 0.3::level(-1); 0.3::level(0); 0.4::level(3). 0.5::rain.
0.4::visit("Asia trip"); 0.6::visit(none). 0.7::flag(true); 0.3::flag(false).
0.3::p(anna,1); 0.7::p(anna,3).
ill(yes) :- smoke(yes), level(3). ill(yes) :- rain, flag(true). ill(yes) :- p(anna,3), visit(none).
ill(no) :- not ill(yes). #semantics maxent.
"""


@pytest.mark.parametrize("kind", AWKWARD)
def test_every_entrance_reads_a_table_alike(kind: str, tmp_path: Path) -> None:
    """Evidence, predictions, maps, observations, a classifier and a file say the same."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    from dpasp.integrations.sklearn import ProgramClassifier

    name, column = AWKWARD[kind]
    program = dpasp.loads(EVERYTHING)
    frame = pd.DataFrame({name: column})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    records = [{name: value} for value in column.tolist()]
    wanted = [float(program.query("ill(yes)", evidence=row)[0]) for row in records]
    for table in (
        *(frame, records, {name: column.tolist()}, tmp_path / "rows.csv"),
        (column.to_numpy().reshape(-1, 1), [name]),
    ):
        found = program.query("ill(yes)", evidence=table)[0].value
        assert found == pytest.approx(wanted)
    assert program.marginals(evidence=frame)["ill(yes)"].value == pytest.approx(wanted)
    assert program.predict(frame, "ill(X)")["yes"].tolist() == pytest.approx(wanted)
    classifier = ProgramClassifier(program, query="ill(X)")
    assert classifier.predict_proba(frame)[:, 1] == pytest.approx(wanted)
    model = program.module()
    likely = [max(p, 1 - p) for p in wanted]
    for answers in (
        program.map("ill(X)?", evidence=frame),
        model.map("ill(X)?", evidence=records),
    ):
        assert [answer.value for answer in answers] == pytest.approx(likely)
    seen = model.log_prob(frame).exp().tolist()
    both = model.log_prob([{name: v, "ill": "yes"} for v in column.tolist()]).exp().tolist()
    assert [joint / alone for joint, alone in zip(both, seen, strict=True)] == pytest.approx(wanted)
    learner = dpasp.loads(EVERYTHING.replace("0.4::smoke(yes); 0.6", "?::smoke(yes); ?"))
    learner.learn(frame, niters=1)
    other = dpasp.loads(EVERYTHING.replace("0.4::smoke(yes); 0.6", "?::smoke(yes); ?"))
    other.learn(tmp_path / "rows.csv", niters=1)
    assert learner.learned() == other.learned()


def test_a_cross_says_nothing_about_an_atom() -> None:
    """It may be ticked, or crossed out."""
    program = dpasp.loads("0.5::rain. 0.3::wet :- rain. #semantics maxent.")
    with pytest.raises(dpasp.DataError, match="'x' about rain, which is neither true nor false"):
        program.query("wet", evidence={"rain": ["x", ""]})


def test_what_is_ambiguous_is_refused_with_the_line_that_works() -> None:
    program = dpasp.loads("0.3::smoke. 0.5::smoke(1); 0.5::smoke(2). #semantics maxent.")
    for table in ({"smoke": [1, 0]}, {"smoke": ["1"]}, {"smoke": 1}):
        with pytest.raises(dpasp.DataError, match="both smoke and smoke") as refused:
            program.query("smoke(2)", evidence=table)
        assert "True for smoke itself" in refused.value.diagnostics[0].help
    assert program.query("smoke(2)", evidence={"smoke": [True, 2]})[0].value == pytest.approx(
        [0.5, 1]
    )
    assert program.query("smoke(2)", evidence={"smoke(1)": [True]})[0].value == 0


@pytest.mark.parametrize("value", ["yes", "no"])
def test_one_row_with_categories_everywhere(value: str) -> None:
    program = dpasp.loads(SMOKERS)
    row = {"smoke": value, "lung": None}
    assert program.query("lung(yes)", evidence=row)[0].value == pytest.approx(
        program.query(f"lung(yes) | smoke({value})")[0].value
    )
    assert program.map("smoke(X)?", evidence=row)[0].assignment[f"smoke({value})"] is True
    assert program.sample(1, given=row)[0][f"smoke({value})"] is True
    assert all(f"smoke({value})" in str(m) for m in program.models(given=row))
    assert program.explain("lung(yes)", evidence=row)
    function = program.to_numpy("lung(yes)", evidence=row)
    assert function.prob() == pytest.approx(program.query("lung(yes)", evidence=row)[0].value)


def test_observations_have_categories(tmp_path: Path) -> None:
    text = "?::smoke(yes); ?::smoke(no). ?::lung(yes); ?::lung(no) :- smoke(yes)."
    text += " lung(no) :- smoke(no)."
    table = pd.DataFrame({"smoke": ["yes"] * 3 + ["no"], "lung": ["yes", "no", "no", None]})
    table.to_csv(tmp_path / "seen.csv", index=False)
    (tmp_path / "p.plp").write_text(f'{text}\n#learn "seen.csv".\n#semantics maxent.\n')
    learned = []
    for observations in (table, table.to_dict("records"), table.to_dict("list"), None):
        program = dpasp.load(tmp_path / "p.plp")
        program.learn(observations)
        learned.append([one["values"][0] for one in program.learned()])
    assert learned == [pytest.approx([0.75, 1 / 3], abs=1e-4)] * 4


def test_data_and_evidence_have_the_same_rows() -> None:
    torch = pytest.importorskip("torch")
    text = "?::d(X, {0, 1}) as @net :- i(X). i(a) ~ test(@rows). 0.5::b. s :- d(a,1), b."
    given = {"networks": {"net": torch.nn.Softmax(1)}, "data": {"rows": [[0.0, 9.0], [0.0, 0.0]]}}
    program = dpasp.loads(f"{text} #semantics maxent.", **given)
    answers = program.query("s", evidence={"b": [True, None]})
    one, two = torch.softmax(torch.tensor([[0.0, 9.0], [0.0, 0.0]]), 1)[:, 1].tolist()
    assert answers[0].value == pytest.approx([one, two / 2])
    with pytest.raises(dpasp.DataError, match="3 rows and the data 2"):
        program.query("s", evidence={"b": [True, None, False]})


def test_a_limit_ends_many_rows() -> None:
    program = dpasp.loads(SMOKERS)
    now = iter(range(10**9))
    limits = dpasp.Limits(seconds=20, clock=lambda: float(next(now)))
    with pytest.raises(dpasp.TimeLimit):
        program.query("lung(yes)", evidence={"smoke": ["yes", "no"]}, limits=limits, exact=True)


TINY = "0.001::s(1..200). all :- s(X) : X = 1..200. 0.5::e. f :- all, e."


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_rows_of_answers_below_doubles_have_their_logarithms(
    semantics: str, tmp_path: Path
) -> None:
    program = dpasp.loads(TINY, semantics=semantics)
    answers = program.query("f", evidence={"e": [True, False, None]})
    wanted = [-600, -math.inf, -600 + math.log10(0.5)]
    assert answers[0].log10 == pytest.approx(wanted)
    names = ["log10"] if semantics == "maxent" else ["log10", "log10_lower", "log10_upper"]
    for name in names:
        column = answers.to_frame()[name].fillna(-math.inf)
        assert column.tolist() == pytest.approx(wanted)
    write_rows(answers, tmp_path / "rows.csv")
    table = pd.read_csv(tmp_path / "rows.csv")
    ends = ["f_log10"] if semantics == "maxent" else ["f_log10_lower", "f_log10_upper"]
    assert [table[end].tolist() for end in ends] == [pytest.approx(wanted)] * len(ends)


@pytest.mark.parametrize(("asked", "used"), [(1, 1), (3, 3), (None, 5)])
def test_rows_take_as_many_threads_as_asked_for(
    asked: int | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all cores where nobody says."""
    monkeypatch.setattr(rows_module, "_cores", lambda: 5)
    assert rows_module.threads_for(dpasp.Limits(threads=asked).start()) == used


@pytest.mark.parametrize("semantics", SEMANTICS[:2])
@pytest.mark.parametrize("device", ["torch", "cuda"])
def test_rows_on_another_device(
    device: str, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the operations of torch, which other devices take, and on a GPU."""
    torch = pytest.importorskip("torch")
    from dpasp.circuits.gpu import walks

    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    if device == "torch":
        there = walks.Walked
        monkeypatch.setattr(walks, "there_is", lambda name: torch.device("meta"))
        monkeypatch.setattr(walks, "Walked", lambda c, place: there(c, torch.device("cpu")))
    program = dpasp.loads(random_program(random.Random(5), False), semantics=semantics)
    table = [random_row(random.Random(seed), inner=False) for seed in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = program.query("c", "p", "v(X)", evidence=table)
        found = program.query("c", "p", "v(X)", evidence=table, device="cuda")
        for one, other in zip(found, here, strict=True):
            assert np.allclose(one.numbers, other.numbers, rtol=1e-12, equal_nan=True)
        tiny = dpasp.loads(TINY, semantics=semantics)
        small = [tiny.query("f", evidence={"e": [True, None]}, device=d) for d in ("cuda", None)]
    assert small[0][0].log10 == pytest.approx(small[1][0].log10)


def test_a_device_that_is_not_there_is_refused() -> None:
    pytest.importorskip("torch")
    program = dpasp.loads(SMOKERS)
    with pytest.raises(dpasp.UsageError, match="no device cuda:99"):
        program.query("lung(yes)", evidence={"smoke": ["yes"]}, device="cuda:99")
    with pytest.raises(dpasp.UsageError, match="for tables of evidence"):
        program.query("lung(yes)", device="cuda")
    found = program.query("lung(yes)", evidence={"smoke": ["yes"]}, device="auto")
    assert found[0].value == pytest.approx([0.3])


def test_progress_is_reported() -> None:
    told: list[tuple[float, float | None]] = []
    dpasp.loads(SMOKERS).query(
        "lung(yes)",
        evidence={"smoke": ["yes", "no"]},
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (2, 2)


# --- most probable values ------------------------------------------------------------------------


def ties(answer: Any, lower: bool = False) -> set[Any]:
    """All assignments that are the best."""
    some = (answer.lower_assignment, *answer.lower_ties) if lower else None
    return {tuple(sorted(each.items())) for each in some or (answer.assignment, *answer.ties)}


@pytest.mark.parametrize("seed", range(40))
def test_most_probable_values_by_row(seed: int) -> None:
    rng = random.Random(seed)
    semantics = SEMANTICS[seed % len(SEMANTICS)]
    intervals = "credal" in semantics and rng.random() < 0.3
    text = random_program(rng, intervals, disjunction="wellfounded" not in semantics)
    program = dpasp.loads(text, semantics=semantics)
    table = [random_row(rng, inner=seed % 3 == 0) for _ in range(5)]
    question = rng.choice(("a?, c?", "v(X)?", "v(X)?, a?, b?", "d(X)?, v(Y)?", "c?", "p?, a?"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = program.map(question, evidence=table)
        assert len(answers) == len(table)
        for found, row in zip(answers, table, strict=True):
            try:
                wanted: Any = program.map(question, evidence=row, engine="enumerate")[0]
            except dpasp.ImpossibleEvidence:
                assert np.isnan(found.numbers[0])
                continue
            assert found.numbers == pytest.approx(wanted.numbers)
            assert ties(found) == ties(wanted)
            if wanted.lower_assignment is not None:
                assert ties(found, lower=True) == ties(wanted, lower=True)


def test_most_probable_values_of_many_rows_take_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("this is searched row by row")

    monkeypatch.setattr("dpasp.inference.exact.compiled", never)
    monkeypatch.setattr("dpasp.inference.exact.auto", never)
    answers = dpasp.loads(SMOKERS).map("smoke(X)?", evidence={"lung": ["yes", "no"] * 20})
    assert [answer.assignment["smoke(yes)"] for answer in answers] == [True, False] * 20  # type: ignore[union-attr]


def test_most_probable_values_in_json_and_tables() -> None:
    program = dpasp.loads("0.5::a. b :- a. 0.4::c. #semantics maxent.")
    with pytest.warns(dpasp.ProgramWarning, match="1 row has"):
        answers = program.map("c?", evidence=pd.DataFrame({"a": [0, 0], "b": [0, 1]}, index=[7, 9]))
    assert np.isnan(answers.numbers[0][1])  # type: ignore[union-attr]
    assert answers.to_dict()["value"] == [pytest.approx(0.6), None]
    frame = answers.to_frame()
    assert frame.index.tolist() == [7, 9]
    assert frame["c"].tolist()[0] is False
    assert str(answers).splitlines()[1:] == ["    7  max ℙ = 0.600000 at not c", "    9  nan"]


def test_most_probable_values_in_files(tmp_path: Path) -> None:
    program = dpasp.loads("0.5::a. b :- a. 0.5::c. #map c?, a?. #semantics maxent.")
    with pytest.warns(dpasp.ProgramWarning, match="1 row has"):
        answers = program.query(evidence={"a": [0, 0], "b": [0, 1]})
    write_rows(answers, tmp_path / "rows.csv")
    table = pd.read_csv(tmp_path / "rows.csv")
    assert list(table) == ["row", "c?, a?", "c?, a?_assignment"]
    assert table["c?, a?"].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    assert table["c?, a?_assignment"].tolist()[0].endswith("not a")


def test_most_probable_values_under_credal_have_two_columns_for_each_atom() -> None:
    program = dpasp.loads("0.4::a. 0.3::e. 0.3::f. b :- a, not c. c :- a, not b. b :- e, not a.")
    frame = program.map("b?, c?", evidence={"f": [True, None]}).to_frame()
    assert list(frame) == ["b_lower", "c_lower", "b_upper", "c_upper", "lower", "upper"]
    assert frame.iloc[0].tolist() == [False, False, True, False, *map(pytest.approx, (0.42, 0.58))]


@pytest.mark.parametrize("device", ["numpy", "cpu", "cuda"])
def test_a_constrained_classifier_is_decoded_where_its_weights_are(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By arrays, by tensors on the CPU as they would be elsewhere, and on a GPU."""
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    from dpasp.circuits.gpu.walks import on_device
    from dpasp.learning import module

    text = "?::k(I, {0..2}) as @net :- i(I). i(0..5) ~ test(@rows). :- k(I,V), k(I+1,V). 0.4::c."
    text += " e :- k(0,0), c. e :- k(3,1)."
    torch.manual_seed(3)
    rows = torch.randn(30, 6, 3)
    given = {"networks": {"net": torch.nn.Softmax(1)}, "data": {"rows": rows}}
    model = dpasp.loads(f"{text} #semantics maxent.", **given).module()
    evidence = [{"e": [True, False, None][row % 3]} for row in range(30)]
    walked = []
    if device == "cpu":
        walk = on_device(model.weights({"i": rows}).detach())
        monkeypatch.setattr(module, "by_numpy", lambda *given: walked.append(1) or walk(*given))
    if device == "cuda":
        rows = rows.cuda()
        model.to("cuda")
    answers = model.map("k(I,V)?", {"i": rows}, evidence=evidence)
    p = torch.softmax(rows.double().cpu(), 2)
    decodings = [c for c in product(range(3), repeat=6) if all(a != b for a, b in pairwise(c))]
    for row, seen in enumerate(evidence):
        weights = {}
        for c in decodings:
            e = 1.0 if c[3] == 1 else 0.4 if c[0] == 0 else 0.0
            share = {True: e, False: 1.0 - e, None: 1.0}[seen["e"]]
            weights[c] = share * float(p[row, range(6), list(c)].prod())
        best = max(weights, key=weights.__getitem__)
        answer = answers[row]
        chosen = {atom for atom, value in answer.assignment.items() if value}  # type: ignore[union-attr]
        assert chosen == {f"k({i},{v})" for i, v in enumerate(best)}
        assert answer.value == pytest.approx(weights[best] / sum(weights.values()))
    assert walked or device != "cpu"
