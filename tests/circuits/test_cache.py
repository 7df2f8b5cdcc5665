"""Circuits on disk."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpasp
from dpasp.circuits import Cache, Options, compile
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.circuits.programs import STABLE

from .test_circuit import some_program


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "deep" / "down", worth=0.0)


def files(cache: Cache) -> list[Path]:
    return sorted(cache.folder.iterdir())


def test_found_again(cache: Cache) -> None:
    ground, _ = some_program(1)
    first = compile(ground, STABLE, cache=cache)
    stored = files(cache)
    assert len(stored) == 1
    again = compile(ground, STABLE, cache=cache)
    assert again.to_bytes() == first.to_bytes()  # the seconds of the first run included
    assert files(cache) == stored
    assert (first.cached, again.cached) == (False, True)


def test_other_questions_other_files(cache: Cache) -> None:
    ground, _ = some_program(1)
    compile(ground, STABLE, cache=cache)
    compile(ground, Meaning(Logic.STABLE, Probability.CREDAL), cache=cache)
    fewer = replace(ground, questions=ground.questions[:1])
    compile(fewer, STABLE, cache=cache)
    compile(
        ground,
        STABLE,
        options=Options(way="tables"),
        cache=cache,
    )
    assert len(files(cache)) == 4


def test_damaged_files_are_compiled_again(cache: Cache) -> None:
    ground, circuit = some_program(2)
    weights = leaves.weights(ground)
    compile(ground, STABLE, cache=cache)
    (path,) = files(cache)
    whole = path.read_bytes()
    for damage in (b"", whole[:-3], whole[:40] + b"x" + whole[41:], b"\0" * len(whole)):
        path.write_bytes(damage)
        found = compile(ground, STABLE, cache=cache)
        np.testing.assert_array_equal(found.masses(weights), circuit.masses(weights))
        assert len(path.read_bytes()) == pytest.approx(len(whole), abs=100)


def test_a_file_of_another_program_is_not_taken(cache: Cache) -> None:
    one, _ = some_program(3)
    other, circuit = some_program(4)
    compile(one, STABLE, cache=cache)
    (path,) = files(cache)
    compile(other, STABLE, cache=cache)
    (second,) = set(files(cache)) - {path}
    second.write_bytes(path.read_bytes())
    weights = leaves.weights(other)
    found = compile(other, STABLE, cache=cache)
    np.testing.assert_array_equal(found.masses(weights), circuit.masses(weights))


def test_the_oldest_go_first(cache: Cache) -> None:
    ground, _ = some_program(5)
    compile(ground, STABLE, cache=cache)
    (oldest,) = files(cache)
    past = time.time() - 1000
    os.utime(oldest, (past, past))
    size = oldest.stat().st_size / 2**20
    small = replace(cache, megabytes=4.5 * size)
    for way in ("diagram", "tables", "elimination"):
        for probability in Probability:
            options = Options(way=way)
            compile(ground, Meaning(Logic.STABLE, probability), options=options, cache=small)
    left = files(cache)
    assert oldest not in left
    assert sum(path.stat().st_size for path in left) <= 4.5 * size * 2**20


def test_quick_circuits_are_not_kept(tmp_path: Path) -> None:
    ground, _ = some_program(6)
    cache = Cache(tmp_path / "none", worth=100.0)
    compile(ground, STABLE, cache=cache)
    assert not cache.folder.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ground, _ = some_program(7)
    compile(ground, STABLE, cache=Cache(tmp_path / "file", worth=0.0))


def test_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert Cache.default().folder == Path("/somewhere/dpasp")


def test_the_folder_is_the_user_s_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new" / "dpasp", worth=0.0)
    circuit = dpasp.loads("0.3::a. #query a.").circuit()
    cache.put("key", circuit)
    (file,) = cache.folder.iterdir()
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    cache.folder.chmod(0o777)  # an older version made it open to others
    assert cache.get("key") is not None
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "dpasp", worth=0.0)
    circuit = dpasp.loads("0.3::a. #query a.").circuit()
    cache.put("key", circuit)
    monkeypatch.setattr("dpasp.circuits.cache.os.getuid", lambda: 12345)
    assert cache.get("key") is None
    cache.put("other", circuit)
    assert len(list(cache.folder.iterdir())) == 1


def test_a_link_in_the_place_of_a_circuit_is_replaced_not_followed(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "dpasp", worth=0.0)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    cache.folder.mkdir()
    (cache.folder / "key.circuit").symlink_to(victim)
    cache.put("key", dpasp.loads("0.3::a. #query a.").circuit())
    assert victim.read_text() == "precious"
    assert cache.get("key") is not None
