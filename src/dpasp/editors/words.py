"""What the words of the language mean, in a sentence or two and one example.

>>> print(explained("#mpe"))
`#mpe`: the most probable total choice, given evidence.
<BLANKLINE>
```plp
#mpe | alarm.
```
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Word(NamedTuple):
    """What a word is for, and how it is written."""

    meaning: str
    example: str


DIRECTIVES: Final = {
    "#query": Word(
        "asks for a probability: of a conjunction of literals, given others after `|`. "
        "A question with variables stands for all of its instances.",
        "#query alarm, not burglary | calls(X).",
    ),
    "#map": Word(
        "asks for the most probable joint value of the atoms marked with `?`.",
        "#map burglary?, earthquake? | alarm.",
    ),
    "#mpe": Word("the most probable total choice, given evidence.", "#mpe | alarm."),
    "#evidence": Word("joins literals to the evidence of every question.", "#evidence a, not b."),
    "#semantics": Word(
        "says which models count (stable, partial, lstable, smproblog, wellfounded) and how "
        "their total choice's probability is shared among them (credal, maxent).",
        "#semantics lstable, maxent.",
    ),
    "#learn": Word(
        "learns the parameters `?::` and the networks from observations: a function of the "
        "`#python` block or a CSV file.",
        '#learn @labels, lr = 0.001, niters = 5, batch = 1000, alg = "lagrange".',
    ),
    "#inference": Word("says which engine answers the questions.", "#inference sample, n = 10000."),
    "#python": Word(
        "holds Python whose functions the program calls as `@name`; it runs only where Python is "
        "allowed.",
        "#python\ndef net():\n    ...\n#end.",
    ),
    "#script": Word("is clingo's own block of code.", "#script (python)\n...\n#end."),
    "#const": Word(
        "names a number or a term; `-c NAME=VALUE` on the command line wins over it.",
        "#const p = 0.3.",
    ),
    "#include": Word("reads another file in its place.", '#include "rules.lp".'),
    "#show": Word("says which atoms of a model are shown.", "#show smokes/1."),
    "#external": Word("declares an atom that a user may set from outside.", "#external e(1..3)."),
    "#defined": Word("says that a predicate may be without rules.", "#defined friend/2."),
    "#project": Word("is clingo's, for projected models.", "#project a/1."),
    "#heuristic": Word("is clingo's, for the order of its search.", "#heuristic a : b. [1,true]"),
    "#program": Word("names a part of a program; only `base` is read.", "#program base."),
}
DIRECTIVES["#pr"] = Word("is the same as `#query`.", "#pr alarm.")
DIRECTIVES["#max"] = Word("is the same as `#map`.", "#max burglary? | alarm.")

SEMANTICS: Final = {
    "stable": "two-valued stable models (answer sets)",
    "partial": "partial stable models: an atom may be undefined",
    "lstable": "least undefined stable models: partial ones that leave least undefined",
    "smproblog": "stable models where there are any, undefined where there are none",
    "wellfounded": "the one well-founded model of every total choice",
    "credal": "any share: answers are lower and upper probabilities (the default)",
    "maxent": "equal shares: answers are numbers",
}
METHODS: Final = {
    "auto": "chosen by the program (the default)",
    "exact": "an exact answer: compiled, or enumerated",
    "compile": "the program as a circuit",
    "enumerate": "every total choice, one by one: the reference",
    "sample": "estimates from samples, with intervals of confidence",
    "bounds": "sure bounds that close in on the answer",
    "aseo": "bounds by the most probable models",
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


def explained(word: str) -> str | None:
    """A word of the language in Markdown; None if it has no meaning of its own."""
    if found := DIRECTIVES.get(word) or KEYWORDS.get(word):
        return f"`{word}`: {found.meaning}\n\n```plp\n{found.example}\n```"
    if found_short := SEMANTICS.get(word) or METHODS.get(word):
        return f"`{word}`: {found_short}"
    return None
