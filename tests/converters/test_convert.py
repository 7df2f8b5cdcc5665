"""The command and the function: comments, places, files."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpasp
from tests.cli.conftest import Command
from tests.cli.conftest import dpasp as command  # noqa: F401

COMMENTED = """\
#! a script
%*** Coins ***
/* two coins,
   both fair */
0.5::a.   % the first
0.5::b.   % the second

% both of them:
c :- a,   % this one
     b.   % and this one
query(c).
% the end
"""


def test_comments_are_kept_where_they_were() -> None:
    assert dpasp.convert(COMMENTED, "problog", from_str=True) == (
        """\
% converted from ProbLog
#semantics wellfounded, maxent.

% #! a script
% *** Coins ***
% two coins,
%   both fair
0.5::a.  % the first
0.5::b.  % the second

% both of them:
% this one
c :- a, b.  % and this one
#query c.
% the end
"""
    )


def test_from_a_file_and_from_a_text(tmp_path: Path) -> None:
    path = tmp_path / "coins.pl"
    path.write_text("0.5::a. query(a).")
    by_file = dpasp.convert(path, "problog")
    by_text = dpasp.convert(path.read_text(), "problog", from_str=True)
    assert by_file == by_text.replace("ProbLog", "ProbLog: coins.pl")


def test_an_unknown_system() -> None:
    with pytest.raises(dpasp.UsageError, match="unknown dialect 'prolog'"):
        dpasp.convert("a.", "prolog", from_str=True)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a.\nb :- c", 2, 6, "never ended"),
        ("a.\nb(X :- c.", 2, 5, r"'\)' is missing"),
        ("a :- [b|C].", 1, 6, "not a goal"),
        ("a :- .", 1, 6, "ends too early"),
        ("a b.", 1, 3, "cannot be read"),
        ("a :- X.", 1, 6, "variable in place of a goal"),
        ("a(X) :- \\+ b(X). b(1). query(a(_)).", 1, 12, "whether X has a value"),
        ("b. a :- b, \n assert(c).", 2, 2, "assert/1 has no counterpart"),
        ("0.7::a; 0.8::b.", 1, 1, "sum to 1.5"),
        ("a(1).\n\na(X) :- X => 1.", 3, 9, "no comparison =>"),
        ("x ~ normal(0,1).", 1, 1, "continuous"),
        (":- consult('b.pl').", 1, 4, "another file"),
        ("a('x y', \"x y\").", 1, 3, "would be the same"),
        ("0.5::heads(N).", 1, 12, "nothing gives values to N"),
        ("a(X) :- b(X), X == Y. b(1).", 1, 15, "== with a variable that has no value"),
        ("b(1).\nn(N) :- findall(X, b(X), L), length(L, N).", 2, 9, "findall/3 has no counterpart"),
        ("n(N) :- b(X), N is X + 1. b(0.5).", 1, 15, "X may not be a whole number"),
        ("a. 0.5::query(a).", 1, 9, "query with a probability"),
        ("a([1]). b(X) :- a(L), last(L, X).", 1, 23, "library that is not used"),
        (f"a(X) :- X is {'+'.join(['1'] * 500)}.", 1, 309, "nested too deeply"),
        (f"{'+'.join(['0.001'] * 500)}::a.", 1, 900, "nested too deeply"),
        (f"a({'-'.join('b' * 500)}).", 1, 300, "nested too deeply"),
        (f"b. c. a :- {', '.join(['(b;c)'] * 40)}.", 1, 223, "more than 1000 ways"),
    ],
)
def test_the_place_of_a_problem(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=words) as refused:
        dpasp.convert(text, "problog", from_str=True, ground=False)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column) == (line, column)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(dpasp.ProgramError) as refused:
        dpasp.convert("a :- !.\nb(x+y).\nc :- nl.", "problog", from_str=True)
    assert [problem.span.line for problem in refused.value.diagnostics if problem.span] == [1, 2, 3]
    text = "a(X) :- \\+ b(X).\nc(X) :- \\+ b(X).\nb(1). query(a(_)). query(c(_))."
    with pytest.raises(dpasp.ProgramError, match="whether X has a value") as refused:
        dpasp.convert(text, "problog", from_str=True, ground=False)
    assert [problem.span.line for problem in refused.value.diagnostics if problem.span] == [1, 2]


def test_the_command(command: Command) -> None:  # noqa: F811
    Path("p.pl").write_text("0.3::a. b :- \\+ a. query(b).")
    printed = command("convert", "p.pl", "--from", "problog")
    assert (printed.code, printed.err) == (0, "")
    written = command("convert", "p.pl", "--from", "problog", "-o", "p.plp")
    assert (written.code, written.out, written.err) == (0, "", "wrote p.plp\n")
    assert Path("p.plp").read_text() == printed.out
    assert command("p.plp").out == "ℙ(b) = 0.700000\n"
    assert command("convert", "p.pl", "--from", "problog", "--json").json["program"] == printed.out
    assert command("convert", "-", "--from", "problog", stdin="0.3::a.").code == 0


def test_the_ending_of_a_file_says_what_it_is_for(command: Command) -> None:  # noqa: F811
    Path("p.CNF").write_text("p cnf 1 1\n1 0\n")
    printed = command("convert", "p.CNF")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == command("convert", "p.CNF", "--from", "wcnf").out
    assert printed.out == dpasp.convert("p.CNF")
    assert command("convert", "p.CNF", "--json").json["from"] == "wcnf"
    Path("p.pl").write_text("0.3::a. query(a).")
    for name in ("p.pl", "-"):
        unknown = command("convert", name, stdin="0.3::a.")
        assert (unknown.code, unknown.out) == (2, "")
        assert f"`dpasp convert {name} --from problog`" in " ".join(unknown.err.split())
    with pytest.raises(dpasp.UsageError, match="a text does not say which system"):
        dpasp.convert("0.3::a.", from_str=True)


def test_nothing_is_written_when_something_is_wrong(command: Command) -> None:  # noqa: F811
    Path("p.pl").write_text("0.3::a.\nb :- a, !.")
    Path("p.plp").write_text("old")
    failed = command("convert", "p.pl", "--from", "problog", "-o", "p.plp")
    assert failed.code == 65
    assert "p.pl:2:9: error: ! has no counterpart" in failed.err
    assert Path("p.plp").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["p.pl", "p.plp"]
    nowhere = command("convert", "-", "--from", "problog", "-o", "no/p.plp", stdin="a.")
    assert nowhere.code == 2
    assert "cannot write" in nowhere.err
