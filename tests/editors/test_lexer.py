"""The Pygments lexer: every character once, nothing unknown."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

from pygments.token import Error, Keyword, Name, Token

from dpasp.editors.lexer import DpaspLexer
from dpasp.errors import ProgramError
from dpasp.language import parse
from tests.language.seeds import seeds

ROOT = Path(__file__).parent.parent.parent


def readable(text: str) -> bool:
    try:
        parse(text)
    except ProgramError:
        return False
    return True


def test_all_of_our_programs() -> None:
    lexer = DpaspLexer(stripnl=False, ensurenl=False)
    for text in filter(readable, seeds()):
        found = list(lexer.get_tokens(text))
        assert "".join(part for _, part in found) == text
        assert [part for kind, part in found if kind is Error] == []


def test_python_is_python() -> None:
    found = list(DpaspLexer().get_tokens("#python\ndef net(): pass\n#end.\na :- not b."))
    assert (Keyword, "def") in found
    assert (Name.Function, "net") in found
    assert any(kind in Token.Operator and text == "not" for kind, text in found)


def test_pygments_finds_it_by_its_name() -> None:
    """The entry point that is installed leads to the lexer."""
    with open(ROOT / "pyproject.toml", "rb") as stream:
        points = tomllib.load(stream)["project"]["entry-points"]["pygments.lexers"]
    module, _, name = points["dpasp"].partition(":")
    assert getattr(import_module(module), name) is DpaspLexer
