"""The examples in the docstrings run and give what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import dpasp

TORCH = ("dpasp.neural", "dpasp.learning", "dpasp.scale", "dpasp.program")
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


def public(owner: object) -> list[str]:
    return [name for name in vars(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", ["load", "loads", "parse", "convert", "formatted"])
def test_every_public_function_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(dpasp, name).__doc__ or "")


@pytest.mark.parametrize("name", public(dpasp.Program))
def test_every_method_of_a_program_has_an_example(name: str) -> None:
    assert ">>> " in (vars(dpasp.Program)[name].__doc__ or "")
