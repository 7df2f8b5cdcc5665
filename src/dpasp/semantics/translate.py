"""Translations of every logic semantics to stable models.

- stable, smproblog: the rules as they are.
- partial, lstable: an atom ``a`` that is not determined gets a twin ``a*``,
  'possibly true'; ``h :- B, not C`` becomes ``h :- B, not C*`` and
  ``h* :- B*, not C``, with ``a* :- a``. The stable models are then one to one with the
  partial ones. lstable keeps those whose undefined sets are ⊆-minimal; atoms that are never
  undefined in those need no twin.
- wellfounded: the same atoms, defined by the alternating fixpoint unrolled into a
  stratified program; every total choice has exactly one model before constraints.

Constraints become ``:- B*, not C``: a constraint holds when its body is false. In a
model ``a`` says that the atom is true, ``not a*`` that it is false, and
``not a, a*`` that it is undefined. Statements without a meaning under a semantics are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeGuard

import numpy as np
from clingo import Symbol, SymbolType
from clingo.ast import AST, ASTType
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, SizeLimit, Span
from dpasp.ground.program import GroundLiteral, GroundProgram, Rule
from dpasp.language.ast import Annotated, Factor, Logic, Mode, Neural, Plain
from dpasp.language.text.clingo_text import walk
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import always_total, determined, negated_inside

MOST_RULES = 5_000_000
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
        """The translated literals of a question's literal; None if it cannot hold."""
        atom = literal.atom
        match literal.mode:
            case Mode.TRUE:
                return (atom,) if atom else None
            case Mode.FALSE:
                return (-self.twins[atom],) if atom else ()
            case Mode.UNDEFINED:
                return (-atom, self.twins[atom]) if self.twins[atom] != atom else None


@dataclass(frozen=True, slots=True)
class Weighed(GroundProgram):
    """A ground program in which each total choice has at most one model, made for ``weighted``.

    Its rules are translated already. See :mod:`dpasp.semantics.weighted`.
    """

    translation: Translation = Translation((), 0, (), ())
    factor_choices: tuple[int, ...] = ()  # which of the choices are factors
    undefined: tuple[bool, ...] = ()  # by factor: whether it counts if all atoms are undefined
    log_scale: float = 0.0  # from choices with equal values, and factors that always hold
    outer: int = 0  # how many of the first choices are the program's own
    plain: GroundProgram | None = None  # set if factors and tables are not among the choices
    # rules derive the values of the other choices, so only enumeration works
    by_table: bool = False


def translate(
    ground: GroundProgram, logic: Logic, watch: Watch = UNLIMITED, *, refusing: bool = True
) -> Translation:
    """The rules whose stable models are the program's models under ``logic``.

    With ``refusing``, raises :class:`ProgramError` for what has no meaning under it.
    """
    if isinstance(ground, Weighed):
        return _renewed(ground)
    if logic is Logic.STABLE:
        return _with_definitions(_stable(ground), ground)
    known = determined(ground.rules, len(ground.symbols))
    if refusing:
        refuse(ground, logic, known)
    return _with_definitions(TRANSLATIONS[logic](ground, known, watch), ground)


def _renewed(ground: Weighed) -> Translation:
    """The translation of a weighed program whose rules or atoms may have changed since."""
    own, size = ground.translation, len(ground.symbols)
    if ground.rules is own.rules:
        return own
    twins = (*own.twins, *range(len(own.twins), size))
    return replace(own, rules=ground.rules, size=size, twins=twins)


def _with_definitions(translation: Translation, ground: GroundProgram) -> Translation:
    """The translation with the program's definitions, which read the translated atoms."""
    if not ground.definitions:
        return translation
    rules = [
        Rule((head,), (*conjunction, *atoms))
        for head, literals, atoms in ground.definitions
        if (conjunction := translation.conjunction(literals)) is not None
    ]
    return replace(translation, rules=(*translation.rules, *rules))


def can_be_undefined(ground: GroundProgram, logic: Logic) -> NDArray[np.bool_]:
    """By atom, whether some model may leave it undefined under ``logic``."""
    size = len(ground.symbols)
    if isinstance(ground, Weighed):
        return _undefined_twins(ground, logic)
    if logic is Logic.STABLE:
        return np.zeros(size, dtype=np.bool_)
    known = determined(ground.rules, size)
    if logic in (Logic.LSTABLE, Logic.SMPROBLOG):
        known = always_total(ground.rules, known)
    if logic is Logic.SMPROBLOG:  # all atoms at once, if there is no stable model
        sure = bool(known.all()) and all(rule.head for rule in ground.rules)
        return np.full(size, not sure)
    return ~known


def _undefined_twins(ground: Weighed, logic: Logic) -> NDArray[np.bool_]:
    twins = np.array(ground.translation.twins)
    possible = np.full(len(ground.symbols), ground.by_table and logic is Logic.SMPROBLOG)
    possible[: len(twins)] |= twins != np.arange(len(twins))
    return possible


def _stable(ground: GroundProgram, *_: object) -> Translation:
    # Meaning says what a total choice without stable models means.
    size = len(ground.symbols)
    return Translation(ground.rules, size, tuple(range(size)), ())


def _lstable(ground: GroundProgram, known: NDArray[np.bool_], watch: Watch) -> Translation:
    return replace(_partial(ground, always_total(ground.rules, known)), least=True)


def _wellfounded(ground: GroundProgram, known: NDArray[np.bool_], watch: Watch) -> Translation:
    twins, size = _twins(known)
    rules, size = unroll(ground.rules, twins, size, watch)
    return Translation(tuple(rules), size, tuple(twins), _own(ground, known))


def _partial(ground: GroundProgram, known: NDArray[np.bool_], *_: object) -> Translation:
    """The rules with twins for the atoms that may be undefined."""
    twins, size = _twins(known)
    rules = [Rule((twins[atom],), (atom,)) for atom in np.flatnonzero(~known).tolist()]
    for rule in ground.rules:
        rules.extend(twin_rules(rule, twins))
    return Translation(tuple(rules), size, tuple(twins), _own(ground, known))


# A semantics by translation is one line here (and a name in dpasp.language.ast.Logic).
TRANSLATIONS: Mapping[Logic, Callable[[GroundProgram, NDArray[np.bool_], Watch], Translation]] = {
    Logic.STABLE: _stable,
    Logic.PARTIAL: _partial,
    Logic.LSTABLE: _lstable,
    Logic.SMPROBLOG: _stable,
    Logic.WELLFOUNDED: _wellfounded,
}


def _own(ground: GroundProgram, known: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(atom for atom in np.flatnonzero(~known).tolist() if ground.symbols[atom])


def twin_rules(rule: Rule, twins: list[int]) -> tuple[Rule, ...]:
    """The translation of a rule: one for 'true' and one for 'possibly true', if they differ."""
    possible = rule._replace(
        head=tuple(twins[atom] for atom in rule.head),
        body=tuple(twins[b] if b > 0 else b for b in rule.body),
    )
    if not rule.head:
        return (possible,)
    true = rule._replace(body=tuple(b if b > 0 else -twins[-b] for b in rule.body))
    return (true,) if true == possible else (true, possible)


def _twins(known: NDArray[np.bool_]) -> tuple[list[int], int]:
    """The twin of each atom, a new one if it is not determined, and the new number of atoms."""
    fresh = len(known) + np.cumsum(~known) - 1
    twins = np.where(known, np.arange(len(known)), fresh)
    return twins.tolist(), len(known) + int((~known).sum())


# --- the well-founded model as rules -------------------------------------------------------------
#
# In a strongly connected component C that has negative edges inside, the alternating fixpoint is
#
#     U₀ = Γ(∅),  T₁ = Γ(U₀),  U₁ = Γ(T₁),  T₂ = Γ(U₁),  …
#
# where Γ(S) is the least model when ``not b`` is read as b ∉ S; T grows towards the true atoms, U
# shrinks towards the possible ones. If m atoms are negated inside C, each further round moves at
# least one of them into T and another out of U, so ⌊m/2⌋ + 1 rounds are enough and can be written
# as rules over a copy of C for each step. Components without negation inside need no copies.


@dataclass(frozen=True, slots=True)
class NegativeLoop:
    """A component with negation inside: its atoms, their rules, how many of them are negated."""

    atoms: frozenset[int]
    rules: tuple[Rule, ...]
    negated: int

    @property
    def rounds(self) -> int:
        """How many rounds reach the fixpoint for all choices."""
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
    component, negated = negated_inside(rules, len(twins))
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


# --- what a three-valued semantics gives no meaning to -------------------------------------------
#
# Under partial, lstable, smproblog and wellfounded: choice rules, aggregates and conditional
# literals over atoms that are not determined, and classical negation; under wellfounded also
# disjunction.


class _Refused(NamedTuple):
    """What is refused: the kind of node, and the part of a statement ('' is all)."""

    what: str
    code: str
    help: str
    is_node: Callable[[AST], bool]
    part: str = ""


_NEGATION = _Refused(
    "classical negation",
    "classical-negation",
    "write another predicate, as not_a for -a, and a constraint :- a, not_a.",
    lambda node: (
        node.ast_type == ASTType.SymbolicAtom and node.symbol.ast_type == ASTType.UnaryOperation
    ),
)
_CHOICE = _Refused(
    "a choice rule",
    "choice-rule",
    "use #semantics stable, or a probabilistic fact",
    lambda node: node.ast_type in (ASTType.Aggregate, ASTType.HeadAggregate),
    "head",
)
_AGGREGATE = _Refused(
    "an aggregate over atoms that can be undefined",
    "undetermined-aggregate",
    "aggregate only over atoms that do not depend on a loop through negation "
    "or on a disjunction, or use #semantics stable",
    lambda node: node.ast_type in (ASTType.Aggregate, ASTType.BodyAggregate),
    "body",
)
_CONDITION = _Refused(
    "a conditional literal over atoms that can be undefined",
    "undetermined-condition",
    "write the cases as rules of their own, or use #semantics stable",
    lambda node: node.ast_type == ASTType.ConditionalLiteral and bool(node.condition),
    "body",
)
_DISJUNCTION = _Refused(
    "disjunction",
    "wellfounded-disjunction",
    "use #semantics stable, partial or lstable",
    lambda node: node.ast_type == ASTType.Disjunction,
    "head",
)


def refuse(ground: GroundProgram, logic: Logic, known: NDArray[np.bool_]) -> None:
    """Raise :class:`ProgramError` if the program has no meaning under ``logic``."""
    chosen = {atom for rule in ground.rules if rule.choice for atom in rule.head}
    opened = set(np.flatnonzero(~known).tolist())
    found: list[tuple[_Refused, set[int] | None]] = []  # with the atoms concerned, or any
    if any(_is_function(symbol) and symbol.negative for symbol in ground.symbols):
        found.append((_NEGATION, None))
    if chosen:
        found.append((_CHOICE, chosen))
    elif any(
        rule.weights is not None and not opened.isdisjoint(map(abs, rule.body))
        for rule in ground.rules
    ):
        found.append((_AGGREGATE, opened))
    elif _has_conditional(ground, opened):
        found.append((_CONDITION, opened))
    disjunctive = any(len(rule.head) > 1 and not rule.choice for rule in ground.rules)
    if logic is Logic.WELLFOUNDED and disjunctive:
        found.append((_DISJUNCTION, None))
    if found:
        raise ProgramError(d for what, atoms in found for d in _places(ground, logic, what, atoms))


def _places(
    ground: GroundProgram, logic: Logic, refused: _Refused, atoms: set[int] | None
) -> Iterator[Diagnostic]:
    """One diagnostic for each statement at fault, or one without a place."""
    symbols = [ground.symbols[atom] for atom in atoms or ()]
    names = {(symbol.name, len(symbol.arguments)) for symbol in symbols if _is_function(symbol)}

    def is_to_blame(node: AST) -> bool:
        return refused.is_node(node) and (
            atoms is None
            or any(
                part.ast_type == ASTType.Function and (part.name, len(part.arguments)) in names
                for part in walk(node)
            )
        )

    spans: list[Span | None] = [
        span
        for span, nodes in _statements(ground, refused.part)
        if any(is_to_blame(child) for node in nodes for child in walk(node))
    ]
    message = f"{refused.what} has no meaning under the {logic.value} semantics"
    for span in spans or [None]:
        yield Diagnostic(refused.code, message, span, refused.help)


def _is_function(symbol: Symbol | None) -> TypeGuard[Symbol]:
    return symbol is not None and symbol.type is SymbolType.Function


def _has_conditional(ground: GroundProgram, opened: set[int]) -> bool:
    """Whether an unnamed atom, other than for ``not not``, is not determined."""
    auxiliary = {atom for atom in opened if ground.symbols[atom] is None}
    seen: set[int] = set()
    for rule in ground.rules:
        for atom in auxiliary.intersection(rule.head):
            if atom in seen or len(rule.head) > 1 or len(rule.body) != 1 or rule.body[0] > 0:
                return True
            seen.add(atom)
    return False


def _statements(ground: GroundProgram, part: str) -> Iterator[tuple[Span, list[AST]]]:
    """The statements with the nodes of their part to inspect ('' is all)."""
    for statement in ground.program.statements:
        match statement:
            case Plain(node=node, span=span):
                if not part:
                    yield span, [node]
                else:
                    nodes = getattr(node, part, ())
                    yield span, [nodes] if isinstance(nodes, AST) else list(nodes)
            case Annotated(heads=heads, body=body, span=span):
                yield span, [*([h.atom for h in heads] if part != "body" else []), *body]
            case Neural(body=body, span=span) | Factor(body=body, span=span):
                yield span, list(body)
