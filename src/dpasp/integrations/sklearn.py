"""A program as a classifier of scikit-learn: ``fit``, ``predict``, ``predict_proba``, ``score``.

X is a table about the program, as in ``program.query(…, evidence=X)``: the value ``yes`` in the
column ``smoke`` is ``smoke(yes)``, and what is missing (NaN, None) is simply not observed. What is
predicted is the answer to a query with variables: a class is a value of its variable, or, where
``y`` has them so, an atom.

>>> import numpy as np
>>> text = "0.5::rain. ?::wet(yes); ?::wet(no) :- rain. ?::wet(yes); ?::wet(no) :- not rain."
>>> X, y = np.array([[1], [1], [0], [0]]), ["yes", "yes", "no", "yes"]
>>> model = ProgramClassifier(text, query="wet(W)", atoms=["rain"]).fit(X, y)
>>> model.predict_proba([[1], [0]]).round(2)
array([[0. , 1. ],
       [0.5, 0.5]])
>>> model.classes_.tolist(), model.predict([[1]]).tolist()
(['no', 'yes'], ['yes'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpasp.display.answers import value_names
from dpasp.errors import DataError, Diagnostic, ImpossibleEvidence, UsageError, without_warnings
from dpasp.ground.columns import Columns
from dpasp.inference.answers import Answer
from dpasp.language.arguments import Example, examples, table_rows
from dpasp.program import Program, loads


class ProgramClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is a program.

    ``program`` is its text, or a program that was loaded (it is copied, never changed).
    ``query`` is what to predict, such as ``"wet(W)"``: its answers are the classes. ``atoms``
    name the columns of X where X does not: where it is no DataFrame and no list of
    dictionaries. ``options`` are those of ``program.learn``. A program without anything to learn
    predicts without being fitted, too.
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
        """Learn the program's parameters, if it has any, from what was seen (X) and followed (y).

        ``y`` are the classes: values of the query's variable, atoms, or the numbers of their
        places in ``classes_``.
        """
        self._prepare()
        seen = self._seen(X)
        labels = self._labels(y)
        if len(seen) != len(labels):
            message = f"X has {len(seen)} rows and y {len(labels)}"
            raise DataError(Diagnostic("data-length", message, help="give one y for each row"))
        if _learns(self.program_):
            rows = [(*row, label) for row, label in zip(seen, labels, strict=True)]
            self.program_.learn(rows, **dict(self.options or {}))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class given what was seen, [rows, classes].

        Under credal it is the middle of the bounds; every row sums to 1. Raises
        :class:`ImpossibleEvidence` for a row that the program rules out.
        """
        check_is_fitted(self)
        if not hasattr(self, "program_"):
            self._prepare()
        table = self._table(X)
        with without_warnings():  # rows without an answer are an error here
            answers = self.program_.query(self.query, evidence=table)
        by_query = {a.query: _middle(a) for a in answers if isinstance(a, Answer)}
        chances = np.stack([by_query[atom] for atom in self._atoms], axis=1)
        total = chances.sum(axis=1, keepdims=True)
        if not np.all(total > 0):
            row = int(np.argmin(np.where(np.isnan(total), -1.0, total)))
            said = ", ".join(self._seen(X)[row]) or "nothing"
            message = f"no answer to {self.query} is possible given {said} (row {row})"
            raise ImpossibleEvidence(Diagnostic("impossible-evidence", message))
        shares: NDArray[np.float64] = chances / total
        return shares

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each row."""
        chances = self.predict_proba(X)
        predicted: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return predicted

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "program_") or not _learns(self._fresh())

    def _prepare(self) -> None:
        """Take a program of its own, and the classes that it can tell."""
        self.program_ = self._fresh()
        if not self.query or "|" in self.query:
            help = 'name what to predict, without evidence: query="wet(W)"'
            raise UsageError("a classifier needs a query to answer", help)
        atoms = [answer.query for answer in self.program_.query(self.query)]
        self._name_classes(atoms, value_names(self.query, atoms))

    def _name_classes(self, atoms: Sequence[str], names: Sequence[Any]) -> None:
        """The classes by name, in order, and the atom that each of them stands for."""
        plain = all(isinstance(name, int) for name in names)
        texts = list(names) if plain else list(map(str, names))
        order = sorted(range(len(atoms)), key=lambda i: texts[i])
        self.classes_ = np.array([texts[i] for i in order])
        self._atoms = [atoms[i] for i in order]

    def _fresh(self) -> Program:
        """A program of its own to learn in."""
        import copy

        return loads(self.program) if isinstance(self.program, str) else copy.deepcopy(self.program)

    def _labels(self, y: Any) -> list[str]:
        """The atoms that were observed; they name the classes where ``y`` names atoms."""
        values = [value.item() if hasattr(value, "item") else value for value in y]
        by_name = dict(zip(self.classes_.tolist(), self._atoms, strict=True))
        if all(value in by_name for value in values if isinstance(value, int | str)) and all(
            isinstance(value, int | str) for value in values
        ):
            return [by_name[value] for value in values]
        if values and all(type(value) is int for value in values):
            places = dict(enumerate(self._atoms))
            values = [places.get(value, str(value)) for value in values]
        self._name_classes(self._atoms, self._atoms)
        texts = [", ".join(row) for row in examples(values, "y")]
        unknown = sorted(set(texts) - set(self._atoms))
        if unknown:
            message = f"{unknown[0]} is no answer to {self.query}"
            help = f"the classes are {', '.join(map(str, by_name))}"
            raise DataError(Diagnostic("label-values", message, help=help))
        return texts

    def _table(self, X: Any) -> Any:  # noqa: N803
        """X with the names of its columns."""
        if self.atoms is not None and not hasattr(X, "columns"):
            return np.asarray(X, dtype=object), list(self.atoms)
        return X

    def _seen(self, X: Any) -> list[Example]:  # noqa: N803
        """The literals of every row."""
        columns = Columns.of(self.program_.ground())
        return table_rows(self._table(X), "X", cells=columns).examples()


def _learns(program: Program) -> bool:
    """Whether a program has parameters or networks to learn."""
    ground = program.ground()
    return bool(ground.parameters or ground.networks)


def _middle(answer: Answer) -> NDArray[np.float64]:
    """The middle of the bounds, by row."""
    middle: NDArray[np.float64] = np.mean([np.atleast_1d(n) for n in answer.numbers], axis=0)
    return middle
