"""Programs of other systems, as ours: text in, text out, nothing is run.

>>> print(convert("0.3::a. b :- \\\\+ a. query(b).", "problog", from_str=True))
% converted from ProbLog
#semantics wellfounded, maxent.
<BLANKLINE>
0.3::a. b :- not a. #query b.
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.language.arguments import path_given, text_given
from dpasp.language.text.files import load_text


@dataclass(frozen=True, slots=True)
class Dialect:
    """Another system's language: how it is called, what it is, and where it is read."""

    name: str
    summary: str
    module: str  # its `converted(text, file)` gives our text

    @property
    def converted(self) -> Callable[[str, str], str]:
        """The function that converts a text; imported when it is needed."""
        function: Callable[[str, str], str] = import_module(self.module).converted
        return function


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("problog", "ProbLog", "dpasp.converters.problog"),
        Dialect("pasta", "PASTA", "dpasp.converters.pasta"),
        Dialect("neurasp", "NeurASP", "dpasp.converters.neurasp"),
        Dialect("deepproblog", "DeepProbLog", "dpasp.converters.problog.deepproblog"),
        Dialect("plingo", "plingo's ProbLog form", "dpasp.converters.plingo"),
        Dialect("bif", "a Bayesian network in BIF or XMLBIF", "dpasp.converters.bif"),
        Dialect("uai", "a Bayesian or Markov network (UAI)", "dpasp.converters.uai"),
    )
}
TEXT = "<text>"  # the name of a text that is not in a file


def convert(source: str | Path, dialect: str, *, from_str: bool = False) -> str:
    """Return the dPASP program that another system's file (or, with ``from_str``, text) says.

    Its comments are kept. Raises :class:`ProgramError`, which names the place, for what has no
    counterpart, and :class:`UsageError` for a ``dialect`` that is not known.

    >>> convert("0.3::a. query(a).", "problog", from_str=True).splitlines()[-1]
    '0.3::a. #query a.'
    """
    system = find_dialect(dialect)
    if from_str:
        return system.converted(text_given(source, "a program"), TEXT)
    path = path_given(source)
    return system.converted(load_text(path), str(path))


def find_dialect(name: str) -> Dialect:
    """The dialect of a name; raises with the names there are."""
    if name not in DIALECTS:
        known = ", ".join(DIALECTS)
        message = f"there is no dialect {name!r}"
        raise UsageError(Diagnostic("usage", message, help=f"it is one of {known}"))
    return DIALECTS[name]


def title(system: str, file: str) -> str:
    """The line that says where a program comes from."""
    return f"% converted from {system}" + ("" if file == TEXT else f": {Path(file).name}") + "\n"
