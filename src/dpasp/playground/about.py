"""What the page knows from the start: examples, directives, semantics, limits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dpasp.editors.completion import SEMANTICS
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.kind import kinds
from dpasp.language.text.lexer import CLINGO_DIRECTIVES
from dpasp.limits import Limits
from dpasp.version import __version__

EXAMPLES = Path(__file__).parent / "examples"
MOST_CHARACTERS = 100_000  # characters of a program


def playground_facts(limits: Limits, token: str | None = None) -> dict[str, Any]:
    """All of it as JSON values; the ``token`` only for pages that have shown it."""
    return {
        "version": __version__,
        "token": token,
        "longest": MOST_CHARACTERS,
        "seconds": limits.seconds,
        "megabytes": limits.megabytes,
        "logics": {logic.value: SEMANTICS[logic.value] for logic in Logic},
        "probabilities": {
            probability.value: SEMANTICS[probability.value] for probability in Probability
        },
        "directives": directive_entries(),
        "examples": example_programs(),
    }


@cache
def example_programs() -> list[dict[str, str]]:
    """The examples, titled by their first comments, in the order in which they are shown."""
    listed = []
    for path in sorted(EXAMPLES.glob("*.plp")):
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("% ").rstrip(".")
        listed.append({"name": path.stem.partition("_")[2], "title": title, "text": text})
    return listed


def directive_entries() -> list[dict[str, str]]:
    """The directives of the language: their words, how they are written, what they do."""
    ours = [
        {"word": word, "form": kind.form, "about": kind.about}
        for kind in kinds()
        for word in kind.words
    ]
    known = {directive["word"] for directive in ours}
    return ours + [
        {"word": word, "form": "", "about": "as in clingo"}
        for word in sorted(CLINGO_DIRECTIVES)
        if word not in known
    ]
