"""The statistics of a circuit, as text."""

from __future__ import annotations

from dpasp.circuits import PartStatistics, Statistics

MOST_PARTS = 10  # that are listed


def statistics_text(statistics: Statistics, *, parts: bool) -> str:
    """What a circuit was made of and what came out, a line for each; ``parts``: the widest too."""
    lines = [
        f"choices: {statistics.choices}",
        f"atoms that they determine: {statistics.determined}",
        f"inner atoms: {statistics.inner}",
        f"inner variables: {statistics.guesses}",
        f"gates: {statistics.gates}",
        f"parts: {len(statistics.parts)}",
        f"width: {statistics.width}",
        f"way: {statistics.way.replace('+', ', ') or 'none'}",
        f"order: {statistics.order.replace('+', ', ') or 'none'}",
        f"nodes: {statistics.nodes}",
        f"edges: {statistics.edges}",
        f"depth: {statistics.depth}",
        f"seconds: {statistics.seconds:.3f}",
    ]
    if parts:
        widest = sorted(enumerate(statistics.parts, 1), key=lambda pair: -pair[1].width)
        lines += (f"part {i}: {_part_text(part)}" for i, part in widest[:MOST_PARTS])
        more = len(widest) - MOST_PARTS
        lines += [f"and {more:,} more part{'s' * (more > 1)}, none wider"] if more > 0 else []
    return "\n".join(lines)


def _part_text(part: PartStatistics) -> str:
    return (
        f"choices {part.choices}, inner variables {part.guesses}, gates {part.gates}, "
        f"width {part.width}, {part.way} ({part.order}), nodes {part.nodes}, {part.seconds:.3f} s"
    )
