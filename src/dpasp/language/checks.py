"""What is wrong with a program that can be read: found without grounding or running it.

:func:`check` collects everything it finds; :func:`effective_semantics` says which
semantics hold after what the user asked for from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.constants import check_constants, numeric_constants
from dpasp.language.cursor import Cursor, nearest
from dpasp.language.directives import read_semantics_words
from dpasp.language.distributions import distribution, expressions, probability, weight_variables
from dpasp.language.known_options import check_options
from dpasp.language.nodes import global_variables
from dpasp.language.python_names import check_calls
from dpasp.language.source import SourceFile

Semantics = tuple[ast.Logic, ast.Probability]
DEFAULT: Semantics = (ast.Logic.STABLE, ast.Probability.CREDAL)
FILES = {
    ast.Data: (".csv", ".npy", ".pt", ".pth"),
    ast.Learn: (".csv",),
}


def parse_semantics(text: str) -> tuple[ast.Logic | None, ast.Probability | None]:
    """The semantics that a text such as ``"lstable, maxent"`` names."""
    cursor = Cursor(SourceFile("", text), 0, len(text))
    try:
        found = read_semantics_words(cursor)
        if not cursor.at_end():
            help = "write one or two semantics, as in lstable, maxent"
            what = f"unexpected '{cursor.peek().text}'"
            cursor.fail("unknown-semantics", what, cursor.peek(), help)
    except ProgramError as error:  # there is no program to point at
        raise ProgramError(replace(problem, span=None) for problem in error.diagnostics) from None
    return found


def effective_semantics(program: ast.Program, override: str | None = None) -> Semantics:
    """The program's semantics; what ``override`` says wins, what nobody says is the default."""
    logic, probability = parse_semantics(override) if override else (None, None)
    for statement in program.statements:
        if isinstance(statement, ast.Semantics):
            logic, probability = logic or statement.logic, probability or statement.probability
    return logic or DEFAULT[0], probability or DEFAULT[1]


def check(
    program: ast.Program,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
    *,
    numbers: bool = True,
) -> None:
    """Raise a :class:`ProgramError` with all that is wrong with a program, if anything is.

    Without ``numbers`` the probabilities are not looked at: they were before.
    """
    found: list[Diagnostic] = []
    logic, probability_semantics = DEFAULT
    values = None
    try:
        logic, probability_semantics = effective_semantics(program, semantics)
        values = numeric_constants(program, constants) if numbers else None
    except ProgramError as error:
        found += error.diagnostics
    found += _directives(program)
    found += check_constants(program, constants or {})
    for statement in program.statements:
        match statement:
            case ast.Annotated():
                found += _annotated(statement, values, probability_semantics)
            case ast.Neural():
                found += _neural(statement, program)
            case ast.Query() | ast.Map() | ast.Evidence():
                found += _question(statement, logic)
    found += _data(program)
    found += check_calls(program)
    if found:
        raise ProgramError(_sorted(found, program))


def _sorted(found: list[Diagnostic], program: ast.Program) -> list[Diagnostic]:
    names = {name: position for position, name in enumerate(program.sources)}

    def key(diagnostic: Diagnostic) -> tuple[int, int, int]:
        span = diagnostic.span
        return (names.get(span.file, -1), span.line, span.column) if span else (-1, 0, 0)

    return sorted(dict.fromkeys(found), key=key)


def _first(span: Span) -> str:
    return f"the first is in line {span.line} of {span.file}"


# --- directives and data ------------------------------------------------------------------------


def _directives(program: ast.Program) -> Iterator[Diagnostic]:
    """Directives that may stand only once, and their options."""
    for kind in (ast.Semantics, ast.Learn, ast.Inference):
        word = kind.__name__.lower()
        found = [statement for statement in program.statements if isinstance(statement, kind)]
        for statement in found[1:]:
            message = f"a second #{word}; {_first(found[0].span)}"
            yield Diagnostic(f"{word}-twice", message, statement.span, "keep one of them")
        for statement in found:
            if isinstance(statement, ast.Learn | ast.Inference):
                yield from check_options(statement)


def _data(program: ast.Program) -> Iterator[Diagnostic]:
    """Data that are declared twice, and files of no known kind."""
    seen: dict[str, ast.Data] = {}
    for statement in program.statements:
        origins: tuple[ast.Origin | None, ...] = ()
        if isinstance(statement, ast.Data):
            atom = f"{statement.name}({statement.argument})"
            first = seen.setdefault(atom, statement)
            if first is not statement:
                message = f"the data of {atom} are given a second time; {_first(first.span)}"
                yield Diagnostic("data-twice", message, statement.span, "keep one of them")
            origins = (statement.test, statement.train)
        elif isinstance(statement, ast.Learn):
            origins = (statement.observations,)
        for origin in origins:
            known = FILES.get(type(statement), ())
            if isinstance(origin, ast.File) and not origin.path.lower().endswith(known):
                help = f"the name of a file ends in {' or '.join(known)}"
                message = f"{origin.path or 'this'} is of no known kind"
                yield Diagnostic("data-file", message, origin.span, help)


# --- annotated statements -----------------------------------------------------------------------


def _annotated(
    statement: ast.Annotated, values: Mapping[str, float] | None, semantics: ast.Probability
) -> Iterator[Diagnostic]:
    """What is wrong with it; its numbers are not looked at when the constants are not known."""
    weights = [head.weight for head in statement.heads]
    first = next((weight for weight in weights if isinstance(weight, ast.Interval)), None)
    if first is not None and semantics is ast.Probability.MAXENT:
        yield Diagnostic(
            "credal-under-maxent",
            "an interval of probabilities has no meaning under maxent",
            first.span,
            "say '#semantics credal.', or give one probability",
        )
    names = [name for weight in weights for name in weight_variables(weight)]
    if names or any(isinstance(weight, ast.Learnable) and weight.key for weight in weights):
        yield from _variables(statement, names)
    if values is not None:
        yield from _values(statement, values, known=not names)


def _variables(statement: ast.Annotated, names: list[ast.Variable]) -> Iterator[Diagnostic]:
    """Variables in probabilities and keys that the statement does not have."""
    known: set[str] = set()
    for node in (*(head.atom for head in statement.heads), *statement.body):
        known |= global_variables(node)
    for variable in names:
        if variable.name not in known:
            message = f"the variable {variable.name} does not occur in the rule"
            help = nearest(variable.name, known) or "bind it in a positive body literal"
            yield Diagnostic("unknown-variable", message, variable.span, help)
    keyed = [head.weight for head in statement.heads if isinstance(head.weight, ast.Learnable)]
    for weight in keyed:
        for name in weight.key:
            if name not in known:
                message = f"the variable {name} does not occur in the rule"
                help = nearest(name, known) or "name a variable of the head or the body"
                yield Diagnostic("parameter-key", message, weight.span, help)
        if set(weight.key) != set(keyed[0].key):
            message = "the parameters of one statement have the same key"
            yield Diagnostic("parameter-key", message, weight.span, "write the same key for all")


def _values(
    statement: ast.Annotated, values: Mapping[str, float], known: bool
) -> Iterator[Diagnostic]:
    """Probabilities out of range; their sum, when all of them are known."""
    whole: list[Diagnostic] = []
    if known:
        try:
            distribution(statement, values)
        except ProgramError as error:
            whole += error.diagnostics
        else:
            return
    wrong: list[Diagnostic] = []
    for head in statement.heads:
        for expression in expressions(head.weight):
            try:
                if known or not any(weight_variables(ast.Fixed(expression))):
                    probability(expression, values)
            except ProgramError as error:
                wrong += error.diagnostics
    yield from wrong or whole


# --- neural statements and questions ------------------------------------------------------------


def _neural(statement: ast.Neural, program: ast.Program) -> Iterator[Diagnostic]:
    declared = {s.name for s in program.statements if isinstance(s, ast.Data)}
    used = {node.atom.symbol.name for node in statement.body if _is_positive_atom(node)}
    if not used & declared:
        close = next(filter(None, (nearest(name, declared) for name in sorted(used))), "")
        help = close or "declare one: input(0) ~ test(@te(0)), train(@tr(0))."
        if declared and not close:
            help = f"add one of the declared ones to the body: {', '.join(sorted(declared))}"
        message = f"no data predicate in the body says what the network of {statement.name} sees"
        where = statement.span
        if statement.body:
            places = [program.sources.span_of(node.location) for node in statement.body]
            where = places[0].to(places[-1])
        yield Diagnostic("data-missing", message, where, help)
    yield from check_options(statement)


def _is_positive_atom(node: AST) -> bool:
    if node.ast_type != ASTType.Literal or node.sign != 0:
        return False
    atom = node.atom
    symbolic = atom.ast_type == ASTType.SymbolicAtom
    return bool(symbolic and atom.symbol.ast_type == ASTType.Function)


def _question(
    statement: ast.Query | ast.Map | ast.Evidence, logic: ast.Logic
) -> Iterator[Diagnostic]:
    if logic.three_valued:
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
                f"no atom is ever undefined under the {logic.value} semantics",
                literal.span,
                "say '#semantics lstable.', partial, smproblog or wellfounded",
            )
