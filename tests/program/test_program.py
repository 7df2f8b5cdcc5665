"""Programs to load and ask, as a user of Python does."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpasp
from tests.clocks import looks

TEXT = "0.3::a. p :- a, not q. q :- a, not p.\n#query p.\n#query p | a.\n"


def test_all_questions_or_those_given() -> None:
    program = dpasp.loads(TEXT)
    assert [one.query for one in program.query()] == ["p", "p | a"]
    assert [one.query for one in program.query("a", "#query q | p.", "not a.")] == [
        "a", "q | p", "not a",
    ]  # fmt: skip
    assert program.query("p | a", semantics="maxent")["p | a"].value == pytest.approx(0.5)


def test_evidence_is_joined() -> None:
    program = dpasp.loads(TEXT + "#evidence a.")
    assert [one.upper for one in program.query("p", "q")] == [1.0, 1.0]
    values = program.query("p", evidence=["not q"], semantics="maxent")
    assert values[0].value == pytest.approx(1.0)
    assert program.query("p", evidence="q", semantics="maxent")[0].value == 0


def test_questions_with_variables() -> None:
    program = dpasp.loads("0.2::c(1). 0.4::c(2). 0.1::d(2).")
    found = program.query("c(X)", "c(X), d(X)", semantics="maxent")
    assert [one.query for one in found] == ["c(1)", "c(2)", "c(2), d(2)"]
    assert [one.value for one in found] == pytest.approx([0.2, 0.4, 0.04])


def test_semantics_of_the_program_and_of_the_question() -> None:
    program = dpasp.loads("0.4::x. a :- x, not a. #semantics lstable, maxent. #query undef a.")
    assert program.query()[0].value == pytest.approx(0.4)
    answers = program.query(semantics="credal")
    assert (answers.logic, answers.probability) == ("lstable", "credal")
    with pytest.raises(dpasp.ProgramError, match="undef-two-valued"):
        program.query(semantics="stable")
    with pytest.raises(dpasp.ProgramError, match="unknown-semantics"):
        program.query(semantics="lstabel")


def test_another_semantics_can_make_a_program_right() -> None:
    program = dpasp.loads("0.4::x. a :- x, not a. #query undef a. [0.2, 0.3]::y.")
    assert program.query(semantics="lstable")[0].lower == pytest.approx(0.4)
    with pytest.raises(dpasp.ProgramError):
        program.query()
    with pytest.raises(dpasp.ProgramError, match="credal-under-maxent"):
        program.query("x", semantics="maxent")


def test_what_is_wrong_with_the_text_is_told_when_it_is_loaded() -> None:
    with pytest.raises(dpasp.ProgramError, match="probability-range"):
        dpasp.loads("1.5::a.")


def test_what_is_wrong_with_a_question_is_told_at_its_place() -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(TEXT).query("p |")
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.file == "<query>"


def test_constants() -> None:
    program = dpasp.loads(
        "#const n = 2. #const p = 0.5. p::a(1..n). all :- a(X) : X = 1..n. #query all.",
        constants={"n": 3, "p": 0.1},
    )
    assert program.query()[0].lower == pytest.approx(0.001)


def test_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.plp", tmp_path / "two.plp"
    one.write_text("0.3::a.")
    two.write_text("b :- a. #query b.")
    program = dpasp.load(one, two)
    assert program.query()[0].lower == pytest.approx(0.3)
    assert list(program.query().files) == [str(one), str(two)]


def test_python_runs_only_when_it_may(tmp_path: Path) -> None:
    text = "#python\ndef twice(n): return 2 * n\n#end.\n0.3::a(@twice(2)). #query a(4)."
    with pytest.raises(dpasp.ProgramError, match="python-not-allowed"):
        dpasp.loads(text).query()
    assert dpasp.loads(text, python=True).query()[0].lower == pytest.approx(0.3)
    file = tmp_path / "p.plp"
    file.write_text(text)
    assert dpasp.load(file).query()[0].lower == pytest.approx(0.3)
    with pytest.raises(dpasp.ProgramError, match="python-not-allowed"):
        dpasp.load(file, python=False).query()


def test_python_that_fails_is_told_at_its_line() -> None:
    program = dpasp.loads("0.3::a.\n#python\nx = 1\ny = x / 0\n#end.\n#query a.", python=True)
    with pytest.raises(dpasp.ProgramError) as caught:
        program.query()
    problem = caught.value.diagnostics[0]
    assert problem.code == "python-error"
    assert "ZeroDivisionError" in problem.message
    assert problem.span is not None
    assert problem.span.line == 4


def test_as_in_the_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = dpasp.parse(TEXT, from_str=True)()
    assert (
        capsys.readouterr().out == "ℙ(p) = [0.000000, 0.300000]\nℙ(p | a) = [0.000000, 1.000000]\n"
    )
    assert array == pytest.approx(np.array([[0, 0.3], [0, 1.0]]))
    file = tmp_path / "p.plp"
    file.write_text(TEXT)
    assert dpasp.parse(file)(semantics="maxent") == pytest.approx([0.15, 0.5])
    assert dpasp.parse(str(file)).query()[0].query == "p"


def test_most_probable() -> None:
    program = dpasp.loads("0.6::a. 0.3::b. c :- a. c :- b.")
    assert program.map("a?, b? | c", semantics="maxent")[0].to_dict()["assignment"] == {
        "a": True, "b": False,
    }  # fmt: skip
    assert program.map(semantics="maxent")[0].value == pytest.approx(0.42)
    assert program.map("| b", semantics="maxent")[0].value == pytest.approx(0.6)
    assert program.map(evidence="b", semantics="maxent")[0].value == pytest.approx(0.6)


def test_ground_programs_are_remembered() -> None:
    program = dpasp.loads(TEXT)
    assert program.ground() is program.ground()
    for i in range(10):
        program.query(f"a, not z({i})")
    assert program.query("p")[0].upper == pytest.approx(0.3)


def test_statements_keep_their_places_whatever_is_asked() -> None:
    program = dpasp.loads("#query a. ?::a. #query b. 0.2::b.")
    indices = [choice.statement for choice in program.ground().choices]
    program.query("a, b")
    asked = program._asked(
        program._groundings.checked(("#query a, b.",), (), None), dpasp.Limits().start()
    ).ground
    assert [choice.statement for choice in asked.choices] == indices


def test_limits() -> None:
    program = dpasp.loads("p(X+1) :- p(X). p(0). 0.5::a. #query a.")
    with pytest.raises(dpasp.TimeLimit):
        program.query(exact=True, limits=looks(20))
    found = program.query(limits=looks(20))
    assert [(found[0].lower, found[0].upper, found[0].gap)] == [(0.0, 1.0, 1.0)]
    assert "before the program was ground" in found.warnings[0].message


def test_results_show_themselves_in_a_prompt() -> None:
    """As their lines or in a few words, not as their fields."""
    program = dpasp.loads("0.3::a. b :- a. #query b. #semantics maxent.")
    assert repr(program.query()) == repr(program.query()[0]) == "ℙ(b) = 0.300000"
    assert repr(program.ground()) == "<ground program with 1 choice; print() shows it>"
    assert repr(program.circuit()).startswith("<circuit: ")
    for shown in (program.explain(), program.explain()[0]):
        assert repr(shown) == str(shown)
        assert repr(shown).startswith("ℙ(b) = 0.300000\n")
    reasons = dpasp.loads("0.3::a. :- a.").why_inconsistent()
    assert repr(reasons) == str(reasons)


def test_repr() -> None:
    assert repr(dpasp.loads("0.3::a.")) == "<dpasp.Program <program>: 1 statement>"


def test_one_of_a_thing_is_not_several() -> None:
    program = dpasp.loads("0.3::a.")
    assert repr(program.to_numpy("a")).endswith("; 1 weight>")
    drawn = program.query("a", engine="sample", n=1, seed=1)
    assert str(drawn).endswith(", 1 sample)")


def test_several_queries_also_as_a_list() -> None:
    program = dpasp.loads("0.3::a. 0.2::b. #query a.")
    assert str(program.query(["a", "b"])) == str(program.query("a", "b"))
    assert [one.answer.query for one in program.explain(("a", "b"))] == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: p.query(3), "a query is a text, not 3"),
        (lambda p: p.query(["a", None]), "a query is a text, not None"),
        (lambda p: p.query([]), "the list of queries is empty"),
        (lambda p: p.query({"a": True}), "a query is a text, not {'a': True}"),
        (lambda p: p.query(["a"], [{"a": True}, "a"]), "a query is a text, not {'a': True}"),
        (lambda p: p.query("a", semantics=""), "'' names no semantics"),
        (lambda p: p.query("a", semantics=["lstable", "maxent"]), "names no semantics"),
        (lambda p: p.map(semantics=0), "0 names no semantics"),
        (lambda p: p.module(semantics=()), "() names no semantics"),
        (lambda p: dpasp.loads("a.", semantics=False), "False names no semantics"),
        (lambda p: p.query("a", engine=""), "the engine '' is not one of auto"),
        (lambda p: p.query("a", engine=0), "an engine is a text, not 0"),
        (lambda p: p.save("a" * 5000), "cannot write aaaa"),
        (lambda p: p.restore(3), "the name of a file is a text or a path, not 3"),
        (lambda p: p.learn(["a"], resume="a\0"), "is a text or a path, not 'a\\x00'"),
        (lambda p: p.export(3, "a", to="c"), "the name of a file is a text or a path, not 3"),
        (lambda p: dpasp.loads("a.", file=3), "the name of a file is a text or a path, not 3"),
        (lambda p: dpasp.convert("a.", ["problog"]), "a dialect is a text, not ['problog']"),
        (lambda p: p.ensemble(1, ["a"], seed=1.5), "the seed is a whole number from 0 on, not 1.5"),
        (lambda p: p.query("a", evidence=3), "evidence is a text, not 3"),
        (lambda p: p.query("a", limits=5), "limits are dpasp.Limits, not 5"),
        (lambda p: p.query("a", n=100), "auto has no option n"),
        (lambda p: p.map(3), "a question is a text, not 3"),
        (lambda p: p.sample(1, limits=5), "limits are dpasp.Limits, not 5"),
        (lambda p: dpasp.loads(None), "a program is a text, not None"),
        (lambda p: dpasp.parse(None, from_str=True), "a program is a text, not None"),
        (lambda p: dpasp.load(3), "the name of a file is a text or a path, not 3"),
        (lambda p: p.save(3), "the name of a file is a text or a path, not 3"),
        (lambda p: p.learn(["a"], resume=3), "the name of a file is a text or a path, not 3"),
        (lambda p: p.learn(["a"], watcher=3), "watcher is a function, not 3"),
        (lambda p: p.query("a").save(3), "the name of a file is a text or a path, not 3"),
        (lambda p: dpasp.loads("a.", constants=["p"]), "constants are a dictionary, not"),
        (lambda p: dpasp.loads("a.", constants={"X": 1}), "'X' cannot be the name of a constant"),
        (lambda p: dpasp.loads("a.", constants={"é": 1}), "'é' cannot be the name of a constant"),
        (lambda p: dpasp.loads("a(n).", constants={"n": "é"}).query("a(X)"), "'é' is not a value"),
        (lambda p: dpasp.loads("a(n).", constants={"n": "b\0c"}).query("a(X)"), "is not a value"),
        (lambda p: dpasp.Limits("5"), "the time limit must be a positive number, not '5'"),
        (lambda p: dpasp.Limits(float("inf")), "the time limit must be a positive number, not inf"),
        (lambda p: dpasp.Limits(megabytes=True), "the memory limit must be a positive number"),
        (lambda p: dpasp.Limits(threads=2**70), "threads must be a whole number from 1 to 1024"),
        (lambda p: p.models(-1), "the number of models is a whole number from 0 on, not -1"),
        (
            lambda p: p.models(best=-1),
            "the number of the best is a whole number from 0 on, not -1",
        ),
        (lambda p: p.models("3"), "the number of models is a whole number from 0 on, not '3'"),
        (lambda p: p.sample("3"), "the number of samples is a whole number from 0 on, not '3'"),
        (lambda p: p.sample(1.5), "the number of samples is a whole number from 0 on, not 1.5"),
        (lambda p: p.sample(True), "the number of samples is a whole number from 0 on, not True"),
        (lambda p: p.sample(seed=-1), "the seed is a whole number from 0 on, not -1"),
        (lambda p: p.sample(seed=2**63), "the seed is a whole number up to 9223372036854775807"),
        (lambda p: p.query(engine="sample", seed=2**70), "at most 9223372036854775807"),
        (lambda p: p.query(engine="sample", n="9"), "n must be a whole number above 0"),
        (lambda p: p.query(engine="bounds", gap=10**400), "gap must be a number from 0 to 1"),
        (lambda p: p.explain(top=None), "the number of ways is a whole number from 0 on, not None"),
        (lambda p: p.explain(target="1"), "a target is a number from 0 to 1, not '1'"),
        (lambda p: p.why_inconsistent(top=-1), "the number of reasons is a whole number from 0 on"),
        (lambda p: p.ensemble("3"), "the number of members is a whole number from 1 on, not '3'"),
        (lambda p: p.module(objective="hurwicz", weight="1"), "is from 0 to 1, not '1'"),
        (lambda p: p.learn(["a"], lr=float("inf")), "lr must be a number above 0, not inf"),
        (lambda p: p.learn(["a"], seed=2**70), "at most 9223372036854775807, not"),
        (lambda p: p.query("#evidence a"), "#evidence is not supported here"),
        (lambda p: p.query("#querya"), "#querya is not supported here"),
        (lambda p: p.query("a", evidence="#query a"), "#query is not supported here"),
        (lambda p: p.map("#query a"), "#query is not supported here"),
        (lambda p: p.accuracy("a", None), "labels: a list is expected, not None"),
        (lambda p: p.accuracy("a", "a"), "labels: a list is expected, not 'a'"),
        (lambda p: p.accuracy("a", np.array(3)), "labels: a list is expected, not array(3)"),
        (lambda p: p.restore("a", rules=True), "rules are a dictionary, not True"),
        (lambda p: p.query("a").to_json(2.5), "indent is a whole number from 0 on, not 2.5"),
        (lambda p: p.export("a.c", "a", to=[]), "a target is a text, not []"),
        (lambda p: p.report("a.html", limits=5), "limits are dpasp.Limits, not 5"),
        (lambda p: p.query("a", progress=True), "progress is a function, not True"),
        (lambda p: p.sample(1, intervals=[]), "intervals is a text, not []"),
        (lambda p: p.module().expect([]), "a question is a text, not []"),
        (lambda p: p.module().instances([]), "a query is a text, not []"),
        (lambda p: p.circuit().masses("a"), "weights are an array of numbers"),
        (lambda p: p.query("a", criterion="maximin"), "a criterion is for #decide"),
        (lambda p: p.learn(["a"], epochs=5), "did you mean 'niters'?"),
        (lambda p: p.learn(["a"], checkpiont="a"), "did you mean 'checkpoint'?"),
        (lambda p: p.query("a", engine="sample", samples=5), "did you mean 'n'?"),
        (lambda p: p.query("a", evidnce="a"), "did you mean 'evidence'?"),
        (lambda p: p.to_numpy("a").prob({"a": [[0, 1], [0]]}), "is not a weight"),
        (lambda p: dpasp.Program(p.source, objects=3), "objects are a dictionary, not 3"),
        (lambda p: dpasp.Program(p.source, objects={3: 3}), "a name after @ is a text, not 3"),
        (
            lambda p: dpasp.convert("a.", "problog", from_str=True, examples=3),
            "examples: a list is expected",
        ),
        (lambda p: dpasp.formatted(None), "a program is a text, not None"),
        (lambda p: dpasp.formatted("a.", 3), "the name of a file is a text or a path, not 3"),
        (lambda p: dpasp.load(""), "the name of a file is empty"),
        (lambda p: dpasp.load(np.array(["a", "b"])), "the name of a file is a text or a path"),
        (lambda p: dpasp.convert("a.", from_str=True), "a text does not say which system"),
        (lambda p: dpasp.Limits(since="now"), "since is the time at which the clock starts"),
        (lambda p: dpasp.Limits(clock=3), "clock is a function, not 3"),
        (lambda p: dpasp.Limits(asked=None), "asked is a function, not None"),
    ],
)
def test_wrong_arguments_are_told(call: Callable[[Any], object], said: str) -> None:
    with pytest.raises(dpasp.UsageError, match=re.escape(said)):
        call(dpasp.loads("0.3::a. #query a."))


def test_what_is_empty_or_has_no_directive_of_its_own_is_still_taken() -> None:
    one = dpasp.loads("0.3::a. 0.5::b. c :- a, b. #query a.", folder="")
    assert one.query(progress=None)[0].numbers[0] == pytest.approx(0.3)
    rows = one.query("c", evidence=([[1, 0], np.array([0, 1]), range(2)], ["a", "b"]))
    assert len(rows[0].lower) == 3
    choice = dpasp.loads(
        "#decision {u}. [0.2,0.5]::rain. wet :- rain, not u. #utility -10: wet. #utility -3: u."
    )
    assert "not u" in str(choice.query(criterion="maximax"))
    assert choice.query("wet", criterion="maximax")[0].numbers == pytest.approx((0.2, 0.5))
    with pytest.raises(dpasp.UsageError) as caught:
        one.marginals(criterion="maximin")
    assert "did you mean" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::dpasp.ProgramWarning")
def test_a_query_without_answers_has_no_accuracy() -> None:
    with pytest.raises(dpasp.UsageError, match="no atoms match the query"):
        dpasp.loads("0.3::a.").accuracy("zz(X)", ["zz(1)"])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("wet(X)", "a decision is about one question, and these match: wet(1), wet(2)"),
        ("wet(X) | dry(X)", "a decision is about one question, and no atoms match it"),
    ],
)
@pytest.mark.filterwarnings("ignore::dpasp.ProgramWarning")
def test_a_decision_is_the_answer_to_one_question(question: str, said: str) -> None:
    program = dpasp.loads("0.3::wet(1..2) :- not u. #decision {u}. #semantics maxent.")
    with pytest.raises(dpasp.UsageError, match=re.escape(said)):
        program.decide(question)
    decision = program.decide("wet(2)")
    assert isinstance(decision, dpasp.Decision)
    for call in (decision.value_of, decision.reasons):
        with pytest.raises(dpasp.UsageError, match="not 3"):
            call(3)


def test_weights_that_do_not_fit_together_are_told() -> None:
    function = dpasp.loads("0.3::a. 0.4::b. c :- a, b.").to_numpy("c")
    with pytest.raises(dpasp.UsageError, match=r"weights of shapes \[\(2,\), \(3,\)\] do not fit"):
        function.prob({"a": [0, 1], "b": [0, 1, 1]})


def test_numbers_of_other_libraries_are_numbers() -> None:
    program = dpasp.loads("0.3::a. #query a.")
    assert len(program.sample(np.int64(2), seed=np.uint8(3))) == 2
    assert program.query(engine="sample", n=np.int64(7))[0].samples == 7  # type: ignore[union-attr]
    assert len(list(program.models(np.int32(1)))) == 1


def test_an_option_of_learning_that_is_none_has_its_default() -> None:
    pytest.importorskip("torch")
    text = "?::a. #semantics maxent. #learn @rows, niters = 2. #query a."
    rows = [["a"], ["not a"]]
    program = dpasp.loads(text, functions={"rows": lambda: rows})
    assert len(program.learn()) == 2
    assert len(program.learn(niters=None, momentum=None, seed=None)) > 2


def test_a_large_seed_is_that_seed() -> None:
    from dpasp.inference.asked import method

    program = dpasp.loads("0.3::a.").source
    assert method(program, "sample", {"seed": 2**53 + 1}).whole("seed") == 2**53 + 1


@pytest.mark.parametrize("query", ["a", "a.", " a . ", "#query a", "#query a.", "#query(a)."])
def test_a_query_with_and_without_its_directive(query: str) -> None:
    assert dpasp.loads("0.3::a.").query(query)[0].query == "a"


def test_the_semantics_of_a_program_can_be_chosen_for_all_that_it_is_asked() -> None:
    text = "0.4::x. p :- x, not q. q :- x, not p. #semantics lstable, credal. #query p."
    program = dpasp.loads(text, semantics="maxent")
    for one in (program, copy.deepcopy(program)):
        answers = one.query()
        assert (answers.logic, answers.probability) == ("lstable", "maxent")
        assert answers[0].value == pytest.approx(0.2)
        assert one.query(semantics="stable").probability == "maxent"
    with pytest.raises(dpasp.ProgramError, match="is not a semantics"):
        dpasp.loads(text, semantics="nonsense")


def test_marks_that_were_forgotten() -> None:
    program = dpasp.loads("0.3::a. 0.2::b. 0.5::c.")
    with pytest.raises(dpasp.ProgramError) as caught:
        program.map("a, b | c")
    (problem,) = caught.value.diagnostics
    assert problem.code == "query-mark"
    assert "'a?'" in problem.help
    assert str(program.map()) == str(program.map("")) == str(program.map("#mpe."))


def test_a_condition_that_contradicts_itself_is_not_sampled() -> None:
    program = dpasp.loads("0.3::a. c :- a.")
    for given in ("not c, c", "nowhere"):
        with pytest.raises(dpasp.ImpossibleEvidence, match="has probability 0"):
            program.sample(2, given=given)
    assert program.sample(1, given="c, c, not nowhere", seed=1) == [{"a": True, "c": True}]


def test_a_plan_of_what_is_not_compiled() -> None:
    with pytest.raises(dpasp.InferenceError) as caught:
        dpasp.loads("a; b. a :- b. b :- a. #query a.").plan()
    assert "--engine" not in caught.value.diagnostics[0].help


def test_a_program_is_not_ground_for_every_question(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpasp.ground.grounding import Grounder

    made: list[Grounder] = []
    start = Grounder.__init__

    def counted(self: Grounder, *arguments: Any, **options: Any) -> None:
        made.append(self)
        start(self, *arguments, **options)

    monkeypatch.setattr(Grounder, "__init__", counted)
    program = dpasp.loads("#const n = 2. 0.5::b(1..n). c :- b(1). #query c. #evidence b(n).")
    assert [answer.query for answer in program.query()] == ["c"]
    assert [answer.query for answer in program.query("b(X), not c")] == [
        "b(1), not c",
        "b(2), not c",
    ]
    assert program.query("c", evidence="b(n-1)")[0].lower == 1
    assert program.query("d").warnings[0].code == "unknown-atom"
    assert program.query("c").warnings == ()
    assert len(made) == 2  # what the first questions need, and then all of it


def test_a_question_that_fails_leaves_the_program_as_it_was() -> None:
    program = dpasp.loads("0.5::b(1..2). #query b(1).")
    for _ in range(2):
        with pytest.raises(dpasp.ProgramError) as caught:
            program.query("b(1) | not b(X), X < Y")
        assert [d.code for d in caught.value.diagnostics] == ["unsafe-variable"]
        assert program.query("b(2)")[0].lower == 0.5
