"""The weights behind the choices of a program, and the parameters that they share.

>>> from dpasp.language import parse
>>> program = parse("W/10::a(W) :- w(W). w(3).")
>>> from clingo import Number
>>> ChoiceWeights({}).weigh(0, program.statements[0], (("W", Number(3)),))
(FixedWeights(probabilities=(0.3,)), True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from clingo import Symbol, SymbolType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import ast
from dpasp.language.statements.constants import lost_number
from dpasp.language.statements.distributions import (
    Bounded,
    Distribution,
    Known,
    Start,
    are_probabilities,
    distribution,
    known,
)
from dpasp.language.statements.weights import weight_variables
from dpasp.logic.constants import symbol_number
from dpasp.logic.program import FixedWeights, GroundWeight, IntervalWeights, Learned, Parameter

Substitution = tuple[tuple[str, Symbol], ...]


@dataclass(slots=True)
class ChoiceWeights:
    """Gives each choice its weight and gathers the parameters of learnable ones."""

    numbers: Mapping[str, float]
    parameters: list[Parameter] = field(default_factory=list)
    _indices: dict[tuple[int, Substitution], int] = field(default_factory=dict)
    _variables: dict[int, tuple[ast.Variable, ...]] = field(default_factory=dict)
    _known: dict[tuple[int, tuple[Symbol, ...]], Distribution] = field(default_factory=dict)

    def weigh(
        self, index: int, statement: ast.Annotated, substitution: Substitution
    ) -> tuple[GroundWeight, bool]:
        """The weight of an instance of a statement, and whether it can choose nothing."""
        if statement.numbers is not None and are_probabilities(statement.numbers):
            row = known(statement.numbers)
            return FixedWeights(row.probabilities), row.nothing
        distribution = self._distribution(index, statement, substitution)
        match distribution:
            case Known(probabilities, nothing):
                return FixedWeights(probabilities), nothing
            case Bounded(lower, upper, nothing):
                return IntervalWeights(lower, upper), nothing
            case Start():
                parameter = self._parameter(index, statement, substitution, distribution)
                return Learned(parameter), distribution.nothing

    def _distribution(
        self, index: int, statement: ast.Annotated, substitution: Substitution
    ) -> Distribution:
        needed = self._variables.get(index)
        if needed is None:
            needed = self._variables[index] = tuple(_variables(statement))
        symbols = dict(substitution) if needed else {}
        key = index, tuple(symbols[variable.name] for variable in needed)
        if key not in self._known:
            self._known[key] = self._evaluate(statement, needed, symbols)
        return self._known[key]

    def _evaluate(
        self,
        statement: ast.Annotated,
        needed: tuple[ast.Variable, ...],
        symbols: Mapping[str, Symbol],
    ) -> Distribution:
        values = dict(self.numbers)
        for variable in needed:
            value = symbol_number(symbols[variable.name])
            if value is None:
                raise ProgramError(_not_a_number(variable, symbols[variable.name]))
            values[variable.name] = value
        try:
            return distribution(statement.heads, values)
        except ProgramError as error:
            names = dict.fromkeys(variable.name for variable in needed)
            assigned = ", ".join(f"{name} = {symbols[name]}" for name in names)
            raise ProgramError([_with_values(d, assigned) for d in error.diagnostics]) from error

    def _parameter(
        self, index: int, statement: ast.Annotated, substitution: Substitution, start: Start
    ) -> int:
        names = parameter_key(statement)
        key = tuple(pair for pair in substitution if pair[0] in names)
        number = self._indices.get((index, key))
        if number is None:
            number = self._indices[index, key] = len(self.parameters)
            parameter = Parameter(index, key, start.initial, start.fixed, start.nothing)
            self.parameters.append(parameter)
            return number
        known = self.parameters[number]
        if (known.initial, known.fixed) != (start.initial, start.fixed):
            raise ProgramError(_uneven(statement))
        return number


def parameter_key(statement: ast.Annotated) -> tuple[str, ...]:
    """The variables whose values have a parameter each."""
    weights = (head.weight for head in statement.heads)
    return next((weight.key for weight in weights if isinstance(weight, ast.Learnable)), ())


def _variables(statement: ast.Annotated) -> Iterator[ast.Variable]:
    for head in statement.heads:
        yield from weight_variables(head.weight)


def _not_a_number(variable: ast.Variable, symbol: Symbol) -> Diagnostic:
    lost = lost_number(symbol.string) if symbol.type == SymbolType.String else None
    what = "not a number" if lost is None else lost[0]
    message = f"{variable.name} is {symbol} here, which is {what}"
    help = 'use integers (as in W/10) or strings such as "0.3" where a probability needs them'
    return Diagnostic("probability-number", message, variable.span, help)


def _with_values(diagnostic: Diagnostic, values: str) -> Diagnostic:
    if not values:
        return diagnostic
    return replace(diagnostic, message=f"{diagnostic.message} (with {values})")


def _uneven(statement: ast.Annotated) -> Diagnostic:
    variables = ",".join(dict.fromkeys(v.name for v in _variables(statement)))
    message = "instances that share a parameter have different probabilities here"
    help = f"give each of them its own parameter, as in ?({variables})::"
    return Diagnostic("parameter-uneven", message, statement.heads[0].weight.span, help)
