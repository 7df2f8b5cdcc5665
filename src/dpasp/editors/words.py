"""The words of a program: their meanings, hover texts and completions.

>>> print(word_help("#evidence"))
`#evidence`: literals added to the evidence of every question
<BLANKLINE>
```plp
#evidence a, not b.
```
>>> from dpasp.editors.analysis import analyse
>>> text = "#semantics max"
>>> [offer.label for offer in complete(analyse(text, "p.plp"), len(text))]
['stable', 'partial', 'lstable', 'smproblog', 'wellfounded', 'credal', 'maxent', 'weighted']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from dpasp.editors.analysis import Analysis, Occurrence, Predicate
from dpasp.editors.navigation import python_names
from dpasp.errors import Error, Span
from dpasp.language import ast
from dpasp.language.statements import engines
from dpasp.language.statements.options import LEARN, NETWORK, Allowed
from dpasp.language.statements.statement import kinds
from dpasp.language.text.lexer import INLINE
from dpasp.limits import Limits

SEMANTICS: Final = {
    "stable": "two-valued stable models (answer sets)",
    "partial": "partial stable models: an atom may be undefined",
    "lstable": "partial stable models that leave as little undefined as possible",
    "smproblog": "stable models; if there are none, everything is undefined",
    "wellfounded": "the well-founded model, one per total choice",
    "credal": "lower and upper probabilities (the default)",
    "maxent": "models share probability equally: one number per answer",
    "weighted": "models have weights, by factors; all together sum to 1: one number per answer",
}
MOST_ANSWERS = 5  # answers that are shown
PATIENCE = Limits(seconds=1.0, megabytes=4000)  # limits of the answer in a hover
_PART = re.compile(r"[#@]?[\w']*\Z")
_VALUE = re.compile(r'([a-z_]+)\s*=\s*"?\Z')
_SNIPPETS = {
    "#query": "#query ${1:atom}.",
    "#factor": "#factor ${1:2.5} : ${2:atom}.",
    "#evidence": "#evidence ${1:atom}.",
    "#map": "#map ${1:atom}?.",
    "#mpe": "#mpe | ${1:evidence}.",
    "#semantics": "#semantics ${1:maxent}.",
    "#learn": "#learn ${1:@labels}, niters = ${2:5}.",
    "#inference": "#inference ${1:exact}.",
    "#name": '#name ${1:atom}(${2:X}): "{${2:X}} ${3:…}".',
    "#python": "#python\n$0\n#end.",
    "#const": "#const ${1:p} = ${2:0.5}.",
    "#show": "#show ${1:name}/${2:1}.",
}


class Word(NamedTuple):
    """What a word means, and an example of it."""

    meaning: str
    example: str


_CLINGO: Final = {
    "#show": Word("which atoms are shown", "#show smokes/1."),
    "#external": Word("declares atoms that may be set from outside", "#external e(1..3)."),
    "#defined": Word("a predicate that may have no rules", "#defined friend/2."),
    "#edge": Word("forbids cycles in the graph of these edges", "#edge (X,Y) : e(X,Y)."),
    "#project": Word("which atoms tell models apart, for dpasp models", "#project a/1."),
    "#heuristic": Word(
        "accepted from clingo; has no effect on probabilities", "#heuristic a : b. [1,true]"
    ),
    "#program": Word("names a part of a program; only `base` is read", "#program base."),
}

KEYWORDS: Final = {
    "not": Word("the atom is not derived (default negation).", "work :- not sleep."),
    "undef": Word(
        "in a question: the atom is undefined, neither true nor false.", "#query undef shaves."
    ),
    "as": Word(
        "names the network of a neural predicate.", "?::digit(X, {0..9}) as @net :- input(X)."
    ),
    "with": Word(
        "options of a network.", '?::f(X) as @net with optim = "Adam", lr = 0.001 :- i(X).'
    ),
    "on": Word("where a network comes from: a folder or a repository.", '@net on "owner/repo"'),
    "at": Word("the host of that repository.", '@net on "owner/repo" at "github"'),
    "do": Word("sets an atom: its rules are left out.", "#query wet | do(rain), cloudy."),
    "given": Word(
        "what was observed where nothing is set.", "#query not wet | do(not rain) given wet."
    ),
}


def directive_words() -> dict[str, Word]:
    """The directives: dPASP's own, then clingo's."""
    ours = {word: Word(kind.about, kind.form) for kind in kinds() for word in kind.words}
    return ours | _CLINGO


def word_help(word: str) -> str | None:
    """The explanation of a word in Markdown; None if there is none."""
    if word_kind := directive_words().get(word) or KEYWORDS.get(word):
        return f"`{word}`: {word_kind.meaning}\n\n```plp\n{word_kind.example}\n```"
    if found_short := SEMANTICS.get(word) or engines.engine_summaries().get(word):
        return f"`{word}`: {found_short}"
    return None


OfferKind = Literal["directive", "word", "predicate", "variable", "function", "option", "value"]


class Offer(NamedTuple):
    """A completion: its name, kind, purpose and text (a snippet)."""

    label: str
    kind: OfferKind
    detail: str = ""
    snippet: str = ""


def complete(analysis: Analysis, offset: int) -> list[Offer]:
    """Completions at an offset, the likeliest first; the editor filters them."""
    before = _before(analysis, offset)
    part = _PART.search(before)
    typed = part[0] if part else ""
    ahead = before[: len(before) - len(typed)]
    if typed.startswith("#"):
        if ahead.strip():  # inside of a statement
            return [Offer(word, "word") for word in sorted(INLINE - {"#end"})]
        words = directive_words().items()
        return [Offer(name, "directive", w.meaning, _SNIPPETS.get(name, "")) for name, w in words]
    if typed.startswith("@"):
        return [Offer(name, "function", "of the #python block") for name in python_names(analysis)]
    return list(_by_statement(analysis, ahead)) or list(_words(analysis, before, offset))


def _before(analysis: Analysis, offset: int) -> str:
    """The part before an offset of a statement that is being written."""
    last = next((p for p in reversed(analysis.split.pieces) if p.start < offset), None)
    if last is None or (last.dotted and last.end <= offset):
        return ""
    return analysis.text[last.start : offset]


def _by_statement(analysis: Analysis, ahead: str) -> Iterator[Offer]:
    """Completions for particular statements: names of semantics and methods, options."""
    words = ahead.split()
    first = words[0] if words else ""
    if first == "#semantics" or (first == "#inference" and "," not in ahead):
        named = SEMANTICS if first == "#semantics" else engines.engine_summaries()
        yield from (Offer(name, "value", detail) for name, detail in named.items())
    elif first == "#inference":
        yield from _options(engines.all_options(), ahead)
    elif first == "#learn" and "," in ahead:
        yield from _options(LEARN, ahead)
    elif "::" in ahead and re.search(r"\bwith\b(?!.*:-)", ahead, re.DOTALL):
        yield from _options(NETWORK, ahead)


def _options(known: dict[str, Allowed], ahead: str) -> Iterator[Offer]:
    if (value := _VALUE.search(ahead)) is not None:
        kind = known.get(value[1])
        yield from (Offer(e.strip('"'), "value") for e in (kind.examples if kind else ()))
        return
    for name, kind in known.items():
        example = kind.examples[0].replace("}", "\\}").replace("$", "\\$")
        yield Offer(name, "option", kind.words, f"{name} = ${{1:{example}}}")


def _words(analysis: Analysis, before: str, offset: int) -> Iterator[Offer]:
    """Predicates of the program, variables of the statement, and words."""
    defined = dict.fromkeys(o.predicate for o in analysis.occurrences if o.role == "head")
    for predicate in dict.fromkeys((*defined, *(o.predicate for o in analysis.occurrences))):
        yield Offer(predicate.name, "predicate", str(predicate), _call(predicate))
    seen = re.findall(r"(?<![\w'])[_']*[A-Z][\w']*", before)
    yield from (Offer(name, "variable") for name in dict.fromkeys(seen))
    words: dict[str, Word] = {name: KEYWORDS[name] for name in ("not", "undef")}
    if before.lstrip().startswith(("?::", "!::")):
        words |= {name: KEYWORDS[name] for name in ("as", "with", "on", "at")}
    elif before.lstrip().startswith("#") and "|" in before:
        words |= {name: KEYWORDS[name] for name in ("do", "given")}
    yield from (Offer(name, "word", word.meaning) for name, word in words.items())


def _call(predicate: Predicate) -> str:
    names = [*"XYZUVW", *(f"X{n}" for n in range(7, predicate.arity + 1))][: predicate.arity]
    places = ", ".join(f"${{{n}:{name}}}" for n, name in enumerate(names, 1))
    return f"{predicate.name}({places})" if places else predicate.name


# --- what is said about the word under the pointer, in Markdown ---------------------------------


def hover(analysis: Analysis, offset: int) -> str | None:
    """The hover text at an offset, if any."""
    place, token = analysis.occurrence_at(offset), analysis.token_at(offset)
    if place is not None:
        return _about_predicate(analysis, place)
    if token is None:
        return None
    if token.kind == "call":
        return f"**{token.text}** · a function of the `#python` block, or of a module"
    return word_help(token.text) or _about_option(analysis, offset, token.text)


def _about_predicate(analysis: Analysis, place: Occurrence) -> str:
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
    """The kind of a predicate, from a statement with it in the head."""
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
        case ast.Statistical():
            return "statistical statement"
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
    """The answers to some questions, if they are quick; Python never runs for them."""
    if analysis.unread:
        return ""
    rest = [s for s in analysis.program.statements if not isinstance(s, ast.Query | ast.Map)]
    asked = ast.Program((*rest, *questions), analysis.program.sources)
    from dpasp.program import Program  # imported late, since the playground needs only the words

    try:
        answers = Program(asked).query(limits=PATIENCE)
    except Error as error:
        return f"no answer ({error.diagnostics[0].message})"
    return ", ".join(map(str, list(answers)[:MOST_ANSWERS])) + (
        " …" if len(answers) > MOST_ANSWERS else ""
    )


def _about_option(analysis: Analysis, offset: int, word: str) -> str | None:
    """An option of ``#learn``, ``#inference`` or a network."""
    piece = analysis.piece_at(offset)
    tables = {"#learn": LEARN, "#inference": engines.all_options(), "": NETWORK}
    tables["#factor"] = NETWORK
    known = tables.get(piece.directive, {}) if piece else {}
    if word not in known or (piece and not piece.directive and not piece.annotated):
        return None
    kind = known[word]
    return f"`{word}`: {kind.words}, as in `{word} = {kind.examples[0]}`"
