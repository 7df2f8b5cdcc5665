"""Fuzzing that is led by coverage (atheris): inputs that reach new lines are kept and changed.

    python -m tests.stress.guided WHAT FOLDER [options of libFuzzer]        (make guided)

WHAT is ``reader`` (texts of programs), ``circuits`` (bytes of compiled circuits), ``tables``
(data files: CSV and .npy) or ``parameters`` (files of learned parameters). Inputs that are worth
keeping are put into FOLDER. Only :class:`dpasp.Error` may come out of any of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["dpasp"]):
    import dpasp
    from dpasp.circuits import Circuit
    from dpasp.language.arguments import examples
    from tests.language import fuzz
    from tests.language.seeds import seeds

PROGRAM = "?::a. ?::b. c :- a, not b. #semantics maxent. #query c."
FILE = Path(tempfile.gettempdir()) / f"guided-{os.getpid()}"


def read(data: bytes) -> None:
    """A text is read and checked, or refused with errors that have a place in it."""
    text = data.decode("utf-8", errors="replace")
    if len(text) > 4000:
        return
    wrong = fuzz.examine(text)
    assert wrong is None, wrong


def circuits(data: bytes) -> None:
    """Bytes of a circuit are read, or refused."""
    try:
        Circuit.from_bytes(data)
    except dpasp.Error:
        return


def tables(data: bytes) -> None:
    """A data file is read, or refused."""
    path = FILE.with_suffix(".npy" if data[:1] == b"\x93" else ".csv")
    path.write_bytes(data)
    try:
        examples(path)
    except dpasp.Error:
        return


def parameters(data: bytes) -> None:
    """A file of parameters is read, or refused."""
    path = FILE.with_suffix(".safetensors")
    path.write_bytes(data)
    try:
        dpasp.loads(PROGRAM).restore(path)
    except dpasp.Error:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": read,
    "circuits": circuits,
    "tables": tables,
    "parameters": parameters,
}


def first_inputs(what: str) -> Iterator[bytes]:
    """What fuzzing starts from."""
    match what:
        case "reader":
            yield from (text.encode(errors="replace") for text in seeds())
        case "circuits":
            yield dpasp.loads("0.3::a. 0.4::b. c :- a, b. #query c.").circuit().to_bytes()
        case "tables":
            yield b"a,b\n1,0\n,true\nundef,1\n"
        case "parameters":
            program = dpasp.loads(PROGRAM)
            program.learn([{"c": True}, {"c": False}], niters=1)
            program.save(FILE.with_suffix(".safetensors"))
            yield FILE.with_suffix(".safetensors").read_bytes()


def main(what: str, folder: str, *options: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(first_inputs(what)):
        Path(folder, f"first-{number}").write_bytes(data)
    atheris.Setup([sys.argv[0], *options, folder], TARGETS[what])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
