"""``#decision``, ``#utility``, ``#expect`` and ``#decide``: what we set, and what it is worth.

clingo reads a decision as the choice rule that it looks like, and the body of a utility as a
constraint.

>>> from dpasp.language import parse
>>> from dpasp.language.ast import statement_text
>>> text = "#decision {go(A) : way(A)} 1 :- open. #utility -2.5*C : go(A), cost(A,C). #decide."
>>> for statement in parse(text).statements:
...     print(statement_text(statement))
#decision {go(A) : way(A)} 1 :- open.
#utility -2.5*C : go(A), cost(A,C).
#decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clingo.ast import AST, ASTType, ComparisonOperator, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.expressions import (
    Expression,
    Name,
    Operation,
    Variable,
    evaluate,
    expression_text,
    nearest_float,
    read_expression,
)
from dpasp.language.statements.kind import Draft, Kind, Setting
from dpasp.language.statements.questions import (
    FORMS,
    Literal,
    QuestionItem,
    check_anonymous,
    literal_text,
    question_items,
    read_literal,
    strip_parentheses,
    undefined_problems,
)
from dpasp.language.statements.statement import Statement, span_field
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources
from dpasp.language.text.clingo_text import body_text, exact, global_variables, variables

_FORM = (
    "a decision is written #decision {a; b} :- body., #decision {a(X) : d(X)} 3. or with 1 {…} 1"
)
FORMS |= {
    "#utility": "a utility is written #utility 60 : a, not b.",
    "#expect": "an expectation is written #expect Z : sum(Z) | c.",
    "#decide": "the best decisions are asked for by #decide., #decide | c. or #decide goal | c.",
}
_SIGNS = {
    ComparisonOperator.LessEqual: "<=",
    ComparisonOperator.LessThan: "<",
    ComparisonOperator.GreaterEqual: ">=",
    ComparisonOperator.GreaterThan: ">",
    ComparisonOperator.Equal: "=",
}
_TURNED = {
    ComparisonOperator.LessEqual: ">=",
    ComparisonOperator.LessThan: ">",
    ComparisonOperator.GreaterEqual: "<=",
    ComparisonOperator.GreaterThan: "<",
    ComparisonOperator.Equal: "=",
}


@dataclass(frozen=True, slots=True)
class Decision(Statement):
    """``#decision 1 {a(X) : d(X)} 2 :- body.``; ``node`` is clingo's choice rule."""

    node: AST
    span: Span = span_field()

    @property
    def elements(self) -> tuple[tuple[AST, tuple[AST, ...]], ...]:
        """The atoms, each with its condition."""
        return tuple((e.literal.atom, tuple(e.condition)) for e in self.node.head.elements)

    @property
    def body(self) -> tuple[AST, ...]:
        """What is known when the decision is taken."""
        return tuple(self.node.body)

    @property
    def bounds(self) -> tuple[tuple[str, AST], ...]:
        """How many of the atoms may be decided: each bound as in ``count < term``."""
        head, found = self.node.head, []
        if head.left_guard is not None:  # as in 'term < count'
            found.append((_TURNED[head.left_guard.comparison], head.left_guard.term))
        if head.right_guard is not None:
            found.append((_SIGNS[head.right_guard.comparison], head.right_guard.term))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Utility(Statement):
    """``#utility V : body.``: a number for each way to satisfy the body."""

    value: Expression
    literals: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Expect(Statement):
    """``#expect V : body | e.``: the expected total of the values, given evidence."""

    value: Expression
    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Decide(Statement):
    """``#decide goal | e.``; without a goal the utilities are what counts."""

    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


# --- reading -----------------------------------------------------------------------------------


def read_decision(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a decision, which without its word is a choice rule."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    buffer.blank(word.start, word.end)
    span = file.span(piece.start, piece.end)
    if cursor.peek().text in (".", ""):
        cursor.fail("decision-syntax", "what is decided is missing", word, _FORM)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if not nodes:
            return None
        _check_choice(nodes, sources, span)
        return Decision(nodes[0], span)

    return Draft(finish)


def _check_choice(nodes: list[AST], sources: Sources, span: Span) -> None:
    """Refuse what is not a choice rule over atoms."""
    node = nodes[0]
    head = node.head if len(nodes) == 1 and node.ast_type == ASTType.Rule else None
    if head is None or head.ast_type != ASTType.Aggregate:
        message = "a decision lists in braces the atoms that are decided"
        raise _error("decision-syntax", message, span, _FORM)
    if not head.elements:
        raise _error("decision-syntax", "nothing is decided here", span, _FORM)
    for element in head.elements:
        literal = element.literal
        if literal.sign != Sign.NoSign or literal.atom.ast_type != ASTType.SymbolicAtom:
            where = sources.span_of(literal.location)
            help = "write the atom itself; a strategy says whether it is decided"
            raise _error("decision-syntax", "only atoms are decided", where, help)
    for guard in (head.left_guard, head.right_guard):
        if guard is not None and guard.comparison not in _SIGNS:
            where = sources.span_of(guard.term.location)
            help = "write bounds such as 1 {a; b} 2"
            raise _error("decision-syntax", "'!=' is not a bound of a decision", where, help)


def read_valued(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#utility`` or ``#expect``; the literals are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    form = FORMS[word.text]
    buffer.put(word.start, word.end, ":-")
    first = cursor.peek()
    if first.text in (":", ".", ""):
        cursor.fail("utility-syntax", "the number is missing", word, form)
    value = read_expression(cursor)
    colon = cursor.next()
    if colon.text != ":":
        message = f"expected ':' {cursor.before(colon)}"
        if colon.text in (".", "|"):
            message = "in which models this counts is missing, after a ':'"
        cursor.fail("utility-syntax", message, colon, form)
    buffer.blank(first.start, colon.end)
    items = question_items(cursor, buffer, word.text)
    if not any(not item.is_evidence for item in items):
        message = "in which models this counts is missing"
        cursor.fail("utility-syntax", message, colon, form)
    span = file.span(piece.start, piece.end)
    if not piece.dotted:
        buffer.end_statement(piece.end)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if not nodes:
            return None
        asked, evidence, guards = _parts(word.text, items, list(nodes[0].body), sources, span)
        if word.text == "#utility":
            return Utility(value, asked, guards, span)
        return Expect(value, asked, evidence, guards, span)

    return Draft(finish)


def read_decide(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#decide``; its literals are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    buffer.put(word.start, word.end, ":-")
    strip_parentheses(cursor, buffer)
    items = question_items(cursor, buffer, "#decide")
    span = file.span(piece.start, piece.end)
    if not piece.dotted and items:
        buffer.end_statement(piece.end)
    elif not items:
        buffer.blank(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if items and not nodes:
            return None
        body = list(nodes[0].body) if items else []
        return Decide(*_parts("#decide", items, body, sources, span), span)

    return Draft(finish, whole=not items)


def _parts(
    directive: str, items: Sequence[QuestionItem], body: list[AST], sources: Sources, span: Span
) -> tuple[tuple[Literal, ...], tuple[Literal, ...], tuple[AST, ...]]:
    """The literals that are asked for, the evidence and the comparisons."""
    if len(items) != len(body):
        raise _error("query-syntax", "this cannot be read", span, FORMS[directive])
    asked: list[Literal] = []
    evidence: list[Literal] = []
    guards: list[AST] = []
    for item, node in zip(items, body, strict=True):
        where = sources.span_of(node.location)
        atom = node.atom if node.ast_type == ASTType.Literal else None
        if atom is not None and atom.ast_type == ASTType.Comparison:
            guards.append(node)
            continue
        is_atom = atom is not None and atom.ast_type == ASTType.SymbolicAtom
        literal = read_literal(item, node, atom if is_atom else None, where)
        if item.is_evidence:
            check_anonymous(directive, literal)
        (evidence if item.is_evidence else asked).append(literal)
    if not asked and directive != "#decide":
        raise _error("query-empty", "this names no atom, only compares", span, FORMS[directive])
    return tuple(asked), tuple(evidence), tuple(guards)


def _error(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))


# --- printing ----------------------------------------------------------------------------------


def _decision_text(statement: Decision) -> str:
    elements = [
        exact(atom) + (f" : {', '.join(map(exact, condition))}" if condition else "")
        for atom, condition in statement.elements
    ]
    left, right = "", ""
    for sign, term in statement.bounds:
        if sign in (">=", ">"):
            left = f"{exact(term)} {'' if sign == '>=' else '< '}"
        else:
            right += f" {'' if sign == '<=' else f'{sign} '}{exact(term)}"
    return f"#decision {left}{{{'; '.join(elements)}}}{right}{body_text(statement.body)}"


def _sides(statement: Utility | Expect | Decide) -> str:
    """The literals and the evidence, as questions have them."""
    asked = [literal_text(literal) for literal in statement.literals]
    evidence = [] if isinstance(statement, Utility) else [*map(literal_text, statement.evidence)]
    guards = list(map(exact, statement.guards))
    (evidence if evidence else asked).extend(guards)
    return ", ".join(asked) + (f"{' ' if asked else ''}| {', '.join(evidence)}" if evidence else "")


def valued_text(statement: Utility | Expect) -> str:
    """``Z : sum(Z) | c``: a utility or an expectation without its directive."""
    return f"{expression_text(statement.value)} : {_sides(statement)}"


def _utility_text(statement: Utility) -> str:
    return f"#utility {valued_text(statement)}."


def _expect_text(statement: Expect) -> str:
    return f"#expect {valued_text(statement)}."


def _decide_text(statement: Decide) -> str:
    return f"#decide {_sides(statement)}".rstrip() + "."


# --- values and checks -------------------------------------------------------------------------


def value_variables(expression: Expression) -> Iterator[Variable]:
    """The variables of an expression."""
    match expression:
        case Variable():
            yield expression
        case Operation(_, left, right):
            if left is not None:
                yield from value_variables(left)
            yield from value_variables(right)


def value_of(expression: Expression, values: Mapping[str, float]) -> float:
    """The number that an expression stands for; :class:`ProgramError` where it is none."""
    return nearest_float(evaluate(expression, values), expression)


def _names(expression: Expression) -> Iterator[Name]:
    match expression:
        case Name():
            yield expression
        case Operation(_, left, right):
            if left is not None:
                yield from _names(left)
            yield from _names(right)


def _check_valued(statements: Sequence[Utility | Expect], setting: Setting) -> Iterator[Diagnostic]:
    for statement in statements:
        nodes = (*(literal.atom for literal in statement.literals), *statement.guards)
        bound = {v.name for node in nodes for v in variables(node)}
        used = list(value_variables(statement.value))
        for variable in used:
            if variable.name not in bound:
                message = f"the variable {variable.name} does not occur after the ':'"
                help = nearest(variable.name, bound) or "bind it by a literal after the ':'"
                yield Diagnostic("unknown-variable", message, variable.span, help)
        if setting.numbers is not None and not used:
            try:
                value_of(statement.value, setting.numbers)
            except ProgramError as error:
                yield from (_infinite(d, list(_names(statement.value))) for d in error.diagnostics)
    parts = (statement.literals for statement in statements)
    others = (s.evidence for s in statements if isinstance(s, Expect))
    yield from undefined_problems((lit for part in (*parts, *others) for lit in part), setting)


def _infinite(diagnostic: Diagnostic, names: Sequence[Name]) -> Diagnostic:
    """The message about a constant without a number, which may be meant as infinity."""
    if any(name.name in ("inf", "nan", "infinity", "infinite") for name in names):
        help = "a utility is a finite real number; what must never happen is a constraint, ':- a.'"
        return Diagnostic("utility-value", "this is not a finite number", diagnostic.span, help)
    return diagnostic


def _check_decides(statements: Sequence[Decide], setting: Setting) -> Iterator[Diagnostic]:
    """A question for the best decisions where there are none, or nothing to tell them apart."""
    kinds = {type(statement) for statement in setting.program.statements}
    for statement in statements:
        if Decision not in kinds:
            message = "there is nothing to decide: the program has no #decision"
            yield Diagnostic("decide-nothing", message, statement.span, _FORM)
        if not statement.literals and Utility not in kinds:
            message = "no decision is better than another: the program has no #utility"
            help = f"{FORMS['#utility']} To make something probable, name it: #decide goal."
            yield Diagnostic("decide-nothing", message, statement.span, help)
    literals = (literal for s in statements for literal in (*s.literals, *s.evidence))
    yield from undefined_problems(literals, setting)


def _decision_terms(statement: Decision) -> Iterator[AST]:
    yield statement.node


def _valued_terms(statement: Utility | Expect | Decide) -> Iterator[AST]:
    yield from (literal.atom for literal in statement.literals)
    if not isinstance(statement, Utility):
        yield from (literal.atom for literal in statement.evidence)
    yield from statement.guards


def decision_variables(statement: Decision) -> dict[str, AST]:
    """The variables for whose values a decision is taken anew: those of its body and bounds."""
    return global_variables((*statement.body, *(term for _, term in statement.bounds)))


DECISION = Kind(
    Decision,
    _decision_text,
    ("#decision",),
    read=read_decision,
    terms=_decision_terms,
    form="#decision {a(X) : d(X)} 3 :- body.",
    about="atoms that we set, as a choice rule; the body is what is known by then",
)
UTILITY = Kind(
    Utility,
    _utility_text,
    ("#utility",),
    read=read_valued,
    terms=_valued_terms,
    check=_check_valued,
    form="#utility 60 : a, not b.",
    about="adds its value in every model in which the literals hold",
)
EXPECT = Kind(
    Expect,
    _expect_text,
    ("#expect",),
    read=read_valued,
    terms=_valued_terms,
    check=_check_valued,
    open_ended=True,
    form="#expect Z : sum(Z) | c.",
    about="the expected total of the value over all ways to satisfy the literals",
)
DECIDE = Kind(
    Decide,
    _decide_text,
    ("#decide",),
    read=read_decide,
    terms=_valued_terms,
    check=_check_decides,
    open_ended=True,
    form="#decide goal | c.",
    about="the decisions with the largest expected utility, or that make a goal most probable",
)
