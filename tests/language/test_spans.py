"""Every node knows exactly where it was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpasp.errors import ProgramError, Span
from dpasp.language import ast, extend, parse, parse_files
from dpasp.language.text import Sources
from dpasp.language.text.source import Place

TEXT = """\
% Zoë's program – with dashes
name("Zoë"). 0.3::a(X) ; 7/10::b :- name(X),
  not c("é").   ?(X)::d(X) :- name(X).
#query a("Ørsted"), not b | undef c(X), X > 3.
#semantics maxent, lstable. #const p = 0.25.
#python
def net(): ...
#end. i(0) ~ test(@net(0)), train("ü.csv").
?::f(X, {a,b}) as @net on "dir" with lr = 0.1, logits :- i(X).
#learn @net, niters = 5. #map a(X)? | b. #mpe. #evidence not b. #inference exact. [0.1,0.2]::e.
"""


@pytest.fixture
def program() -> ast.Program:
    return parse(TEXT, "p.plp")


def text_at(program: ast.Program, span: Span) -> str:
    found = program.sources.text_of(span)
    assert found is not None
    assert span.file == "p.plp"
    return found


def test_statements(program: ast.Program) -> None:
    assert [text_at(program, statement.span) for statement in program.statements] == [
        'name("Zoë").',
        '0.3::a(X) ; 7/10::b :- name(X),\n  not c("é").',
        "?(X)::d(X) :- name(X).",
        '#query a("Ørsted"), not b | undef c(X), X > 3.',
        "#semantics maxent, lstable.",
        "#const p = 0.25.",
        "#python\ndef net(): ...\n#end.",
        'i(0) ~ test(@net(0)), train("ü.csv").',
        '?::f(X, {a,b}) as @net on "dir" with lr = 0.1, logits :- i(X).',
        "#learn @net, niters = 5.",
        "#map a(X)? | b.",
        "#mpe.",
        "#evidence not b.",
        "#inference exact.",
        "[0.1,0.2]::e.",
    ]


def test_heads_and_weights(program: ast.Program) -> None:
    rule = program.statements[1]
    assert isinstance(rule, ast.Annotated)
    assert [text_at(program, head.span) for head in rule.heads] == ["0.3::a(X)", "7/10::b"]
    assert [text_at(program, head.weight.span) for head in rule.heads] == ["0.3", "7/10"]
    weight = rule.heads[1].weight
    assert isinstance(weight, ast.Fixed)
    assert isinstance(weight.probability, ast.Operation)
    assert text_at(program, weight.probability.right.span) == "10"
    learnable = program.statements[2]
    assert isinstance(learnable, ast.Annotated)
    assert text_at(program, learnable.heads[0].weight.span) == "?(X)"
    interval = program.statements[-1]
    assert isinstance(interval, ast.Annotated)
    assert text_at(program, interval.heads[0].weight.span) == "[0.1,0.2]"


def test_what_clingo_read(program: ast.Program) -> None:
    rule, query = program.statements[1], program.statements[3]
    assert isinstance(rule, ast.Annotated)
    assert isinstance(query, ast.Query)
    places = [program.sources.span_of(node.location) for node in rule.body]
    assert [text_at(program, place) for place in places] == ["name(X)", 'not c("é")']
    guard = program.sources.span_of(query.guards[0].location)
    assert text_at(program, guard) == "X > 3"


def test_literals_options_and_calls(program: ast.Program) -> None:
    query, data, neural = (program.statements[index] for index in (3, 7, 8))
    assert isinstance(query, ast.Query)
    spans = [literal.span for literal in (*query.literals, *query.evidence)]
    assert [text_at(program, span) for span in spans] == ['a("Ørsted")', "not b", "undef c(X)"]
    assert isinstance(data, ast.Data)
    assert data.test is not None
    assert data.train is not None
    assert text_at(program, data.test.span) == "@net(0)"
    assert text_at(program, data.train.span) == '"ü.csv"'
    assert isinstance(neural, ast.Neural)
    assert text_at(program, neural.network.span) == '@net on "dir"'
    assert [text_at(program, option.span) for option in neural.options] == ["lr = 0.1", "logits"]


def test_columns_count_characters() -> None:
    with pytest.raises(ProgramError) as caught:
        parse('a("αβγ😀"). 0.3::b("é"). c d.', "p.plp")
    (problem,) = caught.value.diagnostics
    assert problem.span == Span("p.plp", 1, 27, 1, 28)


def test_several_files() -> None:
    sources = Sources().add("a.plp", "x.\ny.").add("b.plp", "").add("c.plp", "\nz.\n")
    assert sources.span(Place(1, 1), Place(1, 2)) == Span("a.plp", 1, 1, 1, 2)
    assert sources.span(Place(2, 1), Place(2, 9)) == Span("a.plp", 2, 1, 2, 3)
    assert sources.span(Place(5, 1), Place(5, 2)) == Span("c.plp", 2, 1, 2, 2)
    assert list(sources) == ["a.plp", "b.plp", "c.plp"]


def test_errors_name_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.plp").write_text("x :- é.\n", encoding="utf-8")
    Path("b.plp").write_text("\n\nx :- y z.\n", encoding="utf-8")
    with pytest.raises(ProgramError) as caught:
        parse_files(["a.plp", "b.plp"])
    spans = [problem.span for problem in caught.value.diagnostics]
    assert spans == [Span("a.plp", 1, 6, 1, 7), Span("b.plp", 3, 8, 3, 9)]


def test_what_is_added_has_places_of_its_own() -> None:
    program = extend(parse("a.\nb.\n", "p.plp"), "#query a.", "--query")
    assert program.statements[-1].span == Span("--query", 1, 1, 1, 10)
    assert len(program.statements) == 3
    with pytest.raises(ProgramError) as caught:
        extend(program, "#query a b.", "--query")
    assert caught.value.diagnostics[0].span == Span("--query", 1, 10, 1, 11)


def test_lines_are_those_of_editors() -> None:
    with pytest.raises(ProgramError) as caught:
        parse("a.\r\nb.\r\n\r\nc d.\r\n", "p.plp")
    assert caught.value.diagnostics[0].span == Span("p.plp", 4, 3, 4, 4)
