"""Bayesian networks in XMLBIF."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from dpasp.dialects import title
from dpasp.dialects.networks.network import (
    BadRow,
    NetworkRow,
    NetworkVariable,
    VariableNames,
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
    for element in network:
        if callable(element.tag):  # a comment
            lines.append(f"% {' '.join((element.text or '').split())}")
        elif element.tag in ("DEFINITION", "PROBABILITY"):
            lines += (row_text(row, names) for row in _rows(element, variables, source))
    return "\n".join(lines) + "\n"


def _variables(
    network: ElementTree.Element, source: SourceFile
) -> Iterable[tuple[str, NetworkVariable]]:
    for element in network.iter("VARIABLE"):
        name = _text(element, "NAME")
        values = tuple((outcome.text or "").strip() for outcome in element.iter("OUTCOME"))
        if element.get("TYPE", "nature") != "nature":
            message = f"{name}: only variables of nature have a counterpart, not decisions"
            raise _refuse(source, name, message)
        if not name or not values or len(set(values)) < len(values):
            raise _refuse(source, name, f"the values of {name or 'a variable'} are not as needed")
        yield name, NetworkVariable(name, values)


def _rows(
    element: ElementTree.Element, variables: dict[str, NetworkVariable], source: SourceFile
) -> list[NetworkRow]:
    """The rows of a table: the child's values change fastest, then those of the last parent."""
    name = _text(element, "FOR")
    wanted = [name, *((parent.text or "").strip() for parent in element.iter("GIVEN"))]
    for variable in wanted:
        if variable not in variables:
            raise _refuse(source, variable, f"there is no variable {variable}")
    child, *parents = (variables[variable] for variable in wanted)
    numbers = re.sub(r"<!--.*?-->", " ", _text(element, "TABLE"), flags=re.S).split()
    givens, size = list(value_rows(parents)), len(child.values)
    if len(numbers) != size * len(givens):
        message = f"{name}: {len(numbers)} numbers where {size * len(givens)} belong"
        raise _refuse(source, name, message)
    rows = []
    for i, values in enumerate(givens):
        row = NetworkRow(
            child,
            tuple(zip(parents, values, strict=True)),
            tuple(numbers[i * size : (i + 1) * size]),
        )
        try:
            row_text(row, VariableNames.of(variables.values()))
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
