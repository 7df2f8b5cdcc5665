"""ProbLog's clauses one by one: rules, questions and directives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dpasp.converters import TUNING
from dpasp.converters.problog.bodies import (
    BUILT_IN,
    Body,
    as_real,
    bodies,
    check_defined,
    data,
    shared_body,
)
from dpasp.converters.problog.deepproblog import network_head
from dpasp.converters.problog.rules import (
    FALSE,
    Context,
    Head,
    Literal,
    Rule,
    goal_variables,
    is_atom,
    is_word,
    predicate,
    substituted,
)
from dpasp.converters.prolog import (
    Compound,
    Number,
    Term,
    Variable,
    rebuilt,
    substitute,
    variable_names,
)
from dpasp.converters.text import Slice
from dpasp.dataclass import dataclass

NOT_ATOMS = ("query", "evidence", "true", "false", "fail")


@dataclass(frozen=True, slots=True)
class QuestionRule:
    """A query, evidence or a utility, for the instances given by its body."""

    kind: str
    literal: Literal
    body: tuple[Literal, ...]
    at: Slice
    value: Term | None = None  # of a utility


@dataclass(frozen=True, slots=True)
class Note:
    """A line kept as a comment, and why it is not needed."""

    at: Slice
    why: str


Made = Rule | QuestionRule | Note

# Directives that are not needed, and why.
LEFT_OUT = {
    "table": "rules always remember what they derived",
    "discontiguous": "the rules of a predicate may stand anywhere",
    "dynamic": "a predicate may have no rules",
    "style_check": "a setting of Prolog's",
    "set_prolog_flag": "a setting of Prolog's",
}
LIBRARIES = frozenset(
    "aggregate apply aproblog assert collect control cut db lists nlp4plp record scope".split()
) | {"string"}


def translate_clause(term: Term, at: Slice, context: Context) -> list[Made]:
    """Translate a clause; auxiliary rules come first."""
    context.made.clear()
    term = _apart(term, context)
    match term:
        case Compound(":-" | "?-", (goal,)):
            return [_directive(goal, at, context)]
        case Compound(":-", (head, body)):
            pass
        case _:
            head, body = term, Compound("true")
    match head:
        case Compound("query", (asked,)):
            return _asked("query", asked, body, at, context)
        case Compound("evidence", (asked,) | (asked, Compound("true", ()))):
            return _asked("evidence", asked, body, at, context)
        case Compound("evidence", (asked, Compound("false", ()))):
            return _asked("evidence", Compound("\\+", (asked,), asked.at), body, at, context)
        case Compound("evidence", (_, value)):
            raise context.refuse(value, "the value of evidence is true or false")
        case Compound("utility", (asked, worth)) | Compound("=>", (asked, worth)):
            return _asked("utility", asked, body, at, context, as_real(worth, context))
        case Compound("decision", (decided,)):  # which is ?::d if nothing else defines d
            if isinstance(decided, Compound) and predicate(decided) in context.others:
                message = "a decision that rules or chance make true, too"
                raise context.refuse(decided, message, "leave out its other rules")
            head = Compound("::", (Compound("?"), decided), at)
    rules = _rules(head, body, at, context)
    return [*context.made, *rules]


def head_predicates(term: Term) -> Iterator[tuple[str, int]]:
    if isinstance(term, Compound) and term.name == ":-":
        term = term.args[0] if len(term.args) == 2 else Number("0")
    for head in _disjuncts(term):
        if isinstance(head, Compound) and head.name == "::" and len(head.args) == 2:
            head = head.args[1]
        if isinstance(head, Compound) and (head.name, len(head.args)) == ("decision", 1):
            head = head.args[0]
        if isinstance(head, Compound):
            yield head.name, len(head.args)


def _apart(term: Term, context: Context) -> Term:
    """The clause with a fresh variable for every ``_``."""
    if isinstance(term, Variable) and term.name == "_":
        return replace(context.variable(), at=term.at)
    return rebuilt(term, lambda inner: _apart(inner, context))


def _directive(goal: Term, at: Slice, context: Context) -> Note:
    name = goal.name if isinstance(goal, Compound) else ""
    if name in LEFT_OUT:
        return Note(at, LEFT_OUT[name])
    if isinstance(goal, Compound) and name == "use_module" and goal.args:
        # calls without a counterpart are refused where they are
        if used_library(goal) in LIBRARIES:
            why = "its predicates are built in, or named where they have no counterpart"
            return Note(at, why)
        help = "define its predicates in this file, by facts for the values that are needed"
        raise context.refuse(goal, "the predicates of another file are not read here", help)
    if goal == Compound("unknown", (Compound("fail"),)):
        return Note(at, "a predicate without rules is false")
    if name in ("consult", "include", "ensure_loaded") or name == ".":
        help = 'convert that file as well, and write #include "FILE.plp".'
        raise context.refuse(goal, "another file is not read here", help)
    help = "a rule without a head is Prolog's command to run; write evidence(…) or a constraint"
    raise context.refuse(at, f"the directive {name or 'here'} has no counterpart", help)


def used_library(goal: Term) -> str:
    """The library that a directive loads; empty for other directives."""
    match goal:
        case Compound("use_module", (Compound("library", (Compound(name, ()),)), *_)):
            return name
    return ""


def _asked(
    kind: str, asked: Term, body: Term, at: Slice, context: Context, value: Term | None = None
) -> list[Made]:
    negative = False
    while isinstance(asked, Compound) and asked.name in ("\\+", "not") and len(asked.args) == 1:
        negative, asked = not negative, asked.args[0]
    plain = isinstance(asked, Compound) and is_word(asked.name)
    if not isinstance(asked, Compound) or not plain or asked.name in NOT_ATOMS:
        raise context.refuse(asked, f"the {kind} is not an atom")
    check_defined(asked, context)
    context.begin(())
    context.head = asked.name
    atom = data(asked, context)
    alternatives = bodies(body, (), context)
    made: list[Made] = [*context.made]
    for alternative in alternatives:
        literal = Literal(substitute(atom, alternative.values), negative)
        worth = None if value is None else substitute(value, alternative.values)
        made.append(QuestionRule(kind, literal, alternative.goals, at, worth))
    return made


def _rules(head: Term, body: Term, at: Slice, context: Context) -> list[Rule]:
    heads = tuple(_head(disjunct, context) for disjunct in _disjuncts(head))
    if len(heads) > 1 and any(
        disjunct.probability is None and not (disjunct.learnable or disjunct.decided)
        for disjunct in heads
    ):
        raise context.refuse(head, "a head without a probability beside others")
    if len({disjunct.decided for disjunct in heads}) > 1:
        raise context.refuse(head, "a decision beside a random choice")
    rule = Rule(heads, (), at)
    atoms = [disjunct.atom for disjunct in heads]
    alternatives = bodies(body, context.begin(atoms, rule.chooses), context)
    shown = set(variable_names(*atoms))
    if rule.chooses and any(_is_open(alternative, shown) for alternative in alternatives):
        message = "a variable in the body has no value: ProbLog refuses this choice"
        raise context.refuse(rule.at, message, "leave out the term that it is in")
    if rule.network is not None:
        sees = tuple(Literal(Compound(rule.network.input, (v,))) for v in rule.network.sees)
        alternatives = [
            replace(alternative, goals=(*sees, *alternative.goals)) for alternative in alternatives
        ]
    if not alternatives:
        return [replace(rule, body=(Literal(FALSE),))]
    if context.learns and _hides(rule, alternatives):
        shown_only = variable_names(*(t for head in heads for t in (head.atom, *head.keys)))
        alternatives = [Body((shared_body(alternatives, shown_only, context),), {})]
    if len(alternatives) > 1 and (rule.chooses or len(alternatives) > TUNING.split_rules):
        alternatives = [_joined(rule, alternatives, context)]
    made = [
        substituted(replace(rule, body=alternative.goals), alternative.values)
        for alternative in alternatives
    ]
    return [_with_probabilities(plain, context) for plain in made]


def _is_open(body: Body, known: set[str]) -> bool:
    """Whether a term that ``=`` makes has a variable that nothing else binds."""
    bound = known | body.bound
    for name, value in body.values.items():
        if name in bound:
            bound |= variable_names(value).keys()
    return not variable_names(*body.values.values()).keys() <= bound


def _joined(rule: Rule, alternatives: list[Body], context: Context) -> Body:
    """Join alternatives into one body, so that a choice stays a single choice."""
    wanted = variable_names(*(h.atom for h in rule.heads))
    wanted |= variable_names(*(h.probability for h in rule.heads if h.probability is not None))
    if rule.chooses:
        bound = [body.bound | body.values.keys() for body in alternatives]
        if set.union(*bound) != set.intersection(*bound):
            help = "put the alternatives in rules of their own, without a probability"
            message = "a variable has a value in one alternative only: ProbLog refuses this choice"
            raise context.refuse(rule.at, message, help)
        each = [
            dict.fromkeys(n for goal in body.goals for n in goal_variables(goal)) | body.values
            for body in alternatives
        ]
        wanted |= {name: None for name in each[0] if all(name in other for other in each)}
    return Body((shared_body(alternatives, wanted, context),), {})


def _hides(rule: Rule, alternatives: list[Body]) -> bool:
    """Whether a choice to learn has values in its body that are not in its heads."""
    shown = variable_names(*(t for head in rule.heads for t in (head.atom, *head.keys)))
    inside = {
        name
        for body in alternatives
        for goal in body.goals
        if is_atom(goal)
        for name in goal_variables(goal)
    }
    return any(head.learnable for head in rule.heads) and not inside <= shown.keys()


def _disjuncts(head: Term) -> Iterable[Term]:
    while isinstance(head, Compound) and head.name == ";" and len(head.args) == 2:
        yield head.args[0]
        head = head.args[1]
    yield head


def _head(term: Term, context: Context) -> Head:
    match term:
        case Compound("::", (Compound("nn") as network, atom)) if context.deep:
            return network_head(network, atom, context)
        case Compound("::", (Compound("?", ()), atom)):
            return Head(_atom(atom, context), decided=True)
        case Compound("::", (Compound("t", (start, *keys)), atom)):  # t(_)::a, t(0.3,X)::a(X)
            for key in keys:
                if not isinstance(key, Variable):
                    help = "write t(_,X)::a(X,Y) :- … for one parameter for each X"
                    raise context.refuse(key, "a parameter for each value of something else", help)
            initial = None if isinstance(start, Variable) else as_real(start, context)
            return Head(_atom(atom, context), initial, learnable=True, keys=tuple(keys))
        case Compound("::", (probability, atom)):
            return Head(_atom(atom, context), as_real(probability, context))
        case Compound("~", _):
            help = "only choices among finitely many values have probabilities here"
            raise context.refuse(term, "a continuous variable has no counterpart", help)
    return Head(_atom(term, context))


def _atom(term: Term, context: Context) -> Compound:
    if not isinstance(term, Compound):
        raise context.refuse(term, "this is not an atom, so it cannot be a head")
    if term.name in ("query", "evidence"):
        raise context.refuse(term, f"a {term.name} with a probability has no counterpart")
    if term.name in ("\\+", "not"):
        raise context.refuse(term, "a negated head has no counterpart")
    if f"{term.name}/{len(term.args)}" in BUILT_IN:
        help = "give it another name"
        raise context.refuse(term, f"{term.name}/{len(term.args)} is built in", help)
    return data(term, context)


def _with_probabilities(rule: Rule, context: Context) -> Rule:
    """Move ``P is 1/N`` into the probability P."""
    reals = {
        goal.atom.args[0].name: goal
        for goal in rule.body
        if goal.atom.name in ("is", "=")
        and len(goal.atom.args) == 2
        and isinstance(goal.atom.args[0], Variable)
    }
    wanted = variable_names(*(h.probability for h in rule.heads if h.probability is not None))
    for name, goal in reals.items():
        rest = tuple(other for other in rule.body if other is not goal)
        elsewhere = [n for other in rest for n in goal_variables(other)]
        elsewhere += [n for head in rule.heads for n in variable_names(head.atom)]
        if name in wanted and name not in elsewhere:
            value = as_real(goal.atom.args[1], context)
            heads = tuple(
                replace(h, probability=h.probability and substitute(h.probability, {name: value}))
                for h in rule.heads
            )
            rule = replace(rule, heads=heads, body=rest)
        elif goal.atom.name == "is":
            help = "for whole numbers write // in place of /; only probabilities are real numbers"
            raise context.refuse(goal.atom, "a real number in a term has no counterpart", help)
    return rule
