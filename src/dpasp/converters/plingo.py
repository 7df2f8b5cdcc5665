"""Weighted answer sets: plingo in its ProbLog form, and LP^MLN in its own and plingo's form.

plingo normalises weights over all stable models. This agrees with maxent if weights (``&problog``)
are on facts or on rules with certain bodies, and each total choice has one model; other programs
are refused.

In LP^MLN a rule with weight w (``2 : a :- b.``) may be violated, at the factor exp(−w) for each of
its instances; the models are the stable models of the rules that hold. Rules without a weight
must hold.

>>> print(converted('a :- &problog("0.3"). b :- a. &query(b).', "<text>"))
% converted from plingo
#semantics stable, maxent.
<BLANKLINE>
0.3::a. b :- a. #query b.
<BLANKLINE>
>>> print(from_lpmln("2 : a. -0.5 :- a, b. :- b, &weight(1).", "<text>"))
% converted from LP^MLN
#semantics stable, weighted.
<BLANKLINE>
{a}. #factor exp(-(2)) : not a. #factor exp(-(-0.5)) : a, b. #factor exp(-(1)) : b.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpasp.converters.text import (
    CLOSE,
    OPEN,
    Statement,
    checked_text,
    closing,
    head_and_body,
    heading,
    inside,
    rewritten,
    separated,
    statements,
    unused_name,
)
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.language.text import SourceFile, Token

WEIGHED = "plingo divides weights by their sum over all models; a probability belongs to a choice"
P_LOG = "write P-log's random attribute as an annotated disjunction: 1/6::roll(1); 1/6::roll(2)."
REFUSED = {
    "weight": ("&weight", WEIGHED),
    "log": ("&log", WEIGHED),
    "random": ("&random", P_LOG),
    "pr": ("&pr", P_LOG),
    "obs": ("&obs", "write #evidence a."),
    "do": ("&do", "an action has no counterpart; write the fact itself"),
}


def converted(text: str, file: str) -> str:
    read = statements(text, file)
    uncertain = _uncertain(read)
    body = rewritten(text, read, lambda statement: _rewrite(statement, uncertain))
    head = heading("plingo", file, "#semantics stable, maxent.")
    program = checked_text(head, body, "", SourceFile(file, text))
    _check_single_models(program, file)
    return program


def _rewrite(statement: Statement, uncertain: set[str]) -> str | None:
    words = statement.words
    place = next((i for i, word in enumerate(words) if word.text == "&"), None)
    if place is None:
        return None
    name = words[place + 1].text if place + 1 < len(words) else ""
    if name in REFUSED:
        what, help = REFUSED[name]
        raise statement.refuse(f"{what} has no counterpart", help, words[place + 1])
    if name == "problog":
        return _probability(statement, uncertain)
    if place == 0 and name in ("query", "evidence"):
        return _question(statement, name)
    raise statement.refuse(f"&{name} has no counterpart", at=words[place])


def _probability(statement: Statement, uncertain: set[str]) -> str:
    """``h :- B, &problog("p").`` as ``p::h :- B.``"""
    head, body = head_and_body(statement)
    kept: list[list[Token]] = []
    weights: list[list[Token]] = []
    for literal in separated(body, ",", ";"):
        if not literal:
            raise statement.refuse("this rule cannot be read")
        (weights if literal[0].text == "&" else kept).append(literal)
    if not head or len(weights) != 1 or len(separated(head, ";", "|")) > 1:
        raise statement.refuse("&problog belongs to a rule with one atom in its head")
    for literal in kept:
        name = next((word for word in literal if word.text != "not"), literal[0])
        if name.text in uncertain:
            help = f"{WEIGHED}; write the rule apart, as p::c. h :- B, c."
            raise statement.refuse("&problog with an uncertain body has no counterpart", help, name)
    (weight,) = weights
    value = statement.slice(inside(weight, 2)).strip('"')
    rest = ", ".join(statement.slice(literal) for literal in kept)
    return f"{value}::{statement.slice(head)}" + (f" :- {rest}." if rest else ".")


def _question(statement: Statement, name: str) -> str:
    """``&query(…)`` and ``&evidence(…)``."""
    words = statement.words
    end = closing(words, 2)
    if words[end + 1 : end + 2] and words[end + 1].text == ":-":
        help = "write #query p(X). for all instances, or one line for each"
        raise statement.refuse("a question with a body has no counterpart", help)
    parts = [statement.slice(part) for part in separated(inside(words, 2), ",")]
    if name == "query":
        return f"#query {', '.join(parts)}."
    if parts[1:] not in ([], ["true"], ["false"]):
        raise statement.refuse("the value of evidence is true or false")
    return f"#evidence {'not ' if parts[1:] == ['false'] else ''}{parts[0]}."


def _uncertain(read: Sequence[Statement]) -> set[str]:
    """Predicates that depend on a probability."""
    uncertain: set[str] = set()
    while True:
        before = len(uncertain)
        for statement in read:
            head, body = head_and_body(statement)
            names = {word.text for word in body}
            if "&" in names or names & uncertain or "{" in {word.text for word in head}:
                depth = 0
                for word in head:
                    if depth == 0 and word.kind == "name" and word.text != "not":
                        uncertain.add(word.text)
                    depth += (word.text == "(") - (word.text == ")")
        if len(uncertain) == before:
            return uncertain


def _check_single_models(program: str, file: str) -> None:
    """Refuse a program in which a total choice may have several models."""
    from dpasp.program import loads
    from dpasp.semantics.dependencies import determined

    ground = loads(program, file=file).ground()
    if not determined(ground.rules, len(ground.symbols)).all():
        message = "a choice of this program may have several models, which plingo weighs one by one"
        help = "probabilities here are shared by the models of a choice; there is no counterpart"
        raise ProgramError.at("no-counterpart", message, help=help)


# --- LP^MLN ---------------------------------------------------------------------------------------

_REAL = r"[-+]?\s*(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RATIO = re.compile(rf"\s*{_REAL}(?:\s*/\s*{_REAL})?\s*")
INSTANCES = "an instance of a rule with a weight counts once for each value of its variables"
COST = "&problog and the forms of P-log have no counterpart here; --from plingo reads &problog"


def from_lpmln(text: str, file: str) -> str:
    read = statements(text, file)
    used = {word.text for statement in read for word in statement.words}
    soft = _Soft(unused_name("violated", used), unused_name("cost", used))
    body = rewritten(text, read, soft.rewrite)
    head = heading("LP^MLN", file, "#semantics stable, weighted.")
    foot = "".join(
        f"#factor exp(-({weight})) : {soft.cost}({number},Tuple).\n"
        for weight, number in soft.costs.items()
    )
    return checked_text(head, body, foot and f"\n{foot}", SourceFile(file, text))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule with a weight, without the weight."""

    statement: Statement
    weight: str
    head: list[Token]
    body: list[list[Token]]  # parts between commas and semicolons
    rest: str  # the body as written


class _Soft:
    """Rewrites statements with weights; ``costs`` are the numbers for weak constraints."""

    def __init__(self, violated: str, cost: str) -> None:
        self.violated, self.cost = violated, cost
        self.costs: dict[str, int] = {}
        self.rules = 0

    def rewrite(self, statement: Statement) -> str | None:
        words = statement.words
        if statement.begins("alpha", ":"):
            raise statement.refuse("a weight that is not a number", "write hard rules without one")
        if any(word.text == "::" for word in words):
            help = "write the weight log(p/(1-p)), as in @log(0.3/0.7) : a."
            raise statement.refuse("a probability has no meaning in LP^MLN", help)
        if statement.begins(":~"):
            return self._weak(statement)
        if statement.begins("&", "query") or statement.begins("&", "evidence"):
            return _question(statement, words[1].text)
        rule = _weighted(statement)
        if rule is None:
            if theory := next((word for word in words if word.text == "&"), None):
                raise statement.refuse("this has no counterpart", COST, theory)
            return None
        return self._rule(rule)

    def _rule(self, rule: _Rule) -> str:
        """``{h} :- B.``, and a factor where the body holds and the head does not."""
        _check_instances(rule)
        factor = f"#factor exp(-({rule.weight})) : "
        if not rule.head:
            return f"{factor}{rule.rest}."
        atoms = separated(rule.head, ";", "|")
        for atom in atoms:
            _check_atom(rule.statement, atom)
        heads = [rule.statement.slice(atom) for atom in atoms]
        fails = ", ".join(f"not {head}" for head in heads)
        where = f" :- {rule.rest}" if rule.rest else ""
        missed = f"{fails}, {rule.rest}" if rule.rest else fails
        if len(heads) == 1:
            return f"{{{heads[0]}}}{where}. {factor}{missed}."
        self.rules += 1
        names = _variables(rule)
        mark = f"{self.violated}({','.join([str(self.rules), *names])})"
        kept = f"not {mark}, {rule.rest}" if rule.rest else f"not {mark}"
        return f"{mark} :- {missed}. {' | '.join(heads)} :- {kept}. {factor}{missed}."

    def _weak(self, statement: Statement) -> str | None:
        """A weak constraint of plingo; a cost that is a string becomes a factor."""
        words = statement.words
        start = max(i for i, word in enumerate(words) if word.text == "[" or i == 0)
        first, *terms = separated(inside(words, start), ",") if start else [[]]
        weight, *level = separated(first, "@")
        if not weight and start:  # the lexer takes '@0' for a call
            raise statement.refuse("this weak constraint cannot be read")
        if len(level) == 1 and statement.slice(level[0]) != "0":
            help = "weights are at level 0; write a hard rule as a constraint"
            raise statement.refuse("a cost at another level has no weight", help)
        if len(weight) != 1 or weight[0].kind != "string":
            return None
        text = weight[0].text.strip('"')
        if not _RATIO.fullmatch(text):
            raise statement.refuse("a weight is a number, or one divided by another", at=weight[0])
        number = self.costs.setdefault(text, len(self.costs) + 1)
        key = ",".join(statement.slice(term) for term in terms)
        dot = max(i for i, word in enumerate(words[:start]) if word.text == ".")
        body = statement.slice(words[1:dot])
        return f"{self.cost}({number},({key}{',' if len(terms) == 1 else ''})) :- {body}."


def _weighted(statement: Statement) -> _Rule | None:
    """The weight of a statement and the rule it belongs to, if it has one."""
    head, body = head_and_body(statement)
    parts = [part for part in separated(body, ",", ";") if part] if body else []
    marked = [p for p in parts if p[0].text == "&" and p[1].text in ("weight", "log")]
    if marked:
        if len(marked) > 1:
            raise statement.refuse("a rule has one weight", at=marked[1][0])
        if any(word.text == ":" for part in parts for word in part if part is not marked[0]):
            help = "put the weight in front of the rule"
            raise statement.refuse("a weight beside a literal with a condition", help)
        parts.remove(marked[0])
        value = _value(statement, inside(marked[0], 2), marked[0][1].text)
        rest = ", ".join(statement.slice(part) for part in parts)
        return _Rule(statement, value, head, parts, rest)
    size, value = _prefix(statement, head)
    if not size:
        return None
    return _Rule(statement, value, head[size:], parts, statement.slice(body))


def _prefix(statement: Statement, head: Sequence[Token]) -> tuple[int, str]:
    """How many tokens the weight in front of a rule has, and the weight; 0 if there is none."""
    sign = 1 if head and head[0].text in ("-", "+") else 0
    colon = next((i for i, word in enumerate(head) if word.text == ":"), 0)
    if head and head[0].kind == "call" and head[0].text.lstrip("@ ") in ("log", "ln"):
        end = closing(head, 1) + 1
        value = _value(statement, inside(head, 1), "log")
        return end + (head[end : end + 1] != [] and head[end].text == ":"), value
    if len(head) <= sign or head[sign].kind != "number":
        return 0, ""
    after = head[sign + 1].text if len(head) > sign + 1 else ""
    value = statement.slice(head[: sign + 1]).lstrip("+ ")
    if colon == sign + 1:
        return colon + 1, value
    if not after or head[sign + 1].kind == "name" or after == "-":
        return sign + 1, value  # without a colon, as some write it
    if colon and {word.text for word in head[:colon]} & {"/", "*", "+", "-"}:
        raise statement.refuse("a weight is one number", "write @log(0.7/0.3) : a.", head[0])
    return 0, ""  # a choice, or a comparison


def _value(statement: Statement, words: Sequence[Token], kind: str) -> str:
    if len(words) == 1 and words[0].kind == "string":
        text = words[0].text.strip('"').strip()
        if not _RATIO.fullmatch(text):
            message = "a weight is a number, or one divided by another"
            raise statement.refuse(message, at=words[0])
    else:
        text = statement.slice(words)
    if not text:
        raise statement.refuse("a weight is missing")
    return f"log({text})" if kind == "log" else text


def _check_instances(rule: _Rule) -> None:
    """Refuse rules whose number of instances would be unclear."""
    brackets: list[str] = []
    for word in [*rule.head, *(word for part in rule.body for word in part)]:
        if word.text in OPEN:
            brackets.append(word.text)
        elif word.text in CLOSE and brackets:
            brackets.pop()
        if "{" in brackets:
            continue
        if word.text == "_":
            raise rule.statement.refuse("a variable without a name", f"{INSTANCES}: name it", word)
        if brackets and word.text in (";", ".."):
            help = f"{INSTANCES}: write X = 1..3 in the body, or several rules"
            raise rule.statement.refuse("several values in an atom of this rule", help, word)


def _check_atom(statement: Statement, atom: Sequence[Token]) -> None:
    rest = atom[1:] if atom and atom[0].text == "-" else atom
    plain = rest and rest[0].kind == "name" and rest[0].text != "not"
    if not plain or (len(rest) > 1 and (rest[1].text != "(" or closing(rest, 1) != len(rest) - 1)):
        message = "a rule with a weight has atoms in its head, with ';' between them"
        raise statement.refuse(message, "write choices and conditions as hard rules")


def _variables(rule: _Rule) -> list[str]:
    """The variables of a rule with several heads; conditions and aggregates have their own."""
    words = [*rule.head, *(word for part in rule.body for word in part)]
    for word in words:
        if word.text in ("{", ":"):
            message = "a weight on a rule with several heads and a condition or an aggregate"
            raise rule.statement.refuse(message, "define an atom by the body first", word)
    return list(dict.fromkeys(word.text for word in words if word.kind == "variable"))
