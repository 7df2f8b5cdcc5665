"""Which instances of which predicates the questions of a program need.

clingo grounds from the facts up. Where a program goes on for ever, or has a hundred thousand facts
of which a question needs one, that is too much. So a question becomes a *demand*: here ``w/2`` is
asked for at 10, and whatever asks at T > 0 asks at T-1.

    0.6::w(sun,T); 0.4::w(rain,T) :- T > 0, P = T-1, w(sun,P).
    #query w(sun,10).

The demands are found first (they depend on nothing uncertain), and become a condition of the
rules. A statement is read as a *shape*: its heads, the atoms in its body, and which variables get
their values from where. Other statements are never left out.

No answer changes. Only atoms that the choices determine are left out, and never one that a
question, evidence, a constraint or a part with several models looks at: those parts ask for
everything that they mention. What is left out always has exactly one model, whatever else holds.
Rules that clingo might refuse, probabilities that depend on variables, intervals and parameters
to learn stay as they are.

>>> from dpasp.language import parse
>>> text = "0.5::b(1). c(X) :- b(X+1), X > 0. #query c(7)."
>>> list(Demand(Parts(parse(text), frozenset())).rules())
['_dpasp_asked0(7).', '_dpasp_asked1((X+1)) :- _dpasp_asked0(X), X > 0.']
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from clingo.ast import AST, ASTType, BinaryOperator, ComparisonOperator, Sign, UnaryOperator

from dpasp.dataclass import dataclass
from dpasp.ground.markers import HIDDEN
from dpasp.ground.questions import question_literals
from dpasp.ground.terms import Signature, reached, split_atom, unpooled_atoms
from dpasp.language import ast
from dpasp.language.statements.weights import Fixed, weight_variables
from dpasp.language.text.clingo_text import variables, walk

_ATOMS = re.compile(r"(not )?([a-z]\w*(?:\([^()]*\))?)", re.ASCII)
_ORDER = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}
ASKED = f"{HIDDEN}asked"


class ArgumentShape(NamedTuple):
    """An argument of an atom.

    ``matches`` says that values for the whole are values for its variables; ``grows`` that it
    may be larger than they are.
    """

    text: str
    names: frozenset[str]
    matches: bool
    grows: bool
    is_interval: bool = False

    @property
    def shifts(self) -> bool:
        """Whether its variables may be found at other numbers, as in ``X+1``."""
        return self.grows and ("+" in self.text or "-" in self.text)


class Atom(NamedTuple):
    """An atom of a statement; ``kind`` is its predicate."""

    kind: Signature
    terms: tuple[ArgumentShape, ...]

    def __str__(self) -> str:
        inside = ",".join(term.text for term in self.terms)
        return f"{self.kind.name}({inside})" if self.terms else self.kind.name


class Test(NamedTuple):
    """A comparison in a body: its variables, those that get values from it, and what that takes."""

    text: str
    names: frozenset[str]
    gives: tuple[tuple[str, frozenset[str]], ...]
    is_bound: bool  # an order: it may end a recursion
    grows: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What a rule says about predicates.

    ``simple`` rules consist of atoms, under ``not`` or not, and comparisons, and have no
    variables that nothing gives values to. Of the others only the predicates are known.
    """

    heads: tuple[Atom, ...]
    positive: tuple[Atom, ...] = ()
    negative: tuple[Atom, ...] = ()
    tests: tuple[Test, ...] = ()
    others: frozenset[Signature] = frozenset()  # in aggregates and conditions
    simple: bool = True
    has_variables: bool = False

    @property
    def calls(self) -> tuple[Atom, ...]:
        """The atoms that the body looks at."""
        return (*self.positive, *self.negative)

    @property
    def kinds(self) -> set[Signature]:
        """The predicates that the body looks at."""
        return {atom.kind for atom in self.calls} | self.others

    @property
    def grows(self) -> bool:
        """Whether it may derive ever larger terms."""
        larger = any(term.grows for head in self.heads for term in head.terms)
        return larger or any(test.grows for test in self.tests)

    def bound(self, known: Iterable[str], certain: frozenset[Signature]) -> set[str]:
        """The variables that have values, if some have: by comparisons and certain atoms."""
        names = set(known)
        for atom in self.positive:
            if atom.kind in certain:
                names |= _matched(atom)
        return self._equated(names)

    def _equated(self, names: set[str]) -> set[str]:
        while True:
            new = {
                name
                for test in self.tests
                for name, needs in test.gives
                if name not in names and needs <= names
            }
            if not new:
                return names
            names |= new

    def is_safe(self) -> bool:
        """Whether its body certainly gives all its variables values."""
        names = self._equated({name for atom in self.positive for name in _matched(atom)})
        atoms = {
            name
            for atom in (*self.heads, *self.calls)
            for term in atom.terms
            for name in term.names
        }
        return atoms <= names and all(test.names <= names for test in self.tests)


def _matched(atom: Atom) -> set[str]:
    return {name for term in atom.terms if term.matches for name in term.names}


def read_shape(statement: ast.Statement, constants: frozenset[str]) -> Shape | None:
    """What a normal rule or an annotated statement says; None for everything else.

    A statement of which more must be known than this (whose probability depends on variables or
    is to be learned, that calls a function) is none of these.
    """
    match statement:
        case ast.Annotated(row=row) if row is not None and not constants:
            return _read_row(row.atoms, row.condition)
        case ast.Annotated():
            weights = [head.weight for head in statement.heads]
            if all(isinstance(w, Fixed) and not any(weight_variables(w)) for w in weights):
                return _read_rule([head.atom for head in statement.heads], statement.body)
        case ast.Plain(fact=text) if text is not None and not constants:
            return Shape((_ground_atom(text),))
        case ast.Plain(node) if node.ast_type == ASTType.Rule:
            head = node.head
            plain = head.ast_type == ASTType.Literal and head.sign == Sign.NoSign
            if plain and head.atom.ast_type == ASTType.SymbolicAtom:
                return _read_rule([head.atom], node.body)
    return None


def fact_text(statement: ast.Statement) -> str | None:
    """The atom of a ground fact, with a plain probability or certain; None for other statements."""
    if isinstance(statement, ast.Plain):
        return statement.fact
    row = statement.row if isinstance(statement, ast.Annotated) else None
    return row.atoms[0] if row and not row.condition and len(row.atoms) == 1 else None


def _read_row(heads: tuple[str, ...], body: str) -> Shape:
    inside = [(sign, _ground_atom(text)) for sign, text in _ATOMS.findall(body)]
    return Shape(
        tuple(map(_ground_atom, heads)),
        tuple(atom for sign, atom in inside if not sign),
        tuple(atom for sign, atom in inside if sign),
    )


@lru_cache(maxsize=200_000)  # rows of tables name the same atoms again and again
def _ground_atom(text: str) -> Atom:
    """An atom of a row, which has no variables."""
    name, _, inside = text.partition("(")
    words = [word.strip() for word in inside.removesuffix(")").split(",")] if inside else []
    terms = tuple(ArgumentShape(word, frozenset(), True, False) for word in words)
    return Atom(Signature(name.strip(), len(terms), True), terms)


def _read_rule(heads: list[AST], body: Iterable[AST]) -> Shape | None:
    head_atoms = [read_atom(head.symbol) for head in heads]
    # '_' gives a head no values.
    terms = [term for atom in head_atoms if atom is not None for term in atom.terms]
    if None in head_atoms or any("_" in re.split(r"\W+", term.text) for term in terms):
        return None
    positive: list[Atom] = []
    negative: list[Atom] = []
    tests: list[Test] = []
    others: set[Signature] = set()
    simple = True
    for node in body:
        kind = node.atom.ast_type if node.ast_type == ASTType.Literal else node.ast_type
        if kind == ASTType.SymbolicAtom and (atom := read_atom(node.atom.symbol)) is not None:
            (positive if node.sign == Sign.NoSign else negative).append(atom)
        elif kind == ASTType.Comparison and node.sign == Sign.NoSign and "@" not in str(node):
            tests.append(_test(node))
        else:
            simple = False
            symbols = list(_symbols_below(node))
            has_pool = any(symbol.ast_type == ASTType.Pool for symbol in symbols)  # of any arity
            if "@" in str(node) or kind == ASTType.TheoryAtom or has_pool:
                return None
            others |= {split_atom(symbol)[0] for symbol in symbols}
    atoms = tuple(atom for atom in head_atoms if atom is not None)
    shape = Shape(atoms, tuple(positive), tuple(negative), tuple(tests), frozenset(others))
    inside = {n for atom in positive for term in atom.terms for n in term.names}
    inside |= {name for test in tests for name in test.names}
    names = {n for atom in (*atoms, *negative) for term in atom.terms for n in term.names}
    if simple and not names <= inside:
        return None  # clingo refuses it
    if not simple or not shape.is_safe():
        return Shape(atoms, shape.positive, shape.negative, (), shape.others, simple=False)
    return Shape(
        atoms, shape.positive, shape.negative, shape.tests, has_variables=bool(names | inside)
    )


def read_atom(symbol: AST) -> Atom | None:
    """An atom with its arguments; None where it has a pool or calls a function."""
    if symbol.ast_type not in (ASTType.Function, ASTType.UnaryOperation):
        return None
    text = str(symbol)
    if "@" in text or ";" in text:
        return None
    kind, arguments = split_atom(symbol)
    return Atom(kind, tuple(map(_term, arguments)))


def _term(node: AST) -> ArgumentShape:
    names = frozenset(variable.name for variable in variables(node))
    text = str(node)
    matches = _can_match(node)
    grows = bool(names) and node.ast_type != ASTType.Variable
    return ArgumentShape(text, names, matches, grows, node.ast_type == ASTType.Interval)


def _can_match(node: AST) -> bool:
    """Whether clingo finds the values of the variables in a term from a value of the whole."""
    match node.ast_type:
        case ASTType.Variable:
            return bool(node.name != "_")
        case ASTType.SymbolicTerm:
            return True
        case ASTType.UnaryOperation:  # a negative number
            kind = node.argument.ast_type
            return bool(node.operator_type == UnaryOperator.Minus and kind == ASTType.SymbolicTerm)
        case ASTType.Function:
            return not node.external and all(map(_can_match, node.arguments))
        case ASTType.BinaryOperation:
            kinds = {node.left.ast_type, node.right.ast_type}
            known = {BinaryOperator.Plus, BinaryOperator.Minus}
            simple = kinds == {ASTType.Variable, ASTType.SymbolicTerm}
            return node.operator_type in known and simple and "_" not in str(node)
    return False


def _test(node: AST) -> Test:
    comparison = node.atom
    sides = [comparison.term, *(guard.term for guard in comparison.guards)]
    kinds = [guard.comparison for guard in comparison.guards]
    names = [frozenset(variable.name for variable in variables(side)) for side in sides]
    gives: list[tuple[str, frozenset[str]]] = []
    if kinds == [ComparisonOperator.Equal]:
        for side, other in ((0, 1), (1, 0)):
            if _can_match(sides[side]):
                gives += ((name, names[other]) for name in names[side])
    equal = bool(gives)
    grows = equal and any(side.ast_type == ASTType.BinaryOperation for side in sides)
    ends = all(kind in _ORDER for kind in kinds)
    ends = ends or (equal and any(side.ast_type == ASTType.Interval for side in sides))
    return Test(str(node), frozenset().union(*names), tuple(gives), ends, grows)


def _symbols_below(node: AST) -> Iterator[AST]:
    """The atoms below a node, as terms."""
    return (part.symbol for part in walk(node) if part.ast_type == ASTType.SymbolicAtom)


def predicate_names(nodes: Iterable[AST]) -> set[str]:
    """The names of all predicates below some nodes, and perhaps of functions in them."""
    symbols = (symbol for node in nodes for symbol in _symbols_below(node))
    return {p.name for symbol in symbols for p in walk(symbol) if p.ast_type == ASTType.Function}


class Parts:
    """The statements of a program by the predicates that they define."""

    def __init__(self, program: ast.Program, constants: frozenset[str]) -> None:
        self.program, self.constants = program, constants
        self.shapes: dict[int, Shape] = {}
        # Ground facts of one predicate have one shape, that of the first of them.
        self.facts: dict[int, list[int]] = {}
        first: dict[tuple[type, str, int], int] = {}
        roots: set[str] = set()  # names of predicates that are needed in full
        self.open: set[str] = set()  # those that models may choose, or that are not looked into
        for index, statement in enumerate(program.statements):
            if not constants and (fact := fact_text(statement)) is not None:
                name, bracket, inside = fact.partition("(")
                arity = inside.count(",") + 1 if bracket else 0
                leader = first.setdefault((type(statement), name, arity), index)
                self.facts.setdefault(leader, []).append(index)
                if leader != index:
                    continue
            shape = read_shape(statement, constants)
            if shape is not None and all(head.kind.positive for head in shape.heads):
                self.shapes[index] = shape
            elif isinstance(statement, ast.Question):
                roots |= predicate_names(_unreadable(statement))
            else:
                mentioned = predicate_names(ast.clingo_terms(statement))
                roots |= mentioned
                self.open |= mentioned if _can_define(statement) else set()
        self._above = self._dependents()
        self._open_loops()
        self.open |= self.upwards(self.open)
        for shape in self.shapes.values():  # what is open asks for all that it looks at
            if any(head.kind.name in self.open for head in shape.heads):
                roots |= {kind.name for kind in shape.kinds}
        self.roots = roots
        chosen = {
            head.kind.name
            for index, shape in self.shapes.items()
            if isinstance(program.statements[index], ast.Annotated)
            for head in shape.heads
        }
        uncertain = chosen | self.open
        uncertain |= self.upwards(uncertain)
        defined = {h.kind for shape in self.shapes.values() for h in shape.heads}
        # Predicates of facts and of rules over them: the same in every total choice.
        self.certain = frozenset(kind for kind in defined if kind.name not in uncertain)
        self.droppable = {kind for kind in defined - self.certain if kind.name not in self.open}

    def _dependents(self) -> dict[str, set[str]]:
        """By the name of a predicate, the names of those whose rules look at it."""
        above: defaultdict[str, set[str]] = defaultdict(set)
        seen: set[object] = set()
        for shape in self.shapes.values():
            key = (shape.heads[0].kind, *(atom.kind for atom in shape.calls), shape.others)
            if key in seen and len(shape.heads) == 1:  # rows of tables look alike
                continue
            seen.add(key)
            for kind in shape.kinds:
                above[kind.name].update(head.kind.name for head in shape.heads)
        return above

    def upwards(self, start: Iterable[str]) -> set[str]:
        """All predicates that depend on some, directly or not."""
        return reached(start, self._above)

    def _open_loops(self) -> None:
        """Predicates on a loop through negation, or an aggregate, may have several models."""
        edges = {
            (kind.name, head.kind.name)
            for shape in self.shapes.values()
            for kind in ({atom.kind for atom in shape.negative} | shape.others)
            for head in shape.heads
        }
        for below, head in edges:
            if below == head or below in self.upwards([head]):
                self.open |= {below, head}


class Demand:
    """Which predicates are asked for, and in which arguments.

    Heads of one statement are asked for together, so their predicates form a family, known by
    a leader. ``places`` are the arguments that everyone who asks gives; a family without an entry
    is not asked for at all.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.leader: dict[Signature, Signature] = {}
        self.members: defaultdict[Signature, list[int]] = defaultdict(list)
        self.kept = set(parts.shapes)  # statements that nothing can be left out of
        for index, shape in parts.shapes.items():
            kinds = dict.fromkeys(head.kind for head in shape.heads)
            if all(kind in parts.droppable for kind in kinds):
                self._join(kinds)
                self.members[next(iter(kinds))].append(index)
                self.kept.discard(index)
        members: defaultdict[Signature, list[int]] = defaultdict(list)
        for kind, indices in self.members.items():
            members[self.find(kind)] += indices
        self.members = members
        self.places: dict[Signature, frozenset[int]] = {}
        self._loops: dict[str, set[str]] = {}
        self._settle()
        self._numbers = {leader: number for number, leader in enumerate(self.places)}

    def _join(self, kinds: Iterable[Signature]) -> None:
        first, *rest = (self.find(kind) for kind in kinds)
        for other in rest:
            if other != first:
                self.leader[other] = first

    def find(self, kind: Signature) -> Signature:
        """The leader of the family of a predicate."""
        while (above := self.leader.setdefault(kind, kind)) != kind:
            kind = above
        return kind

    def _settle(self) -> None:
        """Ask, and ask what is asked, until nothing new is asked for."""
        parts = self.parts
        todo: list[Signature] = []

        def ask(kind: Signature, known_places: frozenset[int]) -> None:
            if kind not in parts.droppable:
                return
            leader = self.find(kind)
            before = self.places.get(leader)
            now = (self._common(leader) if before is None else before) & known_places
            if now != before:
                self.places[leader] = now
                todo.append(leader)

        for kind in parts.droppable:
            if kind.name in parts.roots:
                ask(kind, frozenset())
        for atom in question_atoms(parts.program):
            ask(atom.kind, _known_places(atom, set()))
        for index in self.kept:
            for kind in parts.shapes[index].kinds:
                ask(kind, frozenset())
        while todo:
            leader = todo.pop()
            for index in self.members[leader]:
                shape = parts.shapes[index]
                for kind in shape.others:
                    ask(kind, frozenset())
                for call in shape.calls:
                    ask(call.kind, self.known_places(shape, call))

    def _common(self, leader: Signature) -> frozenset[int]:
        """The arguments that all heads of each statement of a family share."""
        places: set[int] | None = None
        for index in self.members[leader]:
            shape = self.parts.shapes[index]
            first, *rest = shape.heads
            same = {
                place
                for place, term in enumerate(first.terms)
                if (term.matches or (term.is_interval and not rest))
                and all(head.terms[place : place + 1] == (term,) for head in rest)
            }
            places = same if places is None else places & same
            if not places:
                break
        return frozenset(places or ())

    def known_places(self, shape: Shape, call: Atom) -> frozenset[int]:
        """The arguments of an atom in a body that have values when the rule is asked for."""
        if not shape.simple:
            return frozenset()
        if not shape.has_variables:
            return _known_places(call, set())
        known, ends = self.known(shape)
        places = _known_places(call, known)
        if ends:
            return places
        # Nothing says where a recursion through larger or smaller values would end.
        moved = {name for test in shape.tests if test.grows for name, _ in test.gives}
        head = shape.heads[0]
        if call.kind.name in self._asking(head.kind.name):
            moved |= {name for term in head.terms if term.shifts for name in term.names}
        return frozenset(
            place
            for place in places
            if not call.terms[place].grows and not call.terms[place].names & moved
        )

    def _asking(self, name: str) -> set[str]:
        """The predicates whose rules look at one, directly or not."""
        if name not in self._loops:
            self._loops[name] = self.parts.upwards([name])
        return self._loops[name]

    def known(self, shape: Shape) -> tuple[set[str], bool]:
        """The variables that have values when a rule is asked for, and whether they are bounded."""
        head = shape.heads[0]
        places = self.places[self.find(head.kind)]
        terms = [head.terms[place] for place in places]
        asked = {name for term in terms if term.matches for name in term.names}
        names = shape.bound(asked, self.parts.certain)
        ends = any(test.is_bound and test.names and test.names <= names for test in shape.tests)
        ends = ends or any(
            atom.kind in self.parts.certain and atom.terms for atom in shape.positive
        )
        return names, ends

    # --- as rules ------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> str | None:
        """The atom that says that an atom is asked for; None if its whole predicate is."""
        leader = self.find(atom.kind)
        places = self.places.get(leader)
        if not places:
            return None
        inside = ",".join(atom.terms[place].text for place in sorted(places))
        return f"{self.name(leader)}({inside})"

    def name(self, leader: Signature) -> str:
        """The predicate of the demands of a family."""
        return f"{ASKED}{self._numbers[leader]}"

    def rules(self) -> Iterator[str]:
        """The rules that derive all demands."""
        for atom in question_atoms(self.parts.program):
            if atom.kind in self.parts.droppable and (head := self.atom(atom)):
                yield f"{head}."
        for leader in self.places:
            for index in self.members[leader]:
                shape = self.parts.shapes[index]
                if shape.simple:
                    yield from self._rules_of(shape)

    def _rules_of(self, shape: Shape) -> Iterator[str]:
        reason: list[str] | None = None
        for call in shape.calls:
            head = self.atom(call) if call.kind in self.parts.droppable else None
            if head is None:
                continue
            if reason is None:
                reason = self._reason(shape)
            if head not in reason:
                yield f"{head} :- {', '.join(reason)}." if reason else f"{head}."

    def _reason(self, shape: Shape) -> list[str]:
        """What must hold for a rule to matter, as far as it is certain."""
        asked = self.atom(shape.heads[0])
        reason = [asked] if asked and not any(t.is_interval for t in shape.heads[0].terms) else []
        known, _ = self.known(shape) if shape.has_variables else (set[str](), True)
        reason += (str(atom) for atom in shape.positive if atom.kind in self.parts.certain)
        return [*reason, *(test.text for test in shape.tests if test.names <= known)]


def _known_places(atom: Atom, known: set[str]) -> frozenset[int]:
    return frozenset(
        place for place, term in enumerate(atom.terms) if term.matches and term.names <= known
    )


def _unreadable(question: ast.Question) -> Iterator[AST]:
    """The atoms of a question of which the arguments are not known."""
    for literal in question_literals(question):
        if any(read_atom(symbol) is None for symbol in unpooled_atoms(literal.atom)):
            yield literal.atom


def question_atoms(program: ast.Program) -> Iterator[Atom]:
    """The atoms that questions and evidence name."""
    for statement in program.statements:
        if isinstance(statement, ast.Question):
            for literal in question_literals(statement):
                for symbol in unpooled_atoms(literal.atom):
                    if (atom := read_atom(symbol)) is not None:
                        yield atom


def _can_define(statement: ast.Statement) -> bool:
    """Whether a statement may derive atoms; a constraint does not."""
    if not isinstance(statement, ast.Plain) or statement.node.ast_type != ASTType.Rule:
        return True
    head = statement.node.head
    return not (head.ast_type == ASTType.Literal and head.atom.ast_type == ASTType.BooleanConstant)
