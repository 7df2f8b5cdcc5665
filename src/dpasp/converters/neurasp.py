r"""NeurASP: rules that name a network become neural predicates.

NeurASP's ``digit(0,i1,7)`` (output 0 of the network for ``i1`` is 7) is our ``digit(i1,7)``, or
``digit(i1,7,0)`` for a network with several outputs. Facts about a network's inputs become data
statements; the data itself has to come from Python.

>>> text = "img(i1).\nnn(digit(1,X),[0,1,2]) :- img(X).\ntwo :- digit(0,i1,2)."
>>> print(converted(text, "<text>"))
% converted from NeurASP
#semantics stable, maxent.
% From a #python block, ... the network digit; the data i1_test, i1_train.
<BLANKLINE>
img(i1) ~ test(@i1_test), train(@i1_train).
?::digit(X,{0..2}) as @digit :- img(X).
two :- digit(i1,2).
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Sequence

from dpasp.converters.text import (
    Statement,
    atoms,
    checked_text,
    head_and_body,
    heading,
    inside,
    rewritten,
    separated,
    slug,
    statements,
    unused_name,
    values_text,
)
from dpasp.dataclass import dataclass
from dpasp.language.text import SourceFile

FORM = "it has the form nn(name(outputs, term), [values]) :- body."
TWO = "% In NeurASP {} gives the probability of its first value only; here it gives both."
OPEN_CODES = frozenset({"unknown-function"})  # networks and data come from Python later


@dataclass(frozen=True, slots=True)
class NetworkAtom:
    """A network as an ``nn`` rule declares it."""

    name: str
    outputs: int
    term: str
    values: str
    is_binary: bool  # whether there are two values
    body: str
    sees: str  # predicate of its inputs
    alone: bool  # whether its input is the term itself


def converted(text: str, file: str) -> str:
    read = statements(text, file)
    used = {word.text for statement in read for word in statement.words}
    declared = [(one, _network(one, used)) for one in read if one.begins("nn", "(")]
    networks: dict[str, NetworkAtom] = {}
    for statement, network in declared:
        if networks.setdefault(network.name, network) != network:
            raise statement.refuse(f"{network.name} is declared differently above", FORM)
    seen = {network.sees for network in networks.values() if not network.alone}
    data: list[str] = []  # names of objects that Python must supply
    body = rewritten(text, read, lambda one: _rewrite(one, dict(declared), networks, seen, data))
    supplied = {_input(statement, seen) for statement in read}
    for statement, network in declared:
        if network.sees not in supplied and not network.alone:
            message = f"no facts of {network.sees} say what the network sees"
            raise statement.refuse(message, "write them as facts, one for each input")
    notes = ["#semantics stable, maxent.", needs_comment(list(networks), data)]
    notes += [TWO.format(network.name) for network in networks.values() if network.is_binary]
    head = heading("NeurASP", file, *notes)
    return checked_text(head, body, "", SourceFile(file, text), OPEN_CODES)


def needs_comment(networks: Sequence[str], data: Sequence[str]) -> str:
    """A comment that lists what the program needs from Python."""
    plural = "s" if len(networks) > 1 else ""
    return (
        "% From a #python block, or from dpasp.load(…, networks=…, data=…):"
        f" the network{plural} {', '.join(networks)}; the data {', '.join(data)}."
    )


def _network(statement: Statement, used: set[str]) -> NetworkAtom:
    head, body = head_and_body(statement)
    about, values = ([*separated(inside(head, 1), ","), [], []])[:2]
    if len(about) < 4 or not values or values[0].text != "[":
        raise statement.refuse("this network cannot be read", FORM)
    outputs, term = ([*separated(inside(about, 1), ","), [], []])[:2]
    if len(outputs) != 1 or not outputs[0].text.isdigit() or not term:
        raise statement.refuse("this network cannot be read", FORM)
    if not body and any(word.kind == "variable" for word in term):
        raise statement.refuse("nothing says what the input of the network is", FORM, term[0])
    listed = [statement.slice(value) for value in separated(inside(values, 0), ",")]
    name, sees = about[0].text, unused_name(f"{about[0].text}_input", used)
    return NetworkAtom(
        name,
        int(outputs[0].text),
        statement.slice(term),
        values_text(listed),
        len(listed) == 2,
        statement.slice(body) if body else f"{sees}({statement.slice(term)})",
        body[0].text if body else sees,
        not body,
    )


def _rewrite(
    statement: Statement,
    declared: dict[Statement, NetworkAtom],
    networks: dict[str, NetworkAtom],
    seen: set[str],
    data: list[str],
) -> str | None:
    if statement in declared:
        network = declared[statement]
        several = f"; {{0..{network.outputs - 1}}}" if network.outputs > 1 else ""
        head = f"{network.name}({network.term},{network.values}{several})"
        rule = f"?::{head} as @{network.name} :- {network.body}."
        if not network.alone:
            return rule
        facts = f"{data_statement(network.sees, network.term, data)} "
        return f"{facts}{rule}"
    if name := _input(statement, seen):
        terms = separated(inside(statement.words, 1), ";")
        for term in terms:
            if any(word.text == ".." or word.kind == "variable" for word in term):
                raise statement.refuse("name each input of a network separately", at=term[0])
        return " ".join(data_statement(name, statement.slice(term), data) for term in terms)
    return _with_our_atoms(statement, networks)


def _input(statement: Statement, seen: set[str]) -> str:
    """The predicate of a fact about a network's inputs; empty for other statements."""
    head, body = head_and_body(statement)
    is_input = not body and len(head) > 1 and head[0].text in seen and head[1].text == "("
    return head[0].text if is_input else ""


def data_statement(name: str, term: str, data: list[str]) -> str:
    """The data statement of an input; adds the names of its data to ``data``."""
    source = slug(term)
    data += [f"{source}_test", f"{source}_train"]
    return f"{name}({term}) ~ test(@{source}_test), train(@{source}_train)."


def _with_our_atoms(statement: Statement, networks: dict[str, NetworkAtom]) -> str | None:
    """A statement with the arguments of network atoms in our order."""
    words, edits = statement.words, []
    for network in networks.values():
        for start, end in atoms(words, network.name):
            args = [statement.slice(arg) for arg in separated(words[start + 2 : end], ",")]
            if len(args) != 3:
                continue  # another predicate of that name
            if network.outputs == 1 and args[0] != "0":
                message = f"the only output of {network.name} is 0, not {args[0]}"
                raise statement.refuse(message, f"write {network.name}(0,x,v)", words[start])
            output = f",{args[0]}" if network.outputs > 1 else ""
            new = f"{network.name}({args[1]},{args[2]}{output})"
            edits.append((words[start], words[end], new))
    if not edits:
        return None
    parts, at = [], statement.start
    for first, last, new in sorted(edits, key=lambda edit: edit[0].start):
        parts += [statement.source.text[at : first.start], new]
        at = last.end
    return "".join([*parts, statement.source.text[at : statement.end]])
