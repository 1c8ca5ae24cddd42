"""Trains the model: `python -m images.train MODEL.json`.

It takes generated surfaces, and prints the accuracy on others that it was not trained with. To
train with frames of your own, give the directory with them and `labels.csv` in `--frames`.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from images.frames import DEFECT, LABELS, decode
from images.model import Floats, Model, features, reduced
from images.surfaces import surfaces

STEPS = 25
RIDGE = 1.0
"""Keeps the weights finite where one feature alone tells the labels apart."""


def train(pictures: Sequence[Floats], labels: Sequence[str]) -> Model:
    """Fit a logistic regression by Newton's method; `pictures` are reduced."""
    inputs = features(pictures)
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    rows = np.column_stack([(inputs - mean) / scale, np.ones(len(inputs))])
    targets = np.array([label == DEFECT for label in labels], dtype=np.float64)
    penalty = np.diag([RIDGE] * (rows.shape[1] - 1) + [0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-(rows @ weights).clip(-500, 500)))
        gradient = rows.T @ (targets - chances) - penalty @ weights
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows + penalty
        weights += np.linalg.solve(curvature, gradient)
    lists = [[round(float(number), 6) for number in vector] for vector in (mean, scale, weights)]
    return Model(lists[0], lists[1], lists[2][:-1], lists[2][-1])


def accuracy(model: Model, pictures: Sequence[Floats], labels: Sequence[str]) -> float:
    """Return the share of reduced pictures that get their label."""
    verdicts = model.judge(pictures)
    pairs = zip(verdicts, labels, strict=True)
    return sum(judged == label for (judged, _), label in pairs) / len(labels)


def _labelled(directory: Path) -> tuple[list[Floats], list[str]]:
    with (directory / LABELS).open(newline="", encoding="utf-8") as file:
        rows = [(name, label) for name, label in csv.reader(file)]
    pictures = [reduced(decode((directory / f"{name}.pgm").read_bytes())) for name, _ in rows]
    return pictures, [label for _, label in rows]


def main(argv: Sequence[str] | None = None) -> int:
    """Train, and write the model."""
    parser = argparse.ArgumentParser(prog="images.train", description=__doc__)
    parser.add_argument("model", type=Path, metavar="MODEL.json")
    parser.add_argument("--frames", type=Path, metavar="DIRECTORY")
    parser.add_argument("--count", type=int, default=1200, help="surfaces to generate")
    arguments = parser.parse_args(argv)
    if arguments.frames:
        pictures, labels = _labelled(arguments.frames)
    else:
        drawn, labels = surfaces(arguments.count, 2 * 64, seed=0)
        pictures = [reduced(picture) for picture in drawn]
    # One in four is kept for the test; good and bad ones take turns, so pairs of them.
    test = [number // 2 % 4 == 3 for number in range(len(labels))]
    subsets = [
        (
            [picture for picture, tested in zip(pictures, test, strict=True) if tested == in_test],
            [label for label, tested in zip(labels, test, strict=True) if tested == in_test],
        )
        for in_test in (False, True)
    ]
    model = train(*subsets[0])
    arguments.model.parent.mkdir(parents=True, exist_ok=True)
    arguments.model.write_text(model.to_json(), encoding="utf-8")
    sys.stdout.write(f"model {model.version}, accuracy {accuracy(model, *subsets[1]):.3f}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
