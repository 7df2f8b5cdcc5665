"""Prolog's syntax as ProbLog and DeepProbLog write it: tokens, terms, clauses.

>>> [item.term for item in read_clauses("a :- b.", "p.pl") if isinstance(item, Clause)]
[Compound(name=':-', args=(Compound(name='a', args=()), Compound(name='b', args=())))]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, overload

from dpasp.converters import TUNING
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text import SourceFile

TokenKind = Literal[
    "comment", "end", "variable", "name", "quoted", "text", "number", "sign", "unknown"
]

# Operators: priority (1200 binds least), and on which side they may be nested.
INFIX: dict[str, tuple[int, str]] = {
    **dict.fromkeys((":-", "<-", "-->"), (1200, "xfx")),
    **dict.fromkeys((";", "|"), (1100, "xfy")),
    "->": (1050, "xfy"),
    ",": (1000, "xfy"),
    **dict.fromkeys(("::", "~"), (1000, "xfx")),
    **dict.fromkeys(
        "= \\= == \\== =@= \\=@= is as =.. < > =< >= =:= =\\= @< @> @=< @>= => <= != <>".split(),
        (700, "xfx"),
    ),
    ":": (600, "xfy"),
    **dict.fromkeys(("+", "-", "/\\", "\\/", "xor"), (500, "yfx")),
    **dict.fromkeys(("*", "/", "//", "mod", "rem", "div", "rdiv", "<<", ">>"), (400, "yfx")),
    "**": (200, "xfx"),
    "^": (200, "xfy"),
}
PREFIX_OPERATORS: dict[str, tuple[int, str]] = {
    **dict.fromkeys((":-", "?-"), (1200, "fx")),
    **dict.fromkeys(("table", "dynamic", "discontiguous", "initialization"), (1150, "fx")),
    **dict.fromkeys(("\\+", "not"), (900, "fy")),
    **dict.fromkeys(("-", "+", "\\"), (200, "fy")),
}

_SIGNS = sorted(
    (sign for sign in {*INFIX, *PREFIX_OPERATORS, *"()[]{}!?.#@$&"} if not sign.isalpha()),
    key=len,
    reverse=True,
)
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<comment>%[^\n]*|/\*.*?\*/|\A\#![^\n]*)",
            r"(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w))",
            r"(?P<variable>(?:_|[^\W\d_a-z])\w*)",
            r"(?P<name>[^\W\d_]\w*)",
            r"(?P<quoted>'(?:[^'\\]++|\\.|'')*+')",
            r'(?P<text>"(?:[^"\\]++|\\.|"")*+")',
            r"(?P<end>\.(?=\s|%|\Z))",
            f"(?P<sign>{'|'.join(map(re.escape, _SIGNS))})",
            r"(?P<space>\s+)",
            r"(?P<unknown>.)",
        )
    ),
    re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its slice; ``open`` if a parenthesis follows immediately."""

    kind: TokenKind
    text: str
    start: int
    end: int
    open: bool = False

    @property
    def name(self) -> str | None:
        """Its name if it is a name or an operator, otherwise None."""
        if self.kind == "quoted":
            return unquoted(self.text)
        return self.text if self.kind in ("name", "sign") else None


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, including comments."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "variable" and match[0][0].isalpha() and not match[0][0].isupper():
            kind = "name"  # a lower-case letter of another alphabet
        if kind != "space":
            opens = text[match.end() : match.end() + 1] == "("
            yield Token(kind, match[0], match.start(), match.end(), opens)  # type: ignore[arg-type]


def unquoted(text: str) -> str:
    """The content of a quoted token, with escapes resolved."""
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    known = {"n": "\n", "t": "\t", "\n": ""}
    return re.sub(r"\\(.)", lambda m: known.get(m[1], m[1]), inner, flags=re.S)


# --- terms --------------------------------------------------------------------------------------

Slice = tuple[int, int]  # start and end of a term in the text
NO_SLICE: Slice = (0, 0)


def _at() -> Slice:
    place: Slice = field(default=NO_SLICE, compare=False, repr=False)
    return place


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; ``_`` is made unique when a clause is translated."""

    name: str
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written."""

    text: str
    at: Slice = _at()

    @property
    def is_real(self) -> bool:
        """Whether it is written as a real number, such as 2.0."""
        return not self.text.lstrip("-").isdigit()

    @property
    def whole(self) -> int | None:
        """Its value if that is an integer (as in 2.0), otherwise None."""
        value = float(self.text)
        if not value.is_integer():
            return None
        return int(value) if self.is_real else int(self.text)


@dataclass(frozen=True, slots=True)
class Text:
    """A string in double quotes."""

    value: str
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Compound:
    """A name with arguments (none for an atom); operators are names too."""

    name: str
    args: tuple[Term, ...] = ()
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class ListTerm:
    """A list; ``tail`` is the part after ``|``."""

    items: tuple[Term, ...]
    tail: Term | None = None
    at: Slice = _at()


@dataclass(frozen=True, slots=True)
class Operation:
    """Translated arithmetic; Prolog's own is a :class:`Compound`."""

    name: str
    args: tuple[Term, ...]
    at: Slice = _at()


Term = Variable | Number | Text | Compound | ListTerm | Operation


def subterms(term: Term) -> tuple[Term, ...]:
    """The terms directly inside a term."""
    match term:
        case Compound(args=args) | Operation(args=args):
            return args
        case ListTerm(items, tail):
            return items if tail is None else (*items, tail)
    return ()


def all_subterms(term: Term) -> Iterator[Term]:
    """A term and all terms inside it."""
    yield term
    for part in subterms(term):
        yield from all_subterms(part)


def variable_names(*terms: Term) -> dict[str, None]:
    """The names of the variables in some terms, in order of occurrence."""
    names = (t.name for term in terms for t in all_subterms(term) if isinstance(t, Variable))
    return dict.fromkeys(names)


@overload
def substitute(term: Compound, values: Mapping[str, Term]) -> Compound: ...
@overload
def substitute(term: Term, values: Mapping[str, Term]) -> Term: ...
def substitute(term: Term, values: Mapping[str, Term]) -> Term:
    """Replace variables by values."""
    match term:
        case Variable(name):
            return values.get(name, term)
        case Compound(name, args, at):
            return Compound(name, tuple(substitute(a, values) for a in args), at)
        case Operation(name, args, at):
            return Operation(name, tuple(substitute(a, values) for a in args), at)
        case ListTerm(items, tail, at):
            rest = None if tail is None else substitute(tail, values)
            return ListTerm(tuple(substitute(i, values) for i in items), rest, at)
    return term


# --- clauses ------------------------------------------------------------------------------------

AGGREGATES = ("sum", "count", "min", "max", "avg")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause or a directive."""

    term: Term
    at: Slice


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment including its delimiters."""

    text: str
    at: Slice


def read_clauses(text: str, file: str) -> list[Clause | Comment]:
    """The clauses and comments of a text in order; raises all syntax errors together."""
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
    """The tokens of each clause, up to its dot."""
    words: list[Token] = []
    for token in tokens(text):
        words.append(token)
        if token.kind == "end" or (token.kind == "comment" and len(words) == 1):
            yield words
            words = []
    if words:
        yield words


class _Parser:
    """Operator precedence parser for one clause."""

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
        """A term of priority ``most`` or less."""
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
        if depth > TUNING.term_depth:
            raise self.refuse("terms are nested too deeply", "split the clause")

    def operator(self, word: Token) -> str | None:
        return word.text if word.kind in ("sign", "name") and word.text in INFIX else None

    def operand(self, most: int) -> tuple[Term, int]:
        """A term before or after an infix operator, and its priority."""
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
        """A term that begins with a prefix operator; None if the word is a plain name."""
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
        """Terms separated by commas, up to the closing bracket."""
        items = [self.argument()]
        while (word := self.take()).text == ",":
            items.append(self.argument())
        if word.text != close:
            self.next -= 1
            raise self.refuse(f"'{close}' is missing before this", "")
        return tuple(items), word.end

    def argument(self) -> Term:
        """An argument, which may be ``sum<X>`` of ProbLog's library(aggregate)."""
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
