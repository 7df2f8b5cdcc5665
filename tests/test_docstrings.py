"""The examples in the docstrings run and give what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import dpasp

TORCH = ("dpasp.circuits.gpu", "dpasp.learning", "dpasp.cluster", "dpasp.program")
SKIPPED = ("dpasp.native._native", "dpasp.__main__")
# Modules that import a large package of an extra, which `make test` does not install.
EXTRAS = {
    "dpasp.circuits.functions.on_jax": "jax",
    "dpasp.integrations.transformers": "transformers",
    "dpasp.playground.mcp_server": "mcp",
}


def modules() -> list[object]:
    found = (module.name for module in pkgutil.walk_packages(dpasp.__path__, "dpasp."))
    marks = dict.fromkeys(EXTRAS, pytest.mark.slow)
    return [
        pytest.param(name, marks=marks.get(name, ()))
        for name in ("dpasp", *found)
        if name not in SKIPPED
    ]


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    if name.startswith(TORCH):
        pytest.importorskip("torch")
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{EXTRAS[name]} is not installed")
    result = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_function_has_an_example() -> None:
    functions = [
        getattr(dpasp, name) for name in ("load", "loads", "parse", "convert", "formatted")
    ]
    methods = [value for name, value in vars(dpasp.Program).items() if not name.startswith("_")]
    without = [one for one in (*functions, *methods) if ">>> " not in (one.__doc__ or "")]
    assert without == []
