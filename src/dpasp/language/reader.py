"""Text → statements: each piece to its reader, the rest to clingo, the results in order.

Errors are collected statement by statement, so one run reports all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast, lexer
from dpasp.language.annotations import Draft, read_annotated
from dpasp.language.buffer import Buffer
from dpasp.language.clingo_text import parse_clingo, syntax_error
from dpasp.language.cursor import nearest
from dpasp.language.directives import (
    read_const,
    read_include,
    read_inference,
    read_learn,
    read_python,
    read_semantics,
)
from dpasp.language.neural import is_neural, read_data, read_neural
from dpasp.language.questions import read_question
from dpasp.language.source import SourceFile, Sources

Reader = Callable[[SourceFile, lexer.Piece, Buffer], Draft]

_READERS: dict[str, Reader] = {
    "#query": read_question,
    "#pr": read_question,
    "#map": read_question,
    "#mpe": read_question,
    "#evidence": read_question,
    "#semantics": read_semantics,
    "#learn": read_learn,
    "#inference": read_inference,
    "#python": read_python,
}

_PROBLEMS = {
    "unclosed-comment": ("this comment is never closed", "end it with *%"),
    "unclosed-string": ("this string is never closed", 'end it with " on the same line'),
    "bad-character": ("this character has no meaning here", "remove it, or put it into a string"),
    "unclosed-block": ("this block is never closed", "end it with '#end.'"),
}

_PASSES = 20  # how often a text with errors is read again to find the next ones

_REFUSED = ("#minimize", "#maximize", "#minimise", "#maximise")

# Words with '#' that clingo knows at the start of a statement or inside one.
_WORDS = frozenset(
    "#true #false #inf #infimum #sup #supremum #sum #sum+ #count #min #max #end".split()
)


@dataclass(frozen=True, slots=True)
class _Include:
    """Stands for the statements of another file until they are read."""

    path: str
    span: Span


@dataclass
class _Reading:
    """What has been read so far."""

    sources: Sources = field(default_factory=Sources)
    statements: list[ast.Statement] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)


def read_texts(texts: list[tuple[str, str]], after: Sources | None = None) -> ast.Program:
    """Read named texts, one after the other, into one program."""
    program, errors = read_readable(texts, after)
    if errors:
        raise ProgramError(errors)
    return program


def read_readable(
    texts: list[tuple[str, str]], after: Sources | None = None
) -> tuple[ast.Program, list[Diagnostic]]:
    """The statements that can be read, and what is wrong with the others, in their order."""
    reading = _Reading(after or Sources())
    for name, text in texts:
        if name and not name.startswith("<"):
            reading.seen.add(Path(name).resolve())
        _read_file(reading, name, text)
    statements = _join_outcomes(reading.statements)
    program = ast.Program(statements, reading.sources, tuple(reading.warnings))
    return program, sorted(reading.errors, key=_order(reading.sources))


def load_text(path: str | Path) -> str:
    """The text of a file, or a :class:`ProgramError` that says why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"{path} is not text in UTF-8 (byte {error.start})"
        raise ProgramError(Diagnostic("encoding", message, help="save it as UTF-8")) from error
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"cannot read {path}: {reason}"
        problem = Diagnostic("file", message, help=_similar_file(Path(path)))
        raise ProgramError(problem) from error


def _similar_file(path: Path) -> str:
    try:
        return nearest(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""


def _order(sources: Sources) -> Callable[[Diagnostic], tuple[int, int, int]]:
    names = list(sources)

    def key(diagnostic: Diagnostic) -> tuple[int, int, int]:
        span = diagnostic.span
        return (names.index(span.file), span.line, span.column) if span else (-1, 0, 0)

    return key


def _read_file(reading: _Reading, name: str, text: str) -> None:
    reading.sources = reading.sources.add(name, text)
    file = reading.sources.files[-1]
    buffer = Buffer(text)
    split = lexer.split(text)
    drafts = _drafts(reading, file, split, buffer)
    nodes = _nodes(reading, file, split, buffer)
    for statement in _merge(reading, file, drafts, nodes):
        if isinstance(statement, _Include):
            _include(reading, file, statement)
        else:
            reading.statements.append(statement)


def _nodes(reading: _Reading, file: SourceFile, split: lexer.Split, buffer: Buffer) -> list[AST]:
    """What clingo reads; statements that it cannot read are reported and blanked out.

    Its parser is silent about errors soon after another one, hence the passes.
    """
    for _ in range(_PASSES):
        blanked = buffer.text()
        reading.sources = reading.sources.with_wide_lines(blanked, file.first_line)
        nodes, messages = parse_clingo(blanked, file.first_line)
        found = [syntax_error(message, reading.sources, file) for message in messages]
        reading.errors += _without_echoes([error for error, _ in found])
        blamed = {id(piece): piece for _, at in found if (piece := split.piece_at(at)) is not None}
        for piece in blamed.values():
            buffer.blank(piece.start, piece.end)
        if not blamed or buffer.text() == blanked:
            break
    return nodes


def _without_echoes(found: list[Diagnostic]) -> list[Diagnostic]:
    """Drop what repeats an error at the same place: one mistake is told once."""
    kept: dict[tuple[str, int, int], Diagnostic] = {}
    for diagnostic in found:
        if (span := diagnostic.span) is not None:
            kept.setdefault((span.file, span.line, span.column), diagnostic)
    return list(kept.values())


def _drafts(
    reading: _Reading, file: SourceFile, split: lexer.Split, buffer: Buffer
) -> list[Draft | tuple[int, _Include]]:
    """Read what is ours in every piece and blank it out."""
    for start, end in split.comments:
        buffer.blank(start, end)
    broken = _broken(reading, file, split, buffer)
    drafts: list[Draft | tuple[int, _Include]] = []
    for piece in split.pieces:
        if id(piece) in broken:
            continue
        try:
            draft = _draft(file, piece, buffer)
        except ProgramError as error:
            reading.errors += error.diagnostics
            buffer.blank(piece.start, piece.end)
            continue
        if draft is not None:
            drafts.append(draft)
    return drafts


def _broken(reading: _Reading, file: SourceFile, split: lexer.Split, buffer: Buffer) -> set[int]:
    """Report characters that nothing can hold, and blank out their statements."""
    broken: set[int] = set()
    for problem in dict.fromkeys(split.problems):
        message, help = _PROBLEMS[problem.code]
        span = file.span(problem.start, problem.end)
        reading.errors.append(Diagnostic(problem.code, message, span, help))
        for piece in split.pieces:
            if piece.start <= problem.start < piece.end:
                broken.add(id(piece))
                buffer.blank(piece.start, piece.end)
        buffer.blank(problem.start, problem.end)
    return broken


def _draft(
    file: SourceFile, piece: lexer.Piece, buffer: Buffer
) -> Draft | tuple[int, _Include] | None:
    """Read one statement if it is ours; None leaves it to clingo."""
    text = file.text[piece.start : piece.end]
    word = piece.directive
    if word in _READERS:
        return _READERS[word](file, piece, buffer)
    if word == "#max" and not text[len(word) :].lstrip().startswith("{"):
        return read_question(file, piece, buffer)
    if word == "#include":
        path, token = read_include(file, piece, buffer)
        return piece.start, _Include(path, file.span(token.start, token.end))
    if word in _REFUSED:
        span = file.span(piece.start, piece.start + len(word))
        help = "it chooses among models, which is not a probability; write constraints instead"
        raise ProgramError(Diagnostic("optimisation", f"{word} is refused", span, help))
    if word == "#const" and piece.decimals:
        return read_const(file, piece, buffer)
    if word and word not in lexer.DIRECTIVES and word not in _WORDS:
        span = file.span(piece.start, piece.start + len(word))
        known = [*lexer.DIRECTIVES, *_WORDS]
        help = nearest(word, known) or "see the list of directives in the language guide"
        raise ProgramError(Diagnostic("unknown-directive", f"unknown directive {word}", span, help))
    if piece.annotated:
        return (read_neural if is_neural(text) else read_annotated)(file, piece, buffer)
    if piece.data and not word:
        return read_data(file, piece, buffer)
    return None


def _merge(
    reading: _Reading,
    file: SourceFile,
    drafts: list[Draft | tuple[int, _Include]],
    nodes: list[AST],
) -> list[ast.Statement | _Include]:
    """Our drafts and clingo's nodes, in the order of the text."""
    sources, wide = reading.sources, reading.sources.wide
    by_draft: dict[int, list[AST]] = {}
    ranges = [(d.start, d.end, d) for d in drafts if isinstance(d, Draft)]
    placed: list[tuple[int, ast.Statement | _Include]] = []
    index = 0
    for node in nodes:
        location = node.location
        begin = location.begin
        place = sources.place(begin.line, begin.column) if wide else begin
        start = file.line_starts[begin.line - file.first_line] + place.column - 1
        while index < len(ranges) and ranges[index][1] <= start:
            index += 1
        if index < len(ranges) and ranges[index][0] <= start:
            by_draft.setdefault(index, []).append(node)
        else:
            placed.append((start, ast.Plain(node, sources.span_of(location))))
    for number, (start, _, draft) in enumerate(ranges):
        statement = _finish(reading, file, draft, by_draft.get(number, []))
        if statement is not None:
            placed.append((start, statement))
    placed += [draft for draft in drafts if not isinstance(draft, Draft)]
    placed.sort(key=lambda pair: pair[0])
    return [statement for _, statement in placed]


def _finish(
    reading: _Reading, file: SourceFile, draft: Draft, nodes: list[AST]
) -> ast.Statement | None:
    try:
        if len(nodes) > 1:
            where = reading.sources.span_of(nodes[1].location)
            message = "a second statement begins before this one ends"
            raise ProgramError(Diagnostic("syntax", message, where, "is a dot missing?"))
        statement = draft.finish(nodes[0] if nodes else None, reading.sources)
    except ProgramError as error:
        reading.errors += error.diagnostics
        return None
    if statement is None:
        span = file.span(draft.start, draft.end)
        if not any(error.span and _overlap(error.span, span) for error in reading.errors):
            reading.errors.append(Diagnostic("syntax", "this statement cannot be read", span))
    return statement


def _overlap(one: Span, other: Span) -> bool:
    return one.file == other.file and one.line <= other.end_line and other.line <= one.end_line


def _include(reading: _Reading, file: SourceFile, include: _Include) -> None:
    """Read an included file in its place: beside the including file, or from where we are."""
    beside = Path(file.name).parent / include.path
    path = beside if beside.exists() else Path(include.path)
    resolved = path.resolve()
    if resolved in reading.seen:
        message = f"{include.path} is read already and not included again"
        reading.warnings.append(
            Diagnostic("include-twice", message, include.span, severity="warning")
        )
        return
    reading.seen.add(resolved)
    try:
        text = load_text(path)
    except ProgramError as error:
        problem = error.diagnostics[0]
        reading.errors.append(Diagnostic(problem.code, problem.message, include.span, problem.help))
        return
    _read_file(reading, str(path), text)


def _join_outcomes(statements: list[ast.Statement]) -> tuple[ast.Statement, ...]:
    """Read ``f(x, a; 3)`` in questions as ``f(x, a, 3)`` for neural predicates with outcomes."""
    names = {s.name for s in statements if isinstance(s, ast.Neural) and s.outcomes}
    if not names:
        return tuple(statements)

    def atom(node: AST) -> AST:
        pool = node.symbol
        if pool.ast_type != ASTType.Pool or len(pool.arguments) != 2:
            return node
        first, second = pool.arguments
        if first.ast_type != ASTType.Function or first.name not in names:
            return node
        joined = [*first.arguments, *second.arguments]
        return node.update(symbol=first.update(arguments=joined))

    def literals(found: tuple[ast.Literal, ...]) -> tuple[ast.Literal, ...]:
        return tuple(ast.Literal(lit.mode, atom(lit.atom), lit.span) for lit in found)

    def joined(statement: ast.Statement) -> ast.Statement:
        match statement:
            case ast.Query(asked, given, guards, span):
                return ast.Query(literals(asked), literals(given), guards, span)
            case ast.Map(atoms, given, guards, span):
                return ast.Map(tuple(map(atom, atoms)), literals(given), guards, span)
            case ast.Evidence(asked, span):
                return ast.Evidence(literals(asked), span)
        return statement

    return tuple(map(joined, statements))
