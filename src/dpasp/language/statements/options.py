"""Options ``name = value, …``, calls ``@f(0)`` and file names, and the allowed values of options.

>>> from dpasp.language.text.source import SourceFile
>>> cursor = Cursor(SourceFile("", "lr = 0.1, verbose"), 0, 17)
>>> [str(option) for option in read_options(cursor)]
['lr = 0.1', 'verbose = true']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from sys import float_info
from typing import NamedTuple

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.expressions import real_value
from dpasp.language.statements.statement import span_field
from dpasp.language.text import Cursor, Reading, Token
from dpasp.language.text.clingo_text import exact
from dpasp.language.text.lexer import unquote
from dpasp.language.tuning import TUNING

_FORM = "options are written name = value, with ',' between them"


OptionValue = int | float | str | bool | tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """``lr = 0.001``; a name alone means true."""

    name: str
    value: OptionValue
    span: Span = span_field()

    def __str__(self) -> str:
        return f"{self.name} = {_value_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Call:
    """``@f``, ``@f(0, "x")`` or ``@package.module:f``; the arguments are term nodes."""

    function: str
    arguments: tuple[AST, ...] = ()
    span: Span = span_field()

    def filled(self, node: AST) -> Call:
        """The call with the arguments that clingo read."""
        if node.ast_type == ASTType.Pool:
            message, help = "a call has one list of arguments", "write ',' between the arguments"
            raise ProgramError.at("function-syntax", message, self.span, help)
        arguments = tuple(node.arguments) if node.ast_type == ASTType.Function else ()
        return Call(self.function, arguments, self.span)

    def __str__(self) -> str:
        arguments = ", ".join(map(exact, self.arguments))
        return f"@{self.function}" + (f"({arguments})" if arguments else "")


@dataclass(frozen=True, slots=True)
class File:
    """A file named in the program, as written there."""

    path: str
    span: Span = span_field()

    def __str__(self) -> str:
        return quote(self.path)


Origin = Call | File


def read_options(cursor: Cursor, stop: tuple[str, ...] = (".",)) -> tuple[Option, ...]:
    """Read options up to one of the ``stop`` tokens; no name may occur twice."""
    options: dict[str, Option] = {}
    while True:
        start = cursor.peek().start
        option = _option(cursor)
        if option.name in options:
            where = (start, cursor.peek(-1).end)
            message = f"the option {option.name} is given twice"
            cursor.fail("option-twice", message, where, "keep one of them")
        options[option.name] = option
        if cursor.at_end() or cursor.peek().text in stop:
            return tuple(options.values())
        cursor.expect(",", "option-syntax", _FORM)


def _option(cursor: Cursor) -> Option:
    name = cursor.next()
    if name.kind not in ("name", "variable"):
        missing = name.text in ("", ".", ":-", ",")
        what = "an option is missing here" if missing else f"'{name.text}' is not an option"
        cursor.fail("option-syntax", what, name, _FORM)
    value: OptionValue = True
    if cursor.peek().text in (":", ":=", "=="):
        cursor.fail("option-syntax", "an option has '=' before its value", cursor.peek(), _FORM)
    if cursor.accept("="):
        value = _value(cursor)
    return Option(name.text, value, cursor.where(name, cursor.peek(-1)))


def _value(cursor: Cursor) -> OptionValue:
    token = cursor.next()
    if token.text == "(":
        return _tuple(cursor)
    if token.text in ("-", "+") or token.kind == "number":
        return _number(cursor, token)
    if token.kind == "string":
        return unquote(token.text)
    if token.text.lower() in ("true", "false"):
        return token.text.lower() == "true"
    if token.kind == "name":
        return token.text
    missing = token.text in ("", ".", ":-", ",")
    what = "a value is missing here" if missing else f"'{token.text}' is not a value"
    cursor.fail("option-syntax", what, token, 'a value is a number, a "string", true or false')


def _number(cursor: Cursor, token: Token) -> int | float:
    sign = -1 if token.text == "-" else 1
    if token.text in ("-", "+"):
        token = cursor.next()
    if token.kind != "number":
        help = "write a number such as 0.001"
        cursor.fail("option-syntax", "a number is missing here", token, help)
    whole = token.text.isdigit() and len(token.text) <= TUNING.integer_digits
    return sign * (int(token.text) if whole else real_value(cursor, token))


def _tuple(cursor: Cursor) -> tuple[int | float, ...]:
    numbers: list[int | float] = []
    while not cursor.accept(")"):
        numbers.append(_number(cursor, cursor.next()))
        if not cursor.accept(","):
            cursor.expect(")", "option-syntax", "a list of numbers is written (0.9, 0.999)")
            break
    return tuple(numbers)


def read_origin(cursor: Reading) -> Origin | None:
    """Read a call or the name of a file; None if neither comes next."""
    token = cursor.peek()
    if token.kind == "string":
        return File(unquote(cursor.next().text), cursor.where(token))
    return read_call(cursor) if token.kind == "call" else None


def read_call(cursor: Reading) -> Call:
    """Read ``@f`` or ``@f(…)``; its arguments are left to clingo, as those of an atom."""
    token = cursor.next()
    if token.kind != "call":
        named = token.kind in ("name", "variable", "string")
        what = f"{token.text} is not a function" if named else "a function is missing here"
        name = token.text.strip('"').split("/")[-1] if named else "net"
        cursor.fail("function-syntax", what, token, f"name a Python function with @: @{name}")
    if token.text.find(":") < 0 and _is_module(cursor, token):
        message = "a function in a module is named after a colon"
        help = f"write {token.text}.module:function"
        cursor.fail("function-syntax", message, token, help)
    if cursor.peek().text == "(":
        cursor.skip_group()
    cursor.put(token, "x" * (token.end - token.start))
    return Call(token.text[1:].strip(), (), cursor.where(token, cursor.peek(-1)))


def _is_module(cursor: Cursor, token: Token) -> bool:
    """Whether ``@package`` continues as ``.module`` without a function."""
    following = cursor.file.text[token.end : token.end + 2]
    return following[:1] == "." and (following[1:].isalpha() or following[1:] == "_")


# --- printing ----------------------------------------------------------------------------------


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _value_text(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_value_text, value))})"
    return repr(value)


# --- checks ------------------------------------------------------------------------------------


def check_file(origin: Origin | None, endings: tuple[str, ...]) -> Iterator[Diagnostic]:
    if isinstance(origin, File) and not origin.path.lower().endswith(endings):
        help = f"the name of a file ends in {' or '.join(endings)}"
        message = f"{origin.path or 'this'} has an unknown file type"
        yield Diagnostic("data-file", message, origin.span, help)


# --- allowed values -----------------------------------------------------------------------------


class Allowed(NamedTuple):
    """The allowed values of an option: in words, as a test, and examples."""

    words: str
    holds: Callable[[OptionValue], bool]
    examples: tuple[str, ...]


def _real(words: str, test: Callable[[float], bool], example: str) -> Allowed:
    def holds(value: OptionValue) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return -float_info.max <= value <= float_info.max and test(value)

    return Allowed(words, holds, (example,))


def _whole(words: str, test: Callable[[float], bool], example: str) -> Allowed:
    return _real(words, lambda n: n == int(n) and n <= LARGEST_INTEGER and test(n), example)


def _word(*known: str) -> Allowed:
    quoted = tuple(f'"{word}"' for word in known)
    return Allowed(f"one of {', '.join(known)}", lambda value: value in known, quoted)


LARGEST_INTEGER = 2**63 - 1  # what fits into the integers of native code

POSITIVE = _real("a number above 0", lambda n: n > 0, "0.001")
COUNT = _whole("a whole number above 0", lambda n: n > 0, "10")
WHOLE = _whole("a whole number, 0 or more", lambda n: n >= 0, "0")
SHARE = _real("a number from 0 to 1", lambda n: 0 <= n <= 1, "0.1")
CHAINS = _whole("a whole number from 2 to 16", lambda n: 2 <= n <= 16, "16")
NOT_NEGATIVE = _real("a number, 0 or more", lambda n: n >= 0, "0.1")
BOOLEAN = Allowed(
    "true or false", lambda value: isinstance(value, bool) or value in (0, 1), ("true",)
)
TEXT = Allowed("text in quotes", lambda value: isinstance(value, str), ('"…"',))

LEARN = {
    "lr": POSITIVE,
    "niters": COUNT,
    "tolerance": POSITIVE,
    "batch": COUNT,
    "alg": _word("lagrange", "neurasp", "fixpoint", "em", "gradient"),
    "momentum": SHARE,
    "smoothing": NOT_NEGATIVE,
    "display": _word("none", "progress", "loglikelihood"),
    "seed": WHOLE,
    "shuffle": BOOLEAN,
    "validation": SHARE,
    "patience": COUNT,
    "objective": _word("lower", "upper", "midpoint", "hurwicz"),
    "weight": SHARE,
    "device": TEXT,
    "schedule": _word("constant", "linear", "cosine"),
    "warmup": SHARE,
    "average": SHARE,
    "capture": BOOLEAN,
    "query": TEXT,
    "imprecise": POSITIVE,
    "entropy": NOT_NEGATIVE,
    "accumulate": COUNT,
    "precision": _word("full", "bfloat16"),
    "workers": WHOLE,
    "likelihood": _word("auto", "exact", "bound", "sampled"),
    "nodes": COUNT,
    "samples": COUNT,
}

NETWORK = {"lr": POSITIVE, "optim": TEXT, "logits": BOOLEAN}  # other options go to the optimiser


# What other systems call the same.
_OTHER_NAMES = {
    "niters": "epochs iterations iters steps max_iter n_iter n_epochs num_epochs",
    "batch": "batch_size batchsize",
    "lr": "rate learning_rate",
    "alg": "algorithm method",
    "tolerance": "tol",
    "display": "verbose",
    "seed": "random_state random_seed",
    "validation": "validation_split validation_fraction",
    "workers": "num_workers n_jobs",
    "n": "samples n_samples num_samples draws",
}


def option_help(name: str, known: Collection[str]) -> str:
    """What to write in place of an unknown option.

    >>> option_help("epochs", LEARN), option_help("nitres", LEARN)
    ("did you mean 'niters'?", "did you mean 'niters'?")
    """
    others = (ours for ours, words in _OTHER_NAMES.items() if name.lower() in words.split())
    if (other := next(others, "")) in known:
        return f"did you mean '{other}'?"
    return nearest(name, known) or f"known are {', '.join(known)}"


def must_be(name: str, allowed: Allowed, value: object) -> str:
    """In words, what the value of an option must be."""
    large = isinstance(value, int) and value > LARGEST_INTEGER and "whole" in allowed.words
    return f"{name} must be {allowed.words}{f', at most {LARGEST_INTEGER}' if large else ''}"


def check_values(options: Iterable[Option], known: Mapping[str, Allowed]) -> Iterator[Diagnostic]:
    """Problems with values of known options."""
    for option in options:
        allowed = known.get(option.name)
        if allowed is not None and not allowed.holds(option.value):
            message = must_be(option.name, allowed, option.value)
            words = [word.strip('"') for word in allowed.examples]
            close = nearest(option.value, words) if isinstance(option.value, str) else ""
            help = close or f"write {option.name} = {allowed.examples[0]}"
            yield Diagnostic("option-value", message, option.span, help)


def check_options(
    options: Sequence[Option],
    known: Mapping[str, Allowed],
    word: str,
    owners: Callable[[str], Sequence[str]] = lambda name: (),
) -> Iterator[Diagnostic]:
    """Problems with the options of a directive that only has the ``known`` ones.

    ``owners`` says what else has an option with a name.
    """
    for option in options:
        if option.name not in known:
            message, others = f"{word} has no option {option.name}", owners(option.name)
            help = option_help(option.name, known)
            if others:
                help = f"{option.name} is an option of {' and '.join(others)}"
            yield Diagnostic("unknown-option", message, option.span, help)
    yield from check_values(options, known)
