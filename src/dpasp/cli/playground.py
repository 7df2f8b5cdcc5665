"""``dpasp playground``: the editor in the browser."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import suppress

from dpasp.cli.console import Console
from dpasp.cli.options import OUTPUT, Flag, OptionGroup, positive, whole_number
from dpasp.limits import Limits
from dpasp.playground.start import PORT, TOKEN, serve_playground

DESCRIPTION = f"""\
Open the playground: an editor in the browser with answers, sliders, reasons, the dependency
graph and models beside it. It runs on this machine and fetches nothing from elsewhere;
programs run in child processes with limits, without Python and without files.

The link that is printed holds a token, without which a page gets no answers. For a link
that stays the same, put a token of your own into the environment as {TOKEN}.

examples:
    dpasp playground
    dpasp playground --port 9000 --no-browser
    dpasp playground --host 0.0.0.0 --allow-host class.example.org    for others too
"""
WHERE = OptionGroup(
    "where",
    (
        Flag(("--port",), f"the port (default: {PORT}, or any free one)", "N", whole_number),
        Flag(("--host",), "listen at this address (default: 127.0.0.1)", "H", default="127.0.0.1"),
        Flag(
            ("--allow-host",),
            "a name, or NAME:PORT, by which browsers may call it (repeatable)",
            "NAME",
            repeatable=True,
            dest="names",
        ),
        Flag(("--no-browser",), "do not open a browser"),
    ),
)
LIMITS = OptionGroup(
    "limits of every request",
    (
        Flag(("--time-limit",), "seconds (default: 20)", "S", positive, default=20.0),
        Flag(("--memory-limit",), "megabytes (default: 1000)", "MB", positive, default=1000.0),
    ),
)
OPTIONS = (WHERE, LIMITS, OUTPUT)


def execute(options: Namespace, console: Console) -> int:
    """Serve the playground until Ctrl-C."""

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
            limits=Limits(options.time_limit, options.memory_limit),
        )
    return 0
