"""PASTA: credal semantics with statistical statements.

``(fly(X) | bird(X))[0.6, 1].`` says that at least 60 % of all birds fly, as it does here.

>>> print(converted("(fly(X) | bird(X))[0.6,1]. some :- not_fly(X).", "<text>"))
% converted from PASTA
#semantics stable, credal.
<BLANKLINE>
(fly(X) | bird(X))[0.6,1].
not_fly(X) :- bird(X), not fly(X). some :- not_fly(X).
<BLANKLINE>
"""

from __future__ import annotations

import re

from dpasp.converters.text import (
    Statement,
    checked_text,
    closing,
    head_and_body,
    heading,
    inside,
    rewritten,
    separated,
    statements,
)
from dpasp.language.text import SourceFile

DECIDED = ("abducible", "decision")  # atoms that are decided: abducibles or decisions
LEARNING = ("#program(", "#learnable", "#train", "#test", "#positive", "#negative")
PLAIN = (".", ":-", ",", ";")  # may follow an atom without arguments
CONTINUOUS = ("gaussian", "uniform", "exponential", "gamma", "beta", "poisson")


def converted(text: str, file: str) -> str:
    read = statements(text, file)
    asked: list[str] = []
    abduced: list[str] = []
    body = rewritten(text, read, lambda statement: _rewrite(statement, text, asked, abduced))
    foot = ""
    if asked:
        atoms = ", ".join(f"{atom}?" for atom in asked)
        foot = (
            f"\n% PASTA's --map with a query Q is: #map {atoms} | Q.\n"
            "% (if lower and upper probabilities agree: PASTA weighs Q and the values together,\n"
            "% #map weighs the values given Q.)\n"
        )
    if abduced:
        foot += "\n% PASTA's --abduction with a query Q is: #decide Q.\n"
    head = heading("PASTA", file, "#semantics stable, credal.")
    return checked_text(head, body, foot, SourceFile(file, text))


def _rewrite(statement: Statement, text: str, asked: list[str], abduced: list[str]) -> str | None:
    words = statement.words
    first = words[0].text
    second = words[1].text if len(words) > 1 else "."
    if first in DECIDED and second not in (*PLAIN, "("):
        if first == "abducible":
            abduced.append(second)
        head, body = head_and_body(statement)
        where = f" :- {statement.slice(body)}" if body else ""
        return f"#decision {{{statement.slice(head[1:])}}}{where}."
    if first == "utility" and second == "(":
        return _utility(statement)
    if statement.text.startswith(LEARNING):
        help = "write ?::a. for a probability to learn, and give the examples to #learn"
        raise statement.refuse("PASTA's files for learning have no counterpart", help)
    if first in ("map", "optimizable") and second not in (*PLAIN, "("):
        rest = statement.text[len(first) :].lstrip()
        if first == "map":
            sign = next((i for i, word in enumerate(words) if word.text == "::"), 0)
            asked.append(statement.slice(words[sign + 1 : -1]))
        return rest
    if first == "(":
        return _statistical(statement, text)
    for place, word in enumerate(words[:-1]):
        if word.text == ":" and words[place + 1].text in CONTINUOUS:
            help = "only choices among finitely many values have probabilities here"
            raise statement.refuse("a continuous variable has no counterpart", help)
    return None


def _utility(statement: Statement) -> str:
    """``utility(a, -2) :- body.`` as a utility."""
    head, body = head_and_body(statement)
    parts = separated(inside(head, 1), ",")
    if len(parts) < 2:
        raise statement.refuse("this utility cannot be read", "it has the form utility(a, 5).")
    value = statement.slice(parts[-1])
    literal = statement.slice([word for part in parts[:-1] for word in part])
    where = f", {statement.slice(body)}" if body else ""
    return f"#utility {value} : {literal}{where}."


def _statistical(statement: Statement, text: str) -> str | None:
    """``(a | b)[low, high].`` unchanged, and a rule for PASTA's ``not_a`` if it is used."""
    words = statement.words
    end = closing(words, 0)
    about, *condition = separated(inside(words, 0), "|")
    if end + 1 >= len(words) or words[end + 1].text != "[" or len(condition) != 1:
        return None
    head, body = statement.slice(about), statement.slice(condition[0])
    if not re.search(rf"\bnot_{about[0].text}\b", text):
        return None
    return f"{statement.text}\nnot_{head} :- {body}, not {head}."
