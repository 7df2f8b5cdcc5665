"""``python -m dpasp``: the command line."""

import sys

from dpasp.cli import main

if __name__ == "__main__":
    sys.exit(main())
