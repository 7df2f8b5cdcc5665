"""Reduce a program to the instances that its questions need.

The demands (see :mod:`dpasp.ground.demand`) are ground first, by themselves. Statements that
nothing demands are left out, and the others get the demands as a condition.

>>> from dpasp.language import parse
>>> from dpasp.limits import UNLIMITED
>>> found = narrowed(parse("0.3::a(1..9). 0.5::b(1). 0.5::b(2). #query b(2)."), {}, UNLIMITED)
>>> found.left_out
('a/1', 'b/1 where nothing asks')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from clingo import Control, Symbol
from clingo.ast import AST, ASTType, ProgramBuilder, parse_string

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.ground.assemble import GroundRules, TooLarge
from dpasp.ground.demand import Demand, Parts, Shape, changed, text_arguments
from dpasp.ground.dry_run import dry_run
from dpasp.ground.overflow import dividing, may_grow, may_leave
from dpasp.ground.terms import const_statements, override, reached, row_texts, symbol_constants
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.reader import collector_paused
from dpasp.language.statements.statement import NOWHERE, Statement
from dpasp.limits import Watch, silent
from dpasp.limits.work import Supervisor, can_fork, in_child

AskedValues = Mapping[str, set[tuple[Symbol, ...]]]


@dataclass(frozen=True, slots=True)
class LeftOut(Statement):
    """A placeholder for a statement that no question needs."""

    span: Span = NOWHERE


LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A reduced program; the remaining statements keep their places."""

    program: ast.Program
    left_out: tuple[str, ...]  # in words
    endless: bool  # whether grounding all of it might have no end


def narrowed(program: ast.Program, constants: Mapping[str, str], watch: Watch) -> Narrowed | None:
    """The program reduced to what its questions need; None if they need all of it."""
    if any(map(_is_untouched, program.statements)) or dividing(program):
        return None
    constant = [*override(program, constants), *const_statements(program)]
    with collector_paused():  # the objects made here stay
        parts = Parts(program, frozenset(node.name for node in constant))
        if not parts.droppable:
            return None
        demand = Demand(parts)
        asked = _find(demand, constant, symbol_constants(program, constants), watch)
        if asked is None:  # then only whole predicates are left out
            demand.places = dict.fromkeys(demand.places, frozenset())
        return _rebuilt(demand, asked or {})


def _is_untouched(statement: ast.Statement) -> bool:
    """Whether a statement makes all choices of its program matter."""
    if isinstance(statement, ast.Annotated):
        return statement.row is None and not all(
            isinstance(head.weight, ast.Fixed) for head in statement.heads
        )
    if isinstance(statement, ast.Plain):  # a cost is a factor
        return statement.fact is None and bool(statement.node.ast_type == ASTType.Minimize)
    valued = ast.Factor | ast.FactorTable | ast.Decision | ast.Utility | ast.Expect
    return isinstance(statement, ast.Map | ast.Learn | ast.Neural | ast.Data | valued)


def _find(
    demand: Demand, constants: Iterable[AST], symbols: Mapping[str, Symbol], watch: Watch
) -> AskedValues | None:
    """All demands, by predicate; None if they are too many, or integers may leave 32 bits."""
    if not any(demand.places.values()):
        return {}
    nodes, facts = _certain(demand)
    text = "\n".join((*demand.rules(), *facts))
    given = (*constants, *nodes)

    def ground() -> AskedValues | None:
        supervisor, control = Supervisor(watch), Control(logger=silent)
        control.register_observer(GroundRules(supervisor.check, TUNING.demands))
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
        base = control.symbolic_atoms
        return {
            name: {tuple(a.symbol.arguments) for a in base.by_signature(demand.name(name), size)}
            for name, places in demand.places.items()
            if (size := len(places))
        }

    # in a child, which ends at a limit even if the grounder finds nothing for hours
    if watch.limited and not watch.limits.ends_process:
        if can_fork():
            return in_child(ground, watch)
        dry_run("\n".join((text, *map(str, given))), ["base"], watch, TUNING.demands)
    return ground()


def _grows(shapes: Iterable[Shape]) -> bool:
    return any(shape.grows for shape in shapes)


def _certain(demand: Demand) -> tuple[list[AST], list[str]]:
    """The rules of certain predicates in the conditions of demands; the facts as text."""
    parts = demand.parts
    rules = {name: [s for s in parts.shapes if name in s.names] for name in parts.certain}
    below = {name: {n for shape in some for n in shape.below} for name, some in rules.items()}
    named = {n for name in demand.places for shape in demand.members[name] for n in shape.below}
    nodes: list[AST] = []
    facts: list[str] = []
    for name in reached(named, below) | named:
        for shape in rules.get(name, ()):
            for index in shape.indices:
                statement = parts.program.statements[index]
                assert isinstance(statement, ast.Plain)  # certain statements are not annotated
                if statement.fact is None:
                    nodes.append(statement.node)
                else:
                    facts.append(f"{statement.fact}.")
    return nodes, facts


def _rebuilt(demand: Demand, asked: AskedValues) -> Narrowed | None:
    """The program with demands as conditions, without what is not demanded."""
    statements = list(demand.parts.program.statements)
    guarded: dict[str, list[Shape]] = {}
    for name, shapes in demand.members.items():
        places = demand.places.get(name)
        keys = {tuple(map(str, key)) for key in asked.get(name, ())}
        order = sorted(places or ())
        for shape in shapes:
            if places is None:
                for index in shape.indices:
                    statements[index] = LEFT_OUT
            elif places and shape.are_rows:
                guarded.setdefault(name, []).append(shape)
                for index in shape.indices:
                    heads, _ = row_texts(statements[index]) or ((), "")
                    words = text_arguments(heads[0])
                    if tuple([words[place] for place in order]) not in keys:
                        statements[index] = LEFT_OUT
            elif places and shape.simple:
                guarded.setdefault(name, []).append(shape)
                conditions = _literals(demand.atom(shape.heads[0]))
                statements[shape.indices[0]] = changed(shape.statement, conditions)
    if not guarded and all(name in demand.places for name in demand.members):
        return None
    facts = "".join(
        f"{demand.name(name)}({','.join(map(str, key))}).\n"
        for name in guarded
        for key in sorted(asked[name])
    )
    nodes: list[AST] = []
    parse_string(facts, nodes.append)
    statements += (ast.Plain(node) for node in nodes if node.ast_type == ASTType.Rule)
    program = replace(demand.parts.program, statements=tuple(statements))
    words = []
    for name, shapes in sorted(demand.members.items()):
        arities = {len(h.terms) for shape in shapes for h in shape.heads if h.name == name}
        kinds = [f"{name}/{arity}" for arity in sorted(arities)]
        if name not in demand.places:
            words += kinds
        elif name in guarded:
            words += [f"{kind} where nothing asks" for kind in kinds]
    return Narrowed(program, tuple(words), any(map(_grows, guarded.values())))


def _literals(text: str | None) -> list[AST]:
    nodes: list[AST] = []
    parse_string(f"x :- {text}.", nodes.append)
    return list(nodes[-1].body)
