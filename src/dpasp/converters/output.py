r"""The converted program: laid out like the original, then checked.

>>> text = "a :- b.  % why\n\nc."
>>> pieces = [NewPiece((0, 7), "a :- b."), comment((9, 14), "% why"), NewPiece((16, 18), "c.")]
>>> laid_out(text, pieces).text
'a :- b.  % why\n\nc.\n'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.ground import check_without_grounding
from dpasp.ground.checking import program_of_texts
from dpasp.language.text import SourceFile


@dataclass(frozen=True, slots=True)
class NewPiece:
    """A piece of the new text, and the slice of the original it replaces."""

    at: tuple[int, int]
    text: str
    is_comment: bool = False


def comment(at: tuple[int, int], text: str) -> NewPiece:
    """A Prolog comment as lines that begin with ``%``."""
    if text.startswith("/*"):
        lines = [line.strip() for line in text[2:-2].strip().splitlines()]
        indent = ["  " if i else "" for i in range(len(lines))]
        text = "\n".join(f"% {i}{line}".rstrip() for i, line in zip(indent, lines, strict=True))
    elif text.startswith("#!"):
        text = f"% {text}"
    if text.startswith("%*"):  # which would begin a block
        text = f"% {text[1:]}"
    return NewPiece(at, text or "%", is_comment=True)


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A text, and the slice of the original behind each of its lines."""

    text: str
    origins: tuple[tuple[int, int], ...]


def laid_out(text: str, pieces: Iterable[NewPiece]) -> LaidOut:
    """Join the pieces with the line breaks of the original.

    A comment inside a statement moves in front of it. Statements that shared a line still do
    if they fit.
    """
    lines: list[str] = []
    origins: list[tuple[int, int]] = []
    end = 0
    for piece in _outside_first(list(pieces)):
        breaks = text[end : piece.at[0]].count("\n") if piece.at[0] >= end else 1
        if lines and breaks == 0 and not _must_break(lines[-1], piece):
            lines[-1] += ("  " if piece.is_comment else " ") + piece.text
        else:
            if lines and breaks > 1:
                lines.append("")
            lines += piece.text.split("\n")
        end = max(end, piece.at[1])
        origins += [piece.at] * (len(lines) - len(origins))
    return LaidOut("".join(f"{line}\n" for line in lines), tuple(origins))


def _outside_first(pieces: list[NewPiece]) -> list[NewPiece]:
    """The pieces in order, with comments inside a statement moved in front of it."""
    statements = [p for p in pieces if not p.is_comment]

    def place(piece: NewPiece) -> tuple[int, int, int]:
        if piece.is_comment:
            for other in statements:
                if other.at[0] < piece.at[0] < other.at[1]:
                    return (other.at[0], 0, piece.at[0])
        return (piece.at[0], 1, 0)

    moved = []
    for piece in sorted(pieces, key=place):
        start = place(piece)[0]
        inside = piece.is_comment and start != piece.at[0]
        moved.append(NewPiece((start, start), piece.text, True) if inside else piece)
    return moved


def _must_break(line: str, piece: NewPiece) -> bool:
    """Whether a piece cannot continue the current line."""
    if "\n" in piece.text or len(line) + len(piece.text) > 94:
        return True
    return not piece.is_comment and "%" in line


# --- the check ----------------------------------------------------------------------------------


def checked_text(
    head: str,
    body: LaidOut,
    foot: str,
    source: SourceFile,
    allowed: frozenset[str] = frozenset(),
) -> str:
    """The whole program, read once more so that we never write one that we would refuse.

    Errors are reported at their place in the original; those with ``allowed`` codes are left for
    the run of the program.
    """
    text = f"{head}{body.text}{foot}"
    try:
        check_without_grounding(program_of_texts([(source.name, text)]))
    except ProgramError as error:
        first = head.count("\n") + 1
        problems = [d for d in error.diagnostics if d.code not in {*allowed, "file-not-allowed"}]
        if problems:
            moved = dict.fromkeys(_moved(d, first, body, source) for d in problems)
            raise ProgramError(moved) from error
    return text


def _moved(problem: Diagnostic, first: int, body: LaidOut, source: SourceFile) -> Diagnostic:
    line = problem.span.line - first if problem.span is not None else -1
    if not 0 <= line < len(body.origins):
        return replace(problem, span=None)
    return replace(problem, span=source.span(*body.origins[line]))
