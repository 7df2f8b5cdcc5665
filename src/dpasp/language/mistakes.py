"""Statements that are refused at once, and those that probably mean something else.

Unreadable characters and statements of other systems are refused; doubts are warnings about
statements that can be read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from clingo.ast import ASTType

from dpasp.errors import Diagnostic
from dpasp.language.ast import body_nodes
from dpasp.language.statements.annotated import before_body
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import Statement
from dpasp.language.text import Buffer, Piece, SourceFile, Sources
from dpasp.language.text.clingo_text import walk
from dpasp.language.text.lexer import BIG, STRING, Mark, Refused, outside, tokens

LARGEST = 2**31 - 1  # clingo's integers silently overflow
_TEXTS = {
    "unclosed-comment": ("this comment is never closed", "end it with *%"),
    "unclosed-string": ("this string is never closed", 'end it with " on the same line'),
    "unclosed-block": ("this block is never closed", "end it with '#end.'"),
    "leading-dot": ("a number begins with a digit", "write 0 before the dot, as in 0.3"),
    "end-dot": ("the dot after '#end' is missing", "write '#end.'"),
    "reserved-name": ("names that begin like this are reserved", "choose another name"),
    "string-escape": (
        "this escape has no meaning in a string",
        'write \\\\ for a backslash, \\" for a quote and \\n for a new line',
    ),
    "real-number": (
        "{} is a real number, but terms hold only integers",
        "count in smaller units, as in 5 tenths; only probabilities (0.3::a) and #const are real",
    ),
    "number-range": (
        f"{{}} is too large: integers go up to {LARGEST}",
        'write it as a string, "…"',
    ),
    "ellipsis": ("'{}' has no meaning here", "an interval is written 1..9"),
    "tilde-not": ("'{}' is not negation here", "write 'not'"),
}
# messages and help for marks
_CODES = {"decimal": "real-number", "integer": "number-range", "tilde": "tilde-not"}
# Look-alikes and symbols of other notations, and what to write.
_INSTEAD = {
    **dict.fromkeys("“”„‟«»＂", '"'),
    **dict.fromkeys("‘’‚‛´", "'"),
    **dict.fromkeys("−–—‐‑－", "-"),
    **dict.fromkeys("∼～˜", "~"),
    **dict.fromkeys("←⟵⇐", ":-"),
    **dict.fromkeys("∧⋀", ","),
    **dict.fromkeys("∨⋁", ";"),
    **dict.fromkeys("≠≄", "!="),
    **dict.fromkeys("·×", "*"),
    "≤": "<=",
    "≥": ">=",
    "¬": "not",
    "÷": "/",
    "…": "..",
    "：": ":",
    "；": ";",
    "，": ",",
    "．": ".",
    "。": ".",
    "（": "(",
    "）": ")",
}
_BEGIN = re.compile(r":-\s*[a-z]|nn\s*\(|(?:map|abducible|optimizable|query|evidence)\b")
_ATOM = r"-?[a-z]\w*(?:\((?:[^()]|\([^()]*\))*\))?"
_PROLOG = (  # goals that nobody means as a constraint
    r"(?:use_module|ensure_loaded|set_prolog_flag)\s*\(.*\)|initialization\s*\(\s*main\s*\)"
    r"|module\s*\(.*\[.*\]\s*\)|(?:table|dynamic|discontiguous|multifile)\s+[a-z].*"
)
_VARIABLE = re.compile(r"(?<![\w'])[_']*[A-Z]\w*|(?<![\w'])_(?![\w'])", re.ASCII)
_CONTINUOUS = (
    "normal|gaussian|uniform|beta|gamma|exponential|poisson|dirichlet|laplace|cauchy|lognormal"
)
_COMPARISON = re.compile(r'[^:"{}]*?(?P<sign><-|[<>=!]=?)[^:"{}]*\.?\s*\Z', re.DOTALL)
_QUOTED = re.compile(rf"{STRING}|(?<![\w'])(?P<quoted>'(?P<name>[A-Za-z_]\w*)')(?![\w'])", re.ASCII)
_NAMED = re.compile(r"(?<![\w'])_*[A-Z]\w*", re.ASCII)
_MAIN = re.compile(r"^[ \t]*def\s+main\s*\(", re.MULTILINE)
_SHOWN = 80  # characters of a statement quoted in help


def describe(file: SourceFile, mark: Mark) -> Diagnostic:
    """What is wrong with an unreadable character, or with text that clingo must not see."""
    if mark.kind == "bad-character":
        return _character(file, mark)
    code = _CODES.get(mark.kind, mark.kind)
    message, help = _TEXTS[code]
    return file.problem(code, message.format(file.text[mark.start : mark.end]), mark, help)


def _character(file: SourceFile, mark: Mark) -> Diagnostic:
    """The diagnostic for a character; for a letter, that of the whole word."""
    text, char, (start, end) = file.text, file.text[mark.start], mark[1:]
    if instead := _INSTEAD.get(char):
        message, help = f"'{char}' is written '{instead}' here", f"write {instead}"
    elif char.isalpha():
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        message = f"'{char}' cannot be part of a name"
        help = f'use the letters a to z, or write text in quotes: "{text[start:end]}"'
    elif char.isspace() or unicodedata.category(char).startswith("C"):
        name = unicodedata.name(char, "").lower() or f"U+{ord(char):04X}"
        message, help = f"an invisible character, {name}", "remove it, or type a plain space"
    else:
        message, help = f"'{char}' has no meaning here", "remove it, or put it into a string"
    return file.problem("bad-character", message, (start, end), help)


# clingo's statements that have no meaning here, and what to do.
REFUSED = {
    "#theory": ("theory", "write plain rules and constraints"),
    "#program": (
        "program-part",
        "clingo itself grounds only '#program base.' unless a script says otherwise; move the "
        "rules there, with constants (#const t = 3.) for the parameters",
    ),
}


def refusal(file: SourceFile, piece: Piece, word: str) -> Refused:
    code, help = REFUSED[word]
    where = (piece.start, piece.start + len(word))
    return Refused(file.problem(code, f"{word} is refused", where, help), None)


def is_left(mark: Mark, text: str) -> bool:
    """Whether a mark in the blanked text is something that clingo must not see."""
    if not text.strip():
        return False
    match mark.kind:
        case "integer":
            number = re.match(BIG, text)  # a truncated statement may end inside the mark
            if number is None:
                return False
            digits = number[0].lstrip("0")
            if digits[:1] in ("x", "o", "b"):
                return int(f"0{digits}", 0) > LARGEST
            return len(digits) > 10 or int(digits or "0") > LARGEST
        case "tilde":
            return text == "∼"
        case "ellipsis":
            return text in ("...", "…")
    return True


# --- lines of other systems ---------------------------------------------------------------------


Help = Callable[[re.Match[str]], str | None]  # None if the line is ours


def _words(text: str) -> str:
    return " ".join(text.split())


_ASKS = rf"(query|evidence)\s*\(\s*(\\\+\s*)?({_ATOM})\s*(?:,\s*(true|false)\s*)?\)\s*\."


def _asked(match: re.Match[str]) -> str:
    """How ``query(a(X)).`` is written here."""
    word, negated, atom, value = match.groups()
    truth = "not " if bool(negated) != (value == "false") else ""
    return f"write #{word} {truth}{_words(atom)}. (`dpasp convert` translates whole programs)"


def _no_fact(match: re.Match[str]) -> str | None:
    """The same, except for a fact without variables, which only gets a warning."""
    return _asked(match) if match[2] or _VARIABLE.search(match[0]) else None


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


def _continuous(match: re.Match[str]) -> str:
    name = match[1].partition("(")[0]
    return f"write a few values, as in 0.2::{name}(low); 0.5::{name}(middle); 0.3::{name}(high)."


# The pattern of a statement, code, message, and the line to write.
# fmt: off
_LINES: tuple[tuple[str, str, str, Help], ...] = (
    (rf":-\s*(?:{_PROLOG})\s*\.",
     "prolog-directive", "this directive is Prolog's",
     lambda match: "leave it out: nothing here needs to be declared or loaded this way"),
    (_ASKS, "problog-directive", "this is how ProbLog asks", _no_fact),
    (r"nn\s*\(\s*(\w+)\s*,\s*\[([^\]]*)\]\s*(?:,\s*(\w+)\s*,\s*\[([^\]]*)\]\s*)?\)\s*::"
     rf"\s*({_ATOM})\s*.*",
     "foreign-network", "this is how DeepProbLog names a network", _deepproblog),
    (r"nn\s*\(\s*([a-z]\w*)\s*\(([^()]*)\)\s*,\s*\[([^\]]*)\]\s*\)\s*(?::-\s*(.*?))?\s*\.",
     "foreign-network", "this is how NeurASP names a network", _neurasp),
    (rf"map\s+([\d.]+)\s*::\s*({_ATOM})\s*\.",
     "foreign-map", "this is how PASTA marks what a map query asks for",
     lambda match: f"write {match[1]}::{match[2]}. and #map {match[2]}?."),
    (rf"abducible\s+({_ATOM})\s*\.",
     "foreign-abducible", "there are no abducibles",
     lambda match: f"write 0.5::{match[1]}. and ask #map {match[1]}? | goal."),
    (rf"optimizable\s+(?:(\[[^\]]*\]|[\d.]+)\s*::\s*)?({_ATOM})\s*\.",
     "foreign-optimizable", "probabilities are not optimised",
     lambda match: f"write {match[1] if (match[1] or '')[:1] == '[' else '[0, 1]'}::{match[2]}. "
                   "for bounds on every answer"),
    (rf"({_ATOM})\s*~\s*(?:{_CONTINUOUS})\s*\(.*",
     "continuous", "there are no continuous distributions", _continuous),
    (rf"([^:]*?)\s*::\s*({_ATOM})\s*<--?\s*(.*?)\s*\.",
     "arrow", "a rule is not written with an arrow",
     lambda match: f"write {_words(match[1])}::{_words(match[2])} :- {_words(match[3])}."),
)
# fmt: on


def foreign(file: SourceFile, piece: Piece, buffer: Buffer) -> Diagnostic | None:
    """The refusal of a statement of another system; the buffer has no comments."""
    arrow = piece.annotated and file.text.find("<-", piece.start, piece.end) >= 0
    if not (arrow or piece.data or _BEGIN.match(file.text, piece.start, piece.end)):
        return None  # a quick exit for almost all statements
    text = buffer.text(piece.start, piece.end)
    for pattern, code, message, line in _LINES:
        match = re.fullmatch(pattern, text, re.ASCII | re.DOTALL)  # compiled when first used
        if match is not None and (help := line(match)) is not None:
            return file.problem(code, message, piece, help)
    return None


def doubts(file: SourceFile, piece: Piece, buffer: Buffer) -> Iterator[Diagnostic]:
    """What is doubtful about a clingo statement; the buffer has no comments."""
    text = file.text[piece.start : piece.end]
    if "%" in text or "#!" in text:
        text = buffer.text(piece.start, piece.end)
    if "'" in text:
        yield from _quotes(file, piece, text)
    if "=" in text or "<" in text or ">" in text:
        yield from _comparison(file, piece, before_body(text))
    if text.startswith(("query", "evidence")) and (match := re.fullmatch(_ASKS, text, re.ASCII)):
        message = f"this is a fact named {match[1]}, not a question"
        yield file.problem("problog-directive", message, piece, _asked(match), "warning")
    yield from semicolons(file, piece)


def semicolons(file: SourceFile, piece: Piece) -> Iterator[Diagnostic]:
    """A ';' between the conditions of a body: 'and' here, 'or' in Prolog."""
    text = file.text[piece.start : piece.end]
    start = piece.start + len(before_body(text))
    if piece.directive or file.text.find(";", start, piece.end) < 0:
        return
    parts, head = _alternatives(file, start, piece.end), before_body(text).strip()
    if len(parts) < 2:
        return
    words = [" ".join(file.text[begin:end].split()) for begin, end in parts]
    if "%" in text or len(text) > _SHOWN:
        help = "write ',' for 'and'; for 'or', write one rule for each case"
    elif piece.annotated:
        variables = ",".join(dict.fromkeys(_NAMED.findall(head)))
        either = f"either({variables})" if variables else "either"
        cases = " ".join(f"{either} :- {case}." for case in words)
        both = f"{cases} {head} :- {either}."
        help = f"write '{head} :- {', '.join(words)}.' for 'and'; for 'or', '{both}'"
    else:
        cases = " ".join(f"{head} :- {case}.".strip() for case in words)
        joined = f"{head} :- {', '.join(words)}.".strip()
        help = f"write '{joined}' for 'and'; for 'or', '{cases}'"
    message, first = "';' means 'and' in a body, just as ',' does", parts[0][1]
    yield file.problem("body-semicolon", message, (first, first + 1), help, "warning")


def _alternatives(file: SourceFile, start: int, end: int) -> list[tuple[int, int]]:
    """The slices of a body between its ';'; none if a condition ``a : b`` needs them."""
    slices: list[tuple[int, int]] = []
    begin = start
    for _, token in outside(tokens(file.text, start, end)):
        if token.text == ":-" and begin == start:
            begin = token.end
        elif token.text == ":":
            return []
        elif token.text in (";", ".") and token.kind == "symbol":
            slices.append((begin, token.start))
            begin = token.end
    return slices


def unused_main(statement: Statement) -> Iterator[Diagnostic]:
    """A ``main`` in a script, which clingo would call but dPASP does not."""
    match statement:
        case Plain(node) if node.ast_type == ASTType.Script and _MAIN.search(node.code):
            message = "the function main of this script is never called"
            help = "define @functions for rules to call, and drive the program from Python"
            yield Diagnostic("script-main", message, statement.span, help, "warning")


def names_a_predicate(
    warning: Diagnostic, statements: Iterable[Statement], sources: Sources
) -> bool:
    """Whether a fact ``query(a).`` or ``evidence(a).`` belongs to a predicate used in a body."""
    if warning.code != "problog-directive" or warning.span is None:
        return False
    text = sources.text_of(warning.span) or ""
    name = "query" if text.startswith("query") else "evidence"
    return any(
        part.ast_type == ASTType.SymbolicAtom and str(part).partition("(")[0] == name
        for statement in statements
        for node in body_nodes(statement)
        for part in walk(node)
    )


def _comparison(file: SourceFile, piece: Piece, head: str) -> Iterator[Diagnostic]:
    match = _COMPARISON.match(head)
    if match is None or head.startswith("#"):
        return
    message = "the head of this rule is a comparison, which derives nothing"
    help = "write an atom before ':-', and comparisons after it"
    if match["sign"] == "<-":
        message = "this is read as 'less than minus', a comparison"
        help = "write a rule as 'head :- body.'"
    where = (piece.start + match.start("sign"), piece.start + match.end("sign"))
    yield file.problem("comparison-head", message, where, help, "warning")


def _quotes(file: SourceFile, piece: Piece, text: str) -> Iterator[Diagnostic]:
    for match in _QUOTED.finditer(text):
        if name := match["name"]:
            where = (piece.start + match.start(), piece.start + match.end())
            what = "a variable" if name[0].isupper() else "a name"
            message = f"{match['quoted']} in single quotes is {what}, not text"
            help = f'write "{name}", or {name.lower()} without quotes'
            yield file.problem("quotes", message, where, help, "warning")
