"""Bayesian networks in BIF (Bayesian Interchange Format) or XMLBIF.

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
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from dpasp.converters import TUNING, title
from dpasp.converters.network import (
    BadNetwork,
    NetworkRow,
    NetworkVariable,
    VariableNames,
    check_tables,
    row_count,
    row_text,
    table_row,
    value_rows,
)
from dpasp.converters.output import LaidOut, NewPiece, checked_text, comment, laid_out
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.text import SourceFile

SYSTEM = "a Bayesian network"
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|\s+|(?P<string>\"[^\"]*\")"
    r"|(?P<sign>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|\"]+)|(?P<bad>.)",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, string or sign, and its slice of the text."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The text without quotes."""
        return self.text.strip('"')


def converted(text: str, file: str) -> str:
    """Convert a network in BIF or XMLBIF."""
    if text.lstrip().startswith("<"):
        return _from_xml(text, file)
    network = _Reader(text, file)
    try:
        network.read()
        if not network.variables:
            raise network.refuse(None, "there is no variable in this file")
        check_tables([scope for _, scope in network.scopes], network.variables.values())
    except BadNetwork as error:
        words = {scope[0].name: word for word, scope in network.scopes}
        raise network.refuse(words.get(error.variable.name), str(error)) from error
    names = VariableNames.of(network.variables.values())
    pieces = [comment(at, f"% {_plain(note)}".rstrip()) for at, note in network.comments]
    pieces += [NewPiece(at, "\n".join(row_text(row, names) for row in rows))
               for at, rows in network.tables]  # fmt: skip
    head = "".join(f"{line}\n" for line in [title(SYSTEM, file).rstrip(), "#semantics maxent."])
    legend = "".join(f"{line}\n" for line in names.legend())
    body: LaidOut = laid_out(text, pieces)
    return checked_text(f"{head}{legend}\n", body, "", network.source)


def _plain(note: str) -> str:
    inner = note[2:-2] if note.startswith("/*") else note[2:]
    return " ".join(inner.split())


class _Reader:
    """Reads the blocks of a BIF text one after the other."""

    def __init__(self, text: str, file: str) -> None:
        self.source = SourceFile(file, text)
        self.comments: list[tuple[tuple[int, int], str]] = []
        self.words: list[Token] = []
        self.variables: dict[str, NetworkVariable] = {}
        self.tables: list[tuple[tuple[int, int], list[NetworkRow]]] = []
        self.scopes: list[tuple[Token, tuple[NetworkVariable, list[NetworkVariable]]]] = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind == "comment":
                self.comments.append((match.span(), match[0]))
            elif kind is not None:
                self.words.append(Token(kind, match[0], *match.span()))
        self.next = 0

    def read(self) -> None:
        while self.next < len(self.words):
            word = self.take()
            match word.text:
                case "network":
                    self.skip_block()
                case "variable":
                    self.variable()
                case "probability":
                    self.table(word)
                case _:
                    raise self.refuse(word, f"{word.text!r} is not a block of a network")

    def skip_block(self) -> None:
        while self.take().text != "{":
            pass
        while self.take().text != "}":
            pass

    def variable(self) -> None:
        name = self.take()
        values: tuple[str, ...] = ()
        self.expect("{")
        while (word := self.take()).text != "}":
            if word.text != "type":
                self.statement()
                continue
            kind = self.take()
            if not kind.text.startswith("discrete"):
                raise self.refuse(kind, f"a variable of type {kind.text} has no counterpart")
            self.bracket()
            self.expect("{")
            values = tuple(token.name for token in self.until("}"))
            self.expect(";")
        if len(values) != len(set(values)) or not values:
            raise self.refuse(name, f"the values of {name.name} are not all different")
        if name.name in self.variables:
            raise self.refuse(name, f"the variable {name.name} occurs twice")
        self.variables[name.name] = NetworkVariable(name.name, values)

    def bracket(self) -> None:
        self.expect("[")
        while self.take().text != "]":
            pass

    def table(self, start: Token) -> None:
        self.expect("(")
        names = list(self.until(")", "|"))
        if not names:
            raise self.refuse(start, "these probabilities belong to no variable")
        scope = [self.known(name) for name in names]
        child, *parents = scope
        self.scopes.append((names[0], (child, parents)))
        rows: dict[tuple[str, ...], tuple[str, ...]] = {}
        default: tuple[str, ...] | None = None
        self.expect("{")
        while (word := self.take()).text != "}":
            if word.text == "table":
                rows |= self.whole_table(word, child, parents)
            elif word.text == "default":
                default = self.numbers(word, len(child.values))
            elif word.text == "(":
                values = tuple(token.name for token in self.until(")"))
                self.check_given(word, values, parents)
                rows[values] = self.numbers(word, len(child.values))
            else:
                self.statement()
        if row_count(parents) > max(TUNING.table_rows, len(rows)):
            message = f"the table of {child.name} has {row_count(parents):,} rows"
            raise self.refuse(names[0], message, "give it fewer parents, in several steps")
        at = (start.start, self.words[self.next - 1].end)
        table_rows = []
        for values in value_rows(parents):
            numbers = rows.get(values, default)
            if numbers is None:
                raise self.refuse(
                    start, f"no probabilities of {child.name} for {', '.join(values)}"
                )
            table_rows.append(table_row(child, parents, values, numbers))
        self.tables.append((at, table_rows))

    def whole_table(
        self, word: Token, child: NetworkVariable, parents: Sequence[NetworkVariable]
    ) -> dict[tuple[str, ...], tuple[str, ...]]:
        """A table given as one list of numbers: the child's values change slowest."""
        numbers = self.numbers(word, len(child.values) * row_count(parents))
        givens = list(value_rows(parents))
        slowest = {values: numbers[i :: len(givens)] for i, values in enumerate(givens)}
        if all(abs(sum(map(float, row)) - 1) <= TUNING.row_slack for row in slowest.values()):
            return slowest
        size = len(child.values)  # some tools write it row by row
        return {values: numbers[i * size : (i + 1) * size] for i, values in enumerate(givens)}

    def check_given(
        self, word: Token, values: tuple[str, ...], parents: Sequence[NetworkVariable]
    ) -> None:
        fits = len(values) == len(parents)
        if not fits or any(v not in p.values for v, p in zip(values, parents, strict=True)):
            raise self.refuse(word, f"({', '.join(values)}) are not values of the parents")

    def numbers(self, word: Token, count: int) -> tuple[str, ...]:
        """The given count of numbers, up to a semicolon."""
        words = list(self.until(";"))
        for token in words:
            if re.fullmatch(r"\d*\.?\d+(?:[eE][-+]?\d+)?|\d+\.", token.text) is None:
                raise self.refuse(token, f"{token.text!r} is not a number")
        if len(words) != count:
            raise self.refuse(word, f"{len(words)} numbers where {count:,} are needed")
        return tuple(f"0{t.text}" if t.text[0] == "." else t.text.rstrip(".") for t in words)

    def known(self, token: Token) -> NetworkVariable:
        if token.name not in self.variables:
            raise self.refuse(token, f"there is no variable {token.name}")
        return self.variables[token.name]

    # --- words -------------------------------------------------------------------------------

    def take(self) -> Token:
        if self.next >= len(self.words):
            raise self.refuse(self.words[-1], "the network ends too early")
        self.next += 1
        return self.words[self.next - 1]

    def expect(self, text: str) -> None:
        if (word := self.take()).text != text:
            raise self.refuse(word, f"'{text}' is missing before this")

    def until(self, end: str, also: str = ",") -> Iterator[Token]:
        """The words before a sign, without separators."""
        while (word := self.take()).text != end:
            if word.text not in (",", also):
                yield word

    def statement(self) -> None:
        """Skip a property."""
        while self.take().text != ";":
            pass

    def refuse(self, word: Token | None, message: str, help: str = "") -> ProgramError:
        span = None if word is None else self.source.span(word.start, word.end)
        return ProgramError(Diagnostic("foreign-syntax", message, span, help))


# --- XMLBIF ----------------------------------------------------------------------------------


def _from_xml(text: str, file: str) -> str:
    """Convert a network in XMLBIF."""
    source = SourceFile(file, text)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    try:
        root = ElementTree.fromstring(text, parser)
    except ElementTree.ParseError as error:
        line, column = error.position
        span = Span(file, line, column + 1, line, column + 2)
        message = f"this is not XML: {error.msg.split(':')[0]}"
        raise ProgramError(Diagnostic("foreign-syntax", message, span)) from error
    network = root if root.tag == "NETWORK" else root.find("NETWORK")
    if network is None:
        raise _xml_refuse(source, "", "there is no NETWORK in this file")
    variables = dict(_xml_variables(network, source))
    names = VariableNames.of(variables.values())
    lines = [title(SYSTEM, file).rstrip(), "#semantics maxent.", *names.legend(), ""]
    tables = []
    try:
        for element in network:
            if callable(element.tag):  # a comment
                lines.append(f"% {' '.join((element.text or '').split())}")
            elif element.tag in ("DEFINITION", "PROBABILITY"):
                child, *parents = _xml_scope(element, variables, source)
                tables.append((child, parents))
                rows = _xml_rows(element, child, parents, source)
                lines += (row_text(row, names) for row in rows)
        check_tables(tables, variables.values())
    except BadNetwork as error:
        raise _xml_refuse(source, error.variable.name, str(error)) from error
    return "\n".join(lines) + "\n"


def _xml_variables(
    network: ElementTree.Element, source: SourceFile
) -> Iterable[tuple[str, NetworkVariable]]:
    seen: set[str] = set()
    for element in network.iter("VARIABLE"):
        name = _xml_text(element, "NAME")
        values = tuple((outcome.text or "").strip() for outcome in element.iter("OUTCOME"))
        if element.get("TYPE", "nature") != "nature":
            message = f"{name}: only variables of nature have a counterpart, not decisions"
            raise _xml_refuse(source, name, message)
        if not name or not values or len(set(values)) < len(values):
            raise _xml_refuse(
                source,
                name,
                f"the values of {name or 'a variable'} are missing or not all different",
            )
        if name in seen:
            raise _xml_refuse(source, name, f"the variable {name} occurs twice")
        seen.add(name)
        yield name, NetworkVariable(name, values)


def _xml_scope(
    element: ElementTree.Element, variables: dict[str, NetworkVariable], source: SourceFile
) -> list[NetworkVariable]:
    """A table's variable and its parents."""
    wanted = [_xml_text(element, "FOR")]
    wanted += ((parent.text or "").strip() for parent in element.iter("GIVEN"))
    for name in wanted:
        if name not in variables:
            raise _xml_refuse(source, name, f"there is no variable {name}")
    return [variables[name] for name in wanted]


def _xml_rows(
    element: ElementTree.Element,
    child: NetworkVariable,
    parents: list[NetworkVariable],
    source: SourceFile,
) -> list[NetworkRow]:
    """The rows of a table; the child's values change fastest, then the last parent's."""
    name, size = child.name, len(child.values)
    numbers = re.sub(r"<!--.*?-->", " ", _xml_text(element, "TABLE"), flags=re.S).split()
    if len(numbers) != size * row_count(parents):
        message = f"{name}: {len(numbers)} numbers where {size * row_count(parents):,} are needed"
        raise _xml_refuse(source, name, message)
    return [
        table_row(child, parents, values, numbers[i * size : (i + 1) * size])
        for i, values in enumerate(value_rows(parents))
    ]


def _xml_text(element: ElementTree.Element, tag: str) -> str:
    child = element.find(tag)
    return "" if child is None else "".join(child.itertext()).strip()


def _xml_refuse(source: SourceFile, name: str, message: str) -> ProgramError:
    """An error that points at a variable's table, or at its name."""
    for pattern in (rf"<FOR>\s*{re.escape(name)}\s*</FOR>", rf">\s*{re.escape(name)}\s*<"):
        if name and (match := re.search(pattern, source.text)):
            span = source.span(*match.span())
            return ProgramError(Diagnostic("foreign-syntax", message, span))
    return ProgramError(Diagnostic("foreign-syntax", message))
