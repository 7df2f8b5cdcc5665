"""``dpasp lsp``, ``mcp`` and ``playground``: programs in an editor, a chat and the browser."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from contextlib import suppress
from importlib.util import find_spec

from dpasp.cli.commands import command
from dpasp.cli.console import Console
from dpasp.cli.options import OUTPUT, Flag, OptionGroup, positive, whole_number
from dpasp.errors import Diagnostic, UsageError
from dpasp.limits import Limits
from dpasp.playground.start import PORT, serve_playground

WHERE = OptionGroup(
    "where",
    (
        Flag(("--port",), f"the port (default: {PORT}, or any free one)", "N", whole_number),
        Flag(("--host",), "listen on this address (default: 127.0.0.1)", "H", default="127.0.0.1"),
        Flag(
            ("--allow-host",),
            "a host name, or NAME:PORT, that browsers may use (repeatable)",
            "NAME",
            repeatable=True,
            dest="names",
        ),
        Flag(("--no-browser",), "do not open a browser"),
    ),
)
REQUEST_LIMITS = OptionGroup(
    "limits of every request",
    (
        # Not those of the command, which would end it.
        Flag(("--time-limit",), "seconds (default: 20)", "S", positive, 20.0, dest="seconds"),
        Flag(
            ("--memory-limit",),
            "megabytes (default: 1000)",
            "MB",
            positive,
            1000.0,
            dest="megabytes",
        ),
    ),
)


@command(
    OptionGroup(
        "",
        (
            Flag(("--stdio",), "accepted for editors that pass it; there is no other way"),
            Flag(("-q", "--quiet"), "print nothing on standard error"),
            Flag(("-v", "--verbose"), "print requests and replies"),
        ),
    ),
)
def serve_editor(options: Namespace, console: Console) -> int:
    """Start the language server on standard input and output.

    It shows mistakes as you type and offers help on words, definitions, references, renaming,
    completion and formatting. Editors start it themselves; see the page on editors in the
    documentation. Needs dpasp[lsp].

    examples:
        dpasp lsp
    """
    if find_spec("pygls") is None:
        message = "the language server needs pygls, which is not installed"
        raise UsageError(Diagnostic("lsp-missing", message, help="pip install 'dpasp[lsp]'"))
    import logging

    from dpasp.editors.server import server

    level = logging.DEBUG if console.verbose else logging.CRITICAL
    logging.basicConfig(level=level, stream=console.messages)
    served = server()
    with open(os.dup(console.answers.fileno()), "wb") as answers:  # pygls closes it at an exit
        served.start_io(sys.stdin.buffer, answers)
    return served.exit_code


@command(
    REQUEST_LIMITS,
    OptionGroup(
        "",
        (
            Flag(("-q", "--quiet"), "print nothing on standard error"),
            Flag(("-v", "--verbose"), "print requests on standard error"),
        ),
    ),
)
def serve_models(options: Namespace, console: Console) -> int:
    """Start a server of the Model Context Protocol on standard input and output.

    A language model can then check, run and explain programs that it wrote. They run in a child
    process with limits, without Python and without files. Clients start the server themselves; see
    the page on language models in the documentation. Needs dpasp[mcp].

    examples:
        dpasp mcp
        dpasp mcp --time-limit 5
    """
    if find_spec("mcp") is None:
        message = "the server for language models needs mcp, which is not installed"
        raise UsageError(Diagnostic("mcp-missing", message, help="pip install 'dpasp[mcp]'"))
    import asyncio
    import logging

    from dpasp.playground.mcp_server import mcp_server, serve

    level = logging.INFO if console.verbose else logging.CRITICAL
    logging.basicConfig(level=level, stream=console.messages)
    server = mcp_server(Limits(options.seconds, options.megabytes))
    with open(os.dup(console.answers.fileno()), "w", encoding="utf-8") as replies:
        asyncio.run(serve(server, sys.stdin, replies))
    return 0


@command(WHERE, REQUEST_LIMITS, OUTPUT)
def playground(options: Namespace, console: Console) -> int:
    """Open the playground, an editor in the browser.

    It shows answers, sliders, explanations, the dependency graph and models next to the program.
    It runs on this machine and loads nothing from other sites; programs run in child processes
    with limits, without Python and without files.

    The printed link contains a token, without which a page gets no answers. For a link that stays
    the same, set a token of your own in the environment variable DPASP_PLAYGROUND_TOKEN.

    examples:
        dpasp playground
        dpasp playground --port 9000 --no-browser
        dpasp playground --host 0.0.0.0 --allow-host class.example.org    for others too
    """

    def tell(address: str) -> None:
        console.answer(json.dumps({"url": address}) if console.json else address)
        if not console.quiet:
            console.note("The playground is open at this address; Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # the way to end it, not a failure
        serve_playground(
            tell,
            host=options.host,
            port=options.port,
            browser=not options.no_browser,
            names=options.names,
            limits=Limits(options.seconds, options.megabytes),
        )
    return 0
