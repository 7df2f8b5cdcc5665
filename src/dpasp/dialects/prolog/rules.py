"""Rules on their way from Prolog to dPASP: heads with probabilities, and bodies of literals.

The terms are Prolog's; what Prolog has and dPASP has not is gone from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from dpasp.dataclass import dataclass
from dpasp.dialects.prolog.terms import (
    NO_SLICE,
    Compound,
    Slice,
    Term,
    substitute,
    variable_names,
)

COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}
FALSE = Compound("#false")


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom, or a comparison in dPASP's words; or what is not so.

    A ``numeric`` comparison is of numbers, where Prolog fails on anything else.
    """

    atom: Term
    negative: bool = False
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """What an aggregate counts: a tuple for each way in which its condition holds."""

    terms: tuple[Term, ...]
    condition: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``value = #count{…}`` and the like.

    ``by_proof`` if Prolog counts each proof of what is counted here once.
    """

    value: Term
    function: str
    elements: tuple[Element, ...]
    by_proof: bool = False
    at: Slice = NO_SLICE


Goal = Literal | Aggregate


@dataclass(frozen=True, slots=True)
class HeadNetwork:
    """A network that gives the distribution of a head, and the variables that it sees."""

    name: str
    sees: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """An atom with what stands before its ``::``: a probability, to be learned or not."""

    atom: Term
    probability: Term | None = None
    learnable: bool = False
    network: HeadNetwork | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Heads of which one is chosen (or a single certain one) if the body holds."""

    heads: tuple[Head, ...]
    body: tuple[Goal, ...] = ()
    at: Slice = NO_SLICE

    @property
    def network(self) -> HeadNetwork | None:
        """The network behind its head."""
        return self.heads[0].network if self.heads else None

    @property
    def chooses(self) -> bool:
        """Whether it is a choice, whose instances differ in the values of all variables."""
        return any(head.probability is not None or head.learnable for head in self.heads)


Change = Callable[[Term], Term]


def changed_goal(goal: Goal, change: Change) -> Goal:
    """A goal with each of its outermost terms changed."""
    if isinstance(goal, Literal):
        return replace(goal, atom=change(goal.atom))
    elements = tuple(
        Element(
            tuple(change(term) for term in element.terms),
            tuple(replace(literal, atom=change(literal.atom)) for literal in element.condition),
        )
        for element in goal.elements
    )
    return replace(goal, value=change(goal.value), elements=elements)


def changed(rule: Rule, change: Change) -> Rule:
    """A rule with each of its outermost terms changed."""
    heads = tuple(
        replace(
            head,
            atom=change(head.atom),
            probability=None if head.probability is None else change(head.probability),
        )
        for head in rule.heads
    )
    return replace(rule, heads=heads, body=tuple(changed_goal(g, change) for g in rule.body))


def substituted(rule: Rule, values: Mapping[str, Term]) -> Rule:
    """A rule with values in place of variables."""
    return changed(rule, lambda term: substitute(term, values)) if values else rule


def goal_terms(goal: Goal) -> Iterator[Term]:
    """The outermost terms of a goal."""
    if isinstance(goal, Literal):
        yield goal.atom
        return
    yield goal.value
    for element in goal.elements:
        yield from element.terms
        yield from (literal.atom for literal in element.condition)


def rule_terms(rule: Rule) -> Iterator[Term]:
    """The outermost terms of a rule."""
    for head in rule.heads:
        if head.probability is not None:
            yield head.probability
        yield head.atom
    for goal in rule.body:
        yield from goal_terms(goal)


def is_comparison(term: Term) -> bool:
    """Whether a literal's term is a comparison."""
    return isinstance(term, Compound) and term.name in COMPARISONS and len(term.args) == 2


def is_atom(goal: Goal) -> bool:
    """Whether a goal is an atom that holds, and so gives values to its variables."""
    return isinstance(goal, Literal) and not goal.negative and not is_comparison(goal.atom)


def predicate(term: Term) -> tuple[str, int]:
    """The name and the number of arguments of an atom."""
    assert isinstance(term, Compound)
    return term.name, len(term.args)


def goal_variables(goal: Goal) -> dict[str, None]:
    """The names of the variables in a goal."""
    return variable_names(*goal_terms(goal))
