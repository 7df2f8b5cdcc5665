"""The well-founded model as a stratified program.

Within a strongly connected component C that has negative edges inside, the
alternating fixpoint is

    U₀ = Γ(∅),  T₁ = Γ(U₀),  U₁ = Γ(T₁),  T₂ = Γ(U₁),  …

where Γ(S) is the least model when ``not b`` is read as b ∉ S; T grows towards the
true atoms, U shrinks towards the possible ones. If m atoms are negated inside C,
each further round moves at least one of them into T and another out of U, so
⌊m/2⌋ + 1 rounds are enough and can be written as rules over a copy of C for each
step. Components without negation inside need no copies.

>>> from dpasp import loads
>>> program = loads("0.5::a. b :- a, not c. c :- a, not b. #query undef b. #semantics wellfounded.")
>>> print(program.query())
ℙ(undef b) = 0.500000
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.limits import Watch
from dpasp.logic.program import Rule
from dpasp.semantics.dependencies import body_atoms, components

MOST_RULES = 5_000_000


@dataclass(frozen=True, slots=True)
class NegativeLoop:
    """A component with negation inside: its atoms, their rules, how many are negated inside."""

    atoms: frozenset[int]
    rules: tuple[Rule, ...]
    negated: int

    @property
    def rounds(self) -> int:
        """How many rounds reach the fixpoint whatever the choices are."""
        return self.negated // 2 + 1


def unroll(
    rules: Sequence[Rule], twins: Sequence[int], size: int, watch: Watch
) -> tuple[list[Rule], int]:
    """Stratified rules for 'true' (the atom) and 'possibly true' (its twin), and the new size."""
    loops, rest = _split(rules, twins)
    total = sum((2 * loop.rounds + 1) * len(loop.rules) for loop in loops)
    if total > MOST_RULES:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"the well-founded semantics of this program takes {total:,} rules "
                f"(at most {MOST_RULES:,})",
                help="a smaller loop through negation, or another semantics",
            )
        )
    result: list[Rule] = []
    for rule in rest:
        if rule.head:
            result.append(_copy(rule, lambda a: a, lambda a: a, lambda a: twins[a]))
        if not rule.head or twins[rule.head[0]] != rule.head[0]:
            result.append(_copy(rule, lambda a: twins[a], lambda a: twins[a], lambda a: a))
    for loop in loops:
        watch.check()
        size = _unroll_loop(loop, twins, size, result)
    return result, size


def _unroll_loop(loop: NegativeLoop, twins: Sequence[int], size: int, result: list[Rule]) -> int:
    """Add the rules of one loop; the last step's copies are the atoms and twins themselves."""

    def fresh() -> dict[int, int]:
        nonlocal size
        names = {atom: size + i for i, atom in enumerate(sorted(loop.atoms))}
        size += len(names)
        return names

    def step(target: dict[int, int], against: dict[int, int] | None, possible: bool) -> None:
        """Γ as rules for ``target``, with ``not b`` read in ``against`` (None: all hold)."""

        def held(atom: int) -> int:
            return target[atom] if atom in target else twins[atom] if possible else atom

        def denied(atom: int) -> int:
            if against and atom in against:
                return against[atom]
            return atom if possible else twins[atom]

        for rule in loop.rules:
            if against is None:
                body = tuple(b for b in rule.body if b > 0 or -b not in loop.atoms)
                rule = rule._replace(body=body)
            result.append(_copy(rule, held, held, denied))

    possible = fresh()
    step(possible, None, True)
    for round_ in range(1, loop.rounds + 1):
        last = round_ == loop.rounds
        true = {atom: atom for atom in loop.atoms} if last else fresh()
        step(true, possible, False)
        possible = {atom: twins[atom] for atom in loop.atoms} if last else fresh()
        step(possible, true, True)
    return size


def _copy(
    rule: Rule, head: Callable[[int], int], body: Callable[[int], int], denied: Callable[[int], int]
) -> Rule:
    """The rule with its atoms renamed: in the head, positive in the body, negative in the body."""
    return rule._replace(
        head=tuple(map(head, rule.head)),
        body=tuple(body(b) if b > 0 else -denied(-b) for b in rule.body),
    )


def _split(rules: Sequence[Rule], twins: Sequence[int]) -> tuple[list[NegativeLoop], list[Rule]]:
    """The components with negation inside, and the rules of all other atoms."""
    component, _ = components(body_atoms(rules, len(twins)))
    negated: dict[int, set[int]] = {}
    for rule in rules:
        for atom in rule.head:
            inside = {-b for b in rule.body if b < 0 and component[-b] == component[atom]}
            if inside:
                negated.setdefault(component[atom], set()).update(inside)
    members: dict[int, set[int]] = {c: set() for c in negated}
    for atom, c in enumerate(component):
        if c in members:
            members[c].add(atom)
    within: dict[int, list[Rule]] = {c: [] for c in negated}
    rest: list[Rule] = []
    for rule in rules:
        c = component[rule.head[0]] if rule.head else -1
        within.get(c, rest).append(rule)
    loops = [
        NegativeLoop(frozenset(members[c]), tuple(within[c]), len(negated[c])) for c in negated
    ]
    return loops, rest
