"""Changes and checks that need the whole program.

Values that Prolog takes from questions are collected by rules.
``0.5::heads(N).`` and ``even(N) :- N > 1, M is N-2, even(M).`` hold for every N that a question
asks about. Grounding works bottom-up, so the questions themselves become atoms:
``even_asked(10).`` and ``even_asked(M) :- even_asked(N), N > 1, M = N-2.``

Programs that might not mean the same as in ProbLog are refused: ProbLog stops at arithmetic on
anything but numbers and at loops through negation. Whether that can happen is judged by the rules;
if in doubt, it can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from dpasp.converters import TUNING
from dpasp.converters.problog.clauses import QuestionRule
from dpasp.converters.problog.rules import (
    FALSE,
    Argument,
    Context,
    Head,
    Literal,
    Predicate,
    PrologNames,
    Rule,
    arguments,
    goal_variables,
    is_atom,
    is_comparison,
    predicate,
    rule_terms,
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
    subterms,
    variable_names,
)
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached, ProgramError
from dpasp.limits import Limits
from dpasp.semantics.dependencies import components

# For recursion that may not end.
TRIAL_LIMITS = Limits(TUNING.trial_seconds, TUNING.trial_megabytes)

# --- which variables have values -----------------------------------------------------------------


def bound(goals: Sequence[Literal], known: Iterable[str] = ()) -> set[str]:
    """The variables that some goals bind, and those bound before."""
    names = set(known)
    for goal in goals:
        if is_atom(goal):
            names |= goal_variables(goal).keys()
    while True:
        before = len(names)
        for goal in goals:
            if goal.atom.name == "=" and is_comparison(goal.atom) and not goal.negative:
                left, right = goal.atom.args
                for side, other in ((left, right), (right, left)):
                    if isinstance(side, Variable) and variable_names(other).keys() <= names:
                        names.add(side.name)
        if len(names) == before:
            return names


def unbound(rule: Rule) -> set[str]:
    """The variables of a rule that nothing binds."""
    wanted: set[str] = set()
    for head in rule.heads:
        terms = [head.atom] if head.probability is None else [head.atom, head.probability]
        wanted |= variable_names(*terms).keys()
    for goal in rule.body:
        # Under ``not``, a variable of ours is printed as ``_``.
        wanted |= {n for n in goal_variables(goal) if not (goal.negative and n[0] == "#")}
    return wanted - bound(rule.body)


# --- recursion that builds ever larger terms -----------------------------------------------------


def depends(rules: Sequence[Rule]) -> dict[Predicate, set[Predicate]]:
    """For each predicate, all that it depends on, directly or indirectly."""
    direct: defaultdict[Predicate, set[Predicate]] = defaultdict(set)
    for rule in rules:
        below = {predicate(goal.atom) for goal in rule.body if calls_atom(goal)}
        for head in rule.heads:
            direct[predicate(head.atom)] |= below
    reached = {}
    for start, below in direct.items():
        seen, todo = set(below), list(below)
        while todo:
            new = direct.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reached[start] = seen
    return reached


def calls_atom(goal: Literal) -> bool:
    """Whether a goal is an atom, negated or not."""
    return not is_comparison(goal.atom) and goal.atom != FALSE


def grows(rule: Rule, reach: dict[Predicate, set[Predicate]]) -> bool:
    """Whether a rule may derive ever larger terms from its own predicate."""
    computed = {
        name
        for goal in rule.body
        if goal.atom.name == "=" and is_comparison(goal.atom)
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
            defined in reach.get(predicate(goal.atom), ()) or predicate(goal.atom) == defined
            for goal in rule.body
            if calls_atom(goal)
        )
        if larger and recursive:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Subgoal:
    """A call: an atom in a body (or a question) and the goals to its left."""

    atom: Compound
    left: tuple[Literal, ...]
    caller: Rule | None = None
    negative: bool = False


def calls(rules: Sequence[Rule], asks: Sequence[QuestionRule]) -> Iterator[Subgoal]:
    for ask in asks:
        yield Subgoal(ask.literal.atom, ask.body, None)
    for rule in rules:
        yield from body_calls(rule.body, rule)
    for ask in asks:
        yield from body_calls(ask.body)


def body_calls(body: tuple[Literal, ...], caller: Rule | None = None) -> Iterator[Subgoal]:
    for i, goal in enumerate(body):
        if calls_atom(goal):
            yield Subgoal(goal.atom, body[:i], caller, goal.negative)


# --- which arguments every call binds -------------------------------------------------------------

Given = dict[Predicate, tuple[bool, ...]]  # of each predicate that is called


def given_arguments(calls: Sequence[Subgoal]) -> Given:
    """The arguments of each predicate that are bound in every call."""
    given = {predicate(call.atom): (True,) * len(call.atom.args) for call in calls}
    while True:
        new = dict(given)
        for call in calls:
            heads = [head.atom for head in call.caller.heads] if call.caller else []
            known = bound(call.left, given_names(heads, given))
            args = zip(new[predicate(call.atom)], call.atom.args, strict=True)
            bindings = tuple(g and variable_names(arg).keys() <= known for g, arg in args)
            new[predicate(call.atom)] = bindings
        if new == given:
            return given
        given = new


def given_names(heads: Iterable[Compound], given: Given) -> set[str]:
    """The variables of a rule with these heads that every call of any of them binds."""
    each = []
    for atom in heads:
        bindings = given.get(predicate(atom), (False,) * len(atom.args))
        args = (arg for arg, is_bound in zip(atom.args, bindings, strict=True) if is_bound)
        each.append(set(variable_names(*args)))
    return set.intersection(*each) if each else set()


class QuestionDemand:
    """The predicates whose arguments are bound by questions, and which arguments.

    Those are predicates of rules in which a variable has no values or that build larger terms, and
    of the rules that pass on arguments of their heads to them.
    """

    def __init__(
        self, rules: Sequence[Rule], asks: Sequence[QuestionRule], context: Context
    ) -> None:
        self.rules, self.context = rules, context
        self.reach = depends(rules)
        self.calls = list(calls(rules, asks))
        self.given = given_arguments(self.calls)
        problems: dict[Diagnostic, None] = {}
        for heads, name, goal in context.relied:
            try:
                context.check_sure(goal, {name} - given_names(heads, self.given))
            except ProgramError as error:
                problems |= dict.fromkeys(error.diagnostics)
        if problems:
            raise ProgramError(problems)
        self.growing = [rule for rule in rules if grows(rule, self.reach)]
        self.names: dict[Predicate, str] = {}
        serving = [rule for rule in rules if unbound(rule)] + self.growing
        self._serve(serving)
        while callers := self._callers():  # they must ask as well
            serving += callers
            self._serve(serving)
        self.names = {
            leader: context.predicate("asked", leader[0])
            for leader in dict.fromkeys(self.group.values())
        }

    def _serve(self, rules: Sequence[Rule]) -> None:
        """Restrict these rules to what is asked for, by the arguments that all calls bind."""
        self.served = {id(rule) for rule in rules}
        self.group: dict[Predicate, Predicate] = {}
        for rule in rules:
            first = predicate(rule.heads[0].atom)
            for head in rule.heads:
                self.group[predicate(head.atom)] = self.group.get(first, first)
        self.positions: dict[Predicate, tuple[int, ...]] = {}
        for leader in self.group.values():
            called = [
                self.given[p] for p, of in self.group.items() if of == leader and p in self.given
            ]
            self.positions[leader] = tuple(
                i
                for i in range(leader[1] if called else 0)
                if all(g[i : i + 1] == (True,) for g in called)
            )
        for rule in rules:  # the heads of a choice share a call
            leader = self.group[predicate(rule.heads[0].atom)]
            args = [subterms(head.atom) for head in rule.heads]
            same = [i for i in self.positions[leader] if len({arg[i : i + 1] for arg in args}) == 1]
            self.positions[leader] = tuple(same)

    def _callers(self) -> list[Rule]:
        """The rules that pass on an argument of their heads where a rule asks for it."""
        found: dict[int, Rule] = {}
        for call in self.calls:
            if predicate(call.atom) not in self.group or call.caller is None:
                continue
            asked = self.asked(call.atom)
            lacks = asked is not None and not goal_variables(asked).keys() <= bound(call.left)
            if lacks and id(call.caller) not in self.served:
                found[id(call.caller)] = call.caller
        return list(found.values())

    def asked(self, atom: Compound) -> Literal | None:
        """The atom that asks for another; None if no argument is bound."""
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
            asked = self.asked(rule.heads[0].atom)
            new = rule if asked is None else replace(rule, body=(asked, *rule.body))
            if missing := unbound(new):
                raise self._refuse(rule, missing)
            served[id(rule)] = new
        return served

    def questions(self) -> list[Rule]:
        rules: dict[Rule, None] = {}
        for call in self.calls:
            if predicate(call.atom) not in self.group:
                continue
            head = self.asked(call.atom)
            if head is None:
                continue
            rule = Rule((Head(head.atom),), self._reason(call, head.atom))
            if head not in rule.body:
                if missing := unbound(rule):
                    raise self._refuse(call.caller or rule, missing)
                rules[rule] = None
        return list(rules)

    def _reason(self, call: Subgoal, asked: Term) -> tuple[Literal, ...]:
        """The body of a question rule: what holds to the left of the call."""
        first: tuple[Literal, ...] = ()
        if call.caller is not None and id(call.caller) in self.served:
            of_caller = self.asked(call.caller.heads[0].atom)
            first = () if of_caller is None else (of_caller,)
        positive = [goal for goal in call.left if not goal.negative]
        group = predicate(call.atom)
        plain = [g for g in positive if not self._needs(g, group)]
        wanted = variable_names(asked).keys()
        goals = plain if wanted <= bound((*first, *plain)) else positive
        known = bound((*first, *goals))
        return (*first, *(g for g in goals if goal_variables(g).keys() <= known or is_atom(g)))

    def _needs(self, goal: Literal, asked: Predicate) -> bool:
        """Whether a goal depends on the predicate in question."""
        called = predicate(goal.atom)
        return calls_atom(goal) and (called == asked or asked in self.reach.get(called, ()))

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
    """The arguments in heads and calls that may be something other than a whole number."""

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
        """Whether a term may be something other than a whole number."""
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
