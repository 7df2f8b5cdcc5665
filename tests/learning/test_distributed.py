"""The module inside DistributedDataParallel, as any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

import dpasp
from tests.learning.programs import addition


def test_it_is_wrapped_unmodified(tmp_path: Path) -> None:
    if not distributed.is_available():
        pytest.skip("needs torch.distributed")
    text = addition().replace("Dropout(0.2)", "Identity()")
    model = dpasp.loads(text, python=True).module()
    rows = {"i(0)": torch.rand(4, 3), "i(1)": torch.rand(4, 3)}
    seen = ["s(0)", "s(1)", "s(2)", "s(4)"]
    model(seen, rows).sum().backward()
    alone = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'group'}", rank=0, world_size=1
    )
    try:
        wrapped = DistributedDataParallel(model)
        wrapped(seen, rows).sum().backward()
    finally:
        distributed.destroy_process_group()
    for parameter, wanted in zip(model.parameters(), alone, strict=True):
        assert torch.allclose(parameter.grad, wanted)
