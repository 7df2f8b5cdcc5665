"""The house: imports go down the list of folders only, and heavy ones wait until needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dpasp"

# What may be imported by what: each row only from the rows above it (and from its own folder).
ROWS = [
    ["version"],
    ["dataclass"],
    ["shown"],
    ["errors"],
    ["writing"],
    ["limits"],
    ["pictures"],
    ["language"],
    ["logic"],
    ["scale"],
    ["semantics"],
    ["native"],
    ["circuits"],
    ["inference"],
    ["neural"],
    ["learning"],
    ["program"],
    ["converters"],
    ["__init__"],
    ["display"],
    ["editors"],
    ["integrations"],
    ["playground"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, row in enumerate(ROWS) for name in row}

# The same inside folders: parts of a folder, each importing only from the rows above it.
INSIDE = {
    "language": [
        ["collector"],
        ["text"],
        ["statements"],
        ["ast"],
        ["mistakes"],
        ["reader"],
        ["checks"],
        ["formatting"],
        ["observations"],
        ["arguments"],
        ["__init__"],
    ],
    "inference": [
        ["answers"],
        ["method"],
        ["asked"],
        ["travel"],
        ["engines"],
        ["sampling"],
        ["relaxing"],
        ["credal"],
        ["probable"],
        ["exact"],
        ["bounding"],
        ["explain", "models"],
        ["sharing"],
        ["answer"],
        ["__init__"],
    ],
    "logic": [
        ["bare", "packing", "supervise", "terms", "program"],
        ["child"],
        ["constants", "text", "shown", "shapes"],
        ["solve"],
        ["weights", "matching", "cheapest"],
        ["people"],
        ["markers"],
        ["dry_run"],
        ["origins"],
        ["edges", "messages", "neural", "python", "objects"],
        ["questions", "sums"],
        ["overflow"],
        ["encode", "demand"],
        ["clingo", "narrow"],
        ["assemble", "underived"],
        ["ground"],
        ["reading"],
        ["__init__"],
    ],
    "program": [
        ["grounding"],
        ["torch_side"],
        ["program"],
        ["learners"],
        ["loading"],
        ["__init__"],
    ],
}

# Where a module may import these when it is itself imported; elsewhere only inside functions.
HEAVY = {
    "torch": {"neural", "learning"},
    "rich": set[str](),
    "matplotlib": set[str](),
    "pandas": set[str](),
    "pygls": {"editors"},
    "pygments": {"editors"},
    "pygraphviz": set[str](),
    "IPython": set[str](),
    "starlette": {"playground"},
    "uvicorn": set[str](),
    "ray": set[str](),
    "safetensors": {"neural", "learning"},
}


# One name, one meaning. These stand in several modules because they are the same thing there:
# in the folders that are named, and nowhere else.
PARALLEL = {
    "execute": {"cli"},  # what a command does, once in the module of each
    "converted": {"converters"},  # another system's program as ours, once for each system
    "main": {"cli", "playground", "scale"},  # where a process begins
    # What users write: dpasp.parse and dpasp.Program. Those of language/ are of the text alone.
    "parse": {"language", "program"},
    "Program": {"language", "program"},
    # Parts of another system's language, as the same parts of ours are called.
    "Head": {"language", "converters"},
    "Literal": {"language", "converters"},
    "Number": {"language", "converters"},
    "Operation": {"language", "converters"},
    "Rule": {"logic", "converters"},
    "Statement": {"language", "converters"},
    "Token": {"language", "converters"},
    "tokens": {"language", "converters"},
    "Variable": {"language", "converters"},
}


class Import(NamedTuple):
    """A module, with a name taken from it (or none), and whether importing the file does it."""

    module: str
    name: str
    line: int
    at_once: bool


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    return _tree(path.read_text(encoding="utf-8"))


@cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def part(path: Path) -> str:
    """The folder (or the file at the top) that a module belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[Import]:
    yield from _walk(parsed(path), True)


def _walk(node: ast.AST, at_once: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(a.name, "", child.lineno, at_once) for a in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: write the whole name of the module"
            names = child.names
            yield from (Import(child.module or "", a.name, child.lineno, at_once) for a in names)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from _walk(child, False)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(child, at_once and not inside)


def target(found: Import) -> str | None:
    """The part of dpasp that an import reaches; None when it is not ours."""
    words = [*found.module.split("."), found.name]
    if words[0] != "dpasp":
        return None
    return words[1] if words[1] in RANK else "__init__"


def wrong_directions(path: Path) -> list[str]:
    here = part(path)
    return [
        f"{path.relative_to(SOURCE)}:{found.line}: {here} imports {there}"
        for found in imports(path)
        if (there := target(found)) is not None and there != here and not (RANK[there] < RANK[here])
    ]


def inner_directions(folder: str) -> list[str]:
    """The imports inside a folder that do not go up its rows."""
    rank = {name: row for row, names in enumerate(INSIDE[folder]) for name in names}
    wrong: list[str] = []
    for path in sorted((SOURCE / folder).rglob("*.py")):
        here = path.relative_to(SOURCE / folder).parts[0].removesuffix(".py")
        for found in imports(path):
            words = [*found.module.split("."), found.name]
            if words[:2] != ["dpasp", folder] or not found.at_once:
                continue
            there = words[2] if words[2] in rank else "__init__"
            if there != here and not rank[there] < rank[here]:
                wrong.append(f"{path.relative_to(SOURCE)}:{found.line}: {here} imports {there}")
    return wrong


@pytest.mark.parametrize("folder", INSIDE)
def test_folders_have_an_inner_order(folder: str) -> None:
    rows = {name for row in INSIDE[folder] for name in row}
    parts = {
        path.relative_to(SOURCE / folder).parts[0].removesuffix(".py")
        for path in (SOURCE / folder).rglob("*.py")
    }
    assert parts <= rows
    assert inner_directions(folder) == []


PACKAGES = [
    path.parent
    for folder in ("semantics", "circuits", "inference")
    for path in sorted((SOURCE / folder).rglob("__init__.py"))
]


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_package_says_in_which_order_to_read_it(folder: Path) -> None:
    """Its docstring names all its modules, each after those that it imports from."""
    package = ".".join(("dpasp", *folder.relative_to(SOURCE).parts))
    parts = {p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    text = ast.get_docstring(parsed(folder / "__init__.py")) or ""
    order = list(dict.fromkeys(name for name in re.findall(r"``(\w+)``", text) if name in parts))
    missing = parts - {"__init__"} - set(order)
    assert not missing, f"name them in the docstring of {package}: {missing}"
    for place, name in enumerate(order):
        for path in [folder / f"{name}.py", *(folder / name).rglob("*.py")]:
            for found in imports(path) if path.exists() else ():
                words = f"{found.module}.{found.name}".removeprefix(f"{package}.").split(".")
                if found.at_once and words[0] in parts and found.module.startswith(package):
                    assert words[0] in order[: place + 1], f"{name} imports {words[0]}"


@pytest.mark.parametrize(
    "folder", ["language", "logic", "semantics", "circuits", "inference", "program"]
)
def test_the_page_on_architecture_names_every_part(folder: str) -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in sorted((SOURCE / folder).iterdir()):
        if path.suffix == ".py" or (path / "__init__.py").exists():
            name = path.name if path.suffix else f"{path.name}/"
            assert name == "__init__.py" or f"`{name}`" in page, f"{folder}/{name}"


def test_every_part_has_its_row() -> None:
    assert {part(path) for path in modules()} <= set(RANK)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down_the_list(path: Path) -> None:
    assert wrong_directions(path) == []


def test_native_is_used_by_circuits_and_the_watchdog_only() -> None:
    users = {p for p in modules() for found in imports(p) if target(found) == "native"}
    others = {p for p in users if part(p) not in ("native", "circuits")}
    assert others == {SOURCE / "cli" / "watchdog.py"}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_imports_wait(path: Path) -> None:
    at_once = {found.module.split(".")[0] for found in imports(path) if found.at_once}
    assert {name for name, allowed in HEAVY.items() if part(path) not in allowed} & at_once == set()


def test_only_logic_uses_clingo_control() -> None:
    users = {
        part(path)
        for path in modules()
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) == "clingo.Control")
        or (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("clingo")
            and any(alias.name == "Control" for alias in node.names)
        )
    }
    assert users <= {"logic"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("from dpasp.cli import main", ["language/x.py:1: language imports cli"]),
        ("def f():\n    import dpasp.logic.ground", ["language/x.py:2: language imports logic"]),
        ("from dpasp import logic", ["language/x.py:1: language imports logic"]),
        ("from dpasp import loads", ["language/x.py:1: language imports __init__"]),
        ("from dpasp.errors import Span", []),
        ("import clingo", []),
    ],
)
def test_the_walk_sees_what_it_should(
    text: str, complaint: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    path = tmp_path / "language" / "x.py"
    path.parent.mkdir()
    path.write_text(text)
    assert wrong_directions(path) == complaint


@pytest.mark.parametrize(
    "code",
    [
        "import dpasp",
        "import dpasp; dpasp.loads('0.3::a. #query a.').query().to_json()",
        "from dpasp.cli import main; main(['check', '-'])",
        "from dpasp.cli import main; assert main(['run', '-']) == 0",
    ],
)
def test_plain_work_imports_nothing_heavy(code: str) -> None:
    probe = f"import sys\n{code}\nprint(sorted({set(HEAVY)!r} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", probe], input="0.3::a. #query a.", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


# What a plain run of a plain program has no use for.
UNUSED = """
    _hashlib asyncio bz2 csv difflib email fractions hashlib html http importlib.metadata json lzma
    multiprocessing random shutil socket statistics subprocess tempfile unittest uuid xml
    dpasp.circuits.export dpasp.circuits.fold dpasp.circuits.planning dpasp.circuits.shares
    dpasp.circuits.worlds dpasp.converters dpasp.display.explain dpasp.display.html
    dpasp.editors dpasp.inference.bounding.bounds dpasp.inference.credal.many
    dpasp.inference.credal.search dpasp.inference.engines.in_numbers
    dpasp.inference.engines.reference.enumerate dpasp.inference.engines.together
    dpasp.inference.explain dpasp.inference.models dpasp.inference.probable
    dpasp.inference.relaxing dpasp.inference.sampling dpasp.inference.sharing
    dpasp.integrations dpasp.language.formatting
    dpasp.language.mistakes.diagnose dpasp.learning dpasp.logic.narrow dpasp.neural dpasp.pictures
    dpasp.playground dpasp.scale.on_ray dpasp.scale.processes
""".split()
PLAIN = """
0.1::burglary. 0.2::earthquake.
alarm :- burglary.
0.7::alarm :- earthquake.
sleeps :- alarm, not hears.  hears :- alarm, not sleeps.
#query burglary | alarm.  #query sleeps.
"""


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that a plain run of a plain program imports."""
    probe = "from dpasp.cli import main; main(['run', '-']); import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", probe], input=PLAIN, capture_output=True, text=True, check=True
    )
    answers, modules = done.stdout.rsplit("\n", 2)[:2]
    assert answers.count("=") == 2
    return set(modules.split())


def test_a_plain_run_imports_what_it_uses(imported: set[str]) -> None:
    """Half of a short run is importing, so what is used rarely is imported when it is used."""
    names = {str(path.relative_to(SOURCE.parent).with_suffix("")) for path in modules()}
    known = {name.replace("/", ".").removesuffix(".__init__") for name in names}
    for name in UNUSED:
        assert not name.startswith("dpasp.") or name in known, f"there is no {name}"
    assert sorted(imported & set(UNUSED)) == []


def test_what_a_plain_run_imports_is_made_by_our_dataclass(imported: set[str]) -> None:
    """Python's compiles every method of every class: that was a third of a short run."""
    slow = [
        path.relative_to(SOURCE).as_posix()
        for path in modules()
        if path.name != "dataclass.py"
        and ".".join(("dpasp", *path.relative_to(SOURCE).with_suffix("").parts)) in imported
        and any(found[:2] == ("dataclasses", "dataclass") for found in imports(path))
    ]
    assert slow == []


MOST_PARAMETERS = 6


def many_parameters(path: Path) -> list[str]:
    """The functions with more than six parameters that no comment above explains."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        names = [argument.arg for argument in every if argument.arg not in ("self", "cls")]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        explained = "more than six parameters" in lines[first - 2].lower()
        if len(names) > MOST_PARAMETERS and not explained:
            found.append(f"{path.name}:{node.lineno}: {node.name}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_functions_have_few_parameters(path: Path) -> None:
    """What travels together is a value."""
    assert many_parameters(path) == []


def test_a_comment_may_explain_many_parameters(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("def f(a, b, c, d, e, f, g): ...\n")
    assert many_parameters(path) == ["x.py:1: f"]
    path.write_text("# More than six parameters: a test.\ndef f(a, b, c, d, e, f, g): ...\n")
    assert many_parameters(path) == []


def names(path: Path) -> tuple[list[str], list[str]]:
    """The public functions and types that a module defines, and its constants."""
    defined: list[str] = []
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and "TypeVar(" not in ast.unparse(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined += (target.id for target in targets if isinstance(target, ast.Name))
    public = dict.fromkeys(name for name in defined if not name.startswith("_"))
    return [n for n in public if not n.isupper()], [n for n in public if n.isupper()]


def ambiguous() -> dict[str, list[str]]:
    """The names that several modules define, with these modules, but for the parallel ones.

    A constant counts where other modules import it; else it is its own module's business.
    """
    places: dict[str, list[Path]] = {}
    imported = {
        (found.module, found.name)
        for path in modules()
        for found in imports(path)
        if found.module.startswith("dpasp")
    }
    for path in modules():
        words = ("dpasp", *path.relative_to(SOURCE).with_suffix("").parts)
        module = ".".join(words).removesuffix(".__init__")
        types, constants = names(path)
        for name in (*types, *(c for c in constants if (module, c) in imported)):
            places.setdefault(name, []).append(path)
    return {
        name: [str(path.relative_to(SOURCE)) for path in paths]
        for name, paths in places.items()
        if len(paths) > 1 and not {part(path) for path in paths} <= PARALLEL.get(name, set())
    }


def test_a_name_means_one_thing() -> None:
    """Whoever reads a name need not ask which of two it is."""
    assert ambiguous() == {}


def test_a_second_meaning_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    for folder, text in (
        ("cli", "class Job: ...\ndef execute(): ...\nMOST = 1\n"),
        ("scale", "Job = int\ndef execute(): ...\nMOST = 2\n"),
        ("logic", "from dpasp.cli.x import MOST\nfrom dpasp.scale.x import MOST\n"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text(text)
    both = ["cli/x.py", "scale/x.py"]
    assert ambiguous() == {"Job": both, "execute": both, "MOST": both}
    (tmp_path / "logic" / "x.py").write_text("")
    assert ambiguous() == {"Job": both, "execute": both}
