"""Networks and influence diagrams in XML: XMLBIF, and XDSL, the format of GeNIe.

>>> text = '''<smile><nodes>
... <cpt id="rain"><state id="yes"/><state id="no"/><probabilities>0.3 0.7</probabilities></cpt>
... <decision id="hat"><state id="on"/><state id="off"/><parents>rain</parents></decision>
... <utility id="u"><parents>rain hat</parents><utilities>5 -9 1 2</utilities></utility>
... </nodes></smile>'''
>>> print(from_xdsl(text, "<text>"))
% converted from an influence diagram
#semantics maxent.
<BLANKLINE>
0.3::rain(yes); 0.7::rain(no).
#decision 1 {hat(on); hat(off)} 1 :- rain(A).
#utility 5 : rain(yes), hat(on).
#utility -9 : rain(yes), hat(off).
#utility 1 : rain(no), hat(on).
#utility 2 : rain(no), hat(off).
#decide.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

from dpasp.converters.networks import (
    BadNetwork,
    Diagram,
    NetworkVariable,
    Parents,
    Payoff,
    table_of,
)
from dpasp.errors import ProgramError, Span
from dpasp.language.text import SourceFile

Element = ElementTree.Element


def from_xmlbif(text: str, file: str) -> str:
    """Convert a network or an influence diagram in XMLBIF."""
    return _converted(text, file, _xmlbif)


def from_xdsl(text: str, file: str) -> str:
    """Convert an influence diagram in XDSL."""
    return _converted(text, file, _xdsl)


def _converted(text: str, file: str, read: Callable[[Element], Diagram]) -> str:
    source = SourceFile(file, text)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    try:
        return read(ElementTree.fromstring(text, parser)).text(file)
    except ElementTree.ParseError as error:
        line, column = error.position
        span = Span(file, line, column + 1, line, column + 2)
        message = f"this is not XML: {error.msg.split(':')[0]}"
        raise ProgramError.at("foreign-syntax", message, span) from error
    except BadNetwork as error:
        place = _place(source, error.variable)
        raise ProgramError.at("foreign-syntax", str(error), place) from error


def _place(source: SourceFile, name: str) -> Span | None:
    """Where a variable's table is, or its name."""
    word = re.escape(name)
    for pattern in (rf"<FOR>\s*{word}\s*</FOR>", rf">\s*{word}\s*<", rf'id="{word}"'):
        if name and (match := re.search(pattern, source.text)):
            return source.span(*match.span())
    return None


def _text(element: Element, tag: str) -> str:
    child = element.find(tag)
    return "" if child is None else "".join(child.itertext()).strip()


def _notes(element: Element) -> list[str]:
    """The comments directly inside an element."""
    return [f"% {' '.join((e.text or '').split())}" for e in element if callable(e.tag)]


def _variable(variables: dict[str, NetworkVariable], name: str, of: str) -> NetworkVariable:
    """The variable of a name that stands in the definition of another one."""
    if name not in variables:
        raise BadNetwork(f"{of}: there is no variable {name}", of)
    return variables[name]


def _xmlbif(root: Element) -> Diagram:
    network = root if root.tag == "NETWORK" else root.find("NETWORK")
    if network is None:
        raise BadNetwork("there is no NETWORK in this file", "")
    variables: dict[str, NetworkVariable] = {}
    kinds: dict[str, str] = {}
    for element in network.iter("VARIABLE"):
        name, kind = _text(element, "NAME"), element.get("TYPE", "nature")
        if kind not in ("nature", "decision", "utility"):
            raise BadNetwork(f"{name}: variables of the kind {kind} have no counterpart", name)
        if name in variables:
            raise BadNetwork(f"the variable {name} occurs twice", name)
        values = tuple((outcome.text or "").strip() for outcome in element.iter("OUTCOME"))
        variables[name], kinds[name] = NetworkVariable(name, values), kind
    known: dict[NetworkVariable, Parents] = {
        variable: () for name, variable in variables.items() if kinds[name] == "decision"
    }
    tables, payoffs = [], []
    for element in network:
        if element.tag not in ("DEFINITION", "PROBABILITY"):
            continue
        name = _text(element, "FOR")
        variable = _variable(variables, name, name)
        given = [(parent.text or "").strip() for parent in element.iter("GIVEN")]
        parents = tuple(_variable(variables, one, name) for one in given)
        if any(kinds[one] == "utility" for one in given):
            raise BadNetwork(f"{name} depends on a utility, which has no counterpart", name)
        numbers = _text(element, "TABLE").split()
        match kinds[name]:
            case "nature":
                tables.append(table_of(variable, parents, numbers))
            case "decision":
                known[variable] = parents
            case _:
                payoffs.append(Payoff(name, parents, numbers))
    ours = [variable for name, variable in variables.items() if kinds[name] != "utility"]
    return Diagram(ours, tables, known, payoffs, _notes(network))


def _xdsl(root: Element) -> Diagram:
    nodes = root.find("nodes")
    if nodes is None:
        raise BadNetwork("there are no nodes in this file", "")
    variables: dict[str, NetworkVariable] = {}
    for node in nodes:
        name = node.get("id", "")
        if node.tag in ("cpt", "decision", "deterministic"):
            values = tuple(state.get("id", "") for state in node.iter("state"))
            variables[name] = NetworkVariable(name, values)
        elif node.tag != "utility" and not callable(node.tag):
            raise BadNetwork(f"{name}: nodes of the kind {node.tag} have no counterpart", name)
    tables, known, payoffs = [], {}, []
    for node in nodes:
        name = node.get("id", "")
        parents = tuple(_variable(variables, one, name) for one in _text(node, "parents").split())
        match node.tag:
            case "decision":
                known[variables[name]] = parents
            case "utility":
                payoffs.append(Payoff(name, parents, _text(node, "utilities").split()))
            case "cpt":
                numbers = _text(node, "probabilities").split()
                tables.append(table_of(variables[name], parents, numbers))
            case "deterministic":
                states = _text(node, "resultingstates").split()
                shares = [str(int(v == s)) for s in states for v in variables[name].values]
                tables.append(table_of(variables[name], parents, shares))
    return Diagram(list(variables.values()), tables, known, payoffs, _notes(nodes))
