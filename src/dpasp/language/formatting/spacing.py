"""Whether a space stands between two tokens of a statement, as a tidy person writes it.

The rules never look at meaning, only at the tokens on both sides and the bracket that they
stand in; where the custom leaves a choice (``f(a,b)`` or ``f(a, b)``, ``X+1`` or ``X + 1``)
the author's own is kept, and kept the same throughout a bracket.

>>> from dpasp.language.text.lexer import tokens
>>> text = "0.3 :: a( X,Y ):-b(X),not c(Y,- 1)."
>>> found = list(tokens(text, 0, len(text)))
>>> "".join(before + token.text for before, token in zip(spaces(found), found))
'0.3::a(X,Y) :- b(X), not c(Y,-1).'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dpasp.dataclass import dataclass
from dpasp.language.statements.kind import starting_words
from dpasp.language.text.brackets import CLOSING, OPENING
from dpasp.language.text.lexer import Token

COMPARISONS = frozenset({"=", "==", "!=", "<", ">", "<=", ">="})
OPERATORS = frozenset({"+", "-", "*", "/", "\\", "**", "^", "&"})
AGGREGATES = frozenset({"#count", "#sum", "#min", "#max"})
_SPACED = COMPARISONS | {":-", ":~", ":"}
_TIGHT_BEFORE = frozenset({",", ";", ")", "]", ".", "::", ".."})
_TIGHT_AFTER = frozenset({"(", "[", "::", ".."})
_OPERANDS = frozenset({"name", "number", "string", "variable", "call"})
_SIGNATURES = frozenset({"#show", "#defined", "#project"})
_SIGNS = frozenset({"not", "undef"})  # words that stand before an atom


def spaces(tokens: Sequence[Token]) -> list[str]:
    """What to write before each token of one statement: nothing or a space."""
    spacer = _Spacer(tokens)
    return ["" if not index or not spacer.space(index) else " " for index in range(len(tokens))]


@dataclass
class _Bracket:
    """An open bracket: which token it is, and how its first separators are written."""

    index: int
    first: dict[str, bool] = field(default_factory=dict)


class _Spacer:
    """The tokens of a statement, with the bracket that each stands in."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.inside: list[_Bracket | None] = []  # the bracket around each token
        self.partner: dict[int, int] = {}  # closing → opening
        stack: list[_Bracket] = []
        for index, token in enumerate(tokens):
            if token.text in CLOSING and stack:
                self.partner[index] = stack.pop().index
            self.inside.append(stack[-1] if stack else None)
            if token.text in OPENING:
                stack.append(_Bracket(index))
            elif stack and token.text in (",", ";"):
                stack[-1].first.setdefault(token.text, self.written(index + 1))

    def written(self, index: int) -> bool:
        """Whether anything stands between a token and the one before it."""
        if not 0 < index < len(self.tokens):
            return False
        return self.tokens[index - 1].end < self.tokens[index].start

    def space(self, index: int) -> bool:
        """Whether a space stands before a token that is not the first."""
        left, right = self.tokens[index - 1], self.tokens[index]
        if right.text == "}":
            return self.written(self.partner.get(index, index) + 1)
        if right.text == "[" and left.text == ".":
            return True
        if self.tokens[0].text == "#name" and ":" in (left.text, right.text):
            return left.text == ":"  # a name stands after its colon, as in a dictionary
        if right.text in _TIGHT_BEFORE or left.text in _TIGHT_AFTER:
            return False
        if left.text in (",", ";"):
            return self._after_separator(index)
        if self._is_spaced(index) or self._is_spaced(index - 1):
            return True
        if left.text == "{":
            return self.written(index)
        if self._is_operator(index):
            return self._before_operator(index)
        if self._is_operator(index - 1):
            return self._after_operator(index - 1)
        if right.text in OPENING:
            return self._before_bracket(index)
        return self._between_words(index)

    def _after_separator(self, index: int) -> bool:
        around = self.inside[index - 1]
        return True if around is None else around.first[self.tokens[index - 1].text]

    def _is_spaced(self, index: int) -> bool:
        """Whether a token has a space on both sides wherever it stands."""
        text = self.tokens[index].text
        if text in _SPACED:
            return True
        around = self.inside[index]
        if text == "|":  # of a question, and not of an absolute value inside it
            asks = self.tokens[0].text in starting_words().open_ended
            return asks and (around is None or around.index == 1)
        if text in ("~", "∼"):  # of data, and not of a complement
            return around is None and index > 0 and self.tokens[index - 1].text == ")"
        return False

    def _is_operand_end(self, index: int) -> bool:
        token = self.tokens[index]
        if token.kind == "directive":
            return token.text.startswith(("#inf", "#sup"))
        word = token.kind in _OPERANDS and token.text not in _SIGNS
        return word or token.text in CLOSING

    def _is_operator(self, index: int) -> bool:
        return self.tokens[index].text in OPERATORS or self.tokens[index].text == "~"

    def _is_binary(self, index: int) -> bool:
        return index > 0 and self._is_operand_end(index - 1)

    def _is_wide(self, index: int) -> bool:
        """Whether an operator is written with space around it; never in ``#show a/1``."""
        signature = self.tokens[0].text in _SIGNATURES and self.inside[index] is None
        return self.written(index) and not signature

    def _before_operator(self, index: int) -> bool:
        left = self.tokens[index - 1]
        if left.kind == "directive":
            return left.text not in AGGREGATES  # #sum+{…}, but #query -a
        if self._is_operator(index - 1):
            return self._is_binary(index - 1) and self._is_wide(index - 1)
        return left.text in _SIGNS or self._is_wide(index)

    def _after_operator(self, index: int) -> bool:
        """After ``+`` and its like: as before it, and nothing after a sign."""
        if self._is_binary(index):
            return self._is_wide(index)
        unclear = index > 0 and self.tokens[index - 1].text in ("|", "?")
        return unclear and self.written(index + 1)

    def _before_bracket(self, index: int) -> bool:
        left, right = self.tokens[index - 1], self.tokens[index]
        if left.text in _SIGNS:
            return True
        if right.text == "(":
            return False if left.kind in ("name", "call") else self.written(index)
        if right.text == "{":
            return left.text not in AGGREGATES
        return self.written(index)

    def _between_words(self, index: int) -> bool:
        left, right = self.tokens[index - 1], self.tokens[index]
        if right.text == "?" and self.tokens[0].text in ("#map", "#max"):
            return False
        if left.text in _SIGNS or left.kind == "directive" or right.kind in ("directive", "call"):
            return True
        words = _OPERANDS - {"number"}  # 0x1F is read as two tokens
        if left.text in CLOSING and right.kind in _OPERANDS:
            return True
        if (left.kind in words and right.kind in words) or "string" in (left.kind, right.kind):
            return True
        return self.written(index)
