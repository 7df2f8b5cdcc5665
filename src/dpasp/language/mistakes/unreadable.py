"""What no statement can hold: characters, unclosed strings and comments, numbers out of range.

>>> from dpasp.language import parse
>>> from dpasp.errors import ProgramError
>>> try:
...     parse("a :- b € c.")
... except ProgramError as error:
...     print(error.diagnostics[0].message)
'€' has no meaning here
"""

from __future__ import annotations

import re
import unicodedata

from dpasp.errors import Diagnostic
from dpasp.language.text.cursor import Refused
from dpasp.language.text.pieces import BIG, Mark, Piece
from dpasp.language.text.source import SourceFile

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
}

# Characters that look like others, or that other notations use, and what to write.
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


def describe(file: SourceFile, mark: Mark) -> tuple[Diagnostic, int]:
    """The diagnostic for something that cannot be read, and the place up to which it is about."""
    if mark.kind != "bad-character":
        message, help = _TEXTS[mark.kind]
        return Diagnostic(mark.kind, message, file.span(mark.start, mark.end), help), mark.start
    text, char = file.text, file.text[mark.start]
    if not char.isalpha() or char in _INSTEAD:
        return _character(file, mark), mark.start
    start, end = mark.start, mark.end
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    message = f"'{char}' cannot be part of a name"
    help = f'use the letters a to z, or write text in quotes: "{text[start:end]}"'
    return Diagnostic("bad-character", message, file.span(start, end), help), end


def _character(file: SourceFile, mark: Mark) -> Diagnostic:
    """The diagnostic for a character that is not a letter."""
    char = file.text[mark.start]
    span = file.span(mark.start, mark.end)
    if instead := _INSTEAD.get(char):
        message = f"'{char}' is written '{instead}' here"
        return Diagnostic("bad-character", message, span, f"write {instead}")
    name = unicodedata.name(char, "").lower() or f"U+{ord(char):04X}"
    if char.isspace() or unicodedata.category(char).startswith("C"):
        message = f"an invisible character, {name}"
        return Diagnostic("bad-character", message, span, "remove it, or type a plain space")
    message = f"'{char}' has no meaning here"
    return Diagnostic("bad-character", message, span, "remove it, or put it into a string")


def describe_mark(file: SourceFile, mark: Mark) -> Diagnostic:
    """The diagnostic for a number or a sign that was left where clingo reads."""
    span, text = file.span(mark.start, mark.end), file.text[mark.start : mark.end]
    match mark.kind:
        case "decimal":
            message = f"{text} is a real number, and terms hold integers only"
            help = "count in smaller units, as in 5 tenths; only probabilities (0.3::a) and #const"
            help += " are real"
            return Diagnostic("real-number", message, span, help)
        case "integer":
            message = f"{text} is too large: integers go up to {LARGEST}"
            return Diagnostic("number-range", message, span, 'write it as a string, "…"')
        case "ellipsis":
            message = f"'{text}' has no meaning here"
            return Diagnostic("ellipsis", message, span, "an interval is written 1..9")
    return Diagnostic("tilde-not", f"'{text}' is not negation here", span, "write 'not'")


_CHOOSES = "it chooses among models, which is not a probability; write constraints instead"

# Statements of clingo's that have no meaning here, and what to do.
REFUSED = {
    "#minimize": ("optimisation", _CHOOSES),
    "#maximize": ("optimisation", _CHOOSES),
    "#minimise": ("optimisation", _CHOOSES),
    "#maximise": ("optimisation", _CHOOSES),
    ":~": ("optimisation", _CHOOSES),
    "#theory": ("theory", "write plain rules and constraints"),
    "#program": (
        "program-part",
        "clingo itself grounds only '#program base.' unless a script says otherwise; move the "
        "rules there, with constants (#const t = 3.) for the parameters",
    ),
}


def refusal(file: SourceFile, piece: Piece, word: str) -> Refused:
    """The refusal of a statement of clingo's that begins with a word."""
    code, help = REFUSED[word]
    what = "a weak constraint" if word == ":~" else word
    span = file.span(piece.start, piece.start + len(word))
    return Refused(Diagnostic(code, f"{what} is refused", span, help), None)


LARGEST = 2**31 - 1  # clingo's integers silently wrap around beyond


def is_left(mark: Mark, text: str) -> bool:
    """Whether a mark, in the text as clingo would see it, is something that it must not see."""
    if not text.strip():
        return False
    match mark.kind:
        case "integer":
            number = re.match(BIG, text)  # a statement cut short may end inside the mark
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
