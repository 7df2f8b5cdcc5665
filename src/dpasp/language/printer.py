"""AST → text, such that reading the text gives the same AST again.

>>> from dpasp.language import parse
>>> print(to_text(parse("0.3 :: a ; 7/10::b:-c . #query(a|not b).")), end="")
0.3::a; 7/10::b :- c.
#query a | not b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy

from clingo.ast import (
    AST,
    ASTType,
    Literal,
    Location,
    Position,
    Sign,
    SymbolicAtom,
    Variable,
)

from dpasp.language import ast
from dpasp.language.nodes import children

_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "\\": 2, "**": 4}
_UNARY = 3


def to_text(program: ast.Program) -> str:
    """The text of a program, a statement a line."""
    return "".join(f"{statement_text(statement)}\n" for statement in program.statements)


def statement_text(statement: ast.Statement) -> str:
    """The text of one statement."""
    match statement:
        case ast.Plain(node):
            return _plain(node)
        case ast.Const(name, value):
            return f"#const {name} = {expression_text(value, real=True)}."
        case ast.Annotated(heads, body):
            return "; ".join(map(head_text, heads)) + _body(body)
        case ast.Neural():
            return _neural(statement)
        case ast.Data(name, argument, test, train):
            roles = [("test", test), ("train", train)]
            origins = ", ".join(f"{role}({_origin(of)})" for role, of in roles if of is not None)
            return f"{name}({exact(argument)}) ~ {origins}."
        case ast.Python(code):
            return f"#python{code}#end."
        case ast.Query() | ast.Map():
            return f"{_question_word(statement)} {question_text(statement)}".rstrip() + "."
        case ast.Evidence(literals):
            return f"#evidence {', '.join(map(literal_text, literals))}."
        case ast.Semantics(logic, probability):
            return f"#semantics {', '.join(s.value for s in (logic, probability) if s)}."
        case ast.Learn(observations, options):
            return f"#learn {', '.join([_origin(observations), *map(_option, options)])}."
        case ast.Inference(method, options):
            return f"#inference {', '.join([method, *map(_option, options)])}."


def _plain(node: AST) -> str:
    if node.ast_type == ASTType.Script:
        return f"#script ({node.name}){node.code}#end."
    return exact(node)


def _body(body: Sequence[AST]) -> str:
    return f" :- {'; '.join(map(exact, body))}." if body else "."


_START = Position("", 1, 1)
_PLACE = Location(_START, _START)
_NOTHING = Literal(_PLACE, Sign.NoSign, SymbolicAtom(Variable(_PLACE, "")))  # prints as ""


def exact(node: AST) -> str:
    """The text of a node of clingo's that reads back as the same node.

    clingo leaves out the parentheses of ``f()`` and the colon before an empty condition.
    """
    if next(_odd(node), None) is None:
        return str(node)
    node = deepcopy(node)
    for part in list(_odd(node)):
        if part.ast_type == ASTType.Function:
            part.name += "()"
        else:
            part.condition = [_NOTHING]
    return str(node)


def _odd(node: AST) -> Iterator[AST]:
    """The nodes below a node that clingo prints as if they were others."""
    stack = [node]
    while stack:
        part = stack.pop()
        match part.ast_type:
            case ASTType.Function:
                if not part.arguments and part.name and not part.external:
                    yield part
            case ASTType.ConditionalLiteral if not part.condition:
                yield part
            case ASTType.BodyAggregateElement if not part.condition and not part.terms:
                yield part
        stack += _terms_below(part)


def _terms_below(node: AST) -> Iterator[AST]:
    """The nodes right below a node; the names of atoms and of pools are not terms."""
    kind = node.ast_type
    if kind == ASTType.SymbolicAtom:
        symbol = node.symbol
        bare = symbol.argument if symbol.ast_type == ASTType.UnaryOperation else symbol
        yield from bare.arguments if bare.ast_type == ASTType.Function else (symbol,)
    elif kind == ASTType.Pool and _is_named(node):
        yield from (argument for part in node.arguments for argument in part.arguments)
    else:
        yield from children(node)


def _is_named(pool: AST) -> bool:
    """Whether a pool is one of argument lists, ``f(a;b)``, whose name is printed once."""
    kinds = {part.ast_type for part in pool.arguments}
    return kinds == {ASTType.Function} and len({part.name for part in pool.arguments}) == 1


def head_text(head: ast.Head) -> str:
    """``0.3::a``."""
    return f"{weight_text(head.weight)}::{exact(head.atom)}"


def weight_text(weight: ast.Weight) -> str:
    """What stands before the ``::``."""
    match weight:
        case ast.Fixed(probability):
            return expression_text(probability)
        case ast.Interval(lower, upper):
            return f"[{expression_text(lower)}, {expression_text(upper)}]"
        case ast.Learnable(initial, key):
            start = "" if initial is None else expression_text(initial, _UNARY)
            return f"{start}?" + (f"({','.join(key)})" if key else "")


def expression_text(expression: ast.Expression, level: int = 0, real: bool = False) -> str:
    """An expression, in parentheses where something around it binds more tightly.

    With ``real``, numbers are written so that they are not taken for clingo's.
    """
    match expression:
        case ast.Number(value):
            return repr(value) if real else number_text(value)
        case ast.Name(name) | ast.Variable(name):
            return name
        case ast.Operation(operator, left, right) if left is None:
            text, own = f"-{expression_text(right, _UNARY, real)}", _UNARY
        case ast.Operation(operator, left, right):
            assert left is not None
            own = _LEVELS[operator]
            first, second = (own + 1, own) if operator == "**" else (own, own + 1)
            one, two = expression_text(left, first, real), expression_text(right, second, real)
            text = f"{one}{operator}{two}"
    return f"({text})" if own < level else text


def number_text(value: float) -> str:
    """The shortest text of a number that reads back as the same number.

    >>> number_text(3.0), number_text(0.1), number_text(1e-300)
    ('3', '0.1', '1e-300')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _neural(statement: ast.Neural) -> str:
    groups = [", ".join(map(exact, statement.arguments))] if statement.arguments else []
    if statement.values:
        groups.append(_set(statement.values))
    inner = ", ".join(groups)
    if statement.outcomes:
        inner += f"; {_set(statement.outcomes)}"
    sign = "?" if statement.learnable else "!"
    minus = "" if statement.positive else "-"
    text = f"{sign}::{minus}{statement.name}" + (f"({inner})" if inner else "")
    text += f" as {_origin(statement.network.factory)}"
    if statement.network.repository is not None:
        text += f" on {_quote(statement.network.repository)}"
    if statement.network.host is not None:
        text += f" at {_quote(statement.network.host)}"
    if statement.options:
        text += f" with {', '.join(map(_option, statement.options))}"
    return text + _body(statement.body)


def _set(elements: Iterable[AST]) -> str:
    return "{" + ", ".join(map(exact, elements)) + "}"


def _origin(origin: ast.Origin) -> str:
    if isinstance(origin, ast.File):
        return _quote(origin.path)
    arguments = ", ".join(map(exact, origin.arguments))
    return f"@{origin.function}" + (f"({arguments})" if arguments else "")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _option(option: ast.Option) -> str:
    return f"{option.name} = {_value(option.value)}"


def _value(value: ast.Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return repr(value)


def literal_text(literal: ast.Literal) -> str:
    """``undef a``."""
    return f"{literal.mode.value}{exact(literal.atom)}"


def _question_word(question: ast.Query | ast.Map) -> str:
    if isinstance(question, ast.Query):
        return "#query"
    return "#map" if question.atoms else "#mpe"


def question_text(question: ast.Query | ast.Map) -> str:
    """What a question asks for, without its directive: ``a, not b | c``."""
    if isinstance(question, ast.Query):
        asked = [literal_text(literal) for literal in question.literals]
    else:
        asked = [f"{exact(atom)}?" for atom in question.atoms]
    given = [literal_text(literal) for literal in question.evidence]
    guards = list(map(exact, question.guards))
    if given:
        given += guards
    else:
        asked += guards
    return ", ".join(asked) + (f"{' ' if asked else ''}| {', '.join(given)}" if given else "")
