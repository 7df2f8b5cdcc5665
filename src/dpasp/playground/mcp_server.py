"""A Model Context Protocol server, which answers programs written by a language model.

Its tools are the tasks of the playground, in the same kind of child process: without Python,
without files and under limits. A result is an object; so are the mistakes in a program, with their
places and what to write instead, so that a model can correct them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from threading import Thread
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from dpasp.limits import Limits
from dpasp.playground.about import directive_entries, example_programs
from dpasp.playground.pages import PageWorker, Stopped
from dpasp.version import __version__

INSTRUCTIONS = """\
dPASP answers questions about probabilities exactly. Write a short probabilistic logic program:

  0.1::burglary. 0.2::earthquake.            independent random facts
  0.5::hot; 0.3::mild; 0.2::cold.            one of several
  alarm :- burglary. 0.7::alarm :- earthquake.     rules, certain or probable
  :- hot, cold.                              what cannot be
  #semantics maxent.                         one number for an answer (else: lower and upper)
  #query burglary | alarm.                   the question, with its evidence

Begin with `check`, which costs nothing, mend what it reports, then `run`. `explain` says why,
`models` lists what can happen, `decide` finds the best actions, `language_help` explains more.
Programs run without Python and without files, for {seconds:g} s and in {megabytes:g} MB at most."""
SMALLER = (
    "make the program smaller: fewer objects, shorter ranges; rules whose terms grow, such as "
    "p(X+1) :- p(X), need a bound on X"
)
GONE = (BrokenPipeError, ConnectionResetError)  # the client has stopped reading
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Program = Annotated[str, Field(description="the text of a dPASP program")]
Texts = tuple[str, ...] | str
Queries = Annotated[
    Texts, Field(description='what to ask in place of its #query, such as ["a, not b | c"]')
]
Evidence = Annotated[Texts, Field(description='what is known, such as ["a", "not b"]')]
Semantics = Annotated[
    str,
    Field(
        description="in place of its #semantics: stable, partial, lstable, smproblog or "
        "wellfounded; maxent, credal or weighted; such as 'stable, maxent'"
    ),
]


def mcp_server(limits: Limits) -> MCPServer:
    """A server whose requests have these limits."""
    said = INSTRUCTIONS.format(seconds=limits.seconds, megabytes=limits.megabytes)
    server = MCPServer("dpasp", version=__version__, instructions=said, log_level="ERROR")
    worker, free = PageWorker(limits), asyncio.Lock()

    async def do(task: str, request: Mapping[str, Any]) -> CallToolResult:
        """Do a task of the playground, one at a time."""
        async with free:
            try:
                reply = await worker.ask({**request, "task": task})
            except Stopped as stopped:
                return _failed("time-limit", str(stopped), SMALLER)
        if "bug" in reply:
            return _failed("internal", reply["bug"], "ask differently")
        if "ok" in reply:
            return _result(reply["ok"])
        return _result({"errors": [_ours(each) for each in reply["errors"]]}, failed=True)

    async def check(program: Program) -> CallToolResult:
        """Report every mistake in a program with its place and what to write instead."""
        return await do("check", {"text": program})

    async def run(
        program: Program,
        queries: Queries = (),
        evidence: Evidence = (),
        semantics: Semantics = "",
    ) -> CallToolResult:
        """Answer the queries of a program: probabilities, most probable values, expectations."""
        request = {"text": program, "queries": _listed(queries), "evidence": _listed(evidence)}
        result = await do("answer", {**request, "semantics": semantics})
        found = result.structured_content or {}
        if found.get("answers") == [] and not found["warnings"]:
            help = 'add a statement such as #query a | b. or pass queries such as ["a | b"]'
            return _failed("usage", "the program asks nothing", help)
        return result

    async def explain(
        program: Program,
        query: Annotated[str, Field(description='one question, such as "a | c"')],
        semantics: Semantics = "",
    ) -> CallToolResult:
        """Say why an answer is what it is: what leads to it, why not, which numbers matter."""
        request = {"text": program, "query": query, "semantics": semantics}
        return await do("why", request)

    async def decide(
        program: Program,
        goal: Annotated[
            str,
            Field(description='what to make most probable, such as "goal | e"; else the utility'),
        ] = "",
        evidence: Evidence = (),
        criterion: Annotated[
            str, Field(description="under credal: maximin (the default) or maximax")
        ] = "",
        semantics: Semantics = "",
    ) -> CallToolResult:
        """Find the best strategy for the #decision atoms of a program by its #utility."""
        request = {"text": program, "query": goal, "evidence": _listed(evidence)}
        more = {"criterion": criterion, "semantics": semantics}
        return await do("decide", {**request, **more})

    async def models(
        program: Program,
        first: Annotated[int, Field(description="how many models to step over", ge=0)] = 0,
        semantics: Semantics = "",
    ) -> CallToolResult:
        """List up to 100 models of a program with the choices and probabilities behind them."""
        request = {"text": program, "first": first, "semantics": semantics}
        return await do("models", request)

    async def language_help(
        about: Annotated[str, Field(description="a directive such as #query, or nothing")] = "",
    ) -> CallToolResult:
        """Explain the language: all of it in short, or one directive."""
        return _help(about)

    for tool in (check, run, explain, decide, models, language_help):
        server.add_tool(tool, annotations=READ_ONLY)
    _add_resources(server)
    return server


def _listed(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _ours(problem: Mapping[str, Any]) -> dict[str, Any]:
    """A mistake, reduced and reworded for this server."""
    kept = {key: value for key, value in problem.items() if value is not None and key != "file"}
    for key in ("message", "help"):
        kept[key] = str(kept.get(key, "")).replace("the playground", "this server")
    return kept


def _result(found: Mapping[str, Any], *, failed: bool = False) -> CallToolResult:
    """An object as a result, and as text for clients that do not support objects."""
    text = TextContent(type="text", text=json.dumps(found, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=dict(found), is_error=failed)


def _failed(code: str, message: str, help: str) -> CallToolResult:
    problem = {"code": code, "message": message, "help": help}
    return _result({"errors": [problem]}, failed=True)


def _help(about: str) -> CallToolResult:
    known = {entry["word"]: entry for entry in directive_entries()}
    word = about.strip()
    if not word:
        return _result({"language": language_page(), "directives": sorted(known)})
    found = known.get(word) or known.get(f"#{word.lstrip('#')}")
    if found is None:
        help = f"one of {', '.join(sorted(known))}, or nothing for the whole language"
        return _failed("usage", f"there is no directive {word!r}", help)
    return _result(found)


def language_page() -> str:
    """The language in short, by an example of each kind of statement."""
    folder = resources.files("dpasp.playground")
    return folder.joinpath("language.md").read_text(encoding="utf-8")


def _add_resources(server: MCPServer) -> None:
    page = server.resource(
        "dpasp://language",
        title="The language of dPASP in short",
        mime_type="text/markdown",
    )
    page(language_page)
    for example in example_programs():
        place = f"dpasp://examples/{example['name']}"
        made = server.resource(
            place, name=example["name"], title=example["title"], mime_type="text/plain"
        )
        made(_constant(example["text"]))


def _constant(text: str) -> Any:
    """A function without arguments that returns a text."""
    return lambda: text


class _Lines:
    """The lines of a stream, read in a daemon thread, so that the process can end."""

    def __init__(self, stream: Any) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            with suppress(OSError, ValueError, RuntimeError):  # the stream or the loop is closed
                while line := stream.readline():
                    loop.call_soon_threadsafe(self._lines.put_nowait, line)
                loop.call_soon_threadsafe(self._lines.put_nowait, "")

        Thread(target=read, name="dpasp mcp requests", daemon=True).start()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        if line := await self._lines.get():
            return line
        raise StopAsyncIteration


async def serve(server: MCPServer, requests: Any, replies: Any) -> None:
    """Answer on two streams of text until the client closes one of them."""
    import anyio
    from mcp.server.stdio import stdio_server

    lines: Any = _Lines(requests)
    with suppress(*GONE):
        try:
            async with stdio_server(lines, anyio.wrap_file(replies)) as (incoming, outgoing):
                inner = server._lowlevel_server
                await inner.run(incoming, outgoing, inner.create_initialization_options())
        except BaseExceptionGroup as group:
            _, others = group.split(GONE)
            if others is not None:
                raise others from None
