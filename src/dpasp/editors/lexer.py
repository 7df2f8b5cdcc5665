"""A Pygments lexer, for documentation and for programs in print.

Pygments finds it by itself wherever dPASP is installed, under the name ``dpasp`` (or
``plp``).

>>> from pygments.token import Token
>>> [text for kind, text in DpaspLexer().get_tokens("0.3::a(X).") if kind in Token.Name]
['a', 'X']
"""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, include, using, words
from pygments.lexers.python import PythonLexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)


class DpaspLexer(RegexLexer):  # type: ignore[misc]
    """The words of a dPASP program; blocks of Python are left to Python's lexer."""

    name = "dPASP"
    aliases: ClassVar = ["dpasp", "plp"]
    filenames: ClassVar = ["*.plp"]
    url = "https://kamel.ime.usp.br/dpasp"
    flags = re.MULTILINE | re.ASCII

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            include("comments"),
            (
                r"(#python\b|#script(?=\s*\(\s*python\s*\)))"
                r"((?<=script)\s*\(\s*python\s*\)|)((?:.|\n)*?)(#end)(\s*)(\.)",
                bygroups(
                    Keyword.Namespace,
                    Punctuation,
                    using(PythonLexer),
                    Keyword.Namespace,
                    Whitespace,
                    Punctuation,
                ),
            ),
            (r'"(?:[^"\\\n]|\\.)*"', String.Double),
            (r"#(?:true|false|inf|infimum|sup|supremum)\b", Keyword.Constant),
            (r"#(?:count|sum|min|max)\b(?=\s*\+?\s*\{)", Name.Builtin),
            (r"#[A-Za-z_]+", Keyword.Declaration),
            (r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+\.(?=::|\?)", Number.Float),
            (r"0x[0-9A-Fa-f]+|0o[0-7]+|0b[01]+|\d+", Number.Integer),
            (r"@\s*[A-Za-z_][\w.]*(?::[A-Za-z_]\w*)?", Name.Function.Magic),
            (words(("not", "undef"), suffix=r"\b(?!')"), Operator.Word),
            (r"\b(?:as|with|on|at)\b(?=\s+[@\"a-z])", Keyword),
            (r"[_']*[A-Z][\w']*|_", Name.Variable),
            (r"[_']*[a-z][\w']*(?=\s*=(?!=))", Name.Attribute),
            (r"[_']*[a-z][\w']*(?=\s*\()", Name.Function),
            (r"[_']*[a-z][\w']*", Name),
            (r"::|:-|:~|\.\.\.|\.\.|\*\*|!=|<=|>=|==|[-+*/\\^&?~∼|<>=!:@…]", Operator),
            (r"[(){}\[\],;.]", Punctuation),
        ],
        "comments": [
            (r"%\*", Comment.Multiline, "comment"),
            (r"(?:%|#!)[^\n]*", Comment.Single),
        ],
        "comment": [
            (r"%\*", Comment.Multiline, "#push"),
            (r"\*%", Comment.Multiline, "#pop"),
            (r"[^*%]+|[*%]", Comment.Multiline),
        ],
    }
