"""What atoms are called to people: ``#name smokes(X): "{X} smokes".``

>>> from clingo import parse_term
>>> from dpasp.language import parse
>>> people = People.of(parse('#name smokes(X): "{X} smokes".'))
>>> people.name(parse_term("smokes(anna)")), people.name(parse_term("rich(anna)"))
('anna smokes', 'rich(anna)')
"""

from __future__ import annotations

from collections.abc import Mapping

from clingo import Symbol, SymbolType

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.logic.matching import match
from dpasp.logic.terms import Signature, split_atom


@dataclass(frozen=True)
class People:
    """The names that a program gives to its atoms; the first that fits is taken."""

    names: Mapping[Signature, tuple[ast.Naming, ...]]

    @classmethod
    def of(cls, program: ast.Program) -> People:
        """The names that a program gives."""
        names: dict[Signature, tuple[ast.Naming, ...]] = {}
        for statement in program.statements:
            if isinstance(statement, ast.Naming):
                signature, _ = split_atom(statement.atom)
                names[signature] = (*names.get(signature, ()), statement)
        return cls(names)

    def name(self, symbol: Symbol) -> str:
        """What an atom is called; itself, where it has no name."""
        signature = Signature(symbol.name, len(symbol.arguments), symbol.positive)
        for naming in self.names.get(signature, ()):
            values = match(naming.atom, symbol, {})
            if values is not None:
                return naming.filled({name: _plain(value) for name, value in values.items()})
        return str(symbol)


def _plain(value: Symbol) -> str:
    return value.string if value.type == SymbolType.String else str(value)
