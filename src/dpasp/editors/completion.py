"""The words of the language: what each means, and which can be written next.

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
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from dpasp.editors.analysis import Analysis, Predicate
from dpasp.editors.navigation import python_names
from dpasp.language.statements import engines
from dpasp.language.statements.kind import kinds
from dpasp.language.statements.options import LEARN, NETWORK, Allowed
from dpasp.language.text.lexer import INLINE

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
    "#project": Word("which atoms tell models apart, for dpasp models --best", "#project a/1."),
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
    """Something to write: its name, what it is, what it is for, and the text (a snippet)."""

    label: str
    kind: OfferKind
    detail: str = ""
    snippet: str = ""


def complete(analysis: Analysis, offset: int) -> list[Offer]:
    """What can be written at an offset, the likeliest first; the editor picks what fits."""
    before = _before(analysis, offset)
    part = _PART.search(before)
    typed = part[0] if part else ""
    ahead = before[: len(before) - len(typed)]
    if typed.startswith("#"):
        return list(_directives(inside=bool(ahead.strip())))
    if typed.startswith("@"):
        return [Offer(name, "function", "of the #python block") for name in python_names(analysis)]
    return list(_by_statement(analysis, ahead)) or list(_words(analysis, before, offset))


def _before(analysis: Analysis, offset: int) -> str:
    """What of a statement that is being written stands before an offset."""
    last = next((p for p in reversed(analysis.split.pieces) if p.start < offset), None)
    if last is None or (last.dotted and last.end <= offset):
        return ""
    return analysis.text[last.start : offset]


def _directives(inside: bool) -> Iterator[Offer]:
    if inside:
        yield from (Offer(word, "word") for word in sorted(INLINE - {"#end"}))
        return
    for name, word in directive_words().items():
        yield Offer(name, "directive", word.meaning, _SNIPPETS.get(name, ""))


def _by_statement(analysis: Analysis, ahead: str) -> Iterator[Offer]:
    """What only some statements hold: the names of semantics and methods, options."""
    words = ahead.split()
    first = words[0] if words else ""
    if first == "#semantics":
        yield from (Offer(name, "value", detail) for name, detail in SEMANTICS.items())
    elif first == "#inference" and "," not in ahead:
        yield from (
            Offer(name, "value", detail) for name, detail in engines.engine_summaries().items()
        )
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
        yield Offer(name, "option", kind.words, f"{name} = ${{1:{_plain(kind.examples[0])}}}")


def _plain(text: str) -> str:
    return text.replace("}", "\\}").replace("$", "\\$")


def _words(analysis: Analysis, before: str, offset: int) -> Iterator[Offer]:
    """Predicates of the program, variables of the statement, and words."""
    defined = dict.fromkeys(o.predicate for o in analysis.occurrences if o.role == "head")
    for predicate in dict.fromkeys((*defined, *(o.predicate for o in analysis.occurrences))):
        yield Offer(predicate.name, "predicate", str(predicate), _call(predicate))
    seen = re.findall(r"(?<![\w'])[_']*[A-Z][\w']*", before)
    yield from (Offer(name, "variable") for name in dict.fromkeys(seen))
    words: dict[str, Word] = {name: KEYWORDS[name] for name in ("not", "undef")}
    if before.lstrip().startswith(("?::", "!::")):
        words |= KEYWORDS
    yield from (Offer(name, "word", word.meaning) for name, word in words.items())


def _call(predicate: Predicate) -> str:
    places = ", ".join(f"${{{n}:{_letter(n)}}}" for n in range(1, predicate.arity + 1))
    return f"{predicate.name}({places})" if places else predicate.name


def _letter(number: int) -> str:
    return "XYZUVW"[number - 1] if number <= 6 else f"X{number}"
