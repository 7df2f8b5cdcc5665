"""Answers as text: a line each, or one table when they have a number for each test row."""

from __future__ import annotations

import numpy as np

from dpasp.inference.answers import Answer, Answers, number_text


def answers_text(answers: Answers) -> str:
    """What the command line prints for the answers, without a final line end."""
    by_row = [answer for answer in answers if isinstance(answer, Answer) and _has_rows(answer)]
    lines = [str(answer) for answer in answers if not any(answer is one for one in by_row)]
    if by_row:
        lines += _table(by_row)
    return "\n".join(lines)


def _has_rows(answer: Answer) -> bool:
    return any(np.ndim(number) > 0 for number in answer.numbers)


def _table(answers: list[Answer]) -> list[str]:
    """A column for each answer, a line for each test row."""
    columns = [_column(answer) for answer in answers]
    length = max(len(column) for column in columns)
    rows = ["row", *map(str, range(length - 1))]
    widths = [max(map(len, column)) for column in (rows, *columns)]
    return [
        "  ".join(
            column[i].rjust(width) for column, width in zip((rows, *columns), widths, strict=True)
        )
        for i in range(length)
    ]


def _column(answer: Answer) -> list[str]:
    """The name of an answer and its numbers, one text a row."""
    numbers = np.broadcast_arrays(*answer.numbers)
    texts = [[number_text(float(number)) for number in row] for row in zip(*numbers, strict=True)]
    shown = [row[0] if len(row) == 1 else f"[{', '.join(row)}]" for row in texts]
    return [f"ℙ({answer.query})", *shown]
