"""DeepProbLog: ProbLog with networks, ``nn(net,[X],Y,[0,1,2])::digit(X,Y).``

DeepProbLog passes a network's inputs with each query; here they are data statements. There is one
for each term that a query in the file passes to a network or, without such queries, one for each
variable of a topmost predicate that ends up there.

>>> from dpasp.converters.problog import from_deepproblog
>>> print(from_deepproblog("nn(net,[X],Y,[0,1,2])::digit(X,Y). two(X) :- digit(X,2).", "<text>"))
% converted from DeepProbLog
#semantics wellfounded, maxent.
<BLANKLINE>
?::digit(X,{0..2}) as @net :- net_input(X). two(X) :- digit(X,2).
<BLANKLINE>
% From a #python block, ... the network net; the data x_test, x_train.
net_input(x) ~ test(@x_test), train(@x_train).
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.converters.neurasp import data_statement, needs_comment
from dpasp.converters.problog.bodies import data
from dpasp.converters.problog.rules import (
    Argument,
    Context,
    Head,
    HeadNetwork,
    PrologNames,
    Rule,
    arguments,
    is_atom,
    predicate,
    term_text,
)
from dpasp.converters.prolog import (
    Compound,
    ListTerm,
    Operation,
    Term,
    Variable,
    variable_names,
)
from dpasp.converters.text import slug

FORM = "it has the form nn(net, [X], Y, [values])::p(X,Y), or nn(net, [X])::p(X)"


def network_head(network: Compound, atom: Term, context: Context) -> Head:
    match network.args:
        case (Compound(name, ()), ListTerm(sees, None), *rest):
            pass
        case _:
            raise context.refuse(network, "this network cannot be read", FORM)
    if not isinstance(atom, Compound) or not all(isinstance(v, Variable) for v in sees):
        raise context.refuse(network, "this network cannot be read", FORM)
    match rest:
        case []:
            return Head(data(atom, context), None, True, HeadNetwork(name, sees))
        case [Variable(output), ListTerm(values, None)] if values:
            pass
        case _:
            raise context.refuse(network, "this network cannot be read", FORM)
    if not atom.args or atom.args[-1] != Variable(output):
        raise context.refuse(atom, "the output of a network is the last argument here", FORM)
    chosen = Operation("set", tuple(data(value, context) for value in values))
    predicted = Compound(
        atom.name, (*(data(arg, context) for arg in atom.args[:-1]), chosen), atom.at
    )
    return Head(predicted, None, True, HeadNetwork(name, sees))


def inputs_text(rules: Sequence[Rule], asked: Sequence[Compound]) -> str:
    """Data statements for the networks' inputs, if there are networks."""
    networks = {rule.network.name: rule.network for rule in rules if rule.network is not None}
    if not networks:
        return ""
    names = PrologNames()
    lines, functions = list[str](), list[str]()
    for network in networks.values():
        for term in dict.fromkeys(_seen(network, rules, asked)):
            lines.append(data_statement(network.input, term_text(term, names), functions))
    return "\n".join(
        ["", needs_comment(list(networks), list(dict.fromkeys(functions))), *lines, ""]
    )


def _seen(network: HeadNetwork, rules: Sequence[Rule], asked: Sequence[Compound]) -> Iterator[Term]:
    places = _places(network, rules)
    atoms = [*asked, *(goal.atom for rule in rules for goal in rule.body)]
    passed = [arg for atom in atoms for arg in _args(atom, places) if not variable_names(arg)]
    if passed:
        yield from passed
        return
    called = {predicate(atom) for atom in atoms}
    for rule in rules:
        for head in rule.heads:
            if predicate(head.atom) not in called:
                for arg in _args(head.atom, places):
                    if isinstance(arg, Variable):
                        yield Compound(slug(arg.name))


def _places(network: HeadNetwork, rules: Sequence[Rule]) -> set[Argument]:
    """The arguments that are passed on to the network."""
    places: set[Argument] = {(network.input, 1, 0)}
    while True:
        new = set(places)
        for rule in rules:
            ends = {
                arg.name
                for goal in rule.body
                if is_atom(goal)
                for arg in _args(goal.atom, places)
                if isinstance(arg, Variable)
            }
            for head in rule.heads:
                for place, arg in arguments(head.atom):
                    if isinstance(arg, Variable) and arg.name in ends:
                        new.add(place)
        if new == places:
            return places
        places = new


def _args(atom: Compound, places: set[Argument]) -> list[Term]:
    return [arg for place, arg in arguments(atom) if place in places]
