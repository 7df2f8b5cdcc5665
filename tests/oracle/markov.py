"""Random programs with tables of factors among rules, constraints, choices and evidence."""

from __future__ import annotations

import random

VALUES = ("{0..1}", "{0..2}", "{a,b}")


def random_network(seed: int) -> str:
    """A small weighted program with tables; it may have no model that satisfies its evidence."""
    rng = random.Random(seed)
    variables = [(f"x{i}", rng.choice(VALUES)) for i in range(rng.randrange(2, 5))]
    values = {name: _values(written) for name, written in variables}
    lines = [f"1 {{{name}({_choice(written)})}} 1." for name, written in variables]
    extra: list[str] = []
    for i in range(rng.randrange(3)):
        kind = rng.randrange(4)
        if kind == 0:
            lines.append(f"0.{rng.randrange(1, 10)}::p{i}.")
        elif kind == 1:
            lines.append(f"0.25::p{i}; 0.5::q{i} :- {_atom(rng, values)}.")
        elif kind == 2:
            lines.append(f"{{p{i}}}.")
        else:
            lines.append(f"p{i} :- {_literal(rng, values, extra)}, {_literal(rng, values, extra)}.")
        extra.append(f"p{i}")
    for _ in range(rng.randrange(1, 5)):
        scope = rng.sample(variables, rng.randrange(1, min(3, len(variables)) + 1))
        sets = [f"{name}({written})" for name, written in scope]
        size = 1
        for name, _ in scope:
            size *= len(values[name])
        if extra and rng.random() < 0.3:
            sets.insert(rng.randrange(len(sets) + 1), rng.choice(extra))
        lines.append(
            f"#factor {{{', '.join(_weight(rng) for _ in range(size))}}} : {', '.join(sets)}."
        )
    if rng.random() < 0.4:
        lines.append(f":- {_literal(rng, values, extra)}, {_literal(rng, values, extra)}.")
    if rng.random() < 0.4:
        body = f"{_literal(rng, values, extra)}, {_literal(rng, values, extra)}"
        lines.append(f"#factor {_weight(rng)} : {body}.")
    if rng.random() < 0.3:
        lines.append(f"#evidence {_literal(rng, values, extra)}.")
    lines += ["#semantics weighted.", f"#query {_literal(rng, values, extra)}."]
    lines.append(f"#query {_atom(rng, values)} | {_literal(rng, values, extra)}.")
    lines.append(f"#query {_literal(rng, values, extra)}, {_literal(rng, values, extra)}.")
    return "\n".join(lines)


def _values(written: str) -> list[str]:
    inside = written.strip("{}")
    if ".." in inside:
        first, last = map(int, inside.split(".."))
        return [str(value) for value in range(first, last + 1)]
    return inside.split(",")


def _choice(written: str) -> str:
    return written.strip("{}").replace(",", ";")


def _weight(rng: random.Random) -> str:
    extreme = ["1e-30", "1e30", "1e-300", "1e300"]
    return rng.choice(["0", "1", "2.5", "0.125", *extreme, *[f"{rng.random():.4f}"] * 4])


def _atom(rng: random.Random, values: dict[str, list[str]]) -> str:
    name = rng.choice(list(values))
    return f"{name}({rng.choice(values[name])})"


def _literal(rng: random.Random, values: dict[str, list[str]], extra: list[str]) -> str:
    atom = rng.choice(extra) if extra and rng.random() < 0.4 else _atom(rng, values)
    return rng.choice(("", "", "not ")) + atom
