"""What is read of a ground program: its text, what ``#show`` shows, and what ``#name`` says.

In the text, a choice is one line even if it has several bodies, which are joined by ``or``. Atoms
without a name, which clingo adds for aggregates and the like, are written ``#7``.

A term may be shown if a condition holds (``#show a(X) : c(X).``), whether or not there is an atom
of that name. If there is one that is shown too, they are one name in the output, shown if the
condition holds or the atom is true.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> print(ground_text(ground(parse("d(1..2). 0.5::b :- d(X). c :- not b."))))
% 2 choices, 3 rules
0.5::b.
0.5::b.
d(1).
d(2).
c :- not b.
>>> shown = shown_by(parse("a. b(1..2). #show b/1. #show f(X) : b(X)."))
>>> shown.names({"a": True, "b(1)": True, "b(2)": False, f"{shown.marker}(f(1))": True})
['b(1)', 'f(1)']
>>> names = DisplayNames.of(parse('#name smokes(X): "{X} smokes".'))
>>> names.name(parse_term("smokes(anna)")), names.name(parse_term("rich(anna)"))
('anna smokes', 'rich(anna)')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from math import exp, inf

from clingo import Symbol, SymbolType, parse_term
from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.ground.program import (
    Choice,
    Decided,
    Factor,
    FixedFactor,
    FixedWeights,
    FromNetwork,
    GroundExpect,
    GroundLiteral,
    GroundMap,
    GroundProgram,
    GroundQuery,
    GroundTable,
    IntervalWeights,
    Learned,
    Present,
    Rule,
)
from dpasp.ground.terms import Signature, atom_literal, function, match, rule, split_atom
from dpasp.language import ast
from dpasp.language.ast import Mode, statement_text
from dpasp.language.text.clingo_text import variables
from dpasp.writing import counted, harmless

PRINTED = 30.0  # factors whose logarithms are within this are printed as numbers


def ground_text(ground: GroundProgram) -> str:
    """The program as text, always the same for the same program."""
    printer = _Printer(ground, atom_names(ground))
    bodies, rules = choice_bodies(ground)
    choices, plain = len(ground.choices), len(rules)
    lines = [f"% {counted(choices, 'choice')}, {counted(plain, 'rule')}"]
    lines += (printer.choice(choice, bodies) for choice in ground.choices)
    lines += map(printer.rule, rules)
    lines += map(printer.factor, ground.factors)
    lines += map(printer.table, ground.tables)
    lines += printer.questions()
    return harmless("\n".join(lines))


def choice_bodies(ground: GroundProgram) -> tuple[dict[int, list[tuple[int, ...]]], list[Rule]]:
    """By selector, the bodies under which its head holds; and the rules of no choice."""
    selectors = {selector for choice in ground.choices for selector in choice.selectors}
    bodies: dict[int, list[tuple[int, ...]]] = {}
    rules: list[Rule] = []
    for ground_rule in ground.rules:
        head, *rest = ground_rule.body or (0,)
        if head in selectors:
            bodies.setdefault(head, []).append(tuple(rest))
        else:
            rules.append(ground_rule)
    return bodies, rules


def atom_names(ground: GroundProgram) -> list[str]:
    return [
        f"#{atom}" if symbol is None else str(symbol) for atom, symbol in enumerate(ground.symbols)
    ]


@dataclass(frozen=True, slots=True)
class _Printer:
    """Prints the parts of a ground program."""

    ground: GroundProgram
    names: list[str]

    def literals(self, body: Iterable[int]) -> str:
        return ", ".join(map(self.literal, body))

    def literal(self, literal: int) -> str:
        return self.names[literal] if literal > 0 else f"not {self.names[-literal]}"

    def rule(self, rule: Rule) -> str:
        head = "; ".join(self.names[atom] for atom in rule.head)
        if rule.choice:
            head = f"{{{head}}}"
        body = self.literals(rule.body) if rule.weights is None else self.sum(rule)
        if not body and rule.head:
            return f"{head}."
        return f"{head} :- {body}.".lstrip()

    def sum(self, rule: Rule) -> str:
        weighted = zip(rule.weights or (), rule.body, strict=True)
        elements = "; ".join(
            f"{weight},{position}: {self.literal(literal)}"
            for position, (weight, literal) in enumerate(weighted)
        )
        return f"#sum{{{elements}}} >= {rule.bound}"

    def choice(self, choice: Choice, bodies: dict[int, list[tuple[int, ...]]]) -> str:
        weights = list(self.weights(choice))
        atoms = (self.names[head] for head in choice.heads)
        heads = "; ".join(f"{w}::{atom}" for w, atom in zip(weights, atoms, strict=True))
        network = self.network(choice)
        body = " or ".join(map(self.literals, bodies.get(choice.selectors[0], ())))
        return f"{heads}{network}{' :- ' if body else ''}{body}."

    def table(self, table: GroundTable) -> str:
        """A table as written: its atoms have no variables."""
        return statement_text(self.ground.program.statements[table.statement])

    def factor(self, factor: Factor) -> str:
        body = " or ".join(self.literals(body) or "#true" for body in factor.bodies)
        match factor.weight:
            case FixedFactor(log):
                near = abs(log) < PRINTED or log == -inf
                weight = f"{exp(log):.10g}" if near else f"exp({log:.10g})"
            case Learned(parameter):
                p = self.ground.parameters[parameter].initial[0]
                weight = f"{p / (1.0 - p):.10g}?"
            case FromNetwork(network, row):
                weight = (
                    f"{self.network_name(network)} of {self.ground.networks[network].rows[row]}"
                )
        return f"#factor {weight} : {body}."

    def weights(self, choice: Choice) -> Iterator[str]:
        match choice.weight:
            case FixedWeights(probabilities):
                yield from (f"{p:.10g}" for p in probabilities)
            case IntervalWeights(lower, upper):
                bounds = zip(lower, upper, strict=True)
                yield from (f"[{low:.10g}, {high:.10g}]" for low, high in bounds)
            case Learned(parameter):
                learned = self.ground.parameters[parameter]
                values = zip(learned.initial, learned.fixed, strict=True)
                yield from (f"{p:.10g}{'' if fixed else '?'}" for p, fixed in values)
            case FromNetwork(network):
                statement = self.ground.program.statements[self.ground.networks[network].statement]
                frozen = isinstance(statement, ast.Neural) and not statement.learnable
                yield from ("!" if frozen else "?" for _ in choice.heads)
            case Present():
                yield "data"
            case Decided():
                yield "decided"

    def network(self, choice: Choice) -> str:
        """The network behind a choice and the row that it is given."""
        if not isinstance(choice.weight, FromNetwork):
            return ""
        network = choice.weight.network
        row = self.ground.networks[network].rows[choice.weight.row]
        return f" as {self.network_name(network)} of {row}"

    def network_name(self, index: int) -> str:
        """``@net``."""
        statement = self.ground.program.statements[self.ground.networks[index].statement]
        network = statement.network if isinstance(statement, ast.Neural | ast.Factor) else None
        return f"@{network.factory.function}" if network else "@"

    def questions(self) -> Iterator[str]:
        if self.ground.evidence:
            yield f"#evidence {', '.join(map(str, self.ground.evidence))}."
        for question in self.ground.questions:
            if not isinstance(question, GroundMap):
                yield f"#query {question.text}."
            else:  # the text of #mpe says so itself
                yield f"#{'' if question.everything else 'map '}{question.text}."
        for value, literals, _ in self.ground.utilities:
            yield f"#utility {value:.10g} : {', '.join(map(str, literals))}."
        for valued in self.ground.worth:
            word = "#expect" if isinstance(valued, GroundExpect) else "#decide"
            yield f"{word} {valued.text}".rstrip() + "."


@dataclass(frozen=True, slots=True)
class Shown:
    """The program with rules for the terms that it shows, and which atoms it shows."""

    program: ast.Program
    marker: str  # the predicate of the terms that are shown
    signatures: frozenset[Signature] | None  # None: all atoms
    project: str = ""  # the predicate of the atoms that #project names with a condition
    projected: frozenset[Signature] | None = None  # None without #project
    only: frozenset[str] | None = None  # the atoms that #project keeps; None: all

    @property
    def hides(self) -> bool:
        """Whether some atoms are not shown."""
        return self.signatures is not None or self.only is not None

    def within(self, ground: GroundProgram) -> Shown:
        """What is shown of a ground program if ``#project`` counts."""
        if self.projected is None:
            return self
        names = [str(symbol) for symbol in ground.atoms]
        marked = {
            name.removeprefix(f"{self.project}(").removesuffix(")")
            for name in names
            if self.is_project(name)
        }
        only = {name for name in names if name in marked or _signature(name) in self.projected}
        return replace(self, only=frozenset(only))

    def names(self, values: Mapping[str, object], wanted: object = True) -> list[str]:
        """The shown atoms and terms of a model that have the wanted value."""
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

    def is_project(self, name: str) -> bool:
        """Whether an atom only marks that ``#project`` names another."""
        return bool(self.project) and name.startswith(f"{self.project}(")

    def text(self, name: str) -> str | None:
        """The text of an atom; None if it is not shown."""
        if self.is_project(name) or (self.only is not None and name not in self.only):
            return None
        if self.is_term(name):
            return name.removeprefix(f"{self.marker}(").removesuffix(")")
        return name if self.signatures is None or _signature(name) in self.signatures else None


def _fresh(program: ast.Program, name: str) -> str:
    """A name that the program does not have."""
    while program.sources.holds(name):
        name += "_"
    return name


def _signatures(program: ast.Program, kind: ASTType) -> frozenset[Signature]:
    """The predicates that ``#show p/1.`` or ``#project p/1.`` names."""
    return frozenset(
        Signature(s.node.name, s.node.arity, bool(s.node.positive))
        for s in program.statements
        if isinstance(s, ast.Plain) and s.fact is None and s.node.ast_type == kind
    )


def _with_terms(
    program: ast.Program, kind: ASTType, marker: str, symbol: Callable[[AST], AST]
) -> ast.Program:
    """The program with a rule for each statement of a kind, which marks its term."""
    rules = []
    for statement in program.statements:
        if not isinstance(statement, ast.Plain) or statement.fact is not None:
            continue
        node = statement.node
        if node.ast_type == kind:
            term, body = symbol(node), list(node.body)
            if kind == ASTType.ProjectAtom and next(variables(term), None) is not None:
                body.insert(0, atom_literal(term, node.location))
            head = function(marker, [term], node.location)
            rules.append(ast.Plain(rule(head, body, node.location), statement.span))
    if not rules:
        return program
    return replace(program, statements=(*program.statements, *rules))


def projected_by(program: ast.Program) -> Shown:
    """What the ``#show`` and ``#project`` statements of a program show of its models."""
    shown, marker = shown_by(program), _fresh(program, "projected_atom")
    signatures = _signatures(program, ASTType.ProjectSignature)
    whole = _with_terms(shown.program, ASTType.ProjectAtom, marker, lambda node: node.atom.symbol)
    if not signatures and whole is shown.program:
        return shown
    return replace(shown, program=whole, project=marker, projected=signatures)


def shown_by(program: ast.Program) -> Shown:
    """What the ``#show`` statements of a program show."""
    marker = _fresh(program, "shown_term")
    signatures = _signatures(program, ASTType.ShowSignature)
    whole = _with_terms(program, ASTType.ShowTerm, marker, lambda node: node.term)
    return Shown(whole, marker, signatures or None)


def shown_atoms(ground: GroundProgram, shown: Shown) -> GroundProgram:
    """The ground program with a query for each atom and term that it shows, in place of its own.

    They come in clingo's order of terms, with the program's evidence. A term that is also an atom
    is asked for once: rules show it if the atom is true.
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


@cache
def _signature(name: str) -> Signature:
    return Signature.of(parse_term(name))


@dataclass(frozen=True)
class DisplayNames:
    """The names that a program gives to its atoms; the first that fits is used."""

    names: Mapping[Signature, tuple[ast.Naming, ...]]

    @classmethod
    def of(cls, program: ast.Program) -> DisplayNames:
        names: dict[Signature, tuple[ast.Naming, ...]] = {}
        for statement in program.statements:
            if isinstance(statement, ast.Naming):
                signature, _ = split_atom(statement.atom)
                names[signature] = (*names.get(signature, ()), statement)
        return cls(names)

    def name(self, symbol: Symbol) -> str:
        """The name of an atom, or the atom itself without one."""
        for naming in self.names.get(Signature.of(symbol), ()):
            values = match(naming.atom, symbol, {})
            if values is not None:
                return naming.filled({name: _value_text(value) for name, value in values.items()})
        return str(symbol)


def _value_text(value: Symbol) -> str:
    return value.string if value.type == SymbolType.String else str(value)
