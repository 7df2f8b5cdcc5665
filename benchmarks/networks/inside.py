"""One query of one network in a process of its own; prints one JSON object.

python -m benchmarks.networks.inside dpasp FILE QUERY
python -m benchmarks.networks.inside pyagrum FILE QUERY
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.networks.network import Network, read_network, split_query


def ours(text: str, query: str) -> dict[str, object]:
    """The stages of an answer, in CPU seconds."""
    import dpasp
    from dpasp.program.grounding import Groundings

    dpasp.loads("0.5::a. #query a.").query()
    spent = []
    ground = Groundings.ground

    def timed(*arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        result = ground(*arguments, **options)
        spent.append(time.process_time() - start)
        return result

    clock = [time.process_time()]
    program = dpasp.loads(f"{text}\n#query {query}.\n")
    clock.append(time.process_time())
    with patch.object(Groundings, "ground", timed):  # only what the query needs is ground
        answers = program.query()
    clock.append(time.process_time())
    (answer,) = answers
    seconds = {"read": clock[1] - clock[0], "ground": sum(spent)}
    seconds["answer"] = clock[2] - clock[1] - seconds["ground"]
    # Where the tables are very large there is no circuit: the answer is summed up in numbers.
    known = ("circuit_nodes", "table_entries", "width", "way")
    sizes = {name: answers.statistics[name] for name in known if name in answers.statistics}
    return {"value": answer.numbers[0], "seconds": seconds, **sizes}


def bayes_net(network: Network) -> Any:
    """The network as aGrUM's."""
    import pyagrum as gum

    net = gum.BayesNet()
    for variable, values in network.values.items():
        net.add(gum.LabelizedVariable(variable, variable, list(values)))
    for variable in network.values:
        for parent in network.parents(variable):
            net.addArc(parent, variable)
    for variable, values in network.values.items():
        for row in network.rows[variable]:
            numbers = [row.probabilities.get(value, 0.0) for value in values]
            net.cpt(variable)[dict(row.parents)] = numbers
    return net


def pyagrum(text: str, query: str) -> dict[str, object]:
    """The junction tree of aGrUM; reading our file is not counted."""
    import pyagrum as gum

    net = bayes_net(read_network(text))
    (target, value), evidence = split_query(query)
    started = time.process_time()
    engine = gum.LazyPropagation(net)
    engine.setNumberOfThreads(1)
    engine.setEvidence(evidence)
    engine.addTarget(target)
    engine.makeInference()
    found = engine.posterior(target)[{target: value}]
    seconds = {"answer": time.process_time() - started}
    return {"value": float(found), "seconds": seconds}


if __name__ == "__main__":
    system, file, query = sys.argv[1:]
    run = {"dpasp": ours, "pyagrum": pyagrum}[system]
    print(json.dumps(run(Path(file).read_text(encoding="utf-8"), query)))
