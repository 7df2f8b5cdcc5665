"""What is known while a program is translated: its text, its names, the rules made on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from dpasp.dataclass import dataclass
from dpasp.dialects.prolog.rules import Rule
from dpasp.dialects.prolog.terms import (
    Compound,
    Slice,
    Term,
    Variable,
    all_subterms,
    variable_names,
)
from dpasp.dialects.prolog.write import unused_name
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.source import SourceFile

Given = tuple[bool, ...]  # of a predicate: which of its arguments have values when it is called


@dataclass(slots=True)
class Context:
    """The program that is being translated."""

    source: SourceFile
    names: set[str]  # all that occur in it
    defined: set[tuple[str, int]]  # the predicates that it has clauses for
    negative: bool  # whether a number below 0 can come up
    plain: bool = True  # whether its names are ordered here as they are in Prolog
    libraries: frozenset[str] = frozenset()  # those that it uses
    unknown_fails: bool = False  # whether a predicate without clauses just fails
    given: dict[tuple[str, int], Given] | None = None  # by every call; None: take all as given
    calls: dict[tuple[str, int], Given] = field(default_factory=dict)  # as they were met
    made: list[Rule] = field(default_factory=list)  # rules that stand beside the one at work
    fresh: int = 0
    head: str = "rule"  # the name of the head at work
    chooses: bool = False  # whether it has a probability
    unsure: frozenset[str] = frozenset()  # its variables that a call may leave without a value

    def variable(self) -> Variable:
        """A variable that no other is."""
        self.fresh += 1
        return Variable(f"#{self.fresh}")

    def predicate(self, ending: str, base: str = "") -> str:
        """A name for a predicate of our own."""
        name = unused_name(f"{base or self.head}_{ending}", self.names)
        self.names.add(name)
        return name

    def begin(self, heads: Iterable[Term], chooses: bool = False) -> set[str]:
        """Begin a clause with these heads; return the variables that have values in every call."""
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
        """Note that an atom is called where these variables have values."""
        names, key = set(known), (atom.name, len(atom.args))
        given = tuple(variable_names(arg).keys() <= names for arg in atom.args)
        before = self.calls.get(key, given)
        self.calls[key] = tuple(a and b for a, b in zip(before, given, strict=True))

    def check_sure(self, goal: Term, known: Iterable[str]) -> None:
        """Refuse a goal whose meaning depends on what a call gives."""
        open_names = (variable_names(goal).keys() & self.unsure) - set(known)
        if open_names:
            name = next(n for n in variable_names(goal) if n in open_names)
            shown = "_" if name.startswith("#") else name
            message = f"what this means depends on whether {shown} has a value when it is called"
            help = f"bind it in a goal to the left, such as domain({shown})"
            raise self.refuse(goal, message, help)

    def refuse(self, what: Term | Slice, message: str, help: str = "") -> ProgramError:
        """The error that says what has no counterpart, and where."""
        start, end = what if isinstance(what, tuple) else what.at
        span = self.source.span(start, end)
        return ProgramError(Diagnostic("no-counterpart", message, span, help))


def names_in(terms: list[Term]) -> set[str]:
    """All names that occur in some terms."""
    return {t.name for term in terms for t in all_subterms(term) if isinstance(t, Compound)}
