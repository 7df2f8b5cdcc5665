"""What editors need to know about a program: its words, its predicates, its mistakes.

Everything but :mod:`dpasp.editors.server` (the language server, behind the extra ``lsp``) and
:mod:`dpasp.editors.lexer` (for Pygments) is plain text in and plain values out.
"""
