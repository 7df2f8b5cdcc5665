"""Prolog's arithmetic as clingo's, on whole numbers.

Prolog divides exactly with ``/`` and rounds down with ``//``, ``div`` and ``mod``; clingo's
``/`` and ``\\`` round towards zero, which is the same for numbers that are not negative.
"""

from __future__ import annotations

from dpasp.dialects.problog.context import Context
from dpasp.dialects.prolog.terms import Compound, ListTerm, Number, Operation, Term, Text, Variable

BINARY = {
    **{name: name for name in ("+", "-", "*", "**")},
    "^": "**",
    "/\\": "&",
    "\\/": "?",
    "xor": "^",
}
REAL = {"+", "-", "*", "/", "**"}


def as_whole(term: Term, context: Context) -> Term:
    """An expression over whole numbers."""
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
    if context.negative:  # rounded down, as Prolog does
        sum = Operation("+", (remainder, right), at)
        remainder = Operation("\\", (sum, right), at)
    if name in ("mod", "rem"):
        return remainder
    if context.negative:
        left = Operation("-", (left, remainder), at)
    return Operation("/", (left, right), at)


def as_real(term: Term, context: Context) -> Term:
    """An expression for a probability, over real numbers."""
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


def data(term: Term, context: Context) -> Term:
    """A term that is not evaluated: Prolog's ``a-b`` is a pair, not a difference."""
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
