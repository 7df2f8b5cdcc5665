"""Circuits for other tools: JSON, Graphviz, and negation normal form.

Example::

    Path("p.dot").write_text(dot(circuit, names))       # then: dot -Tsvg p.dot
    Path("p.nnf").write_text(nnf(circuit, question=0))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from dpasp.circuits.circuit import Circuit
from dpasp.circuits.layers import LEAF, QE, SUM, kinds_text


def circuit_json(circuit: Circuit, names: Sequence[str] = ()) -> str:
    """Nodes as ``["leaf", kinds, N_qe/N, N_e/N]``, ``["sum", [weight, child], …]`` (the weight
    null for 1) and ``["product", child, child]``, each after its children; one root for each
    question."""
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
        "logic": circuit.meaning.logic.value,
        "probability": circuit.meaning.probability.value,
        "leaves": list(names) or circuit.leaves,
        "roots": flat["roots"],
        "statistics": asdict(circuit.statistics),
        "nodes": nodes,
    }
    return json.dumps(document)


def dot(circuit: Circuit, names: Sequence[str] = ()) -> str:
    """The circuit as a Graphviz graph; ``names`` are those of the leaf weights."""
    flat = _lists(circuit)
    lines = ["digraph circuit {", "  node [shape=circle, fontname=sans, fontsize=10];"]
    for i, (op, begin) in enumerate(zip(flat["op"], flat["begin"], strict=True)):
        if op == LEAF:
            text = _quoted(kinds_text(flat["kinds"][begin]))
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

    Variable i says that a choice takes the value of leaf i - 1. There are no negative literals, and
    at most one variable of a choice is on a path.
    """
    formulas, root = _formulas(_lists(circuit), question)
    needed = {root}
    for place in range(root, -1, -1):
        if place in needed:
            needed.update(formulas[place][1])
    numbers = {place: number for number, place in enumerate(sorted(needed))}
    lines = []
    for place in numbers:
        head, parts = formulas[place]
        sizes = [] if head[0] == "L" else [len(parts), *(numbers[part] for part in parts)]
        lines.append(" ".join([head, *map(str, sizes)]))
    edges = sum(len(formulas[place][1]) for place in numbers)
    return "\n".join([f"nnf {len(lines)} {edges} {circuit.leaves}", *lines]) + "\n"


Formula = tuple[str, tuple[int, ...]]  # how its line begins, and the numbers of its parts
TRUE, FALSE = 0, 1


def _formulas(flat: dict[str, list[int]], question: int) -> tuple[list[Formula], int]:
    """Formulas without constants inside, each after its parts, and the number of a question's."""
    formulas: list[Formula] = [("A", ()), ("O 0", ())]
    variables: dict[int, int] = {}
    below: list[int] = []  # by node

    def joined(head: str, parts: Sequence[int], neutral: int) -> int:
        left = tuple(part for part in parts if part != neutral)
        if len(left) < 2:
            return left[0] if left else neutral
        formulas.append((head, left))
        return len(formulas) - 1

    def every(parts: Sequence[int]) -> int:
        return FALSE if FALSE in parts else joined("A", parts, TRUE)

    for op, begin, end in zip(flat["op"], flat["begin"], flat["end"], strict=True):
        if op == LEAF:
            below.append(TRUE if flat["kinds"][begin] & QE else FALSE)
            continue
        branches = []
        for child, weight in zip(flat["child"][begin:end], flat["weight"][begin:end], strict=True):
            branch = below[child]
            if op == SUM and weight >= 0:
                if weight not in variables:
                    variables[weight] = len(formulas)
                    formulas.append((f"L {weight + 1}", ()))
                branch = every([variables[weight], branch])
            branches.append(branch)
        # A branch that is true does not make a sum true: all of its branches have weight.
        below.append(joined("O 0", branches, FALSE) if op == SUM else every(branches))
    return formulas, below[flat["roots"][question]]


def nnf_map(names: Sequence[str], weights: Sequence[float], query: str, evidence: str) -> str:
    """What the variables of :func:`nnf` are and weigh, and what it says: a file beside it.

    >>> print(nnf_map(["a", "not a"], [0.3, 0.7], "b | a", "a"), end="")
    c some model satisfies query and evidence
    c query b | a
    c evidence a
    c variable weight name
    1 0.3 a
    2 0.7 not a
    """
    lines = ["c some model satisfies query and evidence", f"c query {query}"]
    lines += [f"c evidence {evidence}"] if evidence else []
    lines.append("c variable weight name")
    for i, (name, weight) in enumerate(zip(names, weights, strict=True), 1):
        lines.append(f"{i} {'?' if weight != weight else repr(weight)} {name}")
    return "\n".join(lines) + "\n"


def _lists(circuit: Circuit) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in circuit.arrays().items()}


def _name(names: Sequence[str], weight: int) -> str:
    return names[weight] if weight < len(names) else f"w{weight}"


_quoted: Callable[[str], str] = json.dumps  # Graphviz reads the same escapes
