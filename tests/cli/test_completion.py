"""``dpasp completion``: the scripts know every command and option, and shells can read them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from dpasp.cli.commands import COMMANDS
from dpasp.cli.completion import options_of, words_of
from tests.cli.conftest import Command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_everything_is_in_the_script(dpasp: Command, shell: str) -> None:
    script = dpasp("completion", shell).out
    for name in COMMANDS:
        assert name in script
        for option in options_of(name):
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


def test_an_unknown_shell(dpasp: Command) -> None:
    assert dpasp("completion", "cmd").code == 2
