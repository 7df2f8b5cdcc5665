"""The playground in a real browser: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clocks import PATIENCE, wait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None and not os.environ.get("DPASP_BROWSER"):  # where it is set, it is needed
    pytest.skip("chromium is not installed: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("uvicorn")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, WebSocket, WebSocketRoute

pytestmark = pytest.mark.slow
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DAY = "0.7::busy. coffee :- busy, not nap. nap :- busy, not coffee. #query nap."
# a join that finds nothing: it never ends, and takes no memory
ENDLESS = "d(1..3000). p :- d(X), d(Y), d(Z), d(V), X+Y+Z+V < 0. #query p."
LIMIT = 1000 * PATIENCE  # milliseconds


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(PATIENCE) as url:  # more than any answer here takes, on a busy machine too
        yield url


@contextmanager
def serving(seconds: float) -> Iterator[str]:
    """The address of a playground whose requests may take so long."""
    command = [sys.executable, "-m", "dpasp", "playground"]
    options = ["--port", "0", "--no-browser", "--json", "--time-limit", f"{seconds}"]
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = json.loads(server.stdout.readline())["url"]
    try:
        yield url
    finally:
        server.terminate()
        server.wait(PATIENCE)
        server.stdout.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    found = opened(context.new_page(), address)
    yield found
    context.close()


def opened(page: Page, address: str) -> Page:
    """The page with the first example answered; it asks nobody but its own server."""
    page.set_default_timeout(LIMIT)
    host = address.split("/")[2]
    page.on("request", lambda request: strangers(request.url, host))
    page.goto(address)
    page.wait_for_selector(".block .number")
    return page


def strangers(url: str, host: str) -> None:
    assert url.startswith(("data:", "blob:")) or url.split("/")[2] == host, url


def write(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def until(page: Page, query: str, wanted: str, semantics: str = "stable, credal") -> None:
    label = re.compile(re.escape(f"{semantics}: {wanted}"))
    block = page.locator(".block", has=page.get_by_text(f"ℙ({query})", exact=True))
    expect(block.get_by_label(label)).to_be_visible(timeout=LIMIT)


def test_typing_gives_an_answer(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    expect(page.locator("#state")).to_have_text("No mistakes", timeout=LIMIT)


def test_a_mistake_is_underlined_and_explained(page: Page) -> None:
    write(page, "1.5::rain.\n#query rain.")
    page.wait_for_selector(".cm-lintRange-error")
    assert page.locator(".cm-lintRange-error").first.inner_text() == "1.5"
    problem = page.locator("#problems li").first
    expect(problem).to_contain_text("line 1", timeout=LIMIT)
    expect(problem).to_contain_text("1.5 is not a probability", timeout=LIMIT)
    expect(page.locator("#answers")).to_have_class(re.compile("stale"), timeout=LIMIT)
    write(page, "0.5::rain.\n#query rain.")
    until(page, "rain", "0.500000")


def test_directives_are_completed(page: Page) -> None:
    write(page, "")
    page.keyboard.type("#que")
    page.locator(".cm-tooltip-autocomplete li").first.click()  # keys only count after a moment
    expect(page.locator(".cm-content")).to_have_text("#query", timeout=LIMIT)


def test_all_semantics_side_by_side(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    buttons = page.locator("#semantics button")
    assert buttons.count() == 15
    page.get_by_label("stable, maxent", exact=True).click()
    until(page, "nap", "0.350000", "stable, maxent")
    page.get_by_label("wellfounded, credal", exact=True).click()
    until(page, "nap", "0.000000", "wellfounded, credal")
    nothing = page.get_by_label("wellfounded, credal: ").first.locator(".tick").first
    expect(nothing).to_be_visible(timeout=LIMIT)  # also [0, 0] is drawn


def test_a_slider_is_answered_from_the_circuit(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    slider = page.get_by_label("probability of busy")
    slider.fill("0.2")
    until(page, "nap", "[0.000000, 0.200000]")
    expect(page.locator(".tick.ghost")).to_have_count(2, timeout=LIMIT)  # where it was
    slider.focus()
    page.keyboard.press("ArrowRight")
    until(page, "nap", "[0.000000, 0.210000]")
    page.get_by_text("as written").click()
    until(page, "nap", "[0.000000, 0.700000]")


def test_sliders_belong_to_their_program(page: Page) -> None:
    slider = page.get_by_label("probability of busy")
    slider.wait_for()  # that of the first example
    page.evaluate("document.querySelector('.sliders').dataset.old = 'yes'")
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    expect(page.locator(".sliders[data-old]")).to_have_count(0, timeout=LIMIT)
    slider.fill("0.2")
    until(page, "nap", "[0.000000, 0.200000]")
    page.keyboard.press("Control+Enter")  # the same program once more
    page.get_by_label("stable, maxent", exact=True).click()
    until(page, "nap", "0.100000", "stable, maxent")
    expect(page.get_by_text("as written")).to_be_visible()


def test_values_of_a_disjunction_move_together(page: Page) -> None:
    write(page, "0.5::a; 0.3::b; 0.2::c.\n#query b.")
    until(page, "b", "0.300000")
    page.get_by_label("probability of a", exact=True).fill("0")
    until(page, "b", "0.600000")
    moved = page.get_by_label("probability of b", exact=True)
    expect(moved).to_have_value("0.6", timeout=LIMIT)


def test_why_is_a_tree(page: Page) -> None:
    write(page, "0.1::burglary. 0.2::quake. alarm :- burglary. alarm :- quake.\n#query alarm.")
    until(page, "alarm", "0.280000")
    page.get_by_label("Why alarm?").click()
    page.wait_for_selector("#why .tree .tree")
    expect(page.locator("#why")).to_contain_text("what must be chosen for it", timeout=LIMIT)
    expect(page.locator("#why")).to_contain_text("burglary", timeout=LIMIT)


def test_the_graph_and_the_models(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    page.get_by_role("tab", name="Graph").click()
    page.wait_for_selector("#graph svg")
    expect(page.locator("#graph svg")).to_contain_text("0.7 :: busy", timeout=LIMIT)
    page.keyboard.press("ArrowRight")  # the tabs follow the arrow keys
    stepper = page.locator(".stepper")
    expect(stepper).to_contain_text("1 of 2 for this total choice", timeout=LIMIT)
    first = page.locator(".chips .true").all_inner_texts()
    page.get_by_label("Next model").click()
    expect(stepper).to_contain_text("2 of 2 for this total choice", timeout=LIMIT)
    assert page.locator(".chips .true").all_inner_texts() != first


def test_a_link_works_in_another_browser(page: Page, browser: Browser) -> None:
    text = '0.25::a("→ & <b>").\n#query a("→ & <b>").'
    write(page, text)
    until(page, 'a("→ & <b>")', "0.250000")
    page.click("#share")
    expect(page.locator("#link")).not_to_have_value("", timeout=LIMIT)
    link = page.locator("#link").input_value()
    assert "token" not in page.url
    fresh = browser.new_context()  # which has no cookie of the playground
    other = fresh.new_page()
    other.set_default_timeout(LIMIT)
    other.goto(link)
    until(other, 'a("→ & <b>")', "0.250000")
    assert other.locator(".cm-content").inner_text() == text
    assert "token" not in other.url
    fresh.close()


@pytest.mark.parametrize("token", ["", "token=of-another-day"])
def test_a_link_without_the_token_says_what_is_missing(
    browser: Browser, address: str, token: str
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    page.goto(f"{address.split('?')[0]}?{token}#p={packed(DAY)}")
    for tries in (1, 3):  # the words stay while it tries again
        while len(sockets) < tries:
            page.wait_for_event("websocket", timeout=LIMIT)
        expect(page.locator("#state")).to_contain_text("needs the token", timeout=LIMIT)
    assert page.locator(".cm-content").inner_text() == DAY
    context.close()


def test_a_link_that_holds_no_program_is_told(page: Page) -> None:
    for letters in (
        packed("0" * 30_000_000),  # a small link that is large when it is unpacked
        packed(DAY)[:-9],
        "!",
        base64.urlsafe_b64encode(b"nothing that was packed").decode(),
    ):
        before = page.locator(".cm-content").inner_text()
        page.evaluate("letters => location.hash = `p=${letters}`", letters)
        expect(page.locator("#state")).to_contain_text("holds no program", timeout=LIMIT)
        assert page.locator(".cm-content").inner_text() == before
        write(page, f"{DAY} % {len(letters)}")  # the page goes on
        until(page, "nap", "[0.000000, 0.700000]")
        expect(page.locator("#state")).to_have_text("No mistakes", timeout=LIMIT)


def packed(text: str) -> str:
    """A program as it stands in a link."""
    deflate = zlib.compressobj(wbits=-15)
    letters = deflate.compress(json.dumps([text, []]).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(letters).decode().rstrip("=")


def test_a_program_too_large_is_refused(page: Page) -> None:
    noise = random.Random(1)
    large = "".join(f"a({noise.getrandbits(60)}). " for _ in range(3500)) + "#query a(1)."
    write(page, large)
    page.click("#share")
    expect(page.locator("#sharing")).to_contain_text("too large for a link", timeout=LIMIT)
    expect(page.locator("#link")).to_be_hidden(timeout=LIMIT)
    page.keyboard.press("Escape")
    write(page, large * 2)
    expect(page.locator("#state")).to_contain_text("at most 100,000", timeout=LIMIT)
    expect(page.locator("#answers")).to_have_class(re.compile("stale"), timeout=LIMIT)
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")


def test_saving_and_opening(page: Page, tmp_path: Path) -> None:
    write(page, DAY)
    with page.expect_download() as saved:
        page.click("#save")
    assert Path(saved.value.path()).read_text() == DAY
    file = tmp_path / "other.plp"
    file.write_text("0.4::other. #query other.")
    with page.expect_file_chooser() as chooser:
        page.click("#open")
    chooser.value.set_files(file)
    until(page, "other", "0.400000")


def test_light_dark_and_phone(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = opened(context.new_page(), address)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    expect(page.locator("body")).not_to_have_css("background-color", dark, timeout=LIMIT)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    name = f"a_name_that_is_{'very_' * 12}long"
    write(page, f"0.3::{name}. b :- {name}. #decision {{c({name})}}. #utility 3 : b. #query b.")
    until(page, "b", "0.300000")
    for tab in ("Answers", "Why", "Decide", "Graph", "Models"):
        page.get_by_role("tab", name=tab).click()
        panel = page.locator(f"#{tab.lower()}")
        expect(panel).to_contain_text(name[:20], timeout=LIMIT)
        assert panel.evaluate(BEYOND) == []
    context.close()


# The parts of a panel that reach beyond it; pictures are scrolled.
BEYOND = """panel => {
    const parts = [...panel.querySelectorAll(":not(.picture *)")].filter((one) => one.offsetParent);
    const beyond = (one) => one.getBoundingClientRect().right > innerWidth + 1;
    return parts.filter(beyond).map((one) => one.outerHTML);
}"""


def test_everything_has_a_name_for_screen_readers(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role=tabpanel]")]
            .filter((one) => !one.closest("dialog"))
            .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()
                || one.getAttribute("aria-labelledby") || (one.labels && one.labels.length)))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_stop_stops_at_once(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    page.get_by_label("probability of busy").wait_for()
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda text: sent.append(text)))
    page.reload()
    until(page, "nap", "[0.000000, 0.700000]")
    page.get_by_label("probability of busy").wait_for()
    page.evaluate(WATCH)
    before = workers()
    write(page, ENDLESS)
    expect(page.locator("#state")).to_contain_text("Working", timeout=LIMIT)
    page.locator("#stop").click()
    expect(page.locator("#state")).to_have_text("Stopped.", timeout=LIMIT)
    expect(page.locator("#working")).to_be_hidden(timeout=LIMIT)
    expect(page.locator("#answers")).to_contain_text("Stopped.", timeout=LIMIT)
    assert [json.loads(text)["task"] for text in sent][-1] == "stop"  # and it asks nothing more
    wait(lambda: not workers() & before, "the end of its worker")
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    said = page.evaluate("window.said")
    assert ["Stopped.", False] in said
    assert [one for one in said if one[1] != one[0].startswith("Working")] == []


# Notes all that the page says, and whether it shows that it works.
WATCH = """() => {
    window.said = [];
    const state = document.getElementById("state"), working = document.getElementById("working");
    const note = () => window.said.push([state.textContent, !working.hidden]);
    const options = { attributes: true, childList: true, characterData: true, subtree: true };
    for (const one of [state, working]) new MutationObserver(note).observe(one, options);
}"""


def test_what_is_of_an_earlier_program_is_grey(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    page.get_by_label("probability of busy").wait_for()
    for tab in ("Graph", "Models", "Why", "Answers"):
        page.get_by_role("tab", name=tab).click()
        panel = page.locator(f"#{tab.lower()}")
        expect(panel.locator(":scope > :last-child")).to_be_visible(timeout=LIMIT)
        expect(panel).not_to_have_class(re.compile("stale"), timeout=LIMIT)
    write(page, ENDLESS)
    expect(page.locator("#state")).to_contain_text("Working", timeout=LIMIT)
    for tab in ("Graph", "Models", "Why", "Answers"):
        page.get_by_role("tab", name=tab).click()
        last = page.locator(f"#{tab.lower()} > :last-child")
        expect(last).to_have_css("opacity", "0.4", timeout=LIMIT)
        expect(last).to_have_attribute("inert", "", timeout=LIMIT)
        if tab != "Answers":
            note = page.locator(f"#{tab.lower()} > .waits")
            expect(note).to_contain_text("an earlier program. The answers to", timeout=LIMIT)
            expect(note).to_have_css("opacity", "1", timeout=LIMIT)
    page.click("#stop")
    expect(page.locator("#graph > .waits")).to_contain_text("was stopped", timeout=LIMIT)
    write(page, "0.7::busy")
    expect(page.locator("#graph > .waits")).to_contain_text("has mistakes", timeout=LIMIT)
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    for tab in ("Graph", "Models", "Why", "Answers"):
        page.get_by_role("tab", name=tab).click()
        last = page.locator(f"#{tab.lower()} > :last-child")
        expect(last).to_have_css("opacity", "1", timeout=LIMIT)
        expect(page.locator(f"#{tab.lower()} > .waits")).to_have_count(0, timeout=LIMIT)


def test_answers_that_do_not_follow_a_slider_are_grey(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")

    def hold(task: str, reply: dict[str, Any]) -> dict[str, Any] | None:
        return None if task == "slide" and moved else reply

    moved: list[float] = []
    through(page, hold)
    until(page, "nap", "[0.000000, 0.700000]")
    slider = page.get_by_label("probability of busy")
    slider.wait_for()
    expect(page.locator(".answers")).to_have_css("opacity", "1", timeout=LIMIT)
    moved.append(0.2)
    slider.fill("0.2")  # its answer does not come
    expect(page.locator(".answers")).to_have_css("opacity", "0.4", timeout=LIMIT)
    expect(page.locator(".sliders")).to_have_css("opacity", "1", timeout=LIMIT)


def test_estimates_do_not_look_exact(page: Page) -> None:
    write(page, "0.3::a. b :- a.\n#query b. #semantics maxent. #inference sample, n = 50.")
    row = page.get_by_label(re.compile(r"^stable, maxent: 0\.\d{6} \(95 %: .*, 50 samples\)$"))
    expect(row).to_have_class(re.compile("estimate"), timeout=LIMIT)
    expect(row.locator(".precision")).to_have_text(
        re.compile(r"95 %: \[0\.\d{6}, 0\.\d{6}\], 50 samples"), timeout=LIMIT
    )
    expect(row.locator(".whisker")).to_be_visible(timeout=LIMIT)
    expect(page.locator(".sliders")).to_have_count(0, timeout=LIMIT)  # they would be exact
    write(page, "0.3::a. b :- a.\n#query b. #semantics maxent.")
    until(page, "b", "0.300000", "stable, maxent")
    expect(page.locator(".row.exact")).to_have_count(1, timeout=LIMIT)
    expect(page.locator(".precision")).to_have_count(0, timeout=LIMIT)


def test_a_program_that_never_ends_stops_by_itself(browser: Browser) -> None:
    context = browser.new_context()
    with serving(1.0) as address:
        page = context.new_page()
        page.set_default_timeout(LIMIT)
        page.goto(address)
        write(page, ENDLESS)
        expect(page.locator("#answers")).to_contain_text("time limit of 1 s", timeout=LIMIT)
        until(page, "p", "[0.000000, 1.000000] (gap 1.000000)")
        expect(page.locator(".row.sure")).to_have_count(1, timeout=LIMIT)  # bounds, not estimates
        context.close()


def test_what_answers_may_say_besides(page: Page) -> None:
    """Powers of ten where a number is too small to be written, and the mass of the undefined."""

    def more(task: str, reply: dict[str, Any]) -> dict[str, Any]:
        if task == "answer" and "ok" in reply:
            reply["ok"]["answers"][0] |= {"log10": -2287.94, "undefined": 0.25}
        return reply

    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    through(page, more)
    until(page, "nap", "10^-2287.9 (undefined with probability 0.250000)")


def through(page: Page, change: Callable[[str, dict[str, Any]], dict[str, Any] | None]) -> None:
    """Open the page again, with replies as something changes them; where it gives None, without."""

    def route(socket: WebSocketRoute) -> None:
        server, tasks = socket.connect_to_server(), {}

        def ask(message: str | bytes) -> None:
            request = json.loads(message)
            tasks[request["id"]] = request["task"]
            server.send(message)

        def reply(message: str | bytes) -> None:
            found = json.loads(message)
            changed = change(tasks.get(found["id"], ""), found)
            if changed is not None:
                socket.send(json.dumps(changed))

        socket.on_message(ask)
        server.on_message(reply)

    page.route_web_socket(re.compile("/talk$"), route)
    page.reload()


def test_a_connection_that_breaks_is_made_again(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    sockets: list[WebSocketRoute] = []

    def route(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if len(sockets) > 1:
            socket.connect_to_server()
        else:
            socket.on_message(lambda message: socket.close())

    page.route_web_socket(re.compile("/talk$"), route)
    page.reload()
    expect(page.locator("#state")).to_contain_text("connection was lost", timeout=LIMIT)
    until(page, "nap", "[0.000000, 0.700000]")
    expect(page.locator("#state")).to_have_text("No mistakes", timeout=LIMIT)


def test_a_full_house_is_told(page: Page) -> None:
    def route(socket: WebSocketRoute) -> None:
        socket.send(json.dumps({"id": None, "refused": "As many pages as can be served."}))
        socket.close(code=4429)

    page.route_web_socket(re.compile("/talk$"), route)
    page.reload()
    expect(page.locator("#state")).to_have_text("As many pages as can be served.", timeout=LIMIT)


def test_a_warning_of_an_answer_has_its_place(page: Page) -> None:
    write(page, "0.3::wet.\n#query wet. #query wett.")
    until(page, "wett", "0.000000")
    warning = page.locator("#problems li.warning")
    expect(warning).to_contain_text("line 2", timeout=LIMIT)
    expect(warning).to_contain_text("wett cannot occur", timeout=LIMIT)
    expect(warning).to_contain_text("did you mean 'wet'?", timeout=LIMIT)
    expect(page.locator("#state")).to_have_text("1 warning", timeout=LIMIT)
    assert page.locator(".cm-lintRange-warning").inner_text() == "wett"
    page.locator("#tab-answers").focus()
    warning.get_by_role("button").click()
    page.keyboard.insert_text("x")
    expect(page.locator(".cm-content")).to_contain_text("#query xwett", timeout=LIMIT)


def test_many_mistakes_are_counted(page: Page) -> None:
    write(page, "1.5::a.\n" * 300)
    expect(page.locator("#state")).to_have_text("300 mistakes", timeout=LIMIT)
    expect(page.locator("#problems li")).to_have_count(101, timeout=LIMIT)
    expect(page.locator("#problems li").last).to_have_text("and 200 more", timeout=LIMIT)


def test_a_page_that_is_gone_takes_its_work_along(browser: Browser, address: str) -> None:
    others = workers()
    context = browser.new_context()
    page = opened(context.new_page(), address)
    own = workers() - others
    assert own
    write(page, ENDLESS)
    page.wait_for_selector("#stop", state="visible")
    context.close()
    wait(lambda: not workers() & own, "the end of its workers")


def below(process: int) -> bool:
    """Whether a process was started by this one, or by one that was."""
    while process > 1 and process != os.getpid():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process == os.getpid()


def workers() -> set[int]:
    """The processes that work for pages of this process's playground."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"dpasp.playground.worker" in words and below(int(entry.name)):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_a_hostile_program(page: Page, tmp_path: Path) -> None:
    target = tmp_path / "written"
    for text, said in (
        (f'#script (python)\nopen("{target}", "w")\n#end.\n#query a.', "Python"),
        ('#include "/etc/passwd".\n#query a.', "no files"),
        ('a("<img src=x onerror=document.title=1>"). #query a("<img src=x onerror=1>").', ""),
    ):
        write(page, text)
        if said:
            expect(page.locator("main")).to_contain_text(said, timeout=LIMIT)
    until(page, 'a("<img src=x onerror=1>")', "0.000000")
    page.get_by_role("tab", name="Models").click()
    page.wait_for_selector(".chips")
    assert page.title() == "dPASP playground"
    assert page.locator("img").count() == 1
    assert not target.exists()


def test_ten_users_at_once(browser: Browser, address: str) -> None:
    context = browser.new_context()
    pages = [context.new_page() for _ in range(10)]
    for page in pages:
        page.set_default_timeout(LIMIT)
        page.goto(address, wait_until="commit")
    for i, page in enumerate(pages):
        page.wait_for_selector(".block .number")
        write(page, f"0.{i}5::a. #query a.")
    for i, page in enumerate(pages):
        until(page, "a", f"0.{i}50000")
    context.close()


def test_without_the_token_there_are_no_answers(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.split("?")[0])
    expect(page.locator("#state")).to_contain_text("token", timeout=LIMIT)
    context.close()


def test_a_number_is_typed_and_written_into_the_program(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    field = page.get_by_label("number for busy")
    field.fill("0.25")
    field.press("Enter")
    until(page, "nap", "[0.000000, 0.250000]")
    page.get_by_text("write into the program").click()
    expect(page.locator(".cm-content")).to_contain_text("0.25::busy", timeout=LIMIT)
    expect(page.get_by_text("write into the program")).to_be_hidden(timeout=LIMIT)
    field.fill("1.5")  # no probability: the answers stay
    field.press("Enter")
    assert field.evaluate("field => field.validationMessage")
    until(page, "nap", "[0.000000, 0.250000]")


def test_the_page_says_what_it_does(page: Page) -> None:
    write(page, ENDLESS)
    expect(page.locator("#state")).to_have_text("Working: grounding…", timeout=LIMIT)
    page.locator("#tab-models").click()
    expect(page.locator("#models")).to_contain_text("are computed first", timeout=LIMIT)
    page.locator("#stop").click()
    expect(page.locator("#state")).to_have_text("Stopped.", timeout=LIMIT)


def test_answers_are_taken_away(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")

    def copied(kind: str) -> str:
        page.get_by_label(f"Copy {kind}", exact=True).click()
        expect(page.locator("#state")).to_have_text("Copied.", timeout=LIMIT)
        text: str = page.evaluate("navigator.clipboard.readText()")
        return text

    assert copied("text") == "ℙ(nap) = [0.000000, 0.700000]\n"
    assert json.loads(copied("JSON"))[0]["upper"] == 0.7
    assert copied("CSV").splitlines()[1].startswith('"stable, credal",nap,probability,,0,0.7')
    for kind in ("SVG", "PNG"):
        with page.expect_download() as started:
            page.get_by_label(f"Picture {kind}").first.click()
        content = started.value.path().read_bytes()
        assert content.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
    write(page, "0.3::a. #query a. #semantics maxent. #inference sample, n = 50.")
    page.locator(".row.estimate").wait_for()
    with page.expect_download() as started:
        page.get_by_label("Picture SVG").first.click()
    drawn = started.value.path().read_text(encoding="utf-8")
    assert drawn.count("<path") == 1  # the interval of the estimate
    assert "50 samples)" in drawn


def test_a_large_graph_is_scrolled(page: Page) -> None:
    loop = "p(X) :- q(X,Y), p(Y). p(9) :- q(1,2). #query p(X)."
    write(page, f"1{{d(1..4)}}1. 0.5::q(X,Y) :- X = 1..5, Y = 1..5, X != Y. {loop}")
    page.get_by_role("tab", name="Graph").click()
    picture = page.locator("#graph .picture")
    expect(picture).to_have_class(re.compile("large"), timeout=LIMIT)
    assert picture.evaluate("one => one.scrollWidth > one.clientWidth")
    page.get_by_label("Size fit").click()
    assert picture.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.get_by_label("Size 100 %").click()
    assert picture.evaluate("one => one.scrollWidth > one.clientWidth")


def test_help_and_examples(page: Page) -> None:
    page.locator("#help").click()
    expect(page.locator("#helping")).to_contain_text("#query a, not b | e.", timeout=LIMIT)
    expect(page.locator("#helping")).not_to_contain_text("`", timeout=LIMIT)
    page.get_by_role("button", name="the semantics", exact=True).click()
    read = page.locator("#helping article")
    expect(read).to_contain_text("What the semantics mean", timeout=LIMIT)
    expect(read.locator("table").first).to_be_visible(timeout=LIMIT)
    read.get_by_role("button", name="Weights", exact=True).first.click()
    expect(read.locator("h2")).to_have_text("Weights", timeout=LIMIT)
    page.get_by_role("button", name="‹ Help").click()
    expect(page.locator("#helping")).to_contain_text("Ctrl-Enter", timeout=LIMIT)
    page.get_by_role("button", name="Close").first.click()
    expect(page.locator(".meaning")).to_contain_text("credal:", timeout=LIMIT)
    page.locator("#examples").select_option("digits")
    expect(page.locator(".images canvas")).to_have_count(2, timeout=LIMIT)


def test_the_best_decision_follows_the_sliders(page: Page) -> None:
    page.locator("#examples").select_option("umbrella")
    until(page, "wet", "0.000000", "stable, maxent")
    page.wait_for_selector(".slider")
    page.keyboard.press("Escape")
    page.locator("#tab-answers").focus()
    for _ in range(2):  # the tabs go by the arrow keys
        page.keyboard.press("ArrowRight")
    best = page.locator("#decide .best")
    expect(best).to_have_text("umbrella, not raincoatmax 𝔼 = 50", timeout=LIMIT)
    expect(row(page, "not umbrella")).to_contain_text("loses 8", timeout=LIMIT)
    expect(row(page, "-10 : umbrella")).to_contain_text("ℙ = 1", timeout=LIMIT)
    expect(row(page, "forecast")).to_contain_text("3.3", timeout=LIMIT)  # the value of knowing it
    expect(row(page, "rain").last).to_contain_text("0.166667 to 1", timeout=LIMIT)
    page.get_by_label("number for rain", exact=True).fill("0.05")
    page.keyboard.press("Enter")
    expect(best).to_contain_text("not umbrella, not raincoat", timeout=LIMIT)
    expect(row(page, "rain").last).to_contain_text("0 to 0.166667", timeout=LIMIT)
    expect(row(page, "forecast")).to_contain_text("1.05", timeout=LIMIT)
    assert page.locator("#decide .sliders").count() == 1
    with page.expect_download() as download:
        page.locator("#decide").get_by_role("button", name="Picture SVG").click()
    assert "loses" in Path(download.value.path()).read_text(encoding="utf-8")
    page.locator("#tab-answers").click()  # the sliders come along, where they stand
    until(page, "wet", "0.050000  (under not umbrella, not raincoat)", "stable, maxent")
    write(page, DAY)
    until(page, "nap", "[0.000000, 0.700000]")
    page.locator("#tab-decide").click()
    expect(page.locator("#decide")).to_contain_text("This program decides nothing", timeout=LIMIT)


def row(page: Page, label: str) -> Any:
    found = page.locator("#decide .decide-row")
    return found.filter(has=page.locator("code", has_text=re.compile(f"^{re.escape(label)}$")))


def test_learning_from_a_table(page: Page, browser: Browser) -> None:
    pytest.importorskip("torch")
    page.locator("#examples").select_option("learn")
    until(page, "flu", "0.500000", "stable, maxent")
    page.locator("#tab-learn").click()
    page.get_by_role("button", name="Learn", exact=True).click()
    learned = page.locator(".learned")
    expect(learned.locator("tbody tr").first).to_contain_text("0.434437", timeout=LIMIT)
    expect(learned).to_contain_text("has converged", timeout=LIMIT)
    page.locator("#share").click()  # the table goes with the link
    expect(page.locator("#link")).not_to_have_value("", timeout=LIMIT)
    link = page.locator("#link").input_value()
    page.locator("#sharing button").click()
    page.get_by_label("Table of observations").fill("flu,fevr\n1,1\n")
    expect(learned).to_have_class(re.compile("stale"), timeout=LIMIT)
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(learned).to_contain_text("did you mean 'fever'?", timeout=LIMIT)
    other = browser.new_context().new_page()
    other.set_default_timeout(LIMIT)
    other.goto(link)
    until(other, "flu", "0.500000", "stable, maxent")
    other.locator("#tab-learn").click()
    table = other.get_by_label("Table of observations")
    expect(table).to_have_value(re.compile("^flu,fever\n1,1\n"), timeout=LIMIT)
    table.fill("flu,fever\n1,1\n1,0\n1,0\n0,1\n")
    other.get_by_role("button", name="Learn", exact=True).click()
    other.get_by_role("button", name="write into the program").click()
    other.locator("#tab-answers").click()
    until(other, "flu", "0.750000", "stable, maxent")
    other.context.close()


def test_learning_is_stopped(page: Page) -> None:
    pytest.importorskip("torch")
    write(page, '?::a. #semantics maxent. #learn "t.csv", alg = "gradient", niters = 100000000.')
    expect(page.locator("#state")).to_have_text("1 warning", timeout=LIMIT)
    page.locator("#tab-learn").click()
    page.get_by_label("Table of observations").fill("a\n1\n0\n")
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.locator("#state")).to_contain_text("learning, iteration", timeout=LIMIT)
    page.locator("#stop").click()
    expect(page.locator(".learned")).to_contain_text("Stopped.", timeout=LIMIT)
    page.get_by_label("Table of observations").fill("a\n1\n1\n1\n0\n")
    write(page, "?::a. #semantics maxent. #query a.")
    expect(page.locator("#state")).to_have_text("No mistakes", timeout=LIMIT)
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.locator(".learned tbody tr")).to_contain_text("0.750000", timeout=LIMIT)


def test_a_network_looks_at_what_is_drawn(page: Page) -> None:
    page.locator("#examples").select_option("digits")
    until(page, "digit(1,2)", "0.587000", "stable, maxent")
    until(page, "digit(1,1) | even", "0.973869", "stable, maxent")
    page.get_by_label("Another image 1").select_option("4")
    until(page, "digit(1,4)", "0.998000", "stable, maxent")
    page.get_by_role("button", name="Clear image 1").click()
    box = page.get_by_label("image 1", exact=True).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 64, box["y"] + 12)  # a stroke from top to bottom
    page.mouse.down()
    page.mouse.move(box["x"] + 64, box["y"] + 116, steps=20)
    page.mouse.up()
    said = re.compile(r"0\.\d+::digit\(1,1\)")
    expect(page.locator(".cm-content")).to_contain_text(said, timeout=LIMIT)
    expect(page.locator(".images + .note")).to_have_count(0, timeout=LIMIT)
    text = page.locator(".cm-content").inner_text()
    write(page, re.sub(r"(?m)^.*::digit\(0,7\).*$", "1::digit(0,7).", text))
    expect(page.locator("#answers")).to_contain_text("not what the network says", timeout=LIMIT)
