"""A program as clingo is given it: its own statements, and ours as markers.

>>> from dpasp.language import parse
>>> encoding = encode(parse("d(1..2). 0.5::b(X) :- d(X). #query b(X)."), {})
>>> print(encoding.choices.rules[-1])
{ _dpasp_choice0(1,X,X) } :- d(X).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field
from functools import partial

from clingo import Control
from clingo.ast import AST, ASTType, ProgramBuilder
from clingo.ast import Program as Part

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.language.statements.neural import data_names
from dpasp.logic.constants import const_statements, override, symbol_constants
from dpasp.logic.dry_run import DryRun
from dpasp.logic.edges import acyclic, edges_of
from dpasp.logic.markers import HIDDEN, ChoiceMarkers
from dpasp.logic.neural import NeuralMarkers, data_rules, external_names
from dpasp.logic.origins import RuleMarkers
from dpasp.logic.overflow import Careful
from dpasp.logic.questions import QuestionMarkers, QuestionStatement
from dpasp.logic.terms import NO_LOCATION

QUESTIONS = f"{HIDDEN}questions"  # what the program parts of questions are called

# What clingo is given. The rest says nothing about probabilities (#show, #project,
# #heuristic) or is dealt with elsewhere (#script).
_GIVEN = {ASTType.Rule, ASTType.Definition, ASTType.External, ASTType.Defined}


@dataclass(slots=True)
class Encoding:
    """All that clingo needs to know about a program, and how to read what it makes of it."""

    program: ast.Program
    plain: list[AST]
    choices: ChoiceMarkers
    neural: NeuralMarkers
    questions: QuestionMarkers = field(default_factory=QuestionMarkers)
    rules: RuleMarkers | None = None  # where the rules that atoms come from are to be known
    careful: Careful | None = None  # where integers may leave 32 bits

    def add_to(self, control: Control) -> None:
        """Give clingo the program; the questions become a part of their own."""
        control.add("base", [], self._lines())
        with ProgramBuilder(control) as builder:
            for node in self._base():
                builder.add(node)
            _add_questions(builder, self.questions)

    def dry_run(self, most: float) -> DryRun:
        """The same program for a clingo that only tries to ground it."""
        name = questions_part(self.questions)
        nodes = (*self._base(), Part(NO_LOCATION, name, []), *self.questions.rules)
        text = "\n".join((self._lines(), *map(str, nodes)))
        return DryRun(text, ("base", name), self.choices.facts, most)

    def _lines(self) -> str:
        return "\n".join(line.text for line in self.choices.lines)

    def _base(self) -> tuple[AST, ...]:
        return tuple(node for nodes in self._lists() for node in nodes)

    def _lists(self) -> list[list[AST]]:
        """The lists of nodes that encoded statements are added to."""
        marked = [] if self.rules is None else [self.rules.rules]
        return [self.plain, *marked, self.choices.rules, self.neural.rules]

    def add(self, index: int, encode: Callable[[], object]) -> None:
        """Have a statement encoded, and its rules rewritten where that is called for."""
        _add_carefully(index, encode, [*self._lists(), self.questions.rules], self.careful)


def questions_part(markers: QuestionMarkers) -> str:
    """The name of the program part that these questions are in."""
    return f"{QUESTIONS}{markers.round}"


def add_questions(control: Control, markers: QuestionMarkers) -> None:
    """Give clingo questions, as a program part of their own."""
    with ProgramBuilder(control) as builder:
        _add_questions(builder, markers)


def _add_questions(builder: ProgramBuilder, markers: QuestionMarkers) -> None:
    builder.add(Part(NO_LOCATION, questions_part(markers), []))
    for node in markers.rules:
        builder.add(node)


def encode_questions(careful: Careful, round: int) -> QuestionMarkers:
    """The questions of a program, apart from the rest of it."""
    markers = QuestionMarkers(round)
    for index, statement in enumerate(careful.program.statements):
        if isinstance(statement, QuestionStatement):
            add = partial(markers.add, index, statement)
            _add_carefully(index, add, [markers.rules], careful)
    return markers


def _add_carefully(
    index: int,
    encode: Callable[[], object],
    lists: Iterable[list[AST]],
    careful: Careful | None,
) -> None:
    """Encode a statement, which adds to some lists of rules, and rewrite what it adds."""
    if careful is None or index not in careful.statements:
        encode()
        return
    before = [(nodes, len(nodes)) for nodes in lists]
    encode()
    for nodes, count in before:
        nodes[count:] = map(careful.rewritten, nodes[count:])


def encode(
    program: ast.Program,
    constants: Mapping[str, str],
    *,
    origins: bool = False,
    careful: Careful | None = None,
) -> Encoding:
    """Encode a program, with these values for its constants.

    With ``origins``, every instance of a rule has a marker. ``careful`` rewrites the rules of
    some statements.
    """
    overriding = override(program, constants)
    names = {node.name for node in (*const_statements(program), *overriding)}
    if names:
        symbol_constants(program, constants)  # refuses what leaves 32 bits
    data = data_names(program)
    encoding = Encoding(
        program, overriding, ChoiceMarkers(frozenset(names)), NeuralMarkers(frozenset(data))
    )
    encoding.rules = RuleMarkers() if origins else None
    encoding.careful = careful
    external = external_names(program)
    for index, statement in enumerate(program.statements):
        encoding.add(index, partial(_encode, encoding, index, statement, external))
    edges = acyclic(edges_of(program))
    if careful is not None:
        edges = list(map(careful.rewritten, edges))
        encoding.plain += [] if careful.sums is None else careful.sums.nodes
    encoding.plain += edges
    return encoding


def _encode(
    encoding: Encoding, index: int, statement: ast.Statement, external: Container[str]
) -> None:
    match statement:
        case ast.Data():
            encoding.plain += data_rules(index, statement, statement.name in external)
        case ast.Annotated():
            encoding.choices.add(index, statement)
        case ast.Neural():
            encoding.neural.add(index, statement)
        case ast.Query() | ast.Map() | ast.Evidence():
            encoding.questions.add(index, statement)
        case ast.Plain(node) if encoding.rules is not None and node.ast_type == ASTType.Rule:
            encoding.rules.add(index, node)
        case ast.Plain(node) if node.ast_type in _GIVEN:
            encoding.plain.append(node)
