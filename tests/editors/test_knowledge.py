"""What editors know about a program: names, words, shapes, and fixes that fix."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dpasp.editors.analysis import Analysis, analyse, fixes, occurrences
from dpasp.editors.navigation import (
    definition_spans,
    folds,
    outline,
    references,
    rename,
    renamed_span,
    word_kinds,
)
from dpasp.editors.words import SEMANTICS, complete, directive_words, hover
from dpasp.errors import UsageError
from dpasp.language import parse
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements import engines
from dpasp.language.statements.statement import kinds
from dpasp.limits import Limits
from tests.clocks import PATIENCE
from tests.language.seeds import seeds

SMOKERS = """\
% who smokes
person(anna). person(bill).
0.3::stress(X) :- person(X).
smokes(X) :- stress(X).
smokes(X) :- friend(X,Y), smokes(Y).
friend(anna,bill).
#semantics maxent.
#query smokes(anna).
"""


def at(found: Analysis, text: str, occurrence: int = 1) -> int:
    """The offset right inside the n-th place where a text stands."""
    offset = -1
    for _ in range(occurrence):
        offset = found.text.index(text, offset + 1)
    return offset + 1


def smokers() -> Analysis:
    return analyse(SMOKERS, "smokers.plp")


# --- names --------------------------------------------------------------------------------------


def test_definitions() -> None:
    found = smokers()
    assert [s.line for s in definition_spans(found, at(found, "smokes(Y)"))] == [4, 5]
    assert [s.line for s in definition_spans(found, at(found, "person(X)"))] == [2, 2]
    assert definition_spans(found, at(found, "semantics")) == []


def test_definitions_in_python() -> None:
    text = "#python\nimport torch\n\ndef net():\n    return 1\n#end.\ni(0) ~ test(@net)."
    found = analyse(text, "p.plp")
    assert [s.line for s in definition_spans(found, at(found, "@net"))] == [4]
    assert [s.column for s in references(found, at(found, "@net"))] == [13]


def test_references() -> None:
    found = smokers()
    lines = [span.line for span in references(found, at(found, "smokes("))]
    assert lines == [4, 5, 5, 8]
    assert [s.line for s in references(found, at(found, "smokes("), declaration=False)] == [5, 8]
    variables = references(found, at(found, "X,Y") - 1)
    assert [(s.line, s.column) for s in variables] == [(5, 8), (5, 21)]


def test_names_and_words_stand_where_they_are_said_to() -> None:
    tried = 0
    for text in seeds()[::2]:
        found = analyse(text, "p.plp")
        assert all(a.end <= b.start for a, b in pairwise(word_kinds(found)))
        for place in found.occurrences:
            if place.span.file == "p.plp":
                start, end = found.slice(place.span)
                assert text[start:end] == place.predicate.name
                tried += 1
    assert tried > 500


def test_heads_are_not_conditions() -> None:
    program = parse("{a(X) : b(X)} :- c. d : e. #show f/2. -g(1;2,3). #external h : i.")
    roles = {str(place.predicate): place.role for place in occurrences(program)}
    assert roles == {
        "a/1": "head", "b/1": "body", "c/0": "body", "d/0": "head", "e/0": "body",
        "f/2": "mention", "g/1": "head", "g/2": "head", "h/0": "head", "i/0": "body",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "name", "changed"),
    [("stress", "worry", 2), ("smokes(", "smoker", 4), ("X) :- person", "Who", 2)],
)
def test_rename(place: str, name: str, changed: int) -> None:
    found = smokers()
    spans = rename(found, at(found, place), name)
    assert len(spans) == changed
    text = found.text
    for start, end in sorted((found.slice(span) for span in spans), reverse=True):
        text = text[:start] + name + text[end:]
    parse(text)
    old = {place.predicate.name for place in found.occurrences}
    new = {place.predicate.name for place in occurrences(parse(text))}
    assert len(new) == len(old)
    assert (name in new) == name.islower()


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("stress", "Stress", "begins in lower case"),
        ("stress", "not", "cannot be used"),
        ("stress", "smokes", "already exists"),
        ("X) :- person", "x", "begins in upper case"),
        ("friend(X,Y)", "a b", "cannot be used"),
        ("#semantics", "x", "only predicates and variables"),
    ],
)
def test_names_that_would_change_the_meaning(place: str, name: str, said: str) -> None:
    found = smokers()
    with pytest.raises(UsageError, match=said):
        rename(found, at(found, place), name)


def test_nothing_is_renamed_while_a_statement_cannot_be_read() -> None:
    found = analyse("a. b :- a, .", "p.plp")
    assert renamed_span(found, 0) is not None
    with pytest.raises(UsageError, match="cannot be read"):
        rename(found, 0, "c")


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "rules.lp").write_text("wet :- rain.\n")
    main = tmp_path / "main.plp"
    found = analyse('#include "rules.lp".\n0.3::rain.\n#query wet.\n', str(main))
    (place,) = definition_spans(found, at(found, "wet"))
    assert (Path(place.file).name, place.line) == ("rules.lp", 1)
    assert len(rename(found, at(found, "rain"), "shower")) == 2


# --- words --------------------------------------------------------------------------------------


def test_every_word_is_explained() -> None:
    assert {word for kind in kinds() for word in kind.words} <= directive_words().keys()
    assert set(SEMANTICS) == {logic.value for logic in Logic} | {p.value for p in Probability}
    assert all(engines.engine_summaries()[name] for name in engines.engine_names())


def test_hover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.editors.words.PATIENCE", Limits(seconds=PATIENCE))
    found = smokers()
    assert hover(found, at(found, "smokes(anna)")) == (
        "**smokes/1** · rule\n\ndefined in lines 4 and 5\n\n"
        "asked in line 8: ℙ(smokes(anna)) = 0.510000"
    )
    assert str(hover(found, at(found, "smokes(Y)"))).endswith("ℙ(smokes(anna)) = 0.510000")
    assert "probabilistic rule" in str(hover(found, at(found, "stress(X).")))
    assert "which models count" in str(hover(found, at(found, "#semantics")))
    assert hover(found, 0) is None
    assert "share probability equally" in str(hover(found, at(found, "maxent")))


def test_hover_over_a_question_that_never_ends() -> None:
    text = "p(0). p(X+1) :- p(X).\n#query p(3).\n"
    found = analyse(text, "p.plp")
    assert "[0.000000, 1.000000]" in str(hover(found, at(found, "p(3)")))  # all that is sure


def test_hover_over_options() -> None:
    found = analyse("#learn @f, lr = 0.1.\n#inference sample, n = 10.", "p.plp")
    assert "a number above 0" in str(hover(found, at(found, "lr")))
    assert "a whole number" in str(hover(found, at(found, "n = 10")))


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("#", {"#query", "#semantics", "#python"}),
        ("a :- #", {"#count", "#sum"}),
        ("#semantics ", {"maxent", "lstable"}),
        ("#inference ", {"sample", "bounds"}),
        ("#inference sample, ", {"n", "seed"}),
        ("#learn @f, ", {"lr", "niters"}),
        ('#learn @f, alg = "', {"lagrange", "em"}),
        ("?::f(X) as @net with ", {"optim", "lr"}),
        ("foo(1,2). a(X) :- f", {"foo", "X", "not"}),
        ("#python\ndef net(): ...\n#end.\n?::f(X) as @", {"net"}),
    ],
)
def test_completion(text: str, some: set[str]) -> None:
    offers = complete(analyse(text, "p.plp"), len(text))
    assert some <= {offer.label for offer in offers}


def test_completion_of_a_predicate_is_a_snippet() -> None:
    text = "foo(1,2). a :- "
    (offer,) = [o for o in complete(analyse(text, "p.plp"), len(text)) if o.label == "foo"]
    assert offer.snippet == "foo(${1:X}, ${2:Y})"


# --- shape --------------------------------------------------------------------------------------


def test_outline() -> None:
    assert [entry.name for entry in outline(smokers())] == [
        "person(anna)",
        "person(bill)",
        "0.3::stress(X)",
        "smokes(X)",
        "smokes(X)",
        "friend(anna,bill)",
        "#semantics maxent",
        "#query smokes(anna)",
    ]


def test_folds() -> None:
    text = "% one\n% two\na.\n#python\nx = 1\n#end.\n%* three\n*%\nb. % four\n% five\n"
    assert folds(analyse(text, "p.plp")) == [
        (0, 1, "comment"),
        (3, 5, "region"),
        (6, 7, "comment"),
    ]


# --- fixes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("#quary a.\na.\n", "#query a.\na.\n"),
        ("a :- b\nb.\n", "a :- b.\nb.\n"),
        ("#semantics lstabel.\n", "#semantics lstable.\n"),
        ("#semantics maxent.\n#semantics credal.\n", "#semantics maxent.\n"),
        ("#inference exakt.\n", "#inference exact.\n"),
        (
            '#python\nf = 1\n#end.\n#learn @f, nitters = 3.\n',
            '#python\nf = 1\n#end.\n#learn @f, niters = 3.\n',
        ),
        (
            '#python\nf = 1\n#end.\n#learn @f, alg = "lagrang".\n',
            '#python\nf = 1\n#end.\n#learn @f, alg = "lagrange".\n',
        ),
        ("#python\nf = 1\n#end.\n#learn @ff.\n", "#python\nf = 1\n#end.\n#learn @f.\n"),
        ("a :- b(1.\nb(1).\n", "a :- b(1).\nb(1).\n"),
        ("a(1) :- X == , b.\n", None),
        ("a <- b.\nb.\n", None),
    ],
)  # fmt: skip
def test_fixes(text: str, fixed: str | None) -> None:
    found = analyse(text, "p.plp").problems
    assert found
    made = [fix.applied(text) for problem in found for fix in fixes(text, "p.plp", problem)]
    if fixed is None:
        assert made == []
    else:
        assert fixed in made


def test_fixes_always_help() -> None:
    """Whatever is offered for a broken program leaves fewer mistakes."""
    folder = Path(__file__).parent.parent / "cases" / "errors"
    offered = 0
    for path in sorted(folder.glob("*.plp")):
        text = path.read_text(encoding="utf-8")
        before = analyse(text, str(path)).problems
        for problem in before:
            for fix in fixes(text, str(path), problem):
                assert len(analyse(fix.applied(text), str(path)).problems) < len(before)
                offered += 1
    assert offered >= 3
