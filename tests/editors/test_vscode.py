"""The extension for VS Code: its files say what the language is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpasp.language import parse
from dpasp.language.statements.statement import starting_words

FOLDER = Path(__file__).parent.parent.parent / "editors" / "vscode"


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def expressions(node: Any) -> Iterator[str]:
    """The regular expressions of a grammar."""
    if isinstance(node, dict):
        yield from (node[key] for key in ("match", "begin", "end") if key in node)
        for child in node.values():
            yield from expressions(child)
    elif isinstance(node, list):
        for child in node:
            yield from expressions(child)


def test_what_the_manifest_names_is_there() -> None:
    manifest = read("package.json")
    contributes = manifest["contributes"]
    named = [manifest["main"], contributes["languages"][0]["configuration"]]
    named += [entry["path"] for kind in ("grammars", "snippets") for entry in contributes[kind]]
    assert all((FOLDER / name).is_file() for name in named)
    registered = re.findall(
        r'registerCommand\("([^"]+)"', (FOLDER / "extension.js").read_text(encoding="utf-8")
    )
    assert sorted(registered) == sorted(c["command"] for c in contributes["commands"])
    assert read("package-lock.json")["packages"][""]["dependencies"] == manifest["dependencies"]


def test_the_grammar_knows_the_words() -> None:
    grammar = read("syntaxes/dpasp.tmLanguage.json")
    found = [re.compile(expression) for expression in expressions(grammar)]
    assert len(found) > 20
    for word in sorted(starting_words().begin):
        assert any(expression.match(word) for expression in found), word
    included = set(re.findall(r'"include": "#([a-z-]+)"', json.dumps(grammar)))
    assert included == set(grammar["repository"])


def test_snippets_are_programs() -> None:
    for name, snippet in read("snippets/dpasp.json").items():
        body = snippet["body"]
        text = body if isinstance(body, str) else "\n".join(body)
        text = re.sub(r"\$\{\d+\|([^,|]+)[^}]*\|\}", r"\1", text)
        text = re.sub(r"\$\{\d+:([^{}]*)\}", r"\1", text).replace("$0", "")
        assert parse(text).statements, name
