"""The statistics of a circuit, as text."""

from __future__ import annotations

from dpasp.circuits import PartStatistics, Statistics

MOST_PARTS = 10  # that are told


def statistics_text(found: Statistics, *, parts: bool) -> str:
    """What a circuit was made of and what came out, a line for each; ``parts``: the widest too."""
    lines = [
        f"choices: {found.choices}",
        f"atoms that they determine: {found.determined}",
        f"inner atoms: {found.inner}",
        f"inner variables: {found.guesses}",
        f"gates: {found.gates}",
        f"parts: {len(found.parts)}",
        f"width: {found.width}",
        f"way: {found.way.replace('+', ', ') or 'none'}",
        f"order: {found.order.replace('+', ', ') or 'none'}",
        f"nodes: {found.nodes}",
        f"edges: {found.edges}",
        f"depth: {found.depth}",
        f"seconds: {found.seconds:.3f}",
    ]
    if parts:
        widest = sorted(enumerate(found.parts, 1), key=lambda pair: -pair[1].width)
        lines += (f"part {i}: {_part_text(part)}" for i, part in widest[:MOST_PARTS])
        more = len(widest) - MOST_PARTS
        lines += [f"and {more:,} more part{'s' * (more > 1)}, none wider"] if more > 0 else []
    return "\n".join(lines)


def _part_text(part: PartStatistics) -> str:
    return (
        f"choices {part.choices}, inner variables {part.guesses}, gates {part.gates}, "
        f"width {part.width}, {part.way} ({part.order}), nodes {part.nodes}, {part.seconds:.3f} s"
    )
