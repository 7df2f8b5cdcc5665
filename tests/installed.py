"""Does an installed dPASP work? Run where nothing but the wheel and what it needs is installed.

    python tests/installed.py

It asks each engine and each semantics one question, through Python and the command line.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import dpasp

PROGRAM = """
0.7::busy.
coffee :- busy, not nap.
nap :- busy, not coffee.
0.9::rested :- nap.
"""
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")


def main() -> None:
    program = dpasp.loads(PROGRAM)
    for engine in ("auto", "compile", "enumerate", "bounds"):
        answer = program.query("rested", engine=engine)[0]
        assert abs(float(answer.lower) - 0.0) < 1e-9, (engine, answer)
        assert abs(float(answer.upper) - 0.63) < 1e-9, (engine, answer)
    for logic in LOGICS:
        value = program.query("busy", semantics=f"{logic}, maxent")[0].value
        assert abs(float(value) - 0.7) < 1e-9, (logic, value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "day.plp")
        path.write_text(PROGRAM + "#query rested.\n", encoding="utf-8")
        words = [sys.executable, "-m", "dpasp", "run", "--json", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert '"upper": 0.63' in done.stdout, done.stdout
    sys.stdout.write(f"dpasp {dpasp.__version__} answers\n")


if __name__ == "__main__":
    main()
