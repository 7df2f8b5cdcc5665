"""Evidence turned into how choices are drawn, so that few worlds or none contradict it.

What must hold for the evidence to hold is followed down the rules to the choices. An atom each of
whose rules needs one value of a choice, as in ``h :- value, gate``, is pushed: once the gates
are known, the values are drawn from their distribution given the evidence, and the weight of a
world is how probable the evidence was there. The evidence is checked in every world all the
same: what cannot be pushed is merely not made more frequent.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.sampling.stream import Prepared
>>> program = parse("0.3::a. 0.5::b. c :- a, b. #query a | c.")
>>> asked = ask(ground(program), Meaning())
>>> prepared = Prepared(asked, asked.queries)
>>> [len(push.draws) for push in pushed(prepared.definitions, prepared.evidence)]      # a and b
[1, 1]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from dpasp.circuits.worlds import Definitions, Draw, Push
from dpasp.logic.program import Rule
from dpasp.semantics.leaves import Weights

PAIRS = 30_000  # the most pairs of conjunctions that are compared


def pushed(definitions: Definitions, evidence: Iterable[int]) -> tuple[Push, ...]:
    """What can be pushed of the evidence (literals that all hold)."""
    known = consequences(definitions, evidence)
    claimed: set[int] = set()
    pushes = []
    # Positive evidence first: it says more about a choice.
    for atom, holds in sorted(known.items(), key=lambda item: not item[1]):
        push = _push(definitions, atom, holds, known)
        if push is None or claimed & {draw.choice for draw in push.draws}:
            continue
        claimed.update(draw.choice for draw in push.draws)
        pushes.append(push)
    return tuple(pushes)


def most_weight(
    definitions: Definitions, pushes: Sequence[Push], weights: Weights, exclusive: Exclusive
) -> float:
    """A bound that the weight of no world exceeds: how probable the evidence can be at most."""
    most = 1.0
    for push in pushes:
        starts = definitions.leaves.starts
        chances = np.array([weights[starts[draw.choice] + draw.value] for draw in push.draws])
        if not push.holds:
            sure = [not draw.gate for draw in push.draws]  # none of these may be drawn
            most *= float(np.prod(1 - chances[sure]))
        elif exclusive.all([draw.gate for draw in push.draws]):
            most *= float(chances.max())  # one gate is open at a time
        else:  # all gates may be open: that one of the values is drawn
            with np.errstate(divide="ignore"):
                most *= float(-np.expm1(np.log1p(-chances).sum()))
    return most


class Exclusive:
    """Which atoms, and which conjunctions, never hold together."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._known: dict[tuple[int, int], bool] = {}
        self._left = PAIRS

    def all(self, conjunctions: Sequence[tuple[int, ...]]) -> bool:
        """Whether no two of them ever hold together."""
        count = len(conjunctions)
        if count * (count - 1) // 2 > self._left:
            return False  # perhaps they are, but it is not worth finding out
        return all(self._conjunctions(*pair) for pair in combinations(conjunctions, 2))

    def _conjunctions(self, ours: tuple[int, ...], theirs: tuple[int, ...]) -> bool:
        """Whether two conjunctions are seen never to hold together."""
        self._left -= 1
        return any(a == -b for a in ours for b in theirs) or any(
            self._atoms(a, b) for a in ours for b in theirs if a > 0 and b > 0 and a != b
        )

    def _atoms(self, a: int, b: int) -> bool:
        """Whether two atoms are seen never to hold together, by induction along the rules.

        Atoms in a loop count as not exclusive.
        """
        pair = (a, b) if a < b else (b, a)
        if pair not in self._known:
            self._known[pair] = False  # until it is shown
            self._known[pair] = self._shown(*pair)
        return self._known[pair]

    def _shown(self, a: int, b: int) -> bool:
        """Values of one choice exclude each other, and atoms all of whose bodies do in pairs."""
        definitions = self._definitions
        selectors = definitions.selectors
        if a in selectors and b in selectors:
            return selectors[a][0] == selectors[b][0]
        if a in selectors or b in selectors:
            return False
        ours, theirs = (definitions.rules.get(atom, ()) for atom in (a, b))
        if len(ours) * len(theirs) > self._left or any(
            r.weights is not None for r in (*ours, *theirs)
        ):
            return False
        return all(self._conjunctions(mine.body, their.body) for mine in ours for their in theirs)


def consequences(definitions: Definitions, evidence: Iterable[int]) -> dict[int, bool]:
    """The atoms that are known from the evidence, and their values."""
    known: dict[int, bool] = {}
    todo = list(evidence)
    while todo:
        literal = todo.pop()
        if abs(literal) in known:
            continue  # if it is a contradiction, no world will satisfy the evidence
        known[abs(literal)] = literal > 0
        todo.extend(_implied(definitions.rules.get(abs(literal), ()), literal > 0, known))
    return known


def _implied(rules: Sequence[Rule], holds: bool, known: Mapping[int, bool]) -> Iterator[int]:
    """The literals that follow from the value of an atom with these rules.

    If an atom holds that only one rule can still derive, the body of that rule holds. If an
    atom does not hold and all literals but one of a body do, that one does not.
    """
    if holds:
        live = [rule for rule in rules if not _fails(rule, known)]
        if len(live) == 1 and live[0].weights is None:
            yield from live[0].body
        return
    for rule in rules:
        if rule.weights is None:
            rest = [b for b in rule.body if known.get(abs(b)) is not (b > 0)]
            if len(rest) == 1:
                yield -rest[0]


def _fails(rule: Rule, known: Mapping[int, bool]) -> bool:
    """Whether a literal of the body is known not to hold."""
    return rule.weights is None and any(known.get(abs(b), b > 0) is not (b > 0) for b in rule.body)


def _push(
    definitions: Definitions, atom: int, holds: bool, known: Mapping[int, bool]
) -> Push | None:
    """An atom of the evidence as draws; None if it is not made of them."""
    selectors = definitions.selectors
    if atom in selectors:
        return Push(holds, (Draw(*selectors[atom], ()),))
    draws = []
    for rule in definitions.rules.get(atom, ()):
        if _fails(rule, known):
            continue
        chosen = [b for b in rule.body if b in selectors and b not in known]
        if len(chosen) != 1 or rule.weights is not None:
            return None
        gate = tuple(b for b in rule.body if b != chosen[0])
        draws.append(Draw(*selectors[chosen[0]], gate))
    if len({draw.choice for draw in draws}) < max(1, len(draws)):
        return None  # no draws, or two of the same choice
    return Push(holds, tuple(draws))
