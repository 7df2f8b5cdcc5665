"""Families of programs of growing size, as text.

Each function gives one program with its query. The same arguments give the same text.

>>> print(chain(2))
0.5::edge(0,1). 0.5::edge(1,2).
path(0). path(Y) :- path(X), edge(X,Y).
#query path(2).
"""

from __future__ import annotations

from random import Random

Edges = list[tuple[int, int]]

REACH = "path(0). path(Y) :- path(X), edge(X,Y)."
BOTH_WAYS = (
    "path(0). path(Y) :- path(X), link(X,Y). link(X,Y) :- edge(X,Y). link(X,Y) :- edge(Y,X)."
)


def pair_facts(probability: float, name: str, pairs: Edges) -> str:
    """A probabilistic fact ``name(a,b)`` for each pair."""
    return " ".join(f"{probability}::{name}({a},{b})." for a, b in pairs)


def chain(n: int) -> str:
    """Reachability along n edges in a row."""
    edges = pair_facts(0.5, "edge", [(i, i + 1) for i in range(n)])
    return f"{edges}\n{REACH}\n#query path({n})."


def grid_edges(rows: int, columns: int) -> Edges:
    """The edges of a grid, its vertices numbered row by row."""

    def at(r: int, c: int) -> int:
        return r * columns + c

    across = [(at(r, c), at(r, c + 1)) for r in range(rows) for c in range(columns - 1)]
    down = [(at(r, c), at(r + 1, c)) for r in range(rows - 1) for c in range(columns)]
    return across + down


def grid(n: int) -> str:
    """Corner to corner on an n × n grid whose edges work both ways."""
    return f"{pair_facts(0.5, 'edge', grid_edges(n, n))}\n{BOTH_WAYS}\n#query path({n * n - 1})."


def ladder(n: int) -> str:
    """Corner to corner on a 2 × n grid."""
    return f"{pair_facts(0.5, 'edge', grid_edges(2, n))}\n{BOTH_WAYS}\n#query path({2 * n - 1})."


def _sparse_edges(n: int, count: int, seed: int) -> Edges:
    random = Random(seed)
    edges = {(random.randrange(i), i) for i in range(1, n)}
    while len(edges) < count:
        a, b = sorted(random.sample(range(n), 2))
        edges.add((a, b))
    return sorted(edges)


def sparse(n: int, seed: int = 1) -> str:
    """A random connected graph with 1.5 n edges that work both ways."""
    edges = _sparse_edges(n, 3 * n // 2, seed)
    return f"{pair_facts(0.5, 'edge', edges)}\n{BOTH_WAYS}\n#query path({n - 1})."


def closure(n: int) -> str:
    """Transitive closure by doubling (not linear) on a ring with chords."""
    edges = [(i, (i + 1) % n) for i in range(n)] + [(i, (i + 2) % n) for i in range(0, n, 2)]
    rules = "path(X,Y) :- edge(X,Y). path(X,Y) :- path(X,Z), path(Z,Y)."
    return f"{pair_facts(0.4, 'edge', edges)}\n{rules}\n#query path(0,{n // 2})."


def _friends(n: int, seed: int, degree: int = 2) -> Edges:
    random = Random(seed)
    return [
        (i, j) for i in range(n) for j in random.sample([k for k in range(n) if k != i], degree)
    ]


def smokers(n: int, seed: int = 1) -> str:
    """Who smokes because of stress or of friends: 3 n choices."""
    stress = " ".join(f"0.3::stress({i})." for i in range(n))
    influence = pair_facts(0.2, "influences", _friends(n, seed))
    rules = "smokes(X) :- stress(X). smokes(X) :- influences(Y,X), smokes(Y)."
    return f"{stress}\n{influence}\n{rules}\n#query smokes(0)."


def smokers_with_negation(n: int, seed: int = 1) -> str:
    """Smokers who may or may not listen to a friend who does not smoke."""
    stress = " ".join(f"0.3::stress({i})." for i in range(n))
    influence = pair_facts(0.2, "influences", _friends(n, seed))
    rules = """
smokes(X) :- stress(X), not quits(X). smokes(X) :- influences(Y,X), smokes(Y), not quits(X).
quits(X) :- stress(X), not smokes(X)."""
    return f"{stress}\n{influence}{rules}\n#query smokes(0)."


def _strip_edges(n: int) -> Edges:
    return [(i, j) for i in range(n) for j in (i + 1, i + 2) if j < n]


COLOURS = """
colour(X,red) :- vertex(X), not colour(X,green), not colour(X,blue).
colour(X,green) :- vertex(X), not colour(X,red), not colour(X,blue).
colour(X,blue) :- vertex(X), not colour(X,red), not colour(X,green).
:- edge(X,Y), colour(X,C), colour(Y,C)."""


def _colouring(n: int, edges: Edges) -> str:
    facts = pair_facts(0.5, "edge", edges)
    return f"vertex(0..{n - 1}).\n{facts}{COLOURS}\n#query colour(0,red) | colour({n - 1},red)."


def strip(n: int) -> str:
    """3-colouring of a strip of n vertices with 2 n - 3 probabilistic edges."""
    return _colouring(n, _strip_edges(n))


def colouring(n: int, seed: int = 1) -> str:
    """3-colouring of a random graph with 1.7 n probabilistic edges."""
    return _colouring(n, _sparse_edges(n, 17 * n // 10, seed))


def even_cycles(n: int) -> str:
    """n independent even loops under choices."""
    choices = " ".join(f"0.5::x({i})." for i in range(n))
    rules = "a(X) :- x(X), not b(X). b(X) :- x(X), not a(X)."
    return f"{choices}\n{rules}\n#query a(0), a({n - 1})."


def insomnia(n: int) -> str:
    """A ring of n people (2 n choices) who sleep or work, and who keep their neighbours awake."""
    people = " ".join(f"0.6::busy({i}). 0.3::loud({i},{(i + 1) % n})." for i in range(n))
    rules = """
work(X) :- busy(X), not sleep(X).
sleep(X) :- busy(X), not work(X), not insomnia(X).
insomnia(Y) :- work(X), loud(X,Y)."""
    return f"{people}{rules}\n#query insomnia(0) | not sleep({n // 2})."


def argumentation(n: int) -> str:
    """A ring of n arguments, each attacking the next, perhaps: 2 n choices."""
    facts = " ".join(f"0.9::arg({i}). 0.7::attack({i},{(i + 1) % n})." for i in range(n))
    rules = "in(X) :- arg(X), not out(X). out(Y) :- in(X), attack(X,Y)."
    return f"{facts}\n{rules}\n#query in(0)."


def round_table(n: int) -> str:
    """A round table of n people, an even number (2 n choices), with a constraint: lstable."""
    people = " ".join(
        f"0.4::tired({i}). 0.7::friendly({i}). next({i},{(i + 1) % n})." for i in range(n)
    )
    rules = """
comes(X) :- next(X,Y), not tired(X), not comes(Y).
asks(X) :- next(X,Y), friendly(X), comes(Y), not asks(Y).
comes(X) :- next(X,Y), tired(Y), asks(Y).
:- next(X,Y), not comes(X), not comes(Y)."""
    return f"{people}{rules}\n#query comes(0)."


def bayes(n: int, seed: int = 1) -> str:
    """A Bayesian network of n Boolean variables with up to two parents each."""
    random = Random(seed)
    lines = []
    for i in range(n):
        parents = random.sample(range(max(0, i - 5), i), min(i, 2))
        for row in range(2 ** len(parents)):
            body = [f"{'' if row >> k & 1 else 'not '}x({p})" for k, p in enumerate(parents)]
            rest = f" :- {', '.join(body)}" if body else ""
            lines.append(f"{random.randint(1, 19) / 20}::x({i}){rest}.")
    return "\n".join(lines) + f"\n#query x({n - 1}) | x({n // 2})."


def addition(n: int) -> str:
    """The sum of two n-digit numbers, digit by digit with a carry; the last carry is asked."""
    digits = []
    for name in "xy":
        for i in range(n):
            values = "; ".join(f"{(d + 1) / 55:.17f}::{name}({i},{d})" for d in range(10))
            digits.append(values + ".")
    rules = f"""
carry(0,0). place(0..{n - 1}).
sum(I,(A+B+C)\\10) :- x(I,A), y(I,B), carry(I,C).
carry(I+1,(A+B+C)/10) :- x(I,A), y(I,B), carry(I,C)."""
    return "\n".join(digits) + rules + f"\n#query carry({n},1) | sum(0,3)."


def fault_tree(n: int, seed: int = 1) -> str:
    """A tree of AND and OR gates over n basic events, some of them shared."""
    random = Random(seed)
    lines = [f"0.1::fails({i})." for i in range(n)]
    level = [f"fails({i})" for i in range(n)]
    depth = 0
    while len(level) > 1:
        depth += 1
        above = []
        for k, i in enumerate(range(0, len(level), 2)):
            parts = [*level[i : i + 2], random.choice(level[max(0, i - 2) : i + 4])]
            head = f"gate({depth},{k})"
            if random.random() < 0.5:
                lines.append(f"{head} :- {', '.join(dict.fromkeys(parts))}.")
            else:
                lines += [f"{head} :- {part}." for part in dict.fromkeys(parts)]
            above.append(head)
        level = above
    return "\n".join(lines) + f"\n#query {level[0]}."


def birds(n: int) -> str:
    """Birds of which most fly: a disjunction each, and an aggregate over all."""
    facts = " ".join(f"0.4::bird({i})." for i in range(1, n + 1))
    rules = """
fly(X) ; nofly(X) :- bird(X).
:- #count{X : fly(X), bird(X)} = F, #count{X : bird(X)} = B, 10*F < 6*B."""
    return f"{facts}{rules}\n#query fly(1)."


def totals(n: int) -> str:
    """The sum of n ten-valued digits by one aggregate; the value in the middle is asked."""
    digits = [
        "; ".join(f"{(d + 1) / 55:.17f}::digit({i},{d})" for d in range(10)) + "." for i in range(n)
    ]
    rule = "total(S) :- S = #sum{D,I : digit(I,D)}."
    return "\n".join([*digits, rule, f"#query total({9 * n // 2})."])
