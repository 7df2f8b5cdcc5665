"""Circuits for other eyes and tools: JSON, Graphviz, and negation normal form.

Example::

    Path("p.dot").write_text(dot(circuit, names))       # then: dot -Tsvg p.dot
    Path("p.nnf").write_text(nnf(circuit, question=0))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from dpasp.circuits.circuit import Circuit
from dpasp.circuits.layers import LEAF, QE, SUM, kinds_text
from dpasp.dataclass import dataclass


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
    """The circuit as a Graphviz graph; ``names`` say what the leaf weights are."""
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

    Variable i is leaf weight i - 1: the choice takes that value. Negative literals do not
    occur; of the variables of a choice at most one is on a path.
    """
    flat = _lists(circuit)
    simplified = _simplified(flat, flat["roots"][question])
    lines: list[str] = []
    place: dict[Formula, int] = {}
    for formula in _children_first(simplified):
        place[formula] = len(lines)
        lines.append(_line(formula, place))
    edges = sum(len(formula.parts) for formula in place)
    return "\n".join([f"nnf {len(lines)} {edges} {circuit.leaves}", *lines]) + "\n"


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


@dataclass(frozen=True, eq=False)
class Formula:
    """A node of a d-DNNF: a variable, or a conjunction or disjunction of its parts."""

    kind: str  # L, A or O
    parts: tuple[Formula, ...] = ()
    variable: int = 0


TRUE, FALSE = Formula("A"), Formula("O")


def _simplified(flat: dict[str, list[int]], root: int) -> Formula:
    """The formula below a node, without constants inside."""
    variables: dict[int, Formula] = {}
    formulas: dict[int, Formula] = {}
    for node in _below(flat, root):
        op, begin, end = flat["op"][node], flat["begin"][node], flat["end"][node]
        if op == LEAF:
            formulas[node] = TRUE if flat["kinds"][begin] & QE else FALSE
            continue
        branches = []
        for child, weight in zip(flat["child"][begin:end], flat["weight"][begin:end], strict=True):
            branch = formulas[child]
            if op == SUM and weight >= 0:
                literal = variables.setdefault(weight, Formula("L", variable=weight + 1))
                branch = _all([literal, branch])
            branches.append(branch)
        formulas[node] = _any(branches) if op == SUM else _all(branches)
    return formulas[root]


def _all(parts: list[Formula]) -> Formula:
    if any(part is FALSE for part in parts):
        return FALSE
    left = [part for part in parts if part is not TRUE]
    return left[0] if len(left) == 1 else Formula("A", tuple(left)) if left else TRUE


def _any(parts: list[Formula]) -> Formula:
    left = [part for part in parts if part is not FALSE]
    # Not even one that is true stands for all: the branches are disjoint, and all have weight.
    return left[0] if len(left) == 1 else Formula("O", tuple(left)) if left else FALSE


def _children_first(root: Formula) -> Iterator[Formula]:
    """Every formula below a root once, after its parts."""
    seen: set[Formula] = set()
    stack = [(root, False)]
    while stack:
        formula, ready = stack.pop()
        if ready:
            yield formula
        elif formula not in seen:
            seen.add(formula)
            stack.append((formula, True))
            stack += ((part, False) for part in reversed(formula.parts))


def _line(formula: Formula, place: Mapping[Formula, int]) -> str:
    if formula.kind == "L":
        return f"L {formula.variable}"
    head = "A" if formula.kind == "A" else "O 0"
    return " ".join([head, str(len(formula.parts)), *(str(place[p]) for p in formula.parts)])


def _lists(circuit: Circuit) -> dict[str, list[int]]:
    return {name: array.tolist() for name, array in circuit.arrays().items()}


def _below(flat: dict[str, list[int]], root: int) -> Iterator[int]:
    """The nodes below a root, children first."""
    needed = {root}
    for node in range(root, -1, -1):
        if node in needed and flat["op"][node] != LEAF:
            needed.update(flat["child"][flat["begin"][node] : flat["end"][node]])
    yield from sorted(needed)


def _name(names: Sequence[str], weight: int) -> str:
    return names[weight] if weight < len(names) else f"w{weight}"


_quoted: Callable[[str], str] = json.dumps  # Graphviz reads the same escapes
