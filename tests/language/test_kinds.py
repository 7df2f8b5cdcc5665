"""The table of statements: a directive that is added from outside is read, printed and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import check, parse
from dpasp.language.ast import statement_text, to_text
from dpasp.language.statements.statement import (
    NOWHERE,
    Setting,
    Statement,
    kinds,
    register_kind,
    starting_words,
    unregister,
)
from dpasp.language.text import Reading

GUIDE = Path(__file__).parents[2] / "docs" / "language.md"


@dataclass(frozen=True, slots=True)
class Title(Statement):
    """``#title "…".``"""

    text: str
    span: Span = field(default=NOWHERE, compare=False)

    words = ("#title",)
    once = True

    @staticmethod
    def read(cursor: Reading) -> Title:
        cursor.next()
        text = cursor.next()
        if text.kind != "string":
            cursor.fail("directive-syntax", "a title is text", text, 'write #title "…".')
        cursor.expect_end("a title is one string")
        return Title(text.text[1:-1], cursor.span)

    @staticmethod
    def check(titles: Sequence[Title], setting: Setting) -> Iterator[Diagnostic]:
        for title in titles:
            if not title.text:
                yield Diagnostic("title-empty", "this title is empty", title.span)

    def __str__(self) -> str:
        return f'#title "{self.text}".'


@pytest.fixture(autouse=True)
def _with_titles() -> Iterator[None]:
    register_kind(Title)
    yield
    unregister(Title)


def codes(text: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        check(parse(text))
    return [problem.code for problem in caught.value.diagnostics]


def test_it_is_read_and_printed() -> None:
    text = '0.3::a.\n#title "Rain".\n#query a.\n'
    program = parse(text)
    assert program.statements[1] == Title("Rain")
    assert to_text(program) == text


def test_it_begins_a_statement_like_any_other() -> None:
    assert codes('a :- b\n#title "Rain".') == ["missing-dot"]
    assert codes("#title Rain.") == ["directive-syntax"]
    assert codes('#titel "Rain".') == ["unknown-directive"]


def test_it_is_checked() -> None:
    check(parse('#title "Rain".'))
    assert codes('#title "".') == ["title-empty"]
    assert codes('#title "a". #title "b".') == ["title-twice"]


def test_words_belong_to_one_kind() -> None:
    with pytest.raises(ValueError, match="already in the table"):
        register_kind(Title)


def test_it_is_gone_when_it_is_taken_out() -> None:
    unregister(Title)
    assert "#title" not in starting_words().begin
    assert codes('#title "Rain".') == ["unknown-directive"]
    register_kind(Title)


def test_every_example_in_the_table_reads_as_its_kind() -> None:
    for kind in kinds():
        if kind.form and "…" not in kind.form and "#include" not in kind.words:
            (statement,) = parse(kind.form).statements
            assert isinstance(statement, kind)
            assert statement_text(statement)


def test_the_guide_has_the_table() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    known = [kind for kind in kinds() if kind is not Title]
    rows = [f"| `{kind.form.replace('|', chr(92) + '|')}` | {kind.about} |" for kind in known]
    assert [row for row in rows if row not in text] == []
    assert [w for kind in known for w in kind.words if w not in text] == []
