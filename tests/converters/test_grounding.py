"""ProbLog's own grounder: what it makes of a program, written in our language.

Most programs are ground in this process, as :func:`serve` does it in its own. ``teacher.pl`` has
programs as they are written in courses about ProbLog.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from clingo import Function, Symbol, SymbolType, Tuple_, parse_term

import dpasp
from dpasp.converters.problog import by_rules
from dpasp.converters.problog.grounding import SEMANTICS, NotGround, ground_lines, our_term
from dpasp.converters.problog.rules import PrologNames, atom_text
from tests.cli.conftest import Command
from tests.cli.conftest import dpasp as command  # noqa: F401
from tests.converters.test_problog import PROGRAMS, random_program

problog = pytest.importorskip("problog")

HERE = Path(__file__).parent
BLOCK = re.compile(r"^%% (.*?)\n(.*?)(?=^%% |\Z)", re.M | re.S)
TEACHER = dict(BLOCK.findall((HERE / "teacher.pl").read_text()))
NEEDS_THE_GROUNDER = {
    "counting down with a real number",
    "call of a predicate that is a value",
    "the once of a list",
    "cards from a deck, by weight",
    "paths that are remembered",
    "the sum of a list",
    "a knapsack",
    "how many heads",
    "members one by one",
    "append",
    "the nth element",
    "the largest",
    "map over a list",
    "urn without replacement",
}
REFUSED = [name for name in PROGRAMS if "(refused" in name]


def by_problog(text: str) -> dict[str, float] | None:
    """ProbLog's answers under our names for its atoms; None if it refuses."""
    from problog import get_evaluatable
    from problog.program import DefaultPrologParser, ExtendedPrologFactory, PrologString

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parser = DefaultPrologParser(ExtendedPrologFactory())
            found = get_evaluatable().create_from(PrologString(text, parser=parser)).evaluate()
        except Exception:
            return None
    terms = {atom: our_term(-atom if atom.is_negated() else atom) for atom in found}
    names = PrologNames(terms.values())
    return {
        ("not " if atom.is_negated() else "") + atom_text(terms[atom], names): value
        for atom, value in found.items()
    }


def grounded(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return "\n".join([SEMANTICS, *ground_lines(text, None, False)])


def answers(text: str) -> dict[str, float]:
    found = dpasp.loads(text).query()
    return {_with_tuples(str(one.query).split(" | ")[0]): float(one.value) for one in found}


def _with_tuples(query: str) -> str:
    """A query with tuples for lists, which are other terms in a program translated by rules."""
    return str(_tuples(parse_term(query))) if "cons(" in query or "nil" in query else query


def _tuples(term: Symbol) -> Symbol:
    if term.type != SymbolType.Function:
        return term
    items: list[Symbol] = []
    rest = term
    while rest.match("cons", 2):
        items.append(_tuples(rest.arguments[0]))
        rest = rest.arguments[1]
    if rest.match("nil", 0):
        return Tuple_(items)
    return Function(term.name, [_tuples(arg) for arg in term.arguments], term.positive)


def assert_same(found: dict[str, float], expected: dict[str, float] | None, text: str) -> None:
    assert expected is not None, text
    possible = {atom for numbers in (expected, found) for atom, p in numbers.items() if p > 0}
    assert {atom: found.get(atom) for atom in possible} == pytest.approx(
        {atom: expected.get(atom) for atom in possible}, abs=1e-9
    ), text


@pytest.mark.parametrize("name", TEACHER)
def test_programs_of_a_course(name: str) -> None:
    text = TEACHER[name]
    if name in NEEDS_THE_GROUNDER:
        with pytest.raises(dpasp.ProgramError):
            by_rules(text, "<text>")
        ours = grounded(text)
    else:
        ours = by_rules(text, "<text>")  # which needs no package of ProbLog's
    assert_same(answers(ours), by_problog(text), ours)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_rule_by_rule_is_ground(name: str) -> None:
    text = re.sub("^:- table.*$", "", PROGRAMS[name], flags=re.M)
    expected = by_problog(text)
    if not expected:
        with pytest.raises((NotGround, dpasp.Error)):
            answers(grounded(text))
    else:
        assert_same(answers(grounded(text)), expected, text)


def list_program(rng: Random) -> str:
    """A program with lists of numbers, or of numbers and names, in facts and calls."""
    items = rng.choice(["123", "123", "12ab"])

    def some_list() -> str:
        return f"[{','.join(rng.choice(items) for _ in range(rng.randint(0, 3)))}]"

    def goal() -> str:
        a, x = rng.choice(["A", "A", "B", some_list()]), rng.choice(["X", "X", "1"])
        c, n = rng.choice(["C", "C", "B"]), rng.choice(["N", "N", "2"])
        kinds = [
            f"member({x},{a})",
            f"\\+ member(1,{a})",
            f"append({a},B,{c})",
            f"append({c},D,{a})",
        ]
        kinds += [
            f"{name}({a},{n})" for name in ("length", "len", "sum_list", "max_list", "min_list")
        ]
        kinds += [f"nth0({n},{a},{x})", f"nth1(1,{a},{x})", f"last({a},{x})", f"reverse({a},{c})"]
        kinds += [f"select({x},{a},{c})", f"subtract({a},B,{c})", f"union({a},B,{c})", f"e({x})"]
        kinds += [f"intersection({a},B,{c})", f"subset({a},B)", f"A = [{x}|{c}]", f"{c} = [1|A]"]
        return rng.choice([*kinds, f"permutation({a},{c})", f"kept({a},{c})", f"memberchk(1,{a})"])

    chance = ("", "0.5::", "0.3::")
    lines = [":- use_module(library(lists)).", "len([],0). len([_|T],N) :- len(T,M), N is M+1."]
    lines += ["kept([],[]). kept([X|T],[X|R]) :- e(X), kept(T,R). kept([_|T],R) :- kept(T,R)."]
    lines += [f"{rng.choice(chance)}{name}({some_list()})." for name in "llm"]
    lines += [f"{rng.choice(chance)}e({rng.choice(items)})." for _ in range(2)]
    for name in "pq":
        body = ", ".join(["l(A)", "m(B)", *(goal() for _ in range(rng.randint(1, 2)))])
        shown = [v for v in ("X", "N", "C") if re.search(rf"\b{v}\b", body)] or ["A"]
        lines.append(f"{name}({rng.choice(shown)}) :- {body}. query({name}(_)).")
    return "\n".join(lines)


@pytest.mark.parametrize("made", [random_program, list_program])
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_are_ground_with_their_answers(
    made: Callable[[Random], str], seed: int
) -> None:
    rng = Random(1000 + seed)
    for _ in range(8):
        text = made(rng)
        expected = by_problog(text)
        if expected is None:
            with pytest.raises(NotGround):
                grounded(text)
        else:
            assert_same(answers(grounded(text)), expected, text)


# --- what is written ------------------------------------------------------------------------------

WRITTEN = [
    (
        "0.4::s(a). 0.3::s(X); 0.2::t(X) :- e(X,Y), s(Y). e(a,b). e(b,a). "
        "query(s(a)). query(t(_)).",
        """\
0.4::s(a).
0.3::s(b); 0.2::t(b) :- s(a).
0.3::s(a); 0.2::t(a) :- s(b).

#query s(a).
#query t(a).
#query t(b).""",
    ),
    (
        "0.5::l([1,[]]). 0.5::l([2|x]). p('A b', X, 1-2, 0.5, \"t\", a+b) :- l(X). "
        "query(p(_,_,_,_,_,_)).",
        """\
0.5::l((1,())).
0.5::l((2,"|",x)).
p("A b",(1,()),(1,2),"0.5","t",plus(a,b)) :- l((1,())).
p("A b",(2,"|",x),(1,2),"0.5","t",plus(a,b)) :- l((2,"|",x)).

#query p("A b",(1,()),(1,2),"0.5","t",plus(a,b)).
#query p("A b",(2,"|",x),(1,2),"0.5","t",plus(a,b)).""",
    ),
    (
        "0.5::a. b :- a. c :- fail. d. e :- \\+ a. query(\\+ e). query(b). query(c). query(d). "
        "evidence(\\+ e). evidence(d).",
        """\
0.5::a.
e :- not a.
b :- a.
c :- #false.
d.

#query not e.
#query b.
#query c.
#query d.
#evidence not e.""",
    ),
]


@pytest.mark.parametrize(("text", "lines"), WRITTEN)
def test_the_ground_program_reads_like_the_original(text: str, lines: str) -> None:
    assert grounded(text) == f"{SEMANTICS}\n{lines}"


# --- in a process of its own ----------------------------------------------------------------------

LISTS = ":- writeln(hello). 0.5::l([a]). p(X) :- l([X]). query(p(_)).\n"


def test_the_command(command: Command) -> None:  # noqa: F811
    Path("p.pl").write_text(LISTS)
    printed = command("convert", "p.pl", "--from", "problog")
    assert printed.code == 0
    assert printed.out.splitlines() == [
        "% converted from ProbLog: p.pl",
        "% ground by ProbLog for its queries and evidence; nothing else of the program is in here",
        SEMANTICS,
        "",
        "0.5::l((a,)).",
        "p(a) :- l((a,)).",
        "",
        "#query p(a).",
    ]
    refused = command("convert", "p.pl", "--from", "problog", "--no-ground")
    assert refused.code == 65
    assert "the directive writeln has no counterpart" in refused.err
    Path("q.pl").write_text("0.5::a. query(a).")
    assert "% ground by" in command("convert", "q.pl", "--from", "problog", "--ground").out
    Path("avg.pl").write_text("0.5::s(3).\nmean(avg<S>) :- s(S).\nquery(mean(_)).")
    refused = command("convert", "avg.pl", "--from", "problog", "--no-ground")
    assert "avg.pl:2:11: error: avg<S> in a head has no counterpart" in refused.err
    assert "use_module(library(aggregate))" in refused.err
    wrong = command("convert", "q.pl", "--from", "plingo", "--ground")
    assert wrong.code == 2


def test_python_runs_only_if_it_is_allowed(command: Command) -> None:  # noqa: F811
    Path("twice.py").write_text(
        "from problog.extern import problog_export\n"
        "@problog_export('+int', '-int')\n"
        "def twice(x):\n    return 2 * x\n"
        "open('ran', 'w').close()\n"
    )
    Path("p.pl").write_text(
        ":- use_module('twice.py'). 0.5::a(2). b(Y) :- a(X), twice(X,Y). query(b(_))."
    )
    refused = command("convert", "p.pl", "--from", "problog")
    assert refused.code == 65
    assert "--python" in refused.err
    assert not Path("ran").exists()
    allowed = command("convert", "p.pl", "--from", "problog", "--python")
    assert allowed.out.endswith("b(4) :- a(2).\n\n#query b(4).\n")
    assert Path("ran").exists()


def test_queries_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "other.pl").write_text("0.5::a. query(a).")
    (tmp_path / "p.pl").write_text(":- consult('other').")
    assert answers(dpasp.convert(tmp_path / "p.pl", "problog")) == {"a": 0.5}


def test_a_limit_ends_the_grounder() -> None:
    text = "p(N) :- M is N+1, p(M). query(p(0))."
    with pytest.raises(dpasp.LimitReached):
        dpasp.convert(text, "problog", from_str=True, ground=True, limits=dpasp.Limits(seconds=1))


def test_the_place_of_what_problog_refuses() -> None:
    text = "0.5::l([a]).\np(X) :- l(X), q(X).\nquery(p(_))."
    with pytest.raises(dpasp.ProgramError) as refused:
        dpasp.convert(text, "problog", from_str=True, ground=True)
    (problem,) = refused.value.diagnostics
    assert problem.message == "ProbLog: No clauses found for 'q/1'"
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == (2, 15)


@pytest.mark.parametrize("evidence", ["evidence(\\+a).", ""])
def test_what_problog_answers_is_not_said_to_be_refused_by_it(evidence: str) -> None:
    text = f"0.5::a. 0.5::p(X). q :- a, p(Y). q :- \\+a. {evidence} query(q)."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(NotGround, match="non-ground probabilistic clause") as refused:
            ground_lines(text, None, False)
    begin = "ProbLog itself answers" if evidence else "ProbLog itself refuses"
    assert refused.value.found["help"].startswith(begin)


def test_without_the_package_the_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: Any) -> bool:
        return False

    monkeypatch.setattr("dpasp.converters.problog.installed", missing)
    monkeypatch.setattr("dpasp.converters.problog.grounding.installed", missing)
    for ground in (None, True):
        with pytest.raises(dpasp.Error, match=re.escape("pip install 'dpasp[problog]'")):
            dpasp.convert(LISTS, "problog", from_str=True, ground=ground)
    with pytest.raises(dpasp.ProgramError) as refused:
        dpasp.convert(LISTS, "problog", from_str=True, ground=False)
    assert "pip" not in str(refused.value)
