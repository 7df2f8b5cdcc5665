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

from dpasp.cli.main import main

__all__ = ["main"]
