"""``#inference``, and the table of engines that answer questions.

The directive, ``--engine`` and ``program.query(engine=…)`` all read this table. It is here because
a program's text is checked before anything is computed. An engine's function, given as
``"module:function"``, is imported on first use; it takes a :class:`dpasp.inference.asked.Asked` and
returns a :class:`dpasp.inference.asked.EngineResult`.

>>> sorted(engine_options("sample")), with_option("nmodels")
(['chains', 'gap', 'n', 'seed'], ['bounds', 'aseo'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, UsageError, nearest
from dpasp.language.statements.options import (
    CHAINS,
    COUNT,
    LEARN,
    SHARE,
    WHOLE,
    Allowed,
    Call,
    Option,
    Origin,
    check_file,
    check_options,
    read_options,
    read_origin,
)
from dpasp.language.statements.statement import Draft, Setting, Statement, span_field
from dpasp.language.text import Reading, Sources

COMMON: Mapping[str, Allowed] = {"seed": WHOLE}  # options of every engine


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to answer questions.

    ``solve`` is the function, or its place as ``"module:function"``. ``options`` are its own;
    ``aliases`` are other names with the options that they imply. ``compiles``: it makes a circuit;
    ``exact``: its answers are exact if limits allow; ``anytime``: at a limit, it answers with what
    is known. A cluster can share ``whole_questions``, or the work ``inside`` one (and then rows of
    test data); without either, a cluster is refused.
    """

    name: str
    solve: str | Callable[..., Any]
    options: Mapping[str, Allowed] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    compiles: bool = False
    exact: bool = False
    anytime: bool = False
    about: str = ""
    whole_questions: bool = False
    inside: str = ""

    @property
    def cut(self) -> bool:
        """Whether its work can be shared among workers."""
        return self.whole_questions or bool(self.inside)


# To add an engine: a module with its function, and a line here.
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "auto",
            "dpasp.inference.exact:auto",
            aliases={"exact": {"exact": 1}},
            compiles=True,
            exact=True,
            anytime=True,
            whole_questions=True,
            about="exact answers; at a limit, certain bounds and estimates (default)",
        ),
        Engine(
            "compile",
            "dpasp.inference.exact:compiled",
            compiles=True,
            exact=True,
            whole_questions=True,
            about="exact answers from a circuit; warns if it had to be enumerated",
        ),
        Engine(
            "enumerate",
            "dpasp.inference.exact:enumerated",
            exact=True,
            whole_questions=True,
            about="exact answers by listing total choices: the reference",
        ),
        Engine(
            "sample",
            "dpasp.inference.bounds.bounds:sample_and_maps",
            {"n": COUNT, "gap": SHARE, "chains": CHAINS},
            aliases={"gibbs": {"chains": 16}},
            anytime=True,
            about="estimates from samples, with 95 % intervals",
            inside="samples",
        ),
        Engine(
            "bounds",
            "dpasp.inference.bounds.bounds:bounds_and_maps",
            {"gap": SHARE, "nmodels": COUNT},
            aliases={"aseo": {"nmodels": 1000, "gap": 0.0}},
            anytime=True,
            about="certain bounds that get tighter",
            whole_questions=True,
            inside="cases",
        ),
    )
}


def register(engine: Engine) -> None:
    """Add an engine to the table; :class:`UsageError` if its name is taken.

    Example::

        register(Engine("mine", "my_package.mine:solve", {"n": COUNT}))
        program.query(engine="mine", n=5)           # or #inference mine, n = 5.
    """
    taken = {engine.name, *engine.aliases} & set(engine_names())
    if taken:
        raise UsageError(f"there is already an engine {sorted(taken)[0]}")
    ENGINES[engine.name] = engine


def engine_names() -> list[str]:
    """All names of engines, each followed by its aliases."""
    return [name for engine in ENGINES.values() for name in (engine.name, *engine.aliases)]


def engine_summaries() -> dict[str, str]:
    """A short description of each engine, by name."""
    by_name = {}
    for engine in ENGINES.values():
        by_name[engine.name] = engine.about
        for alias, options in engine.aliases.items():
            implied = ", ".join(f"{key} = {value:g}" for key, value in options.items())
            by_name[alias] = (
                f"{engine.name} with {implied}" if implied else f"the same as {engine.name}"
            )
    return by_name


def named(name: str) -> Engine | None:
    return next((e for e in ENGINES.values() if name in (e.name, *e.aliases)), None)


def engine_options(name: str) -> Mapping[str, Allowed]:
    engine = named(name)
    return {**(engine.options if engine else {}), **COMMON}


def all_options() -> dict[str, Allowed]:
    return {k: v for engine in ENGINES.values() for k, v in engine.options.items()} | dict(COMMON)


def with_option(option: str) -> list[str]:
    """The names of the engines that have an option."""
    return [name for name in engine_names() if option in engine_options(name).keys() - COMMON]


# --- the directive ------------------------------------------------------------------------------

_FORM = "inference is written #inference exact. or #inference sample, n = 10000."


@dataclass(frozen=True, slots=True)
class Inference(Statement):
    """``#inference sample, n = 10000.``"""

    method: str
    options: tuple[Option, ...]
    span: Span = span_field()

    words = ("#inference",)
    once = True
    form = "#inference sample, n = 10000."
    about = "which engine answers, with its options"

    @staticmethod
    def read(cursor: Reading) -> Inference:
        cursor.next()
        parenthesis = cursor.accept("(")
        method = cursor.next()
        known = engine_names()
        if method.text not in known:
            missing = method.text in ("", ".")
            what = "a method is missing here" if missing else f"{method.text} is not a method"
            help = nearest(method.text.strip('"'), known) or f"known are {', '.join(known)}"
            cursor.fail("unknown-method", what, method, help)
        options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
        cursor.expect_end(_FORM, parenthesis)
        return Inference(method.text, options, cursor.span)

    @staticmethod
    def check(statements: Sequence[Inference], setting: Setting) -> Iterator[Diagnostic]:
        for statement in statements:
            yield from inference_problems(statement)

    def __str__(self) -> str:
        return f"#inference {', '.join([self.method, *map(str, self.options)])}."


def inference_problems(statement: Inference) -> Iterator[Diagnostic]:
    method = statement.method
    known, word = engine_options(method), f"#inference {method}"
    yield from check_options(statement.options, known, word, with_option)


# --- learning ------------------------------------------------------------------------------------


FILES = (".csv", ".npy")  # supported files
_LEARN_FORM = "learning is written #learn @labels, lr = 0.001, niters = 5."


@dataclass(frozen=True, slots=True)
class Learn(Statement):
    """``#learn @labels, lr = 0.001.``"""

    observations: Origin
    options: tuple[Option, ...]
    span: Span = span_field()

    words = ("#learn",)
    once = True
    form = "#learn @labels, lr = 0.001, niters = 5."
    about = "the observations to learn from, and how"

    @staticmethod
    def read(cursor: Reading) -> Draft:
        cursor.next()
        parenthesis = cursor.accept("(")
        token = cursor.peek()
        origin = read_origin(cursor)
        if origin is None:
            named = token.kind == "name" and cursor.peek(1).text != "="
            help = f'write @{token.text}, or a file, "{token.text}.csv"' if named else _LEARN_FORM
            cursor.fail("learn-data", "#learn begins with the observations", token, help)
        stop = cursor.peek(-1)
        if cursor.peek().kind == "name":
            cursor.fail("directive-syntax", "a ',' is missing here", cursor.peek(), _LEARN_FORM)
        options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
        cursor.expect_end(_LEARN_FORM, parenthesis)
        call = origin if isinstance(origin, Call) and stop.text == ")" else None
        if call is None:
            cursor.buffer.blank(cursor.start, cursor.end)
        else:  # clingo reads ':- xxx(…).'
            cursor.buffer.put(cursor.start, token.start, ":-")
            cursor.buffer.put(stop.end, cursor.end, ".")
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            filled = origin if call is None else call.filled(nodes[0].body[0].atom.symbol)
            return Learn(filled, options, span)

        return Draft(finish, whole=call is None)

    @staticmethod
    def check(statements: Sequence[Learn], setting: Setting) -> Iterator[Diagnostic]:
        for statement in statements:
            yield from check_options(statement.options, LEARN, "#learn")
            yield from check_file(statement.observations, FILES)

    def __str__(self) -> str:
        parts = [self.observations, *self.options]
        return f"#learn {', '.join(map(str, parts))}."
