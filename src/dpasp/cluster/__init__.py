"""The same work on many processes or machines.

Work that can be split is a :class:`~dpasp.cluster.pools.Job` and a list of parts; a
:class:`~dpasp.cluster.pools.Pool` does the parts and returns their results in order. How the work
is split never depends on the pool, so the answers do not either.

- ``pools``: jobs, pools, and which pool ``--cluster`` and ``cluster=`` mean.
- ``parts``: how a part travels to a worker and its result comes back, in order.
- ``processes``: a pool of processes on this machine, and what runs in each of them.
- ``on_ray``: a pool of the machines of a Ray cluster.
"""
