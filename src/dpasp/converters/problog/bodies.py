r"""Prolog bodies: each way to satisfy a body is a list of literals.

Prolog works from left to right, which matters: a variable of ``\+`` that no goal to the left binds
is local to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import floor
from typing import overload

from dpasp.converters import TUNING
from dpasp.converters.problog.rules import (
    CALLED,
    FALSE,
    Context,
    Head,
    Literal,
    Rule,
    goal_variables,
    is_word,
    predicate,
    substituted_goal,
)
from dpasp.converters.prolog import (
    Compound,
    ListTerm,
    Number,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
    substitute,
    unify,
    variable_names,
)
from dpasp.dataclass import dataclass

COMPARED = {"<": "<", ">": ">", "=<": "<=", ">=": ">=", "=:=": "=", "=\\=": "!="}
IDENTICAL = {"==": "=", "\\==": "!=", "\\=": "!="}  # where all variables have values
LISTS = "say with a predicate what is in the list, one fact for each item"
COUNTS = "define an atom for what is found, and count those in dPASP with #count or #sum"
REAL_TEXT = re.compile(r"-?\d+\.\d+([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+")

# The predicates of ProbLog's library(lists).
LIBRARY = frozenset(
    "member/2 memberchk/2 append/3 nth0/3 nth1/3 last/2 sum_list/2 max_list/2 min_list/2 reverse/2 "
    "select/3 permutation/2 numlist/3 subset/2 subtract/3 intersection/3 union/3".split()
)

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
        "length msort sort maplist foldl select_uniform select_weighted list_to_set exclude "
        "include delete flatten atom_chars atom_codes".split(),
        LISTS,
    ),
    **dict.fromkeys(("findall", "all", "all_or_none"), COUNTS),
    **dict.fromkeys(("clause", "nocache"), "rules cannot be asked about rules"),
    "*->": "ProbLog has none, either; write (test, then ; \\+ test, otherwise)",
    **dict.fromkeys(("subquery", "possible"), "a rule cannot ask for a probability"),
    **dict.fromkeys(("utility", "decision"), "a rule cannot ask what is decided, or its worth"),
    **dict.fromkeys(("query", "evidence"), "a rule cannot ask what is asked"),
}


@dataclass(frozen=True, slots=True)
class Same:
    """``left = right``, to be unified."""

    left: Term
    right: Term


BodyStep = Literal | Same
Branch = tuple[BodyStep, ...]
BoundNames = frozenset[str]  # bound variables


@dataclass(frozen=True, slots=True)
class Body:
    """One way to satisfy a body, and the bindings from its ``=``."""

    goals: tuple[Literal, ...]
    values: dict[str, Term]

    @property
    def bound(self) -> set[str]:
        """The variables of what is not negated."""
        return {n for goal in self.goals if not goal.negative for n in goal_variables(goal)}


def bodies(goal: Term, known: Iterable[str], context: Context) -> list[Body]:
    """The ways to satisfy a goal; empty if it always fails."""
    found = []
    for branch in _branches(goal, frozenset(known), context):
        if (values := _solved(branch)) is not None:
            goals = (substituted_goal(step, values) for step in branch if isinstance(step, Literal))
            found.append(Body(tuple(goals), values))
    return found


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
        case Compound("->", (test, then)):  # without local variables it has one solution
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
        case Compound("call" | "once", (inner, *more)):
            return _branches(_called(goal, inner, more, context), known, context)
        case Compound("is", (value, Compound("max" | "min" as name, (left, right))), at):
            test = Compound(">=" if name == "max" else "=<", (left, right), at)
            one, other = (Compound("is", (value, side), at) for side in (left, right))
            chosen = Compound(";", (Compound("->", (test, one), at), other), at)
            return _branches(chosen, known, context)
    return [(_simple(goal, known, context),)]


def _called(goal: Compound, inner: Term, more: Iterable[Term], context: Context) -> Compound:
    """The atom that ``call`` or ``once`` calls, or ``forall`` asks about."""
    if isinstance(inner, Compound) and is_word(inner.name) and inner.name != "not":
        called = Compound(inner.name, (*inner.args, *more), inner.at)
        if f"{called.name}/{len(called.args)}" not in BUILT_IN:
            return called
    help = "write the goals themselves, in parentheses, or a rule for them"
    raise context.refuse(goal, f"{goal.name} of anything but an atom has no counterpart", help)


def _simple(goal: Term, known: BoundNames, context: Context) -> BodyStep:
    match goal:
        case Compound("=", (left, right)):
            return Same(data(left, context), data(right, context))
        case Compound("is", (left, right), at):
            _check_known(goal, right, known, context)
            if isinstance(left, Variable) and _is_real(right):
                return Literal(Compound("is", (left, right), at))  # can only become a probability
            sides = (as_whole(left, context), as_whole(right, context))
            return Literal(Compound("=", sides, at), numeric=True)
        case Compound(name, (left, right)) if name in COMPARED:
            _check_known(goal, goal, known, context)
            return _comparison(goal, left, right, context)
        case Compound(name, (left, right), at) if name in IDENTICAL:
            _check_known(goal, goal, known, context)
            sides = (data(left, context), data(right, context))
            return Literal(Compound(IDENTICAL[name], sides, at))
        case Compound("between", (low, high, value), at):
            _check_known(goal, Compound("", (low, high)), known, context)
            interval = Operation("..", (as_whole(low, context), as_whole(high, context)), at)
            return Literal(Compound("=", (as_whole(value, context), interval), at), numeric=True)
        case Compound("member" | "memberchk", (value, ListTerm(items, None)), at) if (
            items and "lists" in context.libraries and predicate(goal) not in context.defined
        ):
            if goal.name == "memberchk":
                _check_known(goal, goal, known, context)
            pool = Operation("pool", tuple(data(item, context) for item in items), at)
            return Literal(Compound("=", (data(value, context), pool), at))
        case Compound("forall", (condition, action), at):
            condition = _called(goal, condition, (), context)
            action = _called(goal, action, (), context)
            fails = Compound(",", (condition, Compound("\\+", (action,), action.at)), at)
            return _negation(fails, known, context)
        case Compound():
            check_defined(goal, context)
            return Literal(data(goal, context))
        case Variable():
            help = "name the predicate; one rule for each"
            raise context.refuse(goal, "a variable in place of a goal has no counterpart", help)
    raise context.refuse(goal, "this is not a goal")


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
    if f"{name}/{len(args)}" in LIBRARY:
        if "lists" in context.libraries:
            raise context.refuse(goal, f"{what} has no counterpart here", LISTS)
        help = "begin with ':- use_module(library(lists)).'"
        raise context.refuse(goal, f"{what} is from a library that is not used", help)
    if f"{name}/{len(args)}" in BUILT_IN or not is_word(name):
        raise context.refuse(goal, f"{what} has no counterpart")
    if not context.unknown_fails:
        help = "define it; or write ':- unknown(fail).' if it is meant to be false"
        raise context.refuse(goal, f"nothing defines {what}, so ProbLog stops here", help)


def _comparison(goal: Compound, left: Term, right: Term, context: Context) -> Literal:
    """A comparison; one with a real number becomes one with an integer: ``X < 2.5``, ``X <= 2``."""
    name = COMPARED[goal.name]
    if isinstance(left, Number) and not isinstance(right, Number):
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        name, left, right = turned.get(name, name), right, left
    if isinstance(right, Number) and right.whole is None and name not in ("=", "!="):
        below = floor(Decimal(right.text))
        name, limit = ("<=", below) if name[0] == "<" else (">=", below + 1)
        right = Number(str(limit), right.at)
    sides = (as_whole(left, context), as_whole(right, context))
    return Literal(Compound(name, sides, goal.at), numeric=True)


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
    context.rely(goal, part, known)


def _negation(goal: Term, known: BoundNames, context: Context) -> BodyStep:
    """``\\+ goal``; its unbound variables are local."""
    if isinstance(goal, Compound) and goal.name == "=" and variable_names(goal).keys() <= known:
        return _simple(Compound("\\=", goal.args, goal.at), known, context)
    context.check_sure(goal, (variable_names(goal).keys() & context.unsure) - known)
    context.rely(goal, goal, known)
    own = {n: Variable(f"#{n.lstrip('#')}") for n in variable_names(goal) if n not in known}
    goal = substitute(goal, own)
    alternatives = bodies(goal, known, context)
    if len(alternatives) == 1 and not alternatives[0].values and len(alternatives[0].goals) == 1:
        (inner,) = alternatives[0].goals
        parts = list(all_subterms(inner.atom))
        several = any(isinstance(t, Operation) and t.name in ("pool", "..") for t in parts)
        local = [t.name for t in parts if isinstance(t, Variable) and t.name not in known]
        if not inner.negative and not several and len(local) == len(set(local)):
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


def _define(atom: Compound, alternatives: list[Body], context: Context) -> None:
    """Add rules for an auxiliary atom, one for each alternative."""
    for body in alternatives:
        head = substitute(atom, body.values)
        context.made.append(Rule((Head(head),), body.goals, atom.at))
    if not alternatives:
        context.made.append(Rule((Head(atom),), (Literal(FALSE),), atom.at))


def shared_body(alternatives: list[Body], names: Iterable[str], context: Context) -> Literal:
    """An auxiliary atom for several alternatives, for a rule that must not be split."""
    atom = Compound(context.predicate("case"), tuple(Variable(name) for name in names))
    _define(atom, alternatives, context)
    return Literal(atom)


def _solved(branch: Branch) -> dict[str, Term] | None:
    """The values of variables by the ``=`` of a branch; None if there are none."""
    return unify((step.left, step.right) for step in branch if isinstance(step, Same))


def _known_after(branch: Branch, known: BoundNames) -> BoundNames:
    """The variables bound once a branch holds."""
    names = set(known)
    for step in branch:
        if isinstance(step, Literal) and not step.negative:
            names |= goal_variables(step).keys()
            names -= {f"{CALLED}{name}" for name in goal_variables(step)}
    values = _solved(branch) or {}
    while True:  # a variable is bound if its value is, and vice versa
        before = set(names)
        for name, value in values.items():
            inner = variable_names(value).keys()
            if inner <= names:
                called = any(f"{CALLED}{other}" in names for other in inner)
                names = names - {f"{CALLED}{name}"} | {name}
                names |= {f"{CALLED}{name}"} if called else set()
            elif name in names:
                names |= inner
                names |= {f"{CALLED}{n}" for n in inner if f"{CALLED}{name}" in names}
        if names == before:
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
            help = "Prolog keeps it as written; clingo would compute it"
            raise context.refuse(term, f"a term with the operator {name} has no counterpart", help)
        case Compound(name, args, at):
            return Compound(name, tuple(data(arg, context) for arg in args), at)
        case ListTerm() if not context.cons:
            raise context.refuse(term, "lists have no counterpart", LISTS)
        case ListTerm(items, tail, at):
            rest: Term = Compound(context.nil, (), at) if tail is None else data(tail, context)
            for item in reversed(items):
                rest = Compound(context.cons, (data(item, context), rest), at)
            return rest
        case Number(text, at) if term.is_real:  # a string, which can serve as a probability
            return Text(repr(float(text)), at)
        case Text(value) if REAL_TEXT.fullmatch(value):
            help = "leave out the quotes, or add a letter"
            raise context.refuse(term, f'the number {value} and the text "{value}" are alike', help)
    return term
