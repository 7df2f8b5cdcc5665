"""Prolog's terms, as they are read.

>>> t = Compound("edge", (Compound("a"), Variable("X")))
>>> sorted(variable_names(t))
['X']
>>> substitute(t, {"X": Number("3")})
Compound(name='edge', args=(Compound(name='a', args=()), Number(text='3')))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from dpasp.dataclass import dataclass

Slice = tuple[int, int]  # where a term stands in its text
NO_SLICE: Slice = (0, 0)


def _at() -> Slice:
    place: Slice = field(default=NO_SLICE, compare=False, repr=False)
    return place


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; each one called ``_`` is another, which the readers of terms see to."""

    name: str
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Number:
    """A number, as it was written."""

    text: str
    at: Slice = _at()

    @property
    def is_real(self) -> bool:
        """Whether it is written as a real number, as 2.0 is."""
        return not self.text.lstrip("-").isdigit()

    @property
    def whole(self) -> int | None:
        """Its value, if it is a whole number (2.0 is one)."""
        value = float(self.text)
        if not value.is_integer():
            return None
        return int(value) if self.is_real else int(self.text)


@dataclass(frozen=True, slots=True)
class Text:
    """A text in double quotes."""

    value: str
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Compound:
    """A name with arguments (none: an atom); operators are names as well."""

    name: str
    args: tuple[Term, ...] = ()
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class ListTerm:
    """A list, with what stands after ``|``."""

    items: tuple[Term, ...]
    tail: Term | None = None
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic in dPASP's words; Prolog's own is a :class:`Compound` until it is translated."""

    name: str
    args: tuple[Term, ...]
    at: Slice = _at()


Term = Variable | Number | Text | Compound | ListTerm | Operation


def subterms(term: Term) -> tuple[Term, ...]:
    """The terms directly inside a term."""
    match term:
        case Compound(args=args) | Operation(args=args):
            return args
        case ListTerm(items, tail):
            return items if tail is None else (*items, tail)
    return ()


def all_subterms(term: Term) -> Iterator[Term]:
    """A term and all that are inside it."""
    yield term
    for part in subterms(term):
        yield from all_subterms(part)


def variable_names(*terms: Term) -> dict[str, None]:
    """The names of the variables in some terms, in the order in which they come."""
    names = (t.name for term in terms for t in all_subterms(term) if isinstance(t, Variable))
    return dict.fromkeys(names)


def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with values in place of variables."""
    match term:
        case Variable(name):
            return values.get(name, term)
        case Compound(name, args, at):
            return Compound(name, tuple(substitute(a, values) for a in args), at)
        case Operation(name, args, at):
            return Operation(name, tuple(substitute(a, values) for a in args), at)
        case ListTerm(items, tail, at):
            rest = None if tail is None else substitute(tail, values)
            return ListTerm(tuple(substitute(i, values) for i in items), rest, at)
    return term
