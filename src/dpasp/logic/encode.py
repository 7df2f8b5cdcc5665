"""A program as clingo is given it: its own statements, and ours as markers.

>>> from dpasp.language import parse
>>> encoding = encode(parse("d(1..2). 0.5::b(X) :- d(X). #query b(X)."), {})
>>> print(encoding.choices.rules[-1])
{ _dpasp_choice0(1,X,X) } :- d(X).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from clingo import Control
from clingo.ast import AST, ASTType, ProgramBuilder
from clingo.ast import Program as Part

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.language.statements.neural import data_names
from dpasp.logic.constants import const_statements, override
from dpasp.logic.dry_run import DryRun
from dpasp.logic.edges import acyclic, edges_of
from dpasp.logic.markers import HIDDEN, ChoiceMarkers
from dpasp.logic.neural import NeuralMarkers, data_rules, external_names
from dpasp.logic.origins import RuleMarkers
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
        marked = () if self.rules is None else self.rules.rules
        return (*self.plain, *marked, *self.choices.rules, *self.neural.rules)


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


def encode_questions(program: ast.Program, round: int) -> QuestionMarkers:
    """The questions of a program, apart from the rest of it."""
    markers = QuestionMarkers(round)
    for index, statement in enumerate(program.statements):
        if isinstance(statement, QuestionStatement):
            markers.add(index, statement)
    return markers


def encode(
    program: ast.Program, constants: Mapping[str, str], *, origins: bool = False
) -> Encoding:
    """Encode a program, with these values for its constants.

    With ``origins``, every instance of a rule has a marker.
    """
    overriding = override(program, constants)
    names = {node.name for node in (*const_statements(program), *overriding)}
    data = data_names(program)
    encoding = Encoding(
        program, overriding, ChoiceMarkers(frozenset(names)), NeuralMarkers(frozenset(data))
    )
    encoding.rules = RuleMarkers() if origins else None
    external = external_names(program)
    for index, statement in enumerate(program.statements):
        if isinstance(statement, ast.Data):
            encoding.plain += data_rules(index, statement, statement.name in external)
        else:
            _encode(encoding, index, statement)
    encoding.plain += acyclic(edges_of(program))
    return encoding


def _encode(encoding: Encoding, index: int, statement: ast.Statement) -> None:
    match statement:
        case ast.Annotated():
            encoding.choices.add(index, statement)
        case ast.Neural():
            encoding.neural.add(index, statement)
        case ast.Query() | ast.Map() | ast.Evidence():
            encoding.questions.add(index, statement)
        case ast.Plain(node) if node.ast_type == ASTType.Rule and encoding.rules is not None:
            encoding.rules.add(index, node)
        case ast.Plain(node) if node.ast_type in _GIVEN:
            encoding.plain.append(node)
