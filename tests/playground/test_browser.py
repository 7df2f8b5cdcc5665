"""The playground in a real browser: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clocks import PATIENCE, wait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None and not os.environ.get("DPASP_BROWSER"):  # where it is set, it is needed
    pytest.skip("chromium is not installed: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("uvicorn")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
LIMIT = 1000 * PATIENCE  # milliseconds


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(60.0) as url:  # more than any answer here takes, on a busy machine too
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
    until(page, "nap", "[0.0000, 0.7000]")
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
    until(page, "rain", "[0.5000, 0.5000]")


def test_directives_are_completed(page: Page) -> None:
    write(page, "")
    page.keyboard.type("#que")
    page.locator(".cm-tooltip-autocomplete li").first.click()  # keys only count after a moment
    expect(page.locator(".cm-content")).to_have_text("#query", timeout=LIMIT)


def test_ten_semantics_side_by_side(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")
    buttons = page.locator("#semantics button")
    assert buttons.count() == 10
    page.get_by_label("stable, maxent", exact=True).click()
    until(page, "nap", "0.3500", "stable, maxent")
    page.get_by_label("wellfounded, credal", exact=True).click()
    until(page, "nap", "[0.0000, 0.0000]", "wellfounded, credal")
    nothing = page.get_by_label("wellfounded, credal: ").first.locator(".tick").first
    expect(nothing).to_be_visible(timeout=LIMIT)  # also [0, 0] is drawn


def test_a_slider_is_answered_from_the_circuit(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")
    slider = page.get_by_label("probability of busy")
    slider.fill("0.2")
    until(page, "nap", "[0.0000, 0.2000]")
    expect(page.locator(".tick.ghost")).to_have_count(2, timeout=LIMIT)  # where it was
    slider.focus()
    page.keyboard.press("ArrowRight")
    until(page, "nap", "[0.0000, 0.2100]")
    page.get_by_text("as written").click()
    until(page, "nap", "[0.0000, 0.7000]")


def test_sliders_belong_to_their_program(page: Page) -> None:
    slider = page.get_by_label("probability of busy")
    slider.wait_for()  # that of the first example
    page.evaluate("document.querySelector('.sliders').dataset.old = 'yes'")
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")
    expect(page.locator(".sliders[data-old]")).to_have_count(0, timeout=LIMIT)
    slider.fill("0.2")
    until(page, "nap", "[0.0000, 0.2000]")
    page.keyboard.press("Control+Enter")  # the same program once more
    page.get_by_label("stable, maxent", exact=True).click()
    until(page, "nap", "0.1000", "stable, maxent")
    expect(page.get_by_text("as written")).to_be_visible()


def test_values_of_a_disjunction_move_together(page: Page) -> None:
    write(page, "0.5::a; 0.3::b; 0.2::c.\n#query b.")
    until(page, "b", "[0.3000, 0.3000]")
    page.get_by_label("probability of a", exact=True).fill("0")
    until(page, "b", "[0.6000, 0.6000]")
    moved = page.get_by_label("probability of b", exact=True)
    expect(moved).to_have_value("0.6", timeout=LIMIT)


def test_why_is_a_tree(page: Page) -> None:
    write(page, "0.1::burglary. 0.2::quake. alarm :- burglary. alarm :- quake.\n#query alarm.")
    until(page, "alarm", "[0.2800, 0.2800]")
    page.get_by_label("Why alarm?").click()
    page.wait_for_selector("#why .tree .tree")
    expect(page.locator("#why")).to_contain_text("what must be chosen for it", timeout=LIMIT)
    expect(page.locator("#why")).to_contain_text("burglary", timeout=LIMIT)


def test_the_graph_and_the_models(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")
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


def test_a_link_holds_the_program(page: Page, address: str) -> None:
    text = '0.25::ü("→ & <b>").\n#query ü("→ & <b>").'.replace("ü", "a")
    write(page, text)
    until(page, 'a("→ & <b>")', "[0.2500, 0.2500]")
    page.click("#share")
    expect(page.locator("#link")).not_to_have_value("", timeout=LIMIT)
    link = page.locator("#link").input_value()
    assert "token" not in link
    other = page.context.new_page()
    other.set_default_timeout(LIMIT)
    other.goto(link)
    until(other, 'a("→ & <b>")', "[0.2500, 0.2500]")
    assert other.locator(".cm-content").inner_text() == text


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
    until(page, "other", "[0.4000, 0.4000]")


def test_light_dark_and_phone(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = opened(context.new_page(), address)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    expect(page.locator("body")).not_to_have_css("background-color", dark, timeout=LIMIT)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_everything_has_a_name_for_screen_readers(page: Page) -> None:
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role=tabpanel]")]
            .filter((one) => !one.closest("dialog"))
            .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()
                || one.getAttribute("aria-labelledby") || (one.labels && one.labels.length)))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_a_program_that_never_ends_is_stopped(page: Page) -> None:
    write(page, "p(0). p(X+1) :- p(X). #query p(1).")
    page.wait_for_selector("#stop", state="visible")
    page.click("#stop")
    expect(page.locator("#answers")).to_contain_text("Stopped", timeout=LIMIT)
    write(page, DAY)
    until(page, "nap", "[0.0000, 0.7000]")


def test_a_program_that_never_ends_stops_by_itself(browser: Browser) -> None:
    context = browser.new_context()
    with serving(1.0) as address:
        page = context.new_page()
        page.set_default_timeout(LIMIT)
        page.goto(address)
        write(page, "p(0). p(X+1) :- p(X). #query p(1).")
        expect(page.locator("#answers")).to_contain_text("time limit of 1 s", timeout=LIMIT)
        context.close()


def test_a_page_that_is_gone_takes_its_work_along(browser: Browser, address: str) -> None:
    others = workers()
    context = browser.new_context()
    page = opened(context.new_page(), address)
    own = workers() - others
    assert own
    write(page, "p(0). p(X+1) :- p(X). #query p(1).")
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
    until(page, 'a("<img src=x onerror=1>")', "[0.0000, 0.0000]")
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
        until(page, "a", f"[0.{i}500, 0.{i}500]")
    context.close()


def test_without_the_token_there_are_no_answers(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.split("?")[0])
    expect(page.locator("#state")).to_contain_text("token", timeout=LIMIT)
    context.close()
