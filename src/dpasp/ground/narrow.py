"""A program without the instances that no question needs, ready to be ground.

The demands (see :mod:`dpasp.ground.demand`) are ground first, by themselves. A statement that
nobody asks for is left out, and the others get the demands as a condition.

>>> from dpasp.language import parse
>>> from dpasp.limits import UNLIMITED
>>> found = narrowed(parse("0.3::a(1..9). 0.5::b(1). 0.5::b(2). #query b(2)."), {}, UNLIMITED)
>>> found.left_out
('a/1', 'b/1 where nothing asks')
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from clingo import Control, Symbol, parse_term
from clingo.ast import (
    AST,
    ASTType,
    ComparisonOperator,
    ProgramBuilder,
    Variable,
    parse_string,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.ground.assemble import GroundRules, TooLarge
from dpasp.ground.demand import Demand, Parts, fact_text
from dpasp.ground.dry_run import DryRun, stoppable
from dpasp.ground.overflow import dividing, may_grow, may_leave
from dpasp.ground.terms import (
    NO_LOCATION,
    Signature,
    atom_literal,
    compared,
    const_statements,
    function,
    override,
    symbol_constants,
)
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.reader import collector_paused
from dpasp.language.statements.statement import NOWHERE, Statement
from dpasp.limits import Watch, silent
from dpasp.limits.work import Supervisor

AskedValues = Mapping[Signature, set[tuple[Symbol, ...]]]


@dataclass(frozen=True, slots=True)
class LeftOut(Statement):
    """Stands in place of a statement that no question needs."""

    span: Span = NOWHERE


LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The program without what no question needs; the other statements keep their places."""

    program: ast.Program
    left_out: tuple[str, ...]  # in words
    endless: bool  # whether grounding all of it might have no end


def narrowed(program: ast.Program, constants: Mapping[str, str], watch: Watch) -> Narrowed | None:
    """The program without what its questions do not need; None if they need all of it."""
    if any(map(_is_untouched, program.statements)):
        return None
    if dividing(program):
        return None
    constant = [*override(program, constants), *const_statements(program)]
    with collector_paused():  # what is made stays
        parts = Parts(program, frozenset(node.name for node in constant))
        if not parts.droppable:
            return None
        demand = Demand(parts)
        symbols = symbol_constants(program, constants)
        asked = _find(demand, constant, symbols, watch)
        return None if asked is None else _rebuilt(demand, asked)


def _is_untouched(statement: ast.Statement) -> bool:
    """Whether a statement makes all choices of its program matter, asked for or not."""
    if isinstance(statement, ast.Annotated):
        return statement.row is None and not all(
            isinstance(head.weight, ast.Fixed) for head in statement.heads
        )
    if isinstance(statement, ast.Plain):  # a cost is a factor
        return bool(statement.node.ast_type == ASTType.Minimize)
    valued = ast.Factor | ast.FactorTable | ast.Decision | ast.Utility | ast.Expect
    return isinstance(statement, ast.Map | ast.Learn | ast.Neural | ast.Data | valued)


def _find(
    demand: Demand, constants: Iterable[AST], symbols: Mapping[str, Symbol], watch: Watch
) -> AskedValues | None:
    """All demands, by leader; None if there are too many, or if integers may leave 32 bits."""
    if not any(demand.places.values()):
        return {}
    grows = any(shape.grows for shape in demand.parts.shapes.values())
    most = TUNING.endless_demands if grows else TUNING.demands
    nodes, facts = _certain(demand)
    text = "\n".join((*demand.rules(), *facts))
    given = (*constants, *nodes)

    def ground() -> AskedValues | None:
        supervisor = Supervisor(watch)
        control = Control(logger=silent)
        control.register_observer(GroundRules(supervisor.check, most))
        control.add("base", [], text)
        with ProgramBuilder(control) as builder:
            for node in given:
                builder.add(node)
        try:
            supervisor.run(lambda: control.ground([("base", [])]))
        except (TooLarge, RuntimeError):
            return None
        if may_grow(demand.parts.program):
            parsed: list[AST] = []
            parse_string(text, parsed.append)
            rules = (n for n in (*parsed, *given) if n.ast_type == ASTType.Rule and n.body)
            if may_leave(rules, control, symbols):
                return None
        asked: dict[Signature, set[tuple[Symbol, ...]]] = {}
        for leader, places in demand.places.items():
            if places:
                atoms = control.symbolic_atoms.by_signature(demand.name(leader), len(places))
                asked[leader] = {tuple(atom.symbol.arguments) for atom in atoms}
        return asked

    def dry() -> DryRun:
        return DryRun("\n".join((text, *map(str, given))), most=most)

    return stoppable(ground, dry, watch)


def _certain(demand: Demand) -> tuple[list[AST], list[str]]:
    """The rules of the certain predicates that the reasons of demands name; the facts as text."""
    parts = demand.parts
    nodes: list[AST] = []
    facts: list[str] = []
    rules: defaultdict[Signature, list[int]] = defaultdict(list)
    for index, shape in parts.shapes.items():
        if shape.heads[0].kind in parts.certain:
            rules[shape.heads[0].kind].append(index)
    todo = [
        atom.kind
        for leader in demand.places
        for index in demand.members[leader]
        for atom in parts.shapes[index].positive
        if atom.kind in parts.certain
    ]
    seen = set(todo)
    while todo:
        for index in rules[todo.pop()]:
            for place in parts.facts.get(index, (index,)):
                statement = parts.program.statements[place]
                assert isinstance(statement, ast.Plain)  # what is certain is not annotated
                if statement.fact is None:
                    nodes.append(statement.node)
                else:
                    facts.append(f"{statement.fact}.")
            new = parts.shapes[index].kinds - seen
            seen |= new
            todo += new
    return nodes, facts


def _rebuilt(demand: Demand, asked: AskedValues) -> Narrowed | None:
    """The program with conditions for what is asked, without what is not."""
    statements = list(demand.parts.program.statements)
    guarded: set[Signature] = set()
    for leader, indices in demand.members.items():
        places = demand.places.get(leader)
        for index in indices:
            alike = demand.parts.facts.get(index)
            if places is None:
                for place in alike or (index,):
                    statements[place] = LEFT_OUT
            elif places and alike is not None:
                guarded.add(leader)
                for place in _not_asked(statements, alike, places, asked[leader]):
                    statements[place] = LEFT_OUT
            elif places and demand.parts.shapes[index].simple:
                new = _guarded(demand, index, asked[leader])
                guarded.add(leader)
                statements[index] = new
    if not guarded and all(places is not None for places in map(demand.places.get, demand.members)):
        return None
    facts = "".join(
        f"{demand.name(leader)}({','.join(map(str, key))}).\n"
        for leader in guarded
        for key in sorted(asked[leader])
    )
    nodes: list[AST] = []
    parse_string(facts, nodes.append)
    statements += (ast.Plain(node) for node in nodes if node.ast_type == ASTType.Rule)
    program = replace(demand.parts.program, statements=tuple(statements))
    endless = any(
        demand.parts.shapes[index].grows for leader in guarded for index in demand.members[leader]
    )
    words = []
    for kind in sorted(demand.parts.droppable):
        leader = demand.find(kind)
        if leader not in demand.places:
            words.append(str(kind))
        elif leader in guarded:
            words.append(f"{kind} where nothing asks")
    return Narrowed(program, tuple(words), endless)


def _not_asked(
    statements: Sequence[ast.Statement],
    facts: Iterable[int],
    places: Iterable[int],
    asked: set[tuple[Symbol, ...]],
) -> Iterator[int]:
    """The ground facts that nothing asks for; their arguments have one text each."""
    texts = {tuple(map(str, key)) for key in asked}
    order = sorted(places)
    for index in facts:
        words = (fact_text(statements[index]) or "").partition("(")[2][:-1].split(",")
        if tuple([words[place].strip() for place in order]) not in texts:
            yield index


def _guarded(demand: Demand, index: int, asked: set[tuple[Symbol, ...]]) -> ast.Statement:
    """A statement of which only the instances that are asked for are ground."""
    statement, shape = demand.parts.program.statements[index], demand.parts.shapes[index]
    head = shape.heads[0]
    places = sorted(demand.places[demand.find(head.kind)])
    fixed = not any(head.terms[place].is_interval for place in places)
    if fixed and not shape.has_variables and not demand.parts.constants:
        key = tuple(_symbol(head.terms[place].text) for place in places)
        return statement if key in asked else LEFT_OUT
    if not fixed:
        return _picked(statement, demand.name(demand.find(head.kind)), places)
    return _with(statement, _literals(str(demand.atom(head))))


def _with(statement: ast.Statement, conditions: Sequence[AST]) -> ast.Statement:
    """A statement with more conditions."""
    match statement:
        case ast.Plain(node):
            return replace(statement, node=node.update(body=[*conditions, *node.body]))
        case ast.Annotated():
            return replace(statement, body=(*conditions, *statement.body))
    raise AssertionError(statement)


def _picked(statement: ast.Statement, name: str, places: Sequence[int]) -> ast.Statement:
    """The same for a head such as ``f(1..100)``: its intervals become variables."""
    match statement:
        case ast.Plain(node):
            atom = node.head.atom
        case ast.Annotated(heads):
            atom = heads[0].atom
        case _:
            raise AssertionError(statement)
    terms = list(atom.symbol.arguments)
    text = f"{atom} {[str(node) for node in ast.clingo_terms(statement)]}"
    prefix = "Asked"
    while prefix in text:
        prefix += "_"
    conditions = []
    for place in places:
        if terms[place].ast_type == ASTType.Interval:
            variable = Variable(NO_LOCATION, f"{prefix}{place}")
            conditions.append(compared(variable, ComparisonOperator.Equal, terms[place]))
            terms[place] = variable
    guard = atom_literal(function(name, [terms[place] for place in places]))
    new = atom.update(symbol=atom.symbol.update(arguments=terms))
    if isinstance(statement, ast.Plain):
        head = statement.node.head.update(atom=new)
        statement = replace(statement, node=statement.node.update(head=head))
    elif isinstance(statement, ast.Annotated):
        statement = replace(statement, heads=(replace(statement.heads[0], atom=new),))
    return _with(statement, [guard, *conditions])


_symbol = lru_cache(maxsize=100_000)(parse_term)


def _literals(text: str | None) -> list[AST]:
    """The literals of a body."""
    nodes: list[AST] = []
    parse_string(f"x :- {text}.", nodes.append)
    return list(nodes[-1].body)
