"""Graphs as pictures: nodes and links in a few styles, with a legend of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from dpasp.dataclass import dataclass
from dpasp.display.scene import (
    Box,
    Picture,
    PlacedShape,
    Point,
    Stroke,
    TextLine,
    moved,
    shortened,
    text_width,
    titled,
)
from dpasp.errors import needed

INCH = 72.0
GAP = (0.28, 0.45)  # inches between nodes of a row, and between rows
MARGIN = 24.0
LONGEST = 260.0  # how wide the text of a node may be
LABEL_SIZE = 11.0
LEGEND_STEP = 22.0
WIDEST_LEGEND = 900.0


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The places of everything, from the upper left corner: middles of nodes, curves, labels."""

    width: float
    height: float
    nodes: tuple[Point, ...]
    curves: tuple[tuple[Point, ...], ...]  # Bézier curves, in the form of strokes
    labels: Mapping[int, Point] = field(default_factory=dict)  # by edge


def arrange(nodes: Sequence[Node], links: Sequence[Link]) -> Arrangement:
    """Arrange the nodes in rows from top to bottom along the links.

    Graphviz does it, in this process. It gets only sizes and returns only places, so no font is
    looked up and no file is read.
    """
    if not nodes:
        return Arrangement(0.0, 0.0, (), ())
    help = "pip install 'dpasp[plot]'"
    graphviz = needed("pygraphviz", "plot-missing", "a picture of a graph", help)
    graph = graphviz.AGraph(directed=True, strict=False)
    graph.graph_attr.update(rankdir="TB", nodesep=str(GAP[0]), ranksep=str(GAP[1]))
    graph.node_attr.update(shape="box", label="", fixedsize="true")
    graph.edge_attr.update(dir="none")
    for number, node in enumerate(nodes):
        width, height = node.size
        graph.add_node(str(number), width=f"{width / INCH:.3f}", height=f"{height / INCH:.3f}")
    for number, link in enumerate(links):
        room = {"label": _room(link.label)} if link.label else {}
        graph.add_edge(str(link.start), str(link.end), key=str(number), **room)
    return _read(graph.draw(format="plain", prog="dot").decode(), len(nodes), links)


def _room(label: str) -> str:
    """An empty table as large as a label."""
    width = text_width(label, LABEL_SIZE) + 8
    return (
        '<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" FIXEDSIZE="TRUE" '
        f'WIDTH="{width:.0f}" HEIGHT="16"><TR><TD></TD></TR></TABLE>>'
    )


def _read(plain: str, count: int, links: Sequence[Link]) -> Arrangement:
    """The places in Graphviz's plain format, in inches from the lower left corner."""
    lines = [line.split() for line in plain.splitlines()]
    width, height = (float(word) * INCH for word in lines[0][2:4])

    def place(x: str, y: str) -> Point:
        return float(x) * INCH, height - float(y) * INCH

    nodes: list[Point] = [(0.0, 0.0)] * count
    curves: list[tuple[Point, ...]] = [()] * len(links)
    labels: dict[int, Point] = {}
    # the numbers of the links from one node to another, with a label or without
    waiting: dict[tuple[int, int, bool], list[int]] = {}
    for number, link in enumerate(links):
        waiting.setdefault((link.start, link.end, bool(link.label)), []).append(number)
    for words in lines[1:]:
        if words[0] == "node":
            nodes[int(words[1])] = place(words[2], words[3])
        elif words[0] == "edge":
            size = int(words[3])
            rest = words[4 + 2 * size :]
            labelled = len(rest) > 2  # style and colour are always present
            number = waiting[int(words[1]), int(words[2]), labelled].pop(0)
            pairs = iter(words[4 : 4 + 2 * size])
            curves[number] = tuple(place(x, y) for x, y in zip(pairs, pairs, strict=True))
            if labelled:
                labels[number] = place(rest[-4], rest[-3])
    return Arrangement(width, height, tuple(nodes), tuple(curves), labels)


def arrow(curve: Sequence[Point], size: float = 7.0) -> Iterator[tuple[Point, ...]]:
    """The triangle at the end of a curve; nothing for a curve without a direction."""
    if len(curve) < 2:
        return
    (tip_x, tip_y), (from_x, from_y) = curve[-1], curve[-2]
    length = math.hypot(tip_x - from_x, tip_y - from_y)
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


@dataclass(frozen=True, slots=True)
class Look:
    """How nodes of one kind look; ``round`` ones are as round as they can be."""

    fill: str = "paper"
    stroke: str = "line"
    ink: str = "ink"
    thick: float = 1.2
    round: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    text: str
    look: Look = Look()

    @property
    def size(self) -> tuple[float, float]:
        width = min(text_width(self.text), LONGEST)
        if self.look.round and width < 14:
            return 26.0, 26.0
        return width + 22.0, 28.0


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between nodes, by number; ``label`` is written beside it."""

    start: int
    end: int
    label: str = ""
    stroke: str = "line"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend: a sample node or edge, and what it means."""

    sample: Node | Link
    meaning: str


def draw_graph(
    nodes: Sequence[Node], links: Sequence[Link], title: str = "", legend: Sequence[Key] = ()
) -> Picture:
    """The graph with its title above and its legend below."""
    places = arrange(nodes, links)
    keys = list(_legend(legend, max(places.width, 420.0)))
    head = 30.0 if title else 0.0
    width = max(
        places.width,
        text_width(title, 15) if title else 0.0,
        max((x + room for _, x, _, room in keys), default=0.0),
    )
    below = MARGIN + head + places.height + MARGIN
    rows = max((row for _, _, row, _ in keys), default=-1) + 1
    height = below + rows * LEGEND_STEP + (8.0 if rows else 0.0)
    left = MARGIN + (width - places.width) / 2
    shapes: list[PlacedShape] = [*titled(title, MARGIN, MARGIN + 8)]
    shapes += (moved(s, left, MARGIN + head) for s in _shapes(nodes, links, places))
    for key, x, row, _ in keys:
        shapes += _sample(key, MARGIN + x, below + 4 + row * LEGEND_STEP)
    return Picture(width + 2 * MARGIN, height, tuple(shapes), title)


def _shapes(
    nodes: Sequence[Node], links: Sequence[Link], places: Arrangement
) -> Iterator[PlacedShape]:
    """Edges first, so that nodes cover them, then the labels."""
    for link, curve in zip(links, places.curves, strict=True):
        if curve:
            yield from _line(link, curve)
    for node, place in zip(nodes, places.nodes, strict=True):
        yield from node_shapes(node, *place)
    for number, (x, y) in places.labels.items():
        text = links[number].label
        room = text_width(text, LABEL_SIZE)
        yield Box(x - room / 2 - 1, y - 8, room + 2, 15, fill="paper", radius=3)
        yield TextLine(x, y + 4, text, LABEL_SIZE, fill="accent")


def _line(link: Link, curve: tuple[Point, ...]) -> Iterator[PlacedShape]:
    yield Stroke(curve, link.stroke, dashed=link.dashed, curved=len(curve) > 2)
    for triangle in arrow(curve):
        yield Stroke(triangle, link.stroke, 0.5, fill=link.stroke)


def node_shapes(node: Node, x: float, y: float) -> Iterator[PlacedShape]:
    width, height = node.size
    look = node.look
    shown = shortened(node.text, LONGEST)
    yield Box(
        x - width / 2, y - height / 2, width, height,
        look.fill, look.stroke, look.thick,
        radius=height / 2 if look.round else 6.0,
        title=node.text if shown != node.text else "",
    )  # fmt: skip
    yield TextLine(x, y + 4.5, shown, fill=look.ink)


def _legend(legend: Sequence[Key], width: float) -> Iterator[tuple[Key, float, int, float]]:
    """The keys with their positions: how far to the right, in which row, and how wide."""
    x, row = 0.0, 0
    for key in legend:
        room = _sample_width(key) + 10 + text_width(key.meaning, 12) + 24
        if x and x + room > min(width, WIDEST_LEGEND):
            x, row = 0.0, row + 1
        yield key, x, row, room
        x += room


def _sample_width(key: Key) -> float:
    return 34.0 if isinstance(key.sample, Link) else key.sample.size[0] * 0.8


def _sample(key: Key, x: float, y: float) -> Iterator[PlacedShape]:
    width = _sample_width(key)
    if isinstance(key.sample, Link):
        yield from _line(key.sample, ((x, y), (x + width, y)))
    else:
        look, height = key.sample.look, 19.0
        radius = height / 2 if look.round else 5.0
        yield Box(x, y - height / 2, width, height, look.fill, look.stroke, look.thick, radius)
        yield TextLine(x + width / 2, y + 4, key.sample.text, 10.5, fill=look.ink)
    yield TextLine(x + width + 8, y + 4, key.meaning, 12, "start", fill="faint")
