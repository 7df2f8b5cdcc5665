"""What is known while a program is translated: its text, its names, the rules made on the way."""

from __future__ import annotations

from dataclasses import field

from dpasp.dataclass import dataclass
from dpasp.dialects.prolog.rules import Rule
from dpasp.dialects.prolog.terms import Compound, Slice, Term, Variable, all_subterms
from dpasp.dialects.prolog.write import unused_name
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.source import SourceFile


@dataclass(slots=True)
class Context:
    """The program that is being translated."""

    source: SourceFile
    names: set[str]  # all that occur in it
    defined: set[tuple[str, int]]  # the predicates that it has clauses for
    negative: bool  # whether a number below 0 can come up
    made: list[Rule] = field(default_factory=list)  # rules that stand beside the one at work
    fresh: int = 0
    head: str = "rule"  # the name of the head at work

    def variable(self) -> Variable:
        """A variable that no other is."""
        self.fresh += 1
        return Variable(f"#{self.fresh}")

    def predicate(self, ending: str, base: str = "") -> str:
        """A name for a predicate of our own."""
        name = unused_name(f"{base or self.head}_{ending}", self.names)
        self.names.add(name)
        return name

    def refuse(self, what: Term | Slice, message: str, help: str = "") -> ProgramError:
        """The error that says what has no counterpart, and where."""
        start, end = what if isinstance(what, tuple) else what.at
        span = self.source.span(start, end)
        return ProgramError(Diagnostic("no-counterpart", message, span, help))


def names_in(terms: list[Term]) -> set[str]:
    """All names that occur in some terms."""
    return {t.name for term in terms for t in all_subterms(term) if isinstance(t, Compound)}
