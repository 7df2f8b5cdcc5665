"""dPASP: probabilistic answer set programming, exact inference and learning.

>>> import dpasp
>>> program = dpasp.loads("0.3::a. b :- a. #query b.")
>>> print(program.query())
ℙ(b) = 0.300000
"""

from __future__ import annotations

TYPE_CHECKING = False  # nothing is imported here, so that the command line handles Ctrl-C sooner
if TYPE_CHECKING:
    from dpasp.converters import convert
    from dpasp.errors import (
        DataError,
        Diagnostic,
        Error,
        ImpossibleEvidence,
        InconsistentProgram,
        InferenceError,
        Interrupted,
        LimitReached,
        MemoryLimit,
        OutputError,
        ProgramError,
        ProgramWarning,
        SizeLimit,
        Span,
        TimeLimit,
        UsageError,
    )
    from dpasp.inference.answers import Answer, Answers, Decision, Expectation, MapAnswer
    from dpasp.language.formatting import formatted
    from dpasp.limits import Limits
    from dpasp.program import Program, load, loads, parse
    from dpasp.version import __version__

__all__ = [
    "load",
    "loads",
    "parse",
    "convert",
    "formatted",
    "Program",
    "Answer",
    "Answers",
    "Decision",
    "Expectation",
    "MapAnswer",
    "Limits",
    "Error",
    "ProgramError",
    "DataError",
    "InferenceError",
    "InconsistentProgram",
    "ImpossibleEvidence",
    "UsageError",
    "OutputError",
    "LimitReached",
    "TimeLimit",
    "MemoryLimit",
    "SizeLimit",
    "Interrupted",
    "ProgramWarning",
    "Diagnostic",
    "Span",
    "__version__",
]

_PLACES = {
    **dict.fromkeys(("load", "loads", "parse", "Program"), "dpasp.program"),
    **dict.fromkeys(
        ("Answer", "Answers", "Decision", "Expectation", "MapAnswer"), "dpasp.inference.answers"
    ),
    "convert": "dpasp.converters",
    "formatted": "dpasp.language.formatting",
    "Limits": "dpasp.limits",
    "__version__": "dpasp.version",
    "load_ipython_extension": "dpasp.integrations.notebook",  # %load_ext dpasp
}


def __getattr__(name: str) -> object:
    """Each name is imported when it is first used."""
    if name not in _PLACES and name not in __all__:
        raise AttributeError(f"module 'dpasp' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_PLACES.get(name, "dpasp.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
