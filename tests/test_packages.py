"""What is written about the package in several files is the same everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpasp.version import __version__

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
VARIANTS = yaml.safe_load((ROOT / "conda" / "variants.yaml").read_text(encoding="utf-8"))
WORKFLOWS = ROOT / ".github" / "workflows"
CLASSIFIER = "Programming Language :: Python :: 3."
PYTHONS = [
    classifier.removeprefix(CLASSIFIER.removesuffix("3."))
    for classifier in PYPROJECT["project"]["classifiers"]
    if classifier.startswith(CLASSIFIER)
]


def test_one_version() -> None:
    assert CITATION["version"] == __version__
    assert RECIPE["context"]["version"] == __version__


def test_one_description() -> None:
    assert CITATION["title"] == ZENODO["title"]
    assert CITATION["title"].lower() == f"dpasp: {PYPROJECT['project']['description']}".lower()
    assert CITATION["keywords"] == ZENODO["keywords"]
    assert ZENODO["description"] == f"<p>{CITATION['abstract']}</p>"
    authors = [author["name"] for author in CITATION["authors"]]
    assert authors == [author["name"] for author in ZENODO["creators"]]
    assert authors == [author["name"] for author in PYPROJECT["project"]["authors"]]


def test_one_licence_and_one_home() -> None:
    project = PYPROJECT["project"]
    licences = {project["license"], CITATION["license"], ZENODO["license"]}
    assert licences == {RECIPE["about"]["license"]}
    assert (ROOT / RECIPE["about"]["license_file"]).is_file()
    assert project["urls"]["Homepage"] == CITATION["url"] == RECIPE["about"]["homepage"]
    paper = project["urls"]["Paper"]
    assert CITATION["preferred-citation"]["url"] == paper
    identifiers = [one["identifier"] for one in ZENODO["related_identifiers"]]
    assert identifiers == [f"arXiv:{paper.rpartition('/')[2]}"]


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    needed = {
        re.sub(r"\s", "", requirement.partition(";")[0])
        for requirement in PYPROJECT["project"]["dependencies"]
    }
    assert {one.replace(" ", "") for one in _flat(RECIPE["requirements"]["run"])} == {
        "python",
        *needed,
    }
    host = {one.replace(" ", "") for one in _flat(RECIPE["requirements"]["host"])}
    assert host == {"python", "pip", *PYPROJECT["build-system"]["requires"]}


def _flat(requirements: list[Any]) -> list[str]:
    """The requirements of a recipe, those under a condition included."""
    found: list[str] = []
    for one in requirements:
        then = one["then"] if isinstance(one, dict) else one
        found += [then] if isinstance(then, str) else _flat(then)
    return found


def test_every_python_is_built_and_tested() -> None:
    built = PYPROJECT["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp{python.replace('.', '')}-*" for python in PYTHONS]
    assert [python.partition(".*")[0] for python in VARIANTS["python"]] == PYTHONS
    jobs = yaml.safe_load((WORKFLOWS / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == PYTHONS
    assert PYPROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"


def test_every_extra_is_a_line_in_the_documentation() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    extras = PYPROJECT["project"]["optional-dependencies"]
    assert set(extras) <= set(listed)
    assert all(listed.count(extra) == 1 for extra in extras)


def test_every_native_source_is_compiled() -> None:
    units = re.search(r"set\(units\n(.*?)\)", (ROOT / "CMakeLists.txt").read_text(), re.S)
    assert units
    sources = {path.stem for path in (ROOT / "src" / "dpasp" / "native").glob("*.cpp")}
    assert set(units[1].split()) == sources


@pytest.mark.parametrize("file", sorted(WORKFLOWS.glob("*.yml")), ids=lambda file: file.stem)
def test_workflows_name_files_that_are_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for name in re.findall(r"(?:tests|conda)/\w+\.(?:py|yaml)", text):
        assert (ROOT / name).is_file(), name
    jobs = yaml.safe_load(text)["jobs"].values()
    listed = [job.get("strategy", {}).get("matrix", {}).get("target", []) for job in jobs]
    for target in [
        *re.findall(r"\bmake ([\w-]+)", text),
        *(one for each in listed for one in each),
    ]:
        assert f"\n{target}:" in (ROOT / "Makefile").read_text(), target


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64", "win-64"])
def test_rattler_build_accepts_the_recipe(platform: str) -> None:
    build = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    place = build.PlatformConfig(
        target_platform=platform, build_platform=platform, host_platform=platform
    )
    variants = build.VariantConfig.from_file_with_context(
        ROOT / "conda" / "variants.yaml", build.JinjaConfig(platform=place)
    )
    recipe = build.Stage0Recipe.from_file(ROOT / "conda" / "recipe.yaml")
    rendered = recipe.render(variants, build.RenderConfig(platform=place))
    assert [one.variant["python"].partition(".*")[0] for one in rendered] == PYTHONS
    for one in rendered:
        run = one.recipe.to_dict()["requirements"]["run"]
        assert ("psutil >=5.9" in run) == (not platform.startswith("linux"))
