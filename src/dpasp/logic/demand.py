"""Who asks for what: which instances of which predicates the questions of a program need.

clingo grounds from the facts up. Where a program goes on for ever, or has a hundred thousand facts
of which a question needs one, that is too much. So a question becomes a *demand*: here ``w/2`` is
asked for at 10, and who asks at T > 0 asks at T-1.

    0.6::w(sun,T); 0.4::w(rain,T) :- T > 0, P = T-1, w(sun,P).
    #query w(sun,10).

The demands are found first (they hang on nothing uncertain), and rules get them as a condition.

No answer changes. Only atoms that the choices determine are left out, and never one that a
question, evidence, a constraint or a part with several models looks at: those parts ask for
all that they mention. What is left out always has exactly one model, whatever else holds. Rules
that clingo might refuse, probabilities that depend on variables, intervals and parameters to
learn stay as they are.

>>> from dpasp.language import parse
>>> text = "0.5::b(1). c(X) :- b(X+1), X > 0. #query c(7)."
>>> list(Demand(Parts(parse(text), frozenset())).rules())
['_dpasp_asked0(7).', '_dpasp_asked1((X+1)) :- _dpasp_asked0(X), X > 0.']
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from clingo.ast import AST, ASTType

from dpasp.language import ast
from dpasp.logic.markers import HIDDEN
from dpasp.logic.questions import QuestionStatement, question_literals
from dpasp.logic.shapes import Atom, Shape, predicate_names, read_atom, read_shape
from dpasp.logic.terms import Signature, unpooled_atoms

ASKED = f"{HIDDEN}asked"


class Parts:
    """The statements of a program by the predicates that they define."""

    def __init__(self, program: ast.Program, constants: frozenset[str]) -> None:
        self.program, self.constants = program, constants
        self.shapes: dict[int, Shape] = {}
        roots: set[str] = set()  # names of predicates that are needed in full
        self.open: set[str] = set()  # those that models may choose, or that are not looked into
        for index, statement in enumerate(program.statements):
            shape = read_shape(statement, constants)
            if shape is not None and all(head.kind.positive for head in shape.heads):
                self.shapes[index] = shape
            elif isinstance(statement, QuestionStatement):
                roots |= predicate_names(_unreadable(statement))
            else:
                mentioned = predicate_names(statement_nodes(statement))
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
        above: set[str] = set()
        todo = list(start)
        while todo:
            new = self._above.get(todo.pop(), set()) - above
            above |= new
            todo += new
        return above

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


def _unreadable(question: QuestionStatement) -> Iterator[AST]:
    """The atoms of a question of which the arguments are not known."""
    for literal in question_literals(question):
        if any(read_atom(symbol) is None for symbol in unpooled_atoms(literal.atom)):
            yield literal.atom


def question_atoms(program: ast.Program) -> Iterator[Atom]:
    """The atoms that questions and evidence name."""
    for statement in program.statements:
        if isinstance(statement, QuestionStatement):
            for literal in question_literals(statement):
                for symbol in unpooled_atoms(literal.atom):
                    if (atom := read_atom(symbol)) is not None:
                        yield atom


def statement_nodes(statement: ast.Statement) -> list[AST]:
    """clingo's nodes in a statement that is not a question."""
    match statement:
        case ast.Plain(node):
            return [node]
        case ast.Annotated(heads, body):
            return [*(head.atom for head in heads), *body]
    return []


def _can_define(statement: ast.Statement) -> bool:
    """Whether a statement may derive atoms; a constraint does not."""
    if not isinstance(statement, ast.Plain) or statement.node.ast_type != ASTType.Rule:
        return True
    head = statement.node.head
    return not (head.ast_type == ASTType.Literal and head.atom.ast_type == ASTType.BooleanConstant)
