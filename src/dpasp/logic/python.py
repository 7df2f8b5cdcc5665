"""The ``@functions`` of a program: those of its ``#script`` blocks and of its ``#python`` blocks.

Nothing runs unless the caller allows Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from clingo import Number, String, Symbol
from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language import ast
from dpasp.logic.blocks import run_code
from dpasp.logic.markers import FACTS
from dpasp.logic.terms import descendants

_ALLOW = "run it with Python allowed: 'dpasp run --python' or dpasp.load(path, python=True)"


def run_scripts(program: ast.Program, allowed: bool) -> dict[str, Any]:
    """Run the ``#script (python)`` blocks, in order, and give back what they define."""
    namespace: dict[str, Any] = {}
    for statement in program.statements:
        if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Script:
            _run(statement, namespace, allowed)
    return namespace


def _run(statement: ast.Plain, namespace: dict[str, Any], allowed: bool) -> None:
    node, span = statement.node, statement.span
    if node.name != "python":
        message = f"scripts in {node.name} are not supported"
        raise _error("script-language", message, span, "write '#script (python)' or '#python'")
    if not allowed:
        raise _error("python-not-allowed", "this program runs Python", span, _ALLOW)
    namespace.setdefault("__name__", "dpasp_script")
    run_code(node.code, span, namespace)


def _error(code: str, message: str, span: Span | None, help: str = "") -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))


class Functions:
    """What clingo finds behind an ``@name``; the first failure of a call is kept in ``failure``."""

    def __init__(
        self, program: ast.Program, sources: Sequence[object], facts: Sequence[Sequence[Symbol]]
    ) -> None:
        self.failure: BaseException | None = None
        self._program = program
        self._sources = sources
        self._facts = facts

    def __getattr__(self, name: str) -> Callable[..., Sequence[Symbol]]:
        if name == FACTS:
            return lambda predicate: self._facts[predicate.number]
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: Sequence[Symbol]) -> Sequence[Symbol]:
        try:
            function = self._find(name)
            try:
                return list(_symbols(function(*arguments)))
            except Exception as error:
                given = f"({', '.join(map(str, arguments))})" if arguments else ""
                message = f"@{name}{given} fails: {type(error).__name__}: {error}"
                raise _error("python-error", message, self._place(name)) from error
        except BaseException as error:
            # clingo would wrap it; the grounding is stopped and this raised in its place.
            self.failure = self.failure or error
            raise RuntimeError(name) from error

    def _find(self, name: str) -> Callable[..., object]:
        known: dict[str, object] = {}
        for source in self._sources:
            known |= source if isinstance(source, Mapping) else vars(source)
        function = known.get(name)
        if callable(function):
            return function
        named = [key for key, value in known.items() if callable(value) and key[0] != "_"]
        help = nearest(name, named) or "define it in a '#python' or '#script (python)' block"
        if not self._sources and any(isinstance(s, ast.Python) for s in self._program.statements):
            message = f"@{name} is a Python function"
            raise _error("python-not-allowed", message, self._place(name), _ALLOW)
        raise _error("unknown-function", f"there is no function {name}", self._place(name), help)

    def _place(self, name: str) -> Span | None:
        """Where the program calls a function, the first time."""
        for node in _nodes(self._program):
            if f"@{name}" not in str(node):
                continue
            for part in descendants(node):
                if part.ast_type == ASTType.Function and part.external and part.name == name:
                    return self._program.sources.span_of(part.location)
        return None


def _nodes(program: ast.Program) -> Iterator[AST]:
    """clingo's nodes in a program."""
    for statement in program.statements:
        match statement:
            case ast.Plain(node):
                yield node
            case ast.Annotated(heads, body):
                yield from (head.atom for head in heads)
                yield from body
            case ast.Neural(arguments=arguments, values=values, outcomes=outcomes, body=body):
                yield from (*arguments, *values, *outcomes, *body)
            case ast.Data(argument=argument):
                yield argument
            case ast.Query(literals, evidence, guards):
                yield from (literal.atom for literal in (*literals, *evidence))
                yield from guards
            case ast.Map(atoms, evidence, guards):
                yield from (*atoms, *(literal.atom for literal in evidence), *guards)
            case ast.Evidence(literals):
                yield from (literal.atom for literal in literals)


def _symbols(result: object) -> Iterator[Symbol]:
    """What a function gives back, as symbols: one, or a list or other iterable of them."""
    if isinstance(result, Symbol):
        yield result
    elif isinstance(result, bool):
        raise TypeError("it gives back a bool, not a number, a text or a clingo.Symbol")
    elif isinstance(result, int):
        yield Number(result)
    elif isinstance(result, str):
        yield String(result)
    elif isinstance(result, Iterable):
        for item in result:
            yield from _symbols(item)
    else:
        kind = type(result).__name__
        raise TypeError(f"it gives back a {kind}, not a number, a text or a clingo.Symbol")
