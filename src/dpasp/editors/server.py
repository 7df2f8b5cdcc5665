"""``dpasp lsp``: a language server on standard input and output (needs ``dpasp[lsp]``).

All it knows comes from the other modules of this folder; here positions become offsets and values
become messages of the protocol. It never runs the Python of a program: hovering over a question
answers it by inference without Python, within a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Final, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import ServerTextPosition, ServerTextRange

from dpasp.editors.analysis import Analysis, analyse
from dpasp.editors.completion import Offer, complete
from dpasp.editors.fixes import fixes
from dpasp.editors.hover import hover
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
from dpasp.errors import Diagnostic, Error, Span
from dpasp.language.formatting import formatted
from dpasp.version import __version__

PAUSE: Final = 0.15  # seconds without a change before mistakes are looked for
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
    """The protocol in which every request is answered, also one that cannot be understood."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message of some JSON; None for a request that was refused at once."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if "method" not in data or not isinstance(data.get("id"), int | str):
                raise  # nobody waits for an answer
            self._refuse(data["id"], JsonRpcInvalidParams(f"{data['method']}: invalid parameters"))
            return None

    def handle_message(self, message: Any) -> None:
        """Do what a message says; nothing but an exit once the editor has said goodbye."""
        if message is None:
            return
        if self._shutdown and hasattr(message, "id") and hasattr(message, "method"):
            self._refuse(message.id, JsonRpcInvalidRequest("the server has been shut down"))
            return
        super().handle_message(message)

    def _refuse(self, id: int | str, error: JsonRpcException) -> None:
        self._send_response(id, error=error.to_response_error())


class Server(LanguageServer):
    """The documents that an editor has open, each analysed once for a version."""

    def __init__(self) -> None:
        super().__init__(
            "dpasp", __version__, protocol_cls=Answering, converter_factory=default_converter
        )
        self._known: dict[str, tuple[str, Analysis]] = {}
        self.exit_code = 0

    def analysis(self, uri: str) -> Analysis:
        """What is known about a document as it is now."""
        try:
            text = self.workspace.get_text_document(uri).source
        except (OSError, UnicodeDecodeError) as error:
            raise JsonRpcInvalidParams(f"{uri} is neither open nor a file of text") from error
        known = self._known.get(uri)
        if known is None or known[0] != text:
            # one line end is one character for us, and so it is for the places in the text
            known = (text, analyse(text.replace("\r\n", "\n"), to_fs_path(uri) or uri))
            self._known[uri] = known
        return known[1]

    def forget(self, uri: str) -> None:
        """Drop what is known about a document that was closed."""
        self._known.pop(uri, None)

    def offset(self, uri: str, position: types.Position) -> int:
        """The offset that an editor's position means."""
        document = self.workspace.get_text_document(uri)
        place = document.position_from_client_units(position)
        return self.analysis(uri).offset(place.line + 1, place.character + 1)

    def range(self, uri: str, start: int, end: int) -> types.Range:
        """A slice of a document as an editor counts."""
        return self.span_range(uri, self.analysis(uri).file.span(start, end))

    def span_range(self, uri: str, span: Span) -> types.Range:
        """A span of a document as an editor counts."""
        document = self.workspace.get_text_document(uri)
        return document.range_to_client_units(_plain(span))

    def location(self, uri: str, span: Span) -> types.Location:
        """A span of a document, or of a file that it includes."""
        if span.file == self.analysis(uri).file.name:
            return types.Location(uri, self.span_range(uri, span))
        other = from_fs_path(str(Path(span.file).resolve())) or uri
        return types.Location(other, self.span_range(other, span))


def _plain(span: Span) -> ServerTextRange:
    return ServerTextRange(
        ServerTextPosition(span.line - 1, span.column - 1),
        ServerTextPosition(span.end_line - 1, span.end_column - 1),
    )


def server() -> Server:
    """A server with all that it can do."""
    made = Server()
    for feature, handler, options in _FEATURES:
        _register(made, feature, handler, options)
    return made


def _register(server: Server, feature: str, handler: Callable[..., Any], options: Any) -> None:
    def answer(params: Any) -> Any:
        return handler(server, params)

    async def later(params: Any) -> Any:
        return await handler(server, params)

    server.feature(feature, options)(later if iscoroutinefunction(handler) else answer)


# --- what is wrong ------------------------------------------------------------------------------


def _publish(server: Server, params: Any) -> None:
    """Say what is wrong with a document."""
    uri = params.text_document.uri
    analysis = server.analysis(uri)
    shown = [_diagnostic(server, uri, problem) for problem in analysis.problems]
    version = server.workspace.get_text_document(uri).version
    message = types.PublishDiagnosticsParams(uri, shown, version)
    server.text_document_publish_diagnostics(message)


async def _changed(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Say what is wrong with a document once nobody types for a moment."""
    await asyncio.sleep(PAUSE)
    known = server.workspace.text_documents.get(params.text_document.uri)
    if known is not None and known.version == params.text_document.version:
        _publish(server, params)


def _closed(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.forget(params.text_document.uri)
    message = types.PublishDiagnosticsParams(params.text_document.uri, [])
    server.text_document_publish_diagnostics(message)


def _diagnostic(server: Server, uri: str, problem: Diagnostic) -> types.Diagnostic:
    span, where = problem.span, types.Range(types.Position(0, 0), types.Position(0, 0))
    message = f"{problem.message}\nhelp: {problem.help}" if problem.help else problem.message
    if span is not None and span.file == server.analysis(uri).file.name:
        where = server.span_range(uri, span)
    elif span is not None:
        message = f"{span}: {message}"
    error = problem.severity == "error"
    return types.Diagnostic(
        where,
        message,
        types.DiagnosticSeverity.Error if error else types.DiagnosticSeverity.Warning,
        problem.code,
        source="dpasp",
    )


def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri = params.text_document.uri
    analysis, wanted = server.analysis(uri), params.range
    made = []
    for problem in analysis.problems:
        shown = _diagnostic(server, uri, problem)
        if shown.range.start.line > wanted.end.line or shown.range.end.line < wanted.start.line:
            continue
        for fix in fixes(analysis.text, analysis.file.name, problem):
            edit = types.TextEdit(server.range(uri, fix.start, fix.end), fix.text)
            change = types.WorkspaceEdit({uri: [edit]})
            kind = types.CodeActionKind.QuickFix
            made.append(types.CodeAction(fix.title, kind, [shown], edit=change))
    return made


# --- names --------------------------------------------------------------------------------------


def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    uri = params.text_document.uri
    text = hover(server.analysis(uri), server.offset(uri, params.position))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


def _definition(server: Server, params: types.DefinitionParams) -> list[types.Location]:
    uri = params.text_document.uri
    spans = definition_spans(server.analysis(uri), server.offset(uri, params.position))
    return [server.location(uri, span) for span in spans]


def _references(server: Server, params: types.ReferenceParams) -> list[types.Location]:
    uri, declaration = params.text_document.uri, params.context.include_declaration
    spans = references(server.analysis(uri), server.offset(uri, params.position), declaration)
    return [server.location(uri, span) for span in spans]


def _highlight(
    server: Server, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight]:
    uri = params.text_document.uri
    analysis = server.analysis(uri)
    spans = references(analysis, server.offset(uri, params.position))
    here = [span for span in spans if span.file == analysis.file.name]
    return [types.DocumentHighlight(server.span_range(uri, span)) for span in here]


def _prepare_rename(server: Server, params: types.PrepareRenameParams) -> types.Range | None:
    uri = params.text_document.uri
    span = renamed_span(server.analysis(uri), server.offset(uri, params.position))
    return server.span_range(uri, span) if span else None


def _rename(server: Server, params: types.RenameParams) -> types.WorkspaceEdit:
    uri = params.text_document.uri
    try:
        spans = rename(server.analysis(uri), server.offset(uri, params.position), params.new_name)
    except Error as error:
        raise JsonRpcInvalidParams(error.diagnostics[0].message) from error
    changes: dict[str, list[types.TextEdit]] = {}
    for place in (server.location(uri, span) for span in spans):
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, params.new_name))
    return types.WorkspaceEdit(changes)


def _completion(server: Server, params: types.CompletionParams) -> list[types.CompletionItem]:
    uri = params.text_document.uri
    position = params.position
    offset = server.offset(uri, position)
    analysis = server.analysis(uri)
    start = offset
    while start and (analysis.text[start - 1].isalnum() or analysis.text[start - 1] in "_'#"):
        start -= 1
    where = server.range(uri, start, offset)
    offers = complete(analysis, offset)
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


def _symbols(server: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    uri = params.text_document.uri
    made = []
    for entry in outline(server.analysis(uri)):
        where = server.range(uri, entry.start, entry.end)
        made.append(types.DocumentSymbol(entry.name, _SYMBOLS[entry.kind], where, where))
    return made


def _folding(server: Server, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    analysis = server.analysis(params.text_document.uri)
    return [types.FoldingRange(first, last, kind=kind) for first, last, kind in folds(analysis)]


def _semantic_tokens(server: Server, params: types.SemanticTokensParams) -> types.SemanticTokens:
    uri = params.text_document.uri
    analysis, document = server.analysis(uri), server.workspace.get_text_document(uri)
    data: list[int] = []
    line = character = 0
    for word in word_kinds(analysis):
        for place in _by_line(analysis, word.start, word.end):
            where = document.range_to_client_units(place)
            ahead = where.start.line - line
            column = where.start.character - (0 if ahead else character)
            length = where.end.character - where.start.character
            data += [ahead, column, length, WORDS.index(word.kind), int(word.defined)]
            line, character = where.start.line, where.start.character
    return types.SemanticTokens(data)


def _by_line(analysis: Analysis, start: int, end: int) -> list[ServerTextRange]:
    """A slice as one range a line: an editor's words do not span lines."""
    places, at = [], start
    while at < end:
        stop = analysis.text.find("\n", at, end)
        stop = end if stop < 0 else stop
        if stop > at:
            places.append(_plain(analysis.file.span(at, stop)))
        at = stop + 1
    return places


def _formatting(
    server: Server, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    uri = params.text_document.uri
    document = server.workspace.get_text_document(uri)
    analysis = server.analysis(uri)
    try:
        text = formatted(analysis.text, analysis.file.name)
    except Error:
        return None  # it cannot be read: the diagnostics say why
    if "\r\n" in document.source:
        text = text.replace("\n", "\r\n")
    if text == document.source:
        return []
    whole = types.Range(types.Position(0, 0), types.Position(len(document.lines), 0))
    return [types.TextEdit(whole, text)]


def _exited(server: Server, params: None) -> None:
    """An editor that leaves without a shutdown gets the exit code 1, as the protocol says."""
    server.exit_code = 0 if server.protocol._shutdown else 1


_LEGEND = types.SemanticTokensLegend(WORDS, ["definition"])
_FEATURES: list[tuple[str, Callable[..., Any], Any]] = [
    (types.TEXT_DOCUMENT_DID_OPEN, _publish, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (types.TEXT_DOCUMENT_DID_SAVE, _publish, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
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
    (types.EXIT, _exited, None),
]
