"""The house, beyond what ruff and import-linter check: what is imported when, and where it is told.

Which folder imports from which, and which packages wait until they are used, stands in
pyproject.toml.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dpasp"


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The modules that importing a file imports at once, each with a name taken from it, if any."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, "") for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((child.module or "", alias.name) for alias in child.names)
        elif not (
            isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
        ):
            yield from imports(child)


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
            for module, taken in imports(parsed(path)) if path.exists() else ():
                words = f"{module}.{taken}".removeprefix(f"{package}.").split(".")
                if words[0] in parts and module.startswith(package):
                    assert words[0] in order[: place + 1], f"{name} imports {words[0]}"


def test_the_page_on_architecture_names_every_part() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for folder in ("language", "ground", "semantics", "circuits", "inference", "program"):
        for path in sorted((SOURCE / folder).iterdir()):
            if path.suffix == ".py" or (path / "__init__.py").exists():
                name = path.name if path.suffix else f"{path.name}/"
                assert name == "__init__.py" or f"`{name}`" in page, f"{folder}/{name}"


def test_results_import_what_shows_them_when_they_are_shown() -> None:
    """What is below display imports it inside functions only."""
    above = {"__main__.py", "cli", "playground", "integrations", "editors", "display"}
    below = [p for p in modules() if p.relative_to(SOURCE).parts[0] not in above]
    early = [p for p in below if any("dpasp.display" in m for m, _ in imports(parsed(p)))]
    assert early == []


HEAVY = """
    IPython jax matplotlib mcp numpyro onnx onnxruntime pandas pydantic pygls pygments pygraphviz
    ray rich safetensors starlette torch transformers uvicorn
""".split()


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
    probe = f"import sys\n{code}\nprint(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", probe], input="0.3::a. #query a.", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


# What a plain run of a plain program has no use for.
UNUSED = """
    _hashlib asyncio bz2 csv difflib email fractions hashlib html http importlib.metadata json lzma
    multiprocessing random shutil socket statistics subprocess tempfile unittest uuid xml
    dpasp.circuits.export dpasp.circuits.join
    dpasp.circuits.worlds dpasp.converters dpasp.display.html
    dpasp.editors dpasp.inference.bounds.bounds dpasp.inference.intervals
    dpasp.inference.boxes dpasp.inference.together dpasp.inference.enumerate
    dpasp.inference.explain dpasp.inference.models dpasp.inference.map
    dpasp.inference.sampling dpasp.inference.sharing
    dpasp.integrations dpasp.language.formatting dpasp.language.diagnose
    dpasp.display.reasons dpasp.display.scene dpasp.learning dpasp.ground.narrow
    dpasp.playground dpasp.cluster.on_ray dpasp.cluster.processes
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
        and ("dataclasses", "dataclass") in imports(parsed(path))
    ]
    assert slow == []
