"""``#name smokes(X): "{X} smokes".``: the names of atoms in explanations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.statements.options import quote
from dpasp.language.statements.statement import Draft, Setting, Statement, span_field
from dpasp.language.text import Reading, Sources
from dpasp.language.text.clingo_text import exact, is_positive, variables
from dpasp.language.text.lexer import CLOSING, OPENING

_FORM = 'atoms are named by #name smokes(X): "{X} smokes".'
_PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Naming(Statement):
    """An atom (as a term) and its name, with ``{X}`` for the value of a variable."""

    atom: AST
    name: str
    span: Span = span_field()

    words = ("#name",)
    form = '#name smokes(X): "{X} smokes".'
    about = "how atoms read in explanations"

    def filled(self, values: Mapping[str, str]) -> str:
        """The name with values in place of variables."""
        return _PLACE.sub(lambda place: values.get(place[1].strip(), place[0]), self.name)

    def places(self) -> list[str]:
        return [name.strip() for name in _PLACE.findall(self.name)]

    @staticmethod
    def read(cursor: Reading) -> Draft:
        word = cursor.next()
        first, depth = cursor.peek(), 0
        while not cursor.at_end() and (depth or cursor.peek().text != ":"):
            token = cursor.next()
            if token.text in (";", "not", ":-", ".."):
                message = f"#name takes one atom: '{token.text}' is not supported here"
                cursor.fail("directive-syntax", message, token, _FORM)
            depth += (token.text in OPENING) - (token.text in CLOSING)
        colon = cursor.expect(":", "directive-syntax", _FORM)
        if colon.start == first.start:
            cursor.fail("directive-syntax", "an atom is missing here", colon, _FORM)
        name = cursor.expect_string("directive-syntax", "a name in quotes is missing here", _FORM)
        cursor.blank(word)
        cursor.blank(colon, cursor.peek(-1))
        cursor.expect_end(_FORM)
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            fact = len(nodes) == 1 and nodes[0].ast_type == ASTType.Rule and not nodes[0].body
            if not fact or not is_positive(nodes[0].head):
                return None
            symbol = nodes[0].head.atom.symbol
            return None if symbol.ast_type == ASTType.Pool else Naming(symbol, name, span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Naming], setting: Setting) -> Iterator[Diagnostic]:
        """Names with ``{X}`` for a variable that the atom does not have."""
        for statement in statements:
            known = [variable.name for variable in variables(statement.atom)]
            for name in statement.places():
                if name not in known:
                    said = (
                        f"its variables are {', '.join(known)}" if known else "it has no variables"
                    )
                    yield Diagnostic(
                        "unknown-variable",
                        f"{{{name}}} is not a variable of {exact(statement.atom)}",
                        statement.span,
                        nearest(name, known) or said,
                    )

    def __str__(self) -> str:
        return f"#name {exact(self.atom)}: {quote(self.name)}."
