"""Results in a notebook: pieces of HTML that stand alone."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import dpasp
from dpasp.display.html import highlighted
from dpasp.inference.answers import Answer, Answers
from dpasp.learning.history import History, Record

VOID = {"br", "meta", "rect", "path"}


class Balance(HTMLParser):
    """Checks that elements are closed as they were opened; keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag not in ("script", "link", "iframe")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Nothing stays open."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: object) -> str:
    """The text of what a notebook shows, well formed."""
    found = Balance()
    found.feed(thing._repr_html_())  # type: ignore[attr-defined]
    assert found.open == []
    return found.text


PROGRAM = dpasp.loads('0.3::a. 0.4::b("<&>"). c :- a, not d. d :- a, not c.\n#query c.\n#query a.')


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (PROGRAM.query(), ["ℙ(c)", "[0.000000, 0.300000]", "stable, credal"]),
        (PROGRAM.query()[0], ["ℙ(c)"]),
        (PROGRAM.query('b("<&>")'), ['ℙ(b("<&>"))']),
        (PROGRAM.map("a?"), ["not a", "at"]),
        (PROGRAM.explain(), ["total choice", "prior"]),
        (PROGRAM.explain()[0], ["ℙ(c)", "why it holds", "what must be chosen for it"]),
        (PROGRAM.explain()[0].tree, ["c: by line 1, since a and not d", "c :- a, not d."]),
        (dpasp.loads("0.3::a. :- a.").why_inconsistent(), ["when a", "line 1: :- a."]),
        (dpasp.loads("0.3::a. :- a.").why_inconsistent()[0], ["when a", "line 1: :- a."]),
        (PROGRAM.ground(), ['0.4::b("<&>").', "#query c."]),
        (PROGRAM.circuit(), ["nodes", "choices"]),
        (PROGRAM.plan(), ["choices"]),
        (History((Record(1, -3.5), Record(2, -2.0)), examples=4), ["log-likelihood", "4 examples"]),
        (dpasp.UsageError("<no>", help="write it"), ["<no>", "help: write it"]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_every_result_shows_itself_and_can_be_printed(thing: object, words: list[str]) -> None:
    text = shown(thing)
    for word in words:
        assert word in text
    printed = str(thing)
    assert printed
    assert "object at 0x" not in printed


def test_an_error_has_its_caret(tmp_path: object) -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads("0.3::a. 1.5::b.")
    assert "1.5 is not a probability" in shown(caught.value)


def test_many_rows_are_not_all_shown() -> None:
    numbers = np.linspace(0, 1, 5000)
    one, two = Answer("sum(1)", value=numbers), Answer("sum(2)", value=1 - numbers)
    text = shown(Answers((one, two), "stable", "maxent", "compile"))
    assert "most probable sum" in text
    assert "4,990 more" in text
    assert len(text) < 2000
    assert len(str(one).splitlines()) == 12
    assert len(str(Answers((one, two), "stable", "maxent", "compile")).splitlines()) == 12


def test_highlighting_changes_no_text() -> None:
    source = '0.3::a(X) :- b(X), not c. %* block\n*% % line\n#query a("s < t").\n'
    found = Balance()
    found.feed(highlighted(source))
    assert found.text == source
