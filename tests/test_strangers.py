"""What a text from anywhere can do: run no Python, read no file, command no terminal."""

from __future__ import annotations

import io
import pickle
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dpasp
from dpasp.cli import main
from dpasp.writing import harmless, markup

DOCS = Path(__file__).parent.parent / "docs"
SENTENCE = "a file that you name may run its python; a text may not, unless you say so"
BLOCK = "#python\nopen({mark!r}, 'w').close()\ndef f(x): return x\n#end.\np(@f(1)). #query p(1)."
SCRIPT = BLOCK.replace("#python", "#script (python)")
SECRET = "top secret: 'word\n"


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that Python makes when it runs."""
    return tmp_path / "ran"


def from_input(text: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return main(["run", "-", *words])


# --- Python ------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [BLOCK, SCRIPT])
def test_which_entrances_run_python(
    block: str, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = block.format(mark=str(mark))
    file = tmp_path / "p.plp"
    file.write_text(text)
    entrances: dict[Callable[[], object], bool] = {
        lambda: main(["run", str(file)]): True,
        lambda: main(["run", str(file), "--no-python"]): False,
        lambda: main(["check", str(file)]): False,
        lambda: dpasp.load(file): False,  # when it is asked, not when it is read
        lambda: dpasp.load(file).query(): True,
        lambda: dpasp.load(file, python=False).query(): False,
        lambda: dpasp.loads(text).query(): False,
        lambda: dpasp.loads(text, folder=tmp_path).query(): False,
        lambda: dpasp.loads(text, python=True).query(): True,
        lambda: dpasp.parse(text, from_str=True).query(): False,
        lambda: from_input(text, monkeypatch): False,
        lambda: from_input(text, monkeypatch, "--python"): True,
    }
    for number, (entrance, runs) in enumerate(entrances.items()):
        with suppress(dpasp.Error):
            entrance()
        assert mark.exists() == runs, number
        mark.unlink(missing_ok=True)


@pytest.mark.parametrize("block", [BLOCK, SCRIPT])
def test_no_question_runs_python(block: str, mark: Path, tmp_path: Path) -> None:
    text = "a. " + block.format(mark=str(mark))
    file = tmp_path / "p.plp"
    file.write_text("0.3::a. #query a.")
    assert main(["run", str(file), "--python", "--query", text]) == 65
    assert main(["run", str(file), "--python", "--evidence", text]) == 65
    program = dpasp.load(file)
    for ask in (program.query, program.explain, program.map):
        with pytest.raises(dpasp.ProgramError):
            ask(text)
    with pytest.raises(dpasp.ProgramError, match="only questions and evidence"):
        program.sample(1, given=text)
    assert not mark.exists()


def test_every_page_says_the_same() -> None:
    def plain(text: str) -> str:
        return " ".join(text.lower().split())

    for name in ("python", "language", "how-to", "security"):
        assert SENTENCE in plain((DOCS / f"{name}.md").read_text()), name
    options = plain((DOCS / "command-line.md").read_text())
    assert "files that you name may run their python, and standard input may not" in options


@pytest.mark.parametrize("command", ["run", "ground", "compile", "explain", "models", "sample"])
def test_every_help_says_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(default: allowed for files, not for standard input)" in said


# --- files -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that may be read, beside a secret; a link in it leads to the secret."""
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    (tmp_path / "secret.plp").write_text(SECRET)
    (tmp_path / "owner.plp").write_text("b.")
    (own / "rules.plp").write_text('b. #include "deep/more.plp".')
    (own / "deep" / "more.plp").write_text("c :- b.")
    (own / "wrong.plp").write_text(SECRET)
    (own / "link.plp").symlink_to(tmp_path / "secret.plp")
    (own / "out").symlink_to(tmp_path)
    return own


def outside(folder: Path) -> list[str]:
    secret = folder.parent / "secret.plp"
    return [
        str(secret),
        "../secret.plp",
        "deep/../../secret.plp",
        "link.plp",
        "out/secret.plp",
        "../none.plp",
        "../owner.plp",
        "/etc/passwd",
        "~/.profile",
    ]


def test_a_text_includes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for name in ("rules.plp", *outside(folder)):
        text = f'#include "{name}". #query b.'
        with pytest.raises(dpasp.ProgramError) as caught:
            dpasp.loads(text, file=str(folder / "p.plp"))
        assert caught.value.diagnostics[0].code == "file-not-allowed"
        assert from_input(text, monkeypatch) == 65
    assert "secret:" not in capsys.readouterr().err
    assert from_input('#include "rules.plp". #query c.', monkeypatch, "--python") == 0


def test_a_text_includes_what_is_inside_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = dpasp.loads('#include "rules.plp". #query c.', folder=folder)
    assert program.query("c", semantics="maxent")[0].value == 1
    assert pickle.loads(pickle.dumps(program)).query("c", semantics="maxent")[0].value == 1
    monkeypatch.chdir(folder)
    for name in outside(folder):
        for given in (folder, "."):
            with pytest.raises(dpasp.ProgramError) as caught:
                dpasp.loads(f'#include "{name}". #query b.', folder=given)
            assert caught.value.diagnostics[0].code in ("file-not-allowed", "file")
            assert "secret:" not in str(caught.value)


def test_errors_quote_no_file(folder: Path) -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads('#include "wrong.plp".', folder=folder)
    for part in ("top", "secret", "word"):
        assert part not in str(caught.value)
    (folder / "unsafe.plp").write_text("hidden(X).")
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads('#include "unsafe.plp". #query a.', folder=folder).query()
    assert "hidden" not in str(caught.value)


def test_errors_quote_the_text_and_not_a_file_of_its_name(folder: Path) -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads("1.5::a.", file=str(folder.parent / "secret.plp"))
    assert "1.5::a." in str(caught.value)
    assert "secret: " not in str(caught.value)


def test_files_that_someone_names_include_what_they_like(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "p.plp"
    file.write_text('#include "../owner.plp". #query b.')
    assert dpasp.load(file).query(semantics="maxent")[0].value == 1
    trusted = dpasp.loads(f'#include "{folder.parent}/owner.plp". #query b.', python=True)
    assert trusted.query(semantics="maxent")[0].value == 1


def test_data_and_observations(folder: Path) -> None:
    learns = '?::a. #learn "{}". #semantics maxent. #query a.'
    (folder / "rows.csv").write_text("a\ntrue\nfalse\n")
    (folder / "wrong.csv").write_text(SECRET)
    (folder.parent / "rows.csv").write_text("a\ntrue\n")
    with pytest.raises(dpasp.Error, match="may not read files"):
        dpasp.loads(learns.format(folder / "rows.csv")).learn()
    program = dpasp.loads(learns.format("rows.csv"), folder=folder)
    program.learn()
    assert program.query()[0].value == pytest.approx(0.5)
    with pytest.raises(dpasp.DataError, match="not inside the folder"):
        dpasp.loads(learns.format("../rows.csv"), folder=folder).learn()
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads(learns.format("wrong.csv"), folder=folder).learn()
    assert "secret:" not in str(caught.value)


def test_formatting_reads_no_other_file(folder: Path) -> None:
    file = folder / "p.plp"
    file.write_text('#include   "../secret.plp".\n')
    assert main(["format", str(file)]) == 0
    assert file.read_text() == '#include "../secret.plp".\n'


# --- what is shown -----------------------------------------------------------------------------

CODES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\x7f"
NAMED = (
    f'p("{CODES}<&>]]>"). 0.3::a("{CODES}<script>"). #query a(X). #query p(X). #semantics maxent.'
)


@pytest.mark.parametrize("command", ["run", "ground", "explain", "models", "sample"])
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_no_command_sends_codes_to_a_terminal(
    command: str, json: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"p{CODES.replace('/', '')}.plp"
    file.write_text(NAMED)
    assert main([command, str(file), "-v", *json]) == 0
    out, err = capfd.readouterr()
    for character in CODES:
        if not (character.isprintable() and character.isascii()):
            assert character not in out, repr(character)
            assert character not in err, repr(character)
    assert "\\u001b[2J" in out


def test_results_print_without_codes() -> None:
    program = dpasp.loads(NAMED)
    for shown in (program.query(), program.ground(), *program.explain(), program.map()):
        text = str(shown)
        assert "\\u001b[2J" in text
        assert harmless(text) == text


class Reader(HTMLParser):
    """The names of the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)


def test_pictures_and_pages_stay_valid() -> None:
    program = dpasp.loads(NAMED)
    for picture in (program.plot(), program.query().plot(), program.circuit().plot()):
        ElementTree.fromstring(picture.svg)
    for result in (program.query(), program.explain(), program.ground()):
        page = result._repr_html_()
        reader = Reader()
        reader.feed(page)
        assert "script" not in reader.found
        assert "\x1b" not in page


def test_every_character_can_stand_in_a_picture() -> None:
    odd = "".join(map(chr, [*range(0x250), 0x2028, 0x202E, 0xFFFE, 0xFFFF, 0x1F600]))
    ElementTree.fromstring(f'<a b="{markup(odd)}">{markup(odd, False)}</a>')
    assert harmless("a\tb\nc ü 日本 👩‍🔬") == "a\tb\nc ü 日本 👩‍🔬"
