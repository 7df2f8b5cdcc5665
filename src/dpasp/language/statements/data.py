"""Data statements, ``input(0) ~ test(@te(0)), train("tr.csv").``, and a network's inputs.

clingo reads the disjunction ``input(0) ; test(xxx(0)) ; train("tr.csv").``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.statements.annotated import head_atoms
from dpasp.language.statements.options import Call, Origin, check_file, read_origin
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import Draft, Program, Setting, Statement, span_field
from dpasp.language.text import Cursor, Piece, Reading, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import body_text, exact, is_positive
from dpasp.language.text.lexer import outside
from dpasp.writing import counted

FILES = (".csv", ".npy", ".pt", ".pth")  # supported files
FORM = "data is written input(0) ~ test(@te(0)), train(@tr(0))."
_TILDES = ("~", "∼")
_ROLES = ("test", "train")
_FILE = re.compile(r"[\w.]*")


@dataclass(frozen=True, slots=True)
class Data(Statement):
    """``input(0) ~ test(@te(0)), train("tr.csv").``"""

    name: str
    arguments: tuple[AST, ...]
    test: Origin | None
    train: Origin | None
    body: tuple[AST, ...] = ()
    span: Span = span_field()

    form = 'input(0) ~ test(@te(0)), train("tr.csv").'
    about = "the rows of data that a constant stands for"

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        if not piece.data:  # no '~'
            return False
        cursor = Cursor(file, piece.start, piece.end)
        if cursor.peek().text in _TILDES:
            return cursor.peek(1).text in _ROLES
        cursor.accept("-")
        if cursor.next().kind not in ("name", "variable"):
            return False
        rest = outside(cursor.tokens[cursor.index :])
        return next((token.text in _TILDES for _, token in rest), False)

    @staticmethod
    def read(cursor: Reading) -> Draft:
        name = _predicate(cursor)
        tilde = cursor.next()
        cursor.put(tilde, ";")
        origins: dict[str, Origin] = {}
        while True:
            role = _role(cursor, origins)
            origins[role] = _origin(cursor)
            comma = cursor.accept(",", ";")
            if comma is None:
                break
            cursor.put(comma, ";")
        if cursor.peek().text != ":-":
            cursor.expect_end(FORM, code="data-syntax")
            _refuse_variable(cursor, name)
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            (node,) = nodes
            atom, *roles = head_atoms(node, 1 + len(origins))
            filled = {
                role: of.filled(call.symbol.arguments[0]) if isinstance(of, Call) else of
                for (role, of), call in zip(origins.items(), roles, strict=True)
            }
            arguments = tuple(atom.symbol.arguments)
            body = tuple(node.body)
            return Data(name.text, arguments, filled.get("test"), filled.get("train"), body, span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Data], setting: Setting) -> Iterator[Diagnostic]:
        """Data declared twice, or with several arities, and files of an unknown type."""
        seen: dict[str, Data] = {}
        arities: dict[str, int] = {}
        for statement in statements:
            arity = arities.setdefault(statement.name, len(statement.arguments))
            if arity != len(statement.arguments):
                message = (
                    f"{statement.name} has {counted(arity, 'argument')} in another data statement"
                )
                help = "give every data predicate one number of arguments"
                yield Diagnostic("data-predicate", message, statement.span, help)
            arguments = ",".join(map(str, statement.arguments))
            atom = f"{statement.name}({arguments}){body_text(statement.body)[:-1]}"
            first = seen.setdefault(atom, statement)
            if first is not statement:
                where = f"the first is in line {first.span.line} of {first.span.file}"
                message = f"the data of {atom} are given a second time; {where}"
                yield Diagnostic("data-twice", message, statement.span, "keep one of them")
            yield from check_file(statement.test, FILES)
            yield from check_file(statement.train, FILES)

    def __str__(self) -> str:
        roles = [("test", self.test), ("train", self.train)]
        origins = ", ".join(f"{role}({of})" for role, of in roles if of is not None)
        arguments = ", ".join(map(exact, self.arguments))
        return f"{self.name}({arguments}) ~ {origins}{body_text(self.body)}"


def _predicate(cursor: Cursor) -> Token:
    """Consume ``input(0)`` or ``cell(0..2,X)``, an atom with arguments."""
    name = cursor.next()
    if name.text in _TILDES:
        cursor.fail("data-predicate", "an atom is missing before the '~'", name, FORM)
    if name.text == "-":
        cursor.fail("data-predicate", "a data predicate is not negated", name, FORM)
    if name.kind != "name":
        message = "a data predicate has a name that begins in lower case"
        cursor.fail("data-predicate", message, name, FORM)
    start, depth, pieces = cursor.index, 0, 0
    while depth or cursor.peek().text not in _TILDES:
        token = cursor.next()
        pieces += token.text == ";" and depth == 1
        depth += (token.text == "(") - (token.text == ")")
    if cursor.index - start < 3 or pieces:
        message = "a data predicate has arguments that say which object it is"
        help = "several objects are written input(0..3), or with a body: input(X) ~ … :- p(X)."
        where = (name.start, cursor.peek(-1).end)
        cursor.fail("data-predicate", message, where, help if pieces else FORM)
    return name


def _role(cursor: Cursor, seen: dict[str, Origin]) -> str:
    role = cursor.next()
    if role.text not in _ROLES:
        what = f"'{role.text}' is neither test nor train"
        if role.text in ("", "."):
            what = "test(…) or train(…) is missing"
        cursor.fail("data-syntax", what, role, nearest(role.text, _ROLES) or FORM)
    if role.text in seen:
        cursor.fail("data-twice", f"{role.text} is given twice", role, "keep one of them")
    return role.text


def _origin(cursor: Reading) -> Origin:
    """Read ``(@f(0))`` or ``("file")``."""
    cursor.expect("(", "data-syntax", FORM)
    origin = read_origin(cursor)
    if origin is None:
        _refuse_origin(cursor, cursor.peek())
    if cursor.peek().text != ")":
        message = "test and train hold one function or one file"
        cursor.fail("data-syntax", message, cursor.peek(), "close it with ')' before this")
    cursor.next()
    return origin


def _refuse_origin(cursor: Cursor, token: Token) -> NoReturn:
    if token.kind != "name":
        what = "a function or a file is missing here"
        cursor.fail("data-syntax", what, token, 'write @function or "file.csv"')
    match = _FILE.match(cursor.file.text, token.start)
    name = match.group() if match else token.text
    message = f"'{name}' is neither a function nor a file in quotes"
    where = (token.start, token.start + len(name))
    cursor.refuse("data-syntax", message, where, f'write @{token.text} or "{name.rstrip(".")}"')


def _refuse_variable(cursor: Cursor, name: Token) -> None:
    head = Cursor(cursor.file, name.start, cursor.end)
    while (token := head.next()).text not in _TILDES:
        if token.kind == "variable":
            message = f"nothing says which values {token.text} has"
            help = f"give the statement a body: {name.text}({token.text}) ~ … :- {token.text} = "
            cursor.fail("data-predicate", message, token, f"{help}0..9.")


# --- inputs of networks -------------------------------------------------------------------------


def data_predicates(program: Program, bodies: Sequence[Iterable[AST]]) -> dict[str, int]:
    """The data predicates with their arities; ``bodies`` are those of the neural statements.

    Without data statements, data come with every call: for the atom in the body of a neural
    statement whose predicate the program defines (if there are several, the unary one).
    """
    declared = {s.name: len(s.arguments) for s in program.statements if isinstance(s, Data)}
    if declared or not bodies:
        return declared
    found: dict[str, int] = {}
    defined = _defined(program)
    for body in map(tuple, bodies):
        for arity in sorted({arity for _, arity in defined}):
            alike = {name: number for name, number in defined if number == arity}
            names = {symbol.name for symbol in inputs(body, alike)}
            if names:
                if len(names) == 1:
                    found[names.pop()] = arity
                break
    return found


def _defined(program: Program) -> set[tuple[str, int]]:
    """The predicates in heads of plain rules and facts, or in ``#external``, with arguments."""
    nodes = [s.node for s in program.statements if isinstance(s, Plain)]
    atoms = [node.atom for node in nodes if node.ast_type == ASTType.External]
    heads = [node.head for node in nodes if node.ast_type == ASTType.Rule]
    atoms += [head.atom for head in heads if head.ast_type == ASTType.Literal]
    predicates = set()
    for atom in atoms:
        if atom.ast_type == ASTType.SymbolicAtom:
            symbol = atom.symbol
            if symbol.ast_type == ASTType.Pool:
                symbol = symbol.arguments[0]
            if symbol.ast_type == ASTType.Function and symbol.arguments:
                predicates.add((str(symbol.name), len(symbol.arguments)))
    return predicates


def inputs(body: Iterable[AST], declared: Mapping[str, int]) -> Iterator[AST]:
    """The positive atoms of data predicates in a body, as terms.

    A pool ``input(0;1)`` counts as one atom unless it was expanded before.
    """

    def is_input(term: AST) -> bool:
        named = term.ast_type == ASTType.Function and term.name in declared
        return named and len(term.arguments) == declared[term.name]

    for node in filter(is_positive, body):
        symbol = node.atom.symbol
        if all(map(is_input, symbol.arguments if symbol.ast_type == ASTType.Pool else [symbol])):
            yield symbol


def no_data(name: str, body: Sequence[AST], declared: Mapping[str, int], where: Span) -> Diagnostic:
    symbols = (node.atom.symbol for node in body if is_positive(node))
    used = {symbol.name for symbol in symbols if symbol.ast_type == ASTType.Function}
    close = next(filter(None, (nearest(word, declared) for word in sorted(used))), "")
    help = close or (
        "declare one: input(0) ~ test(@te(0)), train(@tr(0))., or say what there is, as in "
        "input(0..1)., and give the data with every call"
    )
    if not declared and len(used) > 1:
        each = " ".join(f"{word}(…) ~ test(@{word})." for word in sorted(used))
        help = f"it may be any of {', '.join(sorted(used))}: declare those that it sees, {each} "
        help += f'and give the data: load(…, data={{"{min(used)}": tensor, …}})'
    if declared and not close:
        help = f"add one of the declared ones to the body: {', '.join(sorted(declared))}"
    message = f"no data predicate in the body says what the network of {name} sees"
    return Diagnostic("data-missing", message, where, help)
