"""Starts the playground: a socket, a token, a browser, and then the server."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from dpasp.errors import Diagnostic, UsageError
from dpasp.limits import Limits

PORT = 8017  # unless another one is asked for; if it is taken, any free one
TOKEN = "DPASP_PLAYGROUND_TOKEN"  # in the environment: for links that stay the same
EVERYWHERE = ("0.0.0.0", "::")
DEFAULT = Limits(seconds=20, megabytes=1000)
SHUT_DOWN = 1  # seconds for pages to be told


def serve_playground(
    tell: Callable[[str], None],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    names: Sequence[str] = (),
    limits: Limits = DEFAULT,
) -> None:
    """Serve until interrupted; ``tell`` gets the address with its token.

    ``names`` are further host names that the playground may be called by.
    """
    _need_packages()
    import uvicorn

    from dpasp.playground.server import LOCAL, Settings, application

    listening = listen(host, port)
    port = int(listening.getsockname()[1])
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    named = () if host in EVERYWHERE else (_bracketed(host),)
    hosts = tuple(name.lower() for name in (*LOCAL, *named, *names))
    settings = Settings(token, port, hosts, limits)
    shown = "127.0.0.1" if host in EVERYWHERE else _bracketed(host)
    address = f"http://{shown}:{port}/?token={token}"
    tell(address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    config = uvicorn.Config(
        application(settings),
        log_level="error",
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=2**24,  # what is larger than a request is refused in words up to here
        server_header=False,
        timeout_graceful_shutdown=SHUT_DOWN,
    )
    uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens there; without a port, at the usual one or any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (PORT, 0) if port is None else (port,):
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen()  # from now on browsers wait rather than fail
        except (OSError, OverflowError) as error:
            listening.close()
            problem = error
            continue
        return listening
    reason = getattr(problem, "strerror", None) or str(problem)
    raise UsageError(
        f"the playground cannot listen at {host}, port {port}: {reason}",
        help="choose another --port (0 is any free one) or another --host",
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _need_packages() -> None:
    """Say what to install where something is missing."""
    missing = [name for name in ("starlette", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise UsageError(
            Diagnostic(
                "playground-missing",
                f"the playground needs {', '.join(missing)}, which {_are(missing)} not installed",
                help="pip install 'dpasp[playground]'",
            )
        )


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
