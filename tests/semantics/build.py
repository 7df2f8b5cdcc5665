"""Ground programs from propositional ones, without the parser and the grounder."""

from __future__ import annotations

from clingo import Function, Symbol

from dpasp.errors import Span
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
    Rule,
)
from dpasp.language import ast
from tests.oracle import programs

NOWHERE = Span("<test>", 1, 1, 1, 1)


def ground(program: programs.Program) -> GroundProgram:
    """The ground program that a propositional program is."""
    symbols: list[Symbol | None] = [None, *map(Function, program.atoms)]
    atoms = {str(symbol): i for i, symbol in enumerate(symbols) if i}

    def body(positive: tuple[str, ...], negative: tuple[str, ...]) -> tuple[int, ...]:
        return (*(atoms[a] for a in positive), *(-atoms[a] for a in negative))

    rules = [
        Rule(tuple(atoms[a] for a in rule.head), body(rule.positive, rule.negative))
        for rule in program.rules
    ]
    choices = []
    for index, choice in enumerate(program.choices):
        selectors = tuple(range(len(symbols), len(symbols) + len(choice.heads)))
        symbols += [None] * len(selectors)
        heads = tuple(atoms[a] for a in choice.heads)
        below = body(choice.positive, choice.negative)
        rules += [
            Rule((head,), (selector, *below))
            for head, selector in zip(heads, selectors, strict=True)
        ]
        choices.append(_choice(index, choice, selectors, heads))
    questions = tuple(_query(query, atoms) for query in program.queries)
    names = {symbol: i for i, symbol in enumerate(symbols) if symbol is not None}
    return GroundProgram(
        ast.Program(()),
        tuple(symbols),
        tuple(rules),
        tuple(choices),
        questions=questions,
        atoms=names,
    )


def _choice(
    index: int, choice: programs.Choice, selectors: tuple[int, ...], heads: tuple[int, ...]
) -> Choice:
    lower, upper = tuple(map(float, choice.lower)), tuple(map(float, choice.upper))
    weight = IntervalWeights(lower, upper) if choice.credal else FixedWeights(lower)
    nothing = len(heads) == 1 or (not choice.credal and sum(choice.lower) < 1)
    return Choice(index, (), selectors, heads, weight, nothing)


def _query(query: programs.Query, atoms: dict[str, int]) -> GroundQuery:
    def literals(written: tuple[programs.Literal, ...]) -> tuple[GroundLiteral, ...]:
        return tuple(
            GroundLiteral(ast.Mode(one.mode), atoms.get(one.atom, 0), Function(one.atom))
            for one in written
        )

    return GroundQuery(literals(query.literals), literals(query.evidence), str(query), NOWHERE)
