"""A circuit as a picture: its questions at the top, sums and products below, models at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.circuits import Circuit
from dpasp.circuits.layers import LEAF, OTHER, QE, SUM, E
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.pictures.graph import Key, Link, Look, Node, draw_graph
from dpasp.pictures.scene import Scene

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


def circuit_scene(
    circuit: Circuit, names: Sequence[str] = (), questions: Sequence[str] = (), title: str = ""
) -> Scene:
    """The circuit, its edges labelled by what ``names`` says of the leaf weights."""
    flat: dict[str, list[int]] = {key: list(map(int, v)) for key, v in _lists(circuit)}
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
    links = [link for node in range(count) for link in _below(flat, node, names)]
    for i, root in enumerate(flat["roots"]):
        nodes.append(Node(questions[i] if i < len(questions) else f"question {i + 1}", QUESTION))
        links.append(Link(len(nodes) - 1, root))
    return draw_graph(nodes, links, title, list(_keys(nodes)))


def _lists(circuit: Circuit) -> Iterator[tuple[str, Sequence[int]]]:
    for name, array in circuit.arrays().items():
        if array.dtype.kind in "iu":
            yield name, array.tolist()


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
