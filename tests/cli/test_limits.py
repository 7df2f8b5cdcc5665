"""Limits and signals of the command line: every stage of every command keeps them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dpasp.cli.console import Console
from dpasp.cli.execution import fail
from dpasp.errors import LimitReached, MemoryLimit, TimeLimit
from dpasp.limits import Limits
from dpasp.limits.watchdog import ANSWERING, UNNOTICED, Ending, Patience, Watchdog
from tests.clocks import PATIENCE, over, wait

from .conftest import Command

ENDLESS = "p(0). p(X+1) :- p(X). 0.3::a. #query p(1).\n"
SILENT = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. 0.3::a. #query a.\n"
COLOURS = """
v(1..25). 0.5::e(X,Y) :- v(X), v(Y), X < Y. 1 {c(X,(r;g;b))} 1 :- v(X).
:- e(X,Y), c(X,C), c(Y,C). #query c(1,r).
"""  # nothing answers this exactly
READING = [
    ("run",),
    ("check",),
    ("ground",),
    ("compile",),
    ("explain",),
    ("models",),
    ("sample",),
    ("format", "--check"),
    ("convert", "--from", "problog"),
]

# A process counts what its parent held when it was started, so the command is started by a small
# one, which says how it ended and how much it used.
LAUNCHER = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as said:
    done = subprocess.run(sys.argv[2:], stdout=said, stderr=subprocess.STDOUT)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def ended(folder: Path, text: str | None, *words: str) -> tuple[int, str, float]:
    """The exit code of a command, what it said, and the most megabytes that it used.

    Without a text, the program is never read to its end.
    """
    if text is None:
        os.mkfifo(folder / "p.plp")
        held = os.open(folder / "p.plp", os.O_RDWR)
        os.write(held, b"0.3::a. ")
        try:
            return ended_with(folder, *words)
        finally:
            os.close(held)
    (folder / "p.plp").write_text(text)
    return ended_with(folder, *words)


def ended_with(folder: Path, *words: str) -> tuple[int, str, float]:
    command = [sys.executable, "-m", "dpasp", *words, "p.plp"]
    launch = [sys.executable, "-c", LAUNCHER, "said", *command]
    done = subprocess.run(launch, cwd=folder, capture_output=True, text=True, check=True)
    code, used = done.stdout.split()
    return int(code), (folder / "said").read_text(), float(used)


@pytest.mark.slow
@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_the_time_limit_holds_while_a_program_is_read(tmp_path: Path, words: Sequence[str]) -> None:
    code, said, _ = ended(tmp_path, None, *words, "--time-limit", "0.1")
    assert (code, said.splitlines()[0]) == (
        124,
        "error: stopped at the time limit of 0.1 s [time-limit]",
    )
    assert "bounds" not in said


GROUNDING = [("run", "--exact"), *READING[2:7]]


@pytest.mark.slow
@pytest.mark.parametrize("words", GROUNDING, ids=lambda words: words[0])
def test_the_time_limit_holds_while_a_program_is_ground(
    tmp_path: Path, words: Sequence[str]
) -> None:
    """Also in a join that finds nothing, which never calls back."""
    code, said, _ = ended(tmp_path, SILENT, *words, "--time-limit", "0.5")
    assert (code, said.splitlines()[0]) == (
        124,
        "error: stopped at the time limit of 0.5 s [time-limit]",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--exact"),
        ("run", "--engine", "enumerate"),
        ("compile",),
        ("explain",),
        ("models", "-n", "1000000000000"),
        ("sample", "-n", "1000000000000"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_time_limit_holds_while_a_question_is_answered(
    tmp_path: Path, words: Sequence[str]
) -> None:
    code, said, _ = ended(tmp_path, COLOURS, *words, "--time-limit", "0.7")
    assert (code, "error: stopped at the time limit of 0.7 s [time-limit]" in said) == (124, True)


@pytest.mark.slow
def test_the_time_limit_holds_where_no_total_choice_is_new(tmp_path: Path) -> None:
    words = ("sample", "-n", "1000000000000", "--time-limit", "0.7")
    code, said, _ = ended(tmp_path, "0.5::a. #query a.", *words)
    assert (code, "error: stopped at the time limit of 0.7 s [time-limit]" in said) == (124, True)


@pytest.mark.slow
@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_the_memory_limit_holds_while_a_program_is_read(
    tmp_path: Path, words: Sequence[str]
) -> None:
    long = "".join(f"0.5::a({i}).\n" for i in range(500_000))
    code, said, used = ended(tmp_path, long, *words, "--memory-limit", "75")
    assert (code, said.splitlines()[0]) == (
        125,
        "error: stopped at the memory limit of 75 MB [memory-limit]",
    )
    assert used < 400  # without a limit 700 and more


@pytest.mark.slow
@pytest.mark.parametrize("words", GROUNDING, ids=lambda words: words[0])
def test_the_memory_limit_holds_while_a_program_is_ground(
    tmp_path: Path, words: Sequence[str]
) -> None:
    code, _, used = ended(tmp_path, ENDLESS, *words, "--memory-limit", "90")
    assert (code, used < 500) == (125, True)  # without a limit there is no end


@pytest.mark.slow
@pytest.mark.parametrize("words", [("check",), ("format", "--check")], ids=lambda words: words[0])
def test_the_memory_limit_holds_where_python_lets_no_thread_run(
    tmp_path: Path, words: Sequence[str]
) -> None:
    """Sixty megabytes of text are decoded, searched and copied at a stroke each."""
    code, said, used = ended(tmp_path, f'p("{"a" * 60_000_000}").', *words, "--memory-limit", "80")
    assert (code, "stopped at the memory limit of 80 MB [memory-limit]" in said) == (125, True)
    assert used < 400  # without a limit 500 and more


@pytest.mark.slow
def test_the_time_limit_holds_where_python_lets_no_thread_run(tmp_path: Path) -> None:
    """One sum of Python's never ends; the native code has the last word."""
    watched = """
import sys, time
from itertools import repeat
from argparse import Namespace
from dpasp.cli.console import Console
from dpasp.cli.execution import watched
options = Namespace(time_limit=0.3, memory_limit=None, started=time.monotonic())
with watched(options, Console(sys.stdout, sys.stderr, own_process=True)):
    sum(repeat(0))
"""
    words = [sys.executable, "-c", watched]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        124,
        "error: stopped at the time limit of 0.3 s [time-limit]",
    )


# The clock of the limits stands in our hands: an engine that is stuck moves it past the limit.
STUCK = """
import sys, time, types
import dpasp.limits
import dpasp.inference.exact as engine
later, clock = [0.0], time.monotonic
dpasp.limits.time = types.SimpleNamespace(monotonic=lambda: clock() + later[0])
def stuck(asked):
    later[0] = 1e6
    time.sleep(600)
engine._solve = stuck
from dpasp.cli import main
sys.exit(main())
"""
# So that the native code, whose clock is the machine's, ends it soon: the time is over when the
# program is ground, and the engine lets no thread run.
STUCK_NATIVE = STUCK.replace("time.sleep(600)", "sum(__import__('itertools').repeat(0))").replace(
    "from dpasp.cli",
    """
from dpasp.program import Program
answers = Program._answers
def late(self, asked, *rest):
    later[0] = 5000
    return answers(self, asked, *rest)
Program._answers = late
from dpasp.cli""",
)


def stuck(
    folder: Path, text: str, *words: str, code: str = STUCK
) -> subprocess.CompletedProcess[str]:
    """How a command ends whose engine gives nothing back, long after the limit."""
    (folder / "p.plp").write_text(text)
    command = [sys.executable, "-c", code, "run", "p.plp", "--time-limit", "5000", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("code", [STUCK, STUCK_NATIVE], ids=["a thread", "native code"])
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_auto_answers_even_where_its_engine_misses_the_limit(
    tmp_path: Path, words: Sequence[str], code: str
) -> None:
    """The engine sleeps, or lets no thread run, long past the limit."""
    done = stuck(tmp_path, "0.3::a. #query a.", *words, code=code)
    assert done.returncode == 0
    if words:
        (answer,) = json.loads(done.stdout)["answers"]
        assert (answer["interval"], answer["gap"]) == ([0.0, 1.0], 1.0)
    else:
        assert done.stdout == "ℙ(a) = [0.000000, 1.000000]  (gap 1.000000)\n"
        assert "time limit of 5000 s before anything was known about the answers" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--engine", "sample"), ("--engine", "bounds")])
def test_every_instance_of_a_question_is_named_where_an_engine_misses_the_limit(
    tmp_path: Path, words: Sequence[str]
) -> None:
    done = stuck(tmp_path, "0.5::e(1..3). p(X,Y) :- e(X), e(Y). #query p(X,Y).", *words)
    assert done.returncode == 0
    pairs = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]
    assert done.stdout.splitlines() == [
        f"ℙ(p({x},{y})) = [0.000000, 1.000000]  (gap 1.000000)" for x, y in pairs
    ]
    assert "time limit of 5000 s before anything was known" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--engine", "sample"), ("--engine", "bounds")])
def test_marginals_are_bounded_where_an_engine_misses_the_limit(
    tmp_path: Path, words: Sequence[str]
) -> None:
    done = stuck(tmp_path, "0.5::a. b :- a.", "--marginals", "--json", *words)
    assert done.returncode == 0
    answers = json.loads(done.stdout)["answers"]
    assert [(one["query"], one["interval"]) for one in answers] == [
        ("a", [0.0, 1.0]),
        ("b", [0.0, 1.0]),
    ]


@pytest.mark.slow
def test_exact_answers_are_insisted_on_where_an_engine_misses_the_limit(tmp_path: Path) -> None:
    for words in (("--exact",), ("--engine", "enumerate"), ("--csv", "a.csv")):
        done = stuck(tmp_path, "0.5::a. #query a.", *words)
        assert (done.returncode, done.stdout) == (124, "")


@pytest.mark.slow
def test_marginals_of_a_program_that_is_not_ground_are_not_known(tmp_path: Path) -> None:
    code, said, _ = ended(tmp_path, ENDLESS, "run", "--marginals", "--memory-limit", "90")
    assert code == 125
    assert "not ground in time" in said


REPORT = STUCK.replace("engine._solve", "dpasp.Program.explain").replace("(asked)", "(*_, **__)")


@pytest.mark.slow
def test_a_report_keeps_the_limit_and_is_there_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "p.plp").write_text("0.5::a. #query a.")
    words = ["run", "p.plp", "--time-limit", "5000", "--report", "r.html"]
    command = [sys.executable, "-c", REPORT, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "ℙ(a) = 0.500000\n")
    assert "stopped at the time limit of 5000 s before all reasons" in done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "A limit left no time" in page
    assert "0.5000" in page


@pytest.mark.parametrize("json", [True, False])
def test_last_words_go_where_answers_or_messages_go(tmp_path: Path, json: bool) -> None:
    console = Console(
        (tmp_path / "answers").open("w"), (tmp_path / "messages").open("w"), json=json
    )
    stream = console.answers if json else console.messages
    error = Limits(seconds=1).start().out_of_time()
    ending = console.last_words(None, error)
    fail(error, console)
    assert ending.texts == ((stream.fileno(), Path(stream.name).read_bytes()),)
    assert ending.code == 124
    console.answers.close()
    console.messages.close()


@pytest.mark.slow
@pytest.mark.parametrize("words", READING[1:3] + READING[-1:], ids=lambda words: words[0])
def test_a_long_string_needs_little_memory(tmp_path: Path, words: Sequence[str]) -> None:
    code, _, used = ended(tmp_path, f'p("{"a" * 2_000_000}"). 0.3::b. query(b).\n', *words)
    assert (code, used < 200) == (0, True)


@pytest.mark.slow
def test_a_limit_is_told_in_json(tmp_path: Path) -> None:
    code, said, _ = ended(tmp_path, None, "check", "--json", "--time-limit", "0.1")
    assert (code, '"code": "time-limit"' in said) == (124, True)


# --- the watchdog alone ----------------------------------------------------------------------


class Noted(Ending):
    """An ending that is noted in place of the process's."""

    def happen(self) -> None:
        happened.append(self.code)


happened: list[int] = []


def watchdog(limits: Limits) -> tuple[Watchdog, list[LimitReached]]:
    """A watchdog, and the limits for which it asked for words."""
    asked: list[LimitReached] = []

    def words(error: LimitReached) -> Ending:
        asked.append(error)
        return Noted((), error.exit_code)

    happened.clear()
    return Watchdog(limits, words), asked


def until_it_happens(dog: Watchdog) -> None:
    wait(lambda: happened, "the end of the process")
    dog.send_away()


@pytest.mark.parametrize(
    ("limits", "code"), [(Limits(seconds=0.01), 124), (Limits(megabytes=1), 125)]
)
def test_a_watchdog_ends_what_notices_nothing(limits: Limits, code: int) -> None:
    dog, _ = watchdog(limits)
    dog.start()
    until_it_happens(dog)
    assert set(happened) == {code}


def test_words_are_found_before_the_limit_not_at_it() -> None:
    """There may be a hundred thousand answers to write, and there is no time left."""
    dog, asked = watchdog(Limits(seconds=0.01))
    assert [type(one) for one in asked] == [TimeLimit]
    dog.start()
    until_it_happens(dog)
    assert len(asked) == 1


def test_a_watchdog_that_was_sent_away_comes_back_with_other_words() -> None:
    dog, _ = watchdog(Limits(seconds=0.01))
    dog.send_away()
    dog.come_back(lambda error: Noted((), 7))
    until_it_happens(dog)
    assert set(happened) == {7}


def passed(patience: Patience, seconds: float, megabytes: float) -> type[LimitReached] | None:
    """What of 10 s and 100 MB is passed after so many seconds, with so much memory."""
    watch = Limits(seconds=10, megabytes=100).start()
    watch.elapsed = lambda: seconds  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpasp.limits.watchdog.memory_in_use", lambda: megabytes)
        return patience.passed(watch)


def test_a_stage_that_notices_has_a_moment_to_answer() -> None:
    dog, _ = watchdog(Limits(seconds=1e6))
    dog.noticed()  # before the time is over: only a share of it was
    assert dog._patience is UNNOTICED
    dog._watch.elapsed = lambda: 1e6 + 0.001  # type: ignore[method-assign]
    dog.noticed()
    assert dog._patience is ANSWERING
    for patience, late, much in ((UNNOTICED, 10.15, 104), (ANSWERING, 11.5, 108)):
        assert passed(patience, late - 0.01, much - 0.1) is None
        assert passed(patience, late + 0.01, 1) is TimeLimit
        assert passed(patience, 1, much + 0.1) is MemoryLimit


def test_a_watch_says_that_it_noticed() -> None:
    calls: list[int] = []
    watch = over(noticed=lambda: calls.append(1)).start()
    with pytest.raises(TimeLimit):
        watch.check()
    assert calls == [1]


# --- Ctrl-C ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        *("typing", "dataclasses", "dpasp.errors", "dpasp.limits"),
        *("argparse", "dpasp.cli.execution", "numpy", "clingo"),
    ],
)
def test_ctrl_c_during_imports_exits_130(tmp_path: Path, module: str) -> None:
    hook = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.modules.pop({module!r}, None)  # the start of Python may have imported it
sys.meta_path.insert(0, Interrupting())
"""
    (tmp_path / "interrupting.py").write_text(hook)
    (tmp_path / "p.plp").write_text("0.3::a. #query a.")
    words = "import interrupting, sys; sys.argv[1:] = ['p.plp']; from dpasp.cli import main; main()"
    command = [sys.executable, "-c", words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted [interrupted]\n"


@pytest.mark.slow
def test_ctrl_c_inside_a_text_that_python_runs_exits_130(tmp_path: Path) -> None:
    """Python would end such a process by the signal, whoever handles the exception."""
    words = """
import sys
from dataclasses import replace
from dpasp.cli import main, run
text = "import os, signal; os.kill(os.getpid(), signal.SIGINT); sum(i for i in range(10**6))"
run.run = replace(run.run, execute=lambda options, console: exec(text))
sys.argv[1:] = ["run", "p.plp"]
sys.exit(main())
"""
    (tmp_path / "interrupted.py").write_text(words)
    command = [sys.executable, "-m", "interrupted"]  # as ``python -m dpasp``
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, "error: interrupted [interrupted]\n")


@pytest.mark.slow
def test_ctrl_c_that_is_ignored_stays_so(tmp_path: Path) -> None:
    (tmp_path / "p.plp").write_text("0.3::a. #query a.")
    words = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "from dpasp.cli import main; os.kill(os.getpid(), signal.SIGINT);"
        "sys.argv[1:] = ['p.plp']; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", words], cwd=tmp_path, timeout=PATIENCE)
    assert done.returncode == 0
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


# --- closed streams, odd folders, deep includes -----------------------------------------------


def closed(folder: Path, number: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with a descriptor closed."""
    return subprocess.run(
        [sys.executable, "-m", "dpasp", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=lambda: os.close(number),
    )


def test_closed_streams(tmp_path: Path) -> None:
    (tmp_path / "p.plp").write_text("0.3::a. #query a.")
    done = closed(tmp_path, 1, "p.plp")
    said = "error: cannot write the answers: Bad file descriptor [output]\n"
    assert (done.returncode, done.stderr) == (74, said)
    done = closed(tmp_path, 0, "-")
    assert done.returncode == 65
    assert done.stderr.startswith("error: cannot read standard input: Bad file descriptor [file]")
    done = closed(tmp_path, 0, "p.plp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ℙ(a) = 0.300000\n", "")
    done = closed(tmp_path, 2, "p.plp")
    assert (done.returncode, done.stdout) == (0, "ℙ(a) = 0.300000\n")


@pytest.mark.parametrize("folder", ["~nobody-here/x", "relative", "/dev/null", "x" * 5000])
def test_odd_cache_folders(dpasp: Command, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    monkeypatch.setenv("HOME", "nowhere")
    code, out, err = dpasp("run", text="0.3::a. #query a.")
    assert (code, out, err) == (0, "ℙ(a) = 0.300000\n", "")
    assert not Path("relative").exists()


def test_files_that_include_one_another_too_deep(dpasp: Command, tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"f{number}.plp").write_text(f'#include "f{number + 1}.plp".\n')
    code, _, err = dpasp("check", str(tmp_path / "f0.plp"))
    assert (code, "more than 100 deep" in err, "include-depth" in err) == (65, True, True)
