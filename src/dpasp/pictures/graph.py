"""Graphs as pictures: nodes in a few styles, edges in a few styles, and a legend of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.dataclass import dataclass
from dpasp.pictures.layout import Arrangement, Edge, arrange, arrow
from dpasp.pictures.scene import (
    Box,
    PlacedShape,
    Point,
    Scene,
    Stroke,
    TextLine,
    moved,
    shortened,
    text_width,
)

MARGIN = 24.0
LONGEST = 260.0  # how wide the text of a node may be
LABEL_SIZE = 11.0
LEGEND_STEP = 22.0
WIDEST_LEGEND = 900.0


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
    """A node with its text."""

    text: str
    look: Look = Look()
    title: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """How wide and high it is."""
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
    arrow: bool = True


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend: a sample node or edge, and what it means."""

    sample: Node | Link
    meaning: str


def draw_graph(
    nodes: Sequence[Node], links: Sequence[Link], title: str = "", legend: Sequence[Key] = ()
) -> Scene:
    """The graph with its title above and its legend below."""
    edges = [Edge(link.start, link.end, _label_size(link.label)) for link in links]
    places = arrange([node.size for node in nodes], edges)
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
    shapes: list[PlacedShape] = []
    if title:
        shapes.append(TextLine(MARGIN, MARGIN + 8, title, 15, "start", bold=True))
    shapes += (moved(s, left, MARGIN + head) for s in _shapes(nodes, links, places))
    for key, x, row, _ in keys:
        shapes += _sample(key, MARGIN + x, below + 4 + row * LEGEND_STEP)
    return Scene(width + 2 * MARGIN, height, tuple(shapes), title)


def _label_size(label: str) -> tuple[float, float] | None:
    return (text_width(label, LABEL_SIZE) + 8, 16.0) if label else None


def _shapes(
    nodes: Sequence[Node], links: Sequence[Link], places: Arrangement
) -> Iterator[PlacedShape]:
    """Edges first, so that nodes lie above them, then the labels."""
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
    for triangle in arrow(curve) if link.arrow else ():
        yield Stroke(triangle, link.stroke, 0.5, fill=link.stroke)


def node_shapes(node: Node, x: float, y: float) -> Iterator[PlacedShape]:
    """A node around its middle."""
    width, height = node.size
    look = node.look
    shown = shortened(node.text, LONGEST)
    yield Box(
        x - width / 2, y - height / 2, width, height,
        look.fill, look.stroke, look.thick,
        radius=height / 2 if look.round else 6.0,
        title=node.title or (node.text if shown != node.text else ""),
    )  # fmt: skip
    yield TextLine(x, y + 4.5, shown, fill=look.ink)


def _legend(legend: Sequence[Key], width: float) -> Iterator[tuple[Key, float, int, float]]:
    """The keys with their places: how far to the right, in which row, and how wide each is."""
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
    """A key with its meaning."""
    width = _sample_width(key)
    if isinstance(key.sample, Link):
        yield from _line(key.sample, ((x, y), (x + width, y)))
    else:
        look, height = key.sample.look, 19.0
        radius = height / 2 if look.round else 5.0
        yield Box(x, y - height / 2, width, height, look.fill, look.stroke, look.thick, radius)
        yield TextLine(x + width / 2, y + 4, key.sample.text, 10.5, fill=look.ink)
    yield TextLine(x + width + 8, y + 4, key.meaning, 12, "start", fill="faint")
