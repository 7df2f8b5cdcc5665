"""Conversion of other systems' programs to dPASP: text in, text out.

Each row of ``DIALECTS`` names the function for a system. ``text`` has what all of them share,
``networks`` what graphical models share, ``prolog`` what ProbLog and DeepProbLog share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.language.arguments import list_given, text_given
from dpasp.language.text.source import load_text
from dpasp.limits import Limits
from dpasp.writing import path_given

NO_LIMITS = Limits()
PROBLOG_OPTIONS = ("ground", "python", "limits", "examples")
OPTIONS = {
    "evidence": "a file of evidence is for UAI networks and Markov logic",
    **{name: f"{name} is for ProbLog's programs" for name in PROBLOG_OPTIONS},
}
NOTHING: dict[str, object] = {"evidence": None, "examples": [], "python": False, "ground": None}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Another system's language, and the function that converts it."""

    name: str
    summary: str
    function: str  # of (text, file), in a module of this package
    options: tuple[str, ...] = ()  # options that the function also takes, by name
    endings: tuple[str, ...] = ()  # of its files, besides its name

    def converted(self, text: str, file: str, **options: Any) -> str:
        """Convert a text; raises an error for options that do not apply.

        ``options`` are those of :func:`convert`, with ``examples`` as texts and names of files.
        """
        for option, nothing in NOTHING.items():
            if options.get(option, nothing) != nothing and option not in self.options:
                raise UsageError(f"{OPTIONS[option]}, not {self.summary}")
        module, _, name = self.function.rpartition(".")
        function: Callable[..., str] = getattr(import_module(f"dpasp.converters.{module}"), name)
        return function(text, file, **{o: options[o] for o in self.options if o in options})


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("problog", "ProbLog", "problog.converted", PROBLOG_OPTIONS),
        Dialect("pasta", "PASTA", "pasta.converted"),
        Dialect("neurasp", "NeurASP", "neurasp.converted"),
        Dialect("deepproblog", "DeepProbLog", "problog.from_deepproblog"),
        Dialect("plingo", "plingo's ProbLog form", "plingo.converted"),
        Dialect(
            "bif",
            "a network or influence diagram in BIF or XMLBIF",
            "bif.converted",
            (),
            ("bifxml", "xmlbif"),
        ),
        Dialect("xdsl", "an influence diagram of GeNIe (XDSL)", "networks.from_xdsl"),
        Dialect("uai", "a Bayesian or Markov network (UAI)", "uai.from_uai", ("evidence",)),
        Dialect("lpmln", "LP^MLN", "plingo.from_lpmln"),
        Dialect("mln", "Markov logic (Alchemy)", "mln.converted", ("evidence",)),
        Dialect("wcnf", "weighted model counting (CNF)", "wcnf.converted", (), ("cnf",)),
    )
}


def dialect_of(file: str | Path) -> str:
    """The dialect that the ending of a file's name says; :class:`UsageError` if it says none.

    >>> dialect_of("alarm.bif"), dialect_of("two.cnf")
    ('bif', 'wcnf')
    """
    ending = Path(file).suffix.lower().removeprefix(".")
    for dialect in DIALECTS.values():
        if ending in (dialect.name, *dialect.endings):
            return dialect.name
    message = f"the name {file} does not say which system this program is for"
    help = f"name it, as in `dpasp convert {file} --from problog`; known are {', '.join(DIALECTS)}"
    raise UsageError.at("usage", message, help=help)


TEXT = "<text>"  # the file name of a program given as a string


@dataclass(frozen=True, slots=True)
class Tuning:
    """Limits of the converters."""

    term_depth: int = 150  # nested Prolog terms; keeps the parser within Python's own stack
    body_ways: int = 1_000  # ways to satisfy a Prolog body, each of which becomes a rule
    split_rules: int = 8  # rules made of one clause; with more ways they share an atom instead
    trial_seconds: float = 3.0  # to ground recursion that may not terminate
    trial_megabytes: float = 1_000.0
    ground_seconds: float = 60.0  # for ProbLog's grounder, if the caller sets no limit
    ground_megabytes: float = 6_000.0  # of addresses: its recursion may not terminate
    table_rows: int = 1_000_000  # of a network's table, and values of its variables
    row_slack: float = 1e-3  # a row's distance from 1: published tables are rounded to 3 digits
    row_exact: float = 1e-12  # within this, the numbers are kept as they are written


TUNING = Tuning()


def convert(
    source: str | Path,
    dialect: str | None = None,
    *,
    from_str: bool = False,
    ground: bool | None = None,
    python: bool = False,
    limits: Limits = NO_LIMITS,
    examples: str | Path | Sequence[str | Path] = (),
    evidence: str | Path | None = None,
) -> str:
    """Convert another system's file (or, with ``from_str``, text) to a dPASP program.

    Without a ``dialect``, the file's ending says it: .bif, .xdsl, .uai, .lpmln, .mln, .cnf.
    Comments are kept. A ProbLog program that cannot be translated rule by rule is ground by
    ProbLog, if that is installed; ``ground`` enforces or forbids this. Python files that the
    program loads run only with ``python``. Files of ProbLog's ``examples`` become observations to
    learn from. ``evidence`` is the evidence file of a UAI network (by default, the file next to it
    that ends in ``.evid``), or the ``.db`` file of a Markov logic network.

    Raises :class:`ProgramError` for anything without a counterpart, with its place,
    :class:`UsageError` for an unknown ``dialect``, and :class:`LimitReached` at a limit.

    >>> convert("0.3::a. query(a).", "problog", from_str=True).splitlines()[-1]
    '0.3::a. #query a.'
    """
    if dialect is None and from_str:
        help = 'write it as in dpasp.convert(text, "problog", from_str=True)'
        raise UsageError("a text does not say which system it is for", help=help)
    if dialect is None:
        dialect = dialect_of(path_given(source))
    if text_given(dialect, "a dialect") not in DIALECTS:
        help = f"it is one of {', '.join(DIALECTS)}"
        raise UsageError.at("usage", f"unknown dialect {dialect!r}", help=help)
    if from_str:
        text, file = text_given(source, "a program"), TEXT
    else:
        path = path_given(source)
        text, file = load_text(path), str(path)
    files = [examples] if isinstance(examples, str | Path) else list_given(examples, "examples")
    paths = [path_given(one) for one in files]
    return DIALECTS[dialect].converted(
        text,
        file,
        ground=ground,
        python=python,
        limits=limits,
        examples=[(load_text(path), str(path)) for path in paths],
        evidence=evidence,
    )
