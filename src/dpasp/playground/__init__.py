"""The playground: an editor in the browser, on this machine, with answers beside it.

The page (``static/``, built from ``editors/web``) talks over a WebSocket with the ``server``,
which gives every page a ``worker``: a child process with limits on time and memory that
opens no files and runs no Python of a program. What a page can ask for is in ``tasks``.
"""
