"""The server: a socket and a token, static files for anyone, and a WebSocket for each page.

Only pages of this server may talk to it: the Host must be one of its own names (which rules out
DNS rebinding), the Origin must be that Host, and the page must have shown the token, which it keeps
as a cookie. Nothing is ever fetched from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.limits import Limits
from dpasp.playground import PORT
from dpasp.playground.about import DOC_PAGES, DOCS, playground_facts
from dpasp.playground.pages import Page, Queue

STATIC = Path(__file__).parent / "static"
TOKEN = "DPASP_PLAYGROUND_TOKEN"  # in the environment: for links that stay the same
EVERYWHERE = ("0.0.0.0", "::")
AT_ONCE = max(1, os.cpu_count() or 2)  # long requests; the short ones have as many places again
PAGES = 100  # that may be open
SHUT_DOWN = 1  # seconds for pages to be told
LOCAL = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self' "
    b"'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-cache",
}
FULL = "The playground has as many pages open as it can serve. Please try again later."


@dataclass(frozen=True, slots=True)
class Settings:
    token: str
    port: int
    hosts: tuple[str, ...] = LOCAL  # the names under which it may be called, some with a port
    limits: Limits = Limits(seconds=20, megabytes=1000)
    at_once: int = AT_ONCE
    waiting: int = 60
    pages: int = PAGES

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies are shared between ports, so the port is in it."""
        return f"dpasp-{self.port}"


def serve_playground(
    tell: Callable[[str], None],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    names: Sequence[str] = (),
    public: bool = False,
    limits: Limits,
) -> None:
    """Serve until interrupted; ``tell`` gets the address with its token.

    ``names`` are further host names that the playground may be called by; if it is ``public``, the
    address has the first of them.
    """
    listening = listen(host, port)
    port = int(listening.getsockname()[1])
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    named = () if host in EVERYWHERE else (_bracketed(host),)
    hosts = tuple(name.lower() for name in (*LOCAL, *named, *names))
    settings = Settings(token, port, hosts, limits)
    shown = "127.0.0.1" if host in EVERYWHERE else _bracketed(host)
    address = f"http://{shown}:{port}/?token={token}"
    told = names[0] if public else shown
    tell(f"http://{told if told.rpartition(':')[2].isdigit() else f'{told}:{port}'}/?token={token}")
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
    message = f"the playground cannot listen at {host}, port {port}: {reason}"
    raise UsageError(message, "choose another --port (0 is any free one) or another --host")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def application(settings: Settings) -> ASGIApp:
    short, long = (Queue(settings.at_once, settings.waiting) for _ in range(2))
    open_pages: set[Page] = set()

    async def index(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is None:
            return FileResponse(STATIC / "index.html")
        if not hmac.compare_digest(token.encode(), settings.token.encode()):
            return FileResponse(STATIC / "index.html", 403)  # it shows the program, and says why
        # The browser keeps what follows # in the link; the token does not stay in it.
        response = Response(status_code=303, headers={"location": "./"})
        response.set_cookie(settings.cookie, token, httponly=True, samesite="strict")
        return response

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        files = {file.name: file for file in STATIC.iterdir() if file.is_file()}
        return FileResponse(files[name]) if name in files else PlainTextResponse("", 404)

    async def docs(request: Request) -> Response:
        name = request.path_params["name"]
        if DOCS is None or name not in DOC_PAGES.values():
            return PlainTextResponse("", 404)
        return FileResponse(DOCS / f"{name}.md", media_type="text/markdown; charset=utf-8")

    async def told(request: Request) -> Response:
        token = settings.token if has_token(request, settings) else None
        return JSONResponse(playground_facts(settings.limits, token))

    async def talk(page_socket: WebSocket) -> None:
        if not is_ours(page_socket, settings):
            await page_socket.close(4403)
            return
        await page_socket.accept()
        if len(open_pages) >= settings.pages:
            await page_socket.send_text(json.dumps({"id": None, "refused": FULL}))
            await page_socket.close(4429)
            return
        page = Page(page_socket, short, long, settings.limits)
        open_pages.add(page)
        try:
            await page.run()
        except WebSocketDisconnect:
            pass  # it went while it was told something
        finally:
            open_pages.discard(page)

    routes = [
        Route("/", index),
        Route("/about.json", told),
        Route("/static/{name}", static),
        Route("/docs/{name}.md", docs),
        WebSocketRoute("/talk", talk),
    ]
    return guarded_application(Starlette(routes=routes), settings)


def is_ours(connection: HTTPConnection, settings: Settings) -> bool:
    """Whether a page is one of ours: it has the token and comes from this server."""
    origin = urlsplit(connection.headers.get("origin", ""))
    same = origin.scheme in ("http", "https") and origin.netloc == connection.headers.get("host")
    return same and has_token(connection, settings)


def has_token(connection: HTTPConnection, settings: Settings) -> bool:
    """Whether a browser has shown the token before."""
    cookie = connection.cookies.get(settings.cookie, "")
    return hmac.compare_digest(cookie.encode(), settings.token.encode())


def guarded_application(application: ASGIApp, settings: Settings) -> ASGIApp:
    """The application behind a check of the Host, with headers that isolate its pages."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await application(scope, receive, send)
            return
        if not _own_name(HTTPConnection(scope).headers.get("host", ""), settings):
            refusal = PlainTextResponse("This is not a name of this server.", 421)
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4421})
            else:
                await refusal(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS.items()]
            await send(message)

        await application(scope, receive, with_headers)

    return guard


def _own_name(host: str, settings: Settings) -> bool:
    """Whether a Host header names this server, with its port or (behind a proxy) without."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not name or not port.isdigit():
        name, port = host, ""
    same_port = name.lower() in settings.hosts and port in ("", str(settings.port))
    return same_port or host.lower() in settings.hosts
