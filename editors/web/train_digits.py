"""Train the small network of the playground's example with images, and write the example again.

Needs scikit-learn, whose images of digits it learns from: ``python editors/web/train_digits.py``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

EXAMPLE = Path(__file__).parents[2] / "src" / "dpasp" / "playground" / "examples" / "11_digits"
SIDE, INK = 8, 16  # pixels, and the darkest of them


def shifted(images: np.ndarray, right: int) -> np.ndarray:
    """The images moved by a pixel, so that drawings need not be centred exactly."""
    squares = np.roll(images.reshape(-1, SIDE, SIDE), right, axis=2)
    squares[:, :, 0 if right > 0 else -1] = 0
    return squares.reshape(-1, SIDE * SIDE)


def statement(image: int, outputs: np.ndarray) -> str:
    """What the network says about an image, in thousandths that sum to 1."""
    parts = np.floor(1000 * outputs).astype(int)
    parts[np.argsort(parts - 1000 * outputs)[: 1000 - parts.sum()]] += 1
    heads = [f"{part / 1000:g}::digit({image},{digit})" for digit, part in enumerate(parts) if part]
    return "; ".join(heads) + "."


def main() -> None:
    """Train, say how many of the images that were held out are right, and write the files."""
    images, labels = load_digits(return_X_y=True)
    seen, held, known, truth = train_test_split(
        images, labels, test_size=0.3, random_state=0, stratify=labels
    )
    more = np.concatenate([seen, shifted(seen, -1), shifted(seen, 1)])
    network = MLPClassifier((20,), alpha=1.0, max_iter=300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may stop before it has converged
        network.fit(more / INK, np.tile(known, 3))
    weights = [np.round(each, 2) for each in network.coefs_]
    biases = [np.round(each, 2) for each in network.intercepts_]
    hidden = np.maximum(held / INK @ weights[0] + biases[0], 0)
    sums = hidden @ weights[1] + biases[1]
    outputs = np.exp(sums - sums.max(axis=1, keepdims=True))
    outputs /= outputs.sum(axis=1, keepdims=True)
    print(f"{(outputs.argmax(axis=1) == truth).sum()} of {len(truth)} are right")  # noqa: T201

    clear = [int(np.argmax(outputs[:, digit] * (truth == digit))) for digit in range(10)]
    # an odd digit that it takes for an even one, though not surely
    right = outputs[np.arange(len(truth)), truth]
    doubtful = (truth % 2 == 1) & (outputs.argmax(axis=1) % 2 == 0) & (outputs.max(axis=1) < 0.7)
    second = int(np.argmax(right * doubtful))
    unsure = [int(i) for i in np.argsort(outputs.max(axis=1)) if i != second][:3]
    drawings = [
        {"name": name, "pixels": held[i].astype(int).tolist()}
        for name, i in zip(
            [*map(str, range(10)), *["unclear"] * 4], [*clear, second, *unsure], strict=True
        )
    ]
    layers = [
        {"weights": weight.T.tolist(), "biases": bias.tolist()}
        for weight, bias in zip(weights, biases, strict=True)
    ]
    record = {"images": [7, 10], "drawings": drawings, "network": layers}
    text = json.dumps(record, separators=(",", ":"))
    EXAMPLE.with_suffix(".json").write_text(text, encoding="utf-8")
    program = EXAMPLE.with_suffix(".plp")
    lines = program.read_text(encoding="utf-8").splitlines()
    for image, i in enumerate((clear[7], second)):
        at = next(n for n, line in enumerate(lines) if f"::digit({image}," in line)
        lines[at] = statement(image, outputs[i])
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
