"""What a three-valued semantics does not give a meaning to, refused with the place.

Under partial, lstable, smproblog and wellfounded: choice rules, aggregates and
conditional literals over atoms that are not determined, and classical negation;
under wellfounded also disjunction.

>>> from dpasp import ProgramError, loads
>>> program = loads("0.3::a. {b} :- a. #query b. #semantics partial.")
>>> try:
...     program.query()
... except ProgramError as error:
...     print(error.diagnostics[0].message)
a choice rule has no meaning under the partial semantics
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeGuard

import numpy as np
from clingo import Symbol, SymbolType
from clingo.ast import AST, ASTType
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.ast import Annotated, Logic, Neural, Plain
from dpasp.language.text.trees import walk
from dpasp.logic.program import GroundProgram, Rule

NameAndArity = tuple[str, int]


def refuse(ground: GroundProgram, logic: Logic, known: NDArray[np.bool_]) -> None:
    """Raise :class:`ProgramError` if the program has no meaning under ``logic``."""
    problems = list(_problems(ground, logic, known))
    if problems:
        raise ProgramError(problems)


def _problems(
    ground: GroundProgram, logic: Logic, known: NDArray[np.bool_]
) -> Iterator[Diagnostic]:
    if any(_is_function(symbol) and symbol.negative for symbol in ground.symbols):
        yield from _classical_negation(ground, logic)
    heads = {atom for rule in ground.rules if rule.choice for atom in rule.head}
    opened = set(np.flatnonzero(~known).tolist())
    if heads:
        yield from _choice_rules(ground, logic, heads)
    elif any(_is_aggregate(rule, opened) for rule in ground.rules):
        yield from _aggregates(ground, logic, opened)
    elif _has_conditional(ground, opened):
        yield from _conditions(ground, logic, opened)
    disjunctive = any(len(rule.head) > 1 and not rule.choice for rule in ground.rules)
    if logic is Logic.WELLFOUNDED and disjunctive:
        yield from _by_statement(
            ground,
            lambda node: node.ast_type == ASTType.Disjunction,
            "wellfounded-disjunction",
            "disjunction has no meaning under the wellfounded semantics",
            "use #semantics stable, partial or lstable",
            part="head",
        )


def _classical_negation(ground: GroundProgram, logic: Logic) -> Iterator[Diagnostic]:
    return _by_statement(
        ground,
        lambda node: (
            node.ast_type == ASTType.SymbolicAtom and node.symbol.ast_type == ASTType.UnaryOperation
        ),
        "classical-negation",
        f"classical negation has no meaning under the {logic.value} semantics",
        "write another predicate, as not_a for -a, and a constraint :- a, not_a.",
    )


def _choice_rules(ground: GroundProgram, logic: Logic, heads: set[int]) -> Iterator[Diagnostic]:
    return _by_statement(
        ground,
        lambda node: (
            node.ast_type in (ASTType.Aggregate, ASTType.HeadAggregate)
            and bool(_signatures(node) & _names(ground, heads))
        ),
        "choice-rule",
        f"a choice rule has no meaning under the {logic.value} semantics",
        "use #semantics stable, or a probabilistic fact",
        part="head",
    )


def _aggregates(ground: GroundProgram, logic: Logic, opened: set[int]) -> Iterator[Diagnostic]:
    return _by_statement(
        ground,
        lambda node: (
            node.ast_type in (ASTType.Aggregate, ASTType.BodyAggregate)
            and bool(_signatures(node) & _names(ground, opened))
        ),
        "undetermined-aggregate",
        f"an aggregate over atoms that can be undefined has no meaning under the {logic.value} "
        "semantics",
        "aggregate only over atoms that do not depend on a loop through negation "
        "or on a disjunction, or use #semantics stable",
        part="body",
    )


def _conditions(ground: GroundProgram, logic: Logic, opened: set[int]) -> Iterator[Diagnostic]:
    return _by_statement(
        ground,
        lambda node: (
            node.ast_type == ASTType.ConditionalLiteral
            and bool(node.condition)
            and bool(_signatures(node) & _names(ground, opened))
        ),
        "undetermined-condition",
        "a conditional literal over atoms that can be undefined has no meaning under the "
        f"{logic.value} semantics",
        "write the cases as rules of their own, or use #semantics stable",
        part="body",
    )


def _is_function(symbol: Symbol | None) -> TypeGuard[Symbol]:
    return symbol is not None and symbol.type is SymbolType.Function


def _is_aggregate(rule: Rule, opened: set[int]) -> bool:
    return rule.weights is not None and any(abs(b) in opened for b in rule.body)


def _has_conditional(ground: GroundProgram, opened: set[int]) -> bool:
    """Whether an atom without a name is not determined, unless it only stands for ``not not``."""
    auxiliary = {atom for atom in opened if ground.symbols[atom] is None}
    seen: set[int] = set()
    for rule in ground.rules:
        for atom in auxiliary.intersection(rule.head):
            if atom in seen or len(rule.head) > 1 or len(rule.body) != 1 or rule.body[0] > 0:
                return True
            seen.add(atom)
    return False


def _names(ground: GroundProgram, atoms: set[int]) -> set[NameAndArity]:
    """The predicates of the atoms."""
    symbols = (ground.symbols[atom] for atom in atoms)
    return {(symbol.name, len(symbol.arguments)) for symbol in symbols if _is_function(symbol)}


def _signatures(node: AST) -> set[NameAndArity]:
    """The predicates that occur below a node."""
    return {
        (child.name, len(child.arguments))
        for child in walk(node)
        if child.ast_type == ASTType.Function
    }


def _by_statement(
    ground: GroundProgram,
    guilty: Callable[[AST], bool],
    code: str,
    message: str,
    help: str,
    part: str = "",
) -> Iterator[Diagnostic]:
    """The diagnostic once for each statement with a guilty node, or once without a place."""
    spans: list[Span | None] = [
        span
        for span, nodes in _statements(ground, part)
        if any(guilty(child) for node in nodes for child in walk(node))
    ]
    for span in spans or [None]:
        yield Diagnostic(code, message, span, help)


def _statements(ground: GroundProgram, part: str) -> Iterator[tuple[Span, list[AST]]]:
    """The statements with the nodes of the part of them to look at ('' is all)."""
    for statement in ground.program.statements:
        match statement:
            case Plain(node=node, span=span):
                if not part:
                    yield span, [node]
                else:
                    nodes = getattr(node, part, ())
                    yield span, [nodes] if isinstance(nodes, AST) else list(nodes)
            case Annotated(heads=heads, body=body, span=span):
                yield span, [*([h.atom for h in heads] if part != "body" else []), *body]
            case Neural(body=body, span=span):
                yield span, list(body)
