"""Reports: one self-contained page with the program, its answers and their reasons."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from dpasp.display.charts import decision_picture, learning_curve
from dpasp.display.html import answers_html, page, reasons_html, source_html
from dpasp.display.scene import Picture
from dpasp.errors import Error
from dpasp.inference.answers import Answers, Decision, decimal_text
from dpasp.limits import Limits
from dpasp.version import __version__
from dpasp.writing import counted, markup

if TYPE_CHECKING:
    from dpasp.program import Program

NO_LIMITS = Limits()
PACKAGES = ("clingo", "numpy", "torch")
MOST_EXPLAINED = 8  # queries
LEFT_OUT = '<p class="faint">A limit left no time, or no memory, for reasons.</p>'
MOST_SECONDS = 30.0  # seconds for everything besides the answers; less if a limit leaves less
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif;
  max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem;
  color: light-dark(#1c2230, #e6e9f0); background: light-dark(#fff, #14171f); }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-bottom: .3rem;
  border-bottom: 1px solid light-dark(#dfe3ea, #2b3140); }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
code, pre { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
summary { cursor: pointer; margin: .5rem 0; }
pre { padding: 1rem; border-radius: 10px; overflow-x: auto;
  background: light-dark(#f6f7f9, #1b202a); }
.faint { color: light-dark(#5a6375, #a0a8ba); }
.picture { overflow-x: auto; }
svg { max-width: 100%; height: auto; border-radius: 10px; }
table { font-variant-numeric: tabular-nums; }
@media print { body { max-width: none; } }
"""


def report(
    program: Program,
    answers: Answers,
    command: str = "",
    limits: Limits = NO_LIMITS,
    *,
    reasons: bool = True,
) -> str:
    """The page; what cannot be computed within the limits is left out with a note.

    Without ``reasons``, nothing is computed for the page.
    """
    limits = _for_reasons(limits)
    files = answers.files or program.source.files
    named = [Path(file).name for file in files if not file.startswith("<")]
    name = ", ".join(named) or "a program"
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts = [
        f'<h1>{markup(name)}</h1><p class="faint">{when}</p>',
        _section("Answers", answers_html(answers)),
        _section("Learning", "".join(_learning(answers))),
        *(_computed(program, answers, limits) if reasons else [_section("Why", LEFT_OUT)]),
        _section("Program", "".join(_sources(answers.files, program))),
        _section("How this was made", _made(command, answers)),
    ]
    return page(name, "\n".join(part for part in parts if part), STYLE)


def _decided(answers: Answers, limits: Limits) -> Iterator[str]:
    """The reasons for decisions: alternatives, what utilities add, the value of knowledge."""
    watch = limits.start()
    for decision in answers:
        if isinstance(decision, Decision) and decision.why is not None:
            decision = replace(decision, why=decision.why.within(watch))
            shown = "".join(map(reasons_html, decision.why.tables()))
            yield f"<h3>{markup(decision.name)}</h3>{_picture(decision_picture(decision))}{shown}"


def _computed(program: Program, answers: Answers, limits: Limits) -> Iterator[str]:
    yield _section("Decisions", _joined(_decided(answers, limits)))
    yield _section("Why", _joined(_reasons(program, answers, limits)))
    yield _section("Without a model", _joined(_inconsistent(program, answers, limits)))
    yield _section("What depends on what", _joined(_graph(program, limits)))


def _joined(pieces: Iterator[str]) -> str:
    """The pieces that can be computed, and a note on what stopped the others."""
    found: list[str] = []
    try:
        found.extend(pieces)
    except Error as error:
        found.append(f'<p class="faint">{markup(error.diagnostics[0].message)}</p>')
    return "".join(found)


def _picture(picture: Picture) -> str:
    return f'<div class="picture">{picture.svg}</div>'


def _for_reasons(limits: Limits) -> Limits:
    """Limits for everything computed for the page."""
    watch = limits.start()
    left = watch.remaining()
    if left is not None and left < MOST_SECONDS:
        return replace(limits, since=watch.started)
    return replace(limits, seconds=MOST_SECONDS, since=watch.started + watch.elapsed())


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>\n{body}" if body else ""


def _learning(answers: Answers) -> Iterator[str]:
    if answers.history:
        yield _picture(learning_curve(answers.history))
    for parameter in answers.learned:
        values = ", ".join(decimal_text(float(value)) for value in parameter.get("values", ()))
        yield f"<p><code>{markup(str(parameter.get('rule', '')))}</code> {values}</p>"


def _reasons(program: Program, answers: Answers, limits: Limits) -> Iterator[str]:
    asked = (answer.query for answer in answers if answer.kind == "probability")
    queries = [query for query in asked if "| do(" not in query]  # these have no reasons
    meaning = f"{answers.logic}, {answers.probability}"
    for query in queries[:MOST_EXPLAINED]:
        (explanation,) = program.explain(query, semantics=meaning, limits=limits)
        opened = " open" if query == queries[0] else ""
        title = f"<summary><code>ℙ({markup(query)})</code></summary>"
        yield f"<details{opened}>{title}{explanation._repr_html_()}</details>"
    if len(queries) > MOST_EXPLAINED:
        more = counted(len(queries) - MOST_EXPLAINED, "more answer")
        yield f'<p class="faint">and {more}</p>'


def _inconsistent(program: Program, answers: Answers, limits: Limits) -> Iterator[str]:
    if answers.inconsistent:
        meaning = f"{answers.logic}, {answers.probability}"
        yield program.why_inconsistent(semantics=meaning, limits=limits)._repr_html_()


def _graph(program: Program, limits: Limits) -> Iterator[str]:
    yield _picture(program.plot(limits=limits))


def _sources(files: Iterable[str], program: Program) -> Iterator[str]:
    for file in dict.fromkeys((*files, *program.source.files)):
        text = program.source.sources.get(file)
        if text:
            yield f"<h3>{markup(file)}</h3>{source_html(text.rstrip())}"


def _made(command: str, answers: Answers) -> str:
    versions = [f"dPASP {__version__}", f"Python {platform.python_version()}"]
    for name in PACKAGES:
        if name in sys.modules:
            try:
                versions.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                continue
    seconds = answers.statistics.get("seconds", {})
    took = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
    again = f"<pre>{markup(command)}</pre>" if command else ""
    return f'{again}<p class="faint">{markup(" · ".join(versions))}</p><p class="faint">{took}</p>'
