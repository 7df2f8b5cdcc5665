"""Rules as dPASP's text.

>>> from dpasp.dialects.prolog.terms import Compound, Number, Text, Variable
>>> names = PrologNames.of([Compound("Big one", (Variable("X"),)), Compound("New York")])
>>> atom_text(Compound("Big one", (Compound("New York"), Number("3"))), names)
'big_one("New York",3)'
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from dpasp.dataclass import dataclass
from dpasp.dialects.prolog.rules import (
    Aggregate,
    Goal,
    Head,
    Literal,
    Rule,
    goal_variables,
    is_atom,
    is_comparison,
    rule_terms,
    substituted,
)
from dpasp.dialects.prolog.terms import (
    Compound,
    Number,
    Operation,
    Term,
    Text,
    Variable,
    all_subterms,
)

NAME = re.compile(r"_*[a-z][A-Za-z0-9_']*")
VARIABLE = re.compile(r"_*[A-Z][A-Za-z0-9_']*")
TAKEN = {"not", "undef", "as", "with"}
WIDTH = 96
LEVELS = {"..": 0, "^": 1, "?": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "\\": 5, "**": 7}
UNARY = 6


@dataclass(frozen=True, slots=True)
class PrologNames:
    """What the names of Prolog that cannot be kept are called instead."""

    instead: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(terms: Iterable[Term]) -> PrologNames:
        """Names for all that occurs in some terms."""
        compounds = [t for term in terms for t in all_subterms(term) if isinstance(t, Compound)]
        used = {t.name for t in compounds}
        instead: dict[str, str] = {}
        for name in dict.fromkeys(t.name for t in compounds):
            if not is_name(name) and name not in instead and re.search(r"\w", name):
                instead[name] = unused_name(slug(name), used)
                used.add(instead[name])
        return PrologNames(instead)

    def functor(self, name: str) -> str:
        """What a predicate or a function is called."""
        return self.instead.get(name, name)

    def constant(self, name: str) -> str:
        """What a constant is called: a text where its name is not one of ours."""
        return name if is_name(name) else quoted(name)


def is_name(text: str) -> bool:
    """Whether a text is a name as it stands."""
    return NAME.fullmatch(text) is not None and text not in TAKEN


def slug(text: str) -> str:
    """A name made of a text: small letters, digits and underscores."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()
    return words if NAME.fullmatch(words) and words not in TAKEN else f"n_{words}"


def unused_name(name: str, used: Iterable[str]) -> str:
    """The name, or the name with the first number that makes it new."""
    taken, number, free = set(used), 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def quoted(text: str) -> str:
    """A text in double quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


# --- terms -----------------------------------------------------------------------------------


def term_text(term: Term, names: PrologNames, level: int = 0) -> str:
    """A term; in parentheses if it binds more loosely than its place needs."""
    match term:
        case Variable(name):
            return name
        case Number(text):
            return text
        case Text(value):
            return quoted(value)
        case Compound(name, ()):
            return name if name.startswith("#") else names.constant(name)
        case Compound("", args):  # a tuple
            return f"({','.join(term_text(arg, names) for arg in args)})"
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
    """A set of values, as an interval where they are one."""
    numbers = [int(value) for value in values if value.isdigit()]
    if len(numbers) == len(values) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{{{numbers[0]}..{numbers[-1]}}}"
    return f"{{{','.join(values)}}}"


def atom_text(term: Term, names: PrologNames) -> str:
    """An atom, whose name is that of a predicate."""
    if isinstance(term, Compound) and not term.args and not term.name.startswith("#"):
        return names.functor(term.name)
    return term_text(term, names)


# --- rules -----------------------------------------------------------------------------------


def written_literal(literal: Literal, names: PrologNames) -> str:
    """A literal of a body."""
    atom = literal.atom
    if is_comparison(atom):
        assert isinstance(atom, Compound)
        left, right = (term_text(arg, names) for arg in atom.args)
        text = f"{left} {atom.name} {right}"
    else:
        text = atom_text(atom, names)
    return f"not {text}" if literal.negative else text


def goal_text(goal: Goal, names: PrologNames) -> str:
    """A literal or an aggregate of a body."""
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
    """A head with what stands before it."""
    probability = "" if head.probability is None else term_text(head.probability, names)
    mark = "?" if head.learnable else ""
    before = f"{probability}{mark}"
    return f"{before}::{atom_text(head.atom, names)}" if before else atom_text(head.atom, names)


def rule_text(rule: Rule, names: PrologNames) -> str:
    """A rule, on several lines if it is long."""
    rule = _with_anonymous(rule)
    heads = "; ".join(written_head(head, names) for head in rule.heads)
    if rule.network is not None:
        heads += f" as @{rule.network.name}"
    if not rule.body:
        return f"{heads}."
    goals = [goal_text(goal, names) for goal in rule.body]
    line = f"{heads} :- {', '.join(goals)}."
    if len(line) <= WIDTH:
        return line
    return f"{heads} :-\n    " + ",\n    ".join(goals) + "."


def _with_anonymous(rule: Rule) -> Rule:
    """Variables of our own making (their names begin with ``#``) named, or ``_`` if they can.

    A variable of a choice must have a name, because it distinguishes the instances.
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
