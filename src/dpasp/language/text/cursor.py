"""Walking over the tokens of one of our own statements, with errors that point at them.

>>> cursor = Cursor(SourceFile("", "lr = 1"), 0, 6)
>>> cursor.next().text, cursor.accept("=") is not None, cursor.peek().text
('lr', True, '1')
"""

from __future__ import annotations

from typing import NoReturn

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.brackets import CLOSING, OPENING
from dpasp.language.text.lexer import Token, tokens
from dpasp.language.text.source import SourceFile


class Cursor:
    """A position among the tokens of a slice of a file."""

    def __init__(
        self, file: SourceFile, start: int, end: int, among: list[Token] | None = None
    ) -> None:
        self.file = file
        self.tokens = list(tokens(file.text, start, end)) if among is None else among
        self.start, self.end = start, end
        self.index = 0

    def at_end(self) -> bool:
        """Whether every token was taken."""
        return self.index >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token:
        """The next token; past the last one, an empty one at the end of the slice."""
        index = self.index + ahead
        if 0 <= index < len(self.tokens):
            return self.tokens[index]
        at = self.tokens[-1].end if self.tokens else self.start
        return Token("end", "", at, at)

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.index += 1
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these."""
        return self.next() if self.peek().text in texts else None

    def expect(self, text: str, code: str, help: str) -> Token:
        """Take the next token, which must be this one."""
        token = self.accept(text)
        if token is None:
            there = self.peek()
            self.fail(code, f"expected '{text}' {self.before(there)}", there, help)
        return token

    @staticmethod
    def before(token: Token) -> str:
        """How a message names the place of a token that should not be there."""
        return f"before '{token.text}'" if token.text else "at the end of the statement"

    def skip_group(self) -> Token:
        """Take a token, or a whole bracket if it opens one; give back the last one taken."""
        token = self.next()
        depth = 1 if token.text in OPENING else 0
        while depth:
            if self.at_end():
                message = f"'{token.text}' is never closed"
                self.fail("unbalanced", message, token, "close the bracket")
            last = self.next()
            depth += (last.text in OPENING) - (last.text in CLOSING)
            if not depth:
                return last
        return token

    def fail(
        self, code: str, message: str, where: Token | tuple[int, int], help: str = ""
    ) -> NoReturn:
        """Refuse the statement, pointing at a token or a slice."""
        start, end = (where.start, where.end) if isinstance(where, Token) else where
        raise Refused(Diagnostic(code, message, self.file.span(start, end), help), start)

    def refuse(self, code: str, message: str, where: tuple[int, int], help: str) -> NoReturn:
        """Refuse the statement for a reason that is certain, whatever else is wrong with it."""
        raise Refused(Diagnostic(code, message, self.file.span(*where), help), None)


class Refused(ProgramError):
    """A statement that cannot be read, with the offset at which that was found.

    Without an offset, what was found is certain; otherwise it may follow from something else.
    """

    def __init__(self, problem: Diagnostic, offset: int | None) -> None:
        super().__init__(problem)
        self.offset = offset
