"""Programs of other systems converted to dPASP: text in, text out.

Each module with a function ``converted(text, file)`` reads one system. ``clingo_syntax`` is
shared by systems that extend clingo, ``network`` by graphical models, ``prolog`` and ``rules``
by ProbLog and DeepProbLog; ``output`` lays out and checks the result of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.language.arguments import path_given, text_given
from dpasp.language.text.source import load_text
from dpasp.limits import Limits

NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Another system's language, and the module that converts it."""

    name: str
    summary: str
    module: str  # has `converted(text, file)`
    grounds: bool = False  # `converted` also takes `ground`, `python`, `limits` and `examples`
    observes: bool = False  # `converted` also takes `evidence`, the name of a file

    def converted(
        self,
        text: str,
        file: str,
        *,
        ground: bool | None = None,
        python: bool = False,
        limits: Limits = NO_LIMITS,
        examples: Sequence[tuple[str, str]] = (),
        evidence: str | Path | None = None,
    ) -> str:
        """The program that a text is in our language; raises what it cannot have.

        ``examples`` are the texts and names of files to learn from.
        """
        function: Callable[..., str] = import_module(self.module).converted
        if evidence is not None and not self.observes:
            raise UsageError(
                f"a file of evidence is for UAI networks and Markov logic, not {self.summary}"
            )
        if self.grounds:
            how = {"ground": ground, "python": python, "limits": limits, "examples": examples}
            return function(text, file, **how)
        if ground is not None or python or examples:
            option = "examples" if examples else "python" if ground is None else "ground"
            raise UsageError(f"{option} is for ProbLog's programs, not for {self.summary}")
        if self.observes:
            return function(text, file, evidence=evidence)
        return function(text, file)


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("problog", "ProbLog", "dpasp.converters.problog", grounds=True),
        Dialect("pasta", "PASTA", "dpasp.converters.pasta"),
        Dialect("neurasp", "NeurASP", "dpasp.converters.neurasp"),
        Dialect("deepproblog", "DeepProbLog", "dpasp.converters.problog.deepproblog"),
        Dialect("plingo", "plingo's ProbLog form", "dpasp.converters.plingo"),
        Dialect("bif", "a Bayesian network in BIF or XMLBIF", "dpasp.converters.bif"),
        Dialect("uai", "a Bayesian or Markov network (UAI)", "dpasp.converters.uai", observes=True),
        Dialect("lpmln", "LP^MLN", "dpasp.converters.lpmln"),
        Dialect("mln", "Markov logic (Alchemy)", "dpasp.converters.mln", observes=True),
        Dialect("wcnf", "weighted model counting (CNF)", "dpasp.converters.wcnf"),
    )
}
TEXT = "<text>"  # the file name of a program given as a string


@dataclass(frozen=True, slots=True)
class Tuning:
    """Limits of the converters."""

    term_depth: int = 150  # nested Prolog terms; keeps the parser within Python's own stack
    body_ways: int = 1_000  # ways to satisfy a Prolog body; each becomes a rule
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
    dialect: str,
    *,
    from_str: bool = False,
    ground: bool | None = None,
    python: bool = False,
    limits: Limits = NO_LIMITS,
    examples: str | Path | Sequence[str | Path] = (),
    evidence: str | Path | None = None,
) -> str:
    """Convert another system's file (or, with ``from_str``, text) to a dPASP program.

    Comments are kept. A ProbLog program that cannot be translated rule by rule is ground by
    ProbLog, if that is installed; ``ground`` says that it must be, or must not be. Python files
    that the program loads run only with ``python``. Files of ProbLog's ``examples`` become the
    observations that the program learns from. ``evidence`` is a file with the evidence of a UAI
    network (without it, the file beside the network's with ``.evid`` at its end is read), or
    the ``.db`` file of a Markov logic network.

    Raises :class:`ProgramError` for anything without a counterpart, with its place,
    :class:`UsageError` for an unknown ``dialect``, and :class:`LimitReached` at a limit.

    >>> convert("0.3::a. query(a).", "problog", from_str=True).splitlines()[-1]
    '0.3::a. #query a.'
    """
    system = find_dialect(dialect)
    if from_str:
        text, file = text_given(source, "a program"), TEXT
    else:
        path = path_given(source)
        text, file = load_text(path), str(path)
    files = [examples] if isinstance(examples, str | Path) else list(examples)
    paths = [path_given(one) for one in files]
    return system.converted(
        text,
        file,
        ground=ground,
        python=python,
        limits=limits,
        examples=[(load_text(path), str(path)) for path in paths],
        evidence=evidence,
    )


def find_dialect(name: str) -> Dialect:
    """Look up a dialect by name; the error for an unknown one lists all names."""
    if name not in DIALECTS:
        known = ", ".join(DIALECTS)
        message = f"unknown dialect {name!r}"
        raise UsageError(Diagnostic("usage", message, help=f"it is one of {known}"))
    return DIALECTS[name]


def title(system: str, file: str) -> str:
    """Comment line that names the origin of a converted program."""
    return f"% converted from {system}" + ("" if file == TEXT else f": {Path(file).name}") + "\n"
