"""Good programs: our own examples and cases, and one statement of every kind."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

STATEMENTS = (
    "a. b :- a. :- a, not b.",
    "0.3::a. 3/10::b :- a. 1e-3::c. 1::d. 1.::e.",
    "#const p = 0.3. p::a. 1-p::b :- a. #const n = 3. c(n).",
    "W/10::edge(X,Y) :- weight(X,Y,W). weight(a,b,3).",
    "0.05::eq(heavy); 0.15::eq(mild); 0.8::eq(none) :- b. b.",
    "0.4::-a(X); 0.6::b(X) :- c(X), #count{Y : d(X,Y)} > 2. c(1). d(1,1..3).",
    "?::a. 0.5?::h1; ?::h2; ?::h3 :- b. 0.2::x; ?::y; ?::z. b.",
    "?*::a(X) :- b(X). *?::c(X) :- b(X). ?(X)::d(X,Y) :- b(X), b(Y). b(1..2).",
    "[0.2, 0.7]::f. [0.1,0.4]::a(X) :- b(X). [0.1,0.3]::x; [0.2,0.5]::y; [0.4,0.6]::z. b(1).",
    '#python\ndef net(): ...\ndef te(i): ...\n#end.\ninput(0) ~ test(@te(0)), train("tr.csv").\n'
    '?::digit(X, {0..9}) as @net with optim = "Adam", lr = 0.001, betas = (0.9, 0.999) '
    ":- input(X).\n!::even(X) as @net :- input(X).",
    '?::f(X; {a,b,c}) as @net on "owner/repo" at "github" :- g(X). g(0) ~ test("x.npy").\n'
    "?::h(X, {a,b}; {0..8}) as @package.module:make with logits :- g(X). #query h(0, a; 3).\n"
    '!::k(X,{0,...,9}) as @net(1,"x") on "folder" :- g(X). ?::l(X,{0,…,9}) as @net on "f" :- g(X).',
    "data(x) ∼ test(@te), train(@tr).\n#python\nte = tr = 1\n#end.",
    "#query sum(8) | not both_even. #query(a, not b | undef c). #pr sum(X), X > 3.\n#query a\nb.",
    "#map a?, b? | e. #map(x(Y)? | e). #mpe | e. #mpe. #max a?. #evidence a, not b.",
    "#semantics lstable, maxent.",
    "#semantics (credal, partial). #query undef a. a :- not a.",
    '#learn @labels(0), lr = 0.001, niters = 5, batch = 1000, alg = "lagrange".\n'
    "#python\ndef labels(i): return []\n#end.",
    '#learn "labels.csv", lr = 1., niters = 5, shuffle, display = "none".',
    "#inference sample, n = 10000. #inference exact.",
    'name("Zoë", "a\\"b\\\\c\\n"). greek("αβγ") :- name("Ørsted", X), X != "x".',
    "a((1,2),(),(1,)). b(X,_) :- a((X,_),_,_). c(1;2,3). d(1..3,x;y). k(f(),g(;1)) : .",
    "e(|1-3|, 2**3, 7\\2, ~1, 1?2, 1^2, 1&2, -(-1), 2*(3+4), 1-(2-3)). #count{:} = 1 :- h : ; i.",
    "1 { colour(X,red; X,blue) } 1 :- node(X). {a; b : c, not d} 2. #count{X : p(X)} = 1 :- q.",
    "a :- #sum{W,X : p(X,W); 1 : q} >= 3, #sum+{1 : a} < 2, 1 < #min{X : p(X,_)} <= 3, "
    "not #max{X : p(X,_)} = 4.",
    "a :- b(X) : c(X), not d; e. f(X) : g(X). not h :- i. not not j :- k. -l :- not not -m.",
    "a :- 1 < X < 3, X = 1..5, (X,Y) = (1,2), not X = Y, #true, not #false, X != #inf, X < #sup.",
    "#show a/1. #show -b/2. #show f(X) : p(X). #show. #defined q/3. #external e(X) : p(X). [true]",
    "#external x. #external y. [false] #project a/1. #project b : c. #heuristic a : b. [1@2,sign]",
    "#script (python)\ndef f(x): return x\n#end.\na(@f(1)). #script(lua) x = 1 #end.",
    "% a comment\na. %* a %* nested *% one *% b. #! another\nc :- %* in *% a.",
    "#program base. a(x', 'y, _z) :- b(X', 'Y, _Z). b(1,1,1).",
    "0.3::a(0x1F,0b11,0o7).\n\n  \t0.4 :: b ( X ) :-\n    c(X) ,\n    not d(X) . c(1).",
)


def _texts() -> list[str]:
    files = [*(ROOT / "examples").rglob("*.plp"), *(ROOT / "tests" / "cases").rglob("*.plp")]
    return [path.read_text(encoding="utf-8") for path in sorted(files)]


@cache
def seeds() -> tuple[str, ...]:
    """All good programs that we have, without the comments that say what is expected."""
    plain = (re.sub(r"^%.*\n", "", text, flags=re.M) for text in _texts())
    return (*STATEMENTS, *(text for text in plain if len(text) < 4_000))
