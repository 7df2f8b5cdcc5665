"""Real numbers in terms, where they only become probabilities: counted in smaller units.

``edge(a,b,0.25).`` with ``P::open(X,Y) :- edge(X,Y,P).`` becomes ``edge(a,b,25).`` with
``P/100::open(X,Y) :- edge(X,Y,P).``
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from dpasp.dialects.problog.clauses import QuestionRule
from dpasp.dialects.problog.context import Context
from dpasp.dialects.prolog.rules import (
    Aggregate,
    Goal,
    Head,
    Literal,
    Rule,
    goal_terms,
    is_comparison,
    predicate,
    rule_terms,
)
from dpasp.dialects.prolog.terms import (
    Compound,
    Number,
    Operation,
    Term,
    Variable,
    all_subterms,
    substitute,
    variable_names,
)

RealArgument = tuple[str, int, int]  # a predicate and the place of an argument


def scaled(rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context) -> list[Rule]:
    """The rules with real numbers counted in the smallest unit that any of them needs."""
    columns = _real_columns(rules)
    while True:
        wider = columns | {c for rule in rules for c in _spread(rule, columns)}
        if wider == columns:
            break
        columns = wider
    for ask in asks:
        _refuse_in_question(ask, columns, context)
    if not columns:
        _refuse_reals(rules, context)
        return list(rules)
    places = max(_places(arg) for rule in rules for c, arg in _columns(rule) if c in columns)
    for rule in rules:
        _refuse_arithmetic(rule, columns, context)
    whole_rules = [_Scaled(rule, columns, 10**places).rule for rule in rules]
    _refuse_reals(whole_rules, context)
    return whole_rules


def _atoms(rule: Rule) -> Iterator[Compound]:
    for head in rule.heads:
        if isinstance(head.atom, Compound):
            yield head.atom
    for goal in rule.body:
        if isinstance(goal, Literal) and not is_comparison(goal.atom):
            assert isinstance(goal.atom, Compound)
            yield goal.atom


def _columns(rule: Rule) -> Iterator[tuple[RealArgument, Term]]:
    for atom in _atoms(rule):
        for i, arg in enumerate(atom.args):
            yield (*predicate(atom), i), arg


def _real_columns(rules: Sequence[Rule]) -> set[RealArgument]:
    return {
        column
        for rule in rules
        for column, arg in _columns(rule)
        if isinstance(arg, Number) and arg.is_real
    }


def _real_variables(rule: Rule, columns: set[RealArgument]) -> set[str]:
    """The variables of a rule that stand for real numbers."""
    return {arg.name for c, arg in _columns(rule) if c in columns and isinstance(arg, Variable)}


def _spread(rule: Rule, columns: set[RealArgument]) -> Iterator[RealArgument]:
    """The columns to which a rule hands a real number on."""
    real = _real_variables(rule, columns)
    for column, arg in _columns(rule):
        if isinstance(arg, Variable) and arg.name in real:
            yield column


def _places(term: Term) -> int:
    if not isinstance(term, Number):
        return 0
    exponent = Decimal(term.text).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


class _Scaled:
    """A rule whose real numbers are counted in smaller units."""

    def __init__(self, rule: Rule, columns: set[RealArgument], unit: int) -> None:
        self.columns, self.unit = columns, unit
        self.real = _real_variables(rule, columns)
        heads = tuple(self.head(head) for head in rule.heads)
        self.rule = replace(rule, heads=heads, body=tuple(self.goal(g) for g in rule.body))

    def head(self, head: Head) -> Head:
        probability = head.probability
        if probability is not None:
            unit = Number(str(self.unit))
            values: dict[str, Term] = {
                name: Operation("/", (Variable(name), unit)) for name in self.real
            }
            probability = substitute(probability, values)
        return replace(head, atom=self.atom(head.atom), probability=probability)

    def goal(self, goal: Goal) -> Goal:
        if isinstance(goal, Aggregate):
            return goal
        if is_comparison(goal.atom):
            assert isinstance(goal.atom, Compound)
            left, right = goal.atom.args
            if any(isinstance(s, Variable) and s.name in self.real for s in (left, right)):
                sides = (self.number(left), self.number(right))
                return replace(goal, atom=replace(goal.atom, args=sides))
            return goal
        return replace(goal, atom=self.atom(goal.atom))

    def atom(self, term: Term) -> Term:
        if not isinstance(term, Compound):
            return term
        args = tuple(
            self.number(arg) if (*predicate(term), i) in self.columns else arg
            for i, arg in enumerate(term.args)
        )
        return replace(term, args=args)

    def number(self, term: Term) -> Term:
        if not isinstance(term, Number):
            return term
        return Number(str(int(Decimal(term.text) * self.unit)), term.at)


def _refuse_in_question(ask: QuestionRule, columns: set[RealArgument], context: Context) -> None:
    """Refuse a question that names a real number, or would show one counted in smaller units."""
    for column, arg in _columns(Rule((Head(ask.literal.atom),), ask.body)):
        if column in columns or (isinstance(arg, Number) and arg.is_real):
            raise context.refuse(ask.at, "a question about a real number has no counterpart")


def _refuse_arithmetic(rule: Rule, columns: set[RealArgument], context: Context) -> None:
    real = _real_variables(rule, columns)
    terms = [t for goal in rule.body for outer in goal_terms(goal) for t in all_subterms(outer)]
    computed = any(isinstance(t, Operation) and real & variable_names(t).keys() for t in terms)
    gathered = any(_gathers(goal, columns) for goal in rule.body)
    if computed or gathered:
        help = "only probabilities are computed with real numbers"
        raise context.refuse(rule.at, "arithmetic on real numbers in terms", help)


def _gathers(goal: Goal, columns: set[RealArgument]) -> bool:
    """Whether an aggregate is over atoms with real numbers."""
    if isinstance(goal, Literal):
        return False
    inner = [literal for element in goal.elements for literal in element.condition]
    return any(column in columns for column, _ in _columns(Rule((), tuple(inner))))


def _refuse_reals(rules: Sequence[Rule], context: Context) -> None:
    for rule in rules:
        annotations = {id(head.probability) for head in rule.heads}
        for term in rule_terms(rule):
            if id(term) in annotations:
                continue
            for inner in all_subterms(term):
                if isinstance(inner, Number) and inner.is_real:
                    message = f"{inner.text} is a real number, and terms hold whole ones"
                    help = "count in smaller units, as 5 tenths; probabilities may be real"
                    raise context.refuse(inner, message, help)
