"""Bayesian networks in BIF (Bayesian Interchange Format).

>>> text = "variable a { type discrete[2] {t, f}; } probability (a) { table 0.2, 0.8; }"
>>> print(converted(text, "<text>"))
% converted from a Bayesian network
#semantics maxent.
<BLANKLINE>
0.2::a(t); 0.8::a(f).
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpasp.converters import TUNING
from dpasp.converters.networks import (
    SEMANTICS,
    BadNetwork,
    NetworkVariable,
    Table,
    VariableNames,
    check_tables,
    from_xmlbif,
    row_count,
    table_of,
    value_rows,
)
from dpasp.converters.text import (
    NewPiece,
    Reader,
    Word,
    checked_text,
    comment,
    heading,
    laid_out,
    words_of,
)
from dpasp.language.text import SourceFile
from dpasp.writing import counted

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|\s+|(?P<string>\"[^\"]*\")"
    r"|(?P<sign>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|\"]+)|(?P<bad>.)",
    re.S,
)


def converted(text: str, file: str) -> str:
    if text.lstrip().startswith("<"):
        return from_xmlbif(text, file)
    words = words_of(_TOKEN, text)
    network = _BifReader([w for w in words if w.kind != "comment"], SourceFile(file, text))
    network.read()
    if not network.variables:
        raise network.refuse("there is no variable in this file", at=Word("", "", 0, 0))
    names = VariableNames(network.variables.values())
    pieces = [
        comment((word.start, word.end), f"% {_plain(word.text)}".rstrip())
        for word in words
        if word.kind == "comment"
    ]
    try:
        check_tables([table for _, table in network.tables], network.variables.values())
        pieces += [
            NewPiece((first.start, last.end), "\n".join(table.lines(names)))
            for (first, last), table in network.tables
        ]
    except BadNetwork as error:
        place = network.places.get(error.variable)
        raise network.refuse(str(error), at=place) from error
    head = heading("a Bayesian network", file, SEMANTICS, *names.legend())
    return checked_text(head, laid_out(text, pieces), "", network.source)


def _plain(note: str) -> str:
    inner = note[2:-2] if note.startswith("/*") else note[2:]
    return " ".join(inner.split())


class _BifReader(Reader):
    """Reads the blocks of a BIF text one after the other."""

    def __init__(self, words: list[Word], source: SourceFile) -> None:
        super().__init__(words, source)
        self.variables: dict[str, NetworkVariable] = {}
        self.tables: list[tuple[tuple[Word, Word], Table]] = []  # with first and last word
        self.places: dict[str, Word] = {}  # of the tables, by their variable

    def read(self) -> None:
        while self.text:
            word = self.take()
            match word.text:
                case "network":
                    self.skip_to("{")
                    self.skip_to("}")
                case "variable":
                    self.variable()
                case "probability":
                    table = self.table(word)
                    self.tables.append(((word, self.words[self.next - 1]), table))
                case _:
                    raise self.refuse(f"{word.text!r} is not a block of a network", at=word)

    def variable(self) -> None:
        word = self.take()
        name = _name(word)
        values: tuple[str, ...] = ()
        self.take("{")
        while self.take().text != "}":
            if self.words[self.next - 1].text != "type":
                self.skip_to(";")
                continue
            kind = self.take()
            if not kind.text.startswith("discrete"):
                raise self.refuse(f"a variable of type {kind.text} has no counterpart", at=kind)
            self.take("[")
            self.skip_to("]")
            self.take("{")
            values = tuple(map(_name, self.until("}")))
            self.take(";")
        if len(values) != len(set(values)) or not values:
            raise self.refuse(f"the values of {name} are not all different", at=word)
        if name in self.variables:
            raise self.refuse(f"the variable {name} occurs twice", at=word)
        self.variables[name] = NetworkVariable(name, values)

    def table(self, start: Word) -> Table:
        self.take("(")
        names = list(self.until(")", "|"))
        if not names:
            raise self.refuse("these probabilities belong to no variable", at=start)
        child, *parents = map(self.known, names)
        self.places[child.name] = names[0]
        rows: dict[tuple[str, ...], tuple[str, ...]] = {}
        default: tuple[str, ...] | None = None
        self.take("{")
        while (word := self.take()).text != "}":
            if word.text == "table":
                count = len(child.values) * row_count(parents)
                rows |= _whole_table(self.numbers(word, count), child, parents)
            elif word.text == "default":
                default = self.numbers(word, len(child.values))
            elif word.text == "(":
                values = tuple(map(_name, self.until(")")))
                fits = len(values) == len(parents)
                if not fits or any(v not in p.values for v, p in zip(values, parents, strict=True)):
                    message = f"({', '.join(values)}) are not values of the parents"
                    raise self.refuse(message, at=word)
                rows[values] = self.numbers(word, len(child.values))
            else:
                self.skip_to(";")
        if row_count(parents) > max(TUNING.table_rows, len(rows)):
            message = f"the table of {child.name} has {row_count(parents):,} rows"
            raise self.refuse(message, "give it fewer parents, in several steps", names[0])
        every = {values: rows.get(values, default) for values in value_rows(parents)}
        for values, numbers in every.items():
            if numbers is None:
                message = f"no probabilities of {child.name} for {', '.join(values)}"
                raise self.refuse(message, at=start)
        return Table(child, tuple(parents), {v: n for v, n in every.items() if n is not None})

    def numbers(self, word: Word, count: int) -> tuple[str, ...]:
        """The given count of numbers, up to a semicolon."""
        words = list(self.until(";"))
        for token in words:
            if re.fullmatch(r"\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.", token.text) is None:
                raise self.refuse(f"{token.text!r} is not a number", at=token)
        if len(words) != count:
            raise self.refuse(
                f"{counted(len(words), 'number')} where {count:,} are needed", at=word
            )
        return tuple(f"0{t.text}" if t.text[0] == "." else t.text.rstrip(".") for t in words)

    def known(self, word: Word) -> NetworkVariable:
        if _name(word) not in self.variables:
            raise self.refuse(f"there is no variable {_name(word)}", at=word)
        return self.variables[_name(word)]

    def until(self, end: str, also: str = ",") -> Iterator[Word]:
        """The words before a sign, without separators."""
        while (word := self.take()).text != end:
            if word.text not in (",", also):
                yield word

    def skip_to(self, end: str) -> None:
        while self.take().text != end:
            pass


def _name(word: Word) -> str:
    return word.text.strip('"')


def _whole_table(
    numbers: tuple[str, ...], child: NetworkVariable, parents: list[NetworkVariable]
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """A table given as one list: the child's values change slowest or, in some files, fastest."""
    givens = list(value_rows(parents))
    slowest = {values: numbers[i :: len(givens)] for i, values in enumerate(givens)}
    if all(abs(sum(map(float, row)) - 1) <= TUNING.row_slack for row in slowest.values()):
        return slowest
    return {values: tuple(row) for values, row in table_of(child, parents, numbers).rows.items()}
