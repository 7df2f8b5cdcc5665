"""A program as a classifier of scikit-learn: ``fit``, ``predict``, ``predict_proba``, ``score``.

The columns of X are atoms, and what is predicted is the answer to a query with variables. A
missing value (NaN, None) is simply not observed.

>>> import numpy as np
>>> text = "0.5::rain. ?::wet(yes); ?::wet(no) :- rain. ?::wet(yes); ?::wet(no) :- not rain."
>>> X, y = np.array([[1], [1], [0], [0]]), ["wet(yes)", "wet(yes)", "wet(no)", "wet(yes)"]
>>> model = ProgramClassifier(text, query="wet(W)", atoms=["rain"]).fit(X, y)
>>> model.predict_proba([[1], [0]]).round(2)
array([[0. , 1. ],
       [0.5, 0.5]])
>>> model.classes_.tolist(), model.predict([[1]]).tolist()
(['wet(no)', 'wet(yes)'], ['wet(yes)'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpasp.errors import DataError, Diagnostic, ImpossibleEvidence, UsageError
from dpasp.inference.answers import Answer
from dpasp.language.observations import Example, examples
from dpasp.program import Program, loads


class ProgramClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is a program.

    ``program`` is its text, or a program that was loaded (it is copied, never changed).
    ``query`` is what to predict, such as ``"wet(W)"``: its answers are the classes. ``atoms``
    name the columns of X where X does not: where it is no DataFrame and no list of
    dictionaries. ``options`` are those of ``program.learn``.
    """

    def __init__(
        self,
        program: str | Program = "",
        query: str = "",
        atoms: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.program = program
        self.query = query
        self.atoms = atoms
        self.options = options

    def fit(self, X: Any, y: Any) -> ProgramClassifier:  # noqa: N803 - scikit-learn's name
        """Learn the program's parameters from what was seen (X) and what followed (y).

        ``y`` are the classes as texts, or the numbers of their places in ``classes_``.
        """
        self.program_ = self._fresh()
        self.classes_ = self._classes()
        seen = self._seen(X)
        labels = self._labels(y)
        if len(seen) != len(labels):
            message = f"X has {len(seen)} rows and y {len(labels)}"
            raise DataError(Diagnostic("data-length", message, help="give one y for each row"))
        rows = [(*row, label) for row, label in zip(seen, labels, strict=True)]
        self.program_.learn(rows, **dict(self.options or {}))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class given what was seen, [rows, classes].

        Under credal it is the middle of the bounds; every row sums to 1.
        """
        check_is_fitted(self)
        rows = self._seen(X)
        distinct = list(dict.fromkeys(rows))
        model = self.program_.module()
        by_row = self._joint if model.meaning.maxent else self._middles
        chances = by_row(distinct)
        total = chances.sum(axis=1, keepdims=True)
        if not np.all(total > 0):
            row = distinct[int(np.argmin(total))]
            message = f"no answer to {self.query} is possible given {', '.join(row) or 'nothing'}"
            raise ImpossibleEvidence(Diagnostic("impossible-evidence", message))
        place = {row: i for i, row in enumerate(distinct)}
        shares: NDArray[np.float64] = (chances / total)[[place[row] for row in rows]]
        return shares

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each row."""
        chances = self.predict_proba(X)
        predicted: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return predicted

    def _fresh(self) -> Program:
        """A program of its own to learn in."""
        import copy

        return loads(self.program) if isinstance(self.program, str) else copy.deepcopy(self.program)

    def _classes(self) -> NDArray[Any]:
        if not self.query or "|" in self.query:
            help = 'name what to predict, without evidence: query="wet(W)"'
            raise UsageError("a classifier needs a query to answer", help)
        texts = [answer.query for answer in self.program_.query(self.query)]
        return np.array(sorted(texts))

    def _labels(self, y: Any) -> list[str]:
        values = [value.item() if hasattr(value, "item") else value for value in y]
        if values and all(type(value) is int for value in values):
            names = dict(enumerate(self.classes_.tolist()))
            values = [names.get(value, str(value)) for value in values]
        texts = [", ".join(row) for row in examples(values, "y")]
        unknown = sorted(set(texts) - set(self.classes_.tolist()))
        if unknown:
            message = f"{unknown[0]} is no answer to {self.query}"
            help = f"the classes are {', '.join(self.classes_.tolist())}"
            raise DataError(Diagnostic("label-values", message, help=help))
        return texts

    def _seen(self, X: Any) -> list[Example]:  # noqa: N803
        if self.atoms is not None and not hasattr(X, "columns"):
            return examples((np.asarray(X, dtype=object), self.atoms), "X")
        return examples(X, "X")

    def _joint(self, rows: Sequence[Example]) -> NDArray[np.float64]:
        """P(class and what was seen), all in one circuit."""
        classes = self.classes_.tolist()
        both = [(*row, name) for row in rows for name in classes]
        logs = self.program_.module().log_prob(both).detach()
        joint: NDArray[np.float64] = logs.exp().numpy().reshape(len(rows), len(classes))
        return joint

    def _middles(self, rows: Sequence[Example]) -> NDArray[np.float64]:
        """The middle of the bounds of P(class | what was seen)."""
        middles = []
        for row in rows:
            answers = self.program_.query(self.query, evidence=row)
            by_query = {a.query: _middle(a) for a in answers if isinstance(a, Answer)}
            middles.append([by_query[name] for name in self.classes_.tolist()])
        return np.array(middles)


def _middle(answer: Answer) -> float:
    if answer.value is not None:
        return float(answer.value)
    assert answer.lower is not None
    assert answer.upper is not None
    return (float(answer.lower) + float(answer.upper)) / 2
