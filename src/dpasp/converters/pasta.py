"""PASTA: credal semantics with statistical statements.

``(fly(X) | bird(X))[0.6, 1].`` says that at least 60 % of all birds fly. It becomes a choice for
each bird and a constraint on the counts.

>>> print(converted("(fly(X) | bird(X))[0.6,1].", "<text>"))
% converted from PASTA
#semantics stable, credal.
<BLANKLINE>
{fly(X)} :- bird(X).
:- #count{X : bird(X)} = All, #count{X : bird(X), fly(X)} = Some, 10*Some < 6*All.
<BLANKLINE>
"""

from __future__ import annotations

from decimal import Decimal

from dpasp.converters import title
from dpasp.converters.clingo_syntax import (
    Statement,
    closing,
    inside,
    rewritten,
    separated,
    statements,
)
from dpasp.converters.output import checked_text
from dpasp.language.text import SourceFile, Token

REFUSED = {
    "abducible": "which facts would explain a query is not asked here; [0,1]::a. leaves one open",
    "decision": "decisions and utilities have no counterpart",
    "utility": "decisions and utilities have no counterpart",
}
LEARNING = ("#program(", "#learnable", "#train", "#test", "#positive", "#negative")
PLAIN = (".", ":-", ",", ";")  # may follow an atom without arguments
CONTINUOUS = ("gaussian", "uniform", "exponential", "gamma", "beta", "poisson")


def converted(text: str, file: str) -> str:
    """Convert a PASTA program."""
    read = statements(text, file)
    asked: list[str] = []

    def rewrite(statement: Statement) -> str | None:
        return _rewrite(statement, text, asked)

    body = rewritten(text, read, rewrite)
    foot = ""
    if asked:
        atoms = ", ".join(f"{atom}?" for atom in asked)
        foot = f"\n% PASTA's --map with a query Q is: #map {atoms} | Q.\n"
    head = f"{title('PASTA', file)}#semantics stable, credal.\n\n"
    return checked_text(head, body, foot, SourceFile(file, text))


def _rewrite(statement: Statement, text: str, asked: list[str]) -> str | None:
    words = statement.words
    first = words[0].text
    second = words[1].text if len(words) > 1 else "."
    if first in REFUSED and (second == "(") == (first == "utility") and second not in PLAIN:
        raise statement.refuse(f"{first} has no counterpart", REFUSED[first], words[0])
    if statement.text.startswith(LEARNING):
        help = "write ?::a. for a probability to learn, and give the examples to #learn"
        raise statement.refuse("PASTA's files for learning have no counterpart", help)
    if first in ("map", "optimizable") and second not in (*PLAIN, "("):
        rest = statement.text[len(first) :].lstrip()
        if first == "map":
            asked.append(statement.slice(_after_annotation(words[1:-1])))
        return rest
    if first == "(":
        return _statistical(statement, text)
    for place, word in enumerate(words[:-1]):
        if word.text == ":" and words[place + 1].text in CONTINUOUS:
            help = "only choices among finitely many values have probabilities here"
            raise statement.refuse("a continuous variable has no counterpart", help)
    return None


def _after_annotation(words: tuple[Token, ...]) -> list[Token]:
    for place, word in enumerate(words):
        if word.text == "::":
            return list(words[place + 1 :])
    return list(words)


def _statistical(statement: Statement, text: str) -> str | None:
    """``(a | b)[low, high].`` as a choice and constraints that count."""
    words = statement.words
    end = closing(words, 0)
    if end + 1 >= len(words) or words[end + 1].text != "[":
        return None
    about, *condition = separated(inside(words, 0), "|")
    ends = separated(inside(words, end + 1), ",")
    if len(condition) != 1 or len(ends) != 2:
        help = "it has the form (head | body)[low, high]."
        raise statement.refuse("this statement cannot be read", help)
    head, body = statement.slice(about), statement.slice(condition[0])
    names = dict.fromkeys(w.text for w in condition[0] if w.kind == "variable" and w.text != "_")
    terms = ",".join(names) or "1"
    lines = [_choice(about, head, body, text)]
    counts = f"#count{{{terms} : {body}}} = All, #count{{{terms} : {body}, {head}}} = Some"
    low, high = (_fraction(statement, statement.slice(end)) for end in ends)
    if low[0] > 0:
        lines.append(f":- {counts}, {low[1]}*Some < {low[0]}*All.")
    if high[0] < high[1]:
        lines.append(f":- {counts}, {high[1]}*Some > {high[0]}*All.")
    return "\n".join(lines)


def _choice(about: list[Token], head: str, body: str, text: str) -> str:
    """The choice of the head; in PASTA's own form if the program uses its ``not_`` atom."""
    opposite = f"not_{about[0].text}"
    if opposite in text:
        return f"{head} ; not_{head} :- {body}."
    return f"{{{head}}} :- {body}."


def _fraction(statement: Statement, text: str) -> tuple[int, int]:
    """A decimal as numerator and denominator: 0.6 is (6, 10)."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        raise statement.refuse(f"{text!r} is not a number from 0 to 1") from None
    if not 0 <= value <= 1:
        raise statement.refuse(f"{text} is not a number from 0 to 1")
    exponent = value.normalize().as_tuple().exponent
    unit = 10 ** max(-int(exponent), 0)
    return int(value * unit), unit
