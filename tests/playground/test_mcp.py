"""``dpasp mcp`` through the package's own client: ten calls, bad programs, one that never ends."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import dpasp
from dpasp.playground.about import example_programs
from dpasp.playground.mcp_server import language_page
from tests.clocks import PATIENCE

pytestmark = pytest.mark.slow
ALARM = """0.1::burglary. 0.2::earthquake.
alarm :- burglary. 0.7::alarm :- earthquake.
#semantics maxent. #query burglary | alarm."""

UMBRELLA = """0.3::rain. #decision {umbrella}. wet :- rain, not umbrella.
#utility 100 : not wet. #utility -10 : umbrella. #semantics maxent."""


def talk(session: Callable[[Any], Awaitable[None]], *options: str) -> None:
    """Let a session talk to a server of its own, on its standard input and output."""

    async def run() -> None:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "dpasp", "mcp", "--quiet", *options]
        )
        async with Client(stdio_client(command)) as client:
            await session(client)

    asyncio.run(run())


async def called(client: Any, tool: str, **arguments: Any) -> tuple[bool, dict[str, Any]]:
    """Whether a call succeeded, and the object that it returned, which its text says, too."""
    result = await client.call_tool(tool, arguments)
    found = result.structured_content
    assert found is not None, result
    assert json.loads(result.content[0].text) == found
    return not result.is_error, found


def test_a_session_of_many_calls() -> None:
    async def session(client: Any) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"check", "run", "explain", "decide", "models", "language_help"}
        # 1: a mistake, with its place and what to write
        fine, found = await called(client, "check", program="0.3:a. #query a.")
        assert not fine
        (problem,) = found["errors"]
        assert (problem["code"], problem["line"]) == ("single-colon", 1)
        assert problem["help"]
        # 2: mended
        fine, found = await called(client, "check", program="0.3::a. #query a.")
        assert fine
        assert found["warnings"] == []
        # 3 and 4: answers, to its own questions and to others
        fine, found = await called(client, "run", program=ALARM)
        assert fine
        assert found["answers"][0]["value"] == pytest.approx(0.1 / 0.226)
        asked = {"queries": ["earthquake"], "evidence": ["not alarm"], "semantics": "credal"}
        fine, found = await called(client, "run", program=ALARM, **asked)
        assert found["answers"][0]["lower"] == pytest.approx(0.06 / 0.86)
        same = {"queries": "earthquake", "evidence": "not alarm", "semantics": "credal"}
        assert (await called(client, "run", program=ALARM, **same))[1]["answers"] == found[
            "answers"
        ]
        fine, found = await called(client, "run", program="0.3::a.")
        assert (fine, found["errors"][0]["message"]) == (False, "the program asks nothing")
        # 5: a program that reads files
        fine, found = await called(client, "run", program='#include "/etc/passwd". #query a.')
        assert not fine
        assert "playground" not in json.dumps(found["errors"][0]["message"])
        # 6: and one that runs Python
        python = "#python\nimport os\ndef f(): return 1\n#end.\np(@f()). #query p(1)."
        fine, found = await called(client, "run", program=python)
        assert not fine
        # 7, 8 and 9: after that, the server goes on
        fine, found = await called(client, "explain", program=ALARM, query="alarm")
        assert fine
        assert "burglary" in json.dumps(found)
        fine, found = await called(client, "models", program=ALARM)
        assert fine
        assert sum(model["probability"][0] for model in found["models"]) == pytest.approx(1.0)
        fine, found = await called(client, "language_help", about="query")
        assert fine
        assert found["word"] == "#query"
        # and what to do
        fine, found = await called(client, "decide", program=UMBRELLA)
        assert (found["strategy"], found["value"]) == ({"umbrella": True}, pytest.approx(90))
        fine, found = await called(client, "decide", program=ALARM)
        assert not fine

    talk(session, "--time-limit", f"{PATIENCE}")


def test_a_program_that_never_ends_is_stopped() -> None:
    async def session(client: Any) -> None:
        endless = "p(0). p(X+1) :- p(X). 0.5::a. #query a, p(5)."
        fine, found = await called(client, "run", program=endless)
        if fine:
            assert found["answers"][0]["interval"] == [0.0, 1.0]  # all that is sure
            assert found["warnings"][0]["code"] == "not-exact"
        else:  # a busy machine did not come to more
            assert found["errors"][0]["code"] == "time-limit"
        fine = False
        while not fine:  # each try may be as late
            fine, found = await called(client, "check", program=ALARM)
        assert found["warnings"] == []

    talk(session, "--time-limit", "3")


def test_resources() -> None:
    async def session(client: Any) -> None:
        listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
        examples = {f"dpasp://examples/{each['name']}" for each in example_programs()}
        assert listed == {"dpasp://language", *examples}
        page = await client.read_resource("dpasp://language")
        assert page.contents[0].text == language_page()
        fine, found = await called(client, "language_help", about="#nonsense")
        assert not fine
        assert "#query" in found["errors"][0]["help"]

    talk(session)


def test_every_statement_of_the_language_page_is_one() -> None:
    rows = [line for line in language_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    for row in rows:
        statement = row.split("`")[1].replace("\\|", "|")
        weighted = " #semantics weighted." if statement.startswith("#factor") else ""
        dpasp.loads(statement + weighted)


BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ENDLESS_CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "run", "arguments": {"program": "p(0). p(X+1) :- p(X). #query p(5)."}},
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-C in a call", "no more input", "no more output"])
def test_it_ends_cleanly(how: str) -> None:
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", "dpasp", "mcp", "--quiet"]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None

        def send(*messages: object) -> None:
            assert server.stdin is not None
            server.stdin.writelines(json.dumps(message) + "\n" for message in messages)
            server.stdin.flush()

        send(BEGIN)
        assert '"id":1' in server.stdout.readline()
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        if how == "Ctrl-C in a call":
            send(ready, ENDLESS_CALL, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
            assert '"id":3' in server.stdout.readline()  # the call is under way
        if how.startswith("Ctrl-C"):
            server.send_signal(signal.SIGINT)
        elif how == "no more input":
            server.stdin.close()
        else:
            server.stdout.close()
            send(ready, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
        code = server.wait(PATIENCE)
        assert (code, server.stderr.read()) == (0, "")
