"""``dpasp convert`` and ``format``: rewrite programs, keeping their meaning and comments."""

from __future__ import annotations

from argparse import Namespace
from difflib import unified_diff
from pathlib import Path

from dpasp.cli.commands import command
from dpasp.cli.console import STANDARD_INPUT, Console
from dpasp.cli.options import LIMITS, OUTPUT, Flag, OptionGroup
from dpasp.cli.reading import read_limits, read_text
from dpasp.converters import DIALECTS, dialect_of
from dpasp.errors import Diagnostic, Error, cannot_write
from dpasp.language.formatting import formatted
from dpasp.writing import check_written, write_text

_KINDS = "; ".join(f"{dialect.name}: {dialect.summary}" for dialect in DIALECTS.values())


@command(
    Flag(("file",), "the program; - is standard input", "FILE"),
    Flag(("examples",), "for ProbLog: examples to learn from (.ev)", "EXAMPLES", count="*"),
    Flag(
        ("--from",),
        f"the system it is for, if the file's ending does not say it ({_KINDS})",
        choices=tuple(DIALECTS),
        dest="dialect",
    ),
    Flag(("-o", "--output"), "write the translation to this file", "OUT"),
    OptionGroup(
        "ProbLog",
        (
            Flag(
                ("--ground",),
                "let ProbLog ground the program for its queries and evidence, or never (default: "
                "if it cannot be translated rule by rule)",
                negatable=True,
            ),
            Flag(("--python",), "let ProbLog run the Python files that the program loads"),
        ),
    ),
    OptionGroup(
        "evidence",
        (
            Flag(
                ("--evidence",),
                "the evidence of a UAI network (default: the file next to it that ends in .evid), "
                "or the .db file of a Markov logic network",
                "FILE.evid",
            ),
        ),
    ),
    LIMITS,
    OUTPUT,
)
def convert(options: Namespace, console: Console) -> int:
    """Translate another system's program, with its comments.

    If something cannot be translated, the error names its line and nothing is written. The program
    is not run, with two exceptions: rules whose grounding may never end are tried for a few
    seconds, and ProbLog follows the directives of a program that it grounds.

    examples:
        dpasp convert smokers.pl --from problog
        dpasp convert lists.pl --from problog --ground
        dpasp convert model.pl examples.ev --from problog -o model.plp
        dpasp convert alarm.bif -o alarm.plp           the ending says --from bif
        dpasp convert grid.uai --from uai --evidence grid.uai.evid
    """
    check_written([options.output], (options.file, *options.examples, options.evidence))
    dialect = options.dialect or dialect_of(options.file)
    file, text = read_text(options.file, console)
    console.texts[file] = text
    examples = [read_text(example, console) for example in options.examples]
    program = DIALECTS[dialect].converted(
        text,
        file,
        ground=options.ground,
        python=options.python,
        limits=read_limits(options),
        examples=[(read, name) for name, read in examples],
        evidence=options.evidence,
    )
    if options.output is not None:
        write_text(options.output, program)
    if console.json:
        console.answer_json({"file": file, "from": dialect, "program": program})
    elif options.output is None:
        console.answer(program, exact=True)
    elif not console.quiet:
        console.note(f"wrote {options.output}")
    return 0


@command(
    Flag(("files",), "a program (.plp); - reads standard input and prints", "FILE", count="+"),
    OptionGroup(
        "instead of writing",
        (
            Flag(("--check",), "only list the files that would change (exit 1 if any would)"),
            Flag(("--diff",), "show what would change (exit 1 if anything would)"),
        ),
    ),
    LIMITS,
    OptionGroup(
        "output",
        (
            Flag(("-q", "--quiet"), "print nothing about what was done"),
            Flag(("-v", "--verbose"), "also list the files that need no change"),
        ),
    ),
)
def format_files(options: Namespace, console: Console) -> int:
    """Format programs: spaces, line breaks, alignment.

    The program, its comments and its Python stay the same. Files are rewritten in place; with -,
    the result is printed.

    examples:
        dpasp format alarm.plp
        dpasp format --check *.plp     exit with 1 if a file would change, and change none
        dpasp format --diff alarm.plp  show what would change, and change nothing
        cat alarm.plp | dpasp format -
    """
    problems: list[Diagnostic] = []
    code, changed = 0, False
    for file in options.files:
        try:
            changed |= _format(file, options, console)
        except Error as error:
            problems += error.diagnostics
            code = max(code, error.exit_code)
    if problems:
        console.report(problems)
        return code
    return int(changed and (options.check or options.diff))


def _format(file: str, options: Namespace, console: Console) -> bool:
    """Format one file; return whether it was, or would be, changed."""
    name, text = read_text(file, console)
    result = formatted(text, name)
    changed = result != text
    if options.diff:
        _show(name, text, result, console)
    if file == "-" and not (options.check or options.diff):
        if result:
            console.answer(result, exact=True)
        return changed
    if changed and not (options.check or options.diff):
        _write(Path(file), result)
    if not console.quiet and (changed or console.verbose):
        verb = "would be formatted" if options.check or options.diff else "formatted"
        console.note(f"{name}: {verb if changed else 'stays as it is'}")
    return changed


def _show(name: str, old: str, new: str, console: Console) -> None:
    label = "stdin" if name == STANDARD_INPUT else name
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), label, f"{label} (formatted)"
    )
    end = "\n\\ No newline at end of file\n"
    shown = "".join(line if line.endswith("\n") else line + end for line in lines)
    if shown:
        console.answer(shown)


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, keeping its line ends and permissions."""
    try:
        if b"\r\n" in path.read_bytes():
            text = text.replace("\n", "\r\n")
        target = path.resolve()  # follow a link to its target
        write_text(target, text, newline="")
    except OSError as error:
        raise cannot_write(path, error) from error
