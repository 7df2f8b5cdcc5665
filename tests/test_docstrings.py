"""The examples in the docstrings run and give what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import dpasp

TORCH = ("dpasp.circuits.gpu", "dpasp.learning", "dpasp.cluster", "dpasp.program")
SKIPPED = ("dpasp.native._native", "dpasp.__main__")


def modules() -> list[str]:
    found = pkgutil.walk_packages(dpasp.__path__, "dpasp.")
    return ["dpasp", *(module.name for module in found if module.name not in SKIPPED)]


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    if name.startswith(TORCH):
        pytest.importorskip("torch")
    result = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_function_has_an_example() -> None:
    functions = [
        getattr(dpasp, name) for name in ("load", "loads", "parse", "convert", "formatted")
    ]
    methods = [value for name, value in vars(dpasp.Program).items() if not name.startswith("_")]
    without = [one for one in (*functions, *methods) if ">>> " not in (one.__doc__ or "")]
    assert without == []
