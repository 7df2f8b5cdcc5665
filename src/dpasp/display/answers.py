"""Answers as text and as tables in files.

As text, there is a line for each answer, or one table if answers have a number for each test row.
In a file, there is a line for each answer and test row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpasp.errors import UsageError, needed
from dpasp.ground.columns import plain_value
from dpasp.ground.terms import parse_symbol
from dpasp.inference.answers import (
    EDGE,
    Answer,
    Answers,
    AnyAnswer,
    Decision,
    Expectation,
    MapAnswers,
    assignment_text,
    bounds_text,
    lines_and_rows,
    row_names,
    strategy_text,
)
from dpasp.writing import check_ending, harmless, printable, write_aside

ENDINGS = (".csv", ".parquet")
VARIABLE = "_dpasp_variable"  # stands for the variable in a term

Cells = list[str]


def answers_text(answers: Answers, *, brief: bool = False) -> str:
    """The answers as the command line prints them, without a final line end.

    If they have a number for each test row, the text is a table of all numbers or, if ``brief``
    (for a person), of the most probable answers in the first and last rows.
    """
    lines, rows = lines_and_rows(answers)
    if rows and brief:
        head, table = most_probable_rows(rows, labels=answers.row_labels)
        lines += _aligned([head, *table])
    elif rows:
        columns = [[answer.name, *answer.rows_text()] for answer in rows]  # a table of all numbers
        length = max(map(len, columns))
        names = ["row", *row_names(range(length - 1), answers.row_labels)]
        lines += _aligned(list(zip(names, *columns, strict=True)))
    return printable(harmless("\n".join(lines)))


def by_rows(answer: AnyAnswer) -> bool:
    """Whether an answer has a number for each test row."""
    return any(np.ndim(number) > 0 for number in answer.numbers)


def most_probable_rows(
    answers: Sequence[Answer], edge: int = EDGE, labels: Any = None
) -> tuple[Cells, list[Cells]]:
    """The head and rows of a table with the most probable answer of each test row.

    The alternatives are answers about one predicate; under credal, upper probabilities count. Only
    the first and last few rows are included. ``labels`` name the rows.
    """
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        whole = isinstance(answer, Expectation)
        groups.setdefault(answer.name if whole else _alternatives(answer.query), []).append(answer)
    count = max(np.size(number) for answer in answers for number in answer.numbers)
    shown = [i for i in range(count) if i < edge or i >= count - edge]
    head, columns = ["row"], [row_names(shown, labels)]
    for name, alternatives in groups.items():
        numbers = [np.broadcast_arrays(*answer.numbers) for answer in alternatives]
        logs = [np.broadcast_arrays(*answer.logarithms()) for answer in alternatives]
        best = [int(np.argmax([ends[-1][i] for ends in logs])) for i in shown]
        texts = [
            bounds_text([ends[i] for ends in numbers[k]], [ends[i] for ends in logs[k]])
            for i, k in zip(shown, best, strict=True)
        ]
        if len(alternatives) > 1:
            head.append(f"most probable {name}")
            columns.append([alternatives[k].query for k in best])
        head.append("probability" if len(alternatives) > 1 else alternatives[0].name)
        columns.append(texts)
    rows = [list(row) for row in zip(*columns, strict=True)]
    if len(shown) < count:
        left = f"… {count - len(shown):,} more"
        rows.insert(edge, [left, *[""] * (len(head) - 1)])
    return head, rows


def _alternatives(query: str) -> str:
    """The predicate that answers which are alternatives have in common."""
    literal, bar, evidence = query.partition(" | ")
    name, parenthesis, rest = literal.partition("(")
    single = parenthesis and rest.endswith(")") and ", " not in literal and " " not in name
    return f"{name}{bar}{evidence}" if single else query


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def columns_of(
    answers: Answers, names: Sequence[str] | None = None, logs: bool = False
) -> dict[str, Any]:
    """The numbers of answers by row, in columns named after the queries or by ``names``.

    Under credal, there are two for each, ``…_lower`` and ``…_upper``. With ``logs``, there is also
    ``…_log10`` if some numbers are below the range of doubles. Decisions are named after what they
    maximise, with their strategy in an additional column; most probable values have an
    ``…_assignment``.
    """
    columns: dict[str, Any] = {}
    for name, answer in zip(names or [a.query for a in answers], answers, strict=True):
        if isinstance(answer, Decision):
            for column, cell in _decision_cells(answer):
                columns[column] = np.append(columns.get(column, ()), [cell])
            continue
        ends = ("",) if len(answer.numbers) == 1 else ("_lower", "_upper")
        for end, numbers in zip(ends, answer.numbers, strict=True):
            columns[f"{name}{end}"] = np.atleast_1d(numbers)
        if isinstance(answer, MapAnswers):
            for end in ends:
                lower = end == "_lower"
                best = [row.lower_assignment if lower else row.assignment for row in answer]
                texts = [assignment_text(each) if each else "" for each in best]
                columns[f"{name}_assignment{end}"] = np.array(texts, dtype=object)
        known = getattr(answer, "logs", None) if logs else None
        if known is not None:
            for end, numbers in zip(ends, known, strict=True):
                columns[f"{name}_log10{end}"] = np.atleast_1d(numbers)
    return columns


def _decision_cells(decision: Decision) -> Iterator[tuple[str, float | str]]:
    kept = decision.strategies or (decision.strategy,)
    if not decision.strategies:
        ends = ("",) if len(decision.numbers) == 1 else ("_lower", "_upper")
        for end, number in zip(ends, decision.numbers, strict=True):
            yield f"{decision.name}{end}", float(number)
    possible = all(number == number for number in decision.numbers)  # not NaN
    text = " or ".join(map(strategy_text, kept)) if possible else ""
    yield f"{decision.name}_strategy", text


def predicted(answers: Answers, query: str, table: object) -> Any:
    """The answers as a DataFrame of the kind of ``table``, with a column for each value.

    Raises :class:`UsageError` if pandas is needed and not installed.
    """
    columns = columns_of(answers, value_names(query, [answer.query for answer in answers]))
    if type(table).__module__.partition(".")[0] == "polars":
        import polars

        return polars.DataFrame({str(name): column for name, column in columns.items()})
    help = "pip install pandas, or take program.query(…, evidence=table)[0].value"
    pandas = needed("pandas", "usage", "predict()", help)
    return pandas.DataFrame(columns, index=answers.row_labels)


def value_names(query: str, instances: Sequence[str]) -> list[Any]:
    """Names for the answers to a query: the values of its variable, or the atoms themselves.

    >>> value_names("s(X)", ["s(no)", "s(yes)"]), value_names("e(X,Y)", ["e(1,2)"])
    (['no', 'yes'], ['e(1,2)'])
    """
    atoms = [parse_symbol(text) for text in instances]
    pattern = parse_symbol(re.sub(r"\b_?[A-Z]\w*'*|\b_\b", VARIABLE, query))
    if pattern is None or any(atom is None for atom in atoms):
        return list(instances)
    places = [i for i, part in enumerate(pattern.arguments) if str(part) == VARIABLE]
    if len(places) != 1:
        return list(instances)
    values = [plain_value(atom.arguments[places[0]]) for atom in atoms if atom is not None]
    return values if len(set(values)) == len(values) else list(instances)


def _cell(value: float | str) -> str:
    """A number as text, empty for NaN, or text unchanged."""
    return value if isinstance(value, str) else "" if value != value else repr(value)


def write_rows(answers: Answers, path: str | Path) -> None:
    """Write a line for each row of a table of evidence, with a column for each answer.

    Numbers too small for a double have their logarithms in an additional column.
    """
    check_ending(path, "a table", (".csv",))
    columns = columns_of(answers, logs=True)
    listed = [list(map(_cell, column.tolist())) for column in columns.values()]
    rows = [(row, *cells) for row, cells in enumerate(zip(*listed, strict=True))]
    write_aside(path, lambda file: _write_csv(["row", *columns], rows, file))


def write_table(answers: Answers, path: str | Path) -> None:
    """Write the answers as .csv, or (by pandas and pyarrow) as .parquet."""
    check_ending(path, "a table", ENDINGS)
    if Path(path).suffix == ".csv":
        records = list(answers.records())
        names = list(dict.fromkeys(name for record in records for name in record))
        rows = [[record.get(name) for name in names] for record in records]
        write_aside(path, lambda file: _write_csv(names, rows, file))
    else:
        write_aside(path, lambda file: _write_parquet(answers, file))


def _write_csv(head: Sequence[str], rows: Iterable[Sequence[object]], file: Path) -> None:
    import csv

    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])


def _write_parquet(answers: Answers, file: Path) -> None:
    frame = answers.to_frame()
    try:
        frame.to_parquet(file, index=False)
    except ImportError as error:
        message, help = ".parquet needs pyarrow, which is not installed", "pip install pyarrow"
        raise UsageError.at("table-missing", message, help=f"write .csv, or {help}") from error
