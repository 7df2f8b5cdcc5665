"""The models of a total choice, and the meaning of probability.

- ``meaning``: the semantics of the logic and of the probabilities, as one value
- ``dependencies``: which atoms depend on which, and which the choices determine
- ``translate``: the rules whose stable models are the models of the semantics
- ``weighted``: a program in which each total choice has at most one model, for weights of models
- ``leaves``: the probabilities as one vector, what its entries are called, and total choices
- ``masses``: from masses to answers

>>> from dpasp.language import parse
>>> from dpasp.language.ast import Logic
>>> from dpasp.ground import ground
>>> from dpasp.semantics import leaves
>>> from dpasp.semantics.translate import translate
>>> program = ground(parse("0.3::a. p :- a, not q. q :- a, not p."))
>>> [len(translate(program, logic).rules) for logic in (Logic.STABLE, Logic.PARTIAL)]  # with twins
[3, 7]
>>> leaves.weights(program)
array([0.3, 0.7])
"""
