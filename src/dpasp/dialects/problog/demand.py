"""Values that Prolog takes from the question, for rules that do not give them themselves.

``0.5::heads(N).`` and ``even(N) :- N > 1, M is N-2, even(M).`` hold for every N that somebody
asks about. Rules work from what is known, so the questions themselves become atoms:
``even_asked(10).`` and ``even_asked(M) :- even_asked(N), N > 1, M = N-2.``
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dpasp.dataclass import dataclass
from dpasp.dialects.problog.clauses import QuestionRule
from dpasp.dialects.problog.context import Context
from dpasp.dialects.prolog.rules import (
    Aggregate,
    Goal,
    Head,
    Literal,
    Rule,
    goal_variables,
    is_atom,
    is_comparison,
    predicate,
    rule_terms,
)
from dpasp.dialects.prolog.terms import (
    Compound,
    Operation,
    Term,
    Variable,
    all_subterms,
    subterms,
    variable_names,
)

PrologPredicate = tuple[str, int]


# --- which variables have values -----------------------------------------------------------------


def bound(goals: Sequence[Goal], known: Iterable[str] = ()) -> set[str]:
    """The variables to which some goals give values, beside those that have them."""
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
    assert isinstance(goal.atom, Compound)
    left, right = goal.atom.args
    if goal.atom.name != "=":
        return set()
    names: set[str] = set()
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Variable) and variable_names(other).keys() <= bound_names:
            names.add(side.name)
    return names


def unbound(rule: Rule) -> set[str]:
    """The variables of a rule that nothing gives values to."""
    wanted: set[str] = set()
    for head in rule.heads:
        terms = [head.atom] if head.probability is None else [head.atom, head.probability]
        wanted |= variable_names(*terms).keys()
    for goal in rule.body:
        if isinstance(goal, Literal):
            wanted |= {n for n in goal_variables(goal) if not _is_own(n, goal)}
        else:
            outside = {n for o in rule.body if o is not goal for n in goal_variables(o)} | wanted
            wanted |= goal_variables(goal).keys() & (outside | variable_names(goal.value).keys())
    return wanted - bound(rule.body)


def _is_own(name: str, goal: Literal) -> bool:
    """Whether a variable is printed as ``_`` under ``not``."""
    return goal.negative and name.startswith("#")


# --- recursion that builds ever larger terms -----------------------------------------------------


def depends(rules: Sequence[Rule]) -> dict[PrologPredicate, set[PrologPredicate]]:
    """For each predicate all those that it depends on, directly or not."""
    direct: defaultdict[PrologPredicate, set[PrologPredicate]] = defaultdict(set)
    for rule in rules:
        below = {predicate(literal.atom) for goal in rule.body for literal in goal_literals(goal)}
        for head in rule.heads:
            direct[predicate(head.atom)] |= below
    reach: dict[PrologPredicate, set[PrologPredicate]] = {}
    for start in list(direct):
        seen: set[PrologPredicate] = set()
        todo = [start]
        while todo:
            new = direct.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reach[start] = seen
    return reach


def goal_literals(goal: Goal) -> Iterator[Literal]:
    """The atoms in a goal, under ``not`` or not."""
    if isinstance(goal, Literal):
        if not is_comparison(goal.atom) and predicate(goal.atom)[0] != "#false":
            yield goal
        return
    for element in goal.elements:
        for literal in element.condition:
            yield from goal_literals(literal)


def grows(rule: Rule, reach: dict[PrologPredicate, set[PrologPredicate]]) -> bool:
    """Whether a rule may derive ever larger terms from its own predicate."""
    computed = {
        name
        for goal in rule.body
        if isinstance(goal, Literal) and is_comparison(goal.atom)
        and isinstance(goal.atom, Compound) and goal.atom.name == "="
        and any(isinstance(side, Operation) for side in goal.atom.args)
        for name in goal_variables(goal)
    }  # fmt: skip
    for head in rule.heads:
        assert isinstance(head.atom, Compound)
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
    """An atom that is asked for: by whom, and what is known before."""

    atom: Compound
    left: tuple[Goal, ...]
    caller: Rule | None


def calls(rules: Sequence[Rule], asks: Sequence[QuestionRule]) -> Iterator[Subgoal]:
    """Every place where an atom is asked for."""
    for ask in asks:
        assert isinstance(ask.literal.atom, Compound)
        yield Subgoal(ask.literal.atom, ask.body, None)
    bodies = [(rule, rule.body) for rule in rules] + [(None, ask.body) for ask in asks]
    for rule, body in bodies:
        for i, goal in enumerate(body):
            if isinstance(goal, Literal):
                for literal in goal_literals(goal):
                    assert isinstance(literal.atom, Compound)
                    yield Subgoal(literal.atom, body[:i], rule)
                continue
            for element in goal.elements:
                for j, literal in enumerate(element.condition):
                    for part in goal_literals(literal):
                        assert isinstance(part.atom, Compound)
                        yield Subgoal(part.atom, (*body[:i], *element.condition[:j]), rule)


class QuestionDemand:
    """Which predicates get their values from questions, and in which arguments."""

    def __init__(
        self, rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context
    ) -> None:
        self.rules, self.context = rules, context
        self.reach = depends(rules)
        self.calls = list(calls(rules, asks))
        self.growing = [rule for rule in rules if grows(rule, self.reach)]
        needing = [rule for rule in rules if unbound(rule)]
        self.served = {id(rule) for rule in [*needing, *self.growing]}
        self.group: dict[PrologPredicate, PrologPredicate] = {}
        for rule in [*needing, *self.growing]:
            first = predicate(rule.heads[0].atom)
            for head in rule.heads:
                self.group[predicate(head.atom)] = self.group.get(first, first)
        self.positions = self._positions()
        self.names = {
            leader: context.predicate("asked", leader[0])
            for leader in dict.fromkeys(self.group.values())
        }

    def _positions(self) -> dict[PrologPredicate, tuple[int, ...]]:
        """The arguments that every question gives, for each group."""
        positions = {leader: tuple(range(leader[1])) for leader in self.group.values()}
        asked = {self.group.get(predicate(call.atom)) for call in self.calls}
        positions |= {leader: () for leader in positions if leader not in asked}
        for rule in self.rules:
            if id(rule) in self.served:  # the heads of a choice are asked for together
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
        self, rule: Rule | None, positions: dict[PrologPredicate, tuple[int, ...]]
    ) -> set[str]:
        """The variables of a rule that are bound when it is called."""
        if rule is None or id(rule) not in self.served:
            return set()
        atom = rule.heads[0].atom
        assert isinstance(atom, Compound)
        places = positions[self.group[predicate(atom)]]
        return set(variable_names(*(atom.args[i] for i in places)))

    def asked(self, atom: Compound) -> Literal | None:
        """The atom that says that an atom is asked for; None if nothing is known of it."""
        leader = self.group[predicate(atom)]
        places = self.positions[leader]
        if not places:
            return None
        return Literal(Compound(self.names[leader], tuple(atom.args[i] for i in places)))

    def served_rules(self) -> dict[int, Rule]:
        """The rules that get an atom of the question into their bodies, by what they were."""
        served: dict[int, Rule] = {}
        for rule in self.rules:
            if id(rule) not in self.served:
                continue
            assert isinstance(rule.heads[0].atom, Compound)
            asked = self.asked(rule.heads[0].atom)
            new = rule if asked is None else replace(rule, body=(asked, *rule.body))
            if missing := unbound(new):
                raise self._refuse(rule, missing)
            served[id(rule)] = new
        return served

    def questions(self) -> list[Rule]:
        """The rules that say what is asked."""
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
        """Why an atom is asked for: what is known to its left."""
        first: tuple[Goal, ...] = ()
        if call.caller is not None and id(call.caller) in self.served:
            assert isinstance(call.caller.heads[0].atom, Compound)
            of_caller = self.asked(call.caller.heads[0].atom)
            first = () if of_caller is None else (of_caller,)
        positive = [g for g in call.left if not (isinstance(g, Literal) and g.negative)]
        group = predicate(call.atom)
        plain = [g for g in positive if not self._needs(g, group)]
        wanted = variable_names(asked).keys()
        goals = plain if wanted <= bound((*first, *plain)) else positive
        known = bound((*first, *goals))
        return (*first, *(g for g in goals if goal_variables(g).keys() <= known or is_atom(g)))

    def _needs(self, goal: Goal, asked: PrologPredicate) -> bool:
        """Whether a goal depends on the predicate that is asked for."""
        if isinstance(goal, Aggregate):
            return True
        return any(
            predicate(part.atom) == asked or asked in self.reach.get(predicate(part.atom), ())
            for part in goal_literals(goal)
        )

    def _refuse(self, rule: Rule, missing: set[str]) -> Exception:
        variables_of = [
            t for term in rule_terms(rule) for t in _variables(term) if t.name in missing
        ]
        shown = next((t for t in variables_of if t.at != (0, 0)), None)
        name = shown.name if shown is not None and not shown.name.startswith("#") else "_"
        return self.context.refuse(
            shown or rule.at,
            f"nothing gives values to {name}: Prolog gets them from whoever asks",
            "add a goal to the body that says which values there are, such as domain(X)",
        )


def _variables(term: Term) -> Iterator[Variable]:
    return (t for t in all_subterms(term) if isinstance(t, Variable))
