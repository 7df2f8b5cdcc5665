r"""Prolog bodies: each way to satisfy one is a list of literals and aggregates.

Prolog works from left to right, which is part of the meaning: a variable of ``\+`` or ``findall``
that no goal to the left binds is local to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import overload

from dpasp.converters import TUNING
from dpasp.converters.problog.rules import (
    FALSE,
    Aggregate,
    Context,
    Element,
    Goal,
    Head,
    Literal,
    Predicate,
    Rule,
    goal_terms,
    goal_variables,
    is_word,
    predicate,
    substituted_goal,
)
from dpasp.converters.prolog import (
    Clause,
    Compound,
    ListTerm,
    Number,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
    read_clauses,
    substitute,
    subterms,
    unify,
    variable_names,
)
from dpasp.dataclass import dataclass

COMPARED = {"<": "<", ">": ">", "=<": "<=", ">=": ">=", "=:=": "=", "=\\=": "!="}
ORDERED = {"==": "=", "\\==": "!=", "@<": "<", "@>": ">", "@=<": "<=", "@>=": ">="}
FOLDS = {"sum_list": "sum", "max_list": "max", "min_list": "min", "length": "count"}
LISTS = "say with a predicate what is in the list, one fact for each item"
MEMBERS = {("member", 2), ("memberchk", 2)}
COLLECTED = "[]"  # at the end of a bound name: a list that findall made

# The list predicates that are translated, as clauses: what they mean where a call gives values.
LIST_CLAUSES = r"""
member(X, [X|_]).
member(X, [_|T]) :- member(X, T).
memberchk(X, L) :- member(X, L).
absent(_, []).
absent(X, [Y|T]) :- X \= Y, absent(X, T).
append([], L, L).
append([X|T], L, [X|R]) :- append(T, L, R).
list_length([], 0).
list_length([_|T], N) :- list_length(T, M), N is M+1.
nth0(0, [X|_], X).
nth0(I, [_|T], X) :- nth0(J, T, X), I is J+1.
nth1(I, L, X) :- nth0(J, L, X), I is J+1.
last([X], X).
last([_|T], X) :- last(T, X).
sum_list([], 0).
sum_list([X|T], S) :- sum_list(T, R), S is R+X.
max_list([X], X).
max_list([X|T], M) :- max_list(T, R), M is max(X, R).
min_list([X], X).
min_list([X|T], M) :- min_list(T, R), M is min(X, R).
reverse(L, R) :- reversed_onto(L, [], R).
reversed_onto([], R, R).
reversed_onto([X|T], L, R) :- reversed_onto(T, [X|L], R).
select(X, [X|T], T).
select(X, [Y|T], [Y|R]) :- select(X, T, R).
permutation([], []).
permutation(L, [X|P]) :- select(X, L, R), permutation(R, P).
numlist(N, N, [N]).
numlist(N, M, [N|L]) :- N < M, K is N+1, numlist(K, M, L).
subset([], _).
subset([X|T], L) :- member(X, L), subset(T, L).
subtract([], _, []).
subtract([X|T], L, R) :- member(X, L), subtract(T, L, R).
subtract([X|T], L, [X|R]) :- \+ member(X, L), subtract(T, L, R).
intersection([], _, []).
intersection([X|T], L, [X|R]) :- member(X, L), intersection(T, L, R).
intersection([X|T], L, R) :- \+ member(X, L), intersection(T, L, R).
union([], L, L).
union([X|T], L, R) :- member(X, L), union(T, L, R).
union([X|T], L, [X|R]) :- \+ member(X, L), union(T, L, R).
"""

# ProbLog's built-in predicates, which programs cannot define.
BUILT_IN = frozenset(
    """true/0 fail/0 false/0 =/2 \\=/2 findall/3 all/3 all_or_none/3 ==/2 \\==/2 is/2 >/2 </2
    =</2 >=/2 =\\=/2 =:=/2 var/1 atom/1 atomic/1 compound/1 float/1 rational/1 integer/1
    nonvar/1 number/1 simple/1 callable/1 dbreference/1 primitive/1 ground/1 is_list/1 =../2
    arg/3 functor/3 @>/2 @</2 @>=/2 @=</2 compare/3 length/2 sort/2 between/3 succ/2 plus/3
    consult/1 unknown/1 use_module/1 use_module/2 module/2 once/1 call/1 call/2 call/3 call/4
    call/5 call/6 call/7 call/8 call/9 call_nc/1 try_call/1 subquery/2 subquery/3 subquery/5
    sample_uniform1/3 write/1 writeln/1 writenl/1 nl/0 error/1 cmd_args/1 atom_number/2
    nocache/2 numbervars/2 numbervars/3 varnumbers/2 subsumes_term/2 subsumes_chk/2 possible/1
    clause/2 clause/3 create_scope/2 find_scope/2 forall/2 set_state/1 reset_state/0
    check_state/1 print_state/0 condition/1 seq/1 trace/0 notrace/0""".split()
)

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
        "msort sort maplist foldl all all_or_none select_uniform select_weighted list_to_set "
        "exclude include delete flatten atom_chars atom_codes".split(),
        LISTS,
    ),
    **dict.fromkeys(("clause", "nocache"), "rules cannot be asked about rules"),
    "*->": "ProbLog has none, either; write (test, then ; \\+ test, otherwise)",
    **dict.fromkeys(("subquery", "possible"), "a rule cannot ask for a probability"),
    **dict.fromkeys(("utility", "decision"), "a rule cannot ask what is decided, or its worth"),
    **dict.fromkeys(("query", "evidence"), "a rule cannot ask what is asked"),
}


@cache
def list_library() -> dict[Predicate, list[Term]]:
    """The clauses of each list predicate."""
    library: dict[Predicate, list[Term]] = {}
    for clause in read_clauses(LIST_CLAUSES, "lists"):
        assert isinstance(clause, Clause)
        head = clause.term
        if isinstance(head, Compound) and head.name == ":-":
            head = head.args[0]
        assert isinstance(head, Compound)
        library.setdefault(predicate(head), []).append(clause.term)
    return library


@dataclass(frozen=True, slots=True)
class Same:
    """``left = right``, to be unified."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Found:
    """``findall(template, …, name)``; only aggregates can use the list."""

    name: str
    elements: tuple[Element, ...]
    at: Term


BodyStep = Goal | Same | Found
Branch = tuple[BodyStep, ...]
BoundNames = frozenset[str]  # bound variables


@dataclass(frozen=True, slots=True)
class Body:
    """One way to satisfy a body, and the bindings from its ``=``."""

    goals: tuple[Goal, ...]
    values: dict[str, Term]


def bodies(goal: Term, known: Iterable[str], context: Context) -> list[Body]:
    """The ways to satisfy a goal; empty if it always fails."""
    finished = [_finished(branch, context) for branch in _branches(goal, frozenset(known), context)]
    return [body for body in finished if body is not None]


def _branches(goal: Term, known: BoundNames, context: Context) -> list[Branch]:
    match goal:
        case Compound(",", (left, right)):
            both: list[Branch] = []
            for first in _branches(left, known, context):
                rest = _branches(right, _known_after(first, known), context)
                both += ((*first, *second) for second in rest)
                if len(both) > TUNING.body_ways:
                    help = "give some of the alternatives a rule of their own"
                    raise context.refuse(
                        goal, f"more than {TUNING.body_ways} ways to satisfy a body", help
                    )
            return both
        case Compound(";", (Compound("->", (test, then)) as first, otherwise), at):
            second = Compound(",", (Compound("\\+", (test,), at), otherwise), at)
            return [*_branches(first, known, context), *_branches(second, known, context)]
        case Compound("->", (test, then)):  # without variables of its own it has one solution
            _check_known(goal, test, known, context)
            return _branches(Compound(",", (test, then), goal.at), known, context)
        case Compound(";", (left, right)):
            return [*_branches(left, known, context), *_branches(right, known, context)]
        case Compound("\\+" | "not", args) if args:
            inner = args[0]
            for more in args[1:]:  # \+(a, b)
                inner = Compound(",", (inner, more), goal.at)
            return [(_negation(inner, known, context),)]
        case Compound("true", ()):
            return [()]
        case Compound("fail" | "false", ()):
            return []
        case Compound("call", (Compound() as inner, *more)):
            return _branches(_to_call(inner, more, known, context), known, context)
        case Compound("maplist", (Compound() as inner, *lists)) if (
            "apply" in context.libraries and _are_lists(lists)
        ):
            goals: Term = Compound("true")
            for items in zip(*map(subterms, lists), strict=True):
                goals = Compound(",", (goals, Compound("call", (inner, *items), goal.at)), goal.at)
            return _branches(goals, known, context)
        case Compound("once", (Compound() as inner,)):
            return _branches(_to_call(inner, (), known, context), known, context)
    return [_simple(goal, known, context)]


def _are_lists(terms: Sequence[Term]) -> bool:
    """Whether these are lists that are written out, of one length."""
    lists = [one for one in terms if isinstance(one, ListTerm) and one.tail is None]
    return len(lists) == len(terms) > 0 and len({len(one.items) for one in lists}) == 1


def _to_call(
    goal: Compound, more: Sequence[Term], known: Iterable[str], context: Context
) -> Compound:
    """The goal of ``call(goal, …)``; ProbLog's ``once`` is the same."""
    called = Compound(goal.name, (*goal.args, *more), goal.at)
    inner: Term = called
    if called.name in ("\\+", "not") and len(called.args) == 1:
        (inner,) = called.args
        if not variable_names(inner).keys() <= set(known):
            help = "write the negation itself, or a rule for it"
            raise context.refuse(goal, "a call of a negation with a variable without value", help)
    several = (",", ";") if inner is called else (",", ";", "\\+", "not")
    if isinstance(inner, Compound) and inner.name in several:
        help = "write the goals themselves, in parentheses, or a rule for them"
        raise context.refuse(goal, "ProbLog does not call several goals", help)
    return called


def _simple(goal: Term, known: BoundNames, context: Context) -> Branch:
    match goal:
        case Compound("=", (Variable(of), ListTerm())) if f"{of}{COLLECTED}" in known:
            return (Literal(goal),)
        case Compound("=", (left, right), at):
            return (Same(data(left, context), data(right, context)),)
        case Compound("is", (left, right), at):
            _check_known(goal, right, known, context)
            return _is(left, right, at, context)
        case Compound(name, (left, right), at) if name in COMPARED:
            _check_known(goal, goal, known, context)
            sides = (_side(left, context), _side(right, context))
            return (Literal(Compound(COMPARED[name], sides, at), numeric=True),)
        case Compound(name, (left, right), at) if name in ORDERED:
            _check_known(goal, goal, known, context)
            if name.startswith("@") and not context.plain:
                help = "name everything with small letters, digits and underscores"
                raise context.refuse(goal, "quoted names and texts have another order here", help)
            sides = (data(left, context), data(right, context))
            return (Literal(Compound(ORDERED[name], sides, at)),)
        case Compound("\\=", (left, right), at):
            return (_different(goal, known, context),)
        case Compound("between", (low, high, value), at):
            _check_known(goal, Compound("", (low, high)), known, context)
            interval = Operation("..", (as_whole(low, context), as_whole(high, context)), at)
            return (Literal(Compound("=", (as_whole(value, context), interval), at), numeric=True),)
        case Compound("succ", (left, right), at):
            return _simple(Compound("plus", (left, Number("1"), right), at), known, context)
        case Compound("plus", (left, right, total), at):
            _check_known(goal, Compound("", (left, right)), known, context)
            more = Operation("+", (as_whole(left, context), as_whole(right, context)), at)
            return (Literal(Compound("=", (as_whole(total, context), more), at), numeric=True),)
        case Compound("member" | "memberchk", (value, ListTerm(items, None)), at) if (
            items and (goal.name, 2) in context.listing
        ):
            if goal.name == "memberchk":
                _check_known(goal, goal, known, context)
            pool = Operation("pool", tuple(data(item, context) for item in items), at)
            return (Literal(Compound("=", (data(value, context), pool), at)),)
        case Compound("forall", (Compound() as condition, Compound() as action), at):
            condition = _to_call(condition, (), known, context)
            action = _to_call(action, (), {*known, *variable_names(condition)}, context)
            fails = Compound(",", (condition, Compound("\\+", (action,), action.at)), at)
            return (_negation(fails, known, context),)
    return _collected(goal, known, context)


def _collected(goal: Term, known: BoundNames, context: Context) -> Branch:
    """``findall``, predicates on the lists it makes, and plain atoms."""
    match goal:
        case Compound("findall", (template, inner, Variable(name))):
            return (Found(name, _elements((template,), inner, known, context), goal),)
        case Compound(name, (Variable(of), _)) if name in FOLDS and f"{of}{COLLECTED}" in known:
            if name == "length" or (name, 2) in context.listing:
                return (Literal(goal),)
        case Compound():
            return _atom(goal, known, context)
        case Variable():
            help = "name the predicate; one rule for each"
            raise context.refuse(goal, "a variable in place of a goal has no counterpart", help)
    raise context.refuse(goal, "this is not a goal")


def _atom(goal: Compound, known: BoundNames, context: Context) -> Branch:
    """A call of a predicate that the program defines."""
    if predicate(goal) == ("length", 2) and ("list_length", 2) in context.listing:
        goal = replace(goal, name="list_length")
    if goal.name in ("memberchk", "nth1") and predicate(goal) in context.listing:
        _check_known(goal, goal.args[0], known, context)  # else one finds a single item, one stops
    check_defined(goal, context)
    if predicate(goal) in context.listing:
        goal = context.called_list(goal, known)
    context.called(goal, known)
    return (Literal(data(goal, context)),)


def check_defined(goal: Compound, context: Context) -> None:
    """Refuse an atom without clauses, as ProbLog does."""
    name, args = goal.name, goal.args
    if (name, len(args)) in context.defined and name not in ("query", "evidence"):
        return
    what = f"{name}/{len(args)}" if args else name
    if name in ("<=", "=>", "!=", "<>"):
        help = "Prolog writes =<, >=, \\= and =\\="
        raise context.refuse(goal, f"Prolog has no comparison {name}", help)
    if name in NO_COUNTERPART:
        raise context.refuse(goal, f"{what} has no counterpart", NO_COUNTERPART[name])
    if (name, len(args)) in list_library():
        if "lists" in context.libraries:
            raise context.refuse(goal, f"{what} has no counterpart here", LISTS)
        help = "begin with ':- use_module(library(lists)).'"
        raise context.refuse(goal, f"{what} is from a library that is not used", help)
    if f"{name}/{len(args)}" in BUILT_IN or not is_word(name):
        raise context.refuse(goal, f"{what} has no counterpart")
    if not context.unknown_fails:
        help = "define it; or write ':- unknown(fail).' if it is meant to be false"
        raise context.refuse(goal, f"nothing defines {what}, so ProbLog stops here", help)


def _is(left: Term, right: Term, at: tuple[int, int], context: Context) -> Branch:
    match right:
        case Compound("max" | "min" as name, (first, other)):
            elements = tuple(Element((as_whole(side, context),), ()) for side in (first, other))
            return (Aggregate(as_whole(left, context), name, elements, at=at),)
    if isinstance(left, Variable) and _is_real(right):
        return (Literal(Compound("is", (left, right), at)),)  # can only become a probability
    sides = (as_whole(left, context), as_whole(right, context))
    return (Literal(Compound("=", sides, at), numeric=True),)


def _side(term: Term, context: Context) -> Term:
    """A side of a comparison, which may be a real number."""
    return term if isinstance(term, Number) and term.whole is None else as_whole(term, context)


def _is_real(term: Term) -> bool:
    """Whether the value of an expression is a real number."""
    return any(
        (isinstance(t, Number) and t.is_real)
        or (isinstance(t, Compound) and t.name == "/" and len(t.args) == 2)
        for t in all_subterms(term)
    )


def _check_known(goal: Compound, part: Term, known: BoundNames, context: Context) -> None:
    """Refuse a goal if a part has variables that may be unbound."""
    if not variable_names(part).keys() <= known:
        help = "bind the variable in a goal to the left"
        raise context.refuse(goal, f"{goal.name} with a variable that has no value yet", help)


def _different(goal: Compound, known: BoundNames, context: Context) -> Literal:
    _check_known(goal, goal, known, context)
    left, right = goal.args
    return Literal(Compound("!=", (data(left, context), data(right, context)), goal.at))


# --- negation ----------------------------------------------------------------------------------


def _negation(goal: Term, known: BoundNames, context: Context) -> Literal:
    """``\\+ goal``; its unbound variables are local."""
    if isinstance(goal, Compound) and goal.name == "=" and variable_names(goal).keys() <= known:
        return _different(goal, known, context)
    if isinstance(goal, Compound) and _is_membership(goal, known, context):
        return Literal(data(context.called_list(replace(goal, name="absent"), known), context))
    context.check_sure(goal, known)
    goal = _with_own_variables(goal, known, context)
    alternatives = bodies(goal, known, context)
    if len(alternatives) == 1 and not alternatives[0].values and len(alternatives[0].goals) == 1:
        (inner,) = alternatives[0].goals
        simple = isinstance(inner, Literal) and not inner.negative and not has_several(inner.atom)
        if isinstance(inner, Literal) and simple and not _repeats(inner, known):
            fresh = {name: context.variable() for name in variable_names(goal) if name not in known}
            return Literal(substitute(inner.atom, fresh), True)
    if context.chooses and not variable_names(goal).keys() <= known:
        help = "put the negation in a rule of its own, without a probability"
        message = (
            "a negation of several goals with variables of its own: ProbLog refuses this choice"
        )
        raise context.refuse(goal, message, help)
    shared = [Variable(name) for name in variable_names(goal) if name in known]
    atom = Compound(context.predicate("fails"), tuple(shared), goal.at)
    _define(atom, alternatives, context)
    return Literal(atom, True)


def _is_membership(goal: Compound, known: BoundNames, context: Context) -> bool:
    """Whether a goal asks if a list that is given has an item that is given."""
    used = {predicate(goal), ("absent", 2)} <= context.listing
    return used and predicate(goal) in MEMBERS and variable_names(goal).keys() <= known


def has_several(comparison: Term) -> bool:
    """Whether a comparison holds for several values, as with an interval."""
    several = ("pool", "..")
    return any(isinstance(t, Operation) and t.name in several for t in all_subterms(comparison))


def _repeats(literal: Literal, known: BoundNames) -> bool:
    """Whether a local variable occurs twice in a literal."""
    names = [
        t.name
        for t in all_subterms(literal.atom)
        if isinstance(t, Variable) and t.name not in known
    ]
    return len(names) != len(set(names))


def _define(atom: Compound, alternatives: list[Body], context: Context) -> None:
    """Add rules for an auxiliary atom, one for each alternative."""
    for body in alternatives:
        head = substitute(atom, body.values)
        context.made.append(Rule((Head(head),), body.goals, atom.at))
    if not alternatives:
        context.made.append(Rule((Head(atom),), (Literal(FALSE),), atom.at))


def shared_body(alternatives: list[Body], names: Iterable[str], context: Context) -> Literal:
    """An atom for several alternatives, for a rule that must not be split."""
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
    """A tuple for each solution of a goal; all its variables tell them apart."""
    context.check_sure(goal, known)
    fresh: dict[str, Term] = {}
    for name in variable_names(goal, *terms):
        if name not in known:
            fresh[name] = Variable(f"#{name.lstrip('#')}")
    goal, terms = substitute(goal, fresh), tuple(substitute(term, fresh) for term in terms)
    alternatives = bodies(goal, known, context)
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


def _aggregate(name: str, value: Term, found: Found) -> tuple[Goal, ...]:
    """The aggregate of a list; ProbLog counts every proof of an item."""
    by_proof = name in ("count", "sum")
    aggregate = Aggregate(value, name, found.elements, by_proof, found.at.at)
    if name in ("max", "min"):  # on an empty list Prolog fails, clingo gives #inf or #sup
        nothing = Compound("#inf" if name == "max" else "#sup")
        return (aggregate, Literal(Compound("!=", (value, nothing))))
    return (aggregate,)


# --- a whole branch ------------------------------------------------------------------------------


def _finished(branch: Branch, context: Context) -> Body | None:
    """A branch with its lists aggregated and its ``=`` solved; None if that fails."""
    lists = {step.name: step for step in branch if isinstance(step, Found)}
    goals: list[Goal] = []
    for step in branch:
        if isinstance(step, Literal | Aggregate):
            goals += _used(step, lists, context)
    values = unify((step.left, step.right) for step in branch if isinstance(step, Same))
    if values is None:
        return None
    return Body(tuple(substituted_goal(goal, values) for goal in goals), values)


def _used(goal: Goal, lists: dict[str, Found], context: Context) -> tuple[Goal, ...]:
    """A goal; a predicate on a list becomes an aggregate."""
    match goal:
        case Literal(Compound(name, (Variable(of), value))) if name in FOLDS and of in lists:
            return _aggregate(FOLDS[name], as_whole(value, context), lists[of])
        case Literal(Compound("=", (Variable(of), ListTerm((), None)))) if of in lists:
            return (Aggregate(Number("0"), "count", lists[of].elements, at=lists[of].at.at),)
    for term in (t for outer in goal_terms(goal) for t in all_subterms(outer)):
        if isinstance(term, Variable) and term.name in lists:
            help = "length, sum_list, max_list and min_list of it become aggregates"
            raise context.refuse(term, "a list that findall made has no counterpart here", help)
    return (goal,)


def _known_after(branch: Branch, known: BoundNames) -> BoundNames:
    """The variables bound once a branch holds."""
    names = set(known)
    for step in branch:
        match step:
            case Found(name):
                names |= {name, f"{name}{COLLECTED}"}
            case Aggregate(value):
                names |= variable_names(value).keys()
            case Literal(atom, False):
                names |= variable_names(atom).keys()
    same = unify((step.left, step.right) for step in branch if isinstance(step, Same))
    while True:  # a variable is bound if its value is, and vice versa
        before = len(names)
        for name, value in (same or {}).items():
            if variable_names(value).keys() <= names:
                names.add(name)
            elif name in names:
                names |= variable_names(value).keys()
        if len(names) == before:
            return frozenset(names)


# --- arithmetic ---------------------------------------------------------------------------------

BINARY = {
    **{name: name for name in ("+", "-", "*", "**")},
    "^": "**",
    "/\\": "&",
    "\\/": "?",
    "xor": "^",
}
REAL = {"+", "-", "*", "/", "**"}


def as_whole(term: Term, context: Context) -> Term:
    """Translate an integer expression.

    Prolog divides exactly with ``/`` and rounds down with ``//``, ``div`` and ``mod``; clingo's
    ``/`` and ``\\`` round towards zero, which is the same for non-negative numbers.
    """
    match term:
        case Variable() | Operation():
            return term
        case Number(text, at):
            if term.whole is None:
                help = "count in smaller units, as 5 tenths; only probabilities are real numbers"
                raise context.refuse(term, f"{text} is a real number; ours are whole", help)
            return Number(str(term.whole), at)
        case Compound("+", (inner,)):
            return as_whole(inner, context)
        case Compound("-", (inner,), at):
            return Operation("-", (as_whole(inner, context),), at)
        case Compound("abs", (inner,), at):
            return Operation("abs", (as_whole(inner, context),), at)
        case Compound("/", (_, _)):
            help = "for whole numbers write // in place of /"
            raise context.refuse(term, "/ gives real numbers, which terms cannot hold", help)
        case Compound("//" | "div" | "mod" | "rem" as name, (left, right), at):
            return _rounded(name, as_whole(left, context), as_whole(right, context), at, context)
        case Compound(name, (left, right), at) if name in BINARY:
            if BINARY[name] == "**" and context.negative and not isinstance(right, Number):
                help = "write a number as exponent"
                raise context.refuse(term, "an exponent below 0 would give a real number", help)
            return Operation(BINARY[name], (as_whole(left, context), as_whole(right, context)), at)
        case Compound(name, args) if args:
            raise context.refuse(term, f"the function {name}/{len(args)} has no counterpart")
        case Compound(name):
            raise context.refuse(term, f"{name} is not a number")
        case ListTerm() | Text():
            raise context.refuse(term, "this is not a number")
    raise AssertionError(term)


def _rounded(name: str, left: Term, right: Term, at: tuple[int, int], context: Context) -> Term:
    remainder = Operation("\\", (left, right), at)
    if context.negative:  # round down, as Prolog does
        sum = Operation("+", (remainder, right), at)
        remainder = Operation("\\", (sum, right), at)
    if name in ("mod", "rem"):
        return remainder
    if context.negative:
        left = Operation("-", (left, remainder), at)
    return Operation("/", (left, right), at)


def as_real(term: Term, context: Context) -> Term:
    """Translate an expression for a probability, over real numbers."""
    match term:
        case Variable() | Number() | Operation():
            return term
        case Compound("-", (inner,), at):
            return Operation("-", (as_real(inner, context),), at)
        case Compound("^", args, at):
            return as_real(Compound("**", args, at), context)
        case Compound(name, (left, right), at) if name in REAL:
            return Operation(name, (as_real(left, context), as_real(right, context)), at)
    raise context.refuse(term, "this is not a number, so it cannot be a probability")


@overload
def data(term: Compound, context: Context) -> Compound: ...
@overload
def data(term: Term, context: Context) -> Term: ...
def data(term: Term, context: Context) -> Term:
    """Translate a term that is not evaluated: Prolog's ``a-b`` is a pair, not a difference."""
    match term:
        case Compound("-", (left, right), at):
            return Compound("", (data(left, context), data(right, context)), at)
        case Compound(name, (_, *_)) if not is_word(name):
            help = "Prolog keeps it as it is written; clingo would compute it"
            raise context.refuse(term, f"a term with the operator {name} has no counterpart", help)
        case Compound(name, args, at):
            return Compound(name, tuple(data(arg, context) for arg in args), at)
        case ListTerm(items, tail, at) if context.cons:
            rest: Term = Compound(context.nil, (), at) if tail is None else data(tail, context)
            for item in reversed(items):
                rest = Compound(context.cons, (data(item, context), rest), at)
            return rest
        case ListTerm():
            raise context.refuse(term, "lists have no counterpart", LISTS)
    return term
