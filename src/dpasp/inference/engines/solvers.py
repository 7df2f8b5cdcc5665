"""The functions that answer, by the names of engines.

>>> solver("enumerate").__name__
'enumerated'
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from dpasp.inference.asked import Asked
from dpasp.inference.engines.result import EngineResult
from dpasp.language.statements.engines import ENGINES

Solve = Callable[[Asked], EngineResult]


def solver(engine: str) -> Solve:
    """The function of an engine in the table, imported if it must be."""
    solve = ENGINES[engine].solve
    if not isinstance(solve, str):
        return solve
    module, _, name = solve.partition(":")
    return cast(Solve, getattr(import_module(module), name))
