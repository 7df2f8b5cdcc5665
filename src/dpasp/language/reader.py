"""Text to program: each piece is read by its class or by clingo; then the program is checked.

Errors are collected statement by statement, so that one run reports all of them. Nothing is
grounded or run.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, nearest
from dpasp.language.mistakes import (
    REFUSED,
    describe,
    doubts,
    foreign,
    is_left,
    names_a_predicate,
    refusal,
    semicolons,
    unused_main,
)
from dpasp.language.statements.annotated import read_row
from dpasp.language.statements.constants import check_constants, numeric_constants
from dpasp.language.statements.plain import Include, Plain
from dpasp.language.statements.python import check_calls
from dpasp.language.statements.questions import join_outcomes
from dpasp.language.statements.semantics import effective_semantics, parse_semantics
from dpasp.language.statements.statement import (
    Draft,
    Kind,
    Program,
    SemanticsPair,
    Setting,
    Statement,
    kinds,
    recognised,
    starting_words,
)
from dpasp.language.text import Buffer, Cursor, Piece, Reading, SourceFile, Sources
from dpasp.language.text.clingo_text import RowTexts, Stuck, parse_clingo, too_deep, unpooled, walk
from dpasp.language.text.lexer import (
    INLINE,
    RESERVED,
    Mark,
    Refused,
    Split,
    cut_statements,
    tokens,
    unbalanced,
)
from dpasp.language.text.source import Reach, find_included, load_text
from dpasp.language.tuning import TUNING

_BASE = re.compile(r"#program\s+base\s*\.")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while many lasting objects are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def check(
    program: Program,
    semantics: str | None = None,
    constants: Mapping[str, str] | None = None,
    *,
    numbers: bool = True,
) -> None:
    """Raise a :class:`ProgramError` with everything that is wrong with a program.

    Without ``numbers``, probabilities are skipped: they were checked before.
    """
    problems: list[Diagnostic] = []
    meaning, values = SemanticsPair(), None
    try:
        meaning = effective_semantics(program, semantics)
        values = numeric_constants(program, constants) if numbers else None
    except ProgramError as error:
        problems += error.diagnostics
    problems += check_constants(program, constants or {})
    by_kind: dict[type[Statement], list[Statement]] = {}
    for statement in program.statements:
        by_kind.setdefault(type(statement), []).append(statement)
    setting = Setting(program, meaning, values)
    for kind in kinds():
        if statements := by_kind.get(kind, []):
            problems += _repeated(kind, statements)
            problems += kind.check(statements, setting)
    if program.may_run_python:
        problems += check_calls(program)
    if problems:
        raise ProgramError(program.sources.in_order(problems))


def _repeated(kind: Kind, statements: Sequence[Statement]) -> Iterator[Diagnostic]:
    """Directives that may occur only once but occur again."""
    for statement in statements[1:] if kind.once else ():
        first = statements[0].span
        where = f"the first is in line {first.line} of {first.file}"
        message = f"a second {kind.words[0]}; {where}"
        code = f"{kind.words[0].removeprefix('#')}-twice"
        yield Diagnostic(code, message, statement.span, "keep one of them")


__all__ = ["SemanticsPair", "check", "effective_semantics", "parse_semantics"]


@dataclass
class _SoFar:
    """The state of reading."""

    sources: Sources = field(default_factory=Sources)
    statements: list[Statement] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)


def read_texts(
    texts: list[tuple[str, str]],
    after: Sources | None = None,
    reaches: Mapping[str, Reach] | None = None,
) -> Program:
    """Read named texts as one program; raise a :class:`ProgramError` with all mistakes."""
    program, errors = read_readable(texts, after, reaches)
    if errors:
        raise ProgramError(errors)
    return program


def read_readable(
    texts: list[tuple[str, str]],
    after: Sources | None = None,
    reaches: Mapping[str, Reach] | None = None,
) -> tuple[Program, list[Diagnostic]]:
    """The statements that can be read, and the errors in the others.

    ``reaches`` limits which files some texts may read; other texts may read any.
    """
    reading = _SoFar((after or Sources()).reaching(reaches or {}))
    with collector_paused():
        for name, text in texts:
            if name and not name.startswith("<"):
                if Path(name).resolve() in reading.seen:
                    message, help = f"{name} is named twice, but read only once", "name it once"
                    warning = Diagnostic("file-twice", message, help=help, severity="warning")
                    reading.warnings.append(warning)
                    continue
                reading.seen.add(Path(name).resolve())
            _read_file(reading, name, text)
    statements = join_outcomes(reading.statements)
    warnings = tuple(
        warning
        for warning in reading.warnings
        if not names_a_predicate(warning, statements, reading.sources)
    )
    program = Program(statements, reading.sources, warnings)
    return program, reading.sources.in_order(reading.errors)


def _read_file(reading: _SoFar, name: str, text: str, depth: int = 0, secret: bool = False) -> None:
    reading.sources = reading.sources.add(name, text, secret)
    reader = _FileReader(reading.sources.files[-1])
    reader.draft()
    nodes = reader.parse()
    reading.sources = reading.sources.with_wide_lines(reader.buffer.text(), reader.file.first_line)
    for statement in reader.merge(nodes, reading.sources):
        if isinstance(statement, Include):
            _include(reading, reader.file, statement, depth + 1)
        else:
            reading.statements.append(statement)
    reading.errors += reader.errors()
    reading.warnings += reader.warnings


class _FileReader:
    """One file: its pieces, their drafts and errors, and the text for clingo."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.split: Split = cut_statements(file.text, starting_words())
        self.buffer = Buffer(file.text)
        self.drafts: dict[int, Draft] = {}  # by index of the piece
        self.whole: dict[int, Statement] = {}  # rows and facts, by index of the piece
        self.failed: dict[int, list[Diagnostic]] = {}  # by index of the piece; -1 without a piece
        self.warnings: list[Diagnostic] = []
        self.reserved = RESERVED in file.text
        self.rows = RowTexts(file)

    def draft(self) -> None:
        """Read what is ours in every piece and blank it out."""
        for start, end in self.split.comments:
            self.buffer.blank(start, end)
        self._problems()
        for index, piece in enumerate(self.split.pieces):
            if index in self.failed:
                continue
            if piece.row is not None and not self.reserved:
                self._row(index, piece, piece.row)
                continue
            try:
                draft = self._draft(piece)
                if piece.marks:
                    self._check_marks(piece)
                if self.reserved:
                    self._check_names(piece)
                if piece.end - piece.start > 200 and not (draft is not None and draft.whole):
                    self._check_depth(piece)
            except Refused as error:
                self._refuse(index, piece, error)
                continue
            if draft is not None:
                self.drafts[index] = draft

    def _row(self, index: int, piece: Piece, match: re.Match[str]) -> None:
        self.buffer.blank_in_line(piece.start, piece.end)
        place, fact = self.rows.add(piece.start, piece.end), match["fact"]
        if fact is None:
            self.whole[index] = read_row(match, place)
        else:
            self.whole[index] = Plain.of_row(place, {"fact": fact})

    def _refuse(self, index: int, piece: Piece, error: Refused) -> None:
        """Report a piece; wrong brackets or dots explain more than the place of the error."""
        from dpasp.language.diagnose import diagnose  # rarely needed

        at = error.offset
        better = None if at is None else diagnose(self.file, piece, at, shape_only=True)
        self._fail(index, better or error.diagnostics[0])

    def _fail(self, index: int, *problems: Diagnostic) -> None:
        """Report a piece and leave it out."""
        self.failed.setdefault(index, []).extend(problems)
        if index >= 0:
            piece = self.split.pieces[index]
            self.buffer.blank(piece.start, piece.end + (not piece.dotted))

    def _problems(self) -> None:
        """Report characters, strings and comments that cannot be read anywhere."""
        done = 0
        for mark in dict.fromkeys(self.split.problems):
            if mark.start < done:
                continue  # part of a word that was reported
            index = self.split.index_at(mark.start)
            problem = describe(self.file, mark)
            # A repeated mistake in a statement is reported once.
            assert problem.span is not None
            done = self.file.slice(problem.span)[1]
            if index < 0 or all(p.help != problem.help for p in self.failed.get(index, ())):
                self._fail(index, problem)

    def _draft(self, piece: Piece) -> Draft | None:
        """Read one statement of dPASP's; None leaves it to clingo."""
        word, file = piece.directive, self.file
        if not piece.dotted and word not in starting_words().open_ended:
            from dpasp.language.diagnose import missing_end

            raise Refused(missing_end(file, piece), piece.end)
        if not word and (problem := foreign(file, piece, self.buffer)) is not None:
            raise Refused(problem, None)
        kind = recognised(file, piece)
        if kind is not None:
            made = kind.read(Reading(file, piece, self.buffer))
            if isinstance(made, Draft):
                return made
            self.buffer.blank(piece.start, piece.end)
            return Draft(lambda nodes, sources: made, whole=True)
        if word in REFUSED and not _BASE.match(self.buffer.text(piece.start, piece.end)):
            raise refusal(file, piece, word)
        if word and (word == "#end" or word not in starting_words().begin | INLINE):
            self._unknown(piece, word)
        return None

    def _unknown(self, piece: Piece, word: str) -> None:
        message = f"unknown directive {word}"
        known = starting_words().begin
        help = nearest(word.lower(), known) or f"known are {', '.join(sorted(known))}"
        if word == "#end":
            message, help = "'#end' closes nothing", "begin the block with #python, or remove it"
        where = (piece.start, piece.start + len(word))
        raise Refused(self.file.problem("unknown-directive", message, where, help), piece.start)

    def _check_marks(self, piece: Piece) -> None:
        """Refuse numbers and signs left in the text that clingo does not know."""
        for mark in piece.marks:
            if is_left(mark, self.buffer.text(mark.start, mark.end)):
                from dpasp.language.diagnose import diagnose

                problem = diagnose(self.file, piece, mark.start)
                raise Refused(problem or describe(self.file, mark), mark.start)

    def _check_names(self, piece: Piece) -> None:
        if piece.directive in ("#python", "#script"):
            return
        for token in tokens(self.file.text, piece.start, piece.end):
            if token.kind != "string" and token.text.startswith((RESERVED, f"@{RESERVED}")):
                mark = Mark("reserved-name", token.start, token.end)
                raise Refused(describe(self.file, mark), None)

    def _check_depth(self, piece: Piece) -> None:
        at = too_deep(self.buffer.text(piece.start, piece.end))
        if at is not None:
            at += piece.start
            message = "this term is nested too deeply"
            help = "split the statement into several, with names for the parts"
            raise Refused(self.file.problem("too-deep", message, (at, at + 1), help), at)

    def parse(self) -> list[AST]:
        """clingo's nodes; statements that it cannot read are reported and left out."""
        nodes, stuck = parse_clingo(self.buffer.text(), self.file.first_line)
        if stuck is None:
            return nodes
        from dpasp.language.diagnose import unexpected

        located = False
        for index, piece in enumerate(self.split.pieces):
            text = self.buffer.text(piece.start, piece.end + (not piece.dotted))
            _, inside = parse_clingo(text)  # one by one, so that no mistake hides another
            if inside is not None:
                self._stuck(index, piece, inside)
                located = True
        if not located:
            self._fail(-1, unexpected(self.file, *stuck))
            return []
        nodes, stuck = parse_clingo(self.buffer.text(), self.file.first_line)
        return nodes

    def _stuck(self, index: int, piece: Piece, inside: Stuck) -> None:
        from dpasp.language.diagnose import diagnose, unexpected

        start, end = (min(piece.start + at, piece.end) for at in inside[:2])
        problem = diagnose(self.file, piece, start)
        self._fail(index, problem or unexpected(self.file, start, end, inside.words))

    def merge(self, nodes: list[AST], sources: Sources) -> list[Statement]:
        """Combine our drafts and clingo's nodes in text order."""
        by_piece = self._by_piece(nodes, sources)
        merged: list[Statement] = []
        for index, piece in enumerate(self.split.pieces):
            if (row := self.whole.get(index)) is not None:
                merged.append(row)
                continue
            if index in self.failed:
                continue
            draft, own_nodes = self.drafts.get(index), by_piece.get(index, [])
            self._check_theory(index, piece, own_nodes, sources)
            self._check_pools(index, piece, own_nodes)
            if index in self.failed:
                continue
            if draft is None:
                self.warnings += doubts(self.file, piece, self.buffer)
                span = self.file.span(piece.start, piece.end)
                merged += [Plain(node, span) for node in own_nodes]
            elif (statement := self._finish(index, draft, own_nodes, sources)) is not None:
                merged.append(statement)
                self.warnings += semicolons(self.file, piece) if piece.annotated else ()
                self.warnings += unused_main(statement)
        return merged

    def _check_pools(self, index: int, piece: Piece, nodes: list[AST]) -> None:
        """Report pools that stand for too many statements."""
        most = TUNING.pool_statements
        if self.file.text.count(";", piece.start, piece.end) < most.bit_length() - 1:
            return
        if any(unpooled(node, most) > most for node in nodes):
            message = f"the pools (;) of this statement stand for more than {most:,} statements"
            help = "write variables in their place, and a predicate with the values of each"
            self._fail(index, self.file.problem("many-pools", message, piece, help))

    def _check_theory(self, index: int, piece: Piece, nodes: list[AST], sources: Sources) -> None:
        if "&" not in self.file.text[piece.start : piece.end]:
            return
        for node in nodes:
            for part in walk(node):
                if part.ast_type == ASTType.TheoryAtom:
                    where = sources.span_of(part.location)
                    message = "theory atoms (&…) are refused: there is no solver for them"
                    help = "write plain rules and constraints"
                    self._fail(index, Diagnostic("theory", message, where, help))

    def _by_piece(self, nodes: list[AST], sources: Sources) -> dict[int, list[AST]]:
        """The nodes of each piece: usually one each, otherwise matched by position."""
        whole = {index for index, draft in self.drafts.items() if draft.whole}
        done = self.whole.keys() | whole | self.failed.keys()
        shared = [index for index in range(len(self.split.pieces)) if index not in done]
        if len(shared) == len(nodes):  # one node each
            return {index: [node] for index, node in zip(shared, nodes, strict=True)}
        by_piece: dict[int, list[AST]] = {}
        index, pieces = 0, self.split.pieces
        for node in nodes:
            begin = node.location.begin
            start = self.file.offset(sources.place(begin.line, begin.column))
            while pieces[index].end <= start:
                index += 1
            by_piece.setdefault(index, []).append(node)
        return by_piece

    def _finish(
        self, index: int, draft: Draft, nodes: list[AST], sources: Sources
    ) -> Statement | None:
        try:
            statement = draft.finish(nodes, sources) if nodes or draft.whole else None
        except ProgramError as error:
            self.failed[index] = list(error.diagnostics)
            return None
        if statement is None:  # pragma: no cover - clingo reads all that it is given here
            piece = self.split.pieces[index]
            help = "compare it with the examples in the language guide"
            problem = self.file.problem("syntax", "this cannot be read", piece, help)
            self.failed[index] = [problem]
        return statement

    def errors(self) -> list[Diagnostic]:
        """All errors of the file, each mistake once."""
        problems: list[Diagnostic] = []
        for index, diagnostics in self.failed.items():
            # A dot inside brackets cuts a statement in two wrong halves; report the first.
            closing = diagnostics[0].message.endswith("closes nothing")
            echo = closing and index > 0 and index - 1 in self.failed
            if not (echo and self._is_open(self.split.pieces[index - 1])):
                problems += diagnostics
        return problems

    def _is_open(self, piece: Piece) -> bool:
        problem = unbalanced(Cursor(self.file, piece.start, piece.end))
        return problem is not None and problem.message.endswith("never closed")


# --- other files --------------------------------------------------------------------------------


def _include(reading: _SoFar, file: SourceFile, include: Include, depth: int) -> None:
    """Read an included file in place of its ``#include``."""
    if depth > TUNING.include_depth:
        message = f"files are included in one another more than {TUNING.include_depth} deep"
        help = "include the rest from the first file, one after the other"
        reading.errors.append(Diagnostic("include-depth", message, include.span, help))
        return
    reach = reading.sources.reach(file.name)
    try:
        path = find_included(include.path, file.name, reach)
        if path.resolve() in reading.seen:
            message = f"{include.path} was read already and is not included again"
            help = "remove one of the two"
            warning = Diagnostic("include-twice", message, include.span, help, severity="warning")
            reading.warnings.append(warning)
            return
        reading.seen.add(path.resolve())
        text = load_text(path)
    except ProgramError as error:
        problem = error.diagnostics[0]
        reading.errors.append(Diagnostic(problem.code, problem.message, include.span, problem.help))
        return
    if reach.anywhere:
        _read_file(reading, str(path), text, depth)
    else:
        _read_unquoted(reading, path, text, include, depth)


def _read_unquoted(reading: _SoFar, path: Path, text: str, include: Include, depth: int) -> None:
    """Read a file for an untrusted text: no message may quote the file."""
    errors, warnings = len(reading.errors), len(reading.warnings)
    reading.sources = reading.sources.reaching(
        {str(path): reading.sources.reach(include.span.file)}
    )
    _read_file(reading, str(path), text, depth, secret=True)
    del reading.warnings[warnings:]
    if reading.errors[errors:]:
        message = f"{include.path} cannot be read as a program"
        help = "run `dpasp check` on the file to see why"
        reading.errors[errors:] = [Diagnostic("file", message, include.span, help)]
