"""clingo's messages in our words: with a span, a code, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from clingo import Symbol, parse_term
from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, nearest
from dpasp.ground.markers import is_hidden
from dpasp.ground.terms import (
    Signature,
    can_occur,
    derived_by,
    match,
    row_texts,
    split_atom,
    unpooled_atoms,
)
from dpasp.language import ast
from dpasp.language.text.clingo_text import walk
from dpasp.language.text.source import Sources

_LINE = re.compile(
    r"^(?P<file>\S[^\n]*?):(?P<line>\d+):(?P<column>\d+)(?:-(?:(?P<end_line>\d+):)?(?P<end>\d+))?: "
    r"(?P<kind>error|warning|info|note): (?P<text>[^\n]*)(?P<detail>(?:\n  [^\n]*)*)",
    re.MULTILINE,
)
_UNSAFE = re.compile(r"'(?P<name>.*)' is unsafe")
_BIND = "bind it in a positive body literal, for example by adding '{}' to the body"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a clingo message: a place and a text."""

    span: Span
    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Messages:
    """Rewrites clingo's messages about a program with these sources."""

    sources: Sources

    def rewrite(self, message: str, known: Iterable[Signature]) -> Iterator[Diagnostic]:
        """The diagnostics for a message; ``known`` predicates help with wrong names."""
        lines = [self._line(match) for match in _LINE.finditer(message)]
        if not lines:
            yield Diagnostic("clingo", _plain(message))
            return
        first = lines[0]
        if first.text.startswith("unsafe variables"):
            yield from (
                _unsafe(line, self._of_network(line), self._of_aggregate(line))
                for line in lines[1:]
            )
        elif first.text.startswith("atom does not occur"):
            if not is_hidden(first.detail):  # all instances of a statement were left out
                own = "#" in first.detail  # clingo's own names, in place of '_'
                atom = (self.sources.text_of(first.span) if own else None) or first.detail
                yield undefined_atom(" ".join(atom.split()), first.span, known)
        elif first.text.startswith(("operation undefined", "interval undefined")):
            yield undefined_operation(first.detail, first.span)
        elif first.text.startswith("global variable"):
            yield _global_variable(first)
        elif first.text.startswith("redefinition of constant"):
            yield _constant_twice(lines)
        elif first.text.startswith("no definition found for theory atom"):
            yield Diagnostic("theory", "theory atoms are refused", first.span, "write plain rules")
        elif first.text.startswith("cyclic constant"):
            message = "this constant is defined by itself"
            yield Diagnostic("const-cycle", message, first.span, "define it by a value")
        else:
            yield Diagnostic("clingo", _plain(f"{first.text} {first.detail}"), first.span)

    def _of_network(self, line: _Line) -> bool:
        """Whether a line of the program has a neural head."""
        return re.search(r"::.*\bas\s+@", self._shown(line)) is not None

    def _of_aggregate(self, line: _Line) -> str:
        """The aggregate (``#count``) around a place before the ':' of an element; or ""."""
        before = self._shown(line)[: line.span.column - 1]
        match = re.search(r"(#(?:count|sum\+?|min|max))\s*\{(?:[^{}]*;)?[^{}:;]*$", before)
        return match[1] if match else ""

    def _shown(self, line: _Line) -> str:
        lines = self.sources.get(line.span.file, "").splitlines()
        return "".join(lines[line.span.line - 1 : line.span.line])

    def _line(self, match: re.Match[str]) -> _Line:
        line, column = int(match["line"]), int(match["column"])
        text, detail = match["text"], match["detail"].strip()
        begin = self.sources.place(line, column)
        end = self.sources.place(int(match["end_line"] or line), int(match["end"] or column + 1))
        return _Line(self.sources.span(begin, end), text, detail)


def _plain(text: str) -> str:
    """A message on one line, without internal names."""
    return " ".join(text.replace("<string>", "the program").split())


def _unsafe(line: _Line, of_network: bool = False, aggregate: str = "") -> Diagnostic:
    match = _UNSAFE.match(line.text)
    name = match["name"] if match else "_"
    if name.startswith("#"):
        message = "'_' is unsafe here: nothing gives it values"
        help = "use '_' in positive body literals only, or name a variable and bind it there"
        return Diagnostic("unsafe-variable", message, line.span, help)
    message = f"the variable {name} is unsafe: nothing gives it values"
    if name.startswith("'"):
        help = f'text is written in double quotes: "{name.strip(chr(39))}"'
        return Diagnostic("unsafe-variable", message, line.span, help)
    help = _BIND.format(f"domain({name})")
    if aggregate:
        help = f"write the atoms that give it values after a ':', {aggregate}{{{name} : p({name})}}"
    elif of_network:
        help = f"list the values of a network in its head, as in f(X, {{0..9}}), or bind {name} "
        help += f"in the body for several outcomes: {name} = 0..7"
    return Diagnostic("unsafe-variable", message, line.span, help)


def undefined_atoms(
    statement: ast.Statement, known: Collection[Signature], sources: Sources
) -> Iterator[Diagnostic]:
    """Warnings about the atoms in the body of a statement whose predicates are not known."""
    for node in ast.body_nodes(statement):
        for part in walk(node):
            if part.ast_type == ASTType.SymbolicAtom and not can_occur(part, known):
                yield undefined_atom(str(part), sources.span_of(part.symbol.location), known)


def undefined_in_rows(
    program: ast.Program, missing: Iterable[tuple[int, str]], atoms: Iterable[Symbol]
) -> Iterator[Diagnostic]:
    """Warnings about atoms in the bodies of rows that match no head of the program.

    ``missing`` are the statements, each with an atom that no row and no fact derives.
    """
    heads: dict[Signature, list[AST]] = {}
    whole: set[Signature] = set()  # defined whatever their arguments are
    for statement in program.statements:
        if row_texts(statement) is None:
            found = [s for atom in ast.derived_atoms(statement) for s in unpooled_atoms(atom)]
            for symbol in found:
                heads.setdefault(split_atom(symbol)[0], []).append(symbol)
            whole.update(() if found else derived_by(statement))
    kinds = set(map(Signature.of, atoms))
    for index, text in missing:
        atom = parse_term(text)
        kind = Signature.of(atom)
        if kind not in whole and all(match(head, atom, {}) is None for head in heads.get(kind, ())):
            for node in ast.body_nodes(program.statements[index]):
                if str(node.atom) == text:
                    span = program.sources.span_of(node.atom.symbol.location)
                    yield undefined_atom(text, span, kinds)


def undefined_atom(atom: str, span: Span, known: Iterable[Signature]) -> Diagnostic:
    """The warning about an atom in a body that no rule derives."""
    name = atom.partition("(")[0]
    arity = f"#defined {_signature(atom)}."
    help = suggest(name, known) or f"define it, or write '{arity}' if that is intended"
    message = f"{atom} occurs in no head, so it is always false"
    return Diagnostic("undefined-atom", message, span, help, "warning")


def _signature(atom: str) -> str:
    """``p(X,f(Y,Z))`` as ``p/2``."""
    name, parenthesis, rest = atom.partition("(")
    if not parenthesis:
        return f"{name}/0"
    depth = commas = 0
    for char in re.sub(r'"(?:\\.|[^"\\]++)*+"', "", rest):
        depth += (char in "([") - (char in ")]")
        commas += char == "," and depth == 0
    return f"{name}/{commas + 1}"


def suggest(name: str, known: Iterable[Signature]) -> str:
    """A sentence with the closest known predicate, or with the arities that the name has."""
    signatures = list(known)
    plain = name.removeprefix("-")
    same = [str(s) for s in signatures if s.name == plain and s.positive == (name == plain)]
    if same:
        return f"there is {' and '.join(sorted(same))}: check the number of arguments"
    names = {f"{'' if s.positive else '-'}{s.name}" for s in signatures}
    return nearest(name, sorted(names))


def undefined_operation(term: str, span: Span | None) -> Diagnostic:
    """The warning about a term that has no value for some values of its variables."""
    message = f"{untyped(term)} is undefined for some values; they are left out"
    help = "clingo's arithmetic is over integers, and division by 0 has no value"
    return Diagnostic("undefined-operation", message, span, help, "warning")


def untyped(term: str) -> str:
    """A term without the parentheses added by clingo's printer."""
    return term[1:-1] if term.startswith("(") and term.endswith(")") else term


def _global_variable(line: _Line) -> Diagnostic:
    message = f"{line.detail} is a variable of the whole rule, so it has one value here"
    help = "if you mean every value, give the variable inside the aggregate another name"
    return Diagnostic("global-variable", message, line.span, help, "warning")


def _constant_twice(lines: list[_Line]) -> Diagnostic:
    where = f", first on line {lines[1].span.line}" if len(lines) > 1 else ""
    message = f"this constant is defined twice{where}"
    return Diagnostic("const-twice", message, lines[0].span, "keep one of them")
