"""Places for the nodes and edges of a graph: Graphviz decides, in this process.

Only sizes go there and only places come back, so no font is looked for and no file is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.pictures.scene import Point

INCH = 72.0
GAP = (0.28, 0.45)  # inches between nodes of a row, and between rows


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to another, by number, with room for a label of some size."""

    start: int
    end: int
    label: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where everything is, from the upper left corner: middles of nodes, curves, labels."""

    width: float
    height: float
    nodes: tuple[Point, ...]
    curves: tuple[tuple[Point, ...], ...]  # Bézier curves, as strokes take them
    labels: Mapping[int, Point] = field(default_factory=dict)  # by edge


def arrange(
    sizes: Sequence[tuple[float, float]], edges: Sequence[Edge], direction: str = "TB"
) -> Arrangement:
    """Places for nodes of the given widths and heights, in rows along the edges.

    ``direction`` is TB (the edges go down) or LR (to the right).
    """
    if not sizes:
        return Arrangement(0.0, 0.0, (), ())
    graph = _graphviz()(directed=True, strict=False)
    graph.graph_attr.update(rankdir=direction, nodesep=str(GAP[0]), ranksep=str(GAP[1]))
    graph.node_attr.update(shape="box", label="", fixedsize="true")
    graph.edge_attr.update(dir="none")
    for number, (width, height) in enumerate(sizes):
        graph.add_node(str(number), width=f"{width / INCH:.3f}", height=f"{height / INCH:.3f}")
    for number, edge in enumerate(edges):
        room = {} if edge.label is None else {"label": _room(*edge.label)}
        graph.add_edge(str(edge.start), str(edge.end), key=str(number), **room)
    return _read(graph.draw(format="plain", prog="dot").decode(), len(sizes), edges)


def _graphviz() -> Any:
    try:
        from pygraphviz import AGraph
    except ImportError as error:
        raise UsageError(
            Diagnostic(
                "plot-missing",
                "a picture of a graph needs pygraphviz, which is not installed",
                help="pip install 'dpasp[plot]'",
            )
        ) from error
    return AGraph


def _room(width: float, height: float) -> str:
    """An empty label of a size."""
    return (
        '<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width:.0f}" HEIGHT="{height:.0f}"><TR><TD></TD></TR></TABLE>>'
    )


def _read(plain: str, count: int, edges: Sequence[Edge]) -> Arrangement:
    """The places that Graphviz's plain format tells, in inches from the lower left corner."""
    lines = [line.split() for line in plain.splitlines()]
    width, height = (float(word) * INCH for word in lines[0][2:4])

    def place(x: str, y: str) -> Point:
        return float(x) * INCH, height - float(y) * INCH

    nodes: list[Point] = [(0.0, 0.0)] * count
    curves: list[tuple[Point, ...]] = [()] * len(edges)
    labels: dict[int, Point] = {}
    waiting = _by_ends(edges)
    for words in lines[1:]:
        if words[0] == "node":
            nodes[int(words[1])] = place(words[2], words[3])
        elif words[0] == "edge":
            size = int(words[3])
            rest = words[4 + 2 * size :]
            labelled = len(rest) > 2  # style and colour are always told
            number = waiting[int(words[1]), int(words[2]), labelled].pop(0)
            pairs = iter(words[4 : 4 + 2 * size])
            curves[number] = tuple(place(x, y) for x, y in zip(pairs, pairs, strict=True))
            if labelled:
                labels[number] = place(rest[-4], rest[-3])
    return Arrangement(width, height, tuple(nodes), tuple(curves), labels)


def _by_ends(edges: Sequence[Edge]) -> dict[tuple[int, int, bool], list[int]]:
    """The numbers of the edges from a node to another, with a label or without."""
    by_ends: dict[tuple[int, int, bool], list[int]] = {}
    for number, edge in enumerate(edges):
        by_ends.setdefault((edge.start, edge.end, edge.label is not None), []).append(number)
    return by_ends


def arrow(curve: Sequence[Point], size: float = 7.0) -> Iterator[tuple[Point, ...]]:
    """The triangle at the end of a curve; nothing for a curve without a direction."""
    if len(curve) < 2:
        return
    (tip_x, tip_y), (from_x, from_y) = curve[-1], curve[-2]
    length = ((tip_x - from_x) ** 2 + (tip_y - from_y) ** 2) ** 0.5
    if not length:
        return
    along = ((tip_x - from_x) / length * size, (tip_y - from_y) / length * size)
    base = (tip_x - along[0], tip_y - along[1])
    side = (-along[1] * 0.42, along[0] * 0.42)
    yield (
        (tip_x, tip_y),
        (base[0] + side[0], base[1] + side[1]),
        (base[0] - side[0], base[1] - side[1]),
    )
