"""The playground: an editor in the browser, on this machine, with answers beside it.

The page (``static/``, built from ``editors/web``) talks over a WebSocket with the ``server``. Each
open page (``pages``) has a ``worker`` of its own: a child process with limits on time and memory,
which opens no files and runs no Python of a program. What a page can ask for is in ``tasks``.
``mcp_server`` offers the same to language models.
"""

PORT = 8017  # unless another one is asked for; if it is taken, any free one
