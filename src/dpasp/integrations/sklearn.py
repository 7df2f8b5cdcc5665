"""A program as a classifier of scikit-learn: ``fit``, ``predict``, ``predict_proba``, ``score``.

X is a table of evidence, as in ``program.query(…, evidence=X)``: the value ``yes`` in the column
``smoke`` is ``smoke(yes)``, and missing values (NaN, None) are not observed. The classes are the
answers to a query with variables, named by the values of its variable or, if ``y`` names them so,
by atoms. For a query without variables, such as ``"rain"``, they are False and True.

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

import copy
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpasp.display.answers import value_names
from dpasp.errors import (
    DataError,
    Diagnostic,
    ImpossibleEvidence,
    UsageError,
    closest,
    without_warnings,
)
from dpasp.ground.columns import Columns
from dpasp.ground.terms import parse_symbol
from dpasp.inference.answers import Answer
from dpasp.language.arguments import (
    FALSE,
    TRUE,
    Example,
    dictionary_given,
    list_given,
    shown_value,
    table_rows,
    text_given,
    truth,
)
from dpasp.program import Program, loads
from dpasp.writing import counted


class ProgramClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is a program.

    ``program`` is its text, or a loaded program (which is copied, never changed). ``query`` is what
    to predict: the answers to ``"wet(W)"`` are classes that exclude each other; for an atom such as
    ``"wet(yes)"``, the class is whether it holds. ``atoms`` name the columns of X unless X is a
    DataFrame or a list of dictionaries. ``options`` are those of ``program.learn``. A program with
    nothing to learn can also predict without being fitted.
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
        """Learn the program's parameters, if it has any, from observations (X) and classes (y).

        ``y`` are the classes: values of the query's variable, or atoms; truth values (also 1 and
        0) for a query without variables. Raises :class:`DataError` for anything else.
        """
        self._prepare()
        seen = self._seen(X)
        labels = self._labels(y)
        if len(seen) != len(labels):
            message = f"X has {counted(len(seen), 'row')} and y {len(labels)}"
            raise DataError.at("data-length", message, help="give one y for each row")
        if _learns(self.program_):
            rows = [(*row, label) for row, label in zip(seen, labels, strict=True)]
            options = dictionary_given(self.options, "options", '{"niters": 10}')
            self.program_.learn(rows, **options)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class given the observations, [rows, classes].

        Under credal, it is the middle of the bounds, scaled so that every row sums to 1. Raises
        :class:`ImpossibleEvidence` for a row that the program rules out.
        """
        check_is_fitted(self)
        if not hasattr(self, "program_"):
            self._prepare()
        table = self._table(X)
        with without_warnings():  # rows without an answer are an error here
            answers = self.program_.query(self._atoms, evidence=table)
        bounds = [answer.numbers for answer in answers if isinstance(answer, Answer)]
        rows = [[np.atleast_1d(end) for end in ends] for ends in bounds]
        chances = np.stack([np.mean(ends, axis=0) for ends in rows], axis=1)
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
        """Copy the program and find its classes."""
        self.program_ = self._fresh()
        if not self.query or "|" in text_given(self.query, "a query"):
            help = 'name what to predict, without evidence: query="wet(W)"'
            raise UsageError("a classifier needs a query to answer", help)
        (atom, *others) = [answer.query for answer in self.program_.query(self.query)] or [""]
        if not atom:
            known = ", ".join(sorted({str(symbol) for symbol in self.program_.ground().atoms}))
            help = f"name one of its atoms, with a variable: {shorten(known, 60)}"
            raise UsageError(f"no atom of the program matches {self.query}", help)
        self._truth = parse_symbol(self.query.strip().removesuffix(".")) is not None
        atoms = [f"not {atom}", atom] if self._truth else [atom, *others]
        names = [False, True] if self._truth else value_names(self.query, atoms)
        self._name_classes(atoms, names)

    def _name_classes(self, atoms: Sequence[str], names: Sequence[Any]) -> None:
        """The classes by name, in order, and the literal that each of them stands for."""
        plain = all(isinstance(name, int | float) for name in names)
        texts = list(names) if plain else list(map(str, names))
        order = sorted(range(len(atoms)), key=lambda i: texts[i])
        self.classes_ = np.array([texts[i] for i in order])
        self._atoms = [atoms[i] for i in order]

    def _fresh(self) -> Program:
        if isinstance(self.program, Program):
            return copy.deepcopy(self.program)
        return loads(self.program)

    def _labels(self, y: Any) -> list[str]:
        """The literals that were observed; classes are named as ``y`` names them."""
        values = [value.item() if hasattr(value, "item") else value for value in _listed(y)]
        meant = {value: self._meant(value, row) for row, value in enumerate(values)}
        spelled = {atom: value for value, atom in meant.items()}
        if len(spelled) < len(meant):
            atom = next(atom for value, atom in meant.items() if spelled[atom] != value)
            both = " and ".join(repr(value) for value in meant if meant[value] == atom)
            message = f"y says {both}, which are both {atom}"
            raise DataError.at("label-values", message, help="write it in one way")
        if all(value == atom for value, atom in meant.items()):
            names: list[Any] = list(self._atoms)
        else:
            default = zip(self._atoms, self.classes_.tolist(), strict=True)
            names = [spelled.get(atom, name) for atom, name in default]
        self._name_classes(self._atoms, names)
        return [meant[value] for value in values]

    def _meant(self, value: Any, row: int) -> str:
        """The literal that a class in ``y`` stands for."""
        text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
        names = list(map(str, self.classes_.tolist()))
        said = truth(value) if self._truth else None
        if said in (FALSE, TRUE):
            return self._atoms[said]
        for known in (names, self._atoms):
            if text in known:
                return self._atoms[known.index(text)]
        alike = [i for i, name in enumerate(names) if name.casefold() == text.casefold()]
        if len(alike) == 1:
            return self._atoms[alike[0]]
        message = f"y: {shown_value(value)} (row {row}) is not an answer to {self.query}"
        near = closest(text, names)
        help = f"the classes are {', '.join(names)}" + (f"; did you mean {near}?" if near else "")
        if isinstance(value, int):
            help += "; numbers do not say which of them is meant: pass names[y]"
        raise DataError.at("label-values", message, help=help)

    def _table(self, X: Any) -> Any:  # noqa: N803
        if self.atoms is not None and not hasattr(X, "columns"):
            return np.asarray(X, dtype=object), list_given(self.atoms, "atoms")
        return X

    def _seen(self, X: Any) -> list[Example]:  # noqa: N803
        columns = Columns.of(self.program_.ground())
        return table_rows(self._table(X), "X", cells=columns).examples()


def _listed(y: Any) -> list[Any]:
    """The classes in ``y``, which may also be a table of one column."""
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 1:
        y = np.asarray(y)[:, 0]
    return list_given(y, "y")


def _learns(program: Program) -> bool:
    """Whether a program has parameters or networks to learn."""
    ground = program.ground()
    return bool(ground.parameters or ground.networks)
