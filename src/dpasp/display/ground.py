"""A ground program as JSON values, for other programs to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpasp.ground.program import (
    Choice,
    FixedWeights,
    FromNetwork,
    GroundMap,
    GroundProgram,
    IntervalWeights,
    Learned,
    Present,
    Rule,
)
from dpasp.ground.text import atom_names, choice_bodies
from dpasp.language import ast


def ground_dict(ground: GroundProgram) -> dict[str, Any]:
    """The atoms, choices, rules and questions; a literal is ``"a"`` or ``"not a"``.

    >>> from dpasp.ground import ground
    >>> from dpasp.language import parse
    >>> ground_dict(ground(parse("0.3::a. b :- not a.")))["rules"]
    [{'head': ['b'], 'body': ['not a']}]
    """
    names = atom_names(ground)
    bodies, rules = choice_bodies(ground)
    record: dict[str, Any] = {
        "files": list(ground.program.files),
        "atoms": sorted(str(symbol) for symbol in ground.symbols if symbol is not None),
        "choices": [_choice(ground, choice, bodies, names) for choice in ground.choices],
        "rules": [_rule(rule, names) for rule in rules],
        "evidence": [str(literal) for literal in ground.evidence],
        "questions": [
            {"query": q.text, "kind": "map" if isinstance(q, GroundMap) else "probability"}
            for q in ground.questions
        ],
    }
    if ground.warnings:
        record["warnings"] = [warning.to_dict() for warning in ground.warnings]
    return record


def _choice(
    ground: GroundProgram,
    choice: Choice,
    bodies: dict[int, list[tuple[int, ...]]],
    names: list[str],
) -> dict[str, Any]:
    span = ground.program.statements[choice.statement].span
    return {
        "heads": [names[head] for head in choice.heads],
        **_weights(ground, choice),
        "bodies": [_literals(body, names) for body in bodies.get(choice.selectors[0], ())],
        "file": span.file,
        "line": span.line,
    }


def _weights(ground: GroundProgram, choice: Choice) -> dict[str, Any]:
    """The probabilities of the heads, as far as they are known, and where they come from."""
    match choice.weight:
        case FixedWeights(probabilities):
            return {"probabilities": list(probabilities)}
        case IntervalWeights(lower, upper):
            bounds = zip(lower, upper, strict=True)
            return {"probabilities": [[low, high] for low, high in bounds]}
        case Learned(number):
            parameter = ground.parameters[number]
            learnable = [not fixed for fixed in parameter.fixed]
            return {"probabilities": list(parameter.initial), "learnable": learnable}
        case FromNetwork(number, row):
            network = ground.networks[number]
            said = ground.program.statements[network.statement]
            name = said.network.factory.function if isinstance(said, ast.Neural) else ""
            return {"probabilities": None, "network": name, "row": str(network.rows[row])}
        case Present(atom):
            return {"probabilities": None, "data": str(atom)}


def _rule(rule: Rule, names: list[str]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "head": [names[atom] for atom in rule.head],
        "body": _literals(rule.body, names),
    }
    if rule.choice:
        record["choice"] = True
    if rule.weights is not None:
        record |= {"weights": list(rule.weights), "bound": rule.bound}
    return record


def _literals(body: Iterable[int], names: list[str]) -> list[str]:
    return [names[literal] if literal > 0 else f"not {names[-literal]}" for literal in body]
