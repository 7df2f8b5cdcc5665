"""The notebooks print what their files show.

The files hold only the text that cells print; pictures and tables are made when the notebooks are
run. `python -m tests.test_notebooks` rewrites the outputs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.clocks import PATIENCE

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = [*sorted((DOCS / "tutorials").glob("*.ipynb")), DOCS / "gallery.ipynb"]


def run(path: Path) -> Any:
    """The notebook after running it in its own folder, with its text outputs alone."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=int(PATIENCE),
        startup_timeout=int(PATIENCE),
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],
    ).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = joined(list(filter(is_plain, cell.outputs)))
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """Outputs with neighbouring pieces of a stream put together: it is cut anywhere."""
    found: list[Any] = []
    for output in outputs:
        stream = output.output_type == "stream"
        if stream and found and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def is_plain(output: Any) -> bool:
    """Whether an output is printed text: no picture, no table, no warning with a temporary path."""
    if output.output_type == "stream":
        return bool(output.name == "stdout")
    return "data" not in output or set(output.data) == {"text/plain"}


def shown(notebook: Any) -> list[tuple[str, list[str]]]:
    """Every cell with code and what it prints."""
    return [
        (cell.source, [str(o.get("text") or o.get("data", {})) for o in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_shown_is_what_happens(path: Path) -> None:
    assert shown(run(path)) == shown(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_files_hold_only_outputs_that_are_checked(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.execution_count is None
            assert all(map(is_plain, cell.outputs))


def test_there_are_seven_tutorials() -> None:
    assert len(NOTEBOOKS) == 8


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {page.with_suffix("") for kind in ("*.md", "*.ipynb") for page in DOCS.rglob(kind)}
    listed = {
        page.parent / name
        for page in DOCS.rglob("*.md")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.S)
        for name in block.split()
    }
    assert pages - listed == {DOCS / "index"}


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(run(path), path)
