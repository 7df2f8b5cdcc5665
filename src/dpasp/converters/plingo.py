"""plingo in its ProbLog form: ``&problog``, ``&query`` and ``&evidence``.

plingo normalises weights over all stable models. That is our probability if weights are on facts
or on rules with certain bodies, and each total choice has one model; other programs are refused.

>>> print(converted('a :- &problog("0.3"). b :- a. &query(b).', "<text>"))
% converted from plingo
#semantics stable, maxent.
<BLANKLINE>
0.3::a. b :- a. #query b.
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Sequence

from dpasp.converters import title
from dpasp.converters.clingo_syntax import (
    Statement,
    closing,
    head_and_body,
    inside,
    rewritten,
    separated,
    statements,
)
from dpasp.converters.output import checked_text
from dpasp.errors import Diagnostic, ProgramError
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
    """Convert a plingo program."""
    read = statements(text, file)
    uncertain = _uncertain(read)

    def rewrite(statement: Statement) -> str | None:
        return _rewrite(statement, uncertain)

    body = rewritten(text, read, rewrite)
    head = f"{title('plingo', file)}#semantics stable, maxent.\n\n"
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
        return question(statement, name)
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


def question(statement: Statement, name: str) -> str:
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
                uncertain |= {word.text for word in _predicates(head)}
        if len(uncertain) == before:
            return uncertain


def _predicates(head: Sequence[Token]) -> list[Token]:
    depth, predicates = 0, []
    for word in head:
        if depth == 0 and word.kind == "name" and word.text != "not":
            predicates.append(word)
        depth += (word.text == "(") - (word.text == ")")
    return predicates


def _check_single_models(program: str, file: str) -> None:
    """Refuse a program in which a total choice may have several models."""
    from dpasp.program import loads
    from dpasp.semantics.dependencies import determined

    ground = loads(program, file=file).ground()
    if not determined(ground.rules, len(ground.symbols)).all():
        message = "a choice of this program may have several models, which plingo weighs one by one"
        help = "probabilities here are shared by the models of a choice; there is no counterpart"
        raise ProgramError(Diagnostic("no-counterpart", message, help=help))
