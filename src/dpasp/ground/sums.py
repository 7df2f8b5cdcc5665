"""Sums: those that may leave 32 bits, and totals that cannot occur.

clingo computes the ranges of ``#sum`` in 32 bits, so its rules are wrong if a sum leaves them. Such
a sum is passed to it as one of our atoms with the same elements,

    ok :- #sum{C,X : buy(X), cost(X,C)} <= 1000.
    ok :- &_dpasp_sum(0, (), (1000, 0)) {C,X : buy(X), cost(X,C)}.

and what it lists becomes rules with weights, whose bounds may have any size. A sum in a head, or
whose value is assigned to a variable, is left as it is and listed by an additional rule.

clingo also lists a value of ``S = #sum{D,I : digit(I,D)}`` for every set of its elements, as if all
digits of one position could hold together. But these are values of one choice and exclude each
other, so totals that cannot occur are left out of the ground program and of its questions.
Likewise, three positions have at most three different digits, ``N = #count{D : digit(I,D)}``.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> text = "p(1500000000). p(1500000001). {a(X)} :- p(X). b :- #sum{X : a(X)} > 2000000000."
>>> [(rule.weights, rule.bound) for rule in ground(parse(text)).rules if rule.weights]
[((1500000000, 1500000001), 2000000001)]
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import nlargest
from math import inf
from typing import NamedTuple

from clingo import Control, Observer, Symbol
from clingo.ast import (
    AST,
    AggregateFunction,
    ASTType,
    ComparisonOperator,
    Literal,
    Sign,
    TheoryAtom,
    TheoryAtomElement,
    Variable,
    parse_string,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground.markers import HIDDEN
from dpasp.ground.program import Choice, Rule
from dpasp.ground.terms import (
    LEAST,
    MOST,
    NO_LOCATION,
    RANGE,
    SMALLER,
    compared,
    digits_text,
    function,
    integer_term,
    reached,
)
from dpasp.ground.terms import (
    rule as rule_node,
)
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.text.clingo_text import global_variables, is_positive, variables

SUM, LISTED = f"{HIDDEN}sum", f"{HIDDEN}listed"
THEORY = f"#theory {HIDDEN}sums {{ t {{ }}; &{SUM}/3 : t, body }}."
SUMS = (AggregateFunction.Sum, AggregateFunction.SumPlus)
GUARDS = ("left_guard", "right_guard")
LiteralNumbers = tuple[int, ...]


class GroundSum(NamedTuple):
    """A sum that clingo listed: its atom, its number, its guards, and (tuple, condition) pairs.

    Guards and the terms of tuples are numbers of clingo's.
    """

    atom: int
    number: int
    guards: tuple[int, ...]
    elements: tuple[tuple[LiteralNumbers, LiteralNumbers], ...]


@dataclass(slots=True)
class LargeSums:
    """The sums of some rules, by number."""

    program: ast.Program
    nodes: list[AST] = field(default_factory=list)  # more for clingo: rules that list sums
    found: Listing = field(default_factory=lambda: Listing())
    _sums: list[AST] = field(default_factory=list)
    # sums that are left: whether they are in a body
    _beside: dict[int, bool] = field(default_factory=dict)

    def listed(self, node: AST) -> AST:
        """A rule with our sums in it; sums that have to stay are listed by additional rules."""
        if node.ast_type != ASTType.Rule:
            return node
        if node.head.ast_type == ASTType.HeadAggregate and node.head.function in SUMS:
            self._list(self._add(node.head), node.head, node)
        body = [self._literal(literal, node) for literal in node.body]
        return node.update(body=body)

    def _literal(self, literal: AST, node: AST) -> AST:
        if literal.ast_type != ASTType.Literal:
            return literal
        aggregate = literal.atom
        if aggregate.ast_type != ASTType.BodyAggregate or aggregate.function not in SUMS:
            return literal
        number = self._add(aggregate)
        if literal.sign == Sign.NoSign and _is_named(aggregate, node):
            self._list(number, aggregate, node)
            return literal
        guards = [getattr(aggregate, name) for name in GUARDS]
        terms = [integer_term(0) if guard is None else guard.term for guard in guards]
        return literal.update(atom=_sum_atom(number, aggregate, node, terms))

    def _add(self, node: AST) -> int:
        if not self._sums:
            theory: list[AST] = []
            parse_string(THEORY, theory.append)
            self.nodes.append(theory[-1])
        self._sums.append(node)
        return len(self._sums) - 1

    def _list(self, number: int, aggregate: AST, node: AST) -> None:
        """Have clingo list a sum for every way to bind the variables around it."""
        self._beside[number] = aggregate.ast_type == ASTType.BodyAggregate
        listed = _sum_atom(number, aggregate, node, [integer_term(0), integer_term(0)])
        unbound = _named_variables(node)
        body = [
            literal
            for literal in node.body
            if _binds(literal) and unbound.isdisjoint(v.name for v in variables(literal))
        ]
        head = function(LISTED, [integer_term(number), listed.term.arguments[1]])
        literal = Literal(aggregate.location, Sign.NoSign, listed)
        self.nodes.append(rule_node(head, [*body, literal], aggregate.location))

    # --- what clingo listed ---

    def problems(self) -> list[Diagnostic]:
        """Problems with sums that were left as they are and leave 32 bits."""
        problems: dict[int, Diagnostic] = {}
        for found in self.found.sums:
            if found.number not in self._beside:
                continue
            weights = [weight for weight, _ in self._weighted(found)]
            high, low = sum(w for w in weights if w > 0), sum(w for w in weights if w < 0)
            in_body = self._beside[found.number]
            if low < LEAST or high > MOST or (not in_body and high - low >= MOST):
                far = digits_text(high if high > MOST else low)
                message = f"this sum can reach {far}, and {RANGE}"
                help = "write {…} here, and a constraint about the sum: :- #sum{…} > 100."
                if in_body:
                    help = "compare it instead of assigning its value, as in #sum{…} <= 100"
                span = self.program.sources.span_of(self._sums[found.number].location)
                problems[found.number] = Diagnostic("integer-overflow", message, span, help)
        return list(problems.values())

    def rules(self, control: Control, ground: Sequence[Rule]) -> list[Rule]:
        """The ground rules of our sums, in addition to the others.

        Raises :class:`ProgramError` for sums that would mean something else as rules: those that
        depend on themselves and are not monotone.
        """
        rules: list[Rule] = []
        turning: list[GroundSum] = []
        with control.backend() as backend:
            for found in self.found.sums:
                if found.number not in self._beside:
                    weighted, guards = self._weighted(found), self._guards(found)
                    made = _Rules(backend.add_atom, weighted)
                    made.compare(found.atom, guards)
                    rules += made.rules
                    several = any(operator == ComparisonOperator.NotEqual for operator, _ in guards)
                    if several or any(weight < 0 for weight, _ in weighted):
                        turning.append(found)
        if turning:
            self._check_loops(turning, [*ground, *rules])
        return rules

    def _check_loops(self, turning: Iterable[GroundSum], rules: Iterable[Rule]) -> None:
        below: dict[int, set[int]] = {}
        for head, body, *_ in rules:
            for atom in head:
                below.setdefault(atom, set()).update(map(abs, body))
        for found in turning:
            inside = {abs(literal) for _, condition in found.elements for literal in condition}
            if found.atom in inside | reached(inside, below):
                message = f"this sum may leave 32 bits and depends on itself, and {RANGE}"
                span = self.program.sources.span_of(self._sums[found.number].location)
                raise ProgramError(Diagnostic("integer-overflow", message, span, SMALLER))

    def _weighted(self, found: GroundSum) -> list[tuple[int, list[LiteralNumbers]]]:
        """The weights of the tuples of a sum, each with the conditions under which it counts."""
        plus = self._sums[found.number].function == AggregateFunction.SumPlus
        tuples: dict[LiteralNumbers, list[LiteralNumbers]] = {}
        for terms, condition in found.elements:
            tuples.setdefault(terms, []).append(condition)
        weights = [(self.found.integer(terms[0]), bodies) for terms, bodies in tuples.items()]
        return [(w, bodies) for w, bodies in weights if w and not (plus and w < 0)]

    def _guards(self, found: GroundSum) -> list[tuple[int, int]]:
        """The operators and integers that the sum is compared with, the sum on the left."""
        node = self._sums[found.number]
        guards = []
        for name, term in zip(GUARDS, found.guards, strict=True):
            guard = getattr(node, name)
            if guard is not None:
                mirrored = _MIRRORED.get(guard.comparison, guard.comparison)
                operator = mirrored if name == "left_guard" else guard.comparison
                guards.append((operator, self.found.bound(term)))
        return guards


def _is_named(aggregate: AST, node: AST) -> bool:
    """Whether the value of an aggregate is assigned to a variable that nothing else binds."""
    guard = aggregate.left_guard
    if guard is None or guard.comparison != ComparisonOperator.Equal:
        return False
    bound = {v.name for literal in node.body if is_positive(literal) for v in variables(literal)}
    return any(v.name not in bound for v in variables(guard.term))


def _named_variables(node: AST) -> set[str]:
    """The variables of a rule that get their values from aggregates."""
    return {
        v.name
        for literal in node.body
        if literal.ast_type == ASTType.Literal
        and literal.atom.ast_type == ASTType.BodyAggregate
        and _is_named(literal.atom, node)
        for v in variables(literal.atom.left_guard.term)
    }


def _binds(literal: AST) -> bool:
    """Whether a literal of a body may give a variable its value."""
    equation = literal.ast_type == ASTType.Literal and literal.sign == Sign.NoSign
    return is_positive(literal) or bool(equation and literal.atom.ast_type == ASTType.Comparison)


def _sum_atom(number: int, aggregate: AST, node: AST, guards: Iterable[AST]) -> AST:
    """A sum as one of our atoms, with its number, the variables around it, and its guards."""
    inside = {v.name for element in aggregate.elements for v in variables(element)}
    known = global_variables((node.head, *node.body)).items()
    around = function("", [variable for name, variable in known if name in inside])
    term = function(SUM, [integer_term(number), around, function("", list(guards))])
    return TheoryAtom(aggregate.location, term, list(map(_element, aggregate.elements)), None)


def _element(element: AST) -> AST:
    """An element whose terms are variables, for which clingo evaluates equations."""
    head = element.ast_type == ASTType.HeadAggregateElement
    condition = list(element.condition.condition if head else element.condition)
    terms = [Variable(NO_LOCATION, f"_DPASP{place}") for place in range(len(element.terms))]
    for variable, term in zip(terms, element.terms, strict=True):
        condition.append(compared(variable, ComparisonOperator.Equal, term))
    return TheoryAtomElement(terms, condition)


class Listing(Observer):
    """The sums that clingo lists."""

    def __init__(self) -> None:
        self.sums: list[GroundSum] = []
        self._numbers: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._compounds: dict[int, tuple[int, Sequence[int]]] = {}
        self._elements: dict[int, tuple[LiteralNumbers, LiteralNumbers]] = {}

    def theory_term_number(self, term_id: int, number: int) -> None:
        """Called by clingo for an integer."""
        self._numbers[term_id] = number

    def theory_term_string(self, term_id: int, name: str) -> None:
        """Called by clingo for a name."""
        self._names[term_id] = name

    def theory_term_compound(
        self, term_id: int, name_id_or_type: int, arguments: Sequence[int]
    ) -> None:
        """Called by clingo for a function or a tuple."""
        self._compounds[term_id] = name_id_or_type, arguments

    def theory_element(
        self, element_id: int, terms: Sequence[int], condition: Sequence[int]
    ) -> None:
        """Called by clingo for an element."""
        self._elements[element_id] = tuple(terms), tuple(condition)

    def theory_atom(self, atom_id_or_zero: int, term_id: int, elements: Sequence[int]) -> None:
        """Called by clingo for a sum."""
        number, _, guards = self._compounds[term_id][1]
        elements_found = tuple(self._elements[element] for element in elements)
        terms = tuple(self._compounds[guards][1])
        self.sums.append(GroundSum(atom_id_or_zero, self._numbers[number], terms, elements_found))

    def integer(self, term: int) -> int | None:
        name, arguments = self._compounds.get(term, (-1, ()))
        if self._names.get(name) == "-" and len(arguments) == 1 and arguments[0] in self._numbers:
            return -abs(self._numbers[arguments[0]])
        return self._numbers.get(term)

    def bound(self, term: int) -> int:
        """The integer of a term, or a huge one: other terms come after all integers."""
        number = self.integer(term)
        if number is not None:
            return number
        return -(2**62) if self._names.get(term) == "#inf" else 2**62


_MIRRORED = {
    ComparisonOperator.LessThan: ComparisonOperator.GreaterThan,
    ComparisonOperator.LessEqual: ComparisonOperator.GreaterEqual,
    ComparisonOperator.GreaterThan: ComparisonOperator.LessThan,
    ComparisonOperator.GreaterEqual: ComparisonOperator.LessEqual,
}


class _Rules:
    """Rules for a ground sum; negative weights become positive ones of negated literals."""

    def __init__(
        self, fresh: Callable[[], int], weighted: Iterable[tuple[int, Sequence[LiteralNumbers]]]
    ) -> None:
        self.fresh, self.rules = fresh, list[Rule]()
        self.body: list[tuple[int, int]] = []
        self.shift = 0
        for weight, bodies in weighted:
            if () in bodies:
                self.shift -= weight
                continue
            literal = self._some(bodies)
            self.body.append((literal, weight) if weight > 0 else (-literal, -weight))
            self.shift -= min(0, weight)

    def _some(self, bodies: Sequence[LiteralNumbers]) -> int:
        """A literal that holds where one of the bodies does."""
        if len(bodies) == 1 and len(bodies[0]) == 1:
            return bodies[0][0]
        head = self.fresh()
        self.rules += (Rule((head,), body) for body in bodies)
        return head

    def at_least(self, bound: int) -> int:
        """An atom that holds where the sum is at least the bound."""
        head, bound = self.fresh(), bound + self.shift
        literals = tuple(literal for literal, _ in self.body)
        weights = tuple(weight for _, weight in self.body)
        if bound <= 0:
            self.rules.append(Rule((head,), ()))
        elif bound <= sum(weights):
            self.rules.append(Rule((head,), literals, False, weights, bound))
        return head

    def compare(self, atom: int, guards: Iterable[tuple[int, int]]) -> None:
        """The atom holds where the sum satisfies all guards."""
        ways: list[LiteralNumbers] = [()]
        holds: list[LiteralNumbers]
        for operator, bound in guards:
            match operator:
                case ComparisonOperator.GreaterEqual:
                    holds = [(self.at_least(bound),)]
                case ComparisonOperator.GreaterThan:
                    holds = [(self.at_least(bound + 1),)]
                case ComparisonOperator.LessEqual:
                    holds = [(-self.at_least(bound + 1),)]
                case ComparisonOperator.LessThan:
                    holds = [(-self.at_least(bound),)]
                case ComparisonOperator.Equal:
                    holds = [(self.at_least(bound), -self.at_least(bound + 1))]
                case _:
                    holds = [(-self.at_least(bound),), (self.at_least(bound + 1),)]
            ways = [(*way, *more) for way in ways for more in holds]
        self.rules += (Rule((atom,), way) for way in ways)


# --- totals that cannot occur --------------------------------------------------------------------


Weighted = tuple[tuple[int, ...], tuple[int, ...]]  # the literals of a sum and their weights


class _Values(NamedTuple):
    """Values of choices without which an atom is false; if ``exact``, each makes it true."""

    selectors: frozenset[int]
    exact: bool


def leave_out(rules: list[Rule], choices: Sequence[Choice], atoms: dict[Symbol, int]) -> None:
    """Remove rules that ask for a total that cannot occur, and atoms that no other rule derives."""
    if never := _never(rules, choices, atoms):
        kept = without(rules, atoms, never)
        rules[:] = [rule for rule in kept if rule is not None]


def _never(
    rules: Sequence[Rule], choices: Sequence[Choice], atoms: Mapping[Symbol, int]
) -> set[int]:
    """The numbers of the rules whose bodies ask for totals that cannot occur.

    For ``#max`` and ``#min``, that is the extreme of no element although some element always holds:
    a rule for an unnamed atom that negates all elements. And it is the value of an element that
    cannot hold: a rule that negates whatever derives an unnamed atom of its body.
    """
    negating = [n for n, rule in enumerate(rules) if rule.head and rule.body and min(rule.body) < 0]
    negating = [n for n in negating if rules[n].weights is None]
    heads = {head for rule in rules for head in rule.head} if negating else set()
    unnamed = heads.difference(atoms.values())
    empty = [n for n in negating if max(rules[n].body) < 0 and unnamed.issuperset(rules[n].head)]
    needs = [n for n in negating if not unnamed.isdisjoint(rules[n].body)]
    if not empty and not needs and all(rule.weights is None for rule in rules):
        return set()
    defining: dict[int, list[int]] = {}
    for number, rule in enumerate(rules):
        for head in rule.head:
            defining.setdefault(head, []).append(number)
    compared: dict[int, tuple[Weighted, int]] = {}  # atoms that say that a sum reaches a bound
    for head, numbers in defining.items():
        rule = rules[numbers[0]]
        alone = len(numbers) == 1 and len(rule.head) == 1 and not rule.choice
        if alone and rule.weights is not None:
            compared[head] = (rule.body, rule.weights), rule.bound
    known: dict[Weighted, list[int] | None] = {}
    totals = _Totals(rules, choices, defining)

    def bodies(atom: int) -> set[LiteralNumbers]:
        """The bodies that derive an atom; none if something else can make it true."""
        found = [rules[n] for n in defining.get(atom, ())]
        plain = all(r.weights is None and not r.choice and len(r.head) == 1 for r in found)
        return {r.body for r in found} if plain else set()

    never: set[int] = set()
    for number in needs:
        body = rules[number].body
        refuted = set().union({(-b,) for b in body}, *(bodies(-b) for b in body if b < 0))
        if any((ways := bodies(b)) and ways <= refuted for b in unnamed.intersection(body)):
            never.add(number)
    nothing = set(empty)
    for number, rule in enumerate(rules):
        windows: dict[Weighted, tuple[list[int], list[int]]] = {}
        if rule.weights is not None:
            windows[rule.body, rule.weights] = [rule.bound], []
        elif number in nothing:
            windows[tuple(-b for b in rule.body), (1,) * len(rule.body)] = [], [1]
        else:
            for literal in rule.body:
                if found := compared.get(abs(literal)):
                    windows.setdefault(found[0], ([], []))[literal < 0].append(found[1])
        for weighted, (least, beyond) in windows.items():
            if weighted not in known:
                known[weighted] = totals.of(*weighted)
            possible = known[weighted]
            if possible is not None and not _holds(possible, least, beyond):
                never.add(number)
    return never


def _holds(possible: Sequence[int], least: Iterable[int], beyond: Iterable[int]) -> bool:
    """Whether a total reaches all bounds of the first kind and none of the second."""
    place = max((bisect_left(possible, bound) for bound in least), default=0)
    return place < len(possible) and all(possible[place] < bound for bound in beyond)


class _Totals:
    """The possible values of sums, given the choices behind their literals."""

    def __init__(
        self, rules: Sequence[Rule], choices: Sequence[Choice], defining: dict[int, list[int]]
    ) -> None:
        self._rules, self._choices, self._defining = rules, choices, defining
        self._choice_of = {
            s: number for number, choice in enumerate(choices) for s in choice.selectors
        }
        self._values: dict[int, _Values | None] = {
            selector: _Values(frozenset((selector,)), True) for selector in self._choice_of
        }

    def of(self, literals: Sequence[int], weights: Sequence[int]) -> list[int] | None:
        """The possible totals of a sum, in order, perhaps with others; None for too many."""
        found = {0}
        for group in self._groups(literals, weights):
            found = {total + weight for total in found for weight in group}
            if len(found) > TUNING.partial_sums:
                return None
        least, most = self._range(literals, weights)
        return sorted(total for total in found if least <= total <= most)

    def _range(self, literals: Sequence[int], weights: Sequence[int]) -> tuple[int, int]:
        """The least and greatest value of a sum: each choice makes the atoms of one value true."""
        pairs = list(zip(literals, weights, strict=True))
        number = self._at_most((abs(literal), 1) for literal in literals)
        ends = []
        for side in (-1, 1):  # negated literals count unless their atoms hold
            changes = [(abs(literal), weight) for literal, weight in pairs if literal * side > 0]
            largest = sum(nlargest(number, (weight for _, weight in changes)))
            ends.append(min(largest, self._at_most(changes)))
        base = sum(weight for literal, weight in pairs if literal < 0)
        return max(base - ends[0], self._at_least(pairs)), base + ends[1]

    def _at_least(self, pairs: Iterable[tuple[int, int]]) -> int:
        """The least that a choice which always takes a value adds, by the atoms of its values."""
        made: dict[int, int] = {}
        for literal, weight in pairs:
            rules = [self._rules[number] for number in self._defining.get(literal, ())]
            plain = [r.body for r in rules if r.weights is None and not r.choice and not r.head[1:]]
            atoms = {literal, *(body[0] for body in plain if len(body) == 1)}
            values = [found for atom in atoms if atom > 0 and (found := self._of_atom(atom))]
            for selector in set().union(*(v.selectors for v in values if v.exact)):
                made[selector] = made.get(selector, 0) + weight
        numbers = {self._choice_of[selector] for selector in made}
        taken = [self._choices[number] for number in numbers]
        return max(
            (
                min(made.get(s, 0) for s in choice.selectors)
                for choice in taken
                if not choice.nothing
            ),
            default=0,
        )

    def _at_most(self, amounts: Iterable[tuple[int, int]]) -> int:
        """The greatest possible sum of the amounts of the atoms that hold."""
        free, by_value = 0, dict[int, int]()
        for atom, amount in amounts:
            needed = self._of_atom(atom)
            free += amount if needed is None else 0
            for selector in needed.selectors if needed else ():
                by_value[selector] = by_value.get(selector, 0) + amount
        by_choice: dict[int, int] = {}
        for selector, amount in by_value.items():
            number = self._choice_of[selector]
            by_choice[number] = max(amount, by_choice.get(number, 0))
        return free + sum(by_choice.values())

    def _groups(self, literals: Sequence[int], weights: Sequence[int]) -> Iterator[set[int]]:
        """The possible contributions of each group of mutually exclusive literals."""
        grouped: dict[int, list[tuple[_Values, int, int]]] = {}
        for literal, weight in zip(literals, weights, strict=True):
            values = self._of_atom(abs(literal))
            numbers = {self._choice_of[s] for s in values.selectors} if values else ()
            if values is None or len(numbers) > 1:
                yield {0, weight}
            else:
                # A negated literal counts unless its atom holds.
                base, change = (0, weight) if literal > 0 else (weight, -weight)
                grouped.setdefault(min(numbers), []).append((values, base, change))
        for number, items in grouped.items():
            base = sum(start for _, start, _ in items)
            by_value: dict[int, set[int]] = {s: {base} for s in self._choices[number].selectors}
            for values, _, change in items:
                for selector in values.selectors:
                    more = {total + change for total in by_value[selector]}
                    by_value[selector] = more if values.exact else by_value[selector] | more
            options = set().union(*by_value.values())
            yield options | {base} if self._choices[number].nothing else options

    def _of_atom(self, atom: int, depth: int = 0) -> _Values | None:
        if atom not in self._values:
            self._values[atom] = None  # of a loop
            if depth < TUNING.links:
                self._values[atom] = self._union(atom, depth)
        return self._values[atom]

    def _of_body(self, rule: Rule, depth: int) -> _Values | None:
        body = [self._of_atom(b, depth) for b in rule.body if rule.weights is None and b > 0]
        return min(filter(None, body), key=lambda values: len(values.selectors), default=None)

    def _union(self, atom: int, depth: int) -> _Values | None:
        selectors, exact = set[int](), True
        for number in self._defining.get(atom, ()):
            rule = self._rules[number]
            values = self._of_body(rule, depth + 1)
            if values is None:
                return None
            selectors |= values.selectors
            exact &= values.exact and len(rule.body) == 1 == len(rule.head) and not rule.choice
        return _Values(frozenset(selectors), exact) if selectors else None


def without(
    rules: Sequence[Rule],
    atoms: dict[Symbol, int],
    never: Container[int] = (),
    false: Collection[int] = (),
) -> list[Rule | None]:
    """The rules whose bodies can hold, None for the others; atoms that are false are removed.

    The bodies of the rules numbered ``never`` cannot hold, and atoms without rules may be true
    unless they are ``false``.
    """
    needed: list[float] = []
    users: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, rule in enumerate(rules):
        body, weights = rule.body, rule.weights
        needed.append(len(body) if weights is None else rule.bound)
        for literal, weight in zip(body, weights or (1,) * len(body), strict=True):
            if literal > 0:
                users[literal].append((number, weight))
            else:
                needed[-1] -= weight
        if number in never:
            needed[-1] = inf
    heads = {head for rule in rules for head in rule.head}.union(false)
    true = {
        head for rule, left in zip(rules, needed, strict=True) if left <= 0 for head in rule.head
    }
    todo = [*true, *(users.keys() - heads)]
    while todo:
        for number, weight in users[todo.pop()]:
            before = needed[number]
            needed[number] -= weight
            if needed[number] <= 0 < before:
                todo += set(rules[number].head) - true
                true.update(rules[number].head)
    gone = heads - true
    for symbol in [symbol for symbol, atom in atoms.items() if atom in gone] if gone else ():
        del atoms[symbol]
    return [
        None if left > 0 else _without(rule, gone) for rule, left in zip(rules, needed, strict=True)
    ]


def _without(rule: Rule, gone: Container[int]) -> Rule:
    """A rule whose body can hold, without the atoms that are false."""
    if not any(abs(literal) in gone for literal in rule.body):
        return rule
    if rule.weights is None:
        return rule._replace(body=tuple(b for b in rule.body if -b not in gone))
    pairs = list(zip(rule.body, rule.weights, strict=True))
    bound = rule.bound - sum(weight for literal, weight in pairs if -literal in gone)
    if bound <= 0:
        return Rule(rule.head, (), rule.choice)
    left = [(literal, weight) for literal, weight in pairs if abs(literal) not in gone]
    return rule._replace(
        body=tuple(b for b, _ in left), weights=tuple(w for _, w in left), bound=bound
    )
