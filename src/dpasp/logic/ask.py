"""The questions of a ground program, and warnings about atoms that cannot occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from clingo import Control, Symbol

from dpasp.errors import Diagnostic, Span
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.logic.messages import suggest
from dpasp.logic.program import GroundLiteral, GroundMap, GroundQuery
from dpasp.logic.questions import Asked, Question, QuestionMarkers, Told, asked
from dpasp.logic.terms import Signature

_CANDIDATES = 2_000  # how many atoms are compared with one that cannot occur
_UNDERIVED = "nothing derives it; `dpasp ground` shows what is derived"
_CONSEQUENCE = {
    Mode.TRUE: "so its probability is 0",
    Mode.FALSE: "so 'not' always holds for it",
    Mode.UNDEFINED: "so it is never undefined",
}

Instances = Sequence[Sequence[Told]]
Atoms = Mapping[Symbol, int]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions and the evidence of a ground program."""

    found: tuple[GroundQuery | GroundMap, ...]
    evidence: tuple[GroundLiteral, ...]
    warnings: tuple[Diagnostic, ...]


def ask(
    markers: QuestionMarkers, control: Control, program: ast.Program, atoms: Atoms
) -> Questions:
    """The instances of all questions of a program."""
    statements = [
        (statement, markers.read(control, index))
        for index, statement in enumerate(program.statements)
        if isinstance(statement, Question)
    ]
    evidence = _literals(
        (
            told
            for statement, instances in statements
            if isinstance(statement, ast.Evidence)
            for instance in instances
            for told in instance
        ),
        atoms,
    )
    found: list[GroundQuery | GroundMap] = []
    warnings: list[Diagnostic] = []
    for statement, instances in statements:
        warnings += _warnings(statement, instances, program, atoms)
        if isinstance(statement, ast.Query):
            found += (_query(instance, evidence, statement.span, atoms) for instance in instances)
        elif isinstance(statement, ast.Map):
            found.append(_map(statement, instances, evidence, atoms))
    return Questions(tuple(found), evidence, tuple(warnings))


def _literals(told: Iterable[Told], atoms: Atoms) -> tuple[GroundLiteral, ...]:
    """The literals, each once."""
    literals = (GroundLiteral(t.literal.mode, atoms.get(t.symbol, 0), t.symbol) for t in told)
    return tuple(dict.fromkeys(literals))


def _query(
    instance: Sequence[Told], evidence: tuple[GroundLiteral, ...], span: Span, atoms: Atoms
) -> GroundQuery:
    literals = _literals((told for told in instance if not told.literal.given), atoms)
    given = _literals((told for told in instance if told.literal.given), atoms)
    text = _text(map(str, literals), given)
    return GroundQuery(literals, tuple(dict.fromkeys((*given, *evidence))), text, span)


def _map(
    statement: ast.Map, instances: Instances, evidence: tuple[GroundLiteral, ...], atoms: Atoms
) -> GroundMap:
    """A map has all instances of its atoms and of its evidence at once."""
    told = [told for instance in instances for told in instance]
    marked = _literals((t for t in told if not t.literal.given), atoms)
    given = _literals((t for t in told if t.literal.given), atoms)
    everything = not statement.atoms
    words = ["mpe"] if everything else [f"{literal.symbol}?" for literal in marked]
    joined = tuple(dict.fromkeys((*given, *evidence)))
    return GroundMap(marked, joined, everything, _text(words, given), statement.span)


def _text(words: Iterable[str], given: Sequence[GroundLiteral]) -> str:
    """The canonical form of a question."""
    condition = f" | {', '.join(map(str, given))}" if given else ""
    return ", ".join(words) + condition


# --- warnings ----------------------------------------------------------------------------------


def _warnings(
    statement: Question, instances: Instances, program: ast.Program, atoms: Atoms
) -> Iterator[Diagnostic]:
    literals = asked(statement)
    if literals and not instances:
        message = "no atoms match this question, so it has no answers"
        known = filter(None, (_predicate_help(literal, atoms) for literal in literals))
        help = next(known, _UNDERIVED)
        yield Diagnostic("no-instances", message, statement.span, help, "warning")
    missing = {
        told.symbol: told.literal
        for instance in instances
        for told in instance
        if told.symbol not in atoms and told.literal.is_ground
    }
    for symbol, literal in missing.items():
        span = program.sources.span_of(literal.atom.symbol.location)
        yield _cannot_occur(symbol, literal, span, atoms)


def _cannot_occur(symbol: Symbol, literal: Asked, span: Span, atoms: Atoms) -> Diagnostic:
    consequence = _CONSEQUENCE[literal.mode]
    if literal.given and literal.mode is not Mode.FALSE:
        consequence = "so this evidence is impossible"
    message = f"{symbol} cannot occur, {consequence}"
    return Diagnostic("unknown-atom", message, span, _atom_help(symbol, atoms), "warning")


def _atom_help(symbol: Symbol, atoms: Atoms) -> str:
    """The atom that is closest to one that cannot occur."""
    shape = symbol.name, len(symbol.arguments), symbol.positive
    alike = (a for a in atoms if (a.name, len(a.arguments), a.positive) == shape)
    names = [str(atom) for atom in islice(alike, _CANDIDATES)]
    if names:
        close = get_close_matches(str(symbol), names, n=1, cutoff=0.0)
        return f"the closest atom that can is {close[0]}"
    sign = "" if symbol.positive else "-"
    return suggest(f"{sign}{symbol.name}", _signatures(atoms)) or _UNDERIVED


def _predicate_help(literal: Asked, atoms: Atoms) -> str:
    """What is known about the predicate of a literal that matches nothing."""
    name = str(literal.atom).partition("(")[0]
    known = _signatures(atoms)
    return suggest(name, known)


def _signatures(atoms: Atoms) -> set[Signature]:
    return {Signature(a.name, len(a.arguments), a.positive) for a in atoms}
