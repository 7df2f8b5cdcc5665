"""The child process of a page: requests come in as lines of JSON, replies go out the same way.

It is started as ``python -m dpasp.playground.worker SECONDS MEGABYTES``, with ``learn`` behind it
for one that learns, which needs torch and takes longer to start. Once everything that it
needs has been imported it opens no files, reaches no network and starts no processes, and its
memory is limited: by the operating system, where it can, and by a hook of Python's that refuses.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any, TextIO

from dpasp.limits import Limits, memory_in_use
from dpasp.limits.work import end_with_parent, exit_at_once, left_behind
from dpasp.playground.tasks import Desk

# All that answers come from; what its modules import when they are first used is here, too.
PACKAGES = ("circuits", "ground", "inference", "language", "program", "semantics")
ELSEWHERE = ("dpasp.circuits.functions", "dpasp.circuits.gpu")  # what imports JAX and torch
LATER = (
    *("csv", "difflib", "encodings.utf_32_le", "fractions", "hashlib", "html", "json"),
    *("numpy.random", "random", "secrets", "subprocess"),
)
# A program that goes through everything once, so that nothing is left to be imported.
WARM = """0.4::a. [0.2, 0.3]::b; [0.7, 0.8]::c. p :- a, not q. q :- a, not p. r :- #sum{1: p} >= 1.
:- b, q. d; e :- b. d :- e. e :- d. #query p | a. #map p?. #query undef p.\n"""
# Each learning rule once, and what needs more than the usual.
LEARNING = (
    *(f'alg = "{rule}"' for rule in ("fixpoint", "lagrange", "neurasp", "gradient")),
    *(f'likelihood = "{kind}"' for kind in ("sampled", "bound")),
    "imprecise = 2",
)
MEMORY = "/proc/self/statm"  # the one file that may be read: how much memory is in use
REFUSED = tuple("open os. subprocess. socket. shutil. ctypes. pty. tempfile. winreg.".split())
HEADROOM = 1.5  # of the memory limit, before the operating system refuses more
RESERVED = 2**30  # bytes of address space that the libraries take for themselves


def main(seconds: float, megabytes: float, *, learns: bool = False) -> int:
    """Answer requests until there are no more."""
    desk = Desk(Limits(seconds, megabytes, ends_process=True))
    warm_up(desk)
    if learns and find_spec("torch") is not None:  # otherwise the request says what to install
        for how in LEARNING:
            text = f'0.5?::a. 0.5?::b :- a. #learn "t.csv", niters = 2, {how}.'
            desk.do({"task": "learn", "text": text, "table": "a,b\n1,1\n0,0\n1,0\n"})
    exit_at_once()  # grounding that goes on after its time must not keep a worker from ending
    close_doors(megabytes)
    begun = memory_in_use()
    serve(desk, sys.stdin, sys.stdout, begun + (megabytes - begun) / 2)
    return 0


def warm_up(desk: Desk) -> None:
    """Import everything, and use it once, errors included."""
    import_all()
    for semantics in ("stable, credal", "lstable, maxent"):
        text = WARM if "maxent" not in semantics else "0.4::a. p :- a, not p. #query undef p."
        request = {"text": text, "semantics": semantics, "query": "p | a"}
        for task in ("check", "answer", "why", "graph", "models"):
            desk.do({**request, "task": task})
    moving = {"text": "0.4::a. [0.1, 0.2]::b. c :- a, b. #query c."}
    desk.do({**moving, "task": "sliders"})
    desk.do({**moving, "task": "slide", "moved": {}, "semantics": ["stable, credal"]})
    desk.do({"task": "why", "text": "0.4::a. #query a.", "query": "a", "semantics": "maxent"})
    deciding = "0.4::a. #decision {d}. b :- a, not d. #utility 2 : not b. #utility -1 : d."
    for semantics in ("maxent", "credal"):
        more = {"semantics": semantics, "knowing": True, "picture": True}
        desk.do({"task": "decide", "text": deciding, **more})
    desk.do({"task": "decide", "text": deciding, "semantics": "credal", "criterion": "maximality"})
    desk.do({"task": "check", "text": '1.5::a. b(X) :- not c(X). #qery "'})


def import_all() -> None:
    """Import all that an answer may need: once the doors are closed, nothing can be."""
    for name in (*LATER, *(f"dpasp.{package}" for package in PACKAGES)):
        module = import_module(name)
        if name.startswith("dpasp."):
            for inner in walk_packages(module.__path__, f"{name}."):
                if not inner.name.startswith(ELSEWHERE):
                    import_module(inner.name)


def serve(desk: Desk, requests: TextIO, replies: TextIO, large: float) -> None:
    """Answer each line with a line, after lines that tell how far the work is.

    A reply is marked as the ``last`` if grounding goes on although it was stopped, and if the
    process has grown ``large`` (megabytes): memory is hardly ever given back, and later programs
    would lack it.
    """

    def write(record: dict[str, Any]) -> None:
        replies.write(json.dumps(record) + "\n")
        replies.flush()

    write({"ready": True})
    desk.tell = lambda progress: write({"progress": progress})
    for line in requests:
        try:
            reply = desk.do(json.loads(line))
        except Exception as error:  # a bug of our own: report it to the page, which continues
            reply = {"bug": f"{type(error).__name__}: {error}"}
        if left_behind() or memory_in_use() > large:
            reply["last"] = True
        write(reply)


class Forbidden(PermissionError):
    """Something that a worker may not do."""


def close_doors(megabytes: float) -> None:
    """Let this process do nothing but compute from now on."""
    _limit(megabytes)
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith(REFUSED) and (event, *arguments[:1]) != ("open", MEMORY):
        raise Forbidden(f"this is not possible in the playground ({event})")


def _limit(megabytes: float) -> None:
    """Set the limits that the operating system has."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    open_files = [2]
    with suppress(OSError):
        open_files += map(int, os.listdir("/proc/self/fd"))
    files = max(open_files) + 2
    room = int(megabytes * 2**20 * HEADROOM) + RESERVED
    for kind, most in (
        ("RLIMIT_NOFILE", files),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_AS", room),
    ):
        # on another system, or where a lower limit is set already, there is nothing to do
        with suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, kind), (most, most))


if __name__ == "__main__":
    end_with_parent(1.0)
    sys.exit(main(float(sys.argv[1]), float(sys.argv[2]), learns="learn" in sys.argv[3:]))
