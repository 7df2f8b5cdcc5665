r"""The program's Python: its blocks are run once, and its ``@functions`` are called.

Nothing runs unless the caller allows Python; the caller's own objects (networks, data, functions)
need no permission. Errors in a user's code are reported at their line of the program.

>>> from dpasp.language import parse
>>> program = parse("#python\ndef half(n): return n / 2\n#end.")
>>> ProgramPython(program, run_blocks(program)).function("half")(3)
1.5
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from importlib import import_module
from itertools import chain
from math import isfinite
from numbers import Integral, Real
from types import ModuleType
from typing import Any

from clingo import Number, String, Symbol, SymbolType
from clingo.ast import ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Error, ProgramError, Span, UsageError, nearest
from dpasp.ground.terms import symbol_constants, term_value
from dpasp.language import ast
from dpasp.language.statements.python import called
from dpasp.language.text.clingo_text import walk

ALLOW = "to allow that, say 'dpasp run --python', or python=True in dpasp.load or loads"
MODULE_NAME = "dpasp_program"
_FORM = {
    "networks": "give a torch.nn.Module, or a function that makes one",
    "functions": "give a function; tensors and the like are data",
}


# --- running blocks ----------------------------------------------------------------------------


def run_blocks(program: ast.Program) -> ModuleType:
    """Run the program's ``#python`` blocks in order; return what they define as a module."""
    module = ModuleType(MODULE_NAME)
    for statement in program.statements:
        if isinstance(statement, ast.Python):
            run_code(statement.code, statement.span, module.__dict__)
    return module


class CallerObjects(ModuleType):
    """The caller's objects alone: the program's own Python may not run."""


def with_objects(module: ModuleType | None, objects: Mapping[str, object]) -> ModuleType | None:
    """A module (None if Python is not allowed) combined with the caller's objects by name.

    For an object that cannot be called, such as a tensor, a call returns the object.
    """
    if not objects:
        return module
    filled = CallerObjects(MODULE_NAME) if module is None else module
    for name, value in objects.items():
        setattr(filled, name, value if callable(value) else partial(_same, value))
    return filled


def _same(value: object) -> object:
    return value


def run_scripts(program: ast.Program, allowed: bool) -> dict[str, Any]:
    """Run the ``#script (python)`` blocks in order; return what they define."""
    namespace: dict[str, Any] = {}
    if not program.sources.holds("#script"):
        return namespace
    for statement in program.statements:
        if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Script:
            _run_script(statement, namespace, allowed)
    return namespace


def _run_script(statement: ast.Plain, namespace: dict[str, Any], allowed: bool) -> None:
    node, span = statement.node, statement.span
    if node.name != "python":
        message = f"scripts in {node.name} are not supported"
        raise ProgramError.at(
            "script-language", message, span, "write '#script (python)' or '#python'"
        )
    if not allowed:
        raise ProgramError.at("python-not-allowed", "this program runs Python", span, ALLOW)
    namespace.setdefault("__name__", "dpasp_script")
    run_code(node.code, span, namespace)


def run_code(text: str, span: Span, namespace: dict[str, Any]) -> None:
    """Run Python from a program; an error is reported at the line that raised it."""
    code = "\n" * (span.line - 1) + textwrap.dedent(text)  # lines as in the file
    try:
        exec(compile(code, span.file, "exec"), namespace)
    except Exception as error:
        message = f"this Python fails: {type(error).__name__}: {error}"
        raise ProgramError(Diagnostic("python-error", message, _raised_in(error, span))) from error


def _raised_in(error: Exception, span: Span) -> Span:
    """The line of the block at which an error was raised."""
    at = _raised_at(error, {span.file})
    line = at.line if at else error.lineno if isinstance(error, SyntaxError) else None
    if line is None or not span.line <= line <= span.end_line:
        return span
    return span.at_line(line)


# --- calls in statements -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProgramPython:
    """A program's functions; without a module, Python is not allowed."""

    program: ast.Program
    module: ModuleType | None
    constants: Mapping[str, str] = field(default_factory=dict)  # constants given from outside

    @property
    def allowed(self) -> bool:
        """Whether the program's own Python may run."""
        return self.module is not None and not isinstance(self.module, CallerObjects)

    def function(self, name: str, span: Span | None = None) -> Callable[..., Any]:
        """The function behind ``@name`` or ``@package.module:name``."""
        if self.module is None or (not self.allowed and name not in self.program.supplied):
            raise self.refusal(f"@{name} runs Python", span)
        if ":" in name:
            return _imported(name, span)
        target: object = getattr(self.module, name, None)
        if callable(target):
            return target
        if target is not None:
            message = f"{name} is not a function but of the type {type(target).__name__}"
            help = f"write 'def {name}(): …'"
            raise ProgramError(Diagnostic("unknown-function", message, span, help))
        known = [key for key, value in vars(self.module).items() if callable(value)]
        help = nearest(name, known) or f"define it in a '#python' block: def {name}(): …"
        message = f"no #python block defines {name}"
        raise ProgramError(Diagnostic("unknown-function", message, span, help))

    def call(self, call: ast.Call, values: Mapping[str, Symbol] | None = None) -> Any:
        """The result of a call in the program; ``values`` are those of its variables."""
        function = self.function(call.function, call.span)
        arguments = self.arguments(call, values)
        with guarded(f"@{call.function}", self.program, call.span):
            return function(*arguments)

    def arguments(
        self, call: ast.Call, variables: Mapping[str, Symbol] | None = None
    ) -> list[object]:
        """The arguments of a call as Python values, with constants replaced by their values."""
        if not call.arguments:
            return []
        constants = {**symbol_constants(self.program, self.constants), **(variables or {})}
        values = [term_value(term, constants) for term in call.arguments]
        for term, value in zip(call.arguments, values, strict=True):
            if value is None:
                message = f"{term} is not a single value"
                help = "write a number, a string, a name or a constant"
                span = self.program.sources.span_of(term.location)
                raise ProgramError(Diagnostic("python-argument", message, span, help))
        return [plain_symbol(value) for value in values if value is not None]

    def refusal(self, what: str, span: Span | None) -> ProgramError:
        """The error for Python that is needed but not allowed."""
        return ProgramError(Diagnostic("python-not-allowed", what, span, ALLOW))


def _imported(name: str, span: Span | None) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    try:
        target: Any = import_module(module)
        for part in path.split("."):
            target = getattr(target, part)
    except Exception as error:
        message = f"@{name} cannot be imported: {type(error).__name__}: {error}"
        help = "write @package.module:function; the package must be installed"
        raise DataError(Diagnostic("python-import", message, span, help)) from error
    return target  # type: ignore[no-any-return]


@contextmanager
def guarded(
    what: str, program: ast.Program | None, span: Span | None, inputs: Sequence[Any] = ()
) -> Iterator[None]:
    """Turn exceptions of the user's code into errors at their line of the program.

    ``inputs`` are the tensors passed to it, for the message.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        files = set(program.files) if program is not None else {span.file} if span else set()
        where = _raised_at(error, files) or span
        message = f"{what} fails: {type(error).__name__}: {error}"
        listed = " and ".join(f"{' × '.join(map(str, x.shape))} ({x.dtype})" for x in inputs)
        help = f"it is called with {len(inputs)} tensor{'s'[: len(inputs) > 1]}: {listed}"
        help = help if inputs else ""
        raise DataError(Diagnostic("python-error", message, where, help)) from error


def _raised_at(error: Exception, files: set[str]) -> Span | None:
    """The innermost line of the program in a traceback."""
    target, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            line = trace.tb_lineno
            target = Span(trace.tb_frame.f_code.co_filename, line, 1, line, 2)
        trace = trace.tb_next
    return target


# --- calls in terms ----------------------------------------------------------------------------


class Functions:
    """The functions that clingo calls; the first failure is kept in ``failure``.

    Functions of ``#script`` get symbols, as in clingo; those of ``#python`` get Python values.
    """

    def __init__(
        self,
        program: ast.Program,
        scripts: Mapping[str, object],
        python: object | None,
        own: Mapping[str, Callable[..., Sequence[Symbol]]] | None = None,
    ) -> None:
        self.failure: BaseException | None = None
        self._program = program
        self._scripts = scripts
        self._python = python
        self._own = own or {}
        self.check: Callable[[], None] = lambda: None  # called before each call, and may raise

    def __getattr__(self, name: str) -> Callable[..., Sequence[Symbol]]:
        if name in self._own:
            return self._own[name]
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: Sequence[Symbol]) -> Sequence[Symbol]:
        try:
            self.check()
            function = self._find(name)
            try:
                return list(_symbols(function(*self._values(name, arguments))))
            except Exception as error:
                shown = f"({', '.join(map(str, arguments))})" if arguments else ""
                message = f"@{name}{shown} fails: {type(error).__name__}: {error}"
                raise ProgramError.at("python-error", message, self._first_call(name)) from error
        except BaseException as error:
            # clingo would wrap it; grounding is stopped and this is raised instead.
            self.failure = self.failure or error
            raise RuntimeError(name) from error

    def _values(self, name: str, arguments: Sequence[Symbol]) -> list[object]:
        """The arguments in the form that a function takes."""
        script = callable(self._scripts.get(name)) and name not in self._defined()
        return list(arguments) if script else list(map(plain_symbol, arguments))

    def _defined(self) -> Mapping[str, object]:
        """The function that the ``#python`` blocks, or the caller, define."""
        if self._python is None or isinstance(self._python, Mapping):
            return self._python or {}
        return vars(self._python)

    def _find(self, name: str) -> Callable[..., object]:
        known = {**self._scripts, **self._defined()}
        function = known.get(name)
        if callable(function):
            return function
        named = [key for key, value in known.items() if callable(value) and key[0] != "_"]
        help = nearest(name, named) or "define it in a '#python' or '#script (python)' block"
        blocks = any(isinstance(s, ast.Python) for s in self._program.statements)
        if self._python is None and not self._scripts and blocks:
            message = f"@{name} is a Python function"
            raise ProgramError.at("python-not-allowed", message, self._first_call(name), ALLOW)
        message = f"there is no function {name}"
        raise ProgramError.at("unknown-function", message, self._first_call(name), help)

    def _first_call(self, name: str) -> Span | None:
        """Where the program calls a function, the first time."""
        for node in chain.from_iterable(map(ast.clingo_terms, self._program.statements)):
            if f"@{name}" not in str(node):
                continue
            for part in walk(node):
                if part.ast_type == ASTType.Function and part.external and part.name == name:
                    return self._program.sources.span_of(part.location)
        return None


# --- values ------------------------------------------------------------------------------------


def plain_symbol(symbol: Symbol) -> object:
    """A symbol as Python: a number, the text of a constant or string, or the symbol itself."""
    if symbol.type is SymbolType.Number:
        return symbol.number
    if symbol.type is SymbolType.String:
        return symbol.string
    if symbol.type is SymbolType.Function and symbol.name and not symbol.arguments:
        return symbol.name
    return symbol


def _symbols(result: object) -> Iterator[Symbol]:
    """The result of a function as symbols: a single one, or an iterable of them.

    A real number becomes the string that a probability is read from.
    """
    if isinstance(result, bool):
        raise TypeError("it returns a bool, not a number, a text or a clingo.Symbol")
    if isinstance(result, Symbol):
        yield result
    elif isinstance(result, Integral):
        yield Number(int(result))
    elif isinstance(result, Real) and isfinite(result):
        yield String(repr(float(result)))
    elif isinstance(result, str):
        yield String(result)
    elif isinstance(result, Iterable):
        for item in result:
            yield from _symbols(item)
    else:
        shown = str(result) if isinstance(result, float) else f"a {type(result).__name__}"
        raise TypeError(f"it returns {shown}, not a number, a text or a clingo.Symbol")


def caller_objects(program: ast.Program, groups: Mapping[str, object]) -> dict[str, object]:
    """The objects of all groups (``networks``, ``data``, ``functions``) by name.

    Raises :class:`UsageError` for a name that the program does not call or that occurs twice, and
    for a network or function that cannot be called.
    """
    by_name: dict[str, object] = {}
    names = called(program)
    for group, objects in groups.items():
        if objects is None:
            continue
        if not isinstance(objects, Mapping):
            kind = type(objects).__name__
            message = f"{group} are a dictionary by name, not a {kind}"
            raise _given_error(message, f'write {group}={{"name": …}} for the name after @')
        for key, value in objects.items():
            name = str(key).removeprefix("@")
            if name not in names:
                help = nearest(name, names) or f"it calls {', '.join(sorted(names)) or 'nothing'}"
                raise _given_error(f"the program does not call @{name}", help)
            if name in by_name:
                raise _given_error(f"@{name} is given twice", "give it once")
            if group != "data" and not callable(value):
                kind = type(value).__name__
                raise _given_error(f"@{name} among the {group} is a {kind}", _FORM[group])
            by_name[name] = value
    return by_name


def _given_error(message: str, help: str) -> UsageError:
    return UsageError(Diagnostic("given-object", message, help=help))
