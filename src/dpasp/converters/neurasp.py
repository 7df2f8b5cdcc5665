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

from collections.abc import Iterator, Sequence

from dpasp.converters import title
from dpasp.converters.clingo_syntax import (
    Statement,
    atoms,
    head_and_body,
    inside,
    rewritten,
    separated,
    statements,
)
from dpasp.converters.output import checked_text
from dpasp.converters.rules import slug, values_text
from dpasp.dataclass import dataclass
from dpasp.language.text import SourceFile, Token

OPEN_CODES = frozenset({"unknown-function"})  # networks and data come from Python later


@dataclass(frozen=True, slots=True)
class NetworkAtom:
    """A network as an ``nn`` rule declares it."""

    name: str
    outputs: int
    term: str
    values: str
    body: str
    sees: str  # predicate of its inputs


@dataclass(slots=True)
class _Program:
    """State while a program is rewritten."""

    networks: dict[str, NetworkAtom]
    data: list[str]  # names of the data to be supplied from Python


def converted(text: str, file: str) -> str:
    """Convert a NeurASP program."""
    read = statements(text, file)
    networks = [_network(statement) for statement in read if statement.begins("nn", "(")]
    program = _Program({network.name: network for network in networks}, [])
    body = rewritten(text, read, lambda statement: _rewrite(statement, program))
    seen = {network.sees for network in networks}
    supplied = {word for statement in read for word in _seen(statement, seen)}
    for statement in read:
        if statement.begins("nn", "(") and _network(statement).sees not in supplied:
            message = f"no facts of {_network(statement).sees} say what the network sees"
            raise statement.refuse(message, "write them as facts, one for each input")
    lines = [title("NeurASP", file).rstrip(), "#semantics stable, maxent."]
    lines.append(needs_comment(list(program.networks), program.data))
    return checked_text("\n".join([*lines, "", ""]), body, "", SourceFile(file, text), OPEN_CODES)


def needs_comment(networks: Sequence[str], data: Sequence[str]) -> str:
    """A comment that lists what the program needs from Python."""
    plural = "s" if len(networks) > 1 else ""
    return (
        "% From a #python block, or from dpasp.load(…, networks=…, data=…):"
        f" the network{plural} {', '.join(networks)}; the data {', '.join(data)}."
    )


def _network(statement: Statement) -> NetworkAtom:
    head, body = head_and_body(statement)
    about, values = ([*separated(inside(head, 1), ","), [], []])[:2]
    if len(about) < 4 or not values or values[0].text != "[":
        help = "it has the form nn(name(outputs, term), [values]) :- body."
        raise statement.refuse("this network cannot be read", help)
    outputs, term = ([*separated(inside(about, 1), ","), [], []])[:2]
    if len(outputs) != 1 or not outputs[0].text.isdigit() or not body:
        help = "it has the form nn(name(outputs, term), [values]) :- body."
        raise statement.refuse("this network cannot be read", help)
    listed = [statement.slice(value) for value in separated(inside(values, 0), ",")]
    return NetworkAtom(
        about[0].text,
        int(outputs[0].text),
        statement.slice(term),
        values_text(listed),
        statement.slice(body),
        body[0].text,
    )


def _rewrite(statement: Statement, program: _Program) -> str | None:
    if statement.begins("nn", "("):
        shared = program.networks[_network(statement).name]
        several = f"; {{0..{shared.outputs - 1}}}" if shared.outputs > 1 else ""
        head = f"{shared.name}({shared.term},{shared.values}{several})"
        return f"?::{head} as @{shared.name} :- {shared.body}."
    sees = {network.sees for network in program.networks.values()}
    if list(_seen(statement, sees)):
        return " ".join(_data(statement, program))
    return _with_our_atoms(statement, program)


def _seen(statement: Statement, sees: set[str]) -> Iterator[str]:
    """The predicate of a statement that is a fact about a network's inputs."""
    head, body = head_and_body(statement)
    if not body and len(head) > 1 and head[0].text in sees and head[1].text == "(":
        yield head[0].text


def _data(statement: Statement, program: _Program) -> Iterator[str]:
    """An input fact as data statements, one for each term of a pool."""
    head, _ = head_and_body(statement)
    for term in separated(inside(head, 1), ";"):
        text = statement.slice(term)
        if any(word.text == ".." or word.kind == "variable" for word in term):
            raise statement.refuse("name each input of a network by itself", at=term[0])
        name = slug(text)
        program.data += [f"{name}_test", f"{name}_train"]
        yield f"{head[0].text}({text}) ~ test(@{name}_test), train(@{name}_train)."


def _with_our_atoms(statement: Statement, program: _Program) -> str | None:
    """A statement with the arguments of network atoms in our order."""
    words, edits = statement.words, []
    for network in program.networks.values():
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
    return _edited(statement, sorted(edits, key=lambda edit: edit[0].start))


def _edited(statement: Statement, edits: Sequence[tuple[Token, Token, str]]) -> str | None:
    if not edits:
        return None
    parts, at = [], statement.start
    for first, last, new in edits:
        parts += [statement.source.text[at : first.start], new]
        at = last.end
    return "".join([*parts, statement.source.text[at : statement.end]])
