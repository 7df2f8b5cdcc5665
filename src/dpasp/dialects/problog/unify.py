"""Prolog's ``=`` before anything runs: values in place of variables.

>>> from dpasp.dialects.prolog.terms import Compound, Number, Variable
>>> unify([(Variable("X"), Compound("f", (Variable("Y"),))), (Variable("Y"), Number("1"))])
{'X': Compound(name='f', args=(Number(text='1'),)), 'Y': Number(text='1')}
>>> unify([(Compound("a"), Compound("b"))]) is None
True
"""

from __future__ import annotations

from collections.abc import Iterable

from dpasp.dialects.prolog.terms import Compound, Term, Variable, substitute, variable_names


def unify(pairs: Iterable[tuple[Term, Term]]) -> dict[str, Term] | None:
    """The values that make each pair equal; None if there are none."""
    values: dict[str, Term] = {}
    todo = list(pairs)
    while todo:
        left, right = (substitute(term, values) for term in todo.pop(0))
        if left == right:
            continue
        if isinstance(right, Variable) and (not isinstance(left, Variable) or "#" in right.name):
            left, right = right, left
        if isinstance(left, Variable):
            if left.name in variable_names(right):
                return None  # a term inside itself
            values = {name: substitute(t, {left.name: right}) for name, t in values.items()}
            values[left.name] = right
        elif (
            isinstance(left, Compound)
            and isinstance(right, Compound)
            and (left.name, len(left.args)) == (right.name, len(right.args))
        ):
            todo += zip(left.args, right.args, strict=True)
        else:
            return None
    return values
