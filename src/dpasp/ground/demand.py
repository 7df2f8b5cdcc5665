"""Which instances of predicates the questions of a program need.

clingo grounds from the facts up. If a program goes on for ever, or has a hundred thousand facts of
which a question needs one, that is too much. So a question becomes a *demand*: here ``w/2`` is
asked for at 10, and a demand at T > 0 causes one at T-1.

    0.6::w(sun,T); 0.4::w(rain,T) :- T > 0, P = T-1, w(sun,P).
    #query w(sun,10).

The demands are found first (they depend on nothing uncertain), and become a condition of the rules.
A statement is read as a *shape*: heads, body atoms, and where variables get their values. Rows of
tables with the same predicates are one shape. Other statements are never left out.

No answer changes. Only atoms that the choices determine are left out, and none that matter to a
question, evidence, a constraint or a part with several models: those parts demand everything that
they mention. What is left out always has exactly one model, whatever else holds. Rules that clingo
might refuse, probabilities that depend on variables, intervals and parameters to learn stay as they
are.

>>> from dpasp.language import parse
>>> text = "0.5::b(1). c(X) :- b(X+1), X > 0. #query c(7)."
>>> list(Demand(Parts(parse(text), frozenset())).rules())
['_dpasp_asked0(7).', '_dpasp_asked1((X+1)) :- _dpasp_asked0(X), X > 0.']
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from clingo.ast import (
    AST,
    ASTType,
    BinaryOperator,
    ComparisonOperator,
    Sign,
    UnaryOperator,
    Variable,
)

from dpasp.dataclass import dataclass
from dpasp.ground.markers import HIDDEN
from dpasp.ground.questions import question_literals
from dpasp.ground.terms import (
    NO_LOCATION,
    ROW_LITERALS,
    compared,
    reached,
    row_texts,
    split_atom,
    unpooled_atoms,
)
from dpasp.language import ast
from dpasp.language.statements.weights import Fixed, weight_variables
from dpasp.language.text.clingo_text import variables, walk

ASKED = f"{HIDDEN}asked"
_ORDER = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}
_ARGUMENTS = re.compile(r"\([^()]*\)")
Rule = ast.Plain | ast.Annotated


class Atom(NamedTuple):
    """An atom of a statement; the arguments of rows are texts without variables."""

    name: str
    terms: Sequence[AST | str] = ()

    def matched(self) -> set[str]:
        """The variables that get values from the arguments."""
        return {name for term in self.terms if can_match(term) for name in names_in(term)}


@dataclass(frozen=True, slots=True)
class Shape:
    """The predicates of a rule, or of rows that have the same ones.

    ``simple`` rules consist of literals and comparisons, which give values to all their variables.
    Of other rules and of rows, only the predicates in the bodies are known.
    """

    statement: Rule  # the first; intervals in its head are variables
    indices: list[int]
    heads: tuple[Atom, ...]
    positive: tuple[Atom, ...] = ()
    negative: tuple[Atom, ...] = ()
    tests: tuple[AST, ...] = ()
    others: frozenset[str] = frozenset()  # names in aggregates and conditions
    simple: bool = True
    are_rows: bool = False

    @property
    def below(self) -> set[str]:
        """The names of the predicates in the body."""
        return {atom.name for atom in (*self.positive, *self.negative)} | self.others

    @property
    def names(self) -> set[str]:
        """The names of the predicates in the head."""
        return {head.name for head in self.heads}

    @property
    def grows(self) -> bool:
        """Whether it may derive ever larger terms."""
        terms = [term for head in self.heads for term in head.terms]
        larger = any(names_in(t) and getattr(t, "ast_type", 0) != ASTType.Variable for t in terms)
        return larger or any(
            side.ast_type == ASTType.BinaryOperation
            for test in self.tests
            for side in _equal_sides(test)
        )

    def equated(self, names: set[str]) -> set[str]:
        """The variables that have values if some have, because of comparisons."""
        while True:
            more = set(names)
            for test in self.tests:
                sides = _equal_sides(test)
                for side, other in (sides, reversed(sides)) if sides else ():
                    if can_match(side) and names_in(other) <= names:
                        more |= names_in(side)
            if more == names:
                return names
            names = more

    def is_safe(self) -> bool:
        """Whether its body certainly gives values to all its variables."""
        names = self.equated({name for atom in self.positive for name in atom.matched()})
        atoms = (*self.heads, *self.positive, *self.negative)
        used = {name for atom in atoms for term in atom.terms for name in names_in(term)}
        return used.union(*map(names_in, self.tests)) <= names


def names_in(term: AST | str) -> set[str]:
    """The named variables of a term."""
    return set() if isinstance(term, str) else {v.name for v in variables(term)} - {"_"}


def can_match(term: AST | str) -> bool:
    """Whether clingo can solve a term for its variables."""
    if isinstance(term, str):
        return True
    match term.ast_type:
        case ASTType.Variable:
            return bool(term.name != "_")
        case ASTType.SymbolicTerm:
            return True
        case ASTType.UnaryOperation:  # a negative number
            kind = term.argument.ast_type
            return bool(term.operator_type == UnaryOperator.Minus and kind == ASTType.SymbolicTerm)
        case ASTType.Function:
            return not term.external and all(map(can_match, term.arguments))
        case ASTType.BinaryOperation:
            kinds = {term.left.ast_type, term.right.ast_type}
            known = {BinaryOperator.Plus, BinaryOperator.Minus}
            simple = kinds == {ASTType.Variable, ASTType.SymbolicTerm}
            return term.operator_type in known and simple and "_" not in str(term)
    return False


def _is_bound(test: AST) -> bool:
    """Whether a comparison may end a recursion: it is an order, or names an interval."""
    ordered = all(guard.comparison in _ORDER for guard in test.atom.guards)
    return ordered or any(side.ast_type == ASTType.Interval for side in _equal_sides(test))


def _moves(term: AST | str) -> bool:
    """Whether the variables of a term may be found at other numbers, as in ``X+1``."""
    return bool(names_in(term)) and any(sign in str(term) for sign in "+-")


def _equal_sides(test: AST) -> tuple[AST, ...]:
    """The two sides of an equation; empty for other comparisons."""
    comparison = test.atom
    if [guard.comparison for guard in comparison.guards] != [ComparisonOperator.Equal]:
        return ()
    return comparison.term, comparison.guards[0].term


# --- statements ----------------------------------------------------------------------------------


def text_arguments(atom: str) -> list[str]:
    """The arguments of an atom of a row."""
    inside = atom.partition("(")[2].removesuffix(")")
    return list(map(str.strip, inside.split(","))) if inside else []


def _kind(atom: str) -> tuple[str, str, int]:
    """The name of an atom of a row, whether it has parentheses, and its commas."""
    name, bracket, inside = atom.partition("(")
    return name, bracket, inside.count(",")


def _row_shape(statement: Rule, heads: Iterable[str], body: str) -> Shape:
    literals = [(sign, Atom(text.partition("(")[0])) for sign, text in ROW_LITERALS.findall(body)]
    return Shape(
        statement,
        [],
        tuple(Atom(head.partition("(")[0].strip(), text_arguments(head)) for head in heads),
        tuple(atom for sign, atom in literals if not sign),
        tuple(atom for sign, atom in literals if sign),
        simple=not body,
        are_rows=True,
    )


def read_rule(statement: ast.Statement, index: int) -> Shape | None:
    """The shape of a normal rule or an annotated statement; None for other statements.

    None also for statements whose shape is not enough: with a probability that depends on variables
    or is learned, with a function call, or that clingo may refuse.
    """
    match statement:
        case ast.Annotated(heads=heads):
            weights = [head.weight for head in heads]
            if all(isinstance(w, Fixed) and not any(weight_variables(w)) for w in weights):
                return _read(_without_intervals(statement), index)
        case ast.Plain(node) if node.ast_type == ASTType.Rule:
            head = node.head
            plain = head.ast_type == ASTType.Literal and head.sign == Sign.NoSign
            if plain and head.atom.ast_type == ASTType.SymbolicAtom:
                return _read(_without_intervals(statement), index)
    return None


def _parts(statement: Rule) -> tuple[list[AST], Sequence[AST]]:
    """The atoms in the head of a rule, and its body."""
    if isinstance(statement, ast.Annotated):
        return [head.atom for head in statement.heads], statement.body
    return [statement.node.head.atom], statement.node.body


def changed(statement: Rule, conditions: Sequence[AST], atom: AST | None = None) -> Rule:
    """A rule with more conditions, and with another atom in place of its only head."""
    if isinstance(statement, ast.Annotated):
        heads = statement.heads if atom is None else (replace(statement.heads[0], atom=atom),)
        return replace(statement, heads=heads, body=(*conditions, *statement.body))
    node = statement.node.update(body=[*conditions, *statement.node.body])
    if atom is not None:
        node = node.update(head=node.head.update(atom=atom))
    return replace(statement, node=node)


def _without_intervals(statement: Rule) -> Rule:
    """The same for a head such as ``f(1..100)``: its intervals become variables."""
    atoms, body = _parts(statement)
    (atom, *others), conditions = atoms, []
    if others or ".." not in str(atom) or atom.symbol.ast_type != ASTType.Function:
        return statement
    prefix, text = "Asked", f"{atom} {[str(node) for node in body]}"
    while prefix in text:
        prefix += "_"
    terms = list(atom.symbol.arguments)
    if not any(term.ast_type == ASTType.Interval for term in terms):
        return statement
    for place, term in enumerate(terms):
        if term.ast_type == ASTType.Interval:
            terms[place] = Variable(NO_LOCATION, f"{prefix}{place}")
            conditions.append(compared(terms[place], ComparisonOperator.Equal, term))
    return changed(statement, conditions, atom.update(symbol=atom.symbol.update(arguments=terms)))


def _read(statement: Rule, index: int) -> Shape | None:
    heads, body = _parts(statement)
    atoms = [read_atom(head.symbol) for head in heads]
    # '_' gives a head no values; a negative head excludes another atom.
    unclear = any(head.symbol.ast_type != ASTType.Function for head in heads)
    if None in atoms or unclear or any(v.name == "_" for head in heads for v in variables(head)):
        return None
    positive: list[Atom] = []
    negative: list[Atom] = []
    tests: list[AST] = []
    others: set[str] = set()
    simple = True
    for node in body:
        kind = node.atom.ast_type if node.ast_type == ASTType.Literal else node.ast_type
        if "@" in str(node) or kind == ASTType.TheoryAtom:
            return None
        if kind == ASTType.SymbolicAtom and (atom := read_atom(node.atom.symbol)) is not None:
            (positive if node.sign == Sign.NoSign else negative).append(atom)
        elif kind == ASTType.Comparison and node.sign == Sign.NoSign:
            tests.append(node)
        else:
            symbols = list(_symbols_below(node))
            if any(symbol.ast_type == ASTType.Pool for symbol in symbols):  # of any arity
                return None
            others |= {split_atom(symbol)[0].name for symbol in symbols}
            simple = False
    shape = Shape(
        statement,
        [index],
        tuple(atom for atom in atoms if atom is not None),
        tuple(positive),
        tuple(negative),
        tuple(tests),
        frozenset(others),
        simple,
    )
    return shape if not simple or shape.is_safe() else None


def read_atom(symbol: AST) -> Atom | None:
    """An atom with its arguments; None if it has a pool or calls a function."""
    if symbol.ast_type not in (ASTType.Function, ASTType.UnaryOperation):
        return None
    if any(sign in str(symbol) for sign in "@;"):
        return None
    signature, arguments = split_atom(symbol)
    return Atom(signature.name, tuple(arguments))


def _symbols_below(node: AST) -> Iterator[AST]:
    return (part.symbol for part in walk(node) if part.ast_type == ASTType.SymbolicAtom)


def predicate_names(nodes: Iterable[AST]) -> set[str]:
    """The names of all predicates below some nodes, and perhaps of functions in them."""
    symbols = (symbol for node in nodes for symbol in _symbols_below(node))
    return {p.name for symbol in symbols for p in walk(symbol) if p.ast_type == ASTType.Function}


def _question_atoms(question: ast.Question) -> Iterator[tuple[AST, Atom | None]]:
    """The atoms that a question names, each with its arguments if these are known."""
    for literal in question_literals(question):
        for symbol in unpooled_atoms(literal.atom):
            yield literal.atom, read_atom(symbol)


def _can_define(statement: ast.Statement) -> bool:
    """Whether a statement may derive atoms; a constraint does not."""
    if not isinstance(statement, ast.Plain) or statement.node.ast_type != ASTType.Rule:
        return True
    head = statement.node.head
    return not (head.ast_type == ASTType.Literal and head.atom.ast_type == ASTType.BooleanConstant)


# --- predicates ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Parts:
    """The statements of a program by the names of the predicates that they define."""

    program: ast.Program
    constants: frozenset[str]
    shapes: list[Shape] = field(default_factory=list)
    asked: list[Atom] = field(default_factory=list)  # needed by questions and evidence
    roots: set[str] = field(default_factory=set)  # predicates needed in full
    open: set[str] = field(default_factory=set)  # chosen by models, or not analysed
    certain: set[str] = field(default_factory=set)  # the same in every total choice
    droppable: set[str] = field(default_factory=set)
    above: dict[str, set[str]] = field(default_factory=dict)  # the readers of a predicate

    def __post_init__(self) -> None:
        rows: dict[object, Shape] = {}
        for index, statement in enumerate(self.program.statements):
            texts = None if self.constants else row_texts(statement)
            if texts is not None:
                assert isinstance(statement, Rule)
                heads = texts[0]
                kinds = _kind(heads[0]) if len(heads) == 1 else tuple(map(_kind, heads))
                key = type(statement), kinds, texts[1] and _ARGUMENTS.sub("", texts[1])
                if key not in rows:
                    rows[key] = _row_shape(statement, *texts)
                    self.shapes.append(rows[key])
                rows[key].indices.append(index)
            elif (shape := read_rule(statement, index)) is not None:
                self.shapes.append(shape)
            elif isinstance(statement, ast.Question):
                for node, atom in _question_atoms(statement):
                    self.roots |= predicate_names([node]) if atom is None else set()
                    self.asked += [] if atom is None else [atom]
            else:
                mentioned = predicate_names(ast.clingo_terms(statement))
                self.roots |= mentioned
                self.open |= mentioned if _can_define(statement) else set()
        self._classify()

    def _classify(self) -> None:
        above = self.above
        for shape in self.shapes:
            for name in shape.below:
                above.setdefault(name, set()).update(shape.names)
        # Predicates on a loop through negation, or an aggregate, may have several models.
        edges = {
            (name, head)
            for shape in self.shapes
            for name in {atom.name for atom in shape.negative} | shape.others
            for head in shape.names
        }
        reaching = {head: reached([head], above) for _, head in edges}
        for name, head in edges:
            if name == head or name in reaching[head]:
                self.open |= {name, head}
        self.open |= reached(self.open, above)
        uncertain = set(self.open)
        for shape in self.shapes:
            if shape.names & self.open:  # open predicates demand everything that they read
                self.roots |= shape.below
            if isinstance(shape.statement, ast.Annotated):
                uncertain |= shape.names
        defined = {name for shape in self.shapes for name in shape.names}
        # Predicates of facts and of rules over them.
        uncertain |= reached(uncertain, above)
        self.certain = defined - uncertain
        self.droppable = defined - self.certain - self.open


class Demand:
    """Which predicates are asked for, and for which arguments.

    ``places`` are the arguments that every demand specifies; a predicate without an entry is not
    asked for at all. If the heads of a statement have several predicates, a demand for one is a
    demand for all of them, in full.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.members: defaultdict[str, list[Shape]] = defaultdict(list)
        self.places: dict[str, frozenset[int]] = {}
        self._todo: list[str] = []
        kept: set[str] = set(parts.roots)
        for shape in parts.shapes:
            if shape.names <= parts.droppable:
                for name in shape.names:
                    self.members[name].append(shape)
            else:  # nothing can be left out
                kept |= shape.below
        for name in kept:
            self._ask(name, frozenset())
        for atom in parts.asked:
            self._ask(atom.name, _known_places(atom, set()))
        while self._todo:
            name = self._todo.pop()
            for shape in self.members[name]:
                whole = shape.others if len(shape.names) == 1 else shape.others | shape.names
                for other in whole:
                    self._ask(other, frozenset())
                known = self._known(shape) if shape.simple else set()
                for call in (*shape.positive, *shape.negative):
                    self._ask(call.name, self._given(shape, call, known))
        self._numbers = {name: number for number, name in enumerate(self.places)}

    def _ask(self, name: str, known: frozenset[int]) -> None:
        """Ask for a predicate with these arguments, and note it if that is new."""
        if name in self.parts.droppable:
            before = self.places.get(name)
            now = (self._common(name) if before is None else before) & known
            if now != before:
                self.places[name] = now
                self._todo.append(name)

    def _common(self, name: str) -> frozenset[int]:
        """The arguments that all heads of a statement share."""
        common: set[int] | None = None
        for shape in self.members[name]:
            lists = [[head.terms for head in shape.heads]]
            if shape.are_rows and len(shape.heads) > 1:
                rows = map(row_texts, map(self.parts.program.statements.__getitem__, shape.indices))
                lists = [list(map(text_arguments, row[0])) for row in rows if row is not None]
            for first, *rest in lists:
                same = {
                    place
                    for place, term in enumerate(first)
                    if can_match(term) and all(place < len(o) and o[place] == term for o in rest)
                }
                common = same if common is None else common & same
        return frozenset(common or ())

    def _known(self, shape: Shape) -> set[str]:
        """The variables that have values when a rule is asked for."""
        head, names = shape.heads[0], set[str]()
        for place in self.places[head.name]:
            names |= names_in(head.terms[place])
        for atom in shape.positive:
            names |= atom.matched() if atom.name in self.parts.certain else set()
        return shape.equated(names)

    def _given(self, shape: Shape, call: Atom, known: set[str]) -> frozenset[int]:
        """The arguments of an atom in the body that have values when a rule is asked for.

        Those that are other numbers at each step of a recursion do not count where nothing says
        where that would end.
        """
        places = _known_places(call, known)
        head = shape.heads[0]
        moved = {n for term in head.terms if _moves(term) for n in names_in(term)}
        for test in shape.tests:
            if any(side.ast_type == ASTType.BinaryOperation for side in _equal_sides(test)):
                moved |= names_in(test)
        steps = {p for p in places if _moves(call.terms[p]) or names_in(call.terms[p]) & moved}
        ends = any(_is_bound(test) and names_in(test) <= known for test in shape.tests)
        ends = ends or any(a.terms for a in shape.positive if a.name in self.parts.certain)
        if steps and not ends and call.name in reached([head.name], self.parts.above):
            return places - steps
        return places

    # --- as rules ------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> str | None:
        """The atom that demands an atom; None if its whole predicate is demanded."""
        if not (places := self.places.get(atom.name)):
            return None
        inside = ",".join(str(atom.terms[place]) for place in sorted(places))
        return f"{self.name(atom.name)}({inside})"

    def name(self, predicate: str) -> str:
        """The predicate of the demands for a predicate."""
        return f"{ASKED}{self._numbers[predicate]}"

    def rules(self) -> Iterator[str]:
        """The rules that derive all demands."""
        for atom in self.parts.asked:
            if head := self.atom(atom):
                yield f"{head}."
        for name in self.places:
            for shape in self.members[name]:
                if shape.simple:
                    yield from self._rules_of(shape)

    def _rules_of(self, shape: Shape) -> Iterator[str]:
        heads = [self.atom(call) for call in (*shape.positive, *shape.negative)]
        if not any(heads):
            return
        # The certain part of what must hold for the rule to matter.
        reason = [] if (asked := self.atom(shape.heads[0])) is None else [asked]
        known = self._known(shape)
        for atom in shape.positive:
            if atom.name in self.parts.certain:
                inside = ",".join(map(str, atom.terms))
                reason.append(f"{atom.name}({inside})" if inside else atom.name)
        reason += (str(test) for test in shape.tests if names_in(test) <= known)
        for head in heads:
            if head is not None and head not in reason:
                yield f"{head} :- {', '.join(reason)}." if reason else f"{head}."


def _known_places(atom: Atom, known: set[str]) -> frozenset[int]:
    return frozenset(
        place
        for place, term in enumerate(atom.terms)
        if can_match(term) and names_in(term) <= known
    )
