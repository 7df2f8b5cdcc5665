"""A program as a classifier among those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import dpasp
from dpasp.integrations.sklearn import ProgramClassifier

TEXT = """
0.5::a. 0.5::b.
?::c(low); ?::c(high) :- a, b.  ?::c(low); ?::c(high) :- a, not b.
?::c(low); ?::c(high) :- not a.
#semantics maxent.
"""


def data(rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(3)
    table = pd.DataFrame({"a": random.random(rows) < 0.5, "b": random.random(rows) < 0.5})
    high = np.where(table["a"] & table["b"], 0.9, np.where(table["a"], 0.2, 0.5))
    return table, np.where(random.random(rows) < high, "c(high)", "c(low)")


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_it_learns_shares(semantics: str) -> None:
    table, labels = data()
    model = ProgramClassifier(TEXT.replace("maxent", semantics), query="c(C)").fit(table, labels)
    rows = table["a"] & ~table["b"]
    share = (labels[rows] == "c(high)").mean()
    found = model.predict_proba(pd.DataFrame({"a": [1], "b": [0]}))
    assert found == pytest.approx(np.array([[share, 1 - share]]), abs=1e-3)
    assert model.classes_.tolist() == ["c(high)", "c(low)"]


def test_it_is_one_of_them() -> None:
    table, labels = data(120)
    model = ProgramClassifier(TEXT, query="c(C)", options={"niters": 5})
    assert clone(model).get_params()["query"] == "c(C)"
    scores = cross_val_score(model, table, labels, cv=3)
    assert scores.mean() > 0.55
    named = ProgramClassifier(dpasp.loads(TEXT), "c(C)", atoms=["a", "b"])
    named.fit(table.to_numpy().astype(float), labels)
    assert named.predict([[1.0, np.nan]]).shape == (1,)
    assert named.score(table.to_numpy().astype(float), labels) > 0.55


def test_what_does_not_fit_is_refused() -> None:
    table, labels = data(10)
    with pytest.raises(dpasp.UsageError, match="query"):
        ProgramClassifier(TEXT).fit(table, labels)
    with pytest.raises(dpasp.DataError, match="not an answer to"):
        ProgramClassifier(TEXT, "c(C)").fit(table, ["c(huge)"] * 10)
    with pytest.raises(dpasp.DataError, match=r"0 \(row 0\) is not an answer.*\n.*pass names\[y\]"):
        ProgramClassifier(TEXT, "c(C)").fit(table, (labels == "c(low)").astype(int))
    with pytest.raises(dpasp.DataError, match=r"nan \(row 9\)"):
        ProgramClassifier(TEXT, "c(C)").fit(table, [*labels[:9], float("nan")])
    with pytest.raises(dpasp.DataError, match="'Low' and 'low', which are both c"):
        ProgramClassifier(TEXT, "c(C)").fit(table, ["Low", "low"] * 5)
    with pytest.warns(dpasp.ProgramWarning), pytest.raises(dpasp.UsageError, match="no atom of"):
        ProgramClassifier(TEXT, "d(C)").fit(table, labels)
    with pytest.raises(dpasp.DataError, match="10 rows and y 9"):
        ProgramClassifier(TEXT, "c(C)").fit(table, labels[:9])
    with pytest.raises(dpasp.DataError, match="does not say which atoms"):
        ProgramClassifier(TEXT, "c(C)").fit(table.to_numpy().astype(float), labels)
    for given, said in (
        ({"program": 3}, "a program is a text, not 3"),
        ({"query": 3}, "a query is a text, not 3"),
        ({"atoms": 3}, "atoms: a list is expected, not 3"),
        ({"options": 3}, "options are a dictionary, not 3"),
    ):
        wrong = ProgramClassifier(**({"program": TEXT, "query": "c(C)"} | given))
        with pytest.raises(dpasp.UsageError, match=said):
            wrong.fit([[1.0, 0.0]] if "atoms" in given else table[:1], labels[:1])
    with pytest.raises(dpasp.UsageError, match="y: a list is expected, not 3"):
        ProgramClassifier(TEXT, "c(C)").fit(table, 3)


NETWORK = """
0.4::smoke(yes); 0.6::smoke(no).
0.3::lung(yes); 0.7::lung(no) :- smoke(yes).
0.01::lung(yes); 0.99::lung(no) :- smoke(no).
0.9::xray("no finding"); 0.1::xray(shadow) :- lung(no).
0.2::xray("no finding"); 0.8::xray(shadow) :- lung(yes).
#semantics maxent.
"""


def test_it_predicts_with_nothing_to_learn() -> None:
    table = pd.DataFrame({"smoke": ["yes", "no", None], "xray": ["shadow", "no finding", None]})
    model = ProgramClassifier(NETWORK, query="lung(X)")
    wanted = dpasp.loads(NETWORK).predict(table, "lung(X)").to_numpy()
    assert model.predict_proba(table) == pytest.approx(wanted)
    assert model.classes_.tolist() == ["no", "yes"]
    labels = ["yes", "no", "no"]
    assert clone(model).fit(table, labels).predict(table).tolist() == labels
    assert model.score(table, labels) == 1.0
    with pytest.raises(dpasp.ImpossibleEvidence, match="row 1"):
        text = NETWORK.replace("0.01::lung(yes); 0.99::lung(no)", "lung(no)")
        rows = pd.DataFrame({"smoke": ["yes", "no"], "lung": ["yes", "yes"]})
        ProgramClassifier(text, query="xray(X)").predict(rows)


def test_categories_in_pipelines_and_cross_validation() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    text = NETWORK.replace("0.3::lung(yes); 0.7", "?::lung(yes); ?")
    samples = dpasp.loads(NETWORK).sample(150, seed=4)
    true = [[atom.rstrip(")").split("(") for atom, value in s.items() if value] for s in samples]
    rows = [{name: value.strip('"') for name, value in row} for row in true]
    table = pd.DataFrame(rows).astype("category")
    labels = table.pop("lung").astype(str).to_numpy()
    model = make_pipeline(
        FunctionTransformer(lambda t: t.rename(columns=str.lower), validate=False),
        ProgramClassifier(text, query="lung(X)", options={"niters": 5}),
    )
    scores = cross_val_score(model, table.rename(columns=str.upper), labels, cv=3)
    assert scores.mean() > 0.8
    assert set(model.fit(table, labels).predict(table)) <= {"yes", "no"}


@pytest.mark.parametrize(
    "spelled",
    [["no", "yes"], ["No", "YES"], ["lung(no)", "lung(yes)"]],
)
def test_classes_are_named_as_they_are_given(spelled: list[str]) -> None:
    text = NETWORK.replace("0.3::lung(yes); 0.7", "?::lung(yes); ?")
    table = pd.DataFrame({"smoke": ["yes", "no", "yes"], "xray": ["shadow", "no finding", None]})
    labels = pd.DataFrame({"y": pd.Categorical([spelled[1], spelled[0], spelled[1]])})
    model = ProgramClassifier(text, query="lung(X)", options={"niters": 3}).fit(table, labels)
    assert model.classes_.tolist() == spelled
    assert model.predict(table).tolist() == [spelled[1], spelled[0], spelled[1]]
    assert model.score(table, labels["y"].astype(str)) == 1.0


@pytest.mark.parametrize("kind", [bool, int, float])
def test_a_query_without_variables_is_true_or_false(kind: type) -> None:
    text = "0.5::a. ?::wet :- a. ?::wet :- not a. #semantics maxent."
    table = pd.DataFrame({"a": [1, 1, 1, 1, 0, 0]})
    labels = np.array([1, 1, 1, 0, 0, 0]).astype(kind)
    model = ProgramClassifier(text, query="wet").fit(table, labels)
    assert model.predict_proba(table[3:5]) == pytest.approx(
        np.array([[0.25, 0.75], [1, 0]]), abs=1e-6
    )
    assert model.classes_.tolist() == [0, 1]
    assert model.score(table, labels) == pytest.approx(5 / 6)
