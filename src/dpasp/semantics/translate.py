"""Every logic semantics as the stable models of one set of rules.

- stable, smproblog: the rules as they are.
- partial, lstable: an atom ``a`` that is not determined gets a twin ``a*``,
  'possibly true'; ``h :- B, not C`` becomes ``h :- B, not C*`` and
  ``h* :- B*, not C``, with ``a* :- a``. The stable models are then one to one with the
  partial ones. lstable keeps those whose undefined sets are ⊆-minimal; there atoms
  that are never undefined in those need no twin either.
- wellfounded: the same atoms, defined by the alternating fixpoint unrolled into a
  stratified program (see :mod:`dpasp.semantics.wellfounded`); every total choice has
  exactly one model before constraints.

Constraints become ``:- B*, not C``: a constraint holds when its body is false. In a
model ``a`` says that the atom is true, ``not a*`` that it is false, and
``not a, a*`` that it is undefined.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> program = ground(parse("0.3::a. b :- a, not c. c :- a, not b. #query b."))
>>> len(translate(program, Logic.STABLE).rules), len(translate(program, Logic.PARTIAL).rules)
(3, 7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.language.ast import Logic, Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundLiteral, GroundProgram, Rule
from dpasp.semantics.dependencies import always_total, determined
from dpasp.semantics.refuse import refuse
from dpasp.semantics.wellfounded import unroll

Conjunction = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """Rules whose stable models are the models of the semantics."""

    rules: tuple[Rule, ...]
    size: int  # the atoms are 1, …, size - 1
    twins: tuple[int, ...]  # by atom of the ground program; the atom itself if it needs no twin
    own_atoms: tuple[int, ...]  # the program's own atoms that can be undefined
    least: bool = False  # only the models with a ⊆-minimal undefined set count

    def conjunction(self, literals: Iterable[GroundLiteral]) -> Conjunction | None:
        """The literals over the translated atoms, all of which must hold; None if they cannot."""
        conjuncts: dict[int, None] = {}
        for literal in literals:
            part = self.literal(literal)
            if part is None:
                return None
            conjuncts.update(dict.fromkeys(part))
        if any(-literal in conjuncts for literal in conjuncts):
            return None
        return tuple(conjuncts)

    def literal(self, literal: GroundLiteral) -> Conjunction | None:
        """What a literal of a question says; None if it cannot hold."""
        atom = literal.atom
        match literal.mode:
            case Mode.TRUE:
                return (atom,) if atom else None
            case Mode.FALSE:
                return (-self.twins[atom],) if atom else ()
            case Mode.UNDEFINED:
                return (-atom, self.twins[atom]) if self.twins[atom] != atom else None


def translate(
    ground: GroundProgram, logic: Logic, watch: Watch = UNLIMITED, *, refusing: bool = True
) -> Translation:
    """The rules whose stable models are the program's models under ``logic``.

    Raises :class:`ProgramError` for what has no meaning under it, unless that is known
    already (not ``refusing``).
    """
    if logic is Logic.STABLE:
        return _stable(ground)
    known = determined(ground.rules, len(ground.symbols))
    if refusing:
        refuse(ground, logic, known)
    return TRANSLATIONS[logic](ground, known, watch)


def can_be_undefined(ground: GroundProgram, logic: Logic) -> NDArray[np.bool_]:
    """By atom, whether some model may leave it undefined under ``logic``."""
    size = len(ground.symbols)
    if logic is Logic.STABLE:
        return np.zeros(size, dtype=np.bool_)
    known = determined(ground.rules, size)
    if logic in (Logic.LSTABLE, Logic.SMPROBLOG):
        known = always_total(ground.rules, known)
    if logic is Logic.SMPROBLOG:  # all atoms at once, where there is no stable model
        sure = bool(known.all()) and all(rule.head for rule in ground.rules)
        return np.full(size, not sure)
    return ~known


def _stable(ground: GroundProgram, *_: object) -> Translation:
    # What becomes of a total choice without stable models is a matter of Meaning.
    size = len(ground.symbols)
    return Translation(ground.rules, size, tuple(range(size)), ())


def _partial(ground: GroundProgram, known: NDArray[np.bool_], watch: Watch) -> Translation:
    return _with_twins(ground, known)


def _lstable(ground: GroundProgram, known: NDArray[np.bool_], watch: Watch) -> Translation:
    return replace(_with_twins(ground, always_total(ground.rules, known)), least=True)


def _wellfounded(ground: GroundProgram, known: NDArray[np.bool_], watch: Watch) -> Translation:
    twins, size = _twins(known)
    rules, size = unroll(ground.rules, twins, size, watch)
    return Translation(tuple(rules), size, tuple(twins), _own(ground, known))


# A semantics by translation is one line here (and a name in dpasp.language.ast.Logic).
TRANSLATIONS: Mapping[Logic, Callable[[GroundProgram, NDArray[np.bool_], Watch], Translation]] = {
    Logic.STABLE: _stable,
    Logic.PARTIAL: _partial,
    Logic.LSTABLE: _lstable,
    Logic.SMPROBLOG: _stable,
    Logic.WELLFOUNDED: _wellfounded,
}


def _with_twins(ground: GroundProgram, known: NDArray[np.bool_]) -> Translation:
    """The rules with twins of the atoms that are not known to be defined."""
    twins, size = _twins(known)
    rules = [Rule((twins[atom],), (atom,)) for atom in np.flatnonzero(~known).tolist()]
    for rule in ground.rules:
        rules.extend(twin_rules(rule, twins))
    return Translation(tuple(rules), size, tuple(twins), _own(ground, known))


def _own(ground: GroundProgram, known: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(atom for atom in np.flatnonzero(~known).tolist() if ground.symbols[atom])


def twin_rules(rule: Rule, twins: list[int]) -> tuple[Rule, ...]:
    """What becomes of a rule: one for 'true' and one for 'possibly true', if they differ."""
    possible = rule._replace(
        head=tuple(twins[atom] for atom in rule.head),
        body=tuple(twins[b] if b > 0 else b for b in rule.body),
    )
    if not rule.head:
        return (possible,)
    true = rule._replace(body=tuple(b if b > 0 else -twins[-b] for b in rule.body))
    return (true,) if true == possible else (true, possible)


def _twins(known: NDArray[np.bool_]) -> tuple[list[int], int]:
    """The twin of each atom, fresh where it is not determined, and the new number of atoms."""
    fresh = len(known) + np.cumsum(~known) - 1
    twins = np.where(known, np.arange(len(known)), fresh)
    return twins.tolist(), len(known) + int((~known).sum())
