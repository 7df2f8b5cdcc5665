"""Circuits for other eyes and tools: JSON, Graphviz, and negation normal form.

Example::

    Path("p.dot").write_text(dot(circuit, names))       # then: dot -Tsvg p.dot
    Path("p.nnf").write_text(nnf(circuit, question=0))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from dpasp.circuits.circuit import Circuit

LEAF, SUM, PRODUCT = 0, 1, 2
KINDS = {0: "no model", 1: "q, e", 2: "e, not q", 4: "not e"}


def to_json(circuit: Circuit, names: Sequence[str] = ()) -> str:
    """Nodes as ``["leaf", kinds, N_qe/N, N_e/N]``, ``["sum", [weight, child], …]`` (the weight
    null for 1) and ``["product", child, child]``, each after its children; a root a question."""
    flat = _lists(circuit)
    nodes: list[list[object]] = []
    for op, begin, end in zip(flat["op"], flat["begin"], flat["end"], strict=True):
        if op == LEAF:
            nodes.append(["leaf", flat["kinds"][begin], flat["qe"][begin], flat["e"][begin]])
        elif op == SUM:
            pairs = zip(flat["weight"][begin:end], flat["child"][begin:end], strict=True)
            nodes.append(["sum", *([w if w >= 0 else None, child] for w, child in pairs)])
        else:
            nodes.append(["product", *flat["child"][begin:end]])
    document = {
        "format": "dpasp-circuit-1",
        "logic": circuit.logic.value,
        "probability": circuit.probability.value if circuit.probability else None,
        "leaves": list(names) or circuit.leaves,
        "roots": flat["roots"],
        "statistics": asdict(circuit.statistics),
        "nodes": nodes,
    }
    return json.dumps(document)


def dot(circuit: Circuit, names: Sequence[str] = ()) -> str:
    """The circuit as a Graphviz graph; ``names`` say what the leaf weights are."""
    flat = _lists(circuit)
    lines = ["digraph circuit {", "  node [shape=circle, fontname=sans, fontsize=10];"]
    for i, (op, begin) in enumerate(zip(flat["op"], flat["begin"], strict=True)):
        if op == LEAF:
            text = _quoted(_leaf_text(flat["kinds"][begin]))
            lines.append(f"  n{i} [shape=box, label={text}];")
        else:
            lines.append(f'  n{i} [label="{"+" if op == SUM else "×"}"];')
    for i, (op, begin, end) in enumerate(zip(flat["op"], flat["begin"], flat["end"], strict=True)):
        for edge in range(begin, end if op != LEAF else begin):
            weight = flat["weight"][edge]
            label = f" [label={_quoted(_name(names, weight))}]" if weight >= 0 else ""
            lines.append(f"  n{i} -> n{flat['child'][edge]}{label};")
    for question, root in enumerate(flat["roots"]):
        lines.append(f'  q{question} [shape=plaintext, label="question {question + 1}"];')
        lines.append(f"  q{question} -> n{root};")
    return "\n".join([*lines, "}"]) + "\n"


def nnf(circuit: Circuit, question: int = 0) -> str:
    """The total choices in which some model satisfies a question, as a d-DNNF in c2d's format.

    Variable i is leaf weight i - 1: the choice takes that value. Negative literals do not
    occur; of the variables of a choice at most one is on a path.
    """
    flat = _lists(circuit)
    lines: list[str] = []
    place: dict[int, int] = {}

    def put(line: str) -> int:
        lines.append(line)
        return len(lines) - 1

    for node in _below(flat, flat["roots"][question]):
        op, begin, end = flat["op"][node], flat["begin"][node], flat["end"][node]
        if op == LEAF:
            place[node] = put("A 0" if flat["kinds"][begin] & 1 else "O 0 0")
        elif op == PRODUCT:
            place[node] = put(_line("A", [place[child] for child in flat["child"][begin:end]]))
        else:
            branches = []
            for edge in range(begin, end):
                child, weight = place[flat["child"][edge]], flat["weight"][edge]
                if weight >= 0:
                    child = put(_line("A", [put(f"L {weight + 1}"), child]))
                branches.append(child)
            place[node] = put(_line("O 0", branches))
    edges = sum(_edges(line) for line in lines)
    return "\n".join([f"nnf {len(lines)} {edges} {circuit.leaves}", *lines]) + "\n"


def _line(head: str, children: list[int]) -> str:
    return f"{head} {len(children)} {' '.join(map(str, children))}".rstrip()


def _edges(line: str) -> int:
    parts = line.split()
    return {"L": 0, "A": len(parts) - 2, "O": len(parts) - 3}[parts[0]]


def _lists(circuit: Circuit) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in circuit.arrays().items()}


def _below(flat: dict[str, list[int]], root: int) -> Iterator[int]:
    """The nodes below a root, children first."""
    needed = {root}
    for node in range(root, -1, -1):
        if node in needed and flat["op"][node] != LEAF:
            needed.update(flat["child"][flat["begin"][node] : flat["end"][node]])
    yield from sorted(needed)


def _leaf_text(kinds: int) -> str:
    if not kinds:
        return KINDS[0]
    return " | ".join(KINDS[bit] for bit in (1, 2, 4) if kinds & bit)


def _name(names: Sequence[str], weight: int) -> str:
    return names[weight] if weight < len(names) else f"w{weight}"


_quoted: Callable[[str], str] = json.dumps  # Graphviz reads the same escapes
