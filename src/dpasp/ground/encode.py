"""A program encoded for clingo: clingo's own statements, and ours as markers.

``?::f(X, {a,b}; {0..8}) as @net :- input(X).`` (statement 3) becomes

    {instance3((X,), (X,), (X,))} :- input(X).        % substitution, data, arguments
    set3_0(0, a). set3_0(1, b). set3_1(0, 0..8).      % values, outcomes
    f(A,V,O) :- instance3(_, _, (A,)), set3_0(_, V), set3_1(_, O).

(with hidden names), ``input(0) ~ …`` becomes the fact ``input(0)`` or an external atom, and
``#edge`` rules for paths, none of which may lead back to its start.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from clingo import Control, Function, Symbol
from clingo.ast import (
    AST,
    ASTType,
    BooleanConstant,
    External,
    Literal,
    ProgramBuilder,
    Rule,
    Sign,
    SymbolicAtom,
    Variable,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic
from dpasp.ground.markers import (
    HIDDEN,
    ChoiceMarkers,
    RuleMarkers,
    atom_term,
    named_variables,
    substitution_of,
    with_values,
)
from dpasp.ground.overflow import Careful
from dpasp.ground.program import GroundData, Substitution
from dpasp.ground.questions import QuestionMarkers
from dpasp.ground.terms import (
    NO_LOCATION,
    Signature,
    atom_literal,
    choice_rule,
    const_statements,
    function,
    integer_term,
    override,
    rule,
    split_atom,
    symbol_constants,
    symbolic,
    unpooled_atoms,
)
from dpasp.language import ast
from dpasp.language.statements.constants import numeric_constants
from dpasp.language.statements.data import inputs
from dpasp.language.statements.decisions import decision_variables
from dpasp.language.statements.factors import replace_sets, value_sets
from dpasp.language.statements.neural import data_names
from dpasp.language.statements.statistical import constraints
from dpasp.language.text.clingo_text import variables

EDGE, PATH = f"{HIDDEN}edge", f"{HIDDEN}path"
_DATA, _COST = f"{HIDDEN}data", f"{HIDDEN}cost"
_BOUND = f"{HIDDEN}bound"
_UNSAID = ast.Fixed(ast.Number(1.0))  # the weight of decisions, which is never read
_OURS = HIDDEN.upper()  # the prefix of our variables
# What clingo gets. The rest does not affect probabilities (#show, #project, #heuristic) or is
# handled elsewhere (#script).
_GIVEN = {ASTType.Rule, ASTType.Definition, ASTType.External, ASTType.Defined}


def acyclic(edges: Sequence[AST]) -> list[AST]:
    """The rules for some ``#edge`` statements, which share one graph."""
    if not edges:
        return []
    x, y, z = (Variable(NO_LOCATION, name) for name in "XYZ")
    where = edges[0].location
    false = Literal(where, Sign.NoSign, BooleanConstant(False))
    edge, path = function(EDGE, [x, y]), function(PATH, [x, y])
    further = [atom_literal(edge), atom_literal(function(PATH, [y, z]))]
    return [
        *(rule(function(EDGE, [e.node_u, e.node_v]), e.body, e.location) for e in edges),
        rule(path, [atom_literal(edge)]),
        rule(function(PATH, [x, z]), further),
        Rule(where, false, [atom_literal(function(PATH, [x, x]))]),
    ]


def edges_of(program: ast.Program) -> list[AST]:
    if not program.sources.holds("#edge"):
        return []
    plain = (s.node for s in program.statements if isinstance(s, ast.Plain))
    return [node for node in plain if node.ast_type == ASTType.Edge]


class Instance(NamedTuple):
    """A ground instance of a neural statement or a factor; ``atom`` is clingo's number for it."""

    substitution: Substitution
    row: Symbol | None  # the data that its network reads
    values: tuple[Symbol, ...]  # the arguments of a neural head, or the values of a factor's sets
    atom: int


@dataclass(slots=True)
class InstanceMarkers:
    """The markers of all neural statements, factors and weak constraints.

    Those of statement 3 are ``{instance3((X,), (X,), (V,))} :- body.`` (substitution, data,
    values), those of a weak constraint ``{cost4(W, 0, (t,))} :- body.`` (cost, level, tuple).
    """

    data: Mapping[str, int]  # the data predicates, with their arities
    rules: list[AST] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)  # weak constraints
    neural: list[int] = field(default_factory=list)
    factors: list[int] = field(default_factory=list)
    _variables: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _inputs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _sets: dict[int, int] = field(default_factory=dict)  # how many a statement has

    def add_cost(self, index: int, node: AST) -> None:
        """Encode a weak constraint."""
        parts = [node.weight, node.priority, function("", node.terms)]
        marker = function(f"{_COST}{index}", parts, node.location)
        self.rules.append(choice_rule(marker, node.body, node.location))
        self.costs.append(index)

    def add_neural(self, index: int, statement: ast.Neural) -> None:
        """Encode a neural statement, whose sets are those of its values and outcomes."""
        self.neural.append(index)
        self._add(index, statement.arguments, statement.arguments, statement.body, data=True)
        arguments = named_variables("A", len(statement.arguments))
        parts = [*named_variables("B", 2), function("", arguments)]
        members = self._members(index, (statement.values, statement.outcomes))
        chosen = [variable for variable, terms in members if terms is not None]
        head = [*arguments, *chosen]
        signature = Signature(statement.name, len(head), statement.positive)
        body = [atom_literal(function(_instance_name(index), parts))]
        body += [terms for _, terms in members if terms is not None]
        self.rules.append(rule(atom_term(signature, head), body))

    def add_factor(self, index: int, statement: ast.Factor) -> None:
        self.factors.append(index)
        has_network = statement.network is not None
        sets = value_sets(statement.body) if has_network else []
        members = self._members(index, [some.terms for some in sets])
        chosen = [variable for variable, _ in members]
        body = replace_sets(statement.body, sets, chosen)
        more = [literal for _, literal in members if literal is not None]
        self._add(index, (), chosen, body, has_network, more)

    def _add(
        self,
        index: int,
        nodes: Sequence[AST],
        values: Sequence[AST],
        body: Sequence[AST],
        data: bool,
        more: Sequence[AST] = (),
    ) -> None:
        self._variables[index], bodies = with_values(nodes, body)
        for one, known in bodies:
            rows = list(inputs(one, self.data)) if data else []
            self._inputs[index] = tuple(row.name for row in rows)
            parts = (known, [function("", row.arguments) for row in rows], values)
            marker = function(_instance_name(index), [function("", part) for part in parts])
            self.rules.append(choice_rule(marker, [*one, *more]))

    def _members(self, index: int, sets: Sequence[Sequence[AST]]) -> list[tuple[AST, AST | None]]:
        """A variable for each set, and the literal that it is a member; None for an empty set."""
        self._sets[index] = len(sets)
        places = named_variables(f"{_OURS}P", len(sets))
        chosen = named_variables(f"{_OURS}V", len(sets))
        members: list[tuple[AST, AST | None]] = []
        for at, terms in enumerate(sets):
            name = _set_name(index, at)
            literal = atom_literal(function(name, [places[at], chosen[at]]))
            members.append((chosen[at], literal if terms else None))
            for place, term in enumerate(terms):
                self.rules.append(rule(function(name, [integer_term(place), term]), []))
        return members

    def read(self, control: Control, index: int) -> Iterator[Instance]:
        """The instances of a statement of a ground program."""
        for atom in control.symbolic_atoms.by_signature(_instance_name(index), 3):
            variables, data, values = (part.arguments for part in atom.symbol.arguments)
            pairs = substitution_of(self._variables[index], variables)
            substitution = tuple(pair for pair in pairs if not pair[0].startswith(_OURS))
            named = zip(self._inputs[index], data, strict=True)
            atoms = [Function(name, part.arguments) for name, part in named]
            row = atoms[0] if len(atoms) == 1 else Function("", atoms) if atoms else None
            yield Instance(substitution, row, tuple(values), atom.literal)

    def sets(self, control: Control, index: int) -> list[tuple[Symbol, ...]]:
        """The values of each set of a statement, in the written order."""
        found = []
        for at in range(self._sets[index]):
            atoms = control.symbolic_atoms.by_signature(_set_name(index, at), 2)
            # Stable: what one interval or pool stands for stays in clingo's order.
            pairs = sorted((a.symbol.arguments for a in atoms), key=lambda pair: pair[0].number)
            found.append(tuple(symbol for _, symbol in pairs))
        return found

    def read_costs(self, control: Control, index: int) -> Iterator[tuple[Sequence[Symbol], int]]:
        """The cost, level and tuple of each instance of a weak constraint, and its number."""
        for atom in control.symbolic_atoms.by_signature(f"{_COST}{index}", 3):
            yield atom.symbol.arguments, atom.literal


def _instance_name(index: int) -> str:
    return f"{HIDDEN}instance{index}"


def _set_name(index: int, at: int) -> str:
    return f"{HIDDEN}set{index}_{at}"


# --- decisions ----------------------------------------------------------------------------------


@dataclass(slots=True)
class DecisionMarkers:
    """Decisions as annotated statements: one for each element, numbered after the statements."""

    _groups: dict[int, tuple[str, ...]] = field(default_factory=dict)  # variables by statement
    _bounds: dict[int, tuple[str, ...]] = field(default_factory=dict)  # signs by statement

    def add(self, index: int, statement: ast.Decision, encoding: Encoding) -> None:
        known = decision_variables(statement)
        self._groups[index] = tuple(known)
        stride = len(encoding.program.statements)
        for number, (atom, condition) in enumerate(statement.elements):
            heads = (ast.Head(_UNSAID, atom, statement.span),)
            body = (*condition, *statement.body)
            element = ast.Annotated(heads, body, statement.span)
            encoding.choices.add_marked(index + stride * (number + 1), element)
        signs = tuple(sign for sign, _ in statement.bounds)
        self._bounds[index] = signs
        if signs:
            parts = [function("", list(known.values())), *(term for _, term in statement.bounds)]
            marker = function(f"{_BOUND}{index}", parts, statement.node.location)
            encoding.choices.rules.append(choice_rule(marker, statement.body))

    def group(self, index: int, substitution: Substitution) -> Substitution:
        """The part of a substitution that says which decision it is."""
        names = self._groups[index]
        return tuple(sorted(pair for pair in substitution if pair[0] in names))

    def bounds(self, control: Control, index: int) -> dict[Substitution, list[tuple[str, Symbol]]]:
        """The bounds of every instance of a decision."""
        signs = self._bounds[index]
        names = self._groups[index]
        found: dict[Substitution, list[tuple[str, Symbol]]] = {}
        if signs:
            base = control.symbolic_atoms
            for atom in base.by_signature(f"{_BOUND}{index}", 1 + len(signs)):
                values, *terms = atom.symbol.arguments
                group = tuple(zip(names, values.arguments, strict=True))
                found[tuple(sorted(group))] = list(zip(signs, terms, strict=True))
        return found


# --- data --------------------------------------------------------------------------------------


def data_rules(index: int, statement: ast.Data, may_be_missing: bool) -> list[AST]:
    """The facts of a data statement, ours first.

    Atoms that may be missing are not facts: each example says whether they exist.
    """
    values = [Variable(NO_LOCATION, name) for name in _call_variables(statement)]
    ours = [integer_term(index), function("", statement.arguments), function("", values)]
    facts = rule(function(_DATA, ours), statement.body, statement.arguments[0].location)
    *arguments, rest = named_variables("A", len(statement.arguments) + 1)
    atom = function(statement.name, arguments)
    body = [integer_term(index), function("", arguments), rest]
    said = [atom_literal(function(_DATA, body))]
    if may_be_missing:
        return [facts, External(NO_LOCATION, SymbolicAtom(atom), said, symbolic(Function("false")))]
    return [facts, rule(atom, said)]


def _call_variables(statement: ast.Data) -> list[str]:
    """The variables that the functions of a data statement are called with."""
    origins = (statement.test, statement.train)
    calls = [origin for origin in origins if isinstance(origin, ast.Call)]
    terms = [term for call in calls for term in call.arguments]
    return sorted({variable.name for term in terms for variable in variables(term)})


def external_names(program: ast.Program) -> dict[str, int]:
    """The predicates that ``#external`` names, each with its first statement."""
    named: dict[str, int] = {}
    if not program.sources.holds("#external"):
        return named
    for index, statement in enumerate(program.statements):
        if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.External:
            for symbol in unpooled_atoms(statement.node.atom):
                named.setdefault(split_atom(symbol)[0].name, index)
    return named


def ground_data(
    control: Control, program: ast.Program, problems: list[Diagnostic]
) -> Iterator[GroundData]:
    """The data atoms of a ground program, in the order of the statements."""
    by_statement: dict[int, dict[Symbol, tuple[Symbol, ...]]] = {}
    for atom in control.symbolic_atoms.by_signature(_DATA, 3):
        index, argument, values = atom.symbol.arguments
        values_of = by_statement.setdefault(index.number, {})
        statement = program.statements[index.number]
        if not atom.is_fact or argument in values_of:
            problems.append(_unclear(statement, argument, atom.is_fact))
        values_of[argument] = tuple(values.arguments)
    for position, statement in enumerate(program.statements):
        if isinstance(statement, ast.Data):
            names = _call_variables(statement)
            for argument, symbols in by_statement.get(position, {}).items():
                pairs = tuple(zip(names, symbols, strict=True))
                yield GroundData(position, Function(statement.name, argument.arguments), pairs)


def _unclear(statement: ast.Statement, argument: Symbol, fact: bool) -> Diagnostic:
    assert isinstance(statement, ast.Data)
    atom = str(Function(statement.name, argument.arguments))
    if fact:
        message = f"this gives {atom} data more than once, for its variables have several values"
        help = "let the argument say which data it is"
    else:
        message = f"whether {atom} has data depends on what is chosen"
        help = f"let the body hold only facts; declare what differs by example, #external {atom}."
    return Diagnostic("data-body", message, statement.span, help)


@dataclass(slots=True)
class Encoding:
    """Everything that clingo gets of a program, and what is needed to read the result."""

    program: ast.Program
    plain: list[AST]
    choices: ChoiceMarkers
    instances: InstanceMarkers
    questions: QuestionMarkers = field(default_factory=QuestionMarkers)
    decisions: DecisionMarkers = field(default_factory=lambda: DecisionMarkers())
    rules: RuleMarkers | None = None  # if the rules behind atoms are to be known
    careful: Careful | None = None  # if integers may leave 32 bits
    facts: list[str] = field(default_factory=list)  # plain ground facts without their dots
    numbers: Mapping[str, float] = field(default_factory=dict)  # constants, for shares

    def add_to(self, control: Control) -> None:
        """Give clingo the program, with the questions as a separate part."""
        control.add("base", [], self._texts())
        with ProgramBuilder(control) as builder:
            for node in (*self._base(), *self.questions.nodes()):
                builder.add(node)

    def text(self) -> str:
        """The same program as one text."""
        nodes = (*self._base(), *self.questions.nodes())
        return "\n".join((self._texts(), *map(str, nodes)))

    def _texts(self) -> str:
        return "\n".join([*(f"{fact}." for fact in self.facts), self.choices.text()])

    def _base(self) -> tuple[AST, ...]:
        return tuple(node for nodes in self.lists() for node in nodes)

    def lists(self) -> list[list[AST]]:
        """The lists of nodes that encoded statements are added to."""
        marked = [] if self.rules is None else [self.rules.rules]
        return [self.plain, *marked, self.choices.rules, self.instances.rules]


def encode_questions(careful: Careful, round: int) -> QuestionMarkers:
    """The questions of a program, apart from the rest of it."""
    markers = QuestionMarkers(round)
    for index, statement in _to_encode(careful.program, [markers.rules], careful):
        if isinstance(statement, ast.Question):
            markers.add(index, statement)
    return markers


def _to_encode(
    program: ast.Program, lists: Sequence[list[AST]], careful: Careful | None
) -> Iterator[tuple[int, ast.Statement]]:
    """Yield the statements; what encoding one adds is rewritten by ``careful`` before the next."""
    for index, statement in enumerate(program.statements):
        if careful is None or index not in careful.statements:
            yield index, statement
            continue
        before = [len(nodes) for nodes in lists]
        yield index, statement
        for nodes, count in zip(lists, before, strict=True):
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
    encoding = Encoding(
        program,
        overriding,
        ChoiceMarkers(frozenset(names)),
        InstanceMarkers(data_names(program)),
        rules=RuleMarkers() if origins else None,
        careful=careful,
    )
    if any(isinstance(statement, ast.Statistical) for statement in program.statements):
        encoding.numbers = numeric_constants(program, constants)
    external = external_names(program)
    lists = [*encoding.lists(), encoding.questions.rules]
    for index, statement in _to_encode(program, lists, careful):
        if type(statement) is ast.Plain and not origins and statement.fact is not None:
            encoding.facts.append(statement.fact)  # mostly, in a large program
        else:
            _encode(encoding, index, statement, external)
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
            encoding.instances.add_neural(index, statement)
        case ast.Decision():
            encoding.decisions.add(index, statement, encoding)
        case ast.Factor():
            encoding.instances.add_factor(index, statement)
        case _ if isinstance(statement, ast.Question):
            encoding.questions.add(index, statement)
        case ast.Statistical(node):
            if encoding.rules is None:
                encoding.plain.append(node)
            else:
                encoding.rules.add(index, node)
            encoding.plain += constraints(statement, encoding.numbers)
        case ast.Plain(node) if encoding.rules is not None and node.ast_type == ASTType.Rule:
            encoding.rules.add(index, node)
        case ast.Plain(node) if node.ast_type == ASTType.Minimize:
            encoding.instances.add_cost(index, node)
        case ast.Plain(node) if node.ast_type in _GIVEN:
            encoding.plain.append(node)
