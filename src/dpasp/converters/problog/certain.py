"""Refuse rules that might mean something else here than in ProbLog.

ProbLog stops at arithmetic on anything but numbers and at loops through negation. The rules decide
whether that can happen; if in doubt, it can.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress

from dpasp.converters import TUNING
from dpasp.converters.problog.adapt import body_calls, calls
from dpasp.converters.problog.clauses import QuestionRule
from dpasp.converters.problog.rules import (
    Argument,
    Context,
    Head,
    Literal,
    Predicate,
    PrologNames,
    Rule,
    arguments,
    is_comparison,
    predicate,
    rule_text,
)
from dpasp.converters.prolog import (
    NO_SLICE,
    Compound,
    Number,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
    variable_names,
)
from dpasp.errors import LimitReached, ProgramError
from dpasp.limits import Limits
from dpasp.semantics.dependencies import components

TRIAL_LIMITS = Limits(
    TUNING.trial_seconds, TUNING.trial_megabytes
)  # for recursion that may not end

# --- what is a number ----------------------------------------------------------------------------


def check_numbers(rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context) -> None:
    """Refuse arithmetic and comparisons on something that may not be a whole number."""
    columns = _Columns(rules, asks)
    for rule in rules:
        for i, goal in enumerate(rule.body):
            if not goal.numeric:
                continue
            for term in all_subterms(goal.atom):
                if term is not goal.atom and columns.may_be_other(term, rule.body[:i], rule):
                    plain = isinstance(term, Variable) and term.name[0] != "#"
                    name = term.name if isinstance(term, Variable) and plain else "this"
                    message = f"{name} may not be a whole number: ProbLog might stop there"
                    help = "keep whole numbers and other values in different predicates"
                    at = goal.atom.at
                    raise context.refuse(at if at != NO_SLICE else rule.at, message, help)


class _Columns:
    """The arguments, in heads and in calls, that may be something else than a whole number."""

    def __init__(self, rules: Sequence[Rule], asks: Sequence[QuestionRule]) -> None:
        self.other: set[Argument] = set()
        made = [(call.atom, call.left, call.caller) for call in calls(rules, asks)]
        made += [(head.atom, rule.body, rule) for rule in rules for head in rule.heads]
        made += [
            (goal.atom, rule.body, rule)
            for rule in rules
            for goal in rule.body
            if is_comparison(goal.atom)
        ]
        before = -1
        while len(self.other) > before:
            before = len(self.other)
            for atom, goals, rule in made:
                self.other |= set(self._found(atom, goals, rule))

    def _found(
        self, atom: Compound, goals: Sequence[Literal], rule: Rule | None
    ) -> Iterator[Argument]:
        for part in all_subterms(atom):
            if isinstance(part, Compound) and not is_comparison(part):
                yield from (c for c, arg in arguments(part) if self.may_be_other(arg, goals, rule))

    def may_be_other(self, term: Term, goals: Sequence[Literal], rule: Rule | None) -> bool:
        """Whether a term may be something else than a whole number."""
        if not isinstance(term, Variable):
            return isinstance(term, Compound | Text)
        told = False
        for goal in goals:
            if term.name in _computed(goal):
                return False
            if goal.negative:
                continue
            match goal.atom:
                case Compound("=", (Variable(same), Operation("pool", values))):
                    others = [self.may_be_other(value, (), None) for value in values]
                    told |= same == term.name and any(others)
                    continue
            if is_comparison(goal.atom):
                continue
            for column in _columns_of(term, goal.atom):
                told = True
                if column not in self.other:
                    return False
        if told or rule is None:
            return told
        return any(c in self.other for head in rule.heads for c in _columns_of(term, head.atom))


def _columns_of(variable: Variable, atom: Compound) -> list[Argument]:
    """The arguments, of an atom or of the terms in it, that a variable is."""
    parts = (t for t in all_subterms(atom) if isinstance(t, Compound))
    return [column for part in parts for column, arg in arguments(part) if arg == variable]


def _computed(goal: Literal) -> set[str]:
    """The variables that a goal computes; their values are numbers."""
    if not goal.numeric or goal.atom.name != "=":
        return set()
    left, right = goal.atom.args
    return set() if isinstance(right, Variable) else set(variable_names(left))


# --- loops through negation ----------------------------------------------------------------------


def check_cycles(
    rules: Sequence[Rule],
    asked: set[Predicate],
    program: str,
    names: PrologNames,
    context: Context,
) -> None:
    """Refuse loops through negation, as ProbLog does.

    If there is one between predicates, the program is ground with an atom for each call, to see
    whether there is one between atoms too. ``asked`` are the predicates that say what is asked for.
    """
    edges = [
        (rule, head.atom, call)
        for rule in rules
        for head in rule.heads
        for call in body_calls(rule.body)
        if predicate(call.atom) not in asked
    ]
    looping = _on_negative_loops(
        [(predicate(above), predicate(call.atom), call.negative) for _, above, call in edges]
    )
    if not looping:
        return
    from dpasp.program import loads

    name = context.predicate("needs", "atom")
    lines = []
    for _, above, call in edges:
        if {predicate(above), predicate(call.atom)} <= looping:
            sign = Number(str(int(call.negative)))
            needs = Compound(name, (above, call.atom, sign))
            lines.append(rule_text(Rule((Head(needs),), call.left), names))
    with suppress(ProgramError, LimitReached):
        ground = loads("\n".join([program, *lines])).ground(limits=TRIAL_LIMITS)
        found = [symbol.arguments for symbol in ground.atoms if symbol.name == name]
        if not _on_negative_loops([(above, below, sign.number) for above, below, sign in found]):
            return
    on_loop = [rule for rule, above, _ in edges if predicate(above) in looping]
    theirs = (rule for rule in on_loop if predicate(rule.heads[0].atom) in context.defined)
    rule = next(theirs, on_loop[0])
    message = f"{rule.heads[0].atom.name} may be on a loop through negation, which ProbLog refuses"
    help = "write it as a program of dPASP's own, where #semantics says what such loops mean"
    raise context.refuse(rule.at, message, help)


def _on_negative_loops(edges: Sequence[tuple[Hashable, Hashable, object]]) -> set[Hashable]:
    """The nodes of all components with a negative edge (whose third part is true) inside."""
    numbers = {node: i for i, node in enumerate(dict.fromkeys(n for e in edges for n in e[:2]))}
    below: list[list[int]] = [[] for _ in numbers]
    for above, under, _ in edges:
        below[numbers[above]].append(numbers[under])
    component, _ = components(below)
    part = {node: component[i] for node, i in numbers.items()}
    loops = {part[above] for above, under, sign in edges if sign and part[above] == part[under]}
    return {node for node in numbers if part[node] in loops}
