"""Changes that need the whole program: real numbers in terms, and values from questions.

Real numbers that only become probabilities are scaled to integers: ``edge(a,b,0.25).`` with
``P::open(X,Y) :- edge(X,Y,P).`` becomes ``edge(a,b,25).`` with ``P/100::open(X,Y) :- edge(X,Y,P).``

``0.5::heads(N).`` and ``even(N) :- N > 1, M is N-2, even(M).`` hold for every N that a question
asks about. Grounding works bottom-up, so the questions themselves become atoms:
``even_asked(10).`` and ``even_asked(M) :- even_asked(N), N > 1, M = N-2.``
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import floor
from typing import TypeVar

from dpasp.converters.problog.clauses import QuestionRule
from dpasp.converters.problog.rules import (
    Aggregate,
    Argument,
    Context,
    Goal,
    Head,
    Literal,
    Predicate,
    Rule,
    arguments,
    goal_terms,
    goal_variables,
    is_atom,
    is_comparison,
    predicate,
    rule_terms,
)
from dpasp.converters.prolog import (
    Compound,
    Number,
    Operation,
    Term,
    Variable,
    all_subterms,
    substitute,
    subterms,
    variable_names,
)
from dpasp.dataclass import dataclass

# --- real numbers -------------------------------------------------------------------------------


def scaled(rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context) -> list[Rule]:
    """Scale real numbers in terms by the power of ten that makes all of them integers."""
    columns = _real_columns(rules)
    while True:
        wider = columns | {c for rule in rules for c in _spread(rule, columns)}
        if wider == columns:
            break
        columns = wider
    for ask in asks:
        _refuse_in_question(ask, columns, context)
    if columns:
        places = max(_places(arg) for rule in rules for c, arg in _columns(rule) if c in columns)
        for rule in rules:
            _refuse_arithmetic(rule, columns, context)
        rules = [_Scaled(rule, columns, 10**places).rule for rule in rules]
    whole = [replace(rule, body=tuple(map(_rounded, rule.body))) for rule in rules]
    _refuse_reals(whole, context)
    return whole


def _rounded(goal: Goal) -> Goal:
    """A comparison of an integer with a real number as one with an integer: X < 2.5 is X <= 2."""
    match goal:
        case Literal(Compound("<" | "<=" | ">" | ">=" as name, (left, right), at), numeric=True):
            is_most = name[0] == "<"
            if isinstance(left, Number) and not isinstance(right, Number):
                is_most, left, right = not is_most, right, left
            if isinstance(right, Number) and right.whole is None:
                below = floor(Decimal(right.text))
                sign, limit = ("<=", below) if is_most else (">=", below + 1)
                return replace(goal, atom=Compound(sign, (left, Number(str(limit), right.at)), at))
    return goal


def _atoms(rule: Rule) -> Iterator[Compound]:
    for head in rule.heads:
        yield head.atom
    for goal in rule.body:
        if isinstance(goal, Literal) and not is_comparison(goal.atom):
            yield goal.atom


def _columns(rule: Rule) -> Iterator[tuple[Argument, Term]]:
    for atom in _atoms(rule):
        yield from arguments(atom)


def _real_columns(rules: Sequence[Rule]) -> set[Argument]:
    return {
        column
        for rule in rules
        for column, arg in _columns(rule)
        if isinstance(arg, Number) and arg.is_real
    }


def _real_variables(rule: Rule, columns: set[Argument]) -> set[str]:
    """The variables of a rule whose values are real numbers."""
    return {arg.name for c, arg in _columns(rule) if c in columns and isinstance(arg, Variable)}


def _spread(rule: Rule, columns: set[Argument]) -> Iterator[Argument]:
    """The columns to which a rule passes a real number."""
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
    """A rule with scaled numbers."""

    def __init__(self, rule: Rule, columns: set[Argument], unit: int) -> None:
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
            left, right = goal.atom.args
            if any(isinstance(s, Variable) and s.name in self.real for s in (left, right)):
                sides = (self.number(left), self.number(right))
                return replace(goal, atom=replace(goal.atom, args=sides))
            return goal
        return replace(goal, atom=self.atom(goal.atom))

    def atom(self, atom: Compound) -> Compound:
        scaled = (self.number(a) if c in self.columns else a for c, a in arguments(atom))
        return replace(atom, args=tuple(scaled))

    def number(self, term: Term) -> Term:
        if not isinstance(term, Number):
            return term
        return Number(str(int(Decimal(term.text) * self.unit)), term.at)


def _refuse_in_question(ask: QuestionRule, columns: set[Argument], context: Context) -> None:
    """Refuse a question about a real number: it would show a scaled one."""
    for column, arg in _columns(Rule((Head(ask.literal.atom),), ask.body)):
        if column in columns or (isinstance(arg, Number) and arg.is_real):
            raise context.refuse(ask.at, "a question about a real number has no counterpart")


def _refuse_arithmetic(rule: Rule, columns: set[Argument], context: Context) -> None:
    real = _real_variables(rule, columns)
    terms = [t for goal in rule.body for outer in goal_terms(goal) for t in all_subterms(outer)]
    computed = any(isinstance(t, Operation) and real & variable_names(t).keys() for t in terms)
    gathered = any(_gathers(goal, columns) for goal in rule.body)
    if computed or gathered:
        help = "only probabilities are computed with real numbers"
        raise context.refuse(rule.at, "arithmetic on real numbers in terms", help)
    inner = [arg for atom in _atoms(rule) for arg in atom.args if not isinstance(arg, Variable)]
    if real & variable_names(*inner).keys():
        raise context.refuse(rule.at, "a real number inside another term has no counterpart")


def _gathers(goal: Goal, columns: set[Argument]) -> bool:
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


# --- which variables have values -----------------------------------------------------------------


def bound(goals: Sequence[Goal], known: Iterable[str] = ()) -> set[str]:
    """The variables that some goals bind, and those bound before."""
    names = set(known)
    for goal in goals:
        if is_atom(goal):
            names |= goal_variables(goal).keys()
    while True:
        before = len(names)
        for goal in goals:
            names |= _bound_after(goal, names, goals)
        if len(names) == before:
            return names


def _bound_after(goal: Goal, bound_names: set[str], goals: Sequence[Goal]) -> set[str]:
    if isinstance(goal, Aggregate):
        outside = {n for other in goals if other is not goal for n in goal_variables(other)}
        local = goal_variables(goal).keys() - variable_names(goal.value).keys()
        return set(variable_names(goal.value)) if local & outside <= bound_names else set()
    if goal.negative or not is_comparison(goal.atom):
        return set()
    left, right = goal.atom.args
    if goal.atom.name != "=":
        return set()
    names: set[str] = set()
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Variable) and variable_names(other).keys() <= bound_names:
            names.add(side.name)
    return names


def unbound(rule: Rule) -> set[str]:
    """The variables of a rule that nothing binds."""
    wanted: set[str] = set()
    for head in rule.heads:
        terms = [head.atom] if head.probability is None else [head.atom, head.probability]
        wanted |= variable_names(*terms).keys()
    for goal in rule.body:
        if isinstance(goal, Literal):
            # Under ``not``, a variable of ours is printed as ``_``.
            wanted |= {n for n in goal_variables(goal) if not (goal.negative and n[0] == "#")}
        else:
            outside = {n for o in rule.body if o is not goal for n in goal_variables(o)} | wanted
            wanted |= goal_variables(goal).keys() & (outside | variable_names(goal.value).keys())
    return wanted - bound(rule.body)


# --- recursion that builds ever larger terms -----------------------------------------------------


def depends(rules: Sequence[Rule]) -> dict[Predicate, set[Predicate]]:
    """For each predicate, all that it depends on, directly or indirectly."""
    direct: defaultdict[Predicate, set[Predicate]] = defaultdict(set)
    for rule in rules:
        below = {predicate(literal.atom) for goal in rule.body for literal in goal_literals(goal)}
        for head in rule.heads:
            direct[predicate(head.atom)] |= below
    return {start: reachable(direct[start], direct) for start in list(direct)}


Node = TypeVar("Node", bound=Hashable)


def reachable(start: Iterable[Node], below: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """All nodes that can be reached, including those to start from."""
    seen = set(start)
    todo = list(seen)
    while todo:
        new = set(below.get(todo.pop(), ())) - seen
        seen |= new
        todo += new
    return seen


def goal_literals(goal: Goal) -> Iterator[Literal]:
    """The atoms in a goal, negated or not."""
    if isinstance(goal, Literal):
        if not is_comparison(goal.atom) and predicate(goal.atom)[0] != "#false":
            yield goal
        return
    for element in goal.elements:
        for literal in element.condition:
            yield from goal_literals(literal)


def grows(rule: Rule, reach: dict[Predicate, set[Predicate]]) -> bool:
    """Whether a rule may derive ever larger terms from its own predicate."""
    computed = {
        name
        for goal in rule.body
        if isinstance(goal, Literal) and is_comparison(goal.atom)
        and goal.atom.name == "="
        and any(isinstance(side, Operation) for side in goal.atom.args)
        for name in goal_variables(goal)
    }  # fmt: skip
    for head in rule.heads:
        larger = any(
            (isinstance(arg, Compound) and variable_names(arg))
            or (isinstance(arg, Variable) and arg.name in computed)
            for arg in head.atom.args
        )
        defined = predicate(head.atom)
        recursive = any(
            defined in reach.get(predicate(literal.atom), ()) or predicate(literal.atom) == defined
            for goal in rule.body
            for literal in goal_literals(goal)
        )
        if larger and recursive:
            return True
    return False


# --- the questions as atoms ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subgoal:
    """A call: an atom in a body (or a question) and the goals to its left.

    Aggregation counts as negation.
    """

    atom: Compound
    left: tuple[Goal, ...]
    caller: Rule | None = None
    negative: bool = False


def calls(rules: Sequence[Rule], asks: Sequence[QuestionRule]) -> Iterator[Subgoal]:
    """All calls in a program."""
    for ask in asks:
        yield Subgoal(ask.literal.atom, ask.body, None)
    for rule in rules:
        yield from body_calls(rule.body, rule)
    for ask in asks:
        yield from body_calls(ask.body)


def body_calls(body: tuple[Goal, ...], caller: Rule | None = None) -> Iterator[Subgoal]:
    """The calls in a body."""
    for i, goal in enumerate(body):
        if isinstance(goal, Literal):
            places = [(goal, body[:i], goal.negative)]
        else:
            places = [
                (literal, (*body[:i], *element.condition[:j]), True)
                for element in goal.elements
                for j, literal in enumerate(element.condition)
            ]
        for literal, left, negative in places:
            for part in goal_literals(literal):
                yield Subgoal(part.atom, left, caller, negative)


class QuestionDemand:
    """The predicates whose arguments are bound by questions, and which arguments.

    With ``all_callers`` every rule says what it asks for that passes on arguments of its head to
    such a predicate, not only those without which a variable has no values.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        asks: Sequence[QuestionRule],
        context: Context,
        all_callers: bool = False,
    ) -> None:
        self.rules, self.context = rules, context
        self.reach = depends(rules)
        self.calls = list(calls(rules, asks))
        self.growing = [rule for rule in rules if grows(rule, self.reach)]
        self.names: dict[Predicate, str] = {}
        needing = [rule for rule in rules if unbound(rule)]
        self._serve([*needing, *self.growing])
        while callers := self._callers(needing, all_callers):  # they have to ask, too
            needing += callers
            self._serve([*needing, *self.growing])
        self.names = {
            leader: context.predicate("asked", leader[0])
            for leader in dict.fromkeys(self.group.values())
        }

    def _serve(self, rules: Sequence[Rule]) -> None:
        """Let these rules hold only for what is asked for."""
        self.served = {id(rule) for rule in rules}
        self.group: dict[Predicate, Predicate] = {}
        for rule in rules:
            first = predicate(rule.heads[0].atom)
            for head in rule.heads:
                self.group[predicate(head.atom)] = self.group.get(first, first)
        self.positions = self._positions()

    def _callers(self, needing: list[Rule], all_callers: bool) -> list[Rule]:
        """The rules that pass on an argument of their heads where a rule lacks it."""
        if not all_callers and not any(unbound(self._asked_rule(rule)) for rule in needing):
            return []
        found: dict[int, Rule] = {}
        for call in self.calls:
            leader = self.group.get(predicate(call.atom))
            if leader is None or call.caller is None or id(call.caller) in self.served:
                continue
            passed = variable_names(*(head.atom for head in call.caller.heads)).keys()
            lacks = variable_names(call.atom).keys() - bound(call.left)
            if lacks & passed and len(self.positions[leader]) < len(call.atom.args):
                found[id(call.caller)] = call.caller
        return list(found.values())

    def _asked_rule(self, rule: Rule) -> Rule:
        """A rule with the atom that says that it is asked for, if there is one."""
        asked = self.asked(rule.heads[0].atom)
        return rule if asked is None else replace(rule, body=(asked, *rule.body))

    def _positions(self) -> dict[Predicate, tuple[int, ...]]:
        """The argument positions that every call binds, for each group."""
        positions = {leader: tuple(range(leader[1])) for leader in self.group.values()}
        asked = {self.group.get(predicate(call.atom)) for call in self.calls}
        positions |= {leader: () for leader in positions if leader not in asked}
        for rule in self.rules:
            if id(rule) in self.served:  # the heads of a choice share a call
                leader = self.group[predicate(rule.heads[0].atom)]
                args = [subterms(head.atom) for head in rule.heads]
                same = [i for i in positions[leader] if len({arg[i : i + 1] for arg in args}) == 1]
                positions[leader] = tuple(same)
        while True:
            new = dict(positions)
            for call in self.calls:
                if predicate(call.atom) not in self.group:
                    continue
                leader = self.group[predicate(call.atom)]
                known = bound(call.left, self._from_question(call.caller, positions))
                new[leader] = tuple(
                    i
                    for i in new[leader]
                    if i < len(call.atom.args) and variable_names(call.atom.args[i]).keys() <= known
                )
            if new == positions:
                return positions
            positions = new

    def _from_question(
        self, rule: Rule | None, positions: dict[Predicate, tuple[int, ...]]
    ) -> set[str]:
        """The variables of a rule that are bound by a call."""
        if rule is None or id(rule) not in self.served:
            return set()
        atom = rule.heads[0].atom
        places = positions[self.group[predicate(atom)]]
        return set(variable_names(*(atom.args[i] for i in places)))

    def asked(self, atom: Compound) -> Literal | None:
        """The atom that says that another is asked for; None if no argument is bound."""
        leader = self.group[predicate(atom)]
        places = self.positions[leader]
        if not places:
            return None
        name = self.names.get(leader, "")
        return Literal(Compound(name, tuple(atom.args[i] for i in places)))

    def served_rules(self) -> dict[int, Rule]:
        """Rules with a question atom added to the body, by the identity of the original."""
        served: dict[int, Rule] = {}
        for rule in self.rules:
            if id(rule) not in self.served:
                continue
            new = self._asked_rule(rule)
            if missing := unbound(new):
                raise self._refuse(rule, missing)
            served[id(rule)] = new
        return served

    def questions(self) -> list[Rule]:
        """The rules that derive question atoms."""
        rules: dict[Rule, None] = {}
        for call in self.calls:
            if predicate(call.atom) not in self.group:
                continue
            head = self.asked(call.atom)
            if head is None:
                continue
            rule = Rule((Head(head.atom),), self._reason(call, head.atom))
            if head not in rule.body and not unbound(rule):
                rules[replace(rule, at=(0, 0))] = None
        return list(rules)

    def _reason(self, call: Subgoal, asked: Term) -> tuple[Goal, ...]:
        """The body of a question rule: what holds to the left of the call."""
        first: tuple[Goal, ...] = ()
        if call.caller is not None and id(call.caller) in self.served:
            of_caller = self.asked(call.caller.heads[0].atom)
            first = () if of_caller is None else (of_caller,)
        positive = [g for g in call.left if not (isinstance(g, Literal) and g.negative)]
        group = predicate(call.atom)
        plain = [g for g in positive if not self._needs(g, group)]
        wanted = variable_names(asked).keys()
        goals = plain if wanted <= bound((*first, *plain)) else positive
        known = bound((*first, *goals))
        return (*first, *(g for g in goals if goal_variables(g).keys() <= known or is_atom(g)))

    def _needs(self, goal: Goal, asked: Predicate) -> bool:
        """Whether a goal depends on the predicate in question."""
        if isinstance(goal, Aggregate):
            return True
        return any(
            predicate(part.atom) == asked or asked in self.reach.get(predicate(part.atom), ())
            for part in goal_literals(goal)
        )

    def _refuse(self, rule: Rule, missing: set[str]) -> Exception:
        variables_of = [
            t
            for term in rule_terms(rule)
            for t in all_subterms(term)
            if isinstance(t, Variable) and t.name in missing
        ]
        shown = next((t for t in variables_of if t.at != (0, 0)), None)
        name = shown.name if shown is not None and not shown.name.startswith("#") else "_"
        return self.context.refuse(
            shown or rule.at,
            f"nothing gives values to {name}: Prolog takes them from the query",
            "add a goal to the body that says which values there are, such as domain(X)",
        )
