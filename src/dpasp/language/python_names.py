"""Which ``@functions`` a program can call, read off its Python blocks without running them."""

from __future__ import annotations

import ast as python
import textwrap
from collections.abc import Iterator

from clingo.ast import AST, ASTType, Location

from dpasp.errors import Diagnostic, Span
from dpasp.language import ast
from dpasp.language.cursor import nearest


def check_calls(program: ast.Program) -> Iterator[Diagnostic]:
    """Blocks that are not Python, and calls of functions that no block defines."""
    names: set[str] = set()
    open_ended = False  # a block may define names that cannot be read off it
    for statement in program.statements:
        if isinstance(statement, ast.Python):
            tree = _parse(statement)
            if isinstance(tree, Diagnostic):
                yield tree
                open_ended = True
            else:
                names |= _defined(tree)
                open_ended |= _is_open(tree)
        elif isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Script:
            open_ended = True
    if open_ended:
        return
    for name, span in _calls(program):
        if ":" not in name and name not in names:
            yield _unknown(name, span, names)


def _unknown(name: str, span: Span, names: set[str]) -> Diagnostic:
    help = nearest(name, names)
    if not help and not names:
        help = f"define it: '#python' then 'def {name}(): …' then '#end.'"
    elif not help:
        help = f"the #python blocks define {', '.join(sorted(names))}"
    return Diagnostic("unknown-function", f"no #python block defines {name}", span, help)


def _parse(block: ast.Python) -> python.Module | Diagnostic:
    try:
        return python.parse(textwrap.dedent(block.code))
    except SyntaxError as error:
        line = block.span.line + max((error.lineno or 1) - 1, 0)
        column = max(error.offset or 1, 1)
        inside = min(line, block.span.end_line)
        span = Span(block.span.file, inside, column if inside == line else 1, inside, column + 1)
        return Diagnostic("python-syntax", f"this is not Python: {error.msg}", span)
    except ValueError as error:  # a null character
        return Diagnostic("python-syntax", f"this is not Python: {error}", block.span)


def _defined(tree: python.Module) -> set[str]:
    """The names that a module's top level binds."""
    names: set[str] = set()
    for node in python.walk(tree):
        match node:
            case python.FunctionDef(name=name) | python.ClassDef(name=name):
                names.add(name)
            case python.AsyncFunctionDef(name=name):
                names.add(name)
            case python.Name(id=name, ctx=python.Store()):
                names.add(name)
            case python.Import(names=aliases) | python.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
    return names


def _is_open(tree: python.Module) -> bool:
    for node in python.walk(tree):
        if isinstance(node, python.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        if isinstance(node, python.Name) and node.id in ("exec", "globals", "setattr"):
            return True
    return False


def _calls(program: ast.Program) -> Iterator[tuple[str, Span]]:
    """The functions that statements of ours and terms of clingo's call."""
    for statement in program.statements:
        match statement:
            case ast.Neural(network=network) if network.repository is None:
                yield network.factory.function, network.factory.span
            case ast.Data(test=test, train=train):
                for origin in (test, train):
                    if isinstance(origin, ast.Call):
                        yield origin.function, origin.span
            case ast.Learn(observations=ast.Call(function, _, span)):
                yield function, span
            case ast.Plain(node, span) if "@" in str(node):
                for name, location in _external(node):
                    yield name, program.sources.span_of(location)
            case ast.Annotated(_, body):
                for part in body:
                    if "@" in str(part):
                        for name, location in _external(part):
                            yield name, program.sources.span_of(location)


def _external(node: AST) -> Iterator[tuple[str, Location]]:
    stack = [node]
    while stack:
        part = stack.pop()
        if part.ast_type == ASTType.Function and part.external:
            yield part.name, part.location
        for key in part.child_keys:
            child = getattr(part, key)
            if isinstance(child, AST):
                stack.append(child)
            elif child is not None:
                stack.extend(item for item in child if isinstance(item, AST))
