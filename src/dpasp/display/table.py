"""Answers as a table in a file: a line for each answer and test row."""

from __future__ import annotations

from pathlib import Path

from dpasp.errors import Diagnostic, UsageError
from dpasp.inference.answers import Answers
from dpasp.writing import check_ending, write_aside

ENDINGS = (".csv", ".parquet")


def write_table(answers: Answers, path: str | Path) -> None:
    """Write the answers as .csv, or (by pandas and pyarrow) as .parquet."""
    check_ending(path, "a table", ENDINGS)
    if Path(path).suffix == ".csv":
        write_aside(path, lambda file: _write_csv(answers, file))
    else:
        write_aside(path, lambda file: _write_parquet(answers, file))


def _write_csv(answers: Answers, file: Path) -> None:
    records = list(answers.records())
    names = list(dict.fromkeys(name for record in records for name in record))
    with file.open("w", encoding="utf-8", newline="") as stream:
        import csv

        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def _write_parquet(answers: Answers, file: Path) -> None:
    frame = answers.to_frame()
    try:
        frame.to_parquet(file, index=False)
    except ImportError as error:
        raise UsageError(
            Diagnostic(
                "table-missing",
                ".parquet needs pyarrow, which is not installed",
                help="write .csv, or pip install pyarrow",
            )
        ) from error
