"""One text as an editor sees it: its statements, its predicates, and what is wrong with it.

>>> found = analyse("0.3::a.\\nb :- a.\\n#query c.\\n", "p.plp")
>>> [problem.code for problem in found.problems], str(found.predicate_at(5))
(['unknown-atom'], 'a/0')
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from dpasp.dataclass import dataclass
from dpasp.editors.predicates import Occurrence, Predicate, occurrences
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.ground import check_without_grounding
from dpasp.ground.checking import read_with_problems
from dpasp.language.ast import Program
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.lexer import Token, tokens
from dpasp.language.text.pieces import Piece, Split, cut_statements
from dpasp.language.text.source import SourceFile


@dataclass(frozen=True)
class Analysis:
    """A text and what is known about it; nothing of it has been grounded or run."""

    file: SourceFile
    program: Program  # the statements that can be read
    problems: tuple[Diagnostic, ...]
    unread: bool = False  # some statements cannot be read

    @property
    def text(self) -> str:
        """The text itself."""
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

    def predicate_at(self, offset: int) -> Predicate | None:
        """The predicate whose name stands at an offset."""
        place = self.occurrence_at(offset)
        return place.predicate if place else None

    def of(self, predicate: Predicate) -> Iterator[Occurrence]:
        """Where a predicate is named."""
        return (place for place in self.occurrences if place.predicate == predicate)


def analyse(text: str, file: str) -> Analysis:
    """What can be said about a text without running it; never an error."""
    program, errors = read_with_problems([(file, text)])
    problems = tuple(errors) if errors else _checked(program)
    return Analysis(SourceFile(file, text), program, problems, bool(errors))


def problems(text: str, file: str) -> tuple[Diagnostic, ...]:
    """What ``dpasp check`` says about a text: its errors, or else its warnings."""
    return analyse(text, file).problems


def _checked(program: Program) -> tuple[Diagnostic, ...]:
    try:
        return (*program.warnings, *check_without_grounding(program))
    except ProgramError as error:
        return error.diagnostics
