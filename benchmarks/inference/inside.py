"""CPU seconds of one program inside a process that has already started.

    python -m benchmarks.inference.inside FILE SEMANTICS [ENGINE]

Start-up is everything up to the answer of a first, tiny program. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import dpasp


def main(file: str, semantics: str, engine: str = "auto") -> None:
    """Answer the program in a file and print what it took."""
    dpasp.loads("0.5::a. #query a.").query(semantics=semantics, engine=engine)
    text = Path(file).read_text(encoding="utf-8")
    started = time.process_time()
    answers = dpasp.loads(text).query(semantics=semantics, engine=engine)
    seconds = time.process_time() - started
    nodes = answers.statistics.get("circuit_nodes")
    way = answers.statistics.get("way")
    print(json.dumps({"seconds": seconds, "nodes": nodes, "way": way}))


if __name__ == "__main__":
    main(*sys.argv[1:])
