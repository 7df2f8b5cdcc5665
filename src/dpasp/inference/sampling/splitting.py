"""A translated program in two: what the choices determine, and where its models differ.

The rules about atoms that the choices do not determine fall into inner parts that share no such
atom. What a part makes of a world depends on a few determined atoms only, its *border*.

>>> from dpasp.language import parse
>>> from dpasp.language.ast import Logic
>>> from dpasp.logic import ground
>>> from dpasp.semantics.translate import translate
>>> text = "0.5::x. a :- x, not b. b :- x, not a. c :- x."
>>> program = split_translation(translate(ground(parse(text)), Logic.STABLE))
>>> [len(part.rules) for part in program.parts]      # c is determined, a and b are not
[2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpasp.dataclass import dataclass
from dpasp.inference.engines.reference.rows import Bits
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Rule
from dpasp.semantics.dependencies import always_total, determined
from dpasp.semantics.translate import Translation

MANY = 10_000  # rules between two looks at the clock


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """A translated program in two: rules of determined atoms, and parts of the others."""

    rules: dict[int, list[Rule]]  # of the determined atoms
    constraints: tuple[Rule, ...]  # over determined atoms
    parts: tuple[InnerPart, ...]
    determined: Bits  # by atom


@dataclass(frozen=True, slots=True)
class InnerPart:
    """Rules that share atoms which are not determined, directly or not."""

    rules: tuple[Rule, ...]
    atoms: frozenset[int]  # those that are not determined
    border: tuple[int, ...]  # the determined atoms in its rules
    certain: bool  # it has a model whatever the border is


def split_translation(translation: Translation, watch: Watch = UNLIMITED) -> SplitProgram:
    """The rules of the determined atoms of a program, and the parts that the others fall into.

    Raises what the ``watch`` raises.
    """
    known = determined(translation.rules, translation.size)
    rules: dict[int, list[Rule]] = {}
    constraints, inner = [], []
    for number, rule in enumerate(translation.rules):
        if number % MANY == 0:
            watch.check()
        if any(not known[atom] for atom in _atoms(rule)):
            inner.append(rule)
        elif rule.head and not rule.choice:
            rules.setdefault(rule.head[0], []).append(rule)
        elif not rule.choice:
            constraints.append(rule)
    return SplitProgram(rules, tuple(constraints), tuple(_parts(inner, known)), known)


def _atoms(rule: Rule) -> Iterable[int]:
    """The atoms of the head and the body."""
    return (*rule.head, *map(abs, rule.body))


def _parts(rules: Sequence[Rule], known: Bits) -> list[InnerPart]:
    """The rules in parts that share no atom which is not known (by union and find)."""
    if not rules:
        return []
    root = list(range(len(known)))

    def find(atom: int) -> int:
        while root[atom] != atom:
            root[atom] = root[root[atom]]
            atom = root[atom]
        return atom

    inside = [[a for a in _atoms(rule) if not known[a]] for rule in rules]
    for atoms in inside:
        for atom in atoms[1:]:
            root[find(atom)] = find(atoms[0])
    total = always_total(rules, known)
    gathered: dict[int, list[Rule]] = {}
    for rule, atoms in zip(rules, inside, strict=True):
        gathered.setdefault(find(atoms[0]), []).append(rule)
    return [_part(members, known, total) for members in gathered.values()]


def _part(rules: Sequence[Rule], known: Bits, total: Bits) -> InnerPart:
    """The part that these rules are, with its border."""
    atoms = frozenset(a for rule in rules for a in _atoms(rule) if not known[a])
    border = sorted({a for rule in rules for a in _atoms(rule) if known[a]})
    # Without constraints and without negation inside, the least or any chosen set is a model.
    positive = all(rule.head and all(known[-b] for b in rule.body if b < 0) for rule in rules)
    return InnerPart(tuple(rules), atoms, tuple(border), positive or all(total[a] for a in atoms))
