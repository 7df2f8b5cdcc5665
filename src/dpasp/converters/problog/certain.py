"""Refuse rules that might mean something else here than in ProbLog.

ProbLog counts proofs where we count atoms, and it stops at arithmetic on anything but numbers and
at loops through negation. The rules decide whether that can happen; if in doubt, it can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from dpasp.converters import TUNING
from dpasp.converters.problog.adapt import body_calls, bound, calls, goal_literals, reachable
from dpasp.converters.problog.bodies import has_several
from dpasp.converters.problog.clauses import QuestionRule
from dpasp.converters.problog.rules import (
    Aggregate,
    Argument,
    Context,
    Given,
    Goal,
    Literal,
    Predicate,
    PrologNames,
    Rule,
    arguments,
    atom_text,
    goal_text,
    goal_variables,
    is_atom,
    is_comparison,
    predicate,
)
from dpasp.converters.prolog import (
    NO_SLICE,
    Compound,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
    substitute,
    unify,
    variable_names,
)
from dpasp.converters.text import Slice
from dpasp.errors import LimitReached, ProgramError
from dpasp.limits import Limits
from dpasp.semantics.dependencies import components

TRIAL_LIMITS = Limits(
    TUNING.trial_seconds, TUNING.trial_megabytes
)  # for recursion that may not end

# --- how many proofs an atom has -----------------------------------------------------------------


def check_proofs(rules: Sequence[Rule], context: Context) -> None:
    """Refuse to count atoms with several proofs: ProbLog counts each proof."""
    proofs = _Proofs(rules)
    for goal in chain.from_iterable(rule.body for rule in rules):
        if not isinstance(goal, Aggregate) or not goal.by_proof:
            continue
        for literal in chain.from_iterable(element.condition for element in goal.elements):
            if proofs.may_be_several(literal):
                what = "it" if is_comparison(literal.atom) else predicate(literal.atom)[0]
                message = f"ProbLog counts proofs, and {what} may have several for the same values"
                help = "count a predicate of one clause whose variables are all in its head"
                raise context.refuse(goal.at, message, help)


class _Proofs:
    """Which predicates have at most one proof for each atom in every world."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.heads: defaultdict[Predicate, list[tuple[Term, Rule]]] = defaultdict(list)
        for rule in rules:
            for head in rule.heads:
                self.heads[predicate(head.atom)].append((head.atom, rule))
        self.single: dict[Predicate, bool] = {}

    def may_be_several(self, literal: Literal) -> bool:
        """Whether a literal may have several proofs."""
        if literal.negative:
            return False
        if not is_comparison(literal.atom):
            return not self._is_single(predicate(literal.atom))
        return any(
            len(set(term.args)) < len(term.args) or variable_names(term)
            for term in all_subterms(literal.atom)
            if isinstance(term, Operation) and term.name == "pool"
        )

    def _is_single(self, name: Predicate) -> bool:
        if name not in self.single:
            self.single[name] = False  # in case it depends on itself
            apart = _are_apart([atom for atom, _ in self.heads[name]])
            self.single[name] = apart and all(
                self._has_one_way(*clause) for clause in self.heads[name]
            )
        return self.single[name]

    def _has_one_way(self, head: Term, rule: Rule) -> bool:
        """Whether a clause derives an atom in one way: its head fixes all values of its body."""
        values = [g for g in rule.body if isinstance(g, Literal) and not has_several(g.atom)]
        known = bound([g for g in values if is_comparison(g.atom)], variable_names(head))
        return all(
            isinstance(goal, Literal)
            and (goal.negative or goal_variables(goal).keys() <= known)
            and not self.may_be_several(goal)
            for goal in rule.body
        )


def _are_apart(atoms: Sequence[Term]) -> bool:
    """Whether no two of these atoms unify."""
    open_ones = [any(isinstance(t, Variable | Operation) for t in all_subterms(a)) for a in atoms]
    patterns = [atom for atom, is_open in zip(atoms, open_ones, strict=True) if is_open]
    ground = [atom for atom, is_open in zip(atoms, open_ones, strict=True) if not is_open]
    if len(set(ground)) < len(ground):
        return False
    for i, pattern in enumerate(patterns):
        own = substitute(pattern, {n: Variable(f"{n}'") for n in variable_names(pattern)})
        for other in (*patterns[:i], *ground):
            terms = (*all_subterms(own), *all_subterms(other))
            if any(isinstance(t, Operation) for t in terms) or unify([(own, other)]) is not None:
                return False
    return True


# --- what is a number ----------------------------------------------------------------------------


def check_numbers(rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context) -> None:
    """Refuse arithmetic and comparisons on something that may not be a number."""
    columns = _Columns(rules, asks, context.given or {})
    for rule in rules:
        for i, goal in enumerate(rule.body):
            for term, left, at in _numeric_uses(goal, rule.body[:i]):
                if columns.may_be_other(term, left, rule):
                    name = (
                        term.name if isinstance(term, Variable) and term.name[0] != "#" else "this"
                    )
                    message = f"{name} may not be a number, and ProbLog would stop there"
                    help = "keep numbers and other values in different predicates"
                    raise context.refuse(at if at != NO_SLICE else rule.at, message, help)


def check_lists(rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context) -> None:
    """Refuse the length of something that may not be a list."""
    lengths = {call.name for (name, _), call in context.listed.items() if name == "list_length"}
    if lengths:
        lists = frozenset({context.cons, context.nil})
        columns = _Columns(rules, asks, context.given or {}, lists)
        for call in calls(rules, asks):
            atom = call.atom
            if atom.name in lengths and columns.may_be_other(atom.args[0], call.left, call.caller):
                message = "this may not be a list, and ProbLog would stop there"
                raise context.refuse(atom, message, "keep lists and other values apart")


def _numeric_uses(
    goal: Goal, left: tuple[Goal, ...]
) -> Iterator[tuple[Term, tuple[Goal, ...], Slice]]:
    """The terms of a goal that must be numbers, and the goals that bind them."""
    if isinstance(goal, Literal):
        if goal.numeric:
            for term in chain.from_iterable(map(all_subterms, goal.atom.args)):
                yield term, left, goal.atom.at
        return
    yield goal.value, left, goal.at
    for element in goal.elements:
        for j, inner in enumerate(element.condition):
            yield from _numeric_uses(inner, (*left, *element.condition[:j]))
        if goal.function != "count" and element.terms:
            for term in all_subterms(element.terms[0]):
                yield term, (*left, *element.condition), goal.at


class _Columns:
    """The arguments that may be something else than a number; with ``lists``, than one of those."""

    def __init__(
        self,
        rules: Sequence[Rule],
        asks: Sequence[QuestionRule],
        given: dict[Predicate, Given],
        lists: frozenset[str] = frozenset(),
    ) -> None:
        self.lists = lists
        self.given = {(*name, i) for name, bound in given.items() for i, b in enumerate(bound) if b}
        self.other: set[Argument] = set()  # in heads
        self.called: set[Argument] = set()  # in calls
        made = list(calls(rules, asks))
        while True:
            before = len(self.other) + len(self.called)
            for call in made:
                self._add(self.called, call.atom, call.left, call.caller)
            for rule in rules:
                for head in rule.heads:
                    self._add(self.other, head.atom, rule.body, rule)
                for goal in rule.body:
                    if isinstance(goal, Literal) and is_comparison(goal.atom):
                        self._add(set(), goal.atom, rule.body, rule)
            if len(self.other) + len(self.called) == before:
                return

    def _add(
        self, columns: set[Argument], atom: Compound, goals: Sequence[Goal], rule: Rule | None
    ) -> None:
        for part in all_subterms(atom):
            if isinstance(part, Compound):
                found = {c for c, arg in arguments(part) if self.may_be_other(arg, goals, rule)}
                if part is atom:
                    columns |= found
                else:  # a term, which may have come from a head or a call
                    self.other |= found
                    self.called |= found

    def may_be_other(self, term: Term, goals: Sequence[Goal], rule: Rule | None) -> bool:
        """Whether a term may be something else than a number (or than a list)."""
        if not isinstance(term, Variable):
            if self.lists:
                return not isinstance(term, Compound) or term.name not in self.lists
            return isinstance(term, Compound | Text)
        name, told = term.name, False
        for goal in goals:
            if name in _computed(goal):
                return bool(self.lists)
            if not isinstance(goal, Literal) or goal.negative:
                continue
            if is_comparison(goal.atom):
                match goal.atom:
                    case Compound("=", (Variable(same), Operation("pool", values))) if same == name:
                        told |= any(self.may_be_other(value, (), None) for value in values)
                continue
            for column in _columns_of(name, goal.atom):
                told = True
                if column not in self.other:
                    return False
        if told or rule is None:
            return told
        for head in rule.heads:
            places = set(_columns_of(name, head.atom))
            sure = (places & self.given) - self.called  # every call passes a number there
            if not sure and places & self.called:
                return True
        return False


def _columns_of(name: str, atom: Compound) -> list[Argument]:
    """The arguments, of an atom or of the terms in it, that a variable is."""
    parts = (t for t in all_subterms(atom) if isinstance(t, Compound))
    return [column for part in parts for column, arg in arguments(part) if arg == Variable(name)]


def _computed(goal: Goal) -> set[str]:
    """The variables that a goal computes; their values are numbers."""
    if isinstance(goal, Aggregate):
        return set(variable_names(goal.value))
    if not goal.numeric or goal.atom.name != "=":
        return set()
    left, right = goal.atom.args
    return set() if isinstance(right, Variable) else set(variable_names(left))


# --- loops through negation ----------------------------------------------------------------------


class _Needs(NamedTuple):
    """An edge of a dependency graph of predicates or atoms."""

    above: Hashable
    below: Hashable
    negative: bool


def check_cycles(
    rules: Sequence[Rule], asked: set[Predicate], names: PrologNames, context: Context
) -> None:
    """Refuse loops through negation, as ProbLog does.

    If there is one between predicates, their atoms are ground to see whether there is one
    between atoms too. ``asked`` are the predicates that say what is asked for.
    """
    edges = [
        _Needs(predicate(head.atom), predicate(call.atom), call.negative)
        for rule in rules
        for head in rule.heads
        for call in body_calls(rule.body)
    ]
    looping = _on_negative_loops(edges)
    if not looping:
        return
    with suppress(ProgramError, LimitReached):
        if not _on_negative_loops(_ground_edges(rules, edges, looping, asked, names, context)):
            return
    on_loop = [rule for rule in rules if predicate(rule.heads[0].atom) in looping]
    theirs = (rule for rule in on_loop if predicate(rule.heads[0].atom) in context.defined)
    rule = next(theirs, on_loop[0])
    name = predicate(rule.heads[0].atom)[0]
    message = f"{name} may be on a loop through negation, which ProbLog refuses"
    help = "write it as a program of dPASP's own, where #semantics says what such loops mean"
    raise context.refuse(rule.at, message, help)


def _on_negative_loops(edges: Sequence[_Needs]) -> set[Hashable]:
    """The nodes of all components with a negative edge inside."""
    numbers = {node: i for i, node in enumerate(dict.fromkeys(n for e in edges for n in e[:2]))}
    below: list[list[int]] = [[] for _ in numbers]
    for edge in edges:
        below[numbers[edge.above]].append(numbers[edge.below])
    component, _ = components(below)
    part = {node: component[i] for node, i in numbers.items()}
    loops = {part[e.above] for e in edges if e.negative and part[e.above] == part[e.below]}
    return {node for node in numbers if part[node] in loops}


def _ground_edges(
    rules: Sequence[Rule],
    edges: Sequence[_Needs],
    looping: set[Hashable],
    asked: set[Predicate],
    names: PrologNames,
    context: Context,
) -> list[_Needs]:
    """The dependencies between the atoms of looping predicates, true or not."""
    from dpasp.program import loads

    name = context.predicate("needs", "atom")
    below = defaultdict(set)
    for edge in edges:
        below[edge.above].add(edge.below)
    needed = reachable(looping, below)
    lines = []
    for rule in rules:
        if predicate(rule.heads[0].atom) not in needed:
            continue
        body = _without_loops(rule.body, looping)
        heads = "; ".join(atom_text(head.atom, names) for head in rule.heads)
        certain = not rule.chooses and predicate(rule.heads[0].atom) not in looping
        lines.append(_line(heads if certain else f"{{{heads}}}", body, names))
        for head in rule.heads:
            above = atom_text(head.atom, names)
            for call in body_calls(rule.body) if predicate(head.atom) in looping else ():
                if predicate(call.atom) in looping:
                    text = f"{name}({above},{atom_text(call.atom, names)},{int(call.negative)})"
                    if predicate(head.atom) in asked:
                        left = rule.body
                    elif predicate(call.atom) in asked:
                        left = (*call.left, Literal(call.atom))
                    else:
                        left = call.left  # Prolog calls it whatever is to its right
                    lines.append(_line(text, _without_loops(left, looping), names))
    ground = loads("\n".join(lines)).ground(limits=TRIAL_LIMITS)
    found = [symbol.arguments for symbol in ground.atoms if symbol.name == name]
    return [_Needs(above, below, bool(sign.number)) for above, below, sign in found]


def _line(head: str, body: Sequence[Goal], names: PrologNames) -> str:
    goals = ", ".join(goal_text(goal, names) for goal in body)
    return f"{head} :- {goals}." if goals else f"{head}."


def _without_loops(body: Sequence[Goal], looping: set[Hashable]) -> list[Goal]:
    """The goals without negations and aggregates of looping predicates."""
    return [
        goal
        for goal in body
        if is_atom(goal)
        or not any(predicate(literal.atom) in looping for literal in goal_literals(goal))
    ]
