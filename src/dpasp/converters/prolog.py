"""The Prolog syntax of ProbLog and DeepProbLog: tokens, terms, clauses.

>>> [item.term for item in read_clauses("a :- b.", "p.pl") if isinstance(item, Clause)]
[Compound(name=':-', args=(Compound(name='a', args=()), Compound(name='b', args=())))]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import overload

from dpasp.converters import TUNING
from dpasp.converters.text import Reader, Slice, Word, words_of
from dpasp.dataclass import dataclass
from dpasp.errors import each
from dpasp.language.text import SourceFile

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
            r"\s+",
            r"(?P<unknown>.)",
        )
    ),
    re.S,
)


def tokens(text: str) -> Iterator[Word]:
    """The tokens of a text, including comments."""
    for word in words_of(_TOKEN, text):
        lower = word.kind == "variable" and word.text[0].isalpha() and not word.text[0].isupper()
        yield word._replace(kind="name") if lower else word  # a letter of another alphabet


def unquoted(text: str) -> str:
    """The content of a quoted token, with escapes resolved."""
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    known = {"n": "\n", "t": "\t", "\n": ""}
    return re.sub(r"\\(.)", lambda m: known.get(m[1], m[1]), inner, flags=re.S)


# --- terms --------------------------------------------------------------------------------------

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


def rebuilt(term: Term, change: Callable[[Term], Term]) -> Term:
    """A term with a change made to each of the terms directly inside it."""
    match term:
        case Compound(name, args, at):
            return Compound(name, tuple(map(change, args)), at)
        case Operation(name, args, at):
            return Operation(name, tuple(map(change, args)), at)
        case ListTerm(items, tail, at):
            return ListTerm(tuple(map(change, items)), tail and change(tail), at)
    return term


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
    if isinstance(term, Variable):
        return values.get(term.name, term)
    return rebuilt(term, lambda inner: substitute(inner, values))


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
    clauses: list[list[Word]] = []
    for word in tokens(text):
        if word.kind == "comment":
            items.append(Comment(word.text, (word.start, word.end)))
            continue
        if not clauses or clauses[-1][-1].kind == "end":
            clauses.append([])
        clauses[-1].append(word)
    items += each(lambda words: _Parser(words, source).clause(), clauses)
    return sorted(items, key=lambda item: item.at)


class _Parser(Reader):
    """Operator precedence parser for one clause."""

    depth = 0

    def clause(self) -> Clause:
        term = self.term(1200)
        last = self.words[-1]
        if self.next == len(self.words):
            raise self.refuse("this clause is never ended", "end it with a dot")
        if self.words[self.next] is not last:
            raise self.refuse("this cannot be read here", "is an operator or a dot missing?")
        return Clause(term, (self.words[0].start, last.end))

    def term(self, most: int) -> Term:
        """A term of priority ``most`` or less."""
        self.depth += 1
        self.check_depth(self.depth)
        left, level = self.operand(most)
        links = 0  # operators associate to the left: 1+1+1 is (1+1)+1
        while (name := self.operator(self.peek())) is not None:
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

    def operator(self, word: Word | None) -> str | None:
        is_operator = word and word.kind in ("sign", "name") and word.text in INFIX
        return word.text if word and is_operator else None

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
            self.take(")")
            return inner, 0
        if word.text == "[" and word.kind == "sign":
            return self.list(word), 0
        name = unquoted(word.text) if word.kind == "quoted" else word.text
        if word.kind not in ("quoted", "name", "sign") or name in ("]", "{", "}", ")", ",", "|"):
            self.next -= 1
            raise self.refuse(f"'{word.text}' cannot be read here")
        if self.opens(word):
            self.next += 1
            args = self.items()
            return Compound(name, args, (word.start, self.take(")").end)), 0
        if (prefix := self.prefix(word, name, most)) is not None:
            return prefix
        return Compound(name, (), at), 0

    def prefix(self, word: Word, name: str, most: int) -> tuple[Term, int] | None:
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
            and not self.opens(following)
        ):
            return None
        priority, kind = PREFIX_OPERATORS[name]
        level = min(priority, most) if priority <= most else 999
        inner = self.term(level - (kind == "fx"))
        return Compound(name, (inner,), (word.start, inner.at[1])), level

    def items(self) -> tuple[Term, ...]:
        return tuple(self.listed(lambda: self.term(999)))

    def list(self, word: Word) -> Term:
        if (following := self.peek()) is not None and following.text == "]":
            self.next += 1
            return ListTerm((), None, (word.start, following.end))
        items, tail = self.items(), None
        if self.text == "|":
            self.next += 1
            tail = self.term(999)
        return ListTerm(items, tail, (word.start, self.take("]").end))

    # --- words -------------------------------------------------------------------------------

    def peek(self) -> Word | None:
        return self.words[self.next] if self.next < len(self.words) else None

    def opens(self, word: Word) -> bool:
        """Whether a parenthesis follows a word immediately."""
        return self.source.text[word.end : word.end + 1] == "("

    def take(self, expected: str = "") -> Word:
        word = self.peek()
        if word is None or word.kind == "end":
            raise self.refuse("the clause ends too early", "something is missing before this")
        before = self.words[max(0, self.next - 3) : self.next]
        if word.text == ">" and [b.kind for b in before] == ["name", "sign", "variable"]:
            what = "".join(b.text for b in before) + ">"  # avg<X>
            help = (
                "with ':- use_module(library(aggregate)).' and without --no-ground, ProbLog "
                "grounds it; dPASP's own are N = #sum{X,Y : p(X,Y)}, #count, #min and #max"
            )
            raise self.refuse(f"{what} in a head has no counterpart", help)
        taken: Word = super().take(expected)
        return taken


def unify(pairs: Iterable[tuple[Term, Term]]) -> dict[str, Term] | None:
    """The values of variables that make each pair equal; None if there are none."""
    values: dict[str, Term] = {}
    todo = list(pairs)
    while todo:
        left, right = (substitute(term, values) for term in todo.pop(0))
        if left == right:
            continue
        if isinstance(right, Variable) and (not isinstance(left, Variable) or "#" in right.name):
            left, right = right, left
        if isinstance(left, Variable):
            if left.name in variable_names(right):
                return None  # a term inside itself
            values = {name: substitute(t, {left.name: right}) for name, t in values.items()}
            values[left.name] = right
        elif (
            isinstance(left, Compound)
            and isinstance(right, Compound)
            and (left.name, len(left.args)) == (right.name, len(right.args))
        ):
            todo += zip(left.args, right.args, strict=True)
        else:
            return None
    return values
