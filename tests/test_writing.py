"""Files are written all or nothing, by one function, and what killed runs left is swept."""

from __future__ import annotations

import ast
import ctypes
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dpasp
from dpasp.cli import main
from dpasp.writing import _ASIDE as ASIDE
from dpasp.writing import aside, write_aside, write_text

SOURCE = Path(dpasp.__file__).parent
HELPER = "import os, sys, time\nfrom dpasp.writing import aside\n"


def killed_while_writing(target: Path) -> None:
    """Kill a process that has written half of a file."""
    text = HELPER + (
        "with aside(sys.argv[1]) as file:\n"
        "    file.write_text('half'); print('now', flush=True); time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", text, str(target)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"now\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_a_kill_leaves_the_old_file_and_the_next_run_sweeps(tmp_path: Path) -> None:
    target = tmp_path / "p.json"
    target.write_text("good")
    killed_while_writing(target)
    assert target.read_text() == "good"
    assert len(list(tmp_path.iterdir())) == 2
    write_text(tmp_path / "other.svg", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.svg", "p.json"]


def test_what_others_are_writing_is_not_swept(tmp_path: Path) -> None:
    with aside(tmp_path / "a.txt") as mine:
        mine.write_text("mine")
        write_text(tmp_path / "b.txt", "b")
        assert mine.exists()
        elsewhere = mine.with_name(f".c.dpasp-00000000-1-{'0' * 16}.txt")
        elsewhere.write_text("of another machine")
        write_text(tmp_path / "b.txt", "b")
        assert elsewhere.exists()
        long_ago = time.time() - 2 * 86400
        os.utime(elsewhere, (long_ago, long_ago))
        write_text(tmp_path / "b.txt", "b")
        assert not elsewhere.exists()
    assert (tmp_path / "a.txt").read_text() == "mine"


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "p.txt"
    target.write_text("good")

    def fails(file: Path) -> None:
        file.write_text("half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_aside(target, fails)
    assert [path.name for path in tmp_path.iterdir()] == ["p.txt"]
    assert target.read_text() == "good"
    with pytest.raises(dpasp.UsageError, match="cannot write"):
        write_text(tmp_path / "none" / "p.txt", "text")


def test_rights_and_links(tmp_path: Path) -> None:
    target, victim = tmp_path / "p.txt", tmp_path / "victim"
    target.write_text("old")
    target.chmod(0o640)
    write_text(target, "new")
    assert (target.stat().st_mode & 0o777, target.read_text()) == (0o640, "new")
    victim.write_text("precious")
    (tmp_path / "link").symlink_to(victim)
    write_text(tmp_path / "link", "new")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "link").is_symlink()


def test_devices_are_written_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    write_text(tmp_path / "link", "gone")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    write_text(tmp_path / "nowhere", "here")
    assert not (tmp_path / "none").exists()


def test_the_old_file_is_there_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that writes a file fails before the last step: the old file stays."""
    program = tmp_path / "p.plp"
    program.write_text("0.3::a. #query   a.")
    commands = {
        "c.json": ["compile", str(program), "-o"],
        "c.svg": ["compile", str(program), "-o"],
        "plot.svg": ["run", str(program), "--plot"],
        "o.plp": ["convert", str(program), "--from", "problog", "-o"],
    }

    def no(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpasp.writing.os.replace", no)
    for name, command in commands.items():
        (tmp_path / name).write_text("old")
        assert main([*command, str(tmp_path / name)]) != 0
        assert (tmp_path / name).read_text() == "old"
    assert main(["format", str(program)]) != 0
    assert program.read_text() == "0.3::a. #query   a."
    assert {path.name for path in tmp_path.iterdir()} == {*commands, "p.plp"}


def test_nothing_else_writes_files() -> None:
    """Only ``writing`` opens files to write; others give it what to write."""
    # the console, the process and the language server redirect standard streams, children write
    # into a pipe
    allowed = {"writing.py", "cli/console.py", "cli/process.py", "ground/child.py"}
    allowed |= {"scale/worker.py", "cli/lsp.py"}
    found = []
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and name not in allowed:
                called = ast.unparse(node.func)
                modes = [ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))]
                opens = called in ("open", "os.fdopen") or called.endswith(".open")
                if opens and any(mode.strip("'\"")[:1] in "wax" for mode in modes[1:2]):
                    found.append(f"{name}:{node.lineno}")
                if called.endswith((".replace", ".rename")) and called.startswith("os."):
                    found.append(f"{name}:{node.lineno}")
                if called in ("tempfile.mkstemp", "tempfile.NamedTemporaryFile"):
                    found.append(f"{name}:{node.lineno}")
    assert found == []


def write_by_command(*words: str) -> Callable[[Path, str], object]:
    return lambda folder, name: main([words[0], str(folder / "p.plp"), *words[1:], name])


def write_checkpoints(folder: Path, name: str) -> None:
    program = dpasp.loads("?::a. #semantics maxent.")
    program.learn(["a", "not a"], niters=2, checkpoint=name)
    program.save(name)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are made")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("c.safetensors", write_checkpoints),
        ("a.csv", write_by_command("run", "--csv")),
        ("a.svg", write_by_command("run", "--plot")),
        ("a.png", write_by_command("run", "--plot")),
        ("a.pdf", write_by_command("run", "--plot")),
        ("a.html", write_by_command("run", "--report")),
        ("c.json", write_by_command("compile", "-o")),
        ("c.nnf", write_by_command("compile", "-o")),
        ("o.plp", write_by_command("convert", "--from", "problog", "-o")),
    ],
)
def test_only_files_that_are_swept_are_made_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, write: Callable[[Path, str], object]
) -> None:
    """A file aside with a name of somebody else's would stay after a kill for good."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.plp").write_text("0.3::a. query(a)." if name == "o.plp" else "0.3::a. #query a.")
    with new_files(tmp_path) as made:
        write(tmp_path, name)
    assert made
    assert [one for one in made if not ASIDE.fullmatch(one)] == []
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~current_mask()
    assert not [one for one in tmp_path.iterdir() if ASIDE.fullmatch(one.name)]


@contextmanager
def new_files(folder: Path) -> Iterator[list[str]]:
    """The names of the files that are made in a folder, however short they are there."""
    system = ctypes.CDLL(None)
    watching = system.inotify_init1(os.O_NONBLOCK)
    assert system.inotify_add_watch(watching, bytes(folder), 0x100) >= 0  # IN_CREATE
    made: list[str] = []
    try:
        yield made
        events = os.read(watching, 2**16)
    finally:
        os.close(watching)
    while events:
        *_, length = struct.unpack_from("iIII", events)
        made.append(events[16 : 16 + length].rstrip(b"\0").decode())
        events = events[16 + length :]


def current_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there are no devices here")
def test_a_link_to_a_device_is_written_through(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to("/dev/null")
    write_text(link, "gone")
    assert link.is_symlink()
    assert not Path("/dev/null").is_file()
