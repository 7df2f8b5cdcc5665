"""The command line: ``dpasp``, also under the name ``pasp``, and ``python -m dpasp``.

Answers go to standard output and everything else to standard error; no traceback
reaches the user. The exit codes:

===  =======================================================
  0  answered
  2  wrong usage
 65  the program or its data is at fault
 70  a bug of our own
 74  the answers cannot be written, as on a full disk
124  the time limit was reached
125  the memory limit (or the budget of a circuit) was reached
130  interrupted by Ctrl-C
===  =======================================================
"""

from __future__ import annotations

TYPE_CHECKING = False  # nothing is imported before Ctrl-C is answered
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on some words and give its exit code.

    Without any, the words are the process's own, and so are its signals and its end.
    """
    if arguments is None:
        from dpasp.cli.process import run_process

        return run_process()
    from dpasp.cli.execution import main

    return main(arguments)


__all__ = ["main"]
