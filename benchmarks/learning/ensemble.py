"""The two-classifier ensemble over MNIST's test images, as in the paper's Table 1.

    DPASP_DATA=folder python -m benchmarks.learning.ensemble

Two small networks learn from 1,000 images each; what is measured is everything after
their forward pass: the probabilities of all ten digits for all 10,000 images.
"""

from __future__ import annotations

import time
from pathlib import Path

import torch

import dpasp

EXAMPLES = Path(__file__).parents[2] / "examples"
PYTHON = """
TRAIN = 2000
pictures = images("train-images-idx3-ubyte").reshape(-1, 784)
labels = labels("train-labels-idx1-ubyte").long()
test_rows = images("t10k-images-idx3-ubyte").reshape(-1, 784)

def classifier(seed, examples):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(784, 30), torch.nn.ReLU(), torch.nn.Linear(30, 10), torch.nn.Softmax(1)
    )
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(30):
        loss = -net(pictures[examples])[range(len(examples)), labels[examples]].log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net

def net1(): return classifier(1, torch.arange(0, TRAIN, 2))
def net2(): return classifier(2, torch.arange(1, TRAIN, 2))
def test_images(): return test_rows
def test_labels(): return contents("t10k-labels-idx1-ubyte")[8:].tolist()
#end.
"""


def text() -> str:
    """The example with MNIST in place of the small digits."""
    mnist = (EXAMPLES / "mnist_add.plp").read_text()
    reading = mnist[mnist.index("#python") : mnist.index("def half(")]
    rules = (EXAMPLES / "ensemble.plp").read_text()
    return reading + PYTHON + rules[rules.index("#end.") + 5 :]


def main() -> None:
    """Print the table and the times."""
    torch.set_num_threads(1)
    program = dpasp.loads(text(), python=True)
    model = program.module("maxent")
    own = program.functions
    digits = torch.tensor(own["test_labels"]())
    begin = time.process_time()
    with torch.no_grad():
        alone = [net(own["test_images"]())[:, 0].argmax(1) for net in model.nets]
    forward = time.process_time() - begin
    chosen, spent = {}, 0.0
    for semantics in ("maxent", "credal"):
        begin = time.process_time()
        answers = program.query(semantics=semantics)
        numbers = answers.to_numpy()
        spent += time.process_time() - begin - forward
        best = numbers if semantics == "maxent" else numbers[:, 1]
        chosen[semantics] = torch.from_numpy(best.argmax(0))
    print(f"{'digit':>5} {'f':>7} {'g':>7} {'maxent':>7} {'credal':>7} {'images':>7}")
    columns = [*alone, chosen["maxent"], chosen["credal"]]
    for digit in [*range(10), None]:
        own_rows = digits >= 0 if digit is None else digits == digit
        shares = [100 * float((c[own_rows] == digits[own_rows]).double().mean()) for c in columns]
        name = "all" if digit is None else str(digit)
        print(f"{name:>5} " + " ".join(f"{s:7.2f}" for s in shares) + f" {int(own_rows.sum()):7}")
    print(f"both semantics, after the forward pass: {spent:.2f} s of CPU time")


if __name__ == "__main__":
    main()
