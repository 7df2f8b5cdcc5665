"""Interventions and counterfactuals: questions with ``do(…)``, as programs of their own.

``#query wet | do(rain), cloudy.`` is asked of the program without the rules of ``rain``, in which
``rain`` is a fact. To keep other instances of a rule and other heads of a disjunction, the heads of
these rules get another predicate, from which all atoms follow that are not set.

``#query not wet | do(not rain) given wet.`` is asked of two programs side by side: one with the
rules of ``rain``, for what was observed, and one with what is set. They share the choices, and all
atoms that do not depend on what is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clingo import Function, Symbol
from clingo.ast import (
    AST,
    ASTType,
    ComparisonOperator,
    Transformer,
    Variable,
)

from dpasp.errors import Diagnostic, ProgramError, Span, UsageError, nearest
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundExpect,
    GroundLiteral,
    GroundMap,
    GroundProgram,
    Rule,
)
from dpasp.ground.terms import (
    NO_LOCATION,
    Signature,
    atom_literal,
    choice_rule,
    compared,
    derived,
    function,
    integer_term,
    reached,
    rule,
    split_atom,
)
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.text.clingo_text import walk

Ground = Callable[[ast.Program], GroundProgram]
Question = ast.Query | ast.Map | ast.Expect
# the prefix of predicates that hold what the rules derive for atoms that are set
NATURAL = "__dpasp_natural_"
_SET = f"{NATURAL}set"  # names the atoms that are set, as clingo reads them


def sets_atoms(program: ast.Program) -> bool:
    """Whether some question has ``do(…)``."""
    return any(map(_do, program.statements))


def without_interventions(program: ast.Program) -> ast.Program:
    """The program without the questions that have ``do(…)``."""
    return replace(program, statements=tuple(s for s in program.statements if not _do(s)))


def one_world(ground: GroundProgram) -> GroundProgram:
    """The ground program itself; :class:`UsageError` if some questions have ``do(…)``."""
    if ground.worlds:
        raise UsageError(
            "a question with do(…) is answered, but has no reasons, circuit or gradient here",
            help="write the intervention into the program: leave out the rules of the atom that is "
            "set, and make it a fact",
        )
    return ground


def worlds(program: ast.Program, ground: Ground) -> Iterator[GroundProgram]:
    """The ground programs of all questions with ``do(…)``, one for each intervention."""
    groups: dict[object, list[Question]] = {}
    for statement in program.statements:
        if do := _do(statement):
            assert isinstance(statement, Question)
            key = frozenset(map(str, do)), bool(statement.given)
            groups.setdefault(key, []).append(statement)
    for questions in groups.values():
        found = ground(_open(program, questions))
        literals = _do(questions[0])
        values = _values(found, literals)
        yield _beside(found, values) if questions[0].given else _in_place(found, values)


def _values(found: GroundProgram, do: Sequence[ast.Literal]) -> dict[Symbol, bool]:
    """The values of the atoms that are set, by their names in clingo."""
    values: dict[Symbol, bool] = {}
    for symbol in found.atoms:
        if symbol.name == _SET:
            number, atom = symbol.arguments
            literal = do[number.number]
            taken = literal.mode is Mode.TRUE
            if values.setdefault(atom, taken) is not taken:
                message, help = f"{atom} cannot be made both true and false", "keep one of the two"
                raise ProgramError(Diagnostic("query-do", message, literal.span, help))
    return values


def _do(statement: ast.Statement) -> tuple[ast.Literal, ...]:
    found: tuple[ast.Literal, ...] = getattr(statement, "do", ())
    return found


# --- the program in which some atoms are open ----------------------------------------------------


def _open(program: ast.Program, questions: Sequence[Question]) -> ast.Program:
    """The program with only these questions, in which the atoms that they set are open.

    All statements keep their places, so that learned parameters are found.
    """
    do = _do(questions[0])
    _check_known(program, do)
    signatures = {split_atom(literal.atom.symbol)[0] for literal in do}
    heads = _Heads(signatures)
    kept = [heads.renamed(s) for s in program.statements if not isinstance(s, ast.ASKING)]
    rules = [_unset(signature, do) for signature in signatures if signature.arity]
    for number, literal in enumerate(do):
        symbol = literal.atom.symbol
        rules += [choice_rule(symbol, ()), rule(function(_SET, [integer_term(number), symbol]), ())]
    more = [ast.Plain(node, questions[0].span) for node in rules]
    return replace(program, statements=(*kept, *more, *questions))


def _check_known(program: ast.Program, do: Sequence[ast.Literal]) -> None:
    """Refuse to set an atom that has no place in the program."""
    known = derived(program)
    for statement in program.statements:
        if not isinstance(statement, ast.ASKING):
            for node in ast.clingo_terms(statement):
                for part in walk(node):
                    if part.ast_type == ASTType.SymbolicAtom:
                        known |= {split_atom(s)[0] for s in _symbols(part)}
    for literal in do:
        signature = split_atom(literal.atom.symbol)[0]
        if signature not in known:
            message = f"the program has no {signature}, so setting it does nothing"
            help = nearest(signature.name, {s.name for s in known}) or "check its name"
            raise ProgramError(Diagnostic("query-do", message, literal.span, help))


def _symbols(atom: AST) -> list[AST]:
    symbol = atom.symbol
    return list(symbol.arguments) if symbol.ast_type == ASTType.Pool else [symbol]


def _unset(signature: Signature, do: Sequence[ast.Literal]) -> AST:
    """``p(X) :- natural_p(X), (X,) != (anna,).``: what is not set follows the rules."""
    arguments = [Variable(NO_LOCATION, f"A{i}") for i in range(signature.arity)]
    body = [atom_literal(function(NATURAL + signature.name, arguments))]
    for literal in do:
        found, values = split_atom(literal.atom.symbol)
        if found == signature:
            whole, other = function("", arguments), function("", list(values))
            body.append(compared(whole, ComparisonOperator.NotEqual, other))
    return rule(function(signature.name, arguments), body)


class _Heads(Transformer):
    """Gives the heads of some predicates another one; conditions stay as they are."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = set(signatures)
        self.names = {signature.name for signature in signatures}

    def renamed(self, statement: ast.Statement) -> ast.Statement:
        match statement:
            case ast.Plain(fact=fact) if (
                fact is not None and fact.partition("(")[0] not in self.names
            ):
                return statement
            case ast.Plain(node, span) if node.ast_type == ASTType.Rule:
                return ast.Plain(node.update(head=self.visit(node.head)), span)
            case ast.Plain(node, span) if node.ast_type == ASTType.External:
                self._refuse(node.atom, span, "#external")
            case ast.Annotated(heads, body, span):
                changed = [replace(head, atom=self.visit(head.atom)) for head in heads]
                if any(
                    one.atom is not other.atom for one, other in zip(changed, heads, strict=True)
                ):
                    return ast.Annotated(tuple(changed), body, span)
            case ast.Statistical(node):
                return replace(statement, node=node.update(head=self.visit(node.head)))
            case ast.Decision(node, span):
                return ast.Decision(node.update(head=self.visit(node.head)), span)
            case ast.Neural():
                signature = Signature(statement.name, statement.arity, statement.positive)
                if signature in self.signatures:
                    return replace(statement, name=NATURAL + statement.name)
            case ast.Data() if statement.name in self.names:
                message = f"{statement.name} has data, which cannot be set by do(…)"
                help = "set an output of the network, or an atom that follows from it"
                raise ProgramError(Diagnostic("query-do", message, statement.span, help))
        return statement

    def _refuse(self, atom: AST, span: Span, what: str) -> None:
        if any(split_atom(symbol)[0] in self.signatures for symbol in _symbols(atom)):
            message = f"what {what} names is set from outside, not by do(…)"
            help = "make it a fact, or a choice such as {a}."
            raise ProgramError(Diagnostic("query-do", message, span, help))

    def visit_ConditionalLiteral(self, node: AST) -> AST:  # noqa: N802
        return node.update(literal=self.visit(node.literal))

    def visit_SymbolicAtom(self, node: AST) -> AST:  # noqa: N802
        symbol = node.symbol
        if symbol.ast_type == ASTType.Pool:
            return node.update(
                symbol=symbol.update(arguments=[*map(self._symbol, symbol.arguments)])
            )
        renamed = self._symbol(symbol)
        return node if renamed is symbol else node.update(symbol=renamed)

    def _symbol(self, symbol: AST) -> AST:
        if symbol.ast_type != ASTType.Function or split_atom(symbol)[0] not in self.signatures:
            return symbol
        return symbol.update(name=NATURAL + symbol.name)


# --- what is set, and what was -------------------------------------------------------------------


def _in_place(ground: GroundProgram, do: Mapping[Symbol, bool]) -> GroundProgram:
    """The ground program in which the open atoms are set."""
    atoms = {ground.atoms[symbol] for symbol in do}
    rules = [each for each in ground.rules if not (each.choice and atoms & set(each.head))]
    rules += [Rule((ground.atoms[symbol],), ()) for symbol, taken in do.items() if taken]
    return _own_atoms(_without_decisions(replace(ground, rules=tuple(rules)), do))


def _without_decisions(ground: GroundProgram, do: Mapping[Symbol, bool]) -> GroundProgram:
    """The ground program in which atoms that are set are no longer decided, but count in bounds."""
    choices = list(ground.choices)
    decisions = []
    names = {ground.atoms.get(Function(NATURAL + s.name, s.arguments)): v for s, v in do.items()}
    for decision in ground.decisions:
        fixed = [i for i in decision.choices if choices[i].heads[0] in names]
        taken = sum(names[choices[i].heads[0]] for i in fixed)
        for i in fixed:
            choices[i] = replace(choices[i], weight=FixedWeights((0.0,)))
        left = tuple(i for i in decision.choices if i not in fixed)
        least = min(max(0, decision.least - taken), len(left))
        most = max(0, decision.most - taken)
        if left:
            decisions.append(replace(decision, choices=left, least=least, most=most))
    return replace(ground, choices=tuple(choices), decisions=tuple(decisions))


def _beside(ground: GroundProgram, do: Mapping[Symbol, bool]) -> GroundProgram:
    """The ground program together with copies of all atoms that depend on what is set.

    The questions are about the copies, the observations about the originals.
    """
    atoms = {ground.atoms[symbol] for symbol in do}
    above: dict[int, list[int]] = {}
    for each in ground.rules:
        for literal in each.body:
            above.setdefault(abs(literal), []).extend(each.head)
    depend = atoms | reached(atoms, above)
    copies = {atom: len(ground.symbols) + i for i, atom in enumerate(sorted(depend))}
    rules: list[Rule] = []
    for each in ground.rules:
        if each.choice and atoms & set(each.head):
            continue
        rules.append(each)
        if any(abs(literal) in copies for literal in (*each.head, *each.body)):
            rules.append(_copied(each, copies))
    for symbol, taken in do.items():
        said = ground.atoms.get(Function(NATURAL + symbol.name, symbol.arguments))
        if said is not None:
            rules.append(Rule((ground.atoms[symbol],), (said,)))
        if taken:
            rules.append(Rule((copies[ground.atoms[symbol]],), ()))
    named = {s: copies.get(atom, atom) for s, atom in ground.atoms.items()}
    symbols: list[Symbol | None] = [None] * (len(ground.symbols) + len(copies))
    symbols[: len(ground.symbols)] = ground.symbols
    for name, atom in ground.atoms.items():
        if atom in copies:
            symbols[copies[atom]] = name
            symbols[atom] = Function(NATURAL + name.name, name.arguments)  # as it was
    changed = replace(
        ground,
        symbols=tuple(symbols),
        atoms=named,
        rules=tuple(rules),
        questions=tuple(_about(question, copies) for question in ground.questions),
        worth=tuple(_about(question, copies) for question in ground.worth),
        observed=ground.atoms,
    )
    return _own_atoms(changed)


def _copied(each: Rule, copies: Mapping[int, int]) -> Rule:
    head = tuple(copies.get(atom, atom) for atom in each.head)
    body = tuple(copies.get(lit, lit) if lit > 0 else -copies.get(-lit, -lit) for lit in each.body)
    return each._replace(head=head, body=body)


def _about(question: Any, copies: Mapping[int, int]) -> Any:
    """A question about the copies; what was observed joins its evidence."""

    def here(literals: Iterable[GroundLiteral]) -> tuple[GroundLiteral, ...]:
        return tuple(lit._replace(atom=copies.get(lit.atom, lit.atom)) for lit in literals)

    evidence = (*here(question.evidence), *question.given)
    fields: dict[str, Any] = {"evidence": evidence, "given": ()}
    if isinstance(question, GroundExpect):
        fields["terms"] = tuple(t._replace(literals=here(t.literals)) for t in question.terms)
    else:
        name = "atoms" if isinstance(question, GroundMap) else "literals"
        fields[name] = here(getattr(question, name))
    return replace(question, **fields)


def _own_atoms(ground: GroundProgram) -> GroundProgram:
    """The ground program in which only the atoms of the program can be asked for."""
    choices = tuple(replace(c, labels=c.labels or _labels(ground, c)) for c in ground.choices)
    named = {s: atom for s, atom in ground.atoms.items() if not s.name.startswith(NATURAL)}
    return replace(ground, atoms=named, choices=choices)


def _labels(ground: GroundProgram, choice: Choice) -> tuple[str, ...]:
    """The names of the values of a choice, despite renamed heads."""
    symbols = [ground.symbols[head] for head in choice.heads]
    return tuple("" if s is None else str(s).removeprefix(NATURAL) for s in symbols)
