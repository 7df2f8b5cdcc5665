"""A program's text with what was learned in place.

Probabilities to learn become numbers (or intervals) that read back as the same doubles, a rule
with a parameter for each value of a key becomes a rule for each, and ``#learn`` goes. All else,
comments included, stays as it was.

>>> import dpasp
>>> program = dpasp.loads("?::a.  % a coin\\n#query a.")
>>> _ = program.learn(["a", "not a"])
>>> print(program.learned_program(), end="")
0.5::a.  % a coin
#query a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.ground.program import GroundProgram, Parameter
from dpasp.language import ast
from dpasp.language.ast import statement_text

NETWORKS = (
    "% The networks keep what they learned in a file: program.save(path), program.restore(path)."
)


@dataclass(frozen=True, slots=True)
class LearnedValues:
    """What was learned of one parameter: numbers, or the ends of intervals, by head."""

    parameter: Parameter
    lower: Sequence[float]
    upper: Sequence[float]

    def heads(self, statement: ast.Annotated) -> tuple[ast.Head, ...]:
        """The heads of its statement, with what was learned."""
        ends = zip(statement.heads, self.lower, self.upper, strict=True)
        return tuple(replace(head, weight=_weight(head.weight, *pair)) for head, *pair in ends)


def _weight(weight: ast.Weight, lower: float, upper: float) -> ast.Weight:
    """A learned probability or interval in place of a parameter."""
    if not isinstance(weight, ast.Learnable):
        return weight
    if lower == upper:
        return ast.Fixed(ast.Number(lower))
    return ast.Interval(ast.Number(lower), ast.Number(upper))


def learned_text(ground: GroundProgram, learned: Sequence[LearnedValues]) -> str:
    """The program as text, with what was learned of each parameter.

    The files of a program come one after the other, included ones in place.
    """
    program = ground.program
    by_statement: dict[int, list[LearnedValues]] = {}
    for values in learned:
        by_statement.setdefault(values.parameter.statement, []).append(values)
    new = {
        index: _lines(program.statements[index], learned_values)
        for index, learned_values in by_statement.items()
    }
    for index, statement in enumerate(program.statements):
        if isinstance(statement, ast.Learn):
            new[index] = []
    texts = list(program.sources.values())
    if any("#include" in text for text in texts):
        lines = [
            line
            for index, statement in enumerate(program.statements)
            for line in new.get(index, [statement_text(statement)])
        ]
        text = "\n".join(lines) + "\n"
    else:
        text = _edited(program, new)
    return f"{NETWORKS}\n{text}" if ground.networks else text


def _lines(statement: ast.Statement, learned: Sequence[LearnedValues]) -> list[str]:
    """The statements that stand in place of one with parameters."""
    assert isinstance(statement, ast.Annotated)
    lines = []
    for values in learned:
        line = statement_text(replace(statement, heads=values.heads(statement), written=None))
        if values.parameter.key:
            key = ", ".join(f"{name} = {value}" for name, value in values.parameter.key)
            line = f"{line.removesuffix('.')}, {key}."
        lines.append(line)
    return lines


def _edited(program: ast.Program, new: dict[int, list[str]]) -> str:
    """The texts of the files with some statements replaced."""
    edits: dict[str, list[tuple[Span, str]]] = {}
    for index, lines in new.items():
        span = program.statements[index].span
        edits.setdefault(span.file, []).append((span, "\n".join(lines)))
    texts = [_replaced(text, edits.get(name, [])) for name, text in program.sources.items()]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def _replaced(text: str, edits: Sequence[tuple[Span, str]]) -> str:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for span, words in sorted(edits, key=lambda edit: (edit[0].line, edit[0].column), reverse=True):
        begin = starts[span.line - 1] + span.column - 1
        end = starts[span.end_line - 1] + span.end_column - 1
        if not words and begin == starts[span.line - 1] and text[end : end + 1] == "\n":
            end += 1  # the line was all its own
        text = text[:begin] + words + text[end:]
    return text
