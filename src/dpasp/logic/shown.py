"""What a program shows of its models: ``#show``, as in clingo.

A term may be shown where a condition holds (``#show a(X) : c(X).``), whether or not there is an
atom of that name. Where an atom of that name is shown, too, both are the same word of the output:
it is shown where the condition holds or the atom is true.

>>> from dpasp.language import parse
>>> shown = shown_by(parse("a. b(1..2). #show b/1. #show f(X) : b(X)."))
>>> shown.names({"a": True, "b(1)": True, "b(2)": False, f"{shown.marker}(f(1))": True})
['b(1)', 'f(1)']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from clingo import Symbol, SymbolType, parse_term
from clingo.ast import AST, ASTType, Function, Literal, Sign, SymbolicAtom
from clingo.ast import Rule as RuleNode

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.logic.program import GroundLiteral, GroundProgram, GroundQuery, Rule

SignedName = tuple[str, int, bool]  # a name, how many arguments, and whether it is not negated


@dataclass(frozen=True, slots=True)
class Shown:
    """The program with rules for the terms that it shows, and which atoms it shows."""

    program: ast.Program
    marker: str  # the predicate of the terms that are shown
    signatures: frozenset[SignedName] | None  # None: all atoms

    def names(self, values: Mapping[str, object], wanted: object = True) -> list[str]:
        """What is shown of a model: the atoms and terms that have the wanted value."""
        texts: dict[str, set[object]] = {}
        for name, value in values.items():
            text = self.text(name)
            if text is not None:
                texts.setdefault(text, set()).add(value)
        order = (True, "undef", False)  # of an atom and a term of one name, the truer one counts
        return [
            text
            for text, found in texts.items()
            if next((value for value in order if value in found), None) == wanted
        ]

    def is_term(self, name: str) -> bool:
        """Whether an atom stands for a term that is shown."""
        return name.startswith(f"{self.marker}(")

    def text(self, name: str) -> str | None:
        """An atom as it is shown; None if it is not."""
        if self.is_term(name):
            return name.removeprefix(f"{self.marker}(").removesuffix(")")
        return name if self.signatures is None or _signature(name) in self.signatures else None


def shown_by(program: ast.Program) -> Shown:
    """What the ``#show`` statements of a program show."""
    marker = "shown_term"
    while program.sources.holds(marker):
        marker += "_"
    nodes = [s.node for s in program.statements if isinstance(s, ast.Plain)]
    signatures = {_of_statement(node) for node in nodes if _is_signature(node)}
    terms = tuple(
        ast.Plain(_rule(s.node, marker), s.span)
        for s in program.statements
        if isinstance(s, ast.Plain) and s.node.ast_type == ASTType.ShowTerm
    )
    if terms:
        program = replace(program, statements=(*program.statements, *terms))
    return Shown(program, marker, frozenset(signatures) if signatures else None)


def shown_atoms(ground: GroundProgram, shown: Shown) -> GroundProgram:
    """The ground program with a query for each atom and term that it shows, in place of its own.

    They come in clingo's order of terms, under the evidence of the program. A term that is also
    an atom is asked for once: there are rules that show it where the atom is true.
    """
    atoms, terms = dict[Symbol, int](), dict[Symbol, int]()
    for symbol, atom in ground.atoms.items():
        if shown.is_term(str(symbol)):
            terms[symbol.arguments[0]] = atom
        elif shown.text(str(symbol)) is not None:
            atoms[symbol] = atom
    both = [Rule((term,), (atoms[symbol],)) for symbol, term in terms.items() if symbol in atoms]
    queries = tuple(
        GroundQuery((GroundLiteral(Mode.TRUE, atom, symbol),), ground.evidence, str(symbol), None)
        for symbol, atom in sorted((atoms | terms).items())
    )
    return replace(ground, questions=queries, rules=(*ground.rules, *both))


def _is_signature(node: AST) -> bool:
    return bool(node.ast_type == ASTType.ShowSignature)


def _of_statement(node: AST) -> SignedName:
    return node.name, node.arity, bool(node.positive)


def _rule(node: AST, marker: str) -> AST:
    """``#show t : B.`` as ``marker(t) :- B.``"""
    place = node.location
    atom = SymbolicAtom(Function(place, marker, [node.term], 0))
    return RuleNode(place, Literal(place, Sign.NoSign, atom), node.body)


@cache
def _signature(name: str) -> SignedName:
    symbol: Symbol = parse_term(name)
    assert symbol.type == SymbolType.Function
    return symbol.name, len(symbol.arguments), symbol.positive
