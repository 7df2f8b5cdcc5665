"""A loop of one's own on a GPU: labels there, a step recorded as a CUDA graph, a compiled model."""

from __future__ import annotations

import pytest
import torch

import dpasp
from tests.learning.test_labels import Own, images, model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

QUERIES = ["total(S)", "s(I,S)"]


def labels(query: str) -> torch.Tensor:
    table = [3, 1, 0, 6] if query == "total(S)" else [[2, 3], [0, -100], [1, 1], [4, 4]]
    return torch.tensor(table)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("more", ["", ":- even(0), even(1)."])
def test_labels_on_the_gpu(query: str, more: str) -> None:
    here, there = model(more=more), model(more=more).to("cuda")
    expected = here.log_prob(labels(query), {"x": images(4)}, query)
    for _ in range(2):
        found = there.log_prob(labels(query).cuda(), {"x": images(4).cuda()}, query)
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("query", QUERIES)
def test_a_step_of_ones_own_can_be_recorded(query: str) -> None:
    module = model().to("cuda")
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01, capturable=True)
    x, seen = images(4).cuda(), labels(query).cuda()

    def step() -> torch.Tensor:
        optimiser.zero_grad(set_to_none=True)
        loss = -module.log_prob(seen, {"x": x}, query).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = step()
    losses = []
    for turn in range(3):
        seen.copy_(labels(query).roll(turn, 0))  # the same memory, other labels
        plain = -module.log_prob(seen, {"x": x}, query).mean()
        graph.replay()
        losses.append(recorded.detach().item())
        assert losses[-1] == pytest.approx(plain.detach().item(), rel=1e-5)
    assert len(set(losses)) == 3


@pytest.mark.filterwarnings("ignore")  # torch's compiler has advice on precision and softmax
@pytest.mark.parametrize("query", QUERIES)
def test_a_compiled_model(query: str) -> None:
    torch._dynamo.reset()
    own = Own(model(), query).to("cuda")
    x, seen = images(4).cuda(), labels(query).cuda()
    plain = own(x, seen)
    found = torch.compile(own, fullgraph=True)(x, seen)
    torch.testing.assert_close(found, plain, rtol=1e-4, atol=1e-4)
    found.sum().backward()


@pytest.mark.parametrize("more", ["", ":- even(0), even(1)."])
def test_labels_of_many_objects_go_into_the_walk(more: str) -> None:
    """They say the same as on the CPU, and a wrong one is refused in the same words."""
    here, there = model(8, more), model(8, more).to("cuda")
    x = images(6, 8)
    for turn in range(3):
        seen = torch.randint(0, 5, (6, 7), generator=torch.Generator().manual_seed(turn))
        seen[0, turn] = -100
        expected = here.log_prob(seen, {"x": x}, "s(I,S)")
        found = there.log_prob(seen.cuda(), {"x": x.cuda()}, "s(I,S)")
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)
        for module, logs in ((here, expected), (there, found)):
            module.zero_grad()
            logs[logs.isfinite()].sum().backward()  # type: ignore[no-untyped-call]
        for one, other in zip(there.parameters(), here.parameters(), strict=True):
            torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)  # type: ignore[union-attr]
    for wrong in (5, -1, -101, 10**6):
        seen[3, 2] = wrong
        messages = []
        for module, labels_there, data in ((here, seen, x), (there, seen.cuda(), x.cuda())):
            with pytest.raises(dpasp.Error) as refused:
                module.log_prob(labels_there, {"x": data}, "s(I,S)")
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
