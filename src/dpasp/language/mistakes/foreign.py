"""Lines of other systems, recognised where a statement begins: the help is the line to write.

>>> file = SourceFile("p.plp", "nn(net, [X], Y, [0,1,2]) :: digit(X,Y).")
>>> foreign(file, Piece(0, len(file.text))).help
'write ?::digit(X, {0,1,2}) as @net :- input(X).'
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dpasp.errors import Diagnostic
from dpasp.language.text.pieces import Piece
from dpasp.language.text.source import SourceFile

_BEGIN = re.compile(r":-\s*[a-z]|nn\s*\(|(?:map|abducible|optimizable|query|evidence)\b|\(")
_ATOM = r"-?[a-z]\w*(?:\((?:[^()]|\([^()]*\))*\))?"
_PROLOG = (  # goals that no program here means as a constraint
    r"(?:use_module|ensure_loaded|set_prolog_flag)\s*\(.*\)|initialization\s*\(\s*main\s*\)"
    r"|module\s*\(.*\[.*\]\s*\)|(?:table|dynamic|discontiguous|multifile)\s+[a-z].*"
)
_VARIABLE = re.compile(r"(?<![\w'])[_']*[A-Z]\w*|(?<![\w'])_(?![\w'])", re.ASCII)
_CONTINUOUS = (
    "normal|gaussian|uniform|beta|gamma|exponential|poisson|dirichlet|laplace|cauchy|lognormal"
)

Help = Callable[[re.Match[str]], str | None]  # the line to write; None when the line is ours


_COMMENT = re.compile(r'("(?:\\.|[^"\\]++)*+")|%\*.*?\*%|%[^\n]*', re.DOTALL)


def without_comments(text: str) -> str:
    """A text with a space in place of each comment.

    >>> without_comments('query(a). % "why"') + without_comments('b("%").')
    'query(a).  b("%").'
    """
    return _COMMENT.sub(lambda match: match[1] or " ", text) if "%" in text else text


def _words(text: str) -> str:
    return " ".join(text.split())


def _fact(match: re.Match[str]) -> str | None:
    """``query(a(X)).``: without variables it is a fact, about which there is a warning."""
    word, negated, atom, value = match.groups()
    if not negated and not _VARIABLE.search(match.group()):
        return None
    truth = "not " if bool(negated) != (value == "false") else ""
    return f"write #{word} {truth}{_words(atom)}."


def _deepproblog(match: re.Match[str]) -> str:
    network, inputs, output, values, head = match.groups()
    name, _, arguments = head.partition("(")
    rest = [part.strip() for part in arguments.removesuffix(")").split(",")]
    keys = [part for part in rest if part and part != (output or "").strip()]
    first = inputs.split(",")[0].strip() or "X"
    braces = f"{{{_words(values)}}}" if values else ""
    inner = ", ".join([*keys, braces] if braces else keys)
    return f"write ?::{name}({inner}) as @{network} :- input({first})."


def _neurasp(match: re.Match[str]) -> str:
    name, arguments, values, body = match.groups()
    parts = [part.strip() for part in arguments.split(",")]
    key = parts[-1]
    after = _words(body) if body else f"input({key})"
    return f"write ?::{name}({key}, {{{_words(values)}}}) as @{name} :- {after}."


def _conditional(match: re.Match[str]) -> str:
    head, body, lower, upper = (_words(group) for group in match.groups())
    return f"the closest is [{lower}, {upper}]::{head} :- {body}."


def _optimizable(match: re.Match[str]) -> str:
    interval = match[1] if match[1] and match[1].startswith("[") else "[0, 1]"
    return f"write {interval}::{match[2]}. for bounds on every answer"


def _continuous(match: re.Match[str]) -> str:
    name = match[1].partition("(")[0]
    return f"write a few values, as in 0.2::{name}(low); 0.5::{name}(middle); 0.3::{name}(high)."


def _arrow(match: re.Match[str]) -> str:
    return f"write {_words(match[1])}::{_words(match[2])} :- {_words(match[3])}."


# A whole statement, a code, what is said about it, and the line to write.
_LINES: tuple[tuple[str, str, str, Help], ...] = (
    (
        rf":-\s*(?:{_PROLOG})\s*\.",
        "prolog-directive",
        "this directive is Prolog's",
        lambda match: "leave it out: nothing here needs to be declared or loaded this way",
    ),
    (
        rf"(query|evidence)\s*\(\s*(\\\+\s*)?({_ATOM})\s*(?:,\s*(true|false)\s*)?\)\s*\.",
        "problog-directive",
        "this is how ProbLog asks",
        _fact,
    ),
    (
        r"nn\s*\(\s*(\w+)\s*,\s*\[([^\]]*)\]\s*(?:,\s*(\w+)\s*,\s*\[([^\]]*)\]\s*)?\)\s*::"
        rf"\s*({_ATOM})\s*.*",
        "foreign-network",
        "this is how DeepProbLog names a network",
        _deepproblog,
    ),
    (
        r"nn\s*\(\s*([a-z]\w*)\s*\(([^()]*)\)\s*,\s*\[([^\]]*)\]\s*\)\s*(?::-\s*(.*?))?\s*\.",
        "foreign-network",
        "this is how NeurASP names a network",
        _neurasp,
    ),
    (
        rf"map\s+([\d.]+)\s*::\s*({_ATOM})\s*\.",
        "foreign-map",
        "this is how PASTA marks what a map query asks for",
        lambda match: f"write {match[1]}::{match[2]}. and #map {match[2]}?.",
    ),
    (
        rf"abducible\s+({_ATOM})\s*\.",
        "foreign-abducible",
        "there are no abducibles",
        lambda match: f"write 0.5::{match[1]}. and ask #map {match[1]}? | goal.",
    ),
    (
        rf"optimizable\s+(?:(\[[^\]]*\]|[\d.]+)\s*::\s*)?({_ATOM})\s*\.",
        "foreign-optimizable",
        "probabilities are not optimised",
        _optimizable,
    ),
    (
        rf"\(\s*({_ATOM})\s*\|\s*([^()|]*(?:\([^()]*\)[^()|]*)*)\)\s*"
        r"\[\s*([\d.]+)\s*,\s*([\d.]+)\s*\]\s*\.",
        "foreign-conditional",
        "this is PASTA's conditional",
        _conditional,
    ),
    (
        rf"({_ATOM})\s*~\s*(?:{_CONTINUOUS})\s*\(.*",
        "continuous",
        "there are no continuous distributions",
        _continuous,
    ),
    (
        rf"([^:]*?)\s*::\s*({_ATOM})\s*<--?\s*(.*?)\s*\.",
        "arrow",
        "a rule is not written with an arrow",
        _arrow,
    ),
)


def foreign(file: SourceFile, piece: Piece) -> Diagnostic | None:
    """What a statement of another system is called here, if it is one."""
    arrow = piece.annotated and file.text.find("<-", piece.start, piece.end) >= 0
    if not (arrow or piece.data or _BEGIN.match(file.text, piece.start, piece.end)):
        return None  # nearly all statements are not looked at any further
    text = without_comments(file.text[piece.start : piece.end])
    for pattern, code, message, line in _LINES:
        match = re.fullmatch(pattern, text, re.ASCII | re.DOTALL)  # compiled when first used
        if match is not None and (help := line(match)) is not None:
            return Diagnostic(code, message, file.span(piece.start, piece.end), help)
    return None
