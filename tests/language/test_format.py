"""The formatter: the same program and the same comments, laid out in one way."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from dpasp.errors import ProgramError
from dpasp.language import parse
from dpasp.language.formatting import WIDTH, formatted
from dpasp.language.statements.statement import starting_words
from dpasp.language.text.lexer import cut_statements, tokens
from tests.language.seeds import seeds
from tests.oracle.generate import generate

ROOT = Path(__file__).parent.parent.parent


def readable(text: str) -> bool:
    try:
        parse(text)
    except ProgramError:
        return False
    return True


def comments(text: str) -> list[str]:
    return [
        text[start:end].rstrip() for start, end in cut_statements(text, starting_words()).comments
    ]


def blocks(text: str) -> list[str]:
    return re.findall(r"#(?:python|script).*?#end\s*\.", text, re.DOTALL)


def check(text: str) -> str:
    """The formatted text, after making sure of all that is promised about it."""
    result = formatted(text)
    assert parse(result) == parse(text)
    assert comments(result) == comments(text)
    assert blocks(result) == blocks(text)
    assert formatted(result) == result
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("a.", "a.\n"),
        ('#name  b( X ) :"{X} is b" .', '#name b(X): "{X} is b".\n'),
        ("  a .\t\n\n\n\nb:-a .  ", "a.\n\nb :- a.\n"),
        ("a.   b.  c.", "a. b. c.\n"),
        ("0.3 :: a ; 7/10::b:-c . ", "0.3::a; 7/10::b :- c.\n"),
        ("? :: a; 0.5?::b.", "?::a; 0.5?::b.\n"),
        ("?*::a(X):-b(X). *?::c(X):-b(X).", "?*::a(X) :- b(X). *?::c(X) :- b(X).\n"),
        ("?( X,Y )::a(X,Y):-b(X,Y).", "?(X,Y)::a(X,Y) :- b(X,Y).\n"),
        ("[ 0.2,0.7 ] ::a.", "[0.2,0.7]::a.\n"),
        ("[0.2, 0.7]::a.", "[0.2, 0.7]::a.\n"),
        ("#query(a,not b|undef c)", "#query(a, not b | undef c).\n".replace("(a, ", "(a,")),
        ("#query a|b", "#query a | b.\n"),
        ("#query a(|X-1|)|b.", "#query a(|X-1|) | b.\n"),
        ("#query -a , not  -b .", "#query -a, not -b.\n"),
        ("#map a ?,b? |e.", "#map a?, b? | e.\n"),
        ("#mpe|e.", "#mpe | e.\n"),
        ("#query a % why\nb.", "#query a.  % why\nb.\n"),
        ("a(X):-b(X , Y,Z).", "a(X) :- b(X, Y, Z).\n"),
        ("a(X):-b(X,Y, Z).", "a(X) :- b(X,Y,Z).\n"),
        ("a:-X=1..3,Y= X+ 1,Z=X +1.", "a :- X = 1..3, Y = X+1, Z = X + 1.\n"),
        ("a:-X=- 1,Y=2*- 3,X-1<-2.", "a :- X = -1, Y = 2*-3, X-1 < -2.\n"),
        ("a :- #count { Y:d(X,Y) }>2.", "a :- #count{ Y : d(X,Y) } > 2.\n"),
        ("a :- #sum+ {Y:d(Y)}>2.", "a :- #sum+{Y : d(Y)} > 2.\n"),
        ("1{a;b}1:-c.", "1 {a;b} 1 :- c.\n"),
        ("1 { a; b } 1:-c.", "1 { a; b } 1 :- c.\n"),
        ("a(0x1F,0b11) .", "a(0x1F,0b11).\n"),
        ("a(~1).", "a(~1).\n"),
        ('i(0)~train("a"),test(@f(1)).', 'i(0) ~ train("a"), test(@f(1)).\n'),
        (
            '?::f(X,{a,b})as@net on"r"at"github"with lr=1.,logits:-g(X).',
            '?::f(X,{a,b}) as @net on "r" at "github" with lr = 1., logits :- g(X).\n',
        ),
        ("#external a(X) :b(X) . [true]", "#external a(X) : b(X). [true]\n"),
        ("#show a / 1. #defined -b /2.", "#show a/1. #defined -b/2.\n"),
        ("#const p=0.3.", "#const p = 0.3.\n"),
        ("not not a:-b.", "not not a :- b.\n"),
        ("a%x\n:-b.", "a  %x\n    :- b.\n"),
        ("a :- %* in *% b.", "a :- %* in *% b.\n"),
        ("a. %* one\n   two *% b.", "a. %* one\n   two *% b.\n"),
        ("  % alone\na.", "% alone\na.\n"),
        ("a.% one\nbbbb.  %two", "a.     % one\nbbbb.  %two\n"),
        ("#! x  \na.", "#! x\na.\n"),
        ("a:-\n  b,\n\n       c.", "a :-\n    b,\n    c.\n"),
        ("{\na;\nb\n} 1:-c.", "{\n    a;\n    b\n} 1 :- c.\n"),
        ("a:-#sum{\n1:b;\n2:c\n}>2.", "a :- #sum{\n        1 : b;\n        2 : c\n    } > 2.\n"),
        ("ab(X)  :- c.\nd(X)   :- c.\ne:-c.", "ab(X) :- c.\nd(X)  :- c.\ne :- c.\n"),
        ("a(X)   :- c.\n\nb(X)   :- c.", "a(X) :- c.\n\nb(X) :- c.\n"),
        ("a. #python\n x  =  1\n#end  . b.", "a.\n#python\n x  =  1\n#end  .\nb.\n"),
        ("#script(lua) x = 1 #end.  %y", "#script(lua) x = 1 #end.  %y\n"),
        ('a("x  ,y").', 'a("x  ,y").\n'),
        ("a.\r\n\r\n b .\r\n", "a.\n\nb.\n"),
        ("\ufeffa .", "a.\n"),
    ],
)
def test_what_comes_out(text: str, expected: str) -> None:
    assert formatted(text) == expected
    check(text.removeprefix("\ufeff").replace("\r\n", "\n"))


def test_long_lines_are_broken_outside_of_brackets() -> None:
    body = ", ".join(f"literal_number_{n}(X,Y)" for n in range(12))
    result = check(f"head(X) :- {body}.")
    lines = result.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line.startswith("    literal") for line in lines[1:])
    assert all(line.endswith("),") for line in lines[:-1])


def test_facts_in_a_long_line_are_broken_between_statements() -> None:
    text = " ".join(f"fact({n}, {n + 1})." for n in range(40))
    assert all(line.endswith(".") for line in check(text).splitlines())


def test_what_cannot_be_broken_stays() -> None:
    assert len(check(f"{'a' * 150}({'b' * 150}).").splitlines()) == 1


def test_our_own_programs() -> None:
    found = [text for text in seeds() if readable(text)]
    assert len(found) >= 200
    for text in found:
        check(text)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.plp")), ids=lambda p: p.name)
def test_the_examples_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text, str(path)) == text


def test_programs_of_the_documentation() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = [
        program
        for path in documents
        for program in re.findall(r"^```plp.*?\n(.*?)^```", path.read_text("utf-8"), re.M | re.S)
    ]
    assert len(found) >= 20
    for text in found:
        if readable(text):
            check(text)


GAPS = (
    "",
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n\n",
    " % a comment\n",
    " %* one *% ",
    "\n%* a\n  b *%\n",
)


def shaken(text: str, random: Random) -> str:
    """The text with other space, and comments, between its tokens."""
    out: list[str] = []
    for piece in cut_statements(text, starting_words()).pieces:
        if piece.directive in ("#python", "#script"):
            out.append(f"\n{text[piece.start : piece.end]}\n")
            continue
        end = -1
        for token in tokens(text, piece.start, piece.end):
            touching = token.start == end  # 0x1F is read as two tokens, and must stay together
            joined = bool(out) and out[-1][-1:].isalnum() and token.text[0].isalnum()
            gap = random.choice(GAPS)
            if joined:
                gap = "" if touching else gap or " "
            out += [gap, token.text]
            end = token.end
    return "".join(out)


@pytest.mark.parametrize("seed", range(4))
def test_shaken_programs(seed: int) -> None:
    random = Random(seed)
    texts = [*random.sample([t for t in seeds() if readable(t)], 40)]
    texts += [str(generate(1000 * seed + n)) for n in range(20)]
    tried = 0
    for text in texts:
        other = shaken(text, random)
        if readable(other) and parse(other) == parse(text):  # some gaps are part of a token
            check(other)
            tried += 1
    assert tried > 30


def test_a_program_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProgramError, match="missing"):
        formatted("a. b :- c", "p.plp")


def test_a_program_that_is_wrong_but_readable_is_formatted() -> None:
    assert formatted("1.5 ::a.") == "1.5::a.\n"


def test_a_missing_include_does_not_matter() -> None:
    assert formatted('#include   "nowhere.lp" .') == '#include "nowhere.lp".\n'
