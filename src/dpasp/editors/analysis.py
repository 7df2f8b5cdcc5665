"""The analysis of a text for an editor: statements, predicates, mistakes and fixes.

>>> found = analyse("0.3::a(1).\\nb :- a(X), not c.\\n#query b.\\n", "p.plp")
>>> [problem.code for problem in found.problems]
['undefined-atom']
>>> [f"{place.predicate} {place.role}" for place in found.occurrences]
['a/1 head', 'b/0 head', 'a/1 body', 'c/0 body', 'b/0 question']
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.ground.checking import check_without_grounding, read_with_problems
from dpasp.language import ast
from dpasp.language.statements.statement import starting_words
from dpasp.language.text.clingo_text import children
from dpasp.language.text.lexer import Piece, Split, Token, cut_statements, tokens
from dpasp.language.text.source import SourceFile, Sources

Role = Literal["head", "body", "question", "mention"]

_MEANT = re.compile(r"did you mean '(.+)'\?")
_WRITE = re.compile(r"(?:write|say|add) (.+)")
_QUOTED = re.compile(r"'([^']+)'")
_REMOVE = ("remove", "keep one", "leave it out", "write it once")
MOST_FIXES = 12  # suggestions from a help text that are tried
_SIGNATURES = (ASTType.ShowSignature, ASTType.ProjectSignature, ASTType.Defined)


class Predicate(NamedTuple):
    """A name and how many arguments it has."""

    name: str
    arity: int

    def __str__(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The name of a predicate somewhere in a program."""

    predicate: Predicate
    role: Role
    span: Span  # of the name alone
    statement: ast.Statement


def occurrences(program: ast.Program) -> tuple[Occurrence, ...]:
    """Every place where a predicate is named, in the order of the text."""
    places = (place for each in program.statements for place in _of(each, program.sources))
    order = {name: number for number, name in enumerate(program.sources)}

    def position(place: Occurrence) -> tuple[int, int, int]:
        return order.get(place.span.file, -1), place.span.line, place.span.column

    return tuple(sorted(dict.fromkeys(places), key=position))


def _of(statement: ast.Statement, sources: Sources) -> Iterator[Occurrence]:
    for node, part in _parts(statement):
        for predicate, role, span in _atoms(node, part, sources):
            yield Occurrence(predicate, role, span, statement)
    if isinstance(statement, ast.Neural | ast.Data):
        arity = statement.arity if isinstance(statement, ast.Neural) else len(statement.arguments)
        span = _named(statement.span, statement.name, sources)
        yield Occurrence(Predicate(statement.name, arity), "head", span, statement)


def _parts(statement: ast.Statement) -> Iterator[tuple[AST, Role]]:
    """The parts of a statement that may contain atoms, with their roles."""
    match statement:
        case ast.Plain(node) | ast.Statistical(node) | ast.Decision(node):
            yield from _plain_parts(node)
        case ast.Annotated(heads, body):
            yield from ((head.atom, "head") for head in heads)
            yield from ((literal, "body") for literal in body)
        case ast.Neural(body=body) | ast.Factor(body=body):
            yield from ((literal, "body") for literal in body)
        case ast.Question():
            yield from ((node, "question") for node in ast.clingo_terms(statement))


def _plain_parts(node: AST) -> Iterator[tuple[AST, Role]]:
    if node.ast_type == ASTType.Rule:
        yield node.head, "head"
    elif node.ast_type == ASTType.External:
        yield node.atom, "head"
    elif node.ast_type in _SIGNATURES and node.name:  # '#show.' names nothing
        yield node, "mention"
    elif node.ast_type in (ASTType.ProjectAtom, ASTType.Heuristic):
        yield node.atom, "mention"
    for literal in getattr(node, "body", None) or ():
        yield literal, "body"


def _atoms(node: AST, role: Role, sources: Sources) -> Iterator[tuple[Predicate, Role, Span]]:
    """The atoms below a node; those in conditions are not heads."""
    if node.ast_type in _SIGNATURES:
        span = _named(sources.span_of(node.location), node.name, sources)
        yield Predicate(node.name, node.arity), role, span
    elif node.ast_type == ASTType.SymbolicAtom:
        for predicate, span in _symbol(node.symbol, sources):
            yield predicate, role, span
    elif node.ast_type == ASTType.ConditionalLiteral:
        yield from _atoms(node.literal, role, sources)
        for literal in node.condition:
            yield from _atoms(literal, "body" if role == "head" else role, sources)
    else:
        for child in children(node):
            yield from _atoms(child, role, sources)


def _symbol(symbol: AST, sources: Sources) -> Iterator[tuple[Predicate, Span]]:
    if symbol.ast_type == ASTType.UnaryOperation:  # -a
        yield from _symbol(symbol.argument, sources)
    elif symbol.ast_type == ASTType.Pool:  # a(1;2)
        whole = sources.span_of(symbol.location)
        for part in symbol.arguments:
            for predicate, _ in _symbol(part, sources):
                yield predicate, _named(whole, predicate.name, sources)
    elif symbol.ast_type == ASTType.Function:
        span = sources.span_of(symbol.location)
        yield Predicate(symbol.name, len(symbol.arguments)), _named(span, symbol.name, sources)


def _named(whole: Span, name: str, sources: Sources) -> Span:
    """The first occurrence of a name inside a span."""
    file = next((f for f in sources.files if f.name == whole.file), SourceFile(whole.file, ""))
    for token in tokens(file.text, *file.slice(whole)):
        if token.kind == "name" and token.text == name:
            return file.span(token.start, token.end)
    return whole


@dataclass(frozen=True)
class Analysis:
    """A text and what is known about it without grounding or running it."""

    file: SourceFile
    program: ast.Program  # the statements that can be read
    problems: tuple[Diagnostic, ...]
    unread: bool = False  # some statements cannot be read

    @property
    def text(self) -> str:
        return self.file.text

    @cached_property
    def split(self) -> Split:
        """Its statements and comments as slices of the text."""
        return cut_statements(self.text, starting_words())

    @cached_property
    def occurrences(self) -> tuple[Occurrence, ...]:
        """Where predicates are named, also in files that are included."""
        return occurrences(self.program)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, both from 1."""
        starts = self.file.line_starts
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(self.text))

    def slice(self, span: Span) -> tuple[int, int]:
        """A span of this file as offsets."""
        end = self.offset(span.end_line, span.end_column)
        return self.offset(span.line, span.column), end

    def piece_at(self, offset: int) -> Piece | None:
        """The statement that holds an offset, or ends right before it."""
        for at in (offset, offset - 1):
            if (index := self.split.index_at(at)) >= 0:
                return self.split.pieces[index]
        return None

    def tokens_of(self, piece: Piece) -> list[Token]:
        """The tokens of a statement; none of a block of code."""
        if piece.directive in starting_words().blocks:
            return []
        return list(tokens(self.text, piece.start, piece.end))

    def token_at(self, offset: int) -> Token | None:
        """The token that holds an offset, or ends right before it."""
        piece = self.piece_at(offset)
        tokens = self.tokens_of(piece) if piece else []
        holding = [token for token in tokens if token.start <= offset <= token.end]
        words = [token for token in holding if token.kind != "symbol"]
        return next(iter(words or holding), None)

    def occurrence_at(self, offset: int) -> Occurrence | None:
        """The predicate that is named at an offset of this file."""
        for place in self.occurrences:
            if place.span.file == self.file.name:
                start, end = self.slice(place.span)
                if start <= offset <= end:
                    return place
        return None

    def of(self, predicate: Predicate) -> Iterator[Occurrence]:
        return (place for place in self.occurrences if place.predicate == predicate)


def analyse(text: str, file: str) -> Analysis:
    """Analyse a text without running it; never raises an error."""
    program, errors = read_with_problems([(file, text)])
    problems = tuple(errors) if errors else _checked(program)
    return Analysis(SourceFile(file, text), program, problems, bool(errors))


def _checked(program: ast.Program) -> tuple[Diagnostic, ...]:
    try:
        return (*program.warnings, *check_without_grounding(program))
    except ProgramError as error:
        return error.diagnostics


# --- quick fixes: the help of a diagnostic as a change of the text that is known to help ----------


@dataclass(frozen=True, slots=True)
class Fix:
    """A change: what to write in place of a slice of the text."""

    title: str
    start: int
    end: int
    text: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


def fixes(text: str, file: str, problem: Diagnostic) -> list[Fix]:
    """The changes suggested by a problem's help that really remove the problem."""
    if problem.span is None or problem.span.file != file:
        return []
    before = _counted(text, file)
    by_text: dict[str, Fix] = {}
    for fix in list(_suggestions(text, file, problem))[:MOST_FIXES]:
        changed = fix.applied(text)
        after = _counted(changed, file)
        if changed != text and after < before:
            by_text.setdefault(changed, fix)
    return list(by_text.values())


def _counted(text: str, file: str) -> Counter[tuple[str, str]]:
    """The problems of a text without their places, which a change would move."""
    return Counter((problem.code, problem.message) for problem in analyse(text, file).problems)


def _suggestions(text: str, file: str, problem: Diagnostic) -> Iterator[Fix]:
    assert problem.span is not None
    start, end = SourceFile(file, text).slice(problem.span)
    help = problem.help
    if meant := _MEANT.search(help):
        yield from _replacements(text, start, end, meant[1])
    if help.startswith(_REMOVE):
        stop = end + 1 if text[end : end + 1] == "\n" and text[:start].endswith(("\n", "")) else end
        yield Fix("remove it", start, stop, "")
    if problem.code == "missing-dot":
        yield Fix("end the statement with a dot", start, start, ".")
    if (written := _WRITE.match(help)) is not None:
        for part in _alternatives(written[1]):
            yield Fix(f"change to '{part}'", start, end, part)
            yield from _insertions(text, start, end, part)


def _replacements(text: str, start: int, end: int, word: str) -> Iterator[Fix]:
    """Changes that put a word in place of the slice, or of a similar word in it."""
    title = f"change to '{word}'"
    yield Fix(title, start, end, word)
    old = text[start:end]
    yield Fix(title, start, end, re.sub(r'"[^"]*"', f'"{word}"', old))
    for match in re.finditer(r"[#@]?[\w.']+", old):
        sign = match[0][0] if match[0][0] in "@#" and word[0] not in "@#" else ""
        yield Fix(title, start + match.start(), start + match.end(), sign + word)


def _alternatives(help: str) -> Iterator[str]:
    """The proposals in a help text: in quotes, before an 'or' or a colon, or all of it."""
    quoted = _QUOTED.findall(help)
    yield from quoted
    for part in re.split(r",? or |; |: ", help):
        yield part.strip()
        yield part.strip().strip("'")
    yield help


def _insertions(text: str, start: int, end: int, sign: str) -> Iterator[Fix]:
    """A closing bracket or a separator that is missing, before the slice or at the end."""
    if len(sign) != 1:
        return
    title = f"add '{sign}'"
    yield Fix(title, start, start, sign + (" " if sign in ",;" else ""))
    yield Fix(title, end, end, sign)
    for piece in cut_statements(text, starting_words()).pieces:
        if piece.start <= start < piece.end:
            yield Fix(title, piece.end - piece.dotted, piece.end - piece.dotted, sign)
