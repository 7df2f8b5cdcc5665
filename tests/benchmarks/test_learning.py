"""The scripts of benchmarks/learning run, on a few images of noise."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.learning import digits, records, shortcuts, tasks

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty images to learn from and twenty to test with, in MNIST's files."""
    monkeypatch.setenv("DPASP_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    random = np.random.default_rng(1)
    for part, rows in (("train", 60), ("t10k", 20)):
        labels = random.permutation(np.arange(rows, dtype=np.uint8) % 10)
        images = np.repeat(labels * 25, 784).astype(np.uint8)
        for kind, skip, data in (("images-idx3", 16, images), ("labels-idx1", 8, labels)):
            path = tmp_path / "mnist" / f"{part}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(bytes(skip) + data.tobytes()))


def test_sums_are_told_by_their_digits() -> None:
    found = records.numbers(torch.tensor([[9, 1, 2, 3]]), 2)  # 19 + 32, the last digit first
    assert found == [["result(0,1)", "result(1,5)", "result(2,0)"]]


@pytest.mark.filterwarnings("ignore:the sums are hardly", "ignore:only")
def test_records_of_any_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "r.csv"
    words = ["1", "3", "--device", "cpu", "--epochs", "1", "--batch", "4", "--augment"]
    records.main(
        [*words, "--average", "0.9", "--tries", "2", "--trial", "1", "--write", str(table)]
    )
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["n"] for row in rows] == ["1", "3"]
    assert all(0 <= float(row[name]) <= 100 for name in ("sums", "digits") for row in rows)
    assert "N = 3:" in capsys.readouterr().out
    records.main(["1", "--device", "cpu", "--epochs", "1", "--write", str(tmp_path / "r.jsonl")])
    assert json.loads((tmp_path / "r.jsonl").read_text())["n"] == 1


def test_a_wrong_reading_is_told() -> None:
    with pytest.warns(UserWarning, match="mirrored"):
        records.warn(-0.2, 0.001)
    with pytest.warns(UserWarning, match="by chance"):
        records.warn(-2.3, 0.9)


def test_images_change_a_little_and_only_while_learning() -> None:
    torch.manual_seed(0)
    images = digits.mnist("train").images[:3]
    reader = digits.Reader(augment=True)
    assert not torch.equal(reader(images), reader(images))
    reader.eval()
    assert torch.equal(reader(images), reader(images))
    blot = torch.zeros(1, 1, 28, 28)
    blot[:, :, 12:16, 12:16] = 1.0
    moved = digits.changed(blot)
    assert 8 < float(moved.sum()) < 30
    where = moved[0, 0].nonzero().double().mean(0)
    assert bool(((where - 13.5).abs() < 3.5).all())


def test_views_are_moved_turned_and_scaled() -> None:
    blot = torch.zeros(1, 1, 28, 28)
    blot[:, :, 10:14, 12:16] = 1.0
    assert torch.equal(digits.View().of(blot), blot)
    moved = digits.View(right=1, down=-2).of(blot)
    assert torch.allclose(moved, blot.roll((-2, 1), (2, 3)), atol=1e-5)
    assert float(digits.View(scale=0.5).of(blot).sum()) == pytest.approx(4 * 16, rel=0.1)
    where = digits.View(turn=90).of(blot)[0, 0].nonzero().double().mean(0)
    assert torch.allclose(where, torch.tensor([13.5, 11.5], dtype=torch.float64), atol=0.1)
    assert [len(views) for views in digits.VIEWS.values()] == list(digits.VIEWS)


def test_shortcuts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["half", "--device", "cpu", "--epochs", "1", "--members", "2", "--train", "40"]
    shortcuts.main(words)
    out = capsys.readouterr().out
    assert "25.0 % of the choices are determined" in out
    assert "entropy 4, 2 members" in out
    assert "| best of 2, then without |" in out


def test_calibration() -> None:
    sure = torch.tensor([[0.95, 0.05], [0.95, 0.05], [0.35, 0.65], [0.55, 0.45]])
    found = shortcuts.calibration(sure, torch.tensor([0, 1, 1, 0]))
    assert found == pytest.approx((abs(1 - 1.9) + abs(1 - 0.65) + abs(1 - 0.55)) / 4)


def test_tasks_without_a_curriculum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "cpu", "--rows", "6", "--test", "4", "--epochs", "1", "--n", "2"]
    tasks.main(["sudoku", "parity", "addition", *words, "--plot", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["task", "sudoku", "parity", "addition"]
    assert (tmp_path / "sudoku.svg").exists()


def test_grids_are_what_they_are_said_to_be() -> None:
    generator = torch.Generator().manual_seed(0)
    assert all(tasks.is_valid(tasks.a_grid(True, generator)) for _ in range(20))
    assert not any(tasks.is_valid(tasks.a_grid(False, generator)) for _ in range(20))
