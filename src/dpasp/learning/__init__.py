"""Torch starts here: data, networks, a program as an ``nn.Module``, and learning.

The way of a batch, each module after those that it imports from:

- ``data``, ``networks``, ``observations``: what examples are made of
- ``weights``: leaf weights from constants, learned probabilities and outputs of networks
- ``masses``, ``intervals``, ``likelihood``: the probability of observations, with its gradient
- ``most_probable``: most probable values by row, on the device of the weights
- ``utility``: expected totals with their gradient, and learning that maximises them
- ``module``: all of this as a torch module; ``loading``: the data that a program names
- ``lower_bound``, ``sampled``, ``ascents``: what learning ascends where the likelihood is too large
- ``rules``, ``optimisers``, ``running``, ``steps``: one step of learning
- ``checkpoints``, ``history``, ``train``: the loop around the steps
- ``uncertainty``, ``shortcuts``: what can be said about the result
- ``options``, ``tuning``, ``trainable``: what ``program.learn()`` works with
"""
