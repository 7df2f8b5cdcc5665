"""``#query``, ``#map``, ``#mpe``, ``#evidence``, ``#utility``, ``#expect`` and ``#decide``.

clingo reads them as constraints: ``#query a, undef b | not c.`` reaches it as
``:- a, b ; not c.`` with every literal in its place.

>>> from dpasp.language import parse
>>> (query,) = parse("#query(a, not b | undef c).").statements
>>> question_text(query)
'a, not b | undef c'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from clingo.ast import AST, ASTType, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.expressions import (
    Expression,
    Number,
    expression_names,
    expression_text,
    expression_variables,
    read_expression,
    unknown_variables,
    value_of,
)
from dpasp.language.statements.neural import Neural
from dpasp.language.statements.statement import (
    Draft,
    Logic,
    Probability,
    Setting,
    Statement,
    clingo_terms,
    span_field,
)
from dpasp.language.text import Cursor, Piece, Reading, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import exact, variables, walk
from dpasp.language.text.lexer import CLOSING, OPENING

_AGGREGATE = re.compile(r"#max\s*\{")
_SAME = {"#pr": "#query", "#max": "#map"}
_VALUED = ("#utility", "#expect")  # begin with a number and a ':'


class Mode(Enum):
    """The truth value that a literal of a query asks for."""

    TRUE = ""
    FALSE = "not "
    UNDEFINED = "undef "


@dataclass(frozen=True, slots=True)
class Literal:
    """``a``, ``not a`` or ``undef a`` in a query; the atom is a ``SymbolicAtom`` node."""

    mode: Mode
    atom: AST
    span: Span = span_field()

    def __str__(self) -> str:
        return f"{self.mode.value}{exact(self.atom)}"


@dataclass(frozen=True, slots=True)
class Question(Statement):
    """What all questions have: literals to ask for, and conditions.

    ``guards`` are comparisons, conditions on the variables. ``do`` sets atoms, and ``given`` was
    observed in the program in which nothing is set. ``value`` is that of a utility or expectation.
    """

    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...] = ()
    guards: tuple[AST, ...] = ()
    span: Span = span_field()
    do: tuple[Literal, ...] = ()
    given: tuple[Literal, ...] = ()
    value: Expression = Number(1.0)

    @classmethod
    def read(cls, cursor: Reading) -> Draft:
        word = cursor.next()
        directive = _SAME.get(word.text, word.text)
        cursor.put(word, ":-")
        more = {}
        if directive in _VALUED:
            more["value"] = _read_value(cursor, word)
        else:
            _strip_parentheses(cursor)
        last = cursor.peek(-1)
        items = _question_items(cursor, directive)
        if directive not in ("#mpe", "#decide") and all(item.part for item in items):
            message = _EMPTY.get(directive, "nothing is asked for")
            code, where = (
                ("utility-syntax", last) if directive in _VALUED else ("query-empty", word)
            )
            cursor.fail(code, message, where, FORMS[directive])
        span = cursor.span
        if not items:
            cursor.buffer.blank(cursor.start, cursor.end)
        elif not cursor.piece.dotted:
            cursor.buffer.end_statement(cursor.end)

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            body = list(nodes[0].body) if items else []
            found, guards = _parts(directive, items, body, sources, span)
            asked, evidence, do, given = map(tuple, found.values())
            return cls(asked, evidence, tuple(guards), span, do, given, **more)

        return Draft(finish, whole=not items)

    @staticmethod
    def check(questions: Sequence[Question], setting: Setting) -> Iterator[Diagnostic]:
        """Check the limits of the semantics, and the numbers of utilities and expectations."""
        logic = setting.meaning.logic
        yield from _check_interventions(questions, setting)
        for question in questions:
            if isinstance(question, Utility | Expect):
                yield from _check_value(question, setting.numbers)
            for literal in (*question.literals, *question.evidence, *question.given):
                if literal.mode is Mode.UNDEFINED and not logic.three_valued:
                    yield Diagnostic(
                        "undef-two-valued",
                        f"no atom is ever undefined under the {logic.value} semantics",
                        literal.span,
                        "say '#semantics lstable.', partial, smproblog or wellfounded",
                    )

    def __str__(self) -> str:
        word = f"#{type(self).__name__.lower()}"
        if isinstance(self, Map) and not self.literals:
            word = "#mpe"
        return f"{word} {question_text(self)}".rstrip() + "."


class Query(Question):
    """``#query a, not b | undef c.``

    ``#query a | do(not b), c given d.`` asks for ``a`` given ``c`` in the program without the
    rules of ``b``, where ``d`` was observed in the program as it is.
    """

    __slots__ = ()
    words = ("#query", "#pr")
    open_ended = True
    form = "#query a, not b | undef c."
    about = "the probability of literals, given others; `#pr` is the same; `do(b)` sets `b`"


class Map(Question):
    """``#map a?, b? | e.``; ``#mpe | e.`` has no literals and stands for all choices."""

    __slots__ = ()
    words = ("#map", "#mpe", "#max")
    open_ended = True
    form = "#map a?, b? | c."
    about = "the most probable values of atoms (`#max` is the same); `#mpe` of all choices"

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        return _AGGREGATE.match(file.text, piece.start, piece.end) is None


class Evidence(Question):
    __slots__ = ()
    words = ("#evidence",)
    form = "#evidence a, not b."
    about = "literals added to the evidence of every question"


class Utility(Question):
    __slots__ = ()
    words = ("#utility",)
    form = "#utility 60 : a, not b."
    about = "adds its value in every model in which the literals hold"


class Expect(Question):
    __slots__ = ()
    words = ("#expect",)
    open_ended = True
    form = "#expect Z : sum(Z) | c."
    about = "the expected total of the value over all ways to satisfy the literals"


# --- reading ------------------------------------------------------------------------------------


def _read_value(cursor: Reading, word: Token) -> Expression:
    """Read the number of a utility or an expectation, and the ``:`` after it."""
    first, form = cursor.peek(), FORMS[word.text]
    if first.text in (":", ".", ""):
        cursor.fail("utility-syntax", "the number is missing", word, form)
    value = read_expression(cursor)
    colon = cursor.next()
    if colon.text != ":":
        message = f"expected ':' {cursor.before(colon)}"
        if colon.text in (".", "|"):
            message = "a ':' and the literals that say in which models this counts are missing"
        cursor.fail("utility-syntax", message, colon, form)
    cursor.blank(first, colon)
    return value


def _parts(
    directive: str, items: Sequence[_Item], body: Sequence[AST], sources: Sources, span: Span
) -> tuple[dict[str, list[Literal]], list[AST]]:
    """The literals of a question by their part, and its guards."""
    if len(items) != len(body):
        raise ProgramError.at(
            "query-syntax", "this question cannot be read", span, FORMS[directive]
        )
    found: dict[str, list[Literal]] = {"": [], "evidence": [], "do": [], "given": []}
    guards: list[AST] = []
    for item, node in zip(items, body, strict=True):
        kind = node.atom.ast_type if node.ast_type == ASTType.Literal else None
        where = sources.span_of(node.location)
        if kind == ASTType.Comparison and item.part != "do":
            _check_guard(directive, item, where)
            guards.append(node)
            continue
        literal = _literal(item, node, kind == ASTType.SymbolicAtom, where)
        if item.part == "do":
            _check_do(literal, found["do"])
        elif item.part or directive == "#evidence":
            _check_anonymous(directive, literal)
        elif directive == "#map":
            _check_map(item, literal)
        found[item.part].append(literal)
    asked = found[""]
    if directive == "#mpe" and asked:
        message = "#mpe asks for all choices at once, not for an atom"
        help = "write the evidence after '|', #mpe | a., or use #map to ask for some atoms"
        raise ProgramError.at("mpe-atoms", message, asked[0].span, help)
    if directive not in ("#mpe", "#decide") and not asked:
        message = "this asks for no atom, only compares"
        help = f"name an atom, such as weather(rain); {FORMS[directive]}"
        raise ProgramError.at("query-empty", message, span, help)
    return found, guards


def _check_do(literal: Literal, others: Sequence[Literal]) -> None:
    """Refuse an intervention that does not make a single atom true or false."""
    several = (ASTType.Variable, ASTType.Pool, ASTType.Interval)
    if any(part.ast_type in several for part in walk(literal.atom)):
        message = "do(…) is about one atom, without variables"
        help = "write a question for each atom, as in do(smokes(anna))"
        raise ProgramError.at("query-do", message, literal.span, help)
    if literal.mode is Mode.UNDEFINED or literal.atom.symbol.ast_type != ASTType.Function:
        message = "do(…) makes an atom true or false"
        raise ProgramError.at("query-do", message, literal.span, "write do(a) or do(not a)")
    for other in others:
        if exact(other.atom) == exact(literal.atom) and other.mode is not literal.mode:
            message = f"{exact(literal.atom)} cannot be made both true and false"
            raise ProgramError.at("query-do", message, literal.span, "keep one of the two")


def _check_guard(directive: str, item: _Item, where: Span) -> None:
    if directive == "#evidence":
        help = "write 'a' for true and 'not a' for false, and no comparisons"
        raise ProgramError.at("query-literal", "evidence holds atoms only", where, help)
    if item.undefined or item.mark:
        message = "a comparison is neither undefined nor asked for"
        raise ProgramError.at("query-literal", message, where, FORMS[directive])


def _check_anonymous(directive: str, literal: Literal) -> None:
    """Refuse '_' in evidence, except in a negation, where its meaning is clear."""
    if directive != "#query" and literal.mode is Mode.FALSE:
        return
    if any(part.ast_type == ASTType.Variable and part.name == "_" for part in walk(literal.atom)):
        shown = f"{literal.mode.value}{literal.atom}"
        message = f"'{shown}' in evidence could mean some instance or every instance"
        every = (
            "has one question for each value" if directive == "#query" else "means every instance"
        )
        help = f"name the variable, which {every}, or for some instance write 'some :- {shown}.'"
        help += " and give 'some' as evidence"
        raise ProgramError.at("evidence-anonymous", message, literal.span, help)


def _check_map(item: _Item, literal: Literal) -> None:
    """Refuse atoms of ``#map`` without '?'."""
    if literal.mode is not Mode.TRUE:
        message = "#map asks for atoms, which may turn out true or false"
        help = f"write '{literal.atom}?', or put '{literal.mode.value}{literal.atom}' after '|'"
        raise ProgramError.at("query-mark", message, literal.span, help)
    if item.mark is None:
        help = f"write '{literal.atom}?' to ask for it, or put it after '|' as evidence"
        message = "an atom that #map asks for is marked with '?'"
        raise ProgramError.at("query-mark", message, literal.span, help)


def _literal(item: _Item, node: AST, is_atom: bool, where: Span) -> Literal:
    """A literal from clingo's node; anything but an atom is refused."""
    if not is_atom:
        help = "define an atom by a rule and ask for that"
        raise ProgramError.at("query-literal", "a question holds atoms only", where, help)
    if node.sign == Sign.DoubleNegation:
        message = "a question cannot have a double negation"
        raise ProgramError.at("query-literal", message, where, "drop 'not not'")
    if item.undefined is not None:
        return Literal(Mode.UNDEFINED, node.atom, item.undefined.to(where))
    return Literal(Mode.TRUE if node.sign == Sign.NoSign else Mode.FALSE, node.atom, where)


# --- several outcomes ---------------------------------------------------------------------------


def join_outcomes(statements: list[Statement]) -> tuple[Statement, ...]:
    """Turn ``f(x, a; 3)`` in questions into ``f(x, a, 3)`` for neural predicates with outcomes."""
    names = {s.name for s in statements if isinstance(s, Neural) and s.outcomes}
    if not names:
        return tuple(statements)

    def atom(node: AST) -> AST:
        pool = node.symbol
        if pool.ast_type != ASTType.Pool or len(pool.arguments) != 2:
            return node
        first, second = pool.arguments
        if first.ast_type != ASTType.Function or first.name not in names:
            return node
        joined = [*first.arguments, *second.arguments]
        return node.update(symbol=first.update(arguments=joined))

    def literals(some: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(Literal(lit.mode, atom(lit.atom), lit.span) for lit in some)

    def joined(statement: Statement) -> Statement:
        if not isinstance(statement, Question):
            return statement
        names = ("literals", "evidence", "do", "given")
        parts: dict[str, Any] = {name: literals(getattr(statement, name)) for name in names}
        return replace(statement, **parts)

    return tuple(map(joined, statements))


def asks_one(statements: Sequence[Statement]) -> bool:
    """Whether statements are one query without variables, whose answer is not a list."""
    asked = [s for s in statements if isinstance(s, Query | Map)]
    if len(asked) != 1 or not isinstance(asked[0], Query):
        return False
    terms = [literal.atom for literal in (*asked[0].literals, *asked[0].evidence)]
    return not any(part.ast_type == ASTType.Variable for term in terms for part in walk(term))


# --- printing and checks -----------------------------------------------------------------------


def question_text(question: Question) -> str:
    """A question without its directive: ``a, not b | c`` or ``Z : sum(Z) | c``."""
    mark = "?" if isinstance(question, Map) else ""
    asked = [f"{literal}{mark}" for literal in question.literals]
    evidence = list(map(str, question.evidence))
    (evidence if evidence else asked).extend(map(exact, question.guards))
    do, given = (list(map(str, some)) for some in (question.do, question.given))
    text = (", ".join(asked) + condition_text(do, evidence, given)).lstrip()
    if isinstance(question, Utility | Expect):
        return f"{expression_text(question.value)} : {text}"
    return text


def condition_text(do: Sequence[str], evidence: Sequence[str], given: Sequence[str]) -> str:
    """The conditions of a question, such as `` | do(not b), c given d``; empty without any."""
    parts = [f"do({', '.join(do)})", *evidence] if do else evidence
    after = f" given {', '.join(given)}" if given else ""
    return f" | {', '.join(parts)}{after}" if parts else ""


def _check_interventions(questions: Sequence[Question], setting: Setting) -> Iterator[Diagnostic]:
    """Refuse interventions that the program or its semantics does not allow."""
    first = next((literal for question in questions for literal in question.do), None)
    if first is None:
        return
    if setting.meaning.probability is Probability.WEIGHTED:
        message = "no rule is a cause under the weighted semantics, so nothing can be set by do(…)"
        help = "ask under maxent or credal, or observe the atom: write it without do"
        yield Diagnostic("do-semantics", message, first.span, help)
    statements = setting.program.statements
    if any(_is_do(node) for statement in statements for node in clingo_terms(statement)):
        message = "do(…) is an intervention here, and the program has a predicate do/1"
        yield Diagnostic("query-do", message, first.span, "give that predicate another name")
    seen = next((literal for question in questions for literal in question.given), None)
    if seen is None:
        return
    if setting.meaning.logic is Logic.SMPROBLOG:
        message = "under smproblog one of the two worlds may have no model while the other has one"
        help = "ask under stable, or leave 'given' out"
        yield Diagnostic("do-semantics", message, seen.span, help)
    if any(type(statement).__name__ == "Decision" for statement in statements):
        message = "'given' is about what happened, and here that depends on what is decided"
        help = "write the decisions that were taken as facts"
        yield Diagnostic("query-do", message, seen.span, help)


def _is_do(node: AST) -> bool:
    """Whether an atom do(…) occurs below a node."""
    symbols = (part.symbol for part in walk(node) if part.ast_type == ASTType.SymbolicAtom)
    return any(
        symbol.ast_type == ASTType.Function and symbol.name == "do" and len(symbol.arguments) == 1
        for symbol in symbols
    )


def _check_value(
    statement: Utility | Expect, numbers: Mapping[str, float] | None
) -> Iterator[Diagnostic]:
    nodes = (*(literal.atom for literal in statement.literals), *statement.guards)
    bound = {v.name for node in nodes for v in variables(node)}
    used = list(expression_variables(statement.value))
    yield from unknown_variables(used, bound, "after the ':'", "by a literal after the ':'")
    if numbers is None or used:
        return
    try:
        value_of(statement.value, numbers)
    except ProgramError as error:
        infinite = {"inf", "nan", "infinity", "infinite"} & expression_names(statement.value)
        help = "a utility is a finite real number; what must never happen is a constraint, ':- a.'"
        for problem in error.diagnostics:
            message = "this is not a finite number"
            finite = Diagnostic("utility-value", message, problem.span, help)
            yield finite if infinite else problem


# --- cutting a question into literals -----------------------------------------------------------

FORMS: dict[str, str] = {
    "#query": "a query is written #query a, not b | c.",
    "#map": "a map query is written #map a?, b? | c.",
    "#mpe": "the most probable explanation is written #mpe | c.",
    "#evidence": "evidence is written #evidence a, not b.",
    "#utility": "a utility is written #utility 60 : a, not b.",
    "#expect": "an expectation is written #expect Z : sum(Z) | c.",
    "#decide": "the best decisions are asked for by #decide., #decide | c. or #decide goal | c.",
    "do": "a counterfactual is written #query a | do(not b) given c.",
}
_EMPTY = {"#evidence": "there is no evidence here"}
_EMPTY |= dict.fromkeys(_VALUED, "the literals that say in which models this counts are missing")

# Signs that are not allowed between the literals of a question.
_FOREIGN = {
    ";": (
        "the literals of a question have ',' between them",
        "write ','; for 'or', define an atom by two rules and ask for that",
    ),
    ":": ("a question cannot have conditions", "define an atom by a rule and ask for that"),
    ":-": (
        "a question is not a rule",
        "write the rule as a statement of its own, and ask for its head",
    ),
    "::": ("a question cannot have probabilities", "write 0.3::a. as a statement of its own"),
}


@dataclass(slots=True)
class _Item:
    """A literal as written: its ``part`` of the question, its ``undef`` and its '?'."""

    part: str  # "" for what is asked for, "evidence", "do" or "given"
    undefined: Span | None = None
    mark: Span | None = None


def _strip_parentheses(cursor: Reading) -> None:
    """Blank out the parentheses around a whole question."""
    if cursor.peek().text != "(":
        return
    start = cursor.index
    opening, closing = cursor.peek(), cursor.skip_group()
    if cursor.peek().text in (".", ""):
        cursor.blank(opening)
        cursor.blank(closing)
        del cursor.tokens[cursor.index - 1]
        cursor.index = start + 1
    else:
        cursor.index = start


def _question_items(cursor: Reading, directive: str) -> list[_Item]:
    """Cut a question into literals and blank out what clingo does not know."""
    items: list[_Item] = []
    item: _Item | None = None
    part, depth = "", 0
    doing: Token | None = None  # the '(' of an open do(…)
    while not cursor.at_end():
        token = cursor.next()
        text = token.text
        if doing and depth == 0 and text == ")":
            if item is None:
                cursor.fail("query-do", "do(…) names no atom", token, "write do(a) or do(not a)")
            cursor.blank(token)
            doing = None
            continue
        if depth > 0 or text in CLOSING:
            pass
        elif text == "." and cursor.at_end():
            break
        elif text == "|":
            _check_bar(cursor, token, directive, bool(part))
            part = "evidence"
            cursor.put(token, ";" if items else " ")
            item = None
        elif text == ",":
            item = None
        elif text in _FOREIGN:
            message, help = _FOREIGN[text]
            cursor.fail("query-syntax", message, token, help)
        elif text == "?":
            _check_question_mark(cursor, token, directive, item)
            assert item is not None
            item.mark = cursor.file.span(token.start, token.end)
            cursor.blank(token)
        elif text == "given" and item is not None and part and not doing:
            _check_given(cursor, token, items)
            part, item = "given", None
            cursor.put(token, ";")
        elif item is None and part and text == "do" and cursor.peek().text == "(":
            _check_place(cursor, token, directive, part)
            doing = cursor.next()
            cursor.blank(token, doing)
        elif item is None:
            after = cursor.peek()
            if part and text == "do" and after.kind == "name" and after.text != "given":
                message = "what is set stands in parentheses"
                cursor.fail("query-do", message, token, "write do(a) or do(not a)")
            if doing and text in ("~", "!"):
                message = f"'{text}' is not negation here"
                cursor.fail("query-do", message, token, "write do(not a)")
            item = _Item("do" if doing else part)
            items.append(item)
            _undefined(cursor, token, item)
        depth += (text in OPENING) - (text in CLOSING)
    if doing is not None:
        cursor.fail("unbalanced", "'(' is never closed", doing, "add ')'")
    return items


def _check_bar(cursor: Cursor, token: Token, directive: str, barred: bool) -> None:
    if directive in ("#evidence", "#utility"):
        what = "evidence" if directive == "#evidence" else "a utility"
        cursor.fail("query-bar", f"{what} has no '|'", token, FORMS[directive])
    if barred:
        cursor.fail("query-bar", "a second '|'", token, "keep one, and join literals by ','")
    if cursor.peek().text in (".", ""):
        message = "no evidence follows the '|'"
        cursor.fail("query-bar", message, token, f"remove it; {FORMS[directive]}")


def _check_place(cursor: Cursor, token: Token, directive: str, part: str) -> None:
    """Refuse ``do`` in directives without interventions."""
    if directive == "#decide":
        help = "write what is set as a fact, and take its rules out of the program"
        cursor.fail("query-do", "decisions are not taken under do(…)", token, help)
    if part == "given":
        message = "what was observed comes after 'given', and what is set before it"
        cursor.fail("query-do", message, token, FORMS["do"])


def _check_given(cursor: Cursor, token: Token, items: Sequence[_Item]) -> None:
    """Refuse ``given`` anywhere but after an intervention, once."""
    if not any(item.part == "do" for item in items):
        help = f"join evidence by ','; {FORMS['do']}"
        cursor.fail("query-do", "'given' needs do(…) before it", token, help)
    if any(item.part == "given" for item in items):
        cursor.fail("query-do", "a second 'given'", token, "join literals by ','")
    if cursor.peek().text in (".", ""):
        cursor.fail("query-do", "nothing follows 'given'", token, FORMS["do"])


def _check_question_mark(cursor: Cursor, token: Token, directive: str, item: _Item | None) -> None:
    """Refuse a '?' anywhere but after an atom that ``#map`` asks for."""
    if item is None:
        cursor.fail("query-mark", "'?' comes after the atom that it marks", token, FORMS["#map"])
    if directive != "#map":
        help = f"write #map to ask for the most probable value; {FORMS[directive]}"
        cursor.fail("query-mark", "this '?' has no meaning here", token, help)
    if item.part:
        message = "evidence is not marked with '?'"
        cursor.fail("query-mark", message, token, "remove the '?', or move the atom before '|'")


def _undefined(cursor: Reading, token: Token, item: _Item) -> None:
    """Record and blank out the ``undef`` before a literal."""
    negated = token.text == "not" and cursor.peek().text == "undef"
    word = cursor.peek() if negated else token
    after = cursor.peek(1) if negated else cursor.peek()
    if word.text != "undef" or after.text in (",", ".", "|", "(", "?", ")", "", "="):
        return
    if negated or after.text == "not":
        message = "'undef' and 'not' do not go together"
        cursor.fail("query-literal", message, (token.start, after.end), "keep one of them")
    item.undefined = cursor.file.span(token.start, token.end)
    cursor.blank(token)
