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
from dpasp.errors import UsageError
from dpasp.limits import Limits
from dpasp.playground import PORT

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
        Flag(("--public",), "serve other machines too; needs --allow-host"),
        Flag(("--no-browser",), "do not open a browser"),
    ),
)
PUBLIC = """\
Everyone who has this link can use the playground: {} requests run at once, for {:g} s and in
{:g} MB each, and {} pages may be open. It speaks http; for https, put a proxy in front of it."""
REQUEST_LIMITS = OptionGroup(
    "limits of every request",  # not limits of the command, which would end it
    (
        Flag(("--time-limit",), "seconds (default: 20)", "S", positive, 20, dest="seconds"),
        Flag(("--memory-limit",), "megabytes (default: 1000)", "MB", positive, 1000, dest="mb"),
    ),
)
MESSAGES = OptionGroup(
    "messages",
    (
        Flag(("-q", "--quiet"), "print nothing on standard error"),
        Flag(("-v", "--verbose"), "print requests on standard error"),
    ),
)


@command(Flag(("--stdio",), "accepted because some editors pass it; it changes nothing"), MESSAGES)
def serve_editor(options: Namespace, console: Console) -> int:
    """Start the language server on standard input and output.

    It shows mistakes as you type and offers help on words, definitions, references, renaming,
    completion and formatting. Editors start it themselves; see the page on editors in the
    documentation. Needs dpasp[lsp].

    examples:
        dpasp lsp
    """
    need("lsp-missing", "the language server", "pygls")
    from dpasp.editors.server import server

    log_to(console, "DEBUG")
    served = server()
    with open(os.dup(console.answers.fileno()), "wb") as answers:  # pygls closes it at an exit
        served.start_io(sys.stdin.buffer, answers)
    return served.exit_code


@command(REQUEST_LIMITS, MESSAGES)
def serve_models(options: Namespace, console: Console) -> int:
    """Start a server of the Model Context Protocol on standard input and output.

    A language model can then check, run and explain programs that it wrote. They run in a child
    process with limits, without Python and without files. Clients start the server themselves; see
    the page on language models in the documentation. Needs dpasp[mcp].

    examples:
        dpasp mcp
        dpasp mcp --time-limit 5
    """
    need("mcp-missing", "the server for language models", "mcp")
    import asyncio

    from dpasp.playground.mcp_server import mcp_server, serve

    log_to(console, "INFO")
    server = mcp_server(Limits(options.seconds, options.mb))
    replies = open(os.dup(console.answers.fileno()), "w", encoding="utf-8")  # noqa: SIM115
    with suppress(KeyboardInterrupt, BrokenPipeError):  # the usual ways to end it, not failures
        asyncio.run(serve(server, sys.stdin, replies))
    with suppress(OSError):
        replies.close()
    return 0


def need(code: str, what: str, *packages: str) -> None:
    """Refuse to start if packages of an extra are missing; the code is named after the extra."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        message = f"{what} needs {', '.join(missing)}, which {verb} not installed"
        help = f"pip install 'dpasp[{code.removesuffix('-missing')}]'"
        raise UsageError.at(code, message, help=help)


def log_to(console: Console, level: str) -> None:
    """Log to standard error from this level on with ``-v``, otherwise nothing."""
    import logging

    logging.basicConfig(level=level if console.verbose else "CRITICAL", stream=console.messages)


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
        dpasp playground --public --allow-host class.example.org    for others too
    """
    need("playground-missing", "the playground", "starlette", "uvicorn", "websockets")
    from dpasp.playground.server import AT_ONCE, LOCAL, PAGES, serve_playground

    if options.public and not options.names:
        message = "--public needs the name by which other machines call this one"
        raise UsageError(message, help="dpasp playground --public --allow-host class.example.org")
    host = "0.0.0.0" if options.public and options.host == LOCAL[0] else options.host

    def tell(address: str) -> None:
        if console.json:
            console.answer(json.dumps({"url": address}))  # one line, because scripts wait for it
        else:
            console.answer(address)
        if not console.quiet:
            console.note("The playground is open at this address; Ctrl-C ends it.")
        if options.public and not console.quiet:
            limits = options.seconds, options.mb
            console.note(PUBLIC.format(AT_ONCE, *limits, PAGES))

    with suppress(KeyboardInterrupt):  # Ctrl-C is the way to end it, not a failure
        serve_playground(
            tell,
            host=host,
            port=options.port,
            browser=not options.no_browser,
            names=options.names,
            public=options.public,
            limits=Limits(options.seconds, options.mb),
        )
    return 0
