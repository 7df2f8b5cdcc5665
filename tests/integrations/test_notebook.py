"""Cells of a notebook: ``%%dpasp``, its options, its errors, completion."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import dpasp
from dpasp.integrations.notebook import completions

IPython = pytest.importorskip("IPython")

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def shell(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    found = InteractiveShell(config=config)
    found.run_line_magic("load_ext", "dpasp")
    yield found
    found.reset(new_session=False)
    InteractiveShell.clear_instance()


LEARNED = """
#python
def rows(): return [["a"], ["a"], ["not a"]]
#end.
?::a. #learn @rows, niters = 3. #query a.
"""


def cell(shell: InteractiveShell, line: str, text: str = "0.3::a. b :- not a. #query b.") -> Any:
    return shell.run_cell_magic("dpasp", line, text)


def test_a_cell_gives_its_answers(shell: InteractiveShell) -> None:
    answers = cell(shell, "")
    assert isinstance(answers, dpasp.Answers)
    assert answers["b"].upper == pytest.approx(0.7)


def test_options(shell: InteractiveShell) -> None:
    line = '--semantics "lstable, maxent" --query a --evidence "not b" --name mine -c n=3'
    answers = cell(shell, line, "#const n = 1. 0.3::a. b :- not a. c(n). #query b.")
    assert (answers.logic, answers[0].query) == ("lstable", "a")
    assert answers[0].value == pytest.approx(1.0)
    program = shell.user_ns["mine"]
    assert isinstance(program, dpasp.Program)
    assert program.query("c(3)")[0].value == 1.0


def test_there_may_be_space_around_the_value_of_a_constant(shell: InteractiveShell) -> None:
    answers = cell(shell, '-c "n = 2"', "#const n = 1. 0.3::a(1..n). #query a(2).")
    assert answers[0].upper == pytest.approx(0.3)


def test_externals_are_set_and_stay(shell: InteractiveShell) -> None:
    text = "#external sensor(1). 0.3::a. b :- a, sensor(1). #query b."
    assert cell(shell, "", text)[0].upper == 0.0
    assert cell(shell, '--external "sensor(1)=true" --name on', text)[0].upper == 0.3
    assert shell.user_ns["on"].query()[0].upper == 0.3
    with pytest.raises(dpasp.UsageError, match=r"sensor\(1\)=true"):
        cell(shell, "--external sensor(1)", text)


def test_python_runs_only_when_allowed(shell: InteractiveShell) -> None:
    text = "#python\ndef f(): return 3\n#end.\na(@f). #query a(X)."
    assert cell(shell, "--python", text)[0].query == "a(3)"
    with pytest.raises(dpasp.ProgramError):
        cell(shell, "", text)


def test_wrong_options_are_told(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(dpasp.UsageError, match="nonsense"):
        cell(shell, "--nonsense")
    with pytest.raises(dpasp.UsageError, match="NAME=VALUE"):
        cell(shell, "-c n")
    assert cell(shell, "--help") is None
    assert "--semantics" in capsys.readouterr().out


def test_help_needs_no_program(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_cell("%%dpasp --help").success
    assert "--semantics" in capsys.readouterr().out
    assert "there is no program in this cell" in str(shell.run_cell("%%dpasp").error_in_exec)


def test_the_semantics_stays_with_the_name(shell: InteractiveShell) -> None:
    text = "0.4::x. p :- x, not q. q :- x, not p. #query p."
    answers = cell(shell, "--semantics maxent --name nap", text)
    assert answers[0].value == pytest.approx(0.2)
    assert shell.user_ns["nap"].query() == answers


def test_a_misspelt_name_is_told_once(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = cell(shell, "", "0.3::wet. #query wett.")
        assert capsys.readouterr().err.count("did you mean 'wet'?") == 1
        monkeypatch.setattr(shell, "kernel", None, raising=False)  # it shows HTML
        cell(shell, "", "0.3::wet. #query wett.")
        assert capsys.readouterr().err == ""
    page = answers._repr_html_()
    assert "&lt;cell&gt;:1:18: wett cannot occur" in page
    assert "did you mean &#x27;wet&#x27;?" in page


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--query 'a", "close the quotes"),
        ("--name 3x", "'3x' is no name that Python could use"),
        ("--name class", "'class' is no name that Python could use"),
        ("-c N=3", "'N' cannot be the name of a constant"),
        ("--semantics ''", "'' names no semantics"),
    ],
)
def test_options_that_cannot_be_are_told(shell: InteractiveShell, line: str, said: str) -> None:
    with pytest.raises(dpasp.UsageError, match=said):
        cell(shell, line)


def test_an_error_shows_no_traceback(shell: InteractiveShell) -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        cell(shell, "", "1.5::a.")
    lines = caught.value._render_traceback_()
    assert "1.5 is not a probability" in lines[0]
    assert not any("Traceback" in line for line in lines)


def test_words_are_completed_in_our_cells_only(shell: InteractiveShell) -> None:
    text = "%%dpasp\nsmokes(anna).\n#que"
    assert "#query" in completions(text, len(text))
    assert completions("#que", 4) == []
    assert shell.Completer is not None
    from IPython.core.completer import provisionalcompleter

    for begun, wanted in (
        ("%%dpasp\nsmokes(anna).\nsmo", {"smokes"}),
        ("%%dpasp\nsmokes(anna).\n#que", {"query"}),  # after the #
        ("%%dpasp\n#semantics ma", {"maxent"}),
        ("%%dpasp --sem", {"--semantics"}),
    ):
        with provisionalcompleter():
            offered = {one.text for one in shell.Completer.completions(begun, len(begun))}
        assert offered == wanted


def test_work_that_takes_long_shows_a_bar(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpasp.display import progress as bars

    drawn: list[str] = []
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr(bars, "REFRESH", 0.0)
    monkeypatch.setattr(bars._PageBar, "_draw", lambda self, html: drawn.append(html))
    pytest.importorskip("torch")
    cell(shell, "--learn --python", LEARNED)
    assert any("<progress value=" in html and "iteration" in html for html in drawn)


def test_a_bar_is_drawn_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpasp.display import progress as bars

    drawn: list[str] = []

    class Handle:
        def update(self, shown: Any) -> None:
            drawn.append(shown.data)

    def display(shown: Any, display_id: bool) -> Handle:
        assert display_id
        drawn.append(shown.data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    monkeypatch.setattr(bars, "REFRESH", 0.0)
    with bars.progress_bar("counting") as progress:
        progress(1, 4)
        progress(2, 4)
    assert drawn == [
        '<label>counting <progress value="1" max="4"></progress> 25 %</label>',
        '<label>counting <progress value="2" max="4"></progress> 50 %</label>',
        "",
    ]
