"""The text of a program: files, tokens, statements, and clingo's parser on the rest."""

from __future__ import annotations

from dpasp.language.text.clingo_text import Buffer, Reading
from dpasp.language.text.lexer import Cursor, Piece, Token
from dpasp.language.text.source import SourceFile, Sources

__all__ = ["Buffer", "Cursor", "Piece", "Reading", "SourceFile", "Sources", "Token"]
