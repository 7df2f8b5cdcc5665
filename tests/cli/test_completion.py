"""``dpasp completion``: the scripts know every command and option, and shells can read them."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dpasp.cli.commands import COMMANDS
from dpasp.cli.completion import command_options, words_of
from tests.cli.conftest import Command
from tests.clocks import PATIENCE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_everything_is_in_the_script(dpasp: Command, shell: str) -> None:
    script = dpasp("completion", shell).out
    for name in COMMANDS:
        assert name in script
        for option in command_options(name):
            for word in words_of(option):
                assert (word.lstrip("-") if shell == "fish" else word) in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


def complete(script: str, *words: str) -> list[str]:
    """What bash offers for the last of some words."""
    line = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dpasp; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(dpasp: Command) -> None:
    script = dpasp("completion", "bash").out
    assert complete(script, "dpasp", "co") == ["compile", "convert", "completion"]
    assert complete(script, "dpasp", "run", "--ev") == ["--evidence"]
    assert complete(script, "dpasp", "run", "x.plp", "-p", "ma") == ["maxent"]
    assert complete(script, "pasp", "completion", "f") == ["fish"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("dpasp co", {"compile", "convert", "completion"}),
        ("dpasp run --ev", {"--evidence"}),
        ("dpasp run x.plp -p ma", {"maxent"}),
        ("pasp completion f", {"fish"}),
    ],
)
def test_fish_completes(dpasp: Command, line: str, wanted: set[str], tmp_path: Path) -> None:
    path = tmp_path / "dpasp.fish"
    path.write_text(dpasp("completion", "fish").out)
    ask = f"source {path}; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask], capture_output=True, text=True, cwd=tmp_path
    )
    offered = {one.split("\t")[0] for one in done.stdout.splitlines()}
    assert (offered - {path.name}, done.stderr) == (wanted, "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("dpasp conv", "dpasp convert"),
        ("dpasp run --ev", "dpasp run --evidence"),
        ("dpasp run x.plp -p ma", "dpasp run x.plp -p maxent"),
        ("pasp completion f", "pasp completion fish"),
    ],
)
def test_zsh_completes(dpasp: Command, line: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "_dpasp").write_text(dpasp("completion", "zsh").out)
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb"})
    begin = f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D; echo REA''DY\n"
    try:
        os.write(terminal, begin.encode())
        assert "READY\r\n" in seen_in(terminal, "READY\r\n")
        # Ctrl-A goes to the beginning of the line that was completed, to have it printed.
        os.write(terminal, f"{line}\t\x01print -r -- @\n".encode())
        assert f"\n@{wanted}" in seen_in(terminal, f"\n@{wanted}")
    finally:
        os.close(terminal)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def seen_in(terminal: int, wanted: str, seconds: float = PATIENCE) -> str:
    """What a terminal shows until it shows something wanted, or for so long."""
    shown, end = "", time.monotonic() + seconds
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


def test_an_unknown_shell(dpasp: Command) -> None:
    assert dpasp("completion", "cmd").code == 2
