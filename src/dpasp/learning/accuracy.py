"""How often the answers over the test rows are right, where the program names the labels.

>>> import dpasp, torch
>>> rows = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
>>> text = "!::d(X, {0, 1}) as @net :- in(X). in(0) ~ test(@xs). #query d(0, K)."
>>> answers = dpasp.loads(text, networks={"net": torch.nn.Identity()}, data={"xs": rows}).query()
>>> accuracies(answers, ["d(0, 0)", "d(0, 0)"])
{'d': 0.5}
"""

from __future__ import annotations

import numpy as np

from dpasp.inference.answers import Answer, Answers
from dpasp.language.observations import examples


def accuracies(answers: Answers, labels: object) -> dict[str, float]:
    """By predicate, the share of test rows whose most probable answer is their label.

    A label is the first literal of a test row's observation; it is compared with the
    answers to queries of its predicate alone. Under credal the answer with the greatest
    upper probability counts.
    """
    wanted = [_canonical(label[0]) if label else "" for label in examples(labels, "labels")]
    shares = {}
    for name in dict.fromkeys(map(_predicate, wanted)):
        about = [a for a in answers if isinstance(a, Answer) and _predicate(a.query) == name]
        numbers = [np.asarray(answer.numbers[-1]) for answer in about]
        if len(about) < 2 or any(rows.shape != (len(wanted),) for rows in numbers):
            continue
        best = np.stack(numbers).argmax(axis=0)
        texts = [_canonical(answer.query) for answer in about]
        rows = [i for i, text in enumerate(wanted) if _predicate(text) == name]
        shares[name] = float(np.mean([texts[best[i]] == wanted[i] for i in rows]))
    return shares


def _canonical(text: str) -> str:
    """A literal without needless spaces, ``~`` written as ``not``."""
    words = text.strip().removesuffix(".").replace("~", "not ", 1).split()
    return (
        " ".join(words[:1]) + " " + "".join(words[1:]) if words[:1] == ["not"] else "".join(words)
    )


def _predicate(text: str) -> str:
    """The name in a literal, negative or not."""
    return _canonical(text).removeprefix("not ").split("(")[0]
