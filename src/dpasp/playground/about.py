"""What the page knows from the start: examples, directives, semantics, limits."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.kind import kinds
from dpasp.language.text.lexer import CLINGO_DIRECTIVES
from dpasp.limits import Limits
from dpasp.version import __version__

EXAMPLES = Path(__file__).parent / "examples"

LOGICS = {
    Logic.STABLE: "two-valued models that support themselves",
    Logic.PARTIAL: "models in which atoms may be undefined",
    Logic.LSTABLE: "partial models with as little undefined as possible",
    Logic.SMPROBLOG: "stable models, or everything undefined where there are none",
    Logic.WELLFOUNDED: "the one most cautious model",
}
PROBABILITIES = {
    Probability.CREDAL: "from the least to the greatest probability",
    Probability.MAXENT: "all models of a total choice equally probable",
}


def about(limits: Limits) -> dict[str, Any]:
    """Everything, as JSON values."""
    return {
        "version": __version__,
        "seconds": limits.seconds,
        "megabytes": limits.megabytes,
        "logics": {logic.value: text for logic, text in LOGICS.items()},
        "probabilities": {one.value: text for one, text in PROBABILITIES.items()},
        "directives": directives(),
        "examples": examples(),
    }


@cache
def examples() -> list[dict[str, str]]:
    """The programs that come along, by their first comment; the first is shown first."""
    found = []
    for path in sorted(EXAMPLES.glob("*.plp")):
        text = path.read_text(encoding="utf-8")
        title = text.splitlines()[0].lstrip("% ").rstrip(".")
        found.append({"name": path.stem.partition("_")[2], "title": title, "text": text})
    return found


def directives() -> list[dict[str, str]]:
    """The directives of the language: their words, how they are written, what they do."""
    own = [
        {"word": word, "form": kind.form, "about": kind.about}
        for kind in kinds()
        for word in kind.words
    ]
    known = {one["word"] for one in own}
    return own + [
        {"word": word, "form": "", "about": "as in clingo"}
        for word in sorted(CLINGO_DIRECTIVES)
        if word not in known
    ]
