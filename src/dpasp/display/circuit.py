"""A circuit for a person: its statistics as text, and the circuit as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.circuits import Circuit, PartStatistics, Statistics
from dpasp.circuits.layers import LEAF, OTHER, QE, SUM, E
from dpasp.display.graph import Key, Link, Look, Node, draw_graph
from dpasp.display.scene import Picture
from dpasp.errors import Diagnostic, SizeLimit

MOST_PARTS = 10  # that are listed
MOST_NODES = 400  # more than that nobody can look at
QUESTION = Look(stroke="ink", thick=2.2)
PLUS = Look("accent_soft", "accent", "accent", round=True)
TIMES = Look("second_soft", "second", "second", round=True)
END = Look(stroke="line")
# What the models of an end do, in as few words as possible.
KINDS = ((QE, "q"), (E, "not q"), (OTHER, "not e"))
MEANINGS = {
    "q": "models with query and evidence",
    "not q": "models with the evidence, not the query",
    "not e": "models without the evidence",
    "no model": "no model at all",
}


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


def circuit_picture(circuit: Circuit) -> Picture:
    """The questions at the top, sums and products below them, models at the ends."""
    flat = {
        name: array.tolist() for name, array in circuit.arrays().items() if array.dtype.kind in "iu"
    }
    count = len(flat["op"])
    if count > MOST_NODES:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"a picture of {count:,} nodes is too large to look at",
                help="write .dot or .json, or ask fewer questions",
            )
        )
    nodes = [_node(flat, node) for node in range(count)]
    links = [link for node in range(count) for link in _below(flat, node, circuit.leaf_names)]
    questions = circuit.question_names
    for i, root in enumerate(flat["roots"]):
        nodes.append(Node(questions[i] if i < len(questions) else f"question {i + 1}", QUESTION))
        links.append(Link(len(nodes) - 1, root))
    title = f"circuit · {circuit.meaning.logic.value}"
    return draw_graph(nodes, links, title, list(_keys(nodes)))


def _node(flat: dict[str, list[int]], node: int) -> Node:
    if flat["op"][node] == LEAF:
        kinds = flat["kinds"][flat["begin"][node]]
        return Node(" or ".join(word for bit, word in KINDS if kinds & bit) or "no model", END)
    return Node("+", PLUS) if flat["op"][node] == SUM else Node("×", TIMES)


def _below(flat: dict[str, list[int]], node: int, names: Sequence[str]) -> Iterator[Link]:
    """The edges to the children of a node; those of a sum are named by the value taken."""
    if flat["op"][node] == LEAF:
        return
    for edge in range(flat["begin"][node], flat["end"][node]):
        weight = flat["weight"][edge]
        label = names[weight] if 0 <= weight < len(names) else ""
        yield Link(node, flat["child"][edge], label)


def _keys(nodes: Sequence[Node]) -> Iterator[Key]:
    """What occurs in the picture, explained."""
    texts = {node.text for node in nodes if node.look is END}
    looks = {id(node.look) for node in nodes}
    yield Key(Node("q | e", QUESTION), "a question")
    if id(PLUS) in looks:
        yield Key(Node("+", PLUS), "sum over the values of a choice, each times its probability")
    if id(TIMES) in looks:
        yield Key(Node("×", TIMES), "product of independent parts")
    words = {word for text in texts for word in text.split(" or ")}
    yield from (
        Key(Node(word, END), meaning) for word, meaning in MEANINGS.items() if word in words
    )
