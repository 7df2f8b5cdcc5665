"""Rows of data: functions, arrays, lists, Datasets and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from clingo import Function

import dpasp
from dpasp.learning.data import Ahead, DataRows, as_rows

TABLE = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
PROGRAM = """
#python
import numpy, torch
class Pairs(torch.utils.data.Dataset):
    def __len__(self): return 3
    def __getitem__(self, i): return torch.tensor(table[i]), i
table = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
def net(): return torch.nn.Identity()
def tensor(): return torch.tensor(table)
def array(): return numpy.array(table)
def listed(): return table
def stacked(): return [torch.tensor(row) for row in table]
def dataset(): return Pairs()
def scaled(by, name): return torch.tensor(table) * by if name == "half" else None
def short(): return table[:2]
def ragged(): return [[0.5, 0.5], [1.0]]
def number(): return 3.0
def nothing(): return None
def words(): return ["a", "b"]
def broken(): raise ValueError("no such data")
#end.
i(0) ~ test({origin}).
?::d(X, {{a, b}}) as @net :- i(X).
#query d(0, a).
#semantics maxent.
"""


def answers(origin: str, folder: Path) -> object:
    path = folder / "program.plp"
    path.write_text(PROGRAM.replace("{origin}", origin).replace("{{", "{").replace("}}", "}"))
    return dpasp.load(path).query()[0].value


@pytest.mark.parametrize(
    "origin",
    [
        "@tensor",
        "@array",
        "@listed",
        "@stacked",
        "@dataset",
        '@scaled(1, "half")',
        "@scaled(1,half)",
    ],
)
def test_functions(origin: str, tmp_path: Path) -> None:
    assert answers(origin, tmp_path) == pytest.approx([0.25, 0.5, 1.0])


@pytest.mark.parametrize("name", ["rows.csv", "named.csv", "rows.npy", "rows.pt"])
def test_files_beside_the_program(name: str, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "rows.csv", TABLE, delimiter=",")
    np.savetxt(tmp_path / "named.csv", TABLE, delimiter=",", header='"p(a)",q', comments="")
    np.save(tmp_path / "rows.npy", np.array(TABLE))
    torch.save(torch.tensor(TABLE), tmp_path / "rows.pt")
    assert answers(f'"{name}"', tmp_path) == pytest.approx([0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        ('"missing.csv"', "data-file"),
        ('"pickle.pt"', "data-file"),
        ('"words.csv"', "data-file"),
        ('"gap.csv"', "data-file"),
        ('"short.csv"', "data-file"),
        ('"rows.txt"', "data-file"),
        ("@ragged", "data-rows"),
        ("@number", "data-rows"),
        ("@nothing", "data-rows"),
        ("@words", "data-rows"),
        ("@broken", "python-error"),
        ("@scaled", "python-error"),
    ],
)
def test_what_is_refused(origin: str, code: str, tmp_path: Path) -> None:
    torch.save({"not": "a tensor"}, tmp_path / "pickle.pt")
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    (tmp_path / "gap.csv").write_text("0.5,\n0.5,0.5\n")  # what is no header is never skipped
    (tmp_path / "short.csv").write_text("0.5\n0.5,0.5\n")
    with pytest.raises(dpasp.Error) as caught:
        answers(origin, tmp_path)
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert first.span is not None
    assert first.span.file.endswith("program.plp")


class Runs:
    """What makes a file when a pickle of it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_a_file_of_tensors_runs_nothing(tmp_path: Path) -> None:
    torch.save([Runs(tmp_path / "ran")], tmp_path / "rows.pt")
    with pytest.raises(dpasp.DataError, match=r"rows\.pt cannot be read"):
        answers('"rows.pt"', tmp_path)
    assert not (tmp_path / "ran").exists()


def test_unequal_lengths_name_both(tmp_path: Path) -> None:
    with pytest.raises(dpasp.DataError, match=r"i\(1\) has 2 rows of test data, but i\(0\) has 3"):
        answers("@tensor). i(1) ~ test(@short", tmp_path)


def test_no_data_for_a_part_is_told() -> None:
    text = PROGRAM.replace("test({origin})", "train(@tensor)")
    text = text.replace("{{", "{").replace("}}", "}")
    with pytest.raises(dpasp.DataError, match=r"i\(0\) has no test data"):
        dpasp.loads(text, python=True).query()


def test_integers_stay_integers_and_doubles_become_torchs_own() -> None:
    assert as_rows(np.array([1, 2])).span(0, 2).dtype == torch.int64
    assert as_rows(np.array([1.0, 2.0])).span(0, 2).dtype == torch.float32
    assert as_rows(torch.tensor([1.0], dtype=torch.float64)).span(0, 1).dtype == torch.float64


def test_rows_of_one_tensor_are_taken() -> None:
    images = torch.arange(24).reshape(4, 3, 2)
    sources = [images[:, 0], images[:, 1], images[:, 0]]
    data = {Function(f"a{i}"): DataRows(source) for i, source in enumerate(sources)}
    taken = Ahead(data, (), 0).take(torch.tensor([1]))
    assert [rows.tolist() for rows in taken.values()] == [[[6, 7]], [[8, 9]], [[6, 7]]]


def test_arrays_that_cannot_be_written_to() -> None:
    labels = np.array([0, 1, 1])
    labels.flags.writeable = False  # as those of pandas
    program = dpasp.loads("?::c(x); ?::c(y).")
    program.learn(labels, query="c(V)")  # a warning would be an error
    assert program.learned()[0]["values"] == pytest.approx([1 / 3, 2 / 3])
