"""Every error code that the source can give is explained in docs/errors.md, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dpasp"
CODE = re.compile(r"[a-z]+(-[a-z]+)*")

# Where a code is put together, or stands in a table as a single word.
MADE = {"learn-twice", "inference-twice"}

# Words with a hyphen that are not codes.
OTHER_WORDS = {"coming-from", "dpasp-work", "log-likelihood", "websockets-sansio"}


def codes_in(path: Path) -> Iterator[str]:
    """Single words where a code is expected, and every constant that looks like a code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(ast.Name("Diagnostic"), [ast.Constant(str(code)), *_]):
                yield code
            case ast.Call(ast.Name("_error"), [ast.Constant(str(code)), *_]):
                yield code
            case ast.Call(ast.Attribute(_, "fail"), [ast.Constant(str(code)), *_]):
                yield code
            case ast.Call(ast.Name("_mistake"), [_, ast.Constant(str(code)), *_]):
                yield code
            case ast.Assign([ast.Name("default_code")], ast.Constant(str(code))):
                yield code
            case ast.AnnAssign(ast.Name("default_code"), _, ast.Constant(str(code))):
                yield code
            case ast.Constant(str(word)) if "-" in word and CODE.fullmatch(word):
                yield word


def used_codes() -> set[str]:
    found = {code for path in SOURCE.rglob("*.py") for code in codes_in(path)}
    return (found | MADE) - OTHER_WORDS


def words_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def explained_codes() -> list[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([a-z-]+)` \|", text, re.M)


def test_every_code_is_explained() -> None:
    assert sorted(used_codes() - set(explained_codes())) == []


def test_every_explained_code_is_used() -> None:
    words = {word for path in SOURCE.rglob("*.py") for word in words_in(path)}
    assert sorted(set(explained_codes()) - words - MADE) == []


def test_codes_are_explained_once() -> None:
    assert len(explained_codes()) == len(set(explained_codes()))
