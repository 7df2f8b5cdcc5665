"""Prolog's bodies as ours: each way to satisfy one is a list of literals and aggregates.

Prolog reads from left to right, and that is part of the meaning: a variable of ``\\+`` or
``findall`` that nothing to the left gives a value to is a variable of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpasp.dataclass import dataclass
from dpasp.dialects.problog.arithmetic import as_whole, data
from dpasp.dialects.problog.context import Context
from dpasp.dialects.problog.unify import unify
from dpasp.dialects.prolog.rules import (
    FALSE,
    Aggregate,
    Element,
    Goal,
    Head,
    Literal,
    Rule,
    changed_goal,
    goal_terms,
    goal_variables,
)
from dpasp.dialects.prolog.terms import (
    Compound,
    ListTerm,
    Number,
    Operation,
    Term,
    Variable,
    all_subterms,
    substitute,
    variable_names,
)

COMPARED = {"<": "<", ">": ">", "=<": "<=", ">=": ">=", "=:=": "=", "=\\=": "!="}
ORDERED = {"==": "=", "\\==": "!=", "@<": "<", "@>": ">", "@=<": "<=", "@>=": ">="}
FOLDS = {
    "sum_list": "sum",
    "sumlist": "sum",
    "max_list": "max",
    "min_list": "min",
    "length": "count",
}

NO_COUNTERPART = {
    **dict.fromkeys(("!", "cut"), "rules have no order, so nothing can be cut off"),
    **dict.fromkeys(("assert", "asserta", "assertz", "retract"), "rules do not change"),
    **dict.fromkeys(
        ("write", "writeln", "writenl", "print", "nl", "format", "debugprint"),
        "a rule says what holds and prints nothing; leave it out",
    ),
    **dict.fromkeys(("=..", "functor", "arg", "copy_term"), "terms cannot be taken apart by rules"),
    **dict.fromkeys(
        "atom integer number float atomic compound var nonvar is_list callable ground".split(),
        "there are no questions about the kind of a term",
    ),
    **dict.fromkeys(
        "append reverse nth0 nth1 last msort sort select permutation maplist foldl sumlist "
        "select_uniform select_weighted list_to_set numlist exclude include "
        "subtract union intersection atom_chars atom_codes".split(),
        "lists have no counterpart; say with a predicate what is in them",
    ),
    **dict.fromkeys(("subquery", "possible"), "a rule cannot ask for a probability"),
    **dict.fromkeys(("utility", "decision"), "decisions and utilities have no counterpart"),
    **dict.fromkeys(("query", "evidence"), "a rule cannot ask what is asked"),
}


@dataclass(frozen=True, slots=True)
class Same:
    """``left = right``: their variables get the values that make them equal."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Found:
    """``findall(template, …, name)``: a list that only aggregates may use."""

    name: str
    elements: tuple[Element, ...]
    at: Term


BodyStep = Goal | Same | Found
Branch = tuple[BodyStep, ...]
BoundNames = frozenset[str]  # the variables that have values


@dataclass(frozen=True, slots=True)
class Body:
    """One way to satisfy a body, and the values that its ``=`` give to variables."""

    goals: tuple[Goal, ...]
    values: dict[str, Term]


def bodies(goal: Term, known: Iterable[str], context: Context) -> list[Body]:
    """The ways to satisfy a goal; none if it always fails."""
    finished = [_finished(branch, context) for branch in _branches(goal, frozenset(known), context)]
    return [body for body in finished if body is not None]


# --- the parts of a body -----------------------------------------------------------------------


def _branches(goal: Term, known: BoundNames, context: Context) -> list[Branch]:
    match goal:
        case Compound(",", (left, right)):
            return [
                (*first, *second)
                for first in _branches(left, known, context)
                for second in _branches(right, known | _variables(first), context)
            ]
        case Compound(";", (Compound("->", (test, then)), other)):
            return _if(test, then, other, known, context)
        case Compound("->", (test, then)):
            return _if(test, then, Compound("fail", (), goal.at), known, context)
        case Compound(";", (left, right)):
            return [*_branches(left, known, context), *_branches(right, known, context)]
        case Compound("\\+" | "not", args) if args:
            inner = args[0]
            for more in args[1:]:  # \+(a, b)
                inner = Compound(",", (inner, more), goal.at)
            return [(_negation(inner, known, context),)]
        case Compound("true" | "otherwise", ()):
            return [()]
        case Compound("fail" | "false", ()):
            return []
        case Compound("call", (inner,)) if isinstance(inner, Compound):
            return _branches(inner, known, context)
        case Compound("once" | "ignore", (inner,)):
            if not variable_names(inner).keys() <= known:
                help = "it takes the first answer, and rules have no first one"
                raise context.refuse(goal, f"{goal.name} has no counterpart here", help)
            return _branches(inner, known, context) if goal.name == "once" else [()]
    return [_simple(goal, known, context)]


def _if(test: Term, then: Term, other: Term, known: BoundNames, context: Context) -> list[Branch]:
    """``(test -> then ; other)``, where the test cannot hold in several ways."""
    if not variable_names(test).keys() <= known:
        help = "-> takes the first answer; write (test, then ; \\+ test, else)"
        raise context.refuse(test, "a test of -> that gives values to variables", help)
    yes = Compound(",", (test, then), test.at)
    no = Compound(",", (Compound("\\+", (test,), test.at), other), test.at)
    return [*_branches(yes, known, context), *_branches(no, known, context)]


def _simple(goal: Term, known: BoundNames, context: Context) -> Branch:
    match goal:
        case Compound("=", (left, right), at):
            if ListTerm in (type(left), type(right)):
                return (Literal(goal),)  # L = [] for a list that findall made
            return (Same(data(left, context), data(right, context)),)
        case Compound("is", (left, right), at):
            return _is(left, right, at, context)
        case Compound(name, (left, right), at) if name in COMPARED:
            _check_known(goal, known, context)
            sides = (_side(left, context), _side(right, context))
            return (Literal(Compound(COMPARED[name], sides, at)),)
        case Compound(name, (left, right), at) if name in ORDERED:
            _check_known(goal, known, context)
            sides = (data(left, context), data(right, context))
            return (Literal(Compound(ORDERED[name], sides, at)),)
        case Compound("\\=", (left, right), at):
            return (_different(goal, known, context),)
        case Compound("between", (low, high, value), at):
            interval = Operation("..", (as_whole(low, context), as_whole(high, context)), at)
            return (Literal(Compound("=", (as_whole(value, context), interval), at)),)
        case Compound("succ", (left, right), at):
            more = Operation("+", (as_whole(left, context), Number("1")), at)
            return (Literal(Compound("=", (as_whole(right, context), more), at)),)
        case Compound("plus", (left, right, total), at):
            more = Operation("+", (as_whole(left, context), as_whole(right, context)), at)
            return (Literal(Compound("=", (as_whole(total, context), more), at)),)
        case Compound("member" | "memberchk", (value, ListTerm(items, None)), at) if items:
            pool = Operation("pool", tuple(data(item, context) for item in items), at)
            return (Literal(Compound("=", (data(value, context), pool), at)),)
        case Compound("forall", (condition, action), at):
            fails = Compound(",", (condition, Compound("\\+", (action,), action.at)), at)
            return (_negation(fails, known, context),)
    return _collected(goal, known, context)


def _collected(goal: Term, known: BoundNames, context: Context) -> Branch:
    """What gathers answers: ``findall``, ``aggregate_all``, and what is asked of their lists."""
    match goal:
        case Compound("findall", (template, inner, Variable(name))):
            return (Found(name, _elements((template,), inner, known, context), goal),)
        case Compound("aggregate_all", (Compound("count", ()), inner, value)):
            elements = _elements((), inner, known, context)
            return (Aggregate(as_whole(value, context), "count", elements),)
        case Compound("aggregate_all", (Compound("sum" | "max" | "min" as name, (of,)), inner, n)):
            elements = _elements((as_whole(of, context),), inner, known, context)
            return _aggregate(name, as_whole(n, context), elements)
        case Compound(name, (Variable(), value)) if name in FOLDS:
            return (Literal(goal),)
        case Compound(name, args):
            asked = name in ("query", "evidence")
            if name in NO_COUNTERPART and (asked or (name, len(args)) not in context.defined):
                what = f"{name}/{len(args)}" if args else name
                raise context.refuse(goal, f"{what} has no counterpart", NO_COUNTERPART[name])
            if not (name[0].isalpha() or name[0] == "_"):
                if name in ("<=", "=>", "!=", "<>"):
                    help = "Prolog writes =<, >=, \\= and =\\="
                    raise context.refuse(goal, f"Prolog has no comparison {name}", help)
                raise context.refuse(goal, f"{name} has no counterpart in a body")
            return (Literal(data(goal, context)),)
        case Variable():
            help = "name the predicate; one rule for each"
            raise context.refuse(goal, "a variable in place of a goal has no counterpart", help)
    raise context.refuse(goal, "this is not a goal")


def _is(left: Term, right: Term, at: tuple[int, int], context: Context) -> Branch:
    match right:
        case Compound("max" | "min" as name, (first, other)):
            elements = tuple(Element((as_whole(side, context),), ()) for side in (first, other))
            return (Aggregate(as_whole(left, context), name, elements),)
    if isinstance(left, Variable) and _is_real(right):
        return (Literal(Compound("is", (left, right), at)),)  # good for a probability only
    return (Literal(Compound("=", (as_whole(left, context), as_whole(right, context)), at)),)


def _side(term: Term, context: Context) -> Term:
    """A side of a comparison; a real number may be one if what it is compared with is."""
    return term if isinstance(term, Number) and term.whole is None else as_whole(term, context)


def _is_real(term: Term) -> bool:
    """Whether an expression gives a real number."""
    return any(
        (isinstance(t, Number) and t.is_real)
        or (isinstance(t, Compound) and t.name == "/" and len(t.args) == 2)
        for t in all_subterms(term)
    )


def _check_known(goal: Compound, known: BoundNames, context: Context) -> None:
    """Refuse a comparison of a variable that nothing to the left gives a value to."""
    if not variable_names(goal).keys() <= known:
        help = "bind the variable in a goal to the left"
        raise context.refuse(goal, f"{goal.name} with a variable that has no value yet", help)


def _different(goal: Compound, known: BoundNames, context: Context) -> Literal:
    _check_known(goal, known, context)
    left, right = goal.args
    return Literal(Compound("!=", (data(left, context), data(right, context)), goal.at))


# --- negation ----------------------------------------------------------------------------------


def _negation(goal: Term, known: BoundNames, context: Context) -> Literal:
    """``\\+ goal``: its variables that have no value yet are its own."""
    if isinstance(goal, Compound) and goal.name == "=" and variable_names(goal).keys() <= known:
        return _different(goal, known, context)
    goal = _with_own_variables(goal, known, context)
    alternatives = bodies(goal, known | variable_names(goal).keys(), context)
    if len(alternatives) == 1 and not alternatives[0].values and len(alternatives[0].goals) == 1:
        (inner,) = alternatives[0].goals
        if isinstance(inner, Literal) and not inner.negative and not _repeats(inner, known):
            fresh = {name: context.variable() for name in variable_names(goal) if name not in known}
            return Literal(substitute(inner.atom, fresh), True)
    shared = [Variable(name) for name in variable_names(goal) if name in known]
    atom = Compound(context.predicate("fails"), tuple(shared), goal.at)
    _define(atom, alternatives, context)
    return Literal(atom, True)


def _repeats(literal: Literal, known: BoundNames) -> bool:
    """Whether a variable that is the literal's own stands in it twice, or in a comparison."""
    names = [
        t.name
        for t in all_subterms(literal.atom)
        if isinstance(t, Variable) and t.name not in known
    ]
    return len(names) != len(set(names))


def _define(atom: Compound, alternatives: list[Body], context: Context) -> None:
    """Rules by which an atom of our own holds in each of some ways."""
    for body in alternatives:
        head = substitute(atom, body.values)
        context.made.append(Rule((Head(head),), body.goals, atom.at))
    if not alternatives:
        context.made.append(Rule((Head(atom),), (Literal(FALSE),), atom.at))


def shared_body(alternatives: list[Body], names: Iterable[str], context: Context) -> Literal:
    """One atom that holds in each of some ways, for a rule that must not be split."""
    atom = Compound(context.predicate("case"), tuple(Variable(name) for name in names))
    _define(atom, alternatives, context)
    return Literal(atom)


def _with_own_variables(goal: Term, known: BoundNames, context: Context) -> Term:
    fresh = {n: Variable(f"#{n.lstrip('#')}") for n in variable_names(goal) if n not in known}
    return substitute(goal, fresh)


# --- aggregates ----------------------------------------------------------------------------------


def _elements(
    terms: tuple[Term, ...], goal: Term, known: BoundNames, context: Context
) -> tuple[Element, ...]:
    """A tuple for each way in which a goal holds: all its variables tell them apart."""
    fresh: dict[str, Term] = {}
    for name in variable_names(goal, *terms):
        if name not in known:
            fresh[name] = Variable(f"#{name.lstrip('#')}")
    goal, terms = substitute(goal, fresh), tuple(substitute(term, fresh) for term in terms)
    alternatives = bodies(goal, known | variable_names(goal).keys(), context)
    elements = []
    for number, body in enumerate(alternatives):
        condition = []
        for inner in body.goals:
            if not isinstance(inner, Literal):
                raise context.refuse(goal, "an aggregate inside an aggregate")
            condition.append(inner)
        shown = tuple(substitute(data(term, context), body.values) for term in terms)
        telling = [Variable(n) for goal in body.goals for n in goal_variables(goal)]
        extra: list[Term] = [v for v in dict.fromkeys(telling) if v.name not in known]
        extra = [v for v in extra if v not in shown]
        mark = (Number(str(number)),) if len(alternatives) > 1 else ()
        tuple_ = (*shown, *mark, *extra) or (Number("1"),)
        elements.append(Element(tuple_, tuple(condition)))
    return tuple(elements)


def _aggregate(name: str, value: Term, elements: tuple[Element, ...]) -> Branch:
    aggregate = Aggregate(value, name, elements)
    if name in ("max", "min"):  # Prolog's fail on an empty list; ours is #inf or #sup
        nothing = Compound("#inf" if name == "max" else "#sup")
        return (aggregate, Literal(Compound("!=", (value, nothing))))
    return (aggregate,)


# --- a whole branch ------------------------------------------------------------------------------


def _finished(branch: Branch, context: Context) -> Body | None:
    """A branch with its lists used and its ``=`` done; None if they cannot be equal."""
    lists = {step.name: step for step in branch if isinstance(step, Found)}
    goals: list[Goal] = []
    for step in branch:
        if isinstance(step, Literal | Aggregate):
            goals += _used(step, lists, context)
    values = unify((step.left, step.right) for step in branch if isinstance(step, Same))
    if values is None:
        return None
    return Body(
        tuple(changed_goal(goal, lambda t: substitute(t, values)) for goal in goals), values
    )


def _used(goal: Goal, lists: dict[str, Found], context: Context) -> tuple[Goal, ...]:
    """A goal; one that asks something of a list is an aggregate."""
    match goal:
        case Literal(Compound(name, (Variable(of), value))) if name in FOLDS and of in lists:
            elements, fold = lists[of].elements, FOLDS[name]
            if name == "length":
                return (Aggregate(as_whole(value, context), "count", elements),)
            steps = _aggregate(fold, as_whole(value, context), elements)
            return tuple(step for step in steps if isinstance(step, Literal | Aggregate))
        case Literal(Compound("=", (Variable(of), ListTerm((), None)))) if of in lists:
            return (Aggregate(Number("0"), "count", lists[of].elements),)
    for term in (t for outer in goal_terms(goal) for t in all_subterms(outer)):
        if isinstance(term, Variable) and term.name in lists:
            help = "length, sum_list, max_list and min_list of it become aggregates"
            raise context.refuse(term, "a list that findall made has no counterpart here", help)
        if isinstance(term, ListTerm):
            help = "say with a predicate what is in it, one fact for each item"
            raise context.refuse(term, "lists have no counterpart", help)
    match goal:
        case Literal(Compound(name, (Variable(), _))) if name in FOLDS:
            raise context.refuse(goal.atom, f"{name} has no counterpart", NO_COUNTERPART["append"])
    return (goal,)


def _variables(branch: Branch) -> frozenset[str]:
    """The variables that have values once a branch holds."""
    names: set[str] = set()
    for step in branch:
        match step:
            case Same(left, right):
                names |= variable_names(left, right).keys()
            case Found(name):
                names.add(name)
            case Aggregate(value):
                names |= variable_names(value).keys()
            case Literal(atom, False):
                names |= variable_names(atom).keys()
            case Literal(atom, True):
                pass
    return frozenset(names)
