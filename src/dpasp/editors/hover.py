"""What is said about the word under the pointer, in Markdown.

>>> from dpasp.editors.analysis import analyse
>>> found = analyse("0.3::rain.\\nwet :- rain.\\n#query wet.\\n", "p.plp")
>>> print(hover(found, 18))
**rain/0** · probabilistic fact
<BLANKLINE>
defined in line 1
>>> print(hover(found, 12))
**wet/0** · rule
<BLANKLINE>
defined in line 2
<BLANKLINE>
asked in line 3: ℙ(wet) = 0.300000
"""

from __future__ import annotations

from collections.abc import Iterable

from dpasp.editors.analysis import Analysis, Occurrence
from dpasp.editors.completion import word_help
from dpasp.errors import Error, Span
from dpasp.language import ast
from dpasp.language.statements.engines import all_options
from dpasp.language.statements.options import LEARN, NETWORK
from dpasp.limits import Limits
from dpasp.program import Program

MOST = 5  # answers that are shown
PATIENCE = Limits(seconds=1.0, megabytes=4000)  # what the answer under a pointer may cost


def hover(analysis: Analysis, offset: int) -> str | None:
    """What to say at an offset; None if there is nothing to say."""
    place, token = analysis.occurrence_at(offset), analysis.token_at(offset)
    if place is not None:
        return _predicate(analysis, place)
    if token is None:
        return None
    if token.kind == "call":
        return f"**{token.text}** · a function of the `#python` block, or of a module"
    return word_help(token.text) or _option(analysis, offset, token.text)


def _predicate(analysis: Analysis, place: Occurrence) -> str:
    heads = [other for other in analysis.of(place.predicate) if other.role == "head"]
    kinds = dict.fromkeys(_kind(other.statement) for other in heads)
    parts = [f"**{place.predicate}** · {', '.join(kinds) or 'not defined here'}"]
    if heads:
        parts.append(f"defined in {_lines((other.span for other in heads), analysis)}")
    asked = [
        o for o in analysis.of(place.predicate) if isinstance(o.statement, ast.Query | ast.Map)
    ]
    if asked and (answers := _answers(analysis, dict.fromkeys(o.statement for o in asked))):
        parts.append(f"asked in {_lines((other.span for other in asked), analysis)}: {answers}")
    return "\n\n".join(parts)


def _kind(statement: ast.Statement) -> str:
    """What a predicate is by a statement that has it as its head."""
    match statement:
        case ast.Neural(values=values):
            return "neural annotated disjunction" if values else "neural fact"
        case ast.Data():
            return "data"
        case ast.Annotated(heads, body):
            weights = [head.weight for head in heads]
            if any(isinstance(weight, ast.Interval) for weight in weights):
                kind = "credal"
            elif any(isinstance(weight, ast.Learnable) for weight in weights):
                kind = "learnable"
            else:
                kind = "probabilistic"
            if len(heads) > 1:
                return "annotated disjunction" if kind == "probabilistic" else f"{kind} disjunction"
            return f"{kind} rule" if body else f"{kind} fact"
        case ast.Plain(node):
            return "rule" if getattr(node, "body", None) else "fact"
    return "statement"


def _lines(spans: Iterable[Span], analysis: Analysis) -> str:
    """``line 3, 5 and 8``, with the names of other files."""
    here: list[str] = []
    for span in spans:
        other = "" if span.file == analysis.file.name else f" of {span.file}"
        here.append(f"{span.line}{other}")
    shown = list(dict.fromkeys(here))
    if len(shown) > 6:
        return f"{len(shown)} lines, the first of them line {shown[0]}"
    word = "line" if len(shown) == 1 else "lines"
    *most, last = shown
    return f"{word} {', '.join(most)} and {last}" if most else f"{word} {last}"


def _answers(analysis: Analysis, questions: Iterable[ast.Statement]) -> str:
    """The answers to some questions, if they come at once; Python never runs for them."""
    if analysis.unread:
        return ""
    rest = [s for s in analysis.program.statements if not isinstance(s, ast.Query | ast.Map)]
    asked = ast.Program((*rest, *questions), analysis.program.sources)
    try:
        answers = Program(asked).query(limits=PATIENCE)
    except Error as error:
        return f"no answer ({error.diagnostics[0].message})"
    return ", ".join(map(str, list(answers)[:MOST])) + (" …" if len(answers) > MOST else "")


def _option(analysis: Analysis, offset: int, word: str) -> str | None:
    """An option of ``#learn``, ``#inference`` or a network."""
    piece = analysis.piece_at(offset)
    tables = {"#learn": LEARN, "#inference": all_options(), "": NETWORK}
    tables["#factor"] = NETWORK
    known = tables.get(piece.directive, {}) if piece else {}
    if word not in known or (piece and not piece.directive and not piece.annotated):
        return None
    kind = known[word]
    return f"`{word}`: {kind.words}, as in `{word} = {kind.examples[0]}`"
