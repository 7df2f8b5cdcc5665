"""``#decision`` and ``#decide``: the atoms that we set, and the best way to set them.

clingo reads a decision as the choice rule that it looks like.

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

from collections.abc import Iterator, Sequence

from clingo.ast import AST, ASTType, ComparisonOperator, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.questions import FORMS, Question, Utility
from dpasp.language.statements.statement import Draft, Setting, Statement, span_field
from dpasp.language.text import Reading, Sources
from dpasp.language.text.clingo_text import body_text, exact, global_variables

_FORM = (
    "a decision is written #decision {a; b} :- body., #decision {a(X) : d(X)} 3. or with 1 {…} 1"
)
_SIGNS = {
    ComparisonOperator.LessEqual: "<=",
    ComparisonOperator.LessThan: "<",
    ComparisonOperator.GreaterEqual: ">=",
    ComparisonOperator.GreaterThan: ">",
    ComparisonOperator.Equal: "=",
}
_TURNED = {each: sign.translate(str.maketrans("<>", "><")) for each, sign in _SIGNS.items()}


@dataclass(frozen=True, slots=True)
class Decision(Statement):
    """``#decision 1 {a(X) : d(X)} 2 :- body.``; ``node`` is clingo's choice rule."""

    node: AST
    span: Span = span_field()

    words = ("#decision",)
    form = "#decision {a(X) : d(X)} 3 :- body."
    about = "atoms that we decide, like a choice rule; the body says what is known when we do"

    @property
    def elements(self) -> tuple[tuple[AST, tuple[AST, ...]], ...]:
        return tuple((e.literal.atom, tuple(e.condition)) for e in self.node.head.elements)

    @property
    def body(self) -> tuple[AST, ...]:
        """What is known when the decision is made."""
        return tuple(self.node.body)

    @property
    def bounds(self) -> tuple[tuple[str, AST], ...]:
        """How many of the atoms may be taken, each bound in the form ``count < term``."""
        head, found = self.node.head, []
        if head.left_guard is not None:  # as in 'term < count'
            found.append((_TURNED[head.left_guard.comparison], head.left_guard.term))
        if head.right_guard is not None:
            found.append((_SIGNS[head.right_guard.comparison], head.right_guard.term))
        return tuple(found)

    @staticmethod
    def read(cursor: Reading) -> Draft:
        """Read a decision, which is a choice rule after ``#decision``."""
        word = cursor.next()
        cursor.blank(word)
        span = cursor.span
        if cursor.peek().text in (".", ""):
            cursor.fail("decision-syntax", "what is decided is missing", word, _FORM)

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            _check_choice(nodes, sources, span)
            return Decision(nodes[0], span)

        return Draft(finish)

    def __str__(self) -> str:
        elements = [
            exact(atom) + (f" : {', '.join(map(exact, condition))}" if condition else "")
            for atom, condition in self.elements
        ]
        left, right = "", ""
        for sign, term in self.bounds:
            if sign in (">=", ">"):
                left = f"{exact(term)} {'' if sign == '>=' else '< '}"
            else:
                right += f" {'' if sign == '<=' else f'{sign} '}{exact(term)}"
        return f"#decision {left}{{{'; '.join(elements)}}}{right}{body_text(self.body)}"


class Decide(Question):
    """``#decide goal | e.``; without a goal, the utilities count."""

    __slots__ = ()
    words = ("#decide",)
    open_ended = True
    form = "#decide goal | c."
    about = "the decisions with the largest expected utility, or that make a goal most probable"

    @staticmethod
    def check(questions: Sequence[Question], setting: Setting) -> Iterator[Diagnostic]:
        """Check that there are decisions and something to compare them by."""
        kinds = {type(statement) for statement in setting.program.statements}
        for question in questions:
            if Decision not in kinds:
                message = "there is nothing to decide: the program has no #decision"
                yield Diagnostic("decide-nothing", message, question.span, _FORM)
            if not question.literals and Utility not in kinds:
                message = "no decision is better than another: the program has no #utility"
                help = f"{FORMS['#utility']} To make something probable, name it: #decide goal."
                yield Diagnostic("decide-nothing", message, question.span, help)
        yield from Question.check(questions, setting)


def _check_choice(nodes: list[AST], sources: Sources, span: Span) -> None:
    node = nodes[0]
    head = node.head if len(nodes) == 1 and node.ast_type == ASTType.Rule else None
    if head is None or head.ast_type != ASTType.Aggregate:
        message = "a decision lists in braces the atoms that are decided"
        raise ProgramError.at("decision-syntax", message, span, _FORM)
    if not head.elements:
        raise ProgramError.at("decision-syntax", "nothing is decided here", span, _FORM)
    for element in head.elements:
        literal = element.literal
        if literal.sign != Sign.NoSign or literal.atom.ast_type != ASTType.SymbolicAtom:
            where = sources.span_of(literal.location)
            help = "write the atom itself; a strategy says whether it is decided"
            raise ProgramError.at("decision-syntax", "only atoms are decided", where, help)
    for guard in (head.left_guard, head.right_guard):
        if guard is not None and guard.comparison not in _SIGNS:
            where = sources.span_of(guard.term.location)
            help = "write bounds such as 1 {a; b} 2"
            raise ProgramError.at(
                "decision-syntax", "'!=' is not a bound of a decision", where, help
            )


def decision_variables(statement: Decision) -> dict[str, AST]:
    """The variables for whose values there are separate decisions: those of body and bounds."""
    return global_variables((*statement.body, *(term for _, term in statement.bounds)))
