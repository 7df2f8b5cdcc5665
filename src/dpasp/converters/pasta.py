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

DECIDED = ("abducible", "decision")  # what is set, to explain something or because it pays
LEARNING = ("#program(", "#learnable", "#train", "#test", "#positive", "#negative")
PLAIN = (".", ":-", ",", ";")  # may follow an atom without arguments
CONTINUOUS = ("gaussian", "uniform", "exponential", "gamma", "beta", "poisson")


def converted(text: str, file: str) -> str:
    """Convert a PASTA program."""
    read = statements(text, file)
    asked: list[str] = []
    abduced: list[str] = []

    def rewrite(statement: Statement) -> str | None:
        return _rewrite(statement, text, asked, abduced)

    body = rewritten(text, read, rewrite)
    foot = ""
    if asked:
        atoms = ", ".join(f"{atom}?" for atom in asked)
        foot = f"\n% PASTA's --map with a query Q is: #map {atoms} | Q.\n"
    if abduced:
        foot += "\n% PASTA's --abduction with a query Q is: #decide Q.\n"
    head = f"{title('PASTA', file)}#semantics stable, credal.\n\n"
    return checked_text(head, body, foot, SourceFile(file, text))


def _rewrite(statement: Statement, text: str, asked: list[str], abduced: list[str]) -> str | None:
    words = statement.words
    first = words[0].text
    second = words[1].text if len(words) > 1 else "."
    if first in DECIDED and second not in (*PLAIN, "("):
        if first == "abducible":
            abduced.append(second)
        return _decision(statement)
    if first == "utility" and second == "(":
        return _utility(statement)
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


def _decision(statement: Statement) -> str:
    """``decision a(X) :- body.`` as a decision."""
    words = list(statement.words[1:-1])
    place = next((i for i, word in enumerate(words) if word.text == ":-"), len(words))
    atom = statement.slice(words[:place])
    body = f" :- {statement.slice(words[place + 1 :])}" if place < len(words) else ""
    return f"#decision {{{atom}}}{body}."


def _utility(statement: Statement) -> str:
    """``utility(a, -2) :- body.`` as a utility."""
    words = statement.words
    end = closing(words, 1)
    parts = separated(inside(words, 1), ",")
    if len(parts) < 2:
        raise statement.refuse("this utility cannot be read", "it has the form utility(a, 5).")
    value = statement.slice(parts[-1])
    literal = statement.slice([word for part in parts[:-1] for word in part])
    body = ""
    if words[end + 1].text == ":-":
        body = f", {statement.slice(list(words[end + 2 : -1]))}"
    return f"#utility {value} : {literal}{body}."


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
