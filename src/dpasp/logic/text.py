"""A ground program as text to read: its choices, its rules, its questions.

A choice is one line, whatever it takes for its heads to hold: several bodies are
joined by ``or``. Atoms without a name, which clingo adds for aggregates and the
like, are written ``#7``.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> print(ground_text(ground(parse("d(1..2). 0.5::b :- d(X). c :- not b."))))
% 2 choices, 3 rules
0.5::b.
0.5::b.
d(1).
d(2).
c :- not b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.logic.program import (
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
from dpasp.writing import harmless


def ground_text(ground: GroundProgram) -> str:
    """The program as text, the same for the same program."""
    printer = _Printer(ground, atom_names(ground))
    bodies, rules = choice_bodies(ground)
    choices, plain = len(ground.choices), len(rules)
    lines = [f"% {choices} choice{'s' * (choices != 1)}, {plain} rule{'s' * (plain != 1)}"]
    lines += (printer.choice(choice, bodies) for choice in ground.choices)
    lines += map(printer.rule, rules)
    lines += printer.questions()
    return harmless("\n".join(lines))


def choice_bodies(ground: GroundProgram) -> tuple[dict[int, list[tuple[int, ...]]], list[Rule]]:
    """By selector, the bodies under which its head holds; and the rules of no choice."""
    selectors = {selector for choice in ground.choices for selector in choice.selectors}
    bodies: dict[int, list[tuple[int, ...]]] = {}
    rules: list[Rule] = []
    for rule in ground.rules:
        if rule.body and rule.body[0] in selectors:
            bodies.setdefault(rule.body[0], []).append(rule.body[1:])
        else:
            rules.append(rule)
    return bodies, rules


def atom_names(ground: GroundProgram) -> list[str]:
    """A name for each atom."""
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

    def network(self, choice: Choice) -> str:
        """The network behind a choice and the row that it is given."""
        if not isinstance(choice.weight, FromNetwork):
            return ""
        network = self.ground.networks[choice.weight.network]
        statement = self.ground.program.statements[network.statement]
        name = statement.network.factory.function if isinstance(statement, ast.Neural) else ""
        return f" as @{name} of {network.rows[choice.weight.row]}"

    def questions(self) -> Iterator[str]:
        if self.ground.evidence:
            yield f"#evidence {', '.join(map(str, self.ground.evidence))}."
        for question in self.ground.questions:
            if not isinstance(question, GroundMap):
                yield f"#query {question.text}."
            else:  # the text of #mpe says so itself
                yield f"#{'' if question.everything else 'map '}{question.text}."
