"""ProbLog's own grounder: the ground program for the queries, in our language.

It runs in a separate process (:func:`serve`), under limits, where a program may print. ProbLog
returns a graph of choices, conjunctions and disjunctions; each node that is more than an
intermediate step becomes an atom, with its name in the program if it has one.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from dpasp.converters import TEXT, TUNING
from dpasp.converters.problog.rules import (
    FALSE,
    SEMANTICS,
    Head,
    Literal,
    PrologNames,
    Rule,
    atom_text,
    goal_text,
    rule_text,
)
from dpasp.converters.prolog import Compound, Number, Term, Text
from dpasp.converters.text import LaidOut, checked_text, heading
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, UsageError
from dpasp.language.text import SourceFile
from dpasp.limits import Limits

INSTALL = "pip install 'dpasp[problog]'"
MADE = "% ground by ProbLog for its queries and evidence; nothing else of the program is in here"
PYTHON = "Python files of a program run only if you say so: add --python (python=True)"


def installed() -> bool:
    from importlib.util import find_spec

    return find_spec("problog") is not None


def ground_program(text: str, file: str, python: bool, limits: Limits) -> str:
    """ProbLog's ground program for a text, in our language."""
    from dpasp.limits.work import in_process

    if not installed():
        message = "ProbLog's grounder is not installed"
        raise UsageError.at("problog-missing", message, help=INSTALL)
    asked = {"text": text, "file": None if file == TEXT else file, "python": python}
    code = f"from {__name__} import serve; serve()"
    watch = replace(limits, seconds=limits.seconds or TUNING.ground_seconds).start()
    answer = in_process([sys.executable, "-P", "-c", code], json.dumps(asked).encode(), watch)
    if not answer:  # killed, most likely because of its memory
        raise watch.out_of_memory()
    found = json.loads(answer)
    source = SourceFile(file, text)
    if "message" in found:
        raise ProgramError(_problem(found, source))
    head = heading("ProbLog", file, MADE, SEMANTICS)
    lines: list[str] = found["lines"]
    body = LaidOut("".join(f"{line}\n" for line in lines), ((0, 0),) * len(lines))
    return checked_text(head, body, "", source)


def _problem(found: dict[str, Any], source: SourceFile) -> Diagnostic:
    """ProbLog's error, at its place."""
    span = None
    if found["line"] is not None:
        before = source.text.split("\n")[: found["line"] - 1]
        at = sum(len(line) + 1 for line in before) + max(0, found["column"] - 1)
        if at < len(source.text):
            span = source.span(at, at + 1)
    return Diagnostic("problog", found["message"], span, found["help"])


# --- in a process of its own ----------------------------------------------------------------------


def serve() -> None:
    """Read a request from standard input and write the ground program, both as JSON."""
    from dpasp.limits.work import end_with_parent

    answers = os.dup(1)
    os.dup2(2, 1)  # what the program prints is not an answer
    warnings.simplefilter("ignore")  # ProbLog's own
    asked = json.load(sys.stdin)
    end_with_parent(0.05)
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = int(TUNING.ground_megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    try:
        found: dict[str, Any] = {"lines": ground_lines(**asked)}
    except NotGround as error:
        found = error.found
    except (MemoryError, RecursionError):
        found = NotGround("ProbLog ran out of memory").found
    answer = memoryview(json.dumps(found).encode())
    while answer:
        answer = answer[os.write(answers, answer) :]
    sys.stderr.flush()
    os._exit(0)


class NotGround(Exception):
    """ProbLog does not ground the program."""

    def __init__(self, message: str, location: object = None, help: str = "") -> None:
        super().__init__(message)
        place = location if isinstance(location, tuple) and len(location) == 3 else (None,) * 3
        where = {"line": place[1], "column": place[2]}
        self.found: dict[str, Any] = {"message": message, "help": help, **where}


def ground_lines(text: str, file: str | None, python: bool) -> list[str]:
    from problog.errors import ProbLogError

    try:
        formula = _formula(text, file, python)
    except ProbLogError as error:
        said = getattr(error, "base_message", None) or str(error)
        place = error.location
        if isinstance(place, tuple) and place[0] not in (None, file and os.path.abspath(file)):
            said, place = str(error), None  # in another file
        help = _with_its_evidence(text, file, python)
        raise NotGround(f"ProbLog: {said}", place, help) from error
    except (NotGround, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever ProbLog, or a library of the program, raises
        raise NotGround(f"ProbLog: {type(error).__name__}: {error}") from error
    return _Writer(formula).lines()


def _with_its_evidence(text: str, file: str | None, python: bool) -> str:
    """The error for a program that ProbLog did not ground: whether ProbLog answers it.

    In that case it omits what the evidence excludes, perhaps the clause where it stopped.
    """
    from problog.errors import ProbLogError

    try:
        _formula(text, file, python, propagate_evidence=True)
    except ProbLogError:
        return "ProbLog itself refuses this program"
    return (
        "ProbLog itself answers, since it leaves out what the evidence excludes; here that is "
        "ground too, so add a goal that says which values the variables have"
    )


def _formula(text: str, file: str | None, python: bool, **more: bool) -> Any:
    from problog import library_paths
    from problog.clausedb import ClauseDB
    from problog.formula import LogicFormula
    from problog.program import DefaultPrologParser, ExtendedPrologFactory, PrologString

    load = ClauseDB.load_external_module

    def allowed(database: Any, filename: str) -> Any:
        """Load a Python library: ProbLog's own, or any if Python may run."""
        folders = [os.path.realpath(path) + os.sep for path in library_paths]
        if not python and not os.path.realpath(filename).startswith(tuple(folders)):
            raise NotGround(f"the program loads {os.path.basename(filename)}", None, PYTHON)
        return load(database, filename)

    model = PrologString(
        text,
        parser=DefaultPrologParser(ExtendedPrologFactory()),
        source_root="." if file is None else os.path.dirname(file),
        source_files=[None if file is None else os.path.abspath(file)],
    )
    keep = {"label_all": True, "avoid_name_clash": True, "keep_order": True}
    try:
        ClauseDB.load_external_module = allowed
        return LogicFormula.create_from(model, **keep, **more)
    finally:
        ClauseDB.load_external_module = load


# --- terms ----------------------------------------------------------------------------------------

OPERATORS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "over",
    ":": "colon",
    ",": "and",
    ";": "or",
    "=": "equal",
    "\\+": "not_",
    "<": "less",
    ">": "greater",
}


def our_term(term: Any) -> Term:
    """A ground term of ProbLog's in our language: a list is a tuple."""
    if term is None or isinstance(term, int) or term.is_var():
        return Text("_")
    if term.is_constant():
        value = term.functor
        if isinstance(value, int) and abs(value) < 2**31:
            return Number(str(value))
        if isinstance(value, str) and value[:1] == value[-1:] == '"':
            value = value[1:-1]
        return Text(str(value))
    name = str(term.functor)
    if name == "[]" and not term.args:
        return Compound("", ())
    if name == "." and len(term.args) == 2:
        items = []
        while not (term is None or isinstance(term, int)) and term.functor == "." and term.args:
            items.append(our_term(term.args[0]))
            term = term.args[1]
        if str(term) != "[]":
            items += [Text("|"), our_term(term)]
        return Compound("", tuple(items))
    args = tuple(map(our_term, term.args))
    if len(name) > 1 and name[0] == name[-1] == "'":
        name = name[1:-1].replace("\\'", "'")
    if name == "-" and len(args) == 2:
        return Compound("", args)
    if args and not any(letter.isalnum() for letter in name):
        name = OPERATORS.get(name, "op")
    return Compound(name, args)


# --- the program ----------------------------------------------------------------------------------

PART = Compound("part")  # a node without a name
Key = int  # of a node; negative for its negation
TRUE: Key = 0


@dataclass(slots=True)
class _Node:
    """A value of a choice, or the conjunction or disjunction of other nodes."""

    kind: str  # atom, conj or disj
    children: tuple[Key, ...]
    name: Any  # ProbLog's term, if the program has one for it
    probability: float = 1.0
    group: Any = None  # of the values of one choice
    users: list[Key] = field(default_factory=list)  # negative if they negate it


class _Writer:
    """Writes ProbLog's graph as rules."""

    def __init__(self, formula: Any) -> None:
        self.queries: list[tuple[Any, Key | None]] = list(formula.queries())
        self.evidence: list[tuple[Any, Key | None]] = list(formula.evidence())
        if not self.queries:
            help = "add query(…): ProbLog grounds what is asked"
            raise NotGround("nothing is asked", None, help)
        for constraint in formula.constraints():
            if type(constraint).__name__ != "ConstraintAD":
                raise NotGround("a constraint of ProbLog's has no counterpart")
        asked = [*self.queries, *self.evidence]
        roots = [abs(key) for _, key in asked if key]
        self.nodes = _read(formula, roots)
        self.stands: dict[Key, Key] = {}  # for a node that needs no atom of its own
        self._collapse()
        self.roots = {abs(self.ref(key)) for key in roots}
        self._find_users()
        self.taken: set[str] = set()
        self._name([(name, key) for name, key in map(_positive, asked) if key])

    def ref(self, key: Key) -> Key:
        """The node that stands for another, with its sign; TRUE if it always holds."""
        while abs(key) in self.stands:
            other = self.stands[abs(key)]
            key = other if key > 0 else -other
        return key

    def _collapse(self) -> None:
        """Merge nodes with one child, and nodes with the same children."""
        before = -1
        while len(self.stands) > before:
            before = len(self.stands)
            seen: dict[object, Key] = {}
            for key, node in self.nodes.items():
                if node.kind == "atom" or key in self.stands:
                    continue
                node.children = tuple(dict.fromkeys(map(self.ref, node.children)))
                if len(node.children) == 1:
                    (other,) = node.children
                else:
                    other = seen.setdefault((node.kind, frozenset(node.children)), key)
                self._merge(key, other)

    def _merge(self, key: Key, other: Key) -> None:
        """Merge a node into another, which takes over its name, unless the two names differ."""
        node = self.nodes[key]
        if abs(other) == key or other == TRUE or (other < 0 and node.name is not None):
            return
        if other > 0:
            name = self.nodes[other].name
            if node.name is not None and name is not None and str(name) != str(node.name):
                return
            self.nodes[other].name = name if name is not None else node.name
        self.stands[key] = other

    def _find_users(self) -> None:
        """Keep the used nodes, and record their users."""
        live: dict[Key, _Node] = {}
        todo = sorted(self.roots)
        while todo:
            key = todo.pop()
            if key in live:
                continue
            node = live[key] = self.nodes[key]
            node.children = tuple(dict.fromkeys(map(self.ref, node.children)))
            for child in filter(None, node.children):
                self.nodes[abs(child)].users.append(key if child > 0 else -key)
                todo.append(abs(child))
        self.nodes = dict(sorted(live.items()))

    # names

    def _name(self, asked: list[tuple[Any, Key]]) -> None:
        """Give each node an atom, beginning with the queries."""
        wanted: dict[Key, Term] = {}
        for name, key in asked:
            if (stands := self.ref(key)) > 0:
                wanted.setdefault(stands, our_term(name))
        for key, node in self.nodes.items():
            wanted.setdefault(key, PART if node.name is None else our_term(node.name))
        self.names = PrologNames([*wanted.values(), *(our_term(name) for name, _ in asked)])
        self.atoms: dict[Key, Compound] = {k: self._unused(term) for k, term in wanted.items()}

    def _unused(self, term: Term) -> Compound:
        """The term as an atom that no other node has."""
        atom = term if isinstance(term, Compound) and term.name else Compound(PART.name, (term,))
        name, number = atom.name, 2
        while (text := atom_text(atom, self.names)) in self.taken:
            atom = replace(atom, name=f"{self.names.functor(name)}_{number}")
            number += 1
        self.taken.add(text)
        return atom

    # rules

    def lines(self) -> list[str]:
        """The statements: choices and rules, queries, evidence."""
        rules, asked = list(self._rules()), []
        for query in self.queries:
            atom, more = self._asked(*_positive(query))
            rules += more
            literal = Literal(atom, query[0].is_negated())
            asked.append(f"#query {goal_text(literal, self.names)}.")
        for name, key in self.evidence:
            if key is None:  # it is impossible
                atom, more = self._asked(*_positive((name, key)))
                rules += more
                literal = Literal(atom)
            elif key != TRUE:
                literal = self._literal(key)
            else:
                continue
            asked.append(f"#evidence {goal_text(literal, self.names)}.")
        texts = [rule_text(rule, self.names) for rule in rules]
        return [*(line for text in texts for line in text.split("\n")), "", *dict.fromkeys(asked)]

    def _asked(self, name: Any, key: Key | None) -> tuple[Compound, list[Rule]]:
        """The atom of a query, and a rule for it if no node has its name."""
        term = our_term(name)
        text = atom_text(term, self.names)
        if key and self.ref(key) > 0 and atom_text(self.atoms[self.ref(key)], self.names) == text:
            return self.atoms[self.ref(key)], []
        atom = self._unused(term)
        if key is None:
            return atom, [Rule((Head(atom),), (Literal(FALSE),))]
        return atom, [Rule((Head(atom),), () if key == TRUE else (self._literal(key),))]

    def _literal(self, key: Key) -> Literal:
        key = self.ref(key)
        return Literal(self.atoms[abs(key)], key < 0)

    def _rules(self) -> Iterator[Rule]:
        """The rules, each in the place of the first node that it is about."""
        groups: defaultdict[object, list[Key]] = defaultdict(list)
        for key, node in self.nodes.items():
            if node.kind == "atom":
                groups[key if node.group is None else ("group", node.group)].append(key)
        choices = {members[0]: members for members in groups.values()}
        written: set[tuple[Key, Key]] = set()  # children that a choice with a body stands for
        statements = {first: self._choice(keys, written) for first, keys in choices.items()}
        for key, node in self.nodes.items():
            if key in statements:
                yield statements[key]
            elif node.kind == "disj":
                for child in node.children:
                    if (key, child) not in written:
                        yield Rule((Head(self.atoms[key]),), self._body(child))
            elif node.kind == "conj" and not self._is_inside(key) and (key, key) not in written:
                yield Rule((Head(self.atoms[key]),), self._literals(key))

    def _is_inside(self, key: Key) -> bool:
        """Whether a conjunction is only a part of one body."""
        node = self.nodes[key]
        alone = node.name is None and key not in self.roots
        return node.kind == "conj" and alone and len(node.users) == 1 and node.users[0] > 0

    def _body(self, child: Key) -> tuple[Literal, ...]:
        """A child of a disjunction as a body."""
        if child == TRUE:
            return ()
        inside = child > 0 and self._is_inside(child)
        return self._literals(child) if inside else (self._literal(child),)

    def _literals(self, key: Key) -> tuple[Literal, ...]:
        return tuple(map(self._literal, self._members(key)))

    def _members(self, key: Key) -> tuple[Key, ...]:
        """The nodes of a conjunction, with those of its inner ones."""
        found: list[Key] = []
        todo = [*reversed(self.nodes[key].children)]
        while todo:
            child = todo.pop()
            if child > 0 and self._is_inside(child):
                todo += reversed(self.nodes[child].children)
            else:
                found.append(child)
        return tuple(dict.fromkeys(found))

    def _choice(self, values: list[Key], written: set[tuple[Key, Key]]) -> Rule:
        """The choice among some nodes, with their common body, if any."""
        places = [self._place(key, written) for key in values]
        if len({body for _, body, _ in places}) > 1:
            places = [(key, (), None) for key in values]
        written.update(mark for _, _, mark in places if mark is not None)
        heads = []
        for key, (head, _, _) in zip(values, places, strict=True):
            probability = self.nodes[key].probability
            certain = len(values) == 1 and probability == 1
            heads.append(Head(self.atoms[head], None if certain else Number(repr(probability))))
        return Rule(tuple(heads), tuple(map(self._literal, places[0][1])))

    def _place(
        self, key: Key, written: set[tuple[Key, Key]]
    ) -> tuple[Key, tuple[Key, ...], tuple[Key, Key] | None]:
        """The node that a value makes true, those combined with it, and the place."""
        here = (key, (), None)
        node = self.nodes[key]
        if key in self.roots or len(node.users) != 1 or node.users[0] < 0:
            return here
        above = node.users[0]
        user = self.nodes[above]
        if node.name is not None and str(node.name) != str(user.name):
            return here
        if user.kind == "disj":
            return (above, (), (above, key))
        body = tuple(other for other in self._members(above) if other != key)
        head = user.users[0] if self._is_inside(above) else above
        if (self.nodes[head].kind != "disj" and head != above) or (head, above) in written:
            return here
        return (head, body, (head, above))


def _positive(asked: tuple[Any, Key | None]) -> tuple[Any, Key | None]:
    """An atom and its node, of a query that may be negated."""
    name, key = asked
    if not name.is_negated():
        return name, key
    return -name, TRUE if key is None else None if key == TRUE else -key


def _read(formula: Any, roots: list[Key]) -> dict[Key, _Node]:
    """The nodes below some others."""
    nodes: dict[Key, _Node] = {}
    todo = sorted(set(roots))
    while todo:
        key = todo.pop()
        if key in nodes:
            continue
        node = formula.get_node(key)
        kind = type(node).__name__
        name = _name(node.name, kind, getattr(node, "group", None))
        if kind == "atom":
            nodes[key] = _Node(kind, (), name, _probability(node), node.group)
        else:
            children = (TRUE,) if TRUE in node.children else tuple(node.children)
            nodes[key] = _Node(kind, children, name)
            todo += map(abs, filter(None, node.children))
    return dict(sorted(nodes.items()))


def _name(name: Any, kind: str, group: object) -> Any:
    """The name of a node in the program; None for what ProbLog made on the way."""
    if name is None or name.is_negated():
        return None
    functor = str(name.functor)
    choice = kind == "atom" and group is not None and functor == "choice"
    body = functor.startswith("body_") and functor[5:].isdigit() and len(name.args) > 1
    return None if choice or body else name


def _probability(node: Any) -> float:
    try:
        return float(node.probability)
    except (TypeError, ValueError, ArithmeticError):
        help = "decisions and parameters are translated rule by rule only"
        raise NotGround(f"{node.probability} is not a probability", None, help) from None
