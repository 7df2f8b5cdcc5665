"""Workers: child processes with limits, and the queue before them."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("starlette")

import dpasp
from dpasp.limits import Limits, memory_in_use
from dpasp.playground import pages
from dpasp.playground.pages import READING, SHORT, Busy, Late, Page, PageWorker, Queue, Stopped
from dpasp.playground.worker import PACKAGES
from tests.clocks import PATIENCE

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

ENDLESS = "p(0). p(X+1) :- p(X). #query p(1)."
# paths through a dense graph: no way of compiling ends soon
HARD = "v(1..40). 0.5::e(X,Y) :- v(X), v(Y), X != Y. r(1). r(Y) :- r(X), e(X,Y). #query r(40)."
# Never here: networks, tables, and what terminals and reports show.
SHOWN = "progress report".split()
FUNCTIONS = "dpasp.circuits.functions"  # for other systems
ELSEWHERE = ("torch", "dpasp.learning", "dpasp.circuits.gpu", FUNCTIONS, "pandas", "narwhals")
ELSEWHERE += tuple(f"dpasp.display.{name}" for name in SHOWN)
HUGE = "n(1..9000). a(X,Y) :- n(X), n(Y). #query a(1,1)."


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers have all the time they need to start and to reply."""
    monkeypatch.setattr(pages, "START", PATIENCE)
    monkeypatch.setattr(pages, "GRACE", PATIENCE)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE))


@asynccontextmanager
async def working(seconds: float = PATIENCE, megabytes: float = 1000) -> AsyncIterator[PageWorker]:
    worker = PageWorker(Limits(seconds, megabytes))
    try:
        yield worker
    finally:
        await worker.close()


def answer(text: str) -> dict[str, str]:
    return {"task": "answer", "text": text, "semantics": "stable, credal"}


def assert_nothing_known(reply: dict[str, Any], limit: str) -> None:
    """What is answered where a limit leaves no time, or no room, to ground."""
    assert [*reply] == ["ok"]
    assert reply["ok"]["answers"][0]["interval"] == [0.0, 1.0]
    (warning,) = reply["ok"]["warnings"]
    assert warning["code"] == "not-exact"
    assert limit in warning["message"]


async def assert_next_is_answered(worker: PageWorker) -> None:
    """The next program has its answer: 0.3, or bounds of it where that took too long again."""
    (found,) = (await worker.ask(answer("0.3::a. #query a.")))["ok"]["answers"]
    assert found["lower"] <= 0.3 <= found["upper"]


def test_a_program_that_never_ends_is_stopped_and_the_next_is_answered() -> None:
    async def work() -> None:
        async with working(seconds=1) as worker:
            assert_nothing_known(await worker.ask(answer(ENDLESS)), "time limit")
            await assert_next_is_answered(worker)

    run(work())


def test_a_join_that_finds_nothing_takes_its_worker_along() -> None:
    silent = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. #query p."

    async def work() -> None:
        async with working(seconds=1) as worker:
            assert_nothing_known(await worker.ask(answer(silent)), "time limit")
            assert not worker.alive
            await assert_next_is_answered(worker)

    run(work())


def test_answers_that_are_not_exact() -> None:
    async def work() -> None:
        async with working(seconds=2) as worker:
            reply = await worker.ask(answer(HARD))
            assert "bug" not in reply
            codes = {d["code"] for d in reply.get("errors") or reply["ok"]["warnings"]}
            assert codes & {"not-exact", "time-limit"}

    run(work())


def test_nothing_is_left_to_be_imported() -> None:
    """What answers import inside their functions is imported before the doors close."""
    source = Path(dpasp.__file__).parent
    needed = set()
    for package in PACKAGES:
        for path in (source / package).rglob("*.py"):
            if path.parent.name in ("gpu", "functions"):  # which the playground does not run
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import(names):
                        needed |= {name.name for name in names}
                    case ast.ImportFrom(module=str(module)):
                        needed.add(module)
    text = "import sys; from dpasp.playground.worker import import_all; import_all()"
    text += "; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    missing = {n for n in needed - set(done.stdout.split()) if not n.startswith(ELSEWHERE)}
    assert missing == set()


def test_memory_has_a_limit() -> None:
    async def work() -> None:
        async with working(megabytes=150) as worker:
            assert_nothing_known(await worker.ask(answer(HUGE)), "memory limit")
            assert not worker.alive  # what it took would be missing for the next program
            reply = await worker.ask(answer("0.3::a. #query a."))
            assert reply["ok"]["answers"][0]["upper"] == 0.3
            assert worker.alive

    run(work())


def test_work_that_is_stopped_ends() -> None:
    async def work() -> None:
        async with working(seconds=10**6, megabytes=10**6) as worker:
            await worker.ask({"task": "check", "text": "a."})
            assert worker._process is not None
            process = worker._process.pid
            before = memory_in_use(process)
            asked = asyncio.create_task(worker.ask(answer(ENDLESS)))
            while memory_in_use(process) < before + 10:  # until it grounds
                await asyncio.sleep(0.02)
            worker.stop()
            with pytest.raises(Stopped, match="Stopped"):
                await asked
            await worker.close()
            assert not worker.alive

    run(work())


def test_a_worker_that_hangs_is_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "GRACE", 0.1 - PATIENCE)  # long before its own limit

    async def work() -> None:
        async with working() as worker:
            with pytest.raises(Stopped, match="longer"):
                await worker.ask(answer(ENDLESS))

    run(work())


@pytest.mark.parametrize(
    "deed",
    [
        "open('/etc/hostname')",
        "open('/tmp/x', 'w')",
        "import os; os.listdir('/')",
        "import os; os.system('true')",
        "import subprocess; subprocess.run(['true'])",
        "import socket; socket.socket()",
        "import os; os.remove('/tmp/x')",
        "import ctypes; ctypes.CDLL(None)",
    ],
)
def test_doors_are_closed(deed: str) -> None:
    code = f"""
import ctypes, os, socket, subprocess
from dpasp.limits import Limits
from dpasp.playground.worker import close_doors
close_doors(500)
Limits(megabytes=500).start().check()       # how much memory is in use can still be read
try:
    {deed}
except OSError as error:
    print("refused" if "playground" in str(error) or error.errno else error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == "refused\n", done.stderr


def test_the_queue_refuses_politely() -> None:
    async def work() -> None:
        queue = Queue(at_once=1, waiting=1)
        release = asyncio.Event()

        async def inside() -> None:
            async with queue:
                await release.wait()

        tasks = [asyncio.create_task(inside()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="try again"):
            async with queue:
                pass
        release.set()
        await asyncio.gather(*tasks)
        async with queue:
            pass

    run(work())


class Silent(PageWorker):
    """A worker that answers only what ends."""

    def __init__(self) -> None:
        super().__init__(Limits(10.0))
        self.asked: list[tuple[str, float | None]] = []

    async def ask(self, request: Mapping[str, Any], seconds: float | None = None) -> dict[str, Any]:
        self.asked.append((request["text"], seconds))
        if request["text"] == "short":
            return {"ok": request["task"]}
        if seconds is not None:
            raise Late("late")
        await asyncio.Event().wait()  # never set
        return {}


class Spoken:
    """A socket: what the page says goes in, what it hears comes out."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def receive(self) -> dict[str, Any]:
        return await self.said.get()

    async def send_text(self, text: str) -> None:
        self.heard.put_nowait(json.loads(text))

    def say(self, id: int, task: str, text: str = "") -> None:
        message = json.dumps({"id": id, "task": task, "text": text})
        self.said.put_nowait({"type": "websocket.receive", "text": message})


@asynccontextmanager
async def opened(count: int, at_once: int) -> AsyncIterator[list[tuple[Spoken, Silent]]]:
    """Some pages with silent workers, for so many long requests at once."""
    short, long = Queue(at_once, 60), Queue(at_once, 60)
    pages = []
    for _ in range(count):
        socket = Spoken()
        page = Page(cast("WebSocket", socket), short, long, Limits(10.0))
        page.worker = worker = Silent()
        pages.append((socket, worker, asyncio.create_task(page.run())))
    yield [(socket, worker) for socket, worker, _ in pages]
    for socket, _, served in pages:
        socket.said.put_nowait({"type": "websocket.disconnect"})
        await served


def test_short_work_does_not_wait_for_long_work() -> None:
    async def work() -> None:
        async with opened(4, at_once=2) as pages:
            for socket, _ in pages[:3]:
                socket.say(1, "answer", "endless")
            while pages[2][1].asked != [("endless", SHORT)]:  # the third waits for its turn
                await asyncio.sleep(0)
            socket, worker = pages[3]
            socket.say(1, "check", "short")
            socket.say(2, "answer", "short")
            assert await socket.heard.get() == {"id": 1, "ok": "check"}
            assert await socket.heard.get() == {"id": 2, "ok": "answer"}
            assert worker.asked == [("short", READING), ("short", SHORT)]

    run(work())


def test_a_program_that_cannot_be_read_in_time_holds_nobody_up() -> None:
    async def work() -> None:
        async with opened(1, at_once=1) as [(socket, worker)]:
            socket.say(1, "check", "endless")
            assert await socket.heard.get() == {"id": 1, "stopped": "late"}
            socket.say(2, "answer", "short")
            assert await socket.heard.get() == {"id": 2, "ok": "answer"}
            assert worker.asked == [("endless", READING), ("short", None)]

    run(work())


def test_stop_ends_what_runs_and_what_waits() -> None:
    async def work() -> None:
        async with opened(2, at_once=1) as [(first, busy), (second, waiting)]:
            first.say(1, "answer", "endless")
            while not busy.asked:
                await asyncio.sleep(0)
            second.say(1, "answer", "endless")
            second.say(2, "answer", "short")
            while not waiting.asked:
                await asyncio.sleep(0)
            second.say(3, "stop")
            heard = [await second.heard.get() for _ in range(3)]
            assert {one["id"]: one.get("stopped") for one in heard} == {
                1: "Stopped.",
                2: "Stopped.",
                3: None,
            }
            second.say(4, "answer", "short")
            assert await second.heard.get() == {"id": 4, "ok": "answer"}
            first.say(2, "stop")
            heard = [await first.heard.get() for _ in range(2)]
            assert {one["id"]: one.get("stopped") for one in heard} == {1: "Stopped.", 2: None}

    run(work())


def test_a_reply_that_is_too_long_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LONGEST_REPLY", 1000)

    async def work() -> None:
        async with working() as worker:
            with pytest.raises(Stopped, match="too long"):
                await worker.ask(answer("n(1..100). a(X) :- n(X). #query a(X)."))

    run(work())


def test_a_worker_that_learns_has_its_doors_closed_too() -> None:
    pytest.importorskip("torch")
    text = "0.3?::flu. 0.6?::fever :- flu. #semantics maxent."
    options = ("", 'alg = "gradient"', "smoothing = 1", 'likelihood = "sampled", niters = 3')

    async def learns() -> None:
        worker = PageWorker(Limits(PATIENCE, 2000), learns=True)
        try:
            for how in options:
                more = f'#learn "t.csv", {how}.' if how else ""
                request = {"task": "learn", "text": text + more, "table": "flu,fever\n1,1\n0,\n"}
                reply = await worker.ask(request)
                assert reply["ok"]["learned"], reply
            refused = await worker.ask({"task": "learn", "text": "#python\n#end.", "table": "a\n1"})
            assert refused["errors"]
        finally:
            await worker.close()

    run(learns())
