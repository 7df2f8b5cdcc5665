"""``(fly(X) | bird(X))[0.6, 1].``: at least 60 % of all birds fly.

In every model, the head holds in a share of the ways to satisfy the body that lies within the
bounds; in which of them is left open. So the statement stands for a choice rule and constraints.
The bounds may also come first, as in ``(0.6, 1)[fly(X) | bird(X)].``

>>> from dpasp.language import parse
>>> (statement,) = parse("(0.6,1)[fly(X)|bird(X)].").statements
>>> print(statement, statement.node, *constraints(statement, {}), sep=chr(10))
(fly(X) | bird(X))[0.6, 1].
{ fly(X) } :- bird(X).
#false :- 0 > #sum { 5,X: bird(X), fly(X); -3,X: bird(X) }.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clingo import Number, ast
from clingo.ast import AST, ASTType, ComparisonOperator, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.expressions import (
    Expression,
    Variable,
    expression_text,
    expression_variables,
    read_expression,
    unknown_variables,
)
from dpasp.language.statements.statement import Draft, Logic, Setting, Statement, span_field
from dpasp.language.statements.weights import probability
from dpasp.language.text import Cursor, Piece, Reading, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import exact, global_variables, variables
from dpasp.language.text.lexer import Refused, outside

if TYPE_CHECKING:
    from fractions import Fraction

FORM = "a statistical statement is written (fly(X) | bird(X))[0.6, 1]."
LARGEST = 2**31 - 1  # the largest of the integers in which counts are compared


@dataclass(frozen=True, slots=True)
class Statistical(Statement):
    """``(head | body)[lower, upper].``; ``node`` is the choice rule ``{head} :- body.``"""

    node: AST
    lower: Expression
    upper: Expression
    span: Span = span_field()

    form = "(fly(X) | bird(X))[0.6, 1]."
    about = "of all instances of the body, the share in which the head holds is within the bounds"

    @property
    def head(self) -> AST:
        """The literal before the bar."""
        literal: AST = self.node.head.elements[0].literal
        return literal

    @property
    def body(self) -> tuple[AST, ...]:
        """The literals after the bar."""
        return tuple(self.node.body)

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        """Whether a statement begins with a group that has a bar or is followed by ``[``."""
        if not file.text.startswith("(", piece.start):
            return False
        cursor = Cursor(file, piece.start, piece.end)
        try:
            first = _group(cursor)
        except Refused:
            return False
        return cursor.peek().text == "[" or (first.bar() is not None and cursor.peek().text == ".")

    @staticmethod
    def read(cursor: Reading) -> Draft:
        """Read a statistical statement; clingo reads its literals as a disjunction."""
        said = _group(cursor)
        if cursor.peek().text != "[":
            message = "the bounds of the share are missing"
            cursor.fail("statistical-syntax", message, cursor.peek(), FORM)
        bounds = _group(cursor)
        if said.bar() is None:
            said, bounds = bounds, said
        cursor.expect_end(FORM, code="statistical-syntax")
        bar = _check_said(cursor, said)
        lower, upper = _bounds(cursor.file, bounds)
        cursor.blank(said.opening)
        cursor.put(bar, ";")
        cursor.blank(said.closing)
        cursor.blank(bounds.opening, bounds.closing)
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            if len(nodes) != 1 or nodes[0].head.ast_type != ASTType.Disjunction:
                return None
            head, *body = (element.literal for element in nodes[0].head.elements)
            plain = head.atom.ast_type == ASTType.SymbolicAtom and head.sign == Sign.NoSign
            if not plain or head.atom.symbol.ast_type == ASTType.Pool:
                message, where = "one atom stands before the '|'", sources.span_of(head.location)
                raise ProgramError(Diagnostic("statistical-syntax", message, where, FORM))
            element = ast.ConditionalLiteral(head.location, head, [])
            choice = ast.Aggregate(head.location, None, [element], None)
            return Statistical(ast.Rule(nodes[0].location, choice, body), lower, upper, span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Statistical], setting: Setting) -> Iterator[Diagnostic]:
        """Check the semantics, unbound variables and the bounds."""
        logic = setting.meaning.logic
        for statement in statements:
            if logic is not Logic.STABLE:
                message = (
                    f"a statistical statement has no meaning under the {logic.value} semantics"
                )
                each = str(statement).partition(")[")[2].removesuffix("].")
                help = f"say '#semantics stable.', or let each have a probability: [{each}]::"
                help += f"{exact(statement.head)} :- {', '.join(map(exact, statement.body))}."
                yield Diagnostic("statistical-semantics", message, statement.span, help)
            span_of = setting.program.sources.span_of
            used = [Variable(v.name, span_of(v.location)) for v in variables(statement.head)]
            known = global_variables(statement.body)
            yield from unknown_variables(used, known, "after the '|'", "by a literal after the '|'")
            yield from _check_bounds(statement, setting.numbers)

    def __str__(self) -> str:
        body = ", ".join(map(exact, self.body))
        bounds = ", ".join(map(expression_text, (self.lower, self.upper)))
        return f"({exact(self.head)} | {body})[{bounds}]."


class _Group(NamedTuple):
    """A bracketed group: its brackets, and the tokens between them."""

    opening: Token
    inside: list[Token]
    closing: Token

    def bar(self) -> int | None:
        """The place of its first ``|``, outside of other brackets."""
        return next((place for place, token in outside(self.inside) if token.text == "|"), None)


def _group(cursor: Cursor) -> _Group:
    at, opening = cursor.index, cursor.peek()
    closing = cursor.skip_group()
    return _Group(opening, cursor.tokens[at + 1 : cursor.index - 1], closing)


def _check_said(cursor: Cursor, said: _Group) -> Token:
    """The bar between head and body, which must be one atom and some literals."""
    place = said.bar()
    if place is None:
        message = "a '|' between head and body is missing"
        cursor.fail("statistical-syntax", message, (said.opening.start, said.closing.end), FORM)
    bar = said.inside[place]
    if place == 0 or place + 1 == len(said.inside):
        message = f"an atom is missing {'before' if place == 0 else 'after'} the '|'"
        cursor.fail("statistical-syntax", message, bar, FORM)
    for at, token in outside(said.inside):
        if at < place and token.text in (",", ";"):
            help = "define an atom for it by a rule: both(X) :- a(X), b(X)."
            cursor.fail("statistical-syntax", "one atom stands before the '|'", token, help)
        if at > place and token.text == "|":
            help = f"keep one, and join literals by ','; {FORM}"
            cursor.fail("statistical-syntax", "a second '|'", token, help)
        directive = token.kind == "directive" and token.text not in ("#true", "#false")
        if directive or token.text in (":", ":-", "::"):
            message = "after the '|' stand literals and comparisons only"
            help = "define an atom by a rule, and write that here"
            cursor.fail("statistical-syntax", message, token, help)
    return bar


def _bounds(file: SourceFile, group: _Group) -> tuple[Expression, Expression]:
    cursor = Cursor(file, group.opening.end, group.closing.start)
    if cursor.at_end():
        message = "the bounds of the share are missing"
        where = (group.opening.start, group.closing.end)
        cursor.fail("statistical-syntax", message, where, FORM)
    lower = read_expression(cursor)
    cursor.expect(",", "statistical-syntax", FORM)
    upper = read_expression(cursor)
    if not cursor.at_end():
        message = f"unexpected '{cursor.peek().text}' after the bounds"
        cursor.fail("statistical-syntax", message, cursor.peek(), FORM)
    return lower, upper


# --- meaning ------------------------------------------------------------------------------------


def constraints(statement: Statistical, values: Mapping[str, float]) -> list[AST]:
    """The constraints that keep the share within its bounds, in integers.

    ``values`` are those of constants.
    """
    lower, upper = (probability(bound, values) for bound in (statement.lower, statement.upper))
    made = []
    if lower > 0:
        made.append(_constraint(statement, lower, ComparisonOperator.GreaterThan))
    if upper < 1:
        made.append(_constraint(statement, upper, ComparisonOperator.LessThan))
    return made


def _constraint(statement: Statistical, share: Fraction, forbidden: ComparisonOperator) -> AST:
    """The constraint that a sum (n for each with the head, -m for all) must not be so.

    The share is m/n.
    """
    where = statement.node.location
    keys = list(global_variables(statement.body).values())

    def number(value: int) -> AST:
        return ast.SymbolicTerm(where, Number(value))

    elements = [
        ast.BodyAggregateElement(
            [number(share.denominator), *keys], [*statement.body, statement.head]
        ),
        ast.BodyAggregateElement([number(-share.numerator), *keys], statement.body),
    ]
    zero = ast.Guard(forbidden, number(0))
    total = ast.BodyAggregate(where, zero, ast.AggregateFunction.Sum, elements, None)
    false = ast.Literal(where, Sign.NoSign, ast.BooleanConstant(False))
    return ast.Rule(where, false, [ast.Literal(where, Sign.NoSign, total)])


def _check_bounds(
    statement: Statistical, numbers: Mapping[str, float] | None
) -> Iterator[Diagnostic]:
    shares: list[Fraction] = []
    for bound in (statement.lower, statement.upper):
        if variable := next(expression_variables(bound), None):
            message = f"the bound {variable.name} is a variable, but a share is one number"
            help = "write a number such as 0.6, or a constant: #const p = 0.6."
            yield Diagnostic("unknown-variable", message, variable.span, help)
        elif numbers is not None:
            try:
                share = probability(bound, numbers)
            except ProgramError as error:
                yield from error.diagnostics
                continue
            if share.denominator > LARGEST:
                message = "this share has too many digits to be counted in whole numbers"
                yield Diagnostic("number-range", message, bound.span, "round it to nine digits")
            shares.append(share)
    if len(shares) == 2 and shares[0] > shares[1]:
        low, high = (f"{float(share):.10g}" for share in shares)
        where = statement.lower.span.to(statement.upper.span)
        message = f"no share lies between {low} and {high}"
        yield Diagnostic("interval-order", message, where, "write the lower bound first")
