"""A Bayesian network read back from its program, and what eliminating its variables costs.

A program is one annotated disjunction a row of a table, with the parents' values as its body::

    0.9::alarm(loud); 0.1::alarm(quiet) :- burglary(yes), storm(no).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

HEAD = re.compile(r"\s*([0-9.eE+-]+)::([a-z]\w*)\((\w+)\)\s*")
ATOM = re.compile(r"\s*([a-z]\w*)\((\w+)\)\s*")


def network_folder() -> Path:
    """Where the networks are: a folder of ``DPASP_DATA``, or the one that comes along."""
    data = os.environ.get("DPASP_DATA")
    return Path(data) / "networks" if data else Path(__file__).resolve().parent / "small"


@dataclass(frozen=True, slots=True)
class Row:
    """The probabilities of a variable's values for some values of its parents."""

    parents: tuple[tuple[str, str], ...]
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True)
class Network:
    """The values and the rows of each variable."""

    values: dict[str, dict[str, None]] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def parents(self, variable: str) -> dict[str, None]:
        """The variables that a table depends on, in the order in which rows name them."""
        return {parent: None for row in self.rows[variable] for parent, _ in row.parents}

    def ancestors(self, variables: Iterable[str]) -> set[str]:
        """The variables and all that they depend on."""
        found: set[str] = set()
        todo = list(variables)
        while todo:
            variable = todo.pop()
            if variable not in found:
                found.add(variable)
                todo += self.parents(variable)
        return found


def read_network(text: str) -> Network:
    """The network of a program; lines that are not rows (comments, options) are skipped."""
    network = Network()
    for line in text.splitlines():
        if "::" not in line or line.startswith(("%", "#")):
            continue
        heads, _, body = line.rstrip().removesuffix(".").partition(":-")
        found = [HEAD.fullmatch(part) for part in heads.split(";")]
        atoms = [ATOM.fullmatch(part) for part in re.findall(r"[a-z]\w*\(\w+\)", body)]
        assert all(found), line
        assert all(atoms), line
        parents = tuple((atom[1], atom[2]) for atom in atoms if atom)
        probabilities = {head[3]: float(head[1]) for head in found if head}
        variable = next(head[2] for head in found if head)
        network.values.setdefault(variable, {}).update(dict.fromkeys(probabilities))
        for parent, value in parents:  # a value may have no row of its own
            network.values.setdefault(parent, {})[value] = None
        network.rows.setdefault(variable, []).append(Row(parents, probabilities))
    return network


def split_query(query: str) -> tuple[tuple[str, str], dict[str, str]]:
    """The atom of a query ``a(x) | b(y), c(z)`` and its evidence, as variables and values.

    >>> split_query("a(x) | b(y), c(z)")
    (('a', 'x'), {'b': 'y', 'c': 'z'})
    """
    (target, *evidence) = re.findall(r"([a-z]\w*)\((\w+)\)", query)
    return target, dict(evidence)


def table_sum(network: Network, query: str) -> int:
    """How many entries the tables have, in all, that eliminating the variables makes.

    Evidence is fixed first, and what nothing depends on is left out; the order is that of least
    fill. Zeros and equal entries count like all others.
    """
    (target, _), evidence = split_query(query)
    needed = network.ancestors([target, *evidence])
    sizes = {v: 1 if v in evidence else len(network.values[v]) for v in needed}
    near: dict[str, set[str]] = {v: set() for v in needed if v not in evidence}
    for variable in needed:
        scope = [v for v in (variable, *network.parents(variable)) if v in near]
        for one, other in combinations(scope, 2):
            near[one].add(other)
            near[other].add(one)
    total = 0
    while near:

        def fill(v: str) -> tuple[int, int]:
            missing = sum(b not in near[a] for a, b in combinations(near[v], 2))
            return missing, math.prod(sizes[u] for u in near[v])

        best = min(near, key=fill)
        neighbours = near.pop(best)
        total += sizes[best] * math.prod(sizes[u] for u in neighbours)
        for one in neighbours:
            near[one] |= neighbours
            near[one] -= {one, best}
    return total
