"""The state of a translation, and the translation of single terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import overload

from dpasp.converters.prolog import (
    Compound,
    ListTerm,
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
from dpasp.converters.rules import Rule, unused_name
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text import SourceFile

Given = tuple[bool, ...]  # of a predicate: which arguments are bound in every call


@dataclass(slots=True)
class Context:
    """State of the translation of a program."""

    source: SourceFile
    names: set[str]  # in use
    defined: set[tuple[str, int]]  # predicates with clauses
    negative: bool  # whether negative numbers can occur
    plain: bool = True  # whether its names sort here as in Prolog
    libraries: frozenset[str] = frozenset()  # that it uses
    unknown_fails: bool = False  # whether a predicate without clauses just fails
    given: dict[tuple[str, int], Given] | None = None  # by every call; None: all
    calls: dict[tuple[str, int], Given] = field(default_factory=dict)  # seen so far
    others: frozenset[tuple[str, int]] = frozenset()  # defined without decision(…)
    learns: bool = False  # from examples, where a choice to learn is one for each head
    made: list[Rule] = field(default_factory=list)  # auxiliary rules of the current clause
    fresh: int = 0
    head: str = "rule"  # of the current clause
    chooses: bool = False  # whether the current clause has a probability
    unsure: frozenset[str] = frozenset()  # its variables that a call may leave unbound

    def variable(self) -> Variable:
        """A fresh variable."""
        self.fresh += 1
        return Variable(f"#{self.fresh}")

    def predicate(self, ending: str, base: str = "") -> str:
        """A fresh name for an auxiliary predicate."""
        name = unused_name(f"{base or self.head}_{ending}", self.names)
        self.names.add(name)
        return name

    def begin(self, heads: Iterable[Term], chooses: bool = False) -> set[str]:
        """Begin a clause with these heads; return the variables bound in every call."""
        self.chooses = chooses
        atoms = [head for head in heads if isinstance(head, Compound)]
        sure = [self._given_names(atom) for atom in atoms]
        known = set.intersection(*sure) if sure else set()
        self.head = atoms[0].name if atoms else "rule"
        self.unsure = frozenset(variable_names(*atoms)) - known
        return known

    def _given_names(self, head: Compound) -> set[str]:
        if self.given is None:
            return set(variable_names(head))
        given = self.given.get((head.name, len(head.args)), ())
        sure = [arg for arg, has_value in zip(head.args, given, strict=False) if has_value]
        return set(variable_names(*sure))

    def called(self, atom: Compound, known: Iterable[str]) -> None:
        """Record a call of an atom with these variables bound."""
        names, key = set(known), (atom.name, len(atom.args))
        given = tuple(variable_names(arg).keys() <= names for arg in atom.args)
        before = self.calls.get(key, given)
        self.calls[key] = tuple(a and b for a, b in zip(before, given, strict=True))

    def check_sure(self, goal: Term, known: Iterable[str]) -> None:
        """Refuse a goal whose meaning depends on whether a call binds a variable."""
        open_names = (variable_names(goal).keys() & self.unsure) - set(known)
        if open_names:
            name = next(n for n in variable_names(goal) if n in open_names)
            shown = "_" if name.startswith("#") else name
            message = f"what this means depends on whether {shown} has a value when it is called"
            help = f"bind it in a goal to the left, such as domain({shown})"
            raise self.refuse(goal, message, help)

    def refuse(self, what: Term | Slice, message: str, help: str = "") -> ProgramError:
        """An error about something without a counterpart."""
        start, end = what if isinstance(what, tuple) else what.at
        span = self.source.span(start, end)
        return ProgramError(Diagnostic("no-counterpart", message, span, help))


def names_in(terms: list[Term]) -> set[str]:
    """All names in some terms."""
    return {t.name for term in terms for t in all_subterms(term) if isinstance(t, Compound)}


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
        case Compound(name, (_, *_)) if not (name[0].isalpha() or name[0] == "_"):
            help = "Prolog keeps it as it is written; clingo would compute it"
            raise context.refuse(term, f"a term with the operator {name} has no counterpart", help)
        case Compound(name, args, at):
            return Compound(name, tuple(data(arg, context) for arg in args), at)
        case ListTerm():
            help = "say with a predicate what is in it, one fact for each item"
            raise context.refuse(term, "lists have no counterpart", help)
    return term


# --- unification --------------------------------------------------------------------------------


def unify(pairs: Iterable[tuple[Term, Term]]) -> dict[str, Term] | None:
    """The values of variables that make each pair equal; None if there are none."""
    values: dict[str, Term] = {}
    todo = list(pairs)
    while todo:
        left, right = (substitute(term, values) for term in todo.pop(0))
        if left == right:
            continue
        if isinstance(right, Variable) and (not isinstance(left, Variable) or "#" in right.name):
            left, right = right, left
        if isinstance(left, Variable):
            if left.name in variable_names(right):
                return None  # a term inside itself
            values = {name: substitute(t, {left.name: right}) for name, t in values.items()}
            values[left.name] = right
        elif (
            isinstance(left, Compound)
            and isinstance(right, Compound)
            and (left.name, len(left.args)) == (right.name, len(right.args))
        ):
            todo += zip(left.args, right.args, strict=True)
        else:
            return None
    return values
