"""Rules between Prolog and dPASP: their parts, the state of a translation, their text.

Heads have probabilities, bodies are lists of literals. Terms are Prolog's, without what dPASP
lacks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from dpasp.converters.prolog import (
    NO_SLICE,
    Compound,
    Number,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
    substitute,
    variable_names,
)
from dpasp.converters.text import Slice, is_name, quoted, slug, unused_name, values_text
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.language.text import SourceFile

SEMANTICS = "#semantics wellfounded, maxent."
COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}
FALSE = Compound("#false")


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom or a comparison in dPASP's notation, possibly negated."""

    atom: Compound
    negative: bool = False
    numeric: bool = False  # whether Prolog fails here on anything but numbers


@dataclass(frozen=True, slots=True)
class HeadNetwork:
    """The network behind a head, and its input variables."""

    name: str
    sees: tuple[Term, ...]

    @property
    def input(self) -> str:
        """The predicate of its inputs."""
        return f"{self.name}_input"


@dataclass(frozen=True, slots=True)
class Head:
    """An atom with its annotation: a probability, learnable or not."""

    atom: Compound
    probability: Term | None = None
    learnable: bool = False
    network: HeadNetwork | None = None
    keys: tuple[Term, ...] = ()  # one parameter for each of their values
    decided: bool = False  # whether we decide, not chance


@dataclass(frozen=True, slots=True)
class Rule:
    """A certain head, or several of which one is chosen, if the body holds."""

    heads: tuple[Head, ...]
    body: tuple[Literal, ...] = ()
    at: Slice = NO_SLICE

    @property
    def network(self) -> HeadNetwork | None:
        return self.heads[0].network if self.heads else None

    @property
    def chooses(self) -> bool:
        """Whether it is a choice (one for each instance), random or decided."""
        return any(h.probability is not None or h.learnable or h.decided for h in self.heads)


def substituted_goal(goal: Literal, values: Mapping[str, Term]) -> Literal:
    return replace(goal, atom=substitute(goal.atom, values))


def substituted(rule: Rule, values: Mapping[str, Term]) -> Rule:
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


def rule_terms(rule: Rule) -> Iterator[Term]:
    """The outermost terms of a rule."""
    for head in rule.heads:
        if head.probability is not None:
            yield head.probability
        yield from head.keys
        yield head.atom
    yield from (goal.atom for goal in rule.body)


def is_word(name: str) -> bool:
    """Whether a name is a word, not an operator."""
    return name[0].isalpha() or name[0] == "_"


def is_comparison(atom: Compound) -> bool:
    return atom.name in COMPARISONS and len(atom.args) == 2


def is_atom(goal: Literal) -> bool:
    """Whether a goal is a positive atom, which binds its variables."""
    return not goal.negative and not is_comparison(goal.atom)


Predicate = tuple[str, int]  # name and arity
Argument = tuple[str, int, int]  # of a predicate: name, arity and position


def predicate(atom: Compound) -> Predicate:
    return atom.name, len(atom.args)


def arguments(atom: Compound) -> Iterator[tuple[Argument, Term]]:
    for i, term in enumerate(atom.args):
        yield (atom.name, len(atom.args), i), term


def goal_variables(goal: Literal) -> dict[str, None]:
    return variable_names(goal.atom)


# --- the state of a translation ------------------------------------------------------------------

CALLED = "?"  # marks a variable that only the call gives a value


@dataclass(slots=True)
class Context:
    source: SourceFile
    names: set[str]  # in use
    defined: set[tuple[str, int]]  # predicates with clauses
    negative: bool  # whether negative numbers can occur
    cons: str  # the name of a list with an item and a rest; empty if there are no lists
    nil: str  # the empty list
    libraries: frozenset[str] = frozenset()  # that it uses
    unknown_fails: bool = False  # whether a predicate without clauses just fails
    others: frozenset[tuple[str, int]] = frozenset()  # defined without decision(…)
    deep: bool = False  # whether it is DeepProbLog's
    learns: bool = False  # from examples, where a choice to learn is one for each head
    made: list[Rule] = field(default_factory=list)  # auxiliary rules of the current clause
    fresh: int = 0
    head: str = "rule"  # of the current clause
    chooses: bool = False  # whether the current clause has a probability
    heads: tuple[Compound, ...] = ()  # of the current clause
    unsure: frozenset[str] = frozenset()  # its variables that only some of its heads have
    relied: list[tuple[tuple[Compound, ...], str, Term]] = field(default_factory=list)
    # ^ variables of heads that every call has to bind, and the goal that needs them

    def variable(self) -> Variable:
        self.fresh += 1
        return Variable(f"#{self.fresh}")

    def predicate(self, ending: str, base: str = "") -> str:
        """A fresh name for an auxiliary predicate."""
        name = unused_name(f"{base or self.head}_{ending}", self.names)
        self.names.add(name)
        return name

    def begin(self, heads: Iterable[Compound], chooses: bool = False) -> set[str]:
        """Begin a clause with these heads; return their variables, taken to be bound by calls."""
        self.chooses, self.heads = chooses, tuple(heads)
        each = [set(variable_names(atom)) for atom in self.heads]
        passed = set.intersection(*each) if each else set()
        self.unsure = frozenset(set().union(*each) - passed)
        self.head = self.heads[0].name if self.heads else "rule"
        return passed | {f"{CALLED}{name}" for name in passed}

    def rely(self, goal: Term, part: Term, known: Iterable[str]) -> None:
        """Record variables of a part of a goal that all calls must bind."""
        names = set(known)
        open_names = [name for name in variable_names(part) if f"{CALLED}{name}" in names]
        self.relied += [(self.heads, name, goal) for name in open_names]

    def check_sure(self, goal: Term, names: Iterable[str]) -> None:
        """Refuse a goal whose meaning depends on whether a call binds one of these variables."""
        if name := next(iter(names), ""):
            shown = "_" if name.startswith("#") else name
            message = f"what this means depends on whether {shown} has a value when it is called"
            help = f"bind it in a goal to the left, such as domain({shown})"
            raise self.refuse(goal, message, help)

    def refuse(self, what: Term | Slice, message: str, help: str = "") -> ProgramError:
        """An error about something without a counterpart."""
        start, end = what if isinstance(what, tuple) else what.at
        span = self.source.span(start, end)
        return ProgramError.at("no-counterpart", message, span, help)


# --- text of terms -------------------------------------------------------------------------------

VARIABLE = re.compile(r"_*[A-Z][A-Za-z0-9_']*")
WIDTH = 96
LEVELS = {"..": 0, "^": 1, "?": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "\\": 5, "**": 7}
UNARY = 6


class PrologNames:
    """Names for the predicates and functions of some terms: new ones for those not allowed here."""

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        compounds = [t for term in terms for t in all_subterms(term) if isinstance(t, Compound)]
        used = {t.name for t in compounds}
        self.instead: dict[str, str] = {}
        for name in dict.fromkeys(t.name for t in compounds):
            if not is_name(name) and re.search(r"\w", name):
                self.instead[name] = unused_name(slug(name), used)
                used.add(self.instead[name])

    def functor(self, name: str) -> str:
        """The name of a predicate or function."""
        return self.instead.get(name, name)


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
            return name if name.startswith("#") or is_name(name) else quoted(name)
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


def number_text(term: Term, names: PrologNames) -> str:
    """A number as a term; a real number that was unified is a string."""
    return term.value if isinstance(term, Text) else term_text(term, names)


def atom_text(term: Term, names: PrologNames) -> str:
    if isinstance(term, Compound) and not term.args and not term.name.startswith("#"):
        return names.functor(term.name)
    return term_text(term, names)


def goal_text(goal: Literal, names: PrologNames) -> str:
    atom = goal.atom
    if is_comparison(atom):
        left, right = (term_text(arg, names) for arg in atom.args)
        text = f"{left} {atom.name} {right}"
    else:
        text = atom_text(atom, names)
    return f"not {text}" if goal.negative else text


def _head_text(head: Head, names: PrologNames) -> str:
    before = "" if head.probability is None else number_text(head.probability, names)
    before += "?" if head.learnable else ""
    if head.keys:
        before += f"({','.join(term_text(key, names) for key in head.keys)})"
    return f"{before}::{atom_text(head.atom, names)}" if before else atom_text(head.atom, names)


def rule_text(rule: Rule, names: PrologNames) -> str:
    """A rule, on several lines if it is long."""
    rule = _with_anonymous(rule)
    heads = "; ".join(_head_text(head, names) for head in rule.heads)
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
