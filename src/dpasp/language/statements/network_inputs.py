"""What a network sees: the data atoms in the body of its neural statement.

>>> from dpasp.language import parse
>>> data, statement = parse("img(0) ~ test(@f). ?::on(X) as @net :- img(X), lamp(X).").statements
>>> [str(atom) for atom in inputs(statement.body, {"img"})]
['img(X)']
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from clingo.ast import AST, ASTType, Sign

from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.statements.data import Data
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import Program


def data_predicates(program: Program, bodies: Sequence[Iterable[AST]]) -> set[str]:
    """The names of the data predicates; ``bodies`` are those of the neural statements.

    They are those of the data statements. In a program without any, the data comes with every
    call, for the one atom with one argument in the body of a neural statement whose predicate
    the program defines.
    """
    declared = {s.name for s in program.statements if isinstance(s, Data)}
    if declared or not bodies:
        return declared
    defined = _defined(program)
    named = [{symbol.name for symbol in inputs(body, defined)} for body in bodies]
    return {name for names in named if len(names) == 1 for name in names}


def _defined(program: Program) -> set[str]:
    """The predicates with one argument that plain rules and facts have for heads, or #external."""
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
            if symbol.ast_type == ASTType.Function and len(symbol.arguments) == 1:
                predicates.add(str(symbol.name))
    return predicates


def inputs(body: Iterable[AST], declared: Container[str]) -> Iterator[AST]:
    """The atoms of data predicates that a body needs to be true, as terms.

    A pool ``input(0;1)`` counts as one atom here, unless it was taken apart before.
    """
    for node in body:
        if node.ast_type != ASTType.Literal or node.sign != Sign.NoSign:
            continue
        if node.atom.ast_type != ASTType.SymbolicAtom:
            continue
        symbol = node.atom.symbol
        alternatives = symbol.arguments if symbol.ast_type == ASTType.Pool else [symbol]
        if all(_is_input(term, declared) for term in alternatives):
            yield symbol


def _is_input(term: AST, declared: Container[str]) -> bool:
    named = term.ast_type == ASTType.Function and term.name in declared
    return named and len(term.arguments) == 1


def no_data(name: str, body: Sequence[AST], declared: set[str], where: Span) -> Diagnostic:
    """The problem that a body names no data; ``where`` is its place."""
    used = {node.atom.symbol.name for node in body if _is_positive_atom(node)}
    close = next(filter(None, (nearest(word, declared) for word in sorted(used))), "")
    help = close or (
        "declare one: input(0) ~ test(@te(0)), train(@tr(0))., or say what there is, as in "
        "input(0..1)., and give the data with every call"
    )
    if declared and not close:
        help = f"add one of the declared ones to the body: {', '.join(sorted(declared))}"
    message = f"no data predicate in the body says what the network of {name} sees"
    return Diagnostic("data-missing", message, where, help)


def _is_positive_atom(node: AST) -> bool:
    if node.ast_type != ASTType.Literal or node.sign != 0:
        return False
    atom = node.atom
    symbolic = atom.ast_type == ASTType.SymbolicAtom
    return bool(symbolic and atom.symbol.ast_type == ASTType.Function)
