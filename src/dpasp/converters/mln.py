"""Markov logic: weighted first-order formulas over finite domains, as Alchemy writes them.

Each atom is a free choice. A formula with weight w is a factor exp(w) for each grounding in which
it holds or, if that is simpler, exp(−w) for each in which it does not; a final factor compensates
for the difference.

>>> print(converted("p = {A, B}\\nS(p)\\nC(p)\\n1.5 S(x) => C(x)\\nS(A) v S(B).", "<text>"))
% converted from Markov logic
#semantics stable, weighted.
<BLANKLINE>
p(a; b).
{s(P1)} :- p(P1).
{c(P1)} :- p(P1).
#factor exp(-(1.5)) : p(X), s(X), not c(X).
:- not s(a), not s(b).
<BLANKLINE>
% The formulas above count where they fail; this is what they weigh where all hold.
#factor exp(3.0) : #true.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import fsum, isinf, prod
from pathlib import Path

from dpasp.converters import TUNING
from dpasp.converters.text import (
    LaidOut,
    NewPiece,
    Reader,
    Word,
    checked_text,
    comment,
    heading,
    is_name,
    laid_out,
    unused_name,
    words_of,
)
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text import SourceFile
from dpasp.language.text.source import load_text
from dpasp.writing import counted

_TOKEN = re.compile(
    r"\s+|(?P<string>\"[^\"\\\n]*\")|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<dots>\.\.\.)|(?P<sign><=>|=>|!=|[-!^=(){},.+])|(?P<word>[A-Za-z_]\w*)|(?P<bad>.)",
    re.ASCII,
)
_COMMENT = re.compile(r"\"[^\"\n]*\"|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)
_TYPES = re.compile(r"[a-z]\w* (?:! )?(?:, [a-z]\w* (?:! )?)*", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,9}")
QUANTIFIERS = {"EXIST", "FORALL", "Exist", "Forall", "exist", "forall"}
CONNECTIVES = (("<=>", False), ("=>", False), ("v", True), ("^", True))  # whether they chain
FORMULA = "a formula has a weight in front of it (1.5 P(x) => Q(x)), or a dot at its end (P(x).)"
UNIVERSAL = (
    "a variable without a quantifier has a factor for each of its values; "
    "for a single factor, define a predicate by a hard formula (with <=>)"
)


@dataclass(frozen=True, slots=True)
class _Formula:
    """An atom (with its arguments), ``=``, or a connective of other formulas.

    A quantifier is ``exist`` or ``forall``, with the variables in ``args``.
    """

    kind: str  # atom, =, !, ^, v, exist, forall
    name: str = ""
    args: tuple[str, ...] = ()
    parts: tuple[_Formula, ...] = ()


Literal = tuple[str, bool]  # the text of an atom or a comparison, and whether it must hold
Ways = list[dict[str, bool]]  # a disjunction of conjunctions of literals


def converted(text: str, file: str, evidence: str | Path | None = None) -> str:
    """Convert a Markov logic network, with the evidence of a ``.db`` file."""
    network = _Network(SourceFile(file, text))
    observed = None
    if evidence is not None:
        path = Path(evidence)
        observed = _Network(SourceFile(str(path), load_text(path)))
    network.read(observed)
    body = network.written()
    foot = network.foot()
    if observed is not None:
        foot += network.observed(observed)
    head = heading("Markov logic", file, "#semantics stable, weighted.")
    return checked_text(head, body, foot, network.source)


@dataclass(slots=True)
class _Line:
    """A line of the file, and its kind."""

    words: list[Word]
    weight: float | None = None
    weight_text: str = ""
    formula: _Formula | None = None
    declares: str = ""  # a domain or a predicate
    types: dict[str, str] = field(default_factory=dict)  # of the variables


class _Network:
    """Domains, predicates and formulas of a file."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.comments = [
            (m.start(), m.end()) for m in _COMMENT.finditer(source.text) if m["comment"]
        ]
        self.domains: dict[str, list[str]] = {}
        self.places: dict[str, Word] = {}  # of domains
        self.declared: set[str] = set()  # domains with all of their constants listed
        self.predicates: dict[str, list[tuple[str, bool]]] = {}  # types; whether one value holds
        self.lines: list[_Line] = []
        self.names: dict[str, str] = {}  # of predicates and domains
        self.constants: dict[str, str] = {}
        self.helpers = 0
        self.scale: list[float] = []

    # --- reading ------------------------------------------------------------------------------

    def read(self, observed: _Network | None) -> None:
        problems: list[Diagnostic] = []
        for words in self.cut():
            line = _Line(words)
            try:
                self.declaration(line)
            except ProgramError as error:
                problems += error.diagnostics
                continue
            self.lines.append(line)
        for line in self.lines:
            try:
                if not line.declares:
                    self.formula(line)
            except ProgramError as error:
                problems += error.diagnostics
        if problems:
            raise ProgramError(problems)
        if not self.lines:
            raise ProgramError.at("foreign-syntax", "there is no formula in this file")
        if observed is not None:
            observed.predicates, observed.domains = self.predicates, self.domains
            observed.declared = self.declared
            for words in observed.cut():
                line = _Line(words)
                observed.observation(line)
                observed.lines.append(line)
        for name, constants in self.domains.items():
            if not constants:
                message = f"the type {name} has no constants"
                raise self.refuse(message, self.places[name], f"write {name} = {{A, B}}")
        self.rename()

    def cut(self) -> Iterator[list[Word]]:
        """The words of each line that has some."""
        text = self.source.text
        for start, end in self.comments:
            blank = re.sub(r"[^\n]", " ", text[start:end])
            text = text[:start] + blank + text[end:]
        start = 0
        for row in text.split("\n"):
            if words := words_of(_TOKEN, row, start):
                yield words
            start += len(row) + 1

    def declaration(self, line: _Line) -> None:
        """Read a domain or the types of a predicate, if the line is one."""
        words = line.words
        texts = [word.text for word in words]
        if texts[0] == "#":
            raise self.refuse("another file or a directive has no counterpart", words[0])
        if len(texts) > 2 and words[0].kind == "word" and texts[1:3] == ["=", "{"]:
            self.domain(line)
            return
        if words[0].kind != "word" or texts[0] in QUANTIFIERS:
            return
        inner = texts[2:-1]
        if texts[1:] not in ([], ["(", ")"]):  # it has arguments
            joined = "".join(f"{text} " for text in inner)
            if texts[1] != "(" or texts[-1] != ")" or not _TYPES.fullmatch(joined):
                return
        name, types = texts[0], list[tuple[str, bool]]()
        if name in self.predicates:
            raise self.refuse(f"{name} is declared above, and a formula needs a weight", words[0])
        for part in " ".join(inner).split(",") if inner else ():
            kind, *unique = part.split()
            types.append((kind, bool(unique)))
            self.domains.setdefault(kind, [])
            self.places.setdefault(kind, words[0])
        self.predicates[name], line.declares = types, name

    def domain(self, line: _Line) -> None:
        words = line.words
        name, values = words[0].text, words[3:-1]
        if words[-1].text != "}" or name in self.declared:
            twice = "is listed twice" if name in self.declared else "does not end with '}'"
            raise self.refuse(f"the type {name} {twice}", words[0])
        found: list[str] = []
        texts = [word.text for word in values]
        if len(texts) == 5 and texts[1:4] == [",", "...", ","]:
            ends = texts[0], texts[4]
            if not all(_INTEGER.fullmatch(end) for end in ends):
                raise self.refuse("a range goes from one whole number to another", values[0])
            found = [str(i) for i in range(int(ends[0]), int(ends[1]) + 1)]
        else:
            for i, word in enumerate(values):
                if (word.text == ",") != (i % 2 == 1) or (i + 1 == len(values) and i % 2):
                    raise self.refuse("constants have ',' between them", word)
                if i % 2 == 0:
                    found.append(self.constant(word))
        if len(set(found)) != len(found):
            raise self.refuse("a constant is listed twice", words[0])
        self.domains[name], line.declares = found, f"type {name}"
        self.places[name] = words[0]
        self.declared.add(name)

    def constant(self, word: Word) -> str:
        """A name with a capital, a whole number or a string."""
        capital = word.kind == "word" and word.text[0].isupper()
        whole = word.kind == "number" and _INTEGER.fullmatch(word.text)
        if not (capital or whole or word.kind == "string"):
            raise self.refuse("a constant begins with a capital letter", word)
        return str(int(word.text)) if whole else word.text

    def formula(self, line: _Line) -> None:
        words = line.words
        sign = 1 if words[0].text in ("-", "+") else 0
        weighted = len(words) > sign and words[sign].kind == "number"
        hard = words[-1].text == "."
        if weighted == hard or (sign and not weighted):
            message = "a formula with a weight and a dot" if hard and weighted else ""
            raise self.refuse(message or "a formula without a weight", words[0], FORMULA)
        if weighted:
            line.weight_text = "".join(word.text for word in words[: sign + 1]).lstrip("+")
            line.weight = float(line.weight_text)
            if isinf(line.weight):
                raise self.refuse("this weight is too large", words[sign], FORMULA)
        read = words[sign + 1 :] if weighted else words[:-1]
        if not read:
            raise self.refuse("there is no formula on this line", words[0], FORMULA)
        parser = _Parser(self, read)
        line.formula = parser.whole()
        line.types = parser.types
        if weighted and (place := _universal(line.formula, True)):
            raise self.refuse(f"{place} in a formula with a weight", words[sign + 1], UNIVERSAL)

    def observation(self, line: _Line) -> None:
        words = line.words
        negative = words[0].text == "!"
        parser = _Parser(self, words[negative:] or words)
        atom = parser.whole()
        if atom.kind != "atom" or parser.types:
            help = "evidence is one atom on a line: Smokes(Anna), or !Smokes(Anna)"
            raise self.refuse("this is not evidence", words[0], help)
        line.formula = _Formula("!", parts=(atom,)) if negative else atom

    def refuse(self, message: str, at: Word, help: str = "") -> ProgramError:
        span = self.source.span(at.start, at.end)
        return ProgramError.at("foreign-syntax", message, span, help)

    # --- writing ------------------------------------------------------------------------------

    def rename(self) -> None:
        """Rename predicates, types and constants to begin in lower case."""
        used: set[str] = set()
        for name in self.predicates:
            self.names[name] = _fresh(name, used)
        for name in self.domains:
            self.names[f"type {name}"] = _fresh(name, used)
        for name in ("violated", "some"):
            self.names[f"our {name}"] = _fresh(name, used)
        taken: set[str] = set()
        for constant in (c for constants in self.domains.values() for c in constants):
            if constant in self.constants:
                continue
            plain = constant[0] == '"' or constant.lstrip("-").isdigit()
            self.constants[constant] = constant if plain else _fresh(constant, taken)

    def written(self) -> LaidOut:
        texts = [(at, self.source.text[slice(*at)]) for at in self.comments]
        pieces = [comment(at, t if t.startswith("/*") else f"%{t[2:]}") for at, t in texts]
        done: set[str] = set()
        for i, line in enumerate(self.lines):
            at = (line.words[0].start, line.words[-1].end)
            if line.formula is None:
                rules = list(self.declared_rules(line.declares, done))
            else:
                rules = list(self.formula_rules(i + 1, line, line.formula))
            if rules:
                pieces.append(NewPiece(at, "\n".join(rules)))
        return laid_out(self.source.text, pieces)

    def declared_rules(self, name: str, done: set[str]) -> Iterator[str]:
        """The facts of a domain, or the choices of a predicate."""
        if name.startswith("type "):
            yield from self.domain_facts(name.removeprefix("type "), done)
            return
        types = self.predicates[name]
        for kind, _ in types:
            yield from self.domain_facts(kind, done)
        names = [f"{kind[0].upper()}{kind[1:]}{i + 1}" for i, (kind, _) in enumerate(types)]
        atom = self.atom_of(name, names)
        bound = [(v, kind) for v, (kind, unique) in zip(names, types, strict=True) if not unique]
        chosen = [(v, kind) for v, (kind, unique) in zip(names, types, strict=True) if unique]
        body = ", ".join(self.bound(bound))
        where = f" :- {body}." if body else "."
        if chosen:
            yield f"1 {{{atom} : {', '.join(self.bound(chosen))}}} 1{where}"
        else:
            yield f"{{{atom}}}{where}"

    def domain_facts(self, name: str, done: set[str]) -> Iterator[str]:
        if name not in done:
            done.add(name)
            values = "; ".join(self.constants[c] for c in self.domains[name])
            yield f"{self.names[f'type {name}']}({values})."

    def bound(self, variables: Iterable[tuple[str, str]]) -> list[str]:
        return [f"{self.names[f'type {kind}']}({name})" for name, kind in variables]

    def atom_of(self, name: str, args: Sequence[str]) -> str:
        return f"{self.names[name]}({','.join(args)})" if args else self.names[name]

    def term(self, name: str) -> str:
        return self.constants.get(name) or name[0].upper() + name[1:]

    def formula_rules(self, number: int, line: _Line, formula: _Formula) -> Iterator[str]:
        at = line.words[0]
        free = list(dict.fromkeys(_free(formula)))
        bound = self.bound((self.term(name), line.types[name]) for name in free)
        rules: list[str] = []
        fails = self.ways(formula, False, line.types, rules, at)
        if line.weight is None:
            yield from rules
            yield from (f":- {_body(bound, way)}." for way in fails)
            return
        holds = self.ways(formula, True, line.types, [], at) if not rules else []
        if len(holds) == 1:
            yield f"#factor exp({line.weight_text}) : {_body(bound, holds[0])}."
            return
        self.scale.append(line.weight * prod(len(self.domains[line.types[name]]) for name in free))
        yield from rules
        if len(fails) == 1:
            yield f"#factor exp(-({line.weight_text})) : {_body(bound, fails[0])}."
        elif fails:
            args = [str(number), *map(self.term, free)]
            mark = f"{self.names['our violated']}({','.join(args)})"
            yield from (f"{mark} :- {_body(bound, way)}." for way in fails)
            yield f"#factor exp(-({line.weight_text})) : {mark}."

    def ways(
        self, formula: _Formula, hold: bool, types: Mapping[str, str], rules: list[str], at: Word
    ) -> Ways:
        """The ways in which a formula holds (or fails); quantifiers get auxiliary atoms."""
        match formula.kind:
            case "!":
                return self.ways(formula.parts[0], not hold, types, rules, at)
            case "atom":
                args = [self.term(arg) for arg in formula.args]
                return [{self.atom_of(formula.name, args): hold}]
            case "=":
                left, right = map(self.term, formula.args)
                return [{f"={left}\0{right}": hold}]
            case "exist" | "forall":
                exists = formula.kind == "exist"
                inner = self.ways(formula.parts[0], exists, types, rules, at)
                self.helpers += 1
                free = dict.fromkeys(_free(formula))
                args = [str(self.helpers), *map(self.term, free)]
                mark = f"{self.names['our some']}({','.join(args)})"
                bound = self.bound((self.term(v), types[v]) for v in [*free, *formula.args])
                rules += [f"{mark} :- {_body(bound, way)}." for way in inner]
                return [{mark: hold == exists}]
        each = [self.ways(part, hold, types, rules, at) for part in formula.parts]
        if (formula.kind == "v") == hold:
            return _simplest(way for ways in each for way in ways)
        if prod(map(len, each)) > TUNING.body_ways:
            raise self.refuse(f"more than {TUNING.body_ways} ways to satisfy this", at)
        return _simplest(joined for parts in product(*each) if (joined := _joined(parts)))

    def foot(self) -> str:
        total = fsum(self.scale)
        if not total:
            return ""
        return (
            "\n% The formulas above count where they fail; this is what they weigh where all hold."
            f"\n#factor exp({total!r}) : #true.\n"
        )

    def observed(self, evidence: _Network) -> str:
        literals = []
        for line in evidence.lines:
            assert line.formula is not None
            ((text, hold),) = self.ways(line.formula, True, {}, [], line.words[0])[0].items()
            literals.append(text if hold else f"not {text}")
        if not literals:
            return ""
        name = Path(evidence.source.name).name
        listed = ", ".join(dict.fromkeys(literals))
        return f"\n% evidence: {name}; the atoms it does not list are open.\n#evidence {listed}.\n"


class _Parser(Reader):
    """Reads a formula, and infers the types of its variables."""

    def __init__(self, network: _Network, words: Sequence[Word]) -> None:
        super().__init__(words, network.source)
        self.network = network
        self.types: dict[str, str] = {}
        self.compared: list[tuple[str, Word]] = []
        self.bound: list[str] = []

    def whole(self) -> _Formula:
        formula = self.connected()
        if self.text:
            raise self.refuse("this formula cannot be read from here on")
        for name, word in self.compared:
            if name not in self.types and not _is_constant(name):
                raise self.refuse(f"the type of {name} is not clear", at=word)
        return formula

    def connected(self, level: int = 0) -> _Formula:
        """A formula whose outermost connective binds at least as tightly as a level."""
        if level == len(CONNECTIVES):
            return self.primary()
        sign, chains = CONNECTIVES[level]
        parts = [self.connected(level + 1)]
        while self.text == sign and (chains or len(parts) == 1):
            self.take()
            parts.append(self.connected(level + 1))
        if self.text == sign:
            raise self.refuse(f"a second {sign} in a row", help="write parentheses")
        if len(parts) == 1 or chains:
            return parts[0] if len(parts) == 1 else _Formula(sign, parts=tuple(parts))
        left, right = parts
        if sign == "=>":
            return _Formula("v", parts=(_not(left), right))
        both = _Formula("^", parts=(left, right))
        return _Formula("v", parts=(both, _Formula("^", parts=(_not(left), _not(right)))))

    def primary(self) -> _Formula:
        word = self.take()
        if word.text == "!":
            return _not(self.primary())
        if word.text == "(":
            inner = self.connected()
            self.take(")")
            return inner
        if word.text in QUANTIFIERS:
            return self.quantified(word)
        if word.kind not in ("word", "string", "number"):
            raise self.refuse(f"'{word.text}' has no counterpart here", at=word)
        if self.text in ("=", "!="):
            return self.comparison(word)
        return self.atom(word)

    def quantified(self, word: Word) -> _Formula:
        names = self.listed(self.variable)
        for name in names:
            if name in self.bound or name in self.types:
                raise self.refuse(f"{name} stands for two things", "rename one of them", word)
        self.bound += names
        inner = self.primary()
        if self.text not in ("", ")"):
            help = f"write ({word.text} x (…)), with parentheses around both"
            raise self.refuse("it is not clear how far the quantifier goes", help, word)
        for name in names:
            if name not in self.types:
                raise self.refuse(f"{name} does not occur in what follows", at=word)
        return _Formula(word.text.lower(), args=tuple(names), parts=(inner,))

    def variable(self) -> str:
        word: Word = self.take()
        if word.kind != "word" or not word.text[0].islower():
            raise self.refuse("a variable begins with a small letter", at=word)
        return word.text

    def comparison(self, word: Word) -> _Formula:
        negative = self.take().text == "!="
        other = self.take()
        names = tuple(self.argument(one) for one in (word, other))
        self.compared += zip(names, (word, other), strict=True)
        for name, one in zip(names, (word, other), strict=True):
            if _is_constant(name) and not any(name in d for d in self.network.domains.values()):
                raise self.refuse(f"{name} is in no domain", at=one)
        formula = _Formula("=", args=names)
        return _not(formula) if negative else formula

    def argument(self, word: Word) -> str:
        if word.kind == "word" and word.text[0].islower():
            return word.text
        return self.network.constant(word)

    def passed(self) -> tuple[str, Word]:
        if self.text == "+":
            help = "write a formula with its own weight for each constant"
            raise self.refuse("'+' asks for learned weights", help=help)
        word = self.take()
        return self.argument(word), word

    def atom(self, word: Word) -> _Formula:
        network, name = self.network, word.text
        args: list[tuple[str, Word]] = []
        if self.text == "(":
            self.take()
            args = self.listed(self.passed)
            self.take(")")
        types = network.predicates.get(name)
        if types is None or len(types) != len(args):
            message = f"{name} with {counted(len(args), 'argument')} is not declared"
            raise self.refuse(message, f"declare its types, as in {name}(person)", word)
        for (arg, one), (kind, _) in zip(args, types, strict=True):
            if not _is_constant(arg):
                if self.types.setdefault(arg, kind) != kind:
                    message = f"{arg} has the types {self.types[arg]} and {kind}"
                    raise self.refuse(message, at=one)
            elif arg not in network.domains[kind]:
                if kind in network.declared:
                    raise self.refuse(f"{arg} is not among the constants of {kind}", at=one)
                network.domains[kind].append(arg)
        return _Formula("atom", name, tuple(arg for arg, _ in args))


def _not(formula: _Formula) -> _Formula:
    return _Formula("!", parts=(formula,))


def _is_constant(name: str) -> bool:
    return not name[0].islower()


def _free(formula: _Formula) -> Iterator[str]:
    """The free variables, in order."""
    if formula.kind in ("atom", "="):
        yield from (arg for arg in formula.args if not _is_constant(arg))
        return
    for part in formula.parts:
        yield from (name for name in _free(part) if name not in formula.args)


def _universal(formula: _Formula, positive: bool) -> str:
    """A quantifier that asks for all values, if there is one."""
    if formula.kind == "!":
        return _universal(formula.parts[0], not positive)
    if formula.kind in ("exist", "forall") and (formula.kind == "exist") != positive:
        return "FORALL" if formula.kind == "forall" else "EXIST under a negation"
    found = (_universal(part, positive) for part in formula.parts)
    return next((place for place in found if place), "")


def _joined(parts: Iterable[dict[str, bool]]) -> dict[str, bool] | None:
    """All literals of some conjunctions; None if they contradict each other."""
    whole: dict[str, bool] = {}
    for part in parts:
        for text, hold in part.items():
            if whole.setdefault(text, hold) != hold:
                return None
    return whole


def _simplest(ways: Iterable[dict[str, bool]]) -> Ways:
    """The conjunctions that no other one implies."""
    each: dict[frozenset[Literal], dict[str, bool]] = {}
    for way in ways:
        each.setdefault(frozenset(way.items()), way)
    return [way for key, way in each.items() if not any(other < key for other in each)]


def _body(bound: Sequence[str], way: Mapping[str, bool]) -> str:
    literals = []
    for text, hold in way.items():
        if text.startswith("="):
            literals.append(text[1:].replace("\0", " = " if hold else " != "))
        else:
            literals.append(text if hold else f"not {text}")
    return ", ".join([*bound, *literals]) or "#true"


def _fresh(name: str, used: set[str]) -> str:
    """A name with a small first letter that is not in use yet."""
    small = name[0].lower() + name[1:]
    fresh = unused_name(small if is_name(small) else f"n_{small}", used)
    used.add(fresh)
    return fresh
