"""Ground programs as JSON values."""

from __future__ import annotations

import json
from typing import Any

from dpasp.display.programs import ground_dict
from dpasp.ground import ground
from dpasp.language import parse


def told(text: str) -> dict[str, Any]:
    found = json.loads(json.dumps(ground_dict(ground(parse(text)))))
    assert isinstance(found, dict)
    return found


def test_everything() -> None:
    found = told("""0.1::b. 0.2::e.
        a :- b.
        0.7::a :- e, not b.
        #evidence not e. #query b | a. #mpe.""")
    assert found["atoms"] == ["a", "b", "e"]
    assert found["choices"][2] == {
        "heads": ["a"],
        "probabilities": [0.7],
        "bodies": [["e", "not b"]],
        "file": "<program>",
        "line": 3,
    }
    assert found["rules"] == [{"head": ["a"], "body": ["b"]}]
    assert found["evidence"] == ["not e"]
    assert found["questions"] == [
        {"query": "b | a", "kind": "probability"},
        {"query": "mpe", "kind": "map"},
    ]
    assert "warnings" not in found


def test_kinds_of_probabilities() -> None:
    found = told("[0.2, 0.4]::a. ?::b. 0.2::c; 0.3::d.")
    interval, learned, several = found["choices"]
    assert interval["probabilities"] == [[0.2, 0.4]]
    assert (learned["probabilities"], learned["learnable"]) == ([0.5], [True])
    assert (several["heads"], several["probabilities"]) == (["c", "d"], [0.2, 0.3])


def test_kinds_of_rules() -> None:
    found = told("{x; y}. p; q :- x. :- y, not x. s :- 3 #sum{1: x; 2: y}.")
    assert {"head": ["p", "q"], "body": ["x"]} in found["rules"]
    assert {"head": [], "body": ["not x", "y"]} in [
        rule | {"body": sorted(rule["body"])} for rule in found["rules"]
    ]
    assert any(rule.get("choice") for rule in found["rules"])
    (weighed,) = [rule for rule in found["rules"] if "bound" in rule]
    assert (weighed["bound"], sorted(weighed["weights"])) == (3, [1, 2])


def test_warnings_are_told() -> None:
    assert [one["code"] for one in told("0.3::a. #query p(X).")["warnings"]] == ["no-instances"]
