"""``dpasp lsp``: a language server on standard input and output (needs ``dpasp[lsp]``).

The other modules of this folder do the work; here, positions become offsets and values become
messages of the protocol. It never runs a program's Python: hovering over a question answers it
without Python, within a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import ServerTextPosition, ServerTextRange, TextDocument

from dpasp.editors.analysis import Analysis, analyse, fixes
from dpasp.editors.navigation import (
    EntryKind,
    WordKind,
    definition_spans,
    folds,
    outline,
    references,
    rename,
    renamed_span,
    word_kinds,
)
from dpasp.editors.words import Offer, complete, hover
from dpasp.errors import Diagnostic, Error, Span
from dpasp.language.formatting import formatted
from dpasp.version import __version__

PAUSE: Final = 0.15  # seconds without a change before checking
WORDS: Final[list[str]] = list(get_args(WordKind))
_SYMBOLS: dict[EntryKind, types.SymbolKind] = {
    "choice": types.SymbolKind.Variable,
    "rule": types.SymbolKind.Function,
    "network": types.SymbolKind.Class,
    "data": types.SymbolKind.Array,
    "code": types.SymbolKind.Module,
    "question": types.SymbolKind.Event,
    "directive": types.SymbolKind.Property,
}
_OFFERS = {
    "directive": types.CompletionItemKind.Keyword,
    "word": types.CompletionItemKind.Keyword,
    "predicate": types.CompletionItemKind.Function,
    "variable": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "option": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
}


class Answering(LanguageServerProtocol):
    """The protocol, answering every request, even one that cannot be understood."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message of some JSON; None for a request that was refused at once."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if "method" not in data or not isinstance(data.get("id"), int | str):
                raise  # a notification expects no answer
            self._refuse(data["id"], JsonRpcInvalidParams(f"{data['method']}: invalid parameters"))
            return None

    def handle_message(self, message: Any) -> None:
        """Handle a message; after a shutdown, only an exit."""
        if message is None:
            return
        if self._shutdown and hasattr(message, "id") and hasattr(message, "method"):
            self._refuse(message.id, JsonRpcInvalidRequest("the server has been shut down"))
            return
        super().handle_message(message)

    def _refuse(self, id: int | str, error: JsonRpcException) -> None:
        self._send_response(id, error=error.to_response_error())


class Server(LanguageServer):
    """The documents that an editor has open, each analysed once per version."""

    def __init__(self) -> None:
        super().__init__(
            "dpasp", __version__, protocol_cls=Answering, converter_factory=default_converter
        )
        self.known: dict[str, Document] = {}
        self.exit_code = 0

    def document(self, uri: str) -> Document:
        """The current version of a document, with its analysis."""
        try:
            text = self.workspace.get_text_document(uri)
            source = text.source
        except (OSError, UnicodeDecodeError) as error:
            raise JsonRpcInvalidParams(f"{uri} is neither open nor a text file") from error
        known = self.known.get(uri)
        if known is None or known.source != source or known.text is not text:
            known = self.known[uri] = Document(self, uri, text, source)
        return known


class Document:
    """A text that an editor has open; positions are counted as the editor does."""

    def __init__(self, server: Server, uri: str, text: TextDocument, source: str) -> None:
        self.server = server
        self.uri = uri
        self.text = text
        self.source = source

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis of the text, in which a line end is one character."""
        return analyse(self.source.replace("\r\n", "\n"), to_fs_path(self.uri) or self.uri)

    def offset(self, position: types.Position) -> int:
        place = self.text.position_from_client_units(position)
        return self.analysis.offset(place.line + 1, place.character + 1)

    def range(self, start: int, end: int) -> types.Range:
        return self.span_range(self.analysis.file.span(start, end))

    def span_range(self, span: Span) -> types.Range:
        return self.text.range_to_client_units(_plain(span))

    def location(self, span: Span) -> types.Location:
        """A span of it, or of a file that it includes."""
        if span.file == self.analysis.file.name:
            return types.Location(self.uri, self.span_range(span))
        other = from_fs_path(str(Path(span.file).resolve())) or self.uri
        return types.Location(other, self.server.document(other).span_range(span))


def _plain(span: Span) -> ServerTextRange:
    return ServerTextRange(
        ServerTextPosition(span.line - 1, span.column - 1),
        ServerTextPosition(span.end_line - 1, span.end_column - 1),
    )


def server() -> Server:
    made = Server()
    made.feature(types.TEXT_DOCUMENT_DID_CHANGE)(partial(_changed, made))
    made.feature(types.TEXT_DOCUMENT_DID_CLOSE)(partial(_closed, made))
    made.feature(types.EXIT)(partial(_exited, made))
    for feature, handler, options in _FEATURES:
        _register(made, feature, handler, options)
    return made


def _register(server: Server, feature: str, handler: Callable[..., Any], options: Any) -> None:
    """Register the handler of a request or a notification about a document."""

    def answer(params: Any) -> Any:
        return handler(server.document(params.text_document.uri), params)

    server.feature(feature, options)(answer)


# --- what is wrong ------------------------------------------------------------------------------


def _publish(document: Document, params: Any = None) -> None:
    shown = [_diagnostic(document, problem) for problem in document.analysis.problems]
    message = types.PublishDiagnosticsParams(document.uri, shown, document.text.version)
    document.server.text_document_publish_diagnostics(message)


async def _changed(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Publish the diagnostics of a document after a pause in typing."""
    await asyncio.sleep(PAUSE)
    changed = params.text_document
    known = server.workspace.text_documents.get(changed.uri)
    if known is not None and known.version == changed.version:
        _publish(server.document(changed.uri))


def _closed(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.known.pop(params.text_document.uri, None)
    message = types.PublishDiagnosticsParams(params.text_document.uri, [])
    server.text_document_publish_diagnostics(message)


def _exited(server: Server, params: None) -> None:
    """An editor that leaves without a shutdown gets the exit code 1, as the protocol says."""
    server.exit_code = 0 if server.protocol._shutdown else 1


def _diagnostic(document: Document, problem: Diagnostic) -> types.Diagnostic:
    span, where = problem.span, types.Range(types.Position(0, 0), types.Position(0, 0))
    message = f"{problem.message}\nhelp: {problem.help}" if problem.help else problem.message
    if span is not None and span.file == document.analysis.file.name:
        where = document.span_range(span)
    elif span is not None:
        message = f"{span}: {message}"
    kinds = types.DiagnosticSeverity
    severity = kinds.Error if problem.severity == "error" else kinds.Warning
    return types.Diagnostic(where, message, severity, problem.code, source="dpasp")


def _actions(document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
    analysis, wanted = document.analysis, params.range
    made = []
    for problem in analysis.problems:
        shown = _diagnostic(document, problem)
        if shown.range.start.line > wanted.end.line or shown.range.end.line < wanted.start.line:
            continue
        for fix in fixes(analysis.text, analysis.file.name, problem):
            edit = types.TextEdit(document.range(fix.start, fix.end), fix.text)
            change = types.WorkspaceEdit({document.uri: [edit]})
            kind = types.CodeActionKind.QuickFix
            made.append(types.CodeAction(fix.title, kind, [shown], edit=change))
    return made


# --- names --------------------------------------------------------------------------------------


def _hover(document: Document, params: types.HoverParams) -> types.Hover | None:
    text = hover(document.analysis, document.offset(params.position))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


def _definition(document: Document, params: types.DefinitionParams) -> list[types.Location]:
    spans = definition_spans(document.analysis, document.offset(params.position))
    return list(map(document.location, spans))


def _references(document: Document, params: types.ReferenceParams) -> list[types.Location]:
    declaration = params.context.include_declaration
    spans = references(document.analysis, document.offset(params.position), declaration)
    return list(map(document.location, spans))


def _highlight(
    document: Document, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight]:
    spans = references(document.analysis, document.offset(params.position))
    here = [span for span in spans if span.file == document.analysis.file.name]
    return [types.DocumentHighlight(document.span_range(span)) for span in here]


def _prepare_rename(document: Document, params: types.PrepareRenameParams) -> types.Range | None:
    span = renamed_span(document.analysis, document.offset(params.position))
    return document.span_range(span) if span else None


def _rename(document: Document, params: types.RenameParams) -> types.WorkspaceEdit:
    try:
        spans = rename(document.analysis, document.offset(params.position), params.new_name)
    except Error as error:
        raise JsonRpcInvalidParams(error.diagnostics[0].message) from error
    changes: dict[str, list[types.TextEdit]] = {}
    for place in map(document.location, spans):
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, params.new_name))
    return types.WorkspaceEdit(changes)


def _completion(document: Document, params: types.CompletionParams) -> list[types.CompletionItem]:
    offset = start = document.offset(params.position)
    text = document.analysis.text
    while start and (text[start - 1].isalnum() or text[start - 1] in "_'#"):
        start -= 1
    where = document.range(start, offset)
    offers = complete(document.analysis, offset)
    return [_item(offer, number, where) for number, offer in enumerate(offers)]


def _item(offer: Offer, number: int, where: types.Range) -> types.CompletionItem:
    snippet = types.InsertTextFormat.Snippet if offer.snippet else types.InsertTextFormat.PlainText
    return types.CompletionItem(
        offer.label,
        kind=_OFFERS[offer.kind],
        detail=offer.detail or None,
        sort_text=f"{number:04}",
        insert_text_format=snippet,
        text_edit=types.TextEdit(where, offer.snippet or offer.label),
    )


# --- shape --------------------------------------------------------------------------------------


def _symbols(document: Document, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    made = []
    for entry in outline(document.analysis):
        where = document.range(entry.start, entry.end)
        made.append(types.DocumentSymbol(entry.name, _SYMBOLS[entry.kind], where, where))
    return made


def _folding(document: Document, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    places = folds(document.analysis)
    return [types.FoldingRange(first, last, kind=kind) for first, last, kind in places]


def _semantic_tokens(
    document: Document, params: types.SemanticTokensParams
) -> types.SemanticTokens:
    data: list[int] = []
    line = character = 0
    for word in word_kinds(document.analysis):
        for place in _by_line(document.analysis, word.start, word.end):
            where = document.text.range_to_client_units(place)
            ahead = where.start.line - line
            column = where.start.character - (0 if ahead else character)
            length = where.end.character - where.start.character
            data += [ahead, column, length, WORDS.index(word.kind), int(word.defined)]
            line, character = where.start.line, where.start.character
    return types.SemanticTokens(data)


def _by_line(analysis: Analysis, start: int, end: int) -> list[ServerTextRange]:
    """A slice as one range per line: an editor's tokens do not span lines."""
    places, at = [], start
    while at < end:
        stop = analysis.text.find("\n", at, end)
        stop = end if stop < 0 else stop
        if stop > at:
            places.append(_plain(analysis.file.span(at, stop)))
        at = stop + 1
    return places


def _formatting(
    document: Document, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    try:
        text = formatted(document.analysis.text, document.analysis.file.name)
    except Error:
        return None  # it cannot be read: the diagnostics say why
    if "\r\n" in document.source:
        text = text.replace("\n", "\r\n")
    if text == document.source:
        return []
    whole = types.Range(types.Position(0, 0), types.Position(len(document.text.lines), 0))
    return [types.TextEdit(whole, text)]


_LEGEND = types.SemanticTokensLegend(WORDS, ["definition"])
_FEATURES: list[tuple[str, Callable[..., Any], Any]] = [
    (types.TEXT_DOCUMENT_DID_OPEN, _publish, None),
    (types.TEXT_DOCUMENT_DID_SAVE, _publish, None),
    (types.TEXT_DOCUMENT_CODE_ACTION, _actions, None),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (types.TEXT_DOCUMENT_REFERENCES, _references, None),
    (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _highlight, None),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename, None),
    (types.TEXT_DOCUMENT_RENAME, _rename, types.RenameOptions(prepare_provider=True)),
    (
        types.TEXT_DOCUMENT_COMPLETION,
        _completion,
        types.CompletionOptions(trigger_characters=["#", "@", '"']),
    ),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols, None),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, _folding, None),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _semantic_tokens, _LEGEND),
    (types.TEXT_DOCUMENT_FORMATTING, _formatting, None),
]
