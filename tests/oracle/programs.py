"""Propositional probabilistic programs, to and from text.

>>> program = read("0.3::a; 0.2::b :- not c. c :- not c, a. #query a | undef c.")
>>> program.choices[0].heads, str(program.rules[0])
(('a', 'b'), 'c :- a, not c.')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

ZERO = Fraction(0)


@dataclass(frozen=True)
class Rule:
    """``head :- positive, not negative.``; several heads are a disjunction, none a constraint."""

    head: tuple[str, ...]
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()

    @property
    def atoms(self) -> tuple[str, ...]:
        return self.head + self.positive + self.negative

    def __str__(self) -> str:
        return "; ".join(self.head) + _body(self.positive, self.negative)


@dataclass(frozen=True)
class Choice:
    """A probabilistic fact or rule or an annotated disjunction, with bounds for every head.

    The bounds are equal unless the choice is credal. Mass that is left over chooses
    nothing; a credal choice with several heads leaves none over.
    """

    heads: tuple[str, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()

    @property
    def credal(self) -> bool:
        return self.lower != self.upper

    @property
    def rules(self) -> tuple[Rule | None, ...]:
        """The rule that each value adds to the program; None for nothing."""
        return (*(Rule((head,), self.positive, self.negative) for head in self.heads), None)

    @property
    def vertices(self) -> tuple[tuple[Fraction, ...], ...]:
        """The extreme distributions over the values, nothing last."""
        if len(self.heads) == 1:
            return tuple((p, 1 - p) for p in sorted({*self.lower, *self.upper}))
        if not self.credal:
            return ((*self.lower, 1 - sum(self.lower, ZERO)),)
        found = set()
        for free in range(len(self.heads)):  # at a vertex all but one are at a bound
            others = [i for i in range(len(self.heads)) if i != free]
            for ends in product(*((self.lower[i], self.upper[i]) for i in others)):
                rest = 1 - sum(ends, ZERO)
                if self.lower[free] <= rest <= self.upper[free]:
                    vertex = [*ends, ZERO]
                    vertex.insert(free, rest)
                    found.add(tuple(vertex))
        return tuple(sorted(found))

    def __str__(self) -> str:
        heads = (
            f"{decimal(low)}::{head}"
            if low == high
            else f"[{decimal(low)}, {decimal(high)}]::{head}"
            for head, low, high in zip(self.heads, self.lower, self.upper, strict=True)
        )
        return "; ".join(heads) + _body(self.positive, self.negative)


@dataclass(frozen=True)
class Literal:
    """``a``, ``not a`` or ``undef a`` in a query."""

    mode: str  # "", "not " or "undef "
    atom: str

    def __str__(self) -> str:
        return self.mode + self.atom


@dataclass(frozen=True)
class Query:
    """``#query literals | evidence.``"""

    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...] = ()

    @property
    def undefined(self) -> bool:
        """Whether it says ``undef`` anywhere."""
        return any(literal.mode == "undef " for literal in self.literals + self.evidence)

    def __str__(self) -> str:
        given = " | " + ", ".join(map(str, self.evidence)) if self.evidence else ""
        return ", ".join(map(str, self.literals)) + given


@dataclass(frozen=True)
class Program:
    """Rules, choices and queries (the evidence of ``#evidence`` already joined to each)."""

    rules: tuple[Rule, ...]
    choices: tuple[Choice, ...]
    queries: tuple[Query, ...] = ()
    semantics: tuple[str, str] = ("stable", "credal")

    @property
    def atoms(self) -> tuple[str, ...]:
        """Every atom that a rule or a choice names: the Herbrand base."""
        names = {atom for rule in self.rules for atom in rule.atoms}
        for choice in self.choices:
            names.update(choice.heads, choice.positive, choice.negative)
        return tuple(sorted(names))

    @property
    def disjunctive(self) -> bool:
        return any(len(rule.head) > 1 for rule in self.rules)

    @property
    def credal(self) -> bool:
        return any(choice.credal for choice in self.choices)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.choices, *self.rules)))


def _body(positive: tuple[str, ...], negative: tuple[str, ...]) -> str:
    literals = [*positive, *(f"not {atom}" for atom in negative)]
    return f" :- {', '.join(literals)}." if literals else "."


def decimal(number: Fraction) -> str:
    """The number as it is written in a program.

    >>> decimal(Fraction(3, 20)), decimal(Fraction(1, 3))
    ('0.15', '1/3')
    """
    text = f"{float(number):g}"
    return text if Fraction(text) == number else str(number)


# --- reading ---------------------------------------------------------------------------------


class NotPropositional(ValueError):
    """The text says more than a propositional program can."""


_ATOM = r"[a-z]\w*(?:\((?:[a-z]\w*|\d+)(?:,(?:[a-z]\w*|\d+))*\))?"
_NUMBER = r"\d+(?:\.\d+)?(?:/\d+)?"
_STATEMENT = re.compile(r"\s*((?:\d\.\d|[^.])*)\.(?!\d)")
_HEAD = re.compile(
    rf"(?:({_NUMBER})|\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\])\s*::\s*({_ATOM})\s*\Z"
)


def read(text: str) -> Program:
    """The propositional program that the text says; :class:`NotPropositional` if it says more.

    A ground atom such as ``edge(1,2)`` is a name like any other.
    """
    text = re.sub(r"%.*", "", text)
    rules: list[Rule] = []
    choices: list[Choice] = []
    queries: list[Query] = []
    evidence: tuple[Literal, ...] = ()
    semantics = {"logic": "stable", "probability": "credal"}
    for statement in _statements(text):
        directive, _, rest = statement.partition(" ")
        if directive == "#query":
            asked, _, given = rest.partition("|")
            queries.append(Query(_literals(asked), _literals(given)))
        elif directive == "#evidence":
            evidence += _literals(rest)
        elif directive == "#semantics":
            for word in re.findall(r"\w+", rest):
                semantics["probability" if word in ("credal", "maxent") else "logic"] = word
        elif "::" in statement:
            choices.append(_choice(statement))
        else:
            head, positive, negative = _rule(statement)
            rules.append(Rule(tuple(_atom(h) for h in head), positive, negative))
    return Program(
        tuple(rules),
        tuple(choices),
        tuple(Query(query.literals, query.evidence + evidence) for query in queries),
        (semantics["logic"], semantics["probability"]),
    )


def _statements(text: str) -> Iterator[str]:
    end = 0
    for match in _STATEMENT.finditer(text):
        if match.start() != end:
            raise NotPropositional(text[end : match.start()])
        end = match.end()
        yield match[1].strip()
    if text[end:].strip():
        raise NotPropositional(text[end:])


def _atom(text: str) -> str:
    if not re.fullmatch(_ATOM, text) or text == "not":
        raise NotPropositional(text)
    return text


def _split(text: str, separator: str) -> list[str]:
    outside = rf"{separator}(?![^(\[]*[)\]])"  # not between parentheses or brackets
    return [part.strip() for part in re.split(outside, text)] if text.strip() else []


def _rule(statement: str) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    head, _, body = statement.partition(":-")
    positive, negative = [], []
    for literal in _split(body, ","):
        if literal.startswith("not "):
            negative.append(_atom(literal[4:].strip()))
        else:
            positive.append(_atom(literal))
    return _split(head, ";"), tuple(positive), tuple(negative)


def _choice(statement: str) -> Choice:
    heads, positive, negative = _rule(statement)
    atoms, lower, upper = [], [], []
    for head in heads:
        match = _HEAD.match(head)
        if match is None:
            raise NotPropositional(head)
        fixed, low, high, atom = match.groups()
        atoms.append(_atom(atom))
        lower.append(_fraction(low or fixed))
        upper.append(_fraction(high or fixed))
    return Choice(tuple(atoms), tuple(lower), tuple(upper), positive, negative)


def _fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(above) / Fraction(below or "1")


def _literals(text: str) -> tuple[Literal, ...]:
    found = []
    for literal in _split(text, ","):
        mode = next((m for m in ("not ", "undef ") if literal.startswith(m)), "")
        found.append(Literal(mode, _atom(literal[len(mode) :].strip())))
    return tuple(found)
