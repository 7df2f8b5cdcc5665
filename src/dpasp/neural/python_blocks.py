"""Calling what a program's ``#python`` blocks define, or what other packages do.

Nothing is called unless Python is allowed; what the user's code raises is reported at
its line of the program.

>>> from dpasp.language import parse
>>> from dpasp.logic.blocks import run_blocks
>>> program = parse("#python\\ndef half(n): return n / 2\\n#end.")
>>> Python(program, run_blocks(program)).function("half")(3)
1.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, TracebackType
from typing import Any

from clingo import Symbol, SymbolType
from clingo.ast import AST, ASTType

from dpasp.errors import DataError, Diagnostic, Error, ProgramError, Span, nearest
from dpasp.language import ast

ALLOW = "run it with Python allowed: 'dpasp run --python' or dpasp.load(path, python=True)"


@dataclass(frozen=True, slots=True)
class Python:
    """A program's functions; without a module, Python is not allowed."""

    program: ast.Program
    module: ModuleType | None

    @property
    def allowed(self) -> bool:
        """Whether Python may run."""
        return self.module is not None

    def function(self, name: str, span: Span | None = None) -> Callable[..., Any]:
        """The function behind ``@name`` or ``@package.module:name``."""
        if self.module is None:
            raise self.refusal(f"@{name} runs Python", span)
        if ":" in name:
            return _imported(name, span)
        found: object = getattr(self.module, name, None)
        if callable(found):
            return found
        if found is not None:
            message = f"{name} is not a function but of the type {type(found).__name__}"
            help = f"write 'def {name}(): …'"
            raise ProgramError(Diagnostic("unknown-function", message, span, help))
        known = [key for key, value in vars(self.module).items() if callable(value)]
        help = nearest(name, known) or f"define it in a '#python' block: def {name}(): …"
        message = f"no #python block defines {name}"
        raise ProgramError(Diagnostic("unknown-function", message, span, help))

    def call(self, call: ast.Call) -> Any:
        """What a call in the program gives back."""
        function = self.function(call.function, call.span)
        arguments = [plain(argument) for argument in call.arguments]
        with guarded(f"@{call.function}", self.program, call.span):
            return function(*arguments)

    def refusal(self, what: str, span: Span | None) -> ProgramError:
        """What is raised when Python is needed and not allowed."""
        return ProgramError(Diagnostic("python-not-allowed", what, span, ALLOW))


def _imported(name: str, span: Span | None) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:
        message = f"@{name} cannot be imported: {type(error).__name__}: {error}"
        help = "write @package.module:function; the package must be installed"
        raise DataError(Diagnostic("python-import", message, span, help)) from error
    return found  # type: ignore[no-any-return]


@contextmanager
def guarded(what: str, program: ast.Program | None, span: Span | None) -> Iterator[None]:
    """Turns what the user's code raises into an error at its line of the program."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        files = set(program.files) if program is not None else {span.file} if span else set()
        where = _raised_at(error.__traceback__, files) or span
        message = f"{what} fails: {type(error).__name__}: {error}"
        raise DataError(Diagnostic("python-error", message, where)) from error


def _raised_at(trace: TracebackType | None, files: set[str]) -> Span | None:
    """The innermost line of the program in a traceback."""
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            line = trace.tb_lineno
            found = Span(trace.tb_frame.f_code.co_filename, line, 1, line, 2)
        trace = trace.tb_next
    return found


def plain(term: AST) -> object:
    """A ground term as Python: a number, a text (of a constant or a string), or a symbol."""
    if term.ast_type == ASTType.SymbolicTerm:
        return plain_symbol(term.symbol)
    if term.ast_type == ASTType.UnaryOperation:
        value = plain(term.argument)
        if isinstance(value, int):
            return -value
    if term.ast_type == ASTType.Function and not term.arguments:
        return str(term.name)
    return str(term)


def plain_symbol(symbol: Symbol) -> object:
    """A symbol as Python: a number, the text of a constant or string, or the symbol itself."""
    if symbol.type is SymbolType.Number:
        return symbol.number
    if symbol.type is SymbolType.String:
        return symbol.string
    if symbol.type is SymbolType.Function and symbol.name and not symbol.arguments:
        return symbol.name
    return symbol
