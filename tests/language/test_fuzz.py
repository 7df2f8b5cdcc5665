"""Damaged programs: only our own errors escape, at places inside the text.

``DPASP_FUZZ=200000`` (make fuzz) tries more of them, in a process of its own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.language import fuzz
from tests.language.seeds import STATEMENTS, seeds
from tests.stress.seeds import failed

COUNT = int(os.environ.get("DPASP_FUZZ", "0"))


@pytest.mark.parametrize("text", STATEMENTS)
def test_whole_programs(text: str) -> None:
    assert fuzz.examine(text) is None


def test_our_own_programs() -> None:
    assert [text for text in seeds() if fuzz.examine(text) is not None] == []


@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(3_500, 42_000, 3_500))],
)
def test_damaged_programs(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(fuzz.failures(first, first + 3_500)) == []


@pytest.mark.skipif(not COUNT, reason="set DPASP_FUZZ to the number of programs to try")
def test_many_damaged_programs() -> None:
    assert failed("tests.language.fuzz", COUNT, first=42_000) == 0


# What once went wrong, or what clingo's parser does not survive.
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "%",
        "%*",
        '"',
        "a é.",
        "a(1…3).",
        "a ∼ b. ∼",
        "0.3::i(0) ∼ test(x).",
        "a(\x00).",
        'a("\x00").',
        'a("\ud800"). b.',
        "% \ud800\na.",
        "#script (python) #end é #end.",
        "#script (python) x = '\ud800' #end.",
        "#python \ud800 #end.",
        "&a{é}.",
        "0.3::a; (b.",
        "0.3::a(x::y).",
        "a(" + "f(" * 20_000 + "1" + ")" * 20_000 + ").",
        "a(" + "+".join("1" * 100_000) + ").",
        "a(" + "-" * 50_000 + "1).",
        "(" * 10_000 + "0.3::a.",
        "-" * 10_000 + "0.3::a.",
        "0.1" + "+0.1" * 10_000 + "::a.",
        "#const p = " + "(" * 5_000 + "0.3" + ")" * 5_000 + ".",
        "#python\n" + "(" * 5_000 + "\n#end.",
        "#python\n" + "-" * 100_000 + "1\n#end.",
        "a." * 5_000 + "(",
        "(a. " * 500,
        "0.3::a" * 2_000,
        "#query a\n" * 2_000,
        "a :- " + "b, " * 20_000 + "c.",
        "9" * 10_000 + "::a.",
        "#query 0x" + "1F" * 20 + "#evidence1F",
        "a(" + "0" * 10_000 + ").",
        "#learn @f, n = " + "9" * 10_000 + ".",
        '#include "' + "x" * 5_000 + '".',
        '#include "\x01/\x02".',
        '#include "~nobody&here/x.lp".',
        "0.5::a.\x0c#program step(t).\nb",
        "[02, 0.7]::f.\n#query f.\x1c",
        "b :. a :- c:. d(f()).",
        "_ :- a. __ :- a. _X. _x.",
        "k(" + "g(;)," * 68 + "1).",
        "#external f. [false]\n?::a.",
        "#external f.\n#const p = 0.3. p*1::a.",
        "?::",
        "!::.",
        "~",
        "#",
        "#.",
        ".",
        "::",
        "[",
        "as @f. with. undef. #query undef. #query undef undef. #query undef(a).",
    ],
)
def test_odd_texts(text: str) -> None:
    assert fuzz.examine(text) is None
