"""Torch starts here: data, networks, a program as an ``nn.Module``, and learning.

The way of a batch, each module after those that it imports from:

- ``networks``, ``weights``: leaf weights from constants, learned probabilities, outputs of networks
- ``data``, ``observations``: what examples are made of
- ``masses``, ``intervals``, ``likelihood``: the probability of observations, with its gradient
- ``utility``: expected totals with their gradient, and learning that maximises them
- ``module``: all of this as a torch module
- ``ascents``: what learning ascends where the likelihood is too large
- ``optimisers``, ``steps``: one step of learning
- ``checkpoints``, ``history``, ``train``: the loop around the steps
- ``uncertainty``, ``shortcuts``: what can be said about the result
- ``options``, ``tuning``, ``trainable``: what ``program.learn()`` works with
"""
