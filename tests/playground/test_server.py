"""The server: who may speak with it, and what it says."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dpasp.cli import main
from dpasp.errors import UsageError
from dpasp.limits import Limits
from dpasp.playground.server import STATIC, Settings, application, listen
from tests.clocks import PATIENCE

SOURCES = Path(__file__).parents[2] / "editors" / "web"
HOST = "127.0.0.1:8017"
OWN = {"host": HOST, "origin": f"http://{HOST}", "cookie": "dpasp-8017=secret"}


@pytest.fixture
def client() -> TestClient:
    settings = Settings("secret", 8017, limits=Limits(seconds=PATIENCE, megabytes=1000))
    return TestClient(application(settings), base_url=f"http://{HOST}", follow_redirects=False)


def talk(client: TestClient, headers: dict[str, str], *requests: dict[str, Any]) -> list[Any]:
    with client.websocket_connect("/talk", headers=headers) as socket_:
        for request in requests:
            socket_.send_text(json.dumps(request))
        return [socket_.receive_json() for _ in requests]


def test_the_page_fetches_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("index.html", "main.js", "style.css"):
        text = (STATIC / name).read_text(encoding="utf-8")
        links = [word for word in text.split('"') if word.startswith(("http://", "https://", "//"))]
        assert [link for link in links if "www.w3.org" not in link] == []
    assert client.get("/static/main.js").status_code == 200
    assert client.get("/static/../server.py").status_code == 404


def test_pages_of_the_documentation_are_served(client: TestClient) -> None:
    pages = client.get("/about.json").json()["pages"]
    assert len(pages) > 8
    for name in pages.values():
        found = client.get(f"/docs/{name}.md")
        assert found.headers["content-type"].startswith("text/markdown")
        assert found.text.startswith("# ")
    for name in ("security", "..%2FREADME", "conf.py"):
        assert client.get(f"/docs/{name}.md").status_code == 404


def test_the_token_in_the_link_becomes_a_cookie(client: TestClient) -> None:
    found = client.get("/?token=secret")
    assert found.status_code == 303
    cookie = found.headers["set-cookie"].lower()
    assert "dpasp-8017=secret" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/?token=guess").status_code == 403


def test_a_page_of_ours_is_answered(client: TestClient) -> None:
    text = "0.3::a. #query a."
    request = {"id": 7, "task": "answer", "text": text, "semantics": "stable, maxent"}
    with client.websocket_connect("/talk", headers=OWN) as socket:
        socket.send_text(json.dumps(request))
        while "progress" in (reply := json.loads(socket.receive_text())):
            assert reply["id"] == 7
    assert reply["id"] == 7
    assert reply["ok"]["answers"][0]["value"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cookie": "dpasp-8017=guess"},
        {"cookie": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"host": "evil.example", "origin": "http://evil.example"},  # a name pointed at us
        {"host": "127.0.0.1:9999", "origin": "http://127.0.0.1:9999"},
    ],
)
def test_others_are_not_answered(client: TestClient, wrong: dict[str, str]) -> None:
    with pytest.raises(WebSocketDisconnect):
        talk(client, OWN | wrong, {"id": 1, "task": "check", "text": "a."})


def test_other_names_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "localhost:8017"}).status_code == 200
    hosts = ("class.example.org", "class.example.org:9000")
    settings = Settings("secret", 8017, hosts=hosts)
    for name, code in (("class.example.org", 200), (hosts[1], 200), (f"{hosts[0]}:1", 421)):
        hosted = TestClient(application(settings), base_url=f"http://{name}")
        assert hosted.get("/").status_code == code


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ('"a"', "not a JSON object"),
        ("", "not JSON"),
        ("x" * 500_000, "more than 400,000 characters"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": 1, "a": ' + "[" * 100_000, "nested too deeply"),
        (b"bytes", "bytes, not text"),
        ('{"id": [1], "task": "check"}', "id"),
        ('{"id": 1}', "no task"),
        ('{"id": 1, "task": {}}', "no task"),
        ('{"id": 1, "task": "dance"}', "no task 'dance'"),
        ('{"id": 1, "task": "check"}', "`text`"),
        ('{"id": 1, "task": "why", "text": "a."}', "`query`"),
        ('{"id": 1, "task": "slide", "text": "a."}', "`semantics`"),
        ('{"id": 1, "task": "models", "text": "a.", "first": 1e400}', "`first`"),
    ],
    ids=range(16),
)
def test_what_is_no_request_is_refused_in_words(
    client: TestClient, message: str | bytes, words: str
) -> None:
    with client.websocket_connect("/talk", headers=OWN) as socket_:
        if isinstance(message, bytes):
            socket_.send_bytes(message)
        else:
            socket_.send_text(message)
        reply = socket_.receive_json()
        assert words in reply.get("refused", "") + str(reply.get("errors", ""))
        socket_.send_text('{"id": "next", "task": "stop"}')  # and the socket lives
        assert socket_.receive_json() == {"id": "next", "ok": {}}


def test_those_who_have_the_token_can_pass_it_on(client: TestClient) -> None:
    assert client.get("/about.json").json()["token"] is None
    guess = {"cookie": "dpasp-8017=guess"}
    assert client.get("/about.json", headers=guess).json()["token"] is None
    assert client.get("/about.json", headers=OWN).json()["token"] == "secret"


def test_another_token_is_explained_by_the_page(client: TestClient) -> None:
    found = client.get("/?token=guess")
    assert (found.status_code, "set-cookie" in found.headers) == (403, False)
    assert "main.js" in found.text


def test_a_full_house_is_told() -> None:
    settings = Settings("secret", 8017, pages=0)
    client = TestClient(application(settings), base_url=f"http://{HOST}")
    with client.websocket_connect("/talk", headers=OWN) as socket_:
        assert "try again" in socket_.receive_json()["refused"]


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="cannot listen"):
            listen("127.0.0.1", port)
    listen("127.0.0.1", None).close()


def test_what_to_install_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dpasp.cli.serve.find_spec", lambda name: None if name == "uvicorn" else 1)
    assert main(["playground", "--no-browser"]) == 2
    assert "needs uvicorn, which is not installed [playground-missing]" in capsys.readouterr().err


def test_public_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playground", "--public", "--no-browser"]) == 2
    assert "--public --allow-host class.example.org" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["class.example.org", "class.example.org:9000"])
def test_a_public_playground_tells_its_link_and_its_limits(name: str) -> None:
    options = ["--public", "--allow-host", name, "--port", "0", "--no-browser", "--json"]
    command = [sys.executable, "-m", "dpasp", "playground", *options, "--time-limit", "7"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        url = json.loads(it.stdout.readline())["url"]
        assert url.startswith(f"http://{name}{'' if ':' in name else ':'}")
        said = "".join(it.stderr.readline() for _ in range(3))
        assert "for 7 s" in said
        assert "It speaks http" in said
        it.send_signal(signal.SIGINT)
        assert it.wait(PATIENCE) == 0


def test_the_command_ends_with_ctrl_c() -> None:
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "dpasp", "playground", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        address = it.stdout.readline().strip()
        try:
            with urlopen(address.split("?")[0], timeout=PATIENCE) as page:
                assert b"playground" in page.read()
            it.send_signal(signal.SIGINT)
            _, said = it.communicate(timeout=PATIENCE)
        finally:
            it.kill()
    assert (it.returncode, "error" in said) == (0, False)


@pytest.mark.skipif(not SOURCES.exists(), reason="the sources of the page are not here")
def test_the_page_is_built_from_these_sources() -> None:
    digest = hashlib.sha256()
    sources = sorted((SOURCES / "src").iterdir(), key=lambda file: file.name)
    for file in (SOURCES / "build.mjs", SOURCES / "package-lock.json", *sources):
        digest.update(file.read_bytes())
    built = (STATIC / "built-from.txt").read_text().strip()
    assert digest.hexdigest() == built, "run `npm ci && npm run build` in editors/web"


def test_licences_are_shipped() -> None:
    text = (STATIC / "LICENSES.txt").read_text(encoding="utf-8")
    assert "@codemirror/view" in text
    assert text.count("MIT") >= 8
