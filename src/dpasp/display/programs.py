"""Ground programs as JSON, the statistics of circuits, and pictures of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from dpasp.circuits import Circuit, Statistics
from dpasp.circuits.layers import LEAF, OTHER, QE, SUM, E
from dpasp.dataclass import dataclass
from dpasp.display.graph import Key, Link, Look, Node, draw_graph
from dpasp.display.scene import Picture
from dpasp.errors import SizeLimit
from dpasp.ground.program import (
    Choice,
    Decided,
    FixedWeights,
    FromNetwork,
    GroundMap,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
    Learned,
    Present,
    Rule,
)
from dpasp.ground.text import atom_names, choice_bodies
from dpasp.language import ast
from dpasp.semantics.dependencies import components
from dpasp.writing import counted

SUM_WORDS = "sum over the values of a choice, each times its probability"
MOST_NODES = 90  # the most atoms drawn one by one; with more, predicates are drawn
MOST_LINKS = 600
MOST_GATES = 400  # the most nodes of a circuit that is drawn
MOST_PARTS = 10  # parts that are listed
ATOM = Look()
ASKED = Look(stroke="ink", thick=2.2)
CHOICE = Look("accent_soft", "accent", "accent")
VALUE = Look("accent_soft", "accent", "accent", round=True)
TIMES = Look("second_soft", "second", "second", round=True)
LOOP = Look("loop_soft", "loop")
NEVER = Look("warm_soft", "warm", "warm")
HELPER = Look(ink="faint", round=True)
# The models at a leaf of a circuit, in a word and in a phrase.
ENDS = (
    (QE, "q", "models with query and evidence"),
    (E, "not q", "models with the evidence, not the query"),
    (OTHER, "not e", "models without the evidence"),
    (0, "no model", "no model at all"),
)


def too_large(what: str, help: str) -> SizeLimit:
    message = f"a picture of {what} is too large to look at"
    return SizeLimit.at("size-limit", message, help=help)


# --- ground programs as JSON ---------------------------------------------------------------------


def ground_dict(ground: GroundProgram) -> dict[str, Any]:
    """The atoms, choices, rules and questions; a literal is ``"a"`` or ``"not a"``.

    >>> from dpasp.ground import ground
    >>> from dpasp.language import parse
    >>> ground_dict(ground(parse("0.3::a. b :- not a.")))["rules"]
    [{'head': ['b'], 'body': ['not a']}]
    """
    names = atom_names(ground)
    bodies, rules = choice_bodies(ground)
    record: dict[str, Any] = {
        "files": list(ground.program.files),
        "atoms": sorted(str(symbol) for symbol in ground.symbols if symbol is not None),
        "choices": [_choice(ground, choice, bodies, names) for choice in ground.choices],
        "rules": [_rule(rule, names) for rule in rules],
        "evidence": [str(literal) for literal in ground.evidence],
        "questions": [
            {"query": q.text, "kind": "map" if isinstance(q, GroundMap) else "probability"}
            for q in ground.questions
        ],
    }
    if ground.warnings:
        record["warnings"] = [warning.to_dict() for warning in ground.warnings]
    return record


def _choice(
    ground: GroundProgram,
    choice: Choice,
    bodies: Mapping[int, list[tuple[int, ...]]],
    names: Sequence[str],
) -> dict[str, Any]:
    span = ground.program.statements[choice.statement].span
    return {
        "heads": [names[head] for head in choice.heads],
        **_weights(ground, choice),
        "bodies": [_literals(body, names) for body in bodies.get(choice.selectors[0], ())],
        "file": span.file,
        "line": span.line,
    }


def _weights(ground: GroundProgram, choice: Choice) -> dict[str, Any]:
    """The probabilities of the heads, if known, and where they come from."""
    ends = value_ends(ground, choice)
    known = [end[0] if len(end) == 1 else list(end) for end in ends] or None
    more: dict[str, Any] = {}
    match choice.weight:
        case Learned(number):
            more = {"learnable": [not fixed for fixed in ground.parameters[number].fixed]}
        case FromNetwork(number, row):
            network = ground.networks[number]
            said = ground.program.statements[network.statement]
            name = said.network.factory.function if isinstance(said, ast.Neural) else ""
            more = {"network": name, "row": str(network.rows[row])}
        case Present(atom):
            more = {"data": str(atom)}
        case Decided():
            more = {"decided": True}
    return {"probabilities": known, **more}


def _rule(rule: Rule, names: Sequence[str]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "head": [names[atom] for atom in rule.head],
        "body": _literals(rule.body, names),
    }
    if rule.choice:
        record["choice"] = True
    if rule.weights is not None:
        record |= {"weights": list(rule.weights), "bound": rule.bound}
    return record


def _literals(body: Iterable[int], names: Sequence[str]) -> list[str]:
    return [names[literal] if literal > 0 else f"not {names[-literal]}" for literal in body]


# --- what depends on what -------------------------------------------------------------------------


@dataclass
class _Graph:
    """Nodes by name, and signed edges without duplicates."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, bool, str], None] = field(default_factory=dict)

    def add(self, name: str, text: str, look: Look) -> str:
        self.nodes.setdefault(name, Node(text, look))
        return name

    def join(self, start: str, end: str, negated: bool = False, label: str = "") -> None:
        self.edges[start, end, negated, label] = None


def dependencies_picture(ground: GroundProgram, title: str = "") -> Picture:
    """The dependencies between the atoms of a ground program, or between its predicates.

    Atoms are drawn one by one if there are few enough; facts are left out.
    """
    for names in (atom_names(ground), _predicates(ground)):
        graph = _graph(ground, names)
        if len(graph.nodes) <= MOST_NODES and len(graph.edges) <= MOST_LINKS:
            return _drawn(graph, title)
    what = f"{len(graph.nodes):,} predicates and choices"
    raise too_large(what, "draw a part of the program")


def _predicates(ground: GroundProgram) -> list[str]:
    """By atom, the name of its predicate with its arity, or one name for all atoms without one."""
    return [
        "#" if symbol is None else f"{symbol.name}/{len(symbol.arguments)}"
        for symbol in ground.symbols
    ]


def _graph(ground: GroundProgram, names: Sequence[str]) -> _Graph:
    graph = _Graph()
    bodies, rules = choice_bodies(ground)
    asked = {
        names[literal.atom]
        for question in ground.questions
        if isinstance(question, GroundQuery)
        for literal in question.literals
        if literal.atom
    }
    derived = {head for rule in rules for head in rule.head}
    for number, choice in enumerate(ground.choices):
        head, conditions = choice.heads[0], bodies.get(choice.selectors[0], [])
        numbers = _numbers(ground, choice)
        alone = len(choice.heads) == 1 and conditions == [()]
        if alone and head not in derived:  # a single probabilistic fact
            text = f"{numbers[0]} :: {names[head]}" if numbers[0] else names[head]
            graph.nodes[names[head]] = Node(text, CHOICE)
        else:
            _add_choice(graph, number, choice, numbers, conditions, names)
    for rule in rules:
        _add_rule(graph, rule, names)
    for name in asked:
        _add_atom(graph, name)
        if graph.nodes[name].look is ATOM:
            graph.nodes[name] = Node(name, ASKED)
    return graph


def _add_choice(
    graph: _Graph,
    number: int,
    choice: Choice,
    numbers: Sequence[str],
    conditions: Sequence[tuple[int, ...]],
    names: Sequence[str],
) -> None:
    """Add a node for the choice, with edges to its heads and from its bodies."""
    several = len(choice.heads) > 1
    heads = ",".join(names[head] for head in choice.heads)
    key = f"choice {choice.statement} {heads} {numbers}"
    if len({names[a] for a in choice.heads}) == len(choice.heads):
        key = f"{key} {number}" if "/" not in names[choice.heads[0]] else key
    graph.add(key, "one of" if several else numbers[0] or "net", VALUE)
    for atom, text in zip(choice.heads, numbers, strict=True):
        _add_atom(graph, names[atom])
        graph.join(key, names[atom], label=text if several else "")
    for body in conditions:
        _add_body(graph, body, key, names)


def value_ends(ground: GroundProgram, choice: Choice) -> list[tuple[float, ...]]:
    """By value, its probability or the two ends of an interval; empty if none is written."""
    match choice.weight:
        case FixedWeights(probabilities):
            return [(p,) for p in probabilities]
        case IntervalWeights(lower, upper):
            return list(zip(lower, upper, strict=True))
        case Learned(parameter):
            return [(p,) for p in ground.parameters[parameter].initial]
        case _:
            return []


def _numbers(ground: GroundProgram, choice: Choice) -> list[str]:
    """The probabilities of the values as text; empty for networks."""
    learned = "?" * isinstance(choice.weight, Learned)
    ends = [[f"{end:.3g}" for end in each] for each in value_ends(ground, choice)]
    texts = [each[0] + learned if len(each) == 1 else f"[{', '.join(each)}]" for each in ends]
    return texts or ["" for _ in choice.heads]


def _add_rule(graph: _Graph, rule: Rule, names: Sequence[str]) -> None:
    if not rule.body and len(rule.head) == 1 and not rule.choice:
        return  # a fact
    if not rule.head:
        key = "never " + " ".join(names[abs(literal)] for literal in rule.body)
        _add_body(graph, rule.body, graph.add(key, "never", NEVER), names)
        return
    joint = f"rule {rule.head}" if rule.choice or len(rule.head) > 1 else None
    if joint is not None and "/" in names[rule.head[0]]:
        joint = "rule " + " ".join(names[atom] for atom in rule.head)
    if joint is not None:
        graph.add(joint, "any of" if rule.choice else "or", HELPER)
        _add_body(graph, rule.body, joint, names)
    for head in rule.head:
        _add_atom(graph, names[head])
        if joint is not None:
            graph.join(joint, names[head])
        else:
            _add_body(graph, rule.body, names[head], names)


def _add_body(graph: _Graph, body: Iterable[int], end: str, names: Sequence[str]) -> None:
    for literal in body:
        name = names[abs(literal)]
        _add_atom(graph, name)
        graph.join(name, end, literal < 0)


def _add_atom(graph: _Graph, name: str) -> None:
    if name.startswith("#"):
        graph.add(name, "Σ", HELPER)
    else:
        graph.add(name, name, ATOM)


def _drawn(graph: _Graph, title: str) -> Picture:
    names = list(graph.nodes)
    place = {name: i for i, name in enumerate(names)}
    below: list[list[int]] = [[] for _ in names]
    for head, tail, _, _ in graph.edges:
        below[place[tail]].append(place[head])
    component, _ = components(below)
    links: list[Link] = []
    looped: set[int] = set()
    for start_name, end_name, negated, label in graph.edges:
        start, end = place[start_name], place[end_name]
        colour = "line"
        if component[start] == component[end]:
            looped |= {start, end}
            colour = "loop"
        links.append(Link(start, end, label, "warm" if negated else colour, negated))
    nodes = [
        replace(node, look=replace(node.look, fill=LOOP.fill, stroke=LOOP.stroke))
        if i in looped and node.look.fill == "paper"
        else node
        for i, node in enumerate(graph.nodes.values())
    ]
    looks = {(node.look.fill, node.look.round) for node in nodes}
    fills, thick = {fill for fill, _ in looks}, {node.look.thick > 2 for node in nodes}
    signs = {link.dashed for link in links}
    keys: list[tuple[bool, Node | Link, str]] = [  # the legend
        (("accent_soft", False) in looks, Node("0.3 :: a", CHOICE), "a choice"),
        (("accent_soft", True) in looks, Node("0.3", VALUE), "the choice of a rule"),
        (True in thick, Node("a", ASKED), "asked for"),
        ("loop_soft" in fills, Node("a", LOOP), "depends on itself: a loop"),
        (False in signs, Link(0, 1), "is needed for"),
        (True in signs, Link(0, 1, stroke="warm", dashed=True), "must not hold for"),
        ("warm_soft" in fills, Node("never", NEVER), "a constraint"),
        (any(node.text == "Σ" for node in nodes), Node("Σ", HELPER), "an aggregate"),
    ]
    legend = [Key(sample, meaning) for there, sample, meaning in keys if there]
    return draw_graph(nodes, links, title, legend)


# --- circuits ------------------------------------------------------------------------------------


def statistics_text(statistics: Statistics, *, parts: bool) -> str:
    """The statistics of a circuit as lines; with ``parts``, also those of its widest parts."""
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
        lines += (
            f"part {i}: choices {part.choices}, inner variables {part.guesses}, "
            f"gates {part.gates}, width {part.width}, {part.way} ({part.order}), "
            f"nodes {part.nodes}, {part.seconds:.3f} s"
            for i, part in widest[:MOST_PARTS]
        )
        more = len(widest) - MOST_PARTS
        lines += [f"and {counted(more, 'more part')}, none wider"] if more > 0 else []
    return "\n".join(lines)


def circuit_picture(circuit: Circuit) -> Picture:
    """The questions at the top, sums and products below them, models at the ends."""
    flat = {
        name: array.tolist() for name, array in circuit.arrays().items() if array.dtype.kind in "iu"
    }
    count = len(flat["op"])
    if count > MOST_GATES:
        raise too_large(f"{count:,} nodes", "write .dot or .json, or ask fewer questions")
    nodes = [_node(flat, node) for node in range(count)]
    links = [link for node in range(count) for link in _below(flat, node, circuit.leaf_names)]
    questions = circuit.question_names
    for i, root in enumerate(flat["roots"]):
        nodes.append(Node(questions[i] if i < len(questions) else f"question {i + 1}", ASKED))
        links.append(Link(len(nodes) - 1, root))
    title = f"circuit · {circuit.meaning.logic.value}"
    looks = {node.look for node in nodes}
    words = {word for node in nodes if node.look is ATOM for word in node.text.split(" or ")}
    keys = [
        (True, Node("q | e", ASKED), "a question"),
        (VALUE in looks, Node("+", VALUE), SUM_WORDS),
        (TIMES in looks, Node("×", TIMES), "product of independent parts"),
        *((word in words, Node(word, ATOM), meaning) for _, word, meaning in ENDS),
    ]
    legend = [Key(sample, meaning) for there, sample, meaning in keys if there]
    return draw_graph(nodes, links, title, legend)


def _node(flat: dict[str, list[int]], node: int) -> Node:
    if flat["op"][node] == LEAF:
        kinds = flat["kinds"][flat["begin"][node]]
        return Node(" or ".join(word for bit, word, _ in ENDS if kinds & bit) or "no model", ATOM)
    return Node("+", VALUE) if flat["op"][node] == SUM else Node("×", TIMES)


def _below(flat: dict[str, list[int]], node: int, names: Sequence[str]) -> Iterator[Link]:
    """The edges to the children of a node; those of a sum are named after the value."""
    if flat["op"][node] == LEAF:
        return
    for edge in range(flat["begin"][node], flat["end"][node]):
        weight = flat["weight"][edge]
        label = names[weight] if 0 <= weight < len(names) else ""
        yield Link(node, flat["child"][edge], label)
