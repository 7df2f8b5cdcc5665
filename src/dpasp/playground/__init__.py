"""The playground: an editor in the browser, with answers beside it, on this machine.

The page (``static/``, built from ``editors/web``) talks over a WebSocket with the ``server``. Each
open page (``pages``) has a ``worker`` of its own: a child process with limits on time and memory,
which opens no files and runs no Python of a program. What a page can ask for is in ``tasks``.
``mcp_server`` offers the same to language models.
"""

PORT = 8017  # the default; if it is taken, any free one
