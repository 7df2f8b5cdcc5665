"""From Prolog's text to its clauses, with the comments between and inside them.

>>> [item.term for item in read_clauses("a :- b.", "p.pl") if isinstance(item, Clause)]
[Compound(name=':-', args=(Compound(name='a', args=()), Compound(name='b', args=())))]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.dataclass import dataclass
from dpasp.dialects.prolog.terms import (
    Compound,
    ListTerm,
    Number,
    Slice,
    Term,
    Text,
    Variable,
)
from dpasp.dialects.prolog.tokens import INFIX, PREFIX_OPERATORS, Token, tokens, unquoted
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text.source import SourceFile

DEEPEST = 150  # terms inside terms, so that Python's own stack is never the limit
AGGREGATES = ("sum", "count", "min", "max", "avg")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause or a directive."""

    term: Term
    at: Slice


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, with its marks."""

    text: str
    at: Slice


def read_clauses(text: str, file: str) -> list[Clause | Comment]:
    """The clauses and comments of a text in their order; raises all that cannot be read."""
    source = SourceFile(file, text)
    items: list[Clause | Comment] = []
    problems: list[Diagnostic] = []
    for words in _statements(text):
        comments = [Comment(w.text, (w.start, w.end)) for w in words if w.kind == "comment"]
        words = [w for w in words if w.kind != "comment"]
        items += comments
        try:
            if words:
                items.append(_Parser(words, source).clause())
        except ProgramError as error:
            problems += error.diagnostics
    if problems:
        raise ProgramError(problems)
    return sorted(items, key=lambda item: item.at)


def _statements(text: str) -> Iterator[list[Token]]:
    """The words of each clause, up to its dot."""
    words: list[Token] = []
    for token in tokens(text):
        words.append(token)
        if token.kind == "end" or (token.kind == "comment" and len(words) == 1):
            yield words
            words = []
    if words:
        yield words


class _Parser:
    """The clause that some words say, by the priorities of operators."""

    def __init__(self, words: Sequence[Token], source: SourceFile) -> None:
        self.words = words
        self.source = source
        self.next = 0
        self.depth = 0

    def clause(self) -> Clause:
        term = self.term(1200)
        last = self.words[-1]
        if self.peek() is None:
            raise self.refuse("this clause is never ended", "end it with a dot")
        if self.peek() is not last:
            raise self.refuse("this cannot be read here", "is an operator or a dot missing?")
        return Clause(term, (self.words[0].start, last.end))

    def term(self, most: int) -> Term:
        """A term whose operator binds at least as tightly as ``most``."""
        self.depth += 1
        self.check_depth(self.depth)
        left, level = self.operand(most)
        links = 0  # each operator nests what is to its left: 1+1+1 is (1+1)+1
        while (word := self.peek()) is not None and (name := self.operator(word)) is not None:
            priority, kind = INFIX[name]
            if priority > most or level > priority - (kind[0] == "x"):
                break
            links += 1
            self.check_depth(self.depth + links)
            self.next += 1
            right = self.term(priority - (kind[2] == "x"))
            name = {"|": ";", "<-": ":-"}.get(name, name)
            left, level = Compound(name, (left, right), (left.at[0], right.at[1])), priority
        self.depth -= 1
        return left

    def check_depth(self, depth: int) -> None:
        if depth > DEEPEST:
            raise self.refuse("terms are nested too deeply", "split the clause")

    def operator(self, word: Token) -> str | None:
        return word.text if word.kind in ("sign", "name") and word.text in INFIX else None

    def operand(self, most: int) -> tuple[Term, int]:
        """A term without infix operators around it, and how loosely it binds."""
        word = self.take()
        at = (word.start, word.end)
        match word.kind:
            case "number":
                return Number(word.text, at), 0
            case "variable":
                return Variable(word.text, at), 0
            case "text":
                return Text(unquoted(word.text), at), 0
        if word.text == "(":
            inner = self.term(1200)
            self.expect(")")
            return inner, 0
        if word.text == "[" and word.kind == "sign":
            return self.list(word), 0
        name = word.name
        if name is None or name in ("]", "{", "}", ")", ",", "|"):
            self.next -= 1
            raise self.refuse(f"'{word.text}' cannot be read here", "")
        if word.open:
            self.next += 1
            args, end = self.arguments(")")
            return Compound(name, args, (word.start, end)), 0
        if (prefix := self.prefix(word, name, most)) is not None:
            return prefix
        return Compound(name, (), at), 0

    def prefix(self, word: Token, name: str, most: int) -> tuple[Term, int] | None:
        """A term that begins with a prefix operator; None where the word is a plain name."""
        following = self.peek()
        if word.kind == "quoted" or name not in PREFIX_OPERATORS or following is None:
            return None
        if name == "-" and following.kind == "number" and following.start == word.end:
            self.next += 1
            return Number(f"-{following.text}", (word.start, following.end)), 0
        if following.kind == "end" or following.text in (")", "]", ","):
            return None
        if (
            self.operator(following)
            and following.text not in PREFIX_OPERATORS
            and not following.open
        ):
            return None
        priority, kind = PREFIX_OPERATORS[name]
        level = min(priority, most) if priority <= most else 999
        inner = self.term(level - (kind == "fx"))
        return Compound(name, (inner,), (word.start, inner.at[1])), level

    def arguments(self, close: str) -> tuple[tuple[Term, ...], int]:
        """Terms between commas, up to a closing sign."""
        items = [self.argument()]
        while (word := self.take()).text == ",":
            items.append(self.argument())
        if word.text != close:
            self.next -= 1
            raise self.refuse(f"'{close}' is missing before this", "")
        return tuple(items), word.end

    def argument(self) -> Term:
        """An argument; ``sum<X>`` of ProbLog's library(aggregate) is one as well."""
        four = self.words[self.next : self.next + 4]
        texts = [word.text for word in four]
        aggregate = len(four) == 4 and texts[0] in AGGREGATES and (texts[1], texts[3]) == ("<", ">")
        after = self.words[self.next + 4] if len(self.words) > self.next + 4 else None
        if aggregate and four[2].kind == "variable" and after and after.text in (")", ","):
            self.next += 4
            inner = Variable(texts[2], (four[2].start, four[2].end))
            return Compound(f"{texts[0]}<>", (inner,), (four[0].start, four[3].end))
        return self.term(999)

    def list(self, word: Token) -> Term:
        if (following := self.peek()) is not None and following.text == "]":
            self.next += 1
            return ListTerm((), None, (word.start, following.end))
        items = [self.term(999)]
        while (last := self.take()).text == ",":
            items.append(self.term(999))
        tail = None
        if last.text == "|":
            tail = self.term(999)
            last = self.take()
        if last.text != "]":
            self.next -= 1
            raise self.refuse("']' is missing before this", "")
        return ListTerm(tuple(items), tail, (word.start, last.end))

    # --- words -------------------------------------------------------------------------------

    def peek(self) -> Token | None:
        return self.words[self.next] if self.next < len(self.words) else None

    def take(self) -> Token:
        word = self.peek()
        if word is None or word.kind == "end":
            raise self.refuse("the clause ends too early", "something is missing before this")
        self.next += 1
        return word

    def expect(self, text: str) -> None:
        if self.take().text != text:
            self.next -= 1
            raise self.refuse(f"'{text}' is missing before this", "")

    def refuse(self, message: str, help: str) -> ProgramError:
        word = self.peek() or self.words[-1]
        span = self.source.span(word.start, word.end)
        return ProgramError(Diagnostic("foreign-syntax", message, span, help))
