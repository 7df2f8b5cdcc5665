"""The same work on many processes or machines.

Work that can be cut is a :class:`~dpasp.scale.pools.Job` and its parts; a
:class:`~dpasp.scale.pools.Pool` does the parts, and gives back what came of them in their order.
How work is cut never depends on who does it, so neither do the answers.

- ``pools``: what a job and a pool are, and the pool that is this process.
- ``doing``: what a worker does with a job, and how errors come back.
- ``processes``: a pool of processes on this machine; ``worker``: one of them.
- ``on_ray``: a pool of the machines of a Ray cluster.
- ``clusters``: which pool ``--cluster`` and ``cluster=`` stand for.
"""
