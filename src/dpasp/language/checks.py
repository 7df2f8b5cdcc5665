"""What is wrong with a program that can be read: found without grounding or running it.

:func:`check` collects everything it finds; :func:`effective_semantics` says which
semantics hold after what the user asked for from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.constants import numeric_constants
from dpasp.language.cursor import Cursor, nearest
from dpasp.language.directives import read_semantics_words
from dpasp.language.expressions import evaluate, variables
from dpasp.language.known_options import check_options
from dpasp.language.python_names import check_calls
from dpasp.language.source import SourceFile

SLACK = 1e-9  # how far above 1 the probabilities of a disjunction may sum

_REFUSED = {
    ASTType.Minimize: ("optimisation", "#minimize, #maximize and weak constraints"),
    ASTType.Edge: ("edge", "#edge"),
    ASTType.TheoryDefinition: ("theory", "theories"),
}


class Meaning(NamedTuple):
    """The two semantics under which a program is read."""

    logic: ast.Logic = ast.Logic.STABLE
    probability: ast.Probability = ast.Probability.CREDAL


def parse_semantics(text: str) -> tuple[ast.Logic | None, ast.Probability | None]:
    """The semantics that a text such as ``"lstable, maxent"`` names."""
    cursor = Cursor(SourceFile("<semantics>", text), 0, len(text))
    found = read_semantics_words(cursor)
    if not cursor.at_end():
        cursor.fail("unknown-semantics", f"unexpected '{cursor.peek().text}'", cursor.peek())
    return found


def effective_semantics(program: ast.Program, override: str | None = None) -> Meaning:
    """The program's semantics; what ``override`` says wins, what nobody says is the default."""
    logic, probability = parse_semantics(override) if override else (None, None)
    for statement in program.statements:
        if isinstance(statement, ast.Semantics):
            logic, probability = logic or statement.logic, probability or statement.probability
    return Meaning(logic or Meaning().logic, probability or Meaning().probability)


def check(
    program: ast.Program,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
) -> None:
    """Raise a :class:`ProgramError` with all that is wrong with a program, if anything is."""
    found: list[Diagnostic] = []
    meaning = Meaning()
    values = None
    try:
        meaning = effective_semantics(program, semantics)
        values = numeric_constants(program, constants)
    except ProgramError as error:
        found += error.diagnostics
    found += _directives(program)
    for statement in program.statements:
        match statement:
            case ast.Annotated():
                found += _annotated(statement, values, meaning)
            case ast.Neural():
                found += _neural(statement, program)
            case ast.Query() | ast.Map() | ast.Evidence():
                found += _question(statement, meaning)
            case ast.Plain(node, span):
                found += _plain(node, span, program)
    found += check_calls(program)
    if found:
        raise ProgramError(_sorted(found, program))


def _sorted(found: list[Diagnostic], program: ast.Program) -> list[Diagnostic]:
    names = list(program.sources)

    def key(diagnostic: Diagnostic) -> tuple[int, int, int]:
        span = diagnostic.span
        known = span is not None and span.file in names
        return (names.index(span.file), span.line, span.column) if span and known else (-1, 0, 0)

    return sorted(dict.fromkeys(found), key=key)


# --- directives that may stand only once -----------------------------------------------------


def _directives(program: ast.Program) -> Iterator[Diagnostic]:
    for kind in (ast.Semantics, ast.Learn, ast.Inference):
        word = kind.__name__.lower()
        found = [statement for statement in program.statements if isinstance(statement, kind)]
        for statement in found[1:]:
            first = f"line {found[0].span.line} of {found[0].span.file}"
            message = f"a second #{word}; the first is in {first}"
            yield Diagnostic(f"{word}-twice", message, statement.span, "keep one of them")
        for statement in found:
            if isinstance(statement, ast.Learn | ast.Inference):
                yield from check_options(statement)


# --- annotated statements --------------------------------------------------------------------


def _annotated(
    statement: ast.Annotated, values: Mapping[str, float] | None, meaning: Meaning
) -> Iterator[Diagnostic]:
    """What is wrong with it; its numbers are not looked at when the constants are not known."""
    weights = [head.weight for head in statement.heads]
    kinds = {type(weight) for weight in weights}
    if {ast.Interval, ast.Learnable} <= kinds:
        yield Diagnostic(
            "mixed-annotations",
            "intervals and learnable parameters do not go together in one statement",
            statement.span,
            "learn a precise probability, or give an interval for every head",
        )
        return
    if ast.Interval in kinds and meaning.probability is ast.Probability.MAXENT:
        first = next(weight for weight in weights if isinstance(weight, ast.Interval))
        yield Diagnostic(
            "credal-under-maxent",
            "an interval of probabilities has no meaning under maxent",
            first.span,
            "say '#semantics credal.' or give one probability",
        )
    known = _variables(statement)
    for weight in weights:
        yield from _key(weight, known)
    if values is not None:
        yield from _values(statement, weights, values, known)


def _key(weight: ast.Weight, known: set[str]) -> Iterator[Diagnostic]:
    if not isinstance(weight, ast.Learnable):
        return
    for name in weight.key:
        if name not in known:
            help = nearest(name, known) or "use a variable of the head or the body"
            message = f"the variable {name} does not occur in this statement"
            yield Diagnostic("parameter-key", message, weight.span, help)


def _values(
    statement: ast.Annotated,
    weights: list[ast.Weight],
    values: Mapping[str, float],
    known: set[str],
) -> Iterator[Diagnostic]:
    """Check the probabilities that do not depend on variables."""
    bounds: list[tuple[float, float] | None] = []
    failed = False
    for weight in weights:
        try:
            bounds.append(_bounds(weight, values, known))
        except ProgramError as error:
            yield from error.diagnostics
            failed = True
    if failed:
        return
    lower = sum(low for low, _ in filter(None, bounds))
    span = weights[0].span.to(statement.heads[-1].span)
    if lower > 1 + SLACK:
        credal = any(isinstance(weight, ast.Interval) for weight in weights)
        what = "lower probabilities" if credal else "probabilities"
        yield Diagnostic(
            "disjunction-sum",
            f"the {what} of this disjunction sum to {lower:.10g}, more than 1",
            span,
            "make them sum to at most 1; what is left over chooses nothing",
        )
    elif len(weights) > 1 and all(bounds) and any(isinstance(w, ast.Interval) for w in weights):
        upper = sum(high for _, high in filter(None, bounds))
        if upper < 1 - SLACK:
            yield Diagnostic(
                "interval-sum",
                f"the upper probabilities of this disjunction sum to {upper:.10g}, less than 1",
                span,
                "widen the intervals: the probabilities of a credal disjunction sum to 1",
            )


def _bounds(
    weight: ast.Weight, values: Mapping[str, float], known: set[str]
) -> tuple[float, float] | None:
    """The least and greatest probability of a weight; None when it depends on variables."""
    match weight:
        case ast.Fixed(probability):
            parts = [probability]
        case ast.Interval(lower, upper):
            parts = [lower, upper]
        case ast.Learnable(initial, _):
            parts = [] if initial is None else [initial]
    numbers = []
    for part in parts:
        names = list(variables(part))
        for variable in names:
            if variable.name not in known:
                message = f"the variable {variable.name} does not occur in the rule"
                help = nearest(variable.name, known) or "bind it in a positive body literal"
                raise ProgramError(Diagnostic("unknown-variable", message, variable.span, help))
        if names:
            return None
        numbers.append(_probability(evaluate(part, values), part.span))
    if not numbers:
        return None
    if numbers[0] > numbers[-1]:
        message = f"the lower probability {numbers[0]:g} is above the upper one {numbers[-1]:g}"
        raise ProgramError(Diagnostic("interval-order", message, weight.span, "swap them"))
    return numbers[0], numbers[-1]


def _probability(value: float, span: Span) -> float:
    if not 0 <= value <= 1:
        help = "a probability lies between 0 and 1"
        if 1 < value <= 100:
            help += f"; {value:g} % is written {value / 100:g}"
        message = f"{value:g} is not a probability"
        raise ProgramError(Diagnostic("probability-range", message, span, help))
    return value


def _variables(statement: ast.Annotated) -> set[str]:
    """The names of the variables of the head and of the body, local ones left out."""
    names: set[str] = set()
    for node in (*(head.atom for head in statement.heads), *statement.body):
        names |= global_variables(node)
    return names


_LOCAL = (ASTType.ConditionalLiteral, ASTType.BodyAggregateElement, ASTType.TheoryAtomElement)


def global_variables(node: AST) -> set[str]:
    """The names of the global variables in a node: not those inside conditions or elements."""
    names: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if part.ast_type in _LOCAL:
            continue
        if part.ast_type == ASTType.Variable:
            if part.name != "_":
                names.add(part.name)
            continue
        for key in part.child_keys:
            child = getattr(part, key)
            if isinstance(child, AST):
                stack.append(child)
            elif child is not None:
                stack.extend(child)
    return names


# --- neural statements, questions, clingo's own ----------------------------------------------


def _neural(statement: ast.Neural, program: ast.Program) -> Iterator[Diagnostic]:
    declared = {s.name for s in program.statements if isinstance(s, ast.Data)}
    used = {node.atom.symbol.name for node in statement.body if _is_positive_atom(node)}
    if not used & declared:
        help = "declare one: input(0) ~ test(@te(0)), train(@tr(0))."
        if declared:
            help = f"add a declared data predicate to the body: {', '.join(sorted(declared))}"
        message = f"nothing in the body of {statement.name} is a data predicate"
        yield Diagnostic("data-missing", message, statement.span, help)
    if statement.network.host not in (None, "github"):
        message = f"{statement.network.host} is not a known host"
        yield Diagnostic("unknown-host", message, statement.network.span, 'write at "github"')


def _is_positive_atom(node: AST) -> bool:
    if node.ast_type != ASTType.Literal or node.sign != 0:
        return False
    atom = node.atom
    symbolic = atom.ast_type == ASTType.SymbolicAtom
    return bool(symbolic and atom.symbol.ast_type == ASTType.Function)


def _question(
    statement: ast.Query | ast.Map | ast.Evidence, meaning: Meaning
) -> Iterator[Diagnostic]:
    if meaning.logic.three_valued:
        return
    literals: Iterable[ast.Literal] = ()
    match statement:
        case ast.Query(asked, given):
            literals = (*asked, *given)
        case ast.Map(_, given):
            literals = given
        case ast.Evidence(asked):
            literals = asked
    for literal in literals:
        if literal.mode is ast.Mode.UNDEFINED:
            yield Diagnostic(
                "undef-two-valued",
                f"no atom is ever undefined under the {meaning.logic.value} semantics",
                literal.span,
                "say '#semantics lstable.', partial, smproblog or wellfounded",
            )


def _plain(node: AST, span: Span, program: ast.Program) -> Iterator[Diagnostic]:
    kind = node.ast_type
    if kind in _REFUSED:
        code, what = _REFUSED[kind]
        help = "they choose among models, which is not a probability; write constraints instead"
        yield Diagnostic(code, f"{what} are refused", span, help)
    elif kind == ASTType.Program and (node.name != "base" or node.parameters):
        message = "only '#program base.' is grounded"
        yield Diagnostic("program-part", message, span, "move its rules to the base program")
    elif kind == ASTType.Rule:
        for atom in _theory_atoms(node):
            where = program.sources.span_of(atom.location)
            yield Diagnostic("theory", "theory atoms are refused", where, "write plain rules")


def _theory_atoms(rule: AST) -> Iterator[AST]:
    if rule.head.ast_type == ASTType.TheoryAtom:
        yield rule.head
    for literal in rule.body:
        if literal.ast_type == ASTType.Literal and literal.atom.ast_type == ASTType.TheoryAtom:
            yield literal.atom
