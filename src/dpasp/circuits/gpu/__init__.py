"""A circuit on a GPU. Torch is imported here, so plain inference never imports this package.

- ``tape``: a circuit as a list of sums of products, on few levels
- ``cuda``: a kernel that evaluates a tape (``walk.cu``)
- ``walks``: the masses of a circuit and their gradient, by that kernel or by torch operations
"""
