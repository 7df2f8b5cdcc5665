"""The language server as an editor meets it: a process, spoken to by a real client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import BaseLanguageClient

from tests.clocks import PATIENCE

SMOKERS = """\
person(anna). person(bill).
0.3::stress(X) :- person(X).  % "ℙ" 𝕏
smokes(X) :- stress(X).
smokes(X) :- friend(X,Y), smokes(Y).
friend(anna,bill).
name("𝕏𝕏", X) :- smokes(X).
#semantics maxent.
#query smokes(anna).
"""
# The answer under a pointer has all the time that it needs.
PATIENT = """
import sys
from dpasp.cli import main
from dpasp.editors import words
from dpasp.limits import Limits
words.PATIENCE = Limits(seconds=300)
sys.exit(main())
"""
WRONG = 'greek("𝕏", 1) :- 𝕏.\n#quary a.\n'


class Editor(BaseLanguageClient):
    """A client that remembers what it is told."""

    def __init__(self, folder: Path) -> None:
        super().__init__("test", "1")
        self.folder = folder
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: types.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

    async def open(self, text: str, name: str = "p.plp") -> tuple[str, list[types.Diagnostic]]:
        uri = (self.folder / name).as_uri()
        item = types.TextDocumentItem(uri, "dpasp", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri, await self.diagnostics()

    async def diagnostics(self) -> list[types.Diagnostic]:
        return list((await asyncio.wait_for(self.told.get(), PATIENCE)).diagnostics)


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Callable[[Callable[[Editor], Awaitable[None]]], None]]:
    """Run a conversation with a fresh server."""

    def talk(conversation: Callable[[Editor], Awaitable[None]]) -> None:
        async def whole() -> None:
            client = Editor(tmp_path)
            await client.start_io(sys.executable, "-c", PATIENT, "lsp")
            answer = await client.initialize_async(
                types.InitializeParams(capabilities=types.ClientCapabilities())
            )
            assert answer.server_info is not None
            assert answer.server_info.name == "dpasp"
            client.initialized(types.InitializedParams())
            try:
                await conversation(client)
            finally:
                await client.shutdown_async(None)
                client.exit(None)
                await client.stop()

        asyncio.run(asyncio.wait_for(whole(), PATIENCE))

    return talk


def position(text: str, word: str, occurrence: int = 1) -> types.Position:
    """Inside the n-th place of a word, as an editor counts: in UTF-16."""
    offset = -1
    for _ in range(occurrence):
        offset = text.index(word, offset + 1)
    before = text[: offset + 1]
    line = before.count("\n")
    column = before[before.rfind("\n") + 1 :]
    return types.Position(line, len(column.encode("utf-16-le")) // 2)


def applied(text: str, edits: Any) -> str:
    """A text with the edits of an editor made."""
    lines = text.splitlines(keepends=True)

    def offset(place: types.Position) -> int:
        before = "".join(lines[: place.line])
        line = lines[place.line] if place.line < len(lines) else ""
        return len(before) + len(
            line.encode("utf-16-le")[: 2 * place.character].decode("utf-16-le")
        )

    for edit in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_diagnostics_as_one_types(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        uri, found = await client.open(WRONG)
        assert [d.code for d in found] == ["bad-character", "unknown-directive"]
        assert found[0].range.start == types.Position(0, 18)  # 𝕏 counts twice
        assert "help: did you mean '#query'?" in found[1].message
        assert found[1].severity == types.DiagnosticSeverity.Error
        change = types.TextDocumentContentChangePartial(
            types.Range(types.Position(1, 3), types.Position(1, 4)), "e"
        )
        whole = types.TextDocumentContentChangePartial(
            types.Range(types.Position(0, 18), types.Position(0, 19)), "a"
        )
        document = types.VersionedTextDocumentIdentifier(2, uri)
        params = types.DidChangeTextDocumentParams(document, [change, whole])
        client.text_document_did_change(params)
        assert [d.code for d in await client.diagnostics() if d.severity == 1] == []
        client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )
        assert await client.diagnostics() == []

    editor(conversation)


def test_quick_fixes(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        text = 'name("𝕏"). #quary a.\na.\n'
        uri, found = await client.open(text)
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                found[0].range,
                types.CodeActionContext(found),
            )
        )
        (action,) = actions or ()
        assert isinstance(action, types.CodeAction)
        assert action.title == "change to '#query'"
        assert action.edit is not None
        assert action.edit.changes is not None
        assert applied(text, action.edit.changes[uri]) == text.replace("#quary", "#query")

    editor(conversation)


def test_names(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        uri, found = await client.open(SMOKERS)
        assert found == []
        document = types.TextDocumentIdentifier(uri)
        asked = position(SMOKERS, "smokes(anna)")
        hover = await client.text_document_hover_async(types.HoverParams(document, asked))
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert "ℙ(smokes(anna)) = 0.510000" in hover.contents.value
        heads = await client.text_document_definition_async(types.DefinitionParams(document, asked))
        assert [place.range.start.line for place in heads] == [2, 3]
        context = types.ReferenceContext(include_declaration=True)
        uses = await client.text_document_references_async(
            types.ReferenceParams(context, document, asked)
        )
        assert [place.range.start.line for place in uses] == [2, 3, 3, 5, 7]
        highlights = await client.text_document_document_highlight_async(
            types.DocumentHighlightParams(document, asked)
        )
        assert len(highlights) == 5
        where = await client.text_document_prepare_rename_async(
            types.PrepareRenameParams(document, asked)
        )
        assert isinstance(where, types.Range)
        edit = await client.text_document_rename_async(types.RenameParams(document, asked, "puffs"))
        assert edit is not None
        assert edit.changes is not None
        assert applied(SMOKERS, edit.changes[uri]) == SMOKERS.replace("smokes", "puffs")
        with pytest.raises(JsonRpcException, match="already exists"):
            await client.text_document_rename_async(types.RenameParams(document, asked, "stress"))

    editor(conversation)


def test_definitions_in_an_included_file(editor: Any, tmp_path: Path) -> None:
    (tmp_path / "rules.lp").write_text("wet :- rain.\n")

    async def conversation(client: Editor) -> None:
        text = '#include "rules.lp".\n0.3::rain.\n#query wet.\n'
        uri, _ = await client.open(text)
        (place,) = await client.text_document_definition_async(
            types.DefinitionParams(types.TextDocumentIdentifier(uri), position(text, "wet"))
        )
        assert place.uri == (tmp_path / "rules.lp").as_uri()
        assert place.range.start == types.Position(0, 0)

    editor(conversation)


def test_completion_outline_folding_and_words(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        text = SMOKERS + "#python\nx = 1\n#end.\n#se"
        uri, _ = await client.open(text)
        document = types.TextDocumentIdentifier(uri)
        end = types.Position(text.count("\n"), 3)
        offers = await client.text_document_completion_async(types.CompletionParams(document, end))
        assert isinstance(offers, list)
        (offer,) = [o for o in offers if o.label == "#semantics"]
        assert offer.insert_text_format == types.InsertTextFormat.Snippet
        assert isinstance(offer.text_edit, types.TextEdit)
        assert applied(text, [offer.text_edit]).endswith("#end.\n#semantics ${1:maxent}.")
        symbols = await client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document)
        )
        assert [s.name for s in symbols or ()][2] == "0.3::stress(X)"
        folds = await client.text_document_folding_range_async(types.FoldingRangeParams(document))
        assert [(f.start_line, f.end_line) for f in folds or ()] == [(8, 10)]
        tokens = await client.text_document_semantic_tokens_full_async(
            types.SemanticTokensParams(document)
        )
        assert tokens is not None
        assert len(tokens.data) % 5 == 0
        assert list(tokens.data[:10]) == [0, 0, 6, 4, 1, 0, 14, 6, 4, 1]  # two heads: person

    editor(conversation)


def test_formatting(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        text = 'name( "𝕏" ).\r\n0.3 ::a.\r\n'
        uri, _ = await client.open(text)
        options = types.FormattingOptions(4, True)
        params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
        edits = await client.text_document_formatting_async(params)
        assert applied(text, edits) == 'name("𝕏").\r\n0.3::a.\r\n'
        uri, _ = await client.open("a :- b", "wrong.plp")
        params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
        assert await client.text_document_formatting_async(params) is None

    editor(conversation)


HELLO = {"processId": None, "rootUri": None, "capabilities": {}}


def spoken(*messages: dict[str, Any]) -> tuple[int, dict[Any, Any]]:
    """The exit code of a server that is told some messages, and its replies by their ids."""
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    said = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    done = subprocess.run(
        [sys.executable, "-m", "dpasp", "lsp"], input=said, capture_output=True, timeout=PATIENCE
    )
    assert done.stderr == b""
    parts = done.stdout.split(b"Content-Length: ")[1:]
    replies = [json.loads(part.split(b"\r\n\r\n", 1)[1]) for part in parts]
    return done.returncode, {reply.get("id"): reply for reply in replies}


def test_it_ends_as_the_protocol_says() -> None:
    hello, goodbye = {"id": 1, "method": "initialize", "params": HELLO}, {"method": "exit"}
    code, replies = spoken(hello, {"id": 2, "method": "shutdown"}, goodbye)
    assert (code, replies[2].get("error")) == (0, None)
    assert spoken(hello, goodbye)[0] == 1
    assert spoken(hello)[0] == 0  # the editor hangs up


def test_every_request_is_answered() -> None:
    hover = "textDocument/hover"
    nowhere = {"textDocument": {"uri": "file:///nowhere.plp"}}
    code, replies = spoken(
        {"id": 1, "method": "initialize", "params": HELLO},
        {"id": 2, "method": hover, "params": {"x": 1}},
        {"id": 3, "method": hover, "params": [1]},
        {"id": 4, "method": hover},
        {"id": 5, "method": hover, "params": nowhere | {"position": {"line": -1, "character": 0}}},
        {"id": 6, "method": hover, "params": nowhere | {"position": {"line": 0, "character": 0}}},
        {"id": 7, "method": "nonsense", "params": {}},
        {"id": "last", "method": "shutdown"},
        {"id": 9, "method": hover, "params": nowhere | {"position": {"line": 0, "character": 0}}},
        {"method": "exit"},
    )
    assert code == 0
    codes = {id: reply["error"]["code"] for id, reply in replies.items() if "error" in reply}
    assert codes == {2: -32602, 3: -32602, 4: -32602, 5: -32602, 6: -32602, 7: -32601, 9: -32600}
    assert "last" in replies


def test_a_misspelt_name_can_be_mended(editor: Any) -> None:
    async def conversation(client: Editor) -> None:
        text = "0.3::wet.\n#query wett.\n"
        uri, (problem,) = await client.open(text)
        assert (problem.code, problem.severity) == (
            "unknown-atom",
            types.DiagnosticSeverity.Warning,
        )
        assert "did you mean 'wet'?" in problem.message
        context = types.CodeActionContext([problem])
        document = types.TextDocumentIdentifier(uri)
        params = types.CodeActionParams(document, problem.range, context)
        (action, *_) = await client.text_document_code_action_async(params) or ()
        assert isinstance(action, types.CodeAction)
        assert action.edit is not None
        assert applied(text, (action.edit.changes or {})[uri]) == "0.3::wet.\n#query wet.\n"

    editor(conversation)
