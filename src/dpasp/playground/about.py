"""The page's initial data: examples, directives, semantics, limits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from dpasp.editors.words import SEMANTICS
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.statement import kinds
from dpasp.language.text.lexer import CLINGO_DIRECTIVES
from dpasp.limits import Limits
from dpasp.version import __version__

EXAMPLES = Path(__file__).parent / "examples"
MOST_CHARACTERS = 100_000  # characters of a program
TASKS = {  # examples by topic; others are listed last
    "First steps": ("day", "alarm", "test", "colours", "weights"),
    "Many things at once": ("smokers", "network"),
    "Decisions": ("umbrella", "treatment"),
    "Learning and networks": ("digits", "learn"),
    "Loops and negation": ("insomnia", "prisoners", "barber", "game"),
}
DOCS = next(  # in an installed package or in a clone
    (
        folder
        for folder in (EXAMPLES.parent / "docs", EXAMPLES.parents[3] / "docs")
        if (folder / "language.md").exists()
    ),
    None,
)
DOC_PAGES = {  # pages of the documentation that are shown, by title
    "the language": "language",
    "the semantics": "semantics",
    "why?": "explain",
    "deciding": "deciding",
    "learning": "learning",
    "tables": "tables",
    "weights": "weights",
    "error codes": "errors",
    "the playground": "playground",
    "coming from ProbLog": "problog",
    "coming from elsewhere": "coming-from",
}
LINKS = {
    "the paper": "https://arxiv.org/abs/2308.02944",
    "the project": "https://kamel.ime.usp.br/dpasp",
    "clingo's guide": "https://potassco.org/doc",
}


def playground_facts(limits: Limits, token: str | None = None) -> dict[str, Any]:
    """All data as JSON values; the ``token`` only for pages that know it already."""
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
        "links": LINKS,
        "pages": DOC_PAGES if DOCS else {},
        "examples": example_programs(),
    }


@cache
def example_programs() -> list[dict[str, Any]]:
    """The examples, with their first comments as titles, in the order shown.

    Examples that learn come with their table, those about images with the pixels (rows of greys
    from 0 to 16) and the network that reads them.
    """
    listed = []
    for path in sorted(EXAMPLES.glob("*.plp")):
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("% ").rstrip(".")
        name = path.stem.partition("_")[2]
        task = next((task for task, names in TASKS.items() if name in names), "More")
        example = {"name": name, "title": title, "task": task, "text": text}
        table, pictures = path.with_suffix(".csv"), path.with_suffix(".json")
        if table.exists():
            example["table"] = table.read_text(encoding="utf-8")
        if pictures.exists():
            example |= json.loads(pictures.read_text(encoding="utf-8"))
        listed.append(example)
    return sorted(listed, key=lambda example: [*TASKS, "More"].index(example["task"]))


def directive_entries() -> list[dict[str, str]]:
    """The directives of the language: words, form and meaning."""
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
