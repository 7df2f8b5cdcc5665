"""A circuit for people: its statistics, and a picture (SVG) with the questions at the top."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dpasp.circuits import Circuit, PartStatistics, Statistics
from dpasp.circuits.channels import LEAF, SUM, kinds_text
from dpasp.errors import Diagnostic, SizeLimit

MOST_NODES = 2_000  # more than that nobody can look at
MOST_PARTS = 10  # that are told
STEP_X, STEP_Y = 150, 110
RADIUS = 13
MARGIN = 80
STYLE = (
    "text{font:10px sans-serif;text-anchor:middle}"
    "line{stroke:#999}circle,rect{fill:#fff;stroke:#333}"
    ".weight{fill:#0a58a8;paint-order:stroke;stroke:#fff;stroke-width:3px}"
)

Flat = dict[str, list[int]]
Place = tuple[float, float]


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


def svg(circuit: Circuit, names: Sequence[str], questions: Sequence[str]) -> str:
    """The circuit drawn layer by layer; ``names`` say what the weights on its edges are."""
    if circuit.statistics.nodes > MOST_NODES:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"a picture of {circuit.statistics.nodes:,} nodes is too large to look at",
                help="write .dot or .json, or ask fewer questions",
            )
        )
    flat: Flat = {name: array.tolist() for name, array in circuit.arrays().items()}
    places = arrange(flat)
    top = min(y for _, y in places) - STEP_Y
    roots = [(places[root][0], top - 20 * i) for i, root in enumerate(flat["roots"])]
    shapes = [*_edges(flat, places, names), *_questions(flat, places, roots, questions)]
    shapes += [_node(flat, node, place) for node, place in enumerate(places)]
    everything = places + roots
    left = min(x for x, _ in everything) - MARGIN
    upper = min(y for _, y in everything) - MARGIN
    width = max(x for x, _ in everything) + MARGIN - left
    height = max(y for _, y in everything) + MARGIN - upper
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.0f} {upper:.0f} {width:.0f} {height:.0f}">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", *shapes, "</svg>"]) + "\n"


def arrange(flat: Flat) -> list[Place]:
    """A place for each node: a row for each layer, a node near the middle of its parents."""
    count = len(flat["op"])
    layer_of = [0] * count
    bounds = flat["layers"]
    for layer in range(len(bounds) - 1):
        for node in range(bounds[layer], bounds[layer + 1]):
            layer_of[node] = layer
    parents: list[list[int]] = [[] for _ in range(count)]
    for node in range(count):
        for child in children(flat, node):
            parents[child].append(node)
    x = [0.0] * count
    for layer in range(len(bounds) - 2, -1, -1):
        row = list(range(bounds[layer], bounds[layer + 1]))
        middle = {n: sum(x[p] for p in parents[n]) / len(parents[n]) for n in row if parents[n]}
        row.sort(key=lambda node: (middle.get(node, 0.0), node))
        for position, node in enumerate(row):
            x[node] = (position - (len(row) - 1) / 2) * STEP_X
    return [(x[node], -layer_of[node] * STEP_Y) for node in range(count)]


def children(flat: Flat, node: int) -> list[int]:
    """The children of a node."""
    if flat["op"][node] == LEAF:
        return []
    return flat["child"][flat["begin"][node] : flat["end"][node]]


def _edges(flat: Flat, places: list[Place], names: Sequence[str]) -> list[str]:
    lines, labels = [], []
    for node, (x1, y1) in enumerate(places):
        for offset, child in enumerate(children(flat, node)):
            x2, y2 = places[child]
            weight = flat["weight"][flat["begin"][node] + offset]
            lines.append(f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>')
            if 0 <= weight < len(names):
                # Near the parent, and each lower than the one before, so that labels do not meet.
                near = min(0.8, (28 + 16 * (offset % 4)) / max(1.0, y2 - y1))
                x, y = x1 + (x2 - x1) * near, y1 + (y2 - y1) * near
                text = escape(names[weight])
                labels.append(f'<text class="weight" x="{x:.0f}" y="{y:.0f}">{text}</text>')
    return lines + labels


def _questions(
    flat: Flat, places: list[Place], roots: list[Place], questions: Sequence[str]
) -> list[str]:
    shapes = []
    for (x, y), root, question in zip(roots, flat["roots"], questions, strict=True):
        below = places[root][1]
        shapes.append(f'<line x1="{x:.0f}" y1="{y + 4:.0f}" x2="{x:.0f}" y2="{below:.0f}"/>')
        shapes.append(f'<text x="{x:.0f}" y="{y:.0f}">{escape(question)}</text>')
    return shapes


def _node(flat: Flat, node: int, place: Place) -> str:
    x, y = place
    if flat["op"][node] == LEAF:
        text = kinds_text(flat["kinds"][flat["begin"][node]])
        width = 7 * len(text) + 8
        box = f'<rect x="{x - width / 2:.0f}" y="{y - 10:.0f}" width="{width}" height="20"/>'
        return f'{box}<text x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'
    sign = "+" if flat["op"][node] == SUM else "×"
    circle = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{RADIUS}"/>'
    return f'{circle}<text x="{x:.0f}" y="{y + 4:.0f}">{sign}</text>'
