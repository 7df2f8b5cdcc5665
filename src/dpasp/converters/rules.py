"""Rules on their way from Prolog to dPASP, and as text.

Heads have probabilities, bodies are lists of literals and aggregates. Terms are Prolog's, without
whatever dPASP does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from dpasp.converters.prolog import (
    NO_SLICE,
    Compound,
    Number,
    Operation,
    Slice,
    Term,
    Text,
    Variable,
    all_subterms,
    substitute,
    variable_names,
)
from dpasp.dataclass import dataclass
from dpasp.ground.columns import plain_name

COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}
FALSE = Compound("#false")


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or a comparison in dPASP's notation, possibly negated.

    A ``numeric`` comparison is one where Prolog fails on anything but numbers.
    """

    atom: Compound
    negative: bool = False
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an aggregate: a tuple for each way to satisfy its condition."""

    terms: tuple[Term, ...]
    condition: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``value = #count{…}`` and the like.

    ``by_proof`` if Prolog counts every proof where we count once.
    """

    value: Term
    function: str
    elements: tuple[Element, ...]
    by_proof: bool = False
    at: Slice = NO_SLICE


Goal = Literal | Aggregate


@dataclass(frozen=True, slots=True)
class HeadNetwork:
    """The network behind a head, and its input variables."""

    name: str
    sees: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """An atom with its annotation: a probability, learnable or not."""

    atom: Compound
    probability: Term | None = None
    learnable: bool = False
    network: HeadNetwork | None = None
    keys: tuple[Term, ...] = ()  # one parameter for each of their values
    decided: bool = False  # by us, not by chance


@dataclass(frozen=True, slots=True)
class Rule:
    """A certain head, or several of which one is chosen, if the body holds."""

    heads: tuple[Head, ...]
    body: tuple[Goal, ...] = ()
    at: Slice = NO_SLICE

    @property
    def network(self) -> HeadNetwork | None:
        """The network behind its head, if any."""
        return self.heads[0].network if self.heads else None

    @property
    def chooses(self) -> bool:
        """Whether it is a choice, random or ours (one for each instance)."""
        return any(h.probability is not None or h.learnable or h.decided for h in self.heads)


def substituted_goal(goal: Goal, values: Mapping[str, Term]) -> Goal:
    """Replace variables of a goal by values."""
    if isinstance(goal, Literal):
        return replace(goal, atom=substitute(goal.atom, values))
    elements = tuple(
        Element(
            tuple(substitute(term, values) for term in element.terms),
            tuple(replace(lit, atom=substitute(lit.atom, values)) for lit in element.condition),
        )
        for element in goal.elements
    )
    return replace(goal, value=substitute(goal.value, values), elements=elements)


def substituted(rule: Rule, values: Mapping[str, Term]) -> Rule:
    """Replace variables of a rule by values."""
    if not values:
        return rule
    heads = tuple(
        replace(
            head,
            atom=substitute(head.atom, values),
            probability=head.probability and substitute(head.probability, values),
            keys=tuple(substitute(key, values) for key in head.keys),
        )
        for head in rule.heads
    )
    return replace(rule, heads=heads, body=tuple(substituted_goal(g, values) for g in rule.body))


def goal_terms(goal: Goal) -> Iterator[Term]:
    """The outermost terms of a goal."""
    if isinstance(goal, Literal):
        yield goal.atom
        return
    yield goal.value
    for element in goal.elements:
        yield from element.terms
        yield from (literal.atom for literal in element.condition)


def rule_terms(rule: Rule) -> Iterator[Term]:
    """The outermost terms of a rule."""
    for head in rule.heads:
        if head.probability is not None:
            yield head.probability
        yield from head.keys
        yield head.atom
    for goal in rule.body:
        yield from goal_terms(goal)


def is_comparison(atom: Compound) -> bool:
    """Whether a literal's atom is a comparison."""
    return atom.name in COMPARISONS and len(atom.args) == 2


def is_atom(goal: Goal) -> bool:
    """Whether a goal is a positive atom, which binds its variables."""
    return isinstance(goal, Literal) and not goal.negative and not is_comparison(goal.atom)


Predicate = tuple[str, int]  # name and arity
Argument = tuple[str, int, int]  # of a predicate: name, arity and position


def predicate(atom: Compound) -> Predicate:
    """The name and arity of an atom."""
    return atom.name, len(atom.args)


def arguments(atom: Compound) -> Iterator[tuple[Argument, Term]]:
    """The arguments of an atom and their positions."""
    for i, term in enumerate(atom.args):
        yield (atom.name, len(atom.args), i), term


def goal_variables(goal: Goal) -> dict[str, None]:
    """The names of the variables in a goal."""
    return variable_names(*goal_terms(goal))


NAME = re.compile(r"_*[a-z][A-Za-z0-9_']*")
VARIABLE = re.compile(r"_*[A-Z][A-Za-z0-9_']*")
TAKEN = {"not", "undef", "as", "with"}
WIDTH = 96
LEVELS = {"..": 0, "^": 1, "?": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "\\": 5, "**": 7}
UNARY = 6


@dataclass(frozen=True, slots=True)
class PrologNames:
    """New names for those that dPASP does not allow."""

    instead: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(terms: Iterable[Term]) -> PrologNames:
        """Rename what has to be renamed in some terms."""
        compounds = [t for term in terms for t in all_subterms(term) if isinstance(t, Compound)]
        used = {t.name for t in compounds}
        instead: dict[str, str] = {}
        for name in dict.fromkeys(t.name for t in compounds):
            if not is_name(name) and name not in instead and re.search(r"\w", name):
                instead[name] = unused_name(slug(name), used)
                used.add(instead[name])
        return PrologNames(instead)

    def functor(self, name: str) -> str:
        """The name of a predicate or function."""
        return self.instead.get(name, name)

    def constant(self, name: str) -> str:
        """The name of a constant; a string if the name is not allowed."""
        return name if is_name(name) else quoted(name)


def is_name(text: str) -> bool:
    """Whether a text is a valid name."""
    return NAME.fullmatch(text) is not None and text not in TAKEN


def slug(text: str) -> str:
    """A valid name made from any text."""
    words = plain_name(text)
    return words if NAME.fullmatch(words) and words not in TAKEN else f"n_{words}"


def unused_name(name: str, used: Iterable[str]) -> str:
    """The name, with a number appended if it is in use."""
    taken, number, free = set(used), 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def quoted(text: str) -> str:
    """A string literal."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


# --- text of terms ---------------------------------------------------------------------------


def term_text(term: Term, names: PrologNames, level: int = 0) -> str:
    """A term, in parentheses if it binds less tightly than ``level``."""
    match term:
        case Variable(name):
            return name
        case Number(text):
            return text
        case Text(value):
            return quoted(value)
        case Compound(name, ()) if name:
            return name if name.startswith("#") else names.constant(name)
        case Compound("", args):  # a tuple
            inner = ",".join(term_text(arg, names) for arg in args)
            return f"({inner},)" if len(args) == 1 else f"({inner})"
        case Compound(name, args):
            inner = ",".join(term_text(arg, names) for arg in args)
            return f"{names.functor(name)}({inner})"
        case Operation(name, args):
            return _operation(name, args, names, level)
    raise AssertionError(term)


def _operation(name: str, args: tuple[Term, ...], names: PrologNames, level: int) -> str:
    if name == "pool":
        return f"({';'.join(term_text(arg, names) for arg in args)})"
    if name == "set":
        return values_text([term_text(arg, names) for arg in args])
    if name == "abs":
        return f"|{term_text(args[0], names)}|"
    if len(args) == 1:
        text, strength = f"{name}{term_text(args[0], names, UNARY + 1)}", UNARY
    else:
        strength = LEVELS[name]
        left, right = (strength + 1, strength) if name == "**" else (strength, strength + 1)
        space = "" if name == ".." or strength > 4 else " "
        left_text = term_text(args[0], names, left)
        text = f"{left_text}{space}{name}{space}{term_text(args[1], names, right)}"
    return f"({text})" if strength < level else text


def values_text(values: Sequence[str]) -> str:
    """A set of values, written as an interval if they form one."""
    numbers = [int(value) for value in values if value.isdigit()]
    if len(numbers) == len(values) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{{{numbers[0]}..{numbers[-1]}}}"
    return f"{{{','.join(values)}}}"


def atom_text(term: Term, names: PrologNames) -> str:
    """An atom."""
    if isinstance(term, Compound) and not term.args and not term.name.startswith("#"):
        return names.functor(term.name)
    return term_text(term, names)


# --- text of rules ---------------------------------------------------------------------------


def written_literal(literal: Literal, names: PrologNames) -> str:
    """A literal in a body."""
    atom = literal.atom
    if is_comparison(atom):
        left, right = (term_text(arg, names) for arg in atom.args)
        text = f"{left} {atom.name} {right}"
    else:
        text = atom_text(atom, names)
    return f"not {text}" if literal.negative else text


def goal_text(goal: Goal, names: PrologNames) -> str:
    """A literal or an aggregate in a body."""
    if isinstance(goal, Literal):
        return written_literal(goal, names)
    return _aggregate(goal, names)


def _aggregate(goal: Aggregate, names: PrologNames) -> str:
    elements = [
        f"{','.join(term_text(term, names) for term in element.terms)} : "
        f"{', '.join(written_literal(literal, names) for literal in element.condition)}"
        if element.condition
        else ",".join(term_text(term, names) for term in element.terms)
        for element in goal.elements
    ]
    return f"{term_text(goal.value, names)} = #{goal.function}{{{'; '.join(elements)}}}"


def written_head(head: Head, names: PrologNames) -> str:
    """A head with its annotation."""
    probability = "" if head.probability is None else term_text(head.probability, names)
    mark = "?" if head.learnable else ""
    if head.keys:
        mark = f"?({','.join(term_text(key, names) for key in head.keys)})"
    before = f"{probability}{mark}"
    return f"{before}::{atom_text(head.atom, names)}" if before else atom_text(head.atom, names)


def rule_text(rule: Rule, names: PrologNames) -> str:
    """A rule, on several lines if it is long."""
    rule = _with_anonymous(rule)
    heads = "; ".join(written_head(head, names) for head in rule.heads)
    if rule.network is not None:
        heads += f" as @{rule.network.name}"
    if any(head.decided for head in rule.heads):
        heads = f"#decision {{{heads}}}" + (" 1" if len(rule.heads) > 1 else "")
    if not rule.body:
        return f"{heads}."
    goals = [goal_text(goal, names) for goal in rule.body]
    line = f"{heads} :- {', '.join(goals)}."
    if len(line) <= WIDTH:
        return line
    return f"{heads} :-\n    " + ",\n    ".join(goals) + "."


def _with_anonymous(rule: Rule) -> Rule:
    """Name the variables we made (``#1``), or write ``_`` where possible.

    A variable that distinguishes the instances of a choice needs a name.
    """
    times = Counter(
        t.name for term in rule_terms(rule) for t in all_subterms(term) if isinstance(t, Variable)
    )
    telling = {
        name
        for goal in rule.body
        if rule.chooses and is_atom(goal)
        for name in goal_variables(goal)
    }
    used, values = set(times), dict[str, Term]()
    for name in times:
        if VARIABLE.fullmatch(name):
            continue
        if name.startswith("#") and times[name] == 1 and name not in telling:
            values[name] = Variable("_")
            continue
        hint = re.sub(r"[^A-Za-z0-9_]", "", name.lstrip("#_"))
        hint = hint[0].upper() + hint[1:] if hint[:1].isalpha() else "Any"
        fresh = unused_name(hint, used)
        used.add(fresh)
        values[name] = Variable(fresh)
    return substituted(rule, values)
