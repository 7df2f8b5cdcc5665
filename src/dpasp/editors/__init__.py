"""Information about a program for editors: its words, its predicates, its mistakes.

Except for :mod:`dpasp.editors.server` (the language server, with the extra ``lsp``) and
:mod:`dpasp.editors.lexer` (for Pygments), functions take plain text and return plain values.
"""
