"""BLInD's items become programs, and what is wrong in a set is told."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from benchmarks.networks import blind

RAIN = (
    "clear sky is true with probability of 20%. clear sky is false with probability of 80%. "
    "If clear sky is False, then rain is True with probability of 50%. "
    "If clear sky is False, then rain is False with probability of 50%. "
    "If clear sky is True, then rain is True with probability of 5%. "
    "If clear sky is True, then rain is False with probability of 95%. "
)
EDGES = "() -> clear sky | ('clear sky',) -> rain"
BOTH = "What is the probability that rain is True and clear sky is False?"
WHY = "What is the probability that clear sky is True given that rain is False?"


def written(file: Path, *rows: tuple[str, str, float, str]) -> Path:
    """A set of items: sentences, question, answer, graph."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["contexts", "query", "answers", "graph", "depth"])
        table.writerows([*row, 2] for row in rows)
    return file


def test_sentences_become_a_program() -> None:
    assert blind.program(RAIN, WHY).splitlines() == [
        "0.2::clear_sky.",
        "0.5::rain :- not clear_sky.",
        "0.05::rain :- clear_sky.",
        "#query clear_sky | not rain.",
    ]


@pytest.mark.parametrize("system", blind.SYSTEMS)
@pytest.mark.parametrize(("question", "value"), [(BOTH, 0.4), (WHY, 0.19 / 0.59)])
def test_every_system_answers(system: str, question: str, value: float) -> None:
    if system != "dpasp":
        pytest.importorskip(system)
    found = blind.SYSTEMS[system](blind.program(RAIN, question))
    assert found == pytest.approx(value, abs=1e-12)


def test_a_set_is_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "datasets").mkdir()
    item = (RAIN, BOTH, 0.4, EDGES)
    written(tmp_path / "datasets" / blind.SETS[0], item, (RAIN, WHY, 0.19 / 0.59, EDGES), item)
    assert blind.main([str(tmp_path), "--peers", "none"]) == 0
    assert "3 of 3 answers are met. 1 items repeat an earlier one." in capsys.readouterr().out


def test_a_wrong_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "own.csv", (RAIN, BOTH, 0.4, EDGES), (RAIN, BOTH, 0.41, EDGES))
    assert blind.main([str(file), "--peers", "none"]) == 1
    said = capsys.readouterr().out
    assert "1 of 2 answers are met." in said
    assert "own.csv, item 2: dpasp 0.4, the set 0.41" in said


@pytest.mark.parametrize(
    ("context", "question", "edges", "said"),
    [
        (RAIN.replace("95%", "96%"), BOTH, EDGES, "item 1: rain given .* percentages"),
        (RAIN[RAIN.index("If") :], BOTH, EDGES, "item 1: the graph is"),
        (RAIN, BOTH, "() -> clear sky | () -> rain", "item 1: the graph is"),
        (RAIN + RAIN[: RAIN.index(".") + 1], BOTH, EDGES, "item 1: told twice"),
        (RAIN + "It may snow. ", BOTH, EDGES, "item 1: not a sentence about a network: 'It may"),
        (RAIN, "Will it rain?", EDGES, "item 1: not a question: 'Will it rain"),
        (RAIN, BOTH.replace("is True", "is likely"), EDGES, "item 1: not an event: 'rain is l"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, context: str, question: str, edges: str, said: str
) -> None:
    file = written(tmp_path / "own.csv", (context, question, 0.4, edges))
    with pytest.raises(ValueError, match=said):
        list(blind.items(file))


def test_a_folder_without_the_sets_says_where_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        blind.main([str(tmp_path)])
    assert "git clone https://github.com/HLR/BLInD" in capsys.readouterr().err
