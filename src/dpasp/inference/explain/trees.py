"""Why a literal holds in a model, rule by rule, down to facts and choices; and why not.

For this, models are traced to the rules of the text, in the order of derivation.

>>> from dpasp import loads
>>> program = loads("0.5::wet(1). slip(X) :- wet(X), not salted(X).")
>>> print(program.explain("slip(1)")[0].tree)
slip(1): by line 1, since wet(1) and not salted(1)
  wet(1): chosen, with probability 0.5 (line 1)
  not salted(1): there is no rule for it
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeVar

import numpy as np
from clingo import Function, Symbol
from clingo.ast import AST, ASTType, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.ground.markers import RuleInstance
from dpasp.ground.program import Choice, GroundLiteral, GroundProgram, IntervalWeights, Rule
from dpasp.ground.terms import (
    Signature,
    Values,
    match,
    split_atom,
    symbol_constants,
    term_value,
    unpooled_atoms,
)
from dpasp.ground.text import DisplayNames
from dpasp.inference.answers import Assignment, Value, decimal_text
from dpasp.inference.asked import Asked
from dpasp.inference.explain.explanation import Tree
from dpasp.inference.sampling.draws import Solutions, satisfy
from dpasp.inference.tuning import EXPLAIN
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.text.clingo_text import walk
from dpasp.semantics.leaves import TotalChoice, Weights
from dpasp.writing import counted


@dataclass(frozen=True)
class Traced:
    """A ground program and the instances of its rules (see :mod:`dpasp.ground.markers`).

    ``plain`` is the program that is used for answers. It may have fewer choices, since clingo can
    leave out those whose body never holds.
    """

    ground: GroundProgram
    instances: tuple[RuleInstance, ...]
    plain: GroundProgram

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """For each choice, its place among those of ``plain``; None if it is left out there."""
        known = {_key(self.plain, choice): i for i, choice in enumerate(self.plain.choices)}
        return tuple(known.get(_key(self.ground, choice)) for choice in self.ground.choices)

    def literals(self, plain: Sequence[GroundLiteral]) -> list[GroundLiteral]:
        """Literals of ``plain`` with the atoms of this program."""
        return [
            literal._replace(atom=self.ground.atoms.get(literal.symbol, 0)) for literal in plain
        ]

    def total_choice(self, plain: TotalChoice) -> TotalChoice:
        """A total choice of ``plain`` as one of this program."""
        return tuple(0 if place is None else plain[place] for place in self.places)


def _key(ground: GroundProgram, choice: Choice) -> tuple[object, ...]:
    """A key for a choice that does not depend on the numbers of atoms."""
    return choice.statement, choice.substitution, tuple(ground.symbols[h] for h in choice.heads)


@dataclass(frozen=True)
class TracedModel:
    """A model of a total choice: the atoms that are true, and those that are not false.

    If ``collapsed``, the total choice has no stable model, and so the semantics makes every atom
    undefined.
    """

    true: frozenset[int]
    possible: frozenset[int]
    collapsed: bool = False

    def value(self, atom: int) -> Value:
        """The value of an atom; 0 stands for atoms that cannot occur."""
        if self.collapsed:
            return "undef"
        if atom in self.true:
            return True
        return "undef" if atom in self.possible else False

    def holds(self, literal: int) -> Value:
        value = self.value(abs(literal))
        return value if literal > 0 or value == "undef" else not value


class TracedModels(Solutions):
    """The models of total choices, one at a time."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked, range(1, len(asked.ground.symbols)), refusing=False)

    def first(
        self,
        choice: TotalChoice,
        evidence: Sequence[GroundLiteral],
        literals: Sequence[GroundLiteral],
        wanted: bool = True,
        also: Sequence[int] = (),
    ) -> TracedModel | None:
        """The first model with the evidence in which all literals hold (unless not ``wanted``).

        Only models in which the literals ``also``, given by number, hold are considered.
        """
        nothing = True
        for true, possible in self.blocks(choice, also=also):
            nothing = nothing and not len(true)
            good = satisfy(self.atoms, true, possible, evidence)
            held = satisfy(self.atoms, true, possible, literals)
            for row in np.flatnonzero(good & (held if wanted else ~held)).tolist():
                held_atoms, open_atoms = (
                    frozenset((np.flatnonzero(bits[row]) + 1).tolist()) for bits in (true, possible)
                )
                return TracedModel(held_atoms, open_atoms)
        meaning = self.meaning
        if not (nothing and meaning.has_undefined_model and meaning.holds_without_models(evidence)):
            return None
        if meaning.holds_without_models(literals) is not wanted:
            return None
        return TracedModel(frozenset(), frozenset(self.atoms), collapsed=True)

    def like(self, choice: TotalChoice, values: Assignment) -> TracedModel | None:
        """The model of a total choice in which atoms, given by name, have these values."""
        also: list[int] = []
        for symbol, atom in self.ground.atoms.items():
            value, twin = values.get(str(symbol)), self.translation.twins[atom]
            if value is not None:
                also += (atom, twin) if value is True else (-atom, twin if value else -twin)
        return self.first(choice, (), (), also=also)


def derivation(ground: GroundProgram, model: TracedModel) -> Mapping[int, int]:
    """The places of true atoms in an order in which each is derived from earlier ones.

    Atoms that only derive each other (heads of disjunctions through a loop) are left out.
    """
    order: dict[int, int] = {}
    queue: deque[int] = deque()
    done: set[int] = set()
    # the rules whose body contains a literal
    using = _grouped((each, rule) for rule in ground.rules for each in dict.fromkeys(rule.body))

    def derive(atoms: Iterable[int]) -> None:
        for atom in atoms:
            if atom in model.true and atom not in order:
                order[atom] = len(order)
                queue.append(atom)

    def fire(rules: Iterable[Rule]) -> None:
        for rule in rules:
            heads = [atom for atom in rule.head if atom in model.true and atom not in order]
            # A disjunction derives an atom only if none of its other heads is true.
            alone = rule.choice or sum(atom in model.true for atom in rule.head) == 1
            if not heads or not alone:
                continue
            weights = rule.weights or (1,) * len(rule.body)
            pairs = zip(rule.body, weights, strict=True)
            met = sum(w for b, w in pairs if (b in done if b > 0 else model.holds(b) is True))
            if met >= (len(rule.body) if rule.weights is None else rule.bound):
                derive(heads)

    derive(sorted(s for choice in ground.choices for s in choice.selectors))
    fire(ground.rules)
    while queue:
        done.add(queue[0])
        fire(using.get(queue.popleft(), ()))
    return order


Key = TypeVar("Key")
Item = TypeVar("Item")
_VARIABLE = re.compile(r"(?<![\w'\"])_*[A-Z][\w']*")
_SILENT = frozenset((ASTType.Comparison, ASTType.BooleanConstant))


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A literal of a body, with values in place of its variables.

    It has a ``symbol`` if it is about one atom, and a ``pattern`` if some variables remain; an
    aggregate or a conditional literal has a ``node`` instead.
    """

    text: str
    negated: bool = False
    symbol: Symbol | None = None
    pattern: AST | None = None
    node: AST | None = None
    values: Values | None = None


_RULES = ast.Plain | ast.Statistical  # statements whose node may be a rule


@dataclass(frozen=True)
class Texts:
    """The rules in a program's text, and the atoms that they can derive."""

    traced: Traced
    constants: Mapping[str, Symbol]

    @classmethod
    def of(cls, traced: Traced, overrides: Mapping[str, str]) -> Texts:
        """The rules of a program with these values for its constants."""
        return cls(traced, symbol_constants(traced.ground.program, overrides))

    @cached_property
    def _heads(self) -> Mapping[Signature, list[tuple[int, AST]]]:
        """By signature, the rules of the text (not annotated ones) with such a head."""
        return _grouped(
            (split_atom(term)[0], (index, term))
            for index in range(len(self.traced.ground.program.statements))
            for term in self._head_terms(index)
        )

    def _head_terms(self, index: int) -> list[AST]:
        """The atoms that the head of a rule of the text (not annotated) can make true."""
        statement = self.traced.ground.program.statements[index]
        if not isinstance(statement, _RULES) or statement.node.ast_type != ASTType.Rule:
            return []
        atoms = derivable_atoms(statement.node.head)
        return [term for atom in atoms for term in unpooled_atoms(atom)]

    @cached_property
    def instances(self) -> Mapping[int, list[RuleInstance]]:
        """The instances of each statement that has some."""
        return _grouped((each.statement, each) for each in self.traced.instances)

    @cached_property
    def choices(self) -> Mapping[int, list[tuple[Choice, int]]]:
        """By atom, the choices that can derive it, with the positions of the values."""
        return _grouped(
            (head, (choice, position))
            for choice in self.traced.ground.choices
            for position, head in enumerate(choice.heads)
        )

    def giving(self, symbol: Symbol) -> list[tuple[int, AST]]:
        """The rules of the text with a head that matches the atom, as (statement, head)."""
        signature = Signature(symbol.name, len(symbol.arguments), symbol.positive)
        return [
            (index, term)
            for index, term in self._heads.get(signature, ())
            if match(term, symbol, self.constants) is not None
        ]

    def rule_instances(self, symbol: Symbol) -> Iterator[RuleInstance]:
        """The instances of rules that can derive an atom."""
        for index, term in self.giving(symbol):
            for instance in self.instances.get(index, ()):
                known = {**self.constants, **dict(instance.substitution)}
                if match(term, symbol, known) is not None:
                    yield instance

    def is_fact(self, index: int) -> bool:
        """Whether a rule has no body (and so no instance of its own)."""
        return index not in self.instances and not self.body_nodes(index)

    def span(self, index: int) -> Span:
        return self.traced.ground.program.statements[index].span

    def text(self, index: int) -> str:
        """A statement as it is written, on one line."""
        written = self.traced.ground.program.sources.text_of(self.span(index))
        return " ".join((written or "").split())

    def body_nodes(self, index: int) -> tuple[AST, ...]:
        """The body of a rule or of an annotated statement."""
        statement = self.traced.ground.program.statements[index]
        if isinstance(statement, ast.Annotated | ast.Neural):
            return tuple(statement.body)
        return tuple(statement.node.body) if isinstance(statement, _RULES) else ()

    def body(self, index: int, values: Values) -> list[BodyPart]:
        """The body with values for its variables; comparisons are left out."""
        known = {**self.constants, **values}
        return [part for node in self.body_nodes(index) if (part := _part(node, known)) is not None]

    def body_of(self, instance: Choice | RuleInstance) -> list[BodyPart]:
        return self.body(instance.statement, dict(instance.substitution))

    def other_heads(self, index: int, values: Values, symbol: Symbol) -> list[Symbol]:
        """The other atoms of the head of a rule."""
        return [
            atom
            for atom in self.fitting(self._head_terms(index), {**self.constants, **values})
            if atom != symbol
        ]

    def fitting(self, terms: Sequence[AST], known: Values) -> list[Symbol]:
        """The atoms of the program that match one of some terms with variables, in order."""
        atoms = self.traced.ground.atoms
        return sorted(a for a in atoms if any(match(t, a, known) is not None for t in terms))

    def head_kind(self, index: int) -> str:
        """The kind of a rule's head: ``one`` atom, ``several`` (a disjunction) or ``free``."""
        statement = self.traced.ground.program.statements[index]
        if isinstance(statement, _RULES):
            kind = statement.node.head.ast_type
            if kind in (ASTType.Aggregate, ASTType.HeadAggregate):
                return "free"
            if kind in (ASTType.Disjunction, ASTType.ConditionalLiteral):
                return "several"
        return "one"


def _grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def derivable_atoms(head: AST) -> Iterator[AST]:
    """The atoms that a head can make true."""
    match head.ast_type:
        case ASTType.Literal:
            if head.atom.ast_type == ASTType.SymbolicAtom and head.sign == Sign.NoSign:
                yield head.atom
        case ASTType.ConditionalLiteral:
            yield from derivable_atoms(head.literal)
        case ASTType.HeadAggregateElement:
            yield from derivable_atoms(head.condition)
        case ASTType.Aggregate | ASTType.Disjunction | ASTType.HeadAggregate:
            for element in head.elements:
                yield from derivable_atoms(element)


def _part(node: AST, known: Values) -> BodyPart | None:
    """A literal of a body with values; None for a comparison."""
    text = with_values(str(node), known)
    if node.ast_type != ASTType.Literal:
        return BodyPart(text, node=node, values=known)
    if node.atom.ast_type in _SILENT:
        return None
    if node.atom.ast_type != ASTType.SymbolicAtom:
        return BodyPart(text, node=node, values=known)
    term, negated = node.atom.symbol, node.sign == Sign.Negation
    if term.ast_type != ASTType.Pool:
        signature, arguments = split_atom(term)
        parts = [term_value(argument, known) for argument in arguments]
        symbols = [part for part in parts if part is not None]
        if len(symbols) == len(parts):
            symbol = Function(signature.name, symbols, signature.positive)
            return BodyPart(f"{'not ' * negated}{symbol}", negated, symbol)
    return BodyPart(text, negated, None, term, None, known)


def with_values(text: str, known: Values) -> str:
    """A text by clingo, with values in place of variables."""

    def value(variable: re.Match[str]) -> str:
        name = variable[0]
        return str(known[name]) if name in known else name

    return _VARIABLE.sub(value, text)


@dataclass(frozen=True)
class TextInModel:
    """The rules of a program's text, and one of its models."""

    texts: Texts
    model: TracedModel

    @cached_property
    def _order(self) -> Mapping[int, int]:
        return derivation(self.texts.traced.ground, self.model)

    def atom(self, symbol: Symbol) -> int:
        """The number of an atom; 0 if it cannot occur."""
        return self.texts.traced.ground.atoms.get(symbol, 0)

    def value(self, symbol: Symbol) -> Value:
        """The value of an atom in the model."""
        return self.model.value(self.atom(symbol))

    def when(self, atom: int) -> int:
        """When an atom is derived, as a number to compare; it is large for atoms in a loop only."""
        return self._order.get(atom, len(self._order) + atom)

    def holds(self, part: BodyPart) -> Value | None:
        """The value of a literal of a body; None for an aggregate or a conditional literal."""
        if part.symbol is not None:
            return _signed(self.value(part.symbol), part.negated)
        if part.pattern is None:
            return None
        values = {self.value(symbol) for symbol in self.fitting(part)}
        value: Value = True if True in values else ("undef" if "undef" in values else False)
        return _signed(value, part.negated)

    def fitting(self, part: BodyPart) -> list[Symbol]:
        """The atoms that match the pattern of a literal: true ones first, as they were derived."""
        assert part.pattern is not None
        fitting = self.texts.fitting([part.pattern], part.values or {})
        return sorted(
            fitting, key=lambda atom: (self.value(atom) is not True, self.when(self.atom(atom)))
        )

    def true_inside(self, part: BodyPart) -> list[Symbol]:
        """The true atoms inside an aggregate or a conditional literal."""
        if part.node is None:
            return []
        terms = [
            term
            for node in walk(part.node)
            if node.ast_type == ASTType.SymbolicAtom
            for term in unpooled_atoms(node)
        ]
        fitting = self.texts.fitting(terms, part.values or {})
        return [symbol for symbol in fitting if self.atom(symbol) in self.model.true]

    def can_hold(self, part: BodyPart) -> bool:
        """Whether a literal may hold, in a body without instances; if not, that is the reason."""
        if part.symbol is not None:
            known = part.symbol in self.texts.traced.ground.atoms
            return self.holds(part) is True if part.negated or known else False
        return part.negated or part.pattern is None or bool(self.fitting(part))

    def body_holds(self, choice: Choice) -> bool:
        """Whether the body of a choice may hold, so that its value matters."""
        return all(self.holds(part) is not False for part in self.texts.body_of(choice))


def _signed(value: Value, negated: bool) -> Value:
    return value if value == "undef" or not negated else not value


# --- trees of sentences ---------------------------------------------------------------------------


Path = tuple[tuple[Symbol, bool], ...]  # the atoms above, and whether each was negated


@dataclass
class Teller:
    """Explains literals in one model, as trees of sentences.

    An atom is explained only once in all trees of a teller; later mentions refer to that.
    """

    texts: Texts
    model: TracedModel
    names: DisplayNames
    probabilities: Sequence[Weights | None]  # of the values of every choice, where known
    _explained: set[tuple[Symbol, Value]] = field(default_factory=set)
    _lines: int = 0

    @cached_property
    def here(self) -> TextInModel:
        """The rules, with the values of atoms and literals in the model."""
        return TextInModel(self.texts, self.model)

    def query(self, literals: Iterable[GroundLiteral]) -> Tree:
        """Why literals have the values that they have in the model."""
        every = tuple(
            self.literal(literal.symbol, literal.mode is Mode.FALSE) for literal in literals
        )
        if len(every) == 1:
            return every[0]
        text = ", ".join(literal.literal for literal in every)
        return Tree(text, None, "all", "all of these:", below=every)

    def literal(self, symbol: Symbol, negated: bool, path: Path = ()) -> Tree:
        """Why an atom is true, false or undefined."""
        value = self.here.value(symbol)
        self._lines += 1
        if self.model.collapsed:
            words = "no stable model fits these choices, so every atom is undefined"
            return Tree(_text(symbol, negated), value, "undefined", f"{self.name(symbol)}: {words}")
        if symbol in (above for above, _ in path):
            return self._loop(symbol, negated, path, value)
        # The reason for a fact is a single line, which may be repeated.
        if (symbol, value) in self._explained and not (
            value is True
            and any(self.texts.is_fact(index) for index, _ in self.texts.giving(symbol))
        ):
            words = f"{self._says(symbol, value)}, explained above"
            return Tree(_text(symbol, negated), value, "again", words)
        self._explained.add((symbol, value))
        here: Path = (*path, (symbol, negated))
        if value is True:
            return self._true(symbol, negated, here)
        return (
            self._undefined(symbol, negated, here) if value else self._false(symbol, negated, here)
        )

    # --- what is true --------------------------------------------------------------------------

    def _true(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is true: it is a fact, or a choice or a rule derives it (the first one)."""
        text, name = _text(symbol, negated), self.name(symbol)
        for index, _ in self.texts.giving(symbol):
            if self.texts.is_fact(index) and self.texts.head_kind(index) == "one":
                words = f"{name}: a fact (line {self.texts.span(index).line})"
                return self._node(text, "fact", words, index)
        supports: list[tuple[int, Choice | RuleInstance, int]] = [
            (self.here.when(choice.selectors[position]), choice, position)
            for choice, position in self.texts.choices.get(self.here.atom(symbol), ())
            if choice.selectors[position] in self.model.true and self.here.body_holds(choice)
        ]
        supports += [
            (self.here.when(instance.atom), instance, 0)
            for instance in self.texts.rule_instances(symbol)
            if instance.atom in self.model.true
        ]
        if supports:
            _, instance, position = min(supports, key=lambda support: support[0])
            if isinstance(instance, Choice):
                return self._choice(text, symbol, instance, position, path)
            return self._by_rule(text, symbol, instance, path)
        for index, _ in self.texts.giving(symbol):
            line = self.texts.span(index).line
            return self._node(
                text, "free", f"{name}: left open by line {line}, and true here", index
            )
        return Tree(text, True, "fact", f"{name}: given")

    def _choice(self, text: str, symbol: Symbol, choice: Choice, position: int, path: Path) -> Tree:
        """An atom is true as the value of a choice; and why the body of the choice holds."""
        line = self.texts.span(choice.statement).line
        chance = self._probability(choice, position)
        words = f"{self.name(symbol)}: chosen{', ' * bool(chance)}{chance} (line {line})"
        below = self._all(self.texts.body_of(choice), path)
        return self._node(text, "choice", words, choice.statement, below)

    def _by_rule(self, text: str, symbol: Symbol, instance: RuleInstance, path: Path) -> Tree:
        """An atom is true by an instance of a rule; and why the body of the rule holds."""
        index, name = instance.statement, self.name(symbol)
        line, parts = self.texts.span(index).line, self.texts.body_of(instance)
        since = f", since {self._listed(parts)}" if parts else ""
        kind, words = "rule", f"{name}: by line {line}{since}"
        if self.texts.head_kind(index) == "free":
            kind, words = "free", f"{name}: line {line} leaves it open, and it is true here"
        return self._node(text, kind, words, index, self._all(parts, path))

    def _all(self, parts: Sequence[BodyPart], path: Path, met: bool = True) -> tuple[Tree, ...]:
        return tuple(self._part(part, path, met) for part in parts)

    def _part(self, part: BodyPart, path: Path, met: bool = True) -> Tree:
        """Why a literal of a body has its value; ``met``: whether a condition holds."""
        if self._lines > EXPLAIN.tree_lines or len(path) > EXPLAIN.tree_levels:
            return Tree(
                part.text, self.here.holds(part), "again", f"{part.text}: not explained any further"
            )
        if part.symbol is not None:
            return self.literal(part.symbol, part.negated, path)
        if part.pattern is not None:
            fitting = self.here.fitting(part)
            wanted = [atom for atom in fitting if self.here.value(atom) is not False]
            if wanted:
                return self.literal(wanted[0], part.negated, path)
            return Tree(part.text, part.negated, "none", f"{part.text}: there is no such atom")
        self._lines += 1
        held = self.here.true_inside(part)
        these = f"; these of its atoms hold: {', '.join(map(self.name, held))}" if held else ""
        words = f"the condition {part.text} is {'' if met else 'not '}met{these}"
        below = tuple(self.literal(symbol, False, path) for symbol in held[: EXPLAIN.tree_reasons])
        return Tree(part.text, None, "condition", words, below=below)

    # --- what is not true ----------------------------------------------------------------------

    def _false(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is false: what is missing for each rule that could derive it."""
        reasons = [
            self._blocked_choice(choice, position, path)
            for choice, position in self.texts.choices.get(self.here.atom(symbol), ())
        ]
        instances = list(self.texts.rule_instances(symbol))
        for instance in instances[: EXPLAIN.tree_reasons]:
            reasons.append(self._blocked_rule(symbol, instance, path))
        if len(instances) > EXPLAIN.tree_reasons:
            more = len(instances) - EXPLAIN.tree_reasons
            reasons.append(
                Tree("", None, "blocked", f"and {counted(more, 'more instance')} of rules")
            )
        used = {instance.statement for instance in instances}
        for index, term in self.texts.giving(symbol):
            if index not in used and not self.texts.is_fact(index):
                used.add(index)
                reasons.append(self._never(index, dict(match(term, symbol, {}) or {}), path))
        why = "no rule for it applies" if reasons else "there is no rule for it"
        words = f"{self._not(symbol)}: {why}"
        return Tree(_text(symbol, negated), False, "none", words, below=tuple(reasons))

    def _blocked_choice(self, choice: Choice, position: int, path: Path) -> Tree:
        """Why a choice does not derive an atom: it takes another value, or its body fails."""
        if choice.selectors[position] in self.model.true:
            return self._failing(choice, path)
        chance = self._probability(choice, position)
        words = f"does not choose it{f' (it does {chance})' if chance else ''}"
        return self._about(choice.statement, "choice", words)

    def _blocked_rule(self, symbol: Symbol, instance: RuleInstance, path: Path) -> Tree:
        """Why an instance of a rule does not derive an atom."""
        if instance.atom not in self.model.true:
            return self._failing(instance, path)
        index = instance.statement
        if self.texts.head_kind(index) == "free":
            return self._about(index, "free", "leaves it open, and it is not true here")
        heads = self.texts.other_heads(index, dict(instance.substitution), symbol)
        others = [self.name(head) for head in heads if self.here.value(head) is True]
        names = " and ".join(others) or "a condition of its head"
        return self._about(index, "blocked", f"does not derive it: {names} holds instead")

    def _failing(self, instance: Choice | RuleInstance, path: Path) -> Tree:
        """The literals of a body that fail; if there are none, its conditions."""
        values = [(part, self.here.holds(part)) for part in self.texts.body_of(instance)]
        failing = [part for part, value in values if value in (False, "undef")]
        failing = failing or [part for part, value in values if value is None]
        words = f"does not apply, since {self._listed(failing, False)}"
        below = self._all(failing, path, False)
        return self._about(instance.statement, "blocked", words, below)

    def _never(self, index: int, values: dict[str, Symbol], path: Path) -> Tree:
        """A rule without an instance for an atom: its body can never hold."""
        for part in self.texts.body(index, values):
            if not self.here.can_hold(part):
                words = f"can never apply, since {self._listed([part])}"
                below = self._all([part] if part.symbol is not None else [], path)
                return self._about(index, "blocked", words, below)
        return self._about(index, "blocked", "can never apply: its body cannot hold")

    def _undefined(self, symbol: Symbol, negated: bool, path: Path) -> Tree:
        """Why an atom is undefined: the rules that may or may not apply."""
        open_rules: list[Choice | RuleInstance] = [
            instance
            for instance in self.texts.rule_instances(symbol)
            if self.model.value(instance.atom) == "undef"
        ]
        open_rules += [
            choice
            for choice, position in self.texts.choices.get(self.here.atom(symbol), ())
            if choice.selectors[position] in self.model.true
        ]
        trees = []
        for instance in open_rules[: EXPLAIN.tree_reasons]:
            parts = self.texts.body_of(instance)
            open_ = [part for part in parts if self.here.holds(part) == "undef"]
            words = f"may or may not apply, since {self._listed(open_)}"
            trees.append(self._about(instance.statement, "rule", words, self._all(open_, path)))
        why = "no rule for it surely applies, and not all are ruled out"
        words = f"{self.name(symbol)} is undefined: {why}"
        return Tree(_text(symbol, negated), "undef", "undefined", words, below=tuple(trees))

    def _loop(self, symbol: Symbol, negated: bool, path: Path, value: Value) -> Tree:
        """The path has come back to an atom, through some number of negations."""
        at = next(i for i, (above, _) in enumerate(path) if above == symbol)
        signs = [sign for _, sign in path[at + 1 :]] + [negated]
        atoms = " → ".join(self.name(above) for above, _ in [*path[at:], (symbol, negated)])
        negations = sum(signs)
        if not negations:
            what = "they could only derive each other, which is no reason"
        else:
            parity = "an odd" if negations % 2 else "an even"
            what = f"a loop through {parity} number of negations ({negations})"
        return Tree(_text(symbol, negated), value, "loop", f"loop: {atoms}: {what}")

    # --- words ---------------------------------------------------------------------------------

    def name(self, symbol: Symbol) -> str:
        """The name of an atom: the words of its #name, or its text."""
        return self.names.name(symbol)

    def _listed(self, parts: Sequence[BodyPart], met: bool = True) -> str:
        """Literals in words, with their values."""
        return " and ".join(self._said(part, met) for part in parts) or "nothing more is needed"

    def _said(self, part: BodyPart, met: bool) -> str:
        """A literal of a body in words, with its value."""
        value = self.here.holds(part)
        if part.symbol is not None:
            return self._says(part.symbol, self.here.value(part.symbol))
        if value is None:
            return f"the condition {part.text} is {'met' if met else 'not met'}"
        if value is False:
            return f"there is no {part.text}" if not part.negated else f"{part.text} is false"
        return f"{part.text} is undefined" if value == "undef" else part.text

    def _says(self, symbol: Symbol, value: Value) -> str:
        name = self.name(symbol)
        if value is True:
            return name
        return f"{name} is undefined" if value else self._not(symbol)

    def _not(self, symbol: Symbol) -> str:
        """The negation of an atom, in words."""
        name = self.name(symbol)
        return f"not {name}" if name == str(symbol) else f"it is not true that {name}"

    def _probability(self, choice: Choice, position: int) -> str:
        """The probability of a value of a choice in words; empty if it is not known."""
        if isinstance(choice.weight, IntervalWeights):
            low, high = choice.weight.lower[position], choice.weight.upper[position]
            return f"with a probability in [{decimal_text(low)}, {decimal_text(high)}]"
        known = self.probabilities[self.texts.traced.ground.choices.index(choice)]
        return "" if known is None else f"with probability {known[position]:.6g}"

    def _about(self, index: int, kind: str, words: str, below: tuple[Tree, ...] = ()) -> Tree:
        """A sentence about a statement, for an atom that is not true."""
        line = self.texts.span(index).line
        return self._node("", kind, f"line {line} {words}", index, below, None)

    def _node(
        self,
        text: str,
        kind: str,
        words: str,
        index: int,
        below: tuple[Tree, ...] = (),
        value: Value | None = True,
    ) -> Tree:
        """A node that refers to a statement, whose number is ``index``."""
        self._lines += 1
        return Tree(text, value, kind, words, self.texts.text(index), self.texts.span(index), below)


def _text(symbol: Symbol, negated: bool) -> str:
    return f"{'not ' * negated}{symbol}"
