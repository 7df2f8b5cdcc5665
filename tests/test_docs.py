"""What the documentation shows is what happens.

In the Markdown files, a ``plp`` block is a program (saved under the name after ``plp``,
if there is one, as blocks of other systems' files are); a ``text`` block right after it is what
``dpasp`` prints for it. The commands of a ``console`` block are run in a folder with the named
programs. A ``python`` block with ``>>>`` is a doctest. `python -m tests.test_docs` writes
what is printed now.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dpasp.cli import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)(?: (\S+))?\n(.*?)^\1```$", re.M | re.S)


def rendered(document: str, folder: Path) -> str:
    """The document with every output replaced by what is printed now."""
    previous: tuple[int, str] | None = None  # where the last program ended, and its name
    names: dict[str, object] = {}
    parts: list[str] = []
    end = 0
    for block in BLOCK.finditer(document):
        indent, kind, name, body = block.groups()
        text = re.sub(f"^{indent}", "", body, flags=re.M)
        shown = text
        if kind in ("plp", "csv", "problog", "bif", "xml", "uai", "wcnf", "lpmln"):
            name = name or "program.plp"
            (folder / name).write_text(text)
        elif kind == "console":
            shown = session(text, folder)
        elif kind == "text" and previous and not document[previous[0] : block.start()].strip():
            shown = printed(["run", "--no-python", previous[1]], folder)
        elif kind == "python":
            run_doctest(text, names, folder)
        previous = (block.end(), name) if kind == "plp" else None
        parts += [document[end : block.start(4)], re.sub("^(?=.)", indent, shown, flags=re.M)]
        end = block.end(4)
    return "".join(parts) + document[end:]


def printed(words: list[str], folder: Path) -> str:
    """What the command line writes to standard output."""
    stream = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(stream):
        main(words)
    return stream.getvalue()


def session(text: str, folder: Path) -> str:
    """A console session with what its commands print now, both streams together."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                ["bash", "-c", line[2:]],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            lines += [line, *done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def run_doctest(text: str, names: dict[str, object], folder: Path) -> None:
    """Run the examples of a block; the names they bind stay for the next one."""
    test = doctest.DocTestParser().get_doctest(text, names, "documentation", None, 0)
    report = io.StringIO()
    with contextlib.chdir(folder):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, report.getvalue()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_shown_is_what_happens(path: Path, tmp_path: Path) -> None:
    document = path.read_text(encoding="utf-8")
    assert rendered(document, tmp_path) == document


def test_links_lead_somewhere() -> None:
    broken = [
        f"{path.name}: {link}"
        for path in DOCUMENTS
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", path.read_text(encoding="utf-8"))
        if not (path.parent / link).exists()
    ]
    assert broken == []


if __name__ == "__main__":
    for path in DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(rendered(path.read_text(encoding="utf-8"), Path(folder)), "utf-8")
