"""A script that ends while it holds results with their gradients ends in silence."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import dpasp
module = dpasp.loads("?::a. b :- a. #query b.").module()
result = module.prob("b")
assert result.lower.grad_fn is not None
"""


@pytest.mark.slow
def test_nothing_is_said_at_the_end() -> None:
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
