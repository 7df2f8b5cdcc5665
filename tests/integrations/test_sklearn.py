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
    numbers = (labels == "c(low)").astype(int)
    named = ProgramClassifier(dpasp.loads(TEXT), "c(C)", atoms=["a", "b"])
    named.fit(table.to_numpy().astype(float), numbers)
    assert named.predict([[1.0, np.nan]]).shape == (1,)
    assert named.score(table.to_numpy().astype(float), labels) > 0.55


def test_what_does_not_fit_is_refused() -> None:
    table, labels = data(10)
    with pytest.raises(dpasp.UsageError, match="query"):
        ProgramClassifier(TEXT).fit(table, labels)
    with pytest.raises(dpasp.DataError, match="no answer to"):
        ProgramClassifier(TEXT, "c(C)").fit(table, ["c(huge)"] * 10)
    with pytest.raises(dpasp.DataError, match="10 rows and y 9"):
        ProgramClassifier(TEXT, "c(C)").fit(table, labels[:9])
    with pytest.raises(dpasp.DataError, match="does not say which atoms"):
        ProgramClassifier(TEXT, "c(C)").fit(table.to_numpy().astype(float), labels)
