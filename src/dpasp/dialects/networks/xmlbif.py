"""Bayesian networks in XMLBIF."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from dpasp.dialects import title
from dpasp.dialects.networks.network import (
    BadNetwork,
    BadRow,
    NetworkRow,
    NetworkVariable,
    VariableNames,
    check_tables,
    normalised,
    row_count,
    row_text,
    value_rows,
)
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.text.source import SourceFile

SYSTEM = "a Bayesian network"


def converted(text: str, file: str) -> str:
    """The program that a network says."""
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
        raise _refuse(source, "", "there is no NETWORK in this file")
    variables = dict(_variables(network, source))
    names = VariableNames.of(variables.values())
    lines = [title(SYSTEM, file).rstrip(), "#semantics maxent.", *names.legend(), ""]
    tables = []
    for element in network:
        if callable(element.tag):  # a comment
            lines.append(f"% {' '.join((element.text or '').split())}")
        elif element.tag in ("DEFINITION", "PROBABILITY"):
            child, *parents = _scope(element, variables, source)
            tables.append((child, parents))
            lines += (row_text(row, names) for row in _rows(element, child, parents, source))
    try:
        check_tables(tables, variables.values())
    except BadNetwork as error:
        raise _refuse(source, error.variable.name, str(error)) from error
    return "\n".join(lines) + "\n"


def _variables(
    network: ElementTree.Element, source: SourceFile
) -> Iterable[tuple[str, NetworkVariable]]:
    seen: set[str] = set()
    for element in network.iter("VARIABLE"):
        name = _text(element, "NAME")
        values = tuple((outcome.text or "").strip() for outcome in element.iter("OUTCOME"))
        if element.get("TYPE", "nature") != "nature":
            message = f"{name}: only variables of nature have a counterpart, not decisions"
            raise _refuse(source, name, message)
        if not name or not values or len(set(values)) < len(values):
            raise _refuse(source, name, f"the values of {name or 'a variable'} are not as needed")
        if name in seen:
            raise _refuse(source, name, f"the variable {name} is there twice")
        seen.add(name)
        yield name, NetworkVariable(name, values)


def _scope(
    element: ElementTree.Element, variables: dict[str, NetworkVariable], source: SourceFile
) -> list[NetworkVariable]:
    """The variable of a table, and its parents."""
    wanted = [_text(element, "FOR")]
    wanted += ((parent.text or "").strip() for parent in element.iter("GIVEN"))
    for name in wanted:
        if name not in variables:
            raise _refuse(source, name, f"there is no variable {name}")
    return [variables[name] for name in wanted]


def _rows(
    element: ElementTree.Element,
    child: NetworkVariable,
    parents: list[NetworkVariable],
    source: SourceFile,
) -> list[NetworkRow]:
    """The rows of a table: the child's values change fastest, then those of the last parent."""
    name, size = child.name, len(child.values)
    numbers = re.sub(r"<!--.*?-->", " ", _text(element, "TABLE"), flags=re.S).split()
    if len(numbers) != size * row_count(parents):
        message = f"{name}: {len(numbers)} numbers where {size * row_count(parents):,} belong"
        raise _refuse(source, name, message)
    givens = value_rows(parents)
    rows = []
    for i, values in enumerate(givens):
        row = NetworkRow(
            child,
            tuple(zip(parents, values, strict=True)),
            tuple(numbers[i * size : (i + 1) * size]),
        )
        try:
            normalised(row.numbers)
        except (BadRow, ValueError) as error:
            raise _refuse(source, name, f"{name}: {error}") from error
        rows.append(row)
    return rows


def _text(element: ElementTree.Element, tag: str) -> str:
    child = element.find(tag)
    return "" if child is None else "".join(child.itertext()).strip()


def _refuse(source: SourceFile, name: str, message: str) -> ProgramError:
    """An error at the place where a variable's table, or its name, stands."""
    for pattern in (rf"<FOR>\s*{re.escape(name)}\s*</FOR>", rf">\s*{re.escape(name)}\s*<"):
        if name and (match := re.search(pattern, source.text)):
            span = source.span(*match.span())
            return ProgramError(Diagnostic("foreign-syntax", message, span))
    return ProgramError(Diagnostic("foreign-syntax", message))
