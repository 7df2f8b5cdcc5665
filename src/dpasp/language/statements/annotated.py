"""Annotated statements: probabilistic and credal facts, rules and disjunctions.

``0.4::a(X); 0.6::b(X) :- c(X).`` is clingo's disjunctive rule with two annotations, which are read
here and blanked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.annotated_heads import Slot, head_slots, head_tokens
from dpasp.language.statements.distributions import (
    are_probabilities,
    distribution,
    probability,
)
from dpasp.language.statements.expressions import Number, Variable, real_value
from dpasp.language.statements.kind import Draft, Kind, Setting
from dpasp.language.statements.statement import Probability, SemanticsPair, Statement, span_field
from dpasp.language.statements.weights import (
    Fixed,
    Head,
    Interval,
    Learnable,
    Weight,
    expressions,
    head_text,
    read_weight,
    weight_variables,
)
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources
from dpasp.language.text.clingo_text import NUMBER, Rows, heads_in
from dpasp.language.text.trees import body_text, global_variables

# Heads with plain numbers and ground bodies, as in tables, are read by regular expressions.
_PLAIN_ATOM = r"(?!not\b)[a-z]\w*(?:\([\w,\s]*\))?"
_PLAIN_HEAD = re.compile(
    rf"\s*(?P<number>{NUMBER})(?P<mark>\s*::)\s*"
    rf"(?P<atom>{_PLAIN_ATOM})\s*(?P<end>;|:-|\.\Z)",
    re.ASCII,
)
_GROUND_ATOM = r"(?!not\b)[a-z]\w*(?:\((?:[a-z]\w*|\d+)(?:,\s?(?:[a-z]\w*|\d+))*\))?"
_GROUND_BODY = re.compile(
    rf"\s*(?P<body>(?:not )?{_GROUND_ATOM}(?:,\s*(?:not )?{_GROUND_ATOM})*)\s*\.\Z", re.ASCII
)


class Written(NamedTuple):
    """The atoms of the heads, and the ground body, as written."""

    heads: tuple[str, ...]
    body: str


class Row(NamedTuple):
    """A row of a table (see :class:`Rows`): its probabilities and its index."""

    numbers: tuple[float, ...]
    rows: Rows
    place: int  # its index

    def heads(self) -> tuple[Head, ...]:
        """The heads."""
        file, (start, end) = self.rows.file, self.rows.slices[self.place]
        matches = list(_PLAIN_HEAD.finditer(file.text, start, end))
        heads = []
        for place, (value, match) in enumerate(zip(self.numbers, matches, strict=True)):
            weight = _fixed(value, file.span(*match.span("number")))
            span = file.span(match.start("number"), match.end("atom"))
            heads.append(Head.of_rule(weight, self.node, place, span))
        return tuple(heads)

    def body(self) -> tuple[AST, ...]:
        """The body as clingo reads it."""
        return tuple(self.node().body)

    def node(self) -> AST:
        """The rule as clingo reads it."""
        return self.rows.nodes[self.place]


@dataclass(frozen=True)
class Annotated(Statement):
    """A probabilistic or credal fact, rule or annotated disjunction.

    The heads and body of a row are made on first use: most rows of a large table are not.
    """

    heads: tuple[Head, ...]
    body: tuple[AST, ...]
    span: Span = span_field()
    written: Written | None = field(default=None, compare=False, repr=False)  # if plain and ground

    @classmethod
    def of_row(cls, row: Row, span: Span, written: Written) -> Annotated:
        """The statement of a row."""
        statement = cls.__new__(cls)
        statement.__dict__.update(_row=row, span=span, written=written)
        return statement

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The probabilities of a row; None for other statements."""
        row: Row | None = self.__dict__.get("_row")
        return None if row is None else row.numbers

    if not TYPE_CHECKING:  # a type checker sees plain fields

        def __getattr__(self, name: str) -> tuple[Head, ...] | tuple[AST, ...]:
            row = self.__dict__.get("_row")
            if row is None or name not in ("heads", "body"):
                raise AttributeError(name)
            made = self.__dict__[name] = row.heads() if name == "heads" else row.body()
            return made


def read_annotated(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read the annotations of a statement and leave the rest to clingo."""
    weights: list[Weight] = []
    spans = []
    written = None
    if plain := _plain_heads(file, piece):
        has_body = plain[-1]["end"] == ":-"
        for match in plain:
            start = match.start("number")
            weights.append(_fixed(float(match["number"]), file.span(start, match.end("number"))))
            spans.append(file.span(start, match.end("atom")))
            buffer.blank(start, match.end("mark"))
        written = _written(file, piece, plain)
    else:
        cursor, has_body = head_tokens(file, piece)
        for slot in head_slots(cursor, piece):
            start = slot.annotation[0].start if slot.annotation else slot.mark.start
            weights.append(_weight(file, slot))
            spans.append(file.span(start, slot.end))
            buffer.blank(start, slot.mark.end)
    span = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if not nodes:
            return None
        (node,) = nodes
        body = tuple(node.body) if has_body else ()
        if written is not None and len(weights) > 1:
            both = zip(weights, spans, strict=True)
            heads = [Head.of_rule(w, lambda: node, i, s) for i, (w, s) in enumerate(both)]
        else:
            heads = list(map(Head, weights, head_atoms(node, len(weights)), spans))
        return Annotated(tuple(heads), body, span, written)

    return Draft(finish)


def read_row(match: re.Match[str], rows: Rows) -> Draft:
    """Read a row of a table, of which nothing is left to clingo."""
    start, end = match.start("heads"), match.end("dot")
    heads = heads_in(match["heads"])
    row = Row(tuple([float(number) for number, _ in heads]), rows, rows.add(start, end))
    written = Written(tuple([atom for _, atom in heads]), match["body"] or "")
    statement = Annotated.of_row(row, rows.file.span(start, end), written)
    return Draft(lambda nodes, sources: statement, whole=True)


def _plain_heads(file: SourceFile, piece: Piece) -> list[re.Match[str]]:
    """The heads if all of them are atoms with plain numbers."""
    matches: list[re.Match[str]] = []
    at = piece.start
    while match := _PLAIN_HEAD.match(file.text, at, piece.end):
        matches.append(match)
        if match["end"] != ";":
            return matches
        at = match.end()
    return []


def _written(file: SourceFile, piece: Piece, heads: list[re.Match[str]]) -> Written | None:
    """The text of a statement if its body is ground."""
    body = ""
    if heads[-1]["end"] == ":-":
        match = _GROUND_BODY.match(file.text, heads[-1].end(), piece.end)
        if match is None:
            return None
        body = match["body"]
    return Written(tuple(head["atom"] for head in heads), body)


def head_atoms(rule: AST, count: int) -> list[AST]:
    """The atoms in the head of a rule, an atom or a disjunction of atoms."""
    head = rule.head
    return [head.atom] if count == 1 else [element.literal.atom for element in head.elements]


def _weight(file: SourceFile, slot: Slot) -> Weight:
    """The weight of an annotation."""
    tokens, end = slot.annotation, slot.mark.start
    start = tokens[0].start if tokens else end
    cursor = Cursor(file, start, end, tokens)
    if len(tokens) == 1 and tokens[0].kind == "number":  # the common case
        return _fixed(real_value(cursor, tokens[0]), file.span(start, tokens[0].end))
    return read_weight(cursor, slot.mark)


def _fixed(value: float, span: Span) -> Fixed:
    return Fixed(Number(value, span), span)


# --- printing ----------------------------------------------------------------------------------


def annotated_text(statement: Annotated) -> str:
    return "; ".join(map(head_text, statement.heads)) + body_text(statement.body)


def annotated_terms(statement: Annotated) -> Iterator[AST]:
    """The atoms and the body of a statement."""
    yield from (head.atom for head in statement.heads)
    yield from statement.body


# --- checks ------------------------------------------------------------------------------------


def check_annotated(statements: Sequence[Annotated], setting: Setting) -> Iterator[Diagnostic]:
    """Problems with probabilities: values, variables, semantics."""
    for statement in statements:
        yield from _problems(statement, setting.numbers, setting.meaning)


def _problems(
    statement: Annotated, values: Mapping[str, float] | None, meaning: SemanticsPair
) -> Iterator[Diagnostic]:
    """Problems of one statement; values are skipped if the constants are unknown."""
    if statement.numbers is not None and are_probabilities(statement.numbers):
        return
    weights = [head.weight for head in statement.heads]
    first = next((weight for weight in weights if isinstance(weight, Interval)), None)
    if first is not None and meaning.probability is Probability.MAXENT:
        yield Diagnostic(
            "credal-under-maxent",
            "an interval of probabilities has no meaning under maxent",
            first.span,
            "say '#semantics credal.', or give one probability",
        )
    names = [name for weight in weights for name in weight_variables(weight)]
    if names or any(isinstance(weight, Learnable) and weight.key for weight in weights):
        yield from _variables(statement, names)
    if values is not None:
        yield from _values(statement, values, known=not names)


def _variables(statement: Annotated, names: list[Variable]) -> Iterator[Diagnostic]:
    """Variables in probabilities and keys that do not occur in the statement."""
    known = global_variables(annotated_terms(statement))
    for variable in names:
        if variable.name not in known:
            message = f"the variable {variable.name} does not occur in the rule"
            help = nearest(variable.name, known) or "bind it in a positive body literal"
            yield Diagnostic("unknown-variable", message, variable.span, help)
    keyed = [head.weight for head in statement.heads if isinstance(head.weight, Learnable)]
    for weight in keyed:
        for name in weight.key:
            if name not in known:
                message = f"the variable {name} does not occur in the rule"
                help = nearest(name, known) or "name a variable of the head or the body"
                yield Diagnostic("parameter-key", message, weight.span, help)
        if set(weight.key) != set(keyed[0].key):
            message = "the parameters of one statement have the same key"
            yield Diagnostic("parameter-key", message, weight.span, "write the same key for all")


def _values(statement: Annotated, values: Mapping[str, float], known: bool) -> Iterator[Diagnostic]:
    """Probabilities out of range; their sum, if all are known."""
    whole: list[Diagnostic] = []
    if known:
        try:
            distribution(statement.heads, values)
        except ProgramError as error:
            whole += error.diagnostics
        else:
            return
    wrong: list[Diagnostic] = []
    for head in statement.heads:
        for expression in expressions(head.weight):
            try:
                if known or not any(weight_variables(Fixed(expression))):
                    probability(expression, values)
            except ProgramError as error:
                wrong += error.diagnostics
    yield from wrong or whole


KIND = Kind(
    Annotated,
    annotated_text,
    recognise=lambda file, piece: piece.annotated,
    read=read_annotated,
    terms=annotated_terms,
    check=check_annotated,
    form="0.4::a(X); 0.6::b(X) :- c(X).",
    about="a choice for each instance: probabilities, intervals or parameters",
)
