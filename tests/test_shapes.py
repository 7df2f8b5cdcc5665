"""The same observations in every shape, through every entrance: the same numbers, or an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import dpasp
from dpasp.language.arguments import examples, one_example, share_given

polars = pytest.importorskip("polars")
narwhals = pytest.importorskip("narwhals")

TEXT = "?::a. ?::edge(1,2). c :- a, edge(1,2). #semantics maxent. #query c."
ATOMS = ["a", "edge(1,2)"]
TABLE = [[1, 0], [1, 1], [0, None]]  # what all shapes of many say
FLOATS = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, math.nan]])
FIELDS = [("a", "f8"), ("edge(1,2)", "f8")]

MANY: dict[str, Callable[[], Any]] = {
    "texts": lambda: ["a, not edge(1,2)", "a, edge(1,2)", "not a"],
    "texts with dots and tildes": lambda: ["a, ~edge(1,2).", "a,edge(1,2).", "~ a."],
    "tuple of texts": lambda: ("a, not edge(1,2)", "a, edge(1,2)", "not a"),
    "array of texts": lambda: np.array(["a, not edge(1,2)", "a, edge(1,2)", "not a"]),
    "lists of texts": lambda: [["a", "not edge(1,2)"], ["a", "edge(1,2)"], ["not a"]],
    "generator": lambda: (row for row in (["a", "~edge(1,2)"], "a, edge(1,2)", ("not a",))),
    "dictionaries": lambda: [
        {"a": True, "edge(1,2)": False},
        {"a": 1, "edge(1,2)": 1.0},
        {"a": np.bool_(False), "edge(1,2)": None},
    ],
    "dictionaries of words": lambda: [
        {"a": "true", "edge(1,2)": "0"},
        {"a": "1", "edge(1,2)": "True"},
        {"a": "False", "edge(1,2)": math.nan},
    ],
    "dictionary of columns": lambda: {"a": [1, 1, 0], "edge(1,2)": [False, True, None]},
    "dictionary of arrays": lambda: {"a": np.array([True, True, False]), "edge(1,2)": FLOATS[:, 1]},
    "dictionary of tensors": lambda: {
        "a": torch.tensor([1, 1, 0]),
        "edge(1,2)": torch.tensor(FLOATS[:, 1]),
    },
    "matrix of lists": lambda: (TABLE, ATOMS),
    "matrix of floats": lambda: (FLOATS, ATOMS),
    "matrix as a tensor": lambda: (torch.tensor(FLOATS), ATOMS),
    "matrix of objects": lambda: (np.array(TABLE, dtype=object), np.array(ATOMS)),
    "array with names": lambda: np.array([tuple(row) for row in FLOATS], dtype=FIELDS),
    "pandas": lambda: pd.DataFrame(TABLE, columns=ATOMS),
    "pandas of nullable truth": lambda: pd.DataFrame(TABLE, columns=ATOMS).astype("boolean"),
    "pandas of objects": lambda: pd.DataFrame(TABLE, columns=ATOMS, dtype=object),
    "rows of pandas": lambda: [row for _, row in pd.DataFrame(TABLE, columns=ATOMS).iterrows()],
    "polars": lambda: polars.DataFrame(TABLE, schema=ATOMS, orient="row"),
    "polars of truth": lambda: polars.DataFrame(
        {"a": [True, True, False], "edge(1,2)": [False, True, None]}
    ),
    "lazy polars": lambda: polars.LazyFrame({"a": [1, 1, 0], "edge(1,2)": [0, 1, None]}),
    "narwhals": lambda: narwhals.from_native(pd.DataFrame(TABLE, columns=ATOMS)),
}

REFUSED: dict[str, Callable[[], Any]] = {
    "numbers": lambda: [1, 0, 1],
    "labels as a tensor": lambda: torch.tensor([1, 0, 1]),
    "matrix without names": lambda: FLOATS,
    "lists of numbers": lambda: TABLE,
    "probabilities": lambda: [{"a": 0.7}],
    "another number": lambda: pd.DataFrame({"a": [2, 1]}),
    "values": lambda: [{"a": "red"}],
    "literals as keys": lambda: [{"not a": True}],
    "numbers as keys": lambda: [{1: True}],
    "columns without names": lambda: pd.DataFrame(TABLE),
    "columns of unequal lengths": lambda: {"a": [1, 0], "edge(1,2)": [1]},
    "too few names": lambda: (FLOATS, ["a"]),
    "rows of unequal lengths": lambda: ([[1], [1, 0]], ["a"]),
    "a number": lambda: 3,
    "an array without axes": lambda: np.array(3),
    "unknown atoms": lambda: [{"b": True}],
    "nothing at all": list,
    "bytes": lambda: [b"a"],
}


def module() -> Any:
    return dpasp.loads(TEXT).module()


@pytest.mark.parametrize("shape", MANY)
def test_many_examples_are_learned_from_alike(shape: str) -> None:
    program = dpasp.loads(TEXT)
    program.learn(MANY[shape](), niters=40)
    values = [one["values"][0] for one in program.learned()]
    assert values == pytest.approx([2 / 3, 1 / 2], abs=1e-6)


@pytest.mark.parametrize("shape", MANY)
def test_many_examples_have_one_probability_each(shape: str) -> None:
    found = module().log_prob(MANY[shape]()).exp()
    assert found.tolist() == pytest.approx([0.25, 0.25, 0.5])


@pytest.mark.parametrize("shape", REFUSED)
def test_what_cannot_be_read_is_refused_everywhere(shape: str) -> None:
    program, model = dpasp.loads(TEXT), module()
    for entrance in (
        program.learn,
        model.log_prob,
        lambda seen: program.query("c", evidence=seen),
        lambda seen: program.map("c?", evidence=seen),
        lambda seen: program.explain("c", evidence=seen),
        lambda seen: program.sample(1, given=seen, seed=1),
    ):
        if shape == "nothing at all" and entrance not in (program.learn, model.log_prob):
            continue  # no evidence is fine
        with pytest.raises(dpasp.Error) as refused:
            entrance(REFUSED[shape]())
        assert all(d.message and d.help for d in refused.value.diagnostics), refused.value


ONE: dict[str, Callable[[], Any]] = {
    "text": lambda: "a, not edge(1,2)",
    "list": lambda: ["a", "not edge(1,2)"],
    "tuple": lambda: ("a", "not edge(1,2)"),
    "set": lambda: {"a", "not edge(1,2)"},
    "generator": lambda: (text for text in ("a", "not edge(1,2)")),
    "dictionary": lambda: {"a": True, "edge(1,2)": False},
    "dictionary of numbers": lambda: {"a": 1, "edge(1,2)": 0.0},
    "row of numpy": lambda: np.array([(1, 0)], dtype=FIELDS)[0],
    "row of pandas": lambda: pd.DataFrame(TABLE, columns=ATOMS).iloc[0],
    "table of one row": lambda: pd.DataFrame(TABLE[:1], columns=ATOMS),
    "polars of one row": lambda: polars.DataFrame(TABLE[:1], schema=ATOMS, orient="row"),
    "list of one dictionary": lambda: [{"a": True, "edge(1,2)": False}],
    "matrix of one row": lambda: (FLOATS[:1], ATOMS),
}


@pytest.mark.parametrize("shape", ONE)
def test_evidence_is_read_alike(shape: str) -> None:
    program = dpasp.loads("0.3::a. 0.4::edge(1,2). b :- a. #semantics maxent.")
    assert program.query("edge(1,2)", evidence=ONE[shape]())[0].value == 0
    assert program.query("a", evidence=ONE[shape]())[0].value == pytest.approx(1)
    assert program.map("b?", evidence=ONE[shape]())[0].assignment == {"b": True}
    (why,) = program.explain("b", evidence=ONE[shape]())
    assert why.ways[0].values == ("a", "not edge(1,2)")
    for model in program.sample(3, given=ONE[shape](), seed=2):
        assert (model["a"], model["edge(1,2)"]) == (True, False)


def test_many_rows_are_no_single_evidence() -> None:
    table = pd.DataFrame(TABLE, columns=ATOMS)
    assert np.shape(dpasp.loads(TEXT).query("c", evidence=table)[0].value) == (3,)
    with pytest.raises(dpasp.DataError, match="3 rows") as refused:
        dpasp.loads(TEXT).explain("c", evidence=table)
    assert "one of the rows" in refused.value.diagnostics[0].help


def test_what_was_undefined_is_read() -> None:
    text = "0.5::x. a :- x, not b. b :- x, not a. a :- x, not a. #semantics partial, maxent."
    program = dpasp.loads(text)
    seen = {"x": True, "b": "undef"}
    assert one_example(seen) == ("x", "undef b")
    assert program.query("a", evidence=seen)[0].value == pytest.approx(
        program.query("a | x, undef b")[0].value
    )


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"seen{suffix}"
    if suffix == ".csv":
        pd.DataFrame({"a": [True, True, False], "edge(1,2)": [False, True, None]}).to_csv(
            path, index=False
        )
    else:
        np.save(path, MANY["array with names"]())
    wanted = examples(MANY["texts"]())
    assert examples(path) == wanted
    (tmp_path / "p.plp").write_text(f"{TEXT} #learn {str(path.name)!r}.".replace("'", '"'))
    program = dpasp.load(tmp_path / "p.plp")
    program.learn(niters=40)
    assert program.learned()[1]["values"] == pytest.approx([0.5], abs=1e-6)


@pytest.mark.parametrize("cell", ["2", "0.5", "red"])
def test_cells_of_files_that_say_nothing_are_refused(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "seen.csv"
    path.write_text(f"a\n1\n{cell}\n")
    with pytest.raises(dpasp.DataError, match="example 1 says"):
        examples(path)


def test_learning_from_samples_gives_the_program_back() -> None:
    source = dpasp.loads("0.3::a. 0.8::b :- a. 0.1::b :- not a. #semantics maxent.")
    seen = source.sample(2000, seed=5)
    program = dpasp.loads("?::a. ?::b :- a. ?::b :- not a. #semantics maxent.")
    program.learn(seen)
    values = [one["values"][0] for one in program.learned()]
    assert values == pytest.approx([0.3, 0.8, 0.1], abs=0.03)


@pytest.mark.parametrize("semantics", ["stable, maxent", "smproblog, maxent", "stable, credal"])
def test_what_cannot_occur_is_certainly_not_there(semantics: str) -> None:
    program = dpasp.loads("?::a. b :- a. d :- b, c. c :- d.")
    model = program.module(semantics)
    assert model.log_prob(["not d", "b, not d"]).exp().tolist() == pytest.approx([1.0, 0.5])
    many = [f"{x}a, {y}b, not d" for x in ("", "not ") for y in ("", "not ")]
    assert model.log_prob(many).exp().tolist() == pytest.approx([0.5, 0, 0, 0.5])
    program.learn([["a", "not d"], ["not a", "not d"]], niters=3)
    for wrong in ("d", "not dd"):
        with pytest.raises(dpasp.DataError, match="cannot occur"):
            model.log_prob([wrong])


def test_a_share_may_be_a_number_of_numpy() -> None:
    assert share_given(np.float64(0.5), "a share") == 0.5
