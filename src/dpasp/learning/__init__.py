"""Torch starts here: data, networks, a program as an ``nn.Module``, and learning.

The modules in the order in which a batch passes through them:

- ``networks``, ``weights``: leaf weights from constants, learned probabilities, outputs of networks
- ``data``, ``observations``: the two parts of an example
- ``masses``, ``intervals``, ``likelihood``: the probability of observations, with its gradient
- ``utility``: expected totals with their gradient, and learning that maximises them
- ``module``: all of this as a torch module
- ``ascents``: what is maximised in place of a likelihood that is too large
- ``optimisers``, ``steps``: one step of learning
- ``checkpoints``, ``history``, ``train``: the loop around the steps
- ``uncertainty``, ``shortcuts``: how far to trust the result
- ``options``, ``tuning``, ``trainable``: what ``program.learn()`` works with
"""
