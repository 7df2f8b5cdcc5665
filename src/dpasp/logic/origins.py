"""Which rule of the text a ground rule comes from: every instance of a rule has a *marker*.

``a(X) :- b(X,Y), not c.`` (the first statement) is given to clingo as

    _dpasp_rule(0, (X, Y)) :- b(X,Y), not c.        a(X) :- _dpasp_rule(0, (X, Y)).

which has the same models: a marker holds exactly where its body does. What clingo finds to be
certain stays certain, so grounding ends where it does without markers. Facts without
variables need none. Constraints, disjunctions and choice rules make nothing certain; their
bodies have one more atom, which is taken out again, so that clingo keeps their markers.

>>> from dpasp.language import parse
>>> markers = RuleMarkers()
>>> markers.add(0, parse("a(X) :- b(X,Y).").statements[0].node)
>>> [str(rule) for rule in markers.rules]
['_dpasp_rule(0,(X,Y)) :- b(X,Y).', 'a(X) :- _dpasp_rule(0,(X,Y)).']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from clingo import Control, Function, Symbol
from clingo.ast import AST, ASTType
from clingo.ast import Rule as RuleNode

from dpasp.dataclass import dataclass
from dpasp.language.text.trees import global_variables, variables
from dpasp.logic.markers import ABSENT, HIDDEN
from dpasp.logic.program import Rule
from dpasp.logic.terms import (
    atom_literal,
    choice_rule,
    function,
    integer_term,
    symbolic,
    unpooled_bodies,
)
from dpasp.logic.terms import (
    rule as marked,
)
from dpasp.logic.weights import Substitution

RULE = f"{HIDDEN}rule"
OPEN = f"{HIDDEN}open"  # keeps a marker from being certain


class RuleInstance(NamedTuple):
    """A ground instance of a rule that can hold; its ``atom`` is true where its body is."""

    statement: int
    substitution: Substitution
    atom: int
    certain: bool  # its body holds in every model, as clingo knows


@dataclass(slots=True)
class RuleMarkers:
    """The rules of a program with their markers."""

    rules: list[AST] = field(default_factory=list)
    _names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _open: bool = False

    def add(self, index: int, node: AST) -> None:
        """Take a rule, a constraint or a fact."""
        if not node.body and next(variables(node.head), None) is None and _is_atom(node.head):
            self.rules.append(node)
            return
        known = global_variables((node.head, *node.body))
        self._names[index] = tuple(known)
        bodies = unpooled_bodies(node.body)
        if not _is_atom(node.head):
            bodies = [(*body, atom_literal(function(OPEN, []))) for body in bodies]
            if not self._open:
                self._open = True
                self.rules.append(choice_rule(function(OPEN, []), []))
        for body in bodies:
            present = known if len(bodies) == 1 else global_variables((node.head, *body))
            values = [present.get(name) or symbolic(ABSENT) for name in known]
            marker = function(RULE, [integer_term(index), function("", values)], node.location)
            self.rules.append(marked(marker, body, node.location))
        # The head is bound to what the marker says, also where a pool leaves some open.
        marker = function(RULE, [integer_term(index), function("", list(known.values()))])
        self.rules.append(RuleNode(node.location, node.head, [atom_literal(marker)]))

    def closed(self, control: Control, ground: Iterable[Rule]) -> list[Rule]:
        """The ground rules without the atom that kept markers from being certain."""
        open_atom = control.symbolic_atoms[Function(OPEN)] if self._open else None
        if open_atom is None:
            return list(ground)
        added = open_atom.literal
        return [
            rule._replace(body=tuple(b for b in rule.body if b != added))
            if added in rule.body
            else rule
            for rule in ground
            if rule.head != (added,)
        ]

    def read(self, control: Control) -> tuple[RuleInstance, ...]:
        """The instances that clingo has found, in the order of the statements."""
        instances = []
        for atom in control.symbolic_atoms.by_signature(RULE, 2):
            index, values = atom.symbol.arguments
            names = self._names[index.number]
            pairs = zip(names, values.arguments, strict=True)
            substitution = tuple(pair for pair in pairs if pair[1] != ABSENT)
            instances.append(RuleInstance(index.number, substitution, atom.literal, atom.is_fact))
        return tuple(sorted(instances, key=_instance_order))


def _instance_order(instance: RuleInstance) -> tuple[int, Symbol]:
    """Something to sort by: the statement, then the values as clingo orders terms."""
    return instance.statement, Function("", [value for _, value in instance.substitution])


def _is_atom(head: AST) -> bool:
    return bool(head.ast_type == ASTType.Literal and head.atom.ast_type == ASTType.SymbolicAtom)
