"""What the words of the language mean, in a sentence or two and one example.

>>> print(word_help("#evidence"))
`#evidence`: literals that join the evidence of every question
<BLANKLINE>
```plp
#evidence a, not b.
```
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dpasp.language.statements.engines import engine_summaries
from dpasp.language.statements.kind import kinds


class Word(NamedTuple):
    """What a word is for, and how it is written."""

    meaning: str
    example: str


_CLINGO: Final = {
    "#show": Word("which atoms of a model are shown", "#show smokes/1."),
    "#external": Word("an atom that may be set from outside", "#external e(1..3)."),
    "#defined": Word("a predicate that may be without rules", "#defined friend/2."),
    "#edge": Word("the graph of the edges that hold has no cycle", "#edge (X,Y) : e(X,Y)."),
    "#project": Word("clingo's, for projected models", "#project a/1."),
    "#heuristic": Word("clingo's, for the order of its search", "#heuristic a : b. [1,true]"),
    "#program": Word("names a part of a program; only `base` is read", "#program base."),
}

SEMANTICS: Final = {
    "stable": "two-valued stable models (answer sets)",
    "partial": "partial stable models: an atom may be undefined",
    "lstable": "least undefined stable models: partial ones that leave least undefined",
    "smproblog": "stable models where there are any, undefined where there are none",
    "wellfounded": "the one well-founded model of every total choice",
    "credal": "any share: answers are lower and upper probabilities (the default)",
    "maxent": "equal shares: answers are numbers",
}
KEYWORDS: Final = {
    "not": Word("the atom is not derived (default negation).", "work :- not sleep."),
    "undef": Word("in a question: the atom is neither true nor false.", "#query undef shaves."),
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
    """The words with '#' that begin a statement: ours, then clingo's."""
    ours = {word: Word(kind.about, kind.form) for kind in kinds() for word in kind.words}
    return ours | _CLINGO


def word_help(word: str) -> str | None:
    """A word of the language in Markdown; None if it has no meaning of its own."""
    if word_kind := directive_words().get(word) or KEYWORDS.get(word):
        return f"`{word}`: {word_kind.meaning}\n\n```plp\n{word_kind.example}\n```"
    if found_short := SEMANTICS.get(word) or engine_summaries().get(word):
        return f"`{word}`: {found_short}"
    return None
