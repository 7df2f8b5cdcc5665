"""What clingo made of an encoded program, as choices and rules over numbered atoms.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> program = ground(parse("d(1..2). 0.3::a(X) :- d(X)."))
>>> [[str(program.symbols[head]) for head in choice.heads] for choice in program.choices]
[['a(1)'], ['a(2)']]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count

from clingo import Control, Function, Symbol, TruthValue

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import ast
from dpasp.logic.clingo import GroundRules
from dpasp.logic.edges import EDGE, PATH
from dpasp.logic.encode import Encoding
from dpasp.logic.markers import StatementInstance, is_choice_marker, is_hidden
from dpasp.logic.neural import NeuralInstances, NeuralMarker, external_names, ground_data
from dpasp.logic.origins import RULE
from dpasp.logic.program import (
    Choice,
    FromNetwork,
    GroundData,
    GroundNetwork,
    Present,
    Rule,
    data_atoms,
)
from dpasp.logic.weights import ChoiceWeights

Bodies = Mapping[int, Sequence[tuple[int, ...]]]


@dataclass(slots=True)
class Assembly:
    """The parts of a ground program, being put together."""

    atoms: dict[Symbol, int]
    weights: ChoiceWeights
    fresh: Iterator[int]  # atoms that are not yet used
    bodies: Bodies  # of the markers
    rules: list[Rule]
    choices: list[Choice] = field(default_factory=list)
    networks: list[GroundNetwork] = field(default_factory=list)
    data: list[GroundData] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def symbols(self) -> tuple[Symbol | None, ...]:
        """The names of the atoms, by atom."""
        names: list[Symbol | None] = [None] * next(self.fresh)
        for symbol, atom in self.atoms.items():
            names[atom] = symbol
        return tuple(names)


def assemble(
    encoding: Encoding, control: Control, ground: GroundRules, numbers: Mapping[str, float]
) -> Assembly:
    """Put the ground program together from what clingo has found."""
    with control.backend() as backend:
        fresh = count(backend.add_atom())
    markers = encoding.choices.find(control)
    rules, bodies, links = _split(ground.rules, {m.atom for m in markers} | _hidden_atoms(control))
    assembly = Assembly(_atoms(control), ChoiceWeights(numbers), fresh, bodies, rules)
    instances = encoding.choices.read(markers, links, assembly.atoms)
    _add_annotated(assembly, instances, encoding.program)
    for neural in encoding.neural.read(control):
        _add_neural(assembly, neural, encoding.program)
    assembly.data += ground_data(control, encoding.program, assembly.problems)
    _add_present(assembly, ground.externals, encoding.program)
    rules += _external_rules(ground.externals, rules)
    assembly.problems += encoding.neural.problems
    return assembly


def _atoms(control: Control) -> dict[Symbol, int]:
    """The program's own atoms by name; those without a number turned out to be never true."""
    base = control.symbolic_atoms
    return {
        atom.symbol: literal
        for name, arity, positive in base.signatures
        if not is_hidden(name)
        for atom in base.by_signature(name, arity, positive)
        if (literal := atom.literal)
    }


def _hidden_atoms(control: Control) -> set[int]:
    """Atoms of ours that are no part of the program: not those of edges, and not the markers of
    annotated statements and of rules.
    """
    base = control.symbolic_atoms
    return {
        atom.literal
        for name, arity, _ in base.signatures
        if is_hidden(name) and not is_choice_marker(name) and name not in (EDGE, PATH, RULE)
        for atom in base.by_signature(name, arity)
    }


def _split(ground: Iterable[Rule], hidden: set[int]) -> tuple[list[Rule], Bodies, dict[int, int]]:
    """The rules of the program, the bodies of the markers, and the atoms that these make true.

    The rules that link markers with atoms have a marker as their only body literal.
    """
    rules: list[Rule] = []
    bodies: dict[int, list[tuple[int, ...]]] = {}
    links: dict[int, int] = {}
    for rule in ground:
        head, body = rule.head, rule.body
        if len(head) == 1 and head[0] in hidden:
            if rule.choice:
                bodies.setdefault(head[0], []).append(body)
        elif len(body) == 1 and body[0] in hidden:
            links[body[0]] = head[0]
        else:
            rules.append(rule)
    return rules, bodies, links


def _external_rules(externals: Mapping[int, TruthValue], rules: list[Rule]) -> list[Rule]:
    """External atoms that no rule derives are false, unless they are declared true or free."""
    derived = {atom for rule in rules for atom in rule.head} if externals else set()
    return [
        Rule((atom,), (), choice=value == TruthValue.Free)
        for atom, value in externals.items()
        if atom not in derived and value in (TruthValue.True_, TruthValue.Free)
    ]


def _add_present(
    assembly: Assembly, externals: Mapping[int, TruthValue], program: ast.Program
) -> None:
    """The external atoms that networks read are choices: the data says whether they are there."""
    rows = [row for network in assembly.networks for row in network.rows]
    atoms = dict.fromkeys(atom for row in rows for atom in data_atoms(row))
    derived = {head for rule in assembly.rules for head in rule.head} if externals else set()
    names = external_names(program)
    for atom in atoms:
        number = assembly.atoms.get(atom, 0)
        if number in externals and externals[number] == TruthValue.False_ and number not in derived:
            selectors = (next(assembly.fresh),)
            choice = Choice(names[atom.name], (), selectors, (number,), Present(atom), True)
            _add_choice(assembly, choice, ((),))


def _add_annotated(
    assembly: Assembly, instances: Iterable[StatementInstance], program: ast.Program
) -> None:
    failed: set[int] = set()
    for index, substitution, heads, marker in instances:
        statement = program.statements[index]
        if index in failed or not isinstance(statement, ast.Annotated):
            continue
        try:
            weight, nothing = assembly.weights.weigh(index, statement, substitution)
        except ProgramError as error:
            assembly.problems += error.diagnostics
            failed.add(index)
            continue
        selectors = _selectors(assembly, marker, len(heads))
        choice = Choice(index, substitution, selectors, heads, weight, nothing)
        _add_choice(assembly, choice, assembly.bodies[marker])


def _selectors(assembly: Assembly, marker: int, values: int) -> tuple[int, ...]:
    """Atoms that stand for the values of a choice; the marker's own number is the first."""
    return (marker, *(next(assembly.fresh) for _ in range(values - 1)))


def _add_choice(assembly: Assembly, choice: Choice, bodies: Sequence[tuple[int, ...]]) -> None:
    assembly.choices.append(choice)
    distinct = ((),) if () in bodies else tuple(dict.fromkeys(bodies))
    for selector, head in zip(choice.selectors, choice.heads, strict=True):
        for body in distinct:
            assembly.rules.append(Rule((head,), (selector, *body)))


def _add_neural(assembly: Assembly, instances: NeuralInstances, program: ast.Program) -> None:
    statement = program.statements[instances.statement]
    if not isinstance(statement, ast.Neural):
        return
    rows = {
        row: number for number, row in enumerate(dict.fromkeys(m.row for m in instances.markers))
    }
    network = len(assembly.networks)
    assembly.networks.append(
        GroundNetwork(instances.statement, tuple(rows), instances.outcomes, instances.values)
    )
    for marker in instances.markers:
        first = marker.atom
        for outcome, heads in enumerate(_neural_heads(instances, marker, statement)):
            atoms = tuple(assembly.atoms[symbol] for symbol in heads)
            selectors = _selectors(assembly, first, len(heads))
            first = next(assembly.fresh)
            weight = FromNetwork(network, rows[marker.row], outcome)
            nothing = not instances.values
            choice = Choice(
                instances.statement, marker.substitution, selectors, atoms, weight, nothing
            )
            _add_choice(assembly, choice, assembly.bodies[marker.atom])


def _neural_heads(
    instances: NeuralInstances, marker: NeuralMarker, statement: ast.Neural
) -> Iterator[list[Symbol]]:
    """The atoms of each outcome: one for each value, or one alone."""
    values = [[value] for value in instances.values] or [[]]
    for outcome in [[outcome] for outcome in instances.outcomes] or [[]]:
        yield [
            Function(statement.name, [*marker.arguments, *value, *outcome], statement.positive)
            for value in values
        ]
