"""The weighted semantics, by ground programs whose total choices have at most one model.

Under ``weighted``, the weight of a model is the probability of its total choice times its factors,
and all weights are normalised together. :func:`weighed` turns everything in which models can differ
into choices:

- a choice rule of exactly one of k atoms becomes one choice among k equal values, any other one a
coin for each of its atoms;
- an atom that is negated in its own loop is guessed by a coin, which must agree with it;
- a factor w becomes a choice with the weights w / (1 + w) and 1 / (1 + w), which must agree with
  its body.

Every model then belongs to one total choice, whose probability is the weight of the model up to a
constant (``log_scale`` and the weights of factors that do not hold). So qe / e is the answer, as
under maxent, in every engine; the mass without a model does not matter.

If a total choice must stay whole (because of the least undefined models of lstable or the undefined
model of smproblog), rules derive the values of the new choices, and models are enumerated
(``by_table``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, fields, replace
from itertools import product

import numpy as np
from clingo import Function
from clingo.ast import AST, ASTType
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.ground.program import (
    Choice,
    Definition,
    Factor,
    FixedFactor,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundWeight,
    Rule,
)
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.text.clingo_text import walk
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import components, determined, negated_inside
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Translation, Weighed, can_be_undefined, translate

Array = NDArray[np.float64]
MOST_LOG = 600.0  # a factor beyond exp(600) is split, since its weights are doubles
MOST_ENTRIES = 100_000  # a guard: the most table entries that become choices, a rule each
MOST_ROUNDS = 20  # a guard: attempts at guessing one atom in each loop; then all negated atoms


def weighed(ground: GroundProgram, meaning: Meaning, watch: Watch = UNLIMITED) -> Weighed:
    """The program with choices for everything in which models differ, and for its factors."""
    translation = translate(ground, meaning.logic, watch)
    parts = _Parts(ground, translation)
    by_table = _keeps_choices_whole(ground, meaning, translation)
    if by_table:
        parts.name_models()
    else:
        parts.split_models(watch)
    for factor in (*ground.factors, *_table_factors(ground)):
        parts.add_factor(factor, by_table)
    return parts.weighed(by_table)


def without_factors(
    ground: GroundProgram, meaning: Meaning, watch: Watch = UNLIMITED
) -> Weighed | None:
    """The program with choices for everything in which models differ, but not for its factors.

    The factors are summed up as tables. None if that is impossible: if they are learned, computed
    by a network or have several bodies, or if a total choice must stay whole.
    """
    factors = ground.factors
    if not all(isinstance(f.weight, FixedFactor) and len(f.bodies) == 1 for f in factors):
        return None
    translation = translate(ground, meaning.logic, watch)
    if _keeps_choices_whole(ground, meaning, translation):
        return None
    parts = _Parts(ground, translation)
    parts.split_models(watch)
    return replace(parts.weighed(False), plain=ground)


def _keeps_choices_whole(ground: GroundProgram, meaning: Meaning, translation: Translation) -> bool:
    """Whether total choices must stay whole, because their models depend on one another."""
    undefined_model = Meaning(meaning.logic).has_undefined_model
    return bool(translation.least and translation.own_atoms) or (
        undefined_model and bool(can_be_undefined(ground, meaning.logic).any())
    )


def factor_tables(ground: Weighed) -> Iterator[tuple[Sequence[Sequence[int]], Array]]:
    """The factors of a program without choices for them: sets of literals, and the weights.

    There is a weight for each combination of the sets; a single factor is a table of one weight.
    """
    twins = ground.translation.twins
    for factor in ground.factors:
        assert isinstance(factor.weight, FixedFactor)
        (body,) = factor.bodies
        sets = [(b if b > 0 else -twins[-b],) for b in body]
        log = factor.weight.log
        copies = max(1, math.ceil(abs(log) / MOST_LOG)) if math.isfinite(log) else 1
        for _ in range(copies):
            yield sets, np.array([math.exp(log / copies)])
    for table in ground.tables:
        yield table.sets, table.weights


def excluding(ground: GroundProgram) -> tuple[GroundProgram, dict[int, Factor]]:
    """The program without the models that factors of 0 exclude, and those factors.

    Each factor gets an atom, which is true if the factor applies, and a constraint against it.
    """
    zero = [
        factor
        for factor in (*ground.factors, *_table_factors(ground))
        if isinstance(factor.weight, FixedFactor) and factor.weight.log == -math.inf
    ]
    size = len(ground.symbols)
    atoms = dict(enumerate(zero, size))
    definitions = [
        Definition(atom, tuple(map(_question_literal, body)), ())
        for atom, factor in atoms.items()
        for body in factor.bodies
    ]
    changed = replace(
        ground,
        rules=(*ground.rules, *(Rule((), (atom,)) for atom in atoms)),
        symbols=(*ground.symbols, *(None for _ in atoms)),
        definitions=(*ground.definitions, *definitions),
    )
    return changed, atoms


def _question_literal(literal: int) -> GroundLiteral:
    """A literal of a factor's body in the form of a question's literal."""
    return GroundLiteral(Mode.TRUE if literal > 0 else Mode.FALSE, abs(literal), Function(""))


def _table_factors(ground: GroundProgram) -> Iterator[Factor]:
    """The tables of a program as one factor for each combination."""
    if sum(table.weights.size for table in ground.tables) > MOST_ENTRIES:
        raise _too_many(f"the tables of this program have more than {MOST_ENTRIES:,} factors")
    for table in ground.tables:
        for body, weight in zip(product(*table.sets), table.weights.tolist(), strict=True):
            if all(body) and weight != 1.0:
                log = math.log(weight) if weight > 0 else -math.inf
                yield Factor(table.statement, (), (body,), FixedFactor(log))


def _too_many(message: str) -> SizeLimit:
    help = "ask for probabilities, marginals or #mpe by the engine auto, which sums up tables"
    return SizeLimit(Diagnostic("size-limit", message, help=help))


@dataclass(slots=True)
class _Parts:
    """The parts of a weighed program, being put together."""

    ground: GroundProgram
    translation: Translation
    rules: list[Rule] = field(init=False)
    choices: list[Choice] = field(init=False)
    size: int = field(init=False)
    log_scale: float = 0.0
    factors: list[int] = field(default_factory=list)  # places of choices
    undefined: list[bool] = field(default_factory=list)  # by the choice of a factor
    _statements: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules = list(self.translation.rules)
        self.choices = list(self.ground.choices)
        self.size = self.translation.size

    def fresh(self) -> int:
        """An unused atom."""
        self.size += 1
        return self.size - 1

    def weighed(self, by_table: bool) -> Weighed:
        """The program that was put together."""
        ground = self.ground
        rules = tuple(self.rules)
        translation = Translation(
            rules,
            self.size,
            self.translation.twins,
            self.translation.own_atoms,
            self.translation.least and by_table,
        )
        kept = {each.name: getattr(ground, each.name) for each in fields(GroundProgram)}
        kept |= {
            "symbols": (*ground.symbols, *[None] * (self.size - len(ground.symbols))),
            "rules": rules,
            "choices": tuple(self.choices),
        }
        return Weighed(
            **kept,
            translation=translation,
            factor_choices=tuple(self.factors),
            undefined=tuple(self.undefined),
            log_scale=self.log_scale,
            outer=len(ground.choices),
            by_table=by_table,
        )

    # --- what distinguishes models --------------------------------------------------------------

    def name_models(self) -> None:
        """Make each undetermined atom a choice, whose value is read from models."""
        for atom in np.flatnonzero(~determined(self.rules, self.size)).tolist():
            self._add_choice((atom,), (atom,), True)

    def split_models(self, watch: Watch) -> None:
        """Turn guesses into choices, so that every total choice has at most one model."""
        self._exclusive()
        self._coins()
        self._shift()
        self._loops(watch)

    def _add_choice(self, atoms: Sequence[int], selectors: Sequence[int], nothing: bool) -> None:
        count = len(atoms) + nothing
        self.log_scale += math.log(count)
        weight = FixedWeights((1.0 / count,) * len(atoms))
        labels = tuple(map(self._name, atoms))
        statement = self._statement(atoms[0])
        self.choices.append(
            Choice(statement, (), tuple(selectors), tuple(atoms), weight, nothing, labels)
        )

    def _name(self, atom: int) -> str:
        symbols = self.ground.symbols
        if atom < len(symbols) and symbols[atom] is not None:
            return str(symbols[atom])
        twins = self.translation.twins
        own = next((a for a in self.translation.own_atoms if twins[a] == atom), 0)
        return f"possibly {symbols[own]}" if own else f"part {atom}"

    def _statement(self, atom: int) -> int:
        """The first statement with the predicate of an atom in its head, or the first of all."""
        if not self._statements:
            for index, statement in enumerate(self.ground.program.statements):
                if hasattr(statement, "node") and hasattr(statement.node, "head"):
                    for name, arity in _predicates(statement.node.head):
                        self._statements.setdefault((name, arity), index)
            self._statements.setdefault(("", -1), 0)
        symbol = self.ground.symbols[atom] if atom < len(self.ground.symbols) else None
        if symbol is None or not hasattr(symbol, "arguments"):
            return 0
        return self._statements.get((symbol.name, len(symbol.arguments)), 0)

    def _exclusive(self) -> None:
        """Choice rules of exactly one atom become choices."""
        of_atom = _by_head(self.rules)
        facts = {r.head[0] for r in self.rules if len(r.head) == 1 and not r.body and not r.choice}
        chosen = {}
        for index, rule in enumerate(self.rules):
            alone = rule.choice and all(len(of_atom[atom]) == 1 for atom in rule.head)
            if alone and len(rule.head) > 1 and facts.issuperset(rule.body):
                chosen[frozenset(rule.head)] = index
        if not chosen:
            return
        dropped: set[int] = set()
        for index, rule in enumerate(self.rules):
            if rule.head or rule.weights is not None:
                continue
            open_ = [literal for literal in rule.body if literal not in facts]
            if len(open_) == 1 and open_[0] < 0:
                atoms = self._exactly_one(-open_[0], of_atom)
                place = chosen.pop(atoms, None) if atoms else None
                if place is not None:
                    heads = self.rules[place].head
                    self._add_choice(heads, heads, False)
                    dropped |= {index, place}
        self.rules = [rule for index, rule in enumerate(self.rules) if index not in dropped]

    def _exactly_one(self, atom: int, of_atom: dict[int, list[int]]) -> frozenset[int] | None:
        """The atoms exactly one of which is true if ``atom`` is, in clingo's encoding."""
        if len(of_atom[atom]) != 1:
            return None
        rule = self.rules[of_atom[atom][0]]
        if rule.choice or len(rule.head) != 1 or rule.weights is not None or len(rule.body) != 2:
            return None
        below, above = max(rule.body), -min(rule.body)
        if above < 0 or not below > 0:
            return None
        sets = [self._at_least(below, 1, of_atom), self._at_least(above, 2, of_atom)]
        return sets[0] if sets[0] == sets[1] else None

    def _at_least(self, atom: int, bound: int, of_atom: dict[int, list[int]]) -> frozenset[int]:
        """The atoms of which this many are true exactly if ``atom`` is, if there are such."""
        if len(of_atom[atom]) != 1:
            return frozenset()
        rule = self.rules[of_atom[atom][0]]
        plain = not rule.choice and len(rule.head) == 1 and rule.weights is not None
        if not plain or rule.bound != bound or set(rule.weights or ()) != {1}:
            return frozenset()
        positive = min(rule.body) > 0 and len(set(rule.body)) == len(rule.body)
        return frozenset(rule.body) if positive else frozenset()

    def _coins(self) -> None:
        """The atoms of other choice rules are decided by coins."""
        of_atom = _by_head(self.rules)
        facts = {r.head[0] for r in self.rules if len(r.head) == 1 and not r.body and not r.choice}
        rules: list[Rule] = []
        coins: dict[int, int] = {}
        for rule in self.rules:
            if not rule.choice:
                rules.append(rule)
                continue
            for atom in dict.fromkeys(rule.head):
                if rule.weights is None and len(of_atom[atom]) == 1 and facts.issuperset(rule.body):
                    self._add_choice((atom,), (atom,), True)
                    continue
                coin = coins.get(atom)
                if coin is None:
                    coin = coins[atom] = self.fresh()
                    self._add_choice((atom,), (coin,), True)
                rules.append(self._with_coin(rule, atom, coin, rules))
        for atom, coin in coins.items():
            rules += _agree(coin, atom)
        self.rules = rules

    def _with_coin(self, rule: Rule, atom: int, coin: int, rules: list[Rule]) -> Rule:
        """``atom :- coin, body.``"""
        if rule.weights is None:
            return Rule((atom,), (coin, *rule.body))
        holds = self.fresh()
        rules.append(rule._replace(head=(holds,), choice=False))
        return Rule((atom,), (coin, holds))

    def _shift(self) -> None:
        """Turn disjunctions without positive loops through their heads into normal rules."""
        disjunctive = [rule for rule in self.rules if len(rule.head) > 1]
        if not disjunctive:
            return
        below: list[list[int]] = [[] for _ in range(self.size)]
        for rule in self.rules:
            for head in rule.head:
                below[head].extend(literal for literal in rule.body if literal > 0)
        component, _ = components(below)
        rules: list[Rule] = []
        kept: dict[int, None] = {}
        for rule in self.rules:
            heads = tuple(dict.fromkeys(rule.head))
            if len(heads) < 2:
                rules.append(rule._replace(head=heads))
            elif len({component[head] for head in heads}) == len(heads):
                if rule.weights is not None:
                    holds = self.fresh()
                    rules.append(rule._replace(head=(holds,)))
                    rule = Rule(heads, (holds,))
                for head in heads:
                    others = tuple(-other for other in heads if other != head)
                    rules.append(Rule((head,), (*rule.body, *others)))
            else:
                rules.append(rule)
                kept.update(dict.fromkeys(heads))
        self.rules = rules
        for atom in kept:  # these stay disjunctions, with at most one model for the coins
            coin = self.fresh()
            self._add_choice((atom,), (coin,), True)
            self.rules += _agree(coin, atom)

    def _loops(self, watch: Watch) -> None:
        """Guess atoms that are negated in their own loops."""
        if not any(rule.head and rule.body and min(rule.body) < 0 for rule in self.rules):
            return
        coins: dict[int, int] = {}
        for round_ in range(MOST_ROUNDS + 1):
            watch.check()
            _, negated = negated_inside(self.rules, self.size)
            if not negated:
                break
            for atoms in negated.values():
                most = max(atoms, key=lambda atom: (atoms[atom], -atom))
                for atom in atoms if round_ == MOST_ROUNDS else (most,):
                    coins[atom] = self.fresh()
                    self._add_choice((atom,), (coins[atom],), True)
            self.rules = [
                rule._replace(body=tuple(-coins.get(-b, -b) if b < 0 else b for b in rule.body))
                if rule.head and rule.body and min(rule.body) < 0
                else rule
                for rule in self.rules
            ]
        for atom, coin in coins.items():
            self.rules += _agree(coin, atom)

    # --- factors --------------------------------------------------------------------------------

    def add_factor(self, factor: Factor, by_table: bool) -> None:
        """Add a choice that must agree with the body of a factor."""
        twins = self.translation.twins
        bodies = tuple(tuple(b if b > 0 else -twins[-b] for b in body) for body in factor.bodies)
        weight = factor.weight
        if isinstance(weight, FixedFactor):
            if weight.log == 0.0:
                return
            if not by_table and math.isinf(weight.log):
                self.rules += (Rule((), body) for body in bodies)
                return
            if not by_table and () in bodies:
                self.log_scale += weight.log
                return
            copies = 1
            if math.isfinite(weight.log):
                copies = math.ceil(abs(weight.log) / MOST_LOG)
            if copies > MOST_ENTRIES:
                raise _too_many(f"exp({weight.log:.10g}) is too many factors of an ordinary size")
            log = weight.log / copies
            shares: GroundWeight = FixedWeights((sigmoid(log), sigmoid(-log)))
        else:
            copies, shares = 1, weight
        truth = self._truth(bodies)
        for _ in range(copies):
            self._add_factor_choice(factor, shares)
            selectors = self.choices[-1].selectors
            if by_table:
                for selector, literal in zip(selectors, (truth, -truth), strict=False):
                    self.rules.append(Rule((selector,), (literal,)))
            else:
                self.rules += _agree(selectors[0], truth)

    def _add_factor_choice(self, factor: Factor, weight: GroundWeight) -> None:
        text = factor_label(self.ground, factor)
        labels: tuple[str, ...] = (text, f"no {text}")
        nothing = not isinstance(weight, FixedWeights)
        selectors = tuple(self.fresh() for _ in labels[: 1 if nothing else 2])
        self.factors.append(len(self.choices))
        self.undefined.append(holds_undefined(self.ground, factor))
        self.choices.append(
            Choice(
                factor.statement,
                factor.substitution,
                selectors,
                selectors,
                weight,
                nothing,
                labels[: len(selectors)],
            )
        )

    def _truth(self, bodies: tuple[tuple[int, ...], ...]) -> int:
        """A literal that holds exactly if one of the bodies does."""
        if len(bodies) == 1 and len(bodies[0]) == 1:
            return bodies[0][0]
        atom = self.fresh()
        self.rules += (Rule((atom,), body) for body in bodies)
        return atom


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), precise at both ends."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))


def factor_label(ground: GroundProgram, factor: Factor) -> str:
    """A factor as written, with the values of its variables."""
    statement = ground.program.statements[factor.statement]
    if isinstance(statement, ast.FactorTable) and isinstance(factor.weight, FixedFactor):
        atoms = ", ".join(str(ground.symbols[atom]) for atom in factor.bodies[0])
        return f"factor {math.exp(factor.weight.log):.6g} : {atoms}"
    text = ast.statement_text(statement) if isinstance(statement, ast.Factor | ast.Plain) else ""
    text = text.removeprefix("#").removesuffix(".") or f"line {statement.span.line}"
    values = ", ".join(f"{name}={value}" for name, value in factor.substitution)
    return f"{text} [{values}]" if values else text


def _agree(coin: int, literal: int) -> tuple[Rule, Rule]:
    """The constraints that a coin is true exactly if a literal holds."""
    return Rule((), (coin, -literal)), Rule((), (-coin, literal))


def _by_head(rules: Iterable[Rule]) -> dict[int, list[int]]:
    result: dict[int, list[int]] = defaultdict(list)
    for index, rule in enumerate(rules):
        for atom in rule.head:
            result[atom].append(index)
    return result


def _predicates(head: AST) -> Iterator[tuple[str, int]]:
    for node in walk(head):
        if node.ast_type == ASTType.SymbolicAtom and node.symbol.ast_type == ASTType.Function:
            yield node.symbol.name, len(node.symbol.arguments)


def holds_undefined(ground: GroundProgram, factor: Factor) -> bool:
    """Whether a factor counts if every atom is undefined, because its body has no atoms."""
    statement = ground.program.statements[factor.statement]
    if isinstance(statement, ast.FactorTable):
        return False
    body = statement.node.body if isinstance(statement, ast.Plain) else statement.body  # type: ignore[attr-defined]
    return not any(part.ast_type == ASTType.SymbolicAtom for node in body for part in walk(node))
