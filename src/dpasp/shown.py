"""How results show themselves: what displays them is built on top of them, so they name it.

>>> display("html.page").__module__
'dpasp.display.html'
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def display(name: str) -> Callable[..., Any]:
    """A function of ``dpasp.display``, as ``"html.answers"``; its module is imported only now."""
    module, function = name.split(".")
    found: Callable[..., Any] = getattr(import_module(f"dpasp.display.{module}"), function)
    return found
