"""The encoding of ``#query``, ``#map``, ``#evidence`` and the like for clingo; their instances.

``#query a(X), not b(X) | c, X < 3.`` (statement 7) becomes, in a part of its own,

    {_dpasp_ask0_7_0((X,), (X,), ())} :- a(X), X < 3.

whose instances hold the arguments of all literals. Positive and ``undef`` literals bind their
variables; ``not`` ones only those that nothing else binds. A literal without variables binds
nothing, so that an atom that cannot occur is kept.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> program = ground(parse("a(1..2). b(2). #query a(X), not b(X)."))
>>> [question.text for question in program.questions]
['a(1), not b(1)', 'a(2), not b(2)']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice, product
from typing import NamedTuple

from clingo import Control, Function, Symbol
from clingo.ast import (
    AST,
    ASTType,
    ComparisonOperator,
    Program,
    Sign,
    Transformer,
    Variable,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, closest
from dpasp.ground.markers import HIDDEN
from dpasp.ground.messages import suggest
from dpasp.ground.program import (
    GroundDecide,
    GroundExpect,
    GroundLiteral,
    GroundMap,
    GroundQuery,
    GroundUtility,
    Substitution,
)
from dpasp.ground.terms import (
    NO_LOCATION,
    Signature,
    atom_literal,
    choice_rule,
    compared,
    const_statements,
    function,
    split_atom,
    symbol_number,
    unpooled_atoms,
)
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.statements.expressions import expression_variables, value_of
from dpasp.language.statements.questions import (
    condition_text,
    question_text,
)
from dpasp.language.text.clingo_text import variables, walk

UNDERIVED = "no rule derives it; `dpasp ground` shows the atoms that can occur"
_CONSEQUENCE = {
    Mode.TRUE: "so its probability is 0",
    Mode.FALSE: "so 'not' holds for it in every model",
    Mode.UNDEFINED: "so no model leaves it undefined",
}

Atoms = Mapping[Symbol, int]
_INTERVAL = f"{HIDDEN}interval"  # names of variables that stand for intervals


@dataclass(frozen=True, slots=True)
class QuestionLiteral:
    """A literal of a question before grounding."""

    mode: Mode
    atom: AST
    is_evidence: bool
    is_given: bool = False  # observed before do(…) sets anything

    @property
    def is_ground(self) -> bool:
        """Whether it has no variables (pools and intervals do not count)."""
        return not any(node.ast_type == ASTType.Variable for node in walk(self.atom))

    @property
    def names_one(self) -> bool:
        """Whether it is about one atom: it has no variables, pools and intervals."""
        several = (ASTType.Variable, ASTType.Pool, ASTType.Interval)
        return not any(node.ast_type in several for node in walk(self.atom))


@dataclass(frozen=True, slots=True)
class LiteralInstance:
    """A ground instance of a literal of a question."""

    literal: QuestionLiteral
    symbol: Symbol


Instances = Sequence[Sequence[LiteralInstance]]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The predicate of a question's markers, and what their arguments belong to."""

    name: str
    group: int  # the group of literals, which shares no variables with others
    literals: tuple[tuple[QuestionLiteral, Signature], ...]
    valued: bool = False  # one more argument has the values of the variables

    @property
    def arity(self) -> int:
        return len(self.literals) + self.valued


@dataclass(slots=True)
class QuestionMarkers:
    """The markers of the questions that are asked together, the ``round``-th of a program."""

    round: int = 0
    rules: list[AST] = field(default_factory=list)
    _patterns: dict[int, list[_Pattern]] = field(default_factory=dict)
    _variables: dict[int, tuple[str, ...]] = field(default_factory=dict)  # of values

    def add(self, index: int, question: ast.Question) -> None:
        """Encode a question.

        The literals of a query are joined: each way to satisfy them is an instance. In other
        questions a variable stands for all its values at once, so literals that share no variables
        are kept apart.
        """
        self._patterns[index] = []
        literals = question_literals(question)
        if isinstance(question, ast.Utility | ast.Expect):
            self._add_valued(index, question)
        elif isinstance(question, ast.Query | ast.Decide):
            if literals:
                self._add_group(index, 0, literals, question.guards)
        else:
            for number, (group, conditions) in enumerate(_linked(literals, question.guards)):
                self._add_group(index, number, group, conditions)

    def _add_valued(self, index: int, statement: ast.Utility | ast.Expect) -> None:
        """Encode a value: one marker for each substitution; evidence stands for all at once."""
        body = [QuestionLiteral(part.mode, part.atom, False) for part in statement.literals]
        nodes = (*(literal.atom for literal in body), *statement.guards)
        known = {v.name: v for node in nodes for v in variables(node) if v.name != "_"}
        self._variables[index] = tuple(known)
        self._add_group(index, 0, body, statement.guards, tuple(known.values()))
        for number, (group, _) in enumerate(_linked(_conditions(statement), ()), 1):
            self._add_group(index, number, group, ())

    def _add_group(
        self,
        index: int,
        number: int,
        group: Sequence[QuestionLiteral],
        guards: Sequence[AST],
        values: Sequence[AST] | None = None,
    ) -> None:
        patterns = self._patterns[index]
        for symbols in product(*(unpooled_atoms(literal.atom) for literal in group)):
            name = f"{HIDDEN}ask{self.round}_{index}_{len(patterns)}"
            naming = _Naming()
            named = [naming.name(symbol) for symbol in symbols]
            split = [split_atom(symbol) for symbol in named]
            conditions = [*naming.guards, *guards]
            body = [*_binding(group, named, conditions), *conditions]
            terms = [function("", arguments) for _, arguments in split]
            if values is not None:
                terms.append(function("", values))
            location = symbols[0].location
            self.rules.append(choice_rule(function(name, terms, location), body, location))
            signatures = (signature for signature, _ in split)
            pairs = tuple(zip(group, signatures, strict=True))
            patterns.append(_Pattern(name, number, pairs, values is not None))

    @property
    def part(self) -> str:
        """The name of the program part that they are in."""
        return f"{HIDDEN}questions{self.round}"

    def nodes(self) -> list[AST]:
        """The program part for clingo."""
        return [Program(NO_LOCATION, self.part, []), *self.rules]

    def read(self, control: Control, index: int) -> list[_Found]:
        """The instances of a question in clingo's order of terms, each once."""
        found: dict[tuple[int, tuple[Symbol, ...]], _Found] = {}
        names = self._variables.get(index, ())
        for pattern in self._patterns[index]:
            for atom in control.symbolic_atoms.by_signature(pattern.name, pattern.arity):
                arguments = atom.symbol.arguments
                values = arguments[-1].arguments if pattern.valued else []
                literals = tuple(_instances(pattern, arguments))
                key = pattern.group, (*values, *(part.symbol for part in literals))
                substitution = tuple(zip(names, values, strict=True)) if pattern.valued else None
                found[key] = _Found(literals, substitution)
        return [found[key] for key in sorted(found)]


class _Found(NamedTuple):
    """An instance of a question; its ``values`` are those of a utility or an expectation."""

    literals: tuple[LiteralInstance, ...]
    values: Substitution | None


def question_literals(question: ast.Question) -> list[QuestionLiteral]:
    """The literals of a question as written, evidence last."""
    given = isinstance(question, ast.Evidence)
    asked = [QuestionLiteral(part.mode, part.atom, given) for part in question.literals]
    return asked + _conditions(question)


def _conditions(question: ast.Question) -> list[QuestionLiteral]:
    """The evidence of a question, and what was observed before anything is set."""
    here = [QuestionLiteral(part.mode, part.atom, True) for part in question.evidence]
    return here + [QuestionLiteral(part.mode, part.atom, True, True) for part in question.given]


def _instances(pattern: _Pattern, arguments: Sequence[Symbol]) -> Iterator[LiteralInstance]:
    for (literal, signature), part in zip(pattern.literals, arguments, strict=False):
        yield LiteralInstance(literal, Function(signature.name, part.arguments, signature.positive))


def _linked(
    literals: Sequence[QuestionLiteral], guards: Sequence[AST]
) -> list[tuple[list[QuestionLiteral], list[AST]]]:
    """The literals in groups that share no variables, each with the guards on its variables."""
    groups: list[tuple[set[str], list[QuestionLiteral], list[AST]]] = []
    items: list[tuple[set[str], list[QuestionLiteral], list[AST]]] = [
        *((_names(literal.atom), [literal], []) for literal in literals),
        *((_names(guard), [], [guard]) for guard in guards),
    ]
    for names, some, conditions in items:
        touching = [group for group in groups if group[0] & names]
        at = groups.index(touching[0]) if touching else len(groups)
        for group in touching:
            groups.remove(group)
        names = names.union(*(group[0] for group in touching))
        some = [literal for group in touching for literal in group[1]] + some
        conditions = [guard for group in touching for guard in group[2]] + conditions
        groups.insert(at, (names, some, conditions))
    # A guard without literals (``1 < 2``) is a condition on everything.
    common = [guard for _, some, conditions in groups if not some for guard in conditions]
    return [(some, conditions + common) for _, some, conditions in groups if some]


def _names(node: AST) -> set[str]:
    """The variables below a node, except those for intervals, which bind themselves."""
    return {v.name for v in variables(node) if not v.name.startswith(_INTERVAL)}


def _binding(
    group: Sequence[QuestionLiteral], symbols: Sequence[AST], guards: Iterable[AST]
) -> Iterator[AST]:
    """The positive literals that give the variables of a question their values."""
    bound = {name for guard in guards for name in _assigned(guard)}
    for literal, symbol in zip(group, symbols, strict=True):
        if literal.mode is not Mode.FALSE and (names := _names(symbol)):
            bound |= names
            yield atom_literal(symbol, symbol.location)
    for literal, symbol in zip(group, symbols, strict=True):
        if literal.mode is Mode.FALSE and not (names := _names(symbol)) <= bound:
            bound |= names
            yield atom_literal(symbol, symbol.location)


def _assigned(guard: AST) -> Iterator[str]:
    """The variables to which an equation gives a value: those alone on a side."""
    comparison = guard.atom
    if guard.sign != Sign.NoSign or comparison.ast_type != ASTType.Comparison:
        return
    sides = [comparison.term, *(part.term for part in comparison.guards)]
    equal = [part.comparison == ComparisonOperator.Equal for part in comparison.guards]
    for position, side in enumerate(sides):
        near = equal[max(position - 1, 0) : position + 1]
        if side.ast_type == ASTType.Variable and any(near):
            yield side.name


class _Naming(Transformer):
    """Names ``_`` and intervals, so that they mean the same wherever they are used."""

    def __init__(self) -> None:
        self.guards: list[AST] = []
        self._count = 0

    def name(self, symbol: AST) -> AST:
        """The term with names in it; ``guards`` says what the names stand for."""
        text = str(symbol)
        if "_" not in text and ".." not in text:
            return symbol
        named = self.visit(symbol)
        assert isinstance(named, AST)
        return named

    def visit_Variable(self, node: AST) -> AST:  # noqa: N802
        return self._fresh(node, f"{HIDDEN}any") if node.name == "_" else node

    def visit_Interval(self, node: AST) -> AST:  # noqa: N802
        variable = self._fresh(node, _INTERVAL)
        bounds = node.update(**self.visit_children(node))
        self.guards.append(compared(variable, ComparisonOperator.Equal, bounds))
        return variable

    def _fresh(self, node: AST, prefix: str) -> AST:
        self._count += 1
        return Variable(node.location, f"{prefix}{self._count}")


# --- instances ---------------------------------------------------------------------------------


class GroundQuestions(NamedTuple):
    """The instances of all questions of a program, its evidence, and warnings about them."""

    questions: tuple[GroundQuery | GroundMap, ...]
    evidence: tuple[GroundLiteral, ...]
    utilities: tuple[GroundUtility, ...]
    worth: tuple[GroundExpect | GroundDecide, ...]
    warnings: list[Diagnostic]


def ground_questions(
    markers: QuestionMarkers,
    control: Control,
    program: ast.Program,
    atoms: Atoms,
    numbers: Mapping[str, float],
) -> GroundQuestions:
    """The instances of all questions of a program; ``numbers`` are the constants' values."""
    statements = [
        (index, statement, markers.read(control, index))
        for index, statement in enumerate(program.statements)
        if isinstance(statement, ast.Question)
    ]
    evidence = _literals(
        (
            part
            for _, statement, found in statements
            if isinstance(statement, ast.Evidence)
            for instance, _ in found
            if _can_occur(instance, atoms)
            for part in instance
        ),
        atoms,
    )
    questions: list[GroundQuery | GroundMap] = []
    warnings: list[Diagnostic] = []
    utilities: list[GroundUtility] = []
    worth: list[GroundExpect | GroundDecide] = []
    for index, statement, found in statements:
        instances = [each.literals for each in found if _can_occur(each.literals, atoms)]
        warnings += _warnings(statement, instances, program, atoms)
        place = len(questions) + len(worth)
        if isinstance(statement, ast.Utility | ast.Expect):
            valued = [(each.values, each.literals) for each in found if each.values is not None]
            terms = _valued(statement, valued, index, atoms, numbers)
            if isinstance(statement, ast.Utility):
                utilities += terms
            else:
                worth.append(_expect(statement, instances, terms, evidence, atoms, place))
        elif isinstance(statement, ast.Decide):
            every = instances if statement.literals or statement.evidence else [()]
            for number, instance in enumerate(every):
                query = _query(statement, instance, evidence, atoms)
                asked = (query.literals, query.evidence, query.text, query.span)
                worth.append(GroundDecide(*asked, place + number))
        if isinstance(statement, ast.Query):
            questions += (_query(statement, each, evidence, atoms) for each in instances)
        elif isinstance(statement, ast.Map):
            questions.append(_map(statement, instances, evidence, atoms))
    silent = not any(isinstance(s, (*ast.ASKING, ast.Learn)) for s in program.statements)
    if silent and utilities and any(isinstance(s, ast.Decision) for s in program.statements):
        worth.append(GroundDecide((), evidence, "", None, 0))
    return GroundQuestions(tuple(questions), evidence, tuple(utilities), tuple(worth), warnings)


def _valued(
    statement: ast.Utility | ast.Expect,
    instances: Iterable[tuple[Substitution, Sequence[LiteralInstance]]],
    index: int,
    atoms: Atoms,
    numbers: Mapping[str, float],
) -> list[GroundUtility]:
    """The values of a statement, one for each substitution."""
    names = list(expression_variables(statement.value))
    terms = []
    for substitution, instance in instances:
        symbols, values = dict(substitution), dict(numbers)
        for variable in names:
            number = symbol_number(symbols[variable.name])
            if number is None:
                shown = symbols[variable.name]
                message = f"{variable.name} is {shown} here, which is not a number"
                help = 'use integers, or strings such as "0.3" where a value needs decimals'
                raise ProgramError(Diagnostic("utility-value", message, variable.span, help))
            values[variable.name] = number
        value = value_of(statement.value, values)
        terms.append(GroundUtility(value, _literals(instance, atoms), index))
    return terms


def _expect(
    statement: ast.Expect,
    instances: Instances,
    terms: Sequence[GroundUtility],
    evidence: tuple[GroundLiteral, ...],
    atoms: Atoms,
    place: int,
) -> GroundExpect:
    parts = [part for instance in instances for part in instance]
    condition, given, text = _condition(statement, parts, evidence, atoms)
    text = question_text(replace(statement, evidence=(), do=(), given=())) + text
    return GroundExpect(tuple(terms), condition, text, statement.span, place, given)


def _condition(
    statement: ast.Query | ast.Map | ast.Expect | ast.Decide,
    parts: Sequence[LiteralInstance],
    evidence: tuple[GroundLiteral, ...],
    atoms: Atoms,
) -> tuple[tuple[GroundLiteral, ...], tuple[GroundLiteral, ...], str]:
    """The evidence of a question, what was observed before anything is set, and their text.

    With ``given``, the program's ``evidence`` was observed before as well.
    """
    conditions = [part for part in parts if part.literal.is_evidence]
    here = _literals((part for part in conditions if not part.literal.is_given), atoms)
    given = _literals((part for part in conditions if part.literal.is_given), atoms)
    do = list(map(str, statement.do))
    text = condition_text(do, list(map(str, here)), list(map(str, given)))
    if statement.given:
        return here, tuple(dict.fromkeys((*given, *evidence))), text
    return tuple(dict.fromkeys((*here, *evidence))), (), text


def _can_occur(instance: Iterable[LiteralInstance], atoms: Atoms) -> bool:
    """Whether the program has the predicates that give the variables their values."""
    return all(
        part.symbol in atoms or part.literal.mode is Mode.FALSE or part.literal.is_ground
        for part in instance
    )


def _literals(parts: Iterable[LiteralInstance], atoms: Atoms) -> tuple[GroundLiteral, ...]:
    """The literals, each once."""
    literals = (GroundLiteral(p.literal.mode, atoms.get(p.symbol, 0), p.symbol) for p in parts)
    return tuple(dict.fromkeys(literals))


def _query(
    statement: ast.Query | ast.Decide,
    instance: Sequence[LiteralInstance],
    evidence: tuple[GroundLiteral, ...],
    atoms: Atoms,
) -> GroundQuery:
    literals = _literals((part for part in instance if not part.literal.is_evidence), atoms)
    condition, given, text = _condition(statement, instance, evidence, atoms)
    text = (", ".join(map(str, literals)) + text).lstrip()
    return GroundQuery(literals, condition, text, statement.span, given)


def _map(
    statement: ast.Map, instances: Instances, evidence: tuple[GroundLiteral, ...], atoms: Atoms
) -> GroundMap:
    """A map has all instances of its atoms and of its evidence at once."""
    parts = [part for instance in instances for part in instance]
    marked = _literals((p for p in parts if not p.literal.is_evidence), atoms)
    condition, given, text = _condition(statement, parts, evidence, atoms)
    everything = not statement.literals
    words = ["mpe"] if everything else [f"{literal.symbol}?" for literal in marked]
    text = ", ".join(words) + text
    return GroundMap(marked, condition, everything, text, statement.span, given)


# --- warnings ----------------------------------------------------------------------------------


def _warnings(
    statement: ast.Question, instances: Instances, program: ast.Program, atoms: Atoms
) -> Iterator[Diagnostic]:
    literals = question_literals(statement)
    compared_atoms = list(_compared_atoms(statement, instances, program, atoms))
    yield from compared_atoms
    if literals and not instances and not compared_atoms:
        names = (str(literal.atom).partition("(")[0] for literal in literals)
        known = filter(None, (suggest(name, _signatures(atoms)) for name in names))
        yield no_instances(statement.span, next(known, UNDERIVED))
    missing = {
        part.symbol: part.literal
        for instance in instances
        for part in instance
        if part.symbol not in atoms and part.literal.is_ground and not part.literal.is_given
    }
    for symbol, literal in missing.items():
        span = program.sources.span_of(literal.atom.symbol.location)
        yield cannot_occur(str(symbol), literal, span, _atom_help(symbol, atoms))


def _compared_atoms(
    statement: ast.Question, instances: Instances, program: ast.Program, atoms: Atoms
) -> Iterator[Diagnostic]:
    """Comparisons of two constants, one of them with the name of an atom, as in ``| a = 1``."""
    for guard in statement.guards:
        comparison = guard.atom
        if guard.sign != Sign.NoSign or comparison.ast_type != ASTType.Comparison:
            continue
        terms = [comparison.term, *(part.term for part in comparison.guards)]
        if len(terms) != 2 or any(term.ast_type != ASTType.SymbolicTerm for term in terms):
            continue
        operator = comparison.guards[0].comparison
        outcome = {ComparisonOperator.Equal: "never", ComparisonOperator.NotEqual: "always"}
        # Otherwise the name is a constant of the command line.
        if operator not in outcome or bool(instances) != (outcome[operator] == "always"):
            continue
        for name, value in (map(str, terms), map(str, reversed(terms))):
            if name != value and _is_atom(name, program, atoms):
                result = f"and is {outcome[operator]} true"
                message = f"{guard} compares the constant {name} with {value} {result}"
                negated = (value in ("0", "false")) == (operator == ComparisonOperator.Equal)
                help = f"to observe the atom, write {'not ' * negated}{name}"
                yield Diagnostic("compared-atom", message, statement.span, help, "warning")
                break


def _is_atom(name: str, program: ast.Program, atoms: Atoms) -> bool:
    """Whether an atom of the program has this name and no arguments, and no #const has it."""
    if not name.isidentifier() or any(node.name == name for node in const_statements(program)):
        return False
    derived = (atom for each in program.statements for atom in ast.derived_atoms(each))
    return Function(name) in atoms or any(str(atom) == name for atom in derived)


def no_instances(span: Span, help: str) -> Diagnostic:
    """The warning about a question with variables that nothing matches."""
    message = "no atoms match this question, so it has no answers"
    return Diagnostic("no-instances", message, span, help, "warning")


def cannot_occur(atom: str, literal: QuestionLiteral, span: Span, help: str) -> Diagnostic:
    """The warning about an atom of a question that is never true."""
    consequence = _CONSEQUENCE[literal.mode]
    if literal.is_evidence and literal.mode is not Mode.FALSE:
        consequence = "so this evidence is impossible"
    message = f"{atom} cannot occur, {consequence}"
    return Diagnostic("unknown-atom", message, span, help, "warning")


def _atom_help(symbol: Symbol, atoms: Atoms) -> str:
    """Help for an atom that cannot occur: the closest atom that can."""
    if symbol.name == "do":
        return "what is set comes after '|', as in #query a | do(b)."
    alike = (a for a in atoms if Signature.of(a) == Signature.of(symbol))
    names = [str(atom) for atom in islice(alike, TUNING.candidates)]
    if names:
        return f"the closest atom that can occur is {closest(str(symbol), names, cutoff=0.0)}"
    sign = "" if symbol.positive else "-"
    return suggest(f"{sign}{symbol.name}", _signatures(atoms)) or UNDERIVED


def _signatures(atoms: Atoms) -> set[Signature]:
    return set(map(Signature.of, atoms))
